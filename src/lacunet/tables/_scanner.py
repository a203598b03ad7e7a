"""Where the cells of a CSV text begin and end, arranged in rows.

Nothing is split or copied: a cell is a pair of offsets into the bytes, so that what is
written back is what was read, with quotes, spaces and line ends.

A cell that begins with a quote (after spaces) ends at the next quote that is not
doubled; what follows up to the separator belongs to it, too. In any other cell quotes
are ordinary characters. Python's ``csv`` with ``skipinitialspace`` does the same.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.exceptions import TableError
from lacunet.tables._source import check_text

Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

MOST_BYTES = 2**26  # of a row: more is a quote that was not meant as one
_MOST_SLOW_BYTES = 2**18  # that are parsed cell by cell at once
_LF, _CR, _QUOTE = b'\n\r"'
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, eq=False)
class RawRows:
    """Some rows of a file, with the bytes that they stand in."""

    data: bytes  # from the first row to the last, in UTF-8
    starts: Indices  # of cells in the data, (rows, columns)
    stops: Indices
    texts: pa.StringArray  # of cells without their quotes, row by row
    quoted: Bools  # (rows, columns)
    line: int  # number of the first line in the file, from 1

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts)

    def line_of(self, row: int) -> int:
        """Return the number of the line in which a row begins."""
        return self.line + count_lines(self.data[: int(self.starts[row, 0])])

    def cells(self, indices: Indices) -> list[bytes]:
        """Return cells as they stand in the file, by their indices row by row."""
        starts = self.starts.ravel()[indices].tolist()
        stops = self.stops.ravel()[indices].tolist()
        pairs = zip(starts, stops, strict=True)
        return [self.data[start:stop] for start, stop in pairs]

    def replace(self, indices: Indices, cells: Iterable[bytes]) -> bytes:
        """Return the data with other cells at some indices, which ascend."""
        if not len(indices):
            return self.data
        stops = self.stops.ravel()[indices].tolist()
        starts = self.starts.ravel()[indices].tolist()
        pieces = [self.data[: starts[0]]]
        between = zip(stops, [*starts[1:], len(self.data)], strict=True)
        for cell, (start, stop) in zip(cells, between, strict=True):
            pieces += (cell, self.data[start:stop])
        return b"".join(pieces)


@dataclass(frozen=True, eq=False)
class TextGrid:
    """Texts in rows and columns, in one array, row by row.

    What is done to all of them at once costs much less than column by column, if there
    are thousands of columns.
    """

    flat: pa.StringArray
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.flat) // self.n_columns, self.n_columns

    def column(self, index: int) -> pa.StringArray:
        """Return the texts of a column."""
        return self.columns([index]).flat

    def columns(self, indices: Sequence[int]) -> "TextGrid":
        """Return some of the columns, in ascending order."""
        if len(indices) == self.n_columns:
            return self
        chosen = self._cell_indices()[:, indices].ravel()
        return TextGrid(self.flat.take(pa.array(chosen)), len(indices))

    def rows(self, indices: Indices) -> "TextGrid":
        """Return some of the rows."""
        chosen = self._cell_indices()[indices].ravel()
        return TextGrid(self.flat.take(pa.array(chosen)), self.n_columns)

    def _cell_indices(self) -> NDArray[np.int64]:
        return np.arange(len(self.flat)).reshape(self.shape)


def scan_rows(
    chunks: Iterable[bytes],
    separator: str,
    *,
    n_columns: int,
    first_line: int,
    source: str,
) -> Iterator[RawRows]:
    """Find the rows of a text that comes in chunks of UTF-8.

    Together the blocks have all of the text. Blank lines are skipped, unless there is
    one column only; a block may have blank lines and no row.
    """
    rest, line = b"", first_line
    for chunk in chain(chunks, [None]):  # None: nothing follows
        rest += chunk or b""
        while rest:
            cells = find_cells(rest, separator, final=chunk is None)
            data, rest = rest[: cells.n_bytes], rest[cells.n_bytes :]
            if not data:
                break
            check_text(data, line, source)
            if (cells.sizes != n_columns).any():
                cells = cells.drop_rows(is_blank(cells))
                _check_sizes(cells, data, n_columns, line, source)
            shape = (-1, n_columns)
            starts, stops = cells.starts.reshape(shape), cells.stops.reshape(shape)
            quoted = cells.quoted.reshape(shape)
            yield RawRows(data, starts, stops, cells.texts, quoted, line)
            line += count_lines(data)
        if len(rest) > (0 if chunk is None else MOST_BYTES):
            raise open_quote(rest, line, source)


def open_quote(rest: bytes, line: int, source: str) -> TableError:
    """Return the error of a row that does not end."""
    # A character may be cut off at the end.
    check_text(rest[: rest.rfind(b"\n") + 1], line, source)
    if b'"' in rest:
        what = "a quote that is not closed"
    else:
        what = f"a line of more than {MOST_BYTES} bytes"
    msg = (
        f"Got {what} in the row from line {line} of {source} on, but expected a table. "
        f"Double a quote within a cell, and put quotes around that cell."
    )
    return TableError(msg)


def count_lines(data: bytes) -> int:
    """Return the number of line ends."""
    if b"\r" not in data:
        return data.count(b"\n")
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def first_line_end(data: bytes) -> str:
    r"""Return the first line end, ``\n`` if there is none."""
    found = _LINE_END.search(data)
    return found[0].decode() if found else "\n"


# --- the cells of a chunk


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of whole rows of a text."""

    starts: Indices  # in the bytes, quotes included
    stops: Indices
    row_stops: Indices  # number of cells up to the end of each row
    texts: pa.StringArray  # without quotes around them
    quoted: Bools
    n_bytes: int  # up to the end of the last whole row

    @property
    def sizes(self) -> Indices:
        """Number of cells of each row."""
        return np.diff(self.row_stops, prepend=0)

    def drop_rows(self, rows: Bools) -> "Cells":
        """Return the cells of the other rows."""
        kept = np.repeat(~rows, self.sizes)
        return Cells(
            self.starts[kept],
            self.stops[kept],
            np.cumsum(self.sizes[~rows]),
            self.texts.filter(pa.array(kept)),
            self.quoted[kept],
            self.n_bytes,
        )


def is_blank(cells: Cells) -> Bools:
    """Return which rows have nothing in them but spaces."""
    first = cells.row_stops - cells.sizes
    empty = pc.equal(pc.ascii_trim(cells.texts, " "), "")
    blank: Bools = (cells.sizes == 1) & empty.to_numpy(zero_copy_only=False)[first]
    blank &= ~cells.quoted[first]
    return blank


def find_cells(data: bytes, separator: str, *, final: bool) -> Cells:
    """Find the cells of all whole rows, or of some of them.

    There is at least one row, if there is a whole one. If the text is ``final``, its
    last row needs no line end.
    """
    sep = ord(separator)
    lacks_end = final and data and not data.endswith((b"\n", b"\r"))
    text = data + b"\n" if lacks_end else data
    array = np.frombuffer(text, np.uint8)
    inside: Bools | None = None  # from an opening quote on, up to its closing one
    dropped: Bools | None = None  # quotes that are not part of a cell's text
    if b'"' in text:
        quotes = _find_quotes(array, sep)
        if quotes is None:
            return _find_slowly(data, separator, final=final)
        inside, dropped = quotes
    breaks = array == _LF
    if b"\r" in text:
        lone_return = array == _CR
        lone_return[:-1] &= array[1:] != _LF
        lone_return[-1] &= final  # else a newline may follow
        breaks |= lone_return
    breaks |= array == sep
    if inside is not None:
        breaks &= ~inside
    return _cells_between(array, breaks, dropped, sep, n_bytes=len(data))


def _find_quotes(array: Bytes, sep: int) -> tuple[Bools, Bools] | None:
    """Pair the quotes of a text; None if there are some that do not enclose cells."""
    marks: Bools = array == _QUOTE
    # The count wraps around at 256, its last bit stays right.
    inside = (np.cumsum(marks, dtype=np.uint8) & 1).astype(bool)
    opening = np.flatnonzero(marks & inside)
    before = array[opening - 1]  # of a first one: the last byte, not used
    doubled = before == _QUOTE
    sound = doubled | (before == sep) | (before == _LF) | (before == _CR)
    if len(opening) and opening[0] == 0:
        doubled[0], sound[0] = False, True
    if not sound.all():
        return None
    marks[opening[doubled]] = False
    return inside, marks


def _cells_between(
    array: Bytes, breaks: Bools, dropped: Bools | None, sep: int, *, n_bytes: int
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
    if dropped is None:
        joined = array[:end].tobytes().translate(None, bytes((sep, _LF, _CR)))
        texts = _make_texts(joined, stops - starts)
    else:
        kept = ~(breaks[:end] | dropped[:end])
        kept[stops[row_stops - 1]] = False  # returns before newlines
        count = np.zeros(end + 1, dtype=np.int32)
        np.cumsum(kept, out=count[1:], dtype=np.int32)
        texts = _make_texts(array[:end][kept], count[stops] - count[starts])
    return Cells(starts, stops, row_stops, texts, quoted, min(end, n_bytes))


def _make_texts(data: bytes | Bytes, lengths: Indices) -> pa.StringArray:
    """Make texts of their bytes and lengths; ``check_text`` checks that it is UTF-8."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(lengths), pa.py_buffer(offsets), pa.py_buffer(data)
    )


def _check_sizes(
    cells: Cells, data: bytes, n_columns: int, line: int, source: str
) -> None:
    wrong = np.flatnonzero(cells.sizes != n_columns)
    if not len(wrong):
        return
    row = int(wrong[0])
    size = int(cells.sizes[row])
    line += count_lines(data[: int(cells.starts[int(cells.row_stops[row]) - size])])
    msg = (
        f"Got {size} {'cell' if size == 1 else 'cells'} in line {line} of {source}, "
        f"but expected {n_columns}, as in the first line. Put quotes around cells that "
        f"have the separator in them, or name the separator with --sep."
    )
    raise TableError(msg)


# --- text with quotes anywhere


def _find_slowly(data: bytes, separator: str, *, final: bool) -> Cells:
    """Find cells one by one, in the first part of a long text."""
    found: list[re.Match[bytes]] = []
    row_stops = [0]
    for match in _match_cells(data, separator, final=final):
        found.append(match)
        end = match["end"]
        # A return that is the last byte may have a newline behind it.
        is_whole = end != b"" and not (end == b"\r" and match.end() == len(data))
        if end != separator.encode() and (final or is_whole):
            row_stops.append(len(found))
            if match.end() > _MOST_SLOW_BYTES:
                break
    found = found[: row_stops[-1]]
    texts = [
        match["cell"]
        if match["inner"] is None
        else match["inner"].replace(b'""', b'"') + match["tail"]
        for match in found
    ]
    return Cells(
        np.array([match.start("cell") for match in found], dtype=np.intp),
        np.array([match.end("cell") for match in found], dtype=np.intp),
        np.array(row_stops[1:], dtype=np.intp),
        _make_texts(b"".join(texts), np.array([*map(len, texts)], dtype=np.intp)),
        np.array([match["inner"] is not None for match in found], dtype=bool),
        found[-1].end() if found else 0,
    )


def _match_cells(
    data: bytes, separator: str, *, final: bool
) -> Iterator[re.Match[bytes]]:
    """Match cell by cell, up to the end or to a quote that is not closed."""
    pattern = _cell_pattern(separator)
    position, end = 0, b""
    # A separator at the very end has an empty cell behind it.
    while position < len(data) or (final and end == separator.encode()):
        match = pattern.match(data, position)
        assert match is not None
        if match["cell"] is None:
            return
        yield match
        position, end = match.end(), match["end"]


@lru_cache(maxsize=8)
def _cell_pattern(separator: str) -> re.Pattern[bytes]:
    """Return what matches a cell and its end, or a quote that is not closed."""
    sep = re.escape(separator).encode()
    inner = rb'[^"]*+(?:""[^"]*+)*+'
    return re.compile(
        rb'(?P<cell>[ ]*+"(?P<inner>%b)"(?P<tail>[^%b\r\n]*+)|(?![ ]*+")[^%b\r\n]*+)'
        rb"(?P<end>%b|\r\n|\n|\r|\Z)"
        rb'|[ ]*+"%b\Z' % (inner, sep, sep, sep, inner)
    )
