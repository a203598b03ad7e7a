"""``lacunet profile``: what is missing in a table."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacunet.cli._tables import (
    force_option,
    page_type,
    reading_options,
    table_argument,
)
from lacunet.cli._terminal import Terminal, check_free, common_options

if TYPE_CHECKING:
    from lacunet.profile import Profile
    from lacunet.tables import ReadOptions

_MOST_COLUMNS = 30  # listed, those with the most holes first
_MOST_PATTERNS = 8
_LEAST_SHARE = 0.01  # of rows that a pattern has, to be listed

_HELP = """Say what is missing in a table, and what that has to do with what.

Shares of columns and rows, patterns that occur together, Little's test of whether
values are missing completely at random, which columns' holes depend on which others,
and with --target whether holes tell something of it. With -o it is a page with figures.
TABLE is CSV or Parquet; - is standard input."""
_EXAMPLES = """\b
Examples:
  lacunet profile patients.csv
  lacunet profile patients.csv --target ill -o profile.html
  lacunet profile patients.csv --missing -999 --drop id"""


@click.command(
    help=_HELP, epilog=_EXAMPLES, short_help="Say what is missing in a table."
)
@table_argument
@click.option("--target", metavar="NAME", help="Whether holes tell of this column.")
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
    """Say what is missing in a table."""
    if output is not None:
        check_free(output, force=force)
    from lacunet.profile import profile_table
    from lacunet.tables import open_table

    with open_table(table, reading) as file:
        found = profile_table(file.read(), target=target)
        name = file.short_name
    tell_profile(terminal, found, name)
    if output is not None:
        from lacunet.report import write_profile

        title = f"What is missing in {name}"
        terminal.say(
            f"The page: {write_profile(found, output, title=title, force=force)}"
        )
    terminal.answer({"table": name, **found.as_dict(), "page": output})


def tell_profile(terminal: Terminal, profile: "Profile", name: str) -> None:
    """Tell a person what is missing.

    Parameters
    ----------
    terminal : Terminal
    profile : Profile
    name : str
        Of the table.
    """
    terminal.say(f"{name}: {profile.n_rows} rows, {profile.n_columns} columns.")
    for finding in profile.findings:
        terminal.say(f"- {finding.head}. {finding.text}")
    holed = sorted(
        (column for column in profile.columns if column.n_missing),
        key=lambda column: -column.n_missing,
    )
    if holed:
        terminal.say()
        terminal.table(
            ("column", "type", ">missing", ">share"),
            [
                (c.name, c.kind, str(c.n_missing), f"{c.share_missing:.1%}")
                for c in holed[:_MOST_COLUMNS]
            ],
        )
    if len(holed) > _MOST_COLUMNS:
        terminal.say(f"... and {len(holed) - _MOST_COLUMNS} columns more.")
    _tell_patterns(terminal, profile)
    for notice in profile.notices:
        terminal.note(notice)


def _tell_patterns(terminal: Terminal, profile: "Profile") -> None:
    """List what is missing in the same rows, if it is more than a column."""
    from lacunet._text import list_names

    patterns = [
        pattern
        for pattern in profile.patterns.frequent[:_MOST_PATTERNS]
        if pattern.share >= _LEAST_SHARE
    ]
    if profile.patterns.n_patterns < 2 or not patterns:
        return
    terminal.say()
    terminal.table(
        (">rows", ">share", "missing together"),
        [
            (
                str(pattern.n_rows),
                f"{pattern.share:.1%}",
                list_names(pattern.missing) or "nothing",
            )
            for pattern in patterns
        ],
    )
