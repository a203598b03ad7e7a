"""A table of any kind, column by column, as numbers with NaN where missing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from lacunet._text import join_words

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
ColumnKind = Literal["number", "category", "date", "empty", "other"]

# What pandas infers from the values of a column, and what the estimators make of it.
_KINDS: dict[str, ColumnKind] = {
    **dict.fromkeys(("string", "boolean", "categorical"), "category"),
    **dict.fromkeys(("integer", "floating", "mixed-integer-float"), "number"),
    "decimal": "number",
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    "empty": "empty",
}
# Strings that often stand for a missing value, in lower case.
_MARKERS = frozenset(
    [
        *("", "?", "??", "-", "--", "---", ".", "..", "*", "**", "#", "#na", "#null!"),
        *("#n/a", "na", "n/a", "n.a.", "n.a", "<na>", "nan", "null", "none", "nil"),
        *("missing", "unknown", "unk", "unkn", "undefined", "unspecified", "no data"),
        *("not available", "not known", "not recorded", "not specified", "no answer"),
        *("no response", "don't know", "dont know"),
    ]
)
_MIN_ROWS_OF_IDS = 20  # fewer distinct values may be distinct by chance


@dataclass(frozen=True, eq=False)
class Column:
    """A column: numbers, days since 1970 or category codes, NaN where missing."""

    name: str
    kind: ColumnKind  # "other": no estimator accepts it, for the reason in problem
    values: Floats
    missing: Bools
    categories: tuple[Any, ...] = ()  # what the codes stand for
    problem: str = ""

    def at(self, rows: Any) -> "Column":
        """Return some rows of the column."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])


@dataclass(frozen=True)
class Oddities:
    """What may be wrong with a column."""

    is_identifier: bool = False
    markers: tuple[tuple[str, int], ...] = ()  # of missing values, and their counts
    else_number: bool = False  # without the markers, all values are numbers
    has_infinity: bool = False


def as_frame(X: Any) -> Any:
    """Return any table in memory as a pandas frame."""
    if isinstance(X, pd.DataFrame):
        return X
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True).to_pandas()
    if issparse(X) or hasattr(X, "collect") or hasattr(X, "__arrow_c_array__"):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a dense table in memory. "
            f"Use X.toarray() for a sparse matrix, X.collect() for a lazy frame, "
            f"pyarrow.Table.from_batches for a batch."
        )
        raise TypeError(msg)
    array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if array.ndim != 2:
        msg = (
            f"Got an array of {array.ndim} dimensions, but expected 2: rows and "
            f"columns. Reshape your data."
        )
        raise ValueError(msg)
    return pd.DataFrame(array).infer_objects()


def make_unique(labels: Sequence[Any]) -> list[str]:
    """Return labels as strings, numbered where a name occurs again: a, a (2)."""
    names: dict[str, None] = {}
    for label in labels:
        name, times = str(label), 1
        while name in names:
            times += 1
            name = f"{label} ({times})"
        names[name] = None
    return list(names)


def read_columns(X: Any) -> list[Column]:
    """Read all columns of a table."""
    frame = as_frame(X)
    return [
        read_column(name, frame.iloc[:, j])
        for j, name in enumerate(make_unique(frame.columns))
    ]


def read_column(name: str, series: Any) -> Column:
    """Read a pandas series."""
    missing = series.isna().to_numpy(dtype=bool)
    seen = series[~missing]
    kind = _KINDS.get(pd.api.types.infer_dtype(seen), "other") if len(seen) else "empty"
    values = np.full(len(series), np.nan)
    if kind == "number":
        try:
            values[~missing] = seen.astype(np.float64)
        except OverflowError:  # integers beyond the range of floats
            kind = "other"
    if kind == "date":
        dates = pd.to_datetime(seen, utc=True).dt.tz_localize(None)
        values[~missing] = dates.to_numpy("M8[us]").astype(np.int64) / 86_400e6
    if kind not in ("category", "other"):
        return Column(name, kind, values, missing)
    problem = ""
    if kind == "other":
        types = list(dict.fromkeys(type(cell).__name__ for cell in seen))
        problem = f"its values are of type {join_words(types[:5])}"
        seen = seen.astype(object).map(
            lambda cell: cell if isinstance(cell, (str, int, float)) else repr(cell)
        )
    values[~missing], categories = pd.factorize(seen)
    return Column(name, kind, values, missing, tuple(categories), problem)


def take(
    columns: Sequence[Column], n: int, *, most_missing: bool = True
) -> list[Column]:
    """Return n columns by their number of missing values, in the table's order."""
    counts = np.array([column.missing.sum() for column in columns], dtype=np.int64)
    chosen = np.argsort(-counts if most_missing else counts, kind="stable")[:n]
    return [columns[j] for j in np.sort(chosen)]


def find_oddities(column: Column) -> Oddities:
    """Find values that look like markers of missing values, identifiers, infinities."""
    seen = column.values[~column.missing]
    distinct, counts = np.unique(seen, return_counts=True)
    all_differ = _MIN_ROWS_OF_IDS <= len(seen) == len(distinct)
    if column.kind == "number":
        finite = bool(np.isfinite(seen).all())
        # Integers that count the rows: they rise, or are dense.
        is_identifier = (
            all_differ
            and finite
            and len(seen) == len(column.values)
            and not (seen != np.rint(seen)).any()
            and bool((np.diff(seen) > 0).all() or np.ptp(seen) < 2 * len(seen))
        )
        nines = _find_nines(distinct.tolist(), counts.tolist())
        return Oddities(is_identifier, nines, has_infinity=not finite)
    if column.kind not in ("category", "other"):
        return Oddities()
    cells = list(zip(column.categories, counts.tolist(), strict=True))
    markers = [cell for cell in cells if _is_marker(cell[0])]
    others = [cell[0] for cell in cells if not _is_marker(cell[0])]
    numbers = pd.to_numeric(pd.Series(map(str, others), dtype=object), errors="coerce")
    else_number = bool(markers) and bool(others) and not numbers.isna().any()
    return Oddities(all_differ, tuple(markers), else_number)


def _is_marker(category: Any) -> bool:
    return isinstance(category, str) and category.strip().lower() in _MARKERS


def _find_nines(values: list[float], counts: list[int]) -> tuple[tuple[str, int], ...]:
    """Find -9, -99, 99, 999, ... farther from the other values than their range."""
    found = []
    for end in (0, -1):
        while len(values) > 2 and re.fullmatch("-9+|99+", f"{values[end]:g}"):
            others = values[1:] if end == 0 else values[:-1]
            if abs(values[end] - others[end]) <= others[-1] - others[0]:
                break
            found.append((f"{values.pop(end):g}", counts.pop(end)))
    return tuple(found)
