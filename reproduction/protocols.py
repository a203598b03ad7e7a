"""How a method is measured: which rows are seen, and which values are removed."""

import functools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.utils import check_random_state

from lacunet.missingness import drop_patch, drop_values
from reproduction.datasets import load_dataset

N_FOLDS = 5
RECORDINGS = "-recordings"  # behind a name: rows of one recording stay together
PATCH = {"mnist": 13, "digits": 3}  # side of what is removed from images
LARGEST = {"mnist": 255.0, "digits": 16.0}  # intensity

# The toy of the supplement: four Gaussians in the plane, two classes.
TOY = "four-gaussians"
CENTRES = np.array([[-3.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [3.0, -1.0]])
CLASSES = np.array([0, 1, 1, 0])
DEVIATION = 0.5
LOST = 0.5  # fraction of the points with x1 < 0 that lose an attribute


class Protocol(NamedTuple):
    """How rows are split, and what is chosen where.

    ``n_folds`` of the five folds are tested on; with ``search`` parameters are chosen
    from the paper's grids by five inner folds; with ``all_rows`` scale and density see
    the test rows; ``methods`` are the only ones that it makes sense for, if any.
    """

    name: str
    description: str
    n_folds: int = N_FOLDS
    shuffle: bool = True
    search: bool = False
    all_rows: bool = False
    methods: tuple[str, ...] = ()


# Results of different protocols are never mixed in one column.
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "paper",
            "double 5-fold cross-validation, shuffled and stratified, with the paper's "
            "grids (tables 1 and 2: one split for each seed, and no grid); everything "
            "is fitted inside the fold",
            search=True,
        ),
        Protocol(
            "authors",
            "5 folds in the order of the file, as in the authors' code; scale and "
            "mixture are fitted on all rows, nothing is chosen",
            shuffle=False,
            all_rows=True,
            methods=("paper",),
        ),
        Protocol(
            "quick",
            "one split, no grid and small budgets, for a first look",
            n_folds=1,
        ),
    )
}


class Table(NamedTuple):
    """A table with missing values.

    ``complete`` is ``X`` before values were removed, None where they are missing by
    nature. Rows of one of the ``groups`` stay on one side of a split.
    """

    X: np.ndarray
    y: np.ndarray
    complete: np.ndarray | None = None
    groups: np.ndarray | None = None


class Images(NamedTuple):
    """Images in [0, 1] as flat rows: with a patch removed from each, and before."""

    train: np.ndarray
    test: np.ndarray
    original: np.ndarray
    original_test: np.ndarray


def make_folds(
    grouped: bool, seed: int, *, shuffle: bool = True
) -> StratifiedKFold | StratifiedGroupKFold:
    """Return a splitter into five stratified folds."""
    kind = StratifiedGroupKFold if grouped else StratifiedKFold
    return kind(N_FOLDS, shuffle=shuffle, random_state=seed if shuffle else None)


def split_rows(
    table: Table, fold: int, seed: int, *, shuffle: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and to test on in one of five stratified folds."""
    folds = make_folds(table.groups is not None, seed, shuffle=shuffle)
    train, test = list(folds.split(table.X, table.y, table.groups))[fold]
    return train, test


@functools.lru_cache(maxsize=2)
def load_table(
    dataset: str, rate: float | None, seed: int, n_rows: int | None = None
) -> Table:
    """Return a table from which values are removed completely at random.

    Parameters
    ----------
    dataset : str
        A name of ``load_dataset``, perhaps with ``-recordings`` behind it, or the toy.
    rate : float or None
        The fraction of values that is removed.
    seed : int
        Of what is removed: the same for each method and fold.
    n_rows : int, default=None
        At most so many rows, drawn with the proportions of the classes kept.

    Returns
    -------
    Table
        It is kept for the next call, so do not change it.
    """
    if dataset == TOY:
        return make_toy(n_rows or 1000, seed)
    data = load_dataset(dataset.removesuffix(RECORDINGS))
    if n_rows is not None and n_rows < len(data.y):
        every = np.arange(len(data.y))
        drawn, _ = train_test_split(
            every, train_size=n_rows, stratify=data.y, random_state=seed
        )
        rows = np.sort(drawn)
        groups = None if data.groups is None else data.groups[rows]
        data = replace(data, X=data.X[rows], y=data.y[rows], groups=groups)
    groups = data.groups if dataset.endswith(RECORDINGS) else None
    if rate is None:
        return Table(data.X, data.y, None, groups)
    return Table(drop_values(data.X, rate, random_state=seed), data.y, data.X, groups)


@functools.lru_cache(maxsize=1)
def load_images(dataset: str, seed: int, n_rows: int | None = None) -> Images:
    """Return images from each of which a patch is removed, at a place drawn once.

    Parameters
    ----------
    dataset : str
        "mnist" or "digits", perhaps with the side of the patch behind it: "mnist-7".
    seed : int
        Of the places.
    n_rows : int, default=None
        At most so many images to train on, the first.

    Returns
    -------
    Images
        They are kept for the next call, so do not change them.
    """
    name, _, side = dataset.partition("-")
    data = load_dataset(name)
    pixels = (data.X / LARGEST[name]).astype(np.float32)
    # Sets that no one has split: four of five images to train on.
    n_train = data.n_train or 4 * len(pixels) // 5
    patched = drop_patch(pixels, int(side or PATCH[name]), random_state=seed)
    used = min(n_train, n_rows or n_train)
    return Images(patched[:used], patched[n_train:], pixels[:used], pixels[n_train:])


def make_toy(n_rows: int, random_state: int | None = None) -> Table:
    """Draw points of two classes; some on the left have lost one of two attributes.

    As in the supplement, an attribute is lost from points with ``x1 < 0`` alone. The
    paper gives no figures; here the classes change places from left to right, so that
    whoever takes the density of all points for that of the incomplete ones is misled.
    """
    state = check_random_state(random_state)
    which = state.randint(len(CENTRES), size=n_rows)
    complete = CENTRES[which] + DEVIATION * state.randn(n_rows, 2)
    lost = (complete[:, 0] < 0) & (state.rand(n_rows) < LOST)
    column = state.randint(2, size=n_rows)
    X = complete.copy()
    X[lost, column[lost]] = np.nan
    return Table(X, CLASSES[which], complete)
