"""``lacunet impute``: a table with its missing values filled."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lacunet._output import STANDARD
from lacunet._text import list_names, show_count, show_number
from lacunet.cli import _options as options
from lacunet.cli._options import PATH, option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import FileFormat, ReadOptions, TableFile

_MOST_ROWS = 100_000  # that an imputer is fitted to


@options.command("Fill the missing values of a table.")
@options.table
@options.table_output("File for the filled table.")
@option("--model", PATH, "A model of `lacunet fit`, or one that was saved in Python.")
@option(
    "--draws",
    click.IntRange(min=1),
    "Number of tables to write, filled with random draws instead of means.",
)
@option(
    "--fill-censored",
    bool,
    "Fill values that are known by a bound alone, such as <0.5, too: inside of it.",
)
@option(
    "--sensitivity",
    bool,
    "Fill nothing; report how means change if missing values are lower or higher.",
)
@options.seed
@options.force
def impute(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    output: str,
    model: str | None,
    draws: int | None,
    fill_censored: bool,
    sensitivity: bool,
    seed: int,
    force: bool,
) -> None:
    """Fill the missing values of a table, and leave everything else as it is.

    Numbers get their conditional mean given the rest of the row, categories the most
    probable one; --draws writes several tables of random draws, which show how
    uncertain the filled values are. The model is a Gaussian mixture that is fitted to
    the table itself, or that of --model. Cells that have a value are written back as
    they stand in the file, with its separator, decimal mark and encoding; integers stay
    integers. So do cells that are no numbers in a column of numbers, and bounds such as
    <0.5, which the model takes into account. Text is written as CSV, all else as the
    name of the output asks for; - is standard input or output.

    With --sensitivity nothing is filled. Instead, the mean of each column of numbers is
    pooled over completed tables (20, or as many as --draws) as if its missing values
    were lower or higher than expected by up to a standard deviation: what if values
    are not missing at random? With -o also a page with figures.

    Examples
    --------
    lacunet impute patients.csv -o filled.csv
    lacunet impute patients.csv -o filled.csv --draws 5   filled-1.csv to filled-5.csv
    lacunet impute new.csv -o filled.csv --model model
    lacunet impute patients.csv --sensitivity -o sensitivity.html
    """
    if sensitivity:
        if fill_censored:
            msg = "Got --sensitivity and --fill-censored, but expected one of them."
            raise click.UsageError(msg)
        _report_sensitivity(terminal, table, reading, output, model, draws, seed, force)
        return
    paths = _name_outputs(output, draws)
    for path in paths:
        options.check_free(path, force=force)
    import numpy as np

    from lacunet import tables

    # Draws have to continue from block to block; a seed would start them again.
    random_state = np.random.RandomState(seed)
    read = reading if model is None else tables.ModelTable.read(model).options(reading)
    with tables.open_table(table, read) as file, ExitStack() as stack:
        format = _find_format(file, output)
        opened = [tables.open_output(path, force=force) for path in paths]
        streams = [*map(stack.enter_context, opened)]
        if model is None:
            fitted = _fit(terminal, file, random_state)
            schema = tables.Schema.of_model(fitted)
        else:
            fitted = options.load_model(model).set_params(random_state=random_state)
            schema = tables.Schema.of_model(fitted)
            terminal.note(*file.list_notices(schema.names))
            unknown = file.match(schema).unknown
            left = {
                "does not know it": unknown,
                "has seen no value of it": schema.empty,
            }
            if any(left.values()):
                incomplete = {x.name for x in file.columns if x.n_missing}
                for reason, names in left.items():
                    found = [name for name in names if name in incomplete]
                    terminal.warn_names(f"left as it is, as the model {reason}", found)

        def fill(rows: "pd.DataFrame", **bounds: "pd.DataFrame") -> Any:
            if draws is None:
                return [fitted.impute(rows, **bounds)]
            return fitted.sample_imputations(rows, draws, **bounds)

        count = tables.write_draws(
            file,
            streams,
            fill,
            schema=schema,
            advance=terminal.count_rows("filled", output),
            format=format,
            fill_censored=fill_censored,
            use_bounds=True,
        )
    for name, categories in count.unseen.items():
        if categories:
            terminal.warn(
                f"categories of {name!r} that the model has not seen count as missing, "
                f"such as {list_names(categories)}."
            )
    n_filled, n_left = sum(count.filled.values()), sum(count.left.values())
    filled = show_count(n_filled, "missing value")
    terminal.note(f"Filled {filled} in {show_count(count.n_rows, 'row')}.")
    if n_left:
        terminal.warn(
            f"{n_left} missing values are left in {list_names(list(count.left))}: the "
            f"model has no value for them."
        )
    terminal.print_json({**vars(count), "outputs": paths})


def _report_sensitivity(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    output: str,
    model: str | None,
    draws: int | None,
    seed: int,
    force: bool,
) -> None:
    """Print, and write to a page, how means change with what is missing."""
    if model is not None or draws == 1:
        given = "--model" if model is not None else "--draws 1"
        expected = "a table alone" if model is not None else "2 or more of them"
        msg = f"Got --sensitivity and {given}, but expected {expected}."
        raise click.UsageError(msg)
    if output != STANDARD:
        options.check_free(output, force=force)
    from lacunet.inspection import sensitivity
    from lacunet.tables import open_table

    with open_table(table, reading) as file:
        imputer = _fit(terminal, file, seed)
        names = list(imputer.feature_names_in_)
        rows, bounds = file.read(_MOST_ROWS)[names], file.read_bounds(_MOST_ROWS)
        name, n_rows = file.short_name, file.n_rows
    ends = {end: cells[names] for end, cells in bounds.items()}
    found = sensitivity(imputer, rows, n=draws or 20, **ends)
    size = show_count(n_rows, "row")
    if len(rows) < n_rows:
        size += f", {len(rows):,} of them used"
    incomplete = show_count(len(found), "column") + " of numbers with missing values"
    terminal.print(f"{name}: {size}, {incomplete}.")
    if found:
        terminal.print("Means, if missing values are shifted by standard deviations:\n")
        header = ["column", ">missing", ">observed"]
        header += [
            f">{shift:+g} sd" if shift else ">no shift" for shift in found[0].shifts
        ]
        lines = [
            (
                str(each.name),
                str(each.n_missing),
                show_number(each.observed),
                *(pooled.show() for pooled in each.pooled),
            )
            for each in found
        ]
        terminal.print_table(header, lines)
        terminal.print()
        for each in found:
            terminal.print(f"- {each.name}: {each.describe()}")
    page = None
    if output != STANDARD:
        from lacunet.report import write_sensitivity

        title = f"What if values of {name} are not missing at random"
        page = write_sensitivity(found, output, title=title, force=force)
        terminal.print(f"The page: {page}")
    columns = [
        {**vars(each), "pooled": [vars(x) for x in each.pooled]} for each in found
    ]
    terminal.print_json({"table": name, "columns": columns, "page": page})


def _name_outputs(output: str, draws: int | None) -> list[str]:
    """Return the name of each table: filled-1.csv and so on, if there are several."""
    if draws is None or draws == 1:
        return [output]
    if output == STANDARD:
        msg = f"Got --draws {draws} for standard output. Name a file with -o."
        raise click.UsageError(msg)
    path = Path(output)
    ending = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    stem = str(path).removesuffix(ending)
    return [f"{stem}-{number}{ending}" for number in range(1, draws + 1)]


def _find_format(file: "TableFile", output: str) -> "FileFormat":
    """Return how the output is written: as the table is, unless its name differs."""
    from lacunet.tables import FileFormat

    here, asked = file.format, FileFormat.of_name(output)
    other_separator = asked.kind == "csv" and Path(output).suffix in (".tsv", ".tab")
    if output == STANDARD or (here.kind == asked.kind and not other_separator):
        return here
    if here.kind == "csv" != asked.kind:
        msg = (
            f"Got a table of text to be written to {output}, but expected a name that "
            f"ends in .csv or .tsv: cells are written as they stand."
        )
        raise click.ClickException(msg)
    return replace(here, kind=asked.kind, separator=asked.separator)


def _fit(terminal: Terminal, file: "TableFile", random_state: Any) -> Any:
    from lacunet import LacunetImputer

    terminal.note(*file.list_notices(), f"Fitting a mixture to {file.short_name}.")
    rows, bounds = file.read(_MOST_ROWS), file.read_bounds(_MOST_ROWS)
    empty = [column.name for column in file.columns if column.kind == "empty"]
    terminal.warn_names("left as it is, as no row has a value", empty)
    if len(empty) == len(file.columns):
        msg = f"Got {file.name} without a single value, but expected some."
        raise click.ClickException(msg)
    ends = {name: end.drop(columns=empty) for name, end in bounds.items()}
    imputer = LacunetImputer(random_state=random_state)
    return imputer.fit(rows.drop(columns=empty), **ends)
