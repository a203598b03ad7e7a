"""Where a command writes to: a person at a terminal, a file, or a script."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import UnsupportedOperation
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# Exit codes, as of programs that SIGINT or SIGPIPE have ended.
INTERRUPTED, UNREAD = 130, 141


class Stopped(click.ClickException):
    """Ctrl-C, told in a line.

    Parameters
    ----------
    message : str, default="Stopped."
    """

    exit_code = INTERRUPTED

    def __init__(self, message: str = "Stopped.") -> None:
        super().__init__(message)

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the line, at a terminal below its own ``^C``.

        Parameters
        ----------
        file : text stream, default=None
            Standard error by default.
        """
        stream = file or sys.stderr
        if stream.isatty():
            click.echo(file=stream)
        click.echo(self.message, file=stream)


@dataclass
class Terminal:
    """What a command says, and to whom.

    Results go to standard output, everything else to standard error. Where nobody
    reads on, as in ``lacunet fit ... | head``, it is silent: what is written to files
    must not suffer.

    Attributes
    ----------
    quiet : bool
        Nothing but errors, warnings and what ``as_json`` asks for.
    as_json : bool
        One JSON object in place of what a person would read.
    debug : bool
        Errors with their traceback.
    """

    quiet: bool = False
    as_json: bool = False
    debug: bool = False

    def say(self, text: str = "") -> None:
        """Write a result for a person.

        Parameters
        ----------
        text : str
        """
        if not (self.quiet or self.as_json):
            echo(text)

    def note(self, text: str) -> None:
        """Write what is no result.

        Parameters
        ----------
        text : str
        """
        if not self.quiet:
            echo(text, err=True)

    def complain(self, text: str) -> None:
        """Write what must not be missed.

        Parameters
        ----------
        text : str
        """
        echo(text, err=True)

    def answer(self, record: Any) -> None:
        """Write a result for a script, if it is one that asks.

        Parameters
        ----------
        record : JSON-able
            Paths may be in it.
        """
        if self.as_json:
            echo(json.dumps(record, indent=2, allow_nan=False, default=str))

    def live_console(self) -> "Console | None":
        """Return where a bar can be drawn, which is drawn over again.

        Returns
        -------
        Console or None
            None in a file, and where nothing is to be said.
        """
        from rich.console import Console

        console = Console(stderr=True)
        drawn = console.is_terminal and not console.is_dumb_terminal
        return console if drawn and not self.quiet else None

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table for a person: as wide as the terminal, if it is one.

        Parameters
        ----------
        header : sequence of str
            Columns whose names begin with ``>`` are aligned to the right.
        rows : sequence of sequence of str
        """
        if self.quiet or self.as_json:
            return
        from rich.console import Console

        console = Console()
        if console.is_terminal:
            console.print(_fitted(header, rows))
        else:
            echo(_plain(header, rows))


def echo(text: str, *, err: bool = False) -> None:
    """Write a line, or nothing if its reader is gone.

    Parameters
    ----------
    text : str
    err : bool, default=False
        To standard error.
    """
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        forget_reader(sys.stderr if err else sys.stdout)


def forget_reader(stream: IO[Any]) -> None:
    """Let what is written to a stream go nowhere from now on.

    Parameters
    ----------
    stream : text stream
        Its reader is gone.
    """
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
        # Where there is no room for all, the last column is the one to be broken.
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
    """Add the options that all commands have; a command gets the ``Terminal``.

    Parameters
    ----------
    command : callable
        What click makes a command of, with ``click.pass_obj`` below.

    Returns
    -------
    callable
    """
    for name, field, text in reversed(
        (
            ("--quiet", "quiet", "Say nothing but errors and warnings."),
            ("--json", "as_json", "Answer with JSON, for scripts."),
            ("--debug", "debug", "Show errors with their traceback."),
        )
    ):
        command = click.option(
            name, field, is_flag=True, expose_value=False, callback=_keep, help=text
        )(command)
    return command


def _keep(context: click.Context, option: click.Parameter, value: bool) -> None:
    """Set what is asked for, before the name of the command or behind it."""
    terminal = context.ensure_object(Terminal)
    if value and option.name:
        setattr(terminal, option.name, True)


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to write over a file.

    Parameters
    ----------
    path : Path
    force : bool
        Whether the user has said that it may be replaced.
    """
    if path.exists() and not force:
        msg = f"{path} is there already. Replace it with --force, or name another."
        raise click.ClickException(msg)
