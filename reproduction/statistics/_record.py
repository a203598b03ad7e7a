"""The record of one experiment cell, and the line of JSON that it is kept as."""

import json
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lacunet.exceptions import LacunetError
from reproduction.statistics._json import parse_strictly, plain, to_float

Key = tuple[str, str, float | None, str, int, int, str, str]

_TEXTS = ("experiment", "dataset", "method", "protocol", "metric")


@dataclass(frozen=True)
class Cell:
    """One number of an experiment: what was measured, on what, and with what.

    Fields are checked, numbers made plain ones and mappings copied when a cell is made,
    so that it can be written as JSON and comes back as an equal cell.

    Parameters
    ----------
    experiment : str
        For instance ``"table-4"``.
    dataset : str
    rate : float or None
        The share of values that were removed; None if they are missing by nature.
    method : str
        Its key in ``reproduction.experiments.methods.METHODS``.
    fold : int
    seed : int
    protocol : str
        ``"paper"``, ``"authors"`` or ``"quick"``, for instance.
    metric : str
        For instance ``"accuracy"``, ``"mse"`` or ``"mse_inside"``.
    value : float or None
        None if it could not be computed; ``params["why"]`` then says why.
    params : mapping of str to JSON-able values
        Chosen hyper-parameters and the like.
    seconds : float
    versions : mapping of str to str
    commit : str or None

    Examples
    --------
    >>> from reproduction.statistics import Cell
    >>> cell = Cell(
    ...     "table-4", "pima", None, "paper", fold=0, seed=0, protocol="quick",
    ...     metric="accuracy", value=0.75, params={"n_components": 3}, seconds=2.5,
    ...     versions={"lacunet": "0.1.0"}, commit=None,
    ... )
    >>> cell.key
    ('table-4', 'pima', None, 'paper', 0, 0, 'quick', 'accuracy')
    """

    experiment: str
    dataset: str
    rate: float | None
    method: str
    fold: int
    seed: int
    protocol: str
    metric: str
    value: float | None
    params: Mapping[str, Any] = field(hash=False)
    seconds: float
    versions: Mapping[str, str] = field(hash=False)
    commit: str | None

    def __post_init__(self) -> None:
        """Check the fields and make them plain."""
        for name in _TEXTS:
            _check_text(getattr(self, name), name)
        if self.commit is not None:
            _check_text(self.commit, "commit")
        params = _mapping(self.params, "params")
        changes = {
            "rate": _rate(self.rate),
            "fold": _count(self.fold, "fold"),
            "seed": _count(self.seed, "seed"),
            "value": _value(self.value, params),
            "params": params,
            "seconds": _seconds(self.seconds),
            "versions": _versions(self.versions),
        }
        for name, plain_value in changes.items():
            object.__setattr__(self, name, plain_value)  # the way of frozen classes

    @property
    def key(self) -> Key:
        """What names the cell: all that is decided before it is run."""
        return (
            self.experiment,
            self.dataset,
            self.rate,
            self.method,
            self.fold,
            self.seed,
            self.protocol,
            self.metric,
        )


_FIELDS = tuple(each.name for each in fields(Cell))


def order(cell: Cell) -> tuple[Any, ...]:
    """Return what cells are sorted by: their keys, with no rate before any rate."""
    return tuple((part is not None, part) for part in cell.key)


def to_line(cell: Cell) -> bytes:
    """Return a cell as a line of JSON, with its newline."""
    record = {name: getattr(cell, name) for name in _FIELDS}
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def from_line(line: bytes, place: str) -> Cell:
    """Return the cell that a line holds.

    Parameters
    ----------
    line : bytes
    place : str
        Where the line stands, for messages.

    Returns
    -------
    Cell
    """
    record = _parse(line, place)
    _check_names(record, place)
    try:
        return Cell(**record)
    except (TypeError, ValueError) as error:
        msg = f"In {place}: {error} Delete the line and run that experiment again."
        raise LacunetError(msg) from error


def _parse(line: bytes, place: str) -> dict[str, Any]:
    try:
        record = parse_strictly(line)
    except (ValueError, RecursionError) as error:
        msg = (
            f"Got {place} that is not proper JSON ({error}), but expected one record. "
            f"It is damaged: delete the line and run that experiment again."
        )
        raise LacunetError(msg) from error
    if not isinstance(record, dict):
        msg = (
            f"Got {place} that holds no record, but expected a file of results. Give "
            f"the path of one that lacunet wrote, or delete the line."
        )
        raise LacunetError(msg)
    return record


def _check_names(record: Mapping[str, Any], place: str) -> None:
    unknown = sorted(set(record) - set(_FIELDS))
    if unknown:
        msg = (
            f"Got {place} with unknown fields {', '.join(unknown)}, but expected only "
            f"{', '.join(_FIELDS)}. If a newer lacunet wrote it, update lacunet; "
            f"otherwise it is no file of results."
        )
        raise LacunetError(msg)
    absent = [name for name in _FIELDS if name not in record]
    if absent:
        msg = (
            f"Got {place} without {', '.join(absent)}, but expected a whole record. "
            f"Delete the line and run that experiment again."
        )
        raise LacunetError(msg)


# --- fields


def _check_text(value: object, name: str) -> None:
    msg = f"Got {name}={value!r}, but expected a string that is not empty."
    if not isinstance(value, str):
        raise TypeError(msg)
    if not value:
        raise ValueError(msg)


def _count(value: Any, name: str) -> int:
    msg = f"Got {name}={value!r}, but expected an integer of at least 0."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(msg)
    if value < 0:
        raise ValueError(msg)
    return int(value)


def _rate(rate: Any) -> float | None:
    if rate is None:
        return None
    number = to_float(rate, "rate")
    if not 0 <= number <= 1:
        msg = f"Got rate={rate!r}, but expected a share from 0 to 1, or None."
        raise ValueError(msg)
    return number


def _seconds(seconds: Any) -> float:
    number = to_float(seconds, "seconds")
    if number < 0:
        msg = f"Got seconds={seconds!r}, but expected a number of at least 0."
        raise ValueError(msg)
    return number


def _value(value: Any, params: Mapping[str, Any]) -> float | None:
    if value is not None:
        return to_float(value, "value")
    if not (isinstance(params.get("why"), str) and params["why"]):
        msg = (
            f"Got value=None with params={dict(params)!r}, but expected the reason as "
            f"a string in params['why']."
        )
        raise ValueError(msg)
    return None


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        msg = f"Got {name}={value!r}, but expected a mapping."
        raise TypeError(msg)
    copy: dict[str, Any] = plain(value, name)
    return copy


def _versions(value: Any) -> dict[str, str]:
    versions = _mapping(value, "versions")
    for name, version in versions.items():
        _check_text(version, f"versions[{name!r}]")
    return versions
