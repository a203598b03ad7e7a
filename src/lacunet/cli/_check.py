"""``lacunet check``: whether the rows of a table are as those of training."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacunet._text import list_names, show_count, show_percent
from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.tables import Drift, ReadOptions

CHANGED = 3  # exit code
_MAX_COLUMNS = 40  # listed


@options.command("Check a table for drift since training.")
@options.model
@options.table
@options.page
@options.force
def check(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    output: Path | None,
    force: bool,
) -> None:
    """Check whether the rows of a table are as those that a model was trained on.

    Column by column: values outside the range of training, categories that the model
    has not seen, how often a value is missing, and the distribution. What chance
    explains, and what is too small to matter, is not reported. The exit code is 0 if
    nothing has changed and 3 if something has.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet check model new.csv
    lacunet check model new.csv -o check.html
    lacunet check model new.csv --json
    """
    from lacunet import tables

    known = tables.ModelTable.read(model)
    with tables.open_table(table, known.options(reading)) as file:
        schema = tables.Schema.of_model(options.load_model(model))
        match, name = file.match(schema), file.short_name
        drift = tables.Drift(schema, known.training, lacking=match.missing)
        unseen: dict[str, list[str]] = {}
        advance = terminal.count_rows("checked", "")
        for block in file.blocks(schema=schema, unseen=unseen):
            drift.update(block, unseen)
            advance(len(block))
        terminal.note(*file.list_notices(schema.names))
    columns = drift.compare()
    changed = [column for column in columns if column.changes]
    same = [column.name for column in columns if not column.changes]
    n_columns = show_count(len(columns), "column")
    found = f"{len(changed)} of {n_columns} not as in training"
    if not changed:
        found = f"{n_columns} without a noticeable change"
    terminal.print(f"{name}: {show_count(drift.n_rows, 'row')}, {found}.")
    if changed:
        rows = []
        for each in changed:
            before = each.training
            then = "?" if before is None else show_percent(before.fraction_missing)
            missing = show_percent(each.fraction_missing)
            rows.append((each.name, missing, then, "; ".join(each.changes.values())))
        terminal.print()
        header = ("column", ">missing", ">in training", "what has changed")
        terminal.print_table(header, rows, max_rows=_MAX_COLUMNS)
        if same:
            terminal.print(f"No noticeable change: {list_names(same)}.")
    ignored = [each for each in match.unknown if each != known.target]
    if ignored:
        terminal.note(f"Not known to the model: {list_names(ignored)}.")
    warn_unchecked(terminal, drift)
    if output is not None:
        from lacunet.report import write_check

        title = f"{name} beside the rows of training"
        page = write_check(columns, output, title=title, force=force)
        terminal.print(f"The page: {page}")
    record = {"model": model, "table": name, "rows": drift.n_rows, **vars(match)}
    record["columns"] = [column.as_dict() for column in columns]
    terminal.print_json({**record, "unchecked": drift.unsummarized, "page": output})
    if changed:
        click.get_current_context().exit(CHANGED)


def warn_unchecked(terminal: Terminal, drift: "Drift") -> None:
    """Name the columns whose values can't be compared."""
    terminal.warn_names(
        "without a summary of training in the model, as it was saved in Python or by "
        "an earlier version, and so checked only for unseen categories and newly "
        "missing values",
        drift.unsummarized,
    )
