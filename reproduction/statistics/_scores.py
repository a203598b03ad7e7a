"""One number a data set and method: what the statistics are over."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reproduction.statistics._table import MeanTable

Floats = NDArray[np.float64]
Incomplete = Literal["methods", "datasets"]

# Sets of reproduction.datasets over the same patients, which would count twice.
NEAR_IDENTICAL = (("diabetes", "pima"), ("breast_cancer", "winconsin"))

# Numbers that agree in so many digits differ by rounding and are ties.
_DIGITS = 12


@dataclass(frozen=True, eq=False, init=False)
class Scores:
    """One number for each data set and method, without gaps.

    Parameters
    ----------
    datasets : sequence of str
    methods : sequence of str
    values : array-like of shape (datasets, methods)
        Finite numbers. They are rounded to 12 digits of the largest in their row, so
        that what differs by rounding only is a tie.
    left_out : sequence of str, default=()
        Methods and data sets that are not here because a number was missing.

    Examples
    --------
    >>> from reproduction.statistics import Scores
    >>> scores = Scores(["pima", "horse"], ["a", "b"], [[0.7, 0.8], [0.6, 0.65]])
    >>> scores.values.shape
    (2, 2)
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    values: Floats
    left_out: tuple[str, ...]

    def __init__(
        self,
        datasets: Sequence[str],
        methods: Sequence[str],
        values: ArrayLike,
        left_out: Sequence[str] = (),
    ) -> None:
        given = np.array(values, dtype=np.float64)
        _check_names(datasets, "datasets")
        _check_names(methods, "methods")
        _check_values(given, (len(datasets), len(methods)))
        rounded = round_like(given, given)
        rounded.flags.writeable = False
        for name, value in (
            ("datasets", tuple(datasets)),
            ("methods", tuple(methods)),
            ("values", rounded),
            ("left_out", tuple(left_out)),
        ):
            object.__setattr__(self, name, value)  # the way of frozen classes

    def column(self, method: str) -> int:
        """Return the place of a method.

        Parameters
        ----------
        method : str

        Returns
        -------
        int
        """
        if method not in self.methods:
            msg = (
                f"Got method {method!r}, but expected one of "
                f"{', '.join(self.methods)}{_told(self.left_out)}."
            )
            raise ValueError(msg)
        return self.methods.index(method)

    def differences(self, first: str, second: str) -> Floats:
        """Subtract the numbers of one method from those of another.

        Parameters
        ----------
        first, second : str

        Returns
        -------
        ndarray of shape (datasets,)
            ``first - second``.
        """
        pair = self.values[:, [self.column(first), self.column(second)]]
        difference = pair[:, 0] - pair[:, 1]
        return round_like(difference[:, None], self.values)[:, 0]


def scores_by_dataset(
    table: MeanTable,
    *,
    same: Sequence[Sequence[str]] = NEAR_IDENTICAL,
    incomplete: Incomplete = "methods",
) -> Scores:
    """Reduce a table to one number a data set, as tests over data sets need it.

    Rows of one data set, at several rates, are not independent: they are averaged. So
    are afterwards the data sets of each group in ``same``. A mean that lacks some of
    the splits of its row counts as missing, since it is not over the same rows.

    Parameters
    ----------
    table : MeanTable
    same : sequence of sequences of str, default=NEAR_IDENTICAL
        Groups of data sets that count once; names that are not in the table are passed
        over. The default is ``diabetes`` with ``pima`` and ``breast_cancer`` with
        ``winconsin``, which are over the same patients.
    incomplete : {"methods", "datasets"}, default="methods"
        What to leave out where a method has no number on a data set: the method, so
        that the number of sets and with it the power stays, or the data set. Sets
        without any number are left out anyway.

    Returns
    -------
    Scores
        What was left out stands in ``left_out``.

    Examples
    --------
    >>> from reproduction.statistics import Cell, mean_table, scores_by_dataset
    >>> def cell(dataset, value):
    ...     return Cell(
    ...         "table-6", dataset, 0.5, "paper", fold=0, seed=0, protocol="paper",
    ...         metric="accuracy", value=value, params={}, seconds=1, versions={},
    ...         commit=None,
    ...     )
    >>> cells = [cell("diabetes", 0.7), cell("heart", 0.9), cell("pima", 0.8)]
    >>> scores = scores_by_dataset(mean_table(cells, "accuracy"))
    >>> scores.datasets
    ('diabetes+pima', 'heart')
    >>> scores.values.tolist()
    [[0.75], [0.9]]
    """
    if incomplete not in ("methods", "datasets"):
        msg = f"Got incomplete={incomplete!r}, but expected 'methods' or 'datasets'."
        raise ValueError(msg)
    names = [dataset for dataset, _ in table.rows]
    groups = _groups(same, names)
    means = np.where(table.complete, table.mean, np.nan)
    sets, by_set = _average(names, means)
    labels, by_group = _average([groups.get(name, name) for name in sets], by_set)
    return _without_gaps(labels, table.methods, by_group, incomplete)


def round_like(numbers: Floats, like: Floats) -> Floats:
    """Round to 12 digits of the largest number in the same row of ``like``."""
    largest = np.abs(like).max(axis=1)
    return np.array(
        [
            np.round(row, min(_DIGITS - 1 - math.floor(math.log10(size)), 300))
            if size > 0
            else row
            for row, size in zip(numbers, largest, strict=True)
        ]
    )


def _groups(same: Sequence[Sequence[str]], names: Sequence[str]) -> dict[str, str]:
    """Return the name of the group of each set that is in one."""
    groups: dict[str, str] = {}
    for group in same:
        if isinstance(group, str):
            msg = f"Got same={same!r}, but expected groups: [['pima', 'diabetes']]."
            raise TypeError(msg)
        members = [name for name in group if name in names]
        if groups.keys() & members:
            msg = f"Got same={same!r}, but expected each data set in one group only."
            raise ValueError(msg)
        groups |= dict.fromkeys(members, "+".join(members))
    return groups


def _average(labels: Sequence[str], rows: Floats) -> tuple[list[str], Floats]:
    """Average rows of the same label; a gap in one is a gap in the mean."""
    unique = list(dict.fromkeys(labels))
    places = np.array(labels)
    return unique, np.array([rows[places == label].mean(axis=0) for label in unique])


def _without_gaps(
    datasets: Sequence[str],
    methods: Sequence[str],
    values: Floats,
    incomplete: Incomplete,
) -> Scores:
    present = ~np.isnan(values)
    enough = np.any if incomplete == "methods" else np.all
    keep_rows = np.asarray(enough(present, axis=1))
    keep_columns = np.asarray(present[keep_rows].all(axis=0))
    if not (keep_rows.any() and keep_columns.any()):
        msg = (
            f"Got gaps in all {incomplete}, but expected one without. Choose among "
            f"the cells first, or leave out the others with incomplete=."
        )
        raise ValueError(msg)
    kept_sets, other_sets = _split(datasets, keep_rows)
    kept_methods, other_methods = _split(methods, keep_columns)
    kept = values[keep_rows][:, keep_columns]
    return Scores(kept_sets, kept_methods, kept, left_out=other_methods + other_sets)


def _split(
    names: Sequence[str], keep: NDArray[np.bool_]
) -> tuple[list[str], list[str]]:
    kept = [name for name, inside in zip(names, keep, strict=True) if inside]
    return kept, [name for name in names if name not in kept]


def _check_names(names: Sequence[str], what: str) -> None:
    if isinstance(names, str) or not names or len(set(names)) < len(names):
        msg = f"Got {what}={names!r}, but expected different names, at least one."
        raise ValueError(msg)


def _check_values(values: Floats, shape: tuple[int, int]) -> None:
    if values.shape != shape:
        msg = (
            f"Got values of shape {values.shape}, but expected {shape}: a row a data "
            f"set and a column a method."
        )
        raise ValueError(msg)
    if not np.isfinite(values).all():
        msg = (
            "Got values that are not finite, but expected a number everywhere. Leave "
            "out the methods or the data sets with gaps."
        )
        raise ValueError(msg)


def _told(left_out: Sequence[str]) -> str:
    return f" (left out: {', '.join(left_out)})" if left_out else ""
