"""``lacunet fit``: a model of one's own table."""

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import FloatRange

from lacunet._output import check_folder, check_target, temporary_name
from lacunet._text import clock_time, show_count
from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.evaluation import HoldOut, TargetTable, Task
    from lacunet.tables import ColumnInfo, ReadOptions

CARD = "card.md"
_MAX_COLUMNS = _MAX_CLASSES = 10  # listed
# Seconds of a time limit that are kept for the scores, at most, and for writing; and
# the part of the first training's time that has to be left for a second one.
_TO_SCORE, _TO_WRITE, _ENOUGH = 30.0, 1.0, 0.8
# Kinds of columns as nouns, where they are none.
_KINDS = {"empty": "empty column", "text": "text column", "unsupported": "other"}


@options.command("Train a model of a table.")
@options.table
@options.target
@option(
    "-o --output", click.Path(path_type=Path), "The folder to write.", required=True
)
@options.task
@option("--report", options.FILE, "Also write a page with figures, in HTML.")
@option(
    "--hold-out",
    FloatRange(0, 0.9, min_open=True),
    "Fraction of the rows to score the model on.",
    0.2,
)
@option(
    "--refit/--no-refit",
    bool,
    "Whether to train the model that is written again, on all rows.",
    True,
)
@option(
    "--time-limit",
    FloatRange(0, min_open=True),
    "Seconds that the whole command may take, from its start.",
)
@option(
    "--checkpoint",
    options.FILE,
    "File for the state of training. A command that was stopped goes on from it, and "
    "it is removed in the end.",
)
@options.seed
@options.force
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
    checkpoint: Path | None,
    seed: int,
    force: bool,
) -> None:
    """Train a model that predicts one column of a table from the others.

    Missing values need no treatment. Some rows are held out, and the model is scored on
    them, beside HistGradientBoosting and a trivial model; then the model that is
    written is trained on all rows. The density is fitted to rows without a target, too.
    The folder has a card that describes the model and how good it is. Ctrl-C stops, and
    nothing is written; with --checkpoint the same command goes on later.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet fit patients.csv --target ill -o model
    lacunet fit patients.csv --target ill -o model --drop id --missing -999
    lacunet fit patients.csv --target cost -o model --time-limit 60 --report fit.html
    lacunet fit patients.csv --target cost -o model --checkpoint fit.state
    """
    if checkpoint is not None:
        check_folder(checkpoint.parent, n_bytes=2**20)
    from lacunet import evaluation, tables
    from lacunet.estimators import check_place

    def allow(n_trainings: int, to_score: float) -> float:
        """Divide the time that is left among trainings; return it."""
        if time_limit is None:
            return math.inf
        left = time_limit - (time.monotonic() - terminal.began) - _TO_WRITE
        seconds = (left - min(left / 3, to_score)) / n_trainings
        estimator.set_params(time_limit=max(0.1, round(seconds, 1)))
        return left

    check_place(output, force=force)
    with tables.open_table(table, reading) as file:
        tables.check_known([target], file.names, "--target")
        parts = evaluation.split_target(file.read(), target, task)
        sizes = file.n_rows, len(parts.X_unlabelled)
        facts = evaluation.TableFacts(file.short_name, target, *sizes, file.columns)
        notices = file.list_notices()
    _print_columns(terminal, facts.columns)
    terminal.note(*notices)
    _print_target(terminal, parts)
    estimator = options.make_estimator(
        parts.task, parameters, random_state=seed, verbose=int(not terminal.quiet)
    )
    allow(2 if refit else 1, _TO_SCORE)
    found = evaluation.hold_out(
        estimator,
        parts.X,
        parts.y,
        task=parts.task,
        X_unlabelled=parts.X_unlabelled,
        test_size=hold_out,
        random_state=seed,
        on_step=lambda text: terminal.note(f"{text[:1].upper()}{text[1:]}."),
        checkpoint=checkpoint,
    )
    model = found.model
    again = None if checkpoint is None else Path(f"{checkpoint}.refit")
    if refit and allow(1, 0.0) < _ENOUGH * found.seconds["lacunet"]:
        refit = False
        terminal.warn(
            "too little time is left to train on all rows. The model that was scored "
            "is written, which has not seen the held-out rows."
        )
    if refit:
        terminal.note(f"Training on all {len(parts.y):,} rows.")
        model = estimator.fit(
            parts.X, parts.y, X_unlabelled=parts.X_unlabelled, checkpoint=again
        )
        found = replace(found, refit_cut=model.timed_out_)
    _print_scores(terminal, found)
    today = datetime.now(UTC).date().isoformat()
    card = evaluation.describe_model(found, facts, date=today, refitted=refit)
    training = tables.summarize_columns(parts.X, tables.Schema.of_model(model))
    known = tables.ModelTable.of_columns(
        facts.columns, reading, source=facts.name, target=target, training=training
    )
    texts = {CARD: card, known.FILE_NAME: known.to_text()}
    if report is None:
        model.save(output, force=force, texts=texts)
    else:  # both are written, or none
        from lacunet.report import write_fit

        with temporary_name(report) as page:
            title = f"A model of {target} from {facts.name}"
            write_fit(found, page, table=facts, title=title)
            check_target(report, force=force)  # it may have come meanwhile
            model.save(output, force=force, texts=texts)
            page.replace(report)
    for path in filter(None, (checkpoint, again)):
        path.unlink(missing_ok=True)
    terminal.print(f"The model: {output}")
    if report is not None:
        terminal.print(f"The page: {report}")
    record = {"model": output, "target": target, "rows": facts.n_rows}
    record |= {**found.as_dict(), "refitted": refit, "page": report}
    terminal.print_json(record)


def _print_columns(terminal: Terminal, columns: "Sequence[ColumnInfo]") -> None:
    """Print how many columns of each kind there are, and which have missing values."""
    kinds = Counter(_KINDS.get(column.kind, column.kind) for column in columns)
    named = ", ".join(show_count(n, kind) for kind, n in kinds.most_common())
    named = named.replace("categorys", "categories")
    rows = []
    for column in sorted(columns, key=lambda column: -column.n_missing):
        if column.n_missing:
            distinct = "many" if column.n_distinct is None else str(column.n_distinct)
            rows.append((column.name, column.kind, distinct, str(column.n_missing)))
    missing = f"missing values in {len(rows)}" if rows else "nothing is missing"
    terminal.print(f"{show_count(len(columns), 'column')}: {named}; {missing}.")
    if rows:
        header = ("column", "type", ">values", ">missing")
        terminal.print_table(header, rows, max_rows=_MAX_COLUMNS)


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
