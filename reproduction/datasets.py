"""Real data sets by name: the paper's, from files, and some of scikit-learn's.

``registry.json`` beside this file has what is known of each set: the addresses and
hashes of its files, how they are laid out, what they must contain.
"""

import difflib
import functools
import gzip
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pooch  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn import datasets

from lacunet.exceptions import LacunetError

DATA = "LACUNET_DATA"  # names a folder that has the files; then nothing is downloaded
CACHE = "LACUNET_CACHE"  # names another folder for the downloads than the usual one
RETRIES = 2


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """A data set: a table, what to predict from it, and where it comes from.

    Attributes
    ----------
    name : str
        Its name in ``list_datasets()``.
    X : ndarray of shape (n_samples, n_features)
        Numbers of type float64, NaN where a value is missing; categories are coded as
        numbers. The images of ``mnist`` are bytes, of type uint8.
    y : ndarray of shape (n_samples,)
        Classes as integers, counted from 0, or the floats of a regression.
    feature_names : tuple of str
        Names as the source gives them, or ``x0``, ``x1``, ... if it gives none.
    target_names : tuple of str
        What the classes 0, 1, ... stand for; empty for a regression.
    description, source, licence : str
        What the set is about and its quirks; where it comes from; what is known of
        its licence.
    groups : ndarray of shape (n_samples,) or None
        What each row was taken from, for sets whose rows are not independent. Rows of
        one group belong on one side of a split.
    n_train : int or None
        The first ``n_train`` rows are for training and the others for testing, for
        sets whose source defines the split.

    Examples
    --------
    >>> from reproduction.datasets import load_dataset
    >>> load_dataset("iris")
    <DataSet iris: 150 rows, 4 features, 3 classes, 0.00% missing>
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    description: str
    source: str
    licence: str
    groups: NDArray[np.str_] | None = None
    n_train: int | None = None

    def __repr__(self) -> str:
        n_samples, n_features = self.X.shape
        classes = len(self.target_names)
        target = f"{classes} classes" if classes else "regression"
        return (
            f"<DataSet {self.name}: {n_samples} rows, {n_features} features, {target}, "
            f"{np.isnan(self.X).mean():.2%} missing>"
        )


@dataclass(frozen=True)
class Description:
    """A data set without its arrays.

    Attributes
    ----------
    name : str
        Its name in ``list_datasets()``.
    rows, columns : int
        Shape of its table.
    missing : float
        Fraction of the cells that are missing.
    task : {"classification", "regression"}
        What there is to predict.
    classes : int
        Number of classes; 0 for a regression.
    here : bool
        Whether it can be loaded without a download.
    source, licence, description : str
        As in ``DataSet``.
    files : tuple of str
        Where they are or will be; none if it comes with scikit-learn.
    """

    name: str
    rows: int
    columns: int
    missing: float
    task: str
    classes: int
    here: bool
    source: str
    licence: str
    description: str
    files: tuple[str, ...] = ()


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
    return list(read_registry())


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
    nothing is downloaded. Without it they are downloaded once, to a cache. Their
    sha256 and the numbers of rows, features, classes and missing values are checked.

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
    >>> X, y = load_dataset("diabetes_regression", return_X_y=True)
    >>> X.shape, float(y[0])
    ((442, 10), 151.0)
    """
    entry = _find_entry(name)
    groups = None
    if "loader" in entry:
        # scikit-learn's default for diabetes is scaled with all rows, test rows too.
        options = {"scaled": False} if entry["loader"] == "load_diabetes" else {}
        bunch = getattr(datasets, entry["loader"])(**options)
        X, y = bunch.data.astype(np.float64), bunch.target.astype(np.float64)
        feature_names = tuple(map(str, bunch.feature_names))
        if entry["target_names"]:
            y = bunch.target.astype(np.int64)
    else:
        files = [_read_file(file) for file in entry["files"]]
        layout = entry["layout"]
        if layout is None:
            X, labels, feature_names = read_images(files)
        else:
            X, labels, feature_names, groups = read_table(files, **layout)
        feature_names = tuple(entry.get("feature_names", feature_names))
        _check_counts(name, X, labels, entry["counts"])
        y = np.unique(labels, return_inverse=True)[1]
    if return_X_y:
        return X, y
    return DataSet(
        name=name,
        X=X,
        y=y,
        feature_names=feature_names,
        target_names=tuple(entry["target_names"]),
        groups=groups,
        n_train=entry.get("n_train"),
        description=entry["description"],
        source=entry["source"],
        licence=entry["licence"],
    )


def describe_dataset(name: str) -> Description:
    """Return what is known of a data set, whether its files are there or not.

    Parameters
    ----------
    name : str
        One of ``list_datasets()``.

    Returns
    -------
    Description

    Examples
    --------
    >>> from reproduction.datasets import describe_dataset
    >>> pima = describe_dataset("pima")  # nothing is downloaded
    >>> pima.rows, pima.columns, round(pima.missing, 3), pima.classes
    (768, 8, 0.122, 2)
    """
    entry = _find_entry(name)
    counts = entry["counts"]
    named = os.environ.get(DATA) or os.environ.get(CACHE) or pooch.os_cache("lacunet")
    paths = [Path(named).expanduser() / file["path"] for file in entry["files"]]
    return Description(
        name=name,
        rows=counts["rows"],
        columns=counts["features"],
        missing=counts["missing"] / (counts["rows"] * counts["features"]),
        task="classification" if counts["classes"] else "regression",
        classes=len(counts["classes"]),
        here=all(path.exists() for path in paths),
        source=entry["source"],
        licence=entry["licence"],
        description=entry["description"],
        files=tuple(map(str, paths)),
    )


@functools.cache
def read_registry() -> Mapping[str, Any]:
    """Return what is known of all sets, by name."""
    file = Path(__file__).with_name("registry.json")
    registry: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return registry


def _find_entry(name: str) -> Mapping[str, Any]:
    """Return what is known of a set; refuse a name that there is not."""
    registry = read_registry()
    if name not in registry:
        near = difflib.get_close_matches(str(name), registry)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        msg = f"Got name={name!r}, but expected one of {', '.join(registry)}.{hint}"
        raise ValueError(msg)
    entry: Mapping[str, Any] = registry[name]
    return entry


def _read_file(file: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file with the sha256 that the registry knows."""
    path, url, sha256 = str(file["path"]), file["url"], file["sha256"]
    folder = os.environ.get(DATA)
    if folder:
        place = Path(folder).expanduser() / path
        try:
            content = place.read_bytes()
        except OSError as error:
            msg = (
                f"Got {error.strerror!r} for {str(place)!r}, but expected a file "
                f"there: {DATA} names the folder, and then nothing is downloaded. Put "
                f"the file there, its address is {url}, or unset {DATA}."
            )
            raise LacunetError(msg) from error
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            msg = (
                f"Got {path!r} with sha256 {found} in the folder that {DATA} names, "
                f"but expected {sha256}. It is damaged, or another version: replace it "
                f"by the file at {url}."
            )
            raise LacunetError(msg)
        return content
    cache = pooch.create(
        path=pooch.os_cache("lacunet"),
        env=CACHE,
        base_url="",
        registry={path: f"sha256:{sha256}"},
        urls={path: url},
        retry_if_failed=RETRIES,
    )
    try:
        # Checks the hash, and puts only whole files into the cache.
        return Path(cache.fetch(path, progressbar=True)).read_bytes()
    except OSError as error:
        msg = (
            f"Got no file from {url}, but expected to put it into the cache, "
            f"{str(cache.abspath)!r}. Go online and try again, or get the file in "
            f"another way and name a folder that has it as {path!r} in the variable "
            f"{DATA}. The cause: {error}"
        )
        raise LacunetError(msg) from error
    except ValueError as error:
        msg = (
            f"Got other bytes from {url} than those of sha256 {sha256}. They are not "
            f"used. Try again later, or name a folder that has the file as {path!r} in "
            f"the variable {DATA}. The cause: {error}"
        )
        raise LacunetError(msg) from error


def _check_counts(
    name: str, X: NDArray[Any], labels: NDArray[np.str_], expected: Mapping[str, Any]
) -> None:
    """Refuse contents that the registry does not know, though the bytes are right."""
    classes, sizes = np.unique(labels, return_counts=True)
    found = {
        "rows": len(X),
        "features": X.shape[1],
        "missing": int(np.isnan(X).sum()),
        "classes": dict(zip(classes.tolist(), sizes.tolist(), strict=True)),
    }
    if found != expected:
        msg = f"Got {found} in {name}, but expected {expected}."
        raise LacunetError(msg)


def read_table(
    files: Sequence[bytes],
    *,
    delimiter: str | None = ",",
    header: bool = False,
    missing: Sequence[str] = (),
    label_column: int | None = None,
    drop_columns: Sequence[int] = (),
    group_column: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.str_], tuple[str, ...], Any]:
    """Read features, labels, names of features, and groups or None.

    The options are the registry's layout: no delimiter stands for blanks; without a
    label column a second file has the labels; of a cell of the group column, what
    comes after the first dot names the group.
    """
    lines, *others = [
        [
            [cell.strip() for cell in line.split(delimiter)]
            for line in file.decode("utf-8").splitlines()
            if line.strip()
        ]
        for file in files
    ]
    names = lines.pop(0) if header else None
    columns = list(zip(*lines, strict=True))
    kept = [
        place
        for place in range(len(columns))
        if place != label_column and place not in drop_columns
    ]
    features = []
    for place in kept:
        known = sorted(set(columns[place]) - set(missing))
        try:
            values = {cell: float(cell) for cell in known}
        except ValueError:  # words become 0, 1, 2, ... in their sorted order
            values = {cell: float(code) for code, cell in enumerate(known)}
        features.append([values.get(cell, np.nan) for cell in columns[place]])
    labels = (
        [label for (label,) in others[0]]
        if label_column is None
        else columns[label_column]
    )
    groups = None
    if group_column is not None:
        groups = np.array([cell.partition(".")[2] for cell in columns[group_column]])
    return (
        np.column_stack(features),
        np.array(labels),
        tuple(names[place] if names else f"x{i}" for i, place in enumerate(kept)),
        groups,
    )


def read_images(
    files: Sequence[bytes],
) -> tuple[NDArray[np.uint8], NDArray[np.str_], tuple[str, ...]]:
    """Read rows of pixels, labels and names of pixels from gzipped idx files.

    The files alternate between images and labels. Each has two zeros, the type (8:
    bytes), the number of axes, their sizes as big-endian integers of four bytes, and
    the values.
    """
    arrays = []
    for file in files:
        content = gzip.decompress(file)
        if content[:3] != b"\x00\x00\x08":
            msg = (
                f"Got a file that begins with {content[:3]!r}, but expected idx of "
                f"bytes."
            )
            raise ValueError(msg)
        n_axes = content[3]
        shape = np.frombuffer(content, ">u4", count=n_axes, offset=4)
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
        arrays.append(values.reshape(shape))
    images = np.concatenate(arrays[::2])  # (rows, height, width)
    names = [f"pixel_{row}_{column}" for row, column in np.ndindex(images.shape[1:])]
    labels = np.concatenate(arrays[1::2]).astype(str)
    return images.reshape(len(images), -1), labels, tuple(names)
