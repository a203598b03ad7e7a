"""Records of what is saved beside tensors: strict JSON, sealed with sha256."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, Literal

from lacunet.exceptions import LacunetError

Kind = Literal["model", "checkpoint"]

FORMAT = 1
LIBRARY = "lacunet"
# A record of more is neither written nor read; a thousand columns make about five.
MOST_BYTES = 64 * 2**20

_SAVE_AGAIN = "It is damaged or was edited: save it again."


def seal(content: Mapping[str, Any], *, kind: Kind, tensors_sha256: str) -> str:
    """Return the text of a record that can't be changed without being noticed.

    Parameters
    ----------
    content : mapping
        Of strings to JSON-able values; floats are finite and come back bit by bit,
        tuples come back as lists.
    kind : {"model", "checkpoint"}
    tensors_sha256 : str
        The digest of the tensors it belongs to.

    Returns
    -------
    str
    """
    try:
        record = {
            "format": FORMAT,
            "library": LIBRARY,
            "kind": kind,
            "content": _plain(content),
            "sha256": {"tensors": tensors_sha256},
        }
        record["sha256"] = {"tensors": tensors_sha256, "content": _digest(record)}
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
    """Return the content of a record, and the digest of its tensors.

    Parameters
    ----------
    text : bytes or str
        What ``seal`` returned.
    kind : {"model", "checkpoint"}
    place : str
        Where it was found, for messages.

    Returns
    -------
    content : dict
    tensors_sha256 : str
    """
    record = _parse(text, place)
    _check_origin(record, kind, place)
    sums = record.pop("sha256", None)
    content = record.get("content")
    if not (isinstance(sums, dict) and isinstance(content, dict)):
        msg = f"Got {place} without its content or sums. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    tensors_sha256, claimed = sums.get("tensors"), sums.get("content")
    record["sha256"] = {"tensors": tensors_sha256}
    if len(sums) != 2 or _digest(record) != claimed:
        msg = f"Got {place} whose content does not match its sha256. {_SAVE_AGAIN}"
        raise LacunetError(msg)
    return content, str(tensors_sha256)


def is_ours(text: bytes) -> bool:
    """Tell whether a record is one of this library's, be it of another format."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("library") == LIBRARY


def parse_strictly(text: bytes | str) -> Any:
    """Parse JSON; refuse what Python adds to it, infinities and repeated keys.

    Parameters
    ----------
    text : bytes or str

    Returns
    -------
    object
    """
    return json.loads(
        text if isinstance(text, str) else text.decode(),
        object_pairs_hook=_without_repeats,
        parse_constant=_refuse_constant,
        parse_float=_finite,
    )


def _parse(text: bytes | str, place: str) -> dict[str, Any]:
    try:
        record = parse_strictly(text)
    except (ValueError, RecursionError) as error:
        msg = f"Got {place} that is not proper JSON ({error}). {_SAVE_AGAIN}"
        raise LacunetError(msg) from error
    if not isinstance(record, dict):
        msg = f"Got {place} that holds no record, but expected one of lacunet."
        raise LacunetError(msg)
    return record


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


def _digest(record: Mapping[str, Any]) -> str:
    """Return the sha256 of a record in the one form that JSON can't vary."""
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
