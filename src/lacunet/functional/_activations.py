"""Expected activations E[f(Z)] of a normal pre-activation Z.

A negative variance, as rounding leaves it, counts as 0; NaN gives NaN. In float32,
values and gradients are finite for means and standard deviations of up to 1e18.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from numpy.polynomial import hermite_e
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from lacunet._validation import branch_free
from lacunet.functional._ops import (
    known_and_std,
    known_below,
    normal_cdf,
    normal_pdf,
)


def expected_identity(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z] for Z ~ Normal(mean, variance): the mean itself.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

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
        Moments of the pre-activation; a negative ``variance`` counts as 0.

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
    if branch_free():
        known, std = known_and_std(variance)
        z = _standardize(mean, std)
        smooth = torch.relu(mean * normal_cdf(z) + std * normal_pdf(z))
        return torch.where(known, torch.relu(mean), smooth)
    # Out here, so that second derivatives find their way back through it.
    if mean.shape != variance.shape:
        mean, variance = torch.broadcast_tensors(mean, variance)
    out: Tensor = _ExpectedReLU.apply(mean.contiguous(), variance.contiguous())  # type: ignore[no-untyped-call]
    return out


class _ExpectedReLU(torch.autograd.Function):
    """m cdf(z) + s pdf(z) with its two slopes, cdf(z) and pdf(z) / (2 s), kept."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        tensors = (mean, variance, *(torch.empty_like(mean) for _ in range(3)))
        out, *slopes = tensors[2:]
        ctx.save_for_backward(mean, variance, *slopes)
        if mean.numel() == 0:
            return out
        # This is the one long element-wise chain of a layer: in pieces of this many
        # numbers it stays in the cache, and each pass over them counts.
        n_together = 2**18
        pieces: Iterable[tuple[Tensor, ...]] = [tensors]
        if mean.numel() > n_together:
            pieces = zip(*(t.view(-1).split(n_together) for t in tensors), strict=True)
        floor = known_below(variance.dtype)
        zero = mean.new_zeros(())
        log_scale = mean.new_full((), -math.log(2.0 * math.sqrt(math.pi)))
        for mean_, variance_, out_, twice_cdf, slope in pieces:
            known = None
            if not float(variance_.amin()) > floor:  # NaN too
                known = variance_ <= floor
                variance_ = variance_.clamp_min(floor)
            root = (2.0 * variance_).sqrt_()  # sqrt(2) s
            minus_z = torch.addcdiv(zero, mean_, root, value=-1.0)  # over sqrt(2)
            if known is not None:
                right = known & (mean_ > 0)
                minus_z.masked_fill_(known, 100.0).masked_fill_(right, -100.0)
            torch.erfc(minus_z, out=twice_cdf)
            torch.addcmul(log_scale, minus_z, minus_z, value=-1.0, out=minus_z)
            pdf = minus_z.exp_()  # over the same
            # In the deep tail the terms cancel: rounding must not turn it negative.
            torch.mul(root, pdf, out=out_)
            out_.addcmul_(mean_, twice_cdf, value=0.5).clamp_min_(0.0)
            if ctx.needs_input_grad[1]:
                torch.div(pdf, root, out=slope)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        mean, variance, twice_cdf, slope = ctx.saved_tensors
        (grad,) = grads
        if not torch.is_grad_enabled():
            zero = mean.new_zeros(())
            of_mean = torch.addcmul(zero, grad, twice_cdf, value=0.5)
            return of_mean, grad * slope if ctx.needs_input_grad[1] else None
        # A second derivative was asked for: operations that can be differentiated.
        known, std = known_and_std(variance)
        z = _standardize(mean, std)
        cdf = torch.where(known, (mean > 0).to(mean.dtype), normal_cdf(z))
        slope = torch.where(known, 0.0, normal_pdf(z) / (2.0 * std))
        return grad * cdf, grad * slope


def _standardize(distance: Tensor, std: Tensor) -> Tensor:
    """Return ``distance / std`` within 40, where the density has long been 0."""
    # Before the quotient: one that overflows has a slope of 0 * inf.
    bound = 40.0 * std
    return distance.clamp(-bound, bound) / std


def expected_leaky_relu(
    mean: Tensor, variance: Tensor, *, negative_slope: float | Tensor = 0.01
) -> Tensor:
    """Compute E[leaky_relu(Z)] for Z ~ Normal(mean, variance).

    ``a * m + (1 - a) * E[max(0, Z)]`` with ``a`` the slope below zero.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
    lower = _standardize(min_val - mean, std)
    upper = _standardize(max_val - mean, std)
    # The pieces apart, not as a difference of two ReLUs: that would lose the clipped
    # value behind a large mean.
    clipped = min_val * normal_cdf(lower) + max_val * normal_cdf(-upper)
    inside = mean * (normal_cdf(upper) - normal_cdf(lower))
    narrow = clipped + inside + std * (normal_pdf(lower) - normal_pdf(upper))
    # Of a normal far wider than the interval, these terms cancel. There: the integral
    # of P(Z > t) over the interval, as a series in its half width over s.
    middle, half = 0.5 * (min_val + max_val), 0.5 * (max_val - min_val)
    z = -0.5 * (lower + upper)
    limit = torch.finfo(std.dtype).eps ** 0.1
    ratio = (half / std).clamp_max(limit).square()
    square = z.square()
    third = square * (square - 10.0) + 15.0
    bend = 1 / 3 + ratio * ((square - 3.0) / 60 + ratio * third / 2520)
    bent = torch.erf(math.sqrt(0.5) * z) - ratio * bend * z * normal_pdf(z)
    smooth = torch.where(half < limit * std, middle + half * bent, narrow)
    return torch.where(known, functional.hardtanh(mean, min_val, max_val), smooth)


def expected_relu6(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[clip(Z, 0, 6)] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

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
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
    z = _standardize(mean, std)
    density, below = normal_pdf(z), normal_cdf(-z)
    # E[exp(Z); Z < 0] = exp(m + v / 2) * cdf(-(m + v) / s): right of zero the factors
    # are huge and tiny, and the product is that of density and Mills' ratio.
    shifted = z + std
    right = density * _mills_ratio(shifted.clamp_min(0.0))
    left = torch.exp((mean + 0.5 * variance).clamp_max(0.0)) * normal_cdf(-shifted)
    exact = torch.where(shifted > 0, right, left) - below
    # The slopes of that are differences of terms of size 1 / s. Where s is small: the
    # Taylor series of E[exp(-Y) - 1] about the mean of Y = max(0, -Z).
    first = torch.relu(std * density - mean * below)
    second = (mean.square() + std.square()) * below - mean * std * density
    curvature = 0.5 * torch.exp(-first) * (second - first.square())
    series = torch.expm1(-first) + curvature
    small = std < torch.finfo(std.dtype).eps ** (1 / 3)
    smooth = expected_relu(mean, variance) + alpha * torch.where(small, series, exact)
    return torch.where(known, functional.elu(mean, alpha), smooth)


def _mills_ratio(x: Tensor) -> Tensor:
    """Return ``cdf(-x) / pdf(x)`` for x >= 0: sqrt(pi / 2) * erfcx(x / sqrt(2)).

    To 1e-14 in float64 and 1e-6 in float32, by operations that every runtime has.
    """
    return (x + _squared_tail(x)) / (1.0 + x.square())


def _squared_tail(x: Tensor) -> Tensor:
    """Return ``E[max(0, Z - x) ** 2] / pdf(x)`` of a standard normal Z for x >= 0.

    To 1e-13 in float64 and 2e-6 in float32, however far out. It is the second
    derivative of Mills' ratio, and of the two the one that gives the other without
    cancellation.
    """
    near = _TAIL_SCALE / (_TAIL_SCALE + x)  # from 1 at zero to 0 at infinity
    centred = near - _TAIL_MIDDLE
    *lower, leading = _TAIL_WIDE if x.dtype == torch.float64 else _TAIL
    out = torch.full_like(x, leading)
    for coefficient in reversed(lower):
        out = out * centred + coefficient
    return out * near * near.square()


_TAIL_SCALE = 3.0
# Of the interpolation from 0 to 1.125: at the very end of it, slopes are poor.
_TAIL_MIDDLE = 0.5625


# Coefficients of the Chebyshev interpolants of degree 13 and 26 to the integral of
# w^2 exp(-x w - w^2 / 2) over the cube of ``near``, the lowest first.
_TAIL = (
    0.4435315852037281,
    1.3098583427188333,
    1.4281749359636753,
    0.013075675119622336,
    -1.1354355658098296,
    -0.11339732473583251,
    0.9866443207382363,
    -0.15323452961689457,
    -0.8558453980056222,
    0.531219981668889,
    0.5768142704559494,
    -0.7131626640943208,
    -0.20712579222117253,
    0.41991332320792085,
)
_TAIL_WIDE = (
    0.4435315894367496,
    1.3098583573431983,
    1.4281736063588246,
    0.013071146894053247,
    -1.1353635109674824,
    -0.11316871886177969,
    0.9850907344894145,
    -0.1575491631943024,
    -0.8386733519453569,
    0.569647973319927,
    0.46850313556022644,
    -0.8836378222648192,
    0.1975582100442544,
    0.7467339962401988,
    -0.8742638858752906,
    0.046152109741784256,
    0.9187801184169496,
    -1.1209352009680802,
    0.12632772129474817,
    1.5581957895972804,
    -1.7156386741707537,
    -0.883880408378333,
    2.431175535140528,
    -0.06390469578946299,
    -1.6340279109945877,
    0.23924599448844683,
    0.4448167211398683,
)


def expected_selu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[selu(Z)] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

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
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_identity_squared(torch.tensor([2.0]), torch.ones(1))
    tensor([5.])
    """
    return mean.square() + variance.clamp_min(0.0)


def expected_relu_squared(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[max(0, Z) ** 2] for Z ~ Normal(mean, variance).

    ``(m ** 2 + s ** 2) * cdf(m / s) + m * s * pdf(m / s)``.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_relu_squared(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0]))
    tensor([0.5000, 4.0000])
    """
    known, std = known_and_std(variance)
    z = _standardize(mean, std)
    positive = z > 0
    # The tail on the far side of zero: the two terms of the formula cancel there.
    x = torch.where(positive, z, -z)
    tail = std.square() * normal_pdf(x) * _squared_tail(x)
    smooth = torch.where(positive, mean.square() + std.square() - tail, tail)
    return torch.where(known, torch.relu(mean).square(), smooth)


def expected_leaky_relu_squared(
    mean: Tensor, variance: Tensor, *, negative_slope: float | Tensor = 0.01
) -> Tensor:
    """Compute E[leaky_relu(Z) ** 2] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_sigmoid(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0]))
    tensor([0.5000, 0.8808])
    """
    variance = variance.clamp_min(0.0)
    return _logistic_sum(mean, variance, lambda std, z: normal_cdf(z))


def _logistic_sum(
    mean: Tensor, variance: Tensor, term: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Sum ``term(std, z)`` over the normals that make up the logistic distribution."""
    out = torch.zeros_like(mean)
    for weight, scale in zip(_WEIGHTS, _SCALES, strict=True):
        std = (variance + scale**-2).sqrt()
        out = out + weight * term(std, mean / std)
    return out


def expected_tanh(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[tanh(Z)] for Z ~ Normal(mean, variance), to 4e-8.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

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
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_silu(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0]))
    tensor([0.2066, 0.7311])
    """
    variance = variance.clamp_min(0.0)
    return _logistic_sum(
        mean,
        variance,
        lambda std, z: mean * normal_cdf(z) + variance / std * normal_pdf(z),
    )


def expected_softplus(mean: Tensor, variance: Tensor, *, beta: float = 1.0) -> Tensor:
    """Compute E[log(1 + exp(beta * Z)) / beta] for Z ~ Normal(mean, variance).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
    scaled = beta * mean
    return (
        _logistic_sum(
            scaled,
            beta**2 * variance.clamp_min(0.0),
            lambda std, z: scaled * normal_cdf(z) + std * normal_pdf(z),
        )
        / beta
    )


def expected_gelu(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[Z * cdf(Z)] for Z ~ Normal(mean, variance): the exact GELU.

    With h = m / sqrt(1 + v): ``m * cdf(h) + v / sqrt(1 + v) * pdf(h)``.

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_gelu(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8413])
    """
    if (
        not branch_free()
        and mean.dtype == variance.dtype == torch.float32
        and mean.device.type == "cpu"
        and mean.shape == variance.shape != ()
        and not (variance.requires_grad and torch.is_grad_enabled())
    ):
        if mean.requires_grad and torch.is_grad_enabled():
            out: Tensor = _FastGelu.apply(mean, variance)  # type: ignore[no-untyped-call]
            return out
        return _fast_gelu(mean, variance)
    variance = variance.clamp_min(0.0)
    std = torch.sqrt(1.0 + variance)
    z = mean / std
    return mean * normal_cdf(z) + variance / std * normal_pdf(z)


class _FastGelu(torch.autograd.Function):
    """The same in single precision, with its derivative by the mean alone."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, variance: Tensor) -> Tensor:
        slope = torch.empty_like(mean, memory_format=torch.contiguous_format)
        out = _fast_gelu(mean, variance, slope)
        ctx.save_for_backward(slope)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return grads[0] * slope, None


def _fast_gelu(mean: Tensor, variance: Tensor, slope: Tensor | None = None) -> Tensor:
    """Return the expectation, and write its derivative by the mean into ``slope``.

    A sixth of the time of the formula with its gradient: a block that stays in the
    cache at a time, in place, and by the faster of torch's functions.
    """
    out = torch.empty_like(mean, memory_format=torch.contiguous_format)
    n_rows = max(1, _BLOCK // max(1, mean[:1].numel()))
    tensors = (mean, variance, out, out if slope is None else slope)
    blocks = zip(*(tensor.split(n_rows) for tensor in tensors), strict=True)
    for m, v, result, derivative in blocks:
        inverse = v.clamp_min(0.0).add_(1.0).rsqrt_()  # of the root of 1 + v
        z = m * inverse
        pdf = (z * z).mul_(-0.5 / math.log(2.0)).exp2_().mul_(_PDF_AT_0)
        square = inverse * inverse
        if slope is None:
            known = functional.gelu(z)
        else:
            cdf = (z * math.sqrt(0.5)).erf_().add_(1.0).mul_(0.5)
            known = z * cdf
            torch.addcmul(cdf, z.mul_(square), pdf, out=derivative)
        # z * cdf(z) + v / (1 + v) * pdf(z), times the root
        torch.addcmul(known, square.neg_().add_(1.0), pdf, out=result).div_(inverse)
    return out


_BLOCK = 2**16
_PDF_AT_0 = 1.0 / math.sqrt(2.0 * math.pi)


def expected_erf(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[erf(Z)] for Z ~ Normal(mean, variance): erf(m / sqrt(1 + 2 v)).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_erf(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8427])
    """
    return torch.erf(mean / torch.sqrt(1.0 + 2.0 * variance.clamp_min(0.0)))


def expected_sin(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[sin(Z)] for Z ~ Normal(mean, variance): sin(m) * exp(-v / 2).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_sin(torch.tensor([1.0]), torch.zeros(1))
    tensor([0.8415])
    """
    return torch.sin(mean) * torch.exp(-0.5 * variance.clamp_min(0.0))


def expected_cos(mean: Tensor, variance: Tensor) -> Tensor:
    """Compute E[cos(Z)] for Z ~ Normal(mean, variance): cos(m) * exp(-v / 2).

    Parameters
    ----------
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; a negative ``variance`` counts as 0.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_cos(torch.tensor([0.0]), torch.zeros(1))
    tensor([1.])
    """
    return torch.cos(mean) * torch.exp(-0.5 * variance.clamp_min(0.0))


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
        Moments of the pre-activation; a negative ``variance`` counts as 0.
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
    nodes, weights = hermite_e.hermegauss(n_nodes)
    known, std = known_and_std(variance)
    std = torch.where(known, 0.0, std)
    out = torch.zeros_like(mean)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        probability = weight / math.sqrt(2 * math.pi)
        out = out + probability * function(mean + node * std)
    return out
