"""A table of any library as pandas columns of few types."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from lacunet._text import shorten

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")
_DATES = ("date", "datetime", "datetime64")
_CATEGORIES = ("string", "boolean", "categorical")


def as_frame(X: Any) -> Any:
    """Return any table in memory as a pandas frame."""
    if isinstance(X, pd.DataFrame):
        return X
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True).to_pandas()
    if issparse(X) or hasattr(X, "collect") or hasattr(X, "__arrow_c_array__"):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a dense table in memory. "
            f"Use X.toarray(), X.collect() or pyarrow.Table.from_batches([X])."
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


def read_table(frame: Any) -> Any:
    """Return all columns as by ``read_column``, with a name of its own each."""
    names = make_unique(frame.columns)
    columns = {name: read_column(frame.iloc[:, j]) for j, name in enumerate(names)}
    return pd.DataFrame(columns, index=range(len(frame)))


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


def read_column(series: Any) -> Any:
    """Return floats, dates, categories or, of what no estimator accepts, strings.

    Their types are float64, datetime64, category and object.
    """
    series = series.reset_index(drop=True)
    if series.dtype == np.float64:
        return series
    seen = series.dropna()
    inferred = pd.api.types.infer_dtype(seen) if len(seen) else "empty"
    if inferred in _CATEGORIES:
        codes, categories = pd.factorize(series)
        return pd.Series(pd.Categorical.from_codes(codes, list(categories)))
    if inferred in _DATES:
        dates = pd.to_datetime(seen, utc=True).dt.tz_localize(None)
        return dates.reindex(series.index)
    if inferred in _NUMBERS:
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
    """Return numbers, days since 1970 or codes of categories, NaN where missing."""
    if column.dtype == "category":
        values = column.cat.codes
    elif column.dtype.kind == "M":
        values = column.to_numpy("M8[us]").astype(np.int64) / 86_400e6
    else:
        values = column
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
