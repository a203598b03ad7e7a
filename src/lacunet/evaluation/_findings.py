"""What the numbers of an evaluation show, in sentences."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacunet._text import (
    join_words,
    list_names,
    shorten,
    show_count,
    show_p,
    show_percent,
    show_score,
    show_seconds,
)
from lacunet.evaluation._scores import Estimate, Metric
from lacunet.evaluation._statistics import ALPHA, Against

if TYPE_CHECKING:
    from lacunet.evaluation._comparison import Comparison
    from lacunet.evaluation._hold_out import HoldOut

_FEW_TEST_ROWS = 100
_FEW_CLASS_ROWS = 10
_SOME_ROWS = 5  # of a class, to report how often it is recognised
_LISTED = 3  # columns or methods in a sentence
_LONG = 1.5  # this many times as long as the fastest is worth mentioning


@dataclass(frozen=True)
class Finding:
    """A statement that follows from the numbers of an evaluation.

    Attributes
    ----------
    about : str
        Its subject: of held-out rows "scores", "calibration", "columns", "missing",
        "classes" or "learning"; of a comparison "best", "ours", "metrics", "time" or
        "missing".
    head : str
        The statement in a few words.
    text : str
        A sentence or two, with numbers.
    weak : bool
        Whether it is a weakness of the model or of its evaluation.
    """

    about: str
    head: str
    text: str
    weak: bool = False


# --- held-out rows


def describe_hold_out(found: "HoldOut") -> Iterator[Finding]:
    """Yield how good a model is, what it relies on and where it is weak."""
    yield from _describe_scores(found)
    if found.task == "classification":
        yield _describe_calibration(found)
    yield _describe_columns(found)
    few, many = found.by_missing[0], found.by_missing[-1]
    least, most = few.losses["lacunet"], many.losses["lacunet"]
    if most.value - least.value > 2 * math.hypot(least.error or 0.0, most.error or 0.0):
        text = (
            f"{found.metrics[0].heading} {least.show(found.score_format)} in rows with "
            f"{few.label} missing values, {most.show(found.score_format)} in rows with "
            f"{many.label}."
        )
        head = "Rows with more missing values are harder"
        yield Finding("missing", head, text, weak=True)
    yield from _describe_classes(found)
    if found.never_missing:
        text = (
            f"{list_names(found.never_missing)}. If they are missing later, for a "
            f"reason, the model cannot know what that means."
        )
        n_columns = show_count(len(found.never_missing), "column")
        head = f"Never missing in training: {n_columns}"
        yield Finding("columns", head, text, weak=True)
    yield from _describe_training(found)


def _describe_scores(found: "HoldOut") -> Iterator[Finding]:
    """Compare the model with the trivial one, and with HistGradientBoosting."""
    form, scores = found.score_format, found.scores["lacunet"]
    ours, its, trivial = (found.estimates[name] for name in found.titles)
    if found.task == "classification":
        head = f"Accuracy {show_percent(scores['accuracy'] or 0.0)}"
        constant = "the class frequencies"
    else:
        explained = max(scores["r2"] or 0.0, 0.0)
        head, constant = (
            f"Explains {show_percent(explained)} of the variance",
            "the mean",
        )
    head += f" on {show_count(found.n_test, 'held-out row')}"
    lead = found.leads["trivial"]
    weak = not (lead.is_sure and lead.value > 0)
    if weak:
        head += f", not clearly better than predicting {constant}"
    text = (
        f"{found.metrics[0].heading} {ours.show(form)}; predicting {constant} for "
        f"every row gives {show_score(trivial.value, form)}."
    )
    yield Finding("scores", head, text, weak)

    lead, rival = found.leads["hgb"], found.titles["hgb"]
    head = f"{rival} is better" if lead.value < 0 else f"Better than {rival}"
    if not lead.is_sure:
        head = f"Neither clearly better nor worse than {rival}"
    text = (
        f"{found.metrics[0].heading} {show_score(ours.value, form)} against "
        f"{show_score(its.value, form)}. The difference, paired by row, is "
        f"{Estimate(abs(lead.value), lead.error).show(form)}."
    )
    yield Finding("scores", head, text, weak=lead.is_sure and lead.value < 0)
    if found.n_test < _FEW_TEST_ROWS:
        text = "Cross-validation is more precise: lacunet compare."
        yield Finding("scores", "Few held-out rows", text, weak=True)


def _describe_calibration(found: "HoldOut") -> Finding:
    ours, rows = found.calibration["lacunet"], show_count(found.n_test, "row")
    mean = found.mean_confidence or 0.0
    accuracy = found.scores["lacunet"]["accuracy"] or 0.0
    text = (
        f"The calibration error is {ours.calibration_error:.3f}; perfectly calibrated "
        f"probabilities would have {ours.by_chance:.3f} by chance. The predicted class "
        f"has a probability of {show_percent(mean)} on average, and is correct in "
        f"{show_percent(accuracy)} of the rows."
    )
    if ours.p_value > ALPHA:
        head = f"Its probabilities are calibrated, as far as {rows} can show"
        return Finding("calibration", head, text)
    mood = "overconfident" if mean > accuracy else "underconfident"
    head = f"Its probabilities are not calibrated, but {mood}"
    return Finding("calibration", head, text, weak=True)


def _describe_columns(found: "HoldOut") -> Finding:
    title, hidden = found.metrics[0].title, found.importance.columns
    needed = [each for each in hidden if each.lost.is_sure and each.lost.value > 0]
    text = f"Columns that matter beyond chance: {len(needed)} of {len(hidden)}."
    if not needed:
        text += " They may replace each other, or carry little on the target."
        return Finding("columns", "No single column matters clearly", text)
    names = [repr(shorten(each.name)) for each in needed[:_LISTED]]
    costs = [each.lost.show(found.score_format) for each in needed[:_LISTED]]
    text = f"Increase of the {title} when hidden: {', '.join(costs)}. {text}"
    return Finding("columns", f"It relies most on {join_words(names)}", text)


def _describe_classes(found: "HoldOut") -> Iterator[Finding]:
    few = [
        str(each.name)
        for each in found.classes
        if each.n_train < _FEW_CLASS_ROWS or not each.n_test
    ]
    if few:
        text = (
            f"{list_names(few)}: fewer than {_FEW_CLASS_ROWS} training rows, or no "
            f"held-out rows. Predictions of them are hardly more than guesses, and the "
            f"scores hardly cover them."
        )
        yield Finding("classes", "Classes with few rows", text, weak=True)
    missed = [
        f"{row[i]:,} of {sum(row):,} rows of {shorten(str(found.classes[i].name))!r}"
        for i, row in enumerate(found.confusion)
        if sum(row) >= _SOME_ROWS and row[i] < sum(row) / 2
    ]
    if missed:
        text = f"Recognised were {join_words(missed)}."
        yield Finding("classes", "Some classes are often missed", text, weak=True)


def _describe_training(found: "HoldOut") -> Iterator[Finding]:
    advice, limit = "", found.time_limit
    if found.max_epochs is None or found.n_epochs < found.max_epochs:
        if limit is not None and found.seconds["lacunet"] >= limit:
            advice = "more time (time_limit, --time-limit)"
    elif any(step.best for step in found.learning[int(0.9 * found.n_epochs) :]):
        advice = "more epochs (max_epochs, --max-epochs)"
    if advice:
        epochs = show_count(found.n_epochs, "epoch")
        text = f"It reached its limit after {epochs}; {advice} may make it better."
        yield Finding("learning", "Training ended too early", text, weak=True)


# --- a comparison


def describe_comparison(comparison: "Comparison") -> Iterator[Finding]:
    """Yield which method is best, how lacunet compares, and what is significant."""
    metric, *others = comparison.metrics
    winners, scores = _list_scores(comparison, metric)
    yield _describe_best(comparison, winners, scores)
    if tests := comparison.tests_of(metric):
        form = comparison.score_format(metric)
        gains = [
            f"{comparison.title_of(test.rival)} {show_score(test.gain, f'+{form}')} "
            f"({show_p(test.p_holm)})"
            for test in sorted(tests, key=lambda each: -each.gain)
        ]
        text = (
            f"Difference, positive where lacunet is better: {', '.join(gains)}. "
            f"p-values of the corrected resampled t-test over folds, with Holm's "
            f"correction."
        )
        yield Finding("ours", _describe_tests(comparison, tests), text)
    for other in others:
        best, scores = _list_scores(comparison, other)
        if best and best != winners:
            yield Finding("metrics", _name_best(best, other), f"{scores}.")
    yield from _describe_time(comparison)
    for column in comparison.drop_at_test:
        best, scores = _list_scores(comparison, metric, column)
        if best:
            head = f"With {shorten(column)!r} missing at prediction, "
            tests = comparison.tests_of(metric, column)
            text = f" {_describe_tests(comparison, tests)}." if tests else ""
            yield Finding(
                "missing", head + _name_best(best, metric), f"{scores}.{text}"
            )


def _describe_best(
    comparison: "Comparison", winners: Sequence[str], scores: str
) -> Finding:
    metric = comparison.metrics[0]
    if not winners:
        text = "The notes give the reasons."
        return Finding("best", "No method completed every fold", text, weak=True)
    trivial = comparison.trivial[metric.key].mean or 0.0
    constant = "class frequencies" if comparison.classes else "mean of the target"
    text = (
        f"{scores} (mean over {comparison.n_folds * comparison.n_repeats} folds, ± "
        f"standard error). Predicting the {constant} for every row gives "
        f"{show_score(trivial, comparison.score_format(metric))}."
    )
    sign = 1 if metric.higher_is_better else -1
    if sign * (comparison.completed(metric)[0][1].value - trivial) > 0:
        return Finding("best", _name_best(winners, metric), text)
    head = "No method is better than a constant prediction"
    return Finding("best", head, text, weak=True)


def _describe_time(comparison: "Comparison") -> Iterator[Finding]:
    timed = [(each.seconds, each.title) for each in comparison.methods if each.seconds]
    if len(timed) < 2:
        return
    timed.sort()
    least, fastest = timed[0]
    head, ours = f"{fastest} is the fastest", comparison.ours
    if ours is not None and (ours.seconds or 0.0) > _LONG * least:
        ratio = (ours.seconds or 0.0) / least
        times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"
        head += f"; lacunet takes {times} times as long"
    shown = [f"{title} {show_seconds(seconds)}" for seconds, title in timed]
    text = f"Median time to fit and predict on one core: {', '.join(shown)}."
    yield Finding("time", head, text)


def _list_scores(
    comparison: "Comparison", metric: Metric, without: str | None = None
) -> tuple[list[str], str]:
    """Return the best methods, and the scores of the first few and of lacunet."""
    form = comparison.score_format(metric, without)
    ordered = comparison.completed(metric, without)
    shown = []
    for place, (method, score) in enumerate(ordered):
        if place < _LISTED or method is comparison.ours:
            text = f"{method.title} {score.show(form)}"
            if without is not None:
                whole = show_score(method.scores[metric.key].mean, form)
                text += f" ({whole} with the column)"
            if place >= _LISTED:
                text += f" on rank {place + 1} of {len(ordered)}"
            shown.append(text)
    best = [
        method.title
        for method, score in ordered
        if math.isclose(score.value, ordered[0][1].value, rel_tol=1e-12)
    ]
    return best, ", ".join(shown)


def _name_best(best: Sequence[str], metric: Metric) -> str:
    verb = "has" if len(best) == 1 else "tie for"
    superlative = "highest" if metric.higher_is_better else "lowest"
    return f"{join_words(best)} {verb} the {superlative} {metric.title}"


def _describe_tests(comparison: "Comparison", tests: Sequence[Against]) -> str:
    """Return which methods lacunet differs from significantly, as a sentence."""
    parts = []
    for word, sign in (("better", 1), ("worse", -1)):
        side = [
            comparison.title_of(test.rival)
            for test in tests
            if test.different and sign * test.gain > 0
        ]
        many = f"{len(side)} of {len(tests)} other methods"
        if side:
            whom = join_words(side) if len(side) < 3 else many
            parts.append(f"significantly {word} than {whom}")
    if parts:
        return f"lacunet is {' and '.join(parts)}"
    return "lacunet does not differ significantly from any other method"
