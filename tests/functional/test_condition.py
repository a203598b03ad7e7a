"""F_S against its definition, a dense oracle, and its limits."""

import numpy as np
import pytest
import torch
from oracle import KINDS, conditional, dense_covariances, make_components, mixed_batch
from scipy import stats

from lacunet.functional import (
    DiagComponents,
    FactorComponents,
    FullComponents,
    condition,
    log_likelihood,
)

GAMMA = 0.3
INCOMPLETE = [0, 2, 4, 6, 7]


@pytest.fixture(params=KINDS)
def components(request):
    return make_components(request.param)


def test_weights_match_dense_oracle(components):
    x = mixed_batch()
    weights = condition(x, components, gamma=GAMMA).weights
    for i in INCOMPLETE:
        expected, _, _ = conditional(x[i].numpy(), components, GAMMA)
        np.testing.assert_allclose(weights[i], expected, rtol=1e-9)


def test_moments_of_components_match_dense_oracle(components):
    x = mixed_batch()
    mean, variance = condition(x, components, gamma=GAMMA).component_moments()
    for i in INCOMPLETE:
        missing = torch.isnan(x[i])
        _, centres, covariances = conditional(x[i].numpy(), components, GAMMA)
        np.testing.assert_allclose(mean[i][:, missing], centres, rtol=1e-9)
        diagonals = np.diagonal(covariances, axis1=1, axis2=2)
        np.testing.assert_allclose(variance[i][:, missing], diagonals, rtol=1e-9)


def test_mean_and_variance_are_those_of_the_mixture(components):
    x = mixed_batch()
    mixture = condition(x, components, gamma=GAMMA)
    for i in INCOMPLETE:
        missing = torch.isnan(x[i])
        weights, centres, covariances = conditional(x[i].numpy(), components, GAMMA)
        mean = weights @ centres
        squares = np.diagonal(covariances, axis1=1, axis2=2) + (centres - mean) ** 2
        np.testing.assert_allclose(mixture.mean()[i, missing], mean, rtol=1e-9)
        np.testing.assert_allclose(
            mixture.variance()[i, missing], weights @ squares, rtol=1e-8
        )


def test_regularised_density_matches_its_definition():
    """The paper's appendix: F smeared by N(x, gamma) across S, then normalised."""
    components = make_components("full", 2, 2, seed=1)
    grid = np.linspace(-14, 14, 1401)
    observed, missing = np.meshgrid(grid, grid, indexing="ij")
    points = np.stack([observed, missing], -1)
    weights = components.log_weights.exp().numpy()
    density = sum(
        w * stats.multivariate_normal(m, c).pdf(points)
        for w, m, c in zip(weights, *(t.numpy() for t in components[1:]), strict=True)
    )
    smear = stats.norm(-1.0, np.sqrt(GAMMA)).pdf(grid)
    restricted = smear @ density
    restricted /= restricted.sum()
    mean = restricted @ grid
    mixture = condition(
        torch.tensor([[-1.0, torch.nan]], dtype=torch.float64), components, gamma=GAMMA
    )
    assert mixture.mean()[0, 1].item() == pytest.approx(mean, abs=1e-6)
    variance = restricted @ (grid - mean) ** 2
    assert mixture.variance()[0, 1].item() == pytest.approx(variance, abs=1e-6)


def test_gamma_to_zero_is_the_conditional_density(components):
    x = mixed_batch()
    limit = condition(x, components, gamma=0.0)
    near = condition(x, components, gamma=1e-10)
    torch.testing.assert_close(near.mean(), limit.mean(), atol=1e-7, rtol=0)
    torch.testing.assert_close(near.variance(), limit.variance(), atol=1e-7, rtol=0)


def test_gamma_to_infinity_is_the_marginal_density(components):
    x = mixed_batch()
    mixture = condition(x, components, gamma=1e14)
    prior = components.log_weights.exp().expand(len(x), -1)
    torch.testing.assert_close(mixture.weights, prior, atol=1e-9, rtol=0)
    mean, variance = mixture.component_moments()
    diagonal = torch.tensor(
        np.diagonal(dense_covariances(components), axis1=1, axis2=2)
    )
    for i in INCOMPLETE:
        missing = torch.isnan(x[i])
        torch.testing.assert_close(mean[i][:, missing], components.means[:, missing])
        torch.testing.assert_close(variance[i][:, missing], diagonal[:, missing])


def test_row_with_nothing_observed_has_the_prior(components):
    mixture = condition(torch.full((1, 4), torch.nan).double(), components, gamma=GAMMA)
    weights = components.log_weights.exp()
    torch.testing.assert_close(mixture.weights[0], weights)
    torch.testing.assert_close(mixture.mean()[0], weights @ components.means)


def test_complete_row_is_returned_bit_for_bit(components):
    x = mixed_batch()[[1, 5]]
    mixture = condition(x, components, gamma=GAMMA)
    assert torch.equal(mixture.mean(), x)
    assert torch.equal(mixture.variance(), torch.zeros_like(x))
    assert torch.equal(mixture.sample(3), x.expand(3, -1, -1))


def test_observed_cells_are_returned_bit_for_bit(components):
    x = mixed_batch()
    mixture = condition(x, components, gamma=GAMMA)
    seen = ~torch.isnan(x)
    assert torch.equal(mixture.mean()[seen], x[seen])
    assert torch.equal(mixture.sample(2)[:, seen], x[seen].expand(2, -1))
    assert torch.isfinite(mixture.mean()).all()


def test_samples_have_the_moments_of_the_mixture(components):
    x = mixed_batch()
    mixture = condition(x, components, gamma=GAMMA)
    n = 40_000
    draws = mixture.sample(n, torch.Generator().manual_seed(0))  # (n, batch, features)
    assert draws.shape == (n, *x.shape)
    error = (mixture.variance() / n).sqrt()
    assert ((draws.mean(0) - mixture.mean()).abs() <= 4 * error + 1e-12).all()
    torch.testing.assert_close(draws.var(0), mixture.variance(), rtol=0.08, atol=1e-9)


def test_samples_have_the_covariance_of_the_missing_cells(components):
    """Not only the diagonal: one component, two missing cells."""
    one = type(components)(*(tensor[:1] for tensor in components))
    x = torch.tensor([[0.5, torch.nan, torch.nan, -1.0]], dtype=torch.float64)
    draws = condition(x, one, gamma=GAMMA).sample(
        60_000, torch.Generator().manual_seed(0)
    )
    _, _, covariances = conditional(x[0].numpy(), one, GAMMA)
    np.testing.assert_allclose(np.cov(draws[:, 0, 1:3].T), covariances[0], atol=0.06)


def test_same_generator_gives_the_same_samples(components):
    mixture = condition(mixed_batch(), components, gamma=GAMMA)
    state = torch.get_rng_state()
    first = mixture.sample(2, torch.Generator().manual_seed(3))
    second = mixture.sample(2, torch.Generator().manual_seed(3))
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), state)


def test_factor_of_rank_one_less_and_full_agree():
    rng = np.random.RandomState(0)
    loadings = torch.tensor(rng.randn(2, 4, 3))
    noise = torch.tensor(rng.uniform(0.2, 1.0, (2, 4)))
    log_weights, means = torch.tensor([0.4, 0.6]).log().double(), torch.randn(2, 4)
    factor = FactorComponents(log_weights, means.double(), loadings, noise)
    full = FullComponents(
        log_weights, means.double(), torch.tensor(dense_covariances(factor))
    )
    x = mixed_batch()
    ours, theirs = condition(x, factor, gamma=GAMMA), condition(x, full, gamma=GAMMA)
    torch.testing.assert_close(ours.weights, theirs.weights)
    torch.testing.assert_close(ours.mean(), theirs.mean())
    torch.testing.assert_close(ours.variance(), theirs.variance())


def test_equal_components_equal_one(components):
    one = type(components)(*(tensor[:1] for tensor in components))
    three = type(components)(*(tensor[[0, 0, 0]] for tensor in components))
    three = three._replace(log_weights=torch.tensor([0.2, 0.3, 0.5]).double().log())
    one = one._replace(log_weights=torch.zeros(1, dtype=torch.float64))
    x = mixed_batch()
    a, b = condition(x, three, gamma=GAMMA), condition(x, one, gamma=GAMMA)
    torch.testing.assert_close(a.mean(), b.mean())
    torch.testing.assert_close(a.variance(), b.variance())


def test_log_likelihood_is_that_of_the_observed_cells(components):
    x = mixed_batch()
    out = log_likelihood(x, components)
    weights = components.log_weights.exp().numpy()
    covariances = dense_covariances(components)
    for i in (0, 1, 7):
        seen = ~torch.isnan(x[i]).numpy()
        block = np.ix_(seen, seen)
        means = components.means.numpy()
        total = sum(
            w * stats.multivariate_normal(m[seen], c[block]).pdf(x[i][seen])
            for w, m, c in zip(weights, means, covariances, strict=True)
        )
        assert out[i].item() == pytest.approx(np.log(total), rel=1e-9)
    assert out[3].item() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_float32_stays_finite_in_many_dimensions(kind, scale):
    components = make_components(kind, 5, 784, dtype=torch.float32)
    components = components._replace(variances=torch.full((5, 784), scale))
    components = type(components)(*(t.requires_grad_() for t in components))
    x = 1e4 * torch.randn(6, 784, generator=torch.Generator().manual_seed(0))
    x[0, :200] = torch.nan
    x[1] = torch.nan
    mixture = condition(x, components, gamma=torch.tensor(1e-8, requires_grad=True))
    total = mixture.mean().sum() + mixture.variance().sum()
    total.backward()
    assert torch.isfinite(mixture.log_weights).all()
    assert torch.isfinite(total)
    assert all(torch.isfinite(t.grad).all() for t in components if t.grad is not None)


def test_float32_weights_are_right_where_float32_sums_would_not_be():
    """784 features of variance 1e-6 around 1: the terms of the sum are 1e6 each."""
    rng = np.random.RandomState(0)
    means = 1.0 + 1e-3 * rng.randn(2, 784)
    row = means[0] + 1.5e-3 * rng.randn(784)
    row[5] = np.nan

    def weights(dtype):
        components = DiagComponents(
            torch.tensor([0.5, 0.5], dtype=dtype).log(),
            torch.tensor(means, dtype=dtype),
            torch.full((2, 784), 1e-3, dtype=dtype),
        )
        return condition(
            torch.tensor(row[None], dtype=dtype), components, gamma=1e-6
        ).weights

    wide = weights(torch.float64)
    assert 0.01 < wide.min() < wide.max() < 0.99
    torch.testing.assert_close(weights(torch.float32).double(), wide, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("change", "gamma", "error", "match"),
    [
        ({"means": torch.zeros(0, 4)}, 0.1, ValueError, "at least one of each"),
        ({"variances": torch.zeros(3, 4)}, 0.1, ValueError, "not all positive"),
        ({"variances": torch.ones(3, 3)}, 0.1, ValueError, "variances of shape"),
        ({"log_weights": torch.zeros(2)}, 0.1, ValueError, "log_weights of shape"),
        ({"means": torch.zeros(3, 4).int()}, 0.1, TypeError, "means of dtype"),
        ({}, -1.0, ValueError, "gamma=-1.0"),
        ({}, torch.ones(2, 1), ValueError, "gamma of shape"),
        ({}, "much", TypeError, "gamma='much'"),
    ],
)
def test_bad_parameters_are_refused(change, gamma, error, match):
    components = make_components("diag", dtype=torch.float32)._replace(**change)
    with pytest.raises(error, match=match):
        condition(mixed_batch(dtype=torch.float32), components, gamma=gamma)


def test_bad_batches_are_refused(components):
    with pytest.raises(ValueError, match=r"expected \(batch, 4\)"):
        condition(torch.zeros(4).double(), components, gamma=0.1)
    with pytest.raises(TypeError, match="expected torch.float64"):
        condition(torch.zeros(2, 4), components, gamma=0.1)
    with pytest.raises(TypeError, match="DiagComponents"):
        condition(torch.zeros(2, 4), tuple(components), gamma=0.1)


def test_patterns_of_equal_words_are_told_apart(monkeypatch, components):
    x = mixed_batch()
    expected = condition(x, components, gamma=GAMMA).mean()
    monkeypatch.setattr(
        torch, "randint", lambda low, high, size, **_: torch.zeros(size).long()
    )
    torch.testing.assert_close(condition(x, components, gamma=GAMMA).mean(), expected)
