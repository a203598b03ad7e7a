"""The standard normal, safe where a variance is zero."""

import math

import torch
from torch import Tensor

_SQRT_HALF = math.sqrt(0.5)
LOG_TWO_PI = math.log(2 * math.pi)


def known_below(dtype: torch.dtype) -> float:
    """Return the variance up to which a value counts as known."""
    return max(1e-30, torch.finfo(dtype).tiny)


def known_and_std(variance: Tensor) -> tuple[Tensor, Tensor]:
    """Return where ``variance`` is zero, and its root with 1 put in those places."""
    known = variance <= known_below(variance.dtype)
    # Substituted before the root: its slope at zero is infinite and would poison the
    # gradient even of the branch that is not taken.
    return known, torch.where(known, 1.0, variance).sqrt()


def normal_cdf(z: Tensor) -> Tensor:
    """Return the standard normal distribution function, accurate in both tails."""
    return 0.5 * torch.erfc(-_SQRT_HALF * z)


def normal_pdf(z: Tensor) -> Tensor:
    """Return the standard normal density."""
    return torch.exp(-0.5 * z.square() - 0.5 * LOG_TWO_PI)
