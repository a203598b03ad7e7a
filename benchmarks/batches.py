"""Batches with missing values, in the shapes of the cases."""

import torch
from torch import Tensor


def complete_batch(batch: int, features: int, generator: torch.Generator) -> Tensor:
    return torch.randn(batch, features, generator=generator)


def patched_batch(
    batch: int, side: int, patch: int, generator: torch.Generator, *, every: int = 1
) -> Tensor:
    """Make images whose every so-many-th lacks a square patch at a random place."""
    images = complete_batch(batch, side * side, generator).view(batch, side, side)
    corners = torch.randint(side - patch + 1, (batch, 2), generator=generator)
    for row in range(0, batch, every):
        top, left = corners[row].tolist()
        images[row, top : top + patch, left : left + patch] = torch.nan
    return images.flatten(1)


def scattered_batch(
    batch: int, features: int, fraction: float, generator: torch.Generator
) -> Tensor:
    """Make rows that lack a fraction of their values, cells independently."""
    x = complete_batch(batch, features, generator)
    x[torch.rand(batch, features, generator=generator) < fraction] = torch.nan
    return x
