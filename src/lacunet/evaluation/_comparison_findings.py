"""The sentences that sum up a comparison of methods, made from its numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import join_words, shorten, show_p, show_seconds
from lacunet.evaluation._scores import Estimate, Metric, show_score
from lacunet.evaluation._statistics import Against

if TYPE_CHECKING:
    from lacunet.evaluation._comparison import Comparison, MethodResult

    # The methods with a score on every fold, its mean and its standard error.
    Ordered = Sequence[tuple[MethodResult, float, float | None]]

_LONG = 1.5  # this many times as long as the fastest is worth mentioning
_LISTED = 3  # methods in a sentence, beside lacunet


@dataclass(frozen=True)
class Finding:
    """One statement about a comparison.

    Attributes
    ----------
    about : {"best", "ours", "metrics", "time", "missing"}
        What it is about.
    head : str
        The statement in a few words.
    text : str
        A few sentences, with numbers.
    """

    about: Literal["best", "ours", "metrics", "time", "missing"]
    head: str
    text: str


def make_findings(comparison: "Comparison") -> tuple[Finding, ...]:
    """State which method is best, how lacunet compares, and what is significant."""
    found = [
        _describe_best(comparison),
        _describe_ours(comparison),
        _describe_other_metrics(comparison),
        _describe_time(comparison),
        *(_describe_missing(comparison, each) for each in comparison.drop_at_test),
    ]
    return tuple(finding for finding in found if finding is not None)


def _describe_best(comparison: "Comparison") -> Finding:
    metric = comparison.metrics[0]
    ordered = _order(comparison, metric)
    if not ordered:
        head = "No method completed every fold"
        return Finding("best", head, "The notes give the reasons.")
    repeats = f" × {comparison.n_repeats} repeats" if comparison.n_repeats > 1 else ""
    trivial = comparison.trivial[metric.key].mean
    assert trivial is not None
    sign = 1 if metric.higher_is_better else -1
    worse = [m.title for m, mean, _ in ordered if sign * (mean - trivial) <= 0]
    constant = "class frequencies" if comparison.classes else "mean of the target"
    text = (
        f"{_list_scores(comparison, ordered, metric, _LISTED)} (mean over "
        f"{comparison.n_folds} folds{repeats}, ± standard error). Predicting the "
        f"{constant} for every row gives "
        f"{show_score(trivial, comparison.score_format(metric))}"
    )
    head = _name_best(ordered, metric)
    if len(worse) == len(ordered):
        head = "No method is better than a constant prediction"
    elif worse:
        verb = "is" if len(worse) == 1 else "are"
        text += f"; {join_words(worse)} {verb} no better than that"
    return Finding("best", head, f"{text}.")


def _describe_ours(comparison: "Comparison") -> Finding | None:
    metric = comparison.metrics[0]
    tests = comparison.tests_of(metric)
    if not tests:
        return None
    form = comparison.score_format(metric)
    gains = [
        f"{comparison.title_of(test.rival)} {show_score(test.gain, f'+{form}')} "
        f"({show_p(test.p_holm)})"
        for test in sorted(tests, key=lambda each: -each.gain)
    ]
    text = (
        f"Difference, positive where lacunet is better: {', '.join(gains)}. p-values "
        f"of the corrected resampled t-test over folds, with Holm's correction."
    )
    return Finding("ours", _describe_tests(comparison, tests), text)


def _describe_other_metrics(comparison: "Comparison") -> Finding | None:
    sentences = []
    winners: dict[str, list[str]] = {}
    for metric in comparison.metrics[1:]:
        ordered = _order(comparison, metric)
        if not ordered:
            continue
        best = _find_best(ordered)
        text = f"{metric.title[:1].upper()}{metric.title[1:]}: "
        text += _list_scores(comparison, ordered, metric, len(best))
        different = [
            comparison.title_of(test.rival)
            for test in comparison.tests_of(metric)
            if test.different
        ]
        if different:
            text += f"; lacunet differs significantly from {join_words(different)}"
        sentences.append(f"{text}.")
        winners.setdefault(join_words(best), []).append(metric.title)
    if not sentences:
        return None
    names = [f"{name} by {join_words(titles)}" for name, titles in winners.items()]
    head = f"Best by other scores: {join_words(names)}"
    return Finding("metrics", head, " ".join(sentences))


def _describe_time(comparison: "Comparison") -> Finding | None:
    timed = sorted(
        ((each.seconds, each) for each in comparison.methods if each.seconds),
        key=lambda pair: pair[0],
    )
    if len(timed) < 2:
        return None
    least, fastest = timed[0]
    head = f"{fastest.title} is the fastest"
    ours = comparison.ours
    if ours is not None and ours.seconds and ours.seconds > _LONG * least:
        ratio = ours.seconds / least
        times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"
        head += f"; lacunet takes {times} times as long"
    shown = [
        f"{method.title} {show_seconds(seconds)}"
        for place, (seconds, method) in enumerate(timed)
        if place in (0, len(timed) - 1) or method is ours
    ]
    text = f"Median time to fit and predict on one core: {', '.join(shown)}."
    return Finding("time", head, text)


def _describe_missing(comparison: "Comparison", column: str) -> Finding | None:
    metric = comparison.metrics[0]
    ordered = _order(comparison, metric, column)
    if not ordered:
        return None
    text = f"{_list_scores(comparison, ordered, metric, _LISTED, column)}."
    tests = comparison.tests_of(metric, column)
    if tests:
        text += f" {_describe_tests(comparison, tests)}."
    head = f"With {shorten(column)!r} missing at prediction, "
    return Finding("missing", head + _name_best(ordered, metric), text)


# --- what several sentences need


def _order(
    comparison: "Comparison", metric: Metric, without: str | None = None
) -> "Ordered":
    """Return the methods with a score on every fold, the best first."""
    return [
        (method, each.mean, each.stderr)
        for method, each in comparison.ordered(metric, without)
        if each.complete and each.mean is not None
    ]


def _find_best(ordered: "Ordered") -> list[str]:
    """Return the titles of the best methods: several if they tie."""
    best = ordered[0][1]
    return [
        m.title for m, mean, _ in ordered if math.isclose(mean, best, rel_tol=1e-12)
    ]


def _name_best(ordered: "Ordered", metric: Metric) -> str:
    best = _find_best(ordered)
    verb = "has" if len(best) == 1 else "tie for"
    superlative = "highest" if metric.higher_is_better else "lowest"
    return f"{join_words(best)} {verb} the {superlative} {metric.title}"


def _list_scores(
    comparison: "Comparison",
    ordered: "Ordered",
    metric: Metric,
    most: int,
    without: str | None = None,
) -> str:
    """Return the best scores and that of lacunet, wherever it ranks."""
    form = comparison.score_format(metric, without)
    shown = []
    for place, (method, mean, stderr) in enumerate(ordered):
        if place >= most and method is not comparison.ours:
            continue
        text = f"{method.title} {Estimate(mean, stderr).show(form)}"
        whole = method.scores[metric.key].mean
        if without is not None and whole is not None:
            text += f" ({show_score(whole, form)} with the column)"
        if place >= most:
            text += f" on rank {place + 1} of {len(ordered)}"
        shown.append(text)
    return ", ".join(shown)


def _describe_tests(comparison: "Comparison", tests: Sequence[Against]) -> str:
    """Return which methods lacunet differs from significantly, as a sentence."""
    parts = []
    for word, sign in (("better", 1), ("worse", -1)):
        side = [test for test in tests if test.different and sign * test.gain > 0]
        if len(side) == len(tests) > 1:
            whom = f"all {len(tests)} other methods"
        elif len(side) < 3:
            whom = join_words([comparison.title_of(test.rival) for test in side])
        else:
            whom = f"{len(side)} of {len(tests)} other methods"
        if side:
            parts.append(f"significantly {word} than {whom}")
    if parts:
        return f"lacunet is {' and '.join(parts)}"
    several = len(tests) > 1
    whom = "any other method" if several else comparison.title_of(tests[0].rival)
    return f"lacunet does not differ significantly from {whom}"
