"""Rules for claims about accuracy: tables 2, 4 and 6, the toy, and rows to train on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from reproduction.experiments._catalogue import load_experiment
from reproduction.experiments._claims_chance import (
    Common,
    are_enough,
    average_rates,
    find_common,
    over_rows,
    over_splits,
    require,
    settle,
    tell_comparisons,
    tell_power,
)
from reproduction.experiments._claims_record import (
    DOES_NOT,
    HOLDS,
    OPEN,
    Evidence,
    Finding,
    Judge,
    LackingError,
    Outcome,
)
from reproduction.experiments._claims_words import (
    join_words,
    prefixed,
    sentences,
    tell_count,
    tell_reported,
    tell_values,
)
from reproduction.statistics import Scores, count_wins

OURS = "paper"
METRIC = "accuracy"
FROZEN = "em-frozen"
IMPUTATIONS = ("knn", "mice", "mean", "gmm")
HIGH_RATE = 0.75
# The paper calls accuracies comparable that are up to 0.011 below those of CE.
LEVEL = 0.02
ALMOST_ALL, HALF = 0.75, 0.5


# --- table 2


def better_at_high_rates(*rivals: str) -> Judge:
    """Return the rule for an accuracy that is said to be higher if much is missing.

    Parameters
    ----------
    *rivals : str

    Returns
    -------
    callable
    """

    def judge(evidence: Evidence) -> Finding:
        common, rates = _over_rates(evidence, rivals, HIGH_RATE)
        comparisons = over_splits(common, higher_is_better=True)
        reported = _reported_from(HIGH_RATE, common.methods)
        means = common.means()
        why = sentences(
            f"Mean accuracy at {rates}: {tell_values(means)}.",
            _tell_splits(common) or tell_comparisons(comparisons),
            tell_reported(reported, higher_is_better=True),
        )
        figures = {**means, **prefixed("reported", reported)}
        return Finding(settle(comparisons, common.missing), why, figures)

    return judge


def judge_level(evidence: Evidence) -> Finding:
    """Judge whether accuracies are level with those of a context encoder.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    Finding
    """
    common, rates = _over_rates(evidence, ["ce"], 0.0)
    (comparison,) = over_splits(common, higher_is_better=True, allowance=LEVEL)
    reported = _reported_from(0.0, common.methods)
    means = common.means()
    verbs = {1: "above", 0: "within chance of", -1: "below"}
    told = (
        f"paper is {verbs[comparison.side]} the other minus {LEVEL} "
        f"(p = {comparison.p:.2g})."
    )
    why = sentences(
        f"Mean accuracy at {rates}: {tell_values(means)}.",
        _tell_splits(common) or told,
        f"The paper's own: {tell_values(reported)}.",
    )
    figures = {**means, **prefixed("reported", reported)}
    return Finding(settle([comparison]), why, figures)


def _over_rates(
    evidence: Evidence, rivals: Sequence[str], lowest: float
) -> tuple[Common, str]:
    """Return means over the rates from the lowest on, and the rates in words."""
    first, *_ = rows = evidence.settings("table-2")
    chosen = [
        row
        for row in rows
        if row.dataset == first.dataset and row.rate and row.rate >= lowest
    ]
    common = find_common(evidence.cells("table-2", METRIC, chosen), OURS, rivals)
    averaged = average_rates(common.cells)
    if not averaged:
        msg = "no results of all rates on the same rows"
        raise LackingError(msg, partial=True)
    rates = sorted({cell.rate for cell in common.cells if cell.rate is not None})
    told = join_words(f"{rate:.0%}" for rate in rates)
    return replace(common, cells=tuple(averaged)), f"{told} missing"


def _tell_splits(common: Common) -> str:
    if common.n_splits > 1:
        return ""
    return "There is one split alone, which says nothing of chance."


def _reported_from(lowest: float, methods: Sequence[str]) -> dict[str, float]:
    """Return the paper's own means over the rates from the lowest on."""
    reported = load_experiment("table-2").reported[METRIC]
    rows = [line for (_, rate), line in reported.items() if rate and rate >= lowest]
    return _mean_lines(rows, methods)


def _mean_lines(
    lines: Sequence[Mapping[str, float]], methods: Sequence[str]
) -> dict[str, float]:
    """Return the means of the methods that all lines have."""
    return {
        key: float(np.mean([line[key] for line in lines]))
        for key in methods
        if lines and all(key in line for line in lines)
    }


# --- tables 4 and 6


def better_than_imputation(table: str) -> Judge:
    """Return the rule for a method that is said to win in almost all cases.

    Parameters
    ----------
    table : str

    Returns
    -------
    callable
    """

    def judge(evidence: Evidence) -> Finding:
        common = find_common(evidence.cells(table, METRIC), OURS, IMPUTATIONS)
        require(common.missing)
        scores = common.scores()
        share = _share_won(scores)
        (comparison,) = over_rows(
            _with_average(scores), [(OURS, "imputation")], higher_is_better=True
        )
        reported = _share_won(_reported_scores(table))
        why = sentences(
            f"paper wins in {share:.0%} of {tell_count(_n_cases(scores), 'case')}, on "
            f"{_tell_sets(evidence, table, scores)}.",
            tell_comparisons([comparison]),
            tell_power(len(scores.datasets), 1, "data set"),
            f"By the paper's own figures it wins in {reported:.0%}.",
        )
        figures = {
            **common.means(),
            "share won": share,
            "reported share won": reported,
            "p": comparison.p,
        }
        enough = are_enough(len(scores.datasets))
        outcome = _settle_share(share, comparison.side) if enough else OPEN
        return Finding(outcome, why, figures)

    return judge


def _settle_share(share: float, side: int) -> Outcome:
    if share <= HALF or side < 0:
        return DOES_NOT
    return HOLDS if share >= ALMOST_ALL and side > 0 else OPEN


def _n_cases(scores: Scores) -> int:
    return len(scores.datasets) * (len(scores.methods) - 1)


def _share_won(scores: Scores) -> float:
    """Return the share of data sets and rivals with a win; a tie is half of one."""
    counts = count_wins(scores, OURS, higher_is_better=True)
    return sum(each.wins + each.ties / 2 for each in counts) / _n_cases(scores)


def _with_average(scores: Scores) -> Scores:
    """Return our column, and the mean of all others."""
    ours = scores.column(OURS)
    others = np.delete(scores.values, ours, axis=1).mean(axis=1)
    both = np.column_stack([scores.values[:, ours], others])
    return Scores(scores.datasets, (OURS, "imputation"), both)


def _reported_scores(table: str) -> Scores:
    """Return the paper's own figures of its method and the imputations."""
    rows = load_experiment(table).reported[METRIC]
    lines = list(rows.values())
    methods = [key for key in (OURS, *IMPUTATIONS) if key in lines[0]]
    values = [[line[key] for key in methods] for line in lines]
    return Scores([dataset for dataset, _ in rows], methods, values)


# --- one number a data set or seed


def better_over_datasets(name: str, *rivals: str) -> Judge:
    """Return the rule for a method that is said to be better than each of some rivals.

    Parameters
    ----------
    name : str
        Of the experiment.
    *rivals : str

    Returns
    -------
    callable
    """

    def judge(evidence: Evidence) -> Finding:
        common = find_common(evidence.cells(name, METRIC), OURS, rivals)
        scores = common.scores()
        pairs = [(OURS, rival) for rival in common.rivals]
        comparisons = over_rows(scores, pairs, higher_is_better=True)
        lines = list(load_experiment(name).reported.get(METRIC, {}).values())
        reported = _mean_lines(lines, common.methods)
        means = common.means()
        why = sentences(
            f"Mean accuracy on {_tell_sets(evidence, name, scores)}: "
            f"{tell_values(means)}.",
            tell_comparisons(comparisons),
            tell_power(len(scores.datasets), len(pairs), "data set"),
            tell_reported(reported, higher_is_better=True),
        )
        figures = {
            **means,
            **prefixed("reported", reported),
            **prefixed("p against", {each.rival: each.p for each in comparisons}),
        }
        return Finding(settle(comparisons, common.missing), why, figures)

    return judge


def joint_beats_em(name: str, *, by_seed: bool = False) -> Judge:
    """Return the rule for a density that is learned, against that of EM.

    Parameters
    ----------
    name : str
        Of the experiment.
    by_seed : bool, default=False
        Whether each seed has other rows, so that seeds are what the test is over.

    Returns
    -------
    callable
    """

    def judge(evidence: Evidence) -> Finding:
        cells = evidence.cells(name, METRIC)
        if by_seed:
            cells = [replace(cell, dataset=f"seed {cell.seed}") for cell in cells]
        common = find_common(cells, OURS, (FROZEN, "em-joint"))
        require([key for key in common.missing if key == FROZEN])
        scores = common.scores()
        learned = [key for key in common.methods if key != FROZEN]
        pairs = [(key, FROZEN) for key in learned]
        comparisons = over_rows(scores, pairs, higher_is_better=True)
        number = len(scores.datasets)
        sets = _tell_sets(evidence, name, scores)
        rows = tell_count(number, "seed") if by_seed else sets
        by_method = dict(zip(learned, comparisons, strict=True))
        why = sentences(
            f"Mean accuracy on {rows}: {tell_values(common.means())}.",
            *(tell_comparisons([each], key) for key, each in by_method.items()),
            tell_power(number, len(pairs), "seed" if by_seed else "data set"),
        )
        p_values = {key: each.p for key, each in by_method.items()}
        figures = {**common.means(), **prefixed("p of", p_values)}
        return Finding(settle([by_method[OURS]]), why, figures)

    return judge


def _tell_sets(evidence: Evidence, name: str, scores: Scores) -> str:
    """Return the number of data sets, and of how many if some are not there yet."""
    total = len({row.dataset for row in evidence.settings(name)})
    number = len(scores.datasets)
    if number == total:
        return tell_count(number, "data set")
    return f"{number} of {tell_count(total, 'data set')}"
