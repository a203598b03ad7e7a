"""``lacunet predict``: predictions for the rows of a table."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import FloatRange, IntRange

from lacunet._output import STANDARD
from lacunet._text import shorten, show_count
from lacunet.cli import _options as options
from lacunet.cli._check import warn_unchecked
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

    from lacunet.tables import Change, Drift, ReadOptions

BLOCK = 2**14  # rows at a time
_MOST_WARNINGS = 5  # lines about columns that are not as in training
_WARNED = ("outside", "categories", "missing")  # rows may be a selection by values


@options.command("Predict the rows of a table.")
@options.model
@options.table
@options.table_output(
    "The table to write: CSV, or Parquet by its name; or a folder.", dir_okay=True
)
@option("--keep", list, "A column of the table to copy in front of the prediction.")
@option(
    "--strict",
    bool,
    "Refuse a table that lacks columns, or whose rows are not as in training.",
)
@option(
    "--interval",
    FloatRange(0, 1, min_open=True, max_open=True),
    "Add intervals that numbers are in with this probability, or sets of classes.",
)
@option(
    "--draws",
    IntRange(1),
    "Predict each row by the mean over so many draws of its missing values.",
)
@options.workers
@options.ray_address
@options.skip_bad_files
@options.force
def predict(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    output: str,
    keep: tuple[str, ...],
    strict: bool,
    interval: float | None,
    draws: int | None,
    workers: int | None,
    ray_address: str | None,
    skip_bad_files: bool,
    force: bool,
) -> None:
    """Predict the rows of a table with a model of `lacunet fit`.

    Columns are matched by name, in any order. Those that the table lacks count as
    missing in every row, and those that the model does not know are ignored, each with
    a warning. At most five more lines warn of columns with values outside the range of
    training, with categories that the model has not seen, or that are missing far more
    or less often; `lacunet check` has the details. With --strict such a table is
    refused and nothing is written: it is read once before the first prediction. The
    table is read in blocks: it may be larger than memory.

    --interval 0.9 adds the columns low and high, between which a number is with a
    probability of 0.9, given what its row lacks; or the column set, with the classes
    that are credible (yes|no; none where the model is surer than that in general).
    Each combination of missing values is calibrated by itself: a table with thousands
    of them takes minutes. --draws 64 predicts from draws of the missing values, which
    by default is done for rows that lack more than those of training.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input. With Parquet files, -o may be a folder (out/), with a
    file for each of theirs; --workers are processes that write them.

    Examples
    --------
    lacunet predict model new.csv -o out.csv
    lacunet predict model new.csv -o out.csv --strict
    lacunet predict model new.csv -o out.csv --interval 0.9
    lacunet predict model new.parquet -o out.parquet --keep id
    cat new.csv | lacunet predict model - | head
    lacunet predict model 'new/*.parquet' -o out/ --workers 4
    """
    from lacunet import tables

    if skip_bad_files and not options.is_folder(output, workers):
        msg = "Got --skip-bad-files, but expected a folder with it, as -o out/."
        raise click.UsageError(msg)
    if options.is_folder(output, workers):
        refused = {
            "--keep": keep,
            "--strict": strict,
            "--interval": interval,
            "--draws": draws,
        }
        for name in (name for name, given in refused.items() if given):
            msg = (
                f"Got {name}, but files in a folder have predictions alone, in the "
                f"order of the rows. Name a file with -o, without --workers."
            )
            raise click.UsageError(msg)
        where = Path(output)
        _predict_folder(
            terminal,
            model,
            table,
            reading,
            where,
            workers or 0,
            ray_address,
            skip_bad_files,
            force=force,
        )
        return
    known, format = tables.ModelTable.read(model), tables.FileFormat.of_name(output)
    # The table first: it is known within a moment whether it is there.
    with tables.open_table(table, known.options(reading)) as file:
        tables.check_known(keep, file.names, "--keep")
        fitted = options.load_predictor(model)
        if draws is not None:
            fitted.set_params(propagate="sample", n_samples=draws)
        schema = tables.Schema.of_model(fitted)
        match = file.match(schema)
        terminal.note(*file.list_notices(schema.names))
        ignored = [x for x in match.unknown if x not in {known.target, *keep}]
        terminal.warn_names("not in the table, so missing in every row", match.missing)
        terminal.warn_names("ignored, as the model does not know it", ignored)
        drift = tables.Drift(schema, known.training, lacking=match.missing)
        unseen: dict[str, list[str]] = {}
        if strict:
            for block in file.blocks(BLOCK, schema=schema, unseen=unseen):
                drift.update(block, unseen)
            warn_unchecked(terminal, drift)
            if _warn_changed(terminal, drift, model, table) or match.missing:
                msg = (
                    f"Got {table}, whose rows are not as in training, but expected "
                    f"such rows (--strict). Nothing was written."
                )
                raise click.ClickException(msg)

        def blocks() -> "Iterator[pd.DataFrame]":
            for block in file.blocks(BLOCK, schema=schema, unseen=unseen):
                if not strict:
                    drift.update(block, unseen)
                yield block
                advance(len(block))

        advance = terminal.count_rows("predicted", output)
        with tables.open_output(output, force=force) as stream:
            how: Any = tables.predict_rows
            if interval is not None:
                how = functools.partial(_predict_interval, interval)
            bounds = file.bounds(BLOCK, schema=schema)
            frames: Iterable[pd.DataFrame] = tables.predict_blocks(
                fitted, blocks(), bounds=bounds, predict=how
            )
            if keep:
                typed = format.kind == "parquet"
                cells = file.cells([*dict.fromkeys(keep)], BLOCK, typed=typed)
                frames = _join(cells, frames)
            n_rows = tables.write_rows(stream, frames, format)
    changed = {} if strict else _warn_changed(terminal, drift, model, table)
    terminal.note(f"Predicted {show_count(n_rows, 'row')}.")
    record = {"rows": n_rows, "output": output, **vars(match)}
    terminal.print_json({**record, "changed": changed})


def _predict_interval(
    coverage: float, model: Any, rows: "pd.DataFrame", **bounds: "pd.DataFrame"
) -> "pd.DataFrame":
    """Return predictions with intervals, or with sets of classes."""
    import numpy as np

    from lacunet import inspection, tables

    frame = tables.predict_rows(model, rows, **bounds)
    if not hasattr(model, "classes_"):
        ends = inspection.prediction_interval(model, rows, coverage, **bounds)
        for name, numbers in ends._asdict().items():
            columns = numbers.reshape(len(numbers), -1).T
            for output, column in enumerate(columns):
                title = name if numbers.ndim == 1 else f"{name}_{output}"
                frame[title] = tables.round_numbers(column)
        return frame
    inside = inspection.prediction_set(model, rows, coverage, **bounds)
    # A class's own bar is not one between classes.
    names = np.array([str(each).replace("|", r"\|") for each in model.classes_])
    frame["set"] = ["|".join(names[each]) for each in inside]
    return frame


def _predict_folder(
    terminal: Terminal,
    model: str,
    table: str,
    reading: "ReadOptions",
    output: Path,
    workers: int,
    ray_address: str | None,
    skip_bad_files: bool,
    *,
    force: bool,
) -> None:
    """Write a file of predictions for each Parquet file."""
    if str(output) == STANDARD or output.suffix in (".csv", ".parquet"):
        msg = (
            f"Got -o {output}, but expected a folder for a file of predictions for "
            f"each file, as -o out/."
        )
        raise click.UsageError(msg)
    options.check_parquet(table, f"-o {output}")
    from lacunet import distributed, tables

    distributed.check_output(output, force=force)
    fitted, known = options.load_predictor(model), tables.ModelTable.read(model)
    schema = tables.Schema.of_model(fitted)
    rows = distributed.ParquetRows.open(
        table, skip_bad_files=skip_bad_files, columns=schema.names
    )
    used = [name for name in rows.names if name not in reading.drop]
    match = tables.match_names(used, schema, table)
    terminal.warn_names("not in the files, so missing in every row", match.missing)
    advance = terminal.count_rows("predicted", str(output))
    n_rows = distributed.predict_files(
        fitted,
        known.options(reading),
        rows,
        output.absolute(),
        workers=workers,
        ray_address=ray_address,
        skip_bad_files=skip_bad_files,
        on_rows=advance,
    )
    terminal.note(f"Predicted {show_count(n_rows, 'row')}.")
    terminal.print_json({"rows": n_rows, "output": output, "missing": match.missing})


def _warn_changed(
    terminal: Terminal, drift: "Drift", model: str, table: str
) -> "dict[str, dict[Change, str]]":
    """Warn of columns that are not as in training; lacking ones are reported before."""
    changed = {}
    for column in drift.compare():
        if texts := {k: text for k, text in column.changes.items() if k in _WARNED}:
            changed[column.name] = texts
    room = _MOST_WARNINGS - (len(changed) > _MOST_WARNINGS)
    for name, found in list(changed.items())[:room]:
        terminal.warn(f"{shorten(name)!r}: {'; '.join(found.values())}.")
    if len(changed) > room:
        more = show_count(len(changed) - room, "more column")
        source = "TABLE" if table == STANDARD else table
        terminal.warn(f"... and {more}: lacunet check {model} {source}")
    return changed


def _join(
    cells: "Iterable[pd.DataFrame]", predictions: "Iterable[pd.DataFrame]"
) -> "Iterator[pd.DataFrame]":
    """Put columns of the table before the predictions; no name may be in both."""
    import pandas as pd

    for kept, predicted in zip(cells, predictions, strict=True):
        for name in kept.columns.intersection(predicted.columns):
            msg = (
                f"Got --keep {name}, but a column of that name is written with the "
                f"prediction. Rename it in the table, or keep others."
            )
            raise click.ClickException(msg)
        yield pd.concat([kept, predicted], axis=1)
