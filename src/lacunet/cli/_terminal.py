"""Where a command writes to: a person at a terminal, a file, or a script."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import UnsupportedOperation
from typing import IO, Any

import click

from lacunet._output import STANDARD
from lacunet._progress import ProgressLine, clear_line
from lacunet._text import list_names, show_count

_PLAIN_WIDTH = 10**6  # of a table that goes to a file: as wide as it must be


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
    began: float = field(default_factory=time.monotonic)  # when the command did

    def print(self, text: str = "") -> None:
        """Print a result for a person."""
        if not (self.quiet or self.as_json):
            echo(text)

    def note(self, *lines: str) -> None:
        """Print what is no result."""
        for line in () if self.quiet else lines:
            echo(line, err=True)

    def note_step(self, text: str) -> None:
        """Print what is done next, given in a few words."""
        self.note(f"{text[:1].upper()}{text[1:]}.")

    def warn(self, text: str) -> None:
        """Print a warning, also if quiet."""
        echo(f"Warning: {text}", err=True)

    def warn_names(self, text: str, names: Sequence[str]) -> None:
        """Print a warning that is about some names, if there are any."""
        if names:
            self.warn(f"{text}: {list_names(names)}.")

    def print_json(self, record: Any) -> None:
        """Print a result for a script, if it asks for JSON; paths may be in it."""
        if self.as_json:
            echo(json.dumps(record, indent=2, allow_nan=False, default=str))

    def print_findings(self, findings: Sequence[Any]) -> None:
        """Print what an evaluation or a profile has found, as a list."""
        for finding in findings:
            self.print(f"- {finding.head}. {finding.text}")

    def print_table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        max_rows: int | None = None,
    ) -> None:
        """Print a table for a person: as wide as the terminal, if it is one.

        Columns whose names begin with ``>`` are aligned to the right.
        """
        if self.quiet or self.as_json:
            return
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in header:
            side: Any = "right" if name.startswith(">") else "left"
            # Where there is no room for all, the last column is the one to be wrapped.
            table.add_column(name.lstrip(">"), justify=side, no_wrap=name != header[-1])
        for row in rows[:max_rows]:
            table.add_row(*map(Text, row))  # as they are: no markup, no highlighting
        console = Console()
        if not console.is_terminal:
            console.width = _PLAIN_WIDTH
        with console.capture() as printed:
            console.print(table)
        echo("\n".join(map(str.rstrip, printed.get().splitlines())))
        if max_rows is not None and len(rows) > max_rows:
            echo(f"... and {show_count(len(rows) - max_rows, f'more {header[0]}')}.")

    def count_rows(self, done: str, output: str) -> Callable[[int], None]:
        """Return what shows how many rows are done, given the rows of each block.

        It shows nothing where the rows themselves go to standard output.
        """
        line = ProgressLine(shown=not self.quiet and output != STANDARD)
        total = 0

        def advance(n_rows: int) -> None:
            nonlocal total
            total += n_rows
            line.show("{:,} rows {}".format, total, done)

        return advance


def echo(text: str, *, err: bool = False) -> None:
    """Print a line, or nothing if its reader is gone."""
    clear_line()
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
