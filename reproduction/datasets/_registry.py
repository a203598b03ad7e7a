"""What is known of the data sets that come as files: addresses, hashes and counts."""

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class DataFile:
    """A file of a data set."""

    path: str  # below the cache, or below a folder of the user's
    url: str
    sha256: str
    n_bytes: int


@dataclass(frozen=True)
class Layout:
    """How a table is written as text."""

    delimiter: str | None = ","  # None: blanks
    header: bool = False
    missing: Sequence[str] = ()  # the cells that stand for a missing value
    label_column: int | None = None  # None: a second file has the labels
    drop_columns: Sequence[int] = ()
    # The column whose part behind the first dot names what a row was taken from.
    group_column: int | None = None


@dataclass(frozen=True)
class Counts:
    """What is found in the files if they are read as they should be."""

    rows: int
    features: int
    missing: int  # cells
    classes: Mapping[str, int]  # rows of each label, in sorted order


@dataclass(frozen=True)
class Entry:
    """All that is known of a data set before its files are there."""

    name: str
    description: str
    source: str
    licence: str
    files: tuple[DataFile, ...]
    layout: Layout | None  # None: images and labels in gzipped idx files
    counts: Counts
    target_names: tuple[str, ...]  # in the order of the labels
    feature_names: tuple[str, ...]  # empty: what the files say
    n_train: int | None


@functools.cache
def read_registry() -> Mapping[str, Entry]:
    """Return the data sets that come as files, by name."""
    file = resources.files("reproduction.datasets") / "registry.json"
    found = json.loads(file.read_text("utf-8"))
    return {name: _entry(name, fields) for name, fields in found.items()}


def _entry(name: str, fields: Mapping[str, Any]) -> Entry:
    layout = fields["layout"]
    return Entry(
        name=name,
        description=fields["description"],
        source=fields["source"],
        licence=fields["licence"],
        files=tuple(DataFile(**file) for file in fields["files"]),
        layout=None if layout is None else Layout(**layout),
        counts=Counts(**fields["counts"]),
        target_names=tuple(fields["target_names"]),
        feature_names=tuple(fields.get("feature_names", ())),
        n_train=fields.get("n_train"),
    )
