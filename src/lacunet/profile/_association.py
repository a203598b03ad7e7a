"""Which columns' missingness is associated with which other columns."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from lacunet._text import shorten
from lacunet.profile._input import Bools, Floats, as_numbers, show_value

SIGNIFICANCE = 0.05  # of adjusted p-values
MAX_LINKS = 200  # kept, of associations with values and with missingness each
MIN_ROWS = 10  # in either group, or there is no test
_MIN_EXPECTED = 2.0  # rows of the smaller group per category; rarer ones are pooled
_MAX_CATEGORIES = 30


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
    tested: Any, others: Any, *, mutual: bool = True
) -> AssociationTable:
    """Test columns' missingness against values and, if mutual, against each other's."""
    missing = tested.isna().to_numpy(dtype=bool)
    by_value = np.full((2, tested.shape[1], others.shape[1]), np.nan)  # AUC, p-value
    for j, name in enumerate(others):
        rest = tested.columns != name
        by_value[:, rest, j] = compare_values(others[name], missing[:, rest])
    by_missing = compare_missing(missing if mutual else missing[:, :0])
    # Of each pair, only the test with the larger AUC.
    size = np.abs(np.nan_to_num(by_missing[0], nan=0.5) - 0.5)
    weaker = (size < size.T) | ((size == size.T) & np.tri(len(size), dtype=bool))
    by_missing[:, weaker] = np.nan
    both = (("value", others, by_value), ("missing", tested, by_missing))
    tests = pd.DataFrame(
        [
            (tested.columns[i], frame.columns[j], by, *results[:, i, j])
            for by, frame, results in both
            for i, j in np.argwhere(~np.isnan(results[1]))
        ],
        columns=["column", "on", "by", "auc", "p_value"],
    )
    tests["auc"] = tests["auc"].astype(float).round(4)
    tests["p_adjusted"] = stats.false_discovery_control(tests["p_value"].astype(float))
    found = tests[tests["p_adjusted"] <= SIGNIFICANCE]
    found = found.sort_values("auc", key=lambda auc: -abs(auc - 0.5), kind="stable")
    links = []
    for test in found.groupby("by").head(MAX_LINKS).to_dict("records"):
        other = (others if test["by"] == "value" else tested)[test["on"]]
        lost, high = tested[test["column"]].isna(), test["auc"] > 0.5
        where = _find_where(lost, other, test["by"], high=high)
        links.append(Association(*test.values(), *where))
    return AssociationTable(
        tuple(tested), tuple(others), tuple(links), len(found), len(tests)
    )


# --- tests, each of one column against many groups of rows (rows, groups)


def compare_values(column: Any, groups: Bools) -> Floats:
    """Return AUCs and p-values by the test that suits a column, NaN if none does."""
    if column.dtype == "category":
        return compare_categories(pool_categories(column), groups)
    if column.dtype == object:
        return np.full((2, groups.shape[1]), np.nan)
    return compare_numbers(as_numbers(column), groups)


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


def pool_categories(column: Any) -> Floats:
    """Return codes, with one code for all but the 29 most frequent categories."""
    codes = as_numbers(column)
    size = np.bincount(codes[~np.isnan(codes)].astype(np.intp))
    rare = np.argsort(-size, kind="stable")[_MAX_CATEGORIES - 1 :]
    return np.where(np.isin(codes, rare), rare[0], codes) if len(rare) > 1 else codes


def _find_where(lost: Any, other: Any, by: str, *, high: bool) -> Any:
    """Return where a column is missing most often, fractions there and elsewhere."""
    elsewhere = other.notna()
    if by == "missing":
        there, where = other.isna(), "is missing"
        if not high:
            there, elsewhere, where = elsewhere, there, "is observed"
    elif other.dtype == "category":
        rates = lost.groupby(other, observed=True).agg(["mean", "size"])
        # Fractions of a few rows are extreme.
        enough = rates["size"] >= min(MIN_ROWS, rates["size"].max())
        category = rates["mean"][enough].idxmax()
        there, where = other == category, f"is {shorten(str(category))!r}"
    else:
        median = other.quantile(0.5, interpolation="lower")
        if not (other > median).any():
            median = other[other < median].max()
        there = other > median if high else other <= median
        values = other[there].unique()
        where = f"is {'above' if high else 'at most'} {show_value(median)}"
        if len(values) == 1:  # of two, such as 0 and 1
            where = f"is {show_value(values[0])}"
    return where, float(lost[there].mean()), float(lost[elsewhere & ~there].mean())
