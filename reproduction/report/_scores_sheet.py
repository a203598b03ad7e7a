"""The main table of an experiment: ours beside what the paper reports."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from reproduction.report._blocks import Column, Entry, Line, Lines, Sheet, Tone
from reproduction.report._gaps import Marks, Reason, Spot, find_reasons
from reproduction.report._slices import (
    GROUPS,
    OURS,
    PAPER,
    SHOWN_COMPLETE,
    Row,
    Slice,
    name_group,
    name_method,
    name_rate,
    name_row,
    name_set,
)
from reproduction.report._words import (
    DASH,
    show_difference,
    show_seconds,
    show_value,
)
from reproduction.statistics import MeanTable, mean_table

METRICS = {
    "accuracy": "accuracy",
    "mse": "total",
    "mse_inside": "inside",
    "mse_outside": "outside",
}
REPORTED = "what the paper reports, and ours minus theirs in brackets"
BEST = "; the best of each column in bold"
RANK, SECONDS = "mean rank", "time per fit"

Place = tuple[Row, str]  # a data set and rate, and a metric


def make_scores_sheets(
    part: Slice, ranks: Mapping[str, float], over: str
) -> tuple[Sheet, ...]:
    """Return the tables of a slice: one, or two if there are too many columns.

    Parameters
    ----------
    part : Slice
    ranks : mapping of str to float
        Mean ranks of those methods that were ranked.
    over : str
        What the ranks are means over.

    Returns
    -------
    tuple of Sheet
        With several metrics, the first has the rows that the paper reports of.
    """
    first = part.main_rows
    others = [row for row in part.rows if row not in first]
    sheets = [make_scores_sheet(_of_rows(part, first), ranks, over)]
    if others:
        sheets.append(make_scores_sheet(_of_rows(part, others), {}, ""))
    return tuple(sheets)


def _of_rows(part: Slice, rows: Sequence[Row]) -> Slice:
    return part.only(cell for cell in part.cells if (cell.dataset, cell.rate) in rows)


def make_scores_sheet(
    part: Slice,
    ranks: Mapping[str, float],
    over: str,
    methods: Sequence[str] | None = None,
) -> Sheet:
    """Return the table of a slice, with a line for each method.

    Parameters
    ----------
    part : Slice
    ranks : mapping of str to float
        Mean ranks of those methods that were ranked.
    over : str
        What the ranks are means over.
    methods : sequence of str, default=None
        The lines; by default all that were run, or that the paper has figures of.

    Returns
    -------
    Sheet
    """
    tables = {
        metric: mean_table(part.cells, metric)
        for metric in part.experiment.metrics
        if any(cell.metric == metric for cell in part.cells)
    }
    places = [(row, metric) for row in part.rows for metric in tables]
    shown = _methods(part) if methods is None else methods
    reasons = find_reasons(part)
    marks = Marks()
    filled = {
        method: [
            _fill(part, tables[metric], (row, metric, method), reasons, marks)
            for row, metric in places
        ]
        for method in shown
    }
    for j, (row, metric) in enumerate(places):
        for method in filled.keys() & _best(part, tables[metric], row):
            filled[method][j] = replace(filled[method][j], strong=True)
    lines = {
        method: Line(
            name_method(method),
            (
                *((_show_rank(ranks.get(method), ranks),) if ranks else ()),
                *filled[method],
                _show_time(part, method),
            ),
            accent=method in (OURS, PAPER),
        )
        for method in shown
    }
    return Sheet(
        corner="method",
        columns=(
            *((Column(RANK),) if ranks else ()),
            *_columns(part, places),
            Column(SECONDS),
        ),
        groups=_group(lines),
        caption=_caption(part, tables, over if ranks else ""),
        below=REPORTED if _has_reported(part) else "",
        notes=marks.notes(part),
    )


def find_scores(sheet: Sheet) -> dict[str, tuple[Entry, ...]]:
    """Return the columns with scores by their titles, without rank and time.

    Parameters
    ----------
    sheet : Sheet
        From ``make_scores_sheet``.

    Returns
    -------
    dict of str to tuple of Entry
    """
    several = len({column.group for column in sheet.columns if column.group}) > 1
    return {
        _name_column(column, several): tuple(line.entries[j] for line in sheet.lines)
        for j, column in enumerate(sheet.columns)
        if column not in (Column(RANK), Column(SECONDS))
    }


def _name_column(column: Column, several: bool) -> str:
    return (
        f"{column.group} ({column.title})" if several and column.group else column.title
    )


def find_winners(sheet: Sheet) -> dict[str, list[str]]:
    """Return who is best where: titles of lines, and of columns they are best in.

    Parameters
    ----------
    sheet : Sheet
        From ``make_scores_sheet``.

    Returns
    -------
    dict of str to list of str
        The line that is best most often first.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for title, entries in find_scores(sheet).items():
        for line, entry in zip(sheet.lines, entries, strict=True):
            if entry.strong:
                found[line.title].append(title)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def _methods(part: Slice) -> list[str]:
    """Return the methods with cells, and those that the paper has figures of."""
    reported = {
        method
        for metric in part.experiment.metrics
        for row in part.rows
        for method in _reported(part, metric, row)
    }
    here = part.methods
    known = [key for key in part.experiment.methods if key in {*here, *reported}]
    return known + [key for key in here if key not in known]


def _has_reported(part: Slice) -> bool:
    metrics = part.experiment.metrics
    return any(_reported(part, metric, row) for metric in metrics for row in part.rows)


def _reported(part: Slice, metric: str, row: Row) -> Mapping[str, float]:
    return part.experiment.reported.get(metric, {}).get(row, {})


# --- entries


def _fill(
    part: Slice,
    table: MeanTable,
    spot: Spot,
    reasons: Mapping[Spot, str],
    marks: Marks,
) -> Entry:
    row, metric, method = spot
    mean, stderr, count, n_splits = _look_up(table, row, method)
    if count < n_splits and _is_planned(part, row, method):
        unfinished = "not run yet" if count == 0 else "not all folds are run yet"
        text = reasons.get(spot, unfinished)
        mark = marks.give(Reason(text, method, row))
    else:
        mark = ""
    reported = _reported(part, metric, row).get(method)
    below, tone = _compare(part, metric, mean, reported)
    if count == 0:
        text = DASH if _is_planned(part, row, method) else ""
        return Entry(text, below=below, mark=mark)
    error = "" if math.isnan(stderr) else f"± {show_value(stderr, metric)}"
    return Entry(show_value(mean, metric), error, below, tone, mark=mark)


def _look_up(table: MeanTable, row: Row, method: str) -> tuple[float, float, int, int]:
    """Return mean, standard error, number of values and of splits."""
    if row not in table.rows:
        return math.nan, math.nan, 0, 0
    i = table.rows.index(row)
    if method not in table.methods:
        return math.nan, math.nan, 0, int(table.n_splits[i])
    j = table.methods.index(method)
    return (
        float(table.mean[i, j]),
        float(table.stderr[i, j]),
        int(table.count[i, j]),
        int(table.n_splits[i]),
    )


def _is_planned(part: Slice, row: Row, method: str) -> bool:
    """Return whether a row of the experiment has such a column."""
    experiment = part.experiment
    for setting in (*experiment.settings, *experiment.stand_ins):
        if (setting.dataset, setting.rate) == row:
            return not setting.methods or method in setting.methods
    return True


def _compare(
    part: Slice, metric: str, mean: float, reported: float | None
) -> tuple[str, Tone]:
    """Return what the paper reports with the distance to it, and who is better."""
    if reported is None:
        return "", ""
    shown = show_value(reported, metric)
    if math.isnan(mean):
        return shown, ""
    difference = show_difference(mean - reported, metric)
    if difference.startswith("±"):
        return f"{shown} ({difference})", ""
    is_better = (mean > reported) == part.experiment.higher_is_better
    return f"{shown} ({difference})", "better" if is_better else "worse"


def _best(part: Slice, table: MeanTable, row: Row) -> list[str]:
    """Return the best methods of a row, all that show the same number."""
    if row not in table.rows:
        return []
    i = table.rows.index(row)
    means = {
        method: float(table.mean[i, j])
        for j, method in enumerate(table.methods)
        if table.complete[i, j] and method not in SHOWN_COMPLETE
    }
    if len(means) < 2:
        return []
    best = (max if part.experiment.higher_is_better else min)(means.values())
    shown = show_value(best, table.metric)
    return [
        key for key, mean in means.items() if show_value(mean, table.metric) == shown
    ]


def _show_rank(rank: float | None, ranks: Mapping[str, float]) -> Entry:
    if rank is None:
        return Entry(DASH)
    return Entry(f"{rank:.2f}", strong=rank == min(ranks.values()))


def _show_time(part: Slice, method: str) -> Entry:
    """Return the median time of the fits that came to an end."""
    seconds = [
        cell.seconds
        for cell in part.cells
        if cell.method == method and cell.value is not None
    ]
    return Entry(show_seconds(median(seconds)) if seconds else DASH)


# --- frame


def _columns(part: Slice, places: Sequence[Place]) -> list[Column]:
    experiment = part.experiment
    if len(experiment.metrics) > 1:
        return [
            Column(METRICS.get(metric, metric), name_row(experiment, row))
            for row, metric in places
        ]
    names = [dataset for (dataset, _), _ in places]
    return [
        Column(name_rate(rate), name_set(experiment, dataset))
        if names.count(dataset) > 1
        else Column(name_set(experiment, dataset))
        for (dataset, rate), _ in places
    ]


def _group(lines: Mapping[str, Line]) -> tuple[Lines, ...]:
    found: dict[str, list[Line]] = {title: [] for title in GROUPS}
    for method, line in lines.items():
        found[name_group(method)].append(line)
    return tuple(Lines(tuple(some), title) for title, some in found.items() if some)


def _caption(part: Slice, tables: Mapping[str, MeanTable], over: str) -> str:
    main = part.experiment.metrics[0]
    what = "Accuracy" if main == "accuracy" else "Mean squared error, lower is better"
    sentences = [f"{what}{BEST}."]
    if any(np.isfinite(table.stderr).any() for table in tables.values()):
        folds = "folds" if part.experiment.cross_validated else "splits"
        sentences.append(f"Behind ± the standard error over {folds}.")
    if over:
        sentences.append(f"Mean ranks are over {over}; 1 is the best.")
    sentences.append(
        "Times are medians, with the search of parameters if there is one."
    )
    return " ".join(sentences)
