"""``lacunet demo``: everything, small, in one command."""

from pathlib import Path

import click

from lacunet.cli._options import jobs_option
from lacunet.cli._terminal import Terminal, common_options
from reproduction.cli._options import EXPERIMENTS, STAND_INS
from reproduction.cli._running import Wish, run_wish, sum_up, to_record

_HELP = """Run all experiments on small data and make a report, in a few minutes.

Nothing is downloaded: the data come with scikit-learn. The same as `lacunet reproduce
all --protocol quick --data digits`, and `lacunet report` on what it gives. The figures
are no reproduction of the paper's; they show what there is. OUT/report.html is made
anew each time."""
_EXAMPLES = """\b
Examples:
  lacunet demo
  lacunet demo --out /tmp/demo --jobs 2"""


@click.command(
    help=_HELP, epilog=_EXAMPLES, short_help="Run all of it small, with a report."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="demo",
    show_default=True,
    help="Folder of results and report.",
)
@jobs_option
@common_options
@click.pass_obj
def demo(terminal: Terminal, out: Path, jobs: int) -> None:
    """Run all experiments on small data and make a report."""
    told = run_wish(
        terminal, Wish(tuple(EXPERIMENTS), "quick", out, jobs, data=STAND_INS)
    )
    sum_up(terminal, told)
    from reproduction.report import write_report

    made = write_report(out, out / "report.html", force=True)
    terminal.say(f"The report: {made}")
    terminal.answer({**to_record(told), "report": made})
    if told.has_failed:
        raise click.exceptions.Exit(1)
