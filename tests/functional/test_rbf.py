"""Expected radial functions: Monte Carlo, the oracle's integral, and far-away rows."""

import numpy as np
import pytest
import torch
from oracle import (
    KINDS,
    conditional,
    draw_rows,
    make_components,
    mixed_batch,
    standard_errors,
)
from scipy import stats

from lacunet.functional import FullComponents, condition, expected_rbf

GAMMA = 0.3


@pytest.fixture(params=KINDS)
def components(request):
    return make_components(request.param)


@pytest.fixture
def units():
    rng = np.random.RandomState(5)
    centres = torch.tensor(rng.randn(5, 4))
    return centres, torch.tensor(rng.uniform(0.5, 2.0, (5, 4)))


def test_matches_theorem_on_dense_oracle(components, units):
    centres, variances = (t.numpy() for t in units)
    x = mixed_batch()
    out = expected_rbf(condition(x, components, gamma=GAMMA), *units)
    for i in (0, 2, 3, 7):
        row, missing = x[i].numpy(), np.isnan(x[i].numpy())
        weights, means, covariances = conditional(row, components, GAMMA)
        for unit, (centre, width) in enumerate(zip(centres, variances, strict=True)):
            known = stats.norm(centre[~missing], np.sqrt(width[~missing])).pdf(
                row[~missing]
            )
            unknown = [
                stats.multivariate_normal(m, c + np.diag(width[missing])).pdf(
                    centre[missing]
                )
                for m, c in zip(means, covariances, strict=True)
            ]
            truth = known.prod() * (weights @ unknown)
            assert out[i, unit].item() == pytest.approx(truth, rel=1e-8)


def test_complete_rows_are_the_plain_density(components, units):
    x = mixed_batch()[[1, 5]]
    out = expected_rbf(condition(x, components, gamma=GAMMA), *units)
    centres, variances = units
    normal = torch.distributions.Normal(centres, variances.sqrt())
    truth = normal.log_prob(x[:, None]).sum(-1).exp()
    torch.testing.assert_close(out, truth)


def test_matches_monte_carlo(components, units):
    x = mixed_batch()[[0]]
    centres, variances = units
    out = expected_rbf(condition(x, components, gamma=GAMMA), centres, variances)
    draws, _ = draw_rows(x[0].numpy(), components, GAMMA, 50_000)
    normal = torch.distributions.Normal(centres, variances.sqrt())
    responses = normal.log_prob(draws[:, None]).sum(-1).exp()
    assert (standard_errors(responses, out[0]) < 4).all()


def test_normalised_responses_are_shares_of_the_sum(components, units):
    mixture = condition(mixed_batch(), components, gamma=GAMMA)
    raw = expected_rbf(mixture, *units)
    normalised = expected_rbf(mixture, *units, normalise=True)
    torch.testing.assert_close(normalised, raw / raw.sum(1, keepdim=True))


@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_far_away_rows_in_many_dimensions_have_finite_shares_and_gradients(kind):
    components = make_components(kind, 2, 784, dtype=torch.float32)
    centres = torch.randn(6, 784, generator=torch.Generator().manual_seed(0))
    centres.requires_grad_()
    x = torch.full((2, 784), 1e5)
    x[0, :100] = torch.nan
    normalised = expected_rbf(
        condition(x, components, gamma=0.1),
        centres,
        torch.full((6, 784), 1e-3),
        normalise=True,
    )
    normalised[:, 0].sum().backward()
    torch.testing.assert_close(normalised.sum(1), torch.ones(2))
    assert torch.isfinite(centres.grad).all()


def test_gradients_match_finite_differences(components, units):
    centres, variances = (t[:2].clone().requires_grad_() for t in units)
    parts = [tensor.clone().requires_grad_() for tensor in components[1:]]

    def response(centres, variances, *parts):
        if isinstance(components, FullComponents):  # a step off the diagonal is two
            parts = (parts[0], 0.5 * (parts[1] + parts[1].mT))
        density = type(components)(components.log_weights, *parts)
        mixture = condition(mixed_batch(), density, gamma=GAMMA)
        return expected_rbf(mixture, centres, variances, normalise=True)

    assert torch.autograd.gradcheck(response, (centres, variances, *parts), atol=1e-6)


def test_equal_moments_do_not_mean_equal_responses():
    """The numeric side of the paper's identification theorem for RBF units."""
    wide = make_components("diag", 1, 1)._replace(
        log_weights=torch.zeros(1).double(),
        means=torch.zeros(1, 1).double(),
        variances=torch.ones(1, 1).double(),
    )
    half = torch.tensor([0.5, 0.5]).double().log()
    two = wide._replace(
        log_weights=half,
        means=torch.tensor([[-0.8], [0.8]]).double(),
        variances=torch.full((2, 1), 1 - 0.8**2).double(),
    )
    x = torch.full((1, 1), torch.nan).double()
    first, second = (condition(x, c, gamma=0.1) for c in (wide, two))
    torch.testing.assert_close(first.mean(), second.mean())
    torch.testing.assert_close(first.variance(), second.variance())
    centres, widths = torch.zeros(1, 1).double(), torch.full((1, 1), 0.1).double()
    responses = [expected_rbf(m, centres, widths).item() for m in (first, second)]
    assert abs(responses[0] - responses[1]) > 0.05


def test_units_of_another_width_are_refused(components):
    mixture = condition(mixed_batch(), components, gamma=GAMMA)
    with pytest.raises(ValueError, match="centres of shape"):
        expected_rbf(mixture, torch.zeros(2, 5), torch.ones(2, 5))
    with pytest.raises(ValueError, match="variances of shape"):
        expected_rbf(mixture, torch.zeros(2, 4), torch.ones(3, 4))
