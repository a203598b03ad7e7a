from dataclasses import replace

import numpy as np
import pytest
from reproduction.datasets import load_dataset
from reproduction.experiments import _classification, load_experiment
from reproduction.experiments._classification import CannotRunError, measure_accuracy
from reproduction.experiments._columns import COLUMNS
from reproduction.experiments._jobs import Job
from reproduction.experiments._protocols import split_rows
from reproduction.experiments._record import Budget
from reproduction.experiments._sources import Table
from reproduction.experiments.methods import Method
from sklearn.base import BaseEstimator, ClassifierMixin

TABLE_4 = load_experiment("table-4")
JOB = Job("table-4", "iris", 0.2, "spy", 1, 0, "quick", None)


class Spy(ClassifierMixin, BaseEstimator):
    """Answers one class, and keeps what it is told."""

    told = []

    def __init__(self, answer=0, scale="standard", n_units=50):
        self.answer = answer
        self.scale = scale
        self.n_units = n_units

    def fit(self, X, y, **options):
        self.classes_ = np.unique(y)
        Spy.told.append((X, y, options))
        return self

    def predict(self, X):
        Spy.asked = X
        return np.full(len(X), self.answer)


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """Put the spy among the methods, and a table of three classes before it."""
    Spy.told = []
    spy = Method("spy", "spy", lambda *_: Spy(), lambda body: {"answer": [0, 1, 2]})
    columns = {**COLUMNS, "spy": spy, "shown": replace(spy, needs_complete=True)}
    monkeypatch.setattr(_classification, "COLUMNS", columns)
    monkeypatch.setattr("reproduction.experiments._columns.COLUMNS", columns)
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], [20, 60, 20])
    whole = np.column_stack([np.arange(100.0), rng.rand(100)])
    X = whole.copy()
    X[:, 1] = np.where(rng.rand(100) < 0.5, np.nan, X[:, 1])
    made = Table(X, y, whole)
    monkeypatch.setattr(_classification, "load_table", lambda *_: made)
    return made


def test_accuracy_is_the_share_of_right_answers_on_rows_that_were_not_seen(table):
    found = measure_accuracy(TABLE_4, JOB)
    assert found.values == {"accuracy": 0.2}
    assert found.params == {"n_train": 80, "n_test": 20}
    ((X, y, options),) = Spy.told
    split = split_rows(table.y, None, 1, 0, shuffle=True)
    np.testing.assert_array_equal(X, table.X[split.train])
    np.testing.assert_array_equal(y, table.y[split.train])
    np.testing.assert_array_equal(Spy.asked, table.X[split.test])
    assert options == {}


def test_the_paper_chooses_from_its_grid_inside_the_training_rows(table):
    found = measure_accuracy(TABLE_4, replace(JOB, protocol="paper"))
    assert found.values == {"accuracy": 0.6}
    assert found.params["answer"] == 1
    test = split_rows(table.y, None, 1, 0, shuffle=True).test
    seen = {float(row[0]) for X, _, _ in Spy.told for row in X}
    assert not seen & set(table.X[test, 0])
    assert [len(X) for X, _, _ in Spy.told] == [64] * 15 + [80]


def test_inner_folds_keep_groups_together(table, monkeypatch):
    groups = np.arange(100) // 5
    grouped = replace(table, groups=groups)
    monkeypatch.setattr(_classification, "load_table", lambda *_: grouped)
    measure_accuracy(TABLE_4, replace(JOB, protocol="paper"))
    # A group is seen whole or not at all.
    for X, _, _ in Spy.told:
        seen = np.bincount((X[:, 0] // 5).astype(int), minlength=20)
        assert set(seen) <= {0, 5}


def test_an_experiment_without_cross_validation_chooses_nothing():
    plain = replace(TABLE_4, cross_validated=False)
    measure_accuracy(plain, replace(JOB, protocol="paper"))
    assert len(Spy.told) == 1


def test_the_authors_scale_with_all_rows_and_show_the_test_rows_to_the_density(table):
    found = measure_accuracy(TABLE_4, replace(JOB, protocol="authors"))
    ((X, _, options),) = Spy.told
    split = split_rows(table.y, None, 1, 0, shuffle=False)
    scaled = 2 * table.X[:, 0] / 99 - 1
    np.testing.assert_allclose(X[:, 0], scaled[split.train])
    np.testing.assert_allclose(options["X_unlabelled"][:, 0], scaled[split.test])
    np.testing.assert_allclose(Spy.asked[:, 0], scaled[split.test])
    assert "answer" not in found.params


def test_a_method_that_needs_complete_rows_is_shown_them(table):
    measure_accuracy(TABLE_4, replace(JOB, method="shown"))
    ((X, _, options),) = Spy.told
    split = split_rows(table.y, None, 1, 0, shuffle=True)
    np.testing.assert_array_equal(options["X_complete"], table.complete[split.train])


def test_complete_rows_of_the_table_itself_serve_if_there_are_some(table, monkeypatch):
    natural = replace(table, complete=None)
    monkeypatch.setattr(_classification, "load_table", lambda *_: natural)
    measure_accuracy(TABLE_4, replace(JOB, method="shown"))
    assert Spy.told[0][2] == {}


def test_a_method_that_needs_complete_rows_and_has_none_says_so(table, monkeypatch):
    table.X[:, 1] = np.nan
    natural = replace(table, complete=None)
    monkeypatch.setattr(_classification, "load_table", lambda *_: natural)
    with pytest.raises(CannotRunError, match="Got no complete row"):
        measure_accuracy(TABLE_4, replace(JOB, method="shown"))


def test_the_authors_protocol_fits_the_real_method(monkeypatch):
    iris = load_dataset("iris")
    X = np.where(np.random.RandomState(0).rand(150, 4) < 0.2, np.nan, iris.X)
    monkeypatch.setattr(_classification, "load_table", lambda *_: Table(X, iris.y))
    job = replace(JOB, method="paper", protocol="authors")
    short = replace(TABLE_4, budgets={"authors": Budget({"max_epochs": 10})})
    assert measure_accuracy(short, job).values["accuracy"] > 0.6
