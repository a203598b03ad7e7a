"""How far a run has come: a bar and means at a terminal, lines in a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lacunet.cli._terminal import Terminal
from lacunet.cli._words import clock_time
from reproduction.cli._watch import Mean, Watch
from reproduction.cli._words import place_of
from reproduction.experiments import Progress
from reproduction.statistics import Cell


@contextmanager
def shown(terminal: Terminal, watch: Watch) -> Iterator[Callable[[Progress], Any]]:
    """Show how far a run has come.

    Parameters
    ----------
    terminal : Terminal
    watch : Watch

    Yields
    ------
    callable
        To be told each ``Progress``.
    """
    console = terminal.live_console()
    if console is None:
        yield _lines(terminal, watch)
        return
    with _live(console, watch) as told:
        yield told


def _lines(terminal: Terminal, watch: Watch) -> Callable[[Progress], None]:
    """Return what writes a line for each cell, and the means behind the last."""

    def told(progress: Progress) -> None:
        new = watch.take(progress)
        head = f"{watch.experiment} {watch.done}/{watch.total}"
        left = watch.seconds_left()
        rest = "" if not left else f", about {clock_time(left)} left"
        if not progress.cells:
            terminal.note(head)
        for cell in new:
            terminal.note(f"{head}: {place_of(cell)}: {_value(cell)}{rest}")
        if progress.cells and watch.done == watch.total:
            means = ", ".join(map(_mean, watch.means))
            terminal.note(f"{watch.experiment}, mean {watch.metric}: {means}")

    return told


def _value(cell: Cell) -> str:
    if cell.value is None:
        return f"no {cell.metric}: {cell.params['why']}"
    return f"{cell.metric} {cell.value:.4f} in {cell.seconds:.1f} s"


def _mean(mean: Mean) -> str:
    return f"{mean.method} {mean.value:.4f} ({mean.n_rows})"


@contextmanager
def _live(console: Any, watch: Watch) -> Iterator[Callable[[Progress], Any]]:
    """Draw a bar, and below it the means so far with the number of rows behind."""
    from rich.columns import Columns
    from rich.console import Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    def draw() -> Any:
        line = Table.grid(padding=(0, 2))
        left = watch.seconds_left() if watch.experiment else None
        line.add_row(
            Text(watch.experiment, "bold"),
            ProgressBar(max(watch.total, 1), watch.done, width=32),
            Text(f"{watch.done}/{watch.total}"),
            Text("" if left is None else f"about {clock_time(left)} left", "dim"),
        )
        if not watch.means:
            return line
        title = Text(f"mean {watch.metric} so far (rows of the table)", "dim")
        means = Columns(
            [Text(_mean(mean)) for mean in watch.means], padding=(0, 3), equal=True
        )
        return Group(line, title, means)

    # It is gone at the end: what is left is the summary.
    with Live(console=console, get_renderable=draw, transient=True):
        yield watch.take
