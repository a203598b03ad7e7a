"""Which columns' missingness is associated with which other columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

from lacunet._text import shorten
from lacunet.profile._input import Bools, Column, Floats

SIGNIFICANCE = 0.05  # of adjusted p-values
MAX_LINKS = 200  # kept, of associations with values and with missingness each
MIN_ROWS = 10  # in either group, or there is no test
_MIN_EXPECTED = 2.0  # rows of the smaller group per category; rarer ones are pooled
_MAX_CATEGORIES = 30

CAVEAT = (
    "No test can show whether a value is missing because of that value itself (such as "
    "high incomes that are not disclosed): the values that would show it are not in "
    "the table. Only knowledge of how the data were collected can."
)


@dataclass(frozen=True)
class Association:
    """An association of a column's missingness with another column.

    Attributes
    ----------
    column : str
        The column whose missingness it is.
    on : str
        The other column.
    by : {"value", "missing"}
        Whether it is associated with the other column's values or its missingness.
    auc : float
        Probability that the other column ranks a row in which ``column`` is missing
        above one in which it is observed; 0.5 means no association. Of numbers, dates
        and missingness, above 0.5 means missing where the other is high or missing.
    p_value : float
        By the Mann-Whitney test for numbers and dates, the chi-squared test for
        categories, and Fisher's exact test for missingness.
    p_adjusted : float
        Adjusted for the number of tests (Benjamini and Hochberg): at most 0.05.
    where : str
        Where the column is missing most often, such as "is above 54".
    fraction_there, fraction_elsewhere : float
        Fraction of rows with ``column`` missing where the other column is so, and in
        the other rows.
    """

    column: str
    on: str
    by: Literal["value", "missing"]
    auc: float
    p_value: float
    p_adjusted: float
    where: str
    fraction_there: float
    fraction_elsewhere: float

    @property
    def strength(self) -> float:
        """From 0 (none) to 1 (separates the rows): 2 |auc - 0.5|."""
        return 2 * abs(self.auc - 0.5)

    @property
    def contrast(self) -> float:
        """Difference of the two fractions."""
        return self.fraction_there - self.fraction_elsewhere


@dataclass(frozen=True)
class AssociationTable:
    """Tests of the missingness of columns against other columns.

    Attributes
    ----------
    columns : tuple of str
        Whose missingness. Of columns missing in the same rows, only the first.
    on : tuple of str
        Whose values.
    by_value : tuple of tuples of (float or None)
        For each of ``columns``, the ``auc`` of each of ``on``, as in ``Association``;
        None if there are too few rows.
    by_missing : tuple of tuples of (float or None)
        For each of ``columns``, the ``auc`` of the missingness of each of ``columns``.
    links : tuple of Association
        Significant associations by descending strength; at most 200 with values and
        200 with missingness.
    n_links : int
        Number of all significant associations.
    n_tests : int
        Number of tests.
    """

    columns: tuple[str, ...]
    on: tuple[str, ...]
    by_value: tuple[tuple[float | None, ...], ...]
    by_missing: tuple[tuple[float | None, ...], ...]
    links: tuple[Association, ...]
    n_links: int
    n_tests: int

    def clearest(self) -> list[Association]:
        """Return each column's association with values of the largest contrast.

        Returns
        -------
        list of Association
            By descending contrast.
        """
        by_value = [link for link in self.links if link.by == "value"]
        by_value.sort(key=lambda link: -link.contrast)
        firsts: dict[str, Association] = {}
        for link in by_value:
            firsts.setdefault(link.column, link)
        return list(firsts.values())


def find_associations(
    columns: Sequence[Column], on: Sequence[Column], *, mutual: bool = True
) -> AssociationTable:
    """Test columns' missingness against values and, if mutual, against each other's."""
    n_rows = len(columns[0].missing) if columns else 0
    missing = np.empty((n_rows, len(columns)), dtype=bool)
    for i, column in enumerate(columns):
        missing[:, i] = column.missing
    by_value = np.full((2, len(columns), len(on)), np.nan)  # AUC and p-value
    for j, other in enumerate(on if columns else ()):
        if other.kind == "category":
            by_value[:, :, j] = compare_categories(pool_categories(other), missing)
        elif other.kind in ("number", "date"):
            by_value[:, :, j] = compare_numbers(other.values, missing)
        by_value[:, [column.name == other.name for column in columns], j] = np.nan
    n_mutual = len(columns) if mutual else 0
    by_missing = compare_missing(missing[:, :n_mutual])
    tests = [
        (by, i, j, *table[:, i, j].tolist())
        for by, table in (("value", by_value), ("missing", _once(by_missing)))
        for i, j in np.argwhere(~np.isnan(table[1])).tolist()
    ]
    adjusted = adjust([p_value for *_, p_value in tests])
    found = [
        (*test, p) for test, p in zip(tests, adjusted, strict=True) if p <= SIGNIFICANCE
    ]
    found.sort(key=lambda test: -abs(test[3] - 0.5))
    links = []
    for by, others in (("value", on), ("missing", columns)):
        strongest = [test for test in found if test[0] == by][:MAX_LINKS]
        for _, i, j, *numbers in strongest:
            links.append(_describe(columns[i], others[j], by, *numbers))
    return AssociationTable(
        tuple(column.name for column in columns),
        tuple(column.name for column in on),
        _round(by_value[0]),
        _round(by_missing[0]) if mutual else ((),) * len(columns),
        tuple(sorted(links, key=lambda link: -link.strength)),
        len(found),
        len(tests),
    )


def adjust(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Benjamini and Hochberg)."""
    if not p_values:
        return []
    adjusted: list[float] = stats.false_discovery_control(p_values).tolist()
    return adjusted


def _once(by_missing: Floats) -> Floats:
    """Keep one test of each pair: that of the larger AUC."""
    size = np.abs(np.nan_to_num(by_missing[0], nan=0.5) - 0.5)
    weaker = (size < size.T) | ((size == size.T) & np.tri(len(size), dtype=bool))
    return np.where(weaker, np.nan, by_missing)


def _round(auc: Floats) -> tuple[tuple[float | None, ...], ...]:
    return tuple(
        tuple(None if np.isnan(each) else round(each, 4) for each in row)
        for row in auc.tolist()
    )


# --- tests, each of one column against many groups of rows (rows, groups)


def compare_numbers(values: Floats, groups: Bools) -> Floats:
    """Return AUCs and p-values of Mann-Whitney tests, (2, groups), NaN if too few."""
    seen = ~np.isnan(values)
    # As mannwhitneyu(method="asymptotic", use_continuity=False), but ranked only once.
    ranks = stats.rankdata(values[seen])
    n_rows, inside = len(ranks), groups[seen].sum(axis=0).astype(np.float64)
    pairs = inside * (n_rows - inside)
    wins = ranks @ groups[seen] - inside * (inside + 1) / 2
    variance = pairs * (n_rows + 1) / 12 * (stats.tiecorrect(ranks) if n_rows else 0)
    smaller = np.minimum(inside, n_rows - inside)
    n_modal = np.unique(ranks, return_counts=True)[1].max(initial=0)
    # If nearly all values are equal, a single row would decide.
    enough = (smaller >= MIN_ROWS) & (variance > 0)
    enough &= smaller * (n_rows - n_modal) >= _MIN_EXPECTED * n_rows
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (wins - pairs / 2) / np.sqrt(variance)
        return np.where(enough, [wins / pairs, 2 * stats.norm.sf(np.abs(z))], np.nan)


def compare_categories(codes: Floats, groups: Bools) -> Floats:
    """Return AUCs and p-values of chi-squared tests, (2, groups), NaN if too few."""
    seen = ~np.isnan(codes)
    found = np.full((2, groups.shape[1]), np.nan)
    categories = np.unique(codes[seen])
    indicator = (codes[seen, None] == categories).astype(np.float64)
    inside, size = indicator.T @ groups[seen], indicator.sum(axis=0)
    enough = np.minimum(inside.sum(axis=0), (size[:, None] - inside).sum(axis=0))
    for g in np.flatnonzero(enough >= MIN_ROWS) if len(size) > 1 else ():
        found[0, g] = _auc_of_categories(inside[:, g], size)
        found[1, g] = _chi_squared(inside[:, g], size)
    return found


def _auc_of_categories(inside: Floats, size: Floats) -> float:
    """Return the AUC of ranking rows by the fraction of their category in the group.

    Fractions are taken without the two rows that are compared: otherwise categories of
    few rows would seem to separate well.
    """
    outside = size - inside
    rest = np.maximum(size - 1, 1)
    overall = inside.sum() / size.sum()
    of_inside = np.where(size > 1, (inside - 1) / rest, overall)
    of_outside = np.where(size > 1, inside / rest, overall)
    better = np.sign(of_inside[:, None] - of_outside)
    np.fill_diagonal(better, 0)  # rows of one category tie
    wins = inside @ (1 + better) / 2 @ outside
    return float(wins / (inside.sum() * outside.sum()))


def _chi_squared(inside: Floats, size: Floats) -> float:
    """Return the p-value of the chi-squared test, with rare categories pooled."""
    n_rows, fraction = size.sum(), inside.sum() / size.sum()
    expected = size * min(fraction, 1 - fraction)
    kept = expected >= _MIN_EXPECTED
    if kept.any() and 0 < expected[~kept].sum() < _MIN_EXPECTED:
        kept[np.where(kept, size, np.inf).argmin()] = False
    table = np.array([inside, size - inside])
    pooled = table[:, ~kept].sum(axis=1, keepdims=True)
    table = np.hstack([table[:, kept], pooled[:, : int(pooled.any())]])
    if table.shape[1] == 1:
        return 1.0
    result = stats.chi2_contingency(table, correction=False)
    # With n - 1 in place of n, as befits fixed margins.
    return float(stats.chi2.sf(result.statistic * (n_rows - 1) / n_rows, result.dof))


def compare_missing(missing: Bools) -> Floats:
    """Return AUCs and p-values of Fisher's exact test of all pairs of columns.

    The AUC of i and j is that of telling by the missingness of j whether i is missing.
    """
    n_rows, count = len(missing), missing.sum(axis=0)
    both = (missing.astype(np.float64).T @ missing).astype(np.int64)
    inside, outside = count[:, None], n_rows - count[:, None]
    enough = (np.minimum(inside, outside) >= MIN_ROWS) & (count > 0) & (count < n_rows)
    np.fill_diagonal(enough, False)
    with np.errstate(divide="ignore", invalid="ignore"):
        auc = 0.5 + 0.5 * (both / inside - (count - both) / outside)
    tails = [
        stats.hypergeom.cdf(both, n_rows, count, inside),
        stats.hypergeom.sf(both - 1, n_rows, count, inside),
    ]
    p_value = np.minimum(2 * np.minimum(*tails), 1.0)
    return np.where(enough, [auc, p_value], np.nan)


def pool_categories(column: Column) -> Floats:
    """Return codes, with one code for all but the 29 most frequent categories."""
    if len(column.categories) <= _MAX_CATEGORIES:
        return column.values
    seen = column.values[~column.missing].astype(np.intp)
    size = np.bincount(seen, minlength=len(column.categories))
    rare = np.argsort(-size, kind="stable")[_MAX_CATEGORIES - 1 :]
    return np.where(np.isin(column.values, rare), rare[0], column.values)


# --- where a column is missing most often


def _describe(
    column: Column,
    other: Column,
    by: Any,
    auc: float,
    p_value: float,
    p_adjusted: float,
) -> Association:
    high = auc > 0.5
    if by == "missing":
        there = other.missing if high else ~other.missing
        elsewhere, where = ~there, "is missing" if high else "is observed"
    else:
        if other.kind == "category":
            code = _find_category(column, other)
            there = other.values == code
            where = f"is {shorten(str(other.categories[code]))!r}"
        else:
            there, where = _split_at_median(other, high=high)
        elsewhere = ~other.missing & ~there
    return Association(
        column.name,
        other.name,
        by,
        round(auc, 4),
        p_value,
        p_adjusted,
        where,
        float(column.missing[there].mean()),
        float(column.missing[elsewhere].mean()),
    )


def _find_category(column: Column, other: Column) -> int:
    """Return the category in which a column is missing most often."""
    codes = other.values[~other.missing].astype(np.intp)
    size = np.bincount(codes)
    n_missing = np.bincount(codes, weights=column.missing[~other.missing])
    fraction = n_missing / np.maximum(size, 1)
    # Fractions of a few rows are extreme.
    return int(np.where(size >= min(MIN_ROWS, size.max()), fraction, -1).argmax())


def _split_at_median(other: Column, *, high: bool) -> tuple[Bools, str]:
    """Return the rows above the median, or the others, and a phrase for them."""

    def show(value: float) -> str:
        if other.kind == "date":
            return str(np.datetime64(int(np.floor(value)), "D"))
        return f"{value:.4g}"

    seen = other.values[~other.missing]
    median = float(np.quantile(seen, 0.5, method="lower"))
    if not (seen > median).any():
        median = float(seen[seen < median].max())
    there = other.values > median if high else other.values <= median
    values = np.unique(other.values[there])
    if len(values) == 1:  # of two, such as 0 and 1
        return there, f"is {show(values[0])}"
    return there, f"is {'above' if high else 'at most'} {show(median)}"
