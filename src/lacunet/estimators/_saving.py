"""Models and checkpoints on disk: no pickle, never half written, never half read."""

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from lacunet.estimators._records import (
    MOST_BYTES,
    is_ours,
    parse_strictly,
    seal,
    unseal,
)
from lacunet.exceptions import LacunetError

AnyPath = str | os.PathLike[str]

TENSORS = "model.safetensors"
RECORD = "model.json"
TEXTS = "texts"  # in a record: names of the other files

_RESERVED = "__metadata__"  # by safetensors, for what is no tensor


def write_model(
    path: AnyPath,
    tensors: Mapping[str, Tensor],
    content: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> None:
    """Write a model: a folder with ``model.safetensors``, ``model.json`` and texts.

    The folder is made under a temporary name beside ``path``, brought to the disk and
    renamed, so that there is never half a model at ``path``. A model that is there
    already is renamed first and deleted afterwards: a process killed in between
    leaves it beside ``path``, with a name that ends in ``.old``.

    Parameters
    ----------
    path : str or PathLike
        Where nothing is, an empty folder, or a model of this library. Anything else is
        refused and left as it is.
    tensors : mapping of str to Tensor
    content : mapping of str to JSON-able values
    texts : mapping of str to str, default=None
        Further files, by name. The record lists them, so that they are replaced with
        the model.
    """
    beside = _check_texts(texts or {})
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
    """Refuse a place that a model can't be written to, before any work is done.

    Parameters
    ----------
    path : str or PathLike
        As of ``save``.

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
    """Read what ``write_model`` wrote; other files in the folder are ignored.

    Nothing of the files is run or imported, and nothing is believed before its sha256
    is right.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    tensors : dict of str to Tensor
    content : dict
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
    at any moment leaves the last checkpoint whole. What it leaves of the temporary
    file is overwritten by the next one.

    Parameters
    ----------
    path : str or PathLike
        Where nothing is, or a checkpoint of this library.
    tensors : mapping of str to Tensor
    content : mapping of str to JSON-able values
    """
    owned = _own(tensors)
    record = seal(content, kind="checkpoint", tensors_sha256=_digest(owned))
    data = _dump(owned, {"lacunet": record})
    with _disk_errors("write a checkpoint", path):
        target = _target(path)
        _check_is_checkpoint_or_nothing(target)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.unlink(missing_ok=True)
        _write_file(temporary, data)
        temporary.replace(target)
        _sync_folder(target.parent)


def read_checkpoint(path: AnyPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``write_checkpoint`` wrote.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    tensors : dict of str to Tensor
    content : dict
    """
    with _disk_errors("read a checkpoint", path):
        data = _read_file(Path(os.fsdecode(path)))
    tensors = _load(data, path)
    record = _metadata(data).get("lacunet")
    if not isinstance(record, str):
        msg = f"Got {path} without a record, but expected a checkpoint of lacunet."
        raise LacunetError(msg)
    content, digest = unseal(record, kind="checkpoint", place=f"a record in {path}")
    if _digest(tensors) != digest:
        msg = (
            f"Got {path} whose tensors do not match their sha256. It is damaged: "
            f"delete it and start again."
        )
        raise LacunetError(msg)
    return tensors, content


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


def _digest(tensors: Mapping[str, Tensor]) -> str:
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
        metadata = dict(parse_strictly(data[8:end])[_RESERVED])
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


def _check_texts(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse names of files that would not stand in the folder, beside the model's."""
    for name in texts:
        if name in (TENSORS, RECORD, "", ".", "..") or set(name) & set("/\\\0"):
            msg = (
                f"Got a text of the name {name!r}, but expected the plain name of a "
                f"file, such as 'card.md'."
            )
            raise LacunetError(msg)
    return texts


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
    """Return the names that a model of this library may have; none of another's."""
    record = _read_file(folder / RECORD, most=MOST_BYTES)
    if not is_ours(record):
        return set()
    content = json.loads(record).get("content")
    listed = content.get(TEXTS) if isinstance(content, dict) else None
    texts = listed if isinstance(listed, list) else []
    return {TENSORS, RECORD, *(name for name in texts if isinstance(name, str))}


def _check_is_checkpoint_or_nothing(target: Path) -> None:
    """Refuse to replace anything but a checkpoint or an empty file."""
    data = _read_file(target) if target.exists() else b""
    if data and not _is_checkpoint(data):
        msg = (
            f"Got a file at {str(target)!r} that is no checkpoint of lacunet, but "
            f"expected nothing, or one to replace. Choose another path, or delete it."
        )
        raise LacunetError(msg)


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
    """Bring the names in a folder to the disk, where the system can."""
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
        _or_undo(lambda: folder.rename(target), lambda: former.rename(target))
        for name in names:
            (former / name).unlink()
        former.rmdir()
    _sync_folder(target.parent)


def _or_undo(step: Callable[[], object], undo: Callable[[], object]) -> None:
    try:
        step()
    except OSError:
        undo()
        raise
