"""Full covariances by the block of the missing cells or that of the observed ones."""

import numpy as np
import pytest
import torch
from oracle import make_components

from lacunet.functional import FullComponents, affine_moments, condition
from lacunet.functional import _full as module


def batch(n_features, fraction, n_rows=40):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n_rows, n_features, generator=generator, dtype=torch.float64)
    x[torch.rand(n_rows, n_features, generator=generator) < fraction] = torch.nan
    x[0], x[1] = torch.nan, 0.5  # nothing observed, nothing missing
    x[n_rows // 2 :] = x[: n_rows // 2]  # every pattern twice
    return x


def answers(x, components, gamma):
    mixture = condition(x, components, gamma=gamma)
    weight = torch.linspace(-1, 1, 3 * x.shape[1], dtype=torch.float64).view(3, -1)
    return (
        mixture.log_weights,
        mixture.mean(),
        mixture.variance(),
        *affine_moments(mixture, weight),
        mixture.missing_second_moments(mixture.weights),
        mixture.quasi_sample(4, seed=1),
    )


@pytest.mark.parametrize("gamma", [0.0, 0.3])
@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("n_features", [3, 12, 40])
def test_both_ways_agree(monkeypatch, n_features, fraction, gamma):
    components = make_components("full", n_features=n_features)
    x = batch(n_features, fraction)
    by_missing = answers(x, components, gamma)
    monkeypatch.setattr(module, "_WELL_CONDITIONED", 0.0)
    for ours, observed in zip(by_missing, answers(x, components, gamma), strict=True):
        torch.testing.assert_close(ours, observed, rtol=1e-8, atol=1e-8)


def test_missing_block_is_factored_where_it_is_the_smaller_one():
    components = make_components("full", n_features=40)
    blocks = condition(batch(40, 0.1), components, gamma=0.1).posterior.blocks
    sizes = [block.columns.shape[1] for block in blocks]
    assert min(sizes) <= 8  # a tenth of 40 columns
    assert max(sizes) == 40  # of the row with nothing observed


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1e9])
@pytest.mark.parametrize("tiny", [1e-2, 1e-4, 1e-8, 1e-11])
def test_nearly_singular_covariances_of_any_scale(monkeypatch, tiny, gamma):
    rng = np.random.RandomState(0)
    loadings = torch.tensor(rng.randn(2, 6, 2))
    covariances = loadings @ loadings.mT + tiny * torch.eye(6)
    means = torch.tensor(rng.randn(2, 6))
    x = means[0] + torch.tensor(rng.randn(8, 2)) @ loadings[0].mT
    x[torch.tensor(rng.rand(8, 6)) < 0.4] = torch.nan
    scale = torch.logspace(-3, 3, 6, dtype=torch.float64)  # of the columns
    even = torch.full((2,), 0.5).double().log()
    ours = condition(
        x * scale,
        FullComponents(even, means * scale, covariances * scale * scale[:, None]),
        gamma=gamma * scale.square(),
    )
    monkeypatch.setattr(module, "_WELL_CONDITIONED", 0.0)
    truth = condition(x, FullComponents(even, means, covariances), gamma=gamma)
    torch.testing.assert_close(ours.weights, truth.weights, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ours.mean() / scale, truth.mean(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        ours.variance() / scale.square(), truth.variance(), rtol=1e-3, atol=1e-7
    )


def test_covariance_that_is_singular_only_as_a_whole_is_taken():
    # The second column is twice the first, and never are both observed.
    covariances = torch.tensor([[[1.0, 2.0], [2.0, 4.0]]]).double()
    one = FullComponents(
        torch.zeros(1).double(), torch.zeros(1, 2).double(), covariances
    )
    x = torch.tensor([[3.0, torch.nan], [torch.nan, 8.0]]).double()
    mixture = condition(x, one, gamma=0.0)
    torch.testing.assert_close(
        mixture.mean(), torch.tensor([[3.0, 6], [4, 8]]).double()
    )
    assert mixture.variance().abs().max() < 1e-12


@pytest.mark.parametrize("fraction", [0.2, 0.8])
def test_gradients_match_finite_differences(fraction):
    parts = make_components("full", 2, 5)
    x = batch(5, fraction, 6)[:6]
    weight = torch.linspace(-1, 1, 10, dtype=torch.float64).view(2, 5)

    def moments(log_weights, means, covariances, weight, gamma):
        symmetric = 0.5 * (covariances + covariances.mT)
        components = FullComponents(log_weights, means, symmetric)
        mixture = condition(x, components, gamma=gamma)
        return mixture.log_weights, *affine_moments(mixture, weight)

    gamma = torch.tensor(0.2, dtype=torch.float64)
    inputs = [t.clone().requires_grad_() for t in (*parts, weight, gamma)]
    assert torch.autograd.gradcheck(moments, inputs)
    assert torch.autograd.gradgradcheck(moments, inputs, atol=1e-4)
