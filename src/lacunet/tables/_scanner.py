"""Where the cells of a CSV text begin and end.

Nothing is split or copied: a cell is a pair of places in the bytes, so that what is
written back is what was read, with quotes, spaces and line ends.

A cell that begins with a quote (after spaces) ends at the next quote that is not
doubled; what follows up to the separator belongs to it, too. In any other cell quotes
are letters. That is how Python's ``csv`` has it, with ``skipinitialspace``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Places = NDArray[np.intp]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

_LF, _CR, _QUOTE = b'\n\r"'
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MOST_SLOW_BYTES = 2**18  # that are looked at cell by cell at once


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of whole rows of a text.

    Parameters
    ----------
    starts, stops : ndarray of int of shape (cells,)
        Where a cell begins and ends, quotes included.
    row_stops : ndarray of int of shape (rows,)
        Number of cells up to the end of each row.
    texts : StringArray of shape (cells,)
        What the cells say, without quotes around them.
    quoted : ndarray of bool of shape (cells,)
        Whether there are such quotes.
    n_bytes : int
        Where the last whole row ends, with its line end.
    """

    starts: Places
    stops: Places
    row_stops: Places
    texts: pa.StringArray
    quoted: Bools
    n_bytes: int

    @property
    def sizes(self) -> Places:
        """Number of cells of each row."""
        return np.diff(self.row_stops, prepend=0)

    def leave_out(self, rows: Bools) -> "Cells":
        """Return the cells of the other rows.

        Parameters
        ----------
        rows : ndarray of bool of shape (rows,)

        Returns
        -------
        Cells
        """
        kept = np.repeat(~rows, self.sizes)
        return Cells(
            self.starts[kept],
            self.stops[kept],
            np.cumsum(self.sizes[~rows]),
            self.texts.filter(pa.array(kept)),
            self.quoted[kept],
            self.n_bytes,
        )


def find_cells(data: bytes, separator: str, *, final: bool) -> Cells:
    """Find the cells of all whole rows, or of some of them.

    Parameters
    ----------
    data : bytes
        UTF-8, from the beginning of a row on.
    separator : str
    final : bool
        Whether the text ends here; then the last row needs no line end.

    Returns
    -------
    Cells
        Of at least one row, if there is a whole one. Their ``texts`` are valid only if
        the data are.
    """
    sep = ord(separator)
    # The last row of all may lack its line end.
    lacks_end = final and data and not data.endswith((b"\n", b"\r"))
    text = data + b"\n" if lacks_end else data
    array = np.frombuffer(text, np.uint8)
    quotes = _find_quotes(array, sep) if b'"' in text else _NO_QUOTES
    if quotes is None:
        return _find_slowly(data, separator, final=final)
    breaks = array == _LF
    if b"\r" in text:
        breaks |= _find_lone_returns(array, final=final)
    breaks |= array == sep
    if quotes.inside is not None:
        breaks &= ~quotes.inside
    return _between(array, breaks, quotes, sep, n_bytes=len(data))


def count_lines(data: bytes) -> int:
    """Return the number of line ends.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    int
    """
    if b"\r" not in data:
        return data.count(b"\n")
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def first_line_end(data: bytes) -> str:
    r"""Return the first line end, ``\n`` if there is none.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    str
    """
    found = _LINE_END.search(data)
    return found[0].decode() if found else "\n"


class _Quotes(NamedTuple):
    inside: Bools | None  # from an opening quote on, up to its closing one
    dropped: Bools | None  # quotes that are not part of what a cell says


_NO_QUOTES = _Quotes(None, None)


def _find_quotes(array: Bytes, sep: int) -> _Quotes | None:
    """Pair the quotes of a text; None if there are some that do not enclose cells."""
    marks = array == _QUOTE
    # The count wraps around at 256, its last bit stays right.
    inside = (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)
    opening = np.flatnonzero(marks & inside)
    before = array[opening - 1]  # of a first one: the last byte, not looked at
    doubled = before == _QUOTE
    sound = doubled | (before == sep) | (before == _LF) | (before == _CR)
    if len(opening) and opening[0] == 0:
        doubled[0], sound[0] = False, True
    if not sound.all():
        return None
    dropped = marks
    dropped[opening[doubled]] = False
    return _Quotes(inside, dropped)


def _find_lone_returns(array: Bytes, *, final: bool) -> Bools:
    """Return where a return ends a line by itself."""
    lone: Bools = array == _CR
    lone[:-1] &= array[1:] != _LF
    lone[-1] &= final  # else a newline may follow
    return lone


def _between(
    array: Bytes, breaks: Bools, quotes: _Quotes, sep: int, *, n_bytes: int
) -> Cells:
    """Return the cells between breaks, up to the last that ends a row."""
    stops = np.flatnonzero(breaks)
    row_stops = np.flatnonzero(array[stops] != sep) + 1
    n_cells = int(row_stops[-1]) if len(row_stops) else 0
    stops = stops[:n_cells]
    end = int(stops[-1]) + 1 if n_cells else 0
    starts = np.empty_like(stops)
    starts[:1] = 0
    starts[1:] = stops[:-1] + 1
    before = stops[row_stops - 1] - 1
    # The return of a return and newline is no part of a cell.
    is_pair = (before >= 0) & (array[before] == _CR) & (array[before + 1] == _LF)
    stops[row_stops[is_pair] - 1] = before[is_pair]
    quoted = (starts < stops) & (array[np.minimum(starts, len(array) - 1)] == _QUOTE)
    if quotes.dropped is None:
        texts = _make_texts(_plain_bytes(array[:end], sep), stops - starts)
    else:
        kept = ~(breaks[:end] | quotes.dropped[:end])
        kept[stops[row_stops - 1]] = False  # returns before newlines
        count = np.zeros(end + 1, dtype=np.int32)
        np.cumsum(kept, out=count[1:], dtype=np.int32)
        texts = _make_texts(array[:end][kept], count[stops] - count[starts])
    return Cells(starts, stops, row_stops, texts, quoted, min(end, n_bytes))


def _plain_bytes(array: Bytes, sep: int) -> bytes:
    """Return a text without quotes as its cells, one behind the other."""
    return array.tobytes().translate(None, bytes((sep, _LF, _CR)))


def _make_texts(data: bytes | Bytes, lengths: Places) -> pa.StringArray:
    """Make texts of their lengths and bytes."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(lengths), pa.py_buffer(offsets), pa.py_buffer(data)
    )


# --- quotes anywhere


@lru_cache(maxsize=8)
def _pattern(separator: str) -> re.Pattern[bytes]:
    """Return what matches a cell and its end, or a quote that is not closed."""
    sep = re.escape(separator).encode()
    inner = rb'[^"]*+(?:""[^"]*+)*+'
    return re.compile(
        rb'(?P<cell>[ ]*+"(?P<inner>%b)"(?P<tail>[^%b\r\n]*+)|(?![ ]*+")[^%b\r\n]*+)'
        rb"(?P<end>%b|\r\n|\n|\r|\Z)"
        rb'|[ ]*+"%b\Z' % (inner, sep, sep, sep, inner)
    )


def _find_slowly(data: bytes, separator: str, *, final: bool) -> Cells:
    """Find cells one by one, in the first part of a long text."""
    found: list[re.Match[bytes]] = []
    row_stops = [0]
    for match in _match_cells(data, separator, final=final):
        found.append(match)
        if match["end"] != separator.encode() and (final or _is_whole(match, data)):
            row_stops.append(len(found))
            if match.end() > _MOST_SLOW_BYTES:
                break
    found = found[: row_stops[-1]]
    return Cells(
        np.array([match.start("cell") for match in found], dtype=np.intp),
        np.array([match.end("cell") for match in found], dtype=np.intp),
        np.array(row_stops[1:], dtype=np.intp),
        _as_texts([_say(match) for match in found]),
        np.array([match["inner"] is not None for match in found], dtype=bool),
        found[-1].end() if found else 0,
    )


def _match_cells(
    data: bytes, separator: str, *, final: bool
) -> Iterator[re.Match[bytes]]:
    """Match cell by cell, up to the end or to a quote that is not closed."""
    pattern = _pattern(separator)
    place, end = 0, b""
    # A separator at the very end has an empty cell behind it.
    while place < len(data) or (final and end == separator.encode()):
        match = pattern.match(data, place)
        assert match is not None
        if match["cell"] is None:
            return
        yield match
        place, end = match.end(), match["end"]


def _is_whole(match: re.Match[bytes], data: bytes) -> bool:
    """Tell whether a row ends here, whatever follows the data."""
    end: bytes = match["end"]
    return end != b"" and not (end == b"\r" and match.end() == len(data))


def _say(match: re.Match[bytes]) -> bytes:
    """Return what a cell says."""
    if match["inner"] is None:
        cell: bytes = match["cell"]
        return cell
    return match["inner"].replace(b'""', b'"') + match["tail"]


def _as_texts(cells: list[bytes]) -> pa.StringArray:
    # Without a look at whether it is UTF-8: what is wrong is told elsewhere.
    return _make_texts(b"".join(cells), np.array([*map(len, cells)], dtype=np.intp))
