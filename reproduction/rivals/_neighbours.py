"""Filling from the nearest rows, at the size of image collections."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from lacunet._validation import check_positive_int

Floats = NDArray[np.floating[Any]]

# So many candidates for each neighbour are looked at first; more where that is too few,
# because they lack the columns that are asked for.
_CANDIDATES = 8


class NeighbourImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Fill what is missing with the mean of the nearest training rows that have it.

    What ``sklearn.impute.KNNImputer`` computes, in blocks of matrix products: the
    squared distance of rows :math:`x, x'` over what both have, with masks
    :math:`m, m'` and :math:`x^0` for zeros in the holes,

    .. math::
        d^2 = \frac{n}{m \cdot m'} \left((x^0)^2 \cdot m' + m \cdot (x'^0)^2
        - 2\, x^0 \cdot x'^0\right),

    for ``n`` columns. Rows that share no column are no neighbours; a hole that no
    neighbour can fill gets the column's mean. Single precision stays single.

    Beside three copies of the training table it takes about the memory that
    ``sklearn.set_config(working_memory=...)`` allows.

    Parameters
    ----------
    n_neighbors : int, default=5

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features_in_,)
        Means of the columns; 0 for one without values, which is filled with it.
    n_features_in_ : int

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

    statistics_: Floats

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        check_positive_int(self.n_neighbors, "n_neighbors")
        rows = self._validate(X, reset=True)
        observed = ~np.isnan(rows)
        counts = observed.sum(0)
        zeros = np.where(observed, rows, 0)
        means = zeros.sum(0, dtype=np.float64) / np.maximum(counts, 1)
        self.statistics_ = means.astype(rows.dtype)
        # Distances are the same about any origin; near it they lose fewer digits.
        self._rows = np.where(observed, rows - self.statistics_, rows.dtype.type(0))
        self._observed = observed
        return self

    def transform(self, X: Any) -> Floats:
        """Fill what is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        filled: Floats = rows.copy()
        receivers = np.flatnonzero(np.isnan(rows).any(1))
        weights = self._observed.astype(rows.dtype).T
        squares = np.square(self._rows).T
        for block in self._blocks(receivers):
            distances = self._distances(rows[block], weights, squares)
            for row, away in zip(block, distances, strict=True):
                holes = np.flatnonzero(np.isnan(rows[row]))
                filled[row, holes] = self._fill(away, holes)
        return filled

    def _validate(self, X: Any, *, reset: bool) -> Floats:
        rows: Floats = validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )
        return rows

    def _blocks(self, receivers: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        """Split rows so that a block's distances, and what they are made of, fit."""
        budget = get_config()["working_memory"] * 2**20
        each = 4 * self._rows.itemsize * max(len(self._rows), self._rows.shape[1])
        size = max(1, int(budget // each))
        for start in range(0, len(receivers), size):
            yield receivers[start : start + size]

    def _distances(self, rows: Floats, weights: Floats, squares: Floats) -> Floats:
        """Return squared distances to the training rows, (rows, training rows)."""
        observed = ~np.isnan(rows)
        zeros = np.where(observed, rows - self.statistics_, rows.dtype.type(0))
        seen = observed.astype(rows.dtype)
        common = seen @ weights
        distances = np.square(zeros) @ weights
        distances += seen @ squares
        zeros *= -2
        distances += zeros @ self._rows.T
        with np.errstate(divide="ignore", invalid="ignore"):
            distances /= common
        distances[common == 0] = np.inf
        found: Floats = distances
        return found

    def _fill(self, distances: Floats, holes: NDArray[np.intp]) -> Floats:
        """Return the means of the nearest rows that have the columns ``holes``."""
        n_rows, n_candidates = len(distances), _CANDIDATES * self.n_neighbors
        while True:
            nearest = _smallest(distances, n_candidates)
            seen = self._observed[np.ix_(nearest, holes)]
            taken = seen & (seen.cumsum(0) <= self.n_neighbors)
            counts = taken.sum(0)
            if (counts == self.n_neighbors).all() or n_candidates >= n_rows:
                break
            n_candidates *= 4
        values = np.where(taken, self._rows[np.ix_(nearest, holes)], 0).sum(0)
        means: Floats = values / np.maximum(counts, 1) + self.statistics_[holes]
        return means


def _smallest(distances: Floats, n: int) -> NDArray[np.intp]:
    """Return the places of the ``n`` smallest finite values in order."""
    nearest = np.arange(len(distances))
    if n < len(distances):
        nearest = np.argpartition(distances, n)[:n]
    nearest = nearest[np.isfinite(distances[nearest])]
    ordered: NDArray[np.intp] = nearest[np.argsort(distances[nearest], kind="stable")]
    return ordered
