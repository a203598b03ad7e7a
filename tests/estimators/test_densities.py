"""The densities that networks start from."""

import dataclasses

import numpy as np
import pytest
import torch

from lacunet import IncompleteGaussianMixture
from lacunet.estimators import _densities
from lacunet.estimators._densities import Watch

NAN = np.nan


@pytest.fixture(autouse=True)
def _factors_for_few_columns(monkeypatch):
    recipe = dataclasses.replace(_densities.RECIPE, many_columns=2)
    monkeypatch.setattr(_densities, "RECIPE", recipe)
    monkeypatch.setattr(_densities, "_CANDIDATES", _densities._CANDIDATES[:2])


def fit_density(density, rows, sizes=(), seed=0, **until):
    return _densities.fit_density(density, rows, sizes, seed, Watch(**until))[1]


def fit_classes(rows, sizes, seed):
    return _densities.fit_classes(rows, sizes, seed, Watch())[1]


def correlated(n=300, noise=0.1):
    rng = np.random.RandomState(0)
    cause = rng.randn(n, 1)
    x = (cause + noise * rng.randn(n, 4)) / np.sqrt(1 + noise**2)
    x[rng.rand(n, 4) < 0.2] = NAN
    return x


def independent(n=300):
    x = np.random.RandomState(0).randn(n, 4)
    x[::7, 1] = NAN
    return x


def covariance_of(components):
    return type(components.gaussian).__name__


def test_auto_sees_whether_columns_depend_on_each_other():
    fit = {"sizes": (), "seed": 0}
    assert covariance_of(fit_density("auto", correlated(), **fit)) == "FactorComponents"
    assert covariance_of(fit_density("auto", independent(), **fit)) == "DiagComponents"


@pytest.mark.parametrize("covariance_type", ["diag", "factor"])
def test_a_mixture_that_is_given_sees_all_rows(covariance_type):
    x = np.random.RandomState(0).randn(20_500, 2)
    given = IncompleteGaussianMixture(covariance_type=covariance_type, reg_covar=0.0)
    found = fit_density(given, x, (), seed=0)
    np.testing.assert_allclose(found.gaussian.means[0], x.mean(0), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_few_outliers_do_not_hide_that_columns_depend_on_each_other(seed):
    rng = np.random.RandomState(seed)
    x = rng.randn(400, 2) @ rng.randn(2, 12)
    x = 0.9 * x / x.std(0) + 0.4 * rng.randn(400, 12)
    x[::20] = rng.choice([-5.0, 5.0], (20, 12))
    x[rng.rand(400, 12) < 0.3] = NAN
    found = fit_density("auto", x, (), seed=0)
    assert covariance_of(found) == "FactorComponents"


@pytest.mark.parametrize("seed", range(10))
def test_few_rows_have_a_diagonal_mixture(seed):
    x = np.random.RandomState(seed).randn(60, 4)
    found = fit_density("auto", x, (), seed=seed)
    assert covariance_of(found) == "DiagComponents"


def test_a_mixture_that_is_given_is_fitted_and_left_alone():
    given = IncompleteGaussianMixture(2, covariance_type="full", random_state=3)
    found = fit_density(given, correlated(), (), seed=0)
    assert covariance_of(found) == "FullComponents"
    assert found.gaussian.means.shape == (2, 4)
    assert not hasattr(given, "means_")


@pytest.mark.parametrize("density", ["auto", IncompleteGaussianMixture(2)])
def test_the_seed_is_the_only_source_of_chance(density):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two, other = (
        fit_density(density, correlated(), (), seed).gaussian.means
        for seed in (0, 0, 1)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_a_random_state_of_the_mixture_comes_before_the_seed():
    given = IncompleteGaussianMixture(2, random_state=5)
    one, other = (
        fit_density(given, correlated(), (), seed).gaussian.means for seed in (0, 1)
    )
    assert torch.equal(one, other)


@pytest.mark.parametrize("n_rows", [1, 2, 9, 25])
def test_few_rows_get_few_components(n_rows):
    found = fit_density("auto", independent(n_rows), (), 0)
    assert len(found.gaussian.means) == max(1, min(3, n_rows // 10))
    assert torch.isfinite(found.gaussian.means).all()


def test_the_margin_keeps_the_first_candidate(monkeypatch):
    monkeypatch.setattr(_densities, "_MARGIN", 100.0)
    assert covariance_of(fit_density("auto", correlated(), (), 0)) == "DiagComponents"


def test_what_was_found_when_the_time_is_over_is_taken():
    whole = fit_density("auto", correlated())
    cut = fit_density("auto", correlated(), until=0.0)
    assert covariance_of(whole) == "FactorComponents"
    assert covariance_of(cut) == "DiagComponents"  # the first, and no other
    assert torch.isfinite(cut.gaussian.means).all()


def one_hot(*columns):
    return np.hstack([np.eye(2)[column] for column in columns])


def test_categories_have_latent_classes():
    columns = np.random.RandomState(0).randint(2, size=(2, 100))
    found = fit_classes(one_hot(*columns), (2, 2), seed=0)
    assert found.sizes == (2, 2)
    assert found.gaussian.means.shape == (4, 0)


def test_there_are_no_more_components_than_distinct_rows():
    column = np.random.RandomState(0).randint(2, size=100)
    found = fit_classes(one_hot(column, column), (2, 2), seed=0)
    assert len(found.gaussian.means) == 2
    same = np.ones((100, 3))
    assert len(fit_density("auto", same, (), 0).gaussian.means) == 1


def test_rows_that_differ_in_missing_values_alone_are_not_distinct():
    column = np.random.RandomState(0).randint(2, size=100)
    rows = one_hot(column, column)
    rows[::3, :2] = rows[1::3, 2:] = NAN
    found = fit_classes(rows, (2, 2), seed=0)
    assert len(found.gaussian.means) == 2
