"""Means, ranks and tests over the folds of one table."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lacunet.evaluation._scores import Metric

OURS = "lacunet"
ALPHA = 0.05

# By method: a value for each fold, None where there is none.
Values = Mapping[str, Sequence[float | None]]


class CorrectedT(NamedTuple):
    """Result of the corrected resampled t-test.

    Attributes
    ----------
    mean, stderr : float
        Of the differences; the standard error is the corrected one.
    t, p : float
        The statistic and its two-sided p-value.
    df : int
        Degrees of freedom.
    """

    mean: float
    stderr: float
    t: float
    p: float
    df: int


def corrected_t(
    differences: ArrayLike,
    *,
    n_train: float,
    n_test: float,
    least_stderr: float = 0.0,
) -> CorrectedT:
    """Test whether two methods differ on one data set, from a cross-validation.

    The J differences share training rows, so the usual t-test underestimates their
    variance. Nadeau and Bengio (2003) replace its factor 1/J by 1/J + n_test/n_train.
    A few differences may be alike by chance, so that their variance is hardly
    anything; that of the rows they come from is then the better one.

    Parameters
    ----------
    differences : array-like of shape (n_splits,)
        Difference of the scores in each split, over all folds and repeats.
    n_train, n_test : float
        Numbers of rows of a split. Only their ratio counts: in a k-fold
        cross-validation, repeated or not, k - 1 and 1 do as well.
    least_stderr : float, default=0.0
        The standard error that the mean has by the differences of single rows. A
        smaller one is not believed.

    Returns
    -------
    CorrectedT
        If all differences are equal, without ``least_stderr``, ``t`` is infinite and
        ``p`` is 0, the limit of a small variance; if all are zero, they are 0 and 1.

    Examples
    --------
    >>> from lacunet.evaluation import corrected_t
    >>> result = corrected_t([0.02, 0.01, 0.03, 0, 0.02], n_train=80, n_test=20)
    >>> print(f"{result.t:.4f} {result.p:.4f}")
    2.0919 0.1046
    >>> alike = corrected_t([0.02] * 3, n_train=196, n_test=98, least_stderr=0.008)
    >>> print(f"{alike.p:.2f}")
    0.13
    """
    given = np.asarray(differences, dtype=np.float64)
    if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
        msg = f"Got differences={given!r}, but expected at least two finite numbers."
        raise ValueError(msg)
    if not (0 < n_train < math.inf and 0 < n_test < math.inf):
        msg = f"Got {n_train=} and {n_test=}, but expected positive numbers."
        raise ValueError(msg)
    mean, df = float(given.mean()), len(given) - 1
    stderr = math.sqrt((1 / len(given) + n_test / n_train) * given.var(ddof=1))
    stderr = max(stderr, least_stderr)
    limit = math.copysign(math.inf, mean) if mean else 0.0
    t = mean / stderr if stderr else limit
    return CorrectedT(mean, stderr, t, float(2 * stats.t.sf(abs(t), df)), df)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values for their number by Holm's step-down method.

    The i-th smallest of L becomes the largest of (L - l + 1) p_(l) over l <= i, cut at
    1. The chance of one false rejection among all stays below the level, whatever the
    dependence between the tests.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        The p-values of all tests of one family.

    Returns
    -------
    ndarray of shape (n_tests,)

    Examples
    --------
    >>> from lacunet.evaluation import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        msg = f"Got p_values={p_values!r}, but expected a list of numbers from 0 to 1."
        raise ValueError(msg)
    order = np.argsort(given, kind="stable")
    stepped = given[order] * np.arange(len(given), 0, -1)
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


@dataclass(frozen=True)
class Summary:
    """One score of a method over the folds.

    Attributes
    ----------
    by_fold : tuple of float or None
        None where the method failed, or where the score is undefined. Folds of the
        first repeat come first.
    mean : float or None
        Over the folds that have a value; None without any.
    stderr : float or None
        Standard error of one cross-validation, for orientation: folds share training
        rows. More repeats do not make it smaller.
    rank : float or None
        Mean rank over folds among the methods that have a value on all; 1 is the best.
    complete : bool
        Whether there is a value on each fold that any method has a value on.
    """

    by_fold: tuple[float | None, ...]
    mean: float | None
    stderr: float | None
    rank: float | None
    complete: bool


def summarize(values: Values, metric: Metric, n_repeats: int) -> dict[str, Summary]:
    """Average one score of all methods over the folds, and rank the methods."""
    table = pd.DataFrame(values, dtype=np.float64)  # a row for each fold
    scored = table[table.notna().any(axis=1)]
    complete = scored.notna().all() & bool(len(scored))
    better_first = not metric.higher_is_better
    ranks = scored.loc[:, complete].rank(axis=1, ascending=better_first).mean()
    # Repeats bring no new rows, so they do not make the standard error smaller: it
    # comes from the variance over the folds of one repeat.
    repeats = table.groupby(np.arange(len(table)) * n_repeats // len(table))
    squares = (repeats.var() / repeats.count()).mean()
    squares = squares.fillna(table.var() / table.count())  # one fold a repeat
    found = pd.DataFrame(
        {"mean": repeats.mean().mean(), "stderr": np.sqrt(squares), "rank": ranks}
    )
    known = found.astype(object).where(found.notna(), None).to_dict("index")
    return {
        method: Summary(tuple(scores), **known[method], complete=bool(complete[method]))
        for method, scores in values.items()
    }


@dataclass(frozen=True)
class Against:
    """lacunet against another method, on the same rows.

    Attributes
    ----------
    rival, metric : str
        Keys of the other method and of the score.
    without : str or None
        The column that was missing in the test rows.
    gain : float
        How much better lacunet is in the mean over folds; negative if it is worse,
        whether the metric is to be high or low.
    low, high : float
        The 95% confidence interval of the gain.
    p : float
        The p-value of the corrected resampled t-test over folds, whose standard error
        is at least that over rows.
    p_holm : float
        The same, corrected for the number of methods by Holm's method.
    different : bool
        Whether ``p_holm`` is at most 0.05.
    n_folds, n_rows : int
        Folds on which both have a value, and their rows.
    n_decided : int or None
        By accuracy: rows in which one of the two is right and the other is not.
    """

    rival: str
    metric: str
    without: str | None
    gain: float
    low: float
    high: float
    p: float
    p_holm: float
    different: bool
    n_folds: int
    n_rows: int
    n_decided: int | None


def compare_with_ours(
    rows: Mapping[str, Sequence[np.ndarray | None]],
    tests: Sequence[np.ndarray],
    metric: Metric,
    without: str | None = None,
    *,
    n_train: float,
    n_test: float,
) -> list[Against]:
    """Test lacunet against each method with a value on at least two common folds.

    ``rows`` has what the score is the mean of, by method and fold; ``tests`` the rows
    of each fold.
    """
    sign = 1 if metric.higher_is_better else -1
    found = []
    for rival in rows if OURS in rows else ():
        gains = [
            pd.Series(sign * (ours - theirs), test)
            for ours, theirs, test in zip(rows[OURS], rows[rival], tests, strict=True)
            if rival != OURS and ours is not None and theirs is not None
        ]
        if len(gains) > 1:
            by_row = pd.concat(gains).groupby(level=0).mean()  # over repeats
            mean, stderr, _, p, df = corrected_t(
                [each.mean() for each in gains],
                n_train=n_train,
                n_test=n_test,
                least_stderr=float(by_row.sem()),
            )
            half = stderr * float(stats.t.isf(ALPHA / 2, df))
            n_decided = int((by_row != 0).sum()) if metric.key == "accuracy" else None
            found.append(
                Against(
                    rival=rival,
                    metric=metric.key,
                    without=without,
                    gain=mean,
                    low=mean - half,
                    high=mean + half,
                    p=p,
                    p_holm=p,
                    different=False,
                    n_folds=len(gains),
                    n_rows=len(by_row),
                    n_decided=n_decided,
                )
            )
    corrected = holm([each.p for each in found]).tolist()
    return [
        replace(each, p_holm=p, different=p <= ALPHA)
        for each, p in zip(found, corrected, strict=True)
    ]
