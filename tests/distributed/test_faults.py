"""Real processes are killed, in each phase of a fit: the result is the same."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests.distributed.conftest import write_files

import lacunet
from lacunet import IncompleteGaussianMixture, LacunetClassifier, distributed
from lacunet.distributed import _fit

FEATURES = [*"abcd", "count", "group", "flag", "day"]


def small(**parameters):
    return LacunetClassifier(
        n_networks=2,
        hidden_layer_sizes=(16,),
        random_state=0,
        **{"max_epochs": 4, **parameters},
    )


@pytest.fixture(autouse=True)
def one_thread():
    """Compute with one thread, as workers do."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture(scope="module")
def expected(files, table):
    """Predictions of a fit in this process, without any accident."""
    torch.set_num_threads(1)
    model = distributed.fit(small(), files, target="ill")
    return model.predict_proba(table[FEATURES])


@pytest.fixture
def kill(monkeypatch):
    """Kill a worker once, when a phase has had its first result, or a file is there."""

    def kill_in(phase, run):
        done = threading.Event()
        pids = {}
        original = _fit.ParquetBlocks._map

        def strike():
            os.kill(pids["first"], signal.SIGKILL)
            done.set()

        def wait_for_file():
            while not done.is_set() and not (run / "view-0.safetensors").exists():
                time.sleep(0.01)
            if not done.is_set():
                strike()

        def observed(self, what, *arguments):
            pids["first"] = self._workers._pids[0]
            if "watching" not in pids and phase == "training":
                pids["watching"] = threading.Thread(target=wait_for_file)
                pids["watching"].start()
            for number, result in enumerate(original(self, what, *arguments)):
                if number == 0 and what.startswith(phase) and not done.is_set():
                    strike()
                yield result

        monkeypatch.setattr(_fit.ParquetBlocks, "_map", observed)
        return done

    return kill_in


def test_a_mixture_does_not_see_that_a_worker_was_killed(
    kill, table, tmp_path, local_ray
):
    folder = write_files(table[[*"abcd", "count"]], tmp_path / "data")
    mixture = IncompleteGaussianMixture(2, tol=1e-4, random_state=0)
    expected = distributed.fit(clone(mixture), folder)
    done = kill("EM", tmp_path)
    distributed.fit(mixture, folder, workers=2)
    assert done.is_set()
    assert mixture.lower_bounds_ == expected.lower_bounds_
    np.testing.assert_array_equal(mixture.means_, expected.means_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "workers", "tol"),
    [
        ("Columns", 2, 0),
        ("Rows", 2, 0),
        ("EM", 2, 0),
        ("training", 2, 0),
        ("training", 4, 1e-5),
    ],
)
def test_a_worker_that_is_killed_changes_nothing(
    phase, workers, tol, kill, files, table, tmp_path, expected, local_ray
):
    done = kill(phase, tmp_path / "run")
    model = distributed.fit(
        small(), files, target="ill", workers=workers, checkpoint=tmp_path / "run"
    )
    assert done.is_set()
    found = model.predict_proba(table[FEATURES])
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("covariance_type", ["diag", "factor", "full"])
def test_em_is_the_same_bit_by_bit(
    covariance_type, workers, table, tmp_path, local_ray
):
    folder = write_files(table[[*"abcd", "count"]], tmp_path)
    one, several = (
        distributed.fit(
            IncompleteGaussianMixture(
                2, covariance_type=covariance_type, tol=1e-5, random_state=0
            ),
            folder,
            workers=n,
        )
        for n in (0, workers)
    )
    assert one.lower_bounds_ == several.lower_bounds_
    np.testing.assert_array_equal(one.means_, several.means_)
    np.testing.assert_array_equal(one.weights_, several.weights_)


PROGRAM = """
import sys
from lacunet import LacunetClassifier, distributed
data, run, output, workers = sys.argv[1:]
model = LacunetClassifier(n_networks=2, hidden_layer_sizes=(16,), random_state=0,
                          max_epochs=4)
distributed.fit(model, data, target="ill", checkpoint=run, workers=int(workers))
model.save(output)
"""


@pytest.mark.parametrize(
    ("workers", "file"),
    [
        pytest.param(0, "view-0.safetensors", marks=pytest.mark.slow),
        pytest.param(0, "em-2.safetensors", marks=pytest.mark.slow),
        pytest.param(0, "summary.safetensors", marks=pytest.mark.slow),
        pytest.param(2, "view-1.safetensors", marks=pytest.mark.slow),
        pytest.param(2, "em-2.safetensors", marks=pytest.mark.slow),
    ],
)
def test_a_driver_that_is_killed_goes_on_to_the_same_result(
    workers, file, files, table, tmp_path, expected
):
    run = tmp_path / "run"
    arguments = [files, run, tmp_path / "model", str(workers)]
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment) as process:
        while process.poll() is None and not (run / file).exists():
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "model").exists()
    subprocess.run(command, env=environment, check=True, timeout=120)
    found = lacunet.load(tmp_path / "model").predict_proba(table[FEATURES])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
