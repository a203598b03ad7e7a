"""Read the columns of any table (array or frame) as numbers, categories or dates."""

import datetime
import math
import numbers
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import assert_all_finite

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


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a frame in memory: pandas, polars, arrow and the like."""
    return not isinstance(X, np.ndarray) and bool(nw.dependencies.is_into_dataframe(X))


def as_table(X: Any) -> "np.ndarray | nw.DataFrame[Any]":
    """Return an array-like as a 2d array, a frame as a narwhals DataFrame."""
    if is_frame(X):
        try:
            return cast("nw.DataFrame[Any]", nw.from_native(X, eager_only=True))
        except nw.exceptions.DuplicateError as error:
            msg = (
                f"Got a frame with several columns of one name, but expected a name "
                f"for each column: {' '.join(str(error).split())}. Rename them."
            )
            raise ValueError(msg) from error
    array = np.asarray(X)
    if isinstance(X, np.ma.MaskedArray):
        array = array.astype(np.float64 if array.dtype.kind in "fiu" else object)
        array[np.ma.getmaskarray(X)] = np.nan
    elif array is not X and array.dtype.kind in "USO":
        # numpy alone would turn the numbers beside a string into strings.
        array = np.array(X, dtype=object)
    if array.ndim != 2:
        msg = (
            f"Got an array of {array.ndim} dimensions, but expected 2: rows and "
            f"columns. Reshape your data."
        )
        raise ValueError(msg)
    return array


def read_columns(
    table: "np.ndarray | nw.DataFrame[Any]", kinds: Sequence[Kind] | None = None
) -> list[RawColumn]:
    """Read all columns of what ``as_table`` returned.

    ``kinds`` are those of training; arrays of strings need them to distinguish numbers
    from categories that look like numbers.
    """
    if not isinstance(table, np.ndarray):
        return [_read_series(series) for series in series_of(table)]
    if table.dtype.kind in "mSV":
        msg = (
            f"Got an array of dtype {table.dtype}, but expected numbers, booleans, "
            f"strings, objects or dates. {_ADVICE}"
        )
        raise TypeError(msg)
    trained: Sequence[Kind | None] = kinds or [None] * table.shape[1]
    return [
        _read_array(index, column, kind)
        for index, (column, kind) in enumerate(zip(table.T, trained, strict=True))
    ]


def series_of(frame: "nw.DataFrame[Any]") -> "list[nw.Series[Any]]":
    """Return the columns of a frame; by name, integers would be taken for rows."""
    return cast("list[nw.Series[Any]]", list(frame.iter_columns()))


def _read_array(name: Any, column: np.ndarray, trained: Kind | None) -> RawColumn:
    kind = column.dtype.kind
    if kind in "fiu":
        return _read_numbers(name, column)
    if kind == "M":
        return _read_dates(name, column)
    if kind == "b":
        observed = np.ones(len(column), dtype=bool)
        return RawColumn(name, "category", column.astype(object), observed)
    if kind not in "UT":
        return _read_objects(name, column.tolist())
    # Strings that numpy may have made of numbers, and its "nan" of NaN.
    if trained != "category":
        try:
            return _read_numbers(name, column.astype(np.float64))
        except ValueError:
            if trained == "number" or bool(np.isin(column, ["inf", "-inf"]).any()):
                raise
    return _read_objects(name, [None if c == "nan" else c for c in column.tolist()])


def _read_series(series: "nw.Series[Any]") -> RawColumn:
    dtype = series.dtype
    if dtype.is_numeric() or isinstance(dtype, _DATES):
        values = series.to_numpy()
        if values.dtype.kind == "M":
            return _read_dates(series.name, values)
        if values.dtype.kind != "O":
            return _read_numbers(series.name, values)
    elif isinstance(dtype, _CATEGORIES):
        cells = series.to_list()
        observed = find_observed(cells)
        kind: Kind | None = "category" if observed.any() else None
        return RawColumn(series.name, kind, as_objects(cells), observed)
    elif not isinstance(dtype, nw.Object):
        # Other types are not supported, unless nothing is observed.
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        if not missing.all():
            native = getattr(series.to_native(), "dtype", dtype)
            sparse = str(native).startswith("Sparse")
            advice = "Use X[column].sparse.to_dense()." if sparse else _ADVICE
            msg = (
                f"Got column {series.name!r} of dtype {native}, but expected numbers, "
                f"booleans, strings, categories or dates. {advice}"
            )
            raise TypeError(msg)
        return RawColumn(series.name, None, np.full(len(missing), np.nan), ~missing)
    return _read_objects(series.name, series.to_list())


def _read_numbers(name: Any, column: np.ndarray) -> RawColumn:
    values = column.astype(np.float64)
    if np.isinf(values).any():
        # For the message that users of scikit-learn know.
        assert_all_finite(values, allow_nan=True, input_name="X")
    observed = ~np.isnan(values)
    return RawColumn(name, "number" if observed.any() else None, values, observed)


def _read_dates(name: Any, column: np.ndarray) -> RawColumn:
    # Years and months have no fixed length.
    coarse = np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "generic")
    dates = column.astype("M8[D]") if coarse else column
    observed = ~np.isnat(dates)
    return RawColumn(name, "date" if observed.any() else None, dates, observed)


def _read_objects(name: Any, values: list[Any]) -> RawColumn:
    """Read a column of Python objects by the types of what is not missing.

    Numbers (also ``Decimal`` and booleans beside numbers) are numbers; booleans alone
    and strings are categories, also strings that look like numbers; dates are dates.
    """
    observed = find_observed(values)
    seen = [value for value, there in zip(values, observed, strict=True) if there]
    groups = {_group(kind, name) for kind in set(map(type, seen))}
    if not groups:
        return RawColumn(name, None, np.full(len(values), np.nan), observed)
    if groups <= {"bool", "number"} and "number" in groups:
        floats = np.full(len(values), np.nan)
        try:
            floats[observed] = [float(value) for value in seen]
        except OverflowError as error:
            msg = (
                f"Got a number beyond the range of floats in column {name!r}, but "
                f"expected at most 1.8e308. Divide the column, or take its logarithm."
            )
            raise ValueError(msg) from error
        return _read_numbers(name, floats)
    if groups == {"date"}:
        whole_days = all(type(value) is datetime.date for value in seen)
        dates = np.full(len(observed), "NaT", dtype="M8[D]" if whole_days else "M8[us]")
        dates[observed] = [
            value
            if getattr(value, "tzinfo", None) is None
            else value.astimezone(datetime.UTC).replace(tzinfo=None)
            for value in seen
        ]
        zone = getattr(seen[0], "tzinfo", None)
        return RawColumn(name, "date", dates, observed, zone)
    if len(groups) > 1:
        first = {_group(type(value), name): value for value in reversed(seen)}
        examples = " and ".join(repr(value) for value in first.values())
        msg = (
            f"Got column {name!r} with values of different kinds, such as {examples}, "
            f"but expected one kind. If the strings mark missing values, replace them "
            f"by NaN; if all are names of categories, convert the column to strings."
        )
        raise TypeError(msg)
    return RawColumn(name, "category", as_objects(values), observed)


def as_objects(values: list[Any]) -> np.ndarray:
    """Return a list as a 1d array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def find_observed(values: list[Any]) -> np.ndarray:
    """Return which of these Python objects are values, not None, NaN, NaT or NA."""
    # pandas is not imported here; where it is in use, its NA is known.
    not_available = getattr(sys.modules.get("pandas"), "NA", None)
    # Not a number (float, Decimal) and not a time are the scalars that aren't equal to
    # themselves.
    scalars = (numbers.Real, Decimal, np.generic, datetime.date)

    def is_missing(value: Any) -> bool:
        if value is None or value is not_available:
            return True
        if type(value) is float:
            return value != value
        return isinstance(value, scalars) and bool(value != value)

    found = [type(value) is str or not is_missing(value) for value in values]
    return np.array(found, dtype=bool)


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
    def from_cells(cls, raw: RawColumn, *, max_categories: int) -> Self:
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
        values = sorted(counts, key=lambda value: (_family(value) is str, value))
        pooled: tuple[Category, ...] = ()
        if len(values) > max_categories:
            by_frequency = sorted(values, key=lambda value: -counts[value])
            pooled = tuple(by_frequency[max_categories - 1 :])
        rare = set(pooled)
        kept = tuple(value for value in values if value not in rare)
        return cls(name, raw.kind, had_missing, categories=kept, pooled=pooled)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a column of what ``to_state`` returned."""
        several = {name: tuple(state[name]) for name in ("categories", "pooled")}
        return cls(**{**state, **several})

    def to_state(self) -> dict[str, Any]:
        """Return the column as JSON-able values."""
        return asdict(self)

    @property
    def size(self) -> int:
        """Number of categories, the pooled ones counting as one."""
        return len(self.categories) + bool(self.pooled)

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
            days: np.ndarray = (raw.values - np.datetime64(self.origin)) / _DAY
            return days
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
        dates: np.ndarray = origin + steps.astype(np.int64).astype(step.dtype)
        return dates

    def _mismatch(self, raw: RawColumn) -> TypeError:
        example = raw.values[raw.observed][:1].tolist()[0]
        expected = f"a {self.kind}, as in training"
        if self.kind == "category":
            first = (*self.categories, *self.pooled)[0]
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
