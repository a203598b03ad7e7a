"""``lacunet explain``: what each value of a row adds to its prediction."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import IntRange

from lacunet._text import list_names, show_count
from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._predict import BLOCK
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import ReadOptions, Schema, TableFile

_MAX_COLUMNS = 20  # listed


@options.command("Explain the prediction for one row.")
@options.model
@options.table
@option("--row", IntRange(min=1), "Number of the row, the first being 1.", 1)
@option(
    "--class label",
    str,
    "The class whose probability is explained.  [default: the predicted one]",
    metavar="NAME",
)
@option(
    "--permutations",
    IntRange(min=2),
    "Orders of the columns that are sampled (at least 4), if there are more than 10.",
    32,
)
@options.seed
@options.page
@options.force
def explain(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    row: int,
    label: str | None,
    permutations: int,
    seed: int,
    output: Path | None,
    force: bool,
) -> None:
    """Explain what each value of a row adds to its prediction.

    Shapley values: a value is worth what it changes when it becomes known after some of
    the others, in the mean over all orders. Values that are not known yet are missing
    to the model, which needs no other rows for that. The contributions sum to the
    difference between the prediction and the base, which is predicted if nothing is
    known but which values are missing. Up to 10 observed values they are exact; of more
    they have a standard error.

    A value that is known by a bound alone, such as <0.5, counts as missing here. The
    command `lacunet predict` uses the bound, so that its prediction may be another.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet explain model new.csv
    lacunet explain model new.csv --row 17 -o row-17.html
    lacunet explain model new.csv --class malignant --json
    """
    from lacunet import tables
    from lacunet.inspection import explain_row

    known = tables.ModelTable.read(model)
    with tables.open_table(table, known.options(reading)) as file:
        fitted = options.load_predictor(model)
        schema = tables.Schema.of_model(fitted)
        match, name = file.match(schema), file.short_name
        terminal.note(*file.list_notices(schema.names))
        terminal.warn_names("not in the table, so missing", match.missing)
        cells, bounded = _read_row(file, schema, row)
    found = explain_row(
        fitted,
        cells,
        target=_find_class(fitted, label),
        n_permutations=permutations,
        random_state=seed,
    )
    subject = known.target or "target"
    if found.task == "classification":
        subject = f"P({subject} = {found.target})"
    head = f"{name}, row {row}: {subject} = {found.show(found.prediction)}"
    terminal.print(f"{head}, base {found.show(found.base)}.")
    lines = found.list_largest(_MAX_COLUMNS)
    if lines:
        rows = []
        for column, value, contribution, error in lines:
            shown = f" ± {found.show(error)}" if error else ""
            rows.append((column, value, found.show(contribution, sign=True) + shown))
        terminal.print()
        terminal.print_table(("column", ">value", "adds"), rows)
    if found.missing:
        terminal.print(f"Missing: {list_names(found.missing)}.")
    if bounded:
        names = list_names(bounded)
        terminal.print(f"Known by a bound, which is not used here: {names}.")
    if found.unknown:
        names = list_names(found.unknown)
        terminal.print(f"Not in training, so as good as missing: {names}.")
    if output is not None:
        from lacunet.report import write_explanation

        page = write_explanation(found, output, title=head, force=force)
        terminal.print(f"The page: {page}")
    record = {
        **{"model": model, "table": name, "row": row, "target": found.target},
        **{"prediction": found.prediction, "base": found.base, "exact": found.exact},
    }
    record["columns"] = [
        {
            "column": column,
            "value": value,
            "contribution": float(contribution),
            "error": float(error),
        }
        for column, value, contribution, error in zip(
            found.names, found.values, found.contributions, found.errors, strict=True
        )
    ]
    record |= {"unknown": found.unknown, "bounded": bounded, "page": output}
    terminal.print_json(record)


def _read_row(
    file: "TableFile", schema: "Schema", row: int
) -> "tuple[pd.DataFrame, list[str]]":
    """Return a row, counted from 1, and the columns that it has a bound alone of."""
    n_before = 0
    blocks = file.blocks(BLOCK, schema=schema)
    for block, bounds in zip(blocks, file.bounds(BLOCK, schema=schema), strict=False):
        place = row - n_before - 1
        if place < len(block):
            ends = [frame.iloc[place].notna() for frame in bounds.values()]
            bounded = [n for n in block.columns if any(end[n] for end in ends)]
            return block.iloc[[place]], bounded
        n_before += len(block)
    rows = show_count(n_before, "row")
    msg = f"Got --row {row}, but expected at most {n_before}: {file.name} has {rows}."
    raise click.UsageError(msg)


def _find_class(fitted: Any, name: str | None) -> Any:
    """Return the class of a name; None if there is no name."""
    if name is None:
        return None
    values = fitted.classes_.tolist() if hasattr(fitted, "classes_") else []
    classes = {str(each): each for each in values}
    if name not in classes:
        expected = f"one of {list_names([*classes])}" if classes else "none: a number"
        msg = f"Got --class {name}, but expected {expected}."
        raise click.UsageError(msg)
    return classes[name]
