"""Parquet written back in its own types, but for its holes."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet.tables._filling import FillCount, Job, Tally
from lacunet.tables._parquet import ParquetReader
from lacunet.tables._scanner import Bools
from lacunet.tables._types import flatten
from lacunet.tables._wanted import as_frame

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
        # A column of no type at all has no room for values.
        types = [
            (each.name, reader.schema.field(each.name).type) for each, _ in job.here
        ]
        self._names = [name for name, type_ in types if not pt.is_null(type_)]

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
        holes = {name: self._reader.split(batch, name)[1] for name in self._names}
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
        holes: dict[str, Bools],
        incomplete: Bools,
        frame: Any,
        *,
        is_first: bool,
    ) -> pa.RecordBatch:
        """Return a batch with the values of a frame in its holes."""
        arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
        rows = np.flatnonzero(incomplete)
        for name, hollow in holes.items():
            found = self.tally.take(frame, name, hollow[incomplete], counts=is_first)
            if len(found.rows):
                arrays[name] = _put(arrays[name], rows[found.rows], found.values)
        return pa.RecordBatch.from_arrays([*arrays.values()], schema=batch.schema)


def _write(held: list[list[pa.RecordBatch]], writers: list[pq.ParquetWriter]) -> None:
    """Write batches as one group of rows for each output."""
    if not held:
        return
    for writer, batches in zip(writers, zip(*held, strict=True), strict=True):
        table = pa.Table.from_batches(batches)
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


def _put(array: pa.Array, rows: Any, values: Any) -> pa.Array:
    """Return an array of the same type with other values in some rows."""
    flat = flatten(array)
    mask = np.zeros(len(array), dtype=bool)
    mask[rows] = True
    placed = pc.replace_with_mask(flat, pa.array(mask), _as_array(values, flat.type))
    if pt.is_dictionary(array.type):
        placed = placed.cast(array.type.value_type).dictionary_encode()
    return placed.cast(array.type)


def _as_array(values: Any, type_: pa.DataType) -> pa.Array:
    """Return values in a flat type, as near as it has them."""
    if pt.is_integer(type_):
        return _as_integers(values, type_)
    if pt.is_decimal(type_):
        step = Decimal(1).scaleb(-type_.scale)
        exact = [Decimal(repr(float(value))).quantize(step) for value in values]
        return pa.array(exact, type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(np.float64)).cast(type_, safe=False)
    if pt.is_boolean(type_):
        return pa.array([bool(value) for value in values], type_)
    if pt.is_date(type_) or pt.is_timestamp(type_):
        return _as_dates(values, type_)
    return pa.array([str(value) for value in values], type_)


def _as_integers(values: Any, type_: pa.DataType) -> pa.Array:
    ends = np.iinfo(type_.to_pandas_dtype())
    # As Python integers: the largest of 64 bits is no float.
    rounded = [round(value) for value in values.astype(np.float64).tolist()]
    return pa.array([min(max(each, ends.min), ends.max) for each in rounded], type_)


def _as_dates(values: Any, type_: pa.DataType) -> pa.Array:
    stamps = values.astype("M8[us]")
    if pt.is_date(type_):
        half_a_day = np.timedelta64(12, "h")
        return pa.array((stamps + half_a_day).astype("M8[D]")).cast(type_)
    zoned = pa.array(stamps).view(pa.timestamp("us", type_.tz))
    return zoned.cast(type_, safe=False)
