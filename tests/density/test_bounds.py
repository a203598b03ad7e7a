"""EM over cells that are known by bounds."""

import numpy as np
import pytest
import torch

from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture, fit_mixed

KINDS = ["diag", "factor", "full"]


def censored(n=3000, seed=0, quantile=0.3):
    """Return correlated normals, the same without what is below limits, and these."""
    z = np.random.RandomState(seed).randn(n, 3)
    z[:, 1] += z[:, 0]
    z[:, 2] = 2.0 - 0.5 * z[:, 0] + z[:, 2]
    limits = np.quantile(z[:, :2], quantile, axis=0)
    below = np.hstack([z[:, :2] < limits, np.zeros((n, 1), dtype=bool)])
    upper = np.where(below, [*limits, np.nan], np.nan)
    return z, np.where(below, np.nan, z), upper


def covariance(mixture):
    density = GaussianMixtureDensity.from_estimator(mixture, dtype=torch.float64)
    return density.covariances[0].detach().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_em_recovers_mean_and_variance_below_a_detection_limit(kind):
    z, X, upper = censored()
    mixture = IncompleteGaussianMixture(
        covariance_type=kind, rank=2 if kind == "factor" else None, tol=1e-5
    ).fit(X, upper=upper)
    np.testing.assert_allclose(mixture.means_[0], z.mean(0), atol=0.04)
    np.testing.assert_allclose(
        covariance(mixture).diagonal(), z.var(0), rtol=0.06 if kind == "diag" else 0.05
    )
    if kind != "diag":
        true = np.cov(z.T)
        np.testing.assert_allclose(covariance(mixture), true, atol=0.08)
    # What one would do otherwise is far off.
    half = np.where(np.isnan(upper), X, upper / 2)
    assert abs(half[:, 0].mean() - z[:, 0].mean()) > 0.1
    assert np.nanmean(X[:, 0]) - z[:, 0].mean() > 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_rises_with_every_step(kind):
    _, X, upper = censored(400)
    lower = np.where(np.isnan(upper), np.nan, upper - 1.0)
    mixture = IncompleteGaussianMixture(
        2, covariance_type=kind, tol=1e-9, max_iter=30, random_state=0, reg_covar=1e-9
    )
    with pytest.warns(Warning, match="did not converge"):
        mixture.fit(X, lower=lower, upper=upper)
    # Several bounded cells of a row are exact for "diag" alone.
    fall = 1e-9 if kind == "diag" else 1e-3
    assert np.diff(mixture.lower_bounds_).min() > -fall


def test_rows_without_bounds_have_the_same_statistics():
    _, X, upper = censored(300)
    mixture = IncompleteGaussianMixture(2, random_state=0)
    plain = mixture.fit(X).means_
    nothing = np.full_like(X, np.nan)
    for bounds in ({"lower": nothing}, {"upper": nothing + np.inf}):
        assert (mixture.fit(X, **bounds).means_ == plain).all()
    assert (mixture.fit(X, upper=upper).means_ != plain).any()


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_add_up(kind, monkeypatch):
    _, X, upper = censored(200)
    mixture = IncompleteGaussianMixture(
        2, covariance_type=kind, tol=1e-9, max_iter=5, random_state=0
    )
    with pytest.warns(Warning, match="did not converge"):
        whole = mixture.fit(X, upper=upper).means_
    monkeypatch.setattr("lacunet.density._em.BLOCK_BUDGET", 500)
    with pytest.warns(Warning, match="did not converge"):
        blocks = mixture.fit(X, upper=upper).means_
    np.testing.assert_allclose(whole, blocks, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_fills_and_draws_lie_inside_the_bounds(kind):
    z, X, upper = censored(300)
    mixture = IncompleteGaussianMixture(covariance_type=kind, rank=None).fit(
        X, upper=upper
    )
    limit = np.where(np.isnan(upper), np.inf, upper)
    filled = mixture.impute(X, upper=upper)
    assert (filled <= limit).all()
    draws = mixture.sample_imputations(X, 5, upper=upper, random_state=0)
    assert (draws <= limit).all()
    assert abs(draws.mean((0, 1)) - z.mean(0)).max() < 0.1
    assert (mixture.impute(X) > limit).any()
    gain = mixture.score_samples(X, upper=upper) - mixture.score_samples(X)
    bounded = ~np.isnan(upper).all(1)
    assert (gain[bounded] < 0).all()
    assert not gain[~bounded].any()


def test_a_bound_tells_which_component_a_row_is_of():
    X = np.concatenate([np.full(50, -3.0), np.full(50, 3.0)])[:, None]
    X = X + np.random.RandomState(0).randn(100, 1)
    mixture = IncompleteGaussianMixture(2, random_state=0).fit(X)
    low = mixture.means_[:, 0].argmin()
    upper = np.array([[-2.0]])
    assert mixture.predict_proba([[np.nan]], upper=upper)[0, low] > 0.99
    assert mixture.predict([[np.nan]], upper=upper)[0] == low


def test_levels_that_are_ruled_out_count_for_the_others():
    rng = np.random.RandomState(0)
    codes = rng.choice(3, size=2000, p=[0.2, 0.3, 0.5])
    X = np.eye(3)[codes]
    # Of half of the rows it is known only that they are not of the first level.
    hidden = (codes > 0) & (rng.rand(2000) < 0.5)
    X[hidden] = np.nan
    upper = np.full_like(X, np.nan)
    upper[hidden, 0] = 0.0
    mixture = IncompleteGaussianMixture(random_state=0, tol=1e-8)
    found = fit_mixed(mixture, X, (3,), upper=upper).components.probabilities[0]
    np.testing.assert_allclose(found, [0.2, 0.3, 0.5], atol=0.03)
    ignored = fit_mixed(mixture, X, (3,)).components.probabilities[0]
    assert float(ignored[0]) > 0.3


def test_bounds_that_do_not_fit_are_refused():
    _, X, upper = censored(50)
    mixture = IncompleteGaussianMixture()
    with pytest.raises(ValueError, match=r"Got upper of shape \(50, 2\)"):
        mixture.fit(X, upper=upper[:, :2])
    with pytest.raises(ValueError, match="expected lower <= upper"):
        mixture.fit(X, lower=np.full_like(X, 1e9))
    with pytest.raises(ValueError, match="expected strategy='em' with bounds"):
        IncompleteGaussianMixture(strategy="mean").fit(X, upper=upper)
