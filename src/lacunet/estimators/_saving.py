"""Models and checkpoints on disk: no pickle, never half written, never half read."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as dump_tensors
from torch import Tensor

from lacunet._output import check_folder, explain, temporary_name
from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._checks import OF_PREDICTION, find_device
from lacunet.estimators._format_1 import upgrade
from lacunet.exceptions import LacunetError
from lacunet.training import Epoch, Tensors

AnyPath = str | os.PathLike[str]

FORMAT = 3
LIBRARY = "lacunet"
TENSORS = "model.safetensors"
RECORD = "model.json"
TEXTS = "texts"  # in a record: names of the other files
_ROOM = 50 * 2**20  # bytes of free space to train a model for

# Parameters of how long to train, or how to predict: a checkpoint holds for others.
_FREE = (*OF_PREDICTION, "max_epochs", "time_limit", "verbose", "warm_start")


def load(path: AnyPath, *, device: str | None = None) -> Any:
    """Load a model that an estimator's ``save`` has written.

    Nothing in the folder is executed, whoever made it; an inconsistent model is
    refused.

    Parameters
    ----------
    path : str or PathLike
        The folder that the model was saved to.
    device : {"cpu", "cuda", "mps", "auto"}, optional
        Where to compute; where it was fitted if not given.

    Returns
    -------
    estimator
        As it was fitted. For the same rows at once its predictions are the same, to the
        bit on the same machine and but for rounding on another.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import lacunet
    >>> X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.nan], [0.0, 1.0]])
    >>> imputer = lacunet.LacunetImputer(random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     imputer.save(Path(folder) / "model")
    ...     again = lacunet.load(Path(folder) / "model")
    >>> bool((again.impute(X) == imputer.impute(X)).all())
    True
    """
    from lacunet import estimators  # whose modules import this one

    tensors, content = read_model(path)
    name = content.get("class")
    known = [name for name in estimators.__all__ if name.startswith("Lacunet")]
    if name not in known:
        msg = (
            f"Got a model of class {name!r} in {path}, but expected one of "
            f"{', '.join(known)}. A newer lacunet may have written it."
        )
        raise LacunetError(msg)
    disagreement = (
        f"Got a model in {path} whose content does not fit together, but expected one "
        f"written by save: save it again"
    )
    with _refusal(disagreement):
        parameters = unpack_parameters(content["parameters"])
        estimator = getattr(estimators, name)(**parameters)
        check_choice(estimator.device, ("cpu", "cuda", "mps", "auto"), "device")
    if device is not None:
        estimator.set_params(device=device)
    find_device(estimator.device)  # whose absence is no fault of the file
    with _refusal(disagreement):
        estimator._load(tensors, content)
    return estimator


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
    beside ``path``, with a name that ends in ``.old``. What a killed process leaves is
    removed when a model is written there again.
    """
    files = {name: text.encode() for name, text in (texts or {}).items()}
    listed = {**content, TEXTS: sorted(files)} if files else content
    files[TENSORS] = _dump(tensors)
    files[RECORD] = seal(listed, tensors_sha256=_sha256(files[TENSORS])).encode()
    with _refusal(f"Got path={str(path)!r}, but could not write a model there"):
        target = _target(path)
        _check_replaceable(target, force=force)
        with temporary_name(target) as folder:
            former = folder.with_name(f"{folder.name}.old")
            folder.mkdir()
            for name, data in files.items():
                _write_file(folder / name, data)
            if target.exists():
                target.rename(former)
            try:
                folder.rename(target)
            except OSError:
                if former.exists():
                    former.rename(target)
                raise
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
        If anything else is there, if its parent folder does not exist or can't be
        written to, or if it has less than 50 MB of free space.

    Examples
    --------
    >>> import tempfile
    >>> from lacunet.estimators import check_place
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_place(f"{folder}/model")
    """
    with _refusal(f"Got path={str(path)!r}, but could not write a model there"):
        target = _target(path)
        _check_replaceable(target, force=force)
    try:
        check_folder(target.parent, n_bytes=_ROOM)
    except OSError as error:
        raise LacunetError(str(error)) from error


def read_model(path: AnyPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the content that ``write_model`` wrote.

    Nothing of the files is run or imported, and nothing is used before its sha256 is
    verified. Content of earlier formats is brought into the present one.
    """
    with _refusal(
        f"Got path={str(path)!r}, but could not read a model there: a folder with "
        f"{RECORD} and {TENSORS}"
    ):
        folder = Path(os.fsdecode(path))
        text = (folder / RECORD).read_bytes()
        data = (folder / TENSORS).read_bytes()
    with _refusal(f"Got a {RECORD} in {folder} that is no record in JSON"):
        record = json.loads(text)
        sums = record.pop("sha256", {})
        tensors_sha256, claimed = sums.get("tensors"), sums.get("content")
        found = _digest_record(record, tensors_sha256)
        library, number = record.get("library"), record.get("format")
    wrong = ""
    if library != LIBRARY:
        wrong = f"of library {library!r}, but expected one that {LIBRARY} saved"
    elif type(number) is int and number > FORMAT:
        wrong = f"of format {number}, but expected at most {FORMAT}: a newer lacunet"
        wrong += " wrote it. Update lacunet"
    elif found != claimed or type(number) is not int:
        wrong = "whose content does not match its sha256: it is damaged or was edited"
    elif _sha256(data) != tensors_sha256:
        wrong = f"whose sha256 of {TENSORS} does not match the sha256 of that file: it"
        wrong += " is damaged, or of another model. Copy both files again"
    if wrong:
        msg = f"Got a {RECORD} in {folder} {wrong}."
        raise LacunetError(msg)
    with _refusal(f"Got a model in {folder} that can't be read: save it again"):
        content = record["content"]
        tensors = load_tensors(data)
        return (tensors, content) if number == FORMAT else upgrade(tensors, content)


def seal(content: Mapping[str, Any], *, tensors_sha256: str) -> str:
    """Return the text of a record, with the sha256 of itself and of its tensors.

    Floats in ``content`` are finite and come back bit by bit, tuples as lists.
    """
    record = {"format": FORMAT, "library": LIBRARY, "content": content}
    with _refusal(
        "Got content that is not JSON, but expected strings, finite numbers, booleans, "
        "None, and lists and dicts of them"
    ):
        digest = _digest_record(record, tensors_sha256)
        sums = {"tensors": tensors_sha256, "content": digest}
        return json.dumps({**record, "sha256": sums}, indent=1, allow_nan=False)


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
        with _refusal(
            f"Got checkpoint={str(path)!r}, which can't be read, but expected "
            f"nothing, or a checkpoint of lacunet"
        ):
            target = _target(path)
            if target.exists():
                data = target.read_bytes()
                header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
                record = json.loads(header["__metadata__"][LIBRARY])
                self.seed = record["seed"]
                self._found = load_tensors(data), record

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
        place = os.fspath(self._path)
        with _refusal(f"Got checkpoint={place!r}, but could not write it there"):
            target = _target(self._path)
            temporary = target.with_name(f".{target.name}.tmp")
            temporary.unlink(missing_ok=True)
            _write_file(temporary, data)
            temporary.replace(target)


def read_history(path: AnyPath) -> list[Epoch]:
    """Return the epochs that a checkpoint has been written after; it may not exist."""
    target = _target(path)
    if not target.exists():
        return []
    with target.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    record = json.loads(header["__metadata__"][LIBRARY])
    return [Epoch(*epoch) for epoch in record["history"]]


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


# --- tensors and files


@contextmanager
def _refusal(message: str) -> Iterator[None]:
    """Turn what files and disks may raise into an error with this message."""
    try:
        yield
    except (
        *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
        *(OSError, RuntimeError, SafetensorError, StopIteration, TypeError, ValueError),
    ) as error:
        msg = f"{message} ({explain(error)})."
        raise LacunetError(msg) from error


def _dump(
    tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None
) -> bytes:
    # Copies that share no memory, as safetensors wants them.
    owned = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    return dump_tensors(owned, metadata)


def _target(path: AnyPath) -> Path:
    """Return the place to write to, behind links, in a folder that exists."""
    target = Path(os.fsdecode(path)).resolve()
    if not target.parent.is_dir() or not target.name:
        msg = (
            f"Got path={str(path)!r}, but expected one in a folder that "
            f"exists. Make {str(target.parent)!r} first."
        )
        raise LacunetError(msg)
    return target


def _check_replaceable(target: Path, *, force: bool) -> None:
    """Refuse a place with anything but a model that may be replaced."""
    if not target.exists():
        return
    found = {entry.name for entry in target.iterdir()}
    known: set[str] = set()
    # Another one's record may hold anything.
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        record = json.loads((target / RECORD).read_bytes())
        if record["library"] == LIBRARY and TENSORS in found:
            known = {TENSORS, RECORD, *record["content"].get(TEXTS, [])}
    if not found <= known:
        msg = (
            f"Got a folder at {str(target)!r} with {sorted(found)[:5]}, but expected "
            f"nothing, or a model of lacunet to replace. Choose another path, or "
            f"delete it."
        )
        raise LacunetError(msg)
    if found and not force:
        msg = (
            f"Got a model at {str(target)!r} already, but expected nothing there. "
            f"Choose another path, or replace it with force=True."
        )
        raise LacunetError(msg)


def _write_file(path: Path, data: bytes) -> None:
    """Write a new file, on the disk before it is renamed."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
