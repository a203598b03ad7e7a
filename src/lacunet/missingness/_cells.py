"""The cells of any table: which are there, what they are as numbers, and without some.

Tables are arrays or frames; frames of pandas, polars and arrow go through narwhals.
"""

import datetime
import numbers
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

Table = np.ndarray | nw.DataFrame[Any]

_TIMES = (nw.Date, nw.Datetime, nw.Duration)


def as_table(X: Any) -> Table:
    """Return an array-like as a 2d array, a frame as narwhals sees it."""
    if nw.dependencies.is_into_dataframe(X):
        return _as_narwhals(X)
    _check_dense(X)
    array = as_array(X)
    if array.ndim != 2:
        msg = (
            f"Got an array of {array.ndim} dimensions, but expected 2: rows and "
            f"columns. Reshape your data."
        )
        raise ValueError(msg)
    return array


def as_array(X: Any) -> np.ndarray:
    """Return an array-like as an array, NaN or NaT where it is masked."""
    if isinstance(X, np.ma.MaskedArray):
        return _without_in_array(np.asarray(X.data), np.ma.getmaskarray(X))
    array = np.asarray(X)
    if array.dtype.kind in "UTS":
        # Lists keep the types of their cells: numpy makes strings of the numbers
        # beside strings, and "nan" of NaN.
        array = np.array(X, dtype=object)
        array[array == "nan"] = np.nan
    return array


def read_columns(table: Table) -> list[np.ndarray]:
    """Return the columns as arrays: numbers, booleans, times or objects."""
    if isinstance(table, np.ndarray):
        return list(table.T)
    return [_as_column(series) for series in _series_of(table)]


def find_observed(column: np.ndarray) -> np.ndarray:
    """Return where there is a value in a column.

    ``NaN``, ``None``, ``NaT`` and ``pandas.NA`` mean missing.
    """
    kind = column.dtype.kind
    observed = np.ones(len(column), dtype=bool)
    if kind in "fc":
        observed &= ~np.isnan(column)
    elif kind in "mM":
        observed &= ~np.isnat(column)
    elif kind == "O":
        observed ^= np.fromiter(map(_is_missing, column), dtype=bool)
    return observed


def as_numbers(column: np.ndarray) -> np.ndarray:
    """Return a number for each value of a column, NaN where it is missing.

    Times count from their origin. What is no number and no time has its place in the
    order of the texts.
    """
    observed = find_observed(column)
    seen = column[observed]
    if column.dtype.kind in "mM":
        seen = seen.astype(np.int64)
    elif column.dtype.kind not in "fiub" and not all(map(_is_number, seen)):
        seen = np.unique(_as_objects(list(map(str, seen))), return_inverse=True)[1]
    found = np.full(len(column), np.nan)
    found[observed] = seen.astype(np.float64)
    return found


def without_cells(table: Table, removed: np.ndarray) -> Any:
    """Return a copy of the table in which some cells are missing."""
    if isinstance(table, np.ndarray):
        return _without_in_array(table, removed)
    columns = [
        nw.when(nw.new_series("kept", ~lost, nw.Boolean, backend=table.implementation))
        .then(series)
        .alias(series.name)
        for series, lost in zip(_series_of(table), removed.T, strict=True)
        if lost.any()
    ]
    return (table.with_columns(*columns) if columns else table.clone()).to_native()


# --- tables


def _as_narwhals(X: Any) -> "nw.DataFrame[Any]":
    try:
        return cast("nw.DataFrame[Any]", nw.from_native(X, eager_only=True))
    except nw.exceptions.DuplicateError as error:
        msg = (
            f"Got a frame with several columns of one name, but expected a name for "
            f"each column: {' '.join(str(error).split())}. Rename them."
        )
        raise ValueError(msg) from error


def _check_dense(X: Any) -> None:
    if issparse(X):
        msg = (
            "Got a sparse matrix, but expected a dense table. Convert it with "
            "X.toarray(): a cell that is not stored is 0, not missing."
        )
        raise TypeError(msg)
    if hasattr(X, "collect") or hasattr(X, "__arrow_c_array__"):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a table in memory. Use "
            f"X.collect() for a lazy frame, pyarrow.Table.from_batches for a batch."
        )
        raise TypeError(msg)


def _without_in_array(array: np.ndarray, removed: np.ndarray) -> np.ndarray:
    kind = array.dtype.kind
    if kind in "iu":
        blank = array.astype(np.float64)
    else:
        blank = array.astype(array.dtype if kind in "fcmM" else object)
    blank[removed] = "NaT" if kind in "mM" else np.nan
    return blank


# --- columns


def _series_of(frame: "nw.DataFrame[Any]") -> "list[nw.Series[Any]]":
    return cast("list[nw.Series[Any]]", list(frame.iter_columns()))


def _as_column(series: "nw.Series[Any]") -> np.ndarray:
    if isinstance(series.dtype, nw.Enum):
        return _as_objects(_order_of(series))
    if series.dtype.is_numeric() or isinstance(series.dtype, _TIMES):
        return np.asarray(series.to_numpy())
    return _as_objects(series.to_list())


def _order_of(series: "nw.Series[Any]") -> list[int | None]:
    """Return the places of categories in their own order."""
    categories = series.cat.get_categories().to_list()
    places = {category: place for place, category in enumerate(categories)}
    return [places.get(value) for value in series.to_list()]


def _as_objects(values: Sequence[Any]) -> np.ndarray:
    # Cell by cell: an array of lists would have another dimension.
    return np.fromiter(values, dtype=object, count=len(values))


def _is_missing(value: Any) -> bool:
    if type(value) is str:
        return False
    # pandas is not imported here, but where it is in use its NA is recognised.
    if value is None or value is getattr(sys.modules.get("pandas"), "NA", None):
        return True
    # Of these, only not a number and not a time aren't equal to themselves.
    scalar = isinstance(value, (numbers.Number, np.generic, datetime.date))
    return scalar and bool(value != value)


def _is_number(value: Any) -> bool:
    # numpy counts its lengths of time among the integers.
    real = isinstance(value, (numbers.Real, Decimal))
    return real and not isinstance(value, np.timedelta64)


def own_stream(random_state: Any) -> np.random.RandomState:
    """Return a random state of its own, seeded by the one given.

    The numbers that follow a seed may well be the data: a table of uniform numbers that
    was made with the same seed would decide what is lost of it.
    """
    return np.random.RandomState(check_random_state(random_state).randint(2**31 - 1))
