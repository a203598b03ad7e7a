"""Models and checkpoints on disk: no pickle, never half written, never half read."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._format_1 import upgrade
from lacunet.exceptions import LacunetError
from lacunet.training import Tensors

AnyPath = str | os.PathLike[str]

FORMAT = 3
LIBRARY = "lacunet"
TENSORS = "model.safetensors"
RECORD = "model.json"
TEXTS = "texts"  # in a record: names of the other files

_SAVE_AGAIN = "It is damaged or was edited: save it again."
# Parameters of how long to train, or how to predict: a checkpoint holds for others.
_FREE = (
    "max_epochs",
    "missing_columns",
    "n_samples",
    "on_unseen_missing",
    "propagate",
    "time_limit",
    "verbose",
    "warm_start",
)


def write_model(
    path: AnyPath,
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
    *,
    force: bool = False,
) -> None:
    """Write a model: a folder with ``model.safetensors``, ``model.json`` and texts.

    ``path`` is where nothing is, an empty folder or, with ``force``, a model of this
    library; anything else is refused. The folder is made under a temporary name beside
    it and renamed, so that there is never half a model. A model that is there already
    is renamed first and deleted afterwards: a process killed in between leaves it
    beside ``path``, with a name that ends in ``.old``.
    """
    beside = texts or {}
    data = _dump(tensors)
    listed = {**content, TEXTS: sorted(beside)} if beside else content
    record = seal(listed, tensors_sha256=_sha256(data))
    files = {name: text.encode() for name, text in beside.items()}
    with _disk_errors("write a model", path):
        target = _target(path)
        _check_replaceable(target, force=force)
        folder, former = (
            target.with_name(f".{target.name}.{secrets.token_hex(8)}.{ending}")
            for ending in ("tmp", "old")
        )
        folder.mkdir()
        try:
            for name, text in {**files, TENSORS: data, RECORD: record.encode()}.items():
                _write_file(folder / name, text)
            if target.exists():
                target.rename(former)
            try:
                folder.rename(target)
            except OSError:
                if former.exists():
                    former.rename(target)
                raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(former, ignore_errors=True)


def check_place(path: AnyPath, *, force: bool = False) -> None:
    """Check that a model can be written to a path, before any work is done.

    Parameters
    ----------
    path : str or PathLike
        The folder that ``save`` shall write. It may not exist, or be empty.
    force : bool, default=False
        Whether it may hold a model, which would be replaced.

    Raises
    ------
    LacunetError
        If anything else is there, or its parent folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from lacunet.estimators import check_place
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_place(f"{folder}/model")
    """
    with _disk_errors("write a model", path):
        _check_replaceable(_target(path), force=force)


def read_model(path: AnyPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the content that ``write_model`` wrote.

    Nothing of the files is run or imported, and nothing is used before its sha256 is
    verified. Content of earlier formats is brought into the present one.
    """
    with _disk_errors("read a model", path):
        folder = Path(os.fsdecode(path))
        _check_is_folder(folder)
        text = _read_file(folder / RECORD)
        data = _read_file(folder / TENSORS)
    place = f"a {RECORD} in {folder}"
    try:
        record = json.loads(text)
        sums = record.pop("sha256", {})
        tensors_sha256, claimed = sums.get("tensors"), sums.get("content")
        found = _digest_record(record, tensors_sha256)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        msg = f"Got {place} that is no record in JSON ({error}). {_SAVE_AGAIN}"
        raise LacunetError(msg) from error
    number = record.get("format")
    if record.get("library") != LIBRARY:
        msg = (
            f"Got {place} of library {record.get('library')!r}, but expected one that "
            f"{LIBRARY} saved."
        )
        raise LacunetError(msg)
    if type(number) is int and number > FORMAT:
        msg = (
            f"Got {place} of format {number}, but expected at most {FORMAT}: a newer "
            f"lacunet wrote it. Update lacunet."
        )
        raise LacunetError(msg)
    if found != claimed or type(number) is not int:
        msg = f"Got {place} whose content does not match its sha256. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    if _sha256(data) != tensors_sha256:
        msg = (
            f"Got a {TENSORS} in {folder} that does not match the sha256 in {RECORD}. "
            f"It is damaged, or of another model: copy both files again."
        )
        raise LacunetError(msg)
    with model_errors(path):
        content = record["content"]
        tensors = _load(data, folder / TENSORS)
        return (tensors, content) if number == FORMAT else upgrade(tensors, content)


def seal(content: Mapping[str, Any], *, tensors_sha256: str) -> str:
    """Return the text of a record, with the sha256 of itself and of its tensors.

    Floats in ``content`` are finite and come back bit by bit, tuples as lists.
    """
    record = {"format": FORMAT, "library": LIBRARY, "content": content}
    try:
        digest = _digest_record(record, tensors_sha256)
        sums = {"tensors": tensors_sha256, "content": digest}
        return json.dumps({**record, "sha256": sums}, indent=1, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = (
            f"Got content that is not JSON ({error}), but expected strings, finite "
            f"numbers, booleans, None, and lists and dicts of them."
        )
        raise LacunetError(msg) from error


def _digest_record(record: Mapping[str, Any], tensors_sha256: Any) -> str:
    """Return the sha256 of a record in canonical JSON."""
    whole = {**record, "sha256": {"tensors": tensors_sha256}}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return _sha256(text.encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class CheckpointFile:
    """A file that training is written to after each epoch, and resumed from.

    It is one safetensors file with a record in its metadata. ``seed`` is the one that
    training began with, None if it has not begun.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._owner = ""
        self._found: tuple[Tensors, dict[str, Any]] | None = None
        self.seed: int | None = None
        target = Path(os.fsdecode(path))
        if not target.parent.is_dir() or target.is_dir():
            msg = (
                f"Got checkpoint={os.fspath(path)!r}, but expected the path of a file "
                f"in a folder that exists."
            )
            raise LacunetError(msg)
        if target.exists():
            with _disk_errors("read a checkpoint", path):
                data = _read_file(target)
            tensors = _load(data, path)
            header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
            try:
                record = json.loads(header["__metadata__"][LIBRARY])
                self.seed = record["seed"]
            except (LookupError, TypeError, ValueError) as error:
                msg = f"Got {path}, but expected nothing, or a checkpoint of lacunet."
                raise LacunetError(msg) from error
            self._found = tensors, record

    def belong_to(self, owner: str, seed: int) -> None:
        """Set the fit that it belongs to; refuse the checkpoint of another one."""
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
        """Return the state of training, None if it has not begun."""
        return self._found

    def write(self, tensors: Tensors, content: dict[str, Any]) -> None:
        """Replace the checkpoint, by renaming a whole one: it is never half written."""
        owned = {**content, "owner": self._owner, "seed": self.seed}
        data = _dump(tensors, {LIBRARY: json.dumps(owned)})
        with _disk_errors("write a checkpoint", self._path):
            target = _target(self._path)
            temporary = target.with_name(f".{target.name}.tmp")
            temporary.unlink(missing_ok=True)
            _write_file(temporary, data)
            temporary.replace(target)


def name_owner(parameters: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> str:
    """Return a digest of the packed parameters and data that determine a fit."""
    fixed = {name: value for name, value in parameters.items() if name not in _FREE}
    text = json.dumps([FORMAT, fixed], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


# --- between a fitted estimator and the two files of a model


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON-able values."""
    return {name: _pack(value, name) for name, value in parameters.items()}


def _pack(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list, np.ndarray)):
        return {"list": [_pack(item, name) for item in value]}
    if isinstance(value, dict):
        items = value.items()
        return {"dict": [[_pack(key, name), _pack(item, name)] for key, item in items]}
    if isinstance(value, IncompleteGaussianMixture):
        return {"mixture": pack_parameters(value.get_params(deep=False))}
    if name == "random_state":
        return None  # a generator cannot be saved; the model is fitted already
    msg = (
        f"Got {name}={value!r}, but expected something that can be written to a model "
        f"file without code: a number, a text, a tuple of them or, for density, an "
        f"IncompleteGaussianMixture. Give an activation by its name."
    )
    raise LacunetError(msg)


def unpack_parameters(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters from what ``pack_parameters`` returned."""
    return {name: _unpack(value) for name, value in state.items()}


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "list":
        return tuple(_unpack(item) for item in content)
    if kind == "dict":
        return {_unpack(key): _unpack(item) for key, item in content}
    if kind == "mixture":
        return IncompleteGaussianMixture(**unpack_parameters(content))
    msg = f"a parameter of unknown kind {kind!r}"
    raise ValueError(msg)


def pack_array(array: np.ndarray) -> dict[str, Any]:
    """Return an array of labels or names as JSON-able values."""
    kind = "O" if array.dtype.kind in "OT" else array.dtype.str
    values = [value.item() if hasattr(value, "item") else value for value in array]
    if not all(isinstance(value, (str, int, float, bool)) for value in values):
        msg = (
            f"Got classes or names such as {values[0]!r}, but expected texts, numbers "
            f"or booleans: others can't be written to a model file without code."
        )
        raise LacunetError(msg)
    return {"dtype": kind, "values": values}


def unpack_array(state: Mapping[str, Any]) -> np.ndarray:
    """Return the array of what ``pack_array`` returned."""
    dtype = np.dtype(state["dtype"])
    if dtype.kind not in "OUbiuf":
        msg = f"an array of dtype {dtype}"
        raise ValueError(msg)
    return np.array(state["values"], dtype=dtype)


def check_agreement(**pairs: tuple[Any, Any]) -> None:
    """Refuse pairs of (found, expected) in which they differ."""
    for name, (found, expected) in pairs.items():
        if found != expected:
            msg = f"{name} is {found!r} in one place and {expected!r} in another"
            raise ValueError(msg)


@contextmanager
def model_errors(path: AnyPath) -> Iterator[None]:
    """Turn the errors of an inconsistent model into a clear one."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        msg = (
            f"Got a model in {path} whose content does not fit together ({error}), but "
            f"expected one written by save. Save it again."
        )
        raise LacunetError(msg) from error


# --- tensors and files


def _dump(
    tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> bytes:
    # Copies that share no memory, as safetensors wants them.
    owned = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return dump_tensors(owned, metadata)


def _load(data: bytes, path: AnyPath) -> dict[str, Tensor]:
    try:
        return load_tensors(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        msg = (
            f"Got {path} that safetensors can't read ({error}), but expected what "
            f"lacunet saved. It is damaged, or something else."
        )
        raise LacunetError(msg) from error


@contextmanager
def _disk_errors(doing: str, path: AnyPath) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        msg = f"Got path={path!r}, but could not {doing} there: {error}."
        raise LacunetError(msg) from error


def _target(path: AnyPath) -> Path:
    """Return the place to write to, behind links, in a folder that exists."""
    target = Path(os.fsdecode(path)).resolve()
    if not target.parent.is_dir() or not target.name:
        msg = (
            f"Got path={path!r}, but expected one in a folder that exists. Make "
            f"{str(target.parent)!r} first."
        )
        raise LacunetError(msg)
    return target


def _check_is_folder(folder: Path) -> None:
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        msg = (
            f"Got {found} at {str(folder)!r}, but expected a model: a folder with "
            f"{TENSORS} and {RECORD}."
        )
        raise LacunetError(msg)


def _check_replaceable(target: Path, *, force: bool) -> None:
    """Refuse a place with anything but a model that may be replaced."""
    if not target.exists():
        return
    _check_is_folder(target)
    found = sorted(entry.name for entry in target.iterdir())
    if not found:
        return
    known: set[str] = set()
    if {TENSORS, RECORD} <= set(found):
        try:
            record = json.loads(_read_file(target / RECORD))
            if record["library"] == LIBRARY:
                known = {TENSORS, RECORD, *record["content"].get(TEXTS, [])}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # another one's record
    if not set(found) <= known:
        msg = (
            f"Got a folder at {str(target)!r} with {found[:5]}, but expected nothing, "
            f"or a model of lacunet to replace. Choose another path, or delete it."
        )
        raise LacunetError(msg)
    if not force:
        msg = (
            f"Got a model at {str(target)!r} already, but expected nothing there. "
            f"Choose another path, or replace it with force=True."
        )
        raise LacunetError(msg)


def _read_file(path: Path) -> bytes:
    """Read a file, without waiting for what is none, such as a pipe."""
    if path.exists() and not path.is_file():
        msg = f"Got {str(path)!r}, a folder or device, but expected a file."
        raise LacunetError(msg)
    return path.read_bytes()


def _write_file(path: Path, data: bytes) -> None:
    """Write a new file, on the disk before it is renamed."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
