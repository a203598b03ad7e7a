"""The target of a table: its task, its values, and rows to train and to test on."""

import math
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.utils import column_or_1d

from lacunet._validation import check_choice
from lacunet.estimators import check_labels, check_numbers
from lacunet.exceptions import TableError
from lacunet.tables import ColumnInfo, check_known

Task = Literal["classification", "regression"]

# Whole numbers are taken for classes if there are few, with several rows each.
_MOST_WHOLE_CLASSES = 20
_ROWS_PER_CLASS = 5
# More classes than this are a name or a number.
_MOST_CLASSES = 1000
_FEWEST_ROWS = 10
_FEWEST_TO_SPLIT = 4
_LARGEST = 1e100  # number whose square is finite
_LARGEST_EXACT = 2.0**53  # whole number that a float represents exactly


@dataclass(frozen=True, eq=False)
class TargetTable:
    """A table split into inputs and target.

    Attributes
    ----------
    X : DataFrame
        Inputs of the rows with a target.
    y : ndarray of shape (n_rows,)
        Targets, none of them missing.
    X_unlabelled : DataFrame
        Inputs of the rows without a target; there may be none.
    task : {"classification", "regression"}
        What is to be predicted: classes or numbers.
    name : str
        Name of the target column.
    """

    X: pd.DataFrame
    y: np.ndarray
    X_unlabelled: pd.DataFrame
    task: Task
    name: str


@dataclass(frozen=True)
class TableFacts:
    """The table that a model was trained on, for its card and its page.

    Parameters
    ----------
    file : str
        Name or path of the file; only the name is shown.
    target : str
        Name of the column that is predicted.
    n_rows : int
        Number of all rows.
    n_unlabelled : int
        Number of rows without a target.
    columns : tuple of ColumnInfo
        Description of the columns; the target may be among them.
    n_counted : int, default=None
        Number of rows in which missing values, and targets, were counted; all by
        default.

    Examples
    --------
    >>> from lacunet.evaluation import TableFacts
    >>> from lacunet.tables import ColumnInfo
    >>> age, ill = ColumnInfo("age", "number", 2, 9), ColumnInfo("ill", "text", 1, 2)
    >>> facts = TableFacts("data/patients.csv", "ill", 10, 1, (age, ill))
    >>> facts.name, [column.name for column in facts.inputs]
    ('patients.csv', ['age'])
    """

    file: str
    target: str
    n_rows: int
    n_unlabelled: int
    columns: tuple[ColumnInfo, ...]
    n_counted: int | None = None

    @property
    def name(self) -> str:
        """Name of the file, without its folder."""
        return re.split(r"[/\\]", self.file.rstrip("/\\"))[-1]

    @property
    def inputs(self) -> tuple[ColumnInfo, ...]:
        """The columns without the target."""
        return tuple(each for each in self.columns if each.name != self.target)

    def fraction_missing(self, column: ColumnInfo) -> float:
        """Return the fraction of rows in which a column is missing.

        Parameters
        ----------
        column : ColumnInfo
            One of ``columns``.

        Returns
        -------
        float
        """
        n_rows = self.n_rows if self.n_counted is None else self.n_counted
        return column.n_missing / max(n_rows, 1)


def find_task(y: Any) -> Task:
    """Infer from the values of a target whether they are classes or numbers.

    Text, booleans, two distinct numbers, and up to 20 distinct whole numbers with five
    rows each on average are classes. Everything else is a regression.

    Parameters
    ----------
    y : array-like or Series of shape (n_samples,)
        Targets; missing values are ignored.

    Returns
    -------
    {"classification", "regression"}

    Examples
    --------
    >>> from lacunet.evaluation import find_task
    >>> find_task(["ill", "well", None]), find_task([0, 1] * 20)
    ('classification', 'classification')
    >>> find_task([0.5, 1.5, None, 2.25])
    'regression'
    """
    known = pd.Series(y).dropna().infer_objects()
    if pd.api.types.is_datetime64_any_dtype(known):
        return "regression"
    if not pd.api.types.is_numeric_dtype(known) or pd.api.types.is_bool_dtype(known):
        return "classification"
    distinct = np.unique(known.to_numpy(dtype=np.float64))
    few = len(distinct) <= min(_MOST_WHOLE_CLASSES, len(known) / _ROWS_PER_CLASS)
    whole = bool((distinct == np.round(distinct)).all())
    classes = len(distinct) <= 2 or (few and whole)
    return "classification" if classes else "regression"


def split_target(
    table: pd.DataFrame,
    target: str,
    task: Task | None = None,
    *,
    is_sample: bool = False,
) -> TargetTable:
    """Split a table into inputs and target, and set rows without a target apart.

    Parameters
    ----------
    table : DataFrame
        All columns, the target among them.
    target : str
        Name of the column to predict.
    task : {"classification", "regression"}, default=None
        What to predict; None infers it by :func:`find_task`.
    is_sample : bool, default=False
        Whether these are some of the rows only. Then a single class or number is fine,
        as there may be others.

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
    check_known([target], [str(name) for name in table.columns], "target")
    if len(table.columns) == 1:
        msg = (
            f"Got no column but the target {target!r}, but expected some to learn from."
        )
        raise TableError(msg)
    known = table[target].notna().to_numpy()
    fewest = 1 if is_sample else _FEWEST_ROWS
    if known.sum() < fewest:
        msg = (
            f"Got {int(known.sum())} of {len(known)} rows with a value of the target "
            f"{target!r}, but expected at least {fewest} to learn from."
        )
        raise TableError(msg)
    y, X = table.loc[known, target], table.drop(columns=[target])
    found = task or find_task(y)
    convert = _as_numbers if found == "regression" else _as_classes
    values = convert(y, target, is_sample=is_sample)
    labelled, unlabelled = (X[rows].reset_index(drop=True) for rows in (known, ~known))
    return TargetTable(labelled, values, unlabelled, found, target)


def _as_classes(y: pd.Series, target: str, *, is_sample: bool) -> np.ndarray:
    """Return classes as booleans, integers or text."""
    values: np.ndarray = y.to_numpy()
    if values.dtype.kind == "f":
        whole = (values == np.round(values)) & (np.abs(values) <= _LARGEST_EXACT)
        # Integers are floats where some are missing; other floats become text.
        values = values.astype(np.int64 if whole.all() else str)
    elif values.dtype.kind not in "biu":
        values = values.astype(str)
    if not is_sample or len(np.unique(values)) > 1:
        _check_classes(values, f"a target {target!r}", _MOST_CLASSES)
    return values


def _check_classes(values: np.ndarray, name: str, most: float = math.inf) -> None:
    """Refuse a single class, and what is no class but a number or an identifier."""
    classes, counts = np.unique(values, return_counts=True)
    if len(classes) < 2:
        msg = f"Got {name} with one class, {classes[0]!s}, but expected at least two."
        raise TableError(msg)
    if len(classes) > most or counts.max() == 1:
        msg = (
            f"Got {name} with {len(classes)} classes in {len(values)} rows, but "
            f"expected few classes with several rows each. Is it an identifier? "
            f"Numbers are predicted with task regression (--task regression)."
        )
        raise TableError(msg)


def _as_numbers(y: pd.Series, target: str, *, is_sample: bool) -> np.ndarray:
    """Return finite numbers that are not all the same."""
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        kind = "dates" if pd.api.types.is_datetime64_any_dtype(y) else "text"
        msg = (
            f"Got a target {target!r} of {kind}, but expected numbers to predict. "
            f"Use --task classification, or convert it to numbers first."
        )
        raise TableError(msg)
    values: np.ndarray = y.to_numpy(dtype=np.float64)
    largest = values[np.abs(values).argmax()]
    if abs(largest) > _LARGEST:
        msg = (
            f"Got a target {target!r} with the value {largest:g}, but expected none "
            f"beyond {_LARGEST:g}. If it means missing, give --missing {largest:g}."
        )
        raise TableError(msg)
    if values.min() == values.max() and not is_sample:
        msg = (
            f"Got a target {target!r} of {values[0]:g} alone, but expected others too."
        )
        raise TableError(msg)
    return values


def check_table(X: Any, y: Any, task: Task) -> np.ndarray:
    """Return the targets as numbers or labels, if they and the table suit the task."""
    check_choice(task, get_args(Task), "task")
    if not isinstance(X, pd.DataFrame):
        msg = f"Got X of type {type(X).__name__}, but expected a pandas DataFrame."
        raise TypeError(msg)
    if len(X) < _FEWEST_TO_SPLIT:
        msg = f"Got {len(X)} rows, but expected {_FEWEST_TO_SPLIT} to train and test."
        raise ValueError(msg)
    if task == "regression":
        values = check_numbers(y)
    else:
        # Booleans and numbers among objects are classes of their own type.
        labels = pd.Series(column_or_1d(np.asarray(y), warn=True)).infer_objects()
        values = check_labels(labels.to_numpy())
        _check_classes(values, "y")
    if values.shape != (len(X),):
        msg = f"Got y of shape {values.shape}, but expected ({len(X)},), as X has rows."
        raise ValueError(msg)
    return values


def split_rows(
    y: np.ndarray, task: Task, *, test_size: float, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of training and test rows; every class has a training row.

    The split is stratified if each class has two rows and both parts have room for all
    classes. Otherwise it is random, but for one training row of each class.
    """
    if not 0 < test_size < 1:
        msg = f"Got test_size={test_size!r}, but expected a fraction between 0 and 1."
        raise ValueError(msg)
    n_test = min(math.ceil(test_size * len(y)), len(y) - 2)
    rows = np.arange(len(y))
    options = {"test_size": n_test, "random_state": random_state}
    if task == "regression":
        train, test = train_test_split(rows, **options)
        return train, test
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(classes):
        train, test = train_test_split(rows, stratify=codes, **options)
        if len(np.unique(codes[train])) == len(classes):
            return train, test
    order = np.random.RandomState(random_state).permutation(len(y))
    _, firsts = np.unique(codes[order], return_index=True)
    test = np.delete(order, firsts)[:n_test]
    return np.setdiff1d(order, test), test
