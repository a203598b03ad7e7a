"""Parquet written back in its own types, but for its holes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet._text import list_names, shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import quote_name
from lacunet.tables._filling import FillCount, Job, Tally, Values
from lacunet.tables._parquet import ParquetReader
from lacunet.tables._scanner import Bools
from lacunet.tables._typed_filling import (
    add_levels,
    as_array,
    put_levels,
    put_values,
    unite,
)
from lacunet.tables._types import value_type
from lacunet.tables._wanted import Wanted, as_frame

_MOST_ROWS = 2**20  # of a row group that is written
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}  # as the writer calls them


def fill_parquet(reader: ParquetReader, job: Job) -> FillCount:
    """Write a Parquet file with its holes filled.

    Parameters
    ----------
    reader : ParquetReader
    job : Job

    Returns
    -------
    FillCount
    """
    filler = _Filler(reader, job)
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


class _Filler:
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
