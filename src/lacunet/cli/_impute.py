"""``lacunet impute``: a table with its holes filled."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet.cli._tables import (
    STANDARD,
    check_answer,
    force_option,
    reading_options,
    seed_option,
    shown_rows,
    silence,
    table_argument,
    warn_of_levels,
)
from lacunet.cli._terminal import Terminal, common_options

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import FillCount, ReadOptions, Schema, TableFile

_MOST_ROWS = 100_000  # that an imputer is fitted to

_HELP = """Fill the holes of a table, and leave everything else as it stands.

With the mean of what is missing given the rest of the row, the likeliest level of
categories; or --draws several tables, to see what the holes leave open. The model is a
mixture that is fitted to the table itself, or that of --model. Cells that have a value
are written back exactly as they stand in the file, with its separator, decimal mark and
encoding; integers stay integers. TABLE is CSV or Parquet, and so is what is written; -
is standard input or output."""
_EXAMPLES = """\b
Examples:
  lacunet impute patients.csv -o filled.csv
  lacunet impute patients.csv -o filled.csv --draws 5   filled-1.csv to filled-5.csv
  lacunet impute new.csv -o filled.csv --model model"""


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="Fill the holes of a table.")
@table_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=str),
    default=STANDARD,
    help="The table that is written.  [default: -, standard output]",
)
@click.option(
    "--model",
    type=click.Path(path_type=str),
    help="A model of `lacunet fit`, or one that was saved in Python.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    help="Number of tables with draws in the holes in place of the mean.",
)
@seed_option
@force_option
@reading_options
@common_options
@click.pass_obj
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
    """Fill the holes of a table."""
    check_answer(terminal, output)
    paths = _name_outputs(output, draws)
    from lacunet.tables import ModelTable, Schema, open_output, open_table, write_draws

    options = reading if model is None else ModelTable.read(model).options(reading)
    with open_table(table, options) as file, ExitStack() as stack:
        _check_kind(file, output)
        streams = [
            stack.enter_context(open_output(path, force=force)) for path in paths
        ]
        fitted = _fit(terminal, file, seed) if model is None else _load(model, seed)
        schema = Schema.of_model(fitted)
        if model is not None:
            _warn(terminal, file, schema)
        advance = stack.enter_context(shown_rows(terminal, "filling", file.n_rows))
        count = write_draws(
            file,
            streams,
            _filling(fitted, draws),
            schema=schema,
            advance=advance,
        )
    _tell(terminal, count)
    terminal.answer({**vars(count), "outputs": paths})


def _name_outputs(output: str, draws: int | None) -> list[str]:
    """Return the name of each table: filled-1.csv and so on, if there are several."""
    if draws is None or draws == 1:
        return [output]
    if output == STANDARD:
        msg = f"Got --draws {draws} for standard output. Name a file with -o."
        raise click.UsageError(msg)
    path = Path(output)
    ending = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    stem = path.name.removesuffix(ending)
    return [
        str(path.with_name(f"{stem}-{number}{ending}"))
        for number in range(1, draws + 1)
    ]


def _check_kind(file: "TableFile", output: str) -> None:
    from lacunet.tables import FileFormat

    here, wanted = file.format.kind, FileFormat.of_name(output).kind
    if output != STANDARD and here != wanted:
        names = {"csv": "CSV", "parquet": "Parquet"}
        msg = (
            f"Got {names[here]} to be written to {output}, which asks for "
            f"{names[wanted]}, but expected the same: cells are written as they stand."
        )
        raise click.ClickException(msg)


def _fit(terminal: Terminal, file: "TableFile", seed: int) -> Any:
    from lacunet import LacunetImputer

    terminal.note(f"Fitting a mixture to {file.short_name}.")
    rows = file.read(_MOST_ROWS)
    for column in file.columns:
        for notice in column.notices:
            if notice.what == "minus":
                terminal.complain(f"Warning: column {column.name!r}: {notice.text}")
    empty = [column.name for column in file.columns if column.kind == "empty"]
    if empty:
        from lacunet._text import list_names

        terminal.complain(
            f"Warning: left as it is, as no row has a value: {list_names(empty)}."
        )
    if len(empty) == len(file.columns):
        msg = f"Got {file.name} without a single value, but expected some."
        raise click.ClickException(msg)
    imputer = LacunetImputer(random_state=_stream(seed))
    return imputer.fit(rows.drop(columns=empty))


def _load(path: str, seed: int) -> Any:
    from lacunet import load

    return silence(load(path)).set_params(random_state=_stream(seed))


def _warn(terminal: Terminal, file: "TableFile", schema: "Schema") -> None:
    """Name the columns with holes that the model has nothing for."""
    from lacunet._text import list_names

    unknown = file.match(schema).unknown
    reasons = {
        "the model does not know it": unknown,
        "the model has seen no value of it": schema.empty,
    }
    if not unknown and not schema.empty:
        return
    hollow = {column.name for column in file.columns if column.n_missing}
    for reason, names in reasons.items():
        left = [name for name in names if name in hollow]
        if left:
            terminal.complain(
                f"Warning: left as it is, as {reason}: {list_names(left)}."
            )


def _stream(seed: int) -> Any:
    """Return what draws go on from, from block to block; a seed would start anew."""
    import numpy as np

    return np.random.RandomState(seed)


def _filling(model: Any, draws: int | None) -> Any:
    def fill(rows: "pd.DataFrame") -> Sequence[Any]:
        if draws is None:
            return [model.impute(rows)]
        filled: Sequence[Any] = model.sample_imputations(rows, draws)
        return filled

    return fill


def _tell(terminal: Terminal, count: "FillCount") -> None:
    warn_of_levels(terminal, count.unseen)
    n_filled, n_left = sum(count.filled.values()), sum(count.left.values())
    terminal.note(f"Filled {n_filled} holes in {count.n_rows} rows.")
    if n_left:
        from lacunet._text import list_names

        terminal.complain(
            f"Warning: {n_left} holes are left in {list_names(list(count.left))}: "
            f"the model has no value for them."
        )
