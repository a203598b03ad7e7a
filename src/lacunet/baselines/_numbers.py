"""Tables as numbers, for methods that know nothing else."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lacunet.estimators._columns import Column
from lacunet.estimators._contract import read_table
from lacunet.estimators._table import TableEncoder


class TableNumbers(TransformerMixin, BaseEstimator):
    """Turn a table into numbers, and leave what is missing missing.

    Numbers stay as they are, dates become days since the first one, and a category
    becomes a column for each of its levels, all of them NaN where it is missing or was
    not seen in training. So an imputer of numbers can go behind it.

    Parameters
    ----------
    max_categories : int, default=32
        Most levels of a category; the rarest beyond are pooled.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.baselines import TableNumbers
    >>> X = pd.DataFrame({"age": [40, None, 50], "town": ["Rome", "Bonn", None]})
    >>> TableNumbers().fit_transform(X)
    array([[40.,  0.,  1.],
           [nan,  1.,  0.],
           [50., nan, nan]])
    """

    def __init__(self, max_categories: int = 32) -> None:
        self.max_categories = max_categories

    def __sklearn_tags__(self) -> Any:
        """Say that NaN and words are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kinds of the columns and their levels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        table = read_table(self, X, reset=True)
        encoder = TableEncoder(max_categories=self.max_categories, scale="none")
        self._encoder = encoder.fit(table)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a table as numbers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_encoded_features)
        """
        check_is_fitted(self, "_encoder")
        return self._encoder.transform(read_table(self, X, reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each number of a row.

        Parameters
        ----------
        input_features : Ignored

        Returns
        -------
        ndarray of str objects
            The column's name, or x0, x1, ..., with the level where there are several.
        """
        check_is_fitted(self, "_encoder")
        columns = self._encoder.columns
        names = [_name(column) for column in columns if column.kind != "category"]
        for column in columns:
            levels = [*column.levels, *(["rare"] if column.pooled else [])]
            names += [f"{_name(column)}_{level}" for level in levels]
        return np.array(names, dtype=object)


def _name(column: Column) -> str:
    return column.name if isinstance(column.name, str) else f"x{column.name}"
