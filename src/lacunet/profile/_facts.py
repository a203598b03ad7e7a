"""What is odd about a column: values that look like markers, names of rows, ..."""

import re
from dataclasses import dataclass

import numpy as np

from lacunet.profile._holes import Floats, HoleColumn

# Words that stand for a missing value, in lower case.
_WORDS = frozenset(
    [
        *("", "?", "??", "-", "--", "---", ".", "..", "*", "**", "#", "#na", "#null!"),
        *("#n/a", "na", "n/a", "n.a.", "n.a", "<na>", "nan", "null", "none", "nil"),
        *("missing", "unknown", "unk", "unkn", "undefined", "unspecified", "no data"),
        *("not available", "not known", "not recorded", "not specified", "no answer"),
        *("no response", "don't know", "dont know"),
    ]
)
# Numbers that stand for one, if they stand apart: -9, -99, -999, 99, 9999.0, ...
_NINES = re.compile(r"-9+|99+")
_LEAST_ROWS = 20  # that names of rows can be told by


@dataclass(frozen=True)
class Facts:
    """What is odd about a column.

    Attributes
    ----------
    n_distinct : int
        Values that occur.
    id_like : bool
        Whether it names rows: no two are the same.
    markers : tuple of (str, int)
        Values that may stand for a missing one, and how often they occur.
    number_but_for : bool
        Whether it would be a column of numbers without those.
    infinite : int
        Cells with an infinite number.
    """

    n_distinct: int
    id_like: bool = False
    markers: tuple[tuple[str, int], ...] = ()
    number_but_for: bool = False
    infinite: int = 0


def find_facts(column: HoleColumn) -> Facts:
    """Look at all values of a column.

    Parameters
    ----------
    column : HoleColumn

    Returns
    -------
    Facts
    """
    seen = column.values[~column.missing]
    distinct, counts = np.unique(seen, return_counts=True)
    if column.kind == "number":
        return Facts(
            len(distinct),
            _names_rows(column, seen, len(distinct)),
            _find_nines(distinct, counts),
            infinite=int(np.isinf(seen).sum()),
        )
    if column.kind in ("category", "other"):
        markers, others = _find_words(column, counts)
        return Facts(
            len(distinct),
            _LEAST_ROWS <= len(seen) == len(distinct),
            markers,
            bool(markers) and bool(others) and all(map(_is_number, others)),
        )
    return Facts(len(distinct))


def _names_rows(column: HoleColumn, seen: Floats, n_distinct: int) -> bool:
    """Tell whether whole numbers count rows: all differ, and they rise or are dense."""
    if column.missing.any() or not _LEAST_ROWS <= len(seen) == n_distinct:
        return False
    if not np.isfinite(seen).all() or (seen != np.rint(seen)).any():
        return False
    rising = bool((np.diff(seen) > 0).all())
    return rising or bool(seen.max() - seen.min() < 2 * len(seen))


def _find_nines(distinct: Floats, counts: np.ndarray) -> tuple[tuple[str, int], ...]:
    """Find nines at an end of the values, farther off than the others spread."""
    found: list[tuple[str, int]] = []
    values, times = distinct.tolist(), counts.tolist()
    for end in (0, -1):
        while len(values) > 2 and _stands_apart(values, end):
            found.append((f"{values.pop(end):g}", times.pop(end)))
    return tuple(found)


def _stands_apart(values: list[float], end: int) -> bool:
    value = values[end]
    if not _NINES.fullmatch(f"{value:g}"):
        return False
    others = values[1:] if end == 0 else values[:-1]
    return abs(value - others[end]) > others[-1] - others[0]


def _find_words(
    column: HoleColumn, counts: np.ndarray
) -> tuple[tuple[tuple[str, int], ...], list[object]]:
    """Return levels that mean "missing" with their numbers of cells, and the others."""
    markers, others = [], []
    for level, count in zip(column.levels, counts.tolist(), strict=True):
        if isinstance(level, str) and level.strip().lower() in _WORDS:
            markers.append((level, count))
        else:
            others.append(level)
    return tuple(markers), others


def _is_number(level: object) -> bool:
    try:
        float(str(level))
    except ValueError:
        return False
    return True
