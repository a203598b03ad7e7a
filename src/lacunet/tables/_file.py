"""A table in a file: opened, described, read whole or in blocks."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, list_notices, quote_name
from lacunet.tables._options import ReadOptions, check_known
from lacunet.tables._readers import TYPES, CsvReader, Form, TypedReader, read_sheet
from lacunet.tables._schema import KnownCategories, Match, Schema, match_names
from lacunet.tables._source import Source
from lacunet.tables._writing import FileFormat

_CELLS = 2**20  # of a block, unless its rows are given
_FEW_COLUMNS = 1000  # up to which a frame has an array for each
_FORMS: dict[str, Form] = {
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "category": "text",
    "text": "text",
    "date": "date",
    "empty": "number",
}


@dataclass(frozen=True, eq=False)
class SelectedColumn:
    """A column to read, in the form that is asked for."""

    name: str
    index: int | None  # in the file; None: missing in every row
    form: Form
    categories: KnownCategories | None = None  # those of a model


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
        if source.kind == "excel":
            source.put(read_sheet(source, options.sheet))
        read = CsvReader if source.kind == "csv" else TypedReader
        self.reader: Any = read(source, options)
        self._source = source
        self._options = options
        self.names: tuple[str, ...] = self.reader.names
        check_known(options.drop, self.names, "--drop")
        check_known(options.categorical, self.names, "--categorical")
        dropped = set(options.drop)
        self._indices = [i for i, name in enumerate(self.names) if name not in dropped]
        self._used = [self.names[index] for index in self._indices]
        if not self._used:
            msg = f"Got {self.name} with all columns left out, but expected some."
            raise TableError(msg)
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
        """Discard what is held in memory, and what was buffered of a pipe."""
        self.reader.close()
        self._source.close()

    @property
    def short_name(self) -> str:
        """Name of the file without its folder, for what others will read."""
        return Path(self.name).name

    def list_notices(self, names: Sequence[str] | None = None) -> list[str]:
        """Return what a user may want to know of the file, in a few lines.

        Parameters
        ----------
        names : sequence of str, default=None
            Of the columns that a model takes, to be told only how their cells are read,
            which is a question of text alone; all columns and notices by default.

        Returns
        -------
        list of str
            The worst first, at most one line a column.
        """
        encoding = getattr(self.reader, "encoding", None)
        lines = []
        if encoding is not None and encoding.is_guessed:
            lines.append(
                f"The encoding seems to be {encoding.name}. Name another with "
                f"--encoding if letters look wrong."
            )
        if names is None:
            return lines + list_notices(self.columns)
        if isinstance(self.reader, TypedReader):
            return lines
        known = set(names)
        columns = [
            replace(each, notices=tuple(n for n in each.notices if n.is_of_cells))
            for each in self.columns
            if each.name in known
        ]
        return lines + list_notices(columns)

    @property
    def format(self) -> FileFormat:
        """How the file is written; a workbook is written as CSV."""
        reader = self.reader
        if not isinstance(reader, CsvReader):
            return FileFormat(self._source.kind)
        commas = any(
            column.format and column.format.decimal == "," and column.kind == "number"
            for column in reader.columns
        )
        return FileFormat(
            "csv",
            reader.separator,
            "," if commas else ".",
            reader.encoding.name,
            bool(reader.encoding.mark),
            reader.line_end,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows; of CSV it needs a pass over the file."""
        return int(self.reader.n_rows)

    @cached_property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """The columns that are not left out; needs a pass over the file."""
        named = set(self._options.categorical)
        columns = [self.reader.columns[index] for index in self._indices]
        place = self.reader.place
        return tuple(
            each.info(place, is_categorical=each.name in named) for each in columns
        )

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
        tables = self._tables(self.select())
        step = 1 if most_rows is None else -(-self.n_rows // most_rows)
        if step > 1:
            tables = _thin(tables, step)
        return as_frame(pa.concat_tables(tables))

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
        selection = self.select(schema)
        if unseen is not None:
            unseen |= find_unseen(selection)
        size = n_rows or max(1, _CELLS // len(selection))
        return map(as_frame, _regroup(self._tables(selection), size))

    def bounds(
        self, n_rows: int | None = None, *, schema: Schema | None = None
    ) -> Iterator[dict[str, pd.DataFrame]]:
        """Read the bounds of values that are known by them alone, such as ``<0.5``.

        Parameters
        ----------
        n_rows, schema
            As in ``blocks``.

        Returns
        -------
        iterator of dict
            For each of the ``blocks``: the frames ``lower`` and ``upper``, of its
            shape, NaN where there is no bound; nothing where a table has none.
        """
        selection = self.select(schema)
        size = n_rows or max(1, _CELLS // len(selection))
        if not self._censored(selection):
            return repeat({})
        batches = self.reader.raw_batches()
        tables = (pa.Table.from_batches([batch]) for batch in batches)
        return (
            self.find_bounds(block.combine_chunks().to_batches()[0], selection)
            for block in _regroup(tables, size)
        )

    def read_bounds(self, most_rows: int | None = None) -> dict[str, pd.DataFrame]:
        """Read the bounds of the whole table, see ``bounds``.

        Parameters
        ----------
        most_rows : int, default=None
            As in ``read``.

        Returns
        -------
        dict of DataFrame
            The frames ``lower`` and ``upper``, of the shape of what ``read`` returns;
            nothing if there is no bound.
        """
        if not self._censored(self.select()):
            return {}
        step = 1 if most_rows is None else -(-self.n_rows // most_rows)
        blocks = [*self.bounds()]
        return {
            name: pd.concat([each[name] for each in blocks], ignore_index=True)[::step]
            for name in ("lower", "upper")
        }

    def find_bounds(
        self, batch: Any, selection: Sequence[SelectedColumn]
    ) -> dict[str, pd.DataFrame]:
        """Return the bounds in some rows of the file, see ``bounds``."""
        censored = self._censored(selection)
        if not censored:
            return {}
        found = {}
        for each in censored:
            texts = self.reader.split(batch, each.index)
            column = self.reader.columns[each.index]
            whole = column.stats.is_whole
            found[each.name] = column.format.read_bounds(texts, whole=whole)
        names = [each.name for each in selection]
        none = np.full(len(batch), np.nan)
        return {
            end: pd.DataFrame({n: found[n][i] if n in found else none for n in names})
            for i, end in enumerate(("lower", "upper"))
        }

    def _censored(self, selection: Sequence[SelectedColumn]) -> list[SelectedColumn]:
        """Return the columns with values that are known by a bound alone."""
        if not isinstance(self.reader, CsvReader):
            return []
        return [
            each
            for each in selection
            if each.index is not None
            and each.form == "number"
            and each.categories is None
            and self.reader.columns[each.index].n_censored
        ]

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
        indices = [self.names.index(name) for name in names]

        def tables() -> Iterator[pa.Table]:
            reader = self.reader
            if not isinstance(reader, CsvReader):
                for batch in reader.raw_batches(indices):
                    yield pa.Table.from_batches([batch]).select([*names])
                return
            columns = [reader.columns[index] for index in indices]
            kept = [typed and (x.kind == "boolean" or x.keeps_digits) for x in columns]
            for batch in reader.raw_batches():
                arrays = []
                for index, is_typed in zip(indices, kept, strict=True):
                    texts = batch.column(index)
                    if is_typed:
                        values, kind = (
                            reader.split(batch, index),
                            reader.columns[index].kind,
                        )
                        texts = reader.convert(values, index, _FORMS[kind], 0)
                    elif typed:
                        empty = pa.scalar(None, pa.string())
                        texts = pc.if_else(pc.equal(texts, ""), empty, texts)
                    arrays.append(texts)
                yield pa.Table.from_arrays(arrays, names=[*names])

        if not typed and isinstance(self.reader, TypedReader):
            for index in indices:
                self.reader.check(index, "text")
        return (
            table.to_pandas(ignore_metadata=True, types_mapper=pd.ArrowDtype)
            for table in _regroup(tables(), size)
        )

    def select(self, schema: Schema | None = None) -> list[SelectedColumn]:
        """Return the columns to read, those of a model or all; refuse what can't be.

        Parameters
        ----------
        schema : Schema, default=None
            The columns of a model, in its order and types. Those that were empty in
            training are missing, whatever the file has in them.

        Returns
        -------
        list of SelectedColumn
        """
        found = []
        if schema is None:
            for index, info in zip(self._indices, self.columns, strict=True):
                if info.kind == "unsupported":
                    msg = (
                        f"Got column {quote_name(info.name)}, but expected numbers, "
                        f"booleans, texts or dates. {info.notices[0].text}"
                    )
                    raise TableError(msg)
                form = _FORMS[info.kind]
                # In a frame, only floats can be missing.
                if form == "integer" and info.n_missing:
                    form = "number"
                found.append(SelectedColumn(info.name, index, form))
        else:
            self.match(schema)
            here = set(self._used) - set(schema.empty)
            indices = {name: i for i, name in enumerate(self.names) if name in here}
            for column in schema.columns:
                form, categories = _FORMS[column.kind], column.categories
                if column.kind == "category" and categories:
                    if all(isinstance(c, bool) for c in categories):
                        form = "boolean"
                    elif all(isinstance(c, (int, float)) for c in categories):
                        form = "number"
                known = KnownCategories(categories) if categories else None
                place = indices.get(column.name)
                found.append(SelectedColumn(column.name, place, form, known))
        for each in found:
            if each.index is not None:
                self.reader.check(each.index, each.form)
        return found

    def convert(
        self, batch: Any, selection: Sequence[SelectedColumn], first_row: int
    ) -> pa.Table:
        """Read some rows of the file in the forms asked for."""
        arrays = []
        for each in selection:
            if each.index is None:
                arrays.append(pa.nulls(len(batch), TYPES[each.form]))
                continue
            found = self.reader.split(batch, each.index)
            values = self.reader.convert(found, each.index, each.form, first_row)
            if each.categories is not None:
                values = each.categories.recode(values, found)
            arrays.append(values)
        schema = pa.schema([(each.name, TYPES[each.form]) for each in selection])
        return pa.Table.from_arrays(arrays, schema=schema)

    def _tables(self, selection: Sequence[SelectedColumn]) -> Iterator[pa.Table]:
        indices = [each.index for each in selection if each.index is not None]
        row = 1
        for batch in self.reader.raw_batches(indices):
            yield self.convert(batch, selection, row)
            row += len(batch)


def open_table(
    path: str | os.PathLike[str], options: ReadOptions | None = None
) -> TableFile:
    r"""Open a table in a file.

    What the file is, and of CSV the separator, the encoding and the decimal mark, are
    found by what is in it: CSV, Parquet, Arrow (Feather), JSON lines or an Excel
    workbook; text may be compressed (gzip, bzip2, zstd, xz).

    Parameters
    ----------
    path : str or PathLike
        Of a file; of a folder or a pattern (``data/*.parquet``) of Parquet files;
        ``-`` is standard input; addresses such as ``https://`` or ``s3://`` need what
        fsspec asks for.
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
    return TableFile(Source(path), options or ReadOptions())


def find_unseen(selection: Sequence[SelectedColumn]) -> dict[str, list[str]]:
    """Return lists of categories unknown to the model; they grow as rows are read."""
    return {each.name: each.categories.unseen for each in selection if each.categories}


def as_frame(table: pa.Table) -> Any:
    """Return a table as a pandas frame; the table can't be used any more."""
    few = table.num_columns <= _FEW_COLUMNS
    return table.to_pandas(ignore_metadata=True, split_blocks=few, self_destruct=few)


def _thin(tables: Iterable[pa.Table], step: int) -> Iterator[pa.Table]:
    """Take every k-th row."""
    start = 0
    for table in tables:
        yield table.take(np.arange(-start % step, len(table), step))
        start += len(table)


def _regroup(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """Make tables of one size of tables of any; the last may be smaller."""
    held: list[pa.Table] = []
    n_held = 0
    for table in tables:
        held.append(table)
        n_held += len(table)
        while n_held >= n_rows:
            whole = pa.concat_tables(held)
            yield whole[:n_rows]
            held, n_held = [whole[n_rows:]], n_held - n_rows
    if n_held:
        yield pa.concat_tables(held)
