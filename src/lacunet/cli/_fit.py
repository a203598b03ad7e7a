"""``lacunet fit``: a model of one's own table."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet.cli._estimator_options import estimator_options, make_estimator
from lacunet.cli._tables import (
    force_option,
    page_type,
    reading_options,
    seed_option,
    table_argument,
    target_option,
    task_option,
    tell_columns,
)
from lacunet.cli._terminal import Terminal, check_free, common_options
from lacunet.cli._words import clock_time

if TYPE_CHECKING:
    from lacunet.evaluation import HoldOut, TargetTable, Task
    from lacunet.tables import ReadOptions

CARD = "card.md"
_MOST_CLASSES = 10  # listed

_HELP = """Train a model that predicts one column of a table from the others.

Holes need no treatment. A part of the rows is held out, and the model is judged by
them, beside a trivial one and HistGradientBoosting; then the model that is written is
trained on all rows. Rows without a target teach what rows look like. The folder has a
card that says what the model is and how good. TABLE is CSV or Parquet; - is standard
input."""
_EXAMPLES = """\b
Examples:
  lacunet fit patients.csv --target ill -o model
  lacunet fit patients.csv --target ill -o model --drop id --missing -999
  lacunet fit patients.csv --target cost -o model --time-limit 60 --report fit.html"""


@dataclass(frozen=True)
class Choice:
    """How the rows are used."""

    hold_out: float
    refit: bool
    time_limit: float | None
    seed: int


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="Train a model of a table.")
@table_argument
@target_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder that is written.",
)
@task_option
@click.option(
    "--report", type=page_type, help="Also write a page with figures, in HTML."
)
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 0.9, min_open=True),
    default=0.2,
    show_default=True,
    help="Share of rows that the model is judged by.",
)
@click.option(
    "--refit/--no-refit",
    default=True,
    show_default=True,
    help="Whether the model that is written is trained again, on all rows.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds of training, both times together.",
)
@seed_option
@force_option
@reading_options
@estimator_options
@common_options
@click.pass_obj
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
    """Train a model of a table."""
    check_free(output, force=force)
    if report is not None:
        check_free(report, force=force)
    from lacunet.estimators import check_place
    from lacunet.evaluation import TableFacts, describe_model, split_target
    from lacunet.tables import ModelTable, open_table

    check_place(output)
    with open_table(table, reading) as file:
        parts = split_target(file.read(), target, task)
        sizes = file.n_rows, len(parts.X_unlabelled)
        facts = TableFacts(file.short_name, target, *sizes, file.columns)
    tell_columns(terminal, facts.columns)
    _tell_target(terminal, parts)
    choice = Choice(hold_out, refit, time_limit, seed)
    model, judged = _train(terminal, parts, parameters, choice)
    _tell_scores(terminal, judged)
    today = datetime.now(UTC).date().isoformat()
    card = describe_model(judged, facts, date=today, refitted=refit)
    known = ModelTable.of_columns(
        facts.columns, reading, source=facts.name, target=target
    )
    model.save(output, texts={CARD: card, ModelTable.FILE_NAME: known.to_text()})
    terminal.say(f"The model: {output}")
    if report is not None:
        from lacunet.report import write_fit

        title = f"A model of {target} from {facts.name}"
        made = write_fit(judged, report, table=facts, title=title, force=force)
        terminal.say(f"The page: {made}")
    terminal.answer(
        {
            "model": output,
            "target": target,
            "rows": facts.n_rows,
            **judged.as_dict(),
            "page": report,
        }
    )


def _tell_target(terminal: Terminal, parts: "TargetTable") -> None:
    import numpy as np

    terminal.say()
    if parts.task == "regression":
        what = f"numbers from {parts.y.min():g} to {parts.y.max():g}"
    else:
        classes, counts = np.unique(parts.y, return_counts=True)
        named = [f"{name} ({n})" for name, n in zip(classes, counts, strict=True)]
        more = f" and {len(named) - _MOST_CLASSES} more"
        listed = ", ".join(named[:_MOST_CLASSES])
        what = f"classes {listed}{more if len(named) > _MOST_CLASSES else ''}"
    terminal.say(f"Target {parts.name!r}: {parts.task}, {what}.")
    if len(parts.X_unlabelled):
        terminal.say(
            f"{len(parts.X_unlabelled)} rows have no target. They teach what rows look "
            f"like, and nothing else."
        )


def _train(
    terminal: Terminal,
    parts: "TargetTable",
    parameters: Mapping[str, Any],
    choice: Choice,
) -> "tuple[Any, HoldOut]":
    """Return the model that is to be written, and how one on fewer rows was judged."""
    from lacunet.evaluation import hold_out

    limit = choice.time_limit
    if limit is not None and choice.refit:
        limit /= 2
    model = make_estimator(
        parts.task,
        parameters,
        time_limit=limit,
        random_state=choice.seed,
        verbose=int(sys.stderr.isatty() and not terminal.quiet),
    )
    judged = hold_out(
        model,
        parts.X,
        parts.y,
        task=parts.task,
        X_unlabelled=parts.X_unlabelled,
        test_size=choice.hold_out,
        random_state=choice.seed,
        on_step=lambda text: terminal.note(f"{text[:1].upper()}{text[1:]}."),
    )
    if not choice.refit:
        return judged.model, judged
    terminal.note(f"Training on all {len(parts.y)} rows.")
    return model.fit(parts.X, parts.y, X_unlabelled=parts.X_unlabelled), judged


def _tell_scores(terminal: Terminal, judged: "HoldOut") -> None:
    from lacunet.evaluation import METRICS
    from lacunet.evaluation._hold_out_record import TITLES

    terminal.say()
    terminal.say(f"On {judged.n_test} rows held out:")
    metrics = METRICS[judged.task]
    terminal.table(
        ("model", *(f">{metric.title}" for metric in metrics), ">time to fit"),
        [
            (
                TITLES[name],
                *(_number(scores[metric.key]) for metric in metrics),
                clock_time(judged.seconds[name]),
            )
            for name, scores in judged.scores.items()
        ],
    )
    for finding in judged.findings:
        terminal.say(f"- {finding.head}. {finding.text}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
