"""Files beside the results: images of autoencoders, and the data of figures."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.experiments._jobs import Job


def path_of_images(folder: Path, job: Job) -> Path:
    """Return where the images of a job are kept.

    Parameters
    ----------
    folder : Path
    job : Job

    Returns
    -------
    Path
    """
    words = (job.protocol, job.dataset, job.method, str(job.seed))
    name = "_".join(re.sub(r"[^\w-]", "-", word) for word in words)
    return folder / f"{job.experiment}-images" / f"{name}.npz"


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file that is whole or not there.

    Parameters
    ----------
    path : Path
        Its folder is made.
    arrays : mapping of str to ndarray
    """
    with _whole(path) as part, part.open("wb") as stream:
        np.savez_compressed(stream, **dict(arrays))  # type: ignore[arg-type]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file, none if it is not there.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict of str to ndarray
    """
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def update_figure(path: Path, label: str, content: Mapping[str, Any]) -> None:
    """Write the data of a figure, beside those of other protocols.

    Parameters
    ----------
    path : Path
        A ``.json`` has an object for each protocol. A ``.npz`` has arrays, with names
        such as ``quick/original``.
    label : str
        Name of the protocol.
    content : mapping
    """
    if path.suffix == ".npz":
        kept = {
            name: array
            for name, array in read_arrays(path).items()
            if not name.startswith(f"{label}/")
        }
        new = {f"{label}/{name}": array for name, array in content.items()}
        write_arrays(path, {**kept, **new})
    else:
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        text = json.dumps({**known, label: content}, allow_nan=False)
        with _whole(path) as part:
            part.write_text(text + "\n", "utf-8")


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Give another name to write to, which becomes ``path`` if all goes well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
