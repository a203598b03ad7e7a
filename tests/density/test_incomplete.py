"""EM on incomplete rows: laws, scikit-learn on complete rows, and awkward tables."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from oracle import KINDS
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

from lacunet import IncompleteGaussianMixture
from lacunet.density._em import BLOCK_BUDGET, STEPS, split_blocks
from lacunet.functional import split_cells


def two_clusters(n=400, *, missing=0.3, seed=0):
    """Correlated clusters and the same with values missing completely at random."""
    rng = np.random.RandomState(seed)
    first = rng.randn(n // 2, 4) @ rng.randn(4, 4) + 4
    second = rng.randn(n - n // 2, 4) @ rng.randn(4, 4) - 4
    X = rng.permutation(np.vstack([first, second]))
    incomplete = X.copy()
    incomplete[rng.rand(*X.shape) < missing] = np.nan
    return X, incomplete


def fitted(covariance_type, X, **options):
    options = {"tol": 1e-4, "max_iter": 500, "random_state": 0} | options
    return IncompleteGaussianMixture(2, covariance_type=covariance_type, **options).fit(
        X
    )


def covariance(mixture, component):
    """Return a component's covariance matrix, whatever it is stored as."""
    if mixture.covariance_type == "full":
        return mixture.covariances_[component]
    if mixture.covariance_type == "diag":
        return np.diag(mixture.covariances_[component])
    loadings = mixture.loadings_[component]
    return loadings @ loadings.T + np.diag(mixture.noise_variances_[component])


@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_complete_rows_give_scikit_learns_mixture(covariance_type, tol):
    X, _ = two_clusters()
    identity = {"diag": np.ones((2, 4)), "full": np.stack([np.eye(4)] * 2)}
    options = {
        "covariance_type": covariance_type,
        "weights_init": [0.3, 0.7],
        "means_init": X[:2],
        "precisions_init": identity[covariance_type],
        "tol": tol,
        "max_iter": 1000,
    }
    theirs = GaussianMixture(2, **options).fit(X)
    ours = IncompleteGaussianMixture(2, **options).fit(X)
    for name in ("weights_", "means_", "covariances_", "lower_bound_", "n_iter_"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-6
        )
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X))
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9
    )
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.bic(X) == pytest.approx(theirs.bic(X))
    assert ours.aic(X) == pytest.approx(theirs.aic(X))


@pytest.mark.parametrize("covariance_type", KINDS)
def test_no_step_of_em_lowers_the_likelihood(covariance_type):
    """Step by step, each scored by itself: nothing in between hides a fall."""
    for seed in range(3):
        _, X = two_clusters(80, seed=seed)
        mixture = IncompleteGaussianMixture(
            2,
            covariance_type=covariance_type,
            max_iter=1,
            reg_covar=0.0,
            warm_start=True,
            init_params="random",
            random_state=seed,
        )
        scores = []
        for _ in range(60):
            with pytest.warns(ConvergenceWarning):
                scores.append(mixture.fit(X).score(X))
        assert np.diff(scores).min() > -1e-9
        assert scores[-1] > scores[0] + 0.1


@pytest.mark.parametrize("covariance_type", KINDS)
def test_reported_likelihood_is_that_of_the_rows_and_does_not_fall(covariance_type):
    _, X = two_clusters()
    mixture = fitted(covariance_type, X, tol=1e-7)
    assert np.diff(mixture.lower_bounds_).min() > -1e-9
    assert len(mixture.lower_bounds_) > 3
    assert mixture.score(X) == pytest.approx(mixture.lower_bound_, abs=1e-5)


def test_steps_that_fall_are_not_returned(monkeypatch):
    """Every M-step from the fourth on is spoilt: what was measured best comes back."""
    _, X = two_clusters()
    step, calls = STEPS["diag"], []
    maximise = step.maximise

    def spoilt(*arguments):
        calls.append(1)
        out = maximise(*arguments)
        return out._replace(means=out.means + 3.0) if len(calls) > 3 else out

    monkeypatch.setattr(step, "maximise", spoilt)
    with pytest.warns(ConvergenceWarning):
        mixture = fitted("diag", X, tol=0.0, max_iter=8)
    assert len(calls) == 8
    assert mixture.score(X) == pytest.approx(mixture.lower_bound_, abs=1e-9)
    assert np.diff(mixture.lower_bounds_).min() > 0


@pytest.mark.parametrize("covariance_type", ["factor", "full"])
def test_tiny_columns_do_not_stop_the_others(covariance_type):
    """Columns far below reg_covar: it must not pile up in their missing fraction."""
    rng = np.random.RandomState(0)
    z = rng.randn(2000, 1)
    X = np.hstack([z, 2 * z + 0.1 * rng.randn(2000, 1), 1e-5 * rng.randn(2000, 10)])
    X[rng.rand(*X.shape) < 0.4] = np.nan
    options = {"rank": 2} if covariance_type == "factor" else {}
    mixture = IncompleteGaussianMixture(
        covariance_type=covariance_type, max_iter=500, random_state=0, **options
    ).fit(X)
    row = np.full((1, 12), np.nan)
    row[0, 0] = 1.0
    assert mixture.impute(row)[0, 1] == pytest.approx(2.0, abs=0.1)
    assert mixture.n_iter_ > 3


@pytest.mark.parametrize("covariance_type", KINDS)
@pytest.mark.parametrize("kind", ["zero inflated", "far apart"])
def test_small_clusters_far_away_keep_their_digits(covariance_type, kind):
    """Where squares about a common origin would cancel."""
    rng = np.random.RandomState(0)
    if kind == "zero inflated":
        clusters = np.zeros(500), np.exp(rng.randn(500) + 13)
    else:
        clusters = 0.01 * rng.randn(500), 1e6 + 0.01 * rng.randn(500)
    X = np.concatenate(clusters)[:, None]
    mixture = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, means_init=[[0.0], [1e6]], random_state=0
    ).fit(X)
    variances = [covariance(mixture, k)[0, 0] for k in range(2)]
    densities = [
        w * stats.norm(m, np.sqrt(v)).pdf(X[:, 0])
        for w, m, v in zip(
            mixture.weights_, mixture.means_[:, 0], variances, strict=True
        )
    ]
    truth = np.log(np.sum(densities, 0)).mean()
    assert mixture.score(X) == pytest.approx(truth, abs=1e-4)
    if covariance_type != "factor":  # whose regression is about a common origin
        small = np.var(clusters[0]) + 1e-6
        assert variances[0] == pytest.approx(small, rel=1e-3)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_a_collapsed_component_is_refused_with_advice(covariance_type):
    X = np.column_stack([np.ones(50), np.random.RandomState(0).randn(50)])
    mixture = IncompleteGaussianMixture(covariance_type=covariance_type, reg_covar=0.0)
    with pytest.raises(ValueError, match="Raise reg_covar"):
        mixture.fit(X)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"n_components": 3}, "'n_components': 3"),
        ({"covariance_type": "full"}, "'covariance_type': 'full'"),
        ({"reg_covar": -1.0}, "reg_covar=-1.0"),
    ],
)
def test_going_on_with_other_parameters_is_refused(changed, match):
    _, X = two_clusters()
    mixture = fitted("diag", X, warm_start=True).set_params(**changed)
    with pytest.raises(ValueError, match=match):
        mixture.fit(X)
    with pytest.raises(ValueError, match=match):
        mixture.partial_fit(X)


def test_warm_start_on_another_width_is_refused():
    _, X = two_clusters()
    with pytest.raises(ValueError, match="n_features"):
        fitted("diag", X, warm_start=True).fit(X[:, :3])


def test_factor_counts_no_more_parameters_than_full():
    _, X = two_clusters()
    factor, full = fitted("factor", X), fitted("full", X)
    counts = [(m.bic(X) - m.aic(X)) / (np.log(len(X)) - 2) for m in (factor, full)]
    assert counts[0] <= counts[1] + 1e-9


@pytest.mark.parametrize("covariance_type", KINDS)
def test_pickle_gives_the_same_mixture(covariance_type):
    _, X = two_clusters()
    mixture = fitted(covariance_type, X).partial_fit(X[:100])
    copied = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copied.impute(X), mixture.impute(X))
    np.testing.assert_array_equal(
        copied.partial_fit(X).means_, mixture.partial_fit(X).means_
    )


@pytest.mark.parametrize("covariance_type", KINDS)
def test_result_is_a_stationary_point_of_the_observed_likelihood(covariance_type):
    """No small step of the means in any direction scores higher."""
    _, X = two_clusters()
    mixture = fitted(covariance_type, X, tol=1e-10, max_iter=5000, reg_covar=0.0)
    best = mixture.score(X)
    rng = np.random.RandomState(0)
    start = mixture.means_
    for _ in range(10):
        mixture.means_ = start + 1e-3 * rng.randn(*start.shape)
        assert mixture.score(X) < best


def test_one_full_gaussian_finds_the_closed_form_of_monotone_missingness():
    """Little's factored likelihood: regress the second column on the first."""
    X = np.array(
        [
            [0, 0],
            [1, 1],
            [2, 2.5],
            [3, 2],
            [4, np.nan],
            [5, np.nan],
            [3, np.nan],
            [4, 4.5],
        ]
    )
    mixture = IncompleteGaussianMixture(
        covariance_type="full", tol=1e-13, max_iter=5000, reg_covar=0.0
    ).fit(X)
    np.testing.assert_allclose(mixture.means_, [[2.75, 2.75]], atol=1e-5)
    truth = [[[2.4375, 2.4375], [2.4375, 2.7375]]]
    np.testing.assert_allclose(mixture.covariances_, truth, atol=1e-4)


@pytest.mark.parametrize("covariance_type", ["factor", "full"])
def test_variances_do_not_shrink_if_values_are_missing(covariance_type):
    rng = np.random.RandomState(0)
    X = (
        rng.randn(20_000, 3)
        @ np.linalg.cholesky([[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]]).T
    )
    X[rng.rand(*X.shape) < 0.5] = np.nan
    mixture = IncompleteGaussianMixture(
        covariance_type=covariance_type, tol=1e-7, max_iter=2000, random_state=0
    ).fit(X)
    np.testing.assert_allclose(
        covariance(mixture, 0),
        [[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]],
        atol=0.05,
    )


def test_mean_strategy_is_scikit_learn_on_mean_filled_rows():
    _, X = two_clusters()
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    options = {
        "weights_init": [0.5, 0.5],
        "means_init": filled[:2],
        "precisions_init": np.ones((2, 4)),
    }
    ours = IncompleteGaussianMixture(2, strategy="mean", **options).fit(X)
    theirs = GaussianMixture(2, covariance_type="diag", **options).fit(filled)
    np.testing.assert_allclose(ours.means_, theirs.means_)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_imputation_keeps_observed_cells_and_beats_the_mean(covariance_type):
    X, incomplete = two_clusters()
    missing = np.isnan(incomplete)
    mixture = fitted(covariance_type, incomplete)
    filled = mixture.impute(incomplete)
    assert (filled[~missing] == incomplete[~missing]).all()
    assert not np.isnan(filled).any()
    mean = np.broadcast_to(np.nanmean(incomplete, axis=0), X.shape)
    ours, plain = (((f - X)[missing] ** 2).mean() for f in (filled, mean))
    assert ours < 0.5 * plain


@pytest.mark.parametrize("covariance_type", KINDS)
def test_sampled_imputations_average_to_the_imputation(covariance_type):
    _, X = two_clusters(40)
    mixture = fitted(covariance_type, X, tol=1e-2)
    draws = mixture.sample_imputations(X, 2000, random_state=1)
    missing = np.isnan(X)
    assert draws.shape == (2000, *X.shape)
    assert (draws[:, ~missing] == X[~missing]).all()
    error = draws.std(0)[missing] / np.sqrt(2000)
    assert (np.abs(draws.mean(0) - mixture.impute(X))[missing] < 5 * error).all()
    again = mixture.sample_imputations(X, 2000, random_state=1)
    np.testing.assert_array_equal(draws, again)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_samples_have_the_moments_of_the_mixture(covariance_type):
    _, X = two_clusters()
    mixture = fitted(covariance_type, X)
    draws, labels = mixture.sample(60_000)
    for k in range(2):
        rows = draws[labels == k]
        np.testing.assert_allclose(rows.mean(0), mixture.means_[k], atol=0.1)
        truth = covariance(mixture, k)
        np.testing.assert_allclose(np.cov(rows.T), truth, rtol=0.1, atol=0.15)
    np.testing.assert_allclose(
        np.bincount(labels) / 60_000, mixture.weights_, atol=0.01
    )


@pytest.mark.parametrize("covariance_type", KINDS)
def test_blocks_of_rows_change_nothing(covariance_type, monkeypatch):
    _, X = two_clusters(200)
    whole = fitted(covariance_type, X, tol=1e-2)
    monkeypatch.setattr("lacunet.density._em.BLOCK_BUDGET", 2000)
    monkeypatch.setattr("lacunet.density._incomplete.BLOCK_BUDGET", 2000)
    pieces = fitted(covariance_type, X, tol=1e-2)
    assert BLOCK_BUDGET > 2000
    np.testing.assert_allclose(pieces.means_, whole.means_, rtol=1e-8)
    np.testing.assert_allclose(pieces.impute(X), whole.impute(X), rtol=1e-8)
    scores = pieces.score_samples(X)
    np.testing.assert_allclose(scores, whole.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_shuffled_batches_come_close_to_the_whole(covariance_type):
    X, incomplete = two_clusters(6000)
    whole = fitted(covariance_type, incomplete)
    steps = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, random_state=0
    )
    for start in range(0, 6000, 300):
        steps.partial_fit(incomplete[start : start + 300])
    assert steps.n_batches_ == 20
    first = IncompleteGaussianMixture(
        2, covariance_type=covariance_type, random_state=0
    )
    first.partial_fit(incomplete[:300])
    assert whole.score(incomplete) - steps.score(incomplete) < 0.02
    assert steps.score(incomplete) > first.score(incomplete)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_partial_fit_goes_on_from_the_last_fit(covariance_type):
    """Not from an earlier one, and not from nothing."""
    _, X = two_clusters(600)
    options = {"covariance_type": covariance_type, "random_state": 0, "max_iter": 500}
    mixture = IncompleteGaussianMixture(2, **options).partial_fit(X)
    mixture.fit(X + 100).partial_fit(X[:50] + 100)
    assert (np.abs(mixture.means_ - 100) < 20).all()
    fresh = IncompleteGaussianMixture(2, **options).fit(X + 100)
    np.testing.assert_allclose(mixture.means_, fresh.means_, atol=2.0)
    assert mixture.score(X + 100) > fresh.score(X + 100) - 0.3


def test_mean_strategy_fills_every_batch():
    _, X = two_clusters()
    mixture = IncompleteGaussianMixture(strategy="mean", tol=1e-9).partial_fit(X)
    for _ in range(30):
        mixture.partial_fit(X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(mixture.covariances_[0], filled.var(0), rtol=1e-4)


def test_refit_with_another_type_leaves_nothing_behind():
    _, X = two_clusters()
    mixture = fitted("factor", X)
    mixture.set_params(covariance_type="diag").fit(X)
    assert not hasattr(mixture, "loadings_")
    assert mixture.covariances_.shape == (2, 4)


def test_default_device_of_torch_is_left_out_of_it():
    _, X = two_clusters()
    for covariance_type in KINDS:
        plain = fitted(covariance_type, X)
        with torch.device("meta"):  # a device on which nothing could be computed
            other = fitted(covariance_type, X)
            scores, filled = other.score_samples(X), other.impute(X)
        np.testing.assert_array_equal(scores, plain.score_samples(X))
        np.testing.assert_array_equal(filled, plain.impute(X))


def test_an_outlier_does_not_make_all_other_rows_equal():
    X = np.random.RandomState(0).randn(1000, 2)
    X[0] = 1e9
    mixture = IncompleteGaussianMixture(3, tol=0.1, random_state=0).fit(X)
    assert np.isfinite(mixture.means_).all()


def test_start_from_some_of_many_rows_finds_the_same_clusters(monkeypatch):
    _, X = two_clusters()
    whole = fitted("diag", X)
    monkeypatch.setattr("lacunet.density._start._ROWS_FOR_CENTRES", 100)
    some = fitted("diag", X)
    np.testing.assert_allclose(
        np.sort(some.means_, 0), np.sort(whole.means_, 0), atol=0.05
    )


def test_far_away_origin_loses_no_digits():
    X, incomplete = two_clusters()
    near, far = fitted("full", incomplete), fitted("full", incomplete + 1e7)
    np.testing.assert_allclose(far.means_ - 1e7, near.means_, atol=1e-5)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-5)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_same_seed_same_result_and_global_rng_untouched(covariance_type):
    _, X = two_clusters()
    states = [np.random.get_state()[1].copy(), torch.get_rng_state()]  # noqa: NPY002
    first, second = (
        fitted(covariance_type, X, n_init=2, init_params="random") for _ in range(2)
    )
    first.sample_imputations(X, 2)
    np.testing.assert_array_equal(first.means_, second.means_)
    assert (np.random.get_state()[1] == states[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), states[1])


def test_more_starts_are_never_worse():
    _, X = two_clusters(100)
    options = {"init_params": "random", "tol": 1e-3}
    scores = [fitted("full", X, n_init=n, **options).lower_bound_ for n in (1, 5)]
    assert scores[1] >= scores[0]


def test_warm_start_goes_on_where_it_stopped():
    _, X = two_clusters()
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        short = fitted("diag", X, max_iter=3, tol=0.0, warm_start=True)
    bound = short.lower_bound_
    with pytest.warns(ConvergenceWarning):
        short.fit(X)
    assert short.lower_bounds_[0] >= bound


def test_column_never_observed_is_kept_with_a_warning():
    _, X = two_clusters()
    X[:, 2] = np.nan
    with pytest.warns(UserWarning, match=r"without one observed value: \[2\]"):
        mixture = fitted("full", X)
    assert mixture.means_.shape == (2, 4)
    filled = mixture.impute(X)
    np.testing.assert_allclose(filled[:, 2], 0.0, atol=1e-9)


@pytest.mark.parametrize("covariance_type", KINDS)
def test_constant_columns_and_duplicated_rows_are_fitted(covariance_type):
    _, X = two_clusters(40)
    X[:, 1] = 7.0
    X = np.vstack([X, X, X])
    mixture = fitted(covariance_type, X, tol=1e-2)
    assert np.isfinite(covariance(mixture, 0)).all()
    X[0, 1] = np.nan
    assert mixture.impute(X)[0, 1] == pytest.approx(7.0, abs=1e-3)


def test_row_with_nothing_observed_teaches_nothing():
    _, X = two_clusters()
    with_empty = np.vstack([X, np.full((50, 4), np.nan)])
    first, second = fitted("diag", X, tol=1e-9), fitted("diag", with_empty, tol=1e-9)
    np.testing.assert_allclose(
        np.sort(first.means_, 0), np.sort(second.means_, 0), atol=1e-4
    )
    assert second.score_samples(with_empty)[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 500}, "n_samples=400"),
        ({"covariance_type": "tied"}, "covariance_type='tied'"),
        ({"rank": 2}, "'diag' has no rank"),
        ({"covariance_type": "factor", "rank": 5}, "at most 4"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_init": 0}, "n_init=0"),
        ({"reg_covar": -1e-3}, "reg_covar=-0.001"),
        ({"strategy": "median"}, "strategy='median'"),
        ({"init_params": "k-means"}, "init_params='k-means'"),
        ({"weights_init": [0.5, 0.6], "n_components": 2}, "sum to 1"),
        ({"means_init": np.zeros((1, 3))}, r"means_init of shape \(1, 3\)"),
        ({"precisions_init": np.full((1, 4), -1.0)}, "not positive"),
        ({"covariance_type": "factor", "precisions_init": 1}, "warm_start"),
    ],
)
def test_bad_parameters_are_refused(options, match):
    _, X = two_clusters()
    with pytest.raises(ValueError, match=match):
        IncompleteGaussianMixture(**options).fit(X)


def test_more_components_than_distinct_rows_are_refused():
    X = np.repeat([[0.0, 1.0], [2.0, np.nan], [5.0, 5.0]], 10, axis=0)
    with pytest.raises(ValueError, match="expected at most 3"):
        IncompleteGaussianMixture(4, random_state=0).fit(X)


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        IncompleteGaussianMixture().fit([[np.inf, 1.0], [0.0, 1.0]])
    with pytest.raises(NotFittedError):
        IncompleteGaussianMixture().impute([[0.0, np.nan]])
    mixture = IncompleteGaussianMixture().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    with pytest.raises(ValueError, match="3 features"):
        mixture.predict([[0.0, 1.0, 2.0]])


def test_pandas_missing_values_and_names():
    pd = pytest.importorskip("pandas")
    _, X = two_clusters()
    frame = pd.DataFrame(X, columns=list("abcd")).convert_dtypes()
    mixture = fitted("full", frame)
    np.testing.assert_allclose(mixture.means_, fitted("full", X).means_)
    assert mixture.feature_names_in_.tolist() == list("abcd")
    assert not np.isnan(mixture.impute(frame)).any()


def test_grid_search_chooses_components_on_incomplete_rows():
    _, X = two_clusters()
    search = GridSearchCV(
        IncompleteGaussianMixture(random_state=0, max_iter=1000),
        {"n_components": [1, 2], "covariance_type": ["diag", "full"]},
        cv=3,
    ).fit(X)
    assert search.best_params_ == {"n_components": 2, "covariance_type": "full"}
    clone(search.best_estimator_)


def test_verbose_prints_the_likelihood(capsys):
    _, X = two_clusters()
    fitted("diag", X, verbose=1)
    assert "iteration 1: log likelihood" in capsys.readouterr().out


@pytest.mark.parametrize("covariance_type", ["factor", "full"])
def test_accelerated_em_climbs_in_fewer_iterations(covariance_type):
    _, X = two_clusters(missing=0.4)
    options = {"covariance_type": covariance_type, "tol": 1e-6, "max_iter": 2000}
    plain, fast = (
        IncompleteGaussianMixture(2, random_state=0, accelerate=way, **options).fit(X)
        for way in (False, True)
    )
    assert fast.converged_
    assert fast.n_iter_ < plain.n_iter_
    assert fast.lower_bound_ > plain.lower_bound_ - 1e-5
    assert np.diff(fast.lower_bounds_).min() > -1e-5


def test_accelerated_em_finds_the_maximum_to_many_digits():
    # There, the squared distances of all rows sum to the number of observed cells.
    _, X = two_clusters(missing=0.5)
    X = X[~np.isnan(X).all(1)]
    mixture = IncompleteGaussianMixture(
        covariance_type="full", accelerate=True, tol=1e-13, reg_covar=0, max_iter=600
    ).fit(X)
    mean, covariance = mixture.means_[0], mixture.covariances_[0]
    total = 0.0
    for row in X:
        seen = ~np.isnan(row)
        gap = row[seen] - mean[seen]
        total += gap @ np.linalg.solve(covariance[np.ix_(seen, seen)], gap)
    assert total == pytest.approx((~np.isnan(X)).sum(), rel=1e-6)


def test_blocks_of_full_covariances_are_bounded_in_memory():
    rng = np.random.RandomState(0)
    X = rng.randn(6000, 40)
    X[rng.rand(*X.shape) < 0.3] = np.nan
    cells = split_cells(torch.from_numpy(X))
    mixture = IncompleteGaussianMixture(2, covariance_type="full")
    blocks = split_blocks(mixture, cells, 40)
    assert sum(len(block.values) for block in blocks) == 6000
    for block in blocks:
        n_missing = int((~block.observed).sum(1).max())
        numbers = 2 * len(block.values) * (n_missing**2 + 40)
        assert numbers < BLOCK_BUDGET
        whole = 2 * len(block.values) * 40**2  # if covariances are nearly singular
        assert whole < 8 * BLOCK_BUDGET


@pytest.mark.parametrize("covariance_type", KINDS)
def test_statistics_belong_to_the_components_wherever_em_is_cut_off(covariance_type):
    """Also where the last leap was taken back, or not measured yet."""
    _, X = two_clusters(120, missing=0.5)
    step = STEPS[covariance_type]
    for max_iter in range(2, 14):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture = fitted(
                covariance_type, X, accelerate=True, tol=0.0, max_iter=max_iter
            )
        components = mixture._components(mixture._shift)
        again = step.maximise(mixture._statistics, components, mixture.reg_covar)
        torch.testing.assert_close(again.means, components.means, atol=1e-3, rtol=1e-3)


def test_a_leap_is_no_sign_of_convergence(monkeypatch):
    _, X = two_clusters(missing=0.4)
    monkeypatch.setattr(type(STEPS["full"]), "leap", lambda self, zero, one, two: one)
    options = {"covariance_type": "full", "tol": 1e-9, "max_iter": 3, "random_state": 0}
    mixture = IncompleteGaussianMixture(2, accelerate=True, **options)
    with pytest.warns(ConvergenceWarning):
        mixture.fit(X)  # the third bound is the second again
    assert mixture.lower_bounds_[2] == pytest.approx(mixture.lower_bounds_[1])
    assert not mixture.converged_


def test_a_leap_to_no_density_is_taken_back(monkeypatch):
    _, X = two_clusters(missing=0.4)

    def nowhere(self, zero, one, two):
        return two._replace(means=two.means * torch.nan)

    plain = fitted("full", X)
    monkeypatch.setattr(type(STEPS["full"]), "leap", nowhere)
    mixture = fitted("full", X, accelerate=True)
    np.testing.assert_allclose(mixture.lower_bound_, plain.lower_bound_)
