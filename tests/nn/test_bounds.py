"""Layers over cells that are known by bounds."""

import math

import pytest
import torch

from lacunet.density import GaussianMixtureDensity, MixedMixtureDensity
from lacunet.nn import ExpectedBins, ExpectedLinear, ExpectedRBF

NAN, INF = math.nan, math.inf


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def gaussian(kind="diag", n_components=2):
    rank = 1 if kind == "factor" else None
    return GaussianMixtureDensity(
        n_components,
        4,
        covariance_type=kind,
        rank=rank,
        generator=generator(),
        dtype=torch.float64,
    )


def bounds_of(x, ends):
    lower, upper = torch.full_like(x, NAN), torch.full_like(x, NAN)
    for place, (low, high) in ends.items():
        lower[place], upper[place] = low, high
    return {"lower": lower, "upper": upper}


@pytest.mark.parametrize("kind", ["diag", "factor", "full"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_expected_linear_is_near_monte_carlo(kind, activation):
    # Not exact: a sum of truncated normals is taken for a normal.
    layer = ExpectedLinear(
        4,
        6,
        gaussian(kind),
        activation=activation,
        prune=0.0,
        generator=generator(),
        dtype=torch.float64,
    )
    x = torch.tensor([[0.5, NAN, NAN, -1.0]], dtype=torch.float64)
    bounds = bounds_of(x, {(0, 1): (-INF, -0.5)})
    with torch.no_grad():
        found = layer(x, **bounds)[0]
        draws = layer.density.condition(x, **bounds).sample(100_000, generator())[:, 0]
        sampled = layer(draws)
    spread = sampled.std(0).clamp_min(1e-3)
    assert float(((found - sampled.mean(0)).abs() / spread).max()) < 0.06


@pytest.mark.parametrize("make", [ExpectedLinear, ExpectedRBF])
def test_rows_without_bounds_are_as_they_were(make):
    layer = make(4, 6, gaussian(), generator=generator(), dtype=torch.float64)
    x = torch.randn(6, 4, generator=generator(1), dtype=torch.float64)
    x[:4, 1] = NAN
    bounds = bounds_of(x, {(0, 1): (0.0, 1.0), (2, 1): (-INF, -3.0)})
    plain, found = layer(x), layer(x, **bounds)
    torch.testing.assert_close(found[[1, 3, 4, 5]], plain[[1, 3, 4, 5]])
    assert (found[[0, 2]] != plain[[0, 2]]).any(1).all()
    nothing = torch.full_like(x, NAN)
    assert torch.equal(layer(x, lower=nothing, upper=nothing), plain)


def binned(n_classes=3):
    density = MixedMixtureDensity(
        n_classes, 0, (4, 3, 2), generator=generator(), dtype=torch.float64
    )
    layer = ExpectedBins(
        [3, 2], [2], 5, density, prune=0.0, generator=generator(), dtype=torch.float64
    )
    layer.set_bins(
        [[-1.0, 0.0, 1.0], [0.0, 2.0]], [[-2.0, -0.5, 0.5, 2.0], [-1.0, 1.0, 3.0]]
    )
    with torch.no_grad():
        density.level_logits.normal_(generator=generator(2))
    return layer


def test_bins_outside_of_bounds_are_impossible():
    layer = binned()
    x = torch.tensor([[NAN, 1.0, 1.0, 0.0]], dtype=torch.float64)
    # Two bins of four; the one that is cut counts as a whole.
    bounds = bounds_of(x, {(0, 0): (-INF, -0.3)})
    found = layer(x, **bounds)[0]
    density, components = layer.density, layer.density.components
    known, beyond = layer.bins(x)
    evidence = components.level_evidence(density.gamma)
    seen = known.nan_to_num()[0] @ evidence.T + components.log_weights
    weights = (seen + evidence[:, :2].logsumexp(1)).softmax(0)
    chances = components.probabilities[:, :2]
    chances = chances / chances.sum(1, keepdim=True)
    total = torch.zeros(5, dtype=torch.float64)
    values = torch.tensor([-2.0, -0.5], dtype=torch.float64)
    ends = []
    for value in values:
        ends.append(x.clone())
        ends[-1][0, 0] = value
    known, beyond = layer.bins(torch.cat(ends))
    complete = known, torch.zeros_like(beyond)
    complete[1][:, 1] = beyond[:, 1]
    weight = layer._table()[0].index_select(0, layer.places)
    mapped = complete[0] @ weight + complete[1] @ layer.value_weight + layer.bias
    for k in range(3):
        mean = chances[k] @ mapped
        variance = chances[k] @ (mapped - mean).square()
        total += weights[k] * layer.activation(mean, variance)
    torch.testing.assert_close(found, total)


def test_bounds_around_one_bin_are_that_bin():
    layer = binned()
    x = torch.tensor([[NAN, NAN, 0.0, 1.0]], dtype=torch.float64)
    known = torch.tensor([[-0.5, NAN, 0.0, 1.0]], dtype=torch.float64)  # a centre
    bounds = bounds_of(x, {(0, 0): (-1.0, 0.0)})
    torch.testing.assert_close(layer(x, **bounds), layer(known))
    same = bounds_of(x, {(0, 0): (0.7, 0.7)})
    known[0, 0] = 0.7
    torch.testing.assert_close(layer(x, **same), layer(known))


def test_bins_of_rows_without_bounds_are_as_they_were():
    layer = binned()
    x = torch.tensor(
        [[NAN, 1.0, 1.0, 0.0], [NAN, 3.0, NAN, NAN], [0.3, 0.1, 0.0, 1.0]],
        dtype=torch.float64,
    )
    bounds = bounds_of(x, {(0, 0): (0.0, INF)})
    plain, found = layer(x), layer(x, **bounds)
    torch.testing.assert_close(found[1:], plain[1:])
    assert (found[0] != plain[0]).any()
    # A bound that all bins reach beyond is none.
    torch.testing.assert_close(layer(x, **bounds_of(x, {(0, 0): (-9.0, 9.0)})), plain)
    found.sum().backward()
    for parameter in layer.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()
