"""Models and checkpoints on disk: no pickle, never half written, never half read."""

import hashlib
import json
import math
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from lacunet.density import IncompleteGaussianMixture
from lacunet.exceptions import LacunetError
from lacunet.training import Tensors

AnyPath = str | os.PathLike[str]
Kind = Literal["model", "checkpoint"]

FORMAT = 2
LIBRARY = "lacunet"
TENSORS = "model.safetensors"
RECORD = "model.json"
TEXTS = "texts"  # in a record: names of the other files
# A record of more is neither written nor read; a thousand columns make about five.
MOST_BYTES = 64 * 2**20

_RESERVED = "__metadata__"  # by safetensors, for what is no tensor
_SAVE_AGAIN = "It is damaged or was edited: save it again."
# Parameters of how long to train, or how to predict: a checkpoint holds for others.
_FREE = (
    "max_epochs",
    "n_samples",
    "on_unseen_missing",
    "propagate",
    "time_limit",
    "verbose",
)


def write_model(
    path: AnyPath,
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a model: a folder with ``model.safetensors``, ``model.json`` and texts.

    ``path`` is where nothing is, an empty folder, or a model of this library; anything
    else is refused. The folder is made under a temporary name beside it, synchronised
    and renamed, so that there is never half a model. A model that is there already is
    renamed first and deleted afterwards: a process killed in between leaves it beside
    ``path``, with a name that ends in ``.old``.
    """
    beside = texts or {}
    for name in beside:
        if name in (TENSORS, RECORD, "", ".", "..") or set(name) & set("/\\\0"):
            msg = (
                f"Got a text of the name {name!r}, but expected the plain name of a "
                f"file, such as 'card.md'."
            )
            raise LacunetError(msg)
    data = _dump(_own(tensors))
    digest = hashlib.sha256(data).hexdigest()
    listed = {**content, TEXTS: sorted(beside)} if beside else content
    record = seal(listed, kind="model", tensors_sha256=digest)
    with _disk_errors("write a model", path):
        target = _target(path)
        former = _find_replaceable(target)
        folder = _beside(target, "tmp")
        folder.mkdir()
        try:
            _write_file(folder / TENSORS, data)
            _write_file(folder / RECORD, record.encode())
            for name, text in beside.items():
                _write_file(folder / name, text.encode())
            _sync_folder(folder)
            _swap(folder, target, former)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def check_place(path: AnyPath) -> None:
    """Check that a model can be written to a path, before any work is done.

    Parameters
    ----------
    path : str or PathLike
        The folder that ``save`` shall write. It may not exist, be empty, or hold a
        model, which would be replaced.

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
        _find_replaceable(_target(path))


def read_model(path: AnyPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the content that ``write_model`` wrote.

    Nothing of the files is run or imported, and nothing is used before its sha256 is
    verified.
    """
    with _disk_errors("read a model", path):
        folder = Path(os.fsdecode(path))
        _check_is_folder(folder)
        record = _read_file(folder / RECORD, most=MOST_BYTES)
        data = _read_file(folder / TENSORS)
    content, digest = unseal(record, kind="model", place=f"a {RECORD} in {folder}")
    if hashlib.sha256(data).hexdigest() != digest:
        msg = (
            f"Got a {TENSORS} in {folder} that does not match the sha256 in {RECORD}. "
            f"It is damaged, or of another model: copy both files again."
        )
        raise LacunetError(msg)
    return _load(data, folder / TENSORS), content


def write_checkpoint(
    path: AnyPath, tensors: Mapping[str, Tensor], content: Mapping[str, Any]
) -> None:
    """Write a checkpoint: one safetensors file with the record in its metadata.

    It is written to a temporary file beside ``path`` and renamed, so a process killed
    at any moment leaves the last checkpoint whole.
    """
    owned = _own(tensors)
    record = seal(content, kind="checkpoint", tensors_sha256=_digest_tensors(owned))
    data = _dump(owned, {"lacunet": record})
    with _disk_errors("write a checkpoint", path):
        target = _target(path)
        former = _read_file(target) if target.exists() else b""
        if former and not _is_checkpoint(former):
            msg = (
                f"Got a file at {str(target)!r} that is no checkpoint of lacunet, but "
                f"expected nothing, or one to replace. Choose another path, or delete "
                f"it."
            )
            raise LacunetError(msg)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.unlink(missing_ok=True)
        _write_file(temporary, data)
        temporary.replace(target)
        _sync_folder(target.parent)


def read_checkpoint(path: AnyPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the content that ``write_checkpoint`` wrote."""
    with _disk_errors("read a checkpoint", path):
        data = _read_file(Path(os.fsdecode(path)))
    tensors = _load(data, path)
    record = _metadata(data).get("lacunet")
    if not isinstance(record, str):
        msg = f"Got {path} without a record, but expected a checkpoint of lacunet."
        raise LacunetError(msg)
    content, digest = unseal(record, kind="checkpoint", place=f"a record in {path}")
    if _digest_tensors(tensors) != digest:
        msg = (
            f"Got {path} whose tensors do not match their sha256. It is damaged: "
            f"delete it and start again."
        )
        raise LacunetError(msg)
    return tensors, content


class CheckpointFile:
    """A file that training is written to after each epoch, and resumed from.

    ``seed`` is the one that training began with, None if it has not begun.
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
        """Replace the checkpoint."""
        owned = {**content, "owner": self._owner, "seed": self.seed}
        write_checkpoint(self._path, tensors, owned)


def name_owner(parameters: Mapping[str, Any], arrays: Iterable[np.ndarray]) -> str:
    """Return a digest of the packed parameters and data that determine a fit."""
    fixed = {name: value for name, value in parameters.items() if name not in _FREE}
    text = json.dumps(fixed, sort_keys=True)
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


# --- records: strict JSON, sealed with sha256


def seal(content: Mapping[str, Any], *, kind: Kind, tensors_sha256: str) -> str:
    """Return the text of a record, with the sha256 of itself and of its tensors.

    Floats in ``content`` are finite and come back bit by bit, tuples as lists.
    """
    try:
        record = {
            "format": FORMAT,
            "library": LIBRARY,
            "kind": kind,
            "content": _plain(content),
            "sha256": {"tensors": tensors_sha256},
        }
        record["sha256"] = {
            "tensors": tensors_sha256,
            "content": _digest_record(record),
        }
        # A model's record is for people to read, too.
        indent = 1 if kind == "model" else None
        text = json.dumps(record, indent=indent, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = (
            f"Got content that is not JSON ({error}), but expected strings, finite "
            f"numbers, booleans, None, and lists and dicts of them."
        )
        raise LacunetError(msg) from error
    if len(text) > MOST_BYTES:
        msg = f"Got a {kind} with a record of {len(text)} bytes, but expected less."
        raise LacunetError(msg)
    return text


def unseal(text: bytes | str, *, kind: Kind, place: str) -> tuple[dict[str, Any], str]:
    """Return the content of a record from ``seal``, and the digest of its tensors."""
    try:
        record = _parse(text)
    except (ValueError, RecursionError) as error:
        msg = f"Got {place} that is not proper JSON ({error}). {_SAVE_AGAIN}"
        raise LacunetError(msg) from error
    if not isinstance(record, dict):
        msg = f"Got {place} that holds no record, but expected one of lacunet."
        raise LacunetError(msg)
    _check_origin(record, kind, place)
    sums = record.pop("sha256", None)
    content = record.get("content")
    if not (isinstance(sums, dict) and isinstance(content, dict)):
        msg = f"Got {place} without its content or sums. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    tensors_sha256, claimed = sums.get("tensors"), sums.get("content")
    record["sha256"] = {"tensors": tensors_sha256}
    if len(sums) != 2 or _digest_record(record) != claimed:
        msg = f"Got {place} whose content does not match its sha256. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    return content, str(tensors_sha256)


def _parse(text: bytes | str) -> Any:
    """Parse JSON; refuse what Python adds to it, infinities and repeated keys."""
    return json.loads(
        text if isinstance(text, str) else text.decode(),
        object_pairs_hook=_without_repeats,
        parse_constant=_refuse_constant,
        parse_float=_finite,
    )


def _check_origin(record: dict[str, Any], kind: Kind, place: str) -> None:
    if record.get("library") != LIBRARY:
        msg = (
            f"Got {place} of library {record.get('library')!r}, but expected "
            f"{LIBRARY!r}. Give the path of a {kind} that lacunet saved."
        )
        raise LacunetError(msg)
    number = record.get("format")
    if type(number) is not int or number < 1:
        msg = f"Got {place} with format={number!r}. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    if number > FORMAT:
        msg = (
            f"Got {place} of format {number}, but expected at most {FORMAT}: a newer "
            f"lacunet wrote it. Update lacunet."
        )
        raise LacunetError(msg)
    if record.get("kind") != kind:
        msg = f"Got {place} of a {record.get('kind')!r}, but expected a {kind}."
        raise LacunetError(msg)


def _digest_record(record: Mapping[str, Any]) -> str:
    """Return the sha256 of a record in canonical JSON."""
    canonical = json.dumps(
        record, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Return tuples as lists and refuse keys that JSON would make strings of."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                msg = f"the key {key!r} is no string"
                raise TypeError(msg)
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        msg = "a key occurs twice"
        raise ValueError(msg)
    return record


def _refuse_constant(name: str) -> float:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"{text} is too large"
        raise ValueError(msg)
    return number


# --- tensors


def _own(tensors: Mapping[Any, Any]) -> dict[str, Tensor]:
    """Return copies on the CPU that share no memory, as safetensors wants them."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or tensor.layout != torch.strided:
            msg = f"Got {name}={tensor!r}, but expected a dense torch.Tensor."
            raise LacunetError(msg)
        if not isinstance(name, str) or name == _RESERVED:
            msg = f"Got a tensor of the name {name!r}, but expected another string."
            raise LacunetError(msg)
    return {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }


def _dump(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    try:
        return dump_tensors(tensors, metadata)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        msg = f"Got tensors that can't be saved ({error!r}), but expected plain ones."
        raise LacunetError(msg) from error


def _load(data: bytes, path: AnyPath) -> dict[str, Tensor]:
    try:
        return load_tensors(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        msg = (
            f"Got {path} that safetensors can't read ({error}), but expected what "
            f"lacunet saved. It is damaged, or something else."
        )
        raise LacunetError(msg) from error


def _digest_tensors(tensors: Mapping[str, Tensor]) -> str:
    """Return the sha256 of names, dtypes, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, str(tensor.dtype), tensor.shape]).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _metadata(data: bytes) -> dict[str, Any]:
    """Return the metadata of a safetensors file that has been read already."""
    end = 8 + int.from_bytes(data[:8], "little")
    try:
        metadata = dict(_parse(data[8:end])[_RESERVED])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        msg = f"Got a checkpoint without a record in its header ({error!r})."
        raise LacunetError(msg) from error
    return metadata


# --- files


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


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.{ending}")


def _check_is_folder(folder: Path) -> None:
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        msg = (
            f"Got {found} at {str(folder)!r}, but expected a model: a folder with "
            f"{TENSORS} and {RECORD}."
        )
        raise LacunetError(msg)


def _find_replaceable(target: Path) -> list[str]:
    """Return the files of the model that is there, and refuse anything else."""
    if not target.exists():
        return []
    _check_is_folder(target)
    found = sorted(entry.name for entry in target.iterdir())
    if found and not {TENSORS, RECORD} <= set(found) <= _names_of_model(target):
        msg = (
            f"Got a folder at {str(target)!r} with {found[:5]}, but expected nothing, "
            f"or a model of lacunet to replace. Choose another path, or delete it."
        )
        raise LacunetError(msg)
    return found


def _names_of_model(folder: Path) -> set[str]:
    """Return the names of files that a model of this library may have."""
    text = _read_file(folder / RECORD, most=MOST_BYTES)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    if not isinstance(record, dict) or record.get("library") != LIBRARY:
        return set()
    content = record.get("content")
    listed = content.get(TEXTS) if isinstance(content, dict) else None
    texts = listed if isinstance(listed, list) else []
    return {TENSORS, RECORD, *(name for name in texts if isinstance(name, str))}


def _is_checkpoint(data: bytes) -> bool:
    try:
        return "lacunet" in _metadata(data)
    except LacunetError:
        return False


def _read_file(path: Path, *, most: int | None = None) -> bytes:
    """Read a regular file that is where it seems to be, without waiting for it."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        msg = f"Got {str(path)!r}, a folder, link or device, but expected a file."
        raise LacunetError(msg)
    if most is not None and found.st_size > most:
        msg = (
            f"Got {str(path)!r} of {found.st_size} bytes, but expected at most {most}."
        )
        raise LacunetError(msg)
    # Not to follow a link and not to wait on a pipe that came in between.
    flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
    with os.fdopen(os.open(path, os.O_RDONLY | sum(flags)), "rb") as file:
        return file.read() if most is None else file.read(most)


def _write_file(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Synchronise the names in a folder with the disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(folder: Path, target: Path, names: Sequence[str]) -> None:
    """Move a finished folder to its place, and what was there out of the way."""
    if not target.exists():
        folder.rename(target)
    elif not any(target.iterdir()):
        target.rmdir()
        folder.rename(target)
    else:
        former = _beside(target, "old")
        target.rename(former)
        try:
            folder.rename(target)
        except OSError:
            former.rename(target)
            raise
        for name in names:
            (former / name).unlink()
        former.rmdir()
    _sync_folder(target.parent)
