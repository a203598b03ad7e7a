"""What held-out rows show, in sentences."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import join_words, list_names, shorten, show_count, show_percent
from lacunet.evaluation._scores import Estimate, show_score

if TYPE_CHECKING:
    from lacunet.evaluation._hold_out import HoldOut

_SIGNIFICANT = 0.05
_FEW_TEST_ROWS = 100
_FEW_CLASS_ROWS = 10
_SOME_ROWS = 5  # of a class, to report how often it is recognised
_MOST_NAMES = 3


@dataclass(frozen=True)
class HoldOutFinding:
    """A statement about a model, from its evaluation on held-out rows.

    Attributes
    ----------
    about : {"scores", "calibration", "columns", "missing", "classes", "learning"}
        Subject of the statement.
    head : str
        The statement in a few words.
    text : str
        A sentence or two, with numbers.
    weak : bool
        Whether it is a weakness of the model or of its evaluation.
    """

    about: Literal["scores", "calibration", "columns", "missing", "classes", "learning"]
    head: str
    text: str
    weak: bool = False


def make_findings(found: "HoldOut") -> Iterator[HoldOutFinding]:
    """Yield how good a model is, what it relies on and where it is weak."""
    yield _compare_with_trivial(found)
    yield _compare_with_rival(found)
    if found.n_test < _FEW_TEST_ROWS:
        text = (
            f"{_our_score(found)} is an estimate from "
            f"{show_count(found.n_test, 'row')}. Cross-validation is more precise: "
            f"lacunet compare."
        )
        yield HoldOutFinding("scores", "Few held-out rows", text, weak=True)
    if found.task == "classification":
        yield _check_calibration(found)
    else:
        yield from _check_bias(found)
    yield _name_columns(found)
    yield from _compare_by_missing(found)
    yield from _check_classes(found)
    yield from _check_training_columns(found)
    yield from _check_training(found)


# --- scores


def _title(found: "HoldOut") -> str:
    """Return the name of the first score for the start of a sentence."""
    title = found.metrics[0].title
    return f"{title[:1].upper()}{title[1:]}"


def _our_score(found: "HoldOut") -> str:
    return f"{_title(found)} {found.estimates['lacunet'].show(found.score_format)}"


def _compare_with_trivial(found: "HoldOut") -> HoldOutFinding:
    form, rows = found.score_format, show_count(found.n_test, "held-out row")
    ours, its = found.scores["lacunet"], found.scores["trivial"]
    trivial = show_score(found.estimates["trivial"].value, form)
    if found.task == "classification":
        rival = "the class frequencies"
        head = f"Accuracy {show_percent(ours['accuracy'] or 0.0)} on {rows}"
        text = (
            f"{_our_score(found)}. Predicting {rival} for every row gives {trivial} "
            f"and an accuracy of {show_percent(its['accuracy'] or 0.0)}."
        )
    else:
        rival = "the mean"
        explained = show_percent(max(ours["r2"] or 0.0, 0.0))
        head = f"Explains {explained} of the variance on {rows}"
        _, low, _, high, _ = found.agreement["lacunet"].residuals
        text = (
            f"{_our_score(found)}; predicting {rival} for every row gives {trivial}. "
            f"Half of the errors are between {show_score(low, form)} and "
            f"{show_score(high, form)}."
        )
    lead = found.leads["trivial"]
    if lead.is_sure and lead.value > 0:
        return HoldOutFinding("scores", head, text)
    clearly = "clearly " if lead.value > 0 else ""
    doubt = f"Not {clearly}better than predicting {rival}"
    return HoldOutFinding("scores", doubt, f"{head}. {text}", weak=True)


def _compare_with_rival(found: "HoldOut") -> HoldOutFinding:
    first, second = (
        " against ".join(
            show_score(found.scores[name][metric.key], form)
            for name in ("lacunet", "hgb")
        )
        for metric, form in zip(
            found.metrics[:2], (found.score_format, ".3f"), strict=True
        )
    )
    lead, rival = found.leads["hgb"], found.titles["hgb"]
    gap = Estimate(abs(lead.value), lead.error).show(found.score_format)
    text = (
        f"{_title(found)} {first}, {found.metrics[1].title} {second}. The difference, "
        f"paired by row, is {gap}"
    )
    if not lead.is_sure:
        head = f"Neither clearly better nor worse than {rival}"
        return HoldOutFinding("scores", head, f"{text}, which may be chance.")
    if lead.value > 0:
        return HoldOutFinding("scores", f"Better than {rival}", f"{text}.")
    text += f". Consider {rival} for this table."
    return HoldOutFinding("scores", f"{rival} is better", text, weak=True)


def _check_calibration(found: "HoldOut") -> HoldOutFinding:
    ours = found.calibration["lacunet"]
    text = (
        f"The calibration error is {ours.calibration_error:.3f} on "
        f"{show_count(found.n_test, 'row')}; perfectly calibrated probabilities would "
        f"have {ours.by_chance:.3f} by chance."
    )
    if ours.p_value > _SIGNIFICANT:
        head = "Its probabilities are calibrated"
        if found.n_test < _FEW_TEST_ROWS:
            head = "Too few rows to assess its calibration"
        return HoldOutFinding("calibration", head, text)
    mean, accuracy = found.mean_confidence or 0.0, found.scores["lacunet"]["accuracy"]
    mood = "overconfident" if mean > (accuracy or 0.0) else "underconfident"
    text += (
        f" It is {mood}: the predicted class has a probability of "
        f"{show_percent(mean)} on average, and is correct in "
        f"{show_percent(accuracy or 0.0)} of the rows."
    )
    head = "Its probabilities are not calibrated"
    return HoldOutFinding("calibration", head, text, weak=True)


def _check_bias(found: "HoldOut") -> Iterator[HoldOutFinding]:
    bias = found.agreement["lacunet"].bias
    variance = max(found.estimates["lacunet"].value ** 2 - bias**2, 0.0)
    shift = Estimate(abs(bias), math.sqrt(variance / found.n_test))
    if shift.is_sure:
        head = f"Its predictions are too {'low' if bias > 0 else 'high'} on average"
        text = f"By {shift.show(found.score_format)}."
        yield HoldOutFinding("calibration", head, text, weak=True)


# --- columns and missing values


def _name_columns(found: "HoldOut") -> HoldOutFinding:
    form, title = found.score_format, found.metrics[0].title
    hidden = found.importance.columns
    n_hidden = show_count(len(hidden), "column")
    needed = [each for each in hidden if each.lost.is_sure and each.lost.value > 0]
    if not needed:
        text = (
            f"Hiding any one of {n_hidden} makes the {title} no worse than chance "
            f"could: columns may replace each other, or carry little information on "
            f"the target."
        )
        return HoldOutFinding("columns", "No single column matters clearly", text)
    names = [repr(shorten(each.name)) for each in needed[:_MOST_NAMES]]
    costs = [each.lost.show(form) for each in needed[:_MOST_NAMES]]
    what = "it" if len(names) == 1 else "them, one at a time,"
    have = "has" if len(needed) == 1 else "have"
    text = (
        f"Hiding {what} increases the {title} by {join_words(costs)}. Of {n_hidden}, "
        f"{len(needed)} {have} an effect beyond chance."
    )
    return HoldOutFinding("columns", f"It relies most on {join_words(names)}", text)


def _compare_by_missing(found: "HoldOut") -> Iterator[HoldOutFinding]:
    if len(found.by_missing) < 2:
        return
    shown, ends = [], (found.by_missing[0], found.by_missing[-1])
    for each in ends:
        n_missing = show_count(each.most, "missing value")
        if each.fewest < each.most:
            n_missing = f"{each.fewest} to {n_missing}"
        ours = each.losses["lacunet"]
        shown.append(f"{ours.show(found.score_format)} in rows with {n_missing}")
    few, many = (each.losses["lacunet"] for each in ends)
    error = None
    if few.error is not None and many.error is not None:
        error = math.hypot(few.error, many.error)
    gap = Estimate(many.value - few.value, error)
    harder = "harder" if gap.value > 0 else "easier"
    head = f"Rows with more missing values are {harder}"
    if not gap.is_sure:
        head = "Rows with more missing values are not clearly harder"
    text = f"{_title(found)} {', '.join(shown)}."
    weak = gap.is_sure and gap.value > 0
    yield HoldOutFinding("missing", head, text, weak=weak)


def _check_training_columns(found: "HoldOut") -> Iterator[HoldOutFinding]:
    names, doubt = found.never_missing, "the model cannot know what that means."
    if len(names) == found.n_columns:
        text = f"If values are missing later, and for a reason, {doubt}"
        head = "Nothing was missing in training"
        yield HoldOutFinding("columns", head, text, weak=True)
    elif names:
        text = f"{list_names(names)}. If they are missing later, for a reason, {doubt}"
        head = f"Never missing in training: {show_count(len(names), 'column')}"
        yield HoldOutFinding("columns", head, text, weak=True)
    if found.empty:
        text = f"{list_names(found.empty)}: nothing was learned about their values."
        head = "Columns without a value in training"
        yield HoldOutFinding("columns", head, text, weak=True)


# --- classes and training


def _check_classes(found: "HoldOut") -> Iterator[HoldOutFinding]:
    few = [each for each in found.classes if each.n_train < _FEW_CLASS_ROWS]
    if few:
        shown = [
            f"{show_count(each.n_train, 'row')} of {shorten(str(each.name))!r}"
            for each in few[:_MOST_NAMES]
        ]
        more = len(few) - len(shown)
        listed = join_words([*shown, f"{more:,} more"] if more else shown)
        text = f"{listed}: predictions of them are hardly more than guesses."
        head = "Classes with few training rows"
        yield HoldOutFinding("classes", head, text, weak=True)
    unseen = [str(each.name) for each in found.classes if not each.n_test]
    if unseen:
        text = f"{list_names(unseen)}: the scores do not cover them."
        head = "Classes without held-out rows"
        yield HoldOutFinding("classes", head, text, weak=True)
    recalls = {
        i: row[i] / sum(row)
        for i, row in enumerate(found.confusion)
        if sum(row) >= _SOME_ROWS
    }
    place = min(recalls, key=recalls.__getitem__, default=None)
    if place is None or recalls[place] >= 0.5:
        return
    row = found.confusion[place]
    other = max((n, i) for i, n in enumerate(row) if i != place)[1]
    name, taken = (repr(shorten(str(found.classes[i].name))) for i in (place, other))
    text = (
        f"Of {show_count(sum(row), 'row')} of this class, {row[place]:,} were "
        f"recognised, and {row[other]:,} were predicted as {taken}."
    )
    head = f"The class {name} is often missed"
    yield HoldOutFinding("classes", head, text, weak=True)


def _check_training(found: "HoldOut") -> Iterator[HoldOutFinding]:
    n_epochs = found.n_epochs
    epochs = show_count(n_epochs, "epoch")
    if n_epochs < found.max_epochs:
        limit = found.time_limit
        if limit is not None and found.seconds["lacunet"] >= limit:
            text = f"After {epochs}; more time may make it better."
            head = "Training ended at its time limit"
            yield HoldOutFinding("learning", head, text, weak=True)
    elif any(step.best for step in found.learning[int(0.9 * n_epochs) :]):
        text = (
            f"All {epochs} were used, and it was still improving in the last ones. "
            f"Allow more (max_epochs, --max-epochs)."
        )
        yield HoldOutFinding("learning", "Training ended too early", text, weak=True)
