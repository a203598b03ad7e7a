"""Files written again with their missing values filled."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from numpy.typing import NDArray

from lacunet._text import list_names, shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import TextColumn, quote_name
from lacunet.tables._csv import CsvReader
from lacunet.tables._parquet import ParquetReader, flatten, is_text, value_type
from lacunet.tables._scanner import Bools, Indices, RawRows
from lacunet.tables._schema import Schema
from lacunet.tables._selection import Form, SelectedColumn, as_frame, make_table
from lacunet.tables._values import ORDERS, DateStyle, spell_booleans, trim

if TYPE_CHECKING:
    from lacunet.tables._file import TableFile

Fill = Callable[[Any], Sequence[Any]]  # from an incomplete frame to filled ones
_MOST_ROWS = 2**20  # of a row group that is written
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}  # as the writer calls them


@dataclass(frozen=True)
class FillCount:
    """What was filled in a table.

    Parameters
    ----------
    n_rows : int
        Of the table.
    filled : mapping of str to int
        Missing values that were filled, of each column that had some.
    left : mapping of str to int
        Missing values for which there was no value.
    unseen : mapping of str to sequence of str
        A few categories, in incomplete rows, that the model has not seen.
    """

    n_rows: int
    filled: Mapping[str, int]
    left: Mapping[str, int]
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_filled(
    table: "TableFile",
    out: IO[bytes],
    fill: "Callable[[pd.DataFrame], pd.DataFrame]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
) -> FillCount:
    r"""Write a table with its missing values filled, and everything else as it is.

    In CSV all bytes but those of missing values are as they were: quotes, spaces,
    ``007``, ``1.50``, line ends, encoding. What is filled in is written as the column's
    other cells are: integers without decimals, numbers with as many as the column has
    at most, dates and booleans in their own spelling, in quotes if they are.

    Parquet keeps its schema, metadata and groups of rows; observed cells are as they
    were.

    Parameters
    ----------
    table : TableFile
        As ``open_table`` returns it.
    out : binary stream
        Such as ``open_output`` opens.
    fill : callable
        Takes a frame of incomplete rows and returns it filled. What it leaves missing
        stays in the file as it is.
    schema : Schema, default=None
        The columns of a model: only those are filled.
    advance : callable, default=None
        Called with the number of rows, after each block.

    Returns
    -------
    FillCount
        What was filled, by column.

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_table, write_filled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "nurses.csv"
    ...     size = path.write_text('id, age\n007, 41\n008, NA\n"009", 43\n')
    ...     out = io.BytesIO()
    ...     with open_table(path) as table:
    ...         count = write_filled(table, out, lambda frame: frame.fillna(42.3))
    >>> print(out.getvalue().decode(), count.filled)
    id, age
    007, 41
    008, 42
    "009", 43
     {'age': 1}
    """
    return write_draws(
        table, [out], lambda frame: [fill(frame)], schema=schema, advance=advance
    )


def write_draws(
    table: "TableFile",
    outs: Sequence[IO[bytes]],
    fill: "Callable[[pd.DataFrame], Sequence[pd.DataFrame]]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
) -> FillCount:
    """Write a table several times, with its missing values filled in other ways.

    Parameters
    ----------
    table : TableFile
        As ``open_table`` returns it.
    outs : sequence of binary streams
        One for each filled table.
    fill : callable
        Takes a frame of incomplete rows and returns as many filled ones as there are
        streams. It is called once for each block of rows: random draws have to
        continue from one call to the next, and not to start again.
    schema, advance
        As in ``write_filled``.

    Returns
    -------
    FillCount
        Of one of the tables.
    """
    return table.fill(outs, fill, schema=schema, advance=advance or (lambda n: None))


@dataclass(frozen=True)
class FillJob:
    """A table to write with its missing values filled, once or more."""

    selection: Sequence[SelectedColumn]  # the input of the model
    outputs: Sequence[IO[bytes]]
    fill: Fill
    advance: Callable[[int], object]  # called with the number of rows written

    @property
    def here(self) -> list[tuple[SelectedColumn, int]]:
        """The columns that the file has, with their indices."""
        return [(each, each.index) for each in self.selection if each.index is not None]

    def call_model(self, frame: Any) -> Sequence[Any]:
        """Return a filled frame for each output."""
        filled = self.fill(frame)
        sizes = [len(each) for each in filled]
        if sizes != [len(frame)] * len(self.outputs):
            msg = (
                f"Got frames of {sizes} rows as filled, but expected "
                f"{len(self.outputs)} of {len(frame)} rows."
            )
            raise ValueError(msg)
        return filled


class FillCounter:
    """Takes values out of filled frames, and counts them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._filled: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def take(
        self, frame: Any, name: str, missing: Bools, *, counts: bool
    ) -> tuple[Indices, NDArray[Any]]:
        """Return the rows of missing values for which a frame has some, and these.

        Of several tables, one is counted.
        """
        rows = np.flatnonzero(missing)
        found, values = rows[:0], np.empty(0)
        if len(rows) and name in frame.columns:
            series = frame[name]
            # What numpy can hold is picked in numpy, which takes much less time.
            if isinstance(series.dtype, np.dtype):
                values = series.to_numpy()[rows]
            else:
                values = series.iloc[rows].to_numpy(object)
            known = pd.notna(values)
            found, values = rows[known], values[known]
        if counts and len(rows):
            self._filled[name] += len(found)
            self._left[name] += len(rows) - len(found)
        return found, values

    def result(self) -> FillCount:
        """Return the counts, without those that are zero."""
        return FillCount(self.n_rows, dict(+self._filled), dict(+self._left))


# --- CSV, byte for byte but for its missing values


def fill_csv(reader: CsvReader, job: FillJob) -> FillCount:
    """Write a CSV file with its missing values filled."""
    filler, encoding = _CsvFiller(reader, job), reader.encoding
    for output in job.outputs:
        output.write(encoding.mark + encoding.encode(reader.header.data))
    for rows in reader.scan(exact=True):
        pieces = filler.fill_rows(rows)
        for output, data in zip(job.outputs, pieces, strict=True):
            output.write(encoding.encode(data))
        filler.counter.n_rows += len(rows)
        job.advance(len(rows))
    return filler.counter.result()


class _CsvFiller:
    def __init__(self, reader: CsvReader, job: FillJob) -> None:
        self.counter = FillCounter()
        self._reader = reader
        self._job = job
        self._indices = [index for _, index in job.here]

    def fill_rows(self, rows: RawRows) -> list[bytes]:
        """Return the data of some rows for each output."""
        job = self._job
        grid, missing = self._reader.split(rows)
        incomplete = np.flatnonzero(missing[:, self._indices].any(axis=1))
        if not len(incomplete):
            return [rows.data] * len(job.outputs)
        # Complete rows are not passed to the model.
        arrays = self._reader.convert(grid.rows(incomplete), job.selection)
        filled = job.call_model(as_frame(make_table(arrays, job.selection)))
        return [
            self._replace(rows, missing, incomplete, frame, is_first=number == 0)
            for number, frame in enumerate(filled)
        ]

    def _replace(
        self,
        rows: RawRows,
        missing: Bools,
        incomplete: Indices,
        frame: Any,
        *,
        is_first: bool,
    ) -> bytes:
        """Return the data of some rows with the values of a frame where missing."""
        indices, cells = [np.empty(0, dtype=np.intp)], []
        for each, index in self._job.here:
            found, values = self.counter.take(
                frame, each.name, missing[incomplete, index], counts=is_first
            )
            if not len(found):
                continue
            at = incomplete[found] * missing.shape[1] + index
            column = self._reader.columns[index]
            texts = _write_values(values, column, each.form)
            indices.append(at)
            cells += _write_cells(
                texts, rows.cells(at), column, self._reader.header.separator
            )
        every = np.concatenate(indices)
        order = np.argsort(every)
        return rows.replace(every[order], [cells[index] for index in order])


def _write_values(values: NDArray[Any], column: TextColumn, form: Form) -> list[str]:
    """Write values as those of a column are written."""
    if form in ("number", "integer"):
        return column.numbers.style.write(values.astype(np.float64))
    if form == "boolean":
        spelled = spell_booleans(column.distinct.values or ())
        return [spelled[bool(value)] for value in values]
    if form == "date":
        style = column.dates.style or DateStyle(ORDERS[0])
        return style.write(values.astype("M8[us]"))
    return [str(value) for value in values]


def _write_cells(
    texts: Sequence[str], replaced: Sequence[bytes], column: TextColumn, separator: str
) -> list[bytes]:
    """Return texts as cells, with the spaces of the cells that they replace.

    They are quoted where they must be, and where most cells of the column are.
    """
    special = re.compile(rf'[{re.escape(separator)}"\r\n]|^\s|\s$')
    cells = []
    for text in texts:
        if column.is_quoted or special.search(text):
            text = '"' + text.replace('"', '""') + '"'
        cells.append(text.encode("utf-8"))
    if b" " not in b"".join(replaced):
        return cells
    return [_pad(cell, old) for cell, old in zip(cells, replaced, strict=True)]


def _pad(cell: bytes, old: bytes) -> bytes:
    before = old[: len(old) - len(old.lstrip(b" "))]
    after = old[len(old.rstrip(b" ")) :] if old.strip(b" ") else b""
    return before + cell + after


# --- Parquet, in its own types


def fill_parquet(reader: ParquetReader, job: FillJob) -> FillCount:
    """Write a Parquet file with its missing values filled."""
    filler = _ParquetFiller(reader, job)
    with reader.open() as file:
        with reader.explain_errors():
            codecs = _find_codecs(file.metadata)
        writers = [
            pq.ParquetWriter(output, reader.schema, compression=codecs)
            for output in job.outputs
        ]
        try:
            filler.copy(file, writers)
        finally:
            for writer in writers:
                writer.close()
    return filler.counter.result()


class _ParquetFiller:
    def __init__(self, reader: ParquetReader, job: FillJob) -> None:
        self.counter = FillCounter()
        self._reader = reader
        self._job = job
        self._categories: dict[str, pa.Array] = {}
        types = {each: reader.schema.field(each.name).type for each, _ in job.here}
        # A column of no type at all has no room for values.
        self._selection = [each for each in types if not pt.is_null(types[each])]

    def copy(self, file: pq.ParquetFile, writers: list[pq.ParquetWriter]) -> None:
        """Write all rows, in groups as they are in the file."""
        for group in range(file.num_row_groups):
            held: list[list[pa.RecordBatch]] = []
            n_held = 0
            for batch in self._reader.batches(file, row_groups=[group]):
                held.append(self._fill_batch(batch))
                n_held += len(batch)
                self.counter.n_rows += len(batch)
                if n_held >= _MOST_ROWS:
                    _write(held, writers)
                    held, n_held = [], 0
                self._job.advance(len(batch))
            _write(held, writers)

    def _fill_batch(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Return a batch for each output."""
        missing = {
            each: self._reader.split(batch, each.name)[1] for each in self._selection
        }
        incomplete = np.zeros(len(batch), dtype=bool)
        for of_column in missing.values():
            incomplete |= of_column
        if not incomplete.any():
            return [batch] * len(self._job.outputs)
        first_row = self.counter.n_rows + 1
        table = self._reader.convert(batch, self._job.selection, first_row)
        # Complete rows are not passed to the model.
        filled = self._job.call_model(as_frame(table.filter(pa.array(incomplete))))
        return [
            self._replace(batch, missing, incomplete, frame, is_first=number == 0)
            for number, frame in enumerate(filled)
        ]

    def _replace(
        self,
        batch: pa.RecordBatch,
        missing: dict[SelectedColumn, Bools],
        incomplete: Bools,
        frame: Any,
        *,
        is_first: bool,
    ) -> pa.RecordBatch:
        """Return a batch with the values of a frame where missing."""
        arrays = batch.columns
        rows = np.flatnonzero(incomplete)
        for each, of_column in missing.items():
            found, values = self.counter.take(
                frame, each.name, of_column[incomplete], counts=is_first
            )
            if len(found):
                index = batch.schema.get_field_index(each.name)
                arrays[index] = self._put(arrays[index], rows[found], values, each)
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def _put(
        self,
        array: pa.Array,
        rows: Indices,
        found: NDArray[Any],
        column: SelectedColumn,
    ) -> pa.Array:
        """Return an array of the same type with other values in some rows."""
        try:
            values = _as_array(found, value_type(array.type), column.form)
            mask = np.zeros(len(array), dtype=bool)
            mask[rows] = True
            if not pt.is_dictionary(array.type):
                flat = flatten(array)
                placed = pc.replace_with_mask(flat, pa.array(mask), flatten(values))
                return placed.cast(array.type)
            placed = _put_categories(array, pa.array(mask), values, array.dictionary)
            if placed is None:
                known = self._find_categories(column.name)
                new = values.filter(_index_in(values, known).is_null())
                self._categories[column.name] = known = _unite([known, new])
                placed = _put_categories(array, pa.array(mask), values, known)
            return placed
        except pa.ArrowInvalid as error:
            texts = list_names([*dict.fromkeys(map(str, found))])
            msg = (
                f"Got {texts} from the model for missing values of column "
                f"{quote_name(column.name)}, but expected what its type "
                f"{shorten(str(array.type), 30)} has room for. Convert the column to "
                f"texts."
            )
            raise TableError(msg) from error

    def _find_categories(self, name: str) -> pa.Array:
        """Return all categories of a column, in the order of the file."""
        if name not in self._categories:
            with self._reader.open() as file:
                batches = self._reader.batches(file, columns=[name])
                self._categories[name] = _unite(
                    batch.column(name).dictionary for batch in batches
                )
        return self._categories[name]


def _write(held: list[list[pa.RecordBatch]], writers: list[pq.ParquetWriter]) -> None:
    """Write batches as one group of rows for each output."""
    if not held:
        return
    for writer, batches in zip(writers, zip(*held, strict=True), strict=True):
        # A group has one dictionary: without, the order of categories is lost.
        table = pa.Table.from_batches(batches).unify_dictionaries()
        writer.write_table(table, row_group_size=len(table))


def _find_codecs(metadata: pq.FileMetaData) -> dict[str, str] | str:
    """Return how the columns are compressed."""
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    return {
        column.path_in_schema: _CODECS.get(column.compression, column.compression)
        for column in columns
    }


def _put_categories(
    array: pa.DictionaryArray,
    mask: pa.BooleanArray,
    values: pa.Array,
    categories: pa.Array,
) -> pa.DictionaryArray | None:
    """Put values into an array with these categories; None if they lack a value."""
    type_, codes = array.type, array.indices
    if categories is not array.dictionary:
        moved = pc.index_in(flatten(array.dictionary), value_set=flatten(categories))
        codes = moved.take(codes).cast(type_.index_type)
    found = _index_in(values, categories)
    if found.null_count:
        return None
    codes = pc.replace_with_mask(codes, mask, found.cast(type_.index_type))
    return pa.DictionaryArray.from_arrays(codes, categories, ordered=type_.ordered)


def _unite(dictionaries: Iterable[pa.Array]) -> pa.Array:
    """Return all categories of some dictionaries, each where it comes first."""
    several = iter(dictionaries)
    categories = last = next(several)
    for more in several:
        if not more.equals(last):
            categories, last = pc.unique(pa.concat_arrays([categories, more])), more
    return categories


def _index_in(values: pa.Array, categories: pa.Array) -> pa.Array:
    """Return the indices of values in a dictionary, null if it lacks them."""

    def trimmed(array: pa.Array) -> pa.Array:
        return trim(flatten(array)) if is_text(array.type) else flatten(array)

    return pc.index_in(trimmed(values), value_set=trimmed(categories))


def _as_array(values: Any, type_: pa.DataType, form: Form) -> pa.Array:
    """Return the values of a model in a type of Arrow, as near as it has them."""
    if form == "text" or is_text(type_):
        return pa.array([str(value) for value in values], pa.string()).cast(type_)
    if pt.is_integer(type_):
        ends = np.iinfo(type_.to_pandas_dtype())
        # As Python integers: the largest of 64 bits is no float.
        rounded = [round(value) for value in values.astype(np.float64).tolist()]
        return pa.array([min(max(each, ends.min), ends.max) for each in rounded], type_)
    if pt.is_decimal(type_):
        step = Decimal((0, (1,), -type_.scale))
        top = Decimal((0, (9,) * type_.precision, -type_.scale))
        exact = [Decimal(repr(float(value))) for value in values]
        with localcontext(prec=type_.precision):
            near = [min(max(each, -top), top).quantize(step) for each in exact]
        return pa.array(near, type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(np.float64)).cast(type_, safe=False)
    if pt.is_boolean(type_):
        return pa.array([bool(value) for value in values], type_)
    stamps = values.astype("M8[us]")
    if pt.is_date(type_):
        half_a_day = np.timedelta64(12, "h")
        return pa.array((stamps + half_a_day).astype("M8[D]")).cast(type_)
    zoned = pa.array(stamps).view(pa.timestamp("us", type_.tz))
    return zoned.cast(type_, safe=False)
