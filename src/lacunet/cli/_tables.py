"""What the commands for one's own table share: how it is read, what is said of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from lacunet.cli._options import gathered
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    from lacunet.tables import ColumnInfo

STANDARD = "-"  # in place of a file: standard input or output
_MOST_COLUMNS = 40  # listed at a terminal

_AGAIN = " May be given again."
READING: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "--missing": {
            "multiple": True,
            "metavar": "TEXT",
            "help": f"A cell that means missing, beside the usual ones.{_AGAIN}",
        },
        "--no-usual-missing": {
            "is_flag": True,
            "help": "In CSV files an empty cell alone means missing, not NA, ?, - and "
            "the like.",
        },
        "--drop": {
            "multiple": True,
            "metavar": "NAME",
            "help": f"A column to leave out.{_AGAIN}",
        },
        "--categorical": {
            "multiple": True,
            "metavar": "NAME",
            "help": f"A column whose values are names, not numbers.{_AGAIN}",
        },
        "--sep": {"help": "What stands between cells.  [default: found]"},
        "--encoding": {
            "help": "Such as latin-1.  [default: UTF-8, or by the file's mark]"
        },
    }
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading; a command gets them as ``reading``.

    Parameters
    ----------
    command : callable

    Returns
    -------
    callable
    """

    def build(chosen: dict[str, Any]) -> Any:
        from lacunet.tables import ReadOptions

        usual = not chosen.pop("no_usual_missing")
        return ReadOptions(**chosen, usual_missing=usual)

    return gathered(command, "reading", READING, build)


table_argument = click.argument(
    "table", type=click.Path(allow_dash=True, path_type=str)
)
target_option = click.option(
    "--target", required=True, metavar="NAME", help="The column to predict."
)
task_option = click.option(
    "--task",
    type=click.Choice(("classification", "regression")),
    help="What to predict: a class or a number.  [default: by the target]",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Of all that is random."
)
force_option = click.option(
    "--force", is_flag=True, help="Replace what is there already."
)


class _PageType(click.Path):
    """A file that a page is written to: not standard output, which has the text."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if str(value) == "-":
            self.fail("A page can't go to standard output: name a file.", param, ctx)
        return super().convert(value, param, ctx)


page_type = _PageType()


def tell_columns(terminal: Terminal, columns: "Sequence[ColumnInfo]") -> None:
    """List the columns of a table with their types, and what to know of them.

    Parameters
    ----------
    terminal : Terminal
    columns : sequence of ColumnInfo
    """
    shown = columns[:_MOST_COLUMNS]
    terminal.table(
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
        terminal.say(f"... and {len(columns) - len(shown)} columns more.")
    for column in columns:
        for notice in column.notices:
            terminal.note(f"Column {column.name!r}: {notice.text}")


def warn_of_levels(terminal: Terminal, unseen: "Mapping[str, Sequence[str]]") -> None:
    """Name levels that a model has not seen.

    Parameters
    ----------
    terminal : Terminal
    unseen : mapping of str to sequence of str
        A few of them, by the names of categories.
    """
    from lacunet._text import list_names

    for name, levels in unseen.items():
        terminal.complain(
            f"Warning: levels of {name!r} that the model has not seen count as "
            f"missing, such as {list_names(levels)}."
        )


@contextmanager
def shown_rows(
    terminal: Terminal, title: str, total: int | None
) -> Iterator[Callable[[int], object]]:
    """Show how many rows are done, at a terminal.

    Parameters
    ----------
    terminal : Terminal
    title : str
    total : int or None
        Number of rows, if it is known.

    Yields
    ------
    callable
        To be told how many more are done.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = terminal.live_console()
    if console is None:
        yield lambda n_rows: None
        return
    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*parts, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda n_rows: bar.advance(task, n_rows)


def check_answer(terminal: Terminal, output: str) -> None:
    """Refuse two things on standard output.

    Parameters
    ----------
    terminal : Terminal
    output : str
    """
    if terminal.as_json and output == STANDARD:
        msg = "Got --json and a table on standard output. Name a file with -o."
        raise click.UsageError(msg)


def silence(model: Any) -> Any:
    """Return a model that does not warn of new holes: what it says is for Python.

    Parameters
    ----------
    model : estimator of lacunet

    Returns
    -------
    estimator
        The same. It still refuses them, if it was told to.
    """
    if model.on_unseen_missing == "warn":
        model.set_params(on_unseen_missing="use")
    return model
