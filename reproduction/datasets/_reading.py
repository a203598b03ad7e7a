"""From the bytes of files to arrays."""

import gzip
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets._registry import Layout

Lines = list[list[str]]


class Content(NamedTuple):
    """What the files of a data set hold."""

    X: NDArray[Any]  # (rows, features)
    labels: NDArray[np.str_]  # (rows,)
    feature_names: tuple[str, ...]
    groups: NDArray[np.str_] | None  # (rows,)


def read_table(files: Sequence[bytes], layout: Layout) -> Content:
    """Read a table, and labels from one of its columns or from a second file."""
    lines, *others = [_split_lines(file, layout.delimiter) for file in files]
    header = lines.pop(0) if layout.header else None
    columns = list(zip(*lines, strict=True))
    kept = _kept_columns(len(columns), layout)
    features = [read_column(columns[place], layout.missing) for place in kept]
    return Content(
        np.column_stack(features),
        np.array(_labels(columns, others, layout.label_column)),
        tuple(header[place] for place in kept) if header else number_names(len(kept)),
        _groups(columns, layout.group_column),
    )


def read_images(files: Sequence[bytes]) -> Content:
    """Read images and labels, images and labels, ..., as rows of pixels."""
    arrays = [read_idx(file) for file in files]
    images = np.concatenate(arrays[::2])  # (rows, height, width)
    names = [f"pixel_{row}_{column}" for row, column in np.ndindex(images.shape[1:])]
    labels = np.concatenate(arrays[1::2]).astype(str)
    return Content(images.reshape(len(images), -1), labels, tuple(names), None)


def read_idx(file: bytes) -> NDArray[np.uint8]:
    """Read a gzipped array of bytes in the format of MNIST, idx.

    Two zeros, the type (8: bytes), the number of axes, their sizes as big-endian
    integers of four bytes, the values.
    """
    content = gzip.decompress(file)
    if content[:3] != b"\x00\x00\x08":
        msg = f"Got a file that begins with {content[:3]!r}, but expected idx of bytes."
        raise ValueError(msg)
    n_axes = content[3]
    shape = np.frombuffer(content, ">u4", count=n_axes, offset=4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
    return values.reshape(shape)


def read_column(cells: Sequence[str], missing: Sequence[str]) -> NDArray[np.float64]:
    """Return numbers as they are, words as 0, 1, 2, ... in their sorted order."""
    known = sorted(set(cells) - set(missing))
    try:
        values = {cell: float(cell) for cell in known}
    except ValueError:
        values = {cell: float(code) for code, cell in enumerate(known)}
    return np.array([values.get(cell, np.nan) for cell in cells])


def number_names(n_features: int) -> tuple[str, ...]:
    """Return names for features that have none."""
    return tuple(f"x{place}" for place in range(n_features))


def _split_lines(file: bytes, delimiter: str | None) -> Lines:
    """Return the cells of all lines that are not empty, without blanks around them."""
    lines = [line for line in file.decode("utf-8").splitlines() if line.strip()]
    return [[cell.strip() for cell in line.split(delimiter)] for line in lines]


def _kept_columns(n_columns: int, layout: Layout) -> list[int]:
    left_out = {layout.label_column, *layout.drop_columns}
    return [place for place in range(n_columns) if place not in left_out]


def _labels(
    columns: Sequence[tuple[str, ...]], others: Sequence[Lines], place: int | None
) -> Sequence[str]:
    if place is None:
        return [label for (label,) in others[0]]
    return columns[place]


def _groups(
    columns: Sequence[tuple[str, ...]], place: int | None
) -> NDArray[np.str_] | None:
    if place is None:
        return None
    return np.array([cell.partition(".")[2] for cell in columns[place]])
