"""Strict JSON: what is written can be read by anyone, and comes back the same."""

import json
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any, name: str) -> Any:
    """Return a copy of ``value`` as JSON gives it back: tuples as lists.

    Parameters
    ----------
    value : object
        Strings, finite numbers, booleans, None, and mappings and sequences of them.
    name : str
        What it is, for messages.

    Returns
    -------
    object
    """
    scalar = value.item() if isinstance(value, np.generic) else value
    if scalar is None or isinstance(scalar, (str, bool, int)):
        return scalar
    if isinstance(scalar, float):
        return _finite(scalar, name)
    if isinstance(scalar, Mapping):
        return {
            _text(key, name): plain(each, f"{name}[{key!r}]")
            for key, each in scalar.items()
        }
    if isinstance(scalar, (list, tuple)):
        return [plain(each, f"{name}[{i}]") for i, each in enumerate(scalar)]
    msg = (
        f"Got {name} of type {type(value).__name__}, but expected what JSON has: "
        f"strings, numbers, booleans, None, and lists and dicts of them. Convert it, "
        f"an array with tolist()."
    )
    raise TypeError(msg)


def to_float(value: Any, name: str) -> float:
    """Return ``value`` as a float if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        msg = f"Got {name}={value!r}, but expected a finite number."
        raise TypeError(msg)
    try:
        return _finite(float(value), name)
    except OverflowError as error:  # an integer of hundreds of digits
        msg = f"Got a huge integer as {name}, but expected a finite number."
        raise ValueError(msg) from error


def parse_strictly(text: bytes) -> Any:
    """Parse JSON; refuse what Python adds to it, infinities and repeated keys."""
    return json.loads(
        text.decode(),
        object_pairs_hook=_without_repeats,
        parse_constant=_refuse_constant,
        parse_float=lambda number: _finite(float(number), "a number"),
    )


def is_whole(text: bytes) -> bool:
    """Tell whether a text is JSON of any kind, and not cut off."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _finite(number: float, name: str) -> float:
    if not math.isfinite(number):
        msg = f"Got {name}={number}, but expected a finite number: JSON has no other."
        raise ValueError(msg)
    return number


def _text(key: object, name: str) -> str:
    if not isinstance(key, str):
        msg = f"Got the key {key!r} in {name}, but expected strings as keys."
        raise TypeError(msg)
    return key


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        msg = "a key occurs twice"
        raise ValueError(msg)
    return record


def _refuse_constant(name: str) -> float:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)
