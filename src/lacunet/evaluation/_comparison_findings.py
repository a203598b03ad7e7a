"""What a comparison comes to, in words that are made from its numbers."""

import math
from collections.abc import Callable, Iterator, Sequence

from lacunet._text import join_words, shorten, show_p
from lacunet.evaluation._comparison_record import (
    Against,
    Comparison,
    Finding,
    MethodResult,
    Summary,
)
from lacunet.evaluation._scores import Estimate, Metric, choose_format, show_score

Ordered = Sequence[tuple[MethodResult, Summary]]

# So many times as long is worth a word.
_LONG = 1.5


def make_findings(comparison: Comparison) -> tuple[Finding, ...]:
    """Say who is best, where ours stands, and what that may be worth.

    Parameters
    ----------
    comparison : Comparison
        Its own findings don't matter.

    Returns
    -------
    tuple of Finding
    """
    first, *others = comparison.metrics
    return (
        _tell_best(comparison, first),
        *_tell_ours(comparison, first),
        *_tell_metrics(comparison, others),
        *_tell_time(comparison),
        *(
            finding
            for column in comparison.drop_at_test
            for finding in _tell_missing(comparison, first, column)
        ),
    )


def _tell_best(comparison: Comparison, metric: Metric) -> Finding:
    ordered = _whole(comparison.ordered(metric))
    if not ordered:
        return Finding(
            "best",
            "No method came through",
            "None has a score on every fold. The notes say why.",
        )
    show = _make_show(metric, ordered)
    best = _find_best(ordered)
    text = f"{_list(ordered[: len(best)], show)}"
    rest = ordered[len(best) :][:2]
    if rest:
        text += f", then {_list(rest, show)}"
    text += f" ({_tell_folds(comparison)})."
    place = _find_ours(comparison, ordered)
    if place >= len(best) + len(rest):
        ours, at = ordered[place]
        text += f" {ours.title} has {show(at)}, {_tell_place(place, ordered)}."
    head = _tell_first(best, metric)
    return _beside_trivial(comparison, metric, ordered, head, text)


def _beside_trivial(
    comparison: Comparison, metric: Metric, ordered: Ordered, head: str, text: str
) -> Finding:
    """Say whether the columns are of any use at all."""
    trivial = comparison.trivial[metric.key].mean
    assert trivial is not None
    sign = 1 if metric.higher_is_better else -1
    form = choose_format(metric, [*_means(ordered), trivial])
    worse = [
        method.title
        for method, summary in ordered
        if summary.mean is not None and sign * (summary.mean - trivial) <= 0
    ]
    what = "the shares of the classes" if comparison.classes else "the mean"
    text += f" Without any column, {what} alone would have {show_score(trivial, form)}"
    if len(worse) == len(ordered):
        return Finding("best", "No method is better than knowing nothing", f"{text}.")
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        text += f": {join_words(worse)} {verb} no better than that"
    return Finding("best", head, f"{text}.")


def _tell_folds(comparison: Comparison) -> str:
    told = f"mean over {comparison.n_folds} folds"
    if comparison.n_repeats > 1:
        told += f", {comparison.n_repeats} times"
    return f"{told}, ± standard error"


# --- ours against the others


def _tell_ours(comparison: Comparison, metric: Metric) -> Iterator[Finding]:
    tests = comparison.tests_of(metric)
    ours = comparison.ours
    if ours is None or not tests:
        return
    text = _tell_sides(comparison, metric, tests)
    rivals = "1 rival" if len(tests) == 1 else f"{len(tests)} rivals"
    text += (
        f" p is of the corrected resampled t-test over folds, corrected for {rivals} "
        f"by Holm's method."
    )
    yield Finding("ours", _tell_head(ours.title, comparison, tests), text)


def _tell_head(title: str, comparison: Comparison, tests: Sequence[Against]) -> str:
    clear = [test for test in tests if test.different]
    if not clear:
        whom = "any rival" if len(tests) > 1 else _name(comparison, tests[0].rival)
        return f"{title} can't be told from {whom}: differences may be chance"
    said = [
        f"{word} {_count_rivals(comparison, side, tests)}"
        for word, side in (
            ("ahead of", [test for test in clear if test.gain > 0]),
            ("behind", [test for test in clear if test.gain < 0]),
        )
        if side
    ]
    return f"{title} is {' and '.join(said)}, by more than chance"


def _count_rivals(
    comparison: Comparison, some: Sequence[Against], tests: Sequence[Against]
) -> str:
    if len(some) == len(tests) > 1:
        return f"all {len(tests)} rivals"
    if len(some) < 3:
        return join_words([_name(comparison, test.rival) for test in some])
    return f"{len(some)} of {len(tests)} rivals"


def _tell_sides(
    comparison: Comparison, metric: Metric, tests: Sequence[Against]
) -> str:
    """Return all rivals with how far they are behind or ahead."""
    form = choose_format(metric, _means(comparison.ordered(metric)))
    ordered = sorted(tests, key=lambda test: -abs(test.gain))
    said = []
    for clear in (True, False):
        for word, sign in (("Ahead of", 1), ("Behind", -1), ("Level with", 0)):
            side = [
                test
                for test in ordered
                if test.different == clear and _sign(test.gain) == sign
            ]
            if side:
                told = join_words([_tell_gain(comparison, test, form) for test in side])
                said.append(f"{word} {told}: {_tell_chance(side, clear)}.")
    return " ".join(said)


def _tell_gain(comparison: Comparison, test: Against, form: str) -> str:
    name = _name(comparison, test.rival)
    if not test.gain:
        return name
    shown = show_score(abs(test.gain), form)
    if float(shown.replace(",", "")) == 0:
        shown = f"less than {shown[:-1]}1"
    return f"{name} by {shown}"


def _tell_chance(tests: Sequence[Against], clear: bool) -> str:
    """Return whether differences are more than chance, and the p that is nearest."""
    values = [test.p_holm for test in tests]
    if clear:
        return f"more than chance ({show_p(max(values), _relate(tests, '≤'))})"
    return f"that may be chance ({show_p(min(values), _relate(tests, '≥'))})"


def _relate(tests: Sequence[Against], relation: str) -> str:
    return "=" if len(tests) == 1 else relation


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


# --- the rest


def _tell_metrics(
    comparison: Comparison, metrics: Sequence[Metric]
) -> Iterator[Finding]:
    said = []
    winners: dict[str, list[str]] = {}
    for metric in metrics:
        ordered = _whole(comparison.ordered(metric))
        if not ordered:
            continue
        show = _make_show(metric, ordered)
        best = _find_best(ordered)
        told = f"{metric.title}: {_list(ordered[: len(best)], show)}"
        place = _find_ours(comparison, ordered)
        if place >= len(best):
            ours, at = ordered[place]
            told += f", {ours.title} {show(at)} ({_tell_place(place, ordered)})"
        clear = [
            _name(comparison, test.rival)
            for test in comparison.tests_of(metric)
            if test.different
        ]
        if clear:
            told += f"; a difference to {join_words(clear)} that is more than chance"
        said.append(f"{told}.")
        winners.setdefault(join_words(best), []).append(metric.title)
    if said:
        text = " ".join(f"{each[:1].upper()}{each[1:]}" for each in said)
        names = [f"{name} by {join_words(titles)}" for name, titles in winners.items()]
        yield Finding("metrics", f"Best by other scores: {join_words(names)}", text)


def _tell_time(comparison: Comparison) -> Iterator[Finding]:
    timed = [(m.seconds, m) for m in comparison.methods if m.seconds is not None]
    if len(timed) < 2:
        return
    timed.sort(key=lambda each: each[0])
    (least, fastest), (most, slowest) = timed[0], timed[-1]
    text = (
        f"To fit and to predict once, {fastest.title} takes {_show_seconds(least)} and "
        f"{slowest.title} {_show_seconds(most)}"
    )
    ours = comparison.ours
    head = f"{fastest.title} is the fastest"
    if ours is not None and ours.seconds is not None and ours is not fastest:
        if ours is not slowest:
            text += f"; {ours.title} takes {_show_seconds(ours.seconds)}"
        if ours.seconds > _LONG * least > 0:
            times = _show_ratio(ours.seconds / least)
            head += f"; {ours.title} takes {times} times as long"
    yield Finding("time", head, f"{text} (median over folds, one core each).")


def _tell_missing(
    comparison: Comparison, metric: Metric, column: str
) -> Iterator[Finding]:
    ordered = _whole(comparison.ordered(metric, column))
    if not ordered:
        return
    form = choose_format(metric, _means(ordered))
    (best, _), *rest = ordered

    def tell(method: MethodResult) -> str:
        with_all = method.scores[metric.key].mean
        without = method.without[column][metric.key].mean
        assert without is not None
        told = f"{method.title} has {show_score(without, form)}"
        if with_all is None:
            return told
        return f"{told} ({show_score(with_all, form)} with it)"

    said = [tell(best)]
    ours = comparison.ours
    place = _find_ours(comparison, ordered)
    if ours is not None and place > 0:
        said.append(f"{tell(ours)}, {_tell_place(place, ordered)}")
    if len(rest) > 1 and ordered[-1][0] is not ours:
        said.append(f"{tell(ordered[-1][0])}, the last")
    tests = comparison.tests_of(metric, column)
    first = _tell_first(_find_best(ordered), metric)
    head = f"Where {shorten(column)!r} is missing, {first}"
    text = f"{'; '.join(said)}."
    if ours is not None and tests:
        text += f" {_tell_head(ours.title, comparison, tests)}."
    yield Finding("missing", head, text)


# --- words


def _whole(ordered: Ordered) -> Ordered:
    """Return those that have a score on every fold, and so can be compared."""
    return [(method, summary) for method, summary in ordered if summary.complete]


def _find_best(ordered: Ordered) -> list[str]:
    """Return the titles of the best, of several if they are level."""
    best = ordered[0][1].mean
    assert best is not None
    return [
        method.title
        for method, summary in ordered
        if summary.mean is not None and math.isclose(summary.mean, best, rel_tol=1e-12)
    ]


def _make_show(metric: Metric, ordered: Ordered) -> Callable[[Summary], str]:
    form = choose_format(metric, _means(ordered))

    def show(summary: Summary) -> str:
        assert summary.mean is not None
        return Estimate(summary.mean, summary.stderr).show(form)

    return show


def _means(ordered: Ordered) -> list[float | None]:
    return [summary.mean for _, summary in ordered]


def _list(some: Ordered, show: Callable[[Summary], str]) -> str:
    return join_words([f"{method.title} {show(summary)}" for method, summary in some])


def _find_ours(comparison: Comparison, ordered: Ordered) -> int:
    """Return the place of ours from 0, -1 if it has none."""
    methods = [method for method, _ in ordered]
    return methods.index(comparison.ours) if comparison.ours in methods else -1


def _tell_place(place: int, ordered: Ordered) -> str:
    return f"number {place + 1} of {len(ordered)}"


def _tell_first(best: Sequence[str], metric: Metric) -> str:
    verb = "has" if len(best) == 1 else "share"
    return f"{join_words(best)} {verb} the {_superlative(metric)} {metric.title}"


def _superlative(metric: Metric) -> str:
    return "highest" if metric.higher_is_better else "lowest"


def _name(comparison: Comparison, key: str) -> str:
    return next(each.title for each in comparison.methods if each.key == key)


def _show_ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _show_seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"
