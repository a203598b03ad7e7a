import numpy as np
import pytest
import torch
from scipy import optimize

from lacunet.profile._gaussian import _leap, fit_gaussian


def make_rows(n_rows=40, n_columns=3, share=0.3, seed=0):
    stream = np.random.RandomState(seed)
    X = stream.randn(n_rows, n_columns) + stream.randn(n_rows, 1)
    X[stream.rand(*X.shape) < share] = np.nan
    return X[~np.isnan(X).all(axis=1)]


def log_likelihood(X, mean, covariance):
    """Compute it row by row, from the definition."""
    total = 0.0
    for row in X:
        seen = ~np.isnan(row)
        gap, block = row[seen] - mean[seen], covariance[seen][:, seen]
        total -= gap @ np.linalg.solve(block, gap) / 2
        total -= np.linalg.slogdet(2 * np.pi * block)[1] / 2
    return total


def test_complete_rows_give_mean_and_covariance():
    X = make_rows(share=0)
    fit = fit_gaussian(X)
    assert fit.converged
    np.testing.assert_allclose(fit.mean, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(fit.covariance, np.cov(X.T, bias=True), atol=1e-12)


def test_with_holes_no_step_aside_is_likelier():
    X = make_rows(share=0.5)
    fit = fit_gaussian(X)
    best = log_likelihood(X, fit.mean, fit.covariance)
    lower = np.linalg.cholesky(fit.covariance)
    for move in np.vstack([np.eye(9), -np.eye(9)]) * 1e-3:
        nudged = lower + np.tril(np.reshape(move, (3, 3)))
        assert log_likelihood(X, fit.mean, nudged @ nudged.T) <= best + 1e-10
        assert log_likelihood(X, fit.mean + move[:3], fit.covariance) <= best + 1e-10


def test_the_likelihood_is_flat_to_many_digits():
    # At the top, squared distances of all rows sum to the number of observed cells.
    X = make_rows(n_rows=300, n_columns=5, share=0.5) * [1e-6, 1, 1e6, 3, 1]
    fit = fit_gaussian(X)
    total = 0.0
    for row in X:
        seen = ~np.isnan(row)
        gap = row[seen] - fit.mean[seen]
        total += gap @ np.linalg.solve(fit.covariance[np.ix_(seen, seen)], gap)
    assert total == pytest.approx((~np.isnan(X)).sum(), rel=1e-10)


def test_an_optimiser_finds_the_same():
    X = make_rows(n_rows=25, n_columns=2, share=0.4)

    def unpack(point):
        lower = np.array([[np.exp(point[2]), 0], [point[3], np.exp(point[4])]])
        return point[:2], lower @ lower.T

    found = optimize.minimize(
        lambda point: -log_likelihood(X, *unpack(point)), np.zeros(5), tol=1e-12
    )
    mean, covariance = unpack(found.x)
    fit = fit_gaussian(X)
    np.testing.assert_allclose(fit.mean, mean, atol=1e-5)
    np.testing.assert_allclose(fit.covariance, covariance, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_sum_of_columns_is_found_out(share):
    X = make_rows(n_columns=2, share=0.0)
    X = np.column_stack([X, np.random.RandomState(1).randn(len(X)), X.sum(axis=1)])
    X[np.random.RandomState(2).rand(*X.shape) < share] = np.nan
    fit = fit_gaussian(X[~np.isnan(X).all(axis=1)])
    assert not fit.converged
    parts = np.abs(fit.combination) > 1e-3
    assert parts.tolist() == [True, True, False, True]


@pytest.mark.parametrize(("reached", "kept"), [(0.0, True), (2.0, False)])
def test_a_leap_is_kept_only_if_it_is_likelier(reached, kept):
    points = [torch.eye(3)[:, 1:] * (1 + 0.1 * i) for i in (0, 1, 1.5)]
    landed = torch.eye(3)[:, 1:] * 2
    found = _leap(lambda theta: (1.0, landed), points, reached)
    assert (found is landed) == kept
    assert (found is points[2]) != kept


def test_columns_that_are_never_seen_together_are_no_hindrance():
    X = make_rows(share=0)
    X[:20, 0], X[20:, 1] = np.nan, np.nan
    assert fit_gaussian(X).converged
