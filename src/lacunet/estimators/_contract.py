"""What scikit-learn expects of an estimator that is given a table."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from lacunet.estimators._reading import as_narwhals, as_table, check_in_memory, is_frame


def read_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check a table in scikit-learn's way, and set or check what is known of it.

    Sets ``n_features_in_`` and, for frames with names, ``feature_names_in_`` on the
    estimator if ``reset``, and compares with them otherwise. NaN may be anywhere.

    Parameters
    ----------
    estimator : BaseEstimator
    X : array-like or frame of shape (n_samples, n_features)
    reset : bool
        True in ``fit``, False in every other method.

    Returns
    -------
    ndarray or frame of shape (n_samples, n_features)
        A frame as it was; what else there is as an array, whose dtype stays.
    """
    if not reset and _is_known(estimator, X):
        return X
    if is_frame(X):
        return _check_frame(estimator, X, reset=reset)
    check_in_memory(X)
    table = as_table(X) if isinstance(X, (list, tuple, np.ma.MaskedArray)) else X
    return validate_data(
        estimator, table, reset=reset, dtype=None, ensure_all_finite="allow-nan"
    )


def _is_known(estimator: BaseEstimator, X: Any) -> bool:
    """Tell whether there is nothing to find fault with: a short way for single rows.

    Infinities are found when the table is encoded.
    """
    return (
        type(X) is np.ndarray
        and X.dtype.kind == "f"
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def _check_frame(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    n_rows, n_columns = as_narwhals(X).shape
    name = type(estimator).__name__
    for size, what in ((n_rows, "sample"), (n_columns, "feature")):
        if size == 0:
            msg = (
                f"Found array with 0 {what}(s) (shape={(n_rows, n_columns)}) while a "
                f"minimum of 1 is required by {name}."
            )
            raise ValueError(msg)
    return validate_data(estimator, X, reset=reset, skip_check_array=True)
