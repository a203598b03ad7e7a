"""``python -m reproduction``: run the paper's experiments, and report the results."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lacunet.exceptions import LacunetError

RESULTS = Path(__file__).parent / "results"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Make the tables, figures and claims of the paper again."""


@main.command("list")
def list_command() -> None:
    """List the experiments."""
    from reproduction.runner import EXPERIMENTS

    for name, experiment in EXPERIMENTS.items():
        click.echo(f"{name:18} {experiment.title}")


def _split_names(context: Any, option: Any, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


@main.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option(
    "--protocol",
    type=click.Choice(("quick", "paper", "authors")),
    default="quick",
    show_default=True,
    help="quick: one split and small budgets, for a first look. paper: double 5-fold "
    "cross-validation with the paper's grids. authors: as in the authors' code, their "
    "method only.",
)
@click.option("--jobs", default=1, show_default=True, help="Processes, one core each.")
@click.option("--seeds", default=1, show_default=True, help="Repetitions.")
@click.option("--methods", callback=_split_names, help="Some columns: A,B.")
@click.option("--datasets", callback=_split_names, help="Some rows: A,B.")
@click.option("--data", help="digits: small sets of scikit-learn, not the paper's.")
@click.option("--out", type=Path, default="results", show_default=True)
def run(names: Sequence[str], out: Path, **options: Any) -> None:
    """Run experiments: some of those that `list` names, or all.

    Each method on each fold is a cell. Finished cells are appended to OUT/NAME.jsonl
    and are not run again: a run that was stopped goes on when it is started again.

    Of the methods and data sets that are asked for each experiment takes those that it
    has; one that has none of them is left out.
    """
    from reproduction.runner import EXPERIMENTS, run_experiments

    chosen = tuple(EXPERIMENTS) if "all" in names else tuple(dict.fromkeys(names))
    start = time.monotonic()
    try:
        runs = run_experiments(
            chosen, out=out, progress=lambda line: click.echo(line, err=True), **options
        )
    except KeyboardInterrupt:
        click.echo("Stopped; start again to go on. What was finished is kept.")
        sys.exit(130)
    except (LacunetError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{'experiment':18} {'run':>5} {'found':>6} {'empty':>6} {'failed':>6}")
    for each in runs:
        click.echo(
            f"{each.experiment:18} {each.n_run:5} {each.n_skipped:6} "
            f"{len(each.empty):6} {len(each.failed):6}"
        )
    for each in runs:
        for kind, cells in (("Empty", each.empty), ("Failed", each.failed)):
            reasons = Counter((cell["method"], cell["params"]["why"]) for cell in cells)
            for (method, why), n in reasons.items():
                click.echo(f"{kind} in {each.experiment}: {method} ({n}): {why}")
    known = {each.experiment for each in runs}
    left_out = [name for name in chosen if name not in known]
    if left_out:
        listed = ", ".join(left_out)
        click.echo(f"Left out, as they have nothing of what was asked for: {listed}.")
    click.echo(f"That took {time.monotonic() - start:.0f} s. To see it:")
    click.echo(f"  python -m reproduction report {out}")
    if any(each.failed for each in runs):
        sys.exit(1)


@main.command()
@click.argument("folder", type=Path, default=RESULTS)
@click.option(
    *("-o", "--output"),
    type=Path,
    default="report.html",
    show_default=True,
    help="The file that is written: HTML, or the tables alone as Markdown (.md).",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def report(folder: Path, output: Path, force: bool) -> None:
    """Make a report of the results in FOLDER, or of those that come with the code.

    It is one HTML file that needs no network: tables beside the paper's figures,
    statistics, drawings, and the claims of the paper with what became of them.
    """
    from reproduction.report import write_report

    kind = "md" if output.suffix == ".md" else "html"
    try:
        made = write_report(folder, output, format=kind, force=force)  # type: ignore[arg-type]
    except (LacunetError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"The report: {made}")


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--download", is_flag=True, help="Get the files that are not here.")
@click.option("--save", type=Path, help="Write one data set to a CSV file.")
def data(names: Sequence[str], download: bool, save: Path | None) -> None:
    """List the data sets, or describe some of them.

    The variable LACUNET_DATA names a folder that has the files; then nothing is ever
    downloaded. Without it they are downloaded when they are first used, to a cache, for
    which LACUNET_CACHE can name another folder than the usual one.
    """
    from reproduction.datasets import describe_dataset, list_datasets, load_dataset

    try:
        if save is not None:
            _save(names, save)
            return
        for name in (names or list_datasets()) if download else ():
            if not describe_dataset(name).here:
                click.echo(f"Getting {name}", err=True)
                load_dataset(name)
        found = [describe_dataset(name) for name in names or list_datasets()]
    except (LacunetError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    for each in found:
        task = f"{each.classes} classes" if each.classes else each.task
        here = "here" if each.here else "not here"
        click.echo(
            f"{each.name:20} {each.rows:6} rows {each.columns:4} columns "
            f"{each.missing:7.2%} missing  {task:12} {here}"
        )
        if names:
            click.echo(f"  {each.description}")
            click.echo(f"  source: {each.source}")
            click.echo(f"  licence: {each.licence}")
            for file in each.files:
                click.echo(f"  file: {file}")


def _save(names: Sequence[str], path: Path) -> None:
    """Write a data set to a new file: its columns, and the target as the last."""
    import numpy as np
    import pandas as pd

    from reproduction.datasets import load_dataset

    if len(names) != 1 or path.exists():
        msg = f"Got --save {path}, but expected one data set and a new file."
        raise click.UsageError(msg)
    found = load_dataset(names[0])
    table = pd.DataFrame(found.X, columns=list(found.feature_names))
    whole = ((table % 1 == 0) | table.isna()).all()
    table = table.astype(dict.fromkeys(table.columns[whole], "Int64"))
    classes = np.array(found.target_names)
    table["target"] = classes[found.y] if len(classes) else found.y
    table.to_csv(path, index=False)
    click.echo(f"Wrote {len(table)} rows to {path}; what to predict is 'target'.")


if __name__ == "__main__":
    main(prog_name="python -m reproduction")
