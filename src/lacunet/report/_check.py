"""The page of a check: columns of new rows beside those of training."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacunet._text import show_percent
from lacunet.report._drawing import (
    ACCENT,
    MUTED,
    SECOND,
    WIDTH,
    drawing,
    finish_lines,
    to_svg,
)
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.tables import ColumnDrift

_MAX_CARDS = 40
_MAX_TABLE_ROWS = 200
_MAX_LINES = 8  # of a drawing, and those beside: outside, other or unseen
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
    cards = [
        {
            "column": column,
            "badge": ", ".join(_BADGES[what] for what in column.changes),
            "texts": [
                f"{text[0].upper()}{text[1:]}." for text in column.changes.values()
            ],
            "drawing": draw_column(f"column-{number}", column),
        }
        for number, column in enumerate(changed[:_MAX_CARDS])
    ]
    rows = []
    for column in columns[:_MAX_TABLE_ROWS]:
        before = column.training
        n_values = max(1, column.n_rows - column.n_missing)
        cells = [
            column.name,
            column.kind,
            show_percent(column.fraction_missing),
            "?" if before is None else show_percent(before.fraction_missing),
            "?"
            if before is None and column.kind != "category"
            else show_percent(column.n_outside / n_values),
            ", ".join(_BADGES[what] for what in column.changes) or "–",
        ]
        rows.append({"cells": cells, "accent": bool(column.changes)})
    return {
        "title": title,
        "sections": ["Changed columns"] * bool(changed) + ["All columns"],
        "n_rows": columns[0].n_rows if columns else 0,
        "columns": columns,
        "n_training": max(
            (c.training.n_rows for c in columns if c.training), default=0
        ),
        "changed": changed,
        "cards": cards,
        "rows": rows,
        "unchecked": [column.name for column in columns if column.training is None],
    }


def draw_column(name: str, column: "ColumnDrift") -> str:
    """Draw the distribution of a column in training and now; nothing if unknown."""
    if not column.fractions or column.training is None:
        return ""
    lines = (
        _list_categories(column) if column.kind == "category" else _list_bins(column)
    )
    names = [label for label, *_ in lines]
    with drawing(WIDTH, 0.8 + 0.3 * len(lines)) as figure:
        axes = figure.add_subplot()
        for y, (_, before, now, is_inside) in enumerate(lines):
            axes.barh(y - 0.19, before, 0.34, color=MUTED)
            axes.barh(y + 0.19, now, 0.34, color=ACCENT if is_inside else SECOND)
        finish_lines(axes, names, "fraction of the values (grey: in training)")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.set_xlim(left=0)
        return to_svg(figure, name, f"{column.name} in training and now")


def _list_bins(column: "ColumnDrift") -> list[tuple[str, float, float, bool]]:
    """Return bins with about as many values of training in each, and what is outside.

    Each is its name, the fractions of training and now, and whether it is in the range.
    """
    assert column.training is not None
    edges, counts = column.training.edges, column.training.counts
    below, *inside, above = column.fractions
    shown = [column.training.show(edge) for edge in edges]
    lines = [(f"below {shown[0]}", 0.0, below, False)] if below else []
    start, before, now = 0, 0.0, 0.0
    for index, (count, fraction) in enumerate(zip(counts, inside, strict=True)):
        before, now = before + count / sum(counts), now + fraction
        if before >= 1 / _MAX_LINES - 1e-9 or index == len(counts) - 1:
            # Of whole numbers, a bin up to 2 that begins above 1 has one of them.
            width = edges[index] - edges[start]
            single = not width or (width == 1 and edges[index].is_integer())
            label = shown[index] if single else f"{shown[start]} to {shown[index]}"
            lines.append((label, before, now, True))
            start, before, now = index, 0.0, 0.0
    return [*lines, (f"above {shown[-1]}", 0.0, above, False)] if above else lines


def _list_categories(column: "ColumnDrift") -> list[tuple[str, float, float, bool]]:
    """Return the most frequent categories, the others, and those not seen."""
    assert column.training is not None
    n_before = max(1, column.training.n_observed)
    *inside, other, unseen = column.fractions
    before = [count / n_before for count in column.training.counts]
    every = [*zip(column.training.categories, before, inside, strict=True)]
    most = sorted(every, key=lambda each: -max(each[1:]))[:_MAX_LINES]
    lines = [(*each, True) for each in every if each in most]
    rest = 1 - sum(each[1] for each in most), other + sum(inside)
    if len(every) > len(most) or other:
        now = rest[1] - sum(each[2] for each in most)
        lines.append(("other categories", rest[0], now, True))
    return [*lines, ("not seen in training", 0.0, unseen, False)] if unseen else lines
