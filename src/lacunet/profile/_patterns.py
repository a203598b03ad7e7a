"""Which cells are missing together: patterns of rows, and pairs of columns."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunet.profile._holes import Bools, Floats, Ints

MOST_PATTERNS = 20
MOST_PAIRS = 50
# Columns whose pairs are looked at, those with the most holes.
MOST_COLUMNS = 200
# How likely it may be that one column's holes are all among another's by chance.
_CHANCE = 0.01
_SEED = 20_18  # of the words that masks are told apart by; any will do


class Patterns(NamedTuple):
    """The distinct masks of a table.

    Attributes
    ----------
    missing : ndarray of bool of shape (patterns, columns)
        The most frequent first; of equals, the one that occurs first.
    counts : ndarray of int of shape (patterns,)
    of_row : ndarray of int of shape (rows,)
    """

    missing: Bools
    counts: Ints
    of_row: Ints


def find_patterns(missing: Bools) -> Patterns:
    """Find the distinct rows of a mask.

    Parameters
    ----------
    missing : ndarray of bool of shape (rows, columns)

    Returns
    -------
    Patterns

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._patterns import find_patterns
    >>> find_patterns(np.array([[0, 1], [0, 0], [0, 0]], dtype=bool)).counts
    array([2, 1])
    """
    n_rows, n_columns = missing.shape
    # One 64-bit word a row: sorting words is far cheaper than sorting rows.
    stream = np.random.RandomState(_SEED)
    keys: Ints = stream.randint(2**62, size=(n_columns,), dtype=np.int64)
    words = np.zeros(n_rows, dtype=np.int64)
    for j in range(n_columns):
        words[missing[:, j]] += keys[j]
    _, first, inverse, counts = np.unique(
        words, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -counts))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Patterns(missing[first[order]], counts[order], place[inverse])


@dataclass(frozen=True)
class Pattern:
    """Cells that are missing in the same rows.

    Attributes
    ----------
    missing : tuple of str
        Columns; none in complete rows.
    n_rows : int
    share : float
        Of all rows.
    """

    missing: tuple[str, ...]
    n_rows: int
    share: float


@dataclass(frozen=True)
class PatternCounts:
    """The patterns of a table.

    Attributes
    ----------
    n_patterns : int
    frequent : tuple of Pattern
        The most frequent ones.
    n_other_rows : int
        Rows of all other patterns.
    n_alone : int
        Rows that share their pattern with no other.
    """

    n_patterns: int
    frequent: tuple[Pattern, ...]
    n_other_rows: int
    n_alone: int


@dataclass(frozen=True)
class RowCounts:
    """How many cells are missing in a row.

    Attributes
    ----------
    histogram : tuple of (int, int)
        Numbers of missing cells that occur, and in how many rows.
    n_complete : int
    n_empty : int
        Rows with nothing observed.
    """

    histogram: tuple[tuple[int, int], ...]
    n_complete: int
    n_empty: int


@dataclass(frozen=True)
class HolePair:
    """Two columns, and in how many rows they are missing.

    Attributes
    ----------
    first, second : str
    both, only_first, only_second : int
    phi : float
        Correlation of their being missing, from -1 to 1.
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
    pairs : tuple of HolePair
        Those with the strongest correlation first; columns that are always missing
        together stand for each other.
    always : tuple of tuples of str
        Columns that are missing in the same rows.
    only_if : tuple of (str, str)
        The first is missing only where the second is, too often for chance.
    n_columns : int
        Columns whose pairs were looked at: those with the most holes.
    n_with_holes : int
        Columns with some values missing and some not.
    """

    pairs: tuple[HolePair, ...]
    always: tuple[tuple[str, ...], ...]
    only_if: tuple[tuple[str, str], ...]
    n_columns: int
    n_with_holes: int


def count_rows(missing: Bools) -> RowCounts:
    """Count the missing cells of rows.

    Parameters
    ----------
    missing : ndarray of bool of shape (rows, columns)

    Returns
    -------
    RowCounts
    """
    n_columns = missing.shape[1]
    counts = np.bincount(missing.sum(axis=1), minlength=n_columns + 1).tolist()
    histogram = tuple((number, n) for number, n in enumerate(counts) if n)
    return RowCounts(histogram, counts[0], counts[n_columns] if n_columns else 0)


def count_patterns(patterns: Patterns, names: Sequence[str]) -> PatternCounts:
    """Name the most frequent patterns, and count the others.

    Parameters
    ----------
    patterns : Patterns
    names : sequence of str
        Of the columns.

    Returns
    -------
    PatternCounts
    """
    n_rows = int(patterns.counts.sum())
    frequent = tuple(
        Pattern(_pick(names, missing), int(count), float(count / n_rows))
        for missing, count in zip(
            patterns.missing[:MOST_PATTERNS],
            patterns.counts[:MOST_PATTERNS],
            strict=True,
        )
    )
    return PatternCounts(
        len(patterns.counts),
        frequent,
        int(patterns.counts[MOST_PATTERNS:].sum()),
        int((patterns.counts == 1).sum()),
    )


def find_together(missing: Bools, names: Sequence[str]) -> Together:
    """Find columns that are missing together.

    Parameters
    ----------
    missing : ndarray of bool of shape (rows, columns)
    names : sequence of str

    Returns
    -------
    Together
    """
    n_rows = len(missing)
    count = missing.sum(axis=0)
    some = np.flatnonzero((count > 0) & (count < n_rows))
    always = _find_equal(missing, some)
    # One column speaks for those that are missing in the same rows.
    echoes = {j for group in always for j in group[1:]}
    single = np.array([j for j in some.tolist() if j not in echoes], dtype=np.intp)
    order = np.argsort(-count[single], kind="stable")[:MOST_COLUMNS]
    chosen = np.sort(single[order])
    both = _count_both(missing[:, chosen])
    picked = [names[j] for j in chosen]
    return Together(
        _make_pairs(both, n_rows, picked),
        tuple(tuple(names[j] for j in group) for group in always),
        _find_implied(both, n_rows, picked),
        len(chosen),
        len(some),
    )


def correlate(both: Floats, n_rows: int) -> Floats:
    """Return the correlations of being missing (columns, columns), 0 where undefined.

    Parameters
    ----------
    both : ndarray of shape (columns, columns)
        In how many rows two columns are missing; on the diagonal, in how many one is.
    n_rows : int

    Returns
    -------
    ndarray of shape (columns, columns)
    """
    count = both.diagonal()
    spread = np.sqrt(count * (n_rows - count))
    scale = np.outer(spread, spread)
    phi: Floats = np.zeros_like(scale)
    np.divide(n_rows * both - np.outer(count, count), scale, out=phi, where=scale > 0)
    return phi


def _count_both(missing: Bools) -> Floats:
    both = np.zeros((missing.shape[1],) * 2)
    for start in range(0, len(missing), 50_000):  # rows, as floats
        block = missing[start : start + 50_000].astype(np.float64)
        both += block.T @ block
    return both


def _find_equal(missing: Bools, some: NDArray[np.intp]) -> list[list[int]]:
    groups: dict[bytes, list[int]] = defaultdict(list)
    for j in some.tolist():
        groups[np.packbits(missing[:, j]).tobytes()].append(j)
    return [group for group in groups.values() if len(group) > 1]


def _make_pairs(
    both: Floats, n_rows: int, names: Sequence[str]
) -> tuple[HolePair, ...]:
    phi = correlate(both, n_rows)
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-np.abs(phi[first, second]), kind="stable")[:MOST_PAIRS]
    count = both.diagonal()
    return tuple(
        HolePair(
            names[i],
            names[j],
            int(both[i, j]),
            int(count[i] - both[i, j]),
            int(count[j] - both[i, j]),
            float(phi[i, j]),
        )
        for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
    )


def _find_implied(
    both: Floats, n_rows: int, names: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Find columns that are missing only where another is, the largest first."""
    count = both.diagonal()
    # If they had nothing to do with each other, each hole would be one of the other's
    # with the other's share.
    log_chance = count[:, None] * np.log(np.maximum(count, 1) / max(n_rows, 1))
    implied = (both == count[:, None]) & (log_chance <= np.log(_CHANCE))
    np.fill_diagonal(implied, False)
    pairs = np.argwhere(implied)
    order = np.argsort(-count[pairs[:, 0]], kind="stable")[:MOST_PAIRS]
    return tuple((names[i], names[j]) for i, j in pairs[order].tolist())


def _pick(names: Sequence[str], chosen: Bools) -> tuple[str, ...]:
    return tuple(names[j] for j in np.flatnonzero(chosen).tolist())
