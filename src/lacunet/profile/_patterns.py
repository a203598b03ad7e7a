"""Which cells are missing together: patterns of rows, pairs of columns, and a map."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from lacunet.profile._input import Bools, Floats, Ints

MAX_PATTERNS = 20
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
class PatternCounts:
    """The patterns of missing cells in a table.

    Attributes
    ----------
    n_patterns : int
        Distinct patterns, including that of complete rows.
    frequent : tuple of Pattern
        The 20 most frequent, in descending order.
    n_other_rows : int
        Rows of all other patterns.
    n_alone : int
        Rows whose pattern occurs only once.
    """

    n_patterns: int
    frequent: tuple[Pattern, ...]
    n_other_rows: int
    n_alone: int


@dataclass(frozen=True)
class RowCounts:
    """How many cells are missing per row.

    Attributes
    ----------
    histogram : tuple of (int, int)
        Numbers of missing cells that occur, each with its number of rows.
    n_complete : int
        Rows with no missing cell.
    n_empty : int
        Rows with no observed cell.
    """

    histogram: tuple[tuple[int, int], ...]
    n_complete: int
    n_empty: int


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


@dataclass(frozen=True)
class Together:
    """Which columns are missing together.

    Attributes
    ----------
    pairs : tuple of MissingPair
        At most 50, by descending absolute correlation. Of columns that are missing in
        the same rows, only the first takes part.
    always : tuple of tuples of str
        Groups of columns that are missing in the same rows.
    only_if : tuple of (str, str)
        The first is missing only where the second is, more often than by chance.
    n_columns : int
        Columns that were paired: those with the most missing values, at most 200.
    n_incomplete : int
        Columns with some values missing and some observed.
    """

    pairs: tuple[MissingPair, ...]
    always: tuple[tuple[str, ...], ...]
    only_if: tuple[tuple[str, str], ...]
    n_columns: int
    n_incomplete: int


@dataclass(frozen=True)
class MissingMap:
    """Fractions of missing cells in blocks of a table.

    Attributes
    ----------
    fractions : tuple of tuples of float
        For each block of rows, a fraction per block of columns; at most 200 x 100.
    row_starts : tuple of int
        The first row of each block, counted from 0 in the order of the map.
    columns : tuple of tuples of str
        The columns of each block.
    """

    fractions: tuple[tuple[float, ...], ...]
    row_starts: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]


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


def count_patterns(patterns: Patterns, names: Sequence[str]) -> PatternCounts:
    """Name the most frequent patterns and count the others."""
    missing, counts, of_row = patterns
    frequent = tuple(
        Pattern(
            tuple(names[j] for j in np.flatnonzero(mask).tolist()),
            count,
            count / len(of_row),
        )
        for mask, count in zip(missing[:MAX_PATTERNS], counts.tolist(), strict=False)
    )
    n_other_rows, n_alone = counts[MAX_PATTERNS:].sum(), (counts == 1).sum()
    return PatternCounts(len(counts), frequent, int(n_other_rows), int(n_alone))


def count_rows(missing: Bools) -> RowCounts:
    """Count rows by their number of missing cells."""
    n_columns = missing.shape[1]
    counts = np.bincount(missing.sum(axis=1), minlength=n_columns + 1).tolist()
    histogram = tuple((number, n) for number, n in enumerate(counts) if n)
    return RowCounts(histogram, counts[0], counts[n_columns] if n_columns else 0)


def find_together(missing: Bools, names: Sequence[str]) -> Together:
    """Find columns that are missing in the same rows."""
    n_rows = len(missing)
    counts = missing.sum(axis=0)
    incomplete = np.flatnonzero((counts > 0) & (counts < n_rows)).tolist()
    groups: dict[bytes, list[int]] = defaultdict(list)
    for j in incomplete:
        groups[np.packbits(missing[:, j]).tobytes()].append(j)
    firsts = sorted((group[0] for group in groups.values()), key=lambda j: -counts[j])
    chosen = sorted(firsts[:MAX_PAIRED_COLUMNS])
    count = counts[chosen].astype(np.float64)
    both = np.zeros((len(chosen), len(chosen)))
    for start in range(0, n_rows, 50_000):  # in blocks: floats take eight times as much
        block = missing[start : start + 50_000, chosen].astype(np.float64)
        both += block.T @ block
    std = np.sqrt(count * (n_rows - count))
    phi = (n_rows * both - np.outer(count, count)) / np.outer(std, std)
    first, second = np.triu_indices(len(chosen), 1)
    order = np.argsort(-np.abs(phi[first, second]), kind="stable")[:MAX_PAIRS]
    # Each missing value of one column is also missing in another with that one's
    # fraction as the probability, if the two are independent.
    log_chance = count[:, None] * np.log(count / max(n_rows, 1))
    implied = (both == count[:, None]) & (log_chance <= np.log(_CHANCE))
    np.fill_diagonal(implied, False)
    only_if = sorted(np.argwhere(implied).tolist(), key=lambda pair: -count[pair[0]])
    picked = [names[j] for j in chosen]
    return Together(
        tuple(
            MissingPair(
                picked[i],
                picked[j],
                int(both[i, j]),
                int(count[i] - both[i, j]),
                int(count[j] - both[i, j]),
                float(phi[i, j]),
            )
            for i, j in zip(first[order], second[order], strict=True)
        ),
        tuple(
            tuple(names[j] for j in group)
            for group in groups.values()
            if len(group) > 1
        ),
        tuple((picked[i], picked[j]) for i, j in only_if[:MAX_PAIRS]),
        len(chosen),
        len(incomplete),
    )


def map_missing(
    missing: Bools, names: Sequence[str], patterns: Patterns | None = None
) -> MissingMap:
    """Average a mask over blocks; sorted by pattern if given, complete rows first.

    Examples
    --------
    >>> import numpy as np
    >>> map_missing(np.array([[True, False], [False, False]]), ["a", "b"]).fractions
    ((1.0, 0.0), (0.0, 0.0))
    """
    rows, columns = (
        np.linspace(0, length, min(length, most) + 1).astype(np.int64)
        for length, most in zip(missing.shape, MAP_SHAPE, strict=True)
    )
    order = np.arange(len(missing))
    if patterns is not None:
        size = patterns.missing.sum(axis=1)
        order = np.lexsort((patterns.of_row, size[patterns.of_row]))
    fractions: Floats = np.zeros((len(rows) - 1, len(columns) - 1))
    for i in range(len(rows) - 1) if len(columns) > 1 else ():
        means = missing[order[rows[i] : rows[i + 1]]].mean(axis=0)
        fractions[i] = np.add.reduceat(means, columns[:-1]) / np.diff(columns)
    return MissingMap(
        tuple(map(tuple, fractions.round(3).tolist())),
        tuple(rows[:-1].tolist()),
        tuple(
            tuple(names[start:end])
            for start, end in zip(columns[:-1], columns[1:], strict=True)
        ),
    )
