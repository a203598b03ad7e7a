"""What is hidden on top in training, so that networks learn to do without it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def hide_cells(
    x: Tensor, rate: float, sources: Tensor, generator: torch.Generator
) -> Tensor:
    """Hide some cells, at another rate in every row.

    Parameters
    ----------
    x : Tensor of shape (batch, width)
    rate : float
        Mean share of a row's cells.
    sources : Tensor of int of shape (width,)
        The original column of each encoded one: a category is hidden whole. What has -1
        is never hidden.
    generator : torch.Generator

    Returns
    -------
    Tensor of shape (batch, width)
    """
    n_columns = int(sources.max()) + 1
    rates = 2.0 * rate * torch.rand(len(x), 1, generator=generator, dtype=x.dtype)
    hidden = torch.rand(len(x), n_columns, generator=generator, dtype=x.dtype) < rates
    # The last column, which -1 stands for, is never hidden.
    hidden = functional.pad(hidden, (0, 1))
    return x.masked_fill(hidden.to(x.device)[:, sources], torch.nan)


def hide_in_some(
    x: Tensor,
    fraction: float,
    hide: Callable[[Tensor, torch.Generator], Tensor],
    generator: torch.Generator,
) -> Tensor:
    """Hide something in some rows, and leave the others as they are.

    Parameters
    ----------
    x : Tensor of shape (batch, width)
    fraction : float
        Share of the rows, but for chance.
    hide : callable
        From rows and a generator to rows.
    generator : torch.Generator

    Returns
    -------
    Tensor of shape (batch, width)
    """
    chosen = torch.rand(len(x), 1, generator=generator, dtype=x.dtype) < fraction
    return torch.where(chosen.to(x.device), hide(x, generator), x)


def hide_patches(
    x: Tensor, rate: float, image_shape: tuple[int, int], generator: torch.Generator
) -> Tensor:
    """Hide a patch of each image, at a place of its own.

    Parameters
    ----------
    x : Tensor of shape (batch, height * width)
    rate : float
        Share of the image that the patch covers, but for rounding of its sides, which
        are in the proportion of the image's.
    image_shape : tuple of int
        Height and width.
    generator : torch.Generator

    Returns
    -------
    Tensor of shape (batch, height * width)
    """
    inside = [_draw_spans(len(x), size, rate, generator) for size in image_shape]
    hidden = inside[0][:, :, None] & inside[1][:, None, :]
    return x.masked_fill(hidden.flatten(1).to(x.device), torch.nan)


def _draw_spans(n: int, size: int, rate: float, generator: torch.Generator) -> Tensor:
    """Draw which of ``size`` places are within a span, (n, size)."""
    length = max(1, round(math.sqrt(rate) * size))
    starts = torch.randint(size - length + 1, (n, 1), generator=generator)
    places = torch.arange(size)
    return (places >= starts) & (places < starts + length)
