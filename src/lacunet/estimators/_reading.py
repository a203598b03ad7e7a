"""The cells of any table, column by column: numbers, categories or dates."""

import datetime
import numbers
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple, cast

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

Kind = Literal["number", "category", "date"]

KINDS: tuple[Kind, ...] = ("number", "category", "date")

_CATEGORIES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
_DATES = (nw.Date, nw.Datetime)
_ADVICE: dict[str, str] = {
    "Duration": "Make it a number, such as its days or seconds.",
    "Time": "Make it a number, such as the hours since midnight.",
    "Binary": "Decode it to strings.",
    "List": "Give its elements columns of their own.",
    "Array": "Give its elements columns of their own.",
    "Struct": "Give its fields columns of their own.",
}
_OTHER_ADVICE = "Make it a column of numbers, strings, categories or dates."


class RawColumn(NamedTuple):
    """A column as it was found.

    Parameters
    ----------
    name : object
        Its name in a frame, its index in an array.
    kind : {"number", "category", "date"} or None
        None if nothing was observed.
    values : ndarray of shape (rows,)
        float64 for numbers, objects for categories, datetime64 for dates.
    observed : ndarray of bool of shape (rows,)
        True where there is a value.
    zone : tzinfo, default=None
        Of Python's dates, whose ``values`` are in UTC.
    """

    name: Any
    kind: Kind | None
    values: np.ndarray
    observed: np.ndarray
    zone: datetime.tzinfo | None = None


def as_table(X: Any) -> "np.ndarray | nw.DataFrame[Any]":
    """Return an array-like as a 2d array, a frame as narwhals sees it.

    Lists keep the types of their cells: numpy alone would turn the numbers beside a
    string into strings.

    Parameters
    ----------
    X : array-like or frame of shape (rows, columns)

    Returns
    -------
    ndarray or narwhals DataFrame
    """
    if isinstance(X, np.ma.MaskedArray):
        return _fill_masked(X)
    if isinstance(X, np.ndarray):
        return _check_2d(X)
    if is_frame(X):
        return as_narwhals(X)
    _check_dense(X)
    check_in_memory(X)
    array = np.asarray(X)
    if array.dtype.kind in "USO":
        array = np.array(X, dtype=object)
    return _check_2d(array)


def as_narwhals(X: Any) -> "nw.DataFrame[Any]":
    """Return a frame in memory as narwhals sees it; no two columns may share a name."""
    try:
        return cast("nw.DataFrame[Any]", nw.from_native(X, eager_only=True))
    except nw.exceptions.DuplicateError as error:
        msg = (
            f"Got a frame with several columns of one name, but expected a name for "
            f"each column: {' '.join(str(error).split())}. Rename them."
        )
        raise ValueError(msg) from error


def is_frame(X: Any) -> bool:
    """Tell whether ``X`` is a frame in memory: pandas, polars, arrow and the like."""
    return bool(nw.dependencies.is_into_dataframe(X))


def check_in_memory(X: Any) -> None:
    """Refuse lazy frames and batches of arrow, which are no tables yet."""
    if hasattr(X, "collect") or hasattr(X, "__arrow_c_array__"):
        msg = (
            f"Got X of type {type(X).__name__}, but expected a table in memory. Use "
            f"X.collect() for a lazy frame, pyarrow.Table.from_batches for a batch."
        )
        raise TypeError(msg)


def read_columns(
    table: "np.ndarray | nw.DataFrame[Any]", kinds: Sequence[Kind] | None = None
) -> list[RawColumn]:
    """Read all columns of a table.

    Parameters
    ----------
    table : ndarray or narwhals DataFrame
        What ``as_table`` returned.
    kinds : sequence of {"number", "category", "date"}, default=None
        What the columns were in training. Needed for arrays of strings only, where a
        number can't be told from a level that looks like one.

    Returns
    -------
    list of RawColumn
    """
    if isinstance(table, np.ndarray):
        return _read_array(table, kinds)
    return [_read_series(series) for series in series_of(table)]


def series_of(frame: "nw.DataFrame[Any]") -> "list[nw.Series[Any]]":
    """Return the columns of a frame; by name, integers would be taken for rows."""
    return cast("list[nw.Series[Any]]", list(frame.iter_columns()))


def _check_2d(array: np.ndarray) -> np.ndarray:
    if array.ndim != 2:
        msg = (
            f"Got an array of {array.ndim} dimensions, but expected 2: rows and "
            f"columns. Reshape your data."
        )
        raise ValueError(msg)
    return array


def _fill_masked(X: "np.ma.MaskedArray[Any, Any]") -> np.ndarray:
    plain = X.dtype.kind in "fiu"
    filled = np.asarray(X.data).astype(np.float64 if plain else object)
    filled[np.ma.getmaskarray(X)] = np.nan
    return _check_2d(filled)


def _check_dense(X: Any) -> None:
    if issparse(X):
        msg = (
            "Got a sparse matrix, but expected a dense table. Convert it with "
            "X.toarray(): a cell that is not stored would count as 0, not as missing."
        )
        raise TypeError(msg)


# --- arrays


def _read_array(array: np.ndarray, kinds: Sequence[Kind] | None) -> list[RawColumn]:
    read = _ARRAY_READERS.get(array.dtype.kind)
    if read is None:
        msg = (
            f"Got an array of dtype {array.dtype}, but expected numbers, booleans, "
            f"strings, objects or dates. {_array_advice(array)}"
        )
        raise TypeError(msg)
    wanted: Iterable[Kind | None] = kinds or [None] * array.shape[1]
    pairs = zip(array.T, wanted, strict=True)
    return [read(index, column, kind) for index, (column, kind) in enumerate(pairs)]


def _array_advice(array: np.ndarray) -> str:
    advice = {"m": _ADVICE["Duration"], "S": "Decode it with X.astype(str)."}
    return advice.get(array.dtype.kind, _OTHER_ADVICE)


def _read_numbers(name: Any, column: np.ndarray, _: Kind | None = None) -> RawColumn:
    values = column.astype(np.float64)
    if np.isinf(values).any():
        # For the message that users of scikit-learn know.
        assert_all_finite(values, allow_nan=True, input_name="X")
    observed = ~np.isnan(values)
    return RawColumn(name, "number" if observed.any() else None, values, observed)


def _read_booleans(name: Any, column: np.ndarray, _: Kind | None = None) -> RawColumn:
    observed = np.ones(len(column), dtype=bool)
    return RawColumn(name, "category", column.astype(object), observed)


def _read_dates(name: Any, column: np.ndarray, _: Kind | None = None) -> RawColumn:
    # Years and months have no fixed length.
    coarse = np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "generic")
    dates = column.astype("M8[D]") if coarse else column
    observed = ~np.isnat(dates)
    return RawColumn(name, "date" if observed.any() else None, dates, observed)


def _read_strings(name: Any, column: np.ndarray, kind: Kind | None) -> RawColumn:
    """Read strings that numpy may have made of numbers, and its "nan" of NaN."""
    if kind != "category":
        try:
            return _read_numbers(name, column.astype(np.float64))
        except ValueError:
            if kind == "number" or bool(np.isin(column, ["inf", "-inf"]).any()):
                raise
    cells = column.tolist()
    return read_objects(name, [None if cell == "nan" else cell for cell in cells])


def _read_object_array(name: Any, column: np.ndarray, _: Kind | None) -> RawColumn:
    return read_objects(name, column.tolist())


_ARRAY_READERS: dict[str, Callable[[Any, np.ndarray, Kind | None], RawColumn]] = {
    **dict.fromkeys("fiu", _read_numbers),
    "b": _read_booleans,
    "M": _read_dates,
    "U": _read_strings,
    "T": _read_strings,
    "O": _read_object_array,
    "c": _read_object_array,  # which refuses it
}


# --- frames


def _read_series(series: "nw.Series[Any]") -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric():
        numeric = series.to_numpy()
        if numeric.dtype.kind != "O":
            return _read_numbers(series.name, numeric)
        return read_objects(series.name, series.to_list())
    if isinstance(dtype, _CATEGORIES):
        return _read_levels(series.name, series.to_list())
    if isinstance(dtype, _DATES):
        dates = series.to_numpy()
        if dates.dtype.kind == "M":
            return _read_dates(series.name, dates)
        return read_objects(series.name, series.to_list())
    if isinstance(dtype, nw.Object):
        return read_objects(series.name, series.to_list())
    return _read_nothing(series)


def _read_levels(name: Any, values: list[Any]) -> RawColumn:
    observed = find_observed(values)
    array = _as_objects(values)
    return RawColumn(name, "category" if observed.any() else None, array, observed)


def _read_nothing(series: "nw.Series[Any]") -> RawColumn:
    """Read a column of a type that is not supported, if there is nothing in it."""
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if not missing.all():
        native = getattr(series.to_native(), "dtype", series.dtype)
        advice = _ADVICE.get(type(series.dtype).__name__, _OTHER_ADVICE)
        if str(native).startswith("Sparse"):
            advice = "Make it dense with X[column].sparse.to_dense()."
        msg = (
            f"Got column {series.name!r} of dtype {native}, but expected numbers, "
            f"booleans, strings, categories or dates. {advice}"
        )
        raise TypeError(msg)
    return RawColumn(series.name, None, np.full(len(missing), np.nan), ~missing)


# --- objects


def read_objects(name: Any, values: list[Any]) -> RawColumn:
    """Read a column of Python objects by the types of what is not missing.

    Numbers (also ``Decimal`` and booleans beside numbers) are numbers; booleans alone
    and strings are categories, also strings that look like numbers; dates are dates.

    Parameters
    ----------
    name : object
    values : list

    Returns
    -------
    RawColumn
    """
    observed = find_observed(values)
    seen = [value for value, there in zip(values, observed, strict=True) if there]
    groups = {_group(kind, name) for kind in set(map(type, seen))}
    if not groups:
        return RawColumn(name, None, np.full(len(values), np.nan), observed)
    if groups <= {"bool", "number"} and "number" in groups:
        floats = np.full(len(values), np.nan)
        floats[observed] = [_as_float(value, name) for value in seen]
        return _read_numbers(name, floats)
    if groups == {"date"}:
        return _read_date_objects(name, seen, observed)
    if len(groups) > 1:
        _refuse_mixture(name, seen)
    return RawColumn(name, "category", _as_objects(values), observed)


def _as_float(value: Any, name: Any) -> float:
    try:
        return float(value)
    except OverflowError as error:
        msg = (
            f"Got a number beyond the range of floats in column {name!r}, but expected "
            f"at most 1.8e308. Divide the column, or take its logarithm."
        )
        raise ValueError(msg) from error


def _as_objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def find_observed(values: list[Any]) -> np.ndarray:
    """Return which of these Python objects are none of those that mean missing."""
    # pandas is not imported here, but where it is in use its NA can be told.
    not_available = getattr(sys.modules.get("pandas"), "NA", None)
    return np.array(
        [
            type(value) is str
            or not (value is None or value is not_available or _is_nan(value))
            for value in values
        ],
        dtype=bool,
    )


def _is_nan(value: Any) -> bool:
    if type(value) is float:
        return value != value
    # Not a number (float, Decimal) and not a time are the values that aren't equal to
    # themselves.
    scalar = isinstance(value, (numbers.Real, Decimal, np.generic, datetime.date))
    return scalar and bool(value != value)


def _group(kind: type, name: Any) -> str:
    if issubclass(kind, (bool, np.bool_)):
        return "bool"
    # numpy counts its lengths of time among the integers.
    real = issubclass(kind, (numbers.Real, Decimal))
    if real and not issubclass(kind, np.timedelta64):
        return "number"
    if issubclass(kind, str):
        return "str"
    if issubclass(kind, (datetime.date, np.datetime64)):
        return "date"
    if issubclass(kind, numbers.Complex):
        msg = f"Complex data not supported: got {kind.__name__} in column {name!r}."
        raise ValueError(msg)
    # The first words are those of float(), which scikit-learn's checks look for.
    msg = (
        f"The argument must be a string or a number in every cell. Got a value of "
        f"type {kind.__name__} in column {name!r}, but expected numbers, booleans, "
        f"strings or dates. Convert the column, or leave it out."
    )
    raise TypeError(msg)


def _refuse_mixture(name: Any, seen: list[Any]) -> None:
    first = {_group(type(value), name): value for value in reversed(seen)}
    examples = " and ".join(repr(value) for value in first.values())
    msg = (
        f"Got column {name!r} with values of different kinds, such as {examples}, but "
        f"expected one kind. If the strings mark missing values, replace them by NaN; "
        f"if all are names of categories, convert the column to strings."
    )
    raise TypeError(msg)


def _read_date_objects(name: Any, seen: list[Any], observed: np.ndarray) -> RawColumn:
    whole_days = all(type(value) is datetime.date for value in seen)
    dates = np.full(len(observed), "NaT", dtype="M8[D]" if whole_days else "M8[us]")
    dates[observed] = [_in_utc(value) for value in seen]
    zone = getattr(seen[0], "tzinfo", None)
    return RawColumn(name, "date", dates, observed, zone)


def _in_utc(value: Any) -> Any:
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)
