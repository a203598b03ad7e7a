"""Scales on which Gaussians are a good model of a column, NaN kept, and the way back.

Every map first divides by a power of two near the column's largest value, which is
exact, so that columns of 1e300 and of 1e-300 neither overflow nor vanish on the way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lacunet._validation import check_choice
from lacunet.exceptions import LacunetError

Floats = NDArray[np.float64]
Method = Literal["standard", "robust", "quantile", "none"]

METHODS = ("standard", "robust", "quantile", "none")

# Nothing is further from its column's centre than this many scales: what was a typing
# error in the data would be an infinity in a network's float32.
LIMIT = 1e9
# A quantile map has at most twice as many knots.
_HALF_OF_KNOTS = 64
# Up to so many rows all knots are compared at once, in one call for all columns.
_FEW_ROWS = 16
# In standard deviations of a normal distribution with the column's quartiles.
_WILD = 20.0
# The interquartile range of the standard normal distribution.
_NORMAL_IQR = 1.3489795003921634


class Scaling(Protocol):
    """A monotone map of each column."""

    @property
    def centre(self) -> Floats:
        """Return what is mapped to about 0, in the data's own units: (columns,)."""

    @property
    def scale(self) -> Floats:
        """Return what is mapped to a length of about 1: (columns,)."""

    def transform(self, values: Floats) -> Floats:
        """Map (rows, columns) to the scale of the model."""

    def inverse(self, values: Floats) -> Floats:
        """Map (rows, columns) back to the data's own units."""

    def to_state(self) -> dict[str, Any]:
        """Return the map as JSON-able values."""


@dataclass(frozen=True)
class Affine:
    """Centre and scale of each column; all arrays are of shape (columns,).

    Parameters
    ----------
    unit : ndarray
        Powers of two.
    shift, width : ndarray
        Centre and scale of the values divided by ``unit``.
    """

    unit: Floats
    shift: Floats
    width: Floats

    @property
    def centre(self) -> Floats:
        """Return the centres in the data's own units."""
        return self.shift * self.unit

    @property
    def scale(self) -> Floats:
        """Return the scales in the data's own units."""
        return self.width * self.unit

    def transform(self, values: Floats) -> Floats:
        """Subtract the centre and divide by the scale."""
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
    """A piecewise linear map of each column through its quantiles to normal ones.

    Beyond the outer knots it goes on with the mean slope of the column, so it is
    strictly monotone everywhere and neither flat nor steep where there were no data.

    Parameters
    ----------
    unit : ndarray of shape (columns,)
        Powers of two.
    knots : tuple of ndarray
        Increasing values of each column, divided by ``unit``; none for a column
        without observed values.
    heights : tuple of ndarray
        What the knots are mapped to, increasing.
    """

    unit: Floats
    knots: tuple[Floats, ...]
    heights: tuple[Floats, ...]

    @property
    def centre(self) -> Floats:
        """Return the medians in the data's own units."""
        medians: Floats = self.inverse(np.zeros((1, len(self.unit))))[0]
        return medians

    @property
    def scale(self) -> Floats:
        """Return the inverse of the mean slopes in the data's own units."""
        return self.unit / self._segments[2][:, 0]

    @cached_property
    def _knot_table(self) -> Floats:
        return _pad(self.knots, np.inf)

    @cached_property
    def _height_table(self) -> Floats:
        return _pad(self.heights, np.inf)

    @cached_property
    def _segments(self) -> tuple[Floats, Floats, Floats]:
        """Return each segment's left end, its height and its slope, (columns, *)."""
        columns = [
            _column_segments(x, z, unit)
            for x, z, unit in zip(self.knots, self.heights, self.unit, strict=True)
        ]
        left, height, slope = (list(parts) for parts in zip(*columns, strict=True))
        return _pad(left, 0.0), _pad(height, 0.0), _pad(slope, 1.0)

    def transform(self, values: Floats) -> Floats:
        """Map each value to the normal quantile of its rank."""
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


def fit_scaling(values: Floats, method: Method) -> Scaling:
    """Fit a scale to the observed cells of each column.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        NaN where missing, no infinities.
    method : {"standard", "robust", "quantile", "none"}
        Mean and standard deviation; median and interquartile range; or a map of the
        quantiles to those of the standard normal distribution.

    Returns
    -------
    Scaling

    Examples
    --------
    >>> values = np.array([[1.0], [np.nan], [3.0]])
    >>> fit_scaling(values, "standard").transform(values).ravel()
    array([-1., nan,  1.])
    """
    check_choice(method, METHODS, "scale")
    unit = _powers_of_two(values)
    # Sorted, so that no rounding tells in what order the rows were given.
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
    """Make a scale of what its ``to_state`` returned.

    Parameters
    ----------
    state : mapping
    method : {"standard", "robust", "quantile", "none"}

    Returns
    -------
    Scaling
    """
    try:
        scaling = _read_state(state, method)
    except (KeyError, TypeError, ValueError) as error:
        msg = (
            f"Got a damaged scale of the columns ({error!r}), but expected lists of "
            f"finite numbers. Save the model again."
        )
        raise LacunetError(msg) from error
    return scaling


def _read_state(state: Mapping[str, Any], method: Method) -> Scaling:
    unit = _positive(_numbers(state["unit"]))
    if method == "quantile":
        knots = tuple(_increasing(_numbers(x)) for x in state["knots"])
        heights = tuple(_increasing(_numbers(z)) for z in state["heights"])
        _same([len(unit), len(knots), len(heights)])
        for x, z in zip(knots, heights, strict=True):
            _same([len(x), len(z)])
        return Quantiles(unit, knots, heights)
    shift, width = _numbers(state["shift"]), _positive(_numbers(state["width"]))
    _same([len(unit), len(shift), len(width)])
    return Affine(unit, shift, width)


def _numbers(values: Any) -> Floats:
    numbers = np.array(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        msg = "numbers that are not finite"
        raise ValueError(msg)
    return numbers


def _positive(values: Floats) -> Floats:
    if (values <= 0).any():
        msg = "scales that are not positive"
        raise ValueError(msg)
    return values


def _increasing(values: Floats) -> Floats:
    if (np.diff(values) <= 0).any():
        msg = "knots that do not increase"
        raise ValueError(msg)
    return values


def _same(lengths: list[int]) -> None:
    if len(set(lengths)) > 1:
        msg = f"lengths that differ: {lengths}"
        raise ValueError(msg)


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
    tame = _without_wild(column)
    return float(tame.mean()), _deviation(tame) or one


def _deviation(values: Floats) -> float:
    """Return the standard deviation, also of values whose squares vanish."""
    if values.std() > 0:
        return float(values.std())
    apart = values - values.mean()
    reach = np.abs(apart).max()
    return float(reach * (apart / reach).std()) if reach > 0 else 0.0


def _without_wild(column: Floats) -> Floats:
    """Bring in what is so far out that it would rule the scale: a slip, a marker."""
    low, median, high = np.quantile(column, [0.25, 0.5, 0.75])
    if high == low:  # half of the column is one value: measure the others
        low, high = np.quantile(column[column != median], [0.25, 0.75])
    reach = _WILD * (high - low) / _NORMAL_IQR
    return column.clip(median - reach, median + reach) if reach > 0 else column


def _robust(column: Floats, one: float) -> tuple[float, float]:
    """Return median and IQR as a standard deviation, or that if half is one value."""
    if len(column) == 0:
        return 0.0, one
    low, median, high = np.quantile(column, [0.25, 0.5, 0.75])
    if high > low:
        return float(median), float(high - low) / _NORMAL_IQR
    return float(median), _standard(column, one)[1]


def _none(column: Floats, one: float) -> tuple[float, float]:
    """Return what leaves a column as it is."""
    return 0.0, one


_MEASURES: dict[str, Callable[[Floats, float], tuple[float, float]]] = {
    "none": _none,
    "robust": _robust,
    "standard": _standard,
}


def _quantile_knots(column: Floats) -> tuple[Floats, Floats]:
    """Return distinct values and the normal quantiles of their mid-ranks."""
    values, counts = np.unique(column, return_counts=True)
    share = (counts.cumsum() - counts / 2) / max(len(column), 1)
    height: Floats = ndtri(share)
    if len(values) > 2 * _HALF_OF_KNOTS:
        # Half of the knots are even in rank, half in height: the tails need theirs.
        kept = np.union1d(_even(share), _even(height))
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
