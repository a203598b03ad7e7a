"""Pairs of methods, compared over data sets by Wilcoxon's test with Holm's correction.

Not by mean ranks (Nemenyi): whether two methods differ would then depend on the others
(Benavoli, Corani and Mangili, JMLR 2016).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lacunet.evaluation import holm
from reproduction.statistics._scores import Scores

# Up to so many data sets all signs are gone through if there are ties or zeros.
_MOST_EXHAUSTIVE = 13


class Pair(NamedTuple):
    """Two methods compared.

    Attributes
    ----------
    first, second : str
    median_difference : float
        Over data sets, of ``first - second``: how much, where p says how sure.
    p : float
        Of the two-sided Wilcoxon signed-rank test.
    p_holm : float
        The same, corrected for the number of pairs.
    different : bool
        Whether ``p_holm`` is at most ``alpha``.
    """

    first: str
    second: str
    median_difference: float
    p: float
    p_holm: float
    different: bool


@dataclass(frozen=True)
class PairTests:
    """All pairs that were compared, and what the number of data sets allows.

    Attributes
    ----------
    pairs : tuple of Pair
    n_datasets : int
    alpha : float
    """

    pairs: tuple[Pair, ...]
    n_datasets: int
    alpha: float

    @property
    def smallest_p(self) -> float:
        """The p-value if one method is better on all data sets: 2 / 2**n_datasets."""
        return math.ldexp(1.0, 1 - self.n_datasets)

    @property
    def enough(self) -> bool:
        """Whether there are enough data sets for any pair to come out different.

        If not, show the differences, or compare with one control only.
        """
        return self.smallest_p * len(self.pairs) <= self.alpha


def compare_pairs(
    scores: Scores, *, control: str | None = None, alpha: float = 0.05
) -> PairTests:
    """Compare every pair of methods, or one method with all others, over data sets.

    Each pair is compared by the two-sided Wilcoxon signed-rank test; Holm's correction
    is over all pairs that are compared. Ranks of zero differences are shared between
    both sides (Demšar, JMLR 2006). Up to 13 data sets the p-value is exact, with ties
    too; beyond, it is so without ties.

    Parameters
    ----------
    scores : Scores
    control : str, optional
        Compare this method with the others, and not the others with each other. That
        takes fewer data sets.
    alpha : float, default=0.05

    Returns
    -------
    PairTests

    Examples
    --------
    >>> from reproduction.statistics import Scores, compare_pairs
    >>> values = [[1, 2], [2, 4], [3, 6], [4, 8], [5, 10], [6, 12]]
    >>> tests = compare_pairs(Scores(list("pqrstu"), ["a", "b"], values))
    >>> tests.pairs[0].p, tests.pairs[0].different
    (0.03125, True)
    >>> tests.smallest_p, tests.enough
    (0.03125, True)
    """
    if not 0 < alpha < 1:
        msg = f"Got alpha={alpha!r}, but expected a number between 0 and 1."
        raise ValueError(msg)
    names = _pairs(scores, control)
    differences = [scores.differences(*pair) for pair in names]
    p_values = [_wilcoxon(difference) for difference in differences]
    rows = zip(names, differences, p_values, holm(p_values), strict=True)
    pairs = tuple(
        Pair(
            *pair, float(np.median(difference)), p, float(p_holm), bool(p_holm <= alpha)
        )
        for pair, difference, p, p_holm in rows
    )
    return PairTests(pairs, len(scores.datasets), alpha)


def _pairs(scores: Scores, control: str | None) -> Sequence[tuple[str, str]]:
    if len(scores.methods) < 2:
        msg = f"Got only the method {scores.methods[0]!r}, but expected at least two."
        raise ValueError(msg)
    if control is None:
        return list(combinations(scores.methods, 2))
    scores.column(control)
    return [(control, rival) for rival in scores.methods if rival != control]


def _wilcoxon(difference: NDArray[np.float64]) -> float:
    if not difference.any():
        return 1.0
    sizes = np.abs(difference)
    has_ties = len(np.unique(sizes)) < len(sizes) or not sizes.all()
    if has_ties and len(sizes) <= _MOST_EXHAUSTIVE:
        return _wilcoxon_with_ties(difference)
    return float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)


def _wilcoxon_with_ties(difference: NDArray[np.float64]) -> float:
    """Go through all signs of the ranks.

    ``stats.wilcoxon`` can do so too, but ranks anew for each and takes minutes.
    """
    ranks = np.sign(difference) * stats.rankdata(np.abs(difference))
    result = stats.permutation_test(
        (ranks,),
        np.sum,
        permutation_type="samples",  # of a single sample: the signs
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(result.pvalue)
