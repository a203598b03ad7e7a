"""What stands between the cells of a CSV file, and the names in its first line."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._options import ReadOptions
from lacunet.tables._raw import MOST_BYTES, is_blank, open_quote
from lacunet.tables._scanner import Cells, find_cells
from lacunet.tables._text import check_text

SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 2**18  # bytes to guess by


class Header(NamedTuple):
    """The beginning of a CSV file.

    Parameters
    ----------
    separator : str
    names : tuple of str
    data : bytes
        The first line and what stands before it, in UTF-8.
    """

    separator: str
    names: tuple[str, ...]
    data: bytes


def read_header(chunks: Iterator[bytes], options: ReadOptions, source: str) -> Header:
    """Read the first line, and guess the separator by the lines that follow.

    Parameters
    ----------
    chunks : iterator of bytes
        UTF-8, without a mark.
    options : ReadOptions
    source : str
        Name of the file, for messages.

    Returns
    -------
    Header
    """
    candidates = SEPARATORS if options.sep is None else (options.sep,)
    data, final = b"", False
    while True:
        chunk = next(chunks, None)
        final = chunk is None
        data += chunk or b""
        if not final and len(data) < SAMPLE:
            continue
        guesses = {sep: find_cells(data, sep, final=final) for sep in candidates}
        separator = max(candidates, key=lambda sep: _rate(guesses[sep]))
        header = _first_row(guesses[separator], data, separator, source)
        if header is not None:
            return header
        if final or len(data) > MOST_BYTES:
            raise _no_header(data, source)


def _rate(cells: Cells) -> tuple[float, int]:
    """Tell how many rows have as many cells as the first, and how many cells it has."""
    sizes = cells.sizes[~is_blank(cells)]
    if not len(sizes) or sizes[0] < 2:
        return 0.0, 0
    return float(np.mean(sizes == sizes[0])), int(sizes[0])


def _first_row(cells: Cells, data: bytes, separator: str, source: str) -> Header | None:
    """Return the first row that is not blank, if there is a whole one."""
    rows = np.flatnonzero(~is_blank(cells))
    if not len(rows):
        return None
    check_text(data[: cells.n_bytes], 1, source)
    row = int(rows[0])
    stop = int(cells.row_stops[row])
    start = stop - int(cells.sizes[row])
    is_last = row + 1 == len(cells.row_stops)
    end = cells.n_bytes if is_last else int(cells.starts[stop])
    texts = cells.texts[start:stop].to_pylist()
    return Header(separator, _name(texts), data[:end])


def _name(texts: list[str]) -> tuple[str, ...]:
    # A column without a name is called as pandas calls it.
    stripped = [text.strip() for text in texts]
    return tuple(name or f"Unnamed: {place}" for place, name in enumerate(stripped))


def check_names(names: tuple[str, ...], source: str) -> None:
    """Refuse columns that share a name.

    Parameters
    ----------
    names : tuple of str
    source : str
    """
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        places = [str(place + 1) for place, each in enumerate(names) if each == name]
        msg = (
            f"Got the name {shorten(name)!r} for columns {' and '.join(places[:3])} of "
            f"{source}, but expected a name for each column. Rename one, or leave them "
            f"out with --drop {shorten(name)!r}."
        )
        raise TableError(msg)


def _no_header(data: bytes, source: str) -> TableError:
    if data.strip():
        return open_quote(data, 1, source)
    return TableError(f"Got {source}, which has no text, but expected a table.")
