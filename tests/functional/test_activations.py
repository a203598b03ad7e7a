"""Expected activations against quadrature, at their limits, and their gradients."""

import mpmath
import numpy as np
import pytest
import torch
from scipy import special, stats
from torch.nn import functional

from lacunet import functional as F
from lacunet.functional import _activations

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


def slopes(function, mean, variance):
    """Return the value, and its gradients with respect to the two moments."""
    moments = [tensor.detach().clone().requires_grad_() for tensor in (mean, variance)]
    out = function(*moments)
    # 0 * variance: the identity alone makes no use of it.
    gradients = torch.autograd.grad((out + 0.0 * moments[1]).sum(), moments)
    return out.detach(), *gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("variance", [0.0, -1e-9, -3.0])
def test_no_variance_is_the_plain_activation(activation, variance, dtype):
    # With torch's own slope on the kinks: -1, 0, 1 and 6 are on the grid.
    expected, plain = activation
    mean = torch.linspace(-8, 8, 33, dtype=dtype)
    value, by_mean, by_variance = slopes(
        expected, mean, torch.full_like(mean, variance)
    )
    known = mean.clone().requires_grad_()
    tolerance = {"atol": 5e-8 if dtype == torch.float64 else 1e-6, "rtol": 1e-6}
    torch.testing.assert_close(value, plain(known).detach(), **tolerance)
    (slope,) = torch.autograd.grad(plain(known).sum(), known)
    torch.testing.assert_close(by_mean, slope, **tolerance)
    assert torch.isfinite(by_variance).all()


def test_nan_in_is_nan_out(activation):
    expected, _ = activation
    nan, one = torch.tensor([torch.nan, 0.5]), torch.tensor([1.0, 0.0])
    assert expected(nan, one).isnan().tolist() == [True, False]
    if expected is not F.expected_identity:
        assert expected(one, nan).isnan().tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_gradients_match_finite_differences(activation):
    expected, _ = activation
    mean = torch.tensor([-2.0, -0.3, 0.4, 3.0], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor(
        [0.5, 1.0, 4.0, 0.1], dtype=torch.float64, requires_grad=True
    )
    assert torch.autograd.gradcheck(
        expected, (mean, variance), check_forward_ad=True, check_batched_grad=True
    )


def test_second_derivatives_match_finite_differences(activation):
    expected, _ = activation
    mean = torch.tensor([-0.6, 0.4], dtype=torch.float64, requires_grad=True)
    variance = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(expected, (mean, variance))


@pytest.mark.parametrize("std", [1e-18, 1e-9, 1e-4, 1.0, 1e4, 1e18])
def test_float32_is_finite_in_the_range_that_is_promised(activation, std):
    expected, _ = activation
    mean = torch.tensor([0.0, 1e-18, 1.0, 50.0, 1e4, 1e9, 1e18])
    mean = torch.cat([-mean, mean])
    variance = torch.full_like(mean, std).square()
    for tensor in slopes(expected, mean, variance):
        assert torch.isfinite(tensor).all()
    # The operations of compiled and mapped code are others.
    mapped = torch.func.grad(lambda *moments: expected(*moments).sum(), (0, 1))
    for tensor in mapped(mean, variance):
        assert torch.isfinite(tensor).all()


def normal_parts(mean, variance):
    """Return mean, standard deviation, cdf(z) and pdf(z) to 50 digits."""
    mpmath.mp.dps = 50
    mean, std = mpmath.mpf(mean), mpmath.sqrt(variance)
    return mean, std, mpmath.ncdf(mean / std), mpmath.npdf(mean / std)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("std", [1e-3, 0.7, 30.0])
def test_relu_and_its_square_are_accurate_into_the_tail(std, dtype):
    eps = torch.finfo(dtype).eps
    z = torch.linspace(-11 if dtype == torch.float32 else -36, 9, 81, dtype=dtype)
    mean, variance = z * std, torch.full_like(z, std**2)
    truth, squared = [], []
    for moments in zip(mean.tolist(), variance.tolist(), strict=True):
        m, s, cdf, pdf = normal_parts(*moments)
        truth.append(float(m * cdf + s * pdf))
        squared.append(float((m**2 + s**2) * cdf + m * s * pdf))
    got = F.expected_relu(mean, variance).double().numpy()
    np.testing.assert_allclose(got, truth, rtol=8 * eps, atol=4 * eps * std)
    # Relative to itself however small: z has a rounding error, which the tail feels.
    tolerance = 60 * eps * (1 + z.double().numpy() ** 2) * squared
    got = F.expected_relu_squared(mean, variance).double().numpy()
    assert (np.abs(got - squared) <= tolerance).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [1.0, 1.67])
def test_elu_is_accurate_where_the_variance_is_small(alpha, dtype):
    eps = torch.finfo(dtype).eps
    for std in (1e-12, 1e-7, 1e-5, 1e-3, 0.03, 1.0):
        mean = std * torch.linspace(-8, 8, 33, dtype=dtype)
        variance = torch.full_like(mean, std**2)
        truth, by_mean, by_variance = [], [], []
        for moments in zip(mean.tolist(), variance.tolist(), strict=True):
            m, s, cdf, pdf = normal_parts(*moments)
            exponential = mpmath.exp(m + s**2 / 2) * mpmath.ncdf(-m / s - s)
            truth.append(float(m * cdf + s * pdf + alpha * (exponential - (1 - cdf))))
            by_mean.append(float(cdf + alpha * exponential))
            curvature = alpha * exponential + (1 - alpha) * pdf / s
            by_variance.append(float(curvature / 2))
        got = slopes(lambda m, v: F.expected_elu(m, v, alpha=alpha), mean, variance)
        scale = max(map(abs, truth))
        value, slope_mean, slope_variance = (tensor.double().numpy() for tensor in got)
        np.testing.assert_allclose(value, truth, rtol=0, atol=eps**0.6 * scale)
        np.testing.assert_allclose(slope_mean, by_mean, rtol=0, atol=eps**0.5)
        # It only ever acts as a factor of the variance.
        np.testing.assert_allclose(
            std * slope_variance, np.multiply(std, by_variance), atol=eps**0.5
        )


@pytest.mark.parametrize("std", [3.0, 30.0, 1e4, 1e9])
def test_hardtanh_of_a_wide_normal_is_accurate_in_float32(std):
    mean = std * torch.linspace(-3, 3, 25)
    variance = torch.full_like(mean, std).square()
    for limits in ({}, {"min_val": 0.0, "max_val": 6.0}):
        wide = slopes(
            lambda m, v, limits=limits: F.expected_hardtanh(m, v, **limits),
            mean.double(),
            variance.double(),
        )
        got = slopes(
            lambda m, v, limits=limits: F.expected_hardtanh(m, v, **limits),
            mean,
            variance,
        )
        for tensor, reference in zip(got, wide, strict=True):
            torch.testing.assert_close(
                tensor.double(), reference, rtol=0, atol=4e-6 * reference.abs().max()
            )
    # And that reference is the integral of P(Z > t).
    nodes, weights = np.polynomial.legendre.leggauss(20)
    deviations = variance.double().sqrt().numpy()[:, None]
    tails = stats.norm(mean.numpy()[:, None], deviations).sf(3 * nodes + 3)
    np.testing.assert_allclose(wide[0], 3 * tails @ weights, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 2e-14)]
)
def test_own_erfcx_matches_scipy(dtype, tolerance):
    x = torch.cat([torch.zeros(1), torch.logspace(-6, 6, 500)]).to(dtype)
    got = _activations._mills_ratio(x).double() * np.sqrt(2 / np.pi)
    truth = special.erfcx(x.double().numpy() / np.sqrt(2))
    np.testing.assert_allclose(got, truth, rtol=tolerance)


def test_own_erfcx_has_the_right_slopes():
    x = torch.tensor([0.0, 0.3, 2.0, 30.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(_activations._mills_ratio(x).sum(), x)
    points = x.detach()
    ratio = np.sqrt(np.pi / 2) * special.erfcx(points.numpy() / np.sqrt(2))
    np.testing.assert_allclose(slope, points.numpy() * ratio - 1, rtol=1e-12)
    inside = points[1:].requires_grad_()
    assert torch.autograd.gradcheck(_activations._mills_ratio, (inside,))
    assert torch.autograd.gradgradcheck(_activations._mills_ratio, (inside,))


class EveryActivation(torch.nn.Module):
    def forward(self, mean, variance):
        return torch.stack([e(mean, variance) for e, _ in ACTIVATIONS.values()])


def exported_grid():
    mean, std = torch.meshgrid(
        torch.linspace(-60, 60, 121), torch.logspace(-3, 2, 26), indexing="ij"
    )
    return mean, std.square()


def test_exported_graphs_hold_no_rare_operation():
    program = torch.export.export(EveryActivation(), exported_grid())
    names = {str(node.target) for node in program.graph.nodes}
    assert not [name for name in names if "special" in name]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_onnx_agrees(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model, grid, path = EveryActivation().eval(), exported_grid(), tmp_path / "a.onnx"
    torch.onnx.export(model, grid, path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    inputs = {n: tensor.numpy() for n, tensor in zip(names, grid, strict=True)}
    (out,) = session.run(None, inputs)
    np.testing.assert_allclose(out, model(*grid), rtol=2e-5, atol=2e-5)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
@pytest.mark.parametrize("name", ["relu", "elu", "hardtanh", "silu", "relu_squared"])
def test_function_transforms_agree_with_autograd(name):
    expected, _ = ACTIVATIONS[name]
    mean = torch.tensor([-2.0, -0.3, 0.0, 0.4, 3.0, 0.0, 1.5], dtype=torch.float64)
    variance = torch.tensor([0.5, 1.0, 0.3, 4.0, 0.1, 0.0, 0.0]).double()
    value, by_mean, by_variance = slopes(expected, mean, variance)
    rows = torch.func.vmap(torch.func.grad(expected, (0, 1)))(mean, variance)
    torch.testing.assert_close(rows, (by_mean, by_variance))
    jacobian = torch.func.jacrev(expected)(mean, variance)
    torch.testing.assert_close(jacobian, torch.diag(by_mean))
    ones = torch.ones_like(mean)
    out, tangent = torch.func.jvp(expected, (mean, variance), (ones, 2 * ones))
    torch.testing.assert_close(out, value)
    torch.testing.assert_close(tangent, by_mean + 2 * by_variance)

    def summed(mean):
        return expected(mean, variance[:5]).sum()

    second = torch.autograd.functional.hessian(summed, mean[:5])
    torch.testing.assert_close(torch.func.hessian(summed)(mean[:5]), second)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace. is deprecated")
def test_traced_relu_is_made_of_torch_operations():
    moments = torch.zeros(3), torch.ones(3)
    graph = str(torch.jit.trace(F.expected_relu, moments).graph)
    assert "aten::erfc" in graph
    assert "ExpectedReLU" not in graph


def test_relu_is_never_negative_and_above_its_mean():
    mean = torch.linspace(-30, 30, 2001)
    out = F.expected_relu(mean, torch.full_like(mean, 4.0))
    assert (out >= 0).all()
    assert (out >= mean - 1e-6 * mean.abs()).all()


def test_relu_of_large_and_of_empty_tensors():
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(3, 2**17, generator=generator, requires_grad=True)
    variance = torch.rand(3, 2**17, generator=generator)
    variance[1, 5] = 0.0
    out = F.expected_relu(mean, variance)
    out.sum().backward()
    torch.testing.assert_close(out[1], F.expected_relu(mean[1], variance[1]))
    slope = torch.special.ndtr(mean.detach() / variance.sqrt())
    torch.testing.assert_close(mean.grad, slope)
    assert F.expected_relu(torch.empty(0, 4), torch.empty(0, 4)).shape == (0, 4)


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


@pytest.mark.parametrize("plain", [functional.silu, torch.tanh, torch.cos])
def test_squares_by_quadrature(plain):
    mean, variance = torch.tensor([0.3, -1.0]), torch.tensor([0.5, 0.0])
    out = F.expected_function(
        lambda u: plain(u).square(), mean.double(), variance.double(), n_nodes=64
    )
    truth = integrated(lambda u: plain(u).square(), 0.3, np.sqrt(0.5))
    known = plain(mean[1].double()).square()
    torch.testing.assert_close(
        out, torch.stack([torch.tensor(truth), known]), atol=1e-6, rtol=1e-6
    )


def test_quadrature_evaluates_known_values_alone():
    # Off its mean, this function has no value.
    mean, variance = torch.tensor([2.0, 4.0]), torch.tensor([0.0, -1.0])
    value, by_mean, by_variance = slopes(
        lambda m, v: F.expected_function(torch.sqrt, m, v), mean, variance
    )
    torch.testing.assert_close(value, mean.sqrt())
    torch.testing.assert_close(by_mean, 0.5 / mean.sqrt())
    assert by_variance.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(7,), (300, 401), (0, 3), (2, 3, 5)])
def test_gelu_in_blocks_is_the_formula(shape):
    """In single precision, with and without a derivative by the mean alone."""
    generator = torch.Generator().manual_seed(0)
    wide = 3.0 * torch.randn(*shape[:-1], shape[-1] + 1, generator=generator)
    mean, variance = wide[..., 1:], wide.square()[..., 1:] - 0.1  # strided, some < 0
    trained, exact = mean.clone().requires_grad_(), mean.double().requires_grad_()
    for given in (mean, trained):
        torch.testing.assert_close(
            F.expected_gelu(given, variance).detach().double(),
            F.expected_gelu(exact, variance.double()).detach(),
            rtol=1e-5,
            atol=1e-6,
        )
    F.expected_gelu(trained, variance).square().sum().backward()
    F.expected_gelu(exact, variance.double()).square().sum().backward()
    torch.testing.assert_close(trained.grad.double(), exact.grad, rtol=1e-4, atol=1e-4)
