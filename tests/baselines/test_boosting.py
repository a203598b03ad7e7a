from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import frame, numbers

from lacunet.baselines import BoostedClassifier, BoostedRegressor

TREES = {
    "hgb": "max_iter",
    "lightgbm": "n_estimators",
    "xgboost": "n_estimators",
    "catboost": "iterations",
}
# Their bins and bootstraps count rows, not weights; catboost refuses constant tables.
WEIGHTS, ONE_ROW = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_fit2d_1sample",
)
THEIRS = {
    ("xgboost", BoostedClassifier): (WEIGHTS,),
    ("catboost", BoostedClassifier): (WEIGHTS,),
    ("catboost", BoostedRegressor): (WEIGHTS, ONE_ROW),
}


def library(name):
    there = name == "hgb" or find_spec(name) is not None
    return pytest.param(
        name, marks=pytest.mark.skipif(not there, reason=f"{name} is not installed")
    )


every = pytest.mark.parametrize("name", [*map(library, TREES)])


def boosted(make, name, trees=20):
    return make(name, parameters={TREES[name]: trees}, n_jobs=1, random_state=0)


def known_to_fail(estimator):
    checks = THEIRS.get((estimator.library, type(estimator)), ())
    return dict.fromkeys(checks, f"{estimator.library} is so by itself")


@parametrize_with_checks(
    [
        boosted(make, name)
        for make in (BoostedClassifier, BoostedRegressor)
        for name in TREES
        if name == "hgb" or find_spec(name)
    ],
    expected_failed_checks=known_to_fail,
)
def test_contract(estimator, check):
    check(estimator)


@every
def test_categories_dates_and_missing_values_are_taken_as_they_are(name):
    X, y = frame(200)
    model = boosted(BoostedClassifier, name).fit(X, np.where(y == 1, "yes", "no"))
    assert model.score(X, np.where(y == 1, "yes", "no")) > 0.9
    assert model.predict_proba(X).shape == (200, 2)
    assert boosted(BoostedRegressor, name).fit(X, y).score(X, y) > 0.5


@every
def test_a_category_that_training_has_not_seen_counts_as_missing(name):
    X, y = frame(200)
    model = boosted(BoostedClassifier, name).fit(X, y)
    new, missing = X[:5].copy(), X[:5].copy()
    new["text"] = "never seen"
    missing["text"] = None
    np.testing.assert_array_equal(
        model.predict_proba(new), model.predict_proba(missing)
    )


@every
def test_categories_have_no_order(name):
    rng = np.random.RandomState(0)
    code = rng.randint(8, size=400)
    y = np.isin(code, [1, 3, 6])
    X = np.array([f"town {i}" for i in code], dtype=object)[:, None]
    # Two leaves hold any two groups of categories, but no cut of an order does.
    model = boosted(BoostedClassifier, name, trees=100).fit(X, y)
    assert model.score(X, y) == 1.0


def test_on_numbers_it_is_the_library_itself():
    X, y = numbers(200)
    ours = BoostedClassifier(random_state=0).fit(X, y).predict_proba(X)
    theirs = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours, theirs.predict_proba(X))


def test_weights_reach_the_library():
    X, y = numbers(200)
    weights = np.where(y == 1, 100.0, 1.0)
    plain, weighted = (
        BoostedClassifier(random_state=0).fit(X, y, sample_weight=given)
        for given in (None, weights)
    )
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"lacunet\[boosting\]"):
        BoostedClassifier("lightgbm").fit(*numbers())


def test_a_library_that_is_unknown_is_refused():
    with pytest.raises(ValueError, match="library='forest'"):
        BoostedClassifier("forest").fit(*numbers())


@every
@pytest.mark.filterwarnings("ignore:Got columns without one observed value")
def test_a_column_without_a_value_changes_nothing(name):
    X, y = numbers()
    more = np.column_stack([X, np.full(len(X), np.nan)])
    model = boosted(BoostedClassifier, name).fit(more, y)
    alone = boosted(BoostedClassifier, name).fit(X, y).predict_proba(X)
    if name == "hgb":  # others draw from the columns
        np.testing.assert_array_equal(model.predict_proba(more), alone)
    assert model.predict_proba(more).shape == (len(X), 2)


def test_many_rows_and_a_class_of_one_are_no_trouble_for_hgb():
    X = np.random.RandomState(0).randn(10_100, 1)
    y = np.array([0, 1] * 5_049 + [0, 2])
    model = boosted(BoostedClassifier, "hgb", trees=1).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert not model.model_.do_early_stopping_
    others = boosted(BoostedClassifier, "hgb", trees=1).fit(X[:-1], y[:-1])
    assert others.model_.do_early_stopping_
