"""Files of all formats as batches of rows."""

import csv
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import (
    Column,
    Kind,
    NumberStats,
    TextColumn,
    mark_codes,
    quote_cell,
    quote_name,
)
from lacunet.tables._options import ReadOptions, check_known
from lacunet.tables._source import Encoding, Source
from lacunet.tables._values import (
    DAY_FIRST,
    FORMATS,
    MARKERS,
    MONTH_FIRST,
    PLAIN,
    STAMP,
    Bools,
    Markers,
    read_booleans,
    read_integers,
    trim,
)

Form = str  # number, integer, boolean, text or date: what a column is read as
TYPES: dict[Form, pa.DataType] = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": STAMP,
}
SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 2**18  # characters to guess the separator by
_BLOCK = 2**22  # bytes of CSV that are read at once; a row has to fit in
_CELLS = 2**19  # of a batch of other formats
_HELD = 2**22  # cells of a table that is held in memory after its first pass
_MOST_LINES = 10**6  # that are counted to name one
_INDEX = re.compile(r"__index_level_[0-9]+__")  # what pandas calls a nameless index
_ADVICE = (
    (pt.is_nested, "give its elements columns of their own"),
    (pt.is_duration, "make it a number, such as its days or seconds"),
    (pt.is_time, "make it a number, such as the hours since midnight"),
    (pt.is_binary, "decode it to texts"),
)


def make_markers(
    options: ReadOptions, names: Sequence[str], **more: Any
) -> dict[str | None, Markers]:
    """Return what means missing in all columns (None), and in some of their own."""
    own: dict[str | None, list[str]] = {None: []}
    for text in options.missing:
        name, is_own, cell = text.partition("=")
        key = name if is_own and name in names else None
        own.setdefault(key, []).append(text if key is None else cell)
    return {
        name: Markers(tuple(own[None] + (texts if name else [])), **more)
        for name, texts in own.items()
    }


# --- CSV: texts, typed by our rules


class CsvReader:
    """A table of texts, in CSV."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._held: list[pa.RecordBatch] | None = None
        self.encoding = Encoding.find(source, options.encoding)
        with self._open_text() as stream:
            start = stream.read(_SAMPLE)
        lines = io.StringIO(start, newline="").readlines()
        above = options.skip_rows
        while above < len(lines) and self._is_ignored(lines[above]):
            above += 1
        candidates = SEPARATORS if options.sep is None else (options.sep,)
        self.separator = max(candidates, key=lambda sep: _rate(lines[above:], sep))
        # Where semicolons or tabs stand between cells, commas are free for decimals.
        self._decimal = options.decimal or ("," if self.separator == ";" else ".")
        reader = csv.reader(lines[above:], delimiter=self.separator)
        first = next(reader, None)
        if first is None:
            msg = f"Got {source.name}, which has no text, but expected a table."
            raise TableError(msg)
        self.keys = [str(index) for index in range(len(first))]  # of arrays
        self._n_above = above + (reader.line_num if options.header else 0)
        self.above = "".join(lines[: self._n_above])  # with the names of the columns
        if "\n" in first[-1] and not start.rstrip("\r\n").endswith('"'):
            raise self._open_quote(above + 1)
        if not options.header:
            first = [f"column{index + 1}" for index in range(len(first))]
        texts = trim(pa.array(first, pa.string())).to_pylist()
        # A column without a name is called as pandas calls it.
        self.names = tuple(x or f"Unnamed: {index}" for index, x in enumerate(texts))
        self._markers = make_markers(
            options,
            self.names,
            usual=MARKERS if options.usual_missing else ("",),
            decimals=".," if self._decimal == "," else ".",
        )
        ends = re.search(r"\r\n|\n|\r", start[len("".join(lines[:above])) :])
        self.line_end = ends[0] if ends else "\n"

    @cached_property
    def columns(self) -> list[TextColumn]:
        """All columns, after one or two passes over all rows."""
        options = self._options
        days = dict.fromkeys(options.day_first, DAY_FIRST)
        days |= dict.fromkeys(options.month_first, MONTH_FIRST)
        columns = [
            TextColumn(
                name,
                n_columns=len(self.names),
                day=days.get(name),
                decimal="," if self.separator != "," else self._decimal,
            )
            for name in self.names
        ]
        row = 0
        for batch in self.raw_batches():
            for index, column in enumerate(columns):
                column.update(self.split(batch, index), row)
            row += len(batch)
        formats = [
            each
            for each in FORMATS
            if options.decimal in (None, each.decimal)
            and options.thousands in (None, each.thousands)
        ]
        votes = {column.vote() for column in columns} - {None}
        mark = str(votes.pop()) if len(votes) == 1 else self._decimal
        again = [
            index
            for index, column in enumerate(columns)
            if column.choose_format(mark, formats)
        ]
        self._read_numbers(columns, again)
        mark_codes(columns)
        return columns

    def _read_numbers(self, columns: list[TextColumn], indices: Sequence[int]) -> None:
        """Read the numbers of columns by the format that was chosen."""
        for index in indices:
            columns[index].stats = NumberStats()
        row = 0
        for batch in self.raw_batches() if indices else ():
            for index in indices:
                columns[index].update_numbers(self.split(batch, index), row)
            row += len(batch)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.columns[0].n_missing + self.columns[0].n_observed

    def split(self, batch: pa.RecordBatch, index: int) -> pa.StringArray:
        """Return the trimmed texts of a column, null where missing."""
        texts = trim(batch.column(index))
        markers = self._markers.get(self.names[index], self._markers[None])
        missing = markers.find(texts)
        if not missing.any():
            return texts
        return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), texts)

    def convert(
        self, texts: pa.StringArray, index: int, form: Form, first_row: int
    ) -> pa.Array:
        """Read texts in the form asked for, which was checked."""
        column = self.columns[index]
        if form == "number":
            assert column.format is not None
            return column.format.read(texts)
        if form == "integer":
            return read_integers(texts)
        if form == "boolean":
            return read_booleans(texts)
        if form == "date":
            style = column.dates.style
            return pa.nulls(len(texts), STAMP) if style is None else style.read(texts)
        return texts

    def check(self, index: int, form: Form) -> None:
        """Refuse a column that can't be read in the form asked for, before any work."""
        column, source = self.columns[index], self._source.name
        name = quote_name(column.name)
        if form in ("number", "integer") and column.n_observed:
            if column.format is None:
                column.format = PLAIN
                self._read_numbers(self.columns, [index])
            if not column.can_be_numbers:
                text, row = next(iter(column.odd.items()))
                msg = (
                    f"Got {shorten(text)!r} in {self.place(row)} of column {name} of "
                    f"{source}, but expected a number. If it means missing, use "
                    f"--missing {quote_cell(text)}."
                )
                raise TableError(msg)
            if column.stats.infinite is not None:
                where = self.place(column.stats.infinite)
                msg = (
                    f"Got column {name} of {source} with an infinite number in "
                    f"{where}, but expected finite ones. Count it as missing with "
                    f"--missing inf."
                )
                raise TableError(msg)
        if form == "date" and column.n_observed and column.dates.style is None:
            msg = (
                f"Got column {name} of {source} with values that are no dates, or not "
                f"all written in one way, but expected dates. Write them as "
                f"2024-12-31, or name what means missing with --missing."
            )
            raise TableError(msg)

    def place(self, row: int) -> str:
        """Name the line in which a row begins."""
        return f"row {row + 1}" if row > _MOST_LINES else f"line {self._line_of(row)}"

    def _line_of(self, row: int, *, is_raw: bool = False) -> int:
        """Return the line of a row; raw ones are counted with comments and spaces."""
        with self._open_text() as stream:
            for _ in range(self._n_above):
                stream.readline()
            reader = csv.reader(stream, delimiter=self.separator)
            line = n_rows = 0
            for cells in reader:
                text = "".join(cells)
                is_row = bool(cells) if is_raw else len(cells) > 1 or bool(text.strip())
                is_row = is_row or len(self.names) == 1
                n_rows += is_row and (is_raw or not self._is_comment(text))
                if n_rows > row:
                    break
                line = reader.line_num
        return self._n_above + line + 1

    def raw_batches(
        self, indices: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read all cells as they stand; a small table is kept in memory."""
        if self._held is not None:
            yield from self._held
            return
        held: list[pa.RecordBatch] = []
        n_cells, batches = 0, self._read_batches()
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(next, batches, None)
            while (batch := coming.result()) is not None:
                coming = thread.submit(next, batches, None)  # while this is worked on
                n_cells += batch.num_rows * batch.num_columns
                held = [*held, batch] if n_cells <= _HELD else []
                yield batch
        self._held = held or None

    def close(self) -> None:
        """Discard what is held in memory."""
        self._held = None

    def _read_batches(self) -> Iterator[pa.RecordBatch]:
        keys = self.keys
        wrong: list[Any] = []  # the row that can't be read

        def look_at(row: Any) -> str:
            if self._is_ignored(row.text):
                return "skip"
            wrong.append(row)
            return "error"

        read = pacsv.ReadOptions(
            column_names=keys,
            skip_rows=self._n_above,
            block_size=_BLOCK,
            use_threads=False,  # else rows are not numbered
            encoding=self.encoding.name,
        )
        parse = pacsv.ParseOptions(
            delimiter=self.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(keys) > 1,
            invalid_row_handler=look_at,
        )
        convert = pacsv.ConvertOptions(
            column_types=dict.fromkeys(keys, pa.string()),
            strings_can_be_null=False,
            null_values=[],
        )
        n_rows, last = 0, None
        with self._source.open() as stream:
            stream.read(len(self.encoding.mark))
            try:
                for batch in pacsv.open_csv(stream, read, parse, convert):
                    found = self._check_batch(batch, n_rows)
                    n_rows += len(found)
                    if len(found):
                        last = found
                        yield found
            except (pa.ArrowInvalid, UnicodeError) as error:
                raise self._explain(error, wrong) from error
        if last is None:
            raise self._no_rows()
        if "\n" in last.columns[-1][-1].as_py() and not self._ends_quoted():
            raise self._open_quote(self._line_of(n_rows - 1))

    def _check_batch(self, batch: pa.RecordBatch, n_before: int) -> pa.RecordBatch:
        """Refuse NUL bytes, and drop comments."""
        for column in batch.columns:
            data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
            if len(data) and not data.min():
                row = pc.index(pc.match_substring(column, "\0"), True).as_py()
                raise self._refuse_zero(self.place(n_before + row))
        if self._options.comment:
            is_comment = pc.starts_with(batch.columns[0], self._options.comment)
            batch = batch.filter(pc.invert(is_comment))
        return batch

    def _explain(self, error: Exception, wrong: Sequence[Any] = ()) -> TableError:
        name = self._source.name
        if wrong:
            row = wrong[0]
            line = self._line_of(row.number - self._n_above - 1, is_raw=True)
            cells = "cell" if row.actual_columns == 1 else "cells"
            return TableError(
                f"Got {row.actual_columns} {cells} in line {line} of {name}, but "
                f"expected {row.expected_columns}, as in the first line. Put quotes "
                f"around cells that have the separator in them, or name it with --sep."
            )
        if "skip initial" in str(error):
            return self._no_rows()
        if "straddl" in str(error):
            return self._open_quote()
        if b"\0" in self._source.start:
            return self._refuse_zero("its beginning")
        return TableError(
            f"Got {name}, whose text is not in the encoding {self.encoding.name}. Name "
            f"another with --encoding, such as latin-1 or cp1252."
        )

    def _no_rows(self) -> TableError:
        msg = (
            f"Got {self._source.name}, which has names of columns and no rows, but "
            f"expected rows below the first line."
        )
        return TableError(msg)

    def _refuse_zero(self, where: str) -> TableError:
        msg = (
            f"Got a NUL byte in {where} of {self._source.name}, but expected text. It "
            f"is a binary file, or damaged."
        )
        return TableError(msg)

    def _open_quote(self, line: int | None = None) -> TableError:
        where = "a row" if line is None else f"the row from line {line} on"
        msg = (
            f"Got a quote that is not closed in {where} of {self._source.name}, or "
            f"more than {_BLOCK:,} bytes in a row, but expected a table. Double a "
            f"quote within a cell, and put quotes around that cell."
        )
        return TableError(msg)

    def _ends_quoted(self) -> bool:
        with self._open_text() as stream:
            end = ""
            while text := stream.read(2**20):
                end = (end + text)[-100:]
        return end.rstrip("\r\n").endswith('"')

    def _is_ignored(self, line: str) -> bool:
        return not line.strip() or self._is_comment(line)

    def _is_comment(self, line: str) -> bool:
        comment = self._options.comment
        return comment is not None and line.startswith(comment)

    @contextmanager
    def _open_text(self) -> Iterator[io.TextIOWrapper]:
        """Open the text from its beginning, with its own line ends."""
        with self._source.open() as stream:
            stream.read(len(self.encoding.mark))
            text = io.TextIOWrapper(
                io.BufferedReader(stream), self.encoding.name, newline=""
            )
            try:
                yield text
            except UnicodeDecodeError as error:
                raise self._explain(error) from error


def _rate(lines: Sequence[str], sep: str) -> tuple[float, int]:
    """Return the fraction of rows as long as the first, and how many cells it has."""
    try:
        sizes = [len(row) for row in csv.reader(lines, delimiter=sep) if any(row)]
    except csv.Error:  # a cell beyond the limit
        return 0.0, 0
    if not sizes or sizes[0] < 2:
        return 0.0, 0
    if len(sizes) > 2:
        sizes.pop()  # which may be cut off
    return sizes.count(sizes[0]) / len(sizes), sizes[0]


def read_sheet(source: Source, sheet: str | None) -> bytes:
    """Return a sheet of a workbook as CSV, with the text that CSV would have."""
    import python_calamine

    with source.open() as stream:
        data = io.BytesIO(stream.read())
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(data)
        names = book.sheet_names
        name = sheet or names[0]
        if name not in names and name.isdigit() and 0 < int(name) <= len(names):
            name = names[int(name) - 1]
        check_known([name], names, "--sheet", "sheet of the workbook")
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except (python_calamine.CalamineError, OSError) as error:
        msg = f"Got {source.name}, a workbook that could not be read: {error}."
        raise TableError(msg) from error
    out = io.StringIO()
    for row in rows:
        cells = [_show_cell(cell) for cell in row]
        # A blank row is a blank line: lines are numbered as the rows of the sheet.
        csv.writer(out, lineterminator="\n").writerow(cells if any(cells) else [])
    return out.getvalue().encode()


def _show_cell(cell: Any) -> str:
    """Return a cell of a workbook as the text that a CSV file would have."""
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 1e15
        return str(int(cell)) if whole else repr(cell)
    if isinstance(cell, datetime.datetime):
        day = cell.time() == datetime.time()
        return str(cell.date()) if day else cell.isoformat(" ", "seconds")
    return str(cell)


# --- columns with types: Parquet, Arrow, JSON


def is_text(type_: pa.DataType) -> bool:
    """Return whether a type is one of texts."""
    return bool(
        pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_)
    )


def is_number(type_: pa.DataType) -> bool:
    """Return whether a type is one of numbers."""
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_))


def kind_of(type_: pa.DataType) -> Kind:
    """Return what a column of this type is."""
    if pt.is_dictionary(type_):
        inner = kind_of(type_.value_type)
        return inner if inner in ("unsupported", "empty", "boolean") else "category"
    if is_number(type_):
        return "integer" if pt.is_integer(type_) else "number"
    if pt.is_boolean(type_):
        return "boolean"
    if is_text(type_):
        return "category"
    if pt.is_date(type_) or pt.is_timestamp(type_):
        return "date"
    return "empty" if pt.is_null(type_) else "unsupported"


def flatten(array: pa.Array) -> pa.Array:
    """Return an array without dictionary, and texts in one type."""
    flat = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    if is_text(flat.type):
        return flat.cast(pa.string())
    return flat.cast(pa.float32()) if pt.is_float16(flat.type) else flat


def _advise(name: str, type_: pa.DataType) -> str:
    """Return what can be done about a column of a type that is not supported."""
    inner = type_.value_type if pt.is_dictionary(type_) else type_
    advice = [text for test, text in _ADVICE if test(inner)]
    other = advice[0] if advice else "make it numbers, texts or dates"
    return (
        f"It has the type {shorten(str(type_), 30)}: {other}, or leave it out with "
        f"--drop {quote_name(name)}."
    )


def _as_floats(array: pa.Array) -> pa.DoubleArray:
    """Return numbers of any type as the nearest floats."""
    return array.cast(pa.float64(), safe=False)


class TypedReader:
    """A table in Parquet, Arrow or JSON lines."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source, self._options = source, options
        with self._explain_errors():
            if source.paths and source.kind != "json" and not source.is_compressed:
                self._dataset = ds.dataset(
                    source.paths,
                    format="parquet" if source.kind == "parquet" else "ipc",
                    partitioning="hive",
                )
            else:
                self._dataset = ds.dataset(self._read_whole())
        self.schema = self._dataset.schema
        names = (name for name in self.schema.names if not _INDEX.fullmatch(name))
        self.names = self.keys = tuple(names)
        if not self.names:
            msg = f"Got {source.name}, which has no columns, but expected a table."
            raise TableError(msg)
        self._markers = make_markers(options, self.names, usual=())

    @property
    def codec(self) -> str:
        """How a Parquet file is compressed."""
        if self._source.kind != "parquet" or not self._source.paths:
            return "snappy"
        metadata = pq.ParquetFile(self._source.paths[0]).metadata
        found = metadata.row_group(0).column(0).compression.lower()
        return str({"uncompressed": "none", "lz4_raw": "lz4"}.get(found, found))

    def _read_whole(self) -> pa.Table:
        with self._source.open() as stream:
            if self._source.kind == "json":
                import pyarrow.json as pajson

                return pajson.read_json(stream, pajson.ReadOptions(block_size=2**24))
            data = pa.BufferReader(stream.read())
        if self._source.kind == "parquet":
            return pq.read_table(data)
        return pa.ipc.open_file(data).read_all()

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        with self._explain_errors():
            n_rows = int(self._dataset.count_rows())
        if not n_rows:
            msg = (
                f"Got {self._source.name}, which has columns and no rows, but expected "
                f"rows."
            )
            raise TableError(msg)
        return n_rows

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""

    def place(self, row: int) -> str:
        """Name a row, counted from 0, for a person."""
        return f"row {row + 1}"

    def raw_batches(
        self, indices: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read batches of rows, of all columns or of some."""
        names = (
            self.schema.names if indices is None else [self.names[i] for i in indices]
        )
        found = self._scan(names, min(max(64, _CELLS // max(1, len(names))), 2**16))
        n_rows, n_read = self.n_rows, 0
        while True:
            with self._explain_errors():
                batch = next(found, None)
                if batch is None:
                    break
                batch.validate(full=True)  # also that texts are UTF-8
            n_read += len(batch)
            if len(batch):
                yield batch
        if n_read != n_rows:
            msg = (
                f"Got {n_read} rows in {self._source.name}, but expected {n_rows}, as "
                f"its metadata says. It is damaged: write it again."
            )
            raise TableError(msg)

    def _scan(self, names: Sequence[str], n_rows: int) -> Iterator[pa.RecordBatch]:
        """Read columns; of Parquet file by file: a scanner holds groups of rows."""
        if self._source.kind != "parquet" or not isinstance(
            self._dataset, ds.FileSystemDataset
        ):
            yield from self._dataset.to_batches(columns=names, batch_size=n_rows)
            return
        schema = pa.schema([self.schema.field(name) for name in names])
        for part in self._dataset.get_fragments():
            keys = ds.get_partition_keys(part.partition_expression)
            options = {"buffer_size": 2**18, "pre_buffer": False}
            with pq.ParquetFile(part.path, **options) as file:
                here = [name for name in names if name in set(file.schema_arrow.names)]
                for batch in file.iter_batches(n_rows, columns=here, use_threads=False):
                    arrays = [
                        batch.column(field.name).cast(field.type)
                        if field.name in here
                        else pa.array([keys.get(field.name)] * len(batch), field.type)
                        for field in schema
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @cached_property
    def columns(self) -> list[Column]:
        """All columns, after a pass over the rows of those that are not left out."""
        columns = [
            Column(
                name, kind_of(self.schema.field(name).type), n_columns=len(self.names)
            )
            for name in self.names
        ]
        dropped = set(self._options.drop)
        used = [index for index, name in enumerate(self.names) if name not in dropped]
        row = 0
        for batch in self.raw_batches(used):
            for index in used:
                columns[index].update(self.split(batch, index), row)
            row += len(batch)
        for index in used:
            type_ = self.schema.field(self.names[index]).type
            columns[index].advice = _advise(self.names[index], type_)
        mark_codes(columns)
        return columns

    def split(self, batch: pa.RecordBatch, index: int) -> pa.Array:
        """Return the values of a column, null where missing."""
        name = self.names[index]
        values = flatten(batch.column(name))
        markers = self._markers.get(name, self._markers[None])
        missing: Bools = np.array(values.is_null(), dtype=bool)
        if is_number(values.type):
            floats = values if pt.is_float32(values.type) else _as_floats(values)
            missing |= markers.find_numbers(floats.to_numpy(zero_copy_only=False))
        elif is_text(values.type):
            missing |= markers.find(trim(values))
        if missing.sum() == values.null_count:
            return values
        return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)

    def convert(
        self, array: pa.Array, index: int, form: Form, first_row: int
    ) -> pa.Array:
        """Read the values of a column, null where missing, in the form asked for."""
        type_, kind, name = array.type, kind_of(array.type), self.names[index]
        if pt.is_null(type_):
            return pa.nulls(len(array), TYPES[form])
        if form == "text" and kind != "unsupported":
            return _as_texts(array)
        if form in ("number", "integer") and (is_number(type_) or is_text(type_)):
            values = _as_numbers(array, name, first_row)
            return values if form == "number" else array.cast(pa.int64())
        if form == "boolean" and (is_number(type_) or is_text(type_)):
            return read_booleans(_as_texts(array))
        if form == "date" and kind == "date":
            # Without a zone, in UTC.
            zone = getattr(type_, "tz", None)
            return array.cast(pa.timestamp("us", zone), safe=False).view(STAMP)
        if form != kind:
            msg = (
                f"Got column {quote_name(name)} of type {shorten(str(type_), 30)}, but "
                f"expected what the model was trained on: a {form}. Convert the column."
            )
            raise TableError(msg)
        return array

    def check(self, index: int, form: Form) -> None:
        """Refuse a column that can't be read, before any work."""
        name = self.names[index]
        type_ = self.schema.field(name).type
        if kind_of(type_) == "unsupported":
            msg = (
                f"Got column {quote_name(name)}, but expected numbers, booleans, texts "
                f"or dates. {_advise(name, type_)}"
            )
            raise TableError(msg)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Raise what is wrong with a file as a TableError."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            kind = {"json": "JSON lines", "arrow": "Arrow"}.get(
                self._source.kind, "Parquet"
            )
            msg = (
                f"Got {self._source.name}, which begins as {kind} does, but could not "
                f"be read: {reason}. Write it again."
            )
            raise TableError(msg) from error


def _as_texts(array: pa.Array) -> pa.StringArray:
    if is_text(array.type):
        return trim(array)
    # 1.0 is 1: in a column with missing values, pandas makes floats of integers.
    return pc.replace_substring_regex(array.cast(pa.string()), r"\.0$", "")


def _as_numbers(array: pa.Array, name: str, first_row: int) -> pa.DoubleArray:
    if is_text(array.type):
        texts = trim(array)
        values = PLAIN.read(texts)
        odd = pc.and_(values.is_null(), texts.is_valid())
        if pc.any(odd).as_py():
            index = pc.index(odd, True).as_py()
            text = shorten(texts[index].as_py())
            advice = f'If it means missing, use --missing "{text}".'
            if PLAIN.find_censored(texts)[index]:
                advice = "Bounds are read from CSV and Excel: write the table as one."
            msg = (
                f"Got {text!r} in row {first_row + index} of column "
                f"{quote_name(name)}, but expected a number. {advice}"
            )
            raise TableError(msg)
    else:
        values = _as_floats(array)
    infinite = pc.fill_null(pc.is_inf(values), False)
    if pc.any(infinite).as_py():
        index = pc.index(infinite, True).as_py()
        msg = (
            f"Got {values[index].as_py()} in row {first_row + index} of column "
            f"{quote_name(name)}, but expected finite numbers. Count it as missing "
            f"with --missing {values[index].as_py()}."
        )
        raise TableError(msg)
    return values
