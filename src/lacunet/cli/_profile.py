"""``lacunet profile``: what is missing in a table."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacunet.cli._options import (
    force_option,
    page_type,
    reading_options,
    table_argument,
)
from lacunet.cli._terminal import Terminal, check_free, common_options

if TYPE_CHECKING:
    from lacunet.profile import Profile
    from lacunet.tables import ReadOptions

_MAX_COLUMNS = 30  # listed, those with the most missing values first
_MAX_PATTERNS = 8  # listed, of at least 1% of the rows

_HELP = """Report what is missing in a table, and what that depends on.

Fractions by column and row, patterns of cells that are missing together, Little's test
of whether values are missing completely at random, which columns' missingness depends
on which others and, with --target, whether missingness is associated with it. With -o
also a page with figures. TABLE is CSV or Parquet; - is standard input."""
_EXAMPLES = """\b
Examples:
  lacunet profile patients.csv
  lacunet profile patients.csv --target ill -o profile.html
  lacunet profile patients.csv --missing -999 --drop id"""


@click.command(
    help=_HELP, epilog=_EXAMPLES, short_help="Report what is missing in a table."
)
@table_argument
@click.option(
    "--target", metavar="NAME", help="A column; is missingness associated with it?"
)
@click.option("-o", "--output", type=page_type, help="Also write a page, in HTML.")
@force_option
@reading_options
@common_options
@click.pass_obj
def profile(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    target: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Report what is missing in a table."""
    if output is not None:
        check_free(output, force=force)
    from lacunet.profile import profile_table
    from lacunet.tables import open_table

    with open_table(table, reading) as file:
        found = profile_table(file.read(), target=target)
        name = file.short_name
    _print(terminal, found, name)
    if output is not None:
        from lacunet.report import write_profile

        title = f"What is missing in {name}"
        page = write_profile(found, output, title=title, force=force)
        terminal.say(f"The page: {page}")
    terminal.answer({"table": name, **found.as_dict(), "page": output})


def _print(terminal: Terminal, profile: "Profile", name: str) -> None:
    from lacunet._text import list_names

    terminal.say(f"{name}: {profile.n_rows} rows, {profile.n_columns} columns.")
    for finding in profile.findings:
        terminal.say(f"- {finding.head}. {finding.text}")
    incomplete = [column for column in profile.columns if column.n_missing]
    incomplete.sort(key=lambda column: -column.n_missing)
    if incomplete:
        terminal.say()
        terminal.table(
            ("column", "type", ">missing", ">fraction"),
            [
                (c.name, c.kind, str(c.n_missing), f"{c.fraction_missing:.1%}")
                for c in incomplete[:_MAX_COLUMNS]
            ],
        )
    if len(incomplete) > _MAX_COLUMNS:
        terminal.say(f"... and {len(incomplete) - _MAX_COLUMNS} more columns.")
    patterns = [
        (
            str(each.n_rows),
            f"{each.fraction:.1%}",
            list_names(each.missing) or "nothing",
        )
        for each in profile.patterns[:_MAX_PATTERNS]
        if each.fraction >= 0.01
    ]
    if profile.n_patterns > 1 and patterns:
        terminal.say()
        terminal.table((">rows", ">fraction", "missing together"), patterns)
    for notice in profile.notices:
        terminal.note(notice)
