"""Filling from the nearest rows, at the size of image collections."""

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from reproduction.rivals._base import NaNEstimator

# So many candidates for each neighbour are looked at first; more where that is too few,
# because they lack the columns that are asked for.
_CANDIDATES = 8


class NeighbourImputer(OneToOneFeatureMixin, TransformerMixin, NaNEstimator):
    r"""Fill what is missing with the mean of the nearest training rows that have it.

    What ``sklearn.impute.KNNImputer`` computes, in blocks of matrix products: the
    squared distance of rows :math:`x, x'` over what both have, with masks
    :math:`m, m'` and :math:`x^0` for rows filled with zeros,

    .. math::
        d^2 = \frac{n}{m \cdot m'} \left((x^0)^2 \cdot m' + m \cdot (x'^0)^2
        - 2\, x^0 \cdot x'^0\right),

    for ``n`` columns. Rows that share no column are no neighbours; a missing value that
    no neighbour can fill gets the column's mean. Single precision stays single.

    Beside three copies of the training table it takes about the memory that
    ``sklearn.set_config(working_memory=...)`` allows.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of rows whose mean is taken, for each missing value on its own.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features_in_,)
        Means of the columns; 0 for one without values, which is filled with it.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import NeighbourImputer
    >>> X = [[1.0, 2.0], [3.0, 4.0], [np.nan, 6.0], [8.0, 8.0]]
    >>> NeighbourImputer(n_neighbors=2).fit_transform(X)
    array([[1. , 2. ],
           [3. , 4. ],
           [5.5, 6. ],
           [8. , 8. ]])
    """

    statistics_: np.ndarray

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows."""
        check_scalar(self.n_neighbors, "n_neighbors", Integral, min_val=1)
        rows = self._read(X, reset=True)
        observed = ~np.isnan(rows)
        sums = np.where(observed, rows, 0).sum(0, dtype=np.float64)
        self.statistics_ = (sums / np.maximum(observed.sum(0), 1)).astype(rows.dtype)
        # Distances are the same about any origin; near it they lose fewer digits.
        self._rows = np.where(observed, rows - self.statistics_, rows.dtype.type(0))
        self._observed = observed
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Fill what is missing."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        filled: np.ndarray = rows.copy()
        receivers = np.flatnonzero(np.isnan(rows).any(1))
        weights = self._observed.astype(rows.dtype).T
        squares = np.square(self._rows).T
        # So many rows that their distances, and what these are made of, fit.
        budget = get_config()["working_memory"] * 2**20
        each = 4 * self._rows.itemsize * max(self._rows.shape)
        size = max(1, int(budget // each))
        for start in range(0, len(receivers), size):
            block = receivers[start : start + size]
            distances = self._find_distances(rows[block], weights, squares)
            for row, away in zip(block, distances, strict=True):
                missing = np.flatnonzero(np.isnan(rows[row]))
                filled[row, missing] = self._fill(away, missing)
        return filled

    def _find_distances(
        self, rows: np.ndarray, weights: np.ndarray, squares: np.ndarray
    ) -> np.ndarray:
        """Return squared distances to the training rows, (rows, training rows)."""
        observed = ~np.isnan(rows)
        zeros = np.where(observed, rows - self.statistics_, rows.dtype.type(0))
        seen = observed.astype(rows.dtype)
        common = seen @ weights
        distances: np.ndarray = np.square(zeros) @ weights
        distances += seen @ squares
        zeros *= -2
        distances += zeros @ self._rows.T
        with np.errstate(divide="ignore", invalid="ignore"):
            distances /= common
        distances[common == 0] = np.inf
        return distances

    def _fill(self, distances: np.ndarray, missing: NDArray[np.intp]) -> np.ndarray:
        """Return the means of the nearest rows that have the missing columns."""
        n_rows, n_candidates = len(distances), _CANDIDATES * self.n_neighbors
        while True:
            nearest = np.arange(n_rows)
            if n_candidates < n_rows:
                nearest = np.argpartition(distances, n_candidates)[:n_candidates]
            nearest = nearest[np.isfinite(distances[nearest])]
            nearest = nearest[np.argsort(distances[nearest], kind="stable")]
            seen = self._observed[np.ix_(nearest, missing)]
            taken = seen & (seen.cumsum(0) <= self.n_neighbors)
            counts = taken.sum(0)
            if (counts == self.n_neighbors).all() or n_candidates >= n_rows:
                break
            n_candidates *= 4
        values = np.where(taken, self._rows[np.ix_(nearest, missing)], 0).sum(0)
        means: np.ndarray = values / np.maximum(counts, 1) + self.statistics_[missing]
        return means
