"""Rows to learn from, and rows to judge by."""

import math

import numpy as np
from sklearn.model_selection import train_test_split

from lacunet.evaluation._task import Task

# Fewer leave nothing to learn from, or nothing to judge by.
_FEWEST_ROWS = 4


def split_rows(
    y: np.ndarray, task: Task, *, test_size: float, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows to hold out, so that every class is still among the others.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    task : {"classification", "regression"}
        The shares of classes are the same in both parts, if each has two rows and there
        is room for all. Else rows are held out by chance, but for one of each class.
    test_size : float
        Share of the rows to hold out.
    random_state : int

    Returns
    -------
    train, test : ndarray of int
        Places of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._splitting import split_rows
    >>> y = np.array(["a"] * 9 + ["b"])
    >>> train, test = split_rows(y, "classification", test_size=0.2, random_state=0)
    >>> y[test], 9 in train
    (array(['a', 'a'], dtype='<U1'), True)
    """
    n_test = _count_test(len(y), test_size)
    if task == "classification":
        return _split_classes(y, n_test, random_state)
    return _split(len(y), n_test, random_state)


def _count_test(n_rows: int, test_size: float) -> int:
    if not 0 < test_size < 1:
        msg = f"Got test_size={test_size!r}, but expected a share between 0 and 1."
        raise ValueError(msg)
    if n_rows < _FEWEST_ROWS:
        msg = (
            f"Got {n_rows} rows with a target, but expected at least {_FEWEST_ROWS}: "
            f"some to learn from, and some to judge by."
        )
        raise ValueError(msg)
    return min(math.ceil(test_size * n_rows), n_rows - 2)


def _split_classes(
    y: np.ndarray, n_test: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        msg = (
            f"Got y with the single class {classes.tolist()[0]!r}, but expected at "
            f"least two. There is nothing to tell apart."
        )
        raise ValueError(msg)
    room = min(n_test, len(y) - n_test)
    if counts.min() >= 2 and room >= len(classes):
        train, test = _split(len(y), n_test, random_state, codes)
        if len(np.unique(codes[train])) == len(classes):
            return train, test
    return _split_apart(codes, n_test, random_state)


def _split(
    n_rows: int, n_test: int, random_state: int, codes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    train, test = train_test_split(
        np.arange(n_rows), test_size=n_test, random_state=random_state, stratify=codes
    )
    return train, test


def _split_apart(
    codes: np.ndarray, n_test: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hold rows out by chance, but for one of each class: it could not be known."""
    order = np.random.RandomState(random_state).permutation(len(codes))
    _, firsts = np.unique(codes[order], return_index=True)
    free = np.delete(order, firsts)
    if not len(free):
        msg = (
            f"Got y with {len(codes)} classes of one row each, but expected classes of "
            f"several rows. Is the target a number to be predicted, or the name of a "
            f"row?"
        )
        raise ValueError(msg)
    test = free[:n_test]
    return np.setdiff1d(order, test), test
