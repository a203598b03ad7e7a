import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from lacunet.baselines import METHODS, Method
from lacunet.evaluation import COMPARED, compare_methods, score
from lacunet.evaluation import _comparison as comparison
from lacunet.exceptions import LacunetError

EVIL = "<script>alert(1)</script>"


class Centroids(ClassifierMixin, BaseEstimator):
    """Predicts classes by the mean of the first column; keeps all it is given."""

    calls: list = []  # noqa: RUF012

    def __init__(self, random_state=None, n_jobs=None, n_nearest_features=None):
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.n_nearest_features = n_nearest_features

    def fit(self, X, y):
        self.calls.append(("fit", self.get_params(), X, y))
        self.classes_ = np.unique(y)
        first = X[X.columns[0]].to_numpy(dtype=float)
        self.means_ = [np.nanmean(first[y == label]) for label in self.classes_]
        return self

    def predict_proba(self, X):
        self.calls.append(("predict", self.get_params(), X, None))
        first = X[X.columns[0]].to_numpy(dtype=float)
        near = -np.abs(first[:, None] - self.means_)
        likelihoods = np.exp(np.nan_to_num(near))
        return likelihoods / likelihoods.sum(1, keepdims=True)


class Means(RegressorMixin, BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        Centroids.calls.append(("predict", self.get_params(), X, None))
        return np.full(len(X), self.mean_)


class Huge(Means):
    """Predicts finite numbers whose squares are not."""

    def predict(self, X):
        return np.full(len(X), 1e200)


class Broken(Centroids):
    """Fails if a certain row is among the training rows."""

    def fit(self, X, y):
        if 0 in X.index:
            msg = "row 0\n  is   odd"
            raise RuntimeError(msg)
        return super().fit(X, y)


class Lost(Centroids):
    """Fails where the first column is missing."""

    def predict_proba(self, X):
        if X[X.columns[0]].isna().all():
            msg = "nothing there"
            raise ValueError(msg)
        return super().predict_proba(X)


class Nothing(Centroids):
    def predict_proba(self, X):
        return super().predict_proba(X) * np.nan


class Even(Centroids):
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Warning_(Centroids):
    def fit(self, X, y):
        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        return super().fit(X, y)


@pytest.fixture
def use(monkeypatch):
    """Replace methods by quick estimators, and return the calls of these."""

    def replace(**kinds):
        made = {
            key: Method(
                key,
                METHODS[key].title,
                lambda task, seed, body, kind=kind: kind(seed),
                package=METHODS[key].package,
            )
            for key, kind in kinds.items()
        }
        monkeypatch.setattr(comparison, "METHODS", made)
        Centroids.calls = []
        return Centroids.calls

    return replace


@pytest.fixture
def table():
    stream = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "number": stream.randn(60),
            EVIL: stream.choice(["x", "y"], 60),
            "whole": stream.randint(5, size=60),
        }
    )
    y = np.where(X["number"] + 0.5 * stream.randn(60) > 0, "yes", "no")
    X.loc[::7, "number"] = np.nan
    X.loc[::11, EVIL] = None
    return X, y


def compare(table, **options):
    X, y = table
    options = {"task": "classification", "n_folds": 3} | options
    return compare_methods(X, y, **options)


def row_of(found, method, metric, without=None):
    """Return one score of a method, with its summary."""
    ranking = found.ranking(next(e for e in found.metrics if e.key == metric), without)
    return next(each for each in ranking.itertuples() if each.method == method)


# --- folds and fits


def test_all_methods_see_the_same_rows_and_never_those_they_are_tested_on(use, table):
    calls = use(lacunet=Centroids, hgb=Centroids)
    compare(table, methods=["lacunet", "hgb"])
    fits = [set(X.index) for kind, _, X, _ in calls if kind == "fit"]
    tests = [set(X.index) for kind, _, X, _ in calls if kind == "predict"]
    assert len(fits) == len(tests) == 6
    for place in range(0, 6, 2):
        assert fits[place] == fits[place + 1]
        assert tests[place] == tests[place + 1]
        assert fits[place] | tests[place] == set(range(60))
        assert not fits[place] & tests[place]


@pytest.mark.parametrize(
    ("task", "kind"), [("classification", Centroids), ("regression", Means)]
)
def test_every_row_is_tested_on_once_in_each_repeat(use, table, task, kind):
    calls = use(lacunet=kind)
    y = np.repeat([0, 1], [48, 12])
    found = compare((table[0], y), task=task, methods=["lacunet"], n_repeats=2)
    assert found.stratified == (task == "classification")
    tests = [X.index for kind, _, X, _ in calls if kind == "predict"]
    assert sorted(np.concatenate(tests[:3])) == list(range(60))
    assert sorted(np.concatenate(tests[3:])) == list(range(60))
    assert not np.array_equal(tests[0], tests[3])
    assert all(np.diff(test).max() > 1 for test in tests)  # shuffled
    if found.stratified:
        assert [y[test].sum() for test in tests] == [4] * 6


def test_there_are_fewer_folds_if_a_class_or_the_table_has_fewer_rows():
    notes = []
    y = np.repeat([0, 1], [40, 3])
    assert comparison._choose_folds(y, ("a", "<b>"), 5, notes) == (3, True)
    assert comparison._choose_folds(np.arange(7.0), (), 5, notes) == (3, False)
    assert notes == [
        "3 folds instead of 5, as the class '<b>' has 3 rows.",
        "3 folds instead of 5, as there are 7 rows.",
    ]


def test_scores_are_those_of_score(use, table):
    calls = use(hgb=Centroids)
    found = compare(table, methods=["hgb"])
    fits = [each for each in calls if each[0] == "fit"]
    codes = (table[1] == "yes").astype(int)
    for place, (_, _, X, y) in enumerate(fits):
        model = Centroids().fit(X, y)
        rest = table[0].drop(X.index)
        expected = score(
            "classification", codes[rest.index], model.predict_proba(rest), [0, 1]
        )
        for key, value in expected.items():
            scores = row_of(found, "hgb", key).by_fold
            assert scores[place] == pytest.approx(value)


def test_models_are_on_one_core_and_have_the_same_seed_in_a_fold(use, table):
    calls = use(lacunet=Centroids, hgb=Centroids)
    compare(table, methods=["lacunet", "hgb"])
    parameters = [each[1] for each in calls if each[0] == "fit"]
    assert {each["n_jobs"] for each in parameters} == {1}
    seeds = [each["random_state"] for each in parameters]
    assert seeds[0::2] == seeds[1::2]
    assert len(set(seeds)) == 3


def test_the_same_seed_gives_the_same_numbers_and_another_does_not(use, table):
    use(lacunet=Centroids)

    def scores(**options):
        found = compare(table, methods=["lacunet"], **options)
        return found.scores["by_fold"].tolist()

    assert scores() == scores(random_state=0) != scores(random_state=1)


def global_states():
    numpys = np.random.get_state()[1].tolist()  # noqa: NPY002
    return numpys, torch.get_rng_state().tolist(), torch.get_num_threads()


def test_nothing_outside_is_changed(use, table):
    use(hgb=Centroids)
    before = table[0].copy()
    states = global_states()
    compare(table, methods=["hgb"], drop_at_test=["number"])
    assert global_states() == states
    pd.testing.assert_frame_equal(table[0], before)


def test_what_is_known_of_table_and_folds_is_kept(use, table):
    use(lacunet=Centroids)
    found = compare(table, methods=["lacunet"], n_repeats=2)
    assert (found.n_rows, found.n_columns, found.classes) == (60, 3, ("no", "yes"))
    assert found.fraction_missing == pytest.approx(15 / 180)
    assert (found.n_folds, found.n_repeats, found.stratified) == (3, 2, True)
    assert (found.n_train, found.n_test, found.seed) == (40, 20, 0)
    assert len(row_of(found, "lacunet", "auc").by_fold) == 6
    (method,) = found.methods.itertuples()
    assert min(method.seconds_by_fold) > 0
    assert method.seconds == np.median(method.seconds_by_fold)
    assert {"lacunet", "scipy", "python"} <= found.versions.keys()
    assert found.findings[0].about == "best"


def test_numbers_are_predicted_too(use, table):
    use(lacunet=Means, hgb=Means)
    y = table[0]["whole"].to_numpy(dtype=float)
    found = compare((table[0], y), task="regression", methods=["lacunet", "hgb"])
    assert [metric.key for metric in found.metrics] == ["rmse", "r2"]
    ours, theirs = (row_of(found, key, "rmse") for key in ("lacunet", "hgb"))
    assert ours.by_fold == theirs.by_fold
    # The mean is the constant prediction.
    assert found.trivial["rmse"] == pytest.approx(ours.mean)
    assert found.findings[0].head == "No method is better than a constant prediction"


@pytest.mark.parametrize(
    "y",
    [
        np.arange(60) % 3,
        np.arange(60) % 2 == 0,
        pd.Series(["a", "b"] * 30, dtype="category"),
        np.array([True, False] * 30, dtype=object),
        [EVIL, "b"] * 30,
    ],
    ids=["numbers", "booleans", "categories", "objects", "list"],
)
def test_classes_may_be_anything(use, table, y):
    use(lacunet=Centroids)
    found = compare((table[0], y), methods=["lacunet"])
    assert len(found.classes) == len(set(y))
    assert all(isinstance(name, str) for name in found.classes)
    assert found.failures.empty


def test_a_class_that_was_not_learned_counts_against_all(use, table):
    use(lacunet=Centroids)
    y = table[1].copy()
    y[3] = "maybe"
    found = compare((table[0], y), methods=["lacunet"])
    assert not found.stratified
    assert found.failures.empty
    assert None not in row_of(found, "lacunet", "log_loss").by_fold
    assert found.trivial["log_loss"] > 0
    assert any("one row only" in note for note in found.notes)


# --- hidden columns


def test_a_hidden_column_is_missing_and_the_models_are_the_same(use, table):
    calls = use(lacunet=Centroids)
    found = compare(table, methods=["lacunet"], drop_at_test=["number", EVIL, "number"])
    assert found.drop_at_test == ("number", EVIL)
    assert [kind for kind, *_ in calls] == ["fit", *["predict"] * 3] * 3
    for _, whole, without, other in (calls[i : i + 4] for i in range(0, 12, 4)):
        pd.testing.assert_frame_equal(
            without[2].drop(columns="number"), whole[2].drop(columns="number")
        )
        assert without[2]["number"].isna().all()
        assert other[2][EVIL].isna().all()
        assert list(other[2].columns) == list(whole[2].columns)
    assert row_of(found, "lacunet", "auc", "number").mean == 0.5  # it knows no other
    whole, same = (row_of(found, "lacunet", "auc", each) for each in (None, EVIL))
    assert whole.by_fold == same.by_fold


def test_a_column_that_is_never_missing_is_pointed_out(use, table):
    use(lacunet=Centroids)
    found = compare(table, methods=["lacunet"], drop_at_test=["number", "whole"])
    assert found.notes == (
        "Never missing in the table: 'whole'. No method could learn what to do "
        "without.",
    )


# --- failures


def test_a_method_that_fails_on_a_fold_has_no_value_there(use, table):
    use(lacunet=Centroids, hgb=Broken)
    found = compare(table, methods=["lacunet", "hgb"], drop_at_test=["whole"])
    _, broken = found.methods.itertuples()
    assert row_of(found, "hgb", "auc").by_fold.count(None) == 2
    assert broken.seconds_by_fold.count(None) == 2
    assert broken.seconds is not None
    failed = found.failures[["method", "without", "why"]].drop_duplicates()
    assert failed.values.tolist() == [["hgb", None, "RuntimeError: row 0 is odd"]]
    assert row_of(found, "lacunet", "auc").complete
    assert found.notes[-1] == (
        "HistGradientBoosting failed on 2 of 3 folds: RuntimeError: row 0 is odd"
    )
    assert found.scores["gain"].isna().all()  # one fold only


def test_a_method_that_fails_without_a_column_has_its_other_scores(use, table):
    use(lacunet=Centroids, hgb=Lost)
    found = compare(table, methods=["lacunet", "hgb"], drop_at_test=["number"])
    assert row_of(found, "hgb", "auc").complete
    assert row_of(found, "hgb", "auc", "number").mean is None
    assert found.failures["without"].tolist() == ["number"] * 3
    assert found.methods["seconds"].notna().all()


def test_predictions_that_are_no_numbers_are_a_failure(use, table):
    use(lacunet=Centroids, hgb=Nothing)
    found = compare(table, methods=["lacunet", "hgb"])
    assert row_of(found, "hgb", "log_loss").mean is None
    assert found.failures["method"].tolist() == ["hgb"] * 3


def test_scores_that_are_not_finite_are_a_failure(use, table):
    use(lacunet=Means, hgb=Huge)
    y = table[0]["whole"].to_numpy(dtype=float)
    found = compare((table[0], y), task="regression", methods=["lacunet", "hgb"])
    assert row_of(found, "hgb", "rmse").mean is None
    assert "expected finite numbers" in found.failures["why"][0]


def test_warnings_are_kept_once_and_not_shown(use, table):
    use(lacunet=Warning_)
    found = compare(table, methods=["lacunet"])
    assert found.methods["warnings"][0] == ["mind the gap"]


def test_libraries_that_are_not_installed_are_left_out(use, table, monkeypatch):
    use(lacunet=Centroids, xgboost=Centroids)
    monkeypatch.setattr(comparison.importlib.util, "find_spec", lambda name: None)
    found = compare(table, methods=["lacunet", "xgboost"])
    assert found.methods["key"].tolist() == ["lacunet"]
    assert found.notes == (
        "XGBoost is left out: it is not installed. Get it with pip install "
        "'lacunet[boosting]'.",
    )
    with pytest.raises(ValueError, match="XGBoost is left out"):
        compare(table, methods=["xgboost"])


def test_methods_that_cannot_do_the_task_are_left_out(table, monkeypatch):
    svc = Method("svc", "SVC", None, tasks=("classification",))
    monkeypatch.setattr(comparison, "METHODS", {**METHODS, "svc": svc})
    y = table[0]["whole"].to_numpy(dtype=float)
    found = compare((table[0], y), task="regression", methods=["svc", "hgb", "hgb"])
    assert found.methods["key"].tolist() == ["hgb"]
    assert found.notes == ("SVC is left out: it does no regression.",)


def test_the_default_methods_exist():
    assert set(COMPARED) <= set(METHODS)
    assert COMPARED[0] == "lacunet"


# --- wide tables


@pytest.mark.parametrize(("n_columns", "n_nearest"), [(30, None), (31, 25)])
def test_chained_equations_take_some_columns_of_a_wide_table(use, n_columns, n_nearest):
    calls = use(mice=Centroids)
    X = pd.DataFrame(np.random.RandomState(0).randn(20, n_columns - 2)).add_prefix("c")
    X["town"] = ["Rome", "Bonn"] * 10  # two categories
    found = compare((X, [0, 1] * 10), methods=["mice"], n_folds=2)
    assert {each[1]["n_nearest_features"] for each in calls} == {n_nearest}
    noted = [note for note in found.notes if "mice regresses each column on 25" in note]
    assert len(noted) == (n_nearest is not None)


def test_the_real_imputer_takes_the_limit():
    from lacunet.baselines import set_nested

    model = set_nested(METHODS["mice"](), n_nearest_features=25)
    limits = [
        value
        for name, value in model.get_params().items()
        if name.endswith("n_nearest_features")
    ]
    assert limits == [25]


def test_what_is_odd_about_the_table_is_noted_once(use, table):
    use(lacunet=Centroids)
    X = table[0].assign(same=1.0)
    found = compare((X, table[1]), methods=["lacunet"])
    (note,) = found.notes
    assert "one value only: ['same']" in note


# --- progress


def test_progress_is_reported_for_each_method_and_fold(use, table):
    use(lacunet=Centroids, hgb=Broken)
    seen = []
    compare(table, methods=["lacunet", "hgb"], on_fold=lambda *each: seen.append(each))
    assert [each[:4] for each in seen] == [
        (1 + 2 * fold + i, 6, key, fold)
        for fold in range(3)
        for i, key in enumerate(["lacunet", "hgb"])
    ]
    assert sorted(seen[0][4]) == ["accuracy", "auc", "log_loss"]
    assert sum(each[4] == {} for each in seen) == 2


def test_an_interrupt_goes_through(use, table):
    use(lacunet=Centroids)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(table, methods=["lacunet"], on_fold=stop)


@pytest.mark.slow
def test_an_error_of_the_callback_ends_the_processes_without_a_warning(table):
    with pytest.raises(ZeroDivisionError):
        compare(table, methods=["hgb"], n_jobs=2, on_fold=lambda *_: 1 / 0)


@pytest.mark.slow
def test_a_process_that_was_killed_is_reported_with_what_to_do(table, monkeypatch):
    monkeypatch.setattr(comparison, "_run_fold", lambda *_: os._exit(1))
    with pytest.raises(LacunetError, match="fewer jobs, or with fewer rows"):
        compare(table, methods=["hgb"], n_jobs=2)


# --- records


def test_the_record_is_plain_json(use, table):
    use(lacunet=Centroids, hgb=Broken)
    found = compare(table, methods=["lacunet", "hgb"], drop_at_test=["number"])
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    (ours,) = (
        each["by_fold"]
        for each in plain["scores"]
        if (each["method"], each["metric"]) == ("lacunet", "auc")
        if each["without"] is None
    )
    assert tuple(ours) == row_of(found, "lacunet", "auc").by_fold
    assert plain["drop_at_test"] == ["number"]
    assert plain["findings"][0]["head"] == found.findings[0].head
    assert plain.keys() == {*asdict(found), "findings"}


def test_methods_are_ordered_by_score_with_those_that_failed_last(use, table):
    use(lacunet=Centroids, hgb=Broken, neumiss=Even)
    found = compare(table, methods=["hgb", "neumiss", "lacunet"])
    ranking = found.ranking(found.metrics[0])
    assert ranking["method"].tolist() == ["lacunet", "neumiss", "hgb"]
    assert ranking["complete"].tolist() == [True, True, False]


# --- what is refused


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"task": "ranking"}, ValueError, "task='ranking'"),
        ({"n_folds": 1}, ValueError, "n_folds=1, but expected at least 2"),
        ({"n_folds": 2.5}, TypeError, "n_folds"),
        ({"n_repeats": 0}, ValueError, "n_repeats=0"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"methods": "hgb"}, TypeError, r"expected a list: \['hgb'\]"),
        ({"methods": ["guess"]}, ValueError, "a method='guess', but expected one of"),
        ({"methods": []}, ValueError, "at least one that can run. There are none"),
        ({"drop_at_test": "age"}, TypeError, r"expected a list: \['age'\]"),
        ({"drop_at_test": ["age"]}, ValueError, "columns of X: 'number'"),
    ],
)
def test_bad_options_are_refused(table, options, error, words):
    with pytest.raises(error, match=words):
        compare(table, **options)


def test_tables_that_no_method_can_take_are_refused(table):
    with pytest.raises(TypeError, match="DataFrame"):
        compare((table[0].to_numpy(), table[1]))
    X = table[0].assign(lists=[[1]] * 60)
    with pytest.raises((TypeError, ValueError), match="lists"):
        compare((X, table[1]), methods=["hgb"])


# --- the real methods


@pytest.mark.slow
def test_all_methods_take_all_kinds_of_columns(table):
    X, y = table
    X = X.assign(day=pd.date_range("2024-01-01", periods=60), flag=[True, False] * 30)
    found = compare((X, y), n_folds=2, drop_at_test=["number", EVIL, "day", "flag"])
    assert found.failures.empty
    assert found.scores["complete"].all()
    assert (found.ranking(found.metrics[0])["mean"] < 2).all()


@pytest.mark.slow
def test_several_processes_give_the_same_numbers(table):
    one, two = (
        compare(table, methods=["hgb", "mean"], n_folds=2, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.scores, two.scores)


SCRIPT = """
import numpy as np, pandas as pd
from lacunet.evaluation import compare_methods
if __name__ == "__main__":
    X = pd.DataFrame(np.random.RandomState(0).randn(3000, 20)).add_prefix("c")
    try:
        compare_methods(
            X, np.arange(3000) % 2, task="classification", methods=["hgb", "mice"],
            n_jobs=2, on_fold=lambda *_: print("begun", flush=True),
        )
    except KeyboardInterrupt:
        print("ended", flush=True)
"""


@pytest.mark.slow
def test_an_interrupt_ends_all_processes_without_a_word(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "begun\n"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    out, err = process.communicate(timeout=120)
    assert out.splitlines()[-1] == "ended"
    assert (err, process.returncode) == ("", 0)
    assert is_gone(process.pid)


def is_gone(group, patience=30):
    """Return whether a group of processes is gone, as soon as it has been reaped."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
