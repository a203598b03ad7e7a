"""Data sets by name."""

import difflib
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from lacunet.exceptions import LacunetError
from reproduction.datasets._bundled import BUNDLED, load_bundled
from reproduction.datasets._files import read_file
from reproduction.datasets._reading import Content, read_images, read_table
from reproduction.datasets._record import DataSet
from reproduction.datasets._registry import Counts, Entry, read_registry


def list_datasets() -> list[str]:
    """List the names that ``load_dataset`` knows.

    Returns
    -------
    list of str
        Sets with missing values, complete tables, time series and images, all of the
        paper; then the sets that come with scikit-learn and need no download.

    Examples
    --------
    >>> from reproduction.datasets import list_datasets
    >>> names = list_datasets()
    >>> names[0], names[-1], len(names)
    ('bands', 'diabetes_regression', 22)
    """
    return [*read_registry(), *BUNDLED]


@overload
def load_dataset(name: str, *, return_X_y: Literal[False] = False) -> DataSet: ...


@overload
def load_dataset(
    name: str, *, return_X_y: Literal[True]
) -> tuple[NDArray[Any], NDArray[Any]]: ...


def load_dataset(
    name: str, *, return_X_y: bool = False
) -> DataSet | tuple[NDArray[Any], NDArray[Any]]:
    """Load a data set by its name.

    Files are taken from the folder that the variable ``LACUNET_DATA`` names, and then
    nothing is downloaded. Without it they are downloaded once, to a cache. In both
    cases they have the sha256 that is known of them, and the arrays have the numbers
    of rows, features, classes and missing values that are known.

    Parameters
    ----------
    name : str
        One of ``list_datasets()``.
    return_X_y : bool, default=False
        Whether to return the two arrays only.

    Returns
    -------
    DataSet, or (X, y) if ``return_X_y``
        Every call makes new arrays, which may be changed.

    Examples
    --------
    >>> from reproduction.datasets import load_dataset
    >>> data = load_dataset("wine")
    >>> data.X.shape, data.target_names
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    >>> X, y = load_dataset("diabetes_regression", return_X_y=True)
    >>> float(y[0])
    151.0
    """
    data = _load(name)
    return (data.X, data.y) if return_X_y else data


def _load(name: str) -> DataSet:
    if name in BUNDLED:
        return load_bundled(name)
    if name in read_registry():
        return _load_files(read_registry()[name])
    near = difflib.get_close_matches(str(name), list_datasets())
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    msg = f"Got name={name!r}, but expected one of {', '.join(list_datasets())}.{hint}"
    raise ValueError(msg)


def _load_files(entry: Entry) -> DataSet:
    files = [read_file(file) for file in entry.files]
    layout = entry.layout
    content = read_images(files) if layout is None else read_table(files, layout)
    _check_counts(content, entry)
    return DataSet(
        name=entry.name,
        X=content.X,
        y=np.unique(content.labels, return_inverse=True)[1],
        feature_names=entry.feature_names or content.feature_names,
        target_names=entry.target_names,
        groups=content.groups,
        n_train=entry.n_train,
        description=entry.description,
        source=entry.source,
        licence=entry.licence,
    )


def _check_counts(content: Content, entry: Entry) -> None:
    """Refuse what the registry does not know, though the bytes are right."""
    labels, sizes = np.unique(content.labels, return_counts=True)
    found = Counts(
        rows=len(content.X),
        features=content.X.shape[1],
        missing=int(np.isnan(content.X).sum()),
        classes=dict(zip(labels.tolist(), sizes.tolist(), strict=True)),
    )
    if found != entry.counts:
        msg = f"Got {found} in {entry.name}, but expected {entry.counts}."
        raise LacunetError(msg)
