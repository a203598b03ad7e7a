"""What becomes of methods if a column is missing at prediction, as blocks."""

from collections.abc import Sequence

from lacunet._text import shorten
from lacunet.evaluation import Comparison, MethodResult, Metric
from lacunet.evaluation._statistics import OURS
from lacunet.report._blocks import (
    Block,
    Column,
    Entry,
    Fold,
    Line,
    Lines,
    Picture,
    Pictures,
    Section,
    Sheet,
)
from lacunet.report._compare_entries import (
    explain_marks,
    pair_entries,
    score_entry,
    show_gain,
    tell_direction,
)
from lacunet.report._compare_plots import LossLine, draw_losses
from lacunet.report._words import DASH, show_list


def make_missing_section(comparison: Comparison) -> Section:
    """Show what becomes of the methods if a column is missing at prediction.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    Section
    """
    first, *others = comparison.metrics
    columns = [
        column
        for column in comparison.drop_at_test
        if comparison.ordered(first, column)
    ]
    pictures = tuple(
        Picture(_draw_losses(comparison, first, column, place), f"Without {column}")
        for place, column in enumerate(columns)
    )
    blocks: list[Block] = []
    if pictures:
        caption = (
            f"{tell_direction(first)}. Hollow: the test rows as they are; filled: the "
            f"same rows with the column missing in all of them."
        )
        blocks.append(Pictures(pictures, caption))
    blocks.append(_missing_sheet(comparison, first))
    by = show_list([metric.title for metric in others])
    sheets = tuple(_missing_sheet(comparison, metric) for metric in others)
    blocks.append(Fold(f"The same by {by}", sheets))
    lead = (
        "The methods were fitted with all columns. Then a column was hidden in the "
        "rows that they are tested on."
    )
    return Section("Missing at prediction", tuple(blocks), lead)


def _draw_losses(
    comparison: Comparison, metric: Metric, column: str, place: int
) -> str:
    lines = [
        LossLine(
            method.title,
            method.scores[metric.key].mean,
            summary.mean,
            method.key == OURS,
        )
        for method, summary in comparison.ordered(metric, column)
        if summary.mean is not None
    ]
    return draw_losses(f"missing-{place}", lines, metric.title, column)


def _missing_sheet(comparison: Comparison, metric: Metric) -> Sheet:
    hidden = comparison.drop_at_test
    titles = ["score", "change"]
    tested = bool(comparison.tests)
    titles += ["lacunet's lead", "p"] if tested else []
    columns = (
        Column("all columns"),
        *(
            Column(title, f"without {shorten(column)}")
            for column in hidden
            for title in titles
        ),
    )
    ordered = [method for method, _ in comparison.ordered(metric, hidden[0])]
    ordered += [method for method in comparison.methods if method not in ordered]
    lines = tuple(
        Line(
            method.title,
            (
                score_entry(comparison, method, metric),
                *(
                    entry
                    for column in hidden
                    for entry in _missing_entries(
                        comparison, method, metric, column, tested
                    )
                ),
            ),
            accent=method.key == OURS,
        )
        for method in ordered
    )
    title = f"{metric.title[:1].upper()}{metric.title[1:]}"
    caption = (
        f"{title} ± standard error, and how much it changes without the column (red: "
        f"for the worse)."
    )
    if tested:
        caption += (
            " Lead: how much better lacunet is without the column, green where that is "
            "more than chance."
        )
    notes = explain_marks(lines)
    return Sheet("method", columns, (Lines(lines),), caption, notes=notes)


def _missing_entries(
    comparison: Comparison,
    method: MethodResult,
    metric: Metric,
    column: str,
    tested: bool,
) -> Sequence[Entry]:
    whole = method.scores[metric.key].mean
    without = method.without[column][metric.key].mean
    change = Entry(DASH)
    if whole is not None and without is not None:
        difference = without - whole
        worse = difference < 0 if metric.higher_is_better else difference > 0
        shown = show_gain(difference, comparison, metric, column)
        change = Entry(shown, tone="worse" if worse else "better")
    entries = [score_entry(comparison, method, metric, column), change]
    if tested:
        tests = {test.rival: test for test in comparison.tests_of(metric, column)}
        found = pair_entries(comparison, metric, tests, method.key, column)
        entries += found or (Entry(DASH), Entry(DASH))
    return entries
