"""Missing inputs dropped, and the others made larger for it."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data


class InputDropout(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Drop missing inputs, and divide the others by one minus the dropout rate.

    With the mask :math:`m` of what is observed, a row becomes

    .. math:: \tilde x = \frac{m \circ x}{1 - r},

    zero where a value is missing: the rule of the paper's footnote. The rate
    :math:`r` is one number for all rows, in training and after. Standardise before it,
    so that zero is the mean, and not behind it, which would undo the division.

    Parameters
    ----------
    rate : float, default=None
        From 0 to below 1; by default the share of the training table's cells that are
        missing.

    Attributes
    ----------
    rate_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import InputDropout
    >>> InputDropout().fit_transform([[1.0, np.nan], [np.nan, -2.0]])
    array([[ 2.,  0.],
           [ 0., -4.]])
    """

    rate_: float

    def __init__(self, rate: float | None = None) -> None:
        self.rate = rate

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how much is missing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        self
        """
        check_rate(self.rate)
        missing = np.isnan(self._validate(X, reset=True))
        if self.rate is None and missing.all():
            msg = (
                "Got a table without one observed value, but expected some: its "
                "dropout rate is 1. Give a rate below 1."
            )
            raise ValueError(msg)
        self.rate_ = float(missing.mean() if self.rate is None else self.rate)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Drop what is missing, and scale what is not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Without NaN.
        """
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        dropped: np.ndarray = np.where(np.isnan(rows), rows.dtype.type(0), rows)
        dropped /= 1.0 - self.rate_
        return dropped

    def _validate(self, X: Any, *, reset: bool) -> np.ndarray:
        rows: np.ndarray = validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )
        return rows


def check_rate(rate: Any) -> None:
    """Refuse what is neither None nor a number from 0 to below 1."""
    number = isinstance(rate, numbers.Real) and not isinstance(rate, bool)
    if rate is not None and not (number and 0 <= rate < 1):
        msg = (
            f"Got rate={rate!r}, but expected a number of at least 0 and below 1, or "
            f"None for the share of cells that are missing."
        )
        raise ValueError(msg)
