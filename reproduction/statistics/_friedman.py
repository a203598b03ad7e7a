"""Friedman's test: whether the methods differ at all."""

import math
from typing import NamedTuple

from scipy import stats

from reproduction.statistics._scores import Floats, Scores


class FriedmanTest(NamedTuple):
    """What Friedman's test says.

    Attributes
    ----------
    chi2, chi2_p : float
        Friedman's statistic, corrected for ties, and its p-value.
    f, f_p : float
        Iman and Davenport's statistic, which is less conservative, and its p-value.
    n_datasets, n_methods : int
    """

    chi2: float
    chi2_p: float
    f: float
    f_p: float
    n_datasets: int
    n_methods: int


def friedman(scores: Scores) -> FriedmanTest:
    """Test whether all methods rank the same over data sets.

    A gate before ``compare_pairs``: if it does not reject, no pair is worth a look.
    With N data sets and k methods, Iman and Davenport's F is
    (N - 1) chi2 / (N (k - 1) - chi2), with k - 1 and (k - 1)(N - 1) degrees of freedom.

    Parameters
    ----------
    scores : Scores
        Of at least two data sets and three methods.

    Returns
    -------
    FriedmanTest

    Examples
    --------
    >>> from reproduction.statistics import Scores, friedman
    >>> values = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> result = friedman(Scores(list("pqrs"), list("abc"), values))
    >>> print(f"{result.chi2:.1f} {result.chi2_p:.4f} {result.f:.3f} {result.f_p:.4f}")
    4.5 0.1054 3.857 0.0837
    """
    n_datasets, n_methods = scores.values.shape
    if n_datasets < 2 or n_methods < 3:
        msg = (
            f"Got {n_datasets} data sets and {n_methods} methods, but expected at "
            f"least 2 and 3. Compare two methods with compare_pairs."
        )
        raise ValueError(msg)
    chi2, chi2_p = _chi2(scores.values)
    f = _iman_davenport(chi2, n_datasets, n_methods)
    f_p = stats.f.sf(f, n_methods - 1, (n_methods - 1) * (n_datasets - 1))
    return FriedmanTest(chi2, chi2_p, f, float(f_p), n_datasets, n_methods)


def _chi2(values: Floats) -> tuple[float, float]:
    if (values == values[:, :1]).all():
        return 0.0, 1.0  # all are equal everywhere: the correction for ties is 0 / 0
    chi2, p_value = stats.friedmanchisquare(*values.T)
    return float(chi2), float(p_value)


def _iman_davenport(chi2: float, n_datasets: int, n_methods: int) -> float:
    most = n_datasets * (n_methods - 1)  # if all data sets agree
    if math.isclose(chi2, most):
        return math.inf
    return (n_datasets - 1) * chi2 / (most - chi2)
