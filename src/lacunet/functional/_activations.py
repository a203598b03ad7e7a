"""Expected activations E[f(Z)] of a normal pre-activation Z."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lacunet.functional._ops import known_and_std, known_below, normal_cdf, normal_pdf

_PEAK = 1 / math.sqrt(2 * math.pi)  # of the standard normal density
# Numbers that are worked on at a time: few enough to stay in the cache.
_PIECE = 2**18


def expected_identity(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z] for Z ~ Normal(mean, variance): the mean itself.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_identity(torch.tensor([-1.0, 2.0]), torch.ones(2))
    tensor([-1.,  2.])
    """
    return mean


def expected_relu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[max(0, Z)] for Z ~ Normal(mean, variance), element by element.

    The paper's theorem 3.1: ``s * NR(m / s)`` with s the standard deviation. Where
    ``variance`` is zero the value is known and this is plain ReLU.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_relu(torch.tensor([-1.0, 2.0]), torch.zeros(2))
    tensor([0., 2.])
    >>> expected_relu(torch.tensor([0.0]), torch.ones(1))
    tensor([0.3989])
    """
    if torch.compiler.is_compiling():
        known, std = known_and_std(variance)
        z = mean / std
        smooth = mean * normal_cdf(z) + std * normal_pdf(z)
        return torch.where(known, torch.relu(mean), smooth)
    # Out here, so that second derivatives find their way back through it.
    mean, variance = torch.broadcast_tensors(mean, variance)
    out: Tensor = _ExpectedReLU.apply(mean.contiguous(), variance.contiguous())  # type: ignore[no-untyped-call]
    return out


class _ExpectedReLU(torch.autograd.Function):
    """m cdf(z) + s pdf(z) with its two slopes, cdf(z) and pdf(z) / (2 s), kept."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        out, cdf, slope = (torch.empty_like(mean) for _ in range(3))
        tensors = (mean, variance, out, cdf, slope)
        # This is the one long element-wise chain of a layer: piece by piece it stays
        # in the cache.
        for piece in zip(*(t.view(-1).split(_PIECE) for t in tensors), strict=True):
            _fill_relu(*piece)
        ctx.save_for_backward(mean, variance, cdf, slope)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        mean, variance, cdf, slope = ctx.saved_tensors
        (grad,) = grads
        if torch.is_grad_enabled():
            # A second derivative was asked for: operations that can be differentiated.
            known, std = known_and_std(variance)
            z = mean / std
            cdf = torch.where(known, (mean > 0).to(mean.dtype), normal_cdf(z))
            slope = torch.where(known, 0.0, normal_pdf(z) / (2.0 * std))
        return grad * cdf, grad * slope


def _fill_relu(
    mean: Tensor, variance: Tensor, out: Tensor, cdf: Tensor, slope: Tensor
) -> None:
    """Write value and slopes in place."""
    # A floor instead of a branch: with a variance of 1e-30 it is ReLU to 1e-15.
    floor = known_below(variance.dtype)
    std = variance.clamp_min(floor).sqrt_()
    z = mean / std
    torch.erfc(z * -math.sqrt(0.5), out=cdf).mul_(0.5)
    bump = z.square_().mul_(-0.5).exp_()  # the density but for its constant
    # Deep in the tail the two terms cancel: rounding must not turn it negative.
    torch.mul(mean, cdf, out=out).addcmul_(std, bump, value=_PEAK).clamp_min_(0.0)
    torch.div(bump, std.mul_(2.0 / _PEAK), out=slope)
    if bool(variance.amin() <= floor):  # seldom: one pass instead of two
        slope.masked_fill_(variance <= floor, 0.0)


def expected_leaky_relu(
    mean: Tensor, variance: Tensor, *, negative_slope: float | Tensor = 0.01
) -> Tensor:
    """Compute E[leaky_relu(Z)] for Z ~ Normal(mean, variance).

    ``a * m + (1 - a) * E[max(0, Z)]`` with ``a`` the slope below zero.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    negative_slope : float or Tensor, default=0.01
        The slope below zero; a learned one (PReLU) is a tensor.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_leaky_relu(torch.tensor([-1.0, 2.0]), torch.zeros(2))
    tensor([-0.0100,  2.0000])
    """
    rectified = expected_relu(mean, variance)
    return negative_slope * mean + (1.0 - negative_slope) * rectified


def expected_hardtanh(
    mean: Tensor, variance: Tensor, *, min_val: float = -1.0, max_val: float = 1.0
) -> Tensor:
    """Compute E[clip(Z, min_val, max_val)] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    min_val, max_val : float
        Where the clipping starts, below and above.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_hardtanh(torch.tensor([-9.0, 0.5]), torch.zeros(2))
    tensor([-1.0000,  0.5000])
    """
    if math.isinf(max_val):
        return min_val + expected_relu(mean - min_val, variance)
    if math.isinf(min_val):
        return max_val - expected_relu(max_val - mean, variance)
    known, std = known_and_std(variance)
    lower = (min_val - mean) / std
    upper = (max_val - mean) / std
    # The pieces apart, not as a difference of two ReLUs: that would lose the clipped
    # value behind a large mean.
    clipped = min_val * normal_cdf(lower) + max_val * normal_cdf(-upper)
    inside = mean * (normal_cdf(upper) - normal_cdf(lower))
    spread = std * (normal_pdf(lower) - normal_pdf(upper))
    plain = functional.hardtanh(mean, min_val, max_val)
    return torch.where(known, plain, clipped + inside + spread)


def expected_relu6(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[clip(Z, 0, 6)] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_relu6(torch.tensor([-1.0, 7.0]), torch.zeros(2))
    tensor([0., 6.])
    """
    return expected_hardtanh(mean, variance, min_val=0.0, max_val=6.0)


def expected_elu(mean: Tensor, variance: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Compute E[elu(Z)] for Z ~ Normal(mean, variance).

    ``E[max(0, Z)] + alpha * (E[exp(Z); Z < 0] - P(Z < 0))``.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    alpha : float, default=1.0
        The activation tends to ``-alpha`` far below zero.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_elu(torch.tensor([-30.0, 2.0]), torch.zeros(2))
    tensor([-1.,  2.])
    """
    known, std = known_and_std(variance)
    # Right of zero the factors of exp(m + v/2) * cdf(-(m + v) / s) are huge and tiny:
    # their product by erfcx.
    z = (mean + variance) / std
    scaled = torch.special.erfcx(math.sqrt(0.5) * z.clamp_min(0.0))
    right = 0.5 * torch.exp(-0.5 * (mean / std).square()) * scaled
    left = torch.exp((mean + 0.5 * variance).clamp_max(0.0)) * normal_cdf(-z)
    below = torch.where(z > 0, right, left) - normal_cdf(-mean / std)
    smooth = expected_relu(mean, variance) + alpha * below
    return torch.where(known, functional.elu(mean, alpha), smooth)


def expected_selu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[selu(Z)] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_selu(torch.tensor([1.0]), torch.zeros(1))
    tensor([1.0507])
    """
    elu = expected_elu(mean, variance, alpha=1.6732632423543772)
    return 1.0507009873554805 * elu


def expected_identity_squared(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z ** 2] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_identity_squared(torch.tensor([2.0]), torch.ones(1))
    tensor([5.])
    """
    return mean.square() + variance


def expected_relu_squared(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[max(0, Z) ** 2] for Z ~ Normal(mean, variance).

    ``(m ** 2 + s ** 2) * cdf(m / s) + m * s * pdf(m / s)``.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_relu_squared(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0]))
    tensor([0.5000, 4.0000])
    """
    known, std = known_and_std(variance)
    z = mean / std
    square = expected_identity_squared(mean, variance)
    smooth = square * normal_cdf(z) + mean * std * normal_pdf(z)
    return torch.where(known, torch.relu(mean).square(), smooth)


def expected_leaky_relu_squared(
    mean: Tensor, variance: Tensor, *, negative_slope: float | Tensor = 0.01
) -> Tensor:
    """Compute E[leaky_relu(Z) ** 2] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    negative_slope : float or Tensor, default=0.01
        The slope below zero.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_leaky_relu_squared(torch.tensor([-10.0, 2.0]), torch.zeros(2))
    tensor([0.0100, 4.0000])
    """
    slope = negative_slope**2
    square = expected_identity_squared(mean, variance)
    return slope * square + (1.0 - slope) * expected_relu_squared(mean, variance)


# sigmoid(x) ~ sum_k WEIGHTS[k] * normal_cdf(SCALES[k] * x), by least squares.
_WEIGHTS = (
    0.001193304197,
    0.024372238190,
    0.120653736911,
    0.264575282179,
    0.319164175351,
    0.207877559094,
    0.058243611070,
    0.003920093009,
)
_SCALES = (
    0.235474995669,
    0.304464888371,
    0.389709679676,
    0.499006474392,
    0.639078933491,
    0.816980676850,
    1.044201404477,
    1.349384843032,
)


def expected_sigmoid(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[sigmoid(Z)] for Z ~ Normal(mean, variance), to 2e-8.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_sigmoid(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0]))
    tensor([0.5000, 0.8808])
    """
    out = torch.zeros_like(mean)
    for weight, scale in zip(_WEIGHTS, _SCALES, strict=True):
        spread = torch.sqrt(1.0 + scale**2 * variance)
        out = out + weight * normal_cdf(scale * mean / spread)
    return out


def expected_tanh(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[tanh(Z)] for Z ~ Normal(mean, variance), to 4e-8.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_tanh(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 0.0]))
    tensor([0.5504, 0.7616])
    """
    return 2.0 * expected_sigmoid(2.0 * mean, 4.0 * variance) - 1.0


def expected_silu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z * sigmoid(Z)] for Z ~ Normal(mean, variance), to 3e-8.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_silu(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0]))
    tensor([0.2066, 0.7311])
    """
    out = torch.zeros_like(mean)
    for weight, scale in zip(_WEIGHTS, _SCALES, strict=True):
        spread = torch.sqrt(1.0 + scale**2 * variance)
        z = scale * mean / spread
        slope = scale * variance / spread
        out = out + weight * (mean * normal_cdf(z) + slope * normal_pdf(z))
    return out


def expected_softplus(mean: Tensor, variance: Tensor, *, beta: float = 1.0) -> Tensor:
    """Compute E[log(1 + exp(beta * Z)) / beta] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    beta : float, default=1.0
        The sharpness, as in ``torch.nn.Softplus``.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_softplus(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]))
    tensor([0.8061, 0.6931])
    """
    scaled_mean = beta * mean
    scaled_variance = beta**2 * variance
    out = torch.zeros_like(mean)
    for weight, scale in zip(_WEIGHTS, _SCALES, strict=True):
        spread = torch.sqrt(1.0 + scale**2 * scaled_variance)
        z = scale * scaled_mean / spread
        value = scaled_mean * normal_cdf(z) + spread / scale * normal_pdf(z)
        out = out + weight * value
    return out / beta


def expected_gelu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z * cdf(Z)] for Z ~ Normal(mean, variance): the exact GELU.

    With h = m / sqrt(1 + v): ``m * cdf(h) + v / sqrt(1 + v) * pdf(h)``.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_gelu(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8413])
    """
    spread = torch.sqrt(1.0 + variance)
    z = mean / spread
    return mean * normal_cdf(z) + variance / spread * normal_pdf(z)


def expected_erf(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[erf(Z)] for Z ~ Normal(mean, variance): erf(m / sqrt(1 + 2 v)).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_erf(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8427])
    """
    return torch.erf(mean / torch.sqrt(1.0 + 2.0 * variance))


def expected_sin(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[sin(Z)] for Z ~ Normal(mean, variance): sin(m) * exp(-v / 2).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_sin(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8415])
    """
    return torch.sin(mean) * torch.exp(-0.5 * variance)


def expected_cos(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[cos(Z)] for Z ~ Normal(mean, variance): cos(m) * exp(-v / 2).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_cos(torch.tensor([0.0]), torch.zeros(1))
    tensor([1.])
    """
    return torch.cos(mean) * torch.exp(-0.5 * variance)


def expected_function(
    function: Callable[[Tensor], Tensor],
    mean: Tensor,
    variance: Tensor,
    *,
    n_nodes: int = 32,
) -> Tensor:
    """Compute E[function(Z)] for Z ~ Normal(mean, variance) by quadrature.

    Exact for polynomials of degree below ``2 * n_nodes``; good for smooth functions,
    slow to converge for functions with kinks (those of the rectifier family have
    exact forms of their own).

    Parameters
    ----------
    function : callable
        Applied element by element: takes and returns a tensor of one shape.
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    n_nodes : int, default=32
        Number of points at which ``function`` is evaluated.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_function(torch.square, torch.tensor([2.0]), torch.ones(1))
    tensor([5.])
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    known, std = known_and_std(variance)
    out = torch.zeros_like(mean)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        probability = weight / math.sqrt(2 * math.pi)
        out = out + probability * function(mean + node * std)
    return torch.where(known, function(mean), out)
