"""Fill the holes of a table, in the table's own types; the other cells stay."""

import datetime
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, cast

import narwhals.stable.v2 as nw
import numpy as np

from lacunet.estimators._columns import Column, Level, level_of
from lacunet.estimators._reading import RawColumn, series_of


class Fill(NamedTuple):
    """What goes into the holes of one column.

    Parameters
    ----------
    column : Column
    raw : RawColumn
        The column of the table to fill.
    rows : ndarray of shape (holes,)
    values : ndarray of shape (holes,) or (holes, levels)
        Numbers in the data's own units, days since the first date, or the shares of
        the levels.
    """

    column: Column
    raw: RawColumn
    rows: np.ndarray
    values: np.ndarray

    def is_textual(self) -> bool:
        """Tell whether the column's levels are strings."""
        levels = (*self.column.levels, *self.column.pooled)
        return any(isinstance(level, str) for level in levels)

    def levels(self, known: Mapping[Any, Any] | None = None) -> list[Any]:
        """Return the likeliest level of each hole, among the known ones if given."""
        # A pooled level stands for the most frequent of them.
        choices: list[tuple[Level, ...]] = [(level,) for level in self.column.levels]
        choices += [self.column.pooled] if self.column.pooled else []
        names = [_first_known(choice, known) for choice in choices]
        possible = [name is not None for name in names]
        if not any(possible):
            msg = (
                f"Got column {self.raw.name!r} with categories {list(known or ())}, "
                f"but expected one of training, such as {choices[0][0]!r}, to fill "
                f"its holes with. Add them to the column's categories."
            )
            raise ValueError(msg)
        best = np.where(possible, self.values, -np.inf).argmax(1)
        return [names[code] for code in best]

    def numbers(self) -> np.ndarray:
        """Return a number for each hole, also where levels are numbers."""
        if self.column.kind != "category":
            return self.values
        return np.array([float(level) for level in self.levels()])

    def objects(self) -> list[Any]:
        """Return a Python value for each hole: a number, a level or a date."""
        if self.column.kind == "number":
            return cast("list[Any]", self.values.tolist())
        if self.column.kind == "category":
            return self.levels()
        unit = _unit_of(self)
        dates = self.column.dates_of(self.values, unit).tolist()
        if self.raw.zone is None:
            return cast("list[Any]", dates)
        in_utc = [date.replace(tzinfo=datetime.UTC) for date in dates]
        return [date.astimezone(self.raw.zone) for date in in_utc]


def fill_array(array: np.ndarray, fills: Iterable[Fill]) -> np.ndarray:
    """Fill the holes of an array.

    Parameters
    ----------
    array : ndarray of shape (rows, columns)
    fills : iterable of Fill

    Returns
    -------
    ndarray of shape (rows, columns)
        Of the same dtype; of objects if a float array has to hold strings or dates.
    """
    kind = array.dtype.kind
    fills = [fill for fill in fills if kind == "f" or not fill.column.empty]
    if not fills:
        return array.copy()
    if kind == "f" and not any(map(_needs_objects, fills)):
        return _fill_floats(array, fills)
    if kind == "M":
        return _fill_dates(array, fills)
    filled = array.astype(object)
    for fill in fills:
        filled[fill.rows, fill.column.index] = fill.objects()
    # Strings may need more room than they had.
    return filled.astype(str) if kind == "U" else filled


def fill_frame(frame: "nw.DataFrame[Any]", fills: Iterable[Fill]) -> Any:
    """Fill the holes of a frame.

    Parameters
    ----------
    frame : narwhals DataFrame
    fills : iterable of Fill

    Returns
    -------
    frame of the native kind
        With the same columns and dtypes. A column of the wrong dtype with nothing
        observed (NaN where strings were in training) takes that of its values.
    """
    columns = series_of(frame)
    changed = {fill.column.index: fill for fill in fills}
    filled = [
        _fill_series(series, changed[index])
        for index, series in enumerate(columns)
        if index in changed and not _is_left_missing(series, changed[index])
    ]
    return (frame.with_columns(*filled) if filled else frame.clone()).to_native()


def _first_known(choice: tuple[Any, ...], known: Mapping[Any, Any] | None) -> Any:
    if known is None:
        return choice[0]
    return next((known[level] for level in choice if level in known), None)


def _unit_of(fill: Fill) -> str:
    if fill.raw.kind == "date":
        return np.datetime_data(fill.raw.values.dtype)[0]
    return "us" if "T" in str(fill.column.origin) else "D"


# --- arrays


def _needs_objects(fill: Fill) -> bool:
    return fill.column.kind == "date" or fill.is_textual()


def _fill_floats(array: np.ndarray, fills: Iterable[Fill]) -> np.ndarray:
    filled = array.copy()
    largest = np.finfo(array.dtype).max
    for fill in fills:
        filled[fill.rows, fill.column.index] = fill.numbers().clip(-largest, largest)
    return filled


def _fill_dates(array: np.ndarray, fills: Iterable[Fill]) -> np.ndarray:
    filled = array.copy()
    for fill in fills:
        dates = fill.column.dates_of(fill.values, _unit_of(fill))
        filled[fill.rows, fill.column.index] = dates
    return filled


# --- frames


def _is_left_missing(series: "nw.Series[Any]", fill: Fill) -> bool:
    """Tell whether nothing is known of a column, not even that it is of numbers."""
    return fill.column.empty and not series.dtype.is_numeric()


def _fill_series(series: "nw.Series[Any]", fill: Fill) -> "nw.Series[Any]":
    dtype = series.dtype
    if fill.raw.kind is None and not _can_hold(series, fill):
        backend = series.implementation
        return nw.new_series(series.name, fill.objects(), backend=backend)
    if dtype.is_numeric():
        return _place(series, fill.rows, _numbers_for(dtype, fill.numbers()))
    if isinstance(dtype, nw.Boolean):
        return _place(series, fill.rows, (fill.numbers() >= 0.5).tolist())
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        return _place_dates(series, fill)
    if _known_levels(series) is not None:
        levels = fill.levels(_known_levels(series))
        return _scatter(series, fill.rows, levels)
    if isinstance(dtype, nw.Object):
        return _scatter(series, fill.rows, _objects(fill.objects()))
    return _place(series, fill.rows, fill.levels())


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _can_hold(series: "nw.Series[Any]", fill: Fill) -> bool:
    dtype, kind = series.dtype, fill.column.kind
    if isinstance(dtype, nw.Object):
        return True
    if kind == "date":
        return isinstance(dtype, (nw.Date, nw.Datetime))
    known = _known_levels(series)
    if known is not None:
        levels = (*fill.column.levels, *fill.column.pooled)
        return not known.keys().isdisjoint(levels)
    if fill.is_textual():
        return isinstance(dtype, (nw.String, nw.Categorical))
    return dtype.is_numeric() or isinstance(dtype, nw.Boolean)


def _known_levels(series: "nw.Series[Any]") -> dict[Any, Any] | None:
    """Return the only levels a column can hold, if it can't hold any."""
    fixed = isinstance(series.dtype, nw.Enum) or (
        isinstance(series.dtype, nw.Categorical)
        and series.implementation.is_pandas_like()
    )
    if not fixed:
        return None
    return {level_of(level): level for level in series.cat.get_categories().to_list()}


def _numbers_for(dtype: Any, values: np.ndarray) -> Any:
    """Return numbers that a column of this dtype can hold."""
    if isinstance(dtype, nw.Decimal):
        step = Decimal(1).scaleb(-dtype.scale)
        return [Decimal(repr(value)).quantize(step) for value in values.tolist()]
    if dtype.is_float():
        largest = np.finfo(str(dtype).lower()).max
        return values.clip(-largest, largest).astype(str(dtype).lower())
    wide = {"Int128": "int64", "UInt128": "uint64"}
    name = wide.get(str(dtype), str(dtype).lower())
    ends = np.iinfo(name)
    # As Python integers: the largest of 64 bits is no float.
    rounded = [round(value) for value in values.tolist()]
    return np.array([min(max(v, ends.min), ends.max) for v in rounded], dtype=name)


def _scatter(
    series: "nw.Series[Any]", rows: np.ndarray, values: Any
) -> "nw.Series[Any]":
    return series.scatter(rows.tolist(), values)


def _place(series: "nw.Series[Any]", rows: np.ndarray, values: Any) -> "nw.Series[Any]":
    backend = series.implementation
    if not backend.is_pyarrow():
        new = nw.new_series(series.name, values, series.dtype, backend=backend)
        return _scatter(series, rows, new)
    native = series.to_native()
    # Arrow replaces only what is of the very same type, and nothing in a dictionary.
    flat_type = getattr(native.type, "value_type", native.type)
    new = nw.new_series(series.name, values, backend=backend)
    flat = _from_arrow(native.cast(flat_type), series.name)
    same = _from_arrow(new.to_native().cast(flat_type), series.name)
    placed = _scatter(flat, rows, same)
    return _from_arrow(placed.to_native().cast(native.type), series.name)


def _from_arrow(native: Any, name: str) -> "nw.Series[Any]":
    series: nw.Series[Any] = nw.from_native(native, series_only=True)
    return series.alias(name)


def _place_dates(series: "nw.Series[Any]", fill: Fill) -> "nw.Series[Any]":
    dtype = series.dtype
    unit: Any = getattr(dtype, "time_unit", "us")
    zone = getattr(dtype, "time_zone", None)
    step = "D" if isinstance(dtype, nw.Date) else unit
    dates = fill.column.dates_of(fill.values, step).astype(f"M8[{unit}]")
    backend = series.implementation
    new = nw.new_series(series.name, dates, nw.Datetime(unit), backend=backend)
    if zone is not None:
        new = new.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return _scatter(series, fill.rows, new.cast(dtype))
