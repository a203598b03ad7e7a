"""Encode any table as the array of floats that a network takes, and fill it again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri
from sklearn.utils import assert_all_finite

from lacunet._validation import check_choice, check_positive_int
from lacunet.estimators._columns import (
    Column,
    Fill,
    RawColumn,
    as_table,
    fill_table,
    read_columns,
)
from lacunet.estimators._densities import fill_bounded
from lacunet.estimators._recipe import RECIPE
from lacunet.exceptions import warn_user

Floats = NDArray[np.float64]
Indicator = bool | Literal["auto"]
Method = Literal["auto", "standard", "robust", "quantile", "none"]
METHODS = get_args(Method)

# Where scaled numbers are clipped, in standard deviations: an outlier must not dominate
# a network, nor what the other cells of its row are filled with.
FOR_NETWORKS = 5.0
FOR_TABLES = 50.0
# Significance level of the test for an indicator, over all columns of the table.
_SIGNIFICANCE = 0.01
# Fewest rows with and without a value for an indicator: one that was learned from the
# 19 of 4,240 rows without BMI in a cohort raised the mean risk from 0.16 to 0.26 when
# BMI was missing, and made BMI the most important column, which it is not.
_FEWEST_ROWS = 30
# Scaled values are clipped at this: a typing error in the data would be an infinity in
# a network's float32.
LIMIT = 1e9
_LARGEST = np.finfo(np.float64).max
# A quantile map has at most twice as many knots.
_HALF_OF_KNOTS = 64
# Values further out are outliers: in standard deviations of a normal distribution with
# the column's quartiles.
_OUTLIER = 20.0
# The interquartile range of the standard normal distribution.
_NORMAL_IQR = 1.3489795003921634


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
    scaling: "Scaling"
    nonnegative: np.ndarray  # which numbers had no negative value, bool

    def __init__(self, *, max_categories: int = 32, scale: Method = "standard") -> None:
        self.max_categories = max_categories
        self.scale = scale

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned."""
        encoder = cls(max_categories=state["max_categories"], scale=state["scale"])
        encoder._set_columns([Column.from_state(column) for column in state["columns"]])
        encoder.scaling = scaling_from_state(state["scaling"], encoder.n_numeric)
        # Models of 0.1.0 have no such record.
        flags = state.get("nonnegative", [False] * encoder.n_numeric)
        if [type(flag) for flag in flags] != [bool] * encoder.n_numeric:
            msg = f"expected {encoder.n_numeric} booleans as 'nonnegative'"
            raise ValueError(msg)
        encoder.nonnegative = np.array(flags, dtype=bool)
        return encoder

    @classmethod
    def from_columns(
        cls,
        columns: Sequence[Column],
        numbers: np.ndarray,
        *,
        max_categories: int,
        scale: Method,
        constant: Sequence[str | int] = (),
    ) -> Self:
        """Make an encoder of columns that were described elsewhere.

        ``numbers`` are values, in any number of rows, whose quantiles are those of the
        numeric columns; ``constant`` are the columns with one value only.
        """
        encoder = cls(max_categories=max_categories, scale=scale)
        encoder._set_columns(columns)
        encoder.scaling = fit_scaling(numbers, scale)
        lowest = np.fmin.reduce(numbers, axis=0, initial=np.inf)
        encoder.nonnegative = lowest >= 0
        encoder._warn_of_useless_columns(constant)
        return encoder

    def to_state(self) -> dict[str, Any]:
        """Return the fitted encoder as JSON-able values, without NaN."""
        return {
            "max_categories": int(self.max_categories),
            "scale": self.scale,
            "columns": [asdict(column) for column in self.columns],
            "scaling": self.scaling.to_state(),
            "nonnegative": self.nonnegative.tolist(),
        }

    def _set_columns(self, columns: Sequence[Column]) -> None:
        """Keep the columns, and what follows from them."""
        self.columns = tuple(columns)
        self._kinds = kinds = [column.kind for column in columns]
        numeric = [i for i, kind in enumerate(kinds) if kind != "category"]
        categories = [i for i, kind in enumerate(kinds) if kind == "category"]
        self.n_numeric = len(numeric)
        self.sizes = tuple(columns[i].size for i in categories)
        order = np.array([*numeric, *categories], dtype=np.intp)
        repeats = [*[1] * len(numeric), *self.sizes]
        self.sources = np.repeat(order, repeats)
        # The first encoded column of each column of the table.
        self.starts = np.empty(len(columns), dtype=np.intp)
        self.starts[order] = np.cumsum([0, *repeats])[:-1]
        self._plain = all(kind == "number" for kind in kinds)
        self._empty = [i for i, column in enumerate(columns) if column.empty]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.sources)

    def fit(self, X: Any) -> Self:
        """Learn kinds, categories and scales of the columns."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, bounds: "Bounds | None" = None) -> np.ndarray:
        """Fit and encode at once, which reads the table once: (rows, width)."""
        check_positive_int(self.max_categories, "max_categories")
        cells = read_columns(as_table(X))
        most = self.max_categories
        self._set_columns([Column.from_cells(raw, most) for raw in cells])
        numbers = self._numbers(cells)
        lowest = np.fmin.reduce(numbers, axis=0, initial=np.inf)
        self.nonnegative = lowest >= 0
        measured = numbers
        if bounds is not None:
            self.nonnegative &= ~(bounds.upper[:, self._places] <= 0).any(0)
            measured = fill_bounded(numbers, *self._place(numbers, bounds))
        self.scaling = fit_scaling(measured, self.scale)
        constant = []
        for column, raw in zip(self.columns, cells, strict=True):
            seen = raw.values[raw.observed]
            # Zero and False are indicators of something rare, borders of images.
            if len(raw.values) > 1 and len(seen) and (seen == seen[0]).all():
                constant += [column.name] if column.kind == "date" or seen[0] else []
        self._warn_of_useless_columns(constant)
        return self._encode(numbers, cells)

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table with the columns of the training table: (rows, width)."""
        return self.encode(X)[0]

    def encode(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the encoded table, and where a value is missing: (rows, columns).

        A category that training has not seen is encoded as missing, but is not.
        """
        table = as_table(X)
        if self._plain:
            # All at once, without looking at single columns.
            array = table if isinstance(table, np.ndarray) else table.to_numpy()
            if array.dtype.kind in "fiu":
                numbers = array.astype(np.float64)
                if np.isinf(numbers).any():
                    # For the message that users of scikit-learn know.
                    assert_all_finite(numbers, allow_nan=True, input_name="X")
                missing = np.isnan(numbers)
                numbers[:, self._empty] = np.nan
                return self.scaling.transform(numbers), missing
        cells = read_columns(table, self._kinds)
        missing = np.stack([~raw.observed for raw in cells], axis=1)
        return self._encode(self._numbers(cells), cells), missing

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
        numbers = self.scaling.inverse(encoded[:, : self.n_numeric])
        if adjust is not None:
            numbers = adjust(numbers)
        fills = {}
        for index, raw in enumerate(read_columns(table, self._kinds)):
            column, start = self.columns[index], self.starts[index]
            rows = np.flatnonzero(~raw.observed)
            if len(rows) and not column.empty:
                if column.kind == "category":
                    values = encoded[rows, start : start + column.size]
                else:
                    values = numbers[rows, start]
                fills[index] = Fill(column, raw, rows, values)
        return fill_table(table, fills)

    def numbers_of(self, X: Any) -> np.ndarray:
        """Return numbers and dates in their own units, (rows, numeric columns)."""
        return self._numbers(read_columns(as_table(X), self._kinds))

    @property
    def _places(self) -> np.ndarray:
        """The column of the table that each number comes from."""
        places: np.ndarray = self.sources[: self.n_numeric]
        return places

    def place_bounds(self, X: Any, bounds: "Bounds | None") -> "Bounds | None":
        """Return the bounds of the numbers that are missing, (rows, numeric columns).

        Those of observed values are checked and left out; None if none is left. Where
        there is no lower bound, it is 0 in a column that has no negative value.
        """
        if bounds is None:
            return None
        placed = self._place(self.numbers_of(X), bounds)
        return None if np.isnan(placed).all() else placed

    def without_bounded(
        self, missing: np.ndarray, bounds: "Bounds | None"
    ) -> np.ndarray:
        """Return which cells are missing, (rows, columns), and not known by a bound."""
        if bounds is None:
            return missing
        unknown = missing.copy()
        unknown[:, self._places] &= np.isnan(bounds).all(0)
        return unknown

    def _place(self, numbers: np.ndarray, bounds: "Bounds") -> "Bounds":
        given = ~(np.isnan(bounds.lower) & np.isnan(bounds.upper))
        for column, found in zip(self.columns, given.any(0), strict=True):
            if found and column.kind != "number":
                what = "categories" if column.kind == "category" else "dates"
                msg = (
                    f"Got bounds of column {column.name!r}, which holds {what}, but "
                    f"expected bounds of numbers only."
                )
                raise ValueError(msg)
        lower, upper = (end[:, self._places].copy() for end in bounds)
        wrong = (lower > upper) | (numbers < lower) | (numbers > upper)
        if wrong.any():
            row, place = np.argwhere(wrong)[0].tolist()
            name = self.columns[self._places[place]].name
            msg = (
                f"Got lower={lower[row, place]:g} and upper={upper[row, place]:g} for "
                f"the value {numbers[row, place]:g} of column {name!r} in row {row}, "
                f"but expected lower <= upper, and an observed value between them."
            )
            raise ValueError(msg)
        unknown = np.isnan(numbers)
        unknown[:, [self.columns[index].empty for index in self._places]] = False
        floor = unknown & np.isnan(lower) & ~np.isnan(upper) & self.nonnegative
        lower = np.where(floor & (upper >= 0), 0.0, lower)
        return Bounds(*(np.where(unknown, end, np.nan) for end in (lower, upper)))

    def _numbers(self, cells: list[RawColumn]) -> np.ndarray:
        """Return numbers and dates in their own units, (rows, numeric columns)."""
        numbers = np.empty((len(cells[0].values), self.n_numeric))
        for place, index in enumerate(self.sources[: self.n_numeric]):
            numbers[:, place] = self.columns[index].numbers_of(cells[index])
        return numbers

    def _encode(self, numbers: np.ndarray, cells: list[RawColumn]) -> np.ndarray:
        encoded = np.empty((len(numbers), self.width))
        encoded[:, : self.n_numeric] = self.scaling.transform(numbers)
        for column, raw, start in zip(self.columns, cells, self.starts, strict=True):
            if column.kind == "category":
                codes = column.codes_of(raw)
                group = encoded[:, start : start + column.size]  # (rows, categories)
                group[:] = np.where(codes[:, None] < 0, np.nan, 0.0)
                seen = np.flatnonzero(codes >= 0)
                group[seen, codes[seen]] = 1.0
        return encoded

    def _warn_of_useless_columns(self, constant: Sequence[str | int]) -> None:
        """Name the columns without a value, and those with one value only."""
        empty = [column.name for column in self.columns if column.empty]
        if empty:
            msg = (
                f"Got columns without one observed value: {empty}. They are kept and "
                f"count as missing in every row, also where later data have values."
            )
            warn_user(msg)
        if constant:
            msg = (
                f"Got columns with one value only: {list(constant)}. They are kept as "
                f"they are, but nothing can be learned from them, unless from where "
                f"they are missing."
            )
            warn_user(msg)


# --- what networks are given beside the table


def clip_numbers(numbers: Floats, farthest: float, *, smooth: bool = False) -> Floats:
    """Clip scaled numbers at ±farthest, or let them grow as a logarithm.

    The smooth clip begins at ``0.6 * farthest``, is ``knee + log(1 + x - knee)`` from
    there on, which keeps order and slope, and ends at ``2 * farthest``: without an end,
    two slips of 1e12 in 400 rows cost a classifier 0.65 in log-loss instead of 0.39.
    """
    if not smooth:
        return numbers.clip(-farthest, farthest)
    knee = 0.6 * farthest
    size = np.abs(numbers)
    beyond = np.log1p(np.maximum(size - knee, 0.0))  # NaN stays
    size = (np.minimum(size, knee) + beyond).clip(max=2 * farthest)
    return np.copysign(size, numbers)


class Bounds(NamedTuple):
    """Bounds of cells in their own units, NaN where there is none: (rows, columns)."""

    lower: np.ndarray
    upper: np.ndarray


class InputEncoder:
    """A table encoder that also clips numbers, and may add missing-value indicators.

    An indicator is a category of two values that is always known: the density learns
    how often the value is missing in each component, and the network gets a weight for
    it. ``marked`` are the columns of the table that have one. Behind these are such of
    whether a number is known by a bound alone, for the columns that are ``bounded``: a
    missing number may be either, so that its indicator is missing, too, unless there is
    one of missing numbers beside it. Those that are
    ``always_known`` had a value or a bound in each row of training.
    """

    def __init__(
        self,
        table: TableEncoder,
        marked: np.ndarray,
        bounded: np.ndarray | Sequence[int] = (),
        always_known: np.ndarray | Sequence[int] | None = None,
        *,
        smooth: bool = True,
    ) -> None:
        self.table = table
        self.smooth = smooth
        self.marked = np.asarray(marked, dtype=np.intp)
        self.bounded = np.asarray(bounded, dtype=np.intp)
        if always_known is None:
            columns = enumerate(table.columns)
            always_known = [i for i, column in columns if not column.had_missing]
        self.always_known = np.asarray(always_known, dtype=np.intp)
        self.n_numeric = table.n_numeric
        # Of the categories, and then of the indicators.
        self.sizes = (*table.sizes, *[2] * (len(self.marked) + len(self.bounded)))
        # The column of the table that each input comes from, -1 for what no hidden
        # value hides.
        of_missing = np.full(2 * len(self.marked), -1)
        of_bounded = np.repeat(self.bounded, 2)
        self.sources = np.concatenate([table.sources, of_missing, of_bounded])

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned."""
        table = TableEncoder.from_state(state["table"])
        # Earlier versions knew of no bounds.
        places = state["marked"], state.get("bounded", ()), state.get("always_known")
        return cls(table, *places, smooth=bool(state["smooth"]))

    def to_state(self) -> dict[str, Any]:
        """Return the encoder as JSON-able values."""
        return {
            "table": self.table.to_state(),
            "marked": self.marked.tolist(),
            "bounded": self.bounded.tolist(),
            "always_known": self.always_known.tolist(),
            "smooth": self.smooth,
        }

    def transform(
        self, X: Any, bounds: Bounds | None = None, *, farthest: float = FOR_NETWORKS
    ) -> np.ndarray:
        """Encode a table, with indicators, as (rows, width).

        ``farthest`` is where numbers are clipped, in standard deviations; those of a
        ``smooth`` encoder grow as a logarithm up to twice that. With ``bounds``, from
        ``place_bounds``, these come behind it.
        """
        encoded, missing = self.table.encode(X)
        return self.add_marks(encoded, missing, bounds, farthest=farthest)

    def add_marks(
        self,
        encoded: np.ndarray,
        missing: np.ndarray | None = None,
        bounds: Bounds | None = None,
        *,
        farthest: float = FOR_NETWORKS,
    ) -> np.ndarray:
        """Clip the numbers of an encoded table, in place; add indicators and bounds.

        ``missing`` is where the table lacks a value, (rows, columns); as in ``encoded``
        if not given.
        """

        def clip(numbers: np.ndarray) -> np.ndarray:
            if self.table.scale == "none":
                return numbers
            return clip_numbers(numbers, farthest, smooth=self.smooth)

        encoded[:, : self.n_numeric] = clip(encoded[:, : self.n_numeric])
        x = self.mark(encoded, missing, bounds)
        if bounds is None:
            return x
        low, high = (clip(self.table.scaling.transform(end)) for end in bounds)
        same = low == high  # then that is the value
        x[:, : self.n_numeric][same] = low[same]
        low[same] = high[same] = np.nan
        return np.hstack([x, low, high])

    def mark(
        self,
        clipped: np.ndarray,
        missing: np.ndarray | None = None,
        bounds: Bounds | None = None,
    ) -> np.ndarray:
        """Add the indicators to encoded rows whose numbers are clipped."""
        parts = [clipped]
        if len(self.marked):
            if missing is None:
                missing = np.isnan(clipped[:, self.table.starts])
            unknown = self.table.without_bounded(missing, bounds)[:, self.marked]
            parts.append(one_hot(unknown))
        if len(self.bounded):
            places = self.table.starts[self.bounded]  # numbers come first
            missing = np.isnan(clipped[:, places])
            inside = np.zeros_like(missing)
            if bounds is not None:
                lower, upper = bounds
                inside = ~(np.isnan(lower) & np.isnan(upper))[:, places]
            either = missing & ~inside & ~np.isin(self.bounded, self.marked)
            marks = one_hot(inside).astype(clipped.dtype)
            marks[np.repeat(either, 2, axis=1)] = np.nan
            parts.append(marks)
        return np.hstack(parts, dtype=clipped.dtype) if len(parts) > 1 else clipped

    def find_missing(self, x: np.ndarray) -> np.ndarray:
        """Return which cells are missing in encoded rows, and not known by a bound."""
        missing = np.asarray(np.isnan(x[:, self.table.starts]))
        behind = x[:, len(self.sources) :]
        if not behind.shape[1]:
            return missing
        return self.table.without_bounded(missing, Bounds(*np.hsplit(behind, 2)))


def one_hot(flags: np.ndarray) -> np.ndarray:
    """Return a pair for each of (rows, columns), one of False and one of True."""
    pairs = np.stack([~flags, flags], axis=2)
    return np.asarray(pairs.reshape(len(flags), -1))


def choose_bounded(
    indicator: Indicator, table: TableEncoder, bounds: Bounds | None
) -> np.ndarray:
    """Return the columns that get an indicator of where a bound alone is known.

    With "auto", those with enough such values: their expected response is that of a
    distribution nobody has seen.
    """
    if bounds is None or not indicator:
        return np.empty(0, dtype=np.intp)
    counts = (~np.isnan(bounds).all(0)).sum(0)  # of each number
    many = counts >= (_FEWEST_ROWS if indicator == "auto" else 1)
    return np.asarray(table.sources[: table.n_numeric][many])


def choose_marked(
    indicator: Indicator,
    missing: np.ndarray,
    targets: np.ndarray,
    bounded: np.ndarray | Sequence[int] = (),
    *,
    classes: bool,
) -> np.ndarray:
    """Return the columns that get an indicator of where they are missing.

    With "auto", those whose missingness is associated with the target, by a test at 1%
    for the whole table, if there are enough rows with and without the value; and those
    with one of bounds, to tell what is missing from what is out of bounds.
    """
    if not indicator:
        return np.empty(0, dtype=np.intp)
    fewest = np.minimum(missing.sum(0), (~missing).sum(0))
    chosen = fewest >= (_FEWEST_ROWS if indicator == "auto" else 1)
    if indicator == "auto":
        level = _SIGNIFICANCE / max(1, chosen.sum())
        for index in np.setdiff1d(np.flatnonzero(chosen), bounded):
            p_value = _p_value(missing[:, index], targets, classes=classes)
            chosen[index] = p_value < level
    return np.flatnonzero(chosen)


def _p_value(missing: np.ndarray, targets: np.ndarray, *, classes: bool) -> float:
    """Return the p-value of no association between missingness and targets."""
    if classes:
        if len(np.unique(targets)) < 2:
            return 1.0
        counts = stats.contingency.crosstab(missing, targets).count
        return float(stats.chi2_contingency(counts).pvalue)
    p_values = []
    for output in targets.reshape(len(targets), -1).T:
        sides = [output[side & ~np.isnan(output)] for side in (missing, ~missing)]
        known = all(map(len, sides))
        p_values.append(stats.mannwhitneyu(*sides).pvalue if known else 1.0)
    return float(min(p_values)) * len(p_values)


# --- the scale of numbers
#
# By hand: scikit-learn's scalers overflow on columns of 1e300, round by the order of
# the rows, let a single slip of 1e9 determine the scale, and map the largest value of
# any column to 5.2 normal quantiles and all beyond to the same.


@dataclass(frozen=True)
class Affine:
    """Centre and scale of each column, in its own units."""

    centre: Floats  # (columns,)
    scale: Floats  # (columns,)

    def transform(self, values: Floats) -> Floats:
        """Subtract the centre and divide by the scale: (rows, columns)."""
        with np.errstate(over="ignore"):
            return ((values - self.centre) / self.scale).clip(-LIMIT, LIMIT)

    def inverse(self, values: Floats) -> Floats:
        """Multiply by the scale and add the centre."""
        with np.errstate(over="ignore"):
            return (values * self.scale + self.centre).clip(-_LARGEST, _LARGEST)

    def to_state(self) -> dict[str, Any]:
        """Return the map as JSON-able values."""
        return {"centre": self.centre.tolist(), "scale": self.scale.tolist()}


@dataclass(frozen=True)
class Quantiles:
    """A piecewise linear map of each column's quantiles to those of the normal.

    Beyond the outer knots it goes on with the mean slope of the column, so it is
    strictly monotone everywhere and neither flat nor steep where there were no data.
    """

    unit: Floats  # powers of two, (columns,)
    knots: tuple[Floats, ...]  # increasing values divided by unit, for each column
    heights: tuple[Floats, ...]  # what the knots are mapped to, increasing

    def transform(self, values: Floats) -> Floats:
        """Map each value to the normal quantile of its rank: (rows, columns)."""
        with np.errstate(over="ignore"):
            scaled = values / self.unit
        for column, (knots, heights) in zip(scaled.T, self._lines, strict=True):
            column[:] = np.interp(column, knots, heights)
        return scaled

    def inverse(self, values: Floats) -> Floats:
        """Map normal quantiles back to values."""
        scaled = values.astype(np.float64)
        for column, (knots, heights) in zip(scaled.T, self._lines, strict=True):
            column[:] = np.interp(column, heights, knots)
        with np.errstate(over="ignore"):
            return (scaled * self.unit).clip(-_LARGEST, _LARGEST)

    @cached_property
    def _lines(self) -> list[tuple[Floats, Floats]]:
        """Knots and heights with further ones on both sides, up to the limit."""
        far = np.array([100.0, LIMIT])  # the nearer for the precision of np.interp
        lines = []
        for x, z, unit in zip(self.knots, self.heights, self.unit, strict=True):
            # A column of one value is on its own scale, as long as knots differ.
            slope = min(unit, 2.0**40)
            if len(x) > 1:
                slope = (z[-1] - z[0]) / (x[-1] - x[0])
            with np.errstate(over="ignore"):
                low = x[0] - (far[::-1] + z[0]) / slope
                high = x[-1] + (far - z[-1]) / slope
            lines.append((np.r_[low, x, high], np.r_[-far[::-1], z, far]))
        return lines

    def to_state(self) -> dict[str, Any]:
        """Return the map as JSON-able values."""
        return {
            "unit": self.unit.tolist(),
            "knots": [x.tolist() for x in self.knots],
            "heights": [z.tolist() for z in self.heights],
        }


Scaling = Affine | Quantiles


def fit_scaling(values: Floats, method: Method) -> Scaling:
    """Fit a scale to the observed cells of each column of (rows, columns)."""
    check_choice(method, METHODS, "scale")
    if method == "none":
        return Affine(np.zeros(values.shape[1]), np.ones(values.shape[1]))
    # Divided by a power of two near its largest value, which is exact, no column
    # overflows. Sorted, so that the order of the rows does not change the rounding.
    largest = np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    exponent = np.frexp(np.where(largest > 0, largest, 0.5))[1]
    unit = np.ldexp(1.0, exponent.clip(-1000, 1000))
    columns = [np.sort(column[~np.isnan(column)]) for column in (values / unit).T]
    bent = [
        method == "quantile" or (method == "auto" and _is_heavy_tailed(column))
        for column in columns
    ]
    if method == "quantile" or any(bent):
        lines = [
            _find_knots(column) if is_bent else _find_line(column)
            for column, is_bent in zip(columns, bent, strict=True)
        ]
        return Quantiles(unit, tuple(x for x, _ in lines), tuple(z for _, z in lines))
    robust = method == "robust"
    measures = np.array([_measure(column, robust=robust) for column in columns])
    centre, scale = measures.reshape(-1, 2).T * unit
    return Affine(centre, np.where(scale > 0, scale, 1.0))


def scaling_from_state(state: Mapping[str, Any], n_columns: int) -> Scaling:
    """Make a scale of what its ``to_state`` returned."""
    scaling: Scaling
    if "knots" in state:
        knots, heights = (
            tuple(np.array(x, dtype=np.float64) for x in state[name])
            for name in ("knots", "heights")
        )
        scaling = Quantiles(np.array(state["unit"], dtype=np.float64), knots, heights)
    else:
        names = ("centre", "scale")
        scaling = Affine(*(np.array(state[name], dtype=np.float64) for name in names))
    scaling.transform(np.zeros((1, n_columns)))  # fails where lengths differ
    return scaling


def _measure(column: Floats, *, robust: bool) -> tuple[float, float]:
    """Return centre and scale of a column, 0 if it has no scale.

    Mean and standard deviation, with values so far out that they would determine both
    (a slip, a marker) clipped; or median and interquartile range as a standard
    deviation, if that is not 0.
    """
    if len(column) == 0 or column[0] == column[-1]:
        return (float(column[0]) if len(column) else 0.0), 0.0
    low, median, high = np.quantile(column, [0.25, 0.5, 0.75])
    if robust and high > low:
        return float(median), float(high - low) / _NORMAL_IQR
    if high == low:  # half of the column is one value: measure the others
        low, high = np.quantile(column[column != median], [0.25, 0.75])
    reach = _OUTLIER * (high - low) / _NORMAL_IQR
    clipped = column.clip(median - reach, median + reach) if reach > 0 else column
    mean, deviation = clipped.mean(), clipped.std()
    if deviation == 0:  # the squares of tiny values vanish
        largest = np.abs(clipped - mean).max() or 1.0
        deviation = largest * ((clipped - mean) / largest).std()
    return float(median if robust else mean), float(deviation)


def _is_heavy_tailed(column: Floats) -> bool:
    """Return whether few values determine the standard deviation, and not a marker."""
    if len(np.unique(column)) <= RECIPE.few_values:
        return False
    return _measure(column, robust=False)[1] > (
        RECIPE.heavy_tails * _measure(column, robust=True)[1]
    )


def _find_line(column: Floats) -> tuple[Floats, Floats]:
    """Return knots of the map that standardises."""
    centre, scale = _measure(column, robust=False)
    if scale == 0:
        return np.array([centre]), np.zeros(1)
    return np.array([centre - scale, centre + scale]), np.array([-1.0, 1.0])


def _find_knots(column: Floats) -> tuple[Floats, Floats]:
    """Return distinct values and the normal quantiles of their mid-ranks."""
    values, counts = np.unique(column, return_counts=True)
    if len(values) == 0:
        return np.zeros(1), np.zeros(1)
    rank = (counts.cumsum() - counts / 2) / len(column)
    height: Floats = ndtri(rank)
    if len(values) > 2 * _HALF_OF_KNOTS:
        # Half of the knots are even in rank, half in height: the tails need theirs.
        even = [np.linspace(x[0], x[-1], _HALF_OF_KNOTS) for x in (rank, height)]
        kept = np.union1d(*map(np.searchsorted, (rank, height), even))
        return values[kept], height[kept]
    return values, height


class TargetScale(NamedTuple):
    """Mean and standard deviation of each output of a regression."""

    mean: Floats  # (outputs,)
    std: Floats  # (outputs,), 0 where an output is constant

    @classmethod
    def of(cls, y: Floats) -> Self:
        """Measure what is there of targets (rows, outputs), in any order of rows."""
        largest = np.nanmax(np.abs(y), axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows
        ordered = np.sort(y / unit, axis=0)
        constant = ordered[0] == np.nanmax(ordered, axis=0)  # NaN is last
        mean = np.where(constant, ordered[0], np.nanmean(ordered, axis=0))
        std = np.where(constant, 0.0, np.nanstd(ordered, axis=0))
        return cls(mean * unit, std * unit)

    def forward(self, y: Floats) -> Floats:
        """Bring targets to scale."""
        return (y - self.mean) / np.where(self.std, self.std, 1)

    def inverse(self, outputs: Floats) -> Floats:
        """Bring outputs back."""
        return outputs * self.std + self.mean
