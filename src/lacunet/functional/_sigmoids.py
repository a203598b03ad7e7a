"""Expected activations of the sigmoid, Gaussian-error and periodic families.

Sigmoid, tanh, SiLU and softplus have no closed form, but a logistic function is a
mixture of eight normal distribution functions to 2e-8, and for those there is one.
"""

import torch
from torch import Tensor

from lacunet.functional._normal import normal_cdf, normal_pdf

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
