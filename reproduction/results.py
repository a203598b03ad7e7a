"""Measurements as lines of JSON, and all of them as one table."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lacunet.exceptions import LacunetError, warn_user

# What names a measurement, all that is decided before it is run; and all of its fields.
KEY = ("experiment", "dataset", "rate", "method", "fold", "seed", "protocol", "metric")
FIELDS = (*KEY, "value", "params", "seconds", "versions", "commit")


def read_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the measurements in the ``*.jsonl`` files of a folder.

    Parameters
    ----------
    folder : str or PathLike
        A folder, or one file. One that does not exist has no measurements.

    Returns
    -------
    DataFrame
        One row for each cell, with the columns ``FIELDS``, sorted by ``KEY``. Of
        several lines with the same key the last one is taken. ``rate`` is NaN where no
        values were removed at random, and ``value`` where nothing could be measured:
        ``params["why"]`` is then the reason; ``commit`` where it is not known.

    Examples
    --------
    >>> from reproduction.results import read_results
    >>> list(read_results("no-such-folder"))[:4]
    ['experiment', 'dataset', 'rate', 'method']
    """
    place = Path(folder)
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    cells = {
        tuple(cell[name] for name in KEY): cell
        for file in files
        if file.exists()
        for cell in _read_lines(file)
    }
    frame = pd.DataFrame(list(cells.values()), columns=list(FIELDS))
    frame = frame.astype({"rate": float, "value": float, "seconds": float})
    frame = frame.astype({"fold": int, "seed": int})
    return frame.sort_values(list(KEY), na_position="first", ignore_index=True)


def append_results(
    path: str | os.PathLike[str], cells: Iterable[Mapping[str, Any]]
) -> None:
    """Append measurements to a file of JSON lines, which is made if it is not there.

    All lines go to the disk in one write. What a killed run has left of its last line
    is removed first.

    Parameters
    ----------
    path : str or PathLike
        The file; its folder is made too.
    cells : iterable of mappings
        Each with all of ``FIELDS``. ``rate`` and ``value`` may be None; without a value
        the reason stands in ``params["why"]``.

    Examples
    --------
    >>> import tempfile
    >>> from reproduction.results import append_results, read_results
    >>> cell = {
    ...     "experiment": "table-4", "dataset": "pima", "rate": None,
    ...     "method": "paper", "fold": 0, "seed": 0, "protocol": "quick",
    ...     "metric": "accuracy", "value": 0.75, "params": {"n_components": 3},
    ...     "seconds": 2.5, "versions": {"lacunet": "0.1.0"}, "commit": None,
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_results(f"{folder}/table-4.jsonl", [cell])
    ...     read_results(folder)["value"].to_list()
    [0.75]
    """
    lines = "".join(
        json.dumps(_check(cell, "a cell"), allow_nan=False, default=_to_plain) + "\n"
        for cell in cells
    )
    if not lines:
        return
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as stream:
        stream.seek(0)
        text = stream.read()
        whole = text.rfind(b"\n") + 1
        if _is_json(text[whole:]):  # only its end is missing
            lines = "\n" + lines
        else:
            stream.truncate(whole)
        stream.write(lines.encode())
        stream.flush()
        os.fsync(stream.fileno())


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file; a cut last line is skipped with a warning."""
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        place = f"line {number} of {path}"
        if not line.strip():
            continue
        if not _is_json(line):
            if number == len(lines) and not line.endswith(b"\n"):
                warn_user(
                    f"Got {place}, the last, cut off: it is skipped. A run was killed "
                    f"while it wrote it. Run that experiment again to fill the gap."
                )
                return
            msg = (
                f"Got {place} that is not JSON, but expected one record. Delete the "
                f"line and run that experiment again."
            )
            raise LacunetError(msg)
        yield _check(json.loads(line), place)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _check(cell: Any, place: str) -> dict[str, Any]:
    """Return a cell with its fields in order, or refuse it."""
    if not isinstance(cell, Mapping) or set(cell) != set(FIELDS):
        found = ", ".join(map(str, cell)) if isinstance(cell, Mapping) else repr(cell)
        msg = f"Got {place} with {found}, but expected the fields {', '.join(FIELDS)}."
        raise LacunetError(msg)
    value = cell["value"]
    if value is None and not cell["params"].get("why"):
        msg = f"Got {place} without a value, but expected then a reason: params['why']."
        raise LacunetError(msg)
    is_number = isinstance(value, (int, float, np.number))
    if value is not None and not (is_number and math.isfinite(value)):
        msg = f"Got {place} with value={value!r}, but expected a finite number or None."
        raise LacunetError(msg)
    return {name: cell[name] for name in FIELDS}


def _to_plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    msg = (
        f"Got a {type(value).__name__} in a cell, but expected what JSON has. Convert "
        f"it, an array with tolist()."
    )
    raise TypeError(msg)
