"""``lacunet reproduce``: the paper's experiments."""

from pathlib import Path
from typing import Literal

import click

from lacunet.cli._options import jobs_option, split_names
from lacunet.cli._terminal import Terminal, common_options
from lacunet.cli._words import clock_time
from reproduction.cli._options import EXPERIMENTS, PROTOCOLS, STAND_INS
from reproduction.cli._running import Wish, run_wish, sum_up, to_record

ALL = "all"
_LISTED = "\n".join(f"  {name:18} {text}" for name, text in EXPERIMENTS.items())
_HELP = f"""Run experiments of the paper, or all of them.

\b
{_LISTED}

Each method on each fold is a cell. Finished cells are appended to OUT/NAME.jsonl and
are not run again, so a run that was stopped, by Ctrl-C for instance, goes on when it
is started again.

Of the methods and data sets that are asked for each experiment takes those that it has;
one that has none of them is left out."""
_EXAMPLES = """\b
Examples:
  lacunet reproduce table-4                       a first look
  lacunet reproduce table-4 --protocol paper      as the paper measures, hours
  lacunet reproduce all --data digits             nothing is downloaded
  lacunet reproduce table-4 table-6 --methods paper,lacunet,hgb"""


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="Run experiments of the paper.")
@click.argument(
    "names",
    nargs=-1,
    required=True,
    type=click.Choice((ALL, *EXPERIMENTS)),
    metavar="NAME...|all",
)
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    show_default=True,
    help="quick: one split and small budgets, for a first look. paper: double 5-fold "
    "cross-validation with the paper's grids. authors: as in the authors' code, for "
    "comparison, their method only.",
)
@jobs_option
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Repetitions: other folds, other values removed, other networks.",
)
@click.option(
    "--methods",
    callback=split_names,
    metavar="A,B",
    help="Some columns of the tables only.",
)
@click.option(
    "--datasets",
    callback=split_names,
    metavar="A,B",
    help="Some rows of the tables only.",
)
@click.option(
    "--data",
    type=click.Choice([STAND_INS]),
    help="Small sets that come with scikit-learn, in place of the paper's.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    show_default=True,
    help="Folder of the results.",
)
@common_options
@click.pass_obj
def reproduce(
    terminal: Terminal,
    names: tuple[str, ...],
    protocol: str,
    jobs: int,
    seeds: int,
    methods: tuple[str, ...] | None,
    datasets: tuple[str, ...] | None,
    data: Literal["digits"] | None,
    out: Path,
) -> None:
    """Run experiments of the paper."""
    chosen = tuple(EXPERIMENTS) if ALL in names else tuple(dict.fromkeys(names))
    wish = Wish(chosen, protocol, out, jobs, seeds, methods, datasets, data)
    told = run_wish(terminal, wish)
    sum_up(terminal, told)
    _say_what_next(terminal, told.wish, told.seconds)
    terminal.answer(to_record(told))
    if told.has_failed:
        raise click.exceptions.Exit(1)


def _say_what_next(terminal: Terminal, wish: Wish, seconds: float) -> None:
    terminal.say(f"That took {clock_time(seconds)}. To see it:")
    terminal.say(f"  lacunet report {wish.out} -o report.html")
