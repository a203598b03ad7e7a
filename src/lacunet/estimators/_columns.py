"""Columns of any table, array or frame: read as what they hold, filled as they are."""

import datetime
import math
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import assert_all_finite

from lacunet import missingness
from lacunet.missingness import Table, find_observed

Kind = Literal["number", "category", "date"]
Category = str | int | float | bool

_CATEGORIES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)
_DATES = (nw.Date, nw.Datetime)
_ADVICE = (
    "Make it numbers (a duration its days, a time its hours), strings (decode bytes), "
    "categories or dates; give the elements of lists and structs their own columns."
)
_DAY = np.timedelta64(1, "D")
# 64 bits of nanoseconds are 584 years; the other units reach Python's whole calendar.
_CALENDAR = {"ns": ("1678-01-01", "2262-01-01")}


class RawColumn(NamedTuple):
    """The cells of a column."""

    name: Any  # in a frame; the index in an array
    kind: Kind | None  # None if nothing is observed
    values: np.ndarray  # (rows,): float64, objects (categories) or datetime64
    observed: np.ndarray  # (rows,), bool
    zone: datetime.tzinfo | None = None  # of Python's dates; their values are in UTC


def as_table(X: Any) -> Table:
    """Return an array-like as a 2d array, a frame as a narwhals DataFrame."""
    # Strings that numpy may have made of numbers stay what they are.
    strings = type(X) is np.ndarray and X.dtype.kind in "UTS"
    return X if strings else missingness.as_table(X)


def read_columns(table: Table, kinds: Sequence[Kind] | None = None) -> list[RawColumn]:
    """Read all columns of what ``as_table`` returned.

    ``kinds`` are those of training; arrays of strings need them to distinguish numbers
    from categories that look like numbers.
    """
    if not isinstance(table, np.ndarray):
        columns = [_read_series(series) for series in table.iter_columns()]
    elif table.dtype.kind in "mSV":
        msg = (
            f"Got an array of dtype {table.dtype}, but expected numbers, booleans, "
            f"strings, objects or dates. {_ADVICE}"
        )
        raise TypeError(msg)
    else:
        trained: Sequence[Kind | None] = kinds or [None] * table.shape[1]
        columns = [
            _read_array(index, column, kind)
            for index, (column, kind) in enumerate(zip(table.T, trained, strict=True))
        ]
    return [c if c.observed.any() else c._replace(kind=None) for c in columns]


def _read_series(series: Any) -> RawColumn:
    name, dtype = series.name, series.dtype
    if dtype.is_numeric() or isinstance(dtype, _DATES):
        values = series.to_numpy()
        if values.dtype.kind != "O":
            return _read_array(name, values)
    elif isinstance(dtype, _CATEGORIES):
        values = np.fromiter(series.to_list(), dtype=object)
        return RawColumn(name, "category", values, find_observed(values))
    elif not isinstance(dtype, nw.Object) and not series.is_null().all():
        native = getattr(series.to_native(), "dtype", dtype)
        sparse = str(native).startswith("Sparse")
        advice = "Use X[column].sparse.to_dense()." if sparse else _ADVICE
        msg = (
            f"Got column {name!r} of dtype {native}, but expected numbers, booleans, "
            f"strings, categories or dates. {advice}"
        )
        raise TypeError(msg)
    return _read_objects(name, np.fromiter(series.to_list(), dtype=object))


def _read_array(
    name: Any, column: np.ndarray, trained: Kind | None = None
) -> RawColumn:
    kind = column.dtype.kind
    if kind in "UT":
        # Strings that numpy may have made of numbers, and its "nan" of NaN.
        if trained != "category":
            try:
                return _read_array(name, column.astype(np.float64))
            except ValueError:
                if trained == "number" or bool(np.isin(column, ["inf", "-inf"]).any()):
                    raise
        return _read_objects(
            name, np.where(column == "nan", np.nan, column.astype(object))
        )
    if kind in "fiu":
        values = column.astype(np.float64)
        if np.isinf(values).any():
            # For the message that users of scikit-learn know.
            assert_all_finite(values, allow_nan=True, input_name="X")
        return RawColumn(name, "number", values, ~np.isnan(values))
    if kind == "M":
        # Years and months have no fixed length.
        coarse = np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "generic")
        dates = column.astype("M8[D]") if coarse else column
        return RawColumn(name, "date", dates, ~np.isnat(dates))
    return _read_objects(name, column.astype(object))


def _read_objects(name: Any, values: np.ndarray) -> RawColumn:
    """Read a column of Python objects by the types of what is not missing.

    Numbers (also ``Decimal`` and booleans beside numbers) are numbers; booleans alone
    and strings are categories, also strings that look like numbers; dates are dates.
    """
    observed = find_observed(values)
    seen = values[observed].tolist()
    groups = {_group(kind, name) for kind in set(map(type, seen))}
    if "number" in groups and groups <= {"bool", "number"}:
        floats = np.full(len(values), np.nan)
        try:
            floats[observed] = [float(value) for value in seen]
        except OverflowError as error:
            msg = (
                f"Got a number beyond the range of floats in column {name!r}, but "
                f"expected at most 1.8e308. Divide the column, or take its logarithm."
            )
            raise ValueError(msg) from error
        return _read_array(name, floats)
    if groups == {"date"}:
        whole_days = all(type(value) is datetime.date for value in seen)
        dates = np.full(len(observed), "NaT", dtype="M8[D]" if whole_days else "M8[us]")
        zones = [getattr(value, "tzinfo", None) for value in seen]
        dates[observed] = [
            value.astimezone(datetime.UTC).replace(tzinfo=None) if zone else value
            for value, zone in zip(seen, zones, strict=True)
        ]
        return RawColumn(name, "date", dates, observed, zones[0])
    if len(groups) > 1:
        first = {_group(type(value), name): value for value in reversed(seen)}
        examples = " and ".join(repr(value) for value in first.values())
        msg = (
            f"Got column {name!r} with values of different kinds, such as {examples}, "
            f"but expected one kind. If the strings mark missing values, replace them "
            f"by NaN; if all are names of categories, convert the column to strings."
        )
        raise TypeError(msg)
    return RawColumn(name, "category", values, observed)


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
    # The first words are those of float(), which scikit-learn's checks look for.
    msg = (
        f"The argument must be a string or a number in every cell. Got a value of "
        f"type {kind.__name__} in column {name!r}, but expected numbers, booleans, "
        f"strings or dates. Convert the column, or leave it out."
    )
    raise TypeError(msg)


# --- what is known of a column after training


@dataclass(frozen=True)
class Column:
    """A column of the training table; the fields are saved with models."""

    name: str | int  # in a frame; the index in an array
    kind: Kind
    had_missing: bool  # whether a value was missing in training
    empty: bool = False  # whether all were: then it is missing at prediction, too
    # Of a category, in order. Where some are pooled, one more stands for all of those.
    categories: tuple[Category, ...] = ()
    pooled: tuple[Category, ...] = ()  # the rare ones, the most frequent first
    origin: str | None = None  # the first date

    @classmethod
    def from_cells(cls, raw: RawColumn, max_categories: int) -> Self:
        """Describe a column of the training table; pool its rarest categories."""
        name = raw.name if isinstance(raw.name, (str, int)) else str(raw.name)
        had_missing = not bool(raw.observed.all())
        if raw.kind is None:
            return cls(name, "number", had_missing, empty=True)
        seen = raw.values[raw.observed]
        if raw.kind != "category":
            origin = str(seen.min()) if raw.kind == "date" else None
            return cls(name, raw.kind, had_missing, origin=origin)
        counts: Counter[Category] = Counter()
        for cell, count in Counter(seen.tolist()).items():
            counts[category_of(cell)] += count
        return cls.of_categories(name, counts, max_categories, had_missing=had_missing)

    @classmethod
    def of_categories(
        cls,
        name: str | int,
        counts: Mapping[Category, int],
        max_categories: int,
        *,
        had_missing: bool,
    ) -> Self:
        """Describe a column by how often its categories are there."""
        values = sorted(counts, key=lambda value: (_family(value) is str, value))
        by_frequency = sorted(values, key=lambda value: -counts[value])
        n_kept = len(values) if len(values) <= max_categories else max_categories - 1
        pooled = dict.fromkeys(by_frequency[n_kept:])
        kept = tuple(value for value in values if value not in pooled)
        return cls(name, "category", had_missing, categories=kept, pooled=tuple(pooled))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a column of its fields as JSON has them."""
        several = {name: tuple(state[name]) for name in ("categories", "pooled")}
        return cls(**{**state, **several})

    @property
    def size(self) -> int:
        """Number of categories, the pooled ones counting as one."""
        return len(self.categories) + bool(self.pooled)

    @property
    def all_categories(self) -> tuple[Category, ...]:
        """The categories, and the pooled ones."""
        return *self.categories, *self.pooled

    @cached_property
    def _codes(self) -> dict[Category, int]:
        codes = dict.fromkeys(self.pooled, len(self.categories))
        return {**codes, **{value: code for code, value in enumerate(self.categories)}}

    def numbers_of(self, raw: RawColumn) -> np.ndarray:
        """Return the cells as numbers, dates as days since the first: (rows,)."""
        if raw.kind is None or self.empty:
            return np.full(len(raw.values), np.nan)
        if raw.kind == self.kind:
            if self.origin is None:
                return raw.values
            # Whole days apart: nanoseconds overflow within three centuries.
            origin = np.datetime64(self.origin)
            first, days = origin.astype("M8[D]"), raw.values.astype("M8[D]")
            rests = (raw.values - days) - (origin - first)
            return np.asarray((days - first) / _DAY + rests / _DAY)
        if self.kind == "number" and raw.kind == "category":
            cells = [category_of(value) for value in raw.values[raw.observed].tolist()]
            if set(map(_family, cells)) == {float}:
                values = np.full(len(raw.values), np.nan)
                values[raw.observed] = cells
                return values
        raise self._mismatch(raw)

    def codes_of(self, raw: RawColumn) -> np.ndarray:
        """Return the indices of the categories, -1 if missing or unseen: (rows,)."""
        codes = np.full(len(raw.values), -1)
        if raw.kind is None:
            return codes
        cells = raw.values[raw.observed].tolist()
        # Many cells, few categories: each is looked up once.
        values = {cell: category_of(cell) for cell in set(cells)}
        families = set(map(_family, self._codes))
        if raw.kind == "date" or families.isdisjoint(map(_family, values.values())):
            raise self._mismatch(raw)
        found = {cell: self._codes.get(value, -1) for cell, value in values.items()}
        codes[raw.observed] = [found[cell] for cell in cells]
        return codes

    def dates_of(self, days: np.ndarray, unit: str) -> np.ndarray:
        """Return days since the first date as dates, rounded to ``unit``: (rows,)."""
        step = np.ones((), dtype=f"m8[{unit}]")
        origin = np.datetime64(str(self.origin)).astype(f"M8[{unit}]")
        first, last = (
            (np.datetime64(end) - origin.astype("M8[D]")) / _DAY
            for end in _CALENDAR.get(unit, ("0001-01-01", "9999-12-31"))
        )
        steps = np.rint(days.clip(first, last) * (_DAY / step))
        return np.asarray(origin + steps.astype(np.int64).astype(step.dtype))

    def _mismatch(self, raw: RawColumn) -> TypeError:
        example = raw.values[raw.observed][:1].tolist()[0]
        expected = f"a {self.kind}, as in training"
        if self.kind == "category":
            first = self.all_categories[0]
            expected = f"the categories of training, such as {first!r}"
        msg = (
            f"Got column {raw.name!r} with values such as {example!r}, but expected "
            f"{expected}. Convert the column as it was converted then."
        )
        return TypeError(msg)


def category_of(value: Any) -> Category:
    """Return a cell as a plain Python value; pandas intervals and the like as text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, (bool, int)) or (
        isinstance(plain, float) and math.isfinite(plain)
    ):
        return plain
    return str(plain)


def _family(value: Any) -> type:
    return float if isinstance(value, numbers.Real) else str


# --- filling a table in its own types


class Fill(NamedTuple):
    """What goes into the missing cells of one column of the table to fill."""

    column: Column
    raw: RawColumn
    rows: np.ndarray  # (missing,)
    # Numbers in the data's own units or days since the first date, (missing,); or
    # probabilities of the categories, (missing, categories).
    values: np.ndarray

    def is_textual(self) -> bool:
        """Return whether the column's categories are strings."""
        return any(isinstance(value, str) for value in self.column.all_categories)

    def categories(self, known: Mapping[Any, Any] | None = None) -> list[Any]:
        """Return the likeliest category of each cell, among the known ones if given."""
        if known is None:
            known = {value: value for value in self.column.all_categories}
        # A pooled category stands for the most frequent of them.
        choices = [(value,) for value in self.column.categories]
        names = [
            next((known[value] for value in choice if value in known), None)
            for choice in [*choices, self.column.pooled][: self.column.size]
        ]
        possible = [name is not None for name in names]
        if not any(possible):
            msg = (
                f"Got column {self.raw.name!r} with categories {list(known)}, but "
                f"expected one of training, such as {self.column.all_categories[0]!r}, "
                f"to fill its missing values with. Add them to the column's categories."
            )
            raise ValueError(msg)
        best = np.where(possible, self.values, -np.inf).argmax(1)
        return [names[code] for code in best]

    def dates(self) -> np.ndarray:
        """Return a date for each cell, in the resolution of the column."""
        unit = "us" if "T" in str(self.column.origin) else "D"
        if self.raw.kind == "date":
            unit = np.datetime_data(self.raw.values.dtype)[0]
        return self.column.dates_of(self.values, unit)

    def objects(self) -> list[Any]:
        """Return a Python value for each cell: a number, a category or a date."""
        if self.column.kind == "category":
            return self.categories()
        cells = self.values if self.column.kind == "number" else self.dates()
        objects: list[Any] = cells.tolist()
        if self.raw.zone is None:
            return objects
        in_utc = [date.replace(tzinfo=datetime.UTC) for date in objects]
        return [date.astimezone(self.raw.zone) for date in in_utc]


def fill_table(table: Table, fills: Mapping[int, Fill]) -> Any:
    """Return the table with some columns filled, in its own types."""
    if isinstance(table, np.ndarray):
        return _fill_array(table, fills)
    filled = [
        _fill_series(series, fills[index])
        for index, series in enumerate(table.iter_columns())
        if index in fills
    ]
    return (table.with_columns(*filled) if filled else table.clone()).to_native()


def _fill_array(array: np.ndarray, fills: Mapping[int, Fill]) -> np.ndarray:
    """Fill an array; a float array that must hold strings or dates becomes objects."""
    kind = array.dtype.kind
    textual = any(f.column.kind == "date" or f.is_textual() for f in fills.values())
    plain = not fills or kind == "M" or (kind == "f" and not textual)
    filled = array.copy() if plain else array.astype(object)
    for index, fill in fills.items():
        values: Any = fill.dates() if kind == "M" else fill.objects()
        if filled.dtype.kind == "f":
            largest = np.finfo(array.dtype).max
            values = np.array(values, dtype=np.float64).clip(-largest, largest)
        filled[fill.rows, index] = values
    # Strings may need more room than they had.
    return filled.astype(str) if fills and kind == "U" else filled


def _fill_series(series: Any, fill: Fill) -> Any:
    """Fill a column of a frame.

    If nothing is observed and its dtype is wrong (NaN where strings were in training),
    it takes that of its values.
    """
    dtype, backend, rows = series.dtype, series.implementation, fill.rows.tolist()
    # The only categories that the column can hold, None if it can hold others.
    known: dict[Any, Any] | None = None
    if isinstance(dtype, nw.Enum) or (
        isinstance(dtype, nw.Categorical) and backend.is_pandas_like()
    ):
        listed = series.cat.get_categories().to_list()
        known = {category_of(value): value for value in listed}
    if fill.raw.kind is None and not _can_hold(dtype, known, fill):
        return nw.new_series(series.name, fill.objects(), backend=backend)
    if isinstance(dtype, _DATES):
        unit: Any = getattr(dtype, "time_unit", "us")
        zone = getattr(dtype, "time_zone", None)
        step = "D" if isinstance(dtype, nw.Date) else unit
        dates = fill.column.dates_of(fill.values, step).astype(f"M8[{unit}]")
        new = nw.new_series(series.name, dates, nw.Datetime(unit), backend=backend)
        if zone is not None:
            new = new.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return series.scatter(rows, new.cast(dtype))
    if known is not None:
        return series.scatter(rows, fill.categories(known))
    cells: Any = fill.objects()
    if isinstance(dtype, nw.Object):
        return series.scatter(rows, np.fromiter(cells, dtype=object))
    if dtype.is_numeric():
        cells = _numbers_for(dtype, np.array(cells, dtype=np.float64))
    elif isinstance(dtype, nw.Boolean):
        cells = [value >= 0.5 for value in cells]
    if not backend.is_pyarrow():
        new = nw.new_series(series.name, cells, dtype, backend=backend)
        return series.scatter(rows, new)
    # Arrow replaces only what is of the very same type, and nothing in a dictionary.
    values = np.fromiter(series.to_list(), dtype=object)
    values[rows] = cells
    filled = nw.new_series(series.name, values.tolist(), backend=backend).to_native()
    native = filled.cast(series.to_native().type)
    return nw.from_native(native, series_only=True).alias(series.name)


def _can_hold(dtype: Any, known: Mapping[Any, Any] | None, fill: Fill) -> bool:
    if isinstance(dtype, nw.Object):
        return True
    if fill.column.kind == "date":
        return isinstance(dtype, _DATES)
    if known is not None:
        return not known.keys().isdisjoint(fill.column.all_categories)
    if fill.is_textual():
        return isinstance(dtype, (nw.String, nw.Categorical))
    return bool(dtype.is_numeric()) or isinstance(dtype, nw.Boolean)


def _numbers_for(dtype: Any, values: np.ndarray) -> Any:
    """Return numbers that a column of this dtype can hold."""
    if isinstance(dtype, nw.Decimal):
        step = Decimal(1).scaleb(-dtype.scale)
        return [Decimal(repr(value)).quantize(step) for value in values.tolist()]
    if dtype.is_float():
        largest = np.finfo(str(dtype).lower()).max
        return values.clip(-largest, largest).astype(str(dtype).lower())
    name = str(dtype).lower().replace("128", "64")
    ends = np.iinfo(name)
    # As Python integers: the largest of 64 bits is no float.
    rounded = [round(value) for value in values.tolist()]
    return np.array([min(max(v, ends.min), ends.max) for v in rounded], dtype=name)
