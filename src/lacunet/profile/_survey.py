"""One pass over a table: masks and oddities of all rows, values of some."""

import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.exceptions import TableError
from lacunet.profile._facts import Facts, find_facts
from lacunet.profile._holes import (
    Bools,
    HoleColumn,
    HoleTable,
    Ints,
    open_holes,
)

# Cells that are kept for the tests: 160 MB.
_MOST_CELLS = 20_000_000
_LEAST_SAMPLED = 1000
_HOLE = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a table has found.

    Attributes
    ----------
    missing : ndarray of bool of shape (rows, columns)
        The target is not among the columns.
    columns : tuple of HoleColumn
        At the rows that tests are made on.
    facts : tuple of Facts
        Of the columns.
    target : HoleColumn or None
        At the same rows.
    target_missing : ndarray of bool of shape (rows,)
        At all rows; nothing without a target.
    n_duplicates : int
        Rows that are the same as an earlier one.
    renamed : tuple of (str, str)
        Names of several columns, and what the later ones are called.
    """

    missing: Bools
    columns: tuple[HoleColumn, ...]
    facts: tuple[Facts, ...]
    target: HoleColumn | None
    target_missing: Bools
    n_duplicates: int
    renamed: tuple[tuple[str, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)


def survey_table(
    X: Any, target: Any, max_rows: int, random_state: np.random.RandomState
) -> Survey:
    """Read a table once.

    Parameters
    ----------
    X : array-like or frame of shape (rows, columns)
    target : str, int, array-like of shape (rows,) or None
        A column of the table, or values of its own.
    max_rows : int
        Rows whose values are kept. In very wide tables they are fewer.
    random_state : RandomState

    Returns
    -------
    Survey
    """
    table = open_holes(X)
    named = isinstance(target, (str, numbers.Integral))
    place = table.find(target) if named else None
    asked = None if named else _read_target(target, table.n_rows)
    rows = _choose_rows(table, max_rows, random_state)
    missing = np.empty((table.n_rows, len(table.names) - named), bool, order="F")
    words = np.zeros(table.n_rows, dtype=np.uint64)
    columns: list[HoleColumn] = []
    facts = []
    for j, column in enumerate(table.columns()):
        _mix_in(words, column, j)
        if j == place:
            asked = column
            continue
        missing[:, len(columns)] = column.missing
        facts.append(find_facts(column))
        columns.append(column.at(rows))
    return Survey(
        missing,
        tuple(columns),
        tuple(facts),
        None if asked is None else asked.at(rows),
        np.zeros(0, dtype=bool) if asked is None else asked.missing,
        table.n_rows - len(np.unique(words)) if table.names else 0,
        _find_renamed(table),
    )


def _choose_rows(
    table: HoleTable, max_rows: int, random_state: np.random.RandomState
) -> Ints | slice:
    room = max(_LEAST_SAMPLED, _MOST_CELLS // max(len(table.names), 1))
    size = min(max_rows, room)
    if table.n_rows <= size:
        return slice(None)
    return np.sort(random_state.choice(table.n_rows, size, replace=False))


def _read_target(target: Any, n_rows: int) -> HoleColumn | None:
    if target is None:
        return None
    cells = np.asarray(target)
    if cells.shape != (n_rows,):
        msg = (
            f"Got target of shape {cells.shape}, but expected the name of a column, or "
            f"({n_rows},): a value for each row."
        )
        raise TableError(msg)
    (column,) = open_holes(cells[:, None]).columns()
    name = getattr(target, "name", None)  # of a series
    return replace(column, name="target" if name is None else str(name))


def _find_renamed(table: HoleTable) -> tuple[tuple[str, str], ...]:
    pairs = zip(table.labels, table.names, strict=True)
    return tuple((str(label), name) for label, name in pairs if str(label) != name)


def _mix_in(words: NDArray[np.uint64], column: HoleColumn, index: int) -> None:
    """Add a column's cells to the rows' words: equal rows have equal words."""
    bits = (column.values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    bits[column.missing] = np.uint64(_HOLE)
    bits ^= np.uint64((index + 1) * _HOLE % 2**64)
    # As in SplitMix64: each bit of the input changes half of the output's.
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    words += bits
