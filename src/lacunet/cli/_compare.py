"""``lacunet compare``: methods compared on a table."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet._text import show_score
from lacunet.cli._options import (
    force_option,
    jobs_option,
    page_type,
    reading_options,
    seed_option,
    split_names,
    table_argument,
    target_option,
    task_option,
)
from lacunet.cli._terminal import Terminal, check_free, common_options

if TYPE_CHECKING:
    from lacunet.evaluation import Comparison, Task
    from lacunet.tables import ReadOptions

_HELP = """Compare methods on a table by cross-validation.

lacunet; mean imputation with indicators, nearest neighbours and MICE in front of the
same network; boosted trees of four libraries, as far as they are installed. All with
their default parameters, on the same folds. With --drop-at-test also how each does when
a column that was there in training is missing at prediction. TABLE is CSV or Parquet; -
is standard input."""
_EXAMPLES = """\b
Examples:
  lacunet compare patients.csv --target ill
  lacunet compare patients.csv --target ill --drop-at-test age -o compare.html
  lacunet compare patients.csv --target ill --methods lacunet,hgb --folds 3"""


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="Compare methods on a table.")
@table_argument
@target_option
@task_option
@click.option(
    "--methods",
    callback=split_names,
    help="Comma-separated list of lacunet, mean+indicator, knn, mice, hgb, lightgbm, "
    "xgboost, catboost, mean, gmm, neumiss, paper.  [default: the first eight]",
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
@click.option(
    "--drop-at-test",
    multiple=True,
    metavar="NAME",
    help="A column to hide in the test rows. May be given again.",
)
@click.option("-o", "--output", type=page_type, help="Also write a page, in HTML.")
@jobs_option
@seed_option
@force_option
@reading_options
@common_options
@click.pass_obj
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
    """Compare methods on a table."""
    if output is not None:
        check_free(output, force=force)
    from lacunet.evaluation import COMPARED, compare_methods, split_target
    from lacunet.tables import open_table

    with open_table(table, reading) as file:
        name = file.short_name
        parts = split_target(file.read(), target, task)
    with _show_progress(terminal) as on_fold:
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
            on_fold=on_fold,
        )
    for column in (None, *found.drop_at_test):
        terminal.say()
        if column is not None:
            terminal.say(f"With {column!r} missing in the test rows:")
        _print_scores(terminal, found, column)
    terminal.say()
    for finding in found.findings:
        terminal.say(f"- {finding.head}. {finding.text}")
    for note in found.notes:
        terminal.note(note)
    if output is not None:
        from lacunet.report import write_comparison

        title = f"Methods compared on {target} of {name}"
        made = write_comparison(found, output, title=title, force=force)
        terminal.say(f"The page: {made}")
    terminal.answer({"table": name, "target": target, **found.as_dict()})


@contextmanager
def _show_progress(terminal: Terminal) -> "Iterator[Callable[..., Any]]":
    """Show how many fits are done: a bar at a terminal, else a line for each."""
    from rich.progress import BarColumn, Progress, TextColumn

    def describe(method: str, fold: int, scores: Mapping[str, float | None]) -> str:
        shown = [f"{key} {x:.4f}" for key, x in scores.items() if x is not None]
        return f"{method}, fold {fold + 1}: {', '.join(shown) or 'failed'}"

    console = terminal.live_console()
    if console is None:
        yield lambda done, total, *fit: terminal.note(
            f"{done}/{total}: {describe(*fit)}"
        )
        return
    parts = (BarColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task("comparing", total=None)

        def on_fold(done: int, total: int, *fit: Any) -> None:
            line = f"{done}/{total}, last {describe(*fit)}"
            bar.update(task, completed=done, total=total, description=line)

        yield on_fold


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
    terminal.table([*header, ">p", ">seconds"], rows)
