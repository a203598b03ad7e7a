"""Tables in CSV, read in blocks."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, TextColumn, survey
from lacunet.tables._options import ReadOptions
from lacunet.tables._scanner import (
    MOST_BYTES,
    Bools,
    Cells,
    RawRows,
    TextGrid,
    count_lines,
    find_cells,
    first_line_end,
    is_blank,
    open_quote,
    scan_rows,
)
from lacunet.tables._selection import TYPES, Form, SelectedColumn, make_table
from lacunet.tables._source import Encoding, FileFormat, Source, check_text, read_chunks
from lacunet.tables._values import (
    DAY_FIRST,
    MARKERS,
    MONTH_FIRST,
    Markers,
    read_booleans,
    read_floats,
    read_integers,
    trim,
)

SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 2**18  # bytes to guess by
_LEAST_CHUNK, _MOST_CHUNK = 2**20, 2**24  # bytes that are read at once
_BYTES_A_COLUMN = 4096  # of a chunk, so that wide tables have some rows in it


class CsvReader:
    """A table in CSV."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source
        self._options = options
        self.encoding = Encoding.of_source(source, options.encoding)
        chunks = read_chunks(source, self.encoding, size=_LEAST_CHUNK)
        self.header = read_header(chunks, options, source.name)
        self.names = self.header.names
        decimals = ".," if self.header.separator == ";" else "."
        usual = MARKERS if options.usual_missing else ("",)
        self._markers = Markers(options.missing, usual=usual, decimals=decimals)

    @property
    def format(self) -> FileFormat:
        """How the file is written."""
        commas = any(
            column.numbers.decimal == "," and column.kind == "number"
            for column in self.columns
        )
        return FileFormat(
            "csv",
            self.header.separator,
            "," if commas else ".",
            self.encoding.name,
            bool(self.encoding.mark),
            first_line_end(self.header.data.lstrip(b" \r\n")),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        first = self.columns[0]
        return first.n_missing + first.n_observed

    def infos(self, indices: Sequence[int]) -> tuple[ColumnInfo, ...]:
        """Return what is known of some columns."""
        named = set(self._options.categorical)
        columns = [self.columns[index] for index in indices]
        return tuple(
            column.info(is_categorical=column.name in named) for column in columns
        )

    def tables(self, selection: Sequence[SelectedColumn]) -> Iterator[pa.Table]:
        """Read columns, in blocks of any size."""
        for rows in filter(len, self.scan()):
            grid, _ = self.split(rows)
            yield make_table(self.convert(grid, selection), selection)

    def scan(self, *, exact: bool = False) -> Iterator[RawRows]:
        """Find the rows, block by block."""
        n_columns = len(self.names)
        size = min(max(_LEAST_CHUNK, _BYTES_A_COLUMN * n_columns), _MOST_CHUNK)
        chunks = read_chunks(self._source, self.encoding, size=size, exact=exact)
        yield from scan_rows(
            _skip_bytes(chunks, len(self.header.data)),
            self.header.separator,
            n_columns=n_columns,
            first_line=1 + count_lines(self.header.data),
            source=self._source.name,
        )

    def split(self, rows: RawRows) -> tuple[TextGrid, Bools]:
        """Return the trimmed texts, null where missing, and which are missing."""
        texts = trim(rows.texts)
        missing = self._markers.find(texts)
        if missing.any():
            texts = pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), texts)
        grid = TextGrid(texts, len(self.names))
        return grid, missing.reshape(grid.shape)

    def convert(
        self, grid: TextGrid, selection: Sequence[SelectedColumn]
    ) -> list[pa.Array]:
        """Read texts in the forms asked for."""
        numbers = self._convert_numbers(grid, selection)
        arrays = []
        for each in selection:
            if each.index is None:
                arrays.append(pa.nulls(grid.shape[0], TYPES[each.form]))
            elif each.index in numbers and each.categories is None:
                arrays.append(pa.array(numbers[each.index]))
            else:
                texts = grid.column(each.index)
                values = _read(texts, self.columns[each.index], each.form)
                if each.categories is not None:
                    values = each.categories.recode(values, texts)
                arrays.append(values)
        return arrays

    def check(self, selection: Sequence[SelectedColumn]) -> None:
        """Refuse what can't be read in the form asked for, before any work."""
        for each in selection:
            if each.index is None:
                continue
            column = self.columns[each.index]
            if each.form in ("number", "integer"):
                column.check_number(self._source.name)
            elif each.form == "date":
                column.check_date(self._source.name)

    @cached_property
    def columns(self) -> list[TextColumn]:
        """All columns, after a pass over all rows."""
        separator, n_columns = self.header.separator, len(self.names)
        orders = dict.fromkeys(self._options.day_first, DAY_FIRST)
        orders |= dict.fromkeys(self._options.month_first, MONTH_FIRST)
        columns = [
            TextColumn(
                name, separator=separator, n_columns=n_columns, order=orders.get(name)
            )
            for name in self.names
        ]
        for rows in filter(len, self.scan()):
            survey(columns, *self.split(rows), rows)
        if not columns[0].n_missing + columns[0].n_observed:
            msg = (
                f"Got {self._source.name}, which has names of columns and no rows, but "
                f"expected rows below the first line."
            )
            raise TableError(msg)
        return columns

    def _convert_numbers(
        self, grid: TextGrid, selection: Sequence[SelectedColumn]
    ) -> dict[int, NDArray[np.float64]]:
        """Read all numbers at once, but for those with a comma before decimals."""
        indices = sorted(
            each.index
            for each in selection
            if each.index is not None
            and each.form == "number"
            and self.columns[each.index].numbers.decimal == "."
        )
        if not indices:
            return {}
        chosen = grid.columns(indices)
        found = read_floats(chosen.flat)
        assert found is not None  # as columns are checked
        values = found.to_numpy(zero_copy_only=False).reshape(chosen.shape)
        columns = np.ascontiguousarray(values.T)
        return dict(zip(indices, columns, strict=True))


def _skip_bytes(chunks: Iterator[bytes], n_bytes: int) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk[n_bytes:]
        n_bytes = max(0, n_bytes - len(chunk))


def _read(texts: pa.StringArray, column: TextColumn, form: Form) -> pa.Array:
    """Read the texts of a column, all of which have this form."""
    if form == "text":
        return texts
    if form == "number":
        return read_floats(texts, column.numbers.decimal)
    if form == "integer":
        return read_integers(texts)
    if form == "boolean":
        return read_booleans(texts)
    style = column.dates.style
    return pa.nulls(len(texts), TYPES["date"]) if style is None else style.read(texts)


# --- the first line


class Header(NamedTuple):
    """The beginning of a CSV file."""

    separator: str
    names: tuple[str, ...]
    data: bytes  # the first line and what stands before it, in UTF-8


def read_header(chunks: Iterator[bytes], options: ReadOptions, source: str) -> Header:
    """Read the first line, and guess the separator by the lines that follow."""
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
            if data.strip():
                raise open_quote(data, 1, source)
            msg = f"Got {source}, which has no text, but expected a table."
            raise TableError(msg)


def _rate(cells: Cells) -> tuple[float, int]:
    """Return the fraction of rows as long as the first, and how many cells it has."""
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
    stripped = [text.strip() for text in cells.texts[start:stop].to_pylist()]
    # A column without a name is called as pandas calls it.
    names = [name or f"Unnamed: {index}" for index, name in enumerate(stripped)]
    return Header(separator, tuple(names), data[:end])
