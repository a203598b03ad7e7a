"""`lacunet fit` in a process of its own, stopped by signals and by a time limit."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from own_models import make_table, save_csv

from lacunet import load

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has no such signals")

# Waits at a stage of the command, such that the signal comes there.
PROGRAM = """
import sys, time
from lacunet.cli import main

def wait(*_, **__):
    print("ready", flush=True)
    while True:  # a signal ends it
        time.sleep(0.01)

stage = sys.argv.pop(1)
if stage == "epoch":
    from lacunet import training
    run, seen = training._Loop._run_epoch, []
    def stop_at_the_third(self, active):
        seen.append(0)
        return wait() if len(seen) == int(sys.argv[-1]) else run(self, active)
    training._Loop._run_epoch = stop_at_the_third
elif stage:
    module, _, name = stage.rpartition(".")
    owner = __import__(module, fromlist=["_"])
    if name == "HistGradientBoostingClassifier":
        owner = owner.HistGradientBoostingClassifier
        name = "fit"
    setattr(owner, name, wait)
main(sys.argv[1:-1])
"""
SMALL = ("--n-networks", "2", "--max-epochs", "6", "--density", "diag")
SMALL += ("--n-components", "1", "--drop", "id")


@pytest.fixture
def folder(tmp_path):
    save_csv(make_table(), tmp_path / "t.csv")
    (tmp_path / "out").mkdir()
    return tmp_path


def start(folder, stage, *more, epoch=0):
    """Return a process that fits a model, and waits at a stage if there is one."""
    out = folder / "out"
    arguments = ("fit", folder / "t.csv", "--target", "ill", "-o", out / "m", *SMALL)
    arguments += ("--report", out / "page.html", *more, epoch)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, stage, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def stop(process, number):
    """Send a signal when the process waits, and return what it has written."""
    for line in process.stdout:
        if line == "ready\n":
            break
    process.send_signal(number)
    return process.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    "stage",
    [
        "epoch",
        "lacunet.estimators._base.write_model",
        *(
            pytest.param(stage, marks=pytest.mark.slow)
            for stage in (
                "lacunet.estimators._base.build_views",
                "sklearn.ensemble.HistGradientBoostingClassifier",
                "lacunet.evaluation._hold_out.score",
            )
        ),
    ],
)
def test_ctrl_c_stops_wherever_it_comes_and_leaves_nothing(folder, stage):
    process = start(folder, stage, epoch=3)
    written = stop(process, signal.SIGINT)
    assert process.returncode == 130
    assert written.endswith("Stopped.\n")
    assert "Traceback" not in written
    assert list((folder / "out").iterdir()) == []


def fit_again(folder, *given):
    process = start(folder, "", *given)
    printed, written = process.communicate(timeout=120)
    assert process.returncode == 0, written
    return re.sub(r"0:\d\d$", "", printed, flags=re.MULTILINE), load(folder / "out/m")


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [3, 9])  # in the first and in the second training
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_next_run_goes_on_from_a_checkpoint_to_the_same_result(
    folder, number, epoch
):
    whole, expected = fit_again(folder)
    given = ("--checkpoint", folder / "state", "--force")
    stop(start(folder, "epoch", *given, epoch=epoch), number)
    states = sorted(path.name for path in folder.glob("state*"))
    assert states == ["state", "state.refit"][: 1 + (epoch > 6)]
    printed, model = fit_again(folder, *given)
    assert printed == whole
    rows = make_table()[list(model.feature_names_in_)]
    np.testing.assert_array_equal(
        model.predict_proba(rows), expected.predict_proba(rows)
    )
    left = sorted(path.name for path in folder.glob("**/*") if path.parent.name != "m")
    assert left == ["m", "out", "page.html", "t.csv"]


@pytest.mark.slow
def test_the_time_limit_holds_for_the_whole_command(folder):
    endless = ("--max-epochs", "100000", "--lr", "1e-6")
    process = start(folder, "", *endless, "--time-limit", "12")
    began = time.monotonic()
    printed, written = process.communicate(timeout=120)
    assert process.returncode == 0, written
    assert time.monotonic() - began < 36  # on a busy machine
    assert written.count("Training was cut by time_limit") in (1, 2)
