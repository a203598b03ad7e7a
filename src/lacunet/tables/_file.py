"""A table in a file: opened, described, read whole or in blocks."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo
from lacunet.tables._csv import CsvReader
from lacunet.tables._filling import Fill, FillCount, FillJob, fill_csv, fill_parquet
from lacunet.tables._options import ReadOptions, check_known
from lacunet.tables._parquet import ParquetReader
from lacunet.tables._scanner import TextGrid
from lacunet.tables._schema import Match, Schema, match_names
from lacunet.tables._selection import (
    Form,
    SelectedColumn,
    as_frame,
    find_unseen,
    make_table,
    regroup,
    select_all,
    select_schema,
)
from lacunet.tables._source import FileFormat, Source

_CELLS = 2**20  # of a block, unless its rows are given


class TableFile:
    """A table in a file, as ``open_table`` returns it.

    It is read as often as needed and never held as a whole, except by ``read``. Types
    are found over all rows. Use it in a ``with`` statement: what was buffered of
    standard input is removed at its end.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    names : tuple of str
        Of all columns, in the order of the file.
    """

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.name = source.name
        self._source = source
        self._options = options
        self._reader: CsvReader | ParquetReader = (
            ParquetReader(source, options)
            if source.is_parquet
            else CsvReader(source, options)
        )
        self.names = self._reader.names
        check_known(options.drop, self.names, "--drop")
        check_known(options.categorical, self.names, "--categorical")
        dropped = set(options.drop)
        self._indices = [
            index for index, name in enumerate(self.names) if name not in dropped
        ]
        self._used = [self.names[index] for index in self._indices]
        if not self._used:
            msg = f"Got {self.name} with all columns left out, but expected some."
            raise TableError(msg)
        self._check_names()

    def __enter__(self) -> Self:
        """Return the table itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the table."""
        self.close()

    def __repr__(self) -> str:
        """Name the file."""
        return f"<TableFile {self.name}: {len(self.names)} columns>"

    def close(self) -> None:
        """Discard what was buffered of standard input, or of a pipe."""
        self._source.close()

    @property
    def short_name(self) -> str:
        """Name of the file without its folder, for what others will read."""
        return Path(self.name).name

    @cached_property
    def format(self) -> FileFormat:
        """How the file is written."""
        return self._reader.format

    @property
    def n_rows(self) -> int:
        """Number of rows; of CSV it needs a pass over the file."""
        return self._reader.n_rows

    @cached_property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """The columns that are not left out; needs a pass over the file."""
        return self._reader.infos(self._indices)

    def match(self, schema: Schema) -> Match:
        """Compare the columns with those of a model.

        Parameters
        ----------
        schema : Schema
            The columns that the model was trained on.

        Returns
        -------
        Match
        """
        return match_names(self._used, schema, self.name)

    def read(self, most_rows: int | None = None) -> pd.DataFrame:
        """Read the whole table.

        Parameters
        ----------
        most_rows : int, default=None
            If there are more, every k-th row is read, from all over the table.

        Returns
        -------
        DataFrame
            Of floats, integers, booleans, strings and dates; NaN, None or NaT
            where a value is missing. Dates with a zone are in UTC.
        """
        selection = self._select(None)
        step = 1 if most_rows is None else -(-self.n_rows // most_rows)
        tables = self._reader.tables(selection)
        return as_frame(pa.concat_tables(tables if step == 1 else _thin(tables, step)))

    def blocks(
        self,
        n_rows: int | None = None,
        *,
        schema: Schema | None = None,
        unseen: dict[str, list[str]] | None = None,
    ) -> Iterator[pd.DataFrame]:
        """Read the table in blocks, in memory that does not grow with it.

        Parameters
        ----------
        n_rows : int, default=None
            Rows of a block; by default as many as make about a million cells.
        schema : Schema, default=None
            The columns of a model: those are read, in its order and types. What the
            file lacks is missing in all rows; ``match`` returns what that is.
        unseen : dict, default=None
            Filled in place as the blocks are read: a few unseen categories of each
            column.

        Returns
        -------
        iterator of DataFrame
            As ``read`` returns it. What can't be read is found before the first.
        """
        selection = self._select(schema)
        if unseen is not None:
            unseen |= find_unseen(selection)
        size = n_rows or max(1, _CELLS // len(selection))
        return map(as_frame, regroup(self._reader.tables(selection), size))

    def cells(
        self, names: Sequence[str], n_rows: int | None = None, *, typed: bool = False
    ) -> Iterator[pd.DataFrame]:
        """Read some columns as they stand in the file, in blocks.

        Of CSV these are the texts of all cells, with their spaces and markers. Columns
        of Parquet keep their types, as those of Arrow.

        Parameters
        ----------
        names : sequence of str
            Of the columns.
        n_rows : int, default=None
            Rows of a block; by default as many as make about a million cells.
        typed : bool, default=False
            Whether the frames go to a file that has types: then numbers and booleans
            of CSV are read as such, unless digits or leading zeros would be lost, and
            empty cells are null.

        Returns
        -------
        iterator of DataFrame
        """
        check_known(names, self._used, "column")
        size = n_rows or max(1, _CELLS // max(1, len(names)))
        if isinstance(self._reader, ParquetReader):
            if not typed:
                self._reader.check([SelectedColumn(name, 0, "text") for name in names])
            tables = _read_parquet_cells(self._reader, names)
        else:
            tables = _read_csv_cells(self._reader, names, typed=typed)
        return map(_as_arrow_frame, regroup(tables, size))

    def fill(
        self,
        outputs: Sequence[IO[bytes]],
        fill: Fill,
        *,
        schema: Schema | None,
        advance: Callable[[int], object],
    ) -> FillCount:
        """Write the file again with its missing values filled; see ``write_draws``.

        Parameters
        ----------
        outputs : sequence of binary streams
            One for each filled table.
        fill, schema, advance
            As in ``write_draws``.

        Returns
        -------
        FillCount
            Of one of the tables.
        """
        job = FillJob(self._select(schema), outputs, fill, advance)
        if isinstance(self._reader, ParquetReader):
            count = fill_parquet(self._reader, job)
        else:
            count = fill_csv(self._reader, job)
        unseen = {name: new for name, new in find_unseen(job.selection).items() if new}
        return replace(count, unseen=unseen)

    def _check_names(self) -> None:
        """Refuse columns that share a name."""
        name, count = Counter(self._used).most_common(1)[0]
        if count > 1:
            numbers = [str(i + 1) for i, each in enumerate(self._used) if each == name]
            msg = (
                f"Got the name {shorten(name)!r} for columns "
                f"{' and '.join(numbers[:3])} of {self.name}, but expected a name for "
                f"each column. Rename one, or leave them out with --drop "
                f"{shorten(name)!r}."
            )
            raise TableError(msg)

    def _select(self, schema: Schema | None) -> list[SelectedColumn]:
        if schema is None:
            selection = select_all(self.names, self.columns)
        else:
            self.match(schema)
            selection = select_schema(self.names, self._used, schema)
        self._reader.check(selection)
        return selection


def open_table(
    path: str | os.PathLike[str], options: ReadOptions | None = None
) -> TableFile:
    r"""Open a table in a CSV or Parquet file.

    Which of them it is, and of CSV the separator, the encoding and the decimal mark,
    are found by what is in the file.

    Parameters
    ----------
    path : str or PathLike
        ``-`` is standard input. Files may be compressed with gzip.
    options : ReadOptions, default=None
        How it is to be read; all columns by default.

    Returns
    -------
    TableFile

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "towns.csv"
    ...     size = path.write_text("town;area\nRome;1285,31\nBonn;?\n")
    ...     with open_table(path) as table:
    ...         kinds = [column.kind for column in table.columns]
    ...         frame = table.read()
    >>> kinds
    ['category', 'number']
    >>> frame
       town     area
    0  Rome  1285.31
    1  Bonn      NaN
    """
    source = Source(path)
    try:
        return TableFile(source, options or ReadOptions())
    except BaseException:
        source.close()
        raise


def _thin(tables: Iterable[pa.Table], step: int) -> Iterator[pa.Table]:
    """Take every k-th row."""
    start = 0
    for table in tables:
        yield table.take(np.arange(-start % step, len(table), step))
        start += len(table)


def _read_csv_cells(
    reader: CsvReader, names: Sequence[str], *, typed: bool
) -> Iterator[pa.Table]:
    """Read cells as they stand, or in the types that lose nothing of them."""
    selection = []
    for name in names:
        index = reader.names.index(name)
        form: Form = "text"
        if typed:
            kind, numbers = reader.columns[index].kind, reader.columns[index].numbers
            is_plain = numbers.is_exact and not numbers.is_padded
            if kind == "boolean" or (kind in ("integer", "number") and is_plain):
                form = kind
        selection.append(SelectedColumn(name, index, form))
    read = [each for each in selection if each.form != "text"]
    for rows in filter(len, reader.scan()):
        grid = TextGrid(rows.texts, len(reader.names))
        values = iter(reader.convert(reader.split(rows)[0], read) if read else [])
        arrays = []
        for each in selection:
            if each.form != "text":
                arrays.append(next(values))
                continue
            texts = grid.column(reader.names.index(each.name))
            if typed:
                null = pa.scalar(None, pa.string())
                texts = pc.if_else(pc.equal(texts, ""), null, texts)
            arrays.append(texts)
        yield make_table(arrays, selection)


def _read_parquet_cells(
    reader: ParquetReader, names: Sequence[str]
) -> Iterator[pa.Table]:
    """Read columns in the types that the file has."""
    with reader.open() as file:
        for batch in reader.batches(file, columns=[*names]):
            yield pa.Table.from_batches([batch]).select([*names])


def _as_arrow_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame in the types of Arrow: no value becomes another."""
    return table.to_pandas(ignore_metadata=True, types_mapper=pd.ArrowDtype)
