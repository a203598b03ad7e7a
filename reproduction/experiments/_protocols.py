"""The ways to measure a method, which are never mixed in one column."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

N_FOLDS = 5


@dataclass(frozen=True)
class Protocol:
    """How rows are split, and what is chosen where.

    Attributes
    ----------
    name : str
    n_folds : int
        So many of the five folds are tested on.
    shuffle : bool
    search : bool
        Whether parameters are chosen from the paper's grids, by five inner folds.
    all_rows : bool
        Whether scale and density may see the rows that are tested on.
    methods : tuple of str
        The only ones that it makes sense for; all if empty.
    description : str

    Examples
    --------
    >>> from reproduction.experiments import PROTOCOLS
    >>> list(PROTOCOLS)
    ['paper', 'authors', 'quick']
    >>> PROTOCOLS["authors"].shuffle
    False
    """

    name: str
    n_folds: int = N_FOLDS
    shuffle: bool = True
    search: bool = False
    all_rows: bool = False
    methods: tuple[str, ...] = ()
    description: str = ""


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol(
                "paper",
                search=True,
                description="double 5-fold cross-validation, shuffled and stratified, "
                "with the paper's grids (tables 1 and 2: one split for each seed, and "
                "no grid); everything is fitted inside the fold",
            ),
            Protocol(
                "authors",
                shuffle=False,
                all_rows=True,
                methods=("paper",),
                description="5 folds in the order of the file, as in the authors' "
                "code; scale and mixture are fitted on all rows, nothing is chosen",
            ),
            Protocol(
                "quick",
                n_folds=1,
                description="one split, no grid and small budgets, for a first look",
            ),
        )
    }
)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from and rows to test on.

    Attributes
    ----------
    train, test : ndarray of int
    """

    train: np.ndarray
    test: np.ndarray


def split_rows(
    y: np.ndarray, groups: np.ndarray | None, fold: int, seed: int, *, shuffle: bool
) -> Split:
    """Return one of five stratified splits.

    Parameters
    ----------
    y : ndarray of shape (rows,)
    groups : ndarray of shape (rows,) or None
        Rows of a group stay together.
    fold : int
    seed : int
    shuffle : bool

    Returns
    -------
    Split
    """
    folds = make_folds(groups is not None, seed, shuffle=shuffle)
    train, test = list(folds.split(np.zeros(len(y)), y, groups))[fold]
    return Split(train, test)


def make_folds(
    grouped: bool, seed: int, *, shuffle: bool = True
) -> StratifiedKFold | StratifiedGroupKFold:
    """Return a splitter into five stratified folds.

    Parameters
    ----------
    grouped : bool
    seed : int
        Of the order; unused without ``shuffle``.
    shuffle : bool, default=True

    Returns
    -------
    splitter of scikit-learn
    """
    kind = StratifiedGroupKFold if grouped else StratifiedKFold
    return kind(N_FOLDS, shuffle=shuffle, random_state=seed if shuffle else None)
