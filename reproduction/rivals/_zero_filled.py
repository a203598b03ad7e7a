"""Standardised rows with zeros where nothing is observed, and what is observed."""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

# Standard deviations from the mean beyond which a value is brought in: the powers that
# kernels take of it stay finite.
_FARTHEST = 1e6


class ZeroFilled(NamedTuple):
    """Rows with zeros where a value is missing."""

    values: np.ndarray  # (rows, features)
    observed: np.ndarray  # (rows, features), of bool

    @classmethod
    def of(cls, X: np.ndarray) -> Self:
        """Read rows with NaN as they are."""
        observed = ~np.isnan(X)
        return cls(np.where(observed, X, 0.0), observed)

    def take(self, rows: Any) -> "ZeroFilled":
        """Return some of the rows, by a mask, an index or a slice."""
        return ZeroFilled(self.values[rows], self.observed[rows])

    def column(self, place: int) -> "ZeroFilled":
        """Return one column of all rows."""
        return ZeroFilled(self.values[:, [place]], self.observed[:, [place]])


class ColumnScale(NamedTuple):
    """Means and spreads of the columns of training rows, over their observed cells.

    Columns without an observed cell are left out, here and of all rows to come.
    """

    seen: np.ndarray  # (all columns,), of bool
    centre: np.ndarray  # (features,)
    spread: np.ndarray  # (features,); 1 where a column is constant

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Self:
        """Measure training rows; a row of weight two counts as two rows."""
        seen = ~np.isnan(X).all(0)
        if not seen.any():
            msg = (
                "Got X without a single observed value, but expected some. Rows with "
                "nothing observed teach nothing."
            )
            raise ValueError(msg)
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler().fit(X[:, seen], sample_weight=weights)
        if not np.isfinite([scaler.mean_, scaler.scale_]).all():
            msg = (
                f"Got X with values up to {np.nanmax(np.abs(X)):.3g}, but expected "
                f"numbers whose squares are finite. Rescale the columns."
            )
            raise ValueError(msg)
        return cls(seen, scaler.mean_, scaler.scale_)

    def fill(self, X: np.ndarray) -> ZeroFilled:
        """Standardise rows and put zeros, which are the means, where values miss."""
        with np.errstate(over="ignore"):
            rows = ZeroFilled.of((X[:, self.seen] - self.centre) / self.spread)
        return rows._replace(values=rows.values.clip(-_FARTHEST, _FARTHEST))


def merge_copies(
    X: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct rows of a labelled table, in an order of their own.

    To a support vector machine copies of a row are one row with the sum of their
    weights. What is fitted to distinct rows depends neither on the order of the table
    nor on whether a row comes twice or with a weight of two.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        With NaN.
    codes : ndarray of int of shape (n_samples,)
        Class of each row.
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    index : ndarray of int of shape (n_distinct,)
        Where each of them is found first.
    weights : ndarray of shape (n_distinct,)
        The sum over the copies.
    """
    rows = ZeroFilled.of(X)
    cells = np.column_stack([rows.values, rows.observed, codes])
    _, index, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    return index, np.bincount(group.ravel(), weights)
