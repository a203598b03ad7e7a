"""Encode any table as the array of floats that a network takes, and fill it again."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Self, cast

import narwhals.stable.v2 as nw
import numpy as np
from scipy import stats
from sklearn.utils import assert_all_finite

from lacunet._validation import check_choice, check_positive_int
from lacunet.estimators._columns import (
    Category,
    Column,
    RawColumn,
    as_objects,
    as_table,
    category_of,
    read_columns,
    series_of,
)
from lacunet.estimators._scaling import (
    METHODS,
    Method,
    Scaling,
    fit_scaling,
    scaling_from_state,
)
from lacunet.exceptions import LacunetError, warn_user

Indicator = bool | Literal["auto"]

# Where scaled numbers are clipped, in standard deviations: an outlier must not dominate
# a network, nor what the other cells of its row are filled with.
FOR_NETWORKS = 5.0
FOR_TABLES = 50.0
# Significance level of the test for an indicator, over all columns of the table.
_SIGNIFICANCE = 0.01


class TableEncoder:
    """Encode tables with missing values as floats, NaN where a value is missing.

    First come the numbers and dates, in the order of the table and scaled; then the
    categories, each as a group of one-hot columns. A missing category is NaN in all
    columns of its group, and so is one that training has not seen.

    Parameters
    ----------
    max_categories : int, default=32
        Largest number of categories of a column; the rarest are pooled into the last.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to normal ones, or not at all.

    Attributes
    ----------
    columns : tuple of Column
        What is known of the columns of the training table.
    scaling : Scaling
        The scale of numbers and dates.
    n_numeric : int
        Number of numbers and dates.
    sizes : tuple of int
        Number of categories of each categorical column.
    sources : ndarray of int of shape (width,)
        The column of the table that each encoded column comes from.

    Examples
    --------
    >>> table = [[1.0, "a"], [None, "b"], [3.0, None]]
    >>> encoder = TableEncoder()
    >>> encoder.fit_transform(table)
    array([[-1.,  1.,  0.],
           [nan,  0.,  1.],
           [ 1., nan, nan]])
    >>> filled = np.array([[-1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.2, 0.8]])
    >>> encoder.restore(filled, table)
    array([[1.0, 'a'],
           [2.0, 'b'],
           [3.0, 'b']], dtype=object)
    """

    columns: tuple[Column, ...]
    scaling: Scaling

    def __init__(self, *, max_categories: int = 32, scale: Method = "standard") -> None:
        self.max_categories = max_categories
        self.scale = scale

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned."""
        try:
            encoder = cls(max_categories=state["max_categories"], scale=state["scale"])
            encoder._check_parameters()
            columns = tuple(Column.from_state(column) for column in state["columns"])
            encoder._set(columns, scaling_from_state(state["scaling"], encoder.scale))
            indices = [column.index for column in columns]
            if indices != list(range(len(indices))):
                msg = f"columns in the order {indices}"
                raise ValueError(msg)
            if len(encoder.scaling.centre) != encoder.n_numeric:
                n_scales = len(encoder.scaling.centre)
                msg = f"{n_scales} scales of {encoder.n_numeric} columns"
                raise ValueError(msg)
        except (KeyError, TypeError, ValueError) as error:
            msg = (
                f"Got a damaged schema of the table ({error!r}), but expected what the "
                f"model was saved with. Save the model again."
            )
            raise LacunetError(msg) from error
        return encoder

    def to_state(self) -> dict[str, Any]:
        """Return the fitted encoder as JSON-able values, without NaN."""
        return {
            "max_categories": int(self.max_categories),
            "scale": self.scale,
            "columns": [column.to_state() for column in self.columns],
            "scaling": self.scaling.to_state(),
        }

    def _check_parameters(self) -> None:
        check_positive_int(self.max_categories, "max_categories")
        check_choice(self.scale, METHODS, "scale")

    def _set(self, columns: tuple[Column, ...], scaling: Scaling) -> None:
        """Keep what was learned, and what follows from it."""
        self.columns = columns
        self.scaling = scaling
        numeric = [column for column in columns if column.kind != "category"]
        categories = [column for column in columns if column.kind == "category"]
        self.n_numeric = len(numeric)
        self.sizes = tuple(column.size for column in categories)
        indices = [column.index for column in (*numeric, *categories)]
        repeats = [1] * len(numeric) + list(self.sizes)
        self.sources = np.repeat(np.array(indices, dtype=np.intp), repeats)
        self._kinds = tuple(column.kind for column in columns)
        self._plain = all(kind == "number" for kind in self._kinds)
        self._empty = [column.index for column in columns if column.empty]
        # The first encoded column of each column that was complete in training.
        starts = np.cumsum([0, *repeats])[:-1]
        complete = [not columns[index].had_missing for index in indices]
        self._complete = starts[np.array(complete, dtype=bool)]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.sources)

    def fit(self, X: Any) -> Self:
        """Learn kinds, categories and scales of the columns."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any) -> np.ndarray:
        """Fit and encode at once, which reads the table once: (rows, width)."""
        self._check_parameters()
        cells = read_columns(as_table(X))
        columns = tuple(
            Column.from_cells(index, raw, max_categories=self.max_categories)
            for index, raw in enumerate(cells)
        )
        numbers = _numbers(columns, cells)
        self._set(columns, fit_scaling(numbers, self.scale))
        _warn_of_useless_columns(columns, cells)
        return self._encode(numbers, cells)

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table with the columns of the training table: (rows, width)."""
        table = X if type(X) is np.ndarray else as_table(X)
        if self._plain:
            array = table if isinstance(table, np.ndarray) else table.to_numpy()
            if array.ndim == 2 and array.dtype.kind in "fiu":
                return self._transform_floats(array)
        cells = self._read(as_table(table))
        return self._encode(_numbers(self.columns, cells), cells)

    def _transform_floats(self, X: np.ndarray) -> np.ndarray:
        """Encode an array of numbers without looking at single columns."""
        self._check_n_columns(X.shape[1])
        numbers = X.astype(np.float64)
        if np.isinf(numbers).any():
            # For the message that users of scikit-learn know.
            assert_all_finite(numbers, allow_nan=True, input_name="X")
        if self._empty:
            numbers[:, self._empty] = np.nan
        return self.scaling.transform(numbers)

    def _read(self, table: "np.ndarray | nw.DataFrame[Any]") -> list[RawColumn]:
        self._check_n_columns(table.shape[1])
        return read_columns(table, self._kinds)

    def _check_n_columns(self, n_columns: int) -> None:
        if n_columns != len(self.columns):
            msg = (
                f"Got a table of {n_columns} columns, but expected "
                f"{len(self.columns)}, as in training."
            )
            raise ValueError(msg)

    def _encode(self, numbers: np.ndarray, cells: list[RawColumn]) -> np.ndarray:
        encoded = np.empty((len(numbers), self.width))
        encoded[:, : self.n_numeric] = self.scaling.transform(numbers)
        start = self.n_numeric
        for column, raw in zip(self.columns, cells, strict=True):
            if column.kind == "category":
                codes = column.codes_of(raw)
                group = encoded[:, start : start + column.size]  # (rows, categories)
                group[:] = np.where(codes[:, None] < 0, np.nan, 0.0)
                seen = np.flatnonzero(codes >= 0)
                group[seen, codes[seen]] = 1.0
                start += column.size
        return encoded

    def restore(
        self,
        encoded: np.ndarray,
        X: Any,
        adjust: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Any:
        """Fill the missing values of a table from a complete encoded table.

        Numbers come back to their own units, rounded where the column holds integers;
        dates are rounded to the column's own resolution; of a category the one with the
        largest entry is taken (for the pooled ones the most frequent of them). A column
        with nothing observed in training stays missing. Observed cells, names and
        dtypes are kept. ``adjust`` maps numbers in their own units to better ones.
        """
        table = as_table(X)
        cells = self._read(table)
        if encoded.shape != (len(table), self.width) or np.isnan(encoded).any():
            msg = (
                f"Got encoded of shape {encoded.shape} with "
                f"{int(np.isnan(encoded).sum())} missing values, but expected "
                f"({len(table)}, {self.width}) without any."
            )
            raise ValueError(msg)
        numbers = self.scaling.inverse(encoded[:, : self.n_numeric])
        if adjust is not None:
            numbers = adjust(numbers)
        fills = []
        for column, raw in zip(self.columns, cells, strict=True):
            rows = np.flatnonzero(~raw.observed)
            if len(rows) and not column.empty:
                place = np.flatnonzero(self.sources == column.index)
                category = column.kind == "category"
                values = encoded[:, place] if category else numbers[:, place[0]]
                fills.append(_Fill(column, raw, rows, values[rows]))
        if isinstance(table, np.ndarray):
            return _fill_array(table, fills)
        return _fill_frame(table, fills)

    def missing(self, X: Any) -> np.ndarray:
        """Return where values are missing, (rows, columns); not: unseen categories."""
        return np.stack([~raw.observed for raw in self._read(as_table(X))], axis=1)

    def unseen_missing(self, encoded: np.ndarray) -> tuple[str | int, ...]:
        """Return the columns with missing values here that had none in training."""
        if not len(self._complete):
            return ()
        missing = np.isnan(encoded[:, self._complete]).any(0)
        found = self.sources[self._complete[missing]]
        return tuple(self.columns[index].name for index in found)


def _numbers(columns: tuple[Column, ...], cells: list[RawColumn]) -> np.ndarray:
    """Return numbers and dates, (rows, numeric columns)."""
    values = [
        column.numbers_of(raw)
        for column, raw in zip(columns, cells, strict=True)
        if column.kind != "category"
    ]
    if not values:
        return np.empty((len(cells[0].values) if cells else 0, 0))
    return np.stack(values, axis=1)


def _warn_of_useless_columns(
    columns: tuple[Column, ...], cells: list[RawColumn]
) -> None:
    """Name the columns without a value, or with one value only."""
    empty = [column.name for column in columns if column.empty]
    if empty:
        msg = (
            f"Got columns without one observed value: {empty}. They are kept and count "
            f"as missing in every row, also where later data have values."
        )
        warn_user(msg)
    pairs = zip(columns, cells, strict=True)
    constant = [column.name for column, raw in pairs if _is_constant(column, raw)]
    if constant and len(cells[0].values) > 1:
        msg = (
            f"Got columns with one value only: {constant}. They are kept as they are, "
            f"but nothing can be learned from them, unless from where they are missing."
        )
        warn_user(msg)


def _is_constant(column: Column, raw: RawColumn) -> bool:
    """Return whether a column has one value, but not zero: indicators, borders."""
    if column.kind == "category":
        values = (*column.categories, *column.pooled)
        return len(values) == 1 and bool(values[0])
    if column.empty:
        return False
    seen = raw.values[raw.observed]
    is_zero = column.kind == "number" and seen[0] == 0
    return bool((seen == seen[0]).all()) and not is_zero


# --- what networks are given beside the table


class InputEncoder:
    """A table encoder that also clips numbers, and may add missing-value indicators.

    An indicator is a category of two values that is always known: the density learns
    how often the value is missing in each component, and the network gets a weight for
    it. ``marked`` are the columns of the table that have one.
    """

    def __init__(self, table: TableEncoder, marked: np.ndarray) -> None:
        self.table = table
        self.marked = np.asarray(marked, dtype=np.intp)
        self.n_numeric = table.n_numeric
        # Of the categories, and then of the indicators.
        self.sizes = (*table.sizes, *[2] * len(self.marked))
        # The column of the table that each input comes from, -1 for indicators.
        marks = np.full(2 * len(self.marked), -1)
        self.sources = np.concatenate([table.sources, marks])
        # One encoded column of each marked one: a category is missing as a whole.
        columns, places = np.unique(table.sources, return_index=True)
        kinds = [table.columns[index].kind for index in self.marked]
        self._marks_categories = "category" in kinds
        self._places = places[np.searchsorted(columns, self.marked)]

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned."""
        return cls(TableEncoder.from_state(state["table"]), np.array(state["marked"]))

    def to_state(self) -> dict[str, Any]:
        """Return the encoder as JSON-able values."""
        return {"table": self.table.to_state(), "marked": self.marked.tolist()}

    def transform(self, X: Any, *, farthest: float = FOR_NETWORKS) -> np.ndarray:
        """Encode a table, with indicators, as (rows, width)."""
        encoded = self.table.transform(X)
        missing = None
        if self._marks_categories:
            # A category that training has not seen is encoded as missing, but is not.
            missing = self.table.missing(X)[:, self.marked]
        return self.add_marks(encoded, missing, farthest=farthest)

    def add_marks(
        self,
        encoded: np.ndarray,
        missing: np.ndarray | None = None,
        *,
        farthest: float = FOR_NETWORKS,
    ) -> np.ndarray:
        """Clip the numbers of an encoded table, in place, and add the indicators."""
        if self.table.scale != "none":
            numbers = encoded[:, : self.n_numeric]
            np.clip(numbers, -farthest, farthest, out=numbers)
        if not len(self.marked):
            return encoded
        if missing is None:
            missing = np.isnan(encoded[:, self._places])  # (rows, marked)
        marks = np.stack([~missing, missing], axis=2).reshape(len(encoded), -1)
        return np.hstack([encoded, marks])


def choose_marked(
    indicator: Indicator,
    table: TableEncoder,
    encoded: np.ndarray,
    targets: np.ndarray,
    *,
    classes: bool,
) -> np.ndarray:
    """Return the columns that get an indicator.

    With "auto", those whose missingness is associated with the target, by a test at 1%
    for the whole table.
    """
    columns, places = np.unique(table.sources, return_index=True)
    missing = np.isnan(encoded[:, places])  # (rows, columns)
    varying = missing.any(0) & ~missing.all(0)
    if indicator is False or not varying.any():
        return np.empty(0, dtype=np.intp)
    if indicator == "auto":
        p_values = np.ones(len(columns))
        for index in np.flatnonzero(varying):
            p_values[index] = _p_value(missing[:, index], targets, classes=classes)
        varying &= p_values < _SIGNIFICANCE / varying.sum()
    marked: np.ndarray = columns[varying]
    return marked


def _p_value(missing: np.ndarray, targets: np.ndarray, *, classes: bool) -> float:
    """Return the p-value of no association between missingness and targets."""
    if classes:
        if len(np.unique(targets)) < 2:
            return 1.0
        counts = stats.contingency.crosstab(missing, targets).count
        return float(stats.chi2_contingency(counts).pvalue)
    outputs = targets.reshape(len(targets), -1)
    of_outputs = stats.mannwhitneyu(outputs[missing], outputs[~missing], axis=0).pvalue
    return float(np.min(of_outputs)) * outputs.shape[1]


# --- filling a table in its own types


class _Fill(NamedTuple):
    """What goes into the missing cells of one column of the table to fill."""

    column: Column
    raw: RawColumn
    rows: np.ndarray  # (missing,)
    # Numbers in the data's own units or days since the first date, (missing,); or
    # probabilities of the categories, (missing, categories).
    values: np.ndarray

    def is_textual(self) -> bool:
        """Return whether the column's categories are strings."""
        values = (*self.column.categories, *self.column.pooled)
        return any(isinstance(value, str) for value in values)

    def categories(self, known: Mapping[Any, Any] | None = None) -> list[Any]:
        """Return the likeliest category of each cell, among the known ones if given."""
        # A pooled category stands for the most frequent of them.
        choices: list[tuple[Category, ...]] = [(c,) for c in self.column.categories]
        choices += [self.column.pooled] if self.column.pooled else []
        if known is None:
            names: list[Any] = [choice[0] for choice in choices]
        else:
            names = [
                next((known[value] for value in choice if value in known), None)
                for choice in choices
            ]
        possible = [name is not None for name in names]
        if not any(possible):
            msg = (
                f"Got column {self.raw.name!r} with categories {list(known or ())}, "
                f"but expected one of training, such as {choices[0][0]!r}, to fill "
                f"its missing values with. Add them to the column's categories."
            )
            raise ValueError(msg)
        best = np.where(possible, self.values, -np.inf).argmax(1)
        return [names[code] for code in best]

    def numbers(self) -> np.ndarray:
        """Return a number for each cell, also where categories are numbers."""
        if self.column.kind != "category":
            return self.values
        return np.array([float(value) for value in self.categories()])

    def dates(self) -> np.ndarray:
        """Return a date for each cell, in the resolution of the column."""
        unit = "us" if "T" in str(self.column.origin) else "D"
        if self.raw.kind == "date":
            unit = np.datetime_data(self.raw.values.dtype)[0]
        return self.column.dates_of(self.values, unit)

    def objects(self) -> list[Any]:
        """Return a Python value for each cell: a number, a category or a date."""
        if self.column.kind == "number":
            return cast("list[Any]", self.values.tolist())
        if self.column.kind == "category":
            return self.categories()
        dates = self.dates().tolist()
        if self.raw.zone is None:
            return cast("list[Any]", dates)
        in_utc = [date.replace(tzinfo=datetime.UTC) for date in dates]
        return [date.astimezone(self.raw.zone) for date in in_utc]


def _fill_array(array: np.ndarray, fills: Iterable[_Fill]) -> np.ndarray:
    """Fill an array; a float array that must hold strings or dates becomes objects."""
    kind = array.dtype.kind
    fills = list(fills)
    textual = any(f.column.kind == "date" or f.is_textual() for f in fills)
    if not fills or kind == "M" or (kind == "f" and not textual):
        filled = array.copy()
    else:
        filled = array.astype(object)
    for fill in fills:
        if kind == "M":
            values: Any = fill.dates()
        elif filled.dtype.kind == "f":
            largest = np.finfo(array.dtype).max
            values = fill.numbers().clip(-largest, largest)
        else:
            values = fill.objects()
        filled[fill.rows, fill.column.index] = values
    # Strings may need more room than they had.
    return filled.astype(str) if fills and kind == "U" else filled


def _fill_frame(frame: "nw.DataFrame[Any]", fills: Iterable[_Fill]) -> Any:
    """Fill a frame.

    A column of the wrong dtype with nothing observed (NaN where strings were in
    training) takes that of its values.
    """
    changed = {fill.column.index: fill for fill in fills}
    filled = []
    for index, series in enumerate(series_of(frame)):
        fill = changed.get(index)
        if fill:
            filled.append(_fill_series(series, fill))
    return (frame.with_columns(*filled) if filled else frame.clone()).to_native()


def _fill_series(series: "nw.Series[Any]", fill: _Fill) -> "nw.Series[Any]":
    dtype = series.dtype
    known = _known_categories(series)
    if fill.raw.kind is None and not _can_hold(series, fill):
        backend = series.implementation
        return nw.new_series(series.name, fill.objects(), backend=backend)
    if dtype.is_numeric():
        return _place(series, fill.rows, _numbers_for(dtype, fill.numbers()))
    if isinstance(dtype, nw.Boolean):
        return _place(series, fill.rows, (fill.numbers() >= 0.5).tolist())
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        return _place_dates(series, fill)
    if known is not None:
        return _scatter(series, fill.rows, fill.categories(known))
    if isinstance(dtype, nw.Object):
        return _scatter(series, fill.rows, as_objects(fill.objects()))
    return _place(series, fill.rows, fill.categories())


def _can_hold(series: "nw.Series[Any]", fill: _Fill) -> bool:
    dtype, kind = series.dtype, fill.column.kind
    if isinstance(dtype, nw.Object):
        return True
    if kind == "date":
        return isinstance(dtype, (nw.Date, nw.Datetime))
    known = _known_categories(series)
    if known is not None:
        values = (*fill.column.categories, *fill.column.pooled)
        return not known.keys().isdisjoint(values)
    if fill.is_textual():
        return isinstance(dtype, (nw.String, nw.Categorical))
    return dtype.is_numeric() or isinstance(dtype, nw.Boolean)


def _known_categories(series: "nw.Series[Any]") -> dict[Any, Any] | None:
    """Return the only categories a column can hold, None if it can hold others."""
    fixed = isinstance(series.dtype, nw.Enum) or (
        isinstance(series.dtype, nw.Categorical)
        and series.implementation.is_pandas_like()
    )
    if not fixed:
        return None
    return {
        category_of(value): value for value in series.cat.get_categories().to_list()
    }


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


def _place_dates(series: "nw.Series[Any]", fill: _Fill) -> "nw.Series[Any]":
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
