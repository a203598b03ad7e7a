"""Which columns a model relies on: what is lost when they are hidden."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lacunet.evaluation._hiding import hide_column
from lacunet.evaluation._losses import Estimate, compare_losses
from lacunet.evaluation._task import Task

_MOST_COLUMNS = 50
_MOST_ROWS = 2000
_FEWEST_ROWS = 100
# What is read at once, and what is read to choose the columns: wide tables get fewer
# rows, and not all of their columns a try.
_CELLS = 250_000
_CELLS_TO_CHOOSE = 10_000_000


@dataclass(frozen=True)
class ColumnLoss:
    """What a model loses without a column.

    Attributes
    ----------
    name : str
    lost : Estimate
        By how much the first score gets worse. Below 0 it gets better.
    """

    name: str
    lost: Estimate


@dataclass(frozen=True)
class Importance:
    """Which columns a model relies on.

    Attributes
    ----------
    columns : tuple of ColumnLoss
        The ones that cost the most first.
    n_columns : int
        Of the table: not all may have been hidden.
    n_rows : int
        In which they were hidden, one after the other.
    rule : str
        Which columns were hidden, in words.
    """

    columns: tuple[ColumnLoss, ...]
    n_columns: int
    n_rows: int
    rule: str


def find_importance(
    task: Task, losses_of: Callable[[pd.DataFrame], np.ndarray], X: pd.DataFrame
) -> Importance:
    """Hide columns one after the other, and see what that costs.

    A table of more than 50 columns has them hidden in a few rows first, and the 50 that
    cost the most there are taken.

    Parameters
    ----------
    task : {"classification", "regression"}
    losses_of : callable
        From the first rows of ``X``, however many, to their losses.
    X : DataFrame of shape (n_samples, n_features)
        Rows that the model has not seen.

    Returns
    -------
    Importance

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.evaluation._importance import find_importance
    >>> X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    >>> found = find_importance("regression", lambda X: 1 + 3 * X["b"].isna(), X)
    >>> [(column.name, column.lost.value) for column in found.columns]
    [('b', 1.0), ('a', 0.0)]
    """
    n_columns = X.shape[1]
    places, rule = _choose_columns(task, losses_of, X)
    n_rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _CELLS // n_columns))
    seen = X.iloc[:n_rows]
    lost = _hide_each(task, losses_of, seen, places)
    order = np.argsort([-each.value for each in lost], kind="stable")
    columns = tuple(ColumnLoss(str(X.columns[places[i]]), lost[i]) for i in order)
    return Importance(columns, n_columns, len(seen), rule)


def _choose_columns(
    task: Task, losses_of: Callable[[pd.DataFrame], np.ndarray], X: pd.DataFrame
) -> tuple[Sequence[int], str]:
    n_columns = X.shape[1]
    if n_columns <= _MOST_COLUMNS:
        return range(n_columns), "all columns"
    n_tried = _CELLS_TO_CHOOSE // (_FEWEST_ROWS * n_columns)
    n_tried = min(n_columns, max(_MOST_COLUMNS, n_tried))
    complete = np.argsort(X.isna().sum().to_numpy(), kind="stable")[:n_tried]
    tried = np.sort(complete).tolist()
    among = "all" if n_tried == n_columns else f"the {n_tried:,} most complete"
    if n_tried == _MOST_COLUMNS:
        return tried, f"{among} of {n_columns:,} columns"
    few = X.iloc[:_FEWEST_ROWS]
    lost = [each.value for each in _hide_each(task, losses_of, few, tried)]
    most = np.sort(np.argsort(np.negative(lost), kind="stable")[:_MOST_COLUMNS])
    return [tried[i] for i in most], (
        f"the {_MOST_COLUMNS} that cost the most in {len(few)} rows, among {among} of "
        f"{n_columns:,} columns"
    )


def _hide_each(
    task: Task,
    losses_of: Callable[[pd.DataFrame], np.ndarray],
    X: pd.DataFrame,
    places: Sequence[int],
) -> list[Estimate]:
    whole = np.asarray(losses_of(X))
    return [
        compare_losses(task, np.asarray(losses_of(hide_column(X, place))), whole)
        for place in places
    ]
