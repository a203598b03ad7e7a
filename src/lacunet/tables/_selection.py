"""Which columns of a file are to be read, and as what."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, quote_name
from lacunet.tables._schema import Levels, Schema, SchemaColumn
from lacunet.tables._values import STAMP

Form = Literal["number", "integer", "boolean", "text", "date"]

TYPES: dict[Form, pa.DataType] = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "text": pa.string(),
    "date": STAMP,
}
_FORMS: dict[str, Form] = {
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "category": "text",
    "text": "text",
    "date": "date",
    "empty": "number",
}
_FEW_COLUMNS = 1000  # so many have an array each in a frame


class Wanted(NamedTuple):
    """A column to read."""

    name: str
    place: int | None
    form: Form
    levels: Levels | None = None


def want_all(names: Sequence[str], infos: Sequence[ColumnInfo]) -> list[Wanted]:
    """Want all columns as what they are.

    Integers with holes are numbers: in a frame, only floats can be missing.
    """
    places = {name: place for place, name in enumerate(names)}
    found = []
    for info in infos:
        if info.kind == "unsupported":
            msg = (
                f"Got column {quote_name(info.name)}, but expected numbers, truth "
                f"values, texts or dates. {info.notices[-1].text}"
            )
            raise TableError(msg)
        form = _FORMS[info.kind]
        if form == "integer" and info.n_missing:
            form = "number"
        found.append(Wanted(info.name, places[info.name], form))
    return found


def want_schema(
    names: Sequence[str], kept: Sequence[str], schema: Schema
) -> list[Wanted]:
    """Want the columns of a model as what it was trained on, in its order.

    Those that were empty then are missing, whatever the file has in them.
    """
    here = set(kept) - set(schema.empty)
    places = {name: place for place, name in enumerate(names) if name in here}
    return [
        Wanted(
            column.name,
            places.get(column.name),
            _form_of(column),
            Levels(column.levels) if column.levels else None,
        )
        for column in schema.columns
    ]


def find_unseen(wanted: Sequence[Wanted]) -> dict[str, list[str]]:
    """Return levels that a model does not know, by the names of categories."""
    return {each.name: each.levels.unseen for each in wanted if each.levels}


def make_table(arrays: Sequence[pa.Array], wanted: Sequence[Wanted]) -> pa.Table:
    """Put names and types to columns."""
    schema = pa.schema([(each.name, TYPES[each.form]) for each in wanted])
    return pa.Table.from_arrays(arrays, schema=schema)


def regroup(tables: Iterator[pa.Table], n_rows: int) -> Iterator[pa.Table]:
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


def as_frame(table: pa.Table) -> Any:
    """Return a table as a frame of pandas; it can't be used any more."""
    few = table.num_columns <= _FEW_COLUMNS
    return table.to_pandas(ignore_metadata=True, split_blocks=few, self_destruct=few)


def _form_of(column: SchemaColumn) -> Form:
    if column.kind != "category":
        return _FORMS[column.kind]
    if all(isinstance(level, bool) for level in column.levels):
        return "boolean"
    if all(isinstance(level, (int, float)) for level in column.levels):
        return "number"
    return "text"
