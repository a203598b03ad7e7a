"""Which cells are missing together: patterns of rows, pairs of columns, and a map."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from lacunet.profile._input import Bools, Ints

MAX_PAIRS = 50
MAX_PAIRED_COLUMNS = 200
MAP_SHAPE = (200, 100)
# "Only if" is reported where the probability of it by chance is below.
_CHANCE = 0.01


@dataclass(frozen=True)
class Pattern:
    """Columns that are missing in the same rows.

    Attributes
    ----------
    missing : tuple of str
        Missing columns; none in complete rows.
    n_rows : int
        Rows in which exactly these are missing.
    fraction : float
        The same as a fraction of all rows.
    """

    missing: tuple[str, ...]
    n_rows: int
    fraction: float


@dataclass(frozen=True)
class MissingPair:
    """In how many rows two columns are missing.

    Attributes
    ----------
    first, second : str
        The columns.
    both, only_first, only_second : int
        Rows in which both, or only one of them, are missing.
    phi : float
        Correlation of the two missingness indicators.
    """

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    phi: float


class Patterns(NamedTuple):
    """The distinct rows of a mask, by descending count, then by first occurrence."""

    missing: Bools  # (patterns, columns)
    counts: Ints
    of_row: Ints  # (rows,)


def find_patterns(missing: Bools) -> Patterns:
    """Find the distinct rows of a mask (rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> find_patterns(np.array([[0, 1], [0, 0], [0, 0]], dtype=bool)).counts
    array([2, 1])
    """
    keys = np.array([*map(bytes, np.packbits(missing, axis=1)), None])[:-1]
    codes = pd.factorize(keys)[0]
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Patterns(missing[first[order]], counts[order], np.argsort(order)[codes])


def find_same_rows(missing: Bools) -> list[list[int]]:
    """Return groups of columns that are missing in the same rows, also of one column.

    Columns that are never or always missing are in none.
    """
    groups: dict[bytes, list[int]] = defaultdict(list)
    for j in np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0)).tolist():
        groups[np.packbits(missing[:, j]).tobytes()].append(j)
    return list(groups.values())


def pair_columns(
    missing: Bools, names: Sequence[str]
) -> tuple[tuple[MissingPair, ...], tuple[tuple[str, str], ...]]:
    """Return pairs by correlation, and those where one is missing only if the other is.

    Of many columns, those with the most missing values are paired.
    """
    n_rows, count = len(missing), missing.sum(axis=0).astype(np.float64)
    if len(names) > MAX_PAIRED_COLUMNS:
        chosen = np.sort(np.argsort(-count, kind="stable")[:MAX_PAIRED_COLUMNS])
        return pair_columns(missing[:, chosen], [names[j] for j in chosen])
    both = np.zeros((len(names), len(names)))
    for start in range(0, n_rows, 50_000):  # in blocks: floats take eight times as much
        block = missing[start : start + 50_000].astype(np.float64)
        both += block.T @ block
    std = np.sqrt(count * (n_rows - count))
    phi = (n_rows * both - np.outer(count, count)) / np.outer(std, std)
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(phi[first, second]), kind="stable")[:MAX_PAIRS]
    pairs = []
    for i, j in zip(first[order], second[order], strict=True):
        n = int(both[i, j])
        only_first, only_second = int(count[i]) - n, int(count[j]) - n
        found = (n, only_first, only_second, float(phi[i, j]))
        pairs.append(MissingPair(names[i], names[j], *found))
    # Each missing value of one column is also missing in another with that one's
    # fraction as the probability, if the two are independent.
    log_chance = count[:, None] * np.log(count / max(n_rows, 1))
    implied = (both == count[:, None]) & (log_chance <= np.log(_CHANCE))
    np.fill_diagonal(implied, False)
    only_if = sorted(np.argwhere(implied).tolist(), key=lambda pair: -count[pair[0]])
    return tuple(pairs), tuple((names[i], names[j]) for i, j in only_if[:MAX_PAIRS])


def map_missing(missing: Bools) -> tuple[tuple[float, ...], ...]:
    """Return fractions of missing cells in blocks of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> map_missing(np.array([[True, False], [False, False]]))
    ((1.0, 0.0), (0.0, 0.0))
    """
    rows, columns = (
        np.linspace(0, length, min(length, most) + 1).astype(np.int64)
        for length, most in zip(missing.shape, MAP_SHAPE, strict=True)
    )
    totals = np.add.reduceat(missing, rows[:-1], axis=0, dtype=np.int64)
    totals = np.add.reduceat(totals, columns[:-1], axis=1)
    fractions = totals / np.outer(np.diff(rows), np.diff(columns))
    return tuple(map(tuple, fractions.round(3).tolist()))
