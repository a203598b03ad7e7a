import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lacunet import IncompleteGaussianMixture
from lacunet.baselines import ChainedImputer, MixtureImputer

NAN = np.nan
FULL = IncompleteGaussianMixture(covariance_type="full")


def line(n=300, noise=0.5, seed=0):
    """Return rows whose second cell is 2 * the first + noise, a third of them cut."""
    rng = np.random.RandomState(seed)
    x = rng.randn(n)
    X = np.column_stack([x, 2 * x + noise * rng.randn(n)])
    X[::3, 1] = NAN
    return X


@parametrize_with_checks(
    [ChainedImputer(max_iter=2, random_state=0), MixtureImputer(random_state=0)]
)
def test_contract(estimator, check):
    check(estimator)


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


def test_draws_have_the_spread_of_the_data_about_the_line(imputer):
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
