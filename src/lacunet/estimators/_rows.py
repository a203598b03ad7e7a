"""Which rows are trained on, how often, in what order, and by which network."""

import numpy as np
from sklearn.utils import check_random_state

# Whole weights are counts of rows as long as the table grows at most so many times.
_MOST_REPEATS = 8
# At once: what is made of them on the way is several times as large.
_ROWS_TO_HASH = 8192


def repeat_rows(
    sample_weight: np.ndarray, factors: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn weights into rows: none for a weight of zero, several for a count.

    Where all weights are whole, a row of weight two is two rows, exactly. Else the
    weights stay with their rows, with a mean of one.

    Parameters
    ----------
    sample_weight : ndarray of shape (n_samples,)
        Of at least 0, and not all of them 0.
    factors : ndarray of shape (n_samples,), optional
        Of the weight of each row that a sample is: they don't repeat it.

    Returns
    -------
    index : ndarray of int of shape (n_rows,)
        The sample that each row is.
    weights : ndarray of shape (n_rows,)
    """
    counts = sample_weight.astype(np.int64)
    whole = bool((counts == sample_weight).all())
    if whole and counts.sum() <= _MOST_REPEATS * len(counts):
        index = np.repeat(np.arange(len(counts)), counts)
        weights = np.ones(len(index))
    else:
        index = np.flatnonzero(sample_weight)
        weights = sample_weight[index]
    if factors is not None:
        weights = weights * factors[index]
    # Sorted, for a mean that does not depend on the order of the rows.
    return index, weights / np.sort(weights).mean()


def canonical_order(*tables: np.ndarray) -> np.ndarray:
    """Return an order of rows that depends on what is in them alone.

    What is fitted to rows in this order is the same however they were given.

    Parameters
    ----------
    *tables : ndarray of shape (rows, any)
        Of floats.

    Returns
    -------
    ndarray of int of shape (rows,)
    """
    return np.argsort(_hash_rows(*tables), kind="stable")


def _hash_rows(*tables: np.ndarray) -> np.ndarray:
    """Return a number for each row, the same for rows that are the same."""
    starts = range(0, len(tables[0]), _ROWS_TO_HASH)
    parts = [
        _hash_some(*(table[start : start + _ROWS_TO_HASH] for table in tables))
        for start in starts
    ]
    return np.concatenate(parts)


def _hash_some(*tables: np.ndarray) -> np.ndarray:
    cells = np.hstack([table.reshape(len(table), -1) for table in tables])
    cells = np.ascontiguousarray(cells, dtype=np.float64) + 0.0  # minus zero is zero
    cells[np.isnan(cells)] = np.nan  # which has many forms
    keys = np.random.RandomState(0).randint(2**62, size=cells.shape[1], dtype=np.int64)
    bits = cells.view(np.uint64)
    # Multiplied modulo 2**64, the high bits folded down before and after: the bits of
    # small whole numbers are all high ones.
    bits = (bits ^ (bits >> np.uint64(32))) * (keys.astype(np.uint64) * 2 + 1)
    hashes: np.ndarray = (bits ^ (bits >> np.uint64(29))).sum(1, dtype=np.uint64)
    return hashes


def find_copies(*tables: np.ndarray) -> np.ndarray:
    """Give a number to each row, the same to copies of a row.

    Where rows are the same by the dozen, as in a table of a few categories, that is
    what rows are like, and each has a number of its own.

    Parameters
    ----------
    *tables : ndarray of shape (rows, any)
        Of floats.

    Returns
    -------
    ndarray of int of shape (rows,)
    """
    distinct, number = np.unique(_hash_rows(*tables), return_inverse=True)
    if len(number) > _MOST_REPEATS * len(distinct):
        return np.arange(len(number))
    numbers: np.ndarray = number.ravel()
    return numbers


def deal_folds(
    copies: np.ndarray, strata: np.ndarray | None, n_folds: int, seed: int
) -> np.ndarray:
    """Deal the rows into folds, each stratum as evenly as it goes.

    Copies of a row go to one fold: no network may be judged by a row that it has
    learned.

    Parameters
    ----------
    copies : ndarray of int of shape (n_rows,)
        From :func:`find_copies`.
    strata : ndarray of int of shape (n_rows,) or None
        Classes; any number of members will do.
    n_folds : int
    seed : int

    Returns
    -------
    ndarray of int of shape (n_rows,)
        The fold of each row.
    """
    _, first = np.unique(copies, return_index=True)
    shuffled = check_random_state(seed).permutation(len(first))
    if strata is not None:
        shuffled = shuffled[np.argsort(strata[first][shuffled], kind="stable")]
    folds = np.empty(len(first), dtype=np.int64)
    folds[shuffled] = np.arange(len(first)) % n_folds
    of_row: np.ndarray = folds[copies]
    return of_row
