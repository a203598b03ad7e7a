"""``lacunet datasets``: which there are, and where."""

import io
import re
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacunet.cli._tables import force_option, seed_option
from lacunet.cli._terminal import Terminal, check_free, common_options

if TYPE_CHECKING:
    from reproduction.datasets import Description

_HELP = """List the data sets, or tell all about some of them.

The variable LACUNET_DATA names a folder that has the files; then nothing is ever
downloaded. Without it they are downloaded when they are first used, to a cache, for
which LACUNET_CACHE can name another folder than the usual one."""
_EXAMPLES = """\b
Examples:
  lacunet datasets                                which there are
  lacunet datasets pima                           all about one
  lacunet datasets pima horse --download          get the files of two
  lacunet datasets --download                     of all: 20 MB
  lacunet datasets horse --save horse.csv         one as a file
  lacunet datasets wine --save wine.csv --remove 0.2    with a fifth removed"""


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    from reproduction.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


@click.command(help=_HELP, epilog=_EXAMPLES, short_help="List data sets, and get them.")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=_complete)
@click.option(
    "--download", is_flag=True, help="Get the files that are not on this machine."
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write one data set as CSV, or Parquet by the name of the file.",
)
@click.option(
    "--remove",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Share of values to remove from what is saved, at random.",
)
@seed_option
@force_option
@common_options
@click.pass_obj
def datasets(
    terminal: Terminal,
    names: tuple[str, ...],
    download: bool,
    save: Path | None,
    remove: float | None,
    seed: int,
    force: bool,
) -> None:
    """List the data sets, or tell about some of them."""
    from reproduction.datasets import describe_dataset, list_datasets

    if save is not None:
        _save(terminal, names, save, remove, seed, force=force)
        return
    if remove is not None:
        msg = "Got --remove without --save FILE."
        raise click.UsageError(msg)
    chosen = [describe_dataset(name) for name in names or list_datasets()]
    if download:
        _get(terminal, [each.name for each in chosen if not each.here])
        chosen = [describe_dataset(each.name) for each in chosen]
    if names and not download:
        for each in chosen:
            _tell(terminal, each)
    else:
        _list(terminal, chosen)
    terminal.answer([asdict(each) for each in chosen])


def _save(
    terminal: Terminal,
    names: tuple[str, ...],
    path: Path,
    rate: float | None,
    seed: int,
    *,
    force: bool,
) -> None:
    """Write a data set to a file: its columns, and the target as the last."""
    if len(names) != 1:
        msg = f"Got --save and {len(names)} names, but expected one data set."
        raise click.UsageError(msg)
    check_free(path, force=force)
    import numpy as np
    import pandas as pd

    from lacunet.missingness import drop_values
    from lacunet.tables import FileFormat, open_output, write_rows
    from reproduction.datasets import load_dataset

    data = load_dataset(names[0])
    X = data.X if rate is None else drop_values(data.X, rate, random_state=seed)
    table = pd.DataFrame(X, columns=list(data.feature_names))
    whole = ((table % 1 == 0) | table.isna()).all()
    table = table.astype(dict.fromkeys(table.columns[whole], "Int64"))
    named = bool(data.target_names)
    table["target"] = np.array(data.target_names)[data.y] if named else data.y
    with open_output(path, force=force) as out:
        n_rows = write_rows(out, [table], FileFormat.of_name(path))
    terminal.say(f"Wrote {n_rows} rows to {path}; what to predict is 'target'.")
    terminal.answer({"path": path, "rows": n_rows, "target": "target"})


def _get(terminal: Terminal, names: Sequence[str]) -> None:
    from reproduction.datasets import load_dataset

    bars = redirect_stderr(io.StringIO()) if terminal.quiet else nullcontext()
    with bars:
        for name in names:
            terminal.note(f"Getting {name}")
            load_dataset(name)


def _list(terminal: Terminal, chosen: Sequence["Description"]) -> None:
    header = (
        "name",
        ">rows",
        ">columns",
        ">missing",
        "task",
        "here",
        "licence",
    )
    rows = [
        (
            each.name,
            str(each.rows),
            str(each.columns),
            _share(each),
            _task(each),
            "yes" if each.here else "no",
            re.split("[:;]", each.licence)[0],
        )
        for each in chosen
    ]
    terminal.table(header, rows)


def _tell(terminal: Terminal, known: "Description") -> None:
    terminal.say(f"{known.name}: {known.description}")
    terminal.say(f"  size      {known.rows} rows, {known.columns} columns")
    terminal.say(f"  missing   {_share(known)}")
    terminal.say(f"  task      {_task(known)}")
    terminal.say(f"  source    {known.source}")
    terminal.say(f"  licence   {known.licence}")
    terminal.say(f"  here      {'yes' if known.here else 'no'}")
    for file in known.files:
        terminal.say(f"  file      {file}")


def _share(known: "Description") -> str:
    return f"{known.missing:.2%}" if known.missing else "-"


def _task(known: "Description") -> str:
    return f"{known.classes} classes" if known.classes else known.task
