"""One result of the analyses of several completed tables: Rubin's rules."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True, repr=False)
class Pooled:
    """Pooled estimates with what is known about their uncertainty.

    Attributes
    ----------
    estimate : float or ndarray of shape (k,)
        Mean of the estimates of the completed tables.
    std_error : float or ndarray of shape (k,)
        Root of the total variance: within tables, and between them.
    low, high : float or ndarray of shape (k,)
        Ends of the confidence interval.
    p_value : float or ndarray of shape (k,)
        Of a t-test of the estimate against zero, two-sided.
    df : float or ndarray of shape (k,)
        Degrees of freedom of that test and of the interval.
    missing_information : float or ndarray of shape (k,)
        Fraction of the information about the estimate that is missing.
    variance_increase : float or ndarray of shape (k,)
        Relative increase of the variance due to missing values.
    n_tables : int
        Number of completed tables.
    confidence : float
        Confidence of the interval.
    """

    estimate: Any
    std_error: Any
    low: Any
    high: Any
    p_value: Any
    df: Any
    missing_information: Any
    variance_increase: Any
    n_tables: int
    confidence: float

    def __repr__(self) -> str:
        """Return a table with a line for each estimate.

        The last column is the fraction of missing information.
        """
        percent = f"{100 * self.confidence:.4g}%"
        header = ["estimate", "std. error", f"{percent} low", f"{percent} high"]
        header += ["p", "df", "missing"]
        columns = np.broadcast_arrays(
            *(self.estimate, self.std_error, self.low, self.high),
            *(self.p_value, self.df, self.missing_information),
        )
        lines = ["".join(f"{name:>11}" for name in header)]
        for *numbers, p, df, missing in zip(*map(np.ravel, columns), strict=True):
            cells = [f"{number:.5g}" for number in numbers]
            cells += ["< 0.0001" if p < 1e-4 else f"{p:.4f}", f"{df:.1f}"]
            cells += [f"{missing:.1%}"]
            lines.append("".join(f"{cell:>11}" for cell in cells))
        return "\n".join([f"Pooled over {self.n_tables} completed tables", *lines])


def pool(
    estimates: Any,
    variances: Any,
    *,
    df_complete: float | None = None,
    confidence: float = 0.95,
) -> Pooled:
    """Pool estimates from several completed tables by Rubin's rules.

    Each of ``m`` tables, such as those of :meth:`lacunet.LacunetImputer
    .sample_imputations`, is analysed as if it had been complete. The pooled estimate is
    the mean, and its variance is the mean of the variances plus ``1 + 1/m`` times the
    variance between the estimates. Degrees of freedom are those of Barnard and Rubin
    (1999), or Rubin's own (1987) without ``df_complete``.

    Parameters
    ----------
    estimates : array-like of shape (m,) or (m, k)
        An estimate from each table, or ``k`` of them, such as coefficients. They should
        be about normally distributed: pool the logarithm of a ratio of odds.
    variances : array-like of the same shape
        Their squared standard errors.
    df_complete : float, default=None
        Degrees of freedom that the analysis would have without missing values: rows
        minus coefficients. None for a large sample, or where there are none.
    confidence : float, default=0.95
        Confidence of the interval, between 0 and 1.

    Returns
    -------
    Pooled
        With numbers for ``m`` estimates, and arrays of shape (k,) for (m, k).

    Examples
    --------
    >>> from lacunet.inspection import pool
    >>> pooled = pool([1.0, 1.2, 0.9, 1.1], [0.04, 0.05, 0.04, 0.05], df_complete=98)
    >>> pooled
    Pooled over 4 completed tables
       estimate std. error    95% low   95% high          p         df    missing
           1.05    0.25658    0.51573     1.5843     0.0005       20.6      37.4%
    >>> round(pooled.variance_increase, 3)
    0.463
    """
    q, u = (np.asarray(each, dtype=np.float64) for each in (estimates, variances))
    if q.ndim not in (1, 2) or q.shape != u.shape:
        msg = (
            f"Got estimates of shape {q.shape} and variances of shape {u.shape}, but "
            f"expected both of shape (m,) or (m, k): a row for each completed table."
        )
        raise ValueError(msg)
    m = len(q)
    if m < 2:
        msg = (
            f"Got estimates from {m} table, but expected at least 2: the variance "
            f"between tables can't be measured otherwise."
        )
        raise ValueError(msg)
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u > 0).all()):
        msg = (
            "Got estimates or variances that are NaN or infinite, or variances that "
            "are not positive, but expected numbers, and squared standard errors."
        )
        raise ValueError(msg)
    if df_complete is not None and not df_complete > 0:
        msg = f"Got df_complete={df_complete!r}, but expected a positive number."
        raise ValueError(msg)
    if not 0 < confidence < 1:
        msg = f"Got confidence={confidence!r}, but expected a number between 0 and 1."
        raise ValueError(msg)
    estimate, within = q.mean(0), u.mean(0)
    # Equal estimates may differ from their mean by rounding.
    between = np.where(np.ptp(q, axis=0) > 0, q.var(0, ddof=1), 0.0)
    extra = (1 + 1 / m) * between
    total = within + extra
    fraction = extra / total  # of the variance, due to missing values
    with np.errstate(divide="ignore", over="ignore"):
        df = (m - 1) / np.square(fraction)
        if df_complete is not None and np.isfinite(df_complete):
            weight = (df_complete + 1) / (df_complete + 3)
            df = 1 / (1 / df + 1 / (weight * df_complete * (1 - fraction)))
    increase = extra / within
    information = (increase + 2 / (df + 3)) / (increase + 1)
    error = np.sqrt(total)
    reach = stats.t.ppf((1 + confidence) / 2, df) * error
    found: tuple[Any, ...] = (
        *(estimate, error, estimate - reach, estimate + reach),
        2 * stats.t.sf(np.abs(estimate) / error, df),
        *(df, np.where(between > 0, information, 0.0), increase),
    )
    if q.ndim == 1:
        found = tuple(float(each) for each in found)
    return Pooled(*found, m, float(confidence))
