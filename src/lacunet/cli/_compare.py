"""``lacunet compare``: methods compared on a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import IntRange

from lacunet._progress import ProgressLine
from lacunet._text import show_score
from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.evaluation import Comparison, Task
    from lacunet.tables import ReadOptions


@options.command("Compare methods on a table.")
@options.table
@options.target
@options.task
@option(
    "--methods",
    str,
    "Comma-separated list of lacunet, mean+indicator, knn, mice, hgb, lightgbm, "
    "xgboost, catboost, linear, mean, gmm, neumiss, paper.  [default: the first eight]",
)
@option("--folds", IntRange(min=2), "Number of folds.", 5)
@option(
    "--repeats", IntRange(1), "Number of cross-validations, each with other folds.", 1
)
@option("--drop-at-test", list, "A column to hide in the test rows.")
@options.page
@option(
    "--jobs",
    IntRange(min=1),
    "Number of processes, one core each.",
    show_default="one for each core, at most 8",
)
@options.seed
@options.force
def compare(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    target: str,
    task: "Task | None",
    methods: str | None,
    folds: int,
    repeats: int,
    drop_at_test: tuple[str, ...],
    output: Path | None,
    jobs: int | None,
    seed: int,
    force: bool,
) -> None:
    """Compare methods on a table by cross-validation.

    lacunet; mean imputation with indicators, nearest neighbours and MICE in front of
    the same network; boosted trees of four libraries, as far as they are installed. All
    with their default parameters, on the same folds. With --drop-at-test also how each
    does when a column that was there in training is missing at prediction.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet compare patients.csv --target ill
    lacunet compare patients.csv --target ill --drop-at-test age -o compare.html
    lacunet compare patients.csv --target ill --methods lacunet,hgb --folds 3
    """
    from joblib import cpu_count  # type: ignore[import-untyped]

    from lacunet.evaluation import COMPARED, compare_methods, split_target
    from lacunet.tables import check_known, open_table

    with open_table(table, reading) as file:
        name = file.short_name
        check_known([target], file.names, "--target")
        check_known(drop_at_test, file.names, "--drop-at-test")
        parts = split_target(file.read(), target, task)
        terminal.note(*file.list_notices())
    line = ProgressLine(shown=not terminal.quiet)

    def show_fold(done: int, total: int, method: str, fold: int, scores: Any) -> None:
        shown = [f"{key} {x:.4f}" for key, x in scores.items() if x is not None]
        text = f"{done}/{total}: {method}, fold {fold + 1}: "
        text += ", ".join(shown) or "failed"
        if line.is_rewritten:
            line.show(lambda: text)
        else:
            terminal.note(text)

    found = compare_methods(
        parts.X,
        parts.y,
        task=parts.task,
        methods=methods.replace(" ", "").split(",") if methods else COMPARED,
        n_folds=folds,
        n_repeats=repeats,
        drop_at_test=drop_at_test,
        random_state=seed,
        n_jobs=jobs or min(cpu_count(), 8),
        on_fold=show_fold,
    )
    for column in (None, *found.drop_at_test):
        terminal.print()
        if column is not None:
            terminal.print(f"With {column!r} missing in the test rows:")
        _print_scores(terminal, found, column)
    terminal.print()
    terminal.print_findings(found.findings)
    terminal.note(*found.notes)
    if output is not None:
        from lacunet.report import write_comparison

        title = f"Methods compared on {target} of {name}"
        page = write_comparison(found, output, title=title, force=force)
        terminal.print(f"The page: {page}")
    terminal.print_json({"table": name, "target": target, **found.as_dict()})


def _print_scores(terminal: Terminal, found: "Comparison", without: str | None) -> None:
    """Print the scores in eighty columns; the page and --json have more."""
    tables = [found.ranking(metric, without) for metric in found.metrics]
    forms = [found.score_format(metric, without) for metric in found.metrics]
    rows = []
    for first in tables[0].dropna(subset="mean").itertuples():
        row = [first.title]
        for table, form in zip(tables, forms, strict=True):
            scores = table.loc[table["method"] == first.method, ["mean", "stderr"]]
            known = scores.iloc[0].dropna()
            row.append("±".join(show_score(x, form) for x in known) or "-")
        for value, form in ((first.p_holm, ".3f"), (first.seconds, ".2f")):
            row.append("-" if value is None else format(value, form))
        rows.append(row)
    header = ["method", *(f">{metric.title}" for metric in found.metrics)]
    terminal.print_table([*header, ">p", ">seconds"], rows)
