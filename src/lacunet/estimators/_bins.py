"""Edges between the bins of numbers: where the target changes, and at quantiles."""

from typing import NamedTuple

import numpy as np

from lacunet.estimators._recipe import RECIPE


class Bins(NamedTuple):
    """Edges of one column, and the means of its bins, of which there is one more."""

    edges: np.ndarray
    centres: np.ndarray


def find_bins(numbers: np.ndarray, targets: np.ndarray) -> list[Bins]:
    """Find bins of each column of (rows, columns), NaN where a value is missing.

    Everything is found from a histogram of each column: counts, sums of its values and
    of the ``targets`` (rows, outputs), which add up over the blocks of a large table.
    A number of few values has a bin for each of them.
    """
    n_columns = max(1, numbers.shape[1])
    # Wide tables have fewer bins a column: a network's time is that of all its inputs.
    fraction = min(1.0, RECIPE.most_bins / (n_columns * RECIPE.bins_of_column))
    return [_column_bins(column, targets, fraction) for column in numbers.T]


def _column_bins(column: np.ndarray, targets: np.ndarray, fraction: float) -> Bins:
    observed = ~np.isnan(column)
    values, targets = column[observed], targets[observed]
    if not len(values):
        return Bins(np.empty(0), np.zeros(1))
    ends = np.unique(np.quantile(values, np.linspace(0, 1, RECIPE.histogram + 1)[1:-1]))
    # Midway between neighbours, so that rounding puts no value on the other side.
    distinct = np.unique(values)
    above = np.searchsorted(distinct, ends, side="right").clip(1, len(distinct) - 1)
    grid = np.unique((distinct[above - 1] + distinct[above]) / 2)
    if len(distinct) == 1:
        grid = np.empty(0)
    bin_of = np.searchsorted(grid, values)
    counts = np.bincount(bin_of, minlength=len(grid) + 1)
    sums = np.stack(
        [np.bincount(bin_of, y, minlength=len(counts)) for y in targets.T], axis=1
    )
    if len(counts) > RECIPE.few_values:
        n_leaves = max(2, round(fraction * RECIPE.leaves))
        n_quantiles = max(2, round(fraction * RECIPE.quantiles))
        ranks = np.linspace(0, 1, n_quantiles + 1)[1:-1]
        even = np.searchsorted(counts.cumsum(), ranks * len(values))
        cuts = np.union1d(_grow(counts, sums, n_leaves), even.clip(max=len(grid) - 1))
        grid = grid[cuts.astype(np.intp)]
        bin_of = np.searchsorted(grid, values)
        counts = np.bincount(bin_of, minlength=len(grid) + 1)
    totals = np.bincount(bin_of, values, minlength=len(counts))
    return Bins(grid, totals / np.maximum(counts, 1))


def _grow(counts: np.ndarray, sums: np.ndarray, n_leaves: int) -> np.ndarray:
    """Return where a tree that is grown leaf by leaf cuts a histogram, ascending.

    A cut at ``i`` is behind bin ``i``. What it gains is the fall of the squared error
    of the targets, which for indicators of classes is that of Gini's impurity.
    """
    before = np.concatenate([[0], counts.cumsum()])
    summed = np.concatenate([np.zeros((1, sums.shape[1])), sums.cumsum(0)])

    def best_cut(start: int, stop: int) -> tuple[float, int]:
        n_left = before[start + 1 : stop] - before[start]
        n_right = before[stop] - before[start + 1 : stop]
        left = summed[start + 1 : stop] - summed[start]
        right = summed[stop] - summed[start + 1 : stop]
        enough = np.minimum(n_left, n_right) >= RECIPE.leaf_rows
        if not enough.any():
            return 0.0, start
        whole = summed[stop] - summed[start]
        gains = (left**2).sum(1) / np.maximum(n_left, 1)
        gains += (right**2).sum(1) / np.maximum(n_right, 1)
        gains -= (whole**2).sum() / max(1, before[stop] - before[start])
        best = int(np.where(enough, gains, -np.inf).argmax())
        return float(gains[best]), start + best

    leaves = [(0, len(counts), *best_cut(0, len(counts)))]
    cuts = []
    while len(leaves) < n_leaves:
        start, stop, gain, cut = max(leaves, key=lambda leaf: leaf[2])
        if gain <= 1e-12 * len(counts):
            break
        leaves.remove((start, stop, gain, cut))
        cuts.append(cut)
        halves = ((start, cut + 1), (cut + 1, stop))
        leaves += [(*half, *best_cut(*half)) for half in halves]
    return np.sort(np.array(cuts, dtype=np.intp))
