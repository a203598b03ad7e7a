"""``lacunet compare``: methods on one's own table."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet.cli._options import jobs_option, split_names
from lacunet.cli._tables import (
    force_option,
    page_type,
    reading_options,
    seed_option,
    table_argument,
    target_option,
    task_option,
)
from lacunet.cli._terminal import Terminal, check_free, common_options

if TYPE_CHECKING:
    from lacunet.evaluation import Comparison, MethodResult, Metric, Task
    from lacunet.tables import ReadOptions

_HELP = """Compare methods on a table by cross-validation.

Ours, mean with indicators, nearest neighbours and MICE in front of the same network,
and boosted trees of four libraries, as far as they are installed. All at their
defaults, on the same folds. With --drop-at-test also how each does when a column that
was there in training is missing at prediction. TABLE is CSV or Parquet; - is standard
input."""
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
    help="Some of them, with commas between: lacunet, mean+indicator, knn, mice, hgb, "
    "lightgbm, xgboost, catboost, and all others of the paper.  [default: these eight]",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Of the cross-validation.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of cross-validations, with other folds.",
)
@click.option(
    "--drop-at-test",
    multiple=True,
    metavar="NAME",
    help="A column that is hidden in the test rows. May be given again.",
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
    with _shown(terminal) as on_fold:
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
    tell_comparison(terminal, found)
    if output is not None:
        from lacunet.report import write_comparison

        title = f"Methods compared on {target} of {name}"
        made = write_comparison(found, output, title=title, force=force)
        terminal.say(f"The page: {made}")
    terminal.answer({"table": name, "target": target, **found.as_dict()})


@contextmanager
def _shown(terminal: Terminal) -> "Iterator[Callable[..., Any]]":
    """Show how many fits are done: a bar at a terminal, else a line for each."""
    from rich.progress import BarColumn, Progress, TextColumn

    def told(method: str, fold: int, scores: Mapping[str, float | None]) -> str:
        return f"{method}, fold {fold}: {tell_scores(scores)}"

    console = terminal.live_console()
    if console is None:
        yield lambda done, total, *fit: terminal.note(f"{done}/{total}: {told(*fit)}")
        return
    parts = (BarColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task("comparing", total=None)

        def on_fold(done: int, total: int, *fit: Any) -> None:
            line = f"{done}/{total}, last {told(*fit)}"
            bar.update(task, completed=done, total=total, description=line)

        yield on_fold


def tell_scores(scores: Mapping[str, float | None]) -> str:
    """Return scores in words.

    Parameters
    ----------
    scores : mapping of str to float or None

    Returns
    -------
    str
    """
    told = [f"{key} {x:.4f}" for key, x in scores.items() if x is not None]
    return ", ".join(told) or "failed"


def tell_comparison(terminal: Terminal, found: "Comparison") -> None:
    """Tell a person who is ahead.

    Parameters
    ----------
    terminal : Terminal
    found : Comparison
    """
    for column in (None, *found.drop_at_test):
        terminal.say()
        if column is not None:
            terminal.say(f"With {column!r} missing in the test rows:")
        _tell_scores(terminal, found, column)
    terminal.say()
    for finding in found.findings:
        terminal.say(f"- {finding.head}. {finding.text}")
    for note in found.notes:
        terminal.note(note)


def _tell_scores(terminal: Terminal, found: "Comparison", without: str | None) -> None:
    from lacunet.evaluation import choose_format, show_score

    def score(method: "MethodResult", metric: "Metric") -> str:
        summary = method.at(without)[metric.key]
        if summary.mean is None:
            return "-"
        means = [each.mean for _, each in found.ordered(metric, without)]
        parts = (summary.mean, summary.stderr)
        form = choose_format(metric, means)
        return "±".join(show_score(each, form) for each in parts if each is not None)

    # Eighty columns are enough for it; the page and --json have more of it.
    first = found.metrics[0]
    chances = {each.rival: each.p_holm for each in found.tests_of(first, without)}
    terminal.table(
        (
            "method",
            *(f">{metric.title}" for metric in found.metrics),
            ">p",
            ">seconds",
        ),
        [
            (
                method.title,
                *(score(method, metric) for metric in found.metrics),
                _number(chances.get(method.key), ".3f"),
                _number(method.seconds, ".2f"),
            )
            for method, _ in found.ordered(first, without)
        ],
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
