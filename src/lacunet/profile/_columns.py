"""Columns of any table: read as one of few types, and what they hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lacunet._text import shorten
from lacunet.missingness import as_table

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_MAX_DISTRIBUTIONS = 30  # of columns, those with the most missing values
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


def describe_columns(table: Any, by: Mapping[str, str]) -> Iterator[ColumnProfile]:
    """Describe columns; some with a distribution, by the missingness of another."""
    shown = take(table, _MAX_DISTRIBUTIONS).columns
    for name, n_distinct in table.nunique().items():
        column, other = table[name], table.get(by.get(name))
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
            find_distribution(column, other) if name in shown else None,
        )


def find_distribution(column: Any, by: Any = None) -> Distribution | None:
    """Count values, in all rows and where another column is missing."""
    values = as_numbers(column)
    finite = values[np.isfinite(values)]
    if column.dtype == object or not len(finite):
        return None
    if column.dtype == "category":
        by_size = column.value_counts().index
        n_shown = len(by_size) if len(by_size) <= _MAX_BARS else _MAX_BARS - 1
        n_pooled = len(by_size) - n_shown
        labels = [*by_size[:n_shown], *[f"{n_pooled:,} others"] * (n_pooled > 0)]
        values = np.minimum(by_size.get_indexer(column), n_shown)
        edges = np.arange(len(labels) + 1.0)
    else:
        edges, labels = _find_bins(finite, days=column.dtype.kind == "M")
    shown = tuple(show_value(each) for each in labels)
    # What is missing or infinite is outside all bins.
    counts = tuple(np.histogram(values, edges)[0].tolist())
    if by is None:
        return Distribution(shown, counts, None, ())
    counts_missing = np.histogram(values[by.isna().to_numpy()], edges)[0]
    return Distribution(shown, counts, by.name, tuple(counts_missing.tolist()))


def _find_bins(values: Floats, *, days: bool) -> tuple[Floats, Any]:
    """Return the edges of bins with their labels: of few numbers, one bin for each."""
    distinct = np.unique(values)
    low, high = distinct[[0, -1]]
    if len(distinct) <= _MAX_BARS and not days:
        return np.append(distinct, high), distinct
    scale = max(abs(low), abs(high)) or 1.0  # or the range may overflow
    span = distinct[[0, -1]] / scale
    near = np.quantile(values / scale, [0.02, 0.98])
    if 0 < _FAR * np.ptp(near) < np.ptp(span):
        span = near
    n_bins = min(_MAX_BINS, int(2 * len(values) ** (1 / 3)))  # Rice's rule
    inner = np.linspace(span[0], span[1], n_bins + 1) * scale
    if scale < 1e9 and (days or not (values % 1).any()):  # bins of whole numbers
        step = max(np.ceil(np.ptp(inner) / n_bins), 1)
        inner = np.arange(np.floor(inner[0]), inner[-1] + step, step)
    edges = np.array([low, *inner[(inner > low) & (inner < high)], high])
    return edges, edges.astype(np.int64).astype("M8[D]") if days else edges


# --- reading


def as_frame(X: Any) -> Any:
    """Return any table in memory as a pandas frame."""
    if isinstance(X, pd.DataFrame):
        return X
    table = as_table(X)
    if isinstance(table, np.ndarray):
        return pd.DataFrame(table).infer_objects()
    return table.to_pandas()


def read_table(frame: Any) -> Any:
    """Return all columns as by ``read_column``; a name that occurs again is numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> list(read_table(pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])))
    ['a', 'a (2)', 'b']
    """
    columns: dict[str, Any] = {}
    for j, label in enumerate(frame.columns):
        name, times = str(label), 1
        while name in columns:
            times += 1
            name = f"{label} ({times})"
        columns[name] = read_column(frame.iloc[:, j])
    return pd.DataFrame(columns, index=range(len(frame)))


def read_column(series: Any) -> Any:
    """Return floats, dates, categories or, of what no estimator accepts, strings.

    Their types are float64, datetime64, category and object.
    """
    series = series.reset_index(drop=True)
    if series.dtype == np.float64:
        return series
    seen = series.dropna()
    inferred = pd.api.types.infer_dtype(seen) if len(seen) else "empty"
    if inferred in ("string", "boolean", "categorical"):
        codes, categories = pd.factorize(series)
        return pd.Series(pd.Categorical.from_codes(codes, list(categories)))
    if inferred in ("date", "datetime", "datetime64"):
        dates = pd.to_datetime(seen, utc=True).dt.tz_localize(None)
        return dates.reindex(series.index)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        try:
            return seen.astype(np.float64).reindex(series.index)
        except OverflowError:  # integers beyond the range of floats
            pass
    return seen.astype(object).map(str).astype(object).reindex(series.index)


def kind_of(column: Any) -> str:
    """Return the kind of a column that was read."""
    if not column.notna().any():
        return "empty"
    kinds = {"float64": "number", "category": "category", "object": "other"}
    return kinds.get(column.dtype.name, "date")


def as_numbers(column: Any) -> Floats:
    """Return numbers, days since 1970, codes of categories or zeros, NaN if missing."""
    values = column if column.dtype == np.float64 else 0.0
    if column.dtype == "category":
        values = column.cat.codes
    if column.dtype.kind == "M":
        values = column.to_numpy("M8[us]").astype(np.int64) / 86_400e6
    numbers: Floats = np.where(column.isna(), np.nan, values)
    return numbers


def take(table: Any, n: int, *, most_missing: bool = True) -> Any:
    """Return n columns by their number of missing values, in the table's order."""
    counts = table.isna().sum().to_numpy()
    chosen = np.argsort(-counts if most_missing else counts, kind="stable")[:n]
    return table.iloc[:, np.sort(chosen)]


def show_value(value: Any) -> str:
    """Return a value of a column as text, whole numbers with all their digits."""
    if not isinstance(value, float):
        return shorten(str(value).removesuffix(" 00:00:00"))
    whole = abs(value) < 1e9 and (value % 1 == 0 or abs(value) >= 1e4)
    return f"{value:,.0f}" if whole else f"{value:.4g}"
