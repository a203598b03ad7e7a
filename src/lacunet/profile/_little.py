"""Little's test: whether values are missing completely at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.profile._gaussian import GaussianFit, fit_gaussian
from lacunet.profile._holes import Floats, HoleColumn, open_holes
from lacunet.profile._patterns import find_patterns

FOLLOWS = "follows from other columns"
# Weights of a combination below this are rounding.
_PART = 1e-3


@dataclass(frozen=True)
class LittleTest:
    """What Little's test says.

    Attributes
    ----------
    statistic : float
    df : int
        Degrees of freedom.
    p_value : float
        Small if the rows' means differ with what is missing in them: then values are
        not missing completely at random.
    n_patterns : int
    n_rows : int
        Without those that have nothing observed.
    left_out : tuple of (str, str)
        Columns that took no part, and why.
    n_columns : int
        Those that took part.
    n_alone : int
        Rows that share their pattern with no other. They add to the degrees of freedom
        and say nothing: the more of them, the less the test can see.
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

    Rows are grouped by their pattern of holes. If values are missing completely at
    random, the mean of each group differs from the mean of all by chance only. The
    statistic is the sum over patterns of n (y - m)' S^-1 (y - m), with a group's n rows
    and their mean y over the observed columns, and m and S the likeliest mean and
    covariance given all observed cells. It is compared with a chi-squared distribution
    whose degrees of freedom are the observed columns of all patterns less the columns.

    The test is for numbers that are about normal. A small p-value speaks against
    "completely at random". A large one proves nothing, and the test can't tell whether
    holes depend on what is observed or on the missing values themselves.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Numbers take part. Categories, dates, constant columns and columns that follow
        from others are left out, and the result says so.
    correct : bool, default=False
        Whether to take the covariance times n / (n - 1), as Little does.

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
    result = run_test(list(open_holes(X).columns()), correct=correct)
    if isinstance(result, str):
        msg = f"Got a table that Little's test is not for: {result}."
        raise ValueError(msg)
    return result


def run_test(
    columns: Sequence[HoleColumn], *, correct: bool = False
) -> LittleTest | str:
    """Test columns, or say why they can't be tested.

    Parameters
    ----------
    columns : sequence of HoleColumn
    correct : bool, default=False

    Returns
    -------
    LittleTest or str
    """
    left_out = {column.name: _why_not(column) for column in columns}
    kept = [column for column in columns if not left_out[column.name]]
    while True:
        obstacle = _find_obstacle(kept)
        if obstacle:
            return obstacle
        values = np.column_stack([column.values for column in kept])
        values = _near_one(values[~np.isnan(values).all(axis=1)])
        fit = fit_gaussian(values)
        if fit.combination is None:
            break
        dropped = kept.pop(_last_of(fit.combination))
        left_out[dropped.name] = FOLLOWS
    named = tuple((name, why) for name, why in left_out.items() if why)
    if not fit.converged:
        return (
            "its likeliest mean and covariance were not found, as too little is known "
            "of how its columns go together"
        )
    return _make_test(values, fit, correct, named)


def _near_one(values: Floats) -> Floats:
    """Divide columns by powers of two, which is exact, so that no square vanishes."""
    exponent = np.frexp(np.nanmax(np.abs(values), axis=0))[1]
    near: Floats = np.ldexp(values, -exponent)
    return near


def _why_not(column: HoleColumn) -> str:
    """Return why a column can't take part, or nothing."""
    seen = column.values[~column.missing]
    if not len(seen):
        return "nothing is observed"
    if column.kind != "number":
        return "a date" if column.kind == "date" else "not numbers"
    if not np.isfinite(seen).all():
        return "has infinite values"
    return "constant" if (seen == seen[0]).all() else ""


def _find_obstacle(kept: Sequence[HoleColumn]) -> str:
    """Return why there is nothing to test, or nothing."""
    if len(kept) < 2:
        return "it has fewer than two columns of numbers that vary"
    empty = np.logical_and.reduce([column.missing for column in kept])
    if all((column.missing == empty).all() for column in kept):
        return "in its columns of numbers, nothing is missing"
    n_rows = int((~empty).sum())
    if n_rows <= len(kept):
        return (
            f"it has {len(kept)} columns of numbers and {n_rows} rows with any of "
            f"them, and the test needs more rows than columns"
        )
    patterns = find_patterns(np.column_stack([column.missing for column in kept]))
    if ((~patterns.missing).sum(axis=0) == 1).all():
        return "none of its columns is observed in two patterns of holes"
    return ""


def _last_of(combination: Floats) -> int:
    """Return the last column that has a part in a combination."""
    size = np.abs(combination)
    return int(np.flatnonzero(size > _PART * size.max())[-1])


def _make_test(
    values: Floats,
    fit: GaussianFit,
    correct: bool,
    left_out: tuple[tuple[str, str], ...],
) -> LittleTest:
    from scipy import stats

    n_rows, n_columns = values.shape
    patterns = find_patterns(np.isnan(values))
    means = np.zeros((len(patterns.counts), n_columns))
    np.add.at(means, patterns.of_row, np.nan_to_num(values - fit.mean))
    means /= patterns.counts[:, None]
    distances = [
        mean[observed]
        @ np.linalg.solve(fit.covariance[np.ix_(observed, observed)], mean[observed])
        for mean, observed in zip(means, ~patterns.missing, strict=True)
    ]
    statistic = float(patterns.counts @ np.array(distances))
    if correct:
        statistic *= (n_rows - 1) / n_rows
    df = int((~patterns.missing).sum()) - n_columns
    return LittleTest(
        statistic,
        df,
        float(stats.chi2.sf(statistic, df)),
        len(patterns.counts),
        n_rows,
        left_out,
        n_columns,
        int((patterns.counts == 1).sum()),
    )
