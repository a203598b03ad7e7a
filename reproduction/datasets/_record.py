"""The record of a data set: its arrays, and what they mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """A data set: a table, what to predict from it, and where it comes from.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_samples, n_features)
        Numbers of type float64, NaN where a value is missing; categories are coded as
        numbers. The images of ``mnist`` are bytes, of type uint8.
    y : ndarray of shape (n_samples,)
        Classes as integers, counted from 0, or the floats of a regression.
    feature_names : tuple of str
        Names as the source gives them, or ``x0``, ``x1``, ... if it gives none.
    target_names : tuple of str
        What the classes 0, 1, ... stand for; empty for a regression.
    groups : ndarray of shape (n_samples,) or None
        What each row was taken from, for sets whose rows are not independent. Rows of
        one group belong on one side of a split.
    n_train : int or None
        The first ``n_train`` rows are for training and the others for testing, for
        sets whose source says so.
    description : str
        What the set is about, and its quirks.
    source : str
    licence : str

    Examples
    --------
    >>> from reproduction.datasets import load_dataset
    >>> data = load_dataset("iris")
    >>> data
    <DataSet iris: 150 rows, 4 features, 3 classes, 0.00% missing>
    >>> data.target_names
    ('setosa', 'versicolor', 'virginica')
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    description: str
    source: str
    licence: str
    groups: NDArray[np.str_] | None = None
    n_train: int | None = None

    def __repr__(self) -> str:
        """Name the set and its size."""
        n_samples, n_features = self.X.shape
        classes = len(self.target_names)
        target = f"{classes} classes" if classes else "regression"
        return (
            f"<DataSet {self.name}: {n_samples} rows, {n_features} features, {target}, "
            f"{np.isnan(self.X).mean():.2%} missing>"
        )
