"""Which rows a network is trained on, in what order, and what is hidden from it.

What scikit-learn's contract asks for, and a fit over several machines needs too: the
order of the rows has no influence, a row of weight two counts as two rows, and no
network is validated on a copy of a row that it has learned. So rows are repeated by
whole weights, ordered by a hash of their content, and copies of a row (which have the
same hash) go to one fold.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

# Whole weights are counts of rows as long as the table grows at most this many times.
_MOST_REPEATS = 8


def repeat_rows(
    sample_weight: np.ndarray, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn weights into rows: none for a weight of zero, several for a count.

    Where all weights are whole, a row of weight two is two rows, exactly. Else the
    weights stay with their rows, with a mean of one. ``factors`` multiply the weights
    without repeating rows. Returns the sample that each row is, and its weight.
    """
    counts = sample_weight.astype(np.int64)
    whole = bool((counts == sample_weight).all())
    if whole and counts.sum() <= _MOST_REPEATS * len(counts):
        index = np.repeat(np.arange(len(counts)), counts)
        weights = np.ones(len(index))
    else:
        index = np.flatnonzero(sample_weight)
        weights = sample_weight[index]
    if factors is not None:
        weights = weights * factors[index]
    # Sorted, for a mean that does not depend on the order of the rows.
    return index, weights / np.sort(weights).mean()


def hash_rows(*tables: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for rows that are the same: (rows,)."""
    flat = [t if t.ndim == 2 else t[:, None] for t in tables]
    columns = [column for t in flat for column in t.T]
    keys = np.random.RandomState(0).randint(2**62, size=len(columns), dtype=np.int64)
    hashes = np.zeros(len(tables[0]), dtype=np.uint64)
    for column, key in zip(columns, keys.astype(np.uint64) * 2 + 1, strict=True):
        cells = column.astype(np.float64) + 0.0  # minus zero is zero
        cells[np.isnan(cells)] = np.nan  # which has many forms
        bits = cells.view(np.uint64)
        # Multiplied modulo 2**64, the high bits folded down before and after: the bits
        # of small whole numbers are all high ones.
        bits = (bits ^ (bits >> np.uint64(32))) * key
        hashes += bits ^ (bits >> np.uint64(29))
    return hashes


def canonical_order(*tables: np.ndarray) -> np.ndarray:
    """Return an order of rows that depends on their content alone."""
    return np.argsort(hash_rows(*tables), kind="stable")


def find_copies(*tables: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for copies of a row.

    Where rows are the same by the dozen, as in a table of a few categories, each has a
    number of its own.
    """
    distinct, number = np.unique(hash_rows(*tables), return_inverse=True)
    if len(number) > _MOST_REPEATS * len(distinct):
        return np.arange(len(number))
    return np.asarray(number.ravel())


def deal_folds(
    copies: np.ndarray, strata: np.ndarray | None, n_folds: int, seed: int
) -> np.ndarray:
    """Deal the rows into folds, each stratum as evenly as possible: (rows,).

    Copies of a row (from ``find_copies``) go to one fold: no network may be validated
    on a row that it has learned.
    """
    _, first = np.unique(copies, return_index=True)
    shuffled = np.random.RandomState(seed).permutation(len(first))
    if strata is not None:
        shuffled = shuffled[np.argsort(strata[first][shuffled], kind="stable")]
    folds = np.empty(len(first), dtype=np.int64)
    folds[shuffled] = np.arange(len(first)) % n_folds
    return np.asarray(folds[copies])


# --- cells that are hidden in training, so that networks learn to do without them


def hide(
    x: Tensor,
    generator: torch.Generator,
    *,
    rate: float,
    sources: Tensor,
    image_shape: tuple[int, int] | None = None,
    fraction: float = 1.0,
) -> Tensor:
    """Hide cells, or patches of images, in a fraction of the rows of (batch, width).

    ``sources`` are the original columns of the encoded ones, -1 where nothing may be
    hidden. Behind these may be lower and upper bounds of the first columns.
    """
    if rate == 0.0:
        return x

    def draw(*shape: int) -> Tensor:
        return torch.rand(len(x), *shape, generator=generator, dtype=x.dtype)

    chosen = draw(1) < fraction if fraction < 1.0 else torch.ones((), dtype=torch.bool)
    if image_shape is None:
        # At another rate in every row, ``rate`` on average. A category is hidden whole;
        # the last column, which a source of -1 stands for, is never hidden.
        rates = 2.0 * rate * draw(1)
        hidden = functional.pad(draw(int(sources.max()) + 1) < rates, (0, 1))
        hidden = hidden.to(x.device)[:, sources]
    else:
        # A patch at a random place: ``rate`` of the image, but for rounding.
        inside = []
        for size in image_shape:
            length = max(1, round(math.sqrt(rate) * size))
            start = torch.randint(size - length + 1, (len(x), 1), generator=generator)
            places = torch.arange(size)
            inside.append((places >= start) & (places < start + length))  # (batch, *)
        hidden = (inside[0][:, :, None] & inside[1][:, None, :]).flatten(1)
    n_bounds = (x.shape[1] - hidden.shape[1]) // 2
    if n_bounds:  # of numbers, which come first: hidden with them
        hidden = torch.cat((hidden, *2 * [hidden[:, :n_bounds]]), 1)
    return x.masked_fill((hidden.to(x.device) & chosen.to(x.device)), torch.nan)
