"""``lacunet predict``: predictions for the rows of a table."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from lacunet._output import STANDARD
from lacunet._text import list_names
from lacunet.cli._options import (
    check_output,
    force_option,
    reading_options,
    silence,
    table_argument,
)
from lacunet.cli._terminal import Terminal, common_options

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import Match, ReadOptions

BLOCK = 20_000  # rows at a time

_HELP = """Predict the rows of a table with a model of `lacunet fit`.

Columns are matched by name, in any order. Those that the table lacks count as missing
in every row, and those that the model does not know are ignored, each with a warning.
The table is read in blocks: it may be larger than memory. TABLE is CSV or Parquet; - is
standard input."""
_EXAMPLES = """\b
Examples:
  lacunet predict model new.csv -o out.csv
  lacunet predict model new.parquet -o out.parquet --keep id
  cat new.csv | lacunet predict model - | head"""


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="Predict the rows of a table.")
@click.argument("model", type=click.Path(path_type=str))
@table_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=str),
    default=STANDARD,
    help="The table to write: CSV, or Parquet by its name.  [default: -, "
    "standard output]",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="A column of the table to copy in front of the prediction. May be given "
    "again.",
)
@force_option
@reading_options
@common_options
@click.pass_obj
def predict(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    output: str,
    keep: tuple[str, ...],
    force: bool,
) -> None:
    """Predict the rows of a table."""
    check_output(terminal, output)
    from lacunet import load
    from lacunet.tables import (
        FileFormat,
        ModelTable,
        Schema,
        open_output,
        open_table,
        predict_rows,
        write_rows,
    )

    fitted = silence(load(model))
    if not hasattr(fitted, "predict"):
        msg = (
            f"Got {model}, a {type(fitted).__name__}, but expected one that predicts. "
            f"Fill tables with it: lacunet impute TABLE --model {model}."
        )
        raise click.ClickException(msg)
    known, schema = ModelTable.read(model), Schema.of_model(fitted)
    with open_table(table, known.options(reading)) as file:
        match = file.match(schema)
        _warn_columns(terminal, match, {known.target, *keep})
        # What the rows have that training had not, found while they pass.
        unseen: dict[str, list[str]] = {}
        newly_missing: dict[str, None] = {}
        complete = [
            column.name
            for column in schema.columns
            if not column.had_missing and column.name not in match.missing
        ]

        def predictions() -> "Iterator[pd.DataFrame]":
            for block in file.blocks(BLOCK, schema=schema, unseen=unseen):
                missing = block[complete].isna().any()
                newly_missing.update(dict.fromkeys(missing.index[missing]))
                yield predict_rows(fitted, block)
                advance(len(block))

        format = FileFormat.of_name(output)
        with (
            open_output(output, force=force) as stream,
            terminal.count_rows("predicting", None) as advance,
        ):
            frames = predictions()
            if keep:
                typed = format.kind == "parquet"
                cells = file.cells([*dict.fromkeys(keep)], BLOCK, typed=typed)
                frames = _join(cells, frames)
            n_rows = write_rows(stream, frames, format)
    new = {name: values for name, values in unseen.items() if values}
    terminal.warn_unseen(new)
    incomplete = [name for name in newly_missing if name not in new]
    if incomplete:
        terminal.complain(
            f"Warning: missing in some rows but in none of training, so that nothing "
            f"was learned about that: {list_names(incomplete)}."
        )
    terminal.note(f"Predicted {n_rows} rows.")
    terminal.answer({"rows": n_rows, "output": output, **vars(match)})


def _warn_columns(
    terminal: Terminal, match: "Match", expected: set[str | None]
) -> None:
    unknown = [name for name in match.unknown if name not in expected]
    if match.missing:
        terminal.complain(
            f"Warning: not in the table, so missing in every row: "
            f"{list_names(match.missing)}."
        )
    if unknown:
        terminal.complain(
            f"Warning: ignored, as the model does not know it: {list_names(unknown)}."
        )


def _join(
    cells: "Iterable[pd.DataFrame]", predictions: "Iterable[pd.DataFrame]"
) -> "Iterator[pd.DataFrame]":
    """Put columns of the table before the predictions; no name may be in both."""
    import pandas as pd

    for kept, predicted in zip(cells, predictions, strict=True):
        for name in kept.columns.intersection(predicted.columns):
            msg = (
                f"Got --keep {name}, but a column of that name is written with the "
                f"prediction. Rename it in the table, or keep others."
            )
            raise click.ClickException(msg)
        yield pd.concat([kept, predicted], axis=1)
