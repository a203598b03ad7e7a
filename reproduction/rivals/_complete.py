"""Complete rows to learn from, and holes for them."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length


def check_complete(X_complete: Any, X: Any, holes: np.ndarray) -> None:
    """Refuse what is not ``X`` without holes.

    Parameters
    ----------
    X_complete, X : array-like or frame of shape (n_samples, n_features)
    holes : ndarray of bool of shape (n_samples, n_features)
        Of ``X_complete``.
    """
    check_consistent_length(X_complete, X)
    if holes.any():
        msg = (
            f"Got X_complete with missing values in {int(holes.any(1).sum())} rows, "
            f"but expected the rows of X without holes: they are what the network "
            f"learns to give back."
        )
        raise ValueError(msg)


def find_complete(x: np.ndarray) -> np.ndarray:
    """Return which rows have no holes; refuse a table that has no such row.

    Parameters
    ----------
    x : ndarray of shape (rows, columns)

    Returns
    -------
    ndarray of bool of shape (rows,)
    """
    complete: np.ndarray = ~np.isnan(x).any(1)
    if not complete.any():
        msg = (
            "Got X without one complete row, but expected some: a context encoder "
            "learns to give complete rows back. Give them as X_complete, or take a "
            "method that needs none."
        )
        raise ValueError(msg)
    return complete


def borrow_holes(x: np.ndarray, random_state: np.random.RandomState) -> np.ndarray:
    """Return the complete rows, each with the holes of an incomplete row drawn for it.

    Parameters
    ----------
    x : ndarray of shape (rows, columns)
        With some complete rows.
    random_state : RandomState

    Returns
    -------
    ndarray of shape (complete rows, columns)
        As they were, if there are no incomplete rows to draw from.
    """
    complete = find_complete(x)
    patterns = np.isnan(x[~complete])  # (incomplete rows, columns)
    whole: np.ndarray = x[complete]
    if len(patterns):
        drawn = random_state.randint(len(patterns), size=len(whole))
        whole[patterns[drawn]] = np.nan
    return whole
