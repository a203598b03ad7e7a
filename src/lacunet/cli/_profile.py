"""``lacunet profile``: what is missing in a table."""

from pathlib import Path
from typing import TYPE_CHECKING

from lacunet._text import list_names, show_count
from lacunet.cli import _options as options
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.profile import Profile
    from lacunet.tables import ReadOptions

_MAX_COLUMNS = 30  # listed, those with the most missing values first
_MAX_PATTERNS = 8  # listed, of at least 1% of the rows


@options.command("Report what is missing in a table.")
@options.table
@options.option(
    "--target", str, "A column; is missingness associated with it?", metavar="NAME"
)
@options.page
@options.force
def profile(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    target: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Report what is missing in a table, and what that depends on.

    Fractions by column and row, patterns of cells that are missing together, Little's
    test of whether values are missing completely at random, which columns' missingness
    depends on which others and, with --target, whether missingness is associated with
    it. With -o also a page with figures.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input.

    Examples
    --------
    lacunet profile patients.csv
    lacunet profile patients.csv --target ill -o profile.html
    lacunet profile patients.csv --missing -999 --drop id
    """
    from lacunet.profile import profile_table
    from lacunet.tables import check_known, open_table

    with open_table(table, reading) as file:
        check_known([target] if target else [], file.names, "--target")
        notices = file.list_notices()
        found = profile_table(file.read(), target=target, notices=notices)
        name = file.short_name
    size = f"{show_count(found.n_rows, 'row')}, {show_count(found.n_columns, 'column')}"
    terminal.print(f"{name}: {size}.")
    terminal.print_findings(found.findings)
    _print_tables(terminal, found)
    terminal.note(*found.notices)
    if output is not None:
        from lacunet.report import write_profile

        title = f"What is missing in {name}"
        page = write_profile(found, output, title=title, force=force)
        terminal.print(f"The page: {page}")
    terminal.print_json({"table": name, **found.as_dict(), "page": output})


def _print_tables(terminal: Terminal, profile: "Profile") -> None:
    columns = [
        (each.name, each.kind, str(each.n_missing), f"{each.fraction_missing:.1%}")
        for each in sorted(profile.columns, key=lambda column: -column.n_missing)
        if each.n_missing
    ]
    if columns:
        header = ("column", "type", ">missing", ">fraction")
        terminal.print()
        terminal.print_table(header, columns, max_rows=_MAX_COLUMNS)
    patterns = [
        (str(x.n_rows), f"{x.fraction:.1%}", list_names(x.missing) or "nothing")
        for x in profile.patterns[:_MAX_PATTERNS]
        if x.fraction >= 0.01
    ]
    if profile.n_patterns > 1 and patterns:
        terminal.print()
        terminal.print_table((">rows", ">fraction", "missing together"), patterns)
