"""The authors' protocol: one method, beside the same under the paper's protocol."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from reproduction.experiments._autoencoders import SHORT
from reproduction.report._blocks import (
    Block,
    Column,
    Entry,
    Line,
    Lines,
    Sheet,
    Text,
)
from reproduction.report._scores_sheet import BEST, make_scores_sheet
from reproduction.report._slices import (
    OURS,
    PAPER,
    Slice,
    name_method,
    name_protocol,
)
from reproduction.report._words import DASH, show_seconds, show_value
from reproduction.statistics import mean_table

APART = (
    "The figures are for comparison with the paper's alone, and take no part in any "
    "ranking."
)


def find_beside(part: Slice, slices: Sequence[Slice]) -> Slice | None:
    """Return the same data under the paper's protocol, if that was run.

    Parameters
    ----------
    part : Slice
        Of the authors' protocol.
    slices : sequence of Slice
        All of the experiment.

    Returns
    -------
    Slice or None
        With the rows of ``part`` alone.
    """
    for each in slices:
        if (each.protocol, each.data) == (PAPER, part.data):
            rows = part.rows
            some = [cell for cell in each.cells if (cell.dataset, cell.rate) in rows]
            return each.only(some) if some else None
    return None


def show_authors(part: Slice, beside: Slice | None) -> tuple[Block, ...]:
    """Return what is said of the authors' protocol, and its table."""
    told = (
        "As in the authors' released code: folds in the order of the file, scale and "
        "mixture fitted on all rows, those that are tested on among them, 25 units. "
        "How weights are trained and when that stops is ours, so that these figures "
        "are not those of their code."
        if part.experiment.cross_validated
        else "The network as the authors' released code starts and trains it."
    )
    found = tell_authors(part, beside)
    text = Text(" ".join(filter(None, (told, APART, found))), "note")
    return text, make_authors_sheet(part, beside)


def make_authors_sheet(part: Slice, beside: Slice | None) -> Sheet:
    """Return a column group for each protocol, with a line for each data set.

    Parameters
    ----------
    part : Slice
        Of the authors' protocol.
    beside : Slice or None
        The same data under the paper's protocol; ours is shown of it too.

    Returns
    -------
    Sheet
    """
    sheet = _sheet_of(part, part.methods)
    columns, entries = _columns(part, part.methods), _by_column(sheet)
    if beside is not None:
        methods = [key for key in beside.methods if key in (*part.methods, OURS)]
        columns += _columns(beside, methods)
        others = _by_column(_sheet_of(beside, methods))
        none = (Entry(DASH),) * len(methods)
        entries = {
            column: (*found, *_plain(others.get(column, none)))
            for column, found in entries.items()
        }
    lines = [
        Line(", ".join(filter(None, (column.group, column.title))), found)
        for column, found in entries.items()
    ]
    return Sheet(
        corner="data set",
        columns=tuple(columns),
        groups=(Lines(tuple(lines)),),
        caption=sheet.caption.replace(BEST, ""),
        below=sheet.below,
        notes=sheet.notes,
    )


def _sheet_of(part: Slice, methods: Sequence[str]) -> Sheet:
    chosen = part.only(cell for cell in part.cells if cell.method in methods)
    return make_scores_sheet(chosen, {}, "", methods)


def _columns(part: Slice, methods: Sequence[str]) -> list[Column]:
    group = name_protocol(part.protocol).lower()
    return [Column(name_method(method), group) for method in methods]


def _by_column(sheet: Sheet) -> dict[Column, tuple[Entry, ...]]:
    return {
        column: tuple(line.entries[j] for line in sheet.lines)
        for j, column in enumerate(sheet.columns)
    }


def _plain(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries without marks, whose notes stand elsewhere; none is the best."""
    return [replace(entry, strong=False, mark="") for entry in entries]


def tell_authors(part: Slice, beside: Slice | None) -> str:
    """Return what the method reaches under both protocols, and what ours does.

    Parameters
    ----------
    part : Slice
        Of the authors' protocol.
    beside : Slice or None

    Returns
    -------
    str
        Means over the data sets that all have, as far as the paper reports of them;
        nothing if there are none.
    """
    if beside is None:
        return ""
    places = [(part, PAPER), (beside, PAPER), (beside, OURS)]
    scores = [_scores(each, method) for each, method in places]
    known = scores[0].keys() & scores[1].keys() & scores[2].keys()
    reported = part.experiment.reported.get(part.metric, {})
    common = sorted(known & reported.keys() or known, key=str)
    if not common:
        return ""
    authors, paper, ours = (fmean(each[row] for row in common) for each in scores)
    times = [show_seconds(_seconds(each, method)) for each, method in places]
    what = "accuracy" if part.experiment.higher_is_better else "error"
    over = f" on average over {len(common)} data sets" if len(common) > 1 else ""
    told = (
        f"The paper's method has {what} {show_value(authors, part.metric)} by the "
        f"authors' protocol ({times[0]} a fit) and {show_value(paper, part.metric)} by "
        f"the paper's ({times[1]}); {name_method(OURS)} has "
        f"{show_value(ours, part.metric)} ({times[2]}){over}."
    )
    if part.experiment.higher_is_better:
        return told
    told = f"{told[:-1]}, {ours / authors:.2f} times the first."
    return " ".join(filter(None, (told, _tell_short(part, beside, common[0]))))


def _tell_short(part: Slice, beside: Slice, row: tuple[str, float | None]) -> str:
    """Return what ours reaches in about the time of the authors' recipe."""
    short, theirs = (_scores(beside, SHORT).get(row), _scores(part, PAPER).get(row))
    if short is None or theirs is None:
        return ""
    longer = _seconds(beside, SHORT) > _seconds(part, PAPER)
    return (
        f"In few epochs it comes to {show_value(short, part.metric)} "
        f"({show_seconds(_seconds(beside, SHORT))}), {short / theirs:.2f} times the "
        f"first in {'more' if longer else 'no more'} time."
    )


def _scores(part: Slice, method: str) -> dict[tuple[str, float | None], float]:
    """Return the means of a method by data set and rate."""
    if not any(cell.metric == part.metric for cell in part.cells):
        return {}
    table = mean_table(part.cells, part.metric)
    if method not in table.methods:
        return {}
    j = table.methods.index(method)
    return {
        row: float(table.mean[i, j])
        for i, row in enumerate(table.rows)
        if table.count[i, j]
    }


def _seconds(part: Slice, method: str) -> float:
    return median(
        cell.seconds
        for cell in part.cells
        if cell.method == method and cell.value is not None
    )
