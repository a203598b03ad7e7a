"""What the numbers of an evaluation show, in sentences."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from lacunet.evaluation._scores import Metric
from lacunet.evaluation._statistics import ALPHA, OURS
from lacunet.inspection import Estimate

if TYPE_CHECKING:
    from lacunet.evaluation._comparison import Comparison
    from lacunet.evaluation._hold_out import HoldOut

_FEW_TEST_ROWS = 100
_FEW_CLASS_ROWS = 10
_SOME_ROWS = 5  # of a class, to report how often it is recognised
_LISTED = 3  # columns, classes or methods in a sentence
_LONG = 1.5  # this many times as long as the fastest is worth mentioning
# A mean shift of predictions that is worth mentioning: of numbers, as a fraction of the
# RMSE of a constant prediction.
_SHIFT_OF_PROBABILITY, _SHIFT = 0.05, 0.1


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
    classifies = found.task == "classification"
    yield _describe_scores(found)
    if classifies:
        yield from _describe_classes(found)

    form, rival, lead = found.score_format, found.titles["hgb"], found.leads["hgb"]
    ours = show_score(found.estimates["lacunet"].value, form)
    its = show_score(found.estimates["hgb"].value, form)
    clear = lead.is_sure and ours != its
    head = f"Better than {rival}" if lead.value > 0 else f"{rival} is better"
    yield Finding(
        "scores",
        head if clear else f"Neither clearly better nor worse than {rival}",
        f"{found.metrics[0].heading} {ours} against {its}. The difference, paired by "
        f"row, is {Estimate(abs(lead.value), lead.error).show(form)}.",
        weak=clear and lead.value < 0,
    )
    if found.n_test < _FEW_TEST_ROWS:
        text = "Cross-validation is more precise: lacunet compare."
        yield Finding("scores", "Few held-out rows", text, weak=True)
    if classifies:
        yield _describe_calibration(found)
    yield _describe_values(found)
    yield from _describe_missingness(found)

    few, many = found.by_missing[0], found.by_missing[-1]
    least, most = few.losses["lacunet"], many.losses["lacunet"]
    if most.value - least.value > 2 * math.hypot(least.error or 0.0, most.error or 0.0):
        yield Finding(
            "missing",
            "Rows with more missing values are harder",
            f"{found.metrics[0].heading} {least.show(form)} in rows with {few.label} "
            f"of {show_count(found.n_columns, 'value')} missing, {most.show(form)} in "
            f"rows with {many.label}.",
            weak=True,
        )
    if names := found.never_missing:
        head = f"Never missing in training: {show_count(len(names), 'column')}"
        text = (
            f"{list_names(names)}. If such a column is missing later, for a reason, "
            f"the model cannot know what that means."
        )
        yield Finding("columns", head, text, weak=True)
    epochs, last = show_count(found.n_epochs, "epoch"), int(0.9 * found.n_epochs)
    better = any(step.best for step in found.learning[last:])
    if found.timed_out:
        head = f"Training was cut by the time limit after {epochs}"
        text = "More time (time_limit, --time-limit) may make it better."
        yield Finding("learning", head, text, weak=True)
    elif found.n_epochs == found.max_epochs and better:
        head = f"Training ended after {epochs}, the most that were allowed"
        text = "It was still getting better; more (max_epochs, --max-epochs) may help."
        yield Finding("learning", head, text, weak=True)
    if found.refit_cut:
        text = (
            "The model that is written was trained again, on all rows, and had less "
            "time than it needed; more time (--time-limit) may make it better."
        )
        yield Finding("learning", "The second training was cut", text, weak=True)


def _describe_scores(found: "HoldOut") -> Finding:
    """Compare the model with a constant prediction; accuracy is not what counts."""
    form, lead = found.score_format, found.leads["trivial"]
    scores, constant = found.scores["lacunet"], found.estimates["trivial"].value
    weak = not (lead.is_sure and lead.value > 0)
    rows = show_count(found.n_test, "held-out row")
    first = f"{found.metrics[0].heading} {found.estimates['lacunet'].show(form)}"
    if found.task == "regression":
        explained = show_percent(max(scores["r2"] or 0.0, 0.0))
        no_better = ", not clearly better than predicting the mean" * weak
        return Finding(
            "scores",
            f"Explains {explained} of the variance on {rows}{no_better}",
            f"{first}; predicting the mean for every row gives "
            f"{show_score(constant, form)}.",
            weak,
        )
    lower = "not clearly" if weak else show_percent(lead.value / constant)
    auc = "" if scores["auc"] is None else f", AUC {show_score(scores['auc'], '.3f')}"
    largest = max(found.classes, key=lambda each: each.n_train).name
    right = show_percent(scores["accuracy"] or 0.0)
    guessed = show_percent(found.scores["trivial"]["accuracy"] or 0.0)
    return Finding(
        "scores",
        f"Log-loss {lower} below that of the class frequencies{auc}, on {rows}",
        f"{first}; the class frequencies give {show_score(constant, form)}. Accuracy "
        f"{right}; always predicting {shorten(str(largest))!r} gives {guessed}.",
        weak,
    )


def _describe_classes(found: "HoldOut") -> Iterator[Finding]:
    missed = {
        repr(shorten(str(found.classes[i].name))): f"{row[i]:,} of {sum(row):,}"
        for i, row in enumerate(found.confusion)
        if sum(row) >= _SOME_ROWS and row[i] < sum(row) / 2
    }
    if missed:
        names, n_more = list(missed)[:_LISTED], len(missed) - _LISTED
        named = join_words(names + [f"{n_more} more"] * (n_more > 0))
        counts = join_words([f"{missed[name]} rows of {name}" for name in names])
        text = f"Recognised were {counts}."
        yield Finding("classes", f"Most rows of {named} are missed", text, weak=True)
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


def _describe_calibration(found: "HoldOut") -> Finding:
    ours, mean = found.calibration["lacunet"], found.mean_confidence or 0.0
    accuracy = found.scores["lacunet"]["accuracy"] or 0.0
    error = math.sqrt(accuracy * (1 - accuracy) / found.n_test)
    shown, right = show_percent(mean), show_percent(accuracy)
    weak = ours.p_value <= ALPHA
    if not weak:
        how = f"calibrated, as far as {show_count(found.n_test, 'row')} can show"
    elif abs(mean - accuracy) <= 2 * error or shown == right:
        how = "not calibrated, too high in some rows and too low in others"
    else:
        how = f"not calibrated, but {'over' if mean > accuracy else 'under'}confident"
    text = (
        f"The calibration error is {ours.calibration_error:.3f}; perfectly calibrated "
        f"probabilities would have {ours.by_chance:.3f} by chance. The predicted class "
        f"has a probability of {shown} on average, and is correct in {right} of the "
        f"rows."
    )
    return Finding("calibration", f"Its probabilities are {how}", text, weak)


def _describe_values(found: "HoldOut") -> Finding:
    """Name the columns whose values matter."""
    form, columns = found.score_format, found.importance.columns
    nothing = show_score(0.0, form)
    needed = {
        each.name: each.value
        for each in columns
        if each.matters and show_score(each.value.value, form) != nothing
    }
    text = f"Columns that matter beyond chance: {len(needed)} of {len(columns)}."
    if not needed:
        text += " They may replace each other, or carry little on the target."
        return Finding("columns", "No single column matters clearly", text)
    first = list(needed)[:_LISTED]
    given = {each.name: each.value for each in found.conditional.columns}
    costs = ", ".join(needed[name].show(form) for name in first)
    draws = ", ".join(given[name].show(form) for name in first if name in given)
    return Finding(
        "columns",
        f"It relies most on {join_words([repr(shorten(name)) for name in first])}",
        f"Increase of the {found.metrics[0].title} when permuted: {costs}; when drawn "
        f"given the other columns: {draws}. {text}",
    )


def _describe_missingness(found: "HoldOut") -> Iterator[Finding]:
    """Name the columns that move predictions by being missing."""
    least = _SHIFT * found.estimates["trivial"].value
    if found.task == "classification":
        least = _SHIFT_OF_PROBABILITY
    moved = {
        repr(shorten(each.name)): (each.shift.value, each.towards)
        for each in found.importance.columns
        if each.shift and each.shift.is_sure and abs(each.shift.value) >= least
    }
    names = sorted(moved, key=lambda name: -abs(moved[name][0]))[:_LISTED]
    changes = []
    for name in names:
        shift, towards = moved[name]
        change = f"predictions change by {show_score(shift, f'+{found.score_format}')}"
        if towards is not None:
            of = repr(shorten(str(towards)))
            change = f"the probability of {of} rises by {100 * shift:.0f} points"
        changes.append(f"where {name} is hidden, {change} on average")
    if names:
        text = (
            f"W{'; '.join(changes)[1:]}. A value that is missing for another reason "
            f"than in training, such as a broken device, has the same effect."
        )
        head = f"Missingness of {join_words(names)} matters"
        yield Finding("columns", head, text, weak=True)


# --- a comparison


def describe_comparison(comparison: "Comparison") -> Iterator[Finding]:
    """Yield which method is best, how lacunet compares, and what is significant."""
    metric, *others = comparison.metrics  # a loss comes first
    form = comparison.score_format(metric)
    winners, scores = _list_scores(comparison, metric)
    if winners:
        trivial = comparison.trivial[metric.key] or 0.0
        better = comparison.ranking(metric)["mean"].iloc[0] < trivial
        none = "No method is better than a constant prediction"
        constant = "class frequencies" if comparison.classes else "mean of the target"
        yield Finding(
            "best",
            _name_best(winners, metric) if better else none,
            f"{scores} (mean over {comparison.n_folds * comparison.n_repeats} folds, ± "
            f"standard error). Predicting the {constant} for every row gives "
            f"{show_score(trivial, form)}.",
            weak=not better,
        )
    else:
        text = "The notes give the reasons."
        yield Finding("best", "No method completed every fold", text, weak=True)
    if tests := _list_tests(comparison, metric):
        gains = [
            f"{e.title} {show_score(e.gain, f'+{form}')} ({show_p(e.p_holm)})"
            for e in tests
        ]
        text = (
            f"Difference, positive where lacunet is better: {', '.join(gains)}. "
            f"p-values of the corrected resampled t-test over folds, with at least the "
            f"variance over rows, and Holm's correction."
        )
        text += "".join(
            f" Of lacunet and {e.title}, one is right and the other is not in "
            f"{e.n_decided:,} of {show_count(e.n_rows, 'row')}."
            for e in _list_tests(comparison, comparison.metrics[-1])
            if e.n_decided is not None and e.method == tests[-1].method
        )
        yield Finding("ours", _describe_tests(tests), text)
    for other in others:
        best, scores = _list_scores(comparison, other)
        if best and best != winners:
            yield Finding("metrics", _name_best(best, other), f"{scores}.")
    methods = comparison.methods[comparison.methods["seconds"].notna()]
    if len(methods) > 1:
        timed = methods.sort_values(["seconds", "title"])
        fastest, seconds = timed[["title", "seconds"]].iloc[0]
        head = f"{fastest} is the fastest"
        for ours in timed["seconds"][timed["key"] == OURS]:
            ratio = ours / seconds
            if ratio > _LONG:
                times = f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"
                head += f"; lacunet takes {times} times as long"
        shown = [f"{e.title} {show_seconds(e.seconds)}" for e in timed.itertuples()]
        text = f"Median time to fit and predict on one core: {', '.join(shown)}."
        yield Finding("time", head, text)
    for column in comparison.drop_at_test:
        best, scores = _list_scores(comparison, metric, column)
        if best:
            head = f"With {shorten(column)!r} missing at prediction, "
            tests = _list_tests(comparison, metric, column)
            text = f" {_describe_tests(tests)}." if tests else ""
            yield Finding(
                "missing", head + _name_best(best, metric), f"{scores}.{text}"
            )


def _list_scores(
    comparison: "Comparison", metric: Metric, without: str | None = None
) -> tuple[list[str], str]:
    """Return the best methods, and the scores of the first few and of lacunet."""
    form = comparison.score_format(metric, without)
    whole = comparison.ranking(metric).set_index("method")["mean"]
    ranking = comparison.ranking(metric, without)
    rows = list(ranking[ranking["complete"].astype(bool)].itertuples())
    shown = []
    for place, row in enumerate(rows):
        if place < _LISTED or row.method == OURS:
            text = f"{row.title} {Estimate(row.mean, row.stderr).show(form)}"
            if without is not None:
                text += f" ({show_score(whole[row.method], form)} with the column)"
            if place >= _LISTED:
                text += f" on rank {place + 1} of {len(rows)}"
            shown.append(text)
    means = [show_score(row.mean, form) for row in rows]
    best = [row.title for row, m in zip(rows, means, strict=True) if m == means[0]]
    return best, ", ".join(shown)


def _list_tests(
    comparison: "Comparison", metric: Metric, without: str | None = None
) -> list[Any]:
    """Return the methods that lacunet was tested against, the worst first."""
    ranking = comparison.ranking(metric, without).dropna(subset="gain")
    return list(ranking.sort_values("gain", ascending=False).itertuples())


def _name_best(best: Sequence[str], metric: Metric) -> str:
    verb = "has" if len(best) == 1 else "tie for"
    superlative = "highest" if metric.higher_is_better else "lowest"
    return f"{join_words(best)} {verb} the {superlative} {metric.title}"


def _describe_tests(tests: Sequence[Any]) -> str:
    """Return which methods lacunet differs from significantly, as a sentence."""
    parts = []
    for word, sign in (("better", 1), ("worse", -1)):
        side = [e.title for e in tests if e.different and sign * e.gain > 0]
        many = f"{len(side)} of {len(tests)} other methods"
        if side:
            whom = join_words(side) if len(side) < 3 else many
            parts.append(f"significantly {word} than {whom}")
    if parts:
        return f"lacunet is {' and '.join(parts)}"
    return "lacunet does not differ significantly from any other method"
