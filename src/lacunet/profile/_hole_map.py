"""The map of holes: a table from far away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.profile._holes import Bools, Floats, Ints
from lacunet.profile._patterns import Patterns

MOST_ROWS, MOST_COLUMNS = 200, 100
_DIGITS = 3


@dataclass(frozen=True)
class HoleMap:
    """Shares of missing cells in blocks of the table.

    Attributes
    ----------
    shares : tuple of tuples of float
        A tuple for each block of rows, with a number for each block of columns.
    row_starts : tuple of int
        The first row of each block, counted from 0 in the order of the map.
    columns : tuple of tuples of str
        The columns of each block of columns.
    """

    shares: tuple[tuple[float, ...], ...]
    row_starts: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]


def map_holes(
    missing: Bools, names: Sequence[str], order: Ints | None = None
) -> HoleMap:
    """Look at a mask from far away.

    Parameters
    ----------
    missing : ndarray of bool of shape (rows, columns)
    names : sequence of str
    order : ndarray of int of shape (rows,), optional
        Of the rows; as they are if not given.

    Returns
    -------
    HoleMap
        Of at most 200 x 100 blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._hole_map import map_holes
    >>> map_holes(np.array([[True, False], [False, False]]), ["a", "b"]).shares
    ((1.0, 0.0), (0.0, 0.0))
    """
    n_rows, n_columns = missing.shape
    rows = _cut(n_rows, MOST_ROWS)
    columns = _cut(n_columns, MOST_COLUMNS)
    shares = np.empty((len(rows) - 1, len(columns) - 1))
    for i, (start, end) in enumerate(zip(rows[:-1], rows[1:], strict=True)):
        block = missing[start:end] if order is None else missing[order[start:end]]
        shares[i] = _mean_by(block, columns)
    return HoleMap(
        tuple(map(tuple, shares.round(_DIGITS).tolist())),
        tuple(rows[:-1].tolist()),
        tuple(
            tuple(names[start:end])
            for start, end in zip(columns[:-1], columns[1:], strict=True)
        ),
    )


def order_by_pattern(patterns: Patterns) -> Ints:
    """Return rows in the order of their patterns: those with few holes first.

    Parameters
    ----------
    patterns : Patterns

    Returns
    -------
    ndarray of int of shape (rows,)
    """
    size = patterns.missing.sum(axis=1)
    return np.lexsort((patterns.of_row, size[patterns.of_row]))


def _cut(length: int, most: int) -> Ints:
    """Return where blocks begin, and the end: as even as they can be."""
    return np.linspace(0, length, min(length, most) + 1).astype(np.int64)


def _mean_by(block: Bools, edges: Ints) -> Floats:
    if len(edges) == 1:
        return np.empty(0)
    means: Floats = np.add.reduceat(block.mean(axis=0), edges[:-1]) / np.diff(edges)
    return means
