"""The page of a check: columns of new rows beside those of training."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacunet._text import show_percent
from lacunet.report import _drawing as draw
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.tables import ColumnDrift, ColumnSummary

_MAX_CARDS = 40
_MAX_TABLE_ROWS = 200
_MAX_LINES = 8  # of a drawing, and those beside: outside, other or unseen
_FRACTIONS = ("missing", "missing_in_training", "outside")
# What is written beside the name of a column.
_BADGES = {
    "lacking": "not in the table",
    "outside": "outside the range",
    "categories": "unseen categories",
    "missing": "missing rate",
    "distribution": "distribution",
}


def write_check(
    columns: "Sequence[ColumnDrift]",
    path: str | PathLike[str],
    *,
    title: str = "New rows beside those of training",
    force: bool = False,
) -> Path:
    """Write what has changed since training as HTML.

    It is one file that needs no other and no network: a card for each column that has
    changed, with its distribution in training and now, and a table of all columns. It
    is written whole or not at all.

    Parameters
    ----------
    columns : sequence of ColumnDrift
        What :meth:`lacunet.tables.Drift.compare` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="New rows beside those of training"
        Heading of the page.
    force : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    Path
        That of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from lacunet.report import write_check
    >>> from lacunet.tables import Drift, Schema, SchemaColumn, summarize_columns
    >>> schema = Schema((SchemaColumn("height", "number"),))
    >>> rows = pd.DataFrame({"height": [1.55, 1.62, 1.71, 1.78, 1.83, 1.94]})
    >>> drift = Drift(schema, summarize_columns(rows, schema))
    >>> drift.update(100 * rows)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_check(drift.compare(), Path(folder) / "check.html")
    ...     "by a factor of about 100 (another unit?)" in path.read_text("utf-8")
    True
    """
    return write_page(
        path, "check.html", lambda: make_context(columns, title), force=force
    )


def make_context(columns: "Sequence[ColumnDrift]", title: str) -> dict[str, Any]:
    """Return what the template shows."""
    changed = [column for column in columns if column.changes]
    rows = []
    for column in columns[:_MAX_TABLE_ROWS]:
        fractions = [column.as_dict()[key] for key in _FRACTIONS]
        shown = ["?" if each is None else show_percent(each) for each in fractions]
        badges = ", ".join(_BADGES[what] for what in column.changes) or "–"
        cells = [column.name, column.kind, *shown, badges]
        rows.append({"cells": cells, "accent": bool(column.changes)})
    summaries = [column.training for column in columns if column.training]
    return {
        "title": title,
        "columns": columns,
        "changed": changed,
        "n_training": summaries[0].n_rows if summaries else 0,
        "n_unchecked": len(columns) - len(summaries),
        "badges": _BADGES,
        "drawings": [
            draw_column(f"column-{number}", column)
            for number, column in enumerate(changed[:_MAX_CARDS])
        ],
        "rows": rows,
    }


def draw_column(name: str, column: "ColumnDrift") -> str:
    """Draw the distribution of a column in training and now; nothing if unknown."""
    if not column.fractions or column.training is None:
        return ""
    list_lines = _list_categories if column.kind == "category" else _list_bins
    lines = list_lines(column.training, column.fractions)
    with draw.drawing(draw.WIDTH, 0.8 + 0.3 * len(lines)) as figure:
        axes = figure.add_subplot()
        for y, (_, before, now) in enumerate(lines):
            axes.barh(y - 0.19, before, 0.34, color=draw.MUTED)
            colour = draw.ACCENT if before else draw.SECOND
            axes.barh(y + 0.19, now, 0.34, color=colour)
        names = [label for label, *_ in lines]
        draw.finish_lines(axes, names, "fraction of the values (grey: in training)")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.set_xlim(left=0)
        return draw.to_svg(figure, name, f"{column.name} in training and now")


def _list_bins(
    training: "ColumnSummary", fractions: Sequence[float]
) -> list[tuple[str, float, float]]:
    """Return bins, of about as many values of training each, and what is outside.

    Each is its name and the fractions of training and now.
    """
    edges, counts = training.edges, training.counts
    below, *inside, above = fractions
    shown = [training.show(edge) for edge in edges]
    lines = [(f"below {shown[0]}", 0.0, below)] if below else []
    start, before, now = 0, 0.0, 0.0
    for index, (count, fraction) in enumerate(zip(counts, inside, strict=True)):
        before, now = before + count / sum(counts), now + fraction
        if before > 0.99 / _MAX_LINES or index == len(counts) - 1:
            # Of whole numbers, a bin up to 2 that begins above 1 has one of them.
            width = edges[index] - edges[start]
            single = not width or (width == 1 and edges[index] % 1 == 0)
            label = shown[index] if single else f"{shown[start]} to {shown[index]}"
            lines.append((label, before, now))
            start, before, now = index, 0.0, 0.0
    return [*lines, (f"above {shown[-1]}", 0.0, above)] if above else lines


def _list_categories(
    training: "ColumnSummary", fractions: Sequence[float]
) -> list[tuple[str, float, float]]:
    """Return the most frequent categories, the others, and those not seen."""
    *inside, other, unseen = fractions
    before = [count / training.n_observed for count in training.counts]
    every = [*zip(training.categories, before, inside, strict=True)]
    every.sort(key=lambda each: -max(each[1:]))
    lines, rest = every[:_MAX_LINES], every[_MAX_LINES:]
    if rest or other:
        rare = 1 - sum(each[1] for each in lines)
        now = other + sum(each[2] for each in rest)
        lines.append(("other categories", rare, now))
    return [*lines, ("not seen in training", 0.0, unseen)] if unseen else lines
