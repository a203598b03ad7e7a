"""What is known of a column of the training table, and its cells as numbers."""

import math
import numbers
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from lacunet.estimators._reading import KINDS, Kind, RawColumn
from lacunet.exceptions import LacunetError

Level = str | int | float | bool

_DAY = np.timedelta64(1, "D")
# 64 bits of nanoseconds are 584 years; the other units reach Python's whole calendar.
_CALENDAR = {"ns": ("1678-01-01", "2262-01-01")}


@dataclass(frozen=True)
class Column:
    """A column of the training table.

    Parameters
    ----------
    index : int
        Its place in the table.
    name : str or int
        Its name in a frame, its index in an array.
    kind : {"number", "category", "date"}
    had_holes : bool
        Whether a value was missing in training.
    empty : bool
        Whether all were: then it is always missing, whatever prediction data hold.
    levels : tuple of str, int, float or bool
        Of a category: its levels in order. Where levels are pooled, one more stands
        for all of those.
    pooled : tuple of str, int, float or bool
        The rare levels, the most frequent first.
    origin : str, default=None
        Of a date: the first one.
    """

    index: int
    name: str | int
    kind: Kind
    had_holes: bool
    empty: bool = False
    levels: tuple[Level, ...] = ()
    pooled: tuple[Level, ...] = ()
    origin: str | None = None

    @classmethod
    def from_cells(cls, index: int, raw: RawColumn, *, max_categories: int) -> Self:
        """Describe a column of the training table.

        Parameters
        ----------
        index : int
        raw : RawColumn
        max_categories : int
            Most levels of a category; the rarest are pooled into the last of them.

        Returns
        -------
        Column
        """
        name = raw.name if isinstance(raw.name, (str, int)) else str(raw.name)
        had_holes = not bool(raw.observed.all())
        if raw.kind is None:
            return cls(index, name, "number", had_holes, empty=True)
        if raw.kind == "category":
            levels, pooled = _find_levels(raw, max_categories)
            return cls(index, name, raw.kind, had_holes, levels=levels, pooled=pooled)
        origin = str(raw.values[raw.observed].min()) if raw.kind == "date" else None
        return cls(index, name, raw.kind, had_holes, origin=origin)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make a column of what ``to_state`` returned.

        Parameters
        ----------
        state : mapping

        Returns
        -------
        Column
        """
        try:
            lists = {key: tuple(state[key]) for key in ("levels", "pooled")}
            column = cls(**{**state, **lists})
            column._check()
        except (KeyError, TypeError, ValueError) as error:
            msg = (
                f"Got a damaged column in the model's schema ({error!r}), but expected "
                f"what the model was saved with. Save the model again."
            )
            raise LacunetError(msg) from error
        return column

    def to_state(self) -> dict[str, Any]:
        """Return the column as JSON-able values."""
        state = asdict(self)
        return {**state, "levels": list(self.levels), "pooled": list(self.pooled)}

    @property
    def size(self) -> int:
        """Return the number of levels, the pooled ones counting as one."""
        return len(self.levels) + bool(self.pooled)

    @cached_property
    def _codes(self) -> dict[Level, int]:
        codes = dict.fromkeys(self.pooled, len(self.levels))
        return {**codes, **{level: code for code, level in enumerate(self.levels)}}

    @cached_property
    def _types(self) -> set[type]:
        return {_family(level) for level in self._codes}

    def numbers_of(self, raw: RawColumn) -> np.ndarray:
        """Return the cells as numbers, dates as days since the first: (rows,)."""
        if raw.kind is None or self.empty:
            return np.full(len(raw.values), np.nan)
        if raw.kind == self.kind:
            return raw.values if self.origin is None else _days(raw, self.origin)
        if self.kind == "number" and raw.kind == "category":
            cells = [level_of(value) for value in raw.values[raw.observed].tolist()]
            if set(map(_family, cells)) == {float}:
                values = np.full(len(raw.values), np.nan)
                values[raw.observed] = cells
                return values
        raise self._mismatch(raw)

    def codes_of(self, raw: RawColumn) -> np.ndarray:
        """Return the cells as indices of levels, -1 if missing or unseen: (rows,)."""
        codes = np.full(len(raw.values), -1)
        if raw.kind is None:
            return codes
        cells = raw.values[raw.observed].tolist()
        # Many cells, few levels: each is looked up once.
        levels = {cell: level_of(cell) for cell in set(cells)}
        if raw.kind == "date" or self._types.isdisjoint(map(_family, levels.values())):
            raise self._mismatch(raw)
        found = {cell: self._codes.get(level, -1) for cell, level in levels.items()}
        codes[raw.observed] = [found[cell] for cell in cells]
        return codes

    def dates_of(self, days: np.ndarray, unit: str) -> np.ndarray:
        """Return days since the first date as dates, rounded to ``unit``: (rows,)."""
        step = np.ones((), dtype=f"m8[{unit}]")
        origin = np.datetime64(str(self.origin)).astype(f"M8[{unit}]")
        first, last = (
            (np.datetime64(end) - origin.astype("M8[D]")) / _DAY
            for end in _CALENDAR.get(unit, ("0001-01-01", "9999-12-31"))
        )
        steps = np.rint(days.clip(first, last) * (_DAY / step))
        dates: np.ndarray = origin + steps.astype(np.int64).astype(step.dtype)
        return dates

    def _mismatch(self, raw: RawColumn) -> TypeError:
        example = raw.values[raw.observed][:1].tolist()[0]
        if self.kind == "category":
            expected = f"the levels of training, such as {self._first_level()!r}"
        else:
            expected = f"a {self.kind}, as in training"
        msg = (
            f"Got column {raw.name!r} with values such as {example!r}, but expected "
            f"{expected}. Convert the column as it was converted then."
        )
        return TypeError(msg)

    def _first_level(self) -> Level:
        return (*self.levels, *self.pooled)[0]

    def _check(self) -> None:
        """Refuse a state that no ``to_state`` returned."""
        checks = {
            "index": type(self.index) is int and self.index >= 0,
            "name": type(self.name) in (int, str),
            "kind": self.kind in KINDS,
            "had_holes": type(self.had_holes) is bool,
            "empty": type(self.empty) is bool,
            "levels": self._levels_are_sound(),
            "origin": (self.origin is not None) == (self.kind == "date"),
        }
        wrong = [name for name, sound in checks.items() if not sound]
        if wrong:
            msg = f"wrong {', '.join(wrong)}"
            raise ValueError(msg)
        np.datetime64(self.origin if self.origin is not None else "NaT")

    def _levels_are_sound(self) -> bool:
        levels = (*self.levels, *self.pooled)
        plain = all(type(level) in (str, int, float, bool) for level in levels)
        return (
            plain
            and len(self._codes) == len(levels)
            and (len(levels) > 0) == (self.kind == "category")
        )


def level_of(value: Any) -> Level:
    """Return a cell of a categorical column as a level: a plain Python value.

    What is no string, number or boolean (the intervals of ``pandas.cut``) stands as
    its text.

    Parameters
    ----------
    value : object

    Returns
    -------
    str, int, float or bool
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, (bool, int)) or (
        isinstance(plain, float) and math.isfinite(plain)
    ):
        return plain
    return str(plain)


def _family(value: Any) -> type:
    return float if isinstance(value, numbers.Real) else str


def _find_levels(
    raw: RawColumn, max_categories: int
) -> tuple[tuple[Level, ...], tuple[Level, ...]]:
    """Return the levels in order, and the rare ones if there are too many."""
    counts: Counter[Level] = Counter()
    for cell, count in Counter(raw.values[raw.observed].tolist()).items():
        counts[level_of(cell)] += count
    ordered = sorted(counts, key=lambda level: (_family(level) is str, level))
    if len(ordered) <= max_categories:
        return tuple(ordered), ()
    by_frequency = sorted(ordered, key=lambda level: -counts[level])
    kept = set(by_frequency[: max_categories - 1])
    levels = tuple(level for level in ordered if level in kept)
    return levels, tuple(by_frequency[max_categories - 1 :])


def _days(raw: RawColumn, origin: str) -> np.ndarray:
    days: np.ndarray = (raw.values - np.datetime64(origin)) / _DAY
    return days
