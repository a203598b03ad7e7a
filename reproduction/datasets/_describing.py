"""What is known of a data set, whether its files are there or not."""

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from reproduction.datasets._files import CACHE, DATA
from reproduction.datasets._loading import load_dataset
from reproduction.datasets._registry import Entry, read_registry


@dataclass(frozen=True)
class Description:
    """A data set without its arrays.

    Attributes
    ----------
    name : str
    rows, columns : int
    missing : float
        Share of the cells.
    task : {"classification", "regression"}
    classes : int
        Number of them; 0 for a regression.
    here : bool
        Whether it can be loaded without a download.
    source, licence, description : str
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
    entry = read_registry().get(name)
    return _from_scikit_learn(name) if entry is None else _from_files(entry)


def _from_scikit_learn(name: str) -> Description:
    data = load_dataset(name)
    rows, columns = data.X.shape
    classes = len(data.target_names)
    return Description(
        name=name,
        rows=rows,
        columns=columns,
        missing=float(np.isnan(data.X).mean()),
        task="classification" if classes else "regression",
        classes=classes,
        here=True,
        source=data.source,
        licence=data.licence,
        description=data.description,
    )


def _from_files(entry: Entry) -> Description:
    counts, folder = entry.counts, _folder()
    paths = [folder / file.path if folder else None for file in entry.files]
    return Description(
        name=entry.name,
        rows=counts.rows,
        columns=counts.features,
        missing=counts.missing / (counts.rows * counts.features),
        task="classification",
        classes=len(counts.classes),
        here=all(path is not None and path.exists() for path in paths),
        source=entry.source,
        licence=entry.licence,
        description=entry.description,
        files=tuple(str(path) for path in paths if path is not None),
    )


def _folder() -> Path | None:
    """Return where files are looked for; None if nothing can be downloaded either."""
    named = os.environ.get(DATA) or os.environ.get(CACHE)
    if named:
        return Path(named).expanduser()
    if find_spec("pooch") is None:
        return None
    return Path(import_module("pooch").os_cache("lacunet"))
