"""Which cells are missing together: patterns of rows, pairs of columns, and a map."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lacunet.profile._columns import Bools, take

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


def find_patterns(missing: Bools) -> tuple[Bools, Any, Any]:
    """Return the distinct rows of a mask, their counts, and for each row its place.

    They are sorted by descending count, then by first occurrence.

    Examples
    --------
    >>> import numpy as np
    >>> patterns, counts, of_row = find_patterns(np.array([[0, 1], [0, 0], [0, 0]]))
    >>> counts
    array([2, 1])
    """
    keys = np.array([*map(bytes, np.packbits(missing, axis=1)), None])[:-1]
    codes = pd.factorize(keys)[0]
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return missing[first[order]], counts[order], np.argsort(order)[codes]


def find_same_rows(table: Any) -> list[tuple[str, ...]]:
    """Return groups of columns that are missing in the same rows, also of one column.

    Columns that are never or always missing are in none.
    """
    groups: dict[bytes, tuple[str, ...]] = defaultdict(tuple)
    for name, missing in table.isna().items():
        if missing.any() and not missing.all():
            groups[np.packbits(missing).tobytes()] += (name,)
    return list(groups.values())


def pair_columns(table: Any) -> tuple[tuple[MissingPair, ...], Any]:
    """Return pairs by correlation, and those where one is missing only if the other is.

    Of many columns, those with the most missing values are paired.
    """
    missing = take(table, MAX_PAIRED_COLUMNS).isna()
    names, n_rows = list(missing), len(missing)
    count = missing.sum().to_numpy(dtype=np.float64)
    both = np.zeros((len(names), len(names)))
    for start in range(0, n_rows, 50_000):  # in blocks: floats take eight times as much
        block = missing[start : start + 50_000].to_numpy(dtype=np.float64)
        both += block.T @ block
    std = np.sqrt(count * (n_rows - count))
    phi = (n_rows * both - np.outer(count, count)) / np.outer(std, std)
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(phi[first, second]), kind="stable")[:MAX_PAIRS]
    pairs = []
    for i, j in zip(first[order], second[order], strict=True):
        rows = np.array([both[i, j], count[i] - both[i, j], count[j] - both[i, j]])
        found = (*rows.astype(int).tolist(), float(phi[i, j]))
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
