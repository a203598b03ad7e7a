"""What rows held out have shown, in words: a head and a sentence or two for each."""

import math
from collections.abc import Iterator

from lacunet._text import list_names, shorten, show_percent
from lacunet.evaluation._hold_out_record import (
    OURS,
    RIVAL,
    TITLES,
    TRIVIAL,
    ClassRows,
    HoldOut,
    HoldOutFinding,
)
from lacunet.evaluation._holes_and_error import HoleBin
from lacunet.evaluation._losses import Estimate
from lacunet.evaluation._scores import METRICS
from lacunet.evaluation._words import (
    choose_format,
    join,
    show_score,
)

_LEVEL = 0.05
_FEW_TEST_ROWS = 100
_FEW_CLASS_ROWS = 10
_SOME_ROWS = 5  # of a class, to say how often it is recognised
_MOST_NAMES = 3
_MINUS = "\N{MINUS SIGN}"


def make_findings(found: HoldOut) -> tuple[HoldOutFinding, ...]:
    """Say how good a model is, where it is weak, and what it relies on.

    Parameters
    ----------
    found : HoldOut

    Returns
    -------
    tuple of HoldOutFinding
        The most important first.
    """
    return (
        _tell_scores(found),
        _tell_rival(found),
        *_tell_few_rows(found),
        *_tell_reliability(found),
        *_tell_bias(found),
        _tell_columns(found),
        *_tell_holes(found),
        *_tell_classes(found),
        *_tell_recognition(found),
        *_tell_complete_columns(found),
        *_tell_empty_columns(found),
        *_tell_training(found),
    )


class Numbers:
    """The first score of a task in words, all with the same digits.

    Parameters
    ----------
    found : HoldOut

    Attributes
    ----------
    title, start : str
        What it is called, and at the start of a sentence.
    form : str
        A format of Python.
    """

    def __init__(self, found: HoldOut) -> None:
        metric = METRICS[found.task][0]
        values = [estimate.value for estimate in found.estimates.values()]
        self.title = metric.title
        self.start = f"{metric.title[:1].upper()}{metric.title[1:]}"
        self.form = choose_format(metric, values)

    def show(self, value: float) -> str:
        """Return a score; what is rounded to nothing has no sign."""
        shown = show_score(value, self.form)
        return shown.lstrip(_MINUS) if not set(shown) - {*_MINUS, *"0.,"} else shown

    def tell(self, estimate: Estimate) -> str:
        """Return a score with its standard error."""
        shown = self.show(estimate.value)
        if estimate.error is None:
            return shown
        return f"{shown} ± {self.show(estimate.error)}"


# --- how good it is


def _tell_scores(found: HoldOut) -> HoldOutFinding:
    numbers = Numbers(found)
    ours, trivial = (found.estimates[name] for name in (OURS, TRIVIAL))
    rows = f"{count(found.n_test, 'row')} that it has not seen"
    lead = found.leads[TRIVIAL]
    by = f"{numbers.start} {numbers.tell(ours)}"
    if found.task == "classification":
        mine, its = (found.scores[name]["accuracy"] for name in (OURS, TRIVIAL))
        head = f"Right in {show_percent(mine or 0.0)} of {rows}"
        text = (
            f"{by}. A model that knows only how frequent the classes are has "
            f"{numbers.show(trivial.value)}, and is right in "
            f"{show_percent(its or 0.0)}."
        )
    else:
        explained = found.scores[OURS]["r2"] or 0.0
        head = f"Explains {show_percent(max(explained, 0.0))} of the variance in {rows}"
        low, high = (numbers.show(found.agreement[OURS].residuals[i]) for i in (1, 3))
        text = (
            f"{by}; the mean alone has {numbers.show(trivial.value)}. Half of the "
            f"errors lie between {low} and {high}."
        )
    if lead.is_sure and lead.value > 0:
        return HoldOutFinding("scores", head, text)
    clearly = "clearly " if lead.value > 0 else ""
    rival = "the mean" if found.task == "regression" else "a guess"
    doubt = f"Not {clearly}better than {rival} on {count(found.n_test, 'row')}"
    return HoldOutFinding("scores", doubt, f"{head}. {text}", weak=True)


def _tell_rival(found: HoldOut) -> HoldOutFinding:
    numbers, lead = Numbers(found), found.leads[RIVAL]
    ours, its = (numbers.show(found.estimates[name].value) for name in (OURS, RIVAL))
    by = f"{numbers.start} {ours} to {its}, {_tell_second(found)}"
    gap = numbers.tell(Estimate(abs(lead.value), lead.error))
    rival = TITLES[RIVAL]
    if lead.is_sure and lead.value > 0:
        text = f"{by}. Row by row, the lead is {gap}."
        return HoldOutFinding("scores", f"Better than {rival} on these rows", text)
    if lead.is_sure:
        text = f"{by}. Row by row, it is ahead by {gap}. Consider it for this table."
        return HoldOutFinding(
            "scores", f"{rival} is better on these rows", text, weak=True
        )
    text = f"{by}. Row by row, the difference is {gap}, which may be chance."
    head = f"Neither clearly better nor worse than {rival}"
    return HoldOutFinding("scores", head, text)


def _tell_second(found: HoldOut) -> str:
    metric = METRICS[found.task][1]
    ours, its = (found.scores[name][metric.key] for name in (OURS, RIVAL))
    if ours is None or its is None:
        return f"{metric.title} unknown"
    return f"{metric.title} {show_score(ours, '.3f')} to {show_score(its, '.3f')}"


def _tell_few_rows(found: HoldOut) -> Iterator[HoldOutFinding]:
    if found.n_test < _FEW_TEST_ROWS:
        numbers = Numbers(found)
        text = (
            f"{numbers.start} {numbers.tell(found.estimates[OURS])} is what "
            f"{count(found.n_test, 'row')} can say; other rows would say another "
            f"figure. Cross-validation says more: lacunet compare."
        )
        yield HoldOutFinding("scores", "Few rows to judge by", text, weak=True)


# --- whether it means what it says


def _tell_reliability(found: HoldOut) -> Iterator[HoldOutFinding]:
    if found.task == "regression":
        return
    reliability = found.reliability[OURS]
    gap, chance = reliability.calibration_error, reliability.by_chance
    on_rows = f"on {count(found.n_test, 'row')}"
    if reliability.p_value > _LEVEL:
        text = (
            f"They are {gap:.3f} off on average {on_rows}, and probabilities without "
            f"fault would be {chance:.3f} off by chance."
        )
        few = found.n_test < _FEW_TEST_ROWS
        head = (
            "Too few rows to tell whether its probabilities fit what happens"
            if few
            else "Its probabilities fit what happens"
        )
        yield HoldOutFinding("reliability", head, text)
        return
    said, right = found.mean_confidence or 0.0, found.scores[OURS]["accuracy"] or 0.0
    mood = "too sure" if said > right else "too modest"
    text = (
        f"Chance alone would make it {chance:.3f} {on_rows}. It is {mood}: it gives "
        f"the class that it chooses {show_percent(said)} on average, and is right in "
        f"{show_percent(right)}."
    )
    head = f"Its probabilities are {gap:.3f} off on average"
    yield HoldOutFinding("reliability", head, text, weak=True)


def _tell_bias(found: HoldOut) -> Iterator[HoldOutFinding]:
    if found.task == "classification":
        return
    numbers, bias = Numbers(found), found.agreement[OURS].bias
    spread = math.sqrt(max(found.estimates[OURS].value ** 2 - bias**2, 0.0))
    shift = Estimate(bias, spread / math.sqrt(found.n_test))
    if shift.is_sure:
        where = "low" if bias > 0 else "high"
        size = numbers.tell(Estimate(abs(bias), shift.error))
        text = f"By {size} on average."
        head = f"Its predictions are too {where}"
        yield HoldOutFinding("reliability", head, text, weak=True)


# --- what it relies on


def _tell_columns(found: HoldOut) -> HoldOutFinding:
    numbers, importance = Numbers(found), found.importance
    sure = [each for each in importance.columns if each.lost.is_sure]
    needed = [each for each in sure if each.lost.value > 0]
    n_hidden = len(importance.columns)
    if not needed:
        text = (
            f"Of {count(n_hidden, 'column')} none costs more than chance would when it "
            f"is hidden: they tell of each other, or too little of the target."
        )
        return HoldOutFinding("columns", "No column alone makes a difference", text)
    first = [repr(shorten(each.name)) for each in needed[:_MOST_NAMES]]
    costs = [numbers.tell(each.lost) for each in needed[:_MOST_NAMES]]
    worse = f"the {numbers.title} is worse by {join(costs)}"
    matter = "matters" if len(needed) == 1 else "matter"
    text = (
        f"Without {'it' if len(first) == 1 else 'them, one at a time,'} {worse}. Of "
        f"{count(n_hidden, 'column')} {len(needed)} {matter} more than by chance."
    )
    return HoldOutFinding("columns", f"It relies most on {join(first)}", text)


def _tell_complete_columns(found: HoldOut) -> Iterator[HoldOutFinding]:
    names = found.never_missing
    if len(names) == found.n_columns:
        text = "What holes mean could not be learned, if they are there for a reason."
        yield HoldOutFinding(
            "columns", "Nothing was missing in training", text, weak=True
        )
    elif names:
        text = (
            f"{list_names(names)}. If holes come there, and for a reason, the model "
            f"can't know of it."
        )
        head = f"Never missing in training: {count(len(names), 'column')}"
        yield HoldOutFinding("columns", head, text, weak=True)


def _tell_empty_columns(found: HoldOut) -> Iterator[HoldOutFinding]:
    if found.empty:
        text = f"{list_names(found.empty)}: nothing was learned of their values."
        yield HoldOutFinding(
            "columns", "Columns without a value in training", text, weak=True
        )


def _tell_holes(found: HoldOut) -> Iterator[HoldOutFinding]:
    if len(found.by_holes) < 2:
        return
    numbers, first, last = Numbers(found), found.by_holes[0], found.by_holes[-1]
    few, many = first.losses[OURS], last.losses[OURS]
    error = None
    if few.error is not None and many.error is not None:
        error = math.hypot(few.error, many.error)
    gap = Estimate(many.value - few.value, error)
    text = (
        f"{numbers.start} {numbers.tell(few)} with {tell_holes(first)} in a row, "
        f"{numbers.tell(many)} with {tell_holes(last)}."
    )
    if not gap.is_sure:
        yield HoldOutFinding(
            "holes", "Rows that lack more are not clearly harder", text
        )
    elif gap.value > 0:
        yield HoldOutFinding("holes", "Rows that lack more are harder", text, weak=True)
    else:
        yield HoldOutFinding("holes", "Rows that lack more are easier", text)


def count(number: int, noun: str) -> str:
    """Return a number of things, such as "2 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tell_holes(each: HoleBin) -> str:
    """Return how many values are missing in rows, in words."""
    if each.most == each.fewest:
        return count(each.most, "missing value")
    return f"{each.fewest} to {each.most} missing values"


# --- classes and training


def _tell_classes(found: HoldOut) -> Iterator[HoldOutFinding]:
    few = [each for each in found.classes if each.n_train < _FEW_CLASS_ROWS]
    if few:
        text = (
            f"Learned from {_list_classes(few)}: what is said of them is "
            f"hardly more than a guess."
        )
        yield HoldOutFinding("classes", "Classes with few rows", text, weak=True)
    unseen = [each for each in found.classes if not each.n_test]
    if unseen:
        names = list_names([str(each.name) for each in unseen])
        text = f"No row of {names} was held out: nothing is known of them."
        yield HoldOutFinding("classes", "Classes that were not judged", text, weak=True)


def _list_classes(classes: list[ClassRows]) -> str:
    shown = [
        f"{count(each.n_train, 'row')} of {shorten(str(each.name))!r}"
        for each in classes[:_MOST_NAMES]
    ]
    more = len(classes) - len(shown)
    return f"{', '.join(shown)} and so on, {more} more" if more else join(shown)


def _tell_recognition(found: HoldOut) -> Iterator[HoldOutFinding]:
    """Name the class that is recognised least, if it is in less than half."""
    shares = {
        place: row[place] / sum(row)
        for place, row in enumerate(found.confusion)
        if sum(row) >= _SOME_ROWS
    }
    if not shares or min(shares.values()) >= 0.5:
        return
    place = min(shares, key=lambda each: shares[each])
    row = found.confusion[place]
    other = max((n, i) for i, n in enumerate(row) if i != place)[1]
    name, taken = (repr(shorten(str(found.classes[i].name))) for i in (place, other))
    text = (
        f"Of {count(sum(row), 'row')} of it, {row[place]:,} were recognised, and "
        f"{row[other]:,} were taken for {taken}."
    )
    yield HoldOutFinding(
        "classes", f"The class {name} is often missed", text, weak=True
    )


def _tell_training(found: HoldOut) -> Iterator[HoldOutFinding]:
    n_epochs = found.n_epochs
    epochs = count(n_epochs, "epoch")
    limit = found.time_limit
    if limit is not None and n_epochs < found.max_epochs:
        if found.seconds[OURS] >= limit:
            text = f"After {epochs}: it may get better with more time."
            head = "Training was ended by its time limit"
            yield HoldOutFinding("learning", head, text, weak=True)
        return
    late = [step.epoch for step in found.learning if step.best]
    if n_epochs == found.max_epochs and late and late[-1] > 0.9 * n_epochs:
        text = (
            f"All {epochs} were run, and it was still getting better in the last ones. "
            f"Give it more (max_epochs, --max-epochs)."
        )
        yield HoldOutFinding("learning", "Training ended too early", text, weak=True)
