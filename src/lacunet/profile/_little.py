"""Little's test of whether values are missing completely at random."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from lacunet.profile._columns import as_frame, kind_of, read_table, take
from lacunet.profile._patterns import find_patterns

MAX_COLUMNS = 40
MAX_STEPS = 600  # of EM
_SETTLED = 1e-13  # gain of a row's log likelihood
# Patterns times cubed columns, what an iteration of EM costs: some hundredths of a
# second.
MAX_COST = 1e7
# Fraction of rows whose pattern occurs only once: above it, the test has no power.
_MAX_ALONE = 0.9
# Eigenvalue of a correlation matrix: below it, a column is a combination of others.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class LittleTest:
    """Result of Little's test.

    Attributes
    ----------
    statistic : float
        The weighted distance of the patterns' means from the overall mean.
    df : int
        Degrees of freedom of its chi-squared distribution.
    p_value : float
        Small if means differ between patterns: then values are not missing completely
        at random.
    n_patterns : int
        Distinct patterns of missing values.
    n_rows : int
        Rows with at least one observed value.
    left_out : tuple of (str, str)
        Columns that were not tested, each with the reason.
    n_columns : int
        Columns that were tested.
    n_alone : int
        Rows whose pattern occurs only once. They add to the degrees of freedom but
        carry no information: the more of them, the less power the test has.
    """

    statistic: float
    df: int
    p_value: float
    n_patterns: int
    n_rows: int
    left_out: tuple[tuple[str, str], ...]
    n_columns: int
    n_alone: int


def little_mcar_test(X: Any, *, correct: bool = False) -> LittleTest:
    """Test whether values are missing completely at random (Little 1988).

    Rows are grouped by their pattern of missing values. If values are missing
    completely at random, the mean of each group differs from the overall mean by chance
    only. The statistic is the sum over patterns of n (y - m)' S^-1 (y - m), with a
    group's n rows and their mean y over the observed columns, and m and S the maximum
    likelihood estimates of mean and covariance, by EM on all observed cells. It is
    compared with a chi-squared distribution whose degrees of freedom are the number of
    observed columns summed over patterns, less the number of columns.

    The test assumes numbers that are about normal. A small p-value is evidence against
    "completely at random". A large one proves nothing, and the test cannot distinguish
    missingness that depends on observed values from missingness that depends on the
    missing values themselves.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Numeric columns are tested. Categories, dates, constant columns and columns that
        are linear combinations of others are left out; the result lists them.
    correct : bool, default=False
        Whether to use the unbiased covariance, n / (n - 1) times that of maximum
        likelihood, as Little does.

    Returns
    -------
    LittleTest

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile import little_mcar_test
    >>> first = [0, 1, 2, 3, 4, 5, 3, 4]
    >>> second = [0, 1, 2.5, 2, np.nan, np.nan, np.nan, 4.5]
    >>> test = little_mcar_test(np.column_stack([first, second]))
    >>> print(f"{test.statistic:.4f} {test.df} {test.p_value:.4f}")
    3.0769 1 0.0794
    """
    result = _run(read_table(as_frame(X)), correct=correct)
    if isinstance(result, str):
        msg = f"Got a table that Little's test does not apply to: {result}."
        raise ValueError(msg)
    return result


def run_sampled(table: Any, random_state: Any) -> tuple[LittleTest | None, str]:
    """Test as many columns and rows as take seconds; also return a note."""
    note = ""
    numeric = table.select_dtypes("number").dropna(axis=1, how="all")
    if numeric.shape[1] > MAX_COLUMNS:
        note = f"the {MAX_COLUMNS} columns with the most missing values were tested"
        table = numeric = take(numeric, MAX_COLUMNS)
    missing = numeric.isna().to_numpy(dtype=bool)
    n_columns = numeric.shape[1]
    rows = random_state.permutation(len(table) if n_columns else 0)
    while n_columns > 1:
        _, counts, _ = find_patterns(missing[rows])
        if (counts == 1).sum() > _MAX_ALONE * len(rows):
            return None, "nearly every row has a pattern of missing values of its own"
        if len(counts) * n_columns**3 <= MAX_COST:
            break
        rows = rows[: len(rows) // 2]
    result = _run(table.iloc[np.sort(rows)])
    return (None, result) if isinstance(result, str) else (result, note)


def _run(table: Any, *, correct: bool = False) -> LittleTest | str:
    """Return the result of the test, or why it cannot be made."""
    left_out = {name: _why_not(table[name]) for name in table}
    independent = None
    while independent is None or not independent.all():
        kept = [name for name in table if not left_out[name]]
        if len(kept) < 2:
            return "it has fewer than two numeric columns that vary"
        values = table[kept].dropna(how="all").to_numpy()
        n_rows, n_columns = values.shape
        patterns, counts, of_row = find_patterns(np.isnan(values))
        df = int((~patterns).sum()) - n_columns
        if not patterns.any():
            return "no values are missing in its numeric columns"
        if n_rows <= n_columns:
            return "it has no more rows than numeric columns"
        if not df:
            return "none of its columns is observed in two patterns"
        values = values / np.nanmax(np.abs(values), axis=0)  # or squares may overflow
        values = (values - np.nanmean(values, axis=0)) / np.nanstd(values, axis=0)
        from lacunet.density import IncompleteGaussianMixture  # loads torch

        gaussian = IncompleteGaussianMixture(
            covariance_type="full",
            accelerate=True,
            tol=_SETTLED,
            reg_covar=_SINGULAR / 10,
            max_iter=MAX_STEPS,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            gaussian.fit(values)
        mean, covariance = gaussian.means_[0], gaussian.covariances_[0]
        std = np.sqrt(covariance.diagonal())
        correlation = covariance / np.outer(std, std)
        # A column that follows from earlier ones adds nothing to the rank.
        ranks = [
            np.linalg.matrix_rank(correlation[:n, :n], tol=_SINGULAR, hermitian=True)
            for n in range(1, n_columns + 1)
        ]
        independent = np.diff(ranks, prepend=0) > 0
        for j in np.flatnonzero(~independent):
            left_out[kept[j]] = "follows from other columns"
    if not gaussian.converged_:
        return "EM did not converge: too few rows have the same columns observed"
    sums = np.zeros(patterns.shape)
    np.add.at(sums, of_row, np.nan_to_num(values - mean))
    statistic = 0.0
    for total, n, seen in zip(sums, counts, ~patterns, strict=True):
        block = covariance[np.ix_(seen, seen)]
        statistic += float(total[seen] @ np.linalg.solve(block, total[seen]) / n)
    if correct:
        statistic *= (n_rows - 1) / n_rows
    return LittleTest(
        statistic,
        df,
        float(stats.chi2.sf(statistic, df)),
        len(counts),
        n_rows,
        tuple((name, why) for name, why in left_out.items() if why),
        n_columns,
        int((counts == 1).sum()),
    )


def _why_not(column: Any) -> str:
    """Return why a column is not tested, or an empty string."""
    kind, seen = kind_of(column), column.dropna()
    if kind == "empty":
        return "nothing is observed"
    if kind != "number":
        return "a date" if kind == "date" else "not numeric"
    if not np.isfinite(seen).all():
        return "has infinite values"
    return "" if seen.nunique() > 1 else "constant"
