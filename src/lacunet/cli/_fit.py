"""``lacunet fit``: a model of one's own table."""

import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click import FloatRange

from lacunet._output import STANDARD, check_folder, check_target, temporary_name
from lacunet._text import clock_time, list_names, show_count
from lacunet.cli import _options as options
from lacunet.cli._options import option
from lacunet.cli._terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from lacunet.distributed import Run
    from lacunet.evaluation import HoldOut, TableFacts, Task
    from lacunet.tables import ColumnInfo, ColumnSummary, ReadOptions, TableFile

CARD = "card.md"
_COMMANDLINE = click.core.ParameterSource.COMMANDLINE
_HOLD_OUT = 0.2
_MAX_COLUMNS = _MAX_CLASSES = 10  # listed
# Seconds of a time limit that are kept for the scores, at most, and for writing; and
# the part of the first training's time that has to be left for a second one.
_TO_SCORE, _TO_WRITE, _ENOUGH = 30.0, 1.0, 0.8
# A table in memory is copied several times on its way to the networks.
_FRACTION_OF_MEMORY = 0.25
_UNKNOWN_MEMORY = 2**32  # bytes, where it can't be found out
# Rows, and cells, by which types are shown and the task is found.
_PREVIEWED, _PREVIEWED_CELLS = 2**16, 2**24
# Rows that are scored, at most, so that more need not be held out; and at least.
_SCORED, _FEWEST_SCORED = 20_000, 5
# Kinds of columns as nouns, where they are none.
_KINDS = {"empty": "empty column", "text": "text column", "unsupported": "other"}


@options.command("Train a model of a table.")
@options.table
@options.target
@option(
    "-o --output", click.Path(path_type=Path), "The folder to write.", required=True
)
@options.task
@option("--report", options.FILE, "Also write a page with figures, in HTML.")
@option(
    "--hold-out",
    FloatRange(0, 0.9, min_open=True),
    "Fraction of the rows to score the model on.",
    _HOLD_OUT,
)
@option(
    "--refit/--no-refit",
    bool,
    "Whether to train the model that is written again, on all rows.",
    True,
)
@option(
    "--time-limit",
    FloatRange(0, min_open=True),
    "Seconds that the whole command may take, from its start.",
)
@option(
    "--checkpoint",
    click.Path(path_type=Path),
    "File for the state of training, or folder with --workers. A command that was "
    "stopped goes on from it, and it is removed in the end.",
)
@options.workers
@options.ray_address
@options.skip_bad_files
@options.seed
@options.force
def fit(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    parameters: Mapping[str, Any],
    target: str,
    output: Path,
    task: "Task | None",
    report: Path | None,
    hold_out: float,
    refit: bool,
    time_limit: float | None,
    checkpoint: Path | None,
    workers: int | None,
    ray_address: str | None,
    skip_bad_files: bool,
    seed: int,
    force: bool,
) -> None:
    """Train a model that predicts one column of a table from the others.

    Missing values need no treatment. Some rows are held out, and the model is scored on
    them, beside HistGradientBoosting and a trivial model; then the model that is
    written is trained on all rows. The density is fitted to rows without a target, too.
    The folder has a card that describes the model and how good it is. Ctrl-C stops, and
    nothing is written; with --checkpoint the same command goes on later.

    TABLE is CSV, Parquet (also a folder or a pattern of files), Arrow, JSON lines or
    Excel; - is standard input. Parquet that is large beside the memory, or with
    --workers, is read in pieces, several times: the model is trained once, on the rows
    that are not held out.

    Examples
    --------
    lacunet fit patients.csv --target ill -o model
    lacunet fit patients.csv --target ill -o model --drop id --missing -999
    lacunet fit patients.csv --target cost -o model --time-limit 60 --report fit.html
    lacunet fit patients.csv --target cost -o model --checkpoint fit.state
    lacunet fit 'data/*.parquet' --target ill -o model --workers 4 --checkpoint run/
    """
    if checkpoint is not None:
        check_folder(checkpoint.parent, n_bytes=2**20)
    from lacunet import evaluation, tables
    from lacunet.estimators import check_place

    check_place(output, force=force)
    source = click.get_current_context().get_parameter_source
    is_given = {name: source(name) is _COMMANDLINE for name in ("refit", "hold_out")}
    refused = _list_refused(reading, time_limit, refit=refit and is_given["refit"])
    common: dict[str, Any] = {
        "target": target,
        "task": task,
        "checkpoint": checkpoint,
        "seed": seed,
    }
    if _is_in_pieces(terminal, table, reading, workers, skip_bad_files, refused):
        fitted = _fit_in_pieces(
            terminal,
            table,
            reading,
            parameters,
            hold_out=hold_out if is_given["hold_out"] else None,
            workers=workers or 0,
            ray_address=ray_address,
            skip_bad_files=skip_bad_files,
            **common,
        )
    else:
        fitted = _fit_in_memory(
            terminal,
            table,
            reading,
            parameters,
            hold_out=hold_out,
            refit=refit,
            time_limit=time_limit,
            **common,
        )
    found, model, facts = fitted.found, fitted.model, fitted.facts
    _print_scores(terminal, found)
    today = datetime.now(UTC).date().isoformat()
    card = evaluation.describe_model(
        found, facts, date=today, refitted=fitted.is_refitted
    )
    known = tables.ModelTable.of_columns(
        facts.columns,
        reading,
        source=facts.name,
        target=target,
        training=fitted.training,
    )
    texts = {CARD: card, known.FILE_NAME: known.to_text()}
    if report is None:
        model.save(output, force=force, texts=texts)
    else:  # both are written, or none
        from lacunet.report import write_fit

        with temporary_name(report) as page:
            title = f"A model of {target} from {facts.name}"
            write_fit(found, page, table=facts, title=title)
            check_target(report, force=force)  # it may have come meanwhile
            model.save(output, force=force, texts=texts)
            page.replace(report)
    for path in fitted.states:
        path.unlink(missing_ok=True)
    if checkpoint is not None and checkpoint.is_dir():
        with suppress(OSError):  # something else is in it
            checkpoint.rmdir()
    terminal.print(f"The model: {output}")
    if report is not None:
        terminal.print(f"The page: {report}")
    record = {"model": output, "target": target, "rows": facts.n_rows}
    record |= {**found.as_dict(), "refitted": fitted.is_refitted, "page": report}
    terminal.print_json(record)


class Fitted(NamedTuple):
    """A model and what is written with it."""

    found: "HoldOut"
    model: Any
    is_refitted: bool
    facts: "TableFacts"
    training: "Sequence[ColumnSummary]"
    states: Sequence[Path]  # files to go on from, not needed any more


def _fit_in_memory(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    parameters: Mapping[str, Any],
    *,
    target: str,
    task: "Task | None",
    hold_out: float,
    refit: bool,
    time_limit: float | None,
    checkpoint: Path | None,
    seed: int,
) -> Fitted:
    from lacunet import evaluation, tables

    if checkpoint is not None and checkpoint.is_dir():
        msg = f"Got --checkpoint {checkpoint}, a folder, but expected a file."
        raise click.UsageError(msg)

    def allow(n_trainings: int, to_score: float) -> float:
        """Divide the time that is left among trainings; return it."""
        if time_limit is None:
            return math.inf
        left = time_limit - (time.monotonic() - terminal.began) - _TO_WRITE
        seconds = (left - min(left / 3, to_score)) / n_trainings
        estimator.set_params(time_limit=max(0.1, round(seconds, 1)))
        return left

    with tables.open_table(table, reading) as file:
        tables.check_known([target], file.names, "--target")
        rows, bounds = file.read(), file.read_bounds()
        parts = evaluation.split_target(rows, target, task)
        known = rows[target].notna().to_numpy()
        bounds = {
            name: end.drop(columns=[target])[known].reset_index(drop=True)
            for name, end in bounds.items()
        }
        sizes = file.n_rows, len(parts.X_unlabelled)
        facts = evaluation.TableFacts(file.short_name, target, *sizes, file.columns)
        notices = file.list_notices()
    _print_columns(terminal, facts.columns)
    terminal.note(*notices)
    n_bounded = next(c.n_censored for c in facts.columns if c.name == target)
    if n_bounded and parts.task == "regression":
        terminal.warn(
            f"{show_count(n_bounded, 'target')} known by a bound alone: these rows are "
            f"left out, so that predictions are biased away from the bound."
        )
    _print_target(terminal, target, parts.task, parts.y, len(parts.X_unlabelled))
    estimator = options.make_estimator(
        parts.task, parameters, random_state=seed, verbose=int(not terminal.quiet)
    )
    allow(2 if refit else 1, _TO_SCORE)
    found = evaluation.hold_out(
        estimator,
        parts.X,
        parts.y,
        task=parts.task,
        X_unlabelled=parts.X_unlabelled,
        test_size=hold_out,
        random_state=seed,
        on_step=terminal.note_step,
        checkpoint=checkpoint,
        **bounds,
    )
    model = found.model
    again = None if checkpoint is None else Path(f"{checkpoint}.refit")
    if refit and allow(1, 0.0) < _ENOUGH * found.seconds["lacunet"]:
        refit = False
        terminal.warn(
            "too little time is left to train on all rows. The model that was scored "
            "is written, which has not seen the held-out rows."
        )
    if refit:
        terminal.note(f"Training on all {len(parts.y):,} rows.")
        model = estimator.fit(
            parts.X,
            parts.y,
            X_unlabelled=parts.X_unlabelled,
            checkpoint=again,
            **bounds,
        )
        found = replace(found, refit_cut=model.timed_out_)
    training = tables.summarize_columns(parts.X, tables.Schema.of_model(model))
    states = [path for path in (checkpoint, again) if path is not None]
    return Fitted(found, model, refit, facts, training, states)


# --- Parquet in pieces: files larger than memory, or many workers


def _is_in_pieces(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    workers: int | None,
    skip_bad_files: bool,
    refused: Mapping[str, str],
) -> bool:
    """Return whether a table is read in pieces, as that is asked for or it is large."""
    if workers is not None or skip_bad_files:
        which = "--skip-bad-files" if workers is None else "--workers"
        options.check_parquet(table, which)
        for option, reason in refused.items():
            msg = f"Got {option} with {which}, but there {reason}."
            raise click.UsageError(msg)
        return True
    if table == STANDARD or "://" in table or not options.is_parquet(table):
        return False
    from lacunet import tables

    with tables.open_table(table, reading) as file:
        n_columns = len({*file.names} - {*reading.drop})
        n_bytes, memory = file.n_rows * n_columns * 8, _find_memory()
        if file.format.kind != "parquet" or n_bytes < _FRACTION_OF_MEMORY * memory:
            return False
    sizes = f"{n_bytes / 2**30:.2g} GB, and there are {memory / 2**30:.2g} GB of memory"
    if refused:
        names = list_names([*refused])
        terminal.warn(f"the table has {sizes}. It is read into it because of {names}.")
        return False
    terminal.note(
        f"The table has {sizes}, so it is read in pieces, several times. The model is "
        f"trained once, without the held-out rows; --refit reads all into memory."
    )
    return True


def _find_memory() -> float:
    """Return the bytes that are available, on Linux also to a container."""
    found = [math.inf]
    with suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        [line] = [line for line in lines if line.startswith("MemAvailable:")]
        found.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return _UNKNOWN_MEMORY if min(found) == math.inf else min(found)


def _list_refused(
    reading: "ReadOptions", time_limit: float | None, *, refit: bool
) -> dict[str, str]:
    """Return options that need the table in memory, each with the reason."""
    refused = {
        "no_usual_missing" if each.name == "usual_missing" else each.name: (
            "cells are taken as they are in the files. Write null where a value is "
            "missing, and texts where a number is a category"
        )
        for each in fields(reading)
        if each.name != "drop" and getattr(reading, each.name) != each.default
    }
    if time_limit is not None:
        refused["time_limit"] = (
            "time is not divided among passes over files. Use --max-epochs, or stop "
            "with Ctrl-C and go on later with --checkpoint"
        )
    if refit:
        refused["refit"] = "the model is trained once, on the rows not held out"
    return {f"--{name.replace('_', '-')}": text for name, text in refused.items()}


def _fit_in_pieces(
    terminal: Terminal,
    table: str,
    reading: "ReadOptions",
    parameters: Mapping[str, Any],
    *,
    target: str,
    task: "Task | None",
    hold_out: float | None,
    workers: int,
    ray_address: str | None,
    checkpoint: Path | None,
    skip_bad_files: bool,
    seed: int,
) -> Fitted:
    """Fit a model, and score it; by default, hold out no more rows than are scored."""
    from lacunet import distributed, evaluation, tables

    rows = distributed.ParquetRows.open(table, skip_bad_files=skip_bad_files)
    tables.check_known([target], rows.names, "--target")
    tables.check_known(reading.drop, rows.names, "--drop")
    names = [name for name in rows.names if name not in reading.drop]
    n_shown = min(_PREVIEWED, _PREVIEWED_CELLS // len(names))
    preview = rows.preview(names, n_rows=n_shown, skip_bad_files=skip_bad_files)
    with _as_file(preview) as file:
        columns, frame = file.columns, file.read()
        notices = file.list_notices()
    is_sample = len(frame) < rows.n_rows
    if is_sample:
        terminal.print(f"In {len(frame):,} of {rows.n_rows:,} rows:")
    _print_columns(terminal, columns)
    terminal.note(*notices)
    parts = evaluation.split_target(frame, target, task, is_sample=is_sample)
    _print_target(terminal, target, parts.task, parts.y, len(parts.X_unlabelled))
    estimator = options.make_estimator(
        parts.task, parameters, random_state=seed, verbose=int(not terminal.quiet)
    )
    n_labelled = rows.n_rows * len(parts.y) / len(frame)  # about
    if hold_out is None:
        hold_out = min(_HOLD_OUT, _SCORED / n_labelled)
    if hold_out * n_labelled < _FEWEST_SCORED:
        msg = (
            f"Got --hold-out {hold_out:g} of about {n_labelled:.0f} rows with a "
            f"target, but expected {_FEWEST_SCORED} rows to score. Give a larger "
            f"fraction, or leave out --workers."
        )
        raise click.UsageError(msg)
    run = distributed.Run(
        estimator,
        rows,
        target=target,
        workers=workers,
        checkpoint=checkpoint,
        ray_address=ray_address,
        skip_bad_files=skip_bad_files,
        hold_out=hold_out,
        drop=reading.drop,
    )
    n_train = round((1 - hold_out) * rows.n_rows)
    by = f" by {workers} workers" if workers > 1 else ""
    terminal.note(f"Fitting lacunet on about {n_train:,} rows{by}.")
    began = time.perf_counter()
    try:
        run.fit()
    except SystemExit:
        if checkpoint is not None:
            terminal.note(f"The same command goes on from --checkpoint {checkpoint}.")
        raise
    seconds = time.perf_counter() - began
    labels = getattr(estimator, "classes_", None)
    if labels is not None and labels.dtype.kind == "f" and (labels % 1 == 0).all():
        estimator.classes_ = labels.astype("int64")  # 1 and not 1.0, as in memory
    found = _score(terminal, run, parts.task, seconds, hold_out, seed)
    assert run.summary is not None
    sketches = dict(zip(run.reader.names, run.summary.columns, strict=True))
    described = []
    for column in columns:
        sketch = sketches.get(column.name)
        n_missing = found.n_unlabelled if sketch is None else sketch.n_missing
        kind: Any = column.kind
        if kind == "empty" and sketch is not None:  # in the rows that were shown
            kind = sketch.kind or kind
        described.append(replace(column, kind=kind, n_missing=n_missing))
    facts = evaluation.TableFacts(
        Path(table).name,
        target,
        run.reader.rows.n_rows,
        found.n_unlabelled,
        tuple(described),
        n_counted=run.summary.n_rows,
    )
    summaries = [sketch.summarise(name) for name, sketch in sketches.items()]
    training = [each for each in summaries if each is not None]
    states = [] if checkpoint is None else [*checkpoint.glob("*.safetensors")]
    return Fitted(found, found.model, False, facts, training, states)


def _score(
    terminal: Terminal,
    run: "Run",
    task: "Task",
    seconds: float,
    hold_out: float,
    seed: int,
) -> "HoldOut":
    """Score the model on held-out rows, beside others that learn from a sample."""
    from lacunet import evaluation, tables

    summary, target = run.summary, run.reader.target
    assert summary is not None
    schema = tables.Schema.of_model(run.estimator)
    classes = task == "classification"

    def split(rows: "pa.Table") -> "tuple[pd.DataFrame, np.ndarray]":
        import numpy as np
        import pandas as pd
        import pyarrow as pa

        cells = np.array(rows.column(target).to_pylist(), dtype=object)
        kept = np.ones(len(cells), dtype=bool)
        if classes:  # a rare one may be in held-out rows alone
            kept = np.isin(cells, np.array(run.estimator.classes_, dtype=object))
        y = np.array(cells[kept].tolist())
        y = y.astype(run.estimator.classes_.dtype if classes else np.float64)
        with _as_file(rows.filter(pa.array(kept)).drop_columns([target])) as file:
            X = pd.concat(file.blocks(schema=schema), ignore_index=True)
        return X, y

    n_train = sum(summary.counts.values()) if classes else summary.moments.n
    return evaluation.score_model(
        run.estimator,
        split(run.held_out),
        split(run.sample),
        task=task,
        seconds=seconds,
        n_unlabelled=summary.n_rows - n_train,
        test_size=hold_out,
        random_state=seed,
        on_step=terminal.note_step,
        n_train=n_train,
        class_counts=summary.counts,
    )


@contextmanager
def _as_file(rows: "pa.Table") -> "Iterator[TableFile]":
    """Yield some rows as a file, to be read like any other."""
    import pyarrow.parquet as pq

    from lacunet import tables

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        pq.write_table(rows, path)
        with tables.open_table(path) as file:
            yield file


# --- what is printed


def _print_columns(terminal: Terminal, columns: "Sequence[ColumnInfo]") -> None:
    """Print how many columns of each kind there are, and which have missing values."""
    kinds = Counter(_KINDS.get(column.kind, column.kind) for column in columns)
    named = ", ".join(show_count(n, kind) for kind, n in kinds.most_common())
    named = named.replace("categorys", "categories")
    rows = []
    for column in sorted(columns, key=lambda column: -column.n_missing):
        if column.n_missing:
            distinct = "many" if column.n_distinct is None else str(column.n_distinct)
            rows.append((column.name, column.kind, distinct, str(column.n_missing)))
    missing = f"missing values in {len(rows)}" if rows else "nothing is missing"
    terminal.print(f"{show_count(len(columns), 'column')}: {named}; {missing}.")
    if rows:
        header = ("column", "type", ">values", ">missing")
        terminal.print_table(header, rows, max_rows=_MAX_COLUMNS)


def _print_target(
    terminal: Terminal, target: str, task: str, y: "np.ndarray", n_unlabelled: int
) -> None:
    import numpy as np

    if task == "regression":
        what = f"numbers from {y.min():g} to {y.max():g}"
    else:
        classes, counts = np.unique(y, return_counts=True)
        named = [f"{name} ({n})" for name, n in zip(classes, counts, strict=True)]
        what = f"classes {', '.join(named[:_MAX_CLASSES])}"
        if len(named) > _MAX_CLASSES:
            what += f" and {len(named) - _MAX_CLASSES} more"
    terminal.print(f"\nTarget {target!r}: {task}, {what}.")
    if n_unlabelled:
        n_rows = show_count(n_unlabelled, "row")
        terminal.print(f"Without a target: {n_rows}, used to fit the density alone.")


def _print_scores(terminal: Terminal, found: "HoldOut") -> None:
    terminal.print(f"\nOn {show_count(found.n_test, 'held-out row')}:")
    rows = []
    for name, scores in found.scores.items():
        values = (scores[metric.key] for metric in found.metrics)
        shown = ("-" if value is None else f"{value:.4g}" for value in values)
        rows.append((found.titles[name], *shown, clock_time(found.seconds[name])))
    titles = (f">{metric.title}" for metric in found.metrics)
    terminal.print_table(("model", *titles, ">time to fit"), rows)
    terminal.print_findings(found.findings)
