"""What a fit has found so far, in files: a fit that was killed goes on from there."""

import hashlib
import importlib
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from lacunet._output import check_folder, explain, temporary_name
from lacunet.exceptions import LacunetError

Result = TypeVar("Result")
_RECORD = "lacunet"


class Journal:
    """Results of the steps of one fit, each in a file of a folder.

    What is there is found once, at the beginning: where several processes run the same
    program, each of them takes the same steps, and one of them writes.

    Parameters
    ----------
    folder : Path, default=None
        Nothing is kept if there is none.
    owner : str, default=""
        A digest of the data and the parameters: files of others are refused.
    writes : bool, default=True
        Whether this process writes.
    """

    def __init__(
        self, folder: Path | None = None, owner: str = "", *, writes: bool = True
    ) -> None:
        self.folder, self.owner, self._writes = folder, owner, writes
        self._found: set[str] = set()
        if folder is None:
            return
        if folder.exists():
            if not folder.is_dir():
                msg = f"Got checkpoint={str(folder)!r}, a file, but expected a folder."
                raise LacunetError(msg)
            # Hidden ones are what a process that was killed had not finished.
            names = (path.name for path in folder.iterdir())
            self._found = {name for name in names if not name.startswith(".")}
            if self._found and "owner.safetensors" not in self._found:
                msg = (
                    f"Got checkpoint={str(folder)!r}, a folder with other files, but "
                    f"expected none, an empty one, or the checkpoint of a fit."
                )
                raise LacunetError(msg)
        if writes:
            check_folder(folder, n_bytes=2**20)
            folder.mkdir(parents=True, exist_ok=True)

    def remember(
        self, name: str, compute: Callable[[], Result], of: Any = None
    ) -> Result:
        """Return the result of a step, computed now unless it was before.

        ``of`` is what the step was computed from, and has to be the same then.
        """
        if self.folder is None:
            return compute()
        path = self.folder / f"{name}.safetensors"
        owner = self.owner
        if of is not None:
            tensors: dict[str, Tensor] = {}
            content = [repr(_pack(of, tensors)).encode()]
            content += [tensor.numpy().tobytes() for tensor in tensors.values()]
            owner += hashlib.sha256(b"".join(content)).hexdigest()
        if path.name in self._found:
            return self._read(path, owner)  # type: ignore[no-any-return]
        result = compute()
        if self._writes:
            tensors = {}
            record = {"owner": owner, "result": _pack(result, tensors)}
            data = save(tensors, {_RECORD: json.dumps(record)})
            try:
                with temporary_name(path) as temporary:
                    temporary.write_bytes(data)
                    temporary.replace(path)
            except OSError as error:
                msg = f"Could not write the checkpoint {path}: {explain(error)}."
                raise LacunetError(msg) from error
        return result

    def _read(self, path: Path, owner: str) -> Any:
        try:
            with safe_open(path, "pt") as file:
                record = json.loads(file.metadata()[_RECORD])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, TypeError, KeyError, ValueError) as error:
            msg = (
                f"Got the checkpoint {path}, which can't be read ({error}). Delete its "
                f"folder, or give another one, to begin anew."
            )
            raise LacunetError(msg) from error
        if record["owner"] != owner:
            msg = (
                f"Got checkpoint={str(path.parent)!r}, which was written by a fit with "
                f"other parameters or other data, but expected one of this fit. Delete "
                f"it, or give another path."
            )
            raise LacunetError(msg)
        return _unpack(record["result"], tensors)


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return a value as JSON-able ones, with its arrays in ``tensors``.

    Records keep their type: dataclasses and named tuples of lacunet.
    """
    if isinstance(value, (np.ndarray, Tensor, bytes)):
        key = str(len(tensors))
        kind = type(value).__name__
        if isinstance(value, bytes):
            value = np.frombuffer(value, dtype=np.uint8)
        elif isinstance(value, np.ndarray):
            kind = str(value.dtype)
        if isinstance(value, np.ndarray):
            # Not every version of torch has unsigned integers of 64 bits.
            whole = value.view(np.int64) if value.dtype == np.uint64 else value
            value = torch.from_numpy(whole.copy(order="C"))
        tensors[key] = value.contiguous()
        return {"tensor": key, "kind": kind}
    if is_dataclass(value) or hasattr(value, "_fields"):
        parts = value
        if is_dataclass(value):
            parts = [getattr(value, field.name) for field in fields(value)]
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        return {"type": name, "fields": [_pack(part, tensors) for part in parts]}
    if isinstance(value, dict):
        pairs = [[_pack(k, tensors), _pack(v, tensors)] for k, v in value.items()]
        return {"pairs": pairs}
    if isinstance(value, (list, tuple)):
        parts = [_pack(part, tensors) for part in value]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpack(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        tensor, kind = tensors[value["tensor"]], value["kind"]
        if kind == "Tensor":
            return tensor
        array = tensor.numpy()
        if kind == "bytes":
            return array.tobytes()
        return array.view(np.uint64) if kind == "uint64" else array
    if "pairs" in value:
        return {_unpack(k, tensors): _unpack(v, tensors) for k, v in value["pairs"]}
    if "tuple" in value:
        return tuple(_unpack(part, tensors) for part in value["tuple"])
    module, name = value["type"].split(":")
    record: Any = None
    if module.startswith("lacunet."):
        record = getattr(importlib.import_module(module), name, None)
    if not is_dataclass(record) and not hasattr(record, "_fields"):
        msg = (
            f"Got a checkpoint with a {module}.{name}, but expected lacunet's records."
        )
        raise LacunetError(msg)
    return record(*(_unpack(part, tensors) for part in value["fields"]))
