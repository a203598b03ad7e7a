"""``lacunet predict``: predictions for the rows of a table."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import ReadOptions

BLOCK = 20_000  # rows at a time


@options.command("Predict the rows of a table.")
@click.argument("model", type=click.Path(path_type=str))
@options.table
@options.table_output("The table to write: CSV, or Parquet by its name.")
@click.option(
    "--keep",
    **options.several("A column of the table to copy in front of the prediction."),
)
@options.force
@options.reading
def predict(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    output: str,
    keep: tuple[str, ...],
    force: bool,
) -> None:
    """Predict the rows of a table with a model of `lacunet fit`.

    Columns are matched by name, in any order. Those that the table lacks count as
    missing in every row, and those that the model does not know are ignored, each with
    a warning. The table is read in blocks: it may be larger than memory. TABLE is CSV
    or Parquet; - is standard input.

    Examples
    --------
    lacunet predict model new.csv -o out.csv
    lacunet predict model new.parquet -o out.parquet --keep id
    cat new.csv | lacunet predict model - | head
    """
    from lacunet import tables

    fitted = options.load_model(model)
    if not hasattr(fitted, "predict"):
        msg = (
            f"Got {model}, a {type(fitted).__name__}, but expected one that predicts. "
            f"Fill tables with it: lacunet impute TABLE --model {model}."
        )
        raise click.ClickException(msg)
    known, schema = tables.ModelTable.read(model), tables.Schema.of_model(fitted)
    format = tables.FileFormat.of_name(output)
    # What the rows have that training had not, found while they pass.
    unseen: dict[str, list[str]] = {}
    newly_missing: dict[str, None] = {}
    with tables.open_table(table, known.options(reading)) as file:
        match = file.match(schema)
        ignored = [x for x in match.unknown if x not in {known.target, *keep}]
        terminal.warn_names("not in the table, so missing in every row", match.missing)
        terminal.warn_names("ignored, as the model does not know it", ignored)
        complete = [
            column.name
            for column in schema.columns
            if not column.had_missing and column.name not in match.missing
        ]

        def predictions() -> "Iterator[pd.DataFrame]":
            for block in file.blocks(BLOCK, schema=schema, unseen=unseen):
                missing = block[complete].isna().any()
                newly_missing.update(dict.fromkeys(missing.index[missing]))
                yield tables.predict_rows(fitted, block)
                bar.advance(bar.task_ids[0], len(block))

        with (
            tables.open_output(output, force=force) as stream,
            terminal.progress("predicting") as bar,
        ):
            frames = predictions()
            if keep:
                typed = format.kind == "parquet"
                cells = file.cells([*dict.fromkeys(keep)], BLOCK, typed=typed)
                frames = _join(cells, frames)
            n_rows = tables.write_rows(stream, frames, format)
    terminal.warn_unseen(unseen)
    terminal.warn_names(
        "missing in some rows but in none of training, so that nothing was learned "
        "about that",
        [name for name in newly_missing if not unseen.get(name)],
    )
    terminal.note(f"Predicted {n_rows} rows.")
    terminal.print_json({"rows": n_rows, "output": output, **vars(match)})


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
