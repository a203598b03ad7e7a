"""Files written again with their missing values filled."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import IO, TYPE_CHECKING, Any, NamedTuple

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
from lacunet.tables._scanner import Bools, Places, RawRows
from lacunet.tables._schema import Schema
from lacunet.tables._selection import Form, Wanted, as_frame, make_table
from lacunet.tables._values import ORDERS, DateStyle, spell_booleans, trim

if TYPE_CHECKING:
    from lacunet.tables._file import TableFile


Fill = Callable[[Any], Sequence[Any]]  # of a frame with holes, one or more without


@dataclass(frozen=True)
class FillCount:
    """What was filled in a table.

    Parameters
    ----------
    n_rows : int
    filled : mapping of str to int
        Holes that were filled, of each column that had some.
    left : mapping of str to int
        Holes for which there was no value.
    unseen : mapping of str to sequence of str
        A few levels of categories, in rows with holes, that the model has not seen.
    """

    n_rows: int
    filled: Mapping[str, int]
    left: Mapping[str, int]
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A table to write with its holes filled, once or more."""

    wanted: Sequence[Wanted]
    outputs: Sequence[IO[bytes]]
    fill: Fill
    advance: Callable[[int], object]

    @property
    def here(self) -> list[tuple[Wanted, int]]:
        """The columns that the file has, with their places."""
        return [(each, each.place) for each in self.wanted if each.place is not None]

    def ask(self, frame: Any) -> Sequence[Any]:
        """Return frames that are filled."""
        filled = self.fill(frame)
        sizes = [len(each) for each in filled]
        if sizes != [len(frame)] * len(self.outputs):
            msg = (
                f"Got frames of {sizes} rows to fill holes from, but expected "
                f"{len(self.outputs)} of {len(frame)} rows."
            )
            raise ValueError(msg)
        return filled


class Values(NamedTuple):
    """What goes into the holes of a column."""

    rows: Places
    values: NDArray[Any]


class Tally:
    """Takes values out of frames, and counts them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._filled: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def take(self, frame: Any, name: str, holes: Bools, *, counts: bool) -> Values:
        """Return what a frame has for the holes of a column."""
        rows = np.flatnonzero(holes)
        found = Values(rows[:0], np.empty(0))
        if len(rows) and name in frame.columns:
            values = _pick(frame[name], rows)
            known = pd.notna(values)
            found = Values(rows[known], values[known])
        if counts and len(rows):
            self._filled[name] += len(found.rows)
            self._left[name] += len(rows) - len(found.rows)
        return found

    def result(self) -> FillCount:
        """Return the counts."""
        # Without those of which there are none.
        return FillCount(self.n_rows, dict(+self._filled), dict(+self._left))


def _pick(series: Any, rows: Places) -> NDArray[Any]:
    # What numpy can hold is picked in numpy, which takes much less time.
    is_plain = isinstance(series.dtype, np.dtype)
    picked: NDArray[Any] = (
        series.to_numpy()[rows] if is_plain else series.iloc[rows].to_numpy(object)
    )
    return picked


def write_values(values: NDArray[Any], column: TextColumn, form: Form) -> list[str]:
    """Write values as a column has them."""
    if form in ("number", "integer"):
        return column.numbers.style.write(values.astype(np.float64))
    if form == "boolean":
        spelled = spell_booleans(column.distinct.values or ())
        return [spelled[bool(value)] for value in values]
    if form == "date":
        style = column.dates.style or DateStyle(ORDERS[0])
        return style.write(values.astype("M8[us]"))
    return [str(value) for value in values]


def quote_cells(
    texts: Sequence[str],
    holes: Sequence[bytes],
    column: TextColumn,
    separator: str,
) -> list[bytes]:
    """Return texts as cells, with the spaces that the holes have around them.

    They are quoted where they must be, and where most cells of the column are.
    """
    special = re.compile(rf'[{re.escape(separator)}"\r\n]|^\s|\s$')
    if column.is_quoted:
        quoted = [_quote(text) for text in texts]
    elif any(map(special.search, texts)):
        quoted = [_quote(text) if special.search(text) else text for text in texts]
    else:
        quoted = list(texts)
    cells = [text.encode("utf-8") for text in quoted]
    if b" " not in b"".join(holes):
        return cells
    return [_pad(cell, hole) for cell, hole in zip(cells, holes, strict=True)]


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _pad(cell: bytes, hole: bytes) -> bytes:
    before = hole[: len(hole) - len(hole.lstrip(b" "))]
    after = hole[len(hole.rstrip(b" ")) :] if hole.strip(b" ") else b""
    return before + cell + after


def fill_csv(reader: CsvReader, job: Job) -> FillCount:
    """Write a CSV file with its holes filled."""
    filler, encoding = _CsvFiller(reader, job), reader.encoding
    for output in job.outputs:
        output.write(encoding.mark + encoding.encode(reader.header.data))
    for rows in reader.scan(exact=True):
        pieces = filler.fill_rows(rows)
        for output, data in zip(job.outputs, pieces, strict=True):
            output.write(encoding.encode(data))
        filler.tally.n_rows += len(rows)
        job.advance(len(rows))
    return filler.tally.result()


class _CsvFiller:
    def __init__(self, reader: CsvReader, job: Job) -> None:
        self.tally = Tally()
        self._reader = reader
        self._job = job
        self._places = [place for _, place in job.here]

    def fill_rows(self, rows: RawRows) -> list[bytes]:
        """Return the data of some rows for each output."""
        job = self._job
        grid, holes = self._reader.split(rows)
        incomplete = np.flatnonzero(holes[:, self._places].any(axis=1))
        if not len(incomplete):
            return [rows.data] * len(job.outputs)
        # The model is not asked about complete rows.
        arrays = self._reader.convert(grid.rows(incomplete), job.wanted)
        filled = job.ask(as_frame(make_table(arrays, job.wanted)))
        return [
            self._replace(rows, holes, incomplete, frame, is_first=place == 0)
            for place, frame in enumerate(filled)
        ]

    def _replace(
        self,
        rows: RawRows,
        holes: Bools,
        incomplete: Places,
        frame: Any,
        *,
        is_first: bool,
    ) -> bytes:
        """Return the data of some rows with the values of a frame in their holes."""
        places, cells = [np.empty(0, dtype=np.intp)], []
        for each, place in self._job.here:
            found = self.tally.take(
                frame, each.name, holes[incomplete, place], counts=is_first
            )
            if not len(found.rows):
                continue
            at = incomplete[found.rows] * holes.shape[1] + place
            column = self._reader.columns[place]
            texts = write_values(found.values, column, each.form)
            places.append(at)
            cells += quote_cells(
                texts, rows.cells(at), column, self._reader.header.separator
            )
        every = np.concatenate(places)
        order = np.argsort(every)
        return rows.replace(every[order], [cells[place] for place in order])


def as_array(values: Any, type_: pa.DataType, form: Form) -> pa.Array:
    """Return values in a flat type, as near as it has them."""
    if form == "text" or is_text(type_):
        return pa.array([str(value) for value in values], pa.string()).cast(type_)
    if pt.is_integer(type_):
        return _as_integers(values, type_)
    if pt.is_decimal(type_):
        return _as_decimals(values, type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(np.float64)).cast(type_, safe=False)
    if pt.is_boolean(type_):
        return pa.array([bool(value) for value in values], type_)
    return _as_dates(values, type_)


def put_values(array: pa.Array, rows: Places, values: pa.Array) -> pa.Array:
    """Put values into some rows of an array without a dictionary."""
    flat = flatten(array)
    placed = pc.replace_with_mask(flat, _mask(array, rows), flatten(values))
    return placed.cast(array.type)


def put_levels(
    array: pa.DictionaryArray,
    rows: Places,
    values: pa.Array,
    levels: pa.Array | None = None,
) -> pa.DictionaryArray | None:
    """Put values into some rows of an array, and keep its dictionary's order."""
    type_, indices = array.type, array.indices
    if levels is None:
        levels = array.dictionary
    else:
        places = pc.index_in(flatten(array.dictionary), value_set=flatten(levels))
        indices = places.take(indices).cast(type_.index_type)
    found = _find(values, levels)
    if found.null_count:
        return None
    indices = pc.replace_with_mask(
        indices, _mask(array, rows), found.cast(type_.index_type)
    )
    return pa.DictionaryArray.from_arrays(indices, levels, ordered=type_.ordered)


def unite(dictionaries: Iterable[pa.Array]) -> pa.Array:
    """Return all levels of some dictionaries, each where it comes first."""
    several = iter(dictionaries)
    levels = last = next(several)
    for more in several:
        if not more.equals(last):
            levels, last = pc.unique(pa.concat_arrays([levels, more])), more
    return levels


def add_levels(levels: pa.Array, values: pa.Array) -> pa.Array:
    """Put values behind the levels of a dictionary, if it lacks them."""
    return unite([levels, values.filter(_find(values, levels).is_null())])


def _find(values: pa.Array, levels: pa.Array) -> pa.Array:
    """Return the places of values in a dictionary, null if it lacks them."""
    return pc.index_in(_trimmed(values), value_set=_trimmed(levels))


def _mask(array: pa.Array, rows: Places) -> pa.BooleanArray:
    mask = np.zeros(len(array), dtype=bool)
    mask[rows] = True
    return pa.array(mask)


def _trimmed(values: pa.Array) -> pa.Array:
    return trim(flatten(values)) if is_text(values.type) else flatten(values)


def _as_integers(values: Any, type_: pa.DataType) -> pa.Array:
    ends = np.iinfo(type_.to_pandas_dtype())
    # As Python integers: the largest of 64 bits is no float.
    rounded = [round(value) for value in values.astype(np.float64).tolist()]
    return pa.array([min(max(each, ends.min), ends.max) for each in rounded], type_)


def _as_decimals(values: Any, type_: pa.DataType) -> pa.Array:
    step = Decimal((0, (1,), -type_.scale))
    top = Decimal((0, (9,) * type_.precision, -type_.scale))
    exact = [Decimal(repr(float(value))) for value in values]
    with localcontext(prec=type_.precision):
        near = [min(max(each, -top), top).quantize(step) for each in exact]
    return pa.array(near, type_)


def _as_dates(values: Any, type_: pa.DataType) -> pa.Array:
    stamps = values.astype("M8[us]")
    if pt.is_date(type_):
        half_a_day = np.timedelta64(12, "h")
        return pa.array((stamps + half_a_day).astype("M8[D]")).cast(type_)
    zoned = pa.array(stamps).view(pa.timestamp("us", type_.tz))
    return zoned.cast(type_, safe=False)


_MOST_ROWS = 2**20  # of a row group that is written
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}  # as the writer calls them


def fill_parquet(reader: ParquetReader, job: Job) -> FillCount:
    """Write a Parquet file with its holes filled."""
    filler = _ParquetFiller(reader, job)
    with reader.open() as file:
        with reader.told():
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
    return filler.tally.result()


class _ParquetFiller:
    def __init__(self, reader: ParquetReader, job: Job) -> None:
        self.tally = Tally()
        self._reader = reader
        self._job = job
        self._levels: dict[str, pa.Array] = {}
        types = {each: reader.schema.field(each.name).type for each, _ in job.here}
        # A column of no type at all has no room for values.
        self._wanted = [each for each in types if not pt.is_null(types[each])]

    def copy(self, file: pq.ParquetFile, writers: list[pq.ParquetWriter]) -> None:
        """Write all rows, in groups as they are in the file."""
        for group in range(file.num_row_groups):
            held: list[list[pa.RecordBatch]] = []
            n_held = 0
            for batch in self._reader.batches(file, row_groups=[group]):
                held.append(self._fill_batch(batch))
                n_held += len(batch)
                self.tally.n_rows += len(batch)
                if n_held >= _MOST_ROWS:
                    _write(held, writers)
                    held, n_held = [], 0
                self._job.advance(len(batch))
            _write(held, writers)

    def _fill_batch(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Return a batch for each output."""
        holes = {each: self._reader.split(batch, each.name)[1] for each in self._wanted}
        incomplete = np.zeros(len(batch), dtype=bool)
        for hollow in holes.values():
            incomplete |= hollow
        if not incomplete.any():
            return [batch] * len(self._job.outputs)
        first_row = self.tally.n_rows + 1
        table = self._reader.convert(batch, self._job.wanted, first_row)
        # The model is not asked about complete rows.
        filled = self._job.ask(as_frame(table.filter(pa.array(incomplete))))
        return [
            self._replace(batch, holes, incomplete, frame, is_first=place == 0)
            for place, frame in enumerate(filled)
        ]

    def _replace(
        self,
        batch: pa.RecordBatch,
        holes: dict[Wanted, Bools],
        incomplete: Bools,
        frame: Any,
        *,
        is_first: bool,
    ) -> pa.RecordBatch:
        """Return a batch with the values of a frame in its holes."""
        arrays = batch.columns
        rows = np.flatnonzero(incomplete)
        for each, hollow in holes.items():
            name = each.name
            found = self.tally.take(frame, name, hollow[incomplete], counts=is_first)
            if len(found.rows):
                place = batch.schema.get_field_index(name)
                there = Values(rows[found.rows], found.values)
                arrays[place] = self._put(arrays[place], there, each)
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    def _put(self, array: pa.Array, found: Values, wanted: Wanted) -> pa.Array:
        """Return an array of the same type with other values in some rows."""
        try:
            values = as_array(found.values, value_type(array.type), wanted.form)
            if not pt.is_dictionary(array.type):
                return put_values(array, found.rows, values)
            placed = put_levels(array, found.rows, values)
            if placed is None:
                levels = add_levels(self._find_levels(wanted.name), values)
                self._levels[wanted.name] = levels
                placed = put_levels(array, found.rows, values, levels)
            return placed
        except pa.ArrowInvalid as error:
            raise _no_room(array.type, found, wanted) from error

    def _find_levels(self, name: str) -> pa.Array:
        """Return all levels of a column, in the order in which the file has them."""
        if name not in self._levels:
            with self._reader.open() as file:
                batches = self._reader.batches(file, columns=[name])
                self._levels[name] = unite(
                    batch.column(name).dictionary for batch in batches
                )
        return self._levels[name]


def _write(held: list[list[pa.RecordBatch]], writers: list[pq.ParquetWriter]) -> None:
    """Write batches as one group of rows for each output."""
    if not held:
        return
    for writer, batches in zip(writers, zip(*held, strict=True), strict=True):
        # A group has one dictionary: without, the order of levels is lost.
        table = pa.Table.from_batches(batches).unify_dictionaries()
        writer.write_table(table, row_group_size=len(table))


def _find_codecs(metadata: pq.FileMetaData) -> dict[str, str] | str:
    """Return how the columns are compressed."""
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    return {
        column.path_in_schema: _CODECS.get(column.compression, column.compression)
        for column in columns
    }


def _no_room(type_: pa.DataType, found: Values, wanted: Wanted) -> TableError:
    values = list_names([*dict.fromkeys(map(str, found.values))])
    msg = (
        f"Got {values} from the model for holes of column {quote_name(wanted.name)}, "
        f"but expected what its type {shorten(str(type_), 30)} has room for. Convert "
        f"the column to texts."
    )
    return TableError(msg)


def write_filled(
    table: "TableFile",
    out: IO[bytes],
    fill: "Callable[[pd.DataFrame], pd.DataFrame]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
) -> FillCount:
    r"""Write a table with its holes filled, and everything else as it stands.

    In CSV all bytes but those of the holes are as they were: quotes, spaces, ``007``,
    ``1.50``, line ends, encoding. What comes into a hole is written as the column's
    other cells are: integers without decimals, numbers with as many as the column has
    at most, dates and truth values in their own spelling, in quotes if they are.

    Parquet keeps its schema, metadata and groups of rows; observed cells are as they
    were.

    Parameters
    ----------
    table : TableFile
    out : binary stream
        Such as ``open_output`` opens.
    fill : callable
        Takes a frame of rows with holes and returns it filled. What it leaves missing
        stays in the file as it is.
    schema : Schema, default=None
        The columns of a model: only those are filled.
    advance : callable, default=None
        Told the number of rows, after each block.

    Returns
    -------
    FillCount

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
    """Write a table several times, with its holes filled in other ways.

    Parameters
    ----------
    table : TableFile
    outs : sequence of binary streams
    fill : callable
        Takes a frame of rows with holes and returns as many filled ones as there are
        streams. It is called once for each block of rows: what draws at random has to
        go on from one call to the next, and not to start anew.
    schema, advance
        As in ``write_filled``.

    Returns
    -------
    FillCount
        Of one of the tables.
    """
    return table.fill(outs, fill, schema=schema, advance=advance or (lambda n: None))
