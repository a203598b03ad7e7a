"""Mean ranks of methods over data sets, and how often one beats another."""

from typing import NamedTuple

from scipy import stats

from reproduction.statistics._scores import Floats, Scores


class MeanRank(NamedTuple):
    """The mean rank of a method.

    Attributes
    ----------
    method : str
    rank : float
        From 1, the best, to the number of methods.
    """

    method: str
    rank: float


class WinCount(NamedTuple):
    """On how many data sets a method is better than a rival.

    Attributes
    ----------
    rival : str
    wins, losses, ties : int
    """

    rival: str
    wins: int
    losses: int
    ties: int


def rank_methods(scores: Scores, *, higher_is_better: bool) -> tuple[MeanRank, ...]:
    """Rank the methods on each data set and average the ranks.

    Equal methods share the mean of their ranks.

    Parameters
    ----------
    scores : Scores
    higher_is_better : bool
        True for an accuracy, False for an error.

    Returns
    -------
    tuple of MeanRank
        The best method first; equal ones by name.

    Examples
    --------
    >>> from reproduction.statistics import Scores, rank_methods
    >>> scores = Scores(["pima", "horse"], ["a", "b"], [[0.7, 0.8], [0.6, 0.6]])
    >>> for method, rank in rank_methods(scores, higher_is_better=True):
    ...     print(method, rank)
    b 1.25
    a 1.75
    """
    worse = -scores.values if higher_is_better else scores.values
    ranks = stats.rankdata(worse, axis=1).mean(axis=0)
    ranked = [
        MeanRank(method, float(rank))
        for method, rank in zip(scores.methods, ranks, strict=True)
    ]
    return tuple(sorted(ranked, key=lambda each: (each.rank, each.method)))


def count_wins(
    scores: Scores, method: str, *, higher_is_better: bool
) -> tuple[WinCount, ...]:
    """Count the data sets on which a method beats each of the others.

    Parameters
    ----------
    scores : Scores
    method : str
    higher_is_better : bool
        True for an accuracy, False for an error.

    Returns
    -------
    tuple of WinCount
        One a rival, in the order of ``scores.methods``.

    Examples
    --------
    >>> from reproduction.statistics import Scores, count_wins
    >>> scores = Scores(["pima", "horse"], ["a", "b"], [[0.7, 0.8], [0.6, 0.6]])
    >>> count_wins(scores, "b", higher_is_better=True)
    (WinCount(rival='a', wins=1, losses=0, ties=1),)
    """
    sign = 1 if higher_is_better else -1
    return tuple(
        _count(rival, sign * scores.differences(method, rival))
        for rival in scores.methods
        if rival != method
    )


def _count(rival: str, gain: Floats) -> WinCount:
    wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
    return WinCount(rival, wins, losses, len(gain) - wins - losses)
