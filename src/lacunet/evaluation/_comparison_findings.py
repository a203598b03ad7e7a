"""The sentences that sum up a comparison of methods, made from its numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import join_words, shorten, show_count, show_p, show_seconds
from lacunet.evaluation._scores import Metric
from lacunet.evaluation._statistics import Against, Summary
from lacunet.evaluation._words import choose_format, show_score, show_with_error

if TYPE_CHECKING:
    from lacunet.evaluation._comparison import Comparison, MethodResult

    Ordered = Sequence[tuple[MethodResult, Summary]]

# A method that takes this many times as long as the fastest is worth mentioning.
_LONG = 1.5


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
    ordered = _complete(comparison, metric)
    if not ordered:
        head = "No method completed every fold"
        return Finding("best", head, "The notes give the reasons.")
    form = comparison.score_format(metric)
    best = _find_best(ordered)
    after = ordered[len(best) :][:2]
    text = _list_scores(ordered[: len(best)], form)
    text += f", then {_list_scores(after, form)}" if after else ""
    repeats = f" × {comparison.n_repeats} repeats" if comparison.n_repeats > 1 else ""
    text += f" (mean over {comparison.n_folds} folds{repeats}, ± standard error)."
    place = _find_ours(comparison, ordered)
    if place >= len(best) + len(after):
        ours = _list_scores(ordered[place : place + 1], form)
        text += f" {ours} ranks {place + 1} of {len(ordered)}."

    trivial = comparison.trivial[metric.key].mean
    assert trivial is not None
    sign = 1 if metric.higher_is_better else -1
    worse = [m.title for m, each in ordered if sign * (_mean(each) - trivial) <= 0]
    what = "the class frequencies" if comparison.classes else "the mean of the target"
    form = choose_format(metric, [trivial, *(each.mean for _, each in ordered)])
    text += f" Predicting {what} for every row gives {show_score(trivial, form)}"
    if len(worse) == len(ordered):
        head = "No method is better than a constant prediction"
    else:
        head = _name_best(best, metric)
        if worse:
            verb = "is" if len(worse) == 1 else "are"
            text += f"; {join_words(worse)} {verb} no better than that"
    return Finding("best", head, f"{text}.")


def _describe_ours(comparison: "Comparison") -> Finding | None:
    metric = comparison.metrics[0]
    tests = comparison.tests_of(metric)
    if not tests:
        return None
    form = comparison.score_format(metric)
    text = ""
    for different in (True, False):
        for word, sign in (("Better than", 1), ("Worse than", -1), ("Equal to", 0)):
            side = [
                test
                for test in sorted(tests, key=lambda each: -abs(each.gain))
                if test.different == different
                and (test.gain > 0) - (test.gain < 0) == sign
            ]
            if not side:
                continue
            gains = [_show_gain(comparison, test, form) for test in side]
            # The p-value nearest to the threshold stands for all of them.
            values = [test.p_holm for test in side]
            p, relation = (max(values), "≤") if different else (min(values), "≥")
            p_value = show_p(p, "=" if len(side) == 1 else relation)
            verdict = "significant" if different else "not significant"
            text += f"{word} {join_words(gains)}: {verdict} ({p_value}). "
    text += (
        f"Corrected resampled t-test over folds, Holm's correction for "
        f"{show_count(len(tests), 'test')}."
    )
    return Finding("ours", _describe_tests(comparison, tests), text)


def _describe_other_metrics(comparison: "Comparison") -> Finding | None:
    sentences = []
    winners: dict[str, list[str]] = {}
    for metric in comparison.metrics[1:]:
        ordered = _complete(comparison, metric)
        if not ordered:
            continue
        form = comparison.score_format(metric)
        best = _find_best(ordered)
        text = f"{metric.title}: {_list_scores(ordered[: len(best)], form)}"
        place = _find_ours(comparison, ordered)
        if place >= len(best):
            ours = _list_scores(ordered[place : place + 1], form)
            text += f", {ours} (rank {place + 1} of {len(ordered)})"
        different = [
            comparison.title_of(test.rival)
            for test in comparison.tests_of(metric)
            if test.different
        ]
        if different:
            text += f"; lacunet differs significantly from {join_words(different)}"
        sentences.append(f"{text[:1].upper()}{text[1:]}.")
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
    ordered = _complete(comparison, metric, column)
    if not ordered:
        return None
    form = comparison.score_format(metric, column)

    def describe(place: int) -> str:
        method, summary = ordered[place]
        with_all = method.scores[metric.key].mean
        text = f"{method.title} {show_score(_mean(summary), form)}"
        if with_all is not None:
            text += f" ({show_score(with_all, form)} with it)"
        return text

    ours, last = _find_ours(comparison, ordered), len(ordered) - 1
    shown = [describe(0)]
    if ours > 0:
        shown.append(f"{describe(ours)}, rank {ours + 1} of {len(ordered)}")
    if last > 1 and last != ours:
        shown.append(f"{describe(last)}, the worst")
    text = f"Without the column: {'; '.join(shown)}."
    tests = comparison.tests_of(metric, column)
    if tests:
        text += f" {_describe_tests(comparison, tests)}."
    best = _name_best(_find_best(ordered), metric)
    head = f"With {shorten(column)!r} missing at prediction, {best}"
    return Finding("missing", head, text)


# --- what several sentences need


def _complete(
    comparison: "Comparison", metric: Metric, without: str | None = None
) -> "Ordered":
    """Return the methods with a score on every fold, the best first."""
    return [each for each in comparison.ordered(metric, without) if each[1].complete]


def _mean(summary: Summary) -> float:
    assert summary.mean is not None
    return summary.mean


def _find_best(ordered: "Ordered") -> list[str]:
    """Return the titles of the best methods: several if they tie."""
    best = _mean(ordered[0][1])
    return [
        method.title
        for method, summary in ordered
        if math.isclose(_mean(summary), best, rel_tol=1e-12)
    ]


def _name_best(best: Sequence[str], metric: Metric) -> str:
    verb = "has" if len(best) == 1 else "tie for"
    superlative = "highest" if metric.higher_is_better else "lowest"
    return f"{join_words(best)} {verb} the {superlative} {metric.title}"


def _find_ours(comparison: "Comparison", ordered: "Ordered") -> int:
    """Return the place of lacunet from 0, -1 if it has none."""
    methods = [method for method, _ in ordered]
    return methods.index(comparison.ours) if comparison.ours in methods else -1


def _list_scores(some: "Ordered", form: str) -> str:
    return join_words(
        [
            f"{method.title} {show_with_error(_mean(each), each.stderr, form)}"
            for method, each in some
        ]
    )


def _show_gain(comparison: "Comparison", test: Against, form: str) -> str:
    title = comparison.title_of(test.rival)
    if not test.gain:
        return title
    shown = f"{abs(test.gain):{form}}"
    if float(shown.replace(",", "")) == 0:
        return f"{title} by less than {shown[:-1]}1"
    return f"{title} by {show_score(abs(test.gain), form)}"


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
