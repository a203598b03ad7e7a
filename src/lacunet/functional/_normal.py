"""The standard normal, safe where a variance is zero."""

import math

import torch
from torch import Tensor

_SQRT_HALF = math.sqrt(0.5)
LOG_TWO_PI = math.log(2 * math.pi)


def known_and_std(variance: Tensor) -> tuple[Tensor, Tensor]:
    """Return where ``variance`` is zero, and its root with 1 put in those places."""
    # Below this a value counts as known: its square root would be no use in a quotient.
    known = variance <= max(1e-30, torch.finfo(variance.dtype).tiny)
    # Substituted before the root: its slope at zero is infinite and would poison the
    # gradient even of the branch that is not taken.
    return known, torch.where(known, 1.0, variance).sqrt()


def normal_cdf(z: Tensor) -> Tensor:
    """Return the standard normal distribution function, accurate in both tails."""
    return 0.5 * torch.erfc(-_SQRT_HALF * z)


def normal_pdf(z: Tensor) -> Tensor:
    """Return the standard normal density."""
    return torch.exp(-0.5 * z.square() - 0.5 * LOG_TWO_PI)
