"""One result of the analyses of several completed tables, and what it presumes."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from lacunet._text import list_names, show_number
from lacunet._validation import check_positive_int
from lacunet.estimators import LacunetImputer


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

    def show(self) -> str:
        """Return a single estimate and its interval as text."""
        ends = f"{show_number(self.low)} to {show_number(self.high)}"
        return f"{show_number(self.estimate)} ({ends})"

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
    pairs = [
        [*given] if isinstance(given, (list, tuple, Iterator)) else given
        for given in (estimates, variances)
    ]
    tables = [each for given in pairs if isinstance(given, list) for each in given]
    labels = [tuple(each.index) for each in tables if hasattr(each, "iloc")]
    if len(set(labels)) > 1:
        msg = (
            f"Got series of {list_names(list(labels[0]))}, and others of other names, "
            f"or in another order, but expected the same of all tables."
        )
        raise ValueError(msg)
    try:
        q, u = (np.asarray(each, dtype=np.float64) for each in pairs)
    except (TypeError, ValueError) as error:
        msg = (
            f"Got estimates or variances that are not arrays of numbers ({error}), but "
            f"expected a number, or k of them, from each completed table."
        )
        raise ValueError(msg) from error
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
    is_number = isinstance(df_complete, Real)
    if df_complete is not None and not (is_number and df_complete > 0):
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
            df = 1 / (1 / df + 1 / (weight * df_complete * within / total))
    increase = extra / within
    information = (increase + 2 / (df + 3)) / (increase + 1)
    std_error = np.sqrt(total)
    reach = stats.t.ppf((1 + confidence) / 2, df) * std_error
    found = {
        "estimate": estimate,
        "std_error": std_error,
        "low": estimate - reach,
        "high": estimate + reach,
        "p_value": 2 * stats.t.sf(np.abs(estimate) / std_error, df),
        "df": df,
        "missing_information": np.where(between > 0, information, 0.0),
        "variance_increase": increase,
    }
    if q.ndim == 1:
        found = {name: float(value) for name, value in found.items()}
    return Pooled(**found, n_tables=m, confidence=float(confidence))


# --- values that are not missing at random


@dataclass(frozen=True)
class ColumnSensitivity:
    """The mean of a completed column, if what is missing is lower or higher.

    Attributes
    ----------
    name : str or int
        The column.
    n_missing : int
        Number of its missing values that are not known by a bound.
    observed : float
        Mean of the values that are not missing.
    shifts : tuple of float
        By how many standard deviations what is missing is higher than expected.
    pooled : tuple of Pooled
        The mean of the completed column with each shift, and its interval.
    n_bounded : int
        Number of its missing values that are known by a bound. The observed mean is
        without them, so that it may differ from that of all without any shift.
    """

    name: str | int
    n_missing: int
    observed: float
    shifts: tuple[float, ...]
    pooled: tuple[Pooled, ...]
    n_bounded: int = 0

    @property
    def outside(self) -> tuple[float, ...]:
        """The shifts with an interval that does not contain the observed mean."""
        return tuple(
            shift
            for shift, each in zip(self.shifts, self.pooled, strict=True)
            if not each.low <= self.observed <= each.high
        )

    def describe(self) -> str:
        """Return in words where the observed mean leaves the interval."""
        without = f" (without {self.n_bounded:,} known by a bound)"
        without = without if self.n_bounded else ""
        mean = f"The mean of the observed values{without}, "
        mean += f"{show_number(self.observed)}, is"
        level = f"{100 * self.pooled[0].confidence:.4g}% interval of the mean of all"
        ends = [
            f"{min(side, key=abs):+g}"
            for side in ([s for s in self.outside if s * way > 0] for way in (-1, 1))
            if side
        ]
        if 0.0 in self.outside:
            return f"{mean} outside of the {level} even without a shift."
        if not ends:
            return f"{mean} inside of the {level} with every shift."
        sides = " and of ".join(ends)
        return f"{mean} outside of the {level} from a shift of {sides} on."


def sensitivity(
    imputer: Any,
    X: Any,
    *,
    lower: Any = None,
    upper: Any = None,
    shifts: Sequence[float] = (-1.0, -0.5, 0.0, 0.5, 1.0),
    n: int = 20,
    confidence: float = 0.95,
) -> list[ColumnSensitivity]:
    """Measure how means change if what is missing is not missing at random.

    No method can learn from a table whether those who do not report an income earn more
    than others like them. So missing values are drawn as if they were missing at
    random, and then shifted by some standard deviations of their column (pattern-
    mixture models, or delta adjustment): a conclusion that holds for every shift that
    is plausible does not depend on the assumption.

    Parameters
    ----------
    imputer : LacunetImputer
        Fitted, usually to ``X``. It is not changed.
    X : array-like or frame of shape (n_samples, n_features)
        The table to complete.
    lower, upper : array-like or frame of the shape of ``X``, default=None
        Bounds of missing numbers, as in ``fit``: draws lie between them, unshifted.
    shifts : sequence of float, default=(-1.0, -0.5, 0.0, 0.5, 1.0)
        In standard deviations of each column; all columns are shifted at once.
    n : int, default=20
        Number of completed tables for each shift; at least 2.
    confidence : float, default=0.95
        Confidence of the intervals.

    Returns
    -------
    list of ColumnSensitivity
        For each column of numbers with missing values and different observed ones, in
        the order of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetImputer
    >>> from lacunet.inspection import sensitivity
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> X[::4, 1] = np.nan
    >>> imputer = LacunetImputer(random_state=0).fit(X)
    >>> (found,) = sensitivity(imputer, X, n=5)
    >>> [round(each.estimate, 1) for each in found.pooled]
    [-0.2, -0.1, 0.1, 0.2, 0.3]
    """
    if not isinstance(imputer, LacunetImputer):
        msg = f"Got a {type(imputer).__name__}, but expected a LacunetImputer."
        raise TypeError(msg)
    steps = np.asarray(shifts, dtype=np.float64)
    if steps.ndim != 1 or not len(steps) or not np.isfinite(steps).all():
        msg = f"Got shifts={shifts!r}, but expected a sequence of finite numbers."
        raise ValueError(msg)
    if check_positive_int(n, "n") < 2:
        msg = f"Got n={n}, but expected at least 2 tables: their variance is pooled."
        raise ValueError(msg)
    model = copy.copy(imputer)
    # Columns are in the order of training.
    X, _, bounds = model._read(X, lower, upper)
    encoder = model._inputs.table
    before = encoder.numbers_of(X)
    missing = np.isnan(before)
    n_cells = missing.sum(0)
    if bounds is not None:
        missing &= np.isnan(bounds).all(0)
    places = [
        place
        for place, source in enumerate(encoder.sources[: encoder.n_numeric])
        if encoder.columns[source].kind == "number"
        and missing[:, place].any()
        and len(np.unique(before[~np.isnan(before[:, place]), place])) > 1
    ]
    if not places:
        return []
    # The same draws with each shift.
    source = copy.deepcopy(check_random_state(model.random_state))
    model.random_state = int(source.randint(2**31 - 1))
    values = []
    for shift in steps.tolist():
        model.set_params(shift=shift)
        tables = model.sample_imputations(X, n, lower=lower, upper=upper)
        values.append([encoder.numbers_of(table)[:, places] for table in tables])
    found = []
    for index, place in enumerate(places):
        column = before[:, place]
        pooled = [
            pool(
                [table[:, index].mean() for table in tables],
                [table[:, index].var(ddof=1) / len(column) for table in tables],
                df_complete=len(column) - 1,
                confidence=confidence,
            )
            for tables in values
        ]
        found.append(
            ColumnSensitivity(
                encoder.columns[encoder.sources[place]].name,
                int(missing[:, place].sum()),
                float(column[~np.isnan(column)].mean()),
                tuple(steps.tolist()),
                tuple(pooled),
                int(n_cells[place] - missing[:, place].sum()),
            )
        )
    return found
