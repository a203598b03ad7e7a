"""Rows of a CSV file in blocks, with the bytes that they stand in."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lacunet.exceptions import TableError
from lacunet.tables._scanner import Bools, Cells, Places, count_lines, find_cells
from lacunet.tables._text import check_text

MOST_BYTES = 2**26  # of a row: more is a quote that was not meant as one


@dataclass(frozen=True, eq=False)
class RawRows:
    """Some rows of a file.

    Parameters
    ----------
    data : bytes
        All that stands in the file from the first row to the last, in UTF-8.
    starts, stops : ndarray of int of shape (rows, columns)
        Where a cell begins and ends in it.
    texts : StringArray of shape (rows * columns,)
        What the cells say, row by row.
    quoted : ndarray of bool of shape (rows, columns)
        Whether a cell has quotes around it.
    line : int
        Number of the first line in the file, from 1.
    """

    data: bytes
    starts: Places
    stops: Places
    texts: pa.StringArray
    quoted: Bools
    line: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts)

    def line_of(self, row: int) -> int:
        """Return the number of the line in which a row begins.

        Parameters
        ----------
        row : int

        Returns
        -------
        int
        """
        return self.line + count_lines(self.data[: int(self.starts[row, 0])])

    def cells(self, places: Places) -> list[bytes]:
        """Return cells as they stand in the file.

        Parameters
        ----------
        places : ndarray of int of shape (cells,)
            Of the cells among all, row by row.

        Returns
        -------
        list of bytes
        """
        starts = self.starts.ravel()[places].tolist()
        stops = self.stops.ravel()[places].tolist()
        pairs = zip(starts, stops, strict=True)
        return [self.data[start:stop] for start, stop in pairs]

    def replace(self, places: Places, cells: Iterable[bytes]) -> bytes:
        """Return the data with other cells in some places.

        Parameters
        ----------
        places : ndarray of int of shape (changes,)
            Of the cells among all, row by row, ascending.
        cells : iterable of bytes

        Returns
        -------
        bytes
        """
        if not len(places):
            return self.data
        stops = self.stops.ravel()[places].tolist()
        starts = self.starts.ravel()[places].tolist()
        pieces = [self.data[: starts[0]]]
        gaps = zip(stops, [*starts[1:], len(self.data)], strict=True)
        for cell, (start, stop) in zip(cells, gaps, strict=True):
            pieces += (cell, self.data[start:stop])
        return b"".join(pieces)


def scan_rows(
    chunks: Iterable[bytes],
    separator: str,
    *,
    n_columns: int,
    first_line: int,
    source: str,
) -> Iterator[RawRows]:
    """Find the rows of a text that comes in pieces.

    Parameters
    ----------
    chunks : iterable of bytes
        UTF-8, from the beginning of a row on.
    separator : str
    n_columns : int
        Every row must have as many cells. Lines with nothing in them are passed over,
        unless there is one column only.
    first_line : int
        Number of the first line.
    source : str
        Name of the file, for messages.

    Yields
    ------
    RawRows
        Together they have all of the text. Some may have blank lines and no row.
    """
    rest, line = b"", first_line
    for chunk in chain(chunks, [None]):  # None: nothing follows
        rest += chunk or b""
        while rest:
            cells = find_cells(rest, separator, final=chunk is None)
            data, rest = rest[: cells.n_bytes], rest[cells.n_bytes :]
            if not data:
                break
            yield _in_rows(cells, data, n_columns, line, source)
            line += count_lines(data)
        if len(rest) > (0 if chunk is None else MOST_BYTES):
            raise open_quote(rest, line, source)


def is_blank(cells: Cells) -> Bools:
    """Return which rows have nothing in them but spaces.

    Parameters
    ----------
    cells : Cells

    Returns
    -------
    ndarray of bool of shape (rows,)
    """
    first = cells.row_stops - cells.sizes
    empty = pc.equal(pc.ascii_trim(cells.texts, " "), "")
    blank: Bools = (cells.sizes == 1) & empty.to_numpy(zero_copy_only=False)[first]
    blank &= ~cells.quoted[first]
    return blank


def _in_rows(
    cells: Cells, data: bytes, n_columns: int, line: int, source: str
) -> RawRows:
    """Arrange cells in rows of the same size; there may be blank lines only."""
    check_text(data, line, source)
    if (cells.sizes != n_columns).any():
        cells = cells.leave_out(is_blank(cells))
        _check_sizes(cells, data, n_columns, line, source)
    shape = (-1, n_columns)
    return RawRows(
        data,
        cells.starts.reshape(shape),
        cells.stops.reshape(shape),
        cells.texts,
        cells.quoted.reshape(shape),
        line,
    )


def _check_sizes(
    cells: Cells, data: bytes, n_columns: int, line: int, source: str
) -> None:
    wrong = np.flatnonzero(cells.sizes != n_columns)
    if not len(wrong):
        return
    row = int(wrong[0])
    first = int(cells.row_stops[row] - cells.sizes[row])
    place = line + count_lines(data[: int(cells.starts[first])])
    size = int(cells.sizes[row])
    msg = (
        f"Got {size} {'cell' if size == 1 else 'cells'} in line {place} of {source}, "
        f"but expected {n_columns}, as in the first line. Put quotes around cells that "
        f"have the separator in them, or name the separator with --sep."
    )
    raise TableError(msg)


def open_quote(rest: bytes, line: int, source: str) -> TableError:
    """Return the error of a row that does not end.

    Parameters
    ----------
    rest : bytes
        From the beginning of the row on.
    line : int
    source : str

    Returns
    -------
    TableError
    """
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
