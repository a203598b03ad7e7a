"""A table column by column: what is missing, and what is not as numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from lacunet._text import list_names, shorten
from lacunet.exceptions import TableError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

ColumnKind = Literal["number", "category", "date", "empty", "other"]

_PLAIN = (str, int, float)


@dataclass(frozen=True, eq=False)
class HoleColumn:
    """A column of a table with holes.

    Attributes
    ----------
    name : str
        No other column has it.
    kind : {"number", "category", "date", "empty", "other"}
        As the estimators see it. "other" are columns that they refuse.
    values : ndarray of float64 of shape (rows,)
        Numbers, days, or codes of levels; NaN where missing.
    missing : ndarray of bool of shape (rows,)
    levels : tuple
        What the codes stand for, in the order in which they occur.
    refusal : str
        What the estimators say of a column that they can't take.
    """

    name: str
    kind: ColumnKind
    values: Floats
    missing: Bools
    levels: tuple[Any, ...] = ()
    refusal: str = ""

    def at(self, rows: Any) -> "HoleColumn":
        """Return the column at some rows."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])

    def name_level(self, code: int) -> str:
        """Return a level as a short text."""
        return shorten(str(self.levels[code]))


@dataclass(frozen=True, eq=False)
class HoleTable:
    """A table whose columns are read one at a time.

    Attributes
    ----------
    names : tuple of str
        Of the columns, each once.
    labels : tuple
        The same as they stand in the frame; indices in an array.
    n_rows : int
    """

    names: tuple[str, ...]
    labels: tuple[Any, ...]
    n_rows: int
    _table: Any

    def columns(self) -> Iterator[HoleColumn]:
        """Read one column after the other."""
        from lacunet.estimators import series_of

        if isinstance(self._table, np.ndarray):
            parts: Any = (self._table[:, [j]] for j in range(len(self.names)))
        else:
            parts = (series.to_frame() for series in series_of(self._table))
        for name, part in zip(self.names, parts, strict=True):
            yield _read_column(name, part)

    def find(self, label: Any) -> int:
        """Return the place of a column by its label.

        Parameters
        ----------
        label : str or int

        Returns
        -------
        int
        """
        places = [j for j, each in enumerate(self.labels) if each == label]
        if len(places) != 1:
            which = "several columns have" if places else "no column has"
            msg = (
                f"Got target={label!r}, a name that {which}, but expected the name of "
                f"one column: {list_names(self.names)}."
            )
            raise TableError(msg)
        return places[0]


def open_holes(X: Any) -> HoleTable:
    """Take a table, whatever it is, without reading its cells.

    Parameters
    ----------
    X : array-like or frame of shape (rows, columns)
        Frames of pandas may have several columns of one name.

    Returns
    -------
    HoleTable
    """
    from lacunet.estimators import as_table  # loads torch

    labels = _find_labels(X)
    if labels is not None and _needs_new_names(X):
        X = X.set_axis(range(len(labels)), axis=1)
    table = as_table(X)
    if isinstance(table, np.ndarray):
        labels = tuple(range(table.shape[1]))
    elif labels is None:
        labels = tuple(table.columns)
    return HoleTable(make_unique(labels), labels, table.shape[0], table)


def make_unique(labels: Sequence[Any]) -> tuple[str, ...]:
    """Return labels as texts of which no two are the same.

    Parameters
    ----------
    labels : sequence

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from lacunet.profile._holes import make_unique
    >>> make_unique(["a", "b", "a", 1, "1"])
    ('a', 'b', 'a (2)', '1', '1 (2)')
    """
    taken: set[str] = set()
    unique = []
    for label in labels:
        name, times = str(label), 1
        while name in taken:
            times += 1
            name = f"{label} ({times})"
        taken.add(name)
        unique.append(name)
    return tuple(unique)


def _find_labels(X: Any) -> tuple[Any, ...] | None:
    return tuple(X.columns) if nw.dependencies.is_pandas_dataframe(X) else None


def _needs_new_names(X: Any) -> bool:
    return X.columns.nlevels > 1 or not X.columns.is_unique


def _read_column(name: str, part: Any) -> HoleColumn:
    from lacunet.estimators import read_columns

    try:
        with np.errstate(invalid="ignore"):  # infinite numbers of both signs
            (raw,) = read_columns(part)
    except (TypeError, ValueError) as error:
        return _read_refused(name, part, str(error))
    missing = ~raw.observed
    if raw.kind is None:
        return HoleColumn(name, "empty", np.full(len(missing), np.nan), missing)
    if raw.kind == "number":
        return HoleColumn(name, "number", raw.values, missing)
    if raw.kind == "date":
        days = raw.values.astype("M8[us]").astype(np.int64) / 86_400e6
        days[missing] = np.nan
        return HoleColumn(name, "date", days, missing)
    codes, levels = find_levels(raw.values, raw.observed)
    return HoleColumn(name, "category", codes, missing, levels)


def _read_refused(name: str, part: Any, refusal: str) -> HoleColumn:
    """Read a column that the estimators refuse: mixtures, lists, infinite numbers."""
    from lacunet.missingness._cells import find_observed, read_columns

    (cells,) = read_columns(part)
    observed = find_observed(cells)
    if cells.dtype.kind in "fiu":
        return HoleColumn(
            name, "number", cells.astype(np.float64), ~observed, refusal=refusal
        )
    plain = [cell if isinstance(cell, _PLAIN) else repr(cell) for cell in cells]
    codes, levels = find_levels(np.fromiter(plain, object, len(plain)), observed)
    return HoleColumn(name, "other", codes, ~observed, levels, refusal)


def find_levels(
    cells: NDArray[np.object_], observed: Bools
) -> tuple[Floats, tuple[Any, ...]]:
    """Return the codes of cells (rows,), NaN where missing, and their levels.

    Parameters
    ----------
    cells : ndarray of objects of shape (rows,)
    observed : ndarray of bool of shape (rows,)

    Returns
    -------
    codes : ndarray of float64 of shape (rows,)
    levels : tuple
    """
    index: dict[Any, int] = {}
    seen = cells[observed].tolist()
    codes = np.full(len(cells), np.nan)
    codes[observed] = [index.setdefault(cell, len(index)) for cell in seen]
    return codes, tuple(index)
