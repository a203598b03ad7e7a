"""What a column holds: its values, and how they are distributed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.profile._association import AssociationTable
from lacunet.profile._input import (
    Floats,
    Ints,
    as_numbers,
    kind_of,
    show_value,
    take,
)

_MAX_BARS = 8  # categories, or distinct numbers; beyond that they are pooled, or binned
_MAX_BINS = 20
_N_SAMPLES = 5
# Of numbers whose range is this many times that of the central 96%, the outermost bins
# reach out to the extreme ones.
_FAR = 3


@dataclass(frozen=True)
class Distribution:
    """How often the values of a column occur, over all rows.

    Attributes
    ----------
    labels : tuple of str
        A category for each count, the most frequent first. Of numbers and dates, the
        edges of the bins: one more than there are counts.
    counts : tuple of int
        Rows in each category or bin.
    by : str or None
        The column whose missingness is most associated with these values, if any is
        significantly.
    counts_missing : tuple of int
        Rows in each category or bin in which ``by`` is missing; empty without ``by``.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    by: str | None
    counts_missing: tuple[int, ...]

    @property
    def binned(self) -> bool:
        """Whether the labels are edges of bins."""
        return len(self.labels) > len(self.counts)


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds, and what is missing of it.

    Attributes
    ----------
    name : str
        Its name; columns of the same name are numbered.
    kind : {"number", "category", "date", "empty", "other"}
        "empty" if nothing is observed, "other" if no estimator accepts it.
    n_missing : int
        Missing values.
    fraction_missing : float
        The same as a fraction of all rows.
    n_distinct : int
        Distinct values.
    samples : tuple of str
        At most 5 of its values.
    distribution : Distribution or None
        How often values occur; for at most 30 columns, those with the most missing
        values. None also if nothing is observed or the column is of kind "other".
    """

    name: str
    kind: str
    n_missing: int
    fraction_missing: float
    n_distinct: int
    samples: tuple[str, ...] = ()
    distribution: Distribution | None = None


def describe_columns(
    table: Any, tests: AssociationTable, max_distributions: int
) -> Iterator[ColumnProfile]:
    """Describe the columns of a table; some of them with a distribution."""
    shown = take(table, max_distributions).columns
    for name, n_distinct in table.nunique().items():
        column = table[name]
        n_missing, seen = int(column.isna().sum()), column.dropna()
        # Evenly over its rows.
        places = np.linspace(0, len(seen) - 1, min(_N_SAMPLES, len(seen)))
        samples = seen.iloc[places.astype(np.intp)].map(show_value)
        yield ColumnProfile(
            name,
            kind_of(column),
            n_missing,
            n_missing / max(len(table), 1),
            n_distinct,
            tuple(dict.fromkeys(samples)),
            find_distribution(column, table, tests) if name in shown else None,
        )


def find_distribution(
    column: Any, table: Any, tests: AssociationTable
) -> Distribution | None:
    """Count values, also where the column they are most associated with is missing."""
    if kind_of(column) in ("empty", "other"):
        return None
    if column.dtype == "category":
        labels, codes = _pool(column)
    else:
        values = as_numbers(column)
        seen, codes = np.isfinite(values), np.full(len(values), -1)
        if not seen.any():
            return None
        days = column.dtype.kind == "M"
        labels, codes[seen] = _bin(values[seen], days=days)
        if days:
            labels = labels.astype(np.int64).astype("M8[D]")
    # Associations are sorted, the strongest first.
    links = [each for each in tests.links if each.on == column.name]
    by = next((each.column for each in links if each.by == "value"), None)
    counted = [codes] if by is None else [codes, codes[table[by].isna().to_numpy()]]
    counts, *counts_missing = (
        tuple(np.bincount(each[each >= 0], minlength=codes.max() + 1).tolist())
        for each in counted
    )
    shown = tuple(show_value(each) for each in labels)
    return Distribution(shown, counts, by, *counts_missing or [()])


def _pool(column: Any) -> tuple[Any, Ints]:
    """Return the most frequent categories, and for each row its place among them."""
    sizes = column.value_counts()
    n_shown = len(sizes) if len(sizes) <= _MAX_BARS else _MAX_BARS - 1
    labels, more = list(sizes.index[:n_shown]), len(sizes) - n_shown
    place = np.full(len(sizes) + 1, n_shown)
    place[column.cat.categories.get_indexer(labels)] = range(n_shown)
    place[-1] = -1  # of missing values, whose code is -1
    return labels + [f"{more:,} others"] * bool(more), place[column.cat.codes]


def _bin(values: Floats, *, days: bool) -> tuple[Any, Ints]:
    """Return distinct numbers, if few, or edges of bins, and where each number is."""
    distinct = np.unique(values)
    if len(distinct) <= _MAX_BARS and not days:
        return distinct, np.searchsorted(distinct, values)
    scale = np.abs(distinct).max() or 1.0  # or the range may overflow
    span = distinct[[0, -1]] / scale
    near = np.quantile(values / scale, [0.02, 0.98])
    if 0 < _FAR * np.ptp(near) < np.ptp(span):
        span = near
    n_bins = min(_MAX_BINS, int(2 * len(values) ** (1 / 3)))  # Rice's rule
    inner = np.linspace(span[0], span[1], n_bins + 1) * scale
    if scale < 1e9 and (days or not (values % 1).any()):  # bins of whole numbers
        step = max(np.ceil(np.ptp(inner) / n_bins), 1)
        inner = np.arange(np.floor(inner[0]), inner[-1] + step, step)
    inner = inner[(inner > distinct[0]) & (inner < distinct[-1])]
    codes = np.searchsorted(inner, values, side="right")
    return np.array([distinct[0], *inner, distinct[-1]]), codes
