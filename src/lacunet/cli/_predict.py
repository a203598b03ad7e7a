"""``lacunet predict``: what a model says of the rows of a table."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from lacunet.cli._tables import (
    STANDARD,
    check_answer,
    force_option,
    reading_options,
    shown_rows,
    silence,
    table_argument,
    warn_of_levels,
)
from lacunet.cli._terminal import Terminal, common_options

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import Match, ReadOptions, Schema, TableFile

BLOCK = 20_000  # rows at a time

_HELP = """Predict the rows of a table with a model that `lacunet fit` has made.

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
    help="The table that is written: CSV, or Parquet by its name.  [default: -, "
    "standard output]",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="NAME",
    help="A column of the table to write before the prediction, as it stands. May be "
    "given again.",
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
    check_answer(terminal, output)
    from lacunet import load
    from lacunet.tables import (
        FileFormat,
        ModelTable,
        Schema,
        open_output,
        open_table,
        write_rows,
    )

    fitted = silence(load(model))
    _check_predicts(fitted, model)
    known, schema = ModelTable.read(model), Schema.of_model(fitted)
    with open_table(table, known.options(reading)) as file:
        match = file.match(schema)
        _warn(terminal, match, {known.target, *keep})
        news = News(match)
        blocks = file.blocks(BLOCK, schema=schema, unseen=news.levels)
        with (
            open_output(output, force=force) as stream,
            shown_rows(terminal, "predicting", None) as advance,
        ):
            said = _said(fitted, news.watched(blocks, schema), advance)
            format = FileFormat.of_name(output)
            frames = _with_kept(file, keep, said, typed=format.kind == "parquet")
            n_rows = write_rows(stream, frames, format)
    news.tell(terminal)
    terminal.note(f"Predicted {n_rows} rows.")
    terminal.answer({"rows": n_rows, "output": output, **vars(match)})


class News:
    """What rows have that training had not.

    Parameters
    ----------
    match : Match
        What the table lacks is told by others.

    Attributes
    ----------
    levels : dict of str to list of str
        A few new levels of each category.
    holes : dict of str to None
        Names of columns that have holes now and had none.
    """

    def __init__(self, match: "Match") -> None:
        self.levels: dict[str, list[str]] = {}
        self.holes: dict[str, None] = {}
        self._lacking = set(match.missing)

    def watched(
        self, blocks: "Iterator[pd.DataFrame]", schema: "Schema"
    ) -> "Iterator[pd.DataFrame]":
        """Look for holes in blocks that pass."""
        whole = [
            column.name
            for column in schema.columns
            if not column.had_holes and column.name not in self._lacking
        ]
        for block in blocks:
            hollow = block[whole].isna().any()
            self.holes |= dict.fromkeys(hollow.index[hollow])
            yield block

    def tell(self, terminal: Terminal) -> None:
        """Warn of what was found."""
        from lacunet._text import list_names

        new = {name: levels for name, levels in self.levels.items() if levels}
        warn_of_levels(terminal, new)
        holes = [name for name in self.holes if name not in new]
        if holes:
            terminal.complain(
                f"Warning: missing in some rows and in none of training, so that "
                f"nothing was learned of it: {list_names(holes)}."
            )


def _said(
    model: Any, blocks: "Iterator[pd.DataFrame]", advance: Callable[[int], object]
) -> "Iterator[pd.DataFrame]":
    from lacunet.tables import predict_rows

    for block in blocks:
        yield predict_rows(model, block)
        advance(len(block))


def _check_predicts(model: Any, path: str) -> None:
    if not hasattr(model, "predict"):
        msg = (
            f"Got {path}, a {type(model).__name__}, but expected one that predicts. "
            f"Fill tables with it: lacunet impute TABLE --model {path}."
        )
        raise click.ClickException(msg)


def _warn(terminal: Terminal, match: "Match", expected: set[str | None]) -> None:
    from lacunet._text import list_names

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


def _with_kept(
    file: "TableFile",
    keep: tuple[str, ...],
    frames: "Iterator[pd.DataFrame]",
    *,
    typed: bool,
) -> "Iterator[pd.DataFrame]":
    """Put columns of the table before those that are predicted."""
    import pandas as pd

    if not keep:
        yield from frames
        return
    cells = file.cells([*dict.fromkeys(keep)], BLOCK, typed=typed)
    for kept, said in zip(cells, frames, strict=True):
        _check_names(kept, said)
        yield pd.concat([kept, said], axis=1)


def _check_names(kept: "pd.DataFrame", said: "pd.DataFrame") -> None:
    """Refuse to write two columns of one name."""
    for name in kept.columns:
        if name in said.columns:
            msg = (
                f"Got --keep {name}, but a column of that name is written with the "
                f"prediction. Rename it in the table, or keep others."
            )
            raise click.ClickException(msg)
