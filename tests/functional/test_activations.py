"""Expected activations against quadrature, at their limits, and their gradients."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch.nn import functional

from lacunet import functional as F

ACTIVATIONS = {
    "identity": (F.expected_identity, lambda u: u),
    "relu": (F.expected_relu, torch.relu),
    "leaky_relu": (F.expected_leaky_relu, functional.leaky_relu),
    "gelu": (F.expected_gelu, functional.gelu),
    "elu": (F.expected_elu, functional.elu),
    "selu": (F.expected_selu, torch.selu),
    "hardtanh": (F.expected_hardtanh, functional.hardtanh),
    "relu6": (F.expected_relu6, functional.relu6),
    "erf": (F.expected_erf, torch.erf),
    "sigmoid": (F.expected_sigmoid, torch.sigmoid),
    "tanh": (F.expected_tanh, torch.tanh),
    "silu": (F.expected_silu, functional.silu),
    "softplus": (F.expected_softplus, functional.softplus),
    "sin": (F.expected_sin, torch.sin),
    "cos": (F.expected_cos, torch.cos),
    "identity_squared": (F.expected_identity_squared, torch.square),
    "relu_squared": (F.expected_relu_squared, lambda u: torch.relu(u).square()),
    "leaky_relu_squared": (
        F.expected_leaky_relu_squared,
        lambda u: functional.leaky_relu(u).square(),
    ),
}
MEANS = (-15.0, -2.0, -0.3, 0.0, 0.7, 3.0, 15.0)
STDS = (0.05, 0.2, 1.0, 2.5, 10.0)


@pytest.fixture(params=ACTIVATIONS)
def activation(request):
    return ACTIVATIONS[request.param]


def integrated(plain, mean, std):
    """Gauss-Legendre between the kinks and every half deviation: far below 1e-9."""
    edges = mean + std * np.arange(-12, 12.5, 0.5)
    kinks = [k for k in (-1.0, 0.0, 1.0, 6.0) if edges[0] < k < edges[-1]]
    edges = np.unique([*edges, *kinks])
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    u = edges[:-1, None] + half * (nodes + 1)
    values = plain(torch.tensor(u)).numpy()
    return np.sum(half * weights * values * stats.norm(mean, std).pdf(u))


@pytest.mark.parametrize("std", [0.2, 1.0, 2.5])
def test_matches_quadrature(activation, std):
    expected, plain = activation
    for mean in (-2.0, -0.3, 0.0, 0.7, 3.0):
        got = expected(
            torch.tensor(mean).double(), torch.tensor(std**2, dtype=torch.float64)
        )
        assert got.item() == pytest.approx(integrated(plain, mean, std), abs=1e-6)


@pytest.mark.slow
def test_matches_quadrature_on_a_wide_range(activation):
    expected, plain = activation
    for mean in MEANS:
        for std in STDS:
            got = expected(
                torch.tensor(mean).double(), torch.tensor(std**2, dtype=torch.float64)
            )
            truth = integrated(plain, mean, std)
            assert got.item() == pytest.approx(truth, abs=1e-6, rel=1e-7)


def test_zero_variance_is_the_plain_activation(activation):
    expected, plain = activation
    u = torch.linspace(-8, 8, 33, dtype=torch.float64)
    torch.testing.assert_close(
        expected(u, torch.zeros_like(u)), plain(u), atol=5e-8, rtol=1e-8
    )


def test_gradients_match_finite_differences(activation):
    expected, _ = activation
    mean = torch.tensor([-2.0, -0.3, 0.4, 3.0], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor(
        [0.5, 1.0, 4.0, 0.1], dtype=torch.float64, requires_grad=True
    )
    assert torch.autograd.gradcheck(expected, (mean, variance))


def test_second_derivatives_match_finite_differences(activation):
    expected, _ = activation
    mean = torch.tensor([-0.6, 0.4], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(expected, (mean, variance))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_zero_variance(activation, dtype):
    expected, plain = activation
    # On the kinks too: there a naive quotient is 0 / 0.
    mean = torch.tensor([-2.0, -1.0, 0.0, 1.0, 6.0], dtype=dtype, requires_grad=True)
    variance = torch.zeros(5, dtype=dtype, requires_grad=True)
    # 0 * variance: the identity alone makes no use of it.
    (expected(mean, variance) + 0.0 * variance).sum().backward()
    assert torch.isfinite(mean.grad).all()
    assert torch.isfinite(variance.grad).all()
    smooth = torch.tensor([-2.0, 0.5], dtype=torch.float64, requires_grad=True)
    expected(smooth, torch.zeros_like(smooth)).sum().backward()
    known = smooth.detach().clone().requires_grad_()
    plain(known).sum().backward()
    torch.testing.assert_close(smooth.grad, known.grad, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("variance", [1e-38, 1e-12, 1e-8, 1e8])
def test_float32_is_finite_at_extreme_moments(activation, variance):
    expected, _ = activation
    mean = torch.tensor([-1e4, -50.0, 0.0, 50.0, 1e4], requires_grad=True)
    variances = torch.full((5,), variance, requires_grad=True)
    out = expected(mean, variances) + 0.0 * variances
    out.sum().backward()
    for tensor in (out, mean.grad, variances.grad):
        assert torch.isfinite(tensor).all()


def test_relu_is_never_negative_and_above_its_mean():
    mean = torch.linspace(-30, 30, 2001)
    out = F.expected_relu(mean, torch.full_like(mean, 4.0))
    assert (out >= 0).all()
    assert (out >= mean - 1e-6 * mean.abs()).all()


@pytest.mark.parametrize(
    ("expected", "plain"),
    [
        (
            lambda m, v: F.expected_elu(m, v, alpha=0.4),
            lambda u: functional.elu(u, 0.4),
        ),
        (
            lambda m, v: F.expected_hardtanh(m, v, min_val=-1.0, max_val=6.0),
            lambda u: functional.hardtanh(u, -1.0, 6.0),
        ),
        (
            lambda m, v: F.expected_leaky_relu(m, v, negative_slope=0.3),
            lambda u: functional.leaky_relu(u, 0.3),
        ),
        (
            lambda m, v: F.expected_softplus(m, v, beta=3.0),
            lambda u: functional.softplus(u, 3.0),
        ),
    ],
)
def test_settings_of_an_activation_are_respected(expected, plain):
    mean, variance = torch.tensor(0.4).double(), torch.tensor(1.3).double()
    truth = integrated(plain, 0.4, np.sqrt(1.3))
    assert expected(mean, variance).item() == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("plain", [functional.mish, functional.softsign, torch.tanh])
def test_any_smooth_function_by_quadrature(plain):
    mean, variance = torch.tensor(0.3).double(), torch.tensor(0.8).double()
    out = F.expected_function(plain, mean, variance)
    assert out.item() == pytest.approx(integrated(plain, 0.3, np.sqrt(0.8)), abs=2e-3)


def test_quadrature_is_exact_for_polynomials():
    mean, variance = torch.tensor([1.5]).double(), torch.tensor([2.0]).double()
    out = F.expected_function(lambda u: u**4, mean, variance)
    truth = 1.5**4 + 6 * 1.5**2 * 2.0 + 3 * 2.0**2
    torch.testing.assert_close(out, torch.tensor([truth]).double())
