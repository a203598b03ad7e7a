import numpy as np
import pytest
from reproduction.rivals import NeighbourImputer
from sklearn import config_context
from sklearn.impute import KNNImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

NAN = np.nan


def table(seed, share=None):
    rng = np.random.RandomState(seed)
    n, width = rng.randint(5, 80), rng.randint(2, 9)
    X = rng.randn(n, width) * 10 * rng.rand(width) + 5 * rng.randn(width)
    X[rng.rand(n, width) < (0.8 * rng.rand() if share is None else share)] = NAN
    X[0] = 1.0
    return X


@parametrize_with_checks([NeighbourImputer(n_neighbors=2)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_it_fills_as_scikit_learn_does(seed, n_neighbors):
    X, others = table(seed), table(seed, share=0.5)
    ours = NeighbourImputer(n_neighbors).fit(X)
    theirs = KNNImputer(n_neighbors=n_neighbors).fit(X)
    for rows in (X, others):
        np.testing.assert_allclose(
            ours.transform(rows), theirs.transform(rows), atol=1e-6
        )


def test_blocks_of_any_size_give_the_same():
    X = table(3)
    model = NeighbourImputer().fit(X)
    whole = model.transform(X)
    with config_context(working_memory=0.001):
        assert sum(1 for _ in model._blocks(np.arange(len(X)))) > 5
        np.testing.assert_allclose(model.transform(X), whole, rtol=1e-12)


def test_far_neighbours_are_looked_for_where_the_near_ones_lack_the_column():
    X = np.arange(400.0)[:, None].repeat(2, axis=1)
    X[:390, 1] = NAN
    filled = NeighbourImputer(2).fit_transform(X)
    np.testing.assert_allclose(filled[0, 1], 390.5)


def test_a_hole_without_neighbours_gets_the_mean():
    X = np.array([[1.0, NAN], [3.0, NAN], [NAN, 7.0], [NAN, NAN]])
    filled = NeighbourImputer(2).fit_transform(X)
    np.testing.assert_allclose(filled, [[1, 7], [3, 7], [2, 7], [2, 7]])


def test_a_column_without_values_stays_in_the_table():
    X = np.array([[1.0, NAN], [NAN, NAN], [3.0, NAN]])
    assert NeighbourImputer().fit_transform(X).tolist() == [[1, 0], [2, 0], [3, 0]]


def test_observed_cells_and_single_precision_stay():
    X = table(5).astype(np.float32)
    filled = NeighbourImputer().fit_transform(X)
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_allclose(
        filled, NeighbourImputer().fit_transform(X.astype(float)), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "a"])
def test_a_number_of_neighbours_that_is_none_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="n_neighbors"):
        NeighbourImputer(wrong).fit([[1.0], [2.0]])
