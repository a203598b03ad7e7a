"""From what each method did on each fold to results of methods."""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from lacunet.baselines import METHODS
from lacunet.evaluation._comparison_folds import Folds
from lacunet.evaluation._comparison_record import (
    Against,
    Failure,
    MethodResult,
    Summary,
)
from lacunet.evaluation._comparison_run import Outcome, Problem
from lacunet.evaluation._scores import METRICS, Metric, align_probabilities, score
from lacunet.evaluation._statistics import compare_with_ours, summarize

# By method and split.
Outcomes = Mapping[tuple[str, int], Outcome]


def _values(
    chosen: Sequence[str],
    metric: Metric,
    folds: Folds,
    outcomes: Outcomes,
    without: str | None,
) -> dict[str, list[float | None]]:
    """Return the values of each method, one a split."""
    return {
        method: [
            outcomes[method, place].scores.get(without, {}).get(metric.key)
            for place in range(len(folds.splits))
        ]
        for method in chosen
    }


def gather(
    chosen: Sequence[str], problem: Problem, folds: Folds, outcomes: Outcomes
) -> tuple[MethodResult, ...]:
    """Return what became of each method.

    Parameters
    ----------
    chosen : sequence of str
    problem : Problem
    folds : Folds
    outcomes : mapping of (str, int) to Outcome
        By method and split.

    Returns
    -------
    tuple of MethodResult
    """
    summaries = {
        (without, metric.key): summarize(
            _values(chosen, metric, folds, outcomes, without), metric, folds
        )
        for without in (None, *problem.drop_at_test)
        for metric in METRICS[problem.task]
    }

    def scores_of(method: str, without: str | None) -> dict[str, Summary]:
        return {
            metric.key: summaries[without, metric.key][method]
            for metric in METRICS[problem.task]
        }

    return tuple(
        _make_result(
            method,
            scores_of(method, None),
            {column: scores_of(method, column) for column in problem.drop_at_test},
            [outcomes[method, place] for place in range(len(folds.splits))],
        )
        for method in chosen
    )


def _make_result(
    method: str,
    scores: Mapping[str, Summary],
    without: Mapping[str, Mapping[str, Summary]],
    outcomes: Sequence[Outcome],
) -> MethodResult:
    seconds = [each.seconds for each in outcomes if each.seconds is not None]
    failures = tuple(
        Failure(outcome.place, column, why)
        for outcome in outcomes
        for column, why in outcome.failures.items()
    )
    said = [text for outcome in outcomes for text in outcome.warnings]
    return MethodResult(
        method,
        METHODS[method].title,
        scores,
        without,
        tuple(outcome.seconds for outcome in outcomes),
        median(seconds) if seconds else None,
        failures,
        tuple(dict.fromkeys(said)),
    )


def compare_all(
    chosen: Sequence[str], problem: Problem, folds: Folds, outcomes: Outcomes
) -> tuple[Against, ...]:
    """Test our method against all others, by all scores.

    Parameters
    ----------
    chosen : sequence of str
    problem : Problem
    folds : Folds
    outcomes : mapping of (str, int) to Outcome

    Returns
    -------
    tuple of Against
        With all columns, and without each of those that were hidden.
    """
    return tuple(
        test
        for without in (None, *problem.drop_at_test)
        for metric in METRICS[problem.task]
        for test in compare_with_ours(
            _values(chosen, metric, folds, outcomes, without), metric, folds, without
        )
    )


def score_trivial(problem: Problem, folds: Folds) -> dict[str, Summary]:
    """Score what is known without any column.

    Parameters
    ----------
    problem : Problem
    folds : Folds

    Returns
    -------
    dict of str to Summary
    """
    found = [_score_guess(problem, split.train, split.test) for split in folds.splits]
    return {
        metric.key: summarize(
            {"trivial": [each[metric.key] for each in found]}, metric, folds
        )["trivial"]
        for metric in METRICS[problem.task]
    }


def _score_guess(
    problem: Problem, train: np.ndarray, test: np.ndarray
) -> Mapping[str, float | None]:
    known, y = problem.y[train], problem.y[test]
    if problem.task == "regression":
        mean = DummyRegressor().fit(train, known).predict(test)
        return score(problem.task, y, mean)
    classes = np.arange(problem.n_classes)
    guess = DummyClassifier().fit(train, known)
    shares = align_probabilities(guess.predict_proba(test), guess.classes_, classes)
    return score(problem.task, y, shares, classes)


def tell_failures(chosen: Sequence[str], outcomes: Outcomes) -> list[str]:
    """Return a sentence for each method that failed.

    Parameters
    ----------
    chosen : sequence of str
    outcomes : mapping of (str, int) to Outcome

    Returns
    -------
    list of str
    """
    notes = []
    for method in chosen:
        of_method = [out for (key, _), out in sorted(outcomes.items()) if key == method]
        whys = [why for out in of_method for why in out.failures.values()]
        failed = sum(bool(out.failures) for out in of_method)
        if failed:
            notes.append(
                f"{METHODS[method].title} failed on {failed} of {len(of_method)} "
                f"folds: {whys[0]}"
            )
    return notes
