"""Means over folds and seeds, as a table of data sets and methods."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics._record import Cell

Row = tuple[str, float | None]


@dataclass(frozen=True, eq=False)
class MeanTable:
    """The means of one experiment: a row a data set and rate, a column a method.

    Attributes
    ----------
    experiment, protocol, metric : str
    rows : tuple of (str, float or None)
        Data set and rate, sorted.
    methods : tuple of str
        Sorted.
    mean : ndarray of shape (rows, methods)
        The folds of each seed are averaged first, and then the seeds. NaN where there
        is no value.
    stderr : ndarray of shape (rows, methods)
        The standard error of one cross-validation: from the variance over the folds of
        one seed, averaged over the seeds. Seeds do not make it smaller, as they bring
        no new rows. Where each seed is one split, with test rows of its own, it is from
        the variance over the seeds. NaN with one split. Splits share most of their
        training rows, so it is for orientation and not for tests: see ``corrected_t``.
    count : ndarray of int of shape (rows, methods)
        The number of cells with a value.
    n_splits : ndarray of int of shape (rows,)
        The number of folds times seeds that any method was run on.
    """

    experiment: str
    protocol: str
    metric: str
    rows: tuple[Row, ...]
    methods: tuple[str, ...]
    mean: NDArray[np.float64]
    stderr: NDArray[np.float64]
    count: NDArray[np.int64]
    n_splits: NDArray[np.int64]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether all splits of the row have a value, of shape (rows, methods)."""
        return np.equal(self.count, self.n_splits[:, None])


def mean_table(cells: Iterable[Cell], metric: str) -> MeanTable:
    """Average one metric over folds and seeds.

    Parameters
    ----------
    cells : iterable of Cell
        Of one experiment and one protocol, as far as they have this metric. Of one key
        the last is taken.
    metric : str

    Returns
    -------
    MeanTable

    Examples
    --------
    >>> from reproduction.statistics import Cell, mean_table
    >>> def cell(fold, value):
    ...     return Cell(
    ...         "table-4", "pima", None, "paper", fold=fold, seed=0, protocol="paper",
    ...         metric="accuracy", value=value, params={}, seconds=1, versions={},
    ...         commit=None,
    ...     )
    >>> table = mean_table([cell(0, 0.7), cell(1, 0.8)], "accuracy")
    >>> table.rows, table.methods
    ((('pima', None),), ('paper',))
    >>> print(f"{table.mean[0, 0]:.2f} ± {table.stderr[0, 0]:.2f}")
    0.75 ± 0.05
    """
    chosen = select(cells, metric)
    rows = sorted({row_of(cell) for cell in chosen}, key=_order)
    methods = sorted({cell.method for cell in chosen})
    groups: dict[tuple[Row, str], list[Cell]] = defaultdict(list)
    splits: dict[Row, set[tuple[int, int]]] = defaultdict(set)
    for cell in chosen:
        groups[row_of(cell), cell.method].append(cell)
        splits[row_of(cell)].add((cell.fold, cell.seed))
    entries = np.array(
        [[_entry(groups[row, method]) for method in methods] for row in rows]
    )
    return MeanTable(
        experiment=only(chosen, "experiment"),
        protocol=only(chosen, "protocol"),
        metric=metric,
        rows=tuple(rows),
        methods=tuple(methods),
        mean=entries[..., 0],
        stderr=entries[..., 1],
        count=entries[..., 2].astype(np.int64),
        n_splits=np.array([len(splits[row]) for row in rows]),
    )


def select(cells: Iterable[Cell], metric: str) -> list[Cell]:
    """Return the cells of a metric, of each key the last; there is at least one."""
    known = list(cells)
    chosen = {cell.key: cell for cell in known if cell.metric == metric}
    if not chosen:
        metrics = ", ".join(sorted({cell.metric for cell in known})) or "no cells"
        msg = f"Got metric={metric!r}, but expected one that the cells have: {metrics}."
        raise ValueError(msg)
    return list(chosen.values())


def only(cells: Sequence[Cell], name: str) -> Any:
    """Return the value of a field that must be the same in all cells."""
    values = {getattr(cell, name) for cell in cells}
    if len(values) > 1:
        listed = ", ".join(sorted(map(repr, values)))
        msg = (
            f"Got cells of different {name}: {listed}, but expected one. Numbers of "
            f"different {name} can't be compared: choose among the cells first."
        )
        raise ValueError(msg)
    return values.pop()


def row_of(cell: Cell) -> Row:
    """Return the row of the table that a cell belongs to."""
    return cell.dataset, cell.rate


def _order(row: Row) -> tuple[str, float]:
    dataset, rate = row
    return dataset, -1.0 if rate is None else rate


def _entry(cells: Sequence[Cell]) -> tuple[float, float, int]:
    """Return mean, standard error and number of the values."""
    seeds: dict[int, list[float]] = defaultdict(list)
    for cell in cells:
        if cell.value is not None:
            seeds[cell.seed].append(cell.value)
    if not seeds:
        return math.nan, math.nan, 0
    mean = fmean(fmean(folds) for folds in seeds.values())
    rounds = list(seeds.values())
    if max(map(len, rounds)) == 1:  # each seed is a split of its own
        rounds = [[value for (value,) in rounds]]
    squares = [variance(each) / len(each) for each in rounds if len(each) > 1]
    stderr = math.sqrt(fmean(squares)) if squares else math.nan
    return mean, stderr, sum(map(len, seeds.values()))
