"""A table in a file: opened, described, read whole or in blocks."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, TextColumn, find_kind
from lacunet.tables._csv import CsvReader, check_names
from lacunet.tables._filling import Fill, FillCount, Job, fill_csv, fill_parquet
from lacunet.tables._options import ReadOptions, check_known
from lacunet.tables._parquet import ParquetReader
from lacunet.tables._scanner import TextGrid
from lacunet.tables._schema import Match, Schema, match_names
from lacunet.tables._selection import (
    TYPES,
    Form,
    Wanted,
    as_frame,
    find_unseen,
    regroup,
    want_all,
    want_schema,
)
from lacunet.tables._source import FileFormat, Source

if TYPE_CHECKING:
    import pandas as pd


def keep_csv(
    reader: CsvReader, names: Sequence[str], *, typed: bool
) -> Iterator[pa.Table]:
    """Read columns of a CSV file as the texts that stand there."""
    places = [reader.names.index(name) for name in names]
    forms = [_form_of(reader.columns[each]) if typed else "text" for each in places]
    wanted = [
        Wanted(*each)
        for each in zip(names, places, forms, strict=True)
        if each[2] != "text"
    ]
    schema = pa.schema(
        [(name, TYPES[form]) for name, form in zip(names, forms, strict=True)]
    )
    for rows in filter(len, reader.scan()):
        texts = TextGrid(rows.texts, len(reader.names))
        read = iter(reader.convert(reader.split(rows)[0], wanted) if wanted else [])
        arrays = [
            _as_text(texts.column(place), typed=typed) if form == "text" else next(read)
            for place, form in zip(places, forms, strict=True)
        ]
        yield pa.Table.from_arrays(arrays, schema=schema)


def keep_parquet(reader: ParquetReader, names: Sequence[str]) -> Iterator[pa.Table]:
    """Read columns of a Parquet file in the types that they have there."""
    with reader.open() as file:
        for batch in reader.batches(file, columns=[*names]):
            yield pa.Table.from_batches([batch]).select([*names])


def as_typed_frame(table: pa.Table) -> Any:
    """Return a table as a frame in the types of Arrow: no value becomes another."""
    return table.to_pandas(ignore_metadata=True, types_mapper=pd.ArrowDtype)


def _form_of(column: TextColumn) -> Form:
    kind, numbers = find_kind(column), column.numbers
    if kind == "boolean":
        return "boolean"
    if kind in ("integer", "number") and numbers.is_exact and not numbers.is_padded:
        return "integer" if kind == "integer" else "number"
    return "text"


def _as_text(texts: pa.StringArray, *, typed: bool) -> pa.StringArray:
    if not typed:
        return texts
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


_CELLS = 2**20  # of a block, if nobody says how large it is to be


class TableFile:
    """A table in a file, as ``open_table`` returns it.

    It is read as often as needed and never held as a whole, except by ``read``. Types
    are found over all rows. Use it in a ``with`` statement: what was kept of standard
    input is removed at its end.

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
        self._places = [
            place for place, name in enumerate(self.names) if name not in dropped
        ]
        if not self._places:
            msg = f"Got {self.name} with all columns left out, but expected some."
            raise TableError(msg)
        check_names(tuple(self.names[place] for place in self._places), self.name)

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
        """Forget what was kept of standard input, or of a pipe."""
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
        """Number of rows; CSV is read through for it."""
        return self._reader.n_rows

    @cached_property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """What the columns are, but for those left out; the file is read through."""
        return self._reader.infos(self._places)

    def match(self, schema: Schema) -> Match:
        """Compare the columns with those of a model.

        Parameters
        ----------
        schema : Schema

        Returns
        -------
        Match
        """
        names = [self.names[place] for place in self._places]
        return match_names(names, schema, self.name)

    def read(self, most_rows: int | None = None) -> "pd.DataFrame":
        """Read the whole table.

        Parameters
        ----------
        most_rows : int, default=None
            If there are more, each so many-th row is read, from all over the table.

        Returns
        -------
        DataFrame
            Of floats, integers, truth values, strings and dates; NaN, None or NaT
            where a value is missing. Dates with a zone are in UTC.
        """
        wanted = self._want(None)
        step = 1 if most_rows is None else -(-self.n_rows // most_rows)
        tables = self._reader.tables(wanted)
        return as_frame(pa.concat_tables(tables if step == 1 else _thin(tables, step)))

    def blocks(
        self,
        n_rows: int | None = None,
        *,
        schema: Schema | None = None,
        unseen: dict[str, list[str]] | None = None,
    ) -> "Iterator[pd.DataFrame]":
        """Read the table in blocks, in memory that does not grow with it.

        Parameters
        ----------
        n_rows : int, default=None
            Rows of a block; by default as many as make about a million cells.
        schema : Schema, default=None
            The columns of a model: those are read, in its order and types. What the
            file lacks is missing in all rows; ``match`` tells what that is.
        unseen : dict, default=None
            Is given lists by the names of categories, to which a few of the levels are
            added that the model has not seen, as they are read.

        Returns
        -------
        iterator of DataFrame
            As ``read`` returns it. What can't be read is found before the first.
        """
        wanted = self._want(schema)
        if unseen is not None:
            unseen |= find_unseen(wanted)
        size = n_rows or max(1, _CELLS // len(wanted))
        return map(as_frame, regroup(self._reader.tables(wanted), size))

    def cells(
        self, names: Sequence[str], n_rows: int | None = None, *, typed: bool = False
    ) -> "Iterator[pd.DataFrame]":
        """Read some columns as they stand in the file, in blocks.

        Of CSV these are the texts of all cells, with their spaces and markers. Columns
        of Parquet keep their types, as those of Arrow.

        Parameters
        ----------
        names : sequence of str
        n_rows : int, default=None
            Rows of a block; by default as many as make about a million cells.
        typed : bool, default=False
            Whether the frames go to a file that has types: then numbers and truth
            values of CSV are read as such, unless digits or zeros in front would be
            lost, and empty cells are null.

        Returns
        -------
        iterator of DataFrame
        """
        check_known(names, [self.names[place] for place in self._places], "column")
        size = n_rows or max(1, _CELLS // max(1, len(names)))
        if isinstance(self._reader, ParquetReader):
            if not typed:
                self._reader.check([Wanted(name, 0, "text") for name in names])
            tables = keep_parquet(self._reader, names)
        else:
            tables = keep_csv(self._reader, names, typed=typed)
        return map(as_typed_frame, regroup(tables, size))

    def fill(
        self,
        outputs: Sequence[IO[bytes]],
        fill: Fill,
        *,
        schema: Schema | None,
        advance: Callable[[int], object],
    ) -> FillCount:
        """Write the file again with its holes filled; see ``write_draws``.

        Parameters
        ----------
        outputs : sequence of binary streams
        fill : callable
        schema : Schema or None
        advance : callable

        Returns
        -------
        FillCount
        """
        job = Job(self._want(schema), outputs, fill, advance)
        if isinstance(self._reader, ParquetReader):
            count = fill_parquet(self._reader, job)
        else:
            count = fill_csv(self._reader, job)
        unseen = {name: new for name, new in find_unseen(job.wanted).items() if new}
        return replace(count, unseen=unseen)

    def _want(self, schema: Schema | None) -> list[Wanted]:
        if schema is None:
            wanted = want_all(self.names, self.columns)
        else:
            self.match(schema)
            kept = [self.names[place] for place in self._places]
            wanted = want_schema(self.names, kept, schema)
        self._reader.check(wanted)
        return wanted


def _thin(tables: Iterable[pa.Table], step: int) -> Iterator[pa.Table]:
    """Take each so many-th row."""
    start = 0
    for table in tables:
        yield table.take(np.arange(-start % step, len(table), step))
        start += len(table)


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
