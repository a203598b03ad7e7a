"""Cells in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.statistics import Cell


def place_of(cell: "Cell") -> str:
    """Return what a cell is a cell of, in words.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    str
        Data set, rate, method, and fold and seed if they are not the first.
    """
    rate = "" if cell.rate is None else f" {cell.rate:g}"
    fold = f", fold {cell.fold}" if cell.fold else ""
    seed = f", seed {cell.seed}" if cell.seed else ""
    return f"{cell.dataset}{rate}, {cell.method}{fold}{seed}"
