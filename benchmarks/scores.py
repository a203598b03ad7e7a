"""From cells to means, ranks, and what was won and lost."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

import numpy as np
from scipy import stats

from benchmarks.cells import Cell

Metric = Literal["log_loss", "accuracy"]
METRICS: tuple[Metric, ...] = ("log_loss", "accuracy")
SIGNS = {"log_loss": 1.0, "accuracy": -1.0}  # times the score: the lower the better


@dataclass(frozen=True)
class SetScore:
    """Means of a method over the folds of a set, with standard errors."""

    log_loss: float
    accuracy: float
    seconds: float
    log_loss_error: float | None = None  # None if there is but one fold
    accuracy_error: float | None = None


# What each method reached on each set.
Scores = Mapping[str, Mapping[str, SetScore]]


@dataclass(frozen=True)
class Standing:
    """Means of a method over all sets.

    The errors are those of the folds; the ranks are means over the sets, the distinct
    ones with each pair of duplicates counted once.
    """

    method: str
    log_loss: float
    accuracy: float
    seconds: float
    log_loss_error: float | None
    accuracy_error: float | None
    log_loss_rank: float
    accuracy_rank: float
    distinct_log_loss_rank: float
    distinct_accuracy_rank: float


@dataclass(frozen=True)
class Duel:
    """Ours against a rival over the distinct sets; a difference below 0 is ours less.

    ``p_value`` is that of a two-sided Wilcoxon signed-rank test over these sets.
    """

    rival: str
    metric: Metric
    n_sets: int
    difference: float
    difference_error: float | None
    wins: int
    losses: int
    ties: int
    p_value: float


def score_sets(cells: Iterable[Cell], n_folds: int) -> dict[str, dict[str, SetScore]]:
    """Average the folds; sets of which a method lacks a fold are left out."""
    found: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.fold < n_folds:
            found[cell.method, cell.dataset].append(cell)
    scores: dict[str, dict[str, SetScore]] = defaultdict(dict)
    for (method, dataset), folds in found.items():
        if len(folds) == n_folds:
            scores[method][dataset] = average_folds(folds)
    return dict(scores)


def average_folds(folds: Sequence[Cell]) -> SetScore:
    losses = [cell.log_loss for cell in folds]
    accuracies = [cell.accuracy for cell in folds]
    return SetScore(
        fmean(losses),
        fmean(accuracies),
        fmean(cell.seconds for cell in folds),
        standard_error(losses),
        standard_error(accuracies),
    )


def standard_error(values: Sequence[float]) -> float | None:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def comparable(scores: Scores) -> tuple[list[str], dict[str, dict[str, SetScore]]]:
    """Return the sets of all methods together, and the methods that have them all."""
    sets = sorted({dataset for of_method in scores.values() for dataset in of_method})
    whole = {
        method: {dataset: of_method[dataset] for dataset in sets}
        for method, of_method in scores.items()
        if set(of_method) == set(sets)
    }
    return sets, whole


def merge_pairs(
    values: Mapping[str, float], pairs: Sequence[tuple[str, str]]
) -> dict[str, float]:
    """Replace the values of both sets of a pair by their mean."""
    merged = dict(values)
    for first, second in pairs:
        if first in merged and second in merged:
            both = merged.pop(first), merged.pop(second)
            merged[f"{first}/{second}"] = fmean(both)
    return merged


def values_of(
    of_method: Mapping[str, SetScore],
    metric: Metric,
    pairs: Sequence[tuple[str, str]] = (),
) -> dict[str, float]:
    return merge_pairs({s: getattr(v, metric) for s, v in of_method.items()}, pairs)


def mean_ranks(
    scores: Scores, metric: Metric, pairs: Sequence[tuple[str, str]] = ()
) -> dict[str, float]:
    """Average the ranks of methods over sets; 1 is the best, ties get a mean rank."""
    table = [
        [SIGNS[metric] * value for _, value in sorted(of_method.items())]
        for of_method in (values_of(s, metric, pairs) for s in scores.values())
    ]
    ranks = stats.rankdata(np.array(table), axis=0).mean(1)  # (methods,)
    return dict(zip(scores, ranks.tolist(), strict=True))


def rank_methods(scores: Scores, pairs: Sequence[tuple[str, str]]) -> list[Standing]:
    """Return the standings of methods with the same sets, lowest log-loss first."""
    if not scores:
        return []
    ranks = {metric: mean_ranks(scores, metric) for metric in METRICS}
    distinct = {metric: mean_ranks(scores, metric, pairs) for metric in METRICS}
    standings = [
        Standing(
            method,
            fmean(score.log_loss for score in of_method.values()),
            fmean(score.accuracy for score in of_method.values()),
            fmean(score.seconds for score in of_method.values()),
            error_of_mean([score.log_loss_error for score in of_method.values()]),
            error_of_mean([score.accuracy_error for score in of_method.values()]),
            ranks["log_loss"][method],
            ranks["accuracy"][method],
            distinct["log_loss"][method],
            distinct["accuracy"][method],
        )
        for method, of_method in scores.items()
    ]
    return sorted(standings, key=lambda standing: standing.log_loss)


def error_of_mean(errors: Sequence[float | None]) -> float | None:
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    return math.sqrt(sum(error**2 for error in known)) / len(known)


def fight(scores: Scores, ours: str, pairs: Sequence[tuple[str, str]]) -> list[Duel]:
    """Compare ours with every other method, set by set."""
    if ours not in scores:
        return []
    return [
        duel(scores, ours, rival, metric, pairs)
        for rival in scores
        if rival != ours
        for metric in METRICS
    ]


def duel(
    scores: Scores,
    ours: str,
    rival: str,
    metric: Metric,
    pairs: Sequence[tuple[str, str]],
) -> Duel:
    mine = values_of(scores[ours], metric, pairs)
    theirs = values_of(scores[rival], metric, pairs)
    gaps = [mine[dataset] - theirs[dataset] for dataset in mine]
    better = [SIGNS[metric] * gap for gap in gaps]
    return Duel(
        rival,
        metric,
        len(gaps),
        fmean(gaps),
        standard_error(gaps),
        wins=sum(gap < 0 for gap in better),
        losses=sum(gap > 0 for gap in better),
        ties=sum(gap == 0 for gap in better),
        p_value=float(stats.wilcoxon(gaps).pvalue) if any(gaps) else 1.0,
    )
