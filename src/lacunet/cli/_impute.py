"""``lacunet impute``: a table with its missing values filled."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet._output import STANDARD
from lacunet._text import list_names
from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import ReadOptions, Schema, TableFile

_MOST_ROWS = 100_000  # that an imputer is fitted to


@options.command("Fill the missing values of a table.")
@options.table
@options.table_output("File for the filled table.")
@click.option(
    "--model",
    type=click.Path(path_type=str),
    help="A model of `lacunet fit`, or one that was saved in Python.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    help="Number of tables to write, filled with random draws instead of means.",
)
@options.seed
@options.force
@options.reading
def impute(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    output: str,
    model: str | None,
    draws: int | None,
    seed: int,
    force: bool,
) -> None:
    """Fill the missing values of a table, and leave everything else as it is.

    Numbers get their conditional mean given the rest of the row, categories the most
    probable one; --draws writes several tables of random draws, which show how
    uncertain the filled values are. The model is a Gaussian mixture that is fitted to
    the table itself, or that of --model. Cells that have a value are written back
    exactly as they stand in the file, with its separator, decimal mark and encoding;
    integers stay integers. TABLE is CSV or Parquet, and so is the output; - is standard
    input or output.

    Examples
    --------
    lacunet impute patients.csv -o filled.csv
    lacunet impute patients.csv -o filled.csv --draws 5   filled-1.csv to filled-5.csv
    lacunet impute new.csv -o filled.csv --model model
    """
    paths = _name_outputs(output, draws)
    import numpy as np

    from lacunet.tables import ModelTable, Schema, open_output, open_table, write_draws

    # Draws have to continue from block to block; a seed would start them again.
    random_state = np.random.RandomState(seed)
    read = reading if model is None else ModelTable.read(model).options(reading)
    with open_table(table, read) as file, ExitStack() as stack:
        _check_kind(file, output)
        enter = stack.enter_context
        streams = [enter(open_output(path, force=force)) for path in paths]
        if model is None:
            fitted = _fit(terminal, file, random_state)
            schema = Schema.of_model(fitted)
        else:
            fitted = options.load_model(model).set_params(random_state=random_state)
            schema = Schema.of_model(fitted)
            _warn_left(terminal, file, schema)

        def fill(rows: "pd.DataFrame") -> Any:
            if draws is None:
                return [fitted.impute(rows)]
            return fitted.sample_imputations(rows, draws)

        bar = enter(terminal.progress("filling", file.n_rows))
        advance = partial(bar.advance, bar.task_ids[0])
        count = write_draws(file, streams, fill, schema=schema, advance=advance)
    terminal.warn_unseen(count.unseen)
    n_filled, n_left = sum(count.filled.values()), sum(count.left.values())
    terminal.note(f"Filled {n_filled} missing values in {count.n_rows} rows.")
    if n_left:
        terminal.warn(
            f"{n_left} missing values are left in {list_names(list(count.left))}: the "
            f"model has no value for them."
        )
    terminal.print_json({**vars(count), "outputs": paths})


def _name_outputs(output: str, draws: int | None) -> list[str]:
    """Return the name of each table: filled-1.csv and so on, if there are several."""
    if draws is None or draws == 1:
        return [output]
    if output == STANDARD:
        msg = f"Got --draws {draws} for standard output. Name a file with -o."
        raise click.UsageError(msg)
    path = Path(output)
    ending = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    stem = str(path).removesuffix(ending)
    return [f"{stem}-{number}{ending}" for number in range(1, draws + 1)]


def _check_kind(file: "TableFile", output: str) -> None:
    from lacunet.tables import FileFormat

    here, asked = file.format.kind, FileFormat.of_name(output).kind
    if output != STANDARD and here != asked:
        names = {"csv": "CSV", "parquet": "Parquet"}
        msg = (
            f"Got {names[here]} to be written to {output}, which asks for "
            f"{names[asked]}, but expected the same: cells are written as they stand."
        )
        raise click.ClickException(msg)


def _fit(terminal: Terminal, file: "TableFile", random_state: Any) -> Any:
    from lacunet import LacunetImputer

    terminal.note(f"Fitting a mixture to {file.short_name}.")
    rows = file.read(_MOST_ROWS)
    for column in file.columns:
        for notice in column.notices:
            if notice.what == "minus":
                terminal.warn(f"column {column.name!r}: {notice.text}")
    empty = [column.name for column in file.columns if column.kind == "empty"]
    terminal.warn_names("left as it is, as no row has a value", empty)
    if len(empty) == len(file.columns):
        msg = f"Got {file.name} without a single value, but expected some."
        raise click.ClickException(msg)
    return LacunetImputer(random_state=random_state).fit(rows.drop(columns=empty))


def _warn_left(terminal: Terminal, file: "TableFile", schema: "Schema") -> None:
    """Name the columns with missing values that the model can't fill."""
    unknown = file.match(schema).unknown
    if not unknown and not schema.empty:
        return
    incomplete = {column.name for column in file.columns if column.n_missing}
    for reason, names in (
        ("the model does not know it", unknown),
        ("the model has seen no value of it", schema.empty),
    ):
        left = [name for name in names if name in incomplete]
        terminal.warn_names(f"left as it is, as {reason}", left)
