"""Tables in Parquet, read in batches."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, quote_name
from lacunet.tables._format import FileFormat
from lacunet.tables._markers import Markers
from lacunet.tables._options import ReadOptions
from lacunet.tables._scanner import Bools
from lacunet.tables._source import Source
from lacunet.tables._typed import TypedColumn
from lacunet.tables._types import advise, find_holes, flatten, kind_of, read_as
from lacunet.tables._wanted import TYPES, Wanted, make_table

_CELLS = 2**19  # of a batch
_BUFFER = 2**18  # bytes of a column that are read ahead
_INDEX = re.compile(r"__index_level_[0-9]+__")  # what pandas calls a nameless index


class ParquetReader:
    """A table in Parquet.

    Parameters
    ----------
    source : Source
    options : ReadOptions

    Attributes
    ----------
    names : tuple of str
        Of all columns, without the numbers of rows that pandas may have added.
    schema : Schema of Arrow
    """

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source
        self._options = options
        self._markers = Markers(options.missing, usual=())
        with self.open() as file:
            self.schema = file.schema_arrow
            self._n_rows = file.metadata.num_rows
        every = tuple(self.schema.names)
        self.names = tuple(name for name in every if not _INDEX.fullmatch(name))
        if not self.names:
            msg = f"Got {source.name}, which has no columns, but expected a table."
            raise TableError(msg)

    @property
    def format(self) -> FileFormat:
        """How the file is written."""
        return FileFormat("parquet")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if not self._n_rows:
            msg = (
                f"Got {self._source.name}, which has columns and no rows, but expected "
                f"rows."
            )
            raise TableError(msg)
        return int(self._n_rows)

    def infos(self, places: Sequence[int]) -> tuple[ColumnInfo, ...]:
        """Return what is known of some columns.

        Parameters
        ----------
        places : sequence of int

        Returns
        -------
        tuple of ColumnInfo
        """
        named = set(self._options.categorical)
        columns = [self._columns[self.names[place]] for place in places]
        return tuple(
            column.info(is_categorical=column.name in named) for column in columns
        )

    def tables(self, wanted: Sequence[Wanted]) -> Iterator[pa.Table]:
        """Read columns, in blocks of any size.

        Parameters
        ----------
        wanted : sequence of Wanted
            That ``check`` has seen.

        Yields
        ------
        Table
        """
        names = [each.name for each in wanted if each.place is not None]
        first_row = 1
        with self.open() as file:
            for batch in self.batches(file, columns=names):
                yield self.convert(batch, wanted, first_row)
                first_row += len(batch)

    def check(self, wanted: Sequence[Wanted]) -> None:
        """Refuse what can't be read as what it is wanted for, before any work.

        Parameters
        ----------
        wanted : sequence of Wanted
        """
        assert self.n_rows
        for each in wanted:
            if each.place is None:
                continue
            type_ = self.schema.field(each.name).type
            if kind_of(type_) == "unsupported":
                msg = (
                    f"Got column {quote_name(each.name)}, but expected numbers, truth "
                    f"values, texts or dates. {advise(each.name, type_)}"
                )
                raise TableError(msg)

    def split(self, batch: pa.RecordBatch, name: str) -> tuple[pa.Array, Bools]:
        """Return the values of a column, and which of them are holes.

        Parameters
        ----------
        batch : RecordBatch
        name : str

        Returns
        -------
        values : Array of shape (rows,)
            Null where missing.
        holes : ndarray of bool of shape (rows,)
        """
        values = flatten(batch.column(name))
        holes = find_holes(values, self._markers)
        if holes.sum() > values.null_count:
            empty = pa.scalar(None, values.type)
            values = pc.if_else(pa.array(holes), empty, values)
        return values, holes

    def convert(
        self, batch: pa.RecordBatch, wanted: Sequence[Wanted], first_row: int
    ) -> pa.Table:
        """Read a batch as what it is wanted for.

        Parameters
        ----------
        batch : RecordBatch
        wanted : sequence of Wanted
        first_row : int
            Its number in the file.

        Returns
        -------
        Table
        """
        arrays = []
        for each in wanted:
            if each.place is None:
                arrays.append(pa.nulls(len(batch), TYPES[each.form]))
            else:
                found, _ = self.split(batch, each.name)
                values = read_as(found, each.form, each.name, first_row)
                if each.levels is not None:
                    values = each.levels.settle(values, found)
                arrays.append(values)
        return make_table(arrays, wanted)

    @contextmanager
    def open(self) -> Iterator[pq.ParquetFile]:
        """Open the file.

        Yields
        ------
        ParquetFile
        """
        with self._source.open() as stream:
            with self.told():
                file = pq.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
            with file:
                yield file

    def batches(self, file: pq.ParquetFile, **choice: Any) -> Iterator[pa.RecordBatch]:
        """Read batches of rows.

        Parameters
        ----------
        file : ParquetFile
        **choice : columns, row_groups
            As ``iter_batches`` takes them.

        Yields
        ------
        RecordBatch
        """
        n_columns = len(choice.get("columns", self.schema.names))
        size = max(1, _CELLS // max(1, n_columns))
        with self.told():
            found = file.iter_batches(size, use_threads=False, **choice)
        n_rows = 0
        while True:
            with self.told():
                batch = next(found, None)
                if batch is None:
                    break
                batch.validate(full=True)  # also that texts are UTF-8
            yield batch
            n_rows += len(batch)
        if "row_groups" not in choice and n_rows != self._n_rows:
            msg = f"Got {n_rows} rows in {self._source.name}, but it tells of "
            msg += f"{self._n_rows}. It is damaged: write it again."
            raise TableError(msg)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell what is wrong with a file in words."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            msg = (
                f"Got {self._source.name}, which begins as a Parquet file does, but "
                f"could not be read: {reason}. Write it again."
            )
            raise TableError(msg) from error

    @cached_property
    def _columns(self) -> dict[str, TypedColumn]:
        """All columns not left out, looked at from the first row to the last."""
        assert self.n_rows
        n_columns = len(self.names)
        dropped = set(self._options.drop)  # among them may be two of one name
        columns = {
            name: TypedColumn(name, self.schema.field(name).type, n_columns=n_columns)
            for name in self.names
            if name not in dropped
        }
        with self.open() as file:
            for batch in self.batches(file, columns=[*columns]):
                for name, column in columns.items():
                    column.see(self.split(batch, name)[0])
        return columns
