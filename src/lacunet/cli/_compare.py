"""``lacunet compare``: methods compared on a table."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacunet._text import show_score
from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from rich.progress import Progress

    from lacunet.evaluation import Comparison, Task
    from lacunet.tables import ReadOptions


@options.command("Compare methods on a table.")
@options.table
@options.target
@options.task
@click.option(
    "--methods",
    type=options.names,
    help="Comma-separated list of lacunet, mean+indicator, knn, mice, hgb, lightgbm, "
    "xgboost, catboost, linear, mean, gmm, neumiss, paper.  [default: the first eight]",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of folds.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of cross-validations, each with other folds.",
)
@click.option("--drop-at-test", **options.several("A column to hide in the test rows."))
@options.page("-o", "--output", help="Also write a page, in HTML.")
@options.jobs
@options.seed
@options.force
@options.reading
def compare(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    target: str,
    task: "Task | None",
    methods: tuple[str, ...] | None,
    folds: int,
    repeats: int,
    drop_at_test: tuple[str, ...],
    output: Path | None,
    jobs: int,
    seed: int,
    force: bool,
) -> None:
    """Compare methods on a table by cross-validation.

    lacunet; mean imputation with indicators, nearest neighbours and MICE in front of
    the same network; boosted trees of four libraries, as far as they are installed. All
    with their default parameters, on the same folds. With --drop-at-test also how each
    does when a column that was there in training is missing at prediction. TABLE is CSV
    or Parquet; - is standard input.

    Examples
    --------
    lacunet compare patients.csv --target ill
    lacunet compare patients.csv --target ill --drop-at-test age -o compare.html
    lacunet compare patients.csv --target ill --methods lacunet,hgb --folds 3
    """
    from lacunet.evaluation import COMPARED, compare_methods, split_target
    from lacunet.tables import open_table

    with open_table(table, reading) as file:
        name = file.short_name
        parts = split_target(file.read(), target, task)
    with terminal.progress("comparing") as bar:
        found = compare_methods(
            parts.X,
            parts.y,
            task=parts.task,
            methods=methods or COMPARED,
            n_folds=folds,
            n_repeats=repeats,
            drop_at_test=drop_at_test,
            random_state=seed,
            n_jobs=jobs,
            on_fold=partial(_show_fold, terminal, bar),
        )
    for column in (None, *found.drop_at_test):
        terminal.print()
        if column is not None:
            terminal.print(f"With {column!r} missing in the test rows:")
        _print_scores(terminal, found, column)
    terminal.print()
    terminal.print_findings(found.findings)
    for note in found.notes:
        terminal.note(note)
    if output is not None:
        from lacunet.report import write_comparison

        title = f"Methods compared on {target} of {name}"
        page = write_comparison(found, output, title=title, force=force)
        terminal.print(f"The page: {page}")
    terminal.print_json({"table": name, "target": target, **found.as_dict()})


def _show_fold(
    terminal: Terminal,
    bar: "Progress",
    done: int,
    total: int,
    method: str,
    fold: int,
    scores: Mapping[str, float | None],
) -> None:
    """Show how many fits are done: by the bar at a terminal, else in a line."""
    shown = [f"{key} {x:.4f}" for key, x in scores.items() if x is not None]
    text = f"{method}, fold {fold + 1}: {', '.join(shown) or 'failed'}"
    if bar.live.is_started:
        task = bar.task_ids[0]
        bar.update(task, completed=done, total=total, description=f"last {text}")
    else:
        terminal.note(f"{done}/{total}: {text}")


def _print_scores(terminal: Terminal, found: "Comparison", without: str | None) -> None:
    """Print the scores in eighty columns; the page and --json have more."""
    first = found.metrics[0]
    p_values = {each.rival: each.p_holm for each in found.tests_of(first, without)}
    rows = []
    for method, _ in found.ordered(first, without):
        row = [method.title]
        for metric in found.metrics:
            form = found.score_format(metric, without)
            summary = method.at(without)[metric.key]
            known = [x for x in (summary.mean, summary.stderr) if x is not None]
            row.append("±".join(show_score(x, form) for x in known) or "-")
        for value, form in ((p_values.get(method.key), ".3f"), (method.seconds, ".2f")):
            row.append("-" if value is None else format(value, form))
        rows.append(row)
    header = ["method", *(f">{metric.title}" for metric in found.metrics)]
    terminal.print_table([*header, ">p", ">seconds"], rows)
