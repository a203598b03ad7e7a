"""Data sets in a folder with a MANIFEST.json, read after a look at their bytes."""

import csv
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "LACUNET_DATA"
MANIFEST = "MANIFEST.json"
# The column whose part behind the first dot names what a row was taken from.
GROUP_COLUMNS = {"esr": 0}

Lines = list[list[str]]


@dataclass(frozen=True)
class Table:
    """One data set."""

    X: np.ndarray  # (rows, attributes), NaN where a value is missing
    y: np.ndarray  # (rows,), classes counted from 0 in sorted order
    groups: np.ndarray | None = None  # (rows,)


def find_folder(given: Path | None) -> Path:
    """Return the folder with the data, from the option or from the environment."""
    named = given or os.environ.get(VARIABLE)
    if not named:
        msg = (
            f"Got no folder with the data sets. Name one that has a {MANIFEST} with "
            f"--data FOLDER or in the environment variable {VARIABLE}."
        )
        raise FileNotFoundError(msg)
    if not (Path(named) / MANIFEST).is_file():
        msg = f"Got {str(named)!r} as the folder of the data, but it has no {MANIFEST}."
        raise FileNotFoundError(msg)
    return Path(named)


class DataFolder:
    """The data sets of a folder; each is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        entries = json.loads((path / MANIFEST).read_text("utf-8"))
        self._entries = {entry["name"]: entry for entry in entries}
        self._tables: dict[str, Table] = {}

    def load(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = self._read(name)
        return self._tables[name]

    def _read(self, name: str) -> Table:
        if name not in self._entries:
            msg = f"Got name={name!r}, but expected a data set of {MANIFEST}."
            raise ValueError(msg)
        entry = self._entries[name]
        texts = [self._checked_text(name, file) for file in entry["files"]]
        lines, *more = [split_lines(text, entry["load"]) for text in texts]
        if len(widths := {len(line) for line in lines}) != 1:
            msg = (
                f"Got lines of {sorted(widths)} cells in {name}, but expected one size."
            )
            raise ValueError(msg)
        labels = take_labels(lines, more, entry["load"])
        return Table(
            read_attributes(lines, entry["load"]),
            np.unique(labels, return_inverse=True)[1],
            read_groups(lines, GROUP_COLUMNS.get(name)),
        )

    def _checked_text(self, name: str, file: Mapping[str, Any]) -> str:
        path = self.path / file["path"]
        if not path.is_file():
            msg = f"The data set {name} lacks its file {file['path']!r}."
            raise FileNotFoundError(msg)
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            msg = f"Got other bytes in {file['path']!r} than {MANIFEST} says (sha256)."
            raise ValueError(msg)
        return content.decode("utf-8-sig")


def split_lines(text: str, spec: Mapping[str, Any]) -> Lines:
    """Return the cells of all lines that are not empty, without the header."""
    lines = [line for line in text.splitlines() if line.strip()]
    if spec["delimiter"] == "whitespace":
        cells = [line.split() for line in lines]
    else:
        reader = csv.reader(lines, delimiter=spec["delimiter"])
        cells = [[cell.strip() for cell in line] for line in reader]
    return cells[int(spec["header"]) :]


def take_labels(
    lines: Lines, more: Sequence[Lines], spec: Mapping[str, Any]
) -> list[str]:
    if not spec.get("labels_in_second_file"):
        return [line[spec["label_column"]] for line in lines]
    labels = [line[0] for line in more[0]]
    if len(labels) != len(lines):
        msg = (
            f"Got {len(labels)} labels, but expected one for each of {len(lines)} rows."
        )
        raise ValueError(msg)
    return labels


def read_attributes(lines: Lines, spec: Mapping[str, Any]) -> np.ndarray:
    left_out = {spec.get("label_column"), *spec.get("drop_columns", [])}
    missing = frozenset(spec["missing"])
    columns = [
        read_column(cells, missing)
        for place, cells in enumerate(zip(*lines, strict=True))
        if place not in left_out
    ]
    return np.column_stack(columns)


def read_column(cells: Sequence[str], missing: frozenset[str]) -> np.ndarray:
    """Return numbers as they are, words as 0, 1, 2, ... in their sorted order."""
    known = sorted(set(cells) - missing)
    try:
        values = {cell: float(cell) for cell in known}
    except ValueError:
        values = {cell: float(code) for code, cell in enumerate(known)}
    return np.array([values.get(cell, np.nan) for cell in cells])


def read_groups(lines: Lines, column: int | None) -> np.ndarray | None:
    if column is None:
        return None
    return np.array([line[column].partition(".")[2] for line in lines])
