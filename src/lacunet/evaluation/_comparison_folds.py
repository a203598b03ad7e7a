"""Rows to learn from and rows to test on, for all methods the same."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from lacunet._text import shorten
from lacunet.evaluation._target import Task

# Of a fold: R² needs two.
_FEWEST_ROWS = 2


@dataclass(frozen=True, eq=False)
class Split:
    """A fold.

    Attributes
    ----------
    repeat, fold : int
    train, test : ndarray of int
        Rows.
    """

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class Folds:
    """All folds, and what is to be said about them.

    Attributes
    ----------
    splits : tuple of Split
        Folds of the first repeat come first.
    n_folds, n_repeats : int
    stratified : bool
    notes : tuple of str
    """

    splits: tuple[Split, ...]
    n_folds: int
    n_repeats: int
    stratified: bool
    notes: tuple[str, ...]

    @property
    def n_train(self) -> int:
        """Rows to learn from, on average."""
        return round(float(np.mean([len(split.train) for split in self.splits])))

    @property
    def n_test(self) -> int:
        """Rows to test on, on average."""
        return round(float(np.mean([len(split.test) for split in self.splits])))


def make_folds(
    task: Task,
    y: np.ndarray,
    classes: tuple[str, ...],
    n_folds: int,
    n_repeats: int,
    stream: np.random.RandomState,
) -> Folds:
    """Split rows into folds, several times over.

    Parameters
    ----------
    task : {"classification", "regression"}
    y : ndarray of shape (n_rows,)
        Numbers, or places in ``classes``.
    classes : tuple of str
    n_folds, n_repeats : int
    stream : RandomState

    Returns
    -------
    Folds
        Stratified and fewer than asked for if a class has fewer rows; not stratified
        if it has a single one.
    """
    _check_rows(len(y))
    most, why = len(y) // _FEWEST_ROWS, f"there are {len(y)} rows"
    stratified, notes = False, []
    if task == "classification":
        counts = np.bincount(y, minlength=len(classes))
        name, smallest = shorten(classes[counts.argmin()]), int(counts.min())
        stratified = smallest > 1
        if stratified:
            most, why = smallest, f"the class {name!r} has {smallest} rows"
        else:
            notes.append(
                f"The class {name!r} has one row only, so shares of classes differ "
                f"from fold to fold. A class that was not among the rows learned from "
                f"counts against all methods alike."
            )
    if n_folds > most:
        notes.append(f"{most} folds instead of {n_folds}, as {why}.")
    kept = min(n_folds, most)
    splits = tuple(_split(y, kept, n_repeats, stratified, stream))
    return Folds(splits, kept, n_repeats, stratified, tuple(notes))


def _check_rows(n_rows: int) -> None:
    if n_rows < 2 * _FEWEST_ROWS:
        msg = (
            f"Got {n_rows} rows, but expected at least {2 * _FEWEST_ROWS}, to learn "
            f"from some and to test on others."
        )
        raise ValueError(msg)


def _split(
    y: np.ndarray,
    n_folds: int,
    n_repeats: int,
    stratified: bool,
    stream: np.random.RandomState,
) -> Iterator[Split]:
    kind = StratifiedKFold if stratified else KFold
    for repeat in range(n_repeats):
        folds = kind(n_folds, shuffle=True, random_state=stream)
        for fold, (train, test) in enumerate(folds.split(np.zeros(len(y)), y)):
            yield Split(repeat, fold, train, test)
