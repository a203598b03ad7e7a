"""EM with categories: laws, a known mixture, and Gaussian EM where there are none."""

import numpy as np
import pytest
import torch
from oracle import KINDS
from sklearn.exceptions import ConvergenceWarning

from lacunet import IncompleteGaussianMixture
from lacunet.density import MixedMixtureDensity, _em
from lacunet.density._mixed_em import fit_mixed
from lacunet.functional import log_likelihood

CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
FIRST = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
SECOND = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
SIZES = (3, 2)


def known_mixture(n=2000, *, missing=0.3, seed=0):
    """Three clusters of two numbers and two categories; some rows are empty."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(3, size=n)
    numbers = CENTRES[labels] + rng.randn(n, 2)
    groups = [draw_categories(each[labels], rng) for each in (FIRST, SECOND)]
    parts = [numbers[:, :1], numbers[:, 1:], *groups]
    for part in parts:
        part[rng.rand(n) < missing] = np.nan
    X = np.hstack(parts)
    X[:3] = np.nan
    return X


def draw_categories(probabilities, rng):
    """Draw one-hot categories, by a row of probabilities each."""
    drawn = (rng.rand(len(probabilities), 1) > probabilities.cumsum(1)).sum(1)
    n_categories = probabilities.shape[1]
    return np.eye(n_categories)[np.minimum(drawn, n_categories - 1)]


def mixture(n_components=3, **options):
    options = {"tol": 1e-6, "max_iter": 1000, "random_state": 0} | options
    return IncompleteGaussianMixture(n_components, **options)


def sorted_means(components):
    """Means and probabilities, in the order of the known clusters."""
    means = components.means.numpy()
    order = [np.square(means[:, :2] - c).sum(1).argmin() for c in CENTRES]
    assert sorted(order) == [0, 1, 2]
    return means[order], components.log_weights.exp().numpy()[order]


@pytest.mark.parametrize("kind", KINDS)
def test_known_mixture_is_recovered(kind):
    result = fit_mixed(mixture(covariance_type=kind), known_mixture(4000), SIZES)
    means, weights = sorted_means(result.components)
    np.testing.assert_allclose(weights, np.full(3, 1 / 3), atol=0.04)
    np.testing.assert_allclose(means[:, :2], CENTRES, atol=0.2)
    np.testing.assert_allclose(means[:, 2:], np.hstack([FIRST, SECOND]), atol=0.06)
    assert result.converged


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_bound_does_not_fall_and_is_that_of_the_rows(kind, seed):
    X = known_mixture(150, seed=seed)
    how = mixture(
        covariance_type=kind, init_params="random", random_state=seed, reg_covar=0.0
    )
    result = fit_mixed(how, X, SIZES)
    assert len(result.lower_bounds) > 3
    assert np.diff(result.lower_bounds).min() > -1e-9
    components = result.components
    groups = components.log_probabilities.split(SIZES, 1)
    pseudo = sum(float(group.mean(1).sum()) for group in groups)  # one row a component
    score = float(log_likelihood(torch.tensor(X), components).sum()) + pseudo
    assert score / len(X) == pytest.approx(result.lower_bound, abs=1e-4)


@pytest.mark.parametrize("init", ["kmeans", "random"])
@pytest.mark.parametrize("strategy", ["em", "mean"])
@pytest.mark.parametrize("kind", KINDS)
def test_without_categories_it_is_the_gaussian_fit(kind, strategy, init):
    X = known_mixture(300)[:, :2]
    options = {"strategy": strategy, "init_params": init, "n_init": 2}
    how = mixture(covariance_type=kind, **options)
    result = fit_mixed(how, X, ())
    fitted = mixture(covariance_type=kind, **options).fit(X)
    np.testing.assert_allclose(result.components.gaussian.means, fitted.means_)
    np.testing.assert_allclose(result.components.log_weights.exp(), fitted.weights_)
    np.testing.assert_allclose(result.lower_bounds, fitted.lower_bounds_)
    assert result.components.log_probabilities.shape == (3, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_without_numbers_find_latent_classes(kind):
    rng = np.random.RandomState(0)
    labels = rng.randint(2, size=3000)
    true = np.array([[0.85, 0.1, 0.05], [0.1, 0.2, 0.7]])
    groups = [draw_categories(true[labels], rng) for _ in range(4)]
    for group in groups:
        group[rng.rand(3000) < 0.2] = np.nan
    how = mixture(2, covariance_type=kind, rank=3 if kind == "factor" else None)
    found = fit_mixed(how, np.hstack(groups), (3,) * 4).components
    assert type(found.gaussian).__name__.lower().startswith(kind)
    probabilities = found.probabilities.numpy()
    order = probabilities[:, 0].argsort()[::-1]
    np.testing.assert_allclose(probabilities[order], np.tile(true, 4), atol=0.06)


def test_levels_missing_at_random_are_not_mistaken_for_rare():
    """Level 1 goes with large numbers, and is missing half the time there."""
    rng = np.random.RandomState(0)
    labels = rng.randint(2, size=4000)
    numbers = 5.0 * labels[:, None] + rng.randn(4000, 1)
    categories = np.eye(2)[labels]
    categories[(numbers[:, 0] > 2.5) & (rng.rand(4000) < 0.7)] = np.nan
    found = fit_mixed(mixture(2), np.hstack([numbers, categories]), (2,)).components
    mean = (found.log_weights.exp() @ found.means)[-1].item()
    assert np.nanmean(categories[:, 1]) < 0.3
    assert mean == pytest.approx(0.5, abs=0.03)


def test_one_component_counts_levels_and_a_pseudo_row():
    X = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [np.nan] * 3])
    for strategy, counts in (("em", [2, 1, 0]), ("mean", [3, 1, 0])):
        result = fit_mixed(mixture(1, strategy=strategy), X, (3,))
        expected = (np.array(counts) + 1 / 3) / (sum(counts) + 1)
        found = result.components.probabilities[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_blocks_do_not_change_the_result(monkeypatch):
    X = known_mixture(300)
    whole = fit_mixed(mixture(covariance_type="full"), X, SIZES)
    monkeypatch.setattr(_em, "BLOCK_BUDGET", 2000)
    parts = fit_mixed(mixture(covariance_type="full"), X, SIZES)
    torch.testing.assert_close(parts.components.means, whole.components.means)


@pytest.mark.parametrize("given", ["means", "all"])
def test_given_means_keep_their_order(given):
    options = {"means_init": CENTRES[[2, 0, 1]]}
    if given == "all":
        options |= {"weights_init": [0.3, 0.3, 0.4], "precisions_init": np.ones((3, 2))}
    means = fit_mixed(mixture(**options), known_mixture(), SIZES).components.means
    np.testing.assert_allclose(means[:, :2], CENTRES[[2, 0, 1]], atol=0.3)
    np.testing.assert_allclose(means[:, 2:5], FIRST[[2, 0, 1]], atol=0.1)


def test_it_makes_a_density():
    X = known_mixture(300)
    components = fit_mixed(mixture(), X, SIZES).components
    density = MixedMixtureDensity.from_components(components, gamma=0.0)
    scores = density.log_prob(torch.tensor(X))
    torch.testing.assert_close(scores, log_likelihood(torch.tensor(X), components))
    filled = density.condition(torch.tensor(X)).mean()
    assert torch.isfinite(filled).all()


def test_neither_mixture_nor_generators_nor_table_are_touched():
    X, how = known_mixture(200), mixture()
    before, table = dict(vars(how)), X.copy()
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (fit_mixed(how, X, SIZES) for _ in range(2))
    assert vars(how) == before
    assert np.array_equal(X, table, equal_nan=True)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002
    assert torch.equal(first.components.means, second.components.means)


def test_it_ends_when_it_is_stopped():
    seen = []

    def stop(log_likelihood):
        seen.append(log_likelihood)
        return len(seen) == 3

    X = np.random.RandomState(0).randn(50, 2)
    mixture = IncompleteGaussianMixture(2, tol=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        result = fit_mixed(mixture, X, (), stop=stop)
    assert result.lower_bounds == seen


def test_early_stop_and_empty_columns_are_told():
    X = known_mixture(100)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        fit_mixed(mixture(max_iter=2), X, SIZES)
    X[:, 5:] = np.nan
    with pytest.warns(UserWarning, match=r"categories .*: \[1\].*equal"):
        result = fit_mixed(mixture(), X, SIZES)
    torch.testing.assert_close(
        result.components.probabilities[:, 3:], torch.full((3, 2), 0.5).double()
    )


@pytest.mark.parametrize(
    ("change", "sizes", "match"),
    [
        (lambda X: X[:, 2:4], (3,), "at least 3 columns"),
        (lambda X: np.where(np.arange(7) == 2, np.nan, X), SIZES, "a category"),
        (lambda X: np.where(np.arange(7) == 0, np.inf, X), SIZES, "infinity"),
        (lambda X: X[:2], SIZES, "one row for each component"),
        (lambda X: X[-9:, 5:], (2,), "no more distinct rows"),
    ],
)
def test_bad_tables_are_refused(change, sizes, match):
    X = known_mixture(50, missing=0.0)
    with pytest.raises(ValueError, match=match):
        fit_mixed(mixture(), change(X), sizes)
