"""The column that is to be predicted, apart from the others."""

import difflib
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lacunet.evaluation._task import Task, find_task
from lacunet.exceptions import TableError

# Of a classification: more classes than this are refused, as it is a name or a number
# then.
MOST_CLASSES = 1000
FEWEST_ROWS = 10
# Of a regression: the square of a larger number is none.
_LARGEST = 1e100
_LARGEST_EXACT = 2.0**53  # of floats that stand for whole numbers


@dataclass(frozen=True, eq=False)
class TargetTable:
    """A table whose target stands apart.

    Attributes
    ----------
    X : DataFrame
        Rows with a target.
    y : ndarray of shape (n_rows,)
        Without holes.
    X_unlabelled : DataFrame
        Rows without a target; there may be none.
    task : {"classification", "regression"}
    name : str
        Of the target.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_unlabelled: pd.DataFrame
    task: Task
    name: str


def split_target(
    table: pd.DataFrame, target: str, task: Task | None = None
) -> TargetTable:
    """Take the target out of a table, and the rows that have none.

    Parameters
    ----------
    table : DataFrame
    target : str
        Name of a column.
    task : {"classification", "regression"}, default=None
        By what the target looks like, if None.

    Returns
    -------
    TargetTable

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.evaluation import split_target
    >>> rows = pd.DataFrame({"age": range(40), "ill": ["yes", "no", None, "no"] * 10})
    >>> parts = split_target(rows, "ill")
    >>> parts.task, len(parts.y), len(parts.X_unlabelled)
    ('classification', 30, 10)
    """
    _check_name(table, target)
    known = table[target].notna().to_numpy()
    _check_known(known, target)
    y, others = table.loc[known, target], table.drop(columns=[target])
    found = task or find_task(y)
    values = _as_numbers(y, target) if found == "regression" else _as_classes(y, target)
    return TargetTable(
        others[known].reset_index(drop=True),
        values,
        others[~known].reset_index(drop=True),
        found,
        target,
    )


def _check_name(table: pd.DataFrame, target: str) -> None:
    if target not in table.columns:
        names = [str(name) for name in table.columns]
        close = difflib.get_close_matches(target, names, n=3) or names[:5]
        msg = (
            f"Got target {target!r}, but expected a column of the table: "
            f"{', '.join(map(repr, close))}."
        )
        raise TableError(msg)
    if len(table.columns) == 1:
        msg = (
            f"Got a table with no column but its target {target!r}, but expected "
            f"others to predict it from."
        )
        raise TableError(msg)


def _check_known(known: np.ndarray, target: str) -> None:
    if known.sum() < FEWEST_ROWS:
        msg = (
            f"Got {int(known.sum())} of {len(known)} rows with a value of the target "
            f"{target!r}, but expected at least {FEWEST_ROWS} to learn from."
        )
        raise TableError(msg)


def _as_classes(y: pd.Series, target: str) -> np.ndarray:
    values: np.ndarray = y.to_numpy()
    if values.dtype.kind == "f":
        whole = (values == np.round(values)) & (np.abs(values) <= _LARGEST_EXACT)
        # Integers are floats where some are missing; of others only the names are left.
        values = values.astype(np.int64 if whole.all() else str)
    elif values.dtype.kind not in "biu":
        values = values.astype(str)
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) < 2:
        msg = (
            f"Got a target {target!r} with one class, {classes[0]!s}, but expected at "
            f"least two. There is nothing to tell apart."
        )
        raise TableError(msg)
    if len(classes) > MOST_CLASSES or counts.max() == 1:
        msg = (
            f"Got a target {target!r} with {len(classes)} classes in {len(values)} "
            f"rows, but expected few that come again. Is it the right column? Numbers "
            f"are predicted with --task regression."
        )
        raise TableError(msg)
    return values


def _as_numbers(y: pd.Series, target: str) -> np.ndarray:
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        kind = "dates" if pd.api.types.is_datetime64_any_dtype(y) else "words"
        msg = (
            f"Got a target {target!r} of {kind}, but expected numbers to predict. "
            f"Use --task classification, or turn it into numbers first."
        )
        raise TableError(msg)
    values: np.ndarray = y.to_numpy(dtype=np.float64)
    largest = values[np.abs(values).argmax()]
    if abs(largest) > _LARGEST:
        msg = (
            f"Got a target {target!r} with the value {largest:g}, but expected none "
            f"beyond {_LARGEST:g}. If it means missing, say --missing {largest:g}."
        )
        raise TableError(msg)
    if values.min() == values.max():
        msg = (
            f"Got a target {target!r} that is {values[0]:g} in all rows, but expected "
            f"different values. There is nothing to predict."
        )
        raise TableError(msg)
    return values
