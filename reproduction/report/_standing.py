"""Who stands where: one number a data set and method, without gaps, and ranks."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reproduction.report._slices import (
    OURS,
    PAPER,
    SHOWN_COMPLETE,
    Slice,
    name_method,
    name_row,
)
from reproduction.report._words import show_count, show_list
from reproduction.statistics import (
    NEAR_IDENTICAL,
    MeanRank,
    MeanTable,
    Scores,
    mean_table,
    rank_methods,
    scores_by_dataset,
)

# A row that lacks so many of its methods is unfinished, and is left out before any
# method is.
MOST_GAPS = 0.25


@dataclass(frozen=True, eq=False)
class Standing:
    """The methods of a slice, ranked.

    Attributes
    ----------
    scores : Scores
        One number for each data set and method.
    ranks : tuple of MeanRank
        The best first.
    higher_is_better : bool
    metric : str
    independent : bool
        Whether the rows of ``scores`` are different data sets, so that tests over them
        make sense; otherwise they are the rows of the table, with one set at several
        rates, for instance.
    left_out : tuple of str
        Methods and rows that lack numbers, as a reader knows them.
    """

    scores: Scores
    ranks: tuple[MeanRank, ...]
    higher_is_better: bool
    metric: str
    independent: bool
    left_out: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether there is one row, so that ranks are no means."""
        return len(self.scores.datasets) == 1

    @property
    def over(self) -> str:
        """What the ranks are means over."""
        count = len(self.scores.datasets)
        return show_count(count, "data set" if self.independent else "row")

    @property
    def controls(self) -> tuple[str, ...]:
        """The methods that others are compared with: ours, and the paper's."""
        return tuple(key for key in (OURS, PAPER) if key in self.scores.methods)

    def rank_of(self, method: str) -> float | None:
        """Return the mean rank of a method, None if it has none."""
        return dict(self.ranks).get(method)

    def place_of(self, method: str) -> int:
        """Return which place a method has; equal ones share the better place."""
        rank = dict(self.ranks)[method]
        return 1 + sum(each.rank < rank for each in self.ranks)

    def tell_left_out(self) -> str:
        """Return what takes no part, as a sentence; nothing if all does."""
        if not self.left_out:
            return ""
        return f"Left out, because numbers are missing: {show_list(self.left_out)}."


def find_standing(part: Slice) -> Standing | None:
    """Rank the methods of a slice by its main metric.

    Who is shown complete data is out of competition, and so are rows from which nothing
    was removed, if there are others. What has gaps is left out: first rows that are far
    from finished, then methods.

    Parameters
    ----------
    part : Slice

    Returns
    -------
    Standing or None
        None if less than two methods have numbers on the same rows.
    """
    competing = _competing(part)
    if not any(cell.metric == part.metric for cell in competing.cells):
        return None
    full, left_out = _without_gaps(competing)
    if len(full.methods) < 2:
        return None
    table = mean_table(full.cells, part.metric)
    by_set = scores_by_dataset(table, same=_same(full))
    independent = len(by_set.datasets) > 1
    scores = by_set if independent else _scores_by_row(full, table)
    better = part.experiment.higher_is_better
    ranks = rank_methods(scores, higher_is_better=better)
    return Standing(scores, ranks, better, part.metric, independent, left_out)


def _competing(part: Slice) -> Slice:
    main = set(part.main_rows)
    cells = [
        cell
        for cell in part.cells
        if cell.method not in SHOWN_COMPLETE and (cell.dataset, cell.rate) in main
    ]
    holed = [cell for cell in cells if cell.rate != 0]
    return part.only(holed or cells)


def _without_gaps(part: Slice) -> tuple[Slice, tuple[str, ...]]:
    """Leave out rows and methods until no number is missing; return also which."""
    table = mean_table(part.cells, part.metric)
    there = table.complete & np.isfinite(table.mean)
    rows, columns = np.ones(there.shape[0], bool), np.ones(there.shape[1], bool)
    while (worst := _worst(~there, rows, columns)) is not None:
        axis, place = worst
        (rows, columns)[axis][place] = False
    kept_rows = {row for row, keep in zip(table.rows, rows, strict=True) if keep}
    kept = {key for key, keep in zip(table.methods, columns, strict=True) if keep}
    full = part.only(
        cell
        for cell in part.cells
        if (cell.dataset, cell.rate) in kept_rows and cell.method in kept
    )
    out_methods = [name_method(key) for key in part.methods if key not in kept]
    out_rows = [
        name_row(part.experiment, row) for row in part.rows if row not in kept_rows
    ]
    return full, (*out_methods, *out_rows)


def _worst(
    gaps: NDArray[np.bool_], rows: NDArray[np.bool_], columns: NDArray[np.bool_]
) -> tuple[int, int] | None:
    """Return the row (0) or column (1) to leave out next, None if no gap is left."""
    left = gaps & rows[:, None] & columns
    if not left.any():
        return None
    of_rows = left.sum(axis=1) / columns.sum()
    of_columns = left.sum(axis=0) / rows.sum()
    row, column = int(of_rows.argmax()), int(of_columns.argmax())
    if of_rows[row] >= MOST_GAPS and of_rows[row] > of_columns[column]:
        return 0, row
    return 1, column


def _same(part: Slice) -> list[tuple[str, ...]]:
    """Return groups of sets that count once: near-identical ones, and variants.

    What stands behind a hyphen is a variant: other patches, or another split.
    """
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for dataset, _ in part.rows:
        variants[dataset.partition("-")[0]][dataset] = None
    several = [tuple(names) for names in variants.values() if len(names) > 1]
    taken = {name for names in several for name in names}
    alike = [names for names in NEAR_IDENTICAL if not taken.intersection(names)]
    return [*several, *alike]


def _scores_by_row(part: Slice, table: MeanTable) -> Scores:
    names = [name_row(part.experiment, row) for row in table.rows]
    return Scores(names, table.methods, table.mean)
