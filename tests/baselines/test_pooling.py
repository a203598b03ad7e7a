"""Imputers that draw, and models pooled over their tables."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import numbers

from lacunet import IncompleteGaussianMixture
from lacunet.baselines import (
    ChainedImputer,
    MixtureImputer,
    PooledClassifier,
    PooledRegressor,
    plain_network,
)

QUICK = ChainedImputer(max_iter=2)
NAN = np.nan
FULL = IncompleteGaussianMixture(covariance_type="full")


@parametrize_with_checks(
    [
        ChainedImputer(max_iter=2, random_state=0),
        MixtureImputer(random_state=0),
        PooledClassifier(QUICK, LogisticRegression(), n_imputations=2, random_state=0),
        PooledRegressor(QUICK, Ridge(), n_imputations=2, random_state=0),
    ]
)
def test_contract(estimator, check):
    check(estimator)


def test_probabilities_are_the_mean_of_those_of_the_models():
    X, y = numbers()
    model = PooledClassifier(QUICK, LogisticRegression(), random_state=0).fit(X, y)
    assert len(model.estimators_) == len(model.imputers_) == 5
    pairs = zip(model.imputers_, model.estimators_, strict=True)
    each = [part.predict_proba(draw.transform(X)) for draw, part in pairs]
    assert np.std(each, axis=0).max() > 0.01
    np.testing.assert_allclose(model.predict_proba(X), np.mean(each, axis=0))


def test_the_tables_differ_and_the_same_seed_draws_the_same():
    X, y = numbers()
    model = PooledRegressor(QUICK, Ridge(), random_state=0).fit(X, y)
    tables = [imputer.transform(X) for imputer in model.imputers_]
    assert not np.allclose(tables[0], tables[1])
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.predict(X))


def test_imputers_never_see_the_target():
    X, y = numbers()
    tables = [
        PooledClassifier(QUICK, LogisticRegression(), n_imputations=1, random_state=0)
        .fit(X, labels)
        .imputers_[0]
        .transform(X)
        for labels in (y, 1 - y[::-1])
    ]
    np.testing.assert_array_equal(*tables)


def test_models_without_probabilities_vote():
    X, y = numbers()
    model = PooledClassifier(QUICK, RidgeClassifier(), random_state=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, y) > 0.7


def test_seeds_reach_steps_of_pipelines():
    X, y = numbers()
    imputer = make_pipeline(SimpleImputer(add_indicator=True), MixtureImputer())
    model = PooledClassifier(imputer, LogisticRegression(), random_state=0).fit(X, y)
    seeds = {part[-1].random_state for part in model.imputers_}
    assert len(seeds) == 5
    assert None not in seeds


def test_the_plain_network_is_what_goes_behind_by_default():
    X, y = numbers(30)
    model = PooledClassifier(QUICK, n_imputations=1, random_state=0).fit(X, y)
    network = model.estimators_[0]
    seeds = {name: None for name in network.get_params() if "random_state" in name}
    assert repr(clone(network).set_params(**seeds)) == repr(plain_network())


def test_zero_tables_are_refused():
    with pytest.raises((TypeError, ValueError), match="n_imputations"):
        PooledClassifier(n_imputations=0).fit(*numbers())


# --- the imputers


def line(n=300, noise=0.5, seed=0):
    """Return rows whose second cell is twice the first plus noise, a third missing."""
    rng = np.random.RandomState(seed)
    x = rng.randn(n)
    X = np.column_stack([x, 2 * x + noise * rng.randn(n)])
    X[::3, 1] = NAN
    return X


@pytest.fixture(params=["chained", "mixture"])
def imputer(request):
    if request.param == "chained":
        return ChainedImputer(random_state=0)
    return MixtureImputer(FULL, random_state=0)


def test_observed_cells_stay_and_nothing_is_missing(imputer):
    X = line()
    filled = imputer.fit_transform(X)
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_draws_vary_about_the_line_as_the_data_do(imputer):
    X = line(n=3000)
    drawn = imputer.fit(X).transform(X)[::3]
    rest = drawn[:, 1] - 2 * drawn[:, 0]
    assert abs(rest.mean()) < 0.06
    assert 0.45 < rest.std() < 0.55  # filling with the mean would give 0


def test_the_same_table_is_filled_the_same_and_the_global_generator_stays(imputer):
    X = line()
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = imputer.fit(X).transform(X)
    np.testing.assert_array_equal(first, imputer.transform(X))
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_another_seed_draws_others(imputer):
    X = line()
    other = imputer.__class__(**{**imputer.get_params(deep=False), "random_state": 1})
    assert not np.allclose(imputer.fit_transform(X), other.fit_transform(X))


def test_a_column_without_values_stays_in_the_table():
    X = np.column_stack([line(), np.full(300, NAN)])
    assert ChainedImputer(random_state=0).fit_transform(X).shape == (300, 3)


def test_the_mixture_that_is_given_stays_as_it_was():
    mixture = IncompleteGaussianMixture(2)
    model = MixtureImputer(mixture, random_state=0).fit(line())
    assert not hasattr(mixture, "means_")
    assert model.mixture_.n_components == 2
