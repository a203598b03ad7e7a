"""``lacunet fit``: a model of one's own table."""

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet._text import clock_time, show_count
from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.evaluation import HoldOut, TargetTable, Task
    from lacunet.tables import ColumnInfo, ReadOptions

CARD = "card.md"
_MAX_COLUMNS, _MAX_CLASSES = 40, 10  # listed


@options.command("Train a model of a table.")
@options.table
@options.target
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    callback=options.check_free,
    help="The folder to write.",
)
@options.task
@options.page("--report", help="Also write a page with figures, in HTML.")
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 0.9, min_open=True),
    default=0.2,
    show_default=True,
    help="Fraction of the rows to score the model on.",
)
@click.option(
    "--refit/--no-refit",
    default=True,
    show_default=True,
    help="Whether to train the model that is written again, on all rows.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds of training, both times together.",
)
@options.seed
@options.force
@options.reading
@options.estimator
def fit(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    parameters: Mapping[str, Any],
    target: str,
    output: Path,
    task: "Task | None",
    report: Path | None,
    hold_out: float,
    refit: bool,
    time_limit: float | None,
    seed: int,
    force: bool,
) -> None:
    """Train a model that predicts one column of a table from the others.

    Missing values need no treatment. Some rows are held out, and the model is scored on
    them, beside HistGradientBoosting and a trivial model; then the model that is
    written is trained on all rows. The density is fitted to rows without a target, too.
    The folder has a card that describes the model and how good it is. TABLE is CSV or
    Parquet; - is standard input.

    Examples
    --------
    lacunet fit patients.csv --target ill -o model
    lacunet fit patients.csv --target ill -o model --drop id --missing -999
    lacunet fit patients.csv --target cost -o model --time-limit 60 --report fit.html
    """
    from lacunet import evaluation
    from lacunet.estimators import check_place
    from lacunet.evaluation import TableFacts, describe_model, split_target
    from lacunet.tables import ModelTable, Schema, open_table, summarize_columns

    check_place(output, force=force)
    with open_table(table, reading) as file:
        parts = split_target(file.read(), target, task)
        sizes = file.n_rows, len(parts.X_unlabelled)
        facts = TableFacts(file.short_name, target, *sizes, file.columns)
    _print_columns(terminal, facts.columns)
    _print_target(terminal, parts)
    estimator = options.make_estimator(
        parts.task,
        parameters,
        # Of both times together.
        time_limit=time_limit / 2 if time_limit and refit else time_limit,
        random_state=seed,
        verbose=int(sys.stderr.isatty() and not terminal.quiet),
    )
    found = evaluation.hold_out(
        estimator,
        parts.X,
        parts.y,
        task=parts.task,
        X_unlabelled=parts.X_unlabelled,
        test_size=hold_out,
        random_state=seed,
        on_step=lambda text: terminal.note(f"{text[:1].upper()}{text[1:]}."),
    )
    model = found.model
    if refit:
        terminal.note(f"Training on all {len(parts.y)} rows.")
        model = estimator.fit(parts.X, parts.y, X_unlabelled=parts.X_unlabelled)
    _print_scores(terminal, found)
    today = datetime.now(UTC).date().isoformat()
    card = describe_model(found, facts, date=today, refitted=refit)
    known = ModelTable.of_columns(
        facts.columns,
        reading,
        source=facts.name,
        target=target,
        training=summarize_columns(parts.X, Schema.of_model(model)),
    )
    texts = {CARD: card, ModelTable.FILE_NAME: known.to_text()}
    model.save(output, force=force, texts=texts)
    terminal.print(f"The model: {output}")
    if report is not None:
        from lacunet.report import write_fit

        title = f"A model of {target} from {facts.name}"
        write_fit(found, report, table=facts, title=title, force=force)
        terminal.print(f"The page: {report}")
    record = {"model": output, "target": target, "rows": facts.n_rows}
    terminal.print_json({**record, **found.as_dict(), "page": report})


def _print_columns(terminal: Terminal, columns: "Sequence[ColumnInfo]") -> None:
    rows = []
    for column in columns:
        n_distinct = "many" if column.n_distinct is None else str(column.n_distinct)
        rows.append((column.name, column.kind, n_distinct, str(column.n_missing)))
    header = ("column", "type", ">values", ">missing")
    terminal.print_table(header, rows, max_rows=_MAX_COLUMNS)
    for column in columns:
        for notice in column.notices:
            terminal.note(f"Column {column.name!r}: {notice.text}")


def _print_target(terminal: Terminal, parts: "TargetTable") -> None:
    import numpy as np

    if parts.task == "regression":
        what = f"numbers from {parts.y.min():g} to {parts.y.max():g}"
    else:
        classes, counts = np.unique(parts.y, return_counts=True)
        named = [f"{name} ({n})" for name, n in zip(classes, counts, strict=True)]
        what = f"classes {', '.join(named[:_MAX_CLASSES])}"
        if len(named) > _MAX_CLASSES:
            what += f" and {len(named) - _MAX_CLASSES} more"
    terminal.print(f"\nTarget {parts.name!r}: {parts.task}, {what}.")
    if len(parts.X_unlabelled):
        n_rows = show_count(len(parts.X_unlabelled), "row")
        terminal.print(f"Without a target: {n_rows}, used to fit the density alone.")


def _print_scores(terminal: Terminal, found: "HoldOut") -> None:
    terminal.print(f"\nOn {show_count(found.n_test, 'held-out row')}:")
    rows = []
    for name, scores in found.scores.items():
        values = (scores[metric.key] for metric in found.metrics)
        shown = ("-" if value is None else f"{value:.4g}" for value in values)
        rows.append((found.titles[name], *shown, clock_time(found.seconds[name])))
    titles = (f">{metric.title}" for metric in found.metrics)
    terminal.print_table(("model", *titles, ">time to fit"), rows)
    terminal.print_findings(found.findings)
