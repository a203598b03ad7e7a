"""Training that was killed goes on to the result it would have had."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small import (
    NETWORKS,
    PREDICTORS,
    autoencoder,
    classifier,
    history_of,
    numbers,
    predictions,
    rbf,
    regressor,
)

from lacunet import IncompleteGaussianMixture, load
from lacunet.estimators import _fit
from lacunet.estimators._saving import CheckpointFile, name_owner
from lacunet.exceptions import LacunetError

every = pytest.mark.parametrize("name", NETWORKS)


def fit(model, checkpoint=None, table=numbers, **given):
    X, y = table()
    if not hasattr(model, "predict"):
        return model.fit(X, checkpoint=checkpoint, **given)
    return model.fit(X, y, checkpoint=checkpoint, **given)


class Killed(Exception):
    """What stands for the end of a process."""


def break_off(monkeypatch, model, path, n_losses):
    """Fit until so many losses have been computed."""
    calls = []

    def loss(self, *given, compute=_fit.NetworkTask.loss):
        calls.append(given)
        if len(calls) > n_losses:
            raise Killed
        return compute(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(_fit.NetworkTask, "loss", loss)
        with pytest.raises(Killed):
            fit(model, path)


# --- going on


@every
def test_a_broken_training_goes_on_to_the_same_result(name, tmp_path, monkeypatch):
    X, _ = numbers()
    options = {"max_epochs": 5, "batch_size": 20}
    whole = fit(NETWORKS[name](**options))
    path = tmp_path / "checkpoint"
    break_off(monkeypatch, NETWORKS[name](**options), path, 8)
    assert path.exists()
    resumed = fit(NETWORKS[name](**options), path)
    np.testing.assert_array_equal(predictions(resumed, X), predictions(whole, X))
    np.testing.assert_array_equal(resumed.impute(X), whole.impute(X))
    assert history_of(resumed) == history_of(whole)


@every
def test_a_checkpoint_does_not_change_the_result(name, tmp_path):
    X, _ = numbers()
    plain = fit(NETWORKS[name]())
    kept = fit(NETWORKS[name](), tmp_path / "checkpoint")
    np.testing.assert_array_equal(predictions(kept, X), predictions(plain, X))
    again = fit(NETWORKS[name](), tmp_path / "checkpoint")  # which is finished already
    np.testing.assert_array_equal(predictions(again, X), predictions(plain, X))
    assert again.history_ == kept.history_


@every
def test_without_a_seed_the_checkpoint_has_it(name, tmp_path, monkeypatch):
    X, _ = numbers()
    path = tmp_path / "checkpoint"
    model = NETWORKS[name](random_state=None, max_epochs=5)
    break_off(monkeypatch, model, path, 4)
    seed = CheckpointFile(path).seed
    resumed = fit(model, path)
    again = fit(NETWORKS[name](random_state=None, max_epochs=5), path)
    np.testing.assert_array_equal(predictions(resumed, X), predictions(again, X))
    assert CheckpointFile(path).seed == seed


def test_a_generator_as_random_state_goes_on_too(tmp_path, monkeypatch):
    X, _ = numbers()
    whole = fit(classifier(random_state=np.random.RandomState(7), max_epochs=5))
    path = tmp_path / "checkpoint"
    model = classifier(random_state=np.random.RandomState(7), max_epochs=5)
    break_off(monkeypatch, model, path, 5)
    other = classifier(random_state=np.random.RandomState(7), max_epochs=5)
    resumed = fit(other, path)
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


@every
def test_more_epochs_can_be_asked_for(name, tmp_path, monkeypatch):
    X, _ = numbers()
    whole = fit(NETWORKS[name](max_epochs=9))
    # Some have learning rates that fall towards the end, where they are not yet.
    break_off(monkeypatch, NETWORKS[name](max_epochs=6), tmp_path / "checkpoint", 4)
    more = fit(NETWORKS[name](max_epochs=9), tmp_path / "checkpoint")
    np.testing.assert_array_equal(predictions(more, X), predictions(whole, X))
    assert history_of(more) == history_of(whole)


def test_a_training_that_has_annealed_goes_on_for_more_epochs(tmp_path):
    few = fit(classifier(max_epochs=3), tmp_path / "checkpoint")
    more = fit(classifier(max_epochs=9), tmp_path / "checkpoint")
    assert more.history_[:3] == few.history_
    assert len(more.history_) > 5


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_checkpoint_is_one_file(tmp_path, as_path):
    fit(rbf(), as_path(tmp_path / "checkpoint"))
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]


def test_an_activation_without_a_name_can_not_be_told_from_another(tmp_path):
    torch = pytest.importorskip("torch")
    model = classifier(activation=torch.tanh)
    with pytest.raises(LacunetError, match="Give an activation by its name"):
        fit(model, tmp_path / "checkpoint")


def test_what_only_prediction_asks_for_may_change(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    break_off(monkeypatch, classifier(max_epochs=4), path, 4)
    assert len(fit(classifier(max_epochs=4, propagate="sample"), path).history_) == 4


def test_an_interrupted_training_can_go_on(tmp_path, monkeypatch):
    X, _ = numbers()
    path = tmp_path / "checkpoint"
    calls = []

    def loss(self, *given, compute=_fit.NetworkTask.loss):
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return compute(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(_fit.NetworkTask, "loss", loss)
        with pytest.warns(UserWarning, match="interrupted after"):
            fit(rbf(max_epochs=6), path)
    resumed, whole = fit(rbf(max_epochs=6), path), fit(rbf(max_epochs=6))
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))


def test_a_warm_training_that_was_killed_goes_on_to_the_same_result(
    tmp_path, monkeypatch
):
    X, _ = numbers()
    options = {"warm_start": True, "max_epochs": 6, "batch_size": 20}
    first = fit(classifier(**options))
    first.save(tmp_path / "model")
    break_off(monkeypatch, first, tmp_path / "checkpoint", 20)
    resumed = fit(load(tmp_path / "model"), tmp_path / "checkpoint")
    whole = fit(load(tmp_path / "model"))
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(LacunetError, match="other parameters"):
        fit(classifier(**options), tmp_path / "checkpoint")  # which is not warm


# --- a real end of a process

_TRAIN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from small import classifier, numbers
from lacunet.estimators import _fit

def loss(self, *given, compute=_fit.NetworkTask.loss):
    time.sleep(0.02)  # so that there is time to be killed in the middle of an epoch
    return compute(self, *given)

_fit.NetworkTask.loss = loss
X, y = numbers(100)
seed = None if sys.argv[3] == "None" else int(sys.argv[3])
model = classifier(max_epochs=9, batch_size=20, random_state=seed, dropout=0.3)
model.fit(X, y, checkpoint=sys.argv[2])
print("finished", flush=True)
"""


def train_until_killed(path, seed):
    command = [sys.executable, "-c", _TRAIN, str(Path(__file__).parents[1])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, str(path), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.5)  # a few epochs, and a part of one
        process.send_signal(signal.SIGKILL)
        assert process.stdout.read() == ""
    assert process.returncode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 0])
def test_a_killed_process_is_gone_on_with_to_the_same_result(tmp_path, seed):
    path = tmp_path / "checkpoint"
    train_until_killed(path, seed)
    found = CheckpointFile(path)
    assert 0 < len(found.read()[1]["history"]) < 9
    X, y = numbers(100)
    options = {"max_epochs": 9, "batch_size": 20, "dropout": 0.3}
    resumed = classifier(random_state=seed, **options).fit(X, y, checkpoint=path)
    whole = classifier(random_state=seed or _State(found.seed), **options).fit(X, y)
    np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
    assert history_of(resumed) == history_of(whole)


class _State(np.random.RandomState):
    """A generator whose first number is known."""

    def __init__(self, first):
        super().__init__(0)
        self.first = first

    def randint(self, *given, **options):
        return self.first


# --- whose it is


@pytest.mark.parametrize(
    "other",
    [
        {"lr": 0.5},
        {"hidden_layer_sizes": (9,)},
        {"random_state": 1},
        {"random_state": None},
        {"density": IncompleteGaussianMixture(3)},
        {"gamma": 0.5},
        {"class_weight": "balanced"},
    ],
)
def test_a_checkpoint_of_other_parameters_is_refused(other, tmp_path):
    fit(classifier(max_epochs=1), tmp_path / "checkpoint")
    with pytest.raises(LacunetError, match="other parameters or other data"):
        fit(classifier(max_epochs=1, **other), tmp_path / "checkpoint")


def other_rows():
    return numbers(seed=1)


def other_labels():
    X, y = numbers()
    return X, 1 - y


def fewer_rows():
    X, y = numbers()
    return X[:59], y[:59]


@pytest.mark.parametrize("table", [other_rows, other_labels, fewer_rows])
@pytest.mark.parametrize("name", PREDICTORS)
def test_a_checkpoint_of_other_data_is_refused(table, name, tmp_path):
    fit(PREDICTORS[name](max_epochs=1), tmp_path / "checkpoint")
    before = (tmp_path / "checkpoint").read_bytes()
    with pytest.raises(LacunetError, match="Delete it, or give another path"):
        fit(PREDICTORS[name](max_epochs=1), tmp_path / "checkpoint", table)
    assert (tmp_path / "checkpoint").read_bytes() == before


@pytest.mark.parametrize(
    "given",
    [
        {"sample_weight": np.linspace(0.5, 1.5, 60)},
        {"X_val": numbers(20)[0], "y_val": numbers(20)[1]},
        {"X_unlabelled": numbers(20, seed=2)[0]},
    ],
)
def test_a_checkpoint_with_other_rows_beside_is_refused(given, tmp_path):
    fit(rbf(max_epochs=1), tmp_path / "checkpoint")
    with pytest.raises(LacunetError, match="other parameters or other data"):
        fit(rbf(max_epochs=1), tmp_path / "checkpoint", **given)


def test_a_checkpoint_of_another_estimator_is_refused(tmp_path):
    fit(classifier(max_epochs=1), tmp_path / "checkpoint")
    for other in (regressor(), autoencoder(), rbf()):
        with pytest.raises(LacunetError, match="other parameters or other data"):
            fit(other, tmp_path / "checkpoint")


def test_the_order_of_rows_is_no_other_data(tmp_path):
    X, y = numbers()
    classifier(max_epochs=1).fit(X, y, checkpoint=tmp_path / "checkpoint")
    model = classifier(max_epochs=2)
    model.fit(X[::-1], y[::-1], checkpoint=tmp_path / "checkpoint")
    assert len(model.history_) == 2


@pytest.mark.parametrize("free", [{"verbose": 0}, {"time_limit": 50.0}])
def test_what_only_says_how_long_to_go_on_may_change(free, tmp_path):
    fit(classifier(max_epochs=1), tmp_path / "checkpoint")
    model = fit(classifier(max_epochs=2, **free), tmp_path / "checkpoint")
    assert len(model.history_) == 2


def test_a_file_that_is_no_checkpoint_is_refused_before_any_work(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(LacunetError, match="which can't be read"):
        fit(classifier(), tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(LacunetError, match="in a folder that exists"):
        fit(classifier(), tmp_path / "nowhere" / "checkpoint")


def test_owners_differ_by_shapes_as_well_as_bytes():
    flat, square = np.zeros(4), np.zeros((2, 2))
    assert name_owner({}, [flat]) != name_owner({}, [square])
    assert name_owner({"lr": 1}, []) != name_owner({"lr": 2}, [])
    assert name_owner({"max_epochs": 1}, []) == name_owner({"max_epochs": 2}, [])


def make_bend():
    def bend(x):
        return x

    return bend
