"""Means, ranks and tests over the folds of one table."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lacunet.evaluation._scores import Metric

OURS = "lacunet"
ALPHA = 0.05


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


def compare_scores(
    rows: pd.DataFrame,
    metric: Metric,
    without: str | None = None,
    *,
    n_repeats: int = 1,
    n_train: float,
    n_test: float,
) -> pd.DataFrame:
    """Average one score of all methods, rank them, and test lacunet against each.

    ``rows`` has what the score is the mean of: a column for each method, a row for each
    fold and row of the table, NaN where there is no value. Tests need two folds on
    which both methods have a value.
    """
    folds = rows.groupby(level=0).mean()  # (folds, methods)
    scored = folds.dropna(how="all")
    complete = scored.notna().all() & bool(len(scored))
    ranks = scored.loc[:, complete].rank(axis=1, ascending=not metric.higher_is_better)
    # Repeats bring no new rows, so they do not make the standard error smaller: it
    # comes from the variance over the folds of one repeat.
    repeats = folds.groupby(np.arange(len(folds)) * n_repeats // len(folds))
    squares = (repeats.var() / repeats.count()).mean()
    squares = squares.fillna(folds.var() / folds.count())  # one fold a repeat
    by_fold = np.where(folds.T.isna(), None, folds.T.astype(object))
    summary = {
        "metric": metric.key,
        "without": without,
        "method": rows.columns,
        "by_fold": [tuple(each) for each in by_fold],
        "mean": repeats.mean().mean(),
        "stderr": np.sqrt(squares),
        "rank": ranks.mean(),
        "complete": complete,
    }
    tests = {}
    for rival in rows.columns.drop(OURS) if OURS in rows else ():
        gains = (rows[OURS] - rows[rival]).dropna()
        gains *= 1 if metric.higher_is_better else -1
        of_folds, of_rows = (gains.groupby(level=level).mean() for level in (0, 1))
        if len(of_folds) > 1:
            least = float(of_rows.sem())
            gain, stderr, _, p, df = corrected_t(
                of_folds, n_train=n_train, n_test=n_test, least_stderr=least
            )
            half = stderr * float(stats.t.isf(ALPHA / 2, df))
            decided = int((of_rows != 0).sum()) if metric.key == "accuracy" else None
            counts = len(of_folds), len(of_rows), decided
            tests[rival] = (gain, gain - half, gain + half, p, *counts)
    names = ["gain", "low", "high", "p", "n_folds", "n_rows", "n_decided"]
    tested = pd.DataFrame.from_dict(tests, orient="index", columns=names, dtype=object)
    tested["p_holm"] = holm(tested["p"])
    tested["different"] = tested["p_holm"] <= ALPHA
    found = pd.DataFrame(summary, index=rows.columns).join(tested.astype(object))
    known = np.where(found.isna(), None, found.astype(object))
    return pd.DataFrame(known, columns=found.columns, dtype=object)
