"""Cells as they stand in a file, to be written beside others."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lacunet.tables._csv import CsvReader
from lacunet.tables._describing import find_kind
from lacunet.tables._grid import TextGrid
from lacunet.tables._parquet import ParquetReader
from lacunet.tables._survey import TextColumn
from lacunet.tables._wanted import TYPES, Form, Wanted


def keep_csv(
    reader: CsvReader, names: Sequence[str], *, typed: bool
) -> Iterator[pa.Table]:
    """Read columns of a CSV file as the texts that stand there.

    Parameters
    ----------
    reader : CsvReader
    names : sequence of str
    typed : bool
        Whether numbers and truth values are to be such, where that loses nothing of
        them, and empty cells null.

    Yields
    ------
    Table
    """
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
    """Read columns of a Parquet file in the types that they have there.

    Parameters
    ----------
    reader : ParquetReader
    names : sequence of str

    Yields
    ------
    Table
    """
    with reader.open() as file:
        for batch in reader.batches(file, columns=[*names]):
            yield pa.Table.from_batches([batch]).select([*names])


def as_typed_frame(table: pa.Table) -> Any:
    """Return a table as a frame in the types of Arrow: no value becomes another.

    Parameters
    ----------
    table : Table

    Returns
    -------
    DataFrame
    """
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
