"""What the networks are given: the encoded table, and marks of what was missing."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from scipy import stats

from lacunet.estimators._table import TableEncoder

Indicator = bool | Literal["auto"]

# In standard deviations: one wild value must not rule a network, nor the other cells of
# its row that are to be filled.
FOR_NETWORKS = 5.0
FOR_TABLES = 50.0
# Chance of a mark in a table whose holes have nothing to do with the target.
_LEVEL = 0.01


class InputEncoder:
    """A table encoder that may also mark, as a category, that a value is missing.

    A mark is a category of two levels that is always known: the density learns how
    often each component has the hole, and the network gets a weight for it.

    Parameters
    ----------
    table : TableEncoder
        Fitted.
    marked : ndarray of int
        Columns of the table whose holes are marked.

    Attributes
    ----------
    n_numeric : int
    sizes : tuple of int
        Levels of the categories, and then of the marks.
    sources : ndarray of int of shape (width,)
        The column of the table that each input comes from, -1 for marks.
    """

    def __init__(self, table: TableEncoder, marked: np.ndarray) -> None:
        self.table = table
        self.marked = np.asarray(marked, dtype=np.intp)
        self.n_numeric = table.n_numeric
        self.sizes = (*table.sizes, *[2] * len(self.marked))
        marks = np.full(2 * len(self.marked), -1)
        self.sources = np.concatenate([table.sources, marks])
        # One encoded column of each marked one: a category is missing as a whole.
        columns, places = np.unique(table.sources, return_index=True)
        kinds = [table.columns[index].kind for index in self.marked]
        self._marks_levels = "category" in kinds
        self._places = places[np.searchsorted(columns, self.marked)]

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make an encoder of what ``to_state`` returned."""
        return cls(TableEncoder.from_state(state["table"]), np.array(state["marked"]))

    def to_state(self) -> dict[str, Any]:
        """Return the encoder as JSON-able values."""
        return {"table": self.table.to_state(), "marked": self.marked.tolist()}

    def transform(self, X: Any, *, farthest: float = FOR_NETWORKS) -> np.ndarray:
        """Encode a table, with marks, as (rows, width)."""
        encoded = self.table.transform(X)
        holes = None
        if self._marks_levels:
            # A level that training has not seen is encoded as missing, but is not.
            holes = self.table.holes(X)[:, self.marked]
        return self.add_marks(encoded, holes, farthest=farthest)

    def add_marks(
        self,
        encoded: np.ndarray,
        holes: np.ndarray | None = None,
        *,
        farthest: float = FOR_NETWORKS,
    ) -> np.ndarray:
        """Bound the numbers and add the marks to an encoded table."""
        if self.table.scale != "none":
            numbers = encoded[:, : self.n_numeric]
            np.clip(numbers, -farthest, farthest, out=numbers)
        if not len(self.marked):
            return encoded
        if holes is None:
            holes = np.isnan(encoded[:, self._places])  # (rows, marked)
        marks = np.stack([~holes, holes], axis=2).reshape(len(encoded), -1)
        return np.hstack([encoded, marks])


def choose_marked(
    indicator: Indicator,
    table: TableEncoder,
    encoded: np.ndarray,
    targets: np.ndarray,
    *,
    classes: bool,
) -> np.ndarray:
    """Return the columns whose holes are to be marked.

    With "auto", those whose holes go with the target, by a test at the level of 1% for
    the whole table.

    Parameters
    ----------
    indicator : bool or "auto"
    table : TableEncoder
    encoded : ndarray of shape (rows, width)
    targets : ndarray of shape (rows,) or (rows, outputs)
    classes : bool
        Whether targets are classes, or numbers.

    Returns
    -------
    ndarray of int
    """
    columns, places = np.unique(table.sources, return_index=True)
    holes = np.isnan(encoded[:, places])  # (rows, columns)
    varying = holes.any(0) & ~holes.all(0)
    if indicator is False or not varying.any():
        return np.empty(0, dtype=np.intp)
    if indicator == "auto":
        chance = np.ones(len(columns))
        for index in np.flatnonzero(varying):
            chance[index] = _chance(holes[:, index], targets, classes=classes)
        varying &= chance < _LEVEL / varying.sum()
    marked: np.ndarray = columns[varying]
    return marked


def _chance(holes: np.ndarray, targets: np.ndarray, *, classes: bool) -> float:
    """Return the p-value of no relation between holes and targets."""
    if classes:
        if len(np.unique(targets)) < 2:
            return 1.0
        return float(
            stats.chi2_contingency(
                stats.contingency.crosstab(holes, targets).count
            ).pvalue
        )
    outputs = targets.reshape(len(targets), -1)
    chances = stats.mannwhitneyu(outputs[holes], outputs[~holes], axis=0).pvalue
    return float(np.min(chances)) * outputs.shape[1]
