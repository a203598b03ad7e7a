"""``lacunet report``: results as one file to read."""

from pathlib import Path
from typing import Literal

import click

from lacunet.cli._terminal import Terminal, check_free, common_options

Format = Literal["html", "md"]
FORMATS: tuple[Format, ...] = ("html", "md")

_HELP = """Make a report of the results that `lacunet reproduce` has left in a folder.

It is one HTML file that needs no network: tables beside the paper's figures,
statistics, figures, and the claims of the paper with what became of them."""
_EXAMPLES = """\b
Examples:
  lacunet report results -o report.html
  lacunet report results -o tables.md --force     the tables in Markdown"""


@click.command(
    help=_HELP, epilog=_EXAMPLES, short_help="Make a report of their results."
)
@click.argument("results", type=click.Path(path_type=Path), default="results")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file that is written.  [default: report.html, or report.md]",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    help="What is written.  [default: by the name of the file, else html]",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@common_options
@click.pass_obj
def report(
    terminal: Terminal,
    results: Path,
    output: Path | None,
    kind: Format | None,
    force: bool,
) -> None:
    """Make a report of results."""
    written = kind or (
        "md" if output is not None and output.suffix == ".md" else "html"
    )
    path = output or Path(f"report.{written}")
    check_free(path, force=force)
    from reproduction.report import write_report

    made = write_report(results, path, format=written, force=force)
    terminal.say(f"The report: {made}")
    terminal.answer({"report": made, "format": written})
