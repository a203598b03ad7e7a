"""Scores, differences and tests as cells of sheets."""

import math
from collections.abc import Sequence

from lacunet.evaluation import (
    Against,
    Comparison,
    MethodResult,
    Metric,
    choose_format,
    show_score,
)
from lacunet.report._blocks import Entry, Line, Note, Tone
from lacunet.report._words import DASH, MINUS, show_p

MARK = "*"  # of what failed on some folds


def tell_direction(metric: Metric) -> str:
    """Return a metric with which way is better, as a title."""
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.title[:1].upper()}{metric.title[1:]} ({better} is better)"


def score_entry(
    comparison: Comparison,
    method: MethodResult,
    metric: Metric,
    without: str | None = None,
) -> Entry:
    """Return the mean of a score with its error; the best is bold.

    Parameters
    ----------
    comparison : Comparison
    method : MethodResult
    metric : Metric
    without : str, default=None
        A column that was hidden.

    Returns
    -------
    Entry
    """
    ordered = comparison.ordered(metric, without)
    summary = method.at(without)[metric.key]
    if summary.mean is None:
        return Entry(DASH, mark=MARK if method.failures else "")
    form = choose_format(metric, [each.mean for _, each in ordered])
    best = ordered[0][1].mean
    level = best is not None and math.isclose(summary.mean, best, rel_tol=1e-12)
    return Entry(
        show_score(summary.mean, form),
        "" if summary.stderr is None else f"± {show_score(summary.stderr, form)}",
        strong=summary.complete and level,
        mark="" if summary.complete else MARK,
    )


def pair_entries(
    comparison: Comparison,
    metric: Metric,
    tests: dict[str, Against],
    rival: str,
    without: str | None = None,
) -> tuple[Entry, ...]:
    """Return how much better ours is than a rival, and the p-value.

    Parameters
    ----------
    comparison : Comparison
    metric : Metric
    tests : dict of str to Against
        By rival.
    rival : str
    without : str, default=None
        A column that was hidden.

    Returns
    -------
    tuple of Entry
        Two, or none if nothing was tested.
    """
    if not tests:
        return ()
    test = tests.get(rival)
    if test is None:
        return Entry(DASH), Entry(DASH)
    gain = show_gain(test.gain, comparison, metric, without)
    return Entry(gain, tone=_tone_of(test)), Entry(show_p(test.p_holm))


def show_gain(
    gain: float, comparison: Comparison, metric: Metric, without: str | None
) -> str:
    """Return a difference with its sign; that of nothing has none."""
    ordered = comparison.ordered(metric, without)
    form = choose_format(metric, [each.mean for _, each in ordered])
    shown = f"{gain:+{form}}"
    return "±0" if float(shown.replace(",", "")) == 0 else shown.replace("-", MINUS)


def _tone_of(test: Against) -> Tone:
    if not test.different:
        return ""
    return "better" if test.gain > 0 else "worse"


def explain_marks(lines: Sequence[Line]) -> tuple[Note, ...]:
    """Return what the mark of some entries means, if any has it."""
    marked = any(entry.mark for line in lines for entry in line.entries)
    text = "Failed on some folds: not to be compared with the others. See the notes."
    return (Note(MARK, text),) if marked else ()
