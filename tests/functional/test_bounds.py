"""Cells known by bounds: closed forms against quadrature, sampling and their limits."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

from lacunet.functional import (
    DiagComponents,
    FactorComponents,
    FullComponents,
    MixedComponents,
    _bounds,
    affine_moments,
    condition,
    expected_rbf,
    log_likelihood,
    truncated_moments,
)

NAN, INF = math.nan, math.inf
KINDS = ["diag", "factor", "full"]


def double(*values: float) -> list[Tensor]:
    return [torch.tensor(value, dtype=torch.float64) for value in values]


def mixture_of(kind: str, n_components: int = 2, n_features: int = 4, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    log_weights = draw(n_components).log_softmax(0)
    means, shape = draw(n_components, n_features), (n_components, n_features)
    variances = draw(*shape).exp()
    if kind == "diag":
        return DiagComponents(log_weights, means, variances)
    if kind == "factor":
        return FactorComponents(log_weights, means, draw(*shape, 2), 0.3 * variances)
    root = draw(*shape, n_features)
    covariances = root @ root.mT + 0.3 * torch.eye(n_features, dtype=torch.float64)
    return FullComponents(log_weights, means, covariances)


def bounds_of(x: Tensor, ends: dict[tuple[int, int], tuple[float, float]]):
    lower, upper = torch.full_like(x, NAN), torch.full_like(x, NAN)
    for place, (low, high) in ends.items():
        lower[place], upper[place] = low, high
    return {"lower": lower, "upper": upper}


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-INF, -1.0),
        (0.5, INF),
        (-0.3, 2.0),
        (-INF, -12.0),
        (-INF, 0.2 - 8 * math.sqrt(1.7)),  # where the two formulas meet
        (40.0, 41.0),
        (-3.0, -2.9),
        (2.0, 2.0001),
        (-INF, 6.0),
    ],
)
def test_truncated_moments_match_quadrature(lower, upper):
    mean, variance = 0.2, 1.7
    std = math.sqrt(variance)
    found = truncated_moments(*double(mean, variance, lower, upper))
    # Relative to the density at the nearest end, which may be tiny.
    near = min(max(mean, lower), upper)
    reach = 40 * variance / max(abs(near - mean), std / 4)
    ends = max(lower, near - reach), min(upper, near + reach)
    log_top = stats.norm.logpdf(near, mean, std)

    def moment(power, centre=0.0):
        return integrate.fixed_quad(
            lambda x: (
                (x - centre) ** power
                * np.exp(stats.norm.logpdf(x, mean, std) - log_top)
            ),
            *ends,
            n=200,
        )[0]

    mass = moment(0)
    centre = near + moment(1, near) / mass
    assert float(found[0]) == pytest.approx(math.log(mass) + log_top, rel=1e-8)
    assert float(found[1]) == pytest.approx(centre, rel=1e-9)
    assert float(found[2]) == pytest.approx(moment(2, centre) / mass, rel=1e-6)


def test_truncated_moments_without_bounds_are_those_of_the_normal():
    found = truncated_moments(*double(0.3, 2.0, -INF, INF))
    assert [float(each) for each in found] == [0.0, 0.3, 2.0]


def test_eight_standard_deviations_are_no_gap():
    found = truncated_moments(*double(0.0, 1.0, -INF, -8.0))
    beside = truncated_moments(*double(0.0, 1.0, -INF, -8.0 + 1e-9))
    torch.testing.assert_close(found, beside, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_are_finite_in_each_dtype(dtype, monkeypatch):
    monkeypatch.setattr(_bounds, "wide_dtype", lambda x: x.dtype)  # as on some devices
    mean, variance = torch.zeros(3, 1, dtype=dtype), torch.ones(3, 1, dtype=dtype)
    lower = torch.tensor([-INF, 0.0, 12.0], dtype=dtype)[:, None]
    upper = torch.tensor([-12.0, INF, INF], dtype=dtype)[:, None]
    uniform = torch.linspace(0.0, 1.0, 9, dtype=dtype)[1:-1]
    drawn = _bounds.draw_truncated(mean, variance, lower, upper, uniform)
    assert torch.isfinite(drawn).all()
    assert (drawn.diff(dim=1) > 0).all()
    assert ((drawn >= lower) & (drawn <= upper)).all()


@pytest.mark.parametrize(
    "ends", [(-INF, -1e8), (1e6, INF), (0.0, 1e-12), (-1e9, 1e9), (30.0, 1e9)]
)
def test_far_bounds_leave_everything_finite(ends):
    mean = torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor([1.0, 1e-4], dtype=torch.float64, requires_grad=True)
    found = truncated_moments(mean, variance, *double(*ends))
    torch.stack(found).sum().backward()
    for tensor in (*found, mean.grad, variance.grad):
        assert tensor is not None
        assert torch.isfinite(tensor).all()
    assert (found[2] >= 0).all()
    assert ((found[1] >= ends[0]) & (found[1] <= ends[1])).all()


def test_truncated_moments_have_the_right_gradients():
    mean = torch.tensor([0.5, -2.0, 0.0, 11.0], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor(
        [1.0, 0.3, 2.0, 1.0], dtype=torch.float64, requires_grad=True
    )
    lower = torch.tensor([-INF, -1.0, 0.1, -INF], dtype=torch.float64)
    upper = torch.tensor([0.0, INF, 0.2, 1.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda m, v: truncated_moments(m, v, lower, upper), (mean, variance)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_infinite_bounds_are_no_bounds(kind):
    mixture = mixture_of(kind)
    x = torch.tensor([[1.0, NAN, 0.3, NAN]], dtype=torch.float64)
    none = torch.full_like(x, NAN)
    plain = condition(x, mixture, gamma=0.01)
    for lower, upper in ((none, none), (none - INF, none + INF), (-x / 0, None)):
        bounded = condition(x, mixture, gamma=0.01, lower=lower, upper=upper)
        assert torch.equal(bounded.mean(), plain.mean())
        assert torch.equal(bounded.log_weights, plain.log_weights)


@pytest.mark.parametrize("kind", KINDS)
def test_a_narrow_interval_is_an_observed_cell(kind):
    mixture = mixture_of(kind)
    x = torch.tensor([[1.0, NAN, 0.3, NAN]], dtype=torch.float64)
    known = x.clone()
    known[0, 1] = 0.7
    narrow = bounds_of(x, {(0, 1): (0.7 - 1e-7, 0.7 + 1e-7)})
    found = condition(x, mixture, gamma=0.0, **narrow)
    expected = condition(known, mixture, gamma=0.0)
    torch.testing.assert_close(found.mean(), expected.mean(), atol=1e-6, rtol=0)
    torch.testing.assert_close(found.weights, expected.weights, atol=1e-6, rtol=0)
    torch.testing.assert_close(found.variance(), expected.variance(), atol=1e-6, rtol=0)
    same = condition(x, mixture, gamma=0.0, **bounds_of(x, {(0, 1): (0.7, 0.7)}))
    assert torch.equal(same.mean(), expected.mean())


def by_rejection(mixture, x, ends, n=100_000):
    """Draw from the mixture given what is observed, and keep what is in the bounds."""
    draws = condition(x, mixture, gamma=0.0).sample(
        n, torch.Generator().manual_seed(0)
    )[:, 0]
    inside = torch.ones(n, dtype=torch.bool)
    for (_, column), (low, high) in ends.items():
        inside &= (draws[:, column] >= low) & (draws[:, column] <= high)
    return draws[inside], inside.double().mean()


@pytest.mark.parametrize("kind", KINDS)
def test_one_bounded_cell_matches_rejection_sampling(kind):
    mixture = mixture_of(kind)
    x = torch.tensor([[0.5, NAN, NAN, NAN]], dtype=torch.float64)
    ends = {(0, 2): (-INF, -0.2)}
    bounds = bounds_of(x, ends)
    kept, rate = by_rejection(mixture, x, ends)
    found = condition(x, mixture, gamma=0.0, **bounds)
    torch.testing.assert_close(found.mean()[0], kept.mean(0), atol=0.04, rtol=0)
    torch.testing.assert_close(found.variance()[0], kept.var(0), atol=0.1, rtol=0.03)
    gain = log_likelihood(x, mixture, **bounds) - log_likelihood(x, mixture)
    assert float(gain) == pytest.approx(math.log(rate), abs=0.02)
    draws = found.sample(50_000, torch.Generator().manual_seed(1))[:, 0]
    torch.testing.assert_close(draws.mean(0), kept.mean(0), atol=0.04, rtol=0)
    torch.testing.assert_close(draws.T.cov(), kept.T.cov(), atol=0.15, rtol=0.03)
    # The first layer: mean and variance of a map of the row.
    weight = torch.tensor([[1.0, 0.5, -2.0, 0.7]], dtype=torch.float64)
    means, variances = affine_moments(found, weight)
    mapped = kept @ weight[0]
    centre = (found.weights * means[..., 0]).sum()
    total = (found.weights * (variances + (means - centre).square())[..., 0]).sum()
    assert float(centre) == pytest.approx(float(mapped.mean()), abs=0.03)
    assert float(total) == pytest.approx(float(mapped.var()), rel=0.03)


@pytest.mark.parametrize(("kind", "largest"), [("diag", 0.03), ("full", 0.12)])
def test_several_bounded_cells_are_near_rejection_sampling(kind, largest):
    # Exact for independent cells, and within a tenth of a standard deviation else.
    mixture = mixture_of(kind, 1, seed=3)
    x = torch.tensor([[0.5, NAN, NAN, NAN]], dtype=torch.float64)
    centre = condition(x, mixture, gamma=0.0).mean()[0]
    ends = {(0, 1): (-INF, float(centre[1])), (0, 2): (float(centre[2]) - 0.2, INF)}
    kept, _ = by_rejection(mixture, x, ends)
    found = condition(x, mixture, gamma=0.0, **bounds_of(x, ends))
    error = (found.mean()[0] - kept.mean(0)).abs() / kept.std(0).clamp_min(1e-9)
    assert float(error[1:].max()) < largest
    draws = found.sample(50_000, torch.Generator().manual_seed(1))[:, 0]
    error = (draws.mean(0) - kept.mean(0)).abs() / kept.std(0).clamp_min(1e-9)
    assert float(error[1:].max()) < largest


@pytest.mark.parametrize("kind", ["factor", "full"])
@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_five_cells_below_their_quantiles_are_as_near_as_the_page_says(
    kind, correlation
):
    ones = torch.ones(1, 5, dtype=torch.float64)
    noise = 1 - correlation
    loadings = correlation**0.5 * ones[..., None]
    if kind == "factor":
        mixture = FactorComponents(ones[:, 0] * 0, 0 * ones, loadings, noise * ones)
    else:
        covariance = loadings @ loadings.mT + noise * torch.eye(5, dtype=torch.float64)
        mixture = FullComponents(ones[:, 0] * 0, 0 * ones, covariance)
    generator = np.random.RandomState(0)
    common = generator.randn(300_000, 1) * correlation**0.5
    kept = common + generator.randn(300_000, 5) * noise**0.5
    limit = stats.norm.ppf(0.3)
    inside = (kept < limit).all(1)
    kept = kept[inside]
    x, upper = torch.full_like(ones, NAN), limit * ones
    found = condition(x, mixture, gamma=0.0, upper=upper)
    error = (found.mean()[0].numpy() - kept.mean(0)) / kept.std(0)
    assert np.abs(error).max() < 0.1
    deviations = found.variance()[0].sqrt().numpy()
    np.testing.assert_allclose(deviations, kept.std(0), rtol=0.26)
    evidence = log_likelihood(x, mixture, upper=upper)
    assert float(evidence) == pytest.approx(np.log(inside.mean()), abs=0.08)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_in_single_precision(kind):
    wide = mixture_of(kind)
    narrow = type(wide)(*(tensor.float() for tensor in wide))
    x = torch.tensor([[0.5, NAN, NAN, NAN]])
    bounds = bounds_of(x, {(0, 2): (-INF, -0.2)})
    doubled = {name: end.double() for name, end in bounds.items()}
    expected = log_likelihood(x.double(), wide, **doubled)
    found = log_likelihood(x, narrow, **bounds)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_levels_alone_leave_the_numbers(kind):
    numbers = mixture_of(kind, 1, 2)
    half = torch.full((1, 2), 0.5, dtype=torch.float64)
    mixture = MixedComponents(numbers, half.log(), sizes=(2,))
    x = torch.full((1, 4), NAN, dtype=torch.float64)
    upper = torch.tensor([[NAN, NAN, 0.0, NAN]], dtype=torch.float64)
    found = condition(x, mixture, gamma=0.0, upper=upper).mean()
    expected = condition(x, mixture, gamma=0.0).mean()
    torch.testing.assert_close(found[:, :2], expected[:, :2])
    assert found[0, 2:].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_fills_and_draws_stay_inside_the_bounds(kind):
    mixture = mixture_of(kind)
    x = torch.full((3, 4), NAN, dtype=torch.float64)
    x[2, 0] = 1.0
    ends = {(0, 0): (-9.0, -8.0), (0, 1): (3.0, INF), (1, 2): (50.0, INF)}
    ends |= {(0, 3): (-1e-3, 1e-3)}
    bounds = bounds_of(x, ends)
    found = condition(x, mixture, gamma=0.01, **bounds)
    generator = torch.Generator().manual_seed(0)
    for filled in (
        found.mean()[None],
        found.sample(100, generator),
        found.quasi_sample(64),
    ):
        for (row, column), (low, high) in ends.items():
            cell = filled[:, row, column]
            assert (cell >= low).all()
            assert (cell <= high).all()
        assert (filled[:, 2, 0] == 1.0).all()
    assert torch.isfinite(found.variance()).all()


def test_mixed_batches_have_finite_gradients():
    mixture = mixture_of("diag")
    means = mixture.means.requires_grad_()
    x = torch.tensor([[1.0, NAN, NAN, 2.0], [NAN] * 4], dtype=torch.float64)
    bounds = bounds_of(x, {(0, 1): (-INF, -60.0), (0, 2): (0.0, 1e-9)})
    found = condition(x, mixture, gamma=0.01, **bounds)
    (found.mean().sum() + found.variance().sum() + found.log_weights.sum()).backward()
    assert torch.isfinite(means.grad).all()


def test_radial_units_match_sampling():
    mixture = mixture_of("diag")
    x = torch.tensor([[0.5, NAN, NAN, -1.0]], dtype=torch.float64)
    bounds = bounds_of(x, {(0, 2): (-1.0, 0.3)})
    found = condition(x, mixture, gamma=0.0, **bounds)
    centres = torch.randn(
        3, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64
    )
    variances = torch.full_like(centres, 2.0)
    expected = expected_rbf(found, centres, variances, normalise=False)[0]
    draws = found.sample(50_000, torch.Generator().manual_seed(1))[:, 0]
    units = torch.distributions.Normal(centres, variances.sqrt())
    logs = units.log_prob(draws[:, None]).sum(-1)
    torch.testing.assert_close(logs.exp().mean(0), expected, rtol=0.02, atol=1e-9)
    correlated = condition(x, mixture_of("full"), gamma=0.0, **bounds)
    with pytest.raises(ValueError, match="expected covariance_type='diag' with bounds"):
        expected_rbf(correlated, centres, variances)


def test_levels_that_are_ruled_out():
    numbers = DiagComponents(
        torch.tensor([0.4, 0.6]).log(), torch.tensor([[0.0], [3.0]]), torch.ones(2, 1)
    )
    chances = torch.tensor([[0.2, 0.3, 0.5, 0.9, 0.1], [0.7, 0.2, 0.1, 0.4, 0.6]])
    mixture = MixedComponents(numbers, chances.log(), (3, 2))
    x = torch.tensor([[1.0, NAN, NAN, NAN, NAN, NAN], [1.0, NAN, NAN, NAN, 1.0, 0.0]])
    upper = torch.full_like(x, NAN)
    upper[0, 1] = 0.0
    found = condition(x, mixture, gamma=0.0, upper=upper)
    plain = condition(x, mixture, gamma=0.0)
    joint = plain.weights[0] * torch.tensor([0.8, 0.3])
    torch.testing.assert_close(found.weights[0], joint / joint.sum())
    inside = torch.tensor([[0.0, 0.3, 0.5], [0.0, 0.2, 0.1]])
    inside = inside / inside.sum(1, keepdim=True)
    expected = found.weights[0] @ inside
    torch.testing.assert_close(found.mean()[0, 1:4], expected)
    torch.testing.assert_close(found.mean()[1], plain.mean()[1])
    draws = found.sample(20_000, torch.Generator().manual_seed(0))[:, 0]
    assert (draws[:, 1] == 0).all()
    torch.testing.assert_close(draws[:, 1:4].mean(0), expected, atol=0.02, rtol=0)
    weight = torch.tensor([[0.0, 1.0, -2.0, 3.0, 0.5, 1.0]])
    _, variances = affine_moments(found, weight)
    means, squares = ((inside * weight[0, 1:4] ** power).sum(1) for power in (1, 2))
    others = torch.tensor([0.9 * 0.1, 0.4 * 0.6]) * 0.25
    torch.testing.assert_close(variances[0, :, 0], squares - means**2 + others)
    upper[0, 1:4] = 0.0
    with pytest.raises(ValueError, match="rule out all levels"):
        condition(x, mixture, gamma=0.0, upper=upper)


@pytest.mark.parametrize(
    ("cell", "low", "high"), [(NAN, 1.0, 0.0), (2.0, NAN, 1.0), (0.0, 0.5, NAN)]
)
def test_bounds_that_contradict(cell, low, high):
    x = torch.tensor([[cell, NAN, NAN, NAN]], dtype=torch.float64)
    bounds = bounds_of(x, {(0, 0): (low, high)})
    with pytest.raises(ValueError, match="in row 0, column 0, but expected lower <="):
        condition(x, mixture_of("diag"), gamma=0.0, **bounds)
    with pytest.raises(ValueError, match=r"Got upper of shape \(1, 3\)"):
        condition(x, mixture_of("diag"), gamma=0.0, upper=x[:, :3])


def test_a_bound_beside_an_observed_value_changes_nothing():
    x = torch.tensor([[0.5, NAN, 0.1, NAN]], dtype=torch.float64)
    mixture = mixture_of("full")
    bounds = bounds_of(x, {(0, 0): (0.0, 1.0)})
    found = condition(x, mixture, gamma=0.01, **bounds)
    assert torch.equal(found.mean(), condition(x, mixture, gamma=0.01).mean())


def test_evidence_is_the_probability_of_the_bounds():
    one = DiagComponents(torch.zeros(1), torch.zeros(1, 1), torch.ones(1, 1))
    x = torch.full((1, 1), NAN)
    found = log_likelihood(x, one, upper=torch.full((1, 1), -1.0))
    assert float(found) == pytest.approx(stats.norm.logcdf(-1.0), rel=1e-6)
