"""Where a command writes to: a person at a terminal, a file, or a script."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import UnsupportedOperation
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from lacunet._text import list_names

if TYPE_CHECKING:
    from rich.console import Console

    from lacunet.tables import ColumnInfo

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# Exit codes, as of programs that SIGINT or SIGPIPE have ended.
INTERRUPTED, UNREAD = 130, 141
_MOST_COLUMNS = 40  # of a table that are listed


class Stopped(click.ClickException):
    """Ctrl-C, reported in a line."""

    exit_code = INTERRUPTED

    def __init__(self, message: str = "Stopped.") -> None:
        super().__init__(message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the line, at a terminal below its own ``^C``."""
        stream = file or sys.stderr
        if stream.isatty():
            click.echo(file=stream)
        click.echo(self.message, file=stream)


@dataclass
class Terminal:
    """What a command prints, and to whom.

    Results go to standard output, everything else to standard error. Where nobody
    reads on, as in ``lacunet fit ... | head``, it is silent: what is written to files
    must not suffer.
    """

    quiet: bool = False  # print only errors, warnings and what as_json asks for
    as_json: bool = False  # one JSON object in place of text
    debug: bool = False  # errors with their traceback

    def say(self, text: str = "") -> None:
        """Print a result for a person."""
        if not (self.quiet or self.as_json):
            echo(text)

    def note(self, text: str) -> None:
        """Print what is no result."""
        if not self.quiet:
            echo(text, err=True)

    def complain(self, text: str) -> None:
        """Print a warning, also if quiet."""
        echo(text, err=True)

    def answer(self, record: Any) -> None:
        """Print a result for a script, if it asks for JSON; paths may be in it."""
        if self.as_json:
            echo(json.dumps(record, indent=2, allow_nan=False, default=str))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print a table for a person: as wide as the terminal, if it is one.

        Columns whose names begin with ``>`` are aligned to the right.
        """
        if self.quiet or self.as_json:
            return
        from rich.console import Console

        console = Console()
        if console.is_terminal:
            console.print(_fitted(header, rows))
        else:
            echo(_plain(header, rows))

    def list_columns(self, columns: "Sequence[ColumnInfo]") -> None:
        """Print the columns of a file with their types, and the notices of them."""
        shown = columns[:_MOST_COLUMNS]
        self.table(
            ("column", "type", ">values", ">missing"),
            [
                (
                    column.name,
                    column.kind,
                    "many" if column.n_distinct is None else str(column.n_distinct),
                    str(column.n_missing),
                )
                for column in shown
            ],
        )
        if len(columns) > len(shown):
            self.say(f"... and {len(columns) - len(shown)} more columns.")
        for column in columns:
            for notice in column.notices:
                self.note(f"Column {column.name!r}: {notice.text}")

    def warn_unseen(self, unseen: Mapping[str, Sequence[str]]) -> None:
        """Warn of categories that a model has not seen, by the names of columns."""
        for name, categories in unseen.items():
            self.complain(
                f"Warning: categories of {name!r} that the model has not seen count as "
                f"missing, such as {list_names(categories)}."
            )

    def live_console(self) -> "Console | None":
        """Return where a progress bar can be drawn; None in a file, or if quiet."""
        from rich.console import Console

        console = Console(stderr=True)
        drawn = console.is_terminal and not console.is_dumb_terminal
        return console if drawn and not self.quiet else None

    @contextmanager
    def count_rows(
        self, title: str, total: int | None
    ) -> Iterator[Callable[[int], object]]:
        """Show how many rows are done; yield what to call with how many more are."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = self.live_console()
        if console is None:
            yield lambda n_rows: None
            return
        parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*parts, console=console, transient=True) as bar:
            task = bar.add_task(title, total=total)
            yield lambda n_rows: bar.advance(task, n_rows)


def echo(text: str, *, err: bool = False) -> None:
    """Print a line, or nothing if its reader is gone."""
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        forget_reader(sys.stderr if err else sys.stdout)


def forget_reader(stream: IO[Any]) -> None:
    """Discard what is written to a stream from now on, as its reader is gone."""
    try:
        number = stream.fileno()
    except UnsupportedOperation:  # no file, but a stand-in of a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _fitted(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        side: Any = "right" if name.startswith(">") else "left"
        # Where there is no room for all, the last column is the one to be wrapped.
        table.add_column(name.lstrip(">"), justify=side, no_wrap=name != header[-1])
    for row in rows:
        table.add_row(*map(Text, row))  # as they are: no markup, no highlighting
    return table


def _plain(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [[name.lstrip(">") for name in header], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.rjust if name.startswith(">") else str.ljust for name in header]
    return "\n".join(
        "  ".join(
            side(cell, width)
            for side, cell, width in zip(sides, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def common_options(command: Decorated) -> Decorated:
    """Add the options that all commands have, which set the ``Terminal``."""
    for name, field, text in reversed(
        (
            ("--quiet", "quiet", "Print nothing but errors and warnings."),
            ("--json", "as_json", "Print the result as JSON, for scripts."),
            ("--debug", "debug", "Show errors with their traceback."),
        )
    ):
        command = click.option(
            name, field, is_flag=True, expose_value=False, callback=_set, help=text
        )(command)
    return command


def _set(context: click.Context, option: click.Parameter, value: bool) -> None:
    """Set what is asked for, before the name of the command or behind it."""
    terminal = context.ensure_object(Terminal)
    if value and option.name:
        setattr(terminal, option.name, True)


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to write over a file, unless by force."""
    if path.exists() and not force:
        msg = f"{path} exists already. Replace it with --force, or name another."
        raise click.ClickException(msg)
