"""Scale numbers for a Gaussian model, NaN kept, and back again.

By hand: scikit-learn's scalers overflow on columns of 1e300, round by the order of the
rows, let a single slip of 1e9 determine the scale, and map the largest value of any
column to 5.2 normal quantiles and all beyond to the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lacunet._validation import check_choice
from lacunet.estimators._recipe import RECIPE

Floats = NDArray[np.float64]
Method = Literal["auto", "standard", "robust", "quantile", "none"]

METHODS = ("auto", "standard", "robust", "quantile", "none")

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
    if method == "quantile":
        lines = [_find_knots(column) for column in columns]
        return Quantiles(unit, tuple(x for x, _ in lines), tuple(z for _, z in lines))
    if method == "auto" and any(map(_is_heavy_tailed, columns)):
        lines = [
            _find_knots(column)
            if _is_heavy_tailed(column)
            else _straight_line(*_measure(column, robust=False))
            for column in columns
        ]
        return Quantiles(unit, tuple(x for x, _ in lines), tuple(z for _, z in lines))
    robust = method == "robust"
    measures = np.array([_measure(column, robust=robust) for column in columns])
    centre, scale = measures.reshape(-1, 2).T * unit
    return Affine(centre, np.where(scale > 0, scale, 1.0))


def scaling_from_state(
    state: Mapping[str, Any], method: Method, n_columns: int
) -> Scaling:
    """Make a scale of what its ``to_state`` returned."""
    check_choice(method, METHODS, "scale")
    scaling: Scaling
    if "knots" in state:
        knots = tuple(np.array(x, dtype=np.float64) for x in state["knots"])
        heights = tuple(np.array(z, dtype=np.float64) for z in state["heights"])
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


def _straight_line(centre: float, scale: float) -> tuple[Floats, Floats]:
    """Return knots of the map that subtracts the centre and divides by the scale."""
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

    mean: np.ndarray  # (outputs,)
    std: np.ndarray  # (outputs,), 0 where an output is constant

    @classmethod
    def of(cls, y: np.ndarray) -> Self:
        """Measure what is there of targets (rows, outputs), in any order of rows."""
        largest = np.nanmax(np.abs(y), axis=0)
        unit = np.where(largest > 0, largest, 1.0)  # so that no square overflows
        ordered = np.sort(y / unit, axis=0)
        constant = ordered[0] == np.nanmax(ordered, axis=0)  # NaN is last
        mean = np.where(constant, ordered[0], np.nanmean(ordered, axis=0))
        std = np.where(constant, 0.0, np.nanstd(ordered, axis=0))
        return cls(mean * unit, std * unit)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Bring targets to scale."""
        scaled: np.ndarray = (y - self.mean) / np.where(self.std, self.std, 1)
        return scaled

    def inverse(self, outputs: np.ndarray) -> np.ndarray:
        """Bring outputs back."""
        y: np.ndarray = outputs * self.std + self.mean
        return y
