"""Which columns of a file are to be read, and as what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo, quote_name
from lacunet.tables._schema import KnownCategories, Schema
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
_FEW_COLUMNS = 1000  # up to which a frame has an array for each


@dataclass(frozen=True, eq=False)
class SelectedColumn:
    """A column to read, in the form that is asked for."""

    name: str
    index: int | None  # in the file; None: missing in every row
    form: Form
    categories: KnownCategories | None = None  # those of a model


def select_all(
    names: Sequence[str], infos: Sequence[ColumnInfo]
) -> list[SelectedColumn]:
    """Select every column with its inferred type.

    Integers with missing values are numbers: in a frame, only floats can be missing.
    """
    indices = {name: index for index, name in enumerate(names)}
    found = []
    for info in infos:
        if info.kind == "unsupported":
            msg = (
                f"Got column {quote_name(info.name)}, but expected numbers, booleans, "
                f"texts or dates. {info.notices[-1].text}"
            )
            raise TableError(msg)
        form = _FORMS[info.kind]
        if form == "integer" and info.n_missing:
            form = "number"
        found.append(SelectedColumn(info.name, indices[info.name], form))
    return found


def select_schema(
    names: Sequence[str], used: Sequence[str], schema: Schema
) -> list[SelectedColumn]:
    """Select the columns of a model, in its order and types.

    Those that were empty in training are missing, whatever the file has in them.
    """
    here = set(used) - set(schema.empty)
    indices = {name: index for index, name in enumerate(names) if name in here}
    found = []
    for column in schema.columns:
        form, categories = _FORMS[column.kind], column.categories
        if column.kind == "category" and all(isinstance(c, bool) for c in categories):
            form = "boolean"
        elif column.kind == "category" and all(
            isinstance(c, (int, float)) for c in categories
        ):
            form = "number"
        known = KnownCategories(categories) if categories else None
        index = indices.get(column.name)
        found.append(SelectedColumn(column.name, index, form, known))
    return found


def find_unseen(selection: Sequence[SelectedColumn]) -> dict[str, list[str]]:
    """Return lists of categories unknown to the model; they grow as rows are read."""
    return {each.name: each.categories.unseen for each in selection if each.categories}


def make_table(
    arrays: Sequence[pa.Array], selection: Sequence[SelectedColumn]
) -> pa.Table:
    """Make a table of the arrays of selected columns."""
    schema = pa.schema([(each.name, TYPES[each.form]) for each in selection])
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
    """Return a table as a pandas frame; the table can't be used any more."""
    few = table.num_columns <= _FEW_COLUMNS
    return table.to_pandas(ignore_metadata=True, split_blocks=few, self_destruct=few)
