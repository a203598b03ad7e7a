"""Predictions for the rows of many Parquet files."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lacunet._output import check_folder, explain
from lacunet._text import list_names, show_count
from lacunet.distributed._parquet import BadFileError, ParquetRows
from lacunet.distributed._workers import open_workers
from lacunet.estimators import load
from lacunet.exceptions import TableError
from lacunet.tables import (
    FileFormat,
    ModelTable,
    ReadOptions,
    Schema,
    open_output,
    open_table,
    predict_blocks,
    write_filled,
    write_rows,
)

_BLOCK = 2**14  # rows at a time
_PARQUET = FileFormat("parquet")


def predict(
    model: Any,
    data: Any,
    output: str | os.PathLike[str],
    *,
    workers: int = 0,
    ray_address: str | None = None,
    skip_bad_files: bool = False,
    force: bool = False,
) -> int:
    """Predict the rows of Parquet files, a file at a time on each worker.

    Each file of the data has one of the same name in ``output``, with a row for each of
    its rows, in their order. Predictions have the columns that ``lacunet predict``
    writes: ``prediction``, and the probability of each class. An imputer or an
    autoencoder writes the table itself with its missing values filled: columns that
    it does not know, and types, are as they were.

    A file has its name when all of it is written; the file of a worker that died is
    written again by another. Files are read in blocks: memory does not grow with rows.

    Parameters
    ----------
    model : estimator or path
        A fitted estimator of lacunet, or the folder of a saved one. Of a model of
        ``lacunet fit`` the codes of missing values are known from there.
    data : path, sequence of paths, or pyarrow.dataset.Dataset
        Parquet files: a file, a folder, a pattern such as ``new/*.parquet``, a list of
        these, or a dataset. Columns are matched by name, in any order; those that the
        model does not know are ignored. Lacking ones are an error, unless the model has
        ``missing_columns="use"``.
    output : path
        A folder, which is made if it does not exist.
    workers : int, default=0
        Number of processes on Ray; 0 predicts in this one, without Ray.
    ray_address : str, default=None
        Of a running cluster; a local one is started for the call by default.
    skip_bad_files : bool, default=False
        Whether to leave out files that can't be read, or that do not have the columns
        and types of the others, with a warning that lists them. They are an error
        otherwise.
    force : bool, default=False
        Whether ``output`` may have files: those of the same names are replaced.

    Returns
    -------
    int
        Number of rows.

    Notes
    -----
    Missing values in a column that had none in training are used without a warning, as
    with ``on_unseen_missing="use"``; "raise" raises.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from lacunet import LacunetImputer, distributed
    >>> table = pd.DataFrame({"age": [40, 60, None, 41], "old": [0.0, 1, 1, None]})
    >>> model = LacunetImputer(random_state=0).fit(table)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/new.parquet")
    ...     n_rows = distributed.predict(model, f"{folder}/*", f"{folder}/out")
    ...     filled = pd.read_parquet(f"{folder}/out/new.parquet")
    >>> n_rows, int(filled.isna().to_numpy().sum())
    (4, 0)
    """
    folder = Path(output).absolute()  # a worker may be in another one
    check_output(folder, force=force)
    options = ReadOptions()
    if isinstance(model, (str, os.PathLike)):
        options = ModelTable.read(model).options(options)
        model = load(model)
    schema = _find_schema(model)
    rows = ParquetRows.open(data, skip_bad_files=skip_bad_files, columns=schema.names)
    _check_columns(model, schema, rows)
    return predict_files(
        model,
        options,
        rows,
        folder,
        workers=workers,
        ray_address=ray_address,
        skip_bad_files=skip_bad_files,
    )


def predict_files(
    model: Any,
    options: ReadOptions,
    rows: ParquetRows,
    folder: Path,
    *,
    workers: int,
    ray_address: str | None,
    skip_bad_files: bool,
    on_rows: Callable[[int], None] = lambda n: None,
) -> int:
    """Write the predictions of files, whose columns are known to be fine.

    ``on_rows`` is called with the number of rows of each file.
    """
    targets = {path: folder / rows.relative(path) for path in rows.paths}
    for path, target in targets.items():
        if rows.filesystem is None and target.exists() and target.samefile(path):
            msg = (
                f"Got output={str(folder)!r}, where {path} of the data is, but "
                f"expected another folder."
            )
            raise FileExistsError(msg)
    check_folder(folder, n_bytes=0)
    if model.on_unseen_missing == "warn":
        model = copy.copy(model).set_params(on_unseen_missing="use")
    n_rows = n_files = 0
    with open_workers(workers, address=ray_address) as pool:
        # A worker has one core; blocks side by side would be too many.
        n_jobs = 1 if workers or pool.n > 1 else None
        shared = (model, options, rows, n_jobs)
        for found in pool.map(_predict_file, targets.items(), *shared):
            if isinstance(found, int):
                n_rows += found
                n_files += 1
                on_rows(found)
            elif skip_bad_files and isinstance(found, BadFileError):
                rows = rows.without(found.path, found.reason)
            else:
                n_all = show_count(len(targets), "file")
                msg = f"{found} {n_files} of {n_all} were written to {str(folder)!r}."
                kind = TableError if isinstance(found, TableError) else OSError
                raise kind(msg) from found
    rows.warn_skipped()
    return n_rows


def check_output(folder: Path, *, force: bool) -> None:
    """Refuse a place that is no folder, or has files that may not be replaced."""
    if folder.exists() and not folder.is_dir():
        msg = f"Got output={str(folder)!r}, a file, but expected a folder."
        raise NotADirectoryError(msg)
    if folder.exists() and not force and any(folder.iterdir()):
        msg = (
            f"Got output={str(folder)!r}, which has files, but expected a new or an "
            f"empty folder. Give another, or force=True (--force) to replace files of "
            f"the same names."
        )
        raise FileExistsError(msg)


def _find_schema(model: Any) -> Schema:
    """Return the columns of a model, if it is a fitted one of ours."""
    if not hasattr(model, "impute"):
        msg = (
            f"Got model of type {type(model).__name__}, but expected an estimator of "
            f"lacunet, such as LacunetClassifier, or the folder of a saved one."
        )
        raise TypeError(msg)
    check_is_fitted(model)
    return Schema.of_model(model)


def _check_columns(model: Any, schema: Schema, rows: ParquetRows) -> None:
    """Refuse data that lack columns of the model."""
    lacking = [x for x in schema.names if x not in {*rows.names, *schema.empty}]
    if lacking and (model.missing_columns == "raise" or not rows.names):
        msg = (
            f"Got data without column {list_names(lacking)}, but expected all that the "
            f"model was trained on."
        )
        if rows.names:
            msg += " Set missing_columns='use' to count them as missing."
        raise TableError(msg)


def _predict_file(
    item: tuple[str, Path],
    model: Any,
    options: ReadOptions,
    rows: ParquetRows,
    n_jobs: int | None,
) -> int | BadFileError | OSError:
    """Write the predictions of a file; return its number of rows, or what is wrong."""
    path, target = item
    schema = Schema.of_model(model)
    try:
        with (
            rows.local(path) as here,
            open_table(here, options) as table,
            # What is there was written by a worker that died, or may be replaced.
            open_output(target, force=True) as stream,
        ):
            if not hasattr(model, "predict"):
                count = write_filled(table, stream, model.transform, schema=schema)
                return count.n_rows
            blocks = table.blocks(_BLOCK, schema=schema)
            predictions = predict_blocks(model, blocks, n_jobs)
            return write_rows(stream, predictions, _PARQUET)
    except TableError as error:
        return _explain(path, rows, error)
    except OSError as error:
        return OSError(f"Could not write {str(target)!r}: {explain(error)}.")


def _explain(path: str, rows: ParquetRows, error: TableError) -> BadFileError:
    """Return what is wrong with a file, and in which row group if it can't be read."""
    try:
        for group in rows.groups:
            if group.path == path:
                for _ in rows.batches(group):
                    pass
    except BadFileError as found:
        return found
    return BadFileError(path, f"which can't be predicted ({str(error).rstrip('.')})")
