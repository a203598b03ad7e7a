from dataclasses import replace

import numpy as np
from reproduction.experiments import load_experiment
from reproduction.experiments._classification import measure_accuracy
from reproduction.experiments._columns import COLUMNS
from reproduction.experiments._jobs import Job
from reproduction.experiments._trained_on_complete import TrainedOnComplete
from sklearn.dummy import DummyClassifier

ROWS = load_experiment("claim-rows")


class Spy(DummyClassifier):
    """Keeps what it is told and asked."""

    def fit(self, X, y):
        Spy.told = X
        return super().fit(X, y)

    def predict(self, X):
        Spy.asked = X
        return super().predict(X)


def test_it_is_trained_on_complete_rows_and_asked_about_incomplete_ones(monkeypatch):
    def make(*_):
        return TrainedOnComplete(Spy())

    spied = {"paper-complete": replace(COLUMNS["paper-complete"], make=make)}
    monkeypatch.setattr("reproduction.experiments._columns.COLUMNS", spied)
    job = Job("claim-rows", "iris", 0.5, "paper-complete", 0, 0, "quick", "digits")
    measure_accuracy(ROWS, job)
    assert not np.isnan(Spy.told).any()
    assert 0.3 < np.isnan(Spy.asked).mean() < 0.7
    assert (len(Spy.told), len(Spy.asked)) == (120, 30)


def test_the_two_columns_differ_in_their_rows_alone():
    paper, other = (COLUMNS[key].make(3, "rbf") for key in ROWS.methods)
    told, known = other.network.get_params(), paper.get_params()
    changed = {key for key in known if repr(known[key]) != repr(told[key])}
    assert changed == {"on_unseen_missing"}
    assert COLUMNS["paper-complete"].needs_complete


def test_rows_are_those_of_table_6_and_nothing_is_chosen():
    assert ROWS.settings == load_experiment("table-6").settings
    assert not ROWS.cross_validated
    assert ROWS.budget("paper", None).n_seeds == 5
