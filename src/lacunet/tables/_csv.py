"""Tables in CSV, read in blocks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import (
    ColumnInfo,
    TextColumn,
    check_date,
    check_number,
    describe,
    find_kind,
    survey,
)
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
from lacunet.tables._selection import TYPES, Form, Wanted, make_table
from lacunet.tables._source import (
    FileFormat,
    Source,
    check_text,
    find_encoding,
    read_chunks,
)
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


class Header(NamedTuple):
    """The beginning of a CSV file."""

    separator: str
    names: tuple[str, ...]
    data: bytes


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
    """Refuse columns that share a name."""
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


_LEAST_CHUNK, _MOST_CHUNK = 2**20, 2**24  # bytes that are read at once
_BYTES_A_COLUMN = 4096  # of a chunk, so that wide tables have some rows in it


class CsvReader:
    """A table in CSV."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source
        self._options = options
        self.encoding = find_encoding(source, options.encoding)
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
            column.numbers.decimal == "," and find_kind(column) == "number"
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

    def infos(self, places: Sequence[int]) -> tuple[ColumnInfo, ...]:
        """Return what is known of some columns."""
        named = set(self._options.categorical)
        columns = [self.columns[place] for place in places]
        return tuple(
            describe(column, is_categorical=column.name in named) for column in columns
        )

    def tables(self, wanted: Sequence[Wanted]) -> Iterator[pa.Table]:
        """Read columns, in blocks of any size."""
        for rows in filter(len, self.scan()):
            grid, _ = self.split(rows)
            yield make_table(self.convert(grid, wanted), wanted)

    def scan(self, *, exact: bool = False) -> Iterator[RawRows]:
        """Find the rows, block by block."""
        n_columns = len(self.names)
        size = min(max(_LEAST_CHUNK, _BYTES_A_COLUMN * n_columns), _MOST_CHUNK)
        chunks = read_chunks(self._source, self.encoding, size=size, exact=exact)
        yield from scan_rows(
            _without_start(chunks, len(self.header.data)),
            self.header.separator,
            n_columns=n_columns,
            first_line=1 + count_lines(self.header.data),
            source=self._source.name,
        )

    def split(self, rows: RawRows) -> tuple[TextGrid, Bools]:
        """Return what cells say, and which of them are holes."""
        texts = trim(rows.texts)
        holes = self._markers.find(texts)
        if holes.any():
            texts = pc.if_else(pa.array(holes), pa.scalar(None, pa.string()), texts)
        grid = TextGrid(texts, len(self.names))
        return grid, holes.reshape(grid.shape)

    def convert(self, grid: TextGrid, wanted: Sequence[Wanted]) -> list[pa.Array]:
        """Read texts as what they are wanted for."""
        numbers = self._convert_numbers(grid, wanted)
        return [self._convert_one(grid, each, numbers) for each in wanted]

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse what can't be read as what it is wanted for, before any work."""
        for each in wanted:
            if each.place is None:
                continue
            column = self.columns[each.place]
            if each.form in ("number", "integer"):
                check_number(column, self._source.name)
            elif each.form == "date":
                check_date(column, self._source.name)

    @cached_property
    def columns(self) -> list[TextColumn]:
        """All columns, looked at from the first row to the last."""
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

    def _convert_one(
        self, grid: TextGrid, each: Wanted, numbers: dict[int, NDArray[np.float64]]
    ) -> pa.Array:
        if each.place is None:
            return pa.nulls(grid.shape[0], TYPES[each.form])
        if each.place in numbers and each.levels is None:
            return pa.array(numbers[each.place])
        texts = grid.column(each.place)
        values = _read(texts, self.columns[each.place], each.form)
        return values if each.levels is None else each.levels.settle(values, texts)

    def _convert_numbers(
        self, grid: TextGrid, wanted: Sequence[Wanted]
    ) -> dict[int, NDArray[np.float64]]:
        """Read all numbers at once, but for those with a comma before decimals."""
        places = sorted(
            each.place
            for each in wanted
            if each.place is not None
            and each.form == "number"
            and self.columns[each.place].numbers.decimal == "."
        )
        if not places:
            return {}
        chosen = grid.columns(places)
        found = read_floats(chosen.flat)
        assert found is not None  # as they were looked at
        values = found.to_numpy(zero_copy_only=False).reshape(chosen.shape)
        columns = np.ascontiguousarray(values.T)
        return dict(zip(places, columns, strict=True))


def _without_start(chunks: Iterator[bytes], n_bytes: int) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk[n_bytes:]
        n_bytes = max(0, n_bytes - len(chunk))


def _read(texts: pa.StringArray, column: TextColumn, form: Form) -> pa.Array:
    """Read the texts of a column, which fit this form."""
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
