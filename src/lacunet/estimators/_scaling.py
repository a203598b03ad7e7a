"""Scale numbers for a Gaussian model, NaN kept, and back again.

Every map first divides by a power of two near the column's largest value, which is
exact, so that columns of 1e300 and of 1e-300 neither overflow nor vanish.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lacunet._validation import check_choice
from lacunet.exceptions import LacunetError

Floats = NDArray[np.float64]
Method = Literal["standard", "robust", "quantile", "none"]

METHODS = ("standard", "robust", "quantile", "none")

# Scaled values are clipped at this: a typing error in the data would be an infinity in
# a network's float32.
LIMIT = 1e9
# A quantile map has at most twice as many knots.
_HALF_OF_KNOTS = 64
# Up to this many rows all knots are compared at once, in one call for all columns.
_FEW_ROWS = 16
# Values further out are outliers: in standard deviations of a normal distribution with
# the column's quartiles.
_OUTLIER = 20.0
# The interquartile range of the standard normal distribution.
_NORMAL_IQR = 1.3489795003921634


@dataclass(frozen=True)
class Affine:
    """Centre and scale of each column; all arrays are of shape (columns,)."""

    unit: Floats  # powers of two
    shift: Floats  # centre of the values divided by unit
    width: Floats  # and their scale

    @property
    def centre(self) -> Floats:
        """Centres in the data's own units."""
        return self.shift * self.unit

    @property
    def scale(self) -> Floats:
        """Scales in the data's own units."""
        return self.width * self.unit

    def transform(self, values: Floats) -> Floats:
        """Subtract the centre and divide by the scale: (rows, columns)."""
        with np.errstate(over="ignore"):
            scaled = (values / self.unit - self.shift) / self.width
        return scaled.clip(-LIMIT, LIMIT)

    def inverse(self, values: Floats) -> Floats:
        """Multiply by the scale and add the centre."""
        return _finite((values * self.width + self.shift), self.unit)

    def to_state(self) -> dict[str, Any]:
        """Return the map as JSON-able values."""
        return {
            "unit": self.unit.tolist(),
            "shift": self.shift.tolist(),
            "width": self.width.tolist(),
        }


@dataclass(frozen=True)
class Quantiles:
    """A piecewise linear map of each column's quantiles to those of the normal.

    Beyond the outer knots it goes on with the mean slope of the column, so it is
    strictly monotone everywhere and neither flat nor steep where there were no data.
    """

    unit: Floats  # powers of two, (columns,)
    knots: tuple[Floats, ...]  # increasing values divided by unit, for each column
    heights: tuple[Floats, ...]  # what the knots are mapped to, increasing

    @property
    def centre(self) -> Floats:
        """Medians in the data's own units."""
        medians: Floats = self.inverse(np.zeros((1, len(self.unit))))[0]
        return medians

    @property
    def scale(self) -> Floats:
        """Inverse of the mean slopes, in the data's own units."""
        return self.unit / self._segments[2][:, 0]

    @cached_property
    def _knot_table(self) -> Floats:
        return _pad(self.knots, np.inf)

    @cached_property
    def _height_table(self) -> Floats:
        return _pad(self.heights, np.inf)

    @cached_property
    def _segments(self) -> tuple[Floats, Floats, Floats]:
        """Left end, height and slope of each segment, (columns, *)."""
        columns = [
            _column_segments(x, z, unit)
            for x, z, unit in zip(self.knots, self.heights, self.unit, strict=True)
        ]
        left, height, slope = (list(parts) for parts in zip(*columns, strict=True))
        return _pad(left, 0.0), _pad(height, 0.0), _pad(slope, 1.0)

    def transform(self, values: Floats) -> Floats:
        """Map each value to the normal quantile of its rank: (rows, columns)."""
        if not len(self.unit):
            return values
        with np.errstate(over="ignore"):
            in_units = values / self.unit
            left, height, slope = self._at(_count_below(self._knot_table, in_units))
            scaled = height + (in_units - left) * slope
        return scaled.clip(-LIMIT, LIMIT)

    def inverse(self, values: Floats) -> Floats:
        """Map normal quantiles back to values."""
        if not len(self.unit):
            return values
        left, height, slope = self._at(_count_below(self._height_table, values))
        return _finite(left + (values - height) / slope, self.unit)

    def _at(self, segment: NDArray[np.intp]) -> list[Floats]:
        column = np.arange(segment.shape[1])
        return [table[column, segment] for table in self._segments]  # (rows, columns)

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
    unit = _powers_of_two(values)
    # Sorted, so that the order of the rows does not change the rounding.
    columns = [np.sort(column[~np.isnan(column)]) for column in (values / unit).T]
    if method == "quantile":
        pairs = [_quantile_knots(column) for column in columns]
        return Quantiles(unit, tuple(x for x, _ in pairs), tuple(z for _, z in pairs))
    measure = _MEASURES[method]
    pairs_of_numbers = [
        measure(column, 1 / size) for column, size in zip(columns, unit, strict=True)
    ]
    table = np.array(pairs_of_numbers, dtype=np.float64).reshape(-1, 2)
    return Affine(unit, table[:, 0], table[:, 1])


def scaling_from_state(state: Mapping[str, Any], method: Method) -> Scaling:
    """Make a scale of what its ``to_state`` returned."""
    try:
        unit = _numbers(state["unit"])
        scaling: Scaling
        if method == "quantile":
            knots = tuple(_numbers(x) for x in state["knots"])
            heights = tuple(_numbers(z) for z in state["heights"])
            scaling = Quantiles(unit, knots, heights)
            sound = (
                len(unit) == len(knots) == len(heights)
                and all(len(x) == len(z) for x, z in zip(knots, heights, strict=True))
                and all((np.diff(x) > 0).all() for x in (*knots, *heights))
            )
        else:
            shift, width = _numbers(state["shift"]), _numbers(state["width"])
            scaling = Affine(unit, shift, width)
            sound = len(unit) == len(shift) == len(width) and bool((width > 0).all())
        if not sound or (unit <= 0).any():
            msg = "lengths that differ, scales <= 0, or knots that do not increase"
            raise ValueError(msg)
    except (KeyError, TypeError, ValueError) as error:
        msg = (
            f"Got a damaged scale of the columns ({error!r}), but expected lists of "
            f"finite numbers. Save the model again."
        )
        raise LacunetError(msg) from error
    return scaling


def _numbers(values: Any) -> Floats:
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        msg = "numbers that are not finite"
        raise ValueError(msg)
    return numbers


def _powers_of_two(values: Floats) -> Floats:
    """Return the power of two next to each column's largest value, (columns,)."""
    largest = np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    exponent = np.frexp(np.where(largest > 0, largest, 0.5))[1]
    unit: Floats = np.ldexp(1.0, exponent.clip(-1000, 1000))
    return unit


def _standard(column: Floats, one: float) -> tuple[float, float]:
    """Return mean and standard deviation; ``one`` is 1 in the column's units."""
    if len(column) == 0:
        return 0.0, one
    if column.min() == column.max():
        return float(column[0]), one
    clipped = _clip_outliers(column)
    return float(clipped.mean()), _deviation(clipped) or one


def _deviation(values: Floats) -> float:
    """Return the standard deviation, also of values whose squares vanish."""
    if values.std() > 0:
        return float(values.std())
    deviations = values - values.mean()
    largest = np.abs(deviations).max()
    return float(largest * (deviations / largest).std()) if largest > 0 else 0.0


def _clip_outliers(column: Floats) -> Floats:
    """Clip values so far out that they would determine the scale: a slip, a marker."""
    low, median, high = np.quantile(column, [0.25, 0.5, 0.75])
    if high == low:  # half of the column is one value: measure the others
        low, high = np.quantile(column[column != median], [0.25, 0.75])
    reach = _OUTLIER * (high - low) / _NORMAL_IQR
    return column.clip(median - reach, median + reach) if reach > 0 else column


def _robust(column: Floats, one: float) -> tuple[float, float]:
    """Return median and IQR as a standard deviation, or that if half is one value."""
    if len(column) == 0:
        return 0.0, one
    low, median, high = np.quantile(column, [0.25, 0.5, 0.75])
    if high > low:
        return float(median), float(high - low) / _NORMAL_IQR
    return float(median), _standard(column, one)[1]


_MEASURES: dict[str, Callable[[Floats, float], tuple[float, float]]] = {
    "none": lambda column, one: (0.0, one),
    "robust": _robust,
    "standard": _standard,
}


def _quantile_knots(column: Floats) -> tuple[Floats, Floats]:
    """Return distinct values and the normal quantiles of their mid-ranks."""
    values, counts = np.unique(column, return_counts=True)
    rank = (counts.cumsum() - counts / 2) / max(len(column), 1)
    height: Floats = ndtri(rank)
    if len(values) > 2 * _HALF_OF_KNOTS:
        # Half of the knots are even in rank, half in height: the tails need theirs.
        kept = np.union1d(_even(rank), _even(height))
        return values[kept], height[kept]
    return values, height


def _even(increasing: Floats) -> NDArray[np.intp]:
    targets = np.linspace(increasing[0], increasing[-1], _HALF_OF_KNOTS)
    return np.searchsorted(increasing, targets).clip(max=len(increasing) - 1)


def _column_segments(
    x: Floats, z: Floats, unit: float
) -> tuple[Floats, Floats, Floats]:
    if len(x) == 0:
        return np.zeros(1), np.zeros(1), np.array([unit])
    outer = (z[-1] - z[0]) / (x[-1] - x[0]) if len(x) > 1 else unit
    slope = np.diff(z) / np.diff(x)
    first = [0, *range(len(x))]
    return x[first], z[first], np.array([outer, *slope, outer])


def _pad(columns: Sequence[Floats], value: float) -> Floats:
    table = np.full((len(columns), max(map(len, columns), default=0)), value)
    for row, column in zip(table, columns, strict=True):
        row[: len(column)] = column
    return table


def _count_below(knots: Floats, values: Floats) -> NDArray[np.intp]:
    """Count the knots at or below each value: (rows, columns); NaN counts anything."""
    if len(values) <= _FEW_ROWS:
        at_once: NDArray[np.intp] = (values[:, :, None] >= knots).sum(-1)
        return at_once
    counts = np.empty(values.shape, dtype=np.intp)
    for column, row in enumerate(knots):
        counts[:, column] = np.searchsorted(row, values[:, column], side="right")
    return counts


def _finite(in_units: Floats, unit: Floats) -> Floats:
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return (in_units * unit).clip(-largest, largest)


class TargetScale(NamedTuple):
    """Mean and standard deviation of each output of a regression."""

    mean: np.ndarray  # (outputs,)
    std: np.ndarray  # (outputs,), 0 where an output is constant

    @classmethod
    def of(cls, y: np.ndarray) -> Self:
        """Measure targets (rows, outputs), however their rows are ordered."""
        largest = np.abs(y).max(0)
        unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows
        ordered = np.sort(y / unit, axis=0)
        constant = ordered[0] == ordered[-1]
        mean = np.where(constant, ordered[0], ordered.mean(0))
        return cls(mean * unit, np.where(constant, 0.0, ordered.std(0)) * unit)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Bring targets to scale."""
        scaled: np.ndarray = (y - self.mean) / np.where(self.std, self.std, 1)
        return scaled

    def inverse(self, outputs: np.ndarray) -> np.ndarray:
        """Bring outputs back."""
        y: np.ndarray = outputs * self.std + self.mean
        return y
