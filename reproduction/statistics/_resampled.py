"""Two methods on one data set: the t-test that knows that folds share rows."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from reproduction.statistics._record import Cell
from reproduction.statistics._table import only, select


def paired_differences(
    cells: Iterable[Cell], first: str, second: str, *, metric: str
) -> NDArray[np.float64]:
    """Subtract one method's values from another's, split by split.

    Parameters
    ----------
    cells : iterable of Cell
        Of one experiment, protocol, data set and rate, as far as they are of these
        methods and this metric.
    first, second : str
        Methods.
    metric : str

    Returns
    -------
    ndarray of shape (n_splits,)
        ``first - second``, over the folds and seeds on which both have a value.

    Examples
    --------
    >>> from reproduction.statistics import Cell, paired_differences
    >>> def cell(method, fold, value):
    ...     return Cell(
    ...         "table-4", "pima", None, method, fold=fold, seed=0, protocol="paper",
    ...         metric="accuracy", value=value, params={}, seconds=1, versions={},
    ...         commit=None,
    ...     )
    >>> cells = [cell("a", 0, 0.5), cell("b", 0, 0.25), cell("a", 1, 0.75)]
    >>> paired_differences([*cells, cell("b", 1, 1)], "a", "b", metric="accuracy")
    array([ 0.25, -0.25])
    """
    chosen = [cell for cell in select(cells, metric) if cell.method in (first, second)]
    for name in ("experiment", "protocol", "dataset", "rate"):
        only(chosen, name)
    values: dict[str, dict[tuple[int, int], float]] = {first: {}, second: {}}
    for cell in chosen:
        if cell.value is not None:
            values[cell.method][cell.seed, cell.fold] = cell.value
    common = sorted(values[first].keys() & values[second].keys())
    if not common:
        msg = (
            f"Got no split on which both {first!r} and {second!r} have a value, but "
            f"expected at least one. Run both on the same folds and seeds."
        )
        raise ValueError(msg)
    return np.array([values[first][at] - values[second][at] for at in common])
