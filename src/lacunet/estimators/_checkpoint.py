"""The checkpoint of a fit: where it is kept, and whose it is."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lacunet.estimators._saving import AnyPath, read_checkpoint, write_checkpoint
from lacunet.exceptions import LacunetError
from lacunet.training import Tensors

# They say how long to go on, or how to predict, not what is trained.
_FREE = (
    "max_epochs",
    "n_samples",
    "on_unseen_missing",
    "propagate",
    "time_limit",
    "verbose",
)


class CheckpointFile:
    """A file that training is written to after each epoch, and goes on from.

    Parameters
    ----------
    path : str or PathLike

    Attributes
    ----------
    seed : int or None
        That training began with, None if it has not begun.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._owner = ""
        self._found: tuple[Tensors, dict[str, Any]] | None = None
        target = Path(os.fsdecode(path))
        if not target.parent.is_dir() or target.is_dir():
            msg = (
                f"Got checkpoint={os.fspath(path)!r}, but expected the path of a file "
                f"in a folder that exists."
            )
            raise LacunetError(msg)
        if target.exists():
            self._found = read_checkpoint(path)
        self.seed: int | None = self._found[1].get("seed") if self._found else None

    def belong_to(self, owner: str, seed: int) -> None:
        """Say whose checkpoint it shall be; refuse that of another training."""
        self._owner = owner
        self.seed = seed
        if self._found is not None and self._found[1].get("owner") != owner:
            msg = (
                f"Got checkpoint={os.fspath(self._path)!r}, which was written by a fit "
                f"with other parameters or other data, but expected one of this fit. "
                f"Delete it, or give another path."
            )
            raise LacunetError(msg)

    def read(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return what training stood at, None if it has not begun."""
        return self._found

    def write(self, tensors: Tensors, content: dict[str, Any]) -> None:
        """Replace the checkpoint."""
        owned = {**content, "owner": self._owner, "seed": self.seed}
        write_checkpoint(self._path, tensors, owned)


def name_owner(parameters: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> str:
    """Return a digest of packed parameters and of data, which determine a fit."""
    fixed = {name: value for name, value in parameters.items() if name not in _FREE}
    text = json.dumps(fixed, sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
