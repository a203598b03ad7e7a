"""Moments of pre-activations: dense oracle, Monte Carlo, convolutions as matrices."""

import numpy as np
import pytest
import torch
from oracle import KINDS, conditional, draw_rows, make_components, mixed_batch

from lacunet.functional import affine_moments, condition, conv_moments

GAMMA = 0.3


@pytest.fixture(params=KINDS)
def components(request):
    return make_components(request.param)


def test_affine_moments_match_dense_oracle(components):
    hidden = 5
    rng = torch.Generator().manual_seed(0)
    weight = torch.randn(hidden, 4, generator=rng, dtype=torch.float64)
    bias = torch.randn(hidden, generator=rng, dtype=torch.float64)
    x = mixed_batch()
    mean, variance = affine_moments(condition(x, components, gamma=GAMMA), weight, bias)
    for i in (0, 2, 4, 6, 7):
        missing = np.isnan(x[i].numpy())
        _, centres, covariances = conditional(x[i].numpy(), components, GAMMA)
        inside = weight.numpy()[:, missing]
        known = weight.numpy()[:, ~missing] @ x[i].numpy()[~missing] + bias.numpy()
        np.testing.assert_allclose(mean[i], known + centres @ inside.T, rtol=1e-8)
        truth = np.einsum("hd,kde,he->kh", inside, covariances, inside)
        np.testing.assert_allclose(variance[i], truth, rtol=1e-8)


def test_affine_moments_of_complete_rows_are_the_linear_map(components):
    x = mixed_batch()[[1, 5]]
    weight = torch.randn(3, 4, dtype=torch.float64)
    mean, variance = affine_moments(condition(x, components, gamma=GAMMA), weight)
    torch.testing.assert_close(mean, (x @ weight.T)[:, None].expand(-1, 3, -1))
    assert torch.equal(variance, torch.zeros_like(variance))


CONVOLUTIONS = [
    {"kernel": (2, 1, 3), "input_shape": (1, 12)},
    {"kernel": (4, 1, 3), "input_shape": (2, 6), "groups": 2, "padding": 1},
    {"kernel": (3, 1, 2, 3), "input_shape": (1, 3, 4)},
    {"kernel": (3, 1, 2, 2), "input_shape": (1, 3, 4), "stride": 2, "padding": 1},
    {"kernel": (2, 1, 2, 2), "input_shape": (1, 3, 4), "dilation": (1, 2)},
    {"kernel": (2, 1, 3, 3), "input_shape": (1, 3, 4), "padding": "same"},
]


@pytest.mark.parametrize("options", CONVOLUTIONS)
@pytest.mark.parametrize("kind", ["diag", "factor"])
def test_conv_moments_are_those_of_the_equal_matrix(kind, options):
    """A convolution is a matrix: unroll it and compare with the affine moments."""
    components = make_components(kind, 2, 12)
    options = dict(options)
    weight = torch.randn(options.pop("kernel"), dtype=torch.float64)
    bias = torch.randn(len(weight), dtype=torch.float64)
    settings = {k: v for k, v in options.items() if k != "input_shape"}
    convolve = torch.conv1d if weight.ndim == 3 else torch.conv2d
    identity = torch.eye(12, dtype=torch.float64).view(12, *options["input_shape"])
    columns = convolve(identity, weight, None, **settings)
    mixture = condition(mixed_batch(12), components, gamma=GAMMA)
    mean, variance = conv_moments(mixture, weight, bias, **options)
    truth_mean, truth_variance = affine_moments(mixture, columns.flatten(1).T)
    shape = (8, 2, *columns.shape[1:])
    offset = bias.view(-1, *(1,) * (columns.ndim - 2))
    torch.testing.assert_close(mean, truth_mean.view(shape) + offset)
    torch.testing.assert_close(variance, truth_variance.view(shape))


@pytest.mark.parametrize(
    ("kernel", "input_shape", "match"),
    [
        ((2, 1, 3), (1, 5), "product to be 4"),
        ((2, 1, 3), (1, 2, 2), "expected \\(out, in, length\\)"),
        ((2, 4), (1, 4), "expected \\(out, in, length\\)"),
    ],
)
def test_conv_moments_refuse_shapes_that_do_not_fit(kernel, input_shape, match):
    mixture = condition(mixed_batch(), make_components("diag"), gamma=GAMMA)
    with pytest.raises(ValueError, match=match):
        conv_moments(mixture, torch.ones(kernel).double(), input_shape=input_shape)


def test_conv_moments_refuse_full_covariances():
    mixture = condition(mixed_batch(), make_components("full"), gamma=GAMMA)
    with pytest.raises(ValueError, match="'diag' or 'factor'"):
        conv_moments(mixture, torch.ones(1, 1, 2).double(), input_shape=(1, 4))


@pytest.mark.parametrize("row", [0, 6, 3])
def test_affine_moments_match_monte_carlo(components, row):
    x = mixed_batch()
    weight = torch.randn(5, 4, generator=torch.Generator().manual_seed(1)).double()
    mean, variance = affine_moments(condition(x, components, gamma=GAMMA), weight)
    draws, labels = draw_rows(x[row].numpy(), components, GAMMA, 40_000)
    for component in range(3):
        pushed = draws[labels == component] @ weight.T
        error = (variance[row, component] / len(pushed)).sqrt()
        assert ((pushed.mean(0) - mean[row, component]).abs() < 4 * error).all()
        torch.testing.assert_close(
            pushed.var(0), variance[row, component], rtol=0.15, atol=0
        )
