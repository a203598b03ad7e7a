"""The data of a cell: tables and images with values removed."""

import functools
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from lacunet.missingness import drop_patch, drop_values
from reproduction.datasets import DataSet, load_dataset
from reproduction.experiments._toy import TOY, make_toy

RECORDINGS = "-recordings"  # behind a name: rows of one recording stay together
PATCH = {"mnist": 13, "digits": 3}  # side of what is removed from images
LARGEST = {"mnist": 255.0, "digits": 16.0}  # intensity


@dataclass(frozen=True, eq=False)
class Table:
    """A table with holes, and what is known of it.

    Attributes
    ----------
    X : ndarray of shape (rows, columns)
    y : ndarray of shape (rows,)
    complete : ndarray of shape (rows, columns) or None
        ``X`` before values were removed; None where it has holes of its own.
    groups : ndarray of shape (rows,) or None
    """

    X: np.ndarray
    y: np.ndarray
    complete: np.ndarray | None = None
    groups: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Images:
    """Images in [0, 1], as flat rows, and the same with a patch removed from each.

    Attributes
    ----------
    train, test : ndarray of shape (images, pixels)
    original, original_test : ndarray of shape (images, pixels)
        Before the patches were removed.
    """

    train: np.ndarray
    test: np.ndarray
    original: np.ndarray
    original_test: np.ndarray


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
    seed : int
        Of what is removed: the same for each method and fold.
    n_rows : int, default=None
        At most so many rows, drawn with the shares of the classes kept.

    Returns
    -------
    Table
        It is kept for the next call, so don't change it.
    """
    if dataset == TOY:
        return Table(*make_toy(n_rows or 1000, seed))
    name = dataset.removesuffix(RECORDINGS)
    data = _with_few_rows(load_dataset(name), n_rows, seed)
    groups = data.groups if dataset.endswith(RECORDINGS) else None
    if rate is None:
        return Table(data.X, data.y, None, groups)
    X = drop_values(data.X, rate, random_state=seed)
    return Table(X, data.y, data.X, groups)


def _with_few_rows(data: DataSet, n_rows: int | None, seed: int) -> DataSet:
    if n_rows is None or n_rows >= len(data.y):
        return data
    every = np.arange(len(data.y))
    rows, _ = train_test_split(
        every, train_size=n_rows, stratify=data.y, random_state=seed
    )
    chosen = np.sort(rows)
    groups = None if data.groups is None else data.groups[chosen]
    changed = {"X": data.X[chosen], "y": data.y[chosen], "groups": groups}
    return DataSet(**{**vars(data), **changed})


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
        They are kept for the next call, so don't change them.
    """
    name, _, side = dataset.partition("-")
    data = load_dataset(name)
    pixels = (data.X / LARGEST[name]).astype(np.float32)
    # Sets that no one has split: four of five images to train on.
    n_train = data.n_train or 4 * len(pixels) // 5
    holed = drop_patch(pixels, int(side or PATCH[name]), random_state=seed)
    used = min(n_train, n_rows or n_train)
    return Images(holed[:used], holed[n_train:], pixels[:used], pixels[n_train:])
