from dataclasses import replace

import numpy as np
import pytest
from reproduction import classification, methods
from reproduction.classification import CannotRunError, measure_accuracy, search
from reproduction.methods import METHODS, Method
from reproduction.protocols import Table, split_rows
from reproduction.tables import TABLES, Job
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.svm import SVC

TABLE_4 = TABLES["table-4"]
JOB = Job("table-4", "iris", 0.2, "spy", 1, 0, "quick")


class Spy(ClassifierMixin, BaseEstimator):
    """Predicts one class, and keeps what it is given."""

    given = []

    def __init__(self, answer=0, scale="standard", n_units=50):
        self.answer = answer
        self.scale = scale
        self.n_units = n_units

    def fit(self, X, y, **options):
        self.classes_ = np.unique(y)
        Spy.given.append((X, y, options))
        return self

    def predict(self, X):
        Spy.asked = X
        return np.full(len(X), self.answer)


@pytest.fixture
def use(monkeypatch):
    def put(table):
        monkeypatch.setattr(classification, "load_table", lambda *_: table)

    return put


@pytest.fixture(autouse=True)
def table(monkeypatch, use):
    """Put the spy among the methods, and a table of three classes before it."""
    Spy.given = []
    spy = Method("spy", lambda *_: Spy(), {"answer": [0, 1, 2]})
    found = {**METHODS, "spy": spy, "shown": spy._replace(needs_complete=True)}
    monkeypatch.setattr(classification, "METHODS", found)
    monkeypatch.setattr(methods, "METHODS", found)
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], [20, 60, 20])
    complete = np.column_stack([np.arange(100.0), rng.rand(100)])
    X = complete.copy()
    X[:, 1] = np.where(rng.rand(100) < 0.5, np.nan, X[:, 1])
    made = Table(X, y, complete)
    use(made)
    return made


def test_accuracy_is_on_rows_that_were_not_trained_on(table):
    values, params, _ = measure_accuracy(TABLE_4, JOB)
    assert values == {"accuracy": 0.2}
    assert params == {"n_train": 80, "n_test": 20}
    ((X, y, options),) = Spy.given
    train, test = split_rows(table, 1, 0)
    np.testing.assert_array_equal(X, table.X[train])
    np.testing.assert_array_equal(y, table.y[train])
    np.testing.assert_array_equal(Spy.asked, table.X[test])
    assert options == {}


def test_the_paper_chooses_from_its_grid_inside_the_training_rows(table):
    values, params, _ = measure_accuracy(TABLE_4, JOB._replace(protocol="paper"))
    assert values == {"accuracy": 0.6}
    assert params["answer"] == 1
    _, test = split_rows(table, 1, 0)
    seen = {float(row[0]) for X, _, _ in Spy.given for row in X}
    assert not seen & set(table.X[test, 0])
    assert [len(X) for X, _, _ in Spy.given] == [64] * 15 + [80]


def test_inner_folds_keep_groups_together(table, use):
    use(table._replace(groups=np.arange(100) // 5))
    measure_accuracy(TABLE_4, JOB._replace(protocol="paper"))
    for X, _, _ in Spy.given:  # a group is seen whole or not at all
        seen = np.bincount((X[:, 0] // 5).astype(int), minlength=20)
        assert set(seen) <= {0, 5}


def test_an_experiment_without_cross_validation_chooses_nothing():
    plain = replace(TABLE_4, cross_validated=False)
    measure_accuracy(plain, JOB._replace(protocol="paper"))
    assert len(Spy.given) == 1


def test_the_authors_scale_with_all_rows_and_show_the_test_rows_to_the_density(table):
    _, params, _ = measure_accuracy(TABLE_4, JOB._replace(protocol="authors"))
    ((X, _, options),) = Spy.given
    train, test = split_rows(table, 1, 0, shuffle=False)
    scaled = 2 * table.X[:, 0] / 99 - 1
    np.testing.assert_allclose(X[:, 0], scaled[train])
    np.testing.assert_allclose(options["X_unlabelled"][:, 0], scaled[test])
    np.testing.assert_allclose(Spy.asked[:, 0], scaled[test])
    assert "answer" not in params


def test_a_method_that_needs_complete_rows_is_shown_them(table):
    measure_accuracy(TABLE_4, JOB._replace(method="shown", protocol="paper"))
    train, _ = split_rows(table, 1, 0)
    *inner, (_, _, options) = Spy.given
    np.testing.assert_array_equal(options["X_complete"], table.complete[train])
    for X, _, options in inner:
        np.testing.assert_array_equal(X[:, 0], options["X_complete"][:, 0])


def test_complete_rows_of_the_table_itself_serve_if_there_are_some(table, use):
    use(table._replace(complete=None))
    measure_accuracy(TABLE_4, JOB._replace(method="shown"))
    assert Spy.given[0][2] == {}
    table.X[:, 1] = np.nan
    with pytest.raises(CannotRunError, match="Got no complete row"):
        measure_accuracy(TABLE_4, JOB._replace(method="shown"))


def test_the_first_of_the_best_parameters_is_chosen():
    X, y = load_iris(return_X_y=True)
    grid = {"C": [1e-3, 1.0, 1.0, 100.0], "gamma": [0.1, 10.0]}
    model, chosen = search(SVC(), grid, X, y, seed=3)
    assert chosen == {"C": 1.0, "gamma": 0.1}
    assert model.score(X, y) > 0.9
