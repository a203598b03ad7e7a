"""Whether rows that lack more are harder."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lacunet.evaluation._losses import Estimate, compare_losses
from lacunet.evaluation._task import Task

_MOST_BINS = 6
_ROWS_PER_BIN = 20


@dataclass(frozen=True)
class HoleBin:
    """Rows that lack about as many values.

    Attributes
    ----------
    fewest, most : int
        Missing values of a row.
    n_rows : int
    losses : mapping of str to Estimate
        The first score of each model on these rows.
    """

    fewest: int
    most: int
    n_rows: int
    losses: Mapping[str, Estimate]


def loss_by_holes(
    task: Task, n_missing: np.ndarray, losses: Mapping[str, np.ndarray]
) -> tuple[HoleBin, ...]:
    """Return the first score of models on rows with ever more holes.

    Parameters
    ----------
    task : {"classification", "regression"}
    n_missing : ndarray of int of shape (n_samples,)
        Missing values of each row.
    losses : mapping of str to ndarray of shape (n_samples,)
        Of the rows, by model.

    Returns
    -------
    tuple of HoleBin
        From few holes to many; all rows with as many are in one.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._holes_and_error import loss_by_holes
    >>> bins = loss_by_holes(
    ...     "regression", np.repeat([0, 1, 2], 20), {"ours": np.ones(60)}
    ... )
    >>> [(each.fewest, each.most, each.n_rows) for each in bins]
    [(0, 0, 20), (1, 1, 20), (2, 2, 20)]
    """
    found = []
    for fewest, most in _find_ranges(n_missing):
        rows = (n_missing >= fewest) & (n_missing <= most)
        of_rows = {
            name: compare_losses(task, values[rows]) for name, values in losses.items()
        }
        found.append(HoleBin(fewest, most, int(rows.sum()), of_rows))
    return tuple(found)


def _find_ranges(n_missing: np.ndarray) -> list[tuple[int, int]]:
    """Join numbers of holes until enough rows have them; a small rest goes in front."""
    enough = max(_ROWS_PER_BIN, len(n_missing) / _MOST_BINS / 1.5)
    numbers, counts = np.unique(n_missing, return_counts=True)
    ranges: list[tuple[int, int]] = []
    start, n_rows = 0, 0
    for place, count in enumerate(counts):
        n_rows += count
        if n_rows >= enough:
            ranges.append((int(numbers[start]), int(numbers[place])))
            start, n_rows = place + 1, 0
    if n_rows:
        first = ranges.pop()[0] if ranges else int(numbers[start])
        ranges.append((first, int(numbers[-1])))
    return ranges
