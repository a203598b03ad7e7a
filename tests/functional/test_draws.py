"""Quasi-random draws: their distribution, their error, and what they depend on."""

import pytest
import torch
from oracle import (
    KINDS,
    groups_of,
    make_components,
    make_mixed,
    mixed_batch,
    mixed_rows,
)

from lacunet.functional import (
    MixedComponents,
    _mixture,
    affine_moments,
    condition,
    expected_sin,
    mix,
)

GAMMA = 0.3


@pytest.fixture(params=[(kind, mixed) for kind in KINDS for mixed in (False, True)])
def case(request):
    """Components and a batch, with and without categories."""
    kind, mixed = request.param
    if mixed:
        return make_mixed(kind), mixed_rows()
    return make_components(kind), mixed_batch()


def test_quasi_samples_have_the_moments_of_the_mixture(case):
    components, x = case
    mixture = condition(x, components, gamma=GAMMA)
    draws = mixture.quasi_sample(4096)
    assert draws.shape == (4096, *x.shape)
    scale = mixture.variance().sqrt()
    assert ((draws.mean(0) - mixture.mean()).abs() <= 0.01 * scale + 1e-12).all()
    torch.testing.assert_close(draws.var(0), mixture.variance(), rtol=0.05, atol=1e-9)


def test_quasi_samples_have_the_covariance_of_the_missing_cells(case):
    components, x = case
    mixture = condition(x, components, gamma=GAMMA)
    even = mixture.quasi_sample(8192)
    chance = mixture.sample(40_000, torch.Generator().manual_seed(0))
    for i in (0, 3, 4):
        torch.testing.assert_close(
            even[:, i].T.cov(), chance[:, i].T.cov(), atol=0.12, rtol=0.05
        )


@pytest.mark.parametrize("kind", KINDS)
def test_error_of_64_draws_is_well_below_that_of_chance(kind):
    x, components = mixed_batch()[[0, 2, 6, 7]], make_components(kind)
    mixture = condition(x, components, gamma=GAMMA)
    weight = torch.tensor([[0.4, -0.3, 0.5, 0.2]]).double()
    truth = mix(mixture.weights, expected_sin(*affine_moments(mixture, weight)))

    def error(draws):
        return (torch.sin(draws @ weight.T).mean(0) - truth).square().mean()

    even = sum(error(mixture.quasi_sample(64, seed)) for seed in range(20))
    generator = torch.Generator().manual_seed(0)
    chance = sum(error(mixture.sample(64, generator)) for _ in range(20))
    assert even.sqrt() < 0.4 * chance.sqrt()


def test_error_with_categories_is_well_below_that_of_chance():
    x, components = mixed_rows()[[0, 2, 3, 4]], make_mixed("diag")
    mixture = condition(x, components, gamma=GAMMA)
    weight = torch.linspace(-0.5, 0.5, 8).double()
    truth = torch.sin(mixture.quasi_sample(2**15, 99) @ weight).mean(0)

    def error(draws):
        return (torch.sin(draws @ weight).mean(0) - truth).square().mean()

    even = sum(error(mixture.quasi_sample(64, seed)) for seed in range(20))
    generator = torch.Generator().manual_seed(0)
    chance = sum(error(mixture.sample(64, generator)) for _ in range(20))
    assert even.sqrt() < 0.5 * chance.sqrt()


def test_a_row_alone_is_drawn_as_in_its_batch(case):
    components, x = case
    whole = condition(x, components, gamma=GAMMA).quasi_sample(32, 3)
    for i, row in enumerate(x):
        alone = condition(row[None], components, gamma=GAMMA).quasi_sample(32, 3)
        torch.testing.assert_close(alone[:, 0], whole[:, i], atol=1e-10, rtol=1e-10)


def test_seed_decides_and_no_generator_is_touched(case):
    components, x = case
    mixture = condition(x, components, gamma=GAMMA)
    state = torch.get_rng_state()
    first, again, other = (mixture.quasi_sample(8, seed) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_observed_cells_are_returned_bit_for_bit(case):
    components, x = case
    seen = ~torch.isnan(x)
    draws = condition(x, components, gamma=GAMMA).quasi_sample(2)
    assert torch.equal(draws[:, seen], x[seen].expand(2, -1))
    assert torch.isfinite(draws).all()


@pytest.mark.parametrize("kind", KINDS)
def test_categories_are_one_hot_and_as_frequent_as_probable(kind):
    components = make_mixed(kind, 0, (3, 4))
    x = torch.full((1, 7), torch.nan).double()
    mixture = condition(x, components, gamma=GAMMA)
    draws = mixture.quasi_sample(1024)
    for columns, _ in groups_of(components):
        assert torch.equal(draws[..., columns].sum(-1), torch.ones(1024, 1).double())
    assert ((draws.mean(0) - mixture.mean()).abs() < 0.01).all()


def test_dimensions_beyond_the_sequence_are_random_and_seeded(monkeypatch):
    monkeypatch.setattr(_mixture, "SOBOL_DIMENSIONS", 3)
    components = make_components("diag")
    mixture = condition(mixed_batch(), components, gamma=GAMMA)
    state = torch.get_rng_state()
    draws = mixture.quasi_sample(4096)
    scale = mixture.variance().sqrt()
    assert ((draws.mean(0) - mixture.mean()).abs() <= 0.08 * scale + 1e-12).all()
    assert torch.equal(draws, mixture.quasi_sample(4096))
    assert torch.equal(torch.get_rng_state(), state)


def test_many_columns_are_drawn():
    components = make_components("diag", 2, 3000, dtype=torch.float32)
    x = torch.full((1, 3000), torch.nan)
    draws = condition(x, components, gamma=GAMMA).quasi_sample(16)
    assert draws.dtype == torch.float32
    assert torch.isfinite(draws).all()


def test_noise_stays_inside_the_open_cube():
    for seed in range(50):
        uniform, noise = _mixture.quasi_noise(64, 5, seed)
        assert 0.0 < uniform.min() <= uniform.max() < 1.0
        assert torch.isfinite(noise).all()


@pytest.mark.parametrize("draw", ["sample", "quasi_sample"])
def test_components_and_levels_without_weight_are_never_drawn(draw):
    base = make_mixed("diag", 1, (3,))
    sure = torch.tensor([[0.0, 0.5, 0.5]]).expand(3, -1).log().double()
    weights = torch.tensor([0.0, 1.0, 0.0]).double()
    gaussian = base.gaussian._replace(
        log_weights=weights.log(),
        means=torch.tensor([[-1e3], [0.0], [1e3]]).double(),
    )
    mixture = condition(
        torch.full((1, 4), torch.nan).double(),
        MixedComponents(gaussian, sure, (3,)),
        gamma=GAMMA,
    )
    draws = getattr(mixture, draw)(512)
    assert draws[..., 0].abs().max() < 100
    assert not draws[..., 1].any()


@pytest.mark.parametrize("kind", KINDS)
def test_draws_carry_gradients_to_the_components(kind):
    components = make_components(kind)
    parts = [t.clone().requires_grad_() for t in components[1:]]
    density = type(components)(components.log_weights, *parts)
    condition(mixed_batch(), density, gamma=GAMMA).quasi_sample(8).sum().backward()
    assert all(torch.isfinite(part.grad).all() for part in parts)
    assert all(part.grad.any() for part in parts)


def test_full_draws_where_missing_cells_are_as_good_as_known():
    column = torch.randn(3, 1, generator=torch.Generator().manual_seed(0)).double()
    root = torch.cat((column, column[:2] * 2 + 1e-9, -column[:1])).double()
    covariance = root @ root.T + 1e-10 * torch.eye(6).double()
    components = make_components("full", 1, 6)._replace(
        log_weights=torch.zeros(1).double(), covariances=covariance[None]
    )
    x = torch.full((1, 6), torch.nan).double()
    x[0, 0] = components.means[0, 0]
    draws = condition(x, components, gamma=0.0).quasi_sample(64)
    torch.testing.assert_close(
        draws[:, 0], components.means.expand(64, -1), atol=1e-3, rtol=0
    )


def test_bad_numbers_of_draws_are_refused(case):
    components, x = case
    mixture = condition(x, components, gamma=GAMMA)
    with pytest.raises(ValueError, match="n=0"):
        mixture.quasi_sample(0)
    with pytest.raises(TypeError, match=r"n=2\.5"):
        mixture.quasi_sample(2.5)
