"""Which columns' holes depend on which other columns, two at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from lacunet.profile._holes import Bools, Floats, HoleColumn
from lacunet.profile._separation import (
    LEAST_ROWS,
    Separation,
    separate_by_hole,
    separate_by_level,
    separate_by_number,
    tell_nothing,
)

LEVEL = 0.05  # of what counts as found
MOST_LINKS = 200  # that are kept, by values and by holes each
_MOST_LEVELS = 30  # of a category; the rarer ones count as one
_DIGITS = 4

CAVEAT = (
    "No test sees whether a value's being missing depends on that value itself (high "
    "incomes that are not told, say): the values that would show it are not there. "
    "Only knowledge of how the data were collected can tell."
)


@dataclass(frozen=True)
class HoleLink:
    """A column's holes that depend on another column.

    Attributes
    ----------
    column : str
        Whose holes.
    on : str
        The other column.
    by : {"value", "missing"}
        Whether the other column's values tell, or its own holes.
    auc : float
        The chance that of two rows the other column tells in which the first one is
        missing. At 0.5 it tells nothing. Where it goes by numbers or holes, above 0.5
        means that the first column is missing where the other is high or missing.
    p_value : float
        By Mann and Whitney's test for numbers and dates, the chi-squared test for
        categories, Fisher's test for holes.
    p_adjusted : float
        Such that among all links found, at most one in twenty is expected to be false
        (Benjamini and Hochberg).
    where : str
        Where the column is missing most often, such as "is above 54".
    share_there, share_elsewhere : float
        Missing in the rows where the other column is so, and in those where not.
    """

    column: str
    on: str
    by: Literal["value", "missing"]
    auc: float
    p_value: float
    p_adjusted: float
    where: str
    share_there: float
    share_elsewhere: float

    @property
    def strength(self) -> float:
        """From 0, nothing, to 1, everything: 2 |auc - 0.5|."""
        return 2 * abs(self.auc - 0.5)

    @property
    def contrast(self) -> float:
        """How much more often the column is missing there than elsewhere."""
        return self.share_there - self.share_elsewhere


@dataclass(frozen=True)
class LinkTable:
    """How columns' holes depend on other columns.

    Attributes
    ----------
    columns : tuple of str
        Whose holes. Of columns that are missing in the same rows, the first.
    on : tuple of str
        Whose values.
    by_value : tuple of tuples of (float or None)
        For each of ``columns`` the ``auc`` of each of ``on``, as in ``HoleLink``; None
        if there are too few rows.
    by_missing : tuple of tuples of (float or None)
        For each of ``columns`` that of each of ``columns``.
    links : tuple of HoleLink
        What was found, the strongest first; at most 200 by values and 200 by holes.
    n_links : int
        How many were found.
    n_tests : int
    """

    columns: tuple[str, ...]
    on: tuple[str, ...]
    by_value: tuple[tuple[float | None, ...], ...]
    by_missing: tuple[tuple[float | None, ...], ...]
    links: tuple[HoleLink, ...]
    n_links: int
    n_tests: int


def has_some_holes(column: HoleColumn) -> bool:
    """Tell whether enough values are missing and enough are not."""
    holes = int(column.missing.sum())
    return min(holes, len(column.missing) - holes) >= LEAST_ROWS


def find_links(
    columns: Sequence[HoleColumn], on: Sequence[HoleColumn], *, among: bool = True
) -> LinkTable:
    """Test whether holes of columns depend on values and holes of others.

    Parameters
    ----------
    columns : sequence of HoleColumn
        Whose holes.
    on : sequence of HoleColumn
        Whose values.
    among : bool, default=True
        Whether to compare the holes of ``columns`` with each other.

    Returns
    -------
    LinkTable
    """
    values = _compare(columns, on, _separate_by_value)
    holes = _compare(columns, columns if among else (), _separate_by_missing)
    tests = [*_list_tests("value", values), *_list_tests("missing", _once(holes))]
    adjusted = adjust([test.p_value for test in tests])
    pairs = zip(tests, adjusted.tolist(), strict=True)
    found = [(test, p) for test, p in pairs if p <= LEVEL]
    found.sort(key=lambda each: -abs(each[0].auc - 0.5))
    others = {"value": on, "missing": columns}
    links = [
        _make_link(test, p, columns[test.i], others[test.by][test.j])
        for by in others
        for test, p in [each for each in found if each[0].by == by][:MOST_LINKS]
    ]
    return LinkTable(
        tuple(column.name for column in columns),
        tuple(column.name for column in on),
        _to_tuples(values.auc),
        _to_tuples(holes.auc),
        tuple(sorted(links, key=lambda link: -link.strength)),
        len(found),
        len(tests),
    )


# --- tests


class _Test(NamedTuple):
    by: Literal["value", "missing"]
    i: int
    j: int
    auc: float
    p_value: float


def _compare(
    columns: Sequence[HoleColumn],
    on: Sequence[HoleColumn],
    separate: Callable[[HoleColumn, Bools], Separation],
) -> Separation:
    """Compare every column's holes with every other column: (columns, on)."""
    groups = np.empty((len(columns[0].missing) if columns else 0, len(columns)), bool)
    for i, column in enumerate(columns):
        groups[:, i] = column.missing
    table = np.full((2, len(columns), len(on)), np.nan)
    for j, other in enumerate(on if columns else ()):
        table[:, :, j] = separate(other, groups)
        table[:, [column.name == other.name for column in columns], j] = np.nan
    return Separation(*table)


def _separate_by_value(other: HoleColumn, groups: Bools) -> Separation:
    if other.kind == "category":
        return separate_by_level(pool_levels(other), groups)
    if other.kind in ("number", "date"):
        return separate_by_number(other.values, groups)
    return tell_nothing(groups.shape[1])


def _separate_by_missing(other: HoleColumn, groups: Bools) -> Separation:
    return separate_by_hole(other.missing, groups)


def _once(holes: Separation) -> Separation:
    """Leave each pair one of its two tests: the way round that tells more."""
    size = np.abs(np.nan_to_num(holes.auc, nan=0.5) - 0.5)
    lower = np.tril(np.ones(size.shape, dtype=bool))
    weaker = (size < size.T) | ((size == size.T) & lower) if size.size else lower
    return Separation(holes.auc, np.where(weaker, np.nan, holes.p_value))


def _list_tests(
    by: Literal["value", "missing"], separation: Separation
) -> Iterator[_Test]:
    for i, j in np.argwhere(~np.isnan(separation.p_value)).tolist():
        yield _Test(by, i, j, *(float(each[i, j]) for each in separation))


def adjust(p_values: Sequence[float]) -> Floats:
    """Correct p-values for their number, by Benjamini and Hochberg's method."""
    from scipy import stats

    if not p_values:
        return np.empty(0)
    adjusted: Floats = stats.false_discovery_control(p_values)
    return adjusted


def pool_levels(column: HoleColumn) -> Floats:
    """Return the codes of a category with one code for all of its rare levels.

    Parameters
    ----------
    column : HoleColumn

    Returns
    -------
    ndarray of shape (rows,)
        Codes of frequent levels are as they were.
    """
    if len(column.levels) <= _MOST_LEVELS:
        return column.values
    seen = column.values[~column.missing].astype(np.intp)
    size = np.bincount(seen, minlength=len(column.levels))
    rare = np.argsort(-size, kind="stable")[_MOST_LEVELS - 1 :]
    pooled = np.arange(len(size), dtype=np.float64)
    pooled[rare] = rare[0]
    codes = column.values.copy()
    codes[~column.missing] = pooled[seen]
    return codes


# --- words


def _make_link(
    test: _Test, p_adjusted: float, column: HoleColumn, other: HoleColumn
) -> HoleLink:
    if test.by == "missing":
        there, elsewhere = other.missing, ~other.missing
        where = "is missing"
        if test.auc < 0.5:
            there, elsewhere, where = elsewhere, there, "is observed"
    else:
        there, where = _find_where(column, other, high=test.auc > 0.5)
        elsewhere = ~other.missing & ~there
    return HoleLink(
        column.name,
        other.name,
        test.by,
        round(test.auc, _DIGITS),
        test.p_value,
        p_adjusted,
        where,
        float(column.missing[there].mean()),
        float(column.missing[elsewhere].mean()),
    )


def _find_where(
    column: HoleColumn, other: HoleColumn, *, high: bool
) -> tuple[Bools, str]:
    """Return the rows in which a column is missing more often, and a word for them."""
    if other.kind == "category":
        code = _find_level(column, other)
        return other.values == code, f"is {other.name_level(code)!r}"
    seen = other.values[~other.missing]
    middle = float(np.sort(seen)[(len(seen) - 1) // 2])
    if not (seen > middle).any():
        middle = float(seen[seen < middle].max())
    there = other.values > middle if high else other.values <= middle
    values = np.unique(other.values[there])
    if len(values) == 1:  # of two, such as 0 and 1
        return there, f"is {_show(values[0], other)}"
    return there, f"is {'above' if high else 'at most'} {_show(middle, other)}"


def _show(value: float, column: HoleColumn) -> str:
    if column.kind == "date":
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{value:.4g}"


def _find_level(column: HoleColumn, other: HoleColumn) -> int:
    """Return the level at which a column is missing most often."""
    seen = ~other.missing
    codes = other.values[seen].astype(np.intp)
    size = np.bincount(codes)
    holes = np.bincount(codes, weights=column.missing[seen])
    # Levels with hardly a row have extreme shares.
    share = np.where(
        size >= min(LEAST_ROWS, size.max()), holes / np.maximum(size, 1), -1
    )
    return int(share.argmax())


def _to_tuples(auc: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(None if np.isnan(each) else round(each, _DIGITS) for each in row)
        for row in auc.tolist()
    )
