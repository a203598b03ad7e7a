"""Two methods on one data set: the t-test that knows that folds share rows."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lacunet.results._record import Cell
from lacunet.results._table import only, select


class CorrectedT(NamedTuple):
    """What the corrected resampled t-test says.

    Attributes
    ----------
    mean : float
        Of the differences.
    t, p : float
        The statistic and its two-sided p-value.
    df : int
        Degrees of freedom.
    """

    mean: float
    t: float
    p: float
    df: int


def corrected_t(differences: ArrayLike, *, n_train: float, n_test: float) -> CorrectedT:
    """Test whether two methods differ on one data set, from a cross-validation.

    The J differences share training rows, so their variance says too little. Nadeau
    and Bengio (2003) put 1/J + n_test/n_train in place of the 1/J of the usual t-test.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        One a split, over all folds and repeats.
    n_train, n_test : float
        The rows of a split. Only their ratio counts: in a k-fold cross-validation,
        repeated or not, k - 1 and 1 do as well.

    Returns
    -------
    CorrectedT
        If all differences are equal, ``t`` is infinite and ``p`` is 0, the limit of a
        small variance; if all are zero, they are 0 and 1.

    Examples
    --------
    >>> from lacunet.results import corrected_t
    >>> result = corrected_t([0.02, 0.01, 0.03, 0, 0.02], n_train=80, n_test=20)
    >>> print(f"{result.t:.4f} {result.p:.4f}")
    2.0919 0.1046
    """
    given = np.asarray(differences, dtype=np.float64)
    _check(given, n_train, n_test)
    mean, df = float(given.mean()), len(given) - 1
    spread = math.sqrt((1 / len(given) + n_test / n_train) * given.var(ddof=1))
    t = mean / spread if spread else _limit(mean)
    return CorrectedT(mean, t, float(2 * stats.t.sf(abs(t), df)), df)


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
    >>> from lacunet.results import Cell, paired_differences
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


def _limit(mean: float) -> float:
    return math.copysign(math.inf, mean) if mean else 0.0


def _check(differences: NDArray[np.float64], n_train: float, n_test: float) -> None:
    if differences.ndim != 1 or len(differences) < 2:
        msg = (
            f"Got differences of shape {differences.shape}, but expected at least two "
            f"in a row."
        )
        raise ValueError(msg)
    if not np.isfinite(differences).all():
        msg = "Got differences that are not finite, but expected numbers."
        raise ValueError(msg)
    if not (0 < n_train < math.inf and 0 < n_test < math.inf):
        msg = f"Got {n_train=} and {n_test=}, but expected positive numbers."
        raise ValueError(msg)
