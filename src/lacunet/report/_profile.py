"""The page of a table's profile: what the template shows, and its drawings."""

from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet._text import join_words, show_p, show_percent
from lacunet.report._drawing import (
    ACCENT,
    INK,
    LINE,
    MISSING,
    MUTED,
    PAPER,
    SECOND,
    THIRD,
    WIDTH,
    cut,
    dot,
    drawing,
    list_names,
    name_across,
    set_share_axis,
    strip,
    to_svg,
    write_beside,
)
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.profile import (
        AssociationTable,
        Pattern,
        Predictability,
        Profile,
    )

_MAX_BARS = 40
_MAX_PATTERNS = 15
_MAX_PATTERN_COLUMNS = 30
_MAX_TABLE_ROWS = 200
_MAX_LINKS = 30  # in tables
_MAX_SQUARES = 25  # rows and columns of a drawing of associations
_MAX_CONTRASTS = 12
_ROW = 0.235  # inches of a line with a name
_SECTIONS = ["Map of missing cells", "Columns and rows", "Patterns", "Dependence"]
_SECTION_OF = {
    "cells": "Map of missing cells",
    "together": "Patterns",
    "little": "Dependence",
    "dependence": "Dependence",
    "target": "Target",
}


def write_profile(
    profile: "Profile",
    path: str | PathLike[str],
    *,
    title: str = "What is missing",
    force: bool = False,
) -> Path:
    """Write a profile of a table as HTML.

    It is one file that needs no other and no network: a map of the missing cells,
    fractions by column and row, patterns, what is missing together, what missingness
    depends on, and tests in words. The same profile gives the same file. It is written
    whole or not at all.

    Parameters
    ----------
    profile : Profile
        What :func:`lacunet.profile.profile_table` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="What is missing"
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
    >>> import numpy as np
    >>> from lacunet.report import write_profile
    >>> from lacunet.profile import profile_table
    >>> profile = profile_table(np.array([[1.0, np.nan], [2.0, 3.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_profile(profile, Path(folder) / "profile.html")
    ...     "25% of the cells are missing" in path.read_text("utf-8")
    True
    """
    return write_page(
        path, "profile.html", lambda: make_context(profile, title), force=force
    )


def make_context(profile: "Profile", title: str) -> dict[str, Any]:
    """Return what the template shows."""
    from lacunet.profile import SIGNIFICANCE

    ordered = sorted(profile.columns, key=lambda column: -column.n_missing)
    incomplete = [column for column in ordered if column.n_missing]
    column_rows = [
        (
            column.name,
            column.kind,
            f"{column.n_missing:,}",
            show_percent(column.fraction_missing),
            f"{column.n_distinct:,}",
        )
        for column in ordered[:_MAX_TABLE_ROWS]
    ]
    context = {"title": title, "profile": profile, "column_rows": column_rows}
    if not incomplete:
        sections = ["Columns"] if profile.n_columns else []
        return context | {"sections": sections, "findings": profile.findings}
    shown = profile.patterns[:_MAX_PATTERNS]
    in_patterns = {name for pattern in shown for name in pattern.missing}
    pattern_columns = [c.name for c in profile.columns if c.name in in_patterns]
    tests, target = profile.associations, profile.target
    size = (profile.n_rows, [column.name for column in profile.columns])
    return context | {
        "sections": [*_SECTIONS, "Target"] if target else _SECTIONS,
        "findings": [
            asdict(finding) | {"section": _SECTION_OF[finding.about]}
            for finding in profile.findings
        ],
        "significance": SIGNIFICANCE,
        "n_incomplete": len(incomplete),
        "n_bars": min(len(incomplete), _MAX_BARS),
        "map_by_row": draw_map("map-rows", profile.map_by_row, *size),
        "map_by_pattern": draw_map("map-sorted", profile.map_by_pattern, *size),
        "fractions": draw_fractions(
            [(c.name, c.fraction_missing) for c in incomplete[:_MAX_BARS]]
        ),
        "rows": draw_rows(profile.row_histogram),
        "patterns": draw_patterns(shown, pattern_columns[:_MAX_PATTERN_COLUMNS]),
        "n_pattern_rows": sum(pattern.n_rows for pattern in shown),
        "n_hidden_columns": max(len(pattern_columns) - _MAX_PATTERN_COLUMNS, 0),
        "pair_rows": [
            (
                f"{pair.first} and {pair.second}",
                f"{pair.phi:.2f}".replace("-", "\N{MINUS SIGN}"),
                *(f"{n:,}" for n in (pair.both, pair.only_first, pair.only_second)),
            )
            for pair in profile.pairs[:_MAX_LINKS]
        ],
        "contrast": draw_contrast("contrast", tests),
        "by_value": draw_associations("value", profile),
        "by_missing": draw_associations("missing", profile),
        "link_rows": _list_links(tests),
        "predictability": draw_predictability(profile.predictability),
        "target_contrast": target
        and draw_contrast("target-contrast", target.associations),
        "target_rows": target and _list_links(target.associations),
        "shorten": _shorten_list,
    }


def _list_links(tests: "AssociationTable") -> list[tuple[str, ...]]:
    return [
        (
            link.column,
            f"{link.on} {link.where}",
            show_percent(link.fraction_there),
            show_percent(link.fraction_elsewhere),
            f"{0.5 + link.strength / 2:.2f}",
            show_p(link.p_adjusted).removeprefix("p ").removeprefix("= "),
        )
        for link in tests.links[:_MAX_LINKS]
    ]


def _shorten_list(names: Sequence[str], most: int = 6) -> str:
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return join_words([*names[:most], *more])


# --- drawings


def draw_map(
    name: str,
    fractions: Sequence[Sequence[float]],
    n_rows: int,
    columns: Sequence[str],
) -> str:
    """Draw a table from far away, in colour where it is missing."""
    pixels = np.empty((*np.shape(fractions), 4))  # (rows, columns, channels)
    pixels[..., :3] = np.array(MISSING) / 255
    pixels[..., 3] = fractions
    n_blocks = len(fractions[0])
    named = n_blocks == len(columns) <= 45
    with drawing(WIDTH, 4.6 if named else 4.0) as figure:
        axes = figure.add_subplot()
        axes.set_facecolor(LINE)
        axes.imshow(
            pixels,
            interpolation="none",
            aspect="auto",
            extent=(-0.5, n_blocks - 0.5, n_rows, 0),
        )
        axes.grid(visible=False)
        axes.set_ylabel("row")
        axes.spines[["left", "bottom"]].set_visible(False)
        if named:
            name_across(axes, columns)
        else:
            axes.set_xticks([])
            axes.set_xlabel(f"{len(columns):,} columns")
        return to_svg(figure, name, "Map of missing cells")


def draw_fractions(fractions: Sequence[tuple[str, float]]) -> str:
    """Draw how much of each column is missing, from top to bottom."""
    with drawing(WIDTH, 0.5 + _ROW * len(fractions)) as figure:
        axes = figure.add_subplot()
        values = [fraction for _, fraction in fractions]
        axes.barh(range(len(values)), values, color=ACCENT, height=0.7)
        for y, fraction in enumerate(values):
            write_beside(axes, show_percent(fraction), fraction, y)
        list_names(axes, [name for name, _ in fractions])
        set_share_axis(axes, "fraction missing")
        return to_svg(figure, "fractions", "Fraction missing of each column")


def draw_rows(histogram: Sequence[tuple[int, int]]) -> str:
    """Draw the histogram of missing cells per row."""
    numbers, counts = (np.array(each) for each in zip(*histogram, strict=True))
    step = int(np.ceil((numbers.max() + 1) / 30))
    totals = np.bincount(numbers // step, weights=counts)
    with drawing(WIDTH, 2.6) as figure:
        axes = figure.add_subplot()
        starts = np.arange(len(totals)) * step
        # Complete rows in another colour: they are all that many methods use.
        colours = [THIRD if start == 0 and step == 1 else ACCENT for start in starts]
        axes.bar(starts + (step - 1) / 2, totals, width=0.8 * step, color=colours)
        axes.set_xlabel("missing cells in a row")
        axes.set_ylabel("rows")
        axes.set_xlim(-0.6, numbers.max() + step - 0.4)
        axes.locator_params(integer=True)
        axes.grid(axis="x", visible=False)
        return to_svg(figure, "rows", "Number of missing cells per row")


def draw_patterns(patterns: "Sequence[Pattern]", columns: Sequence[str]) -> str:
    """Draw patterns as rows of squares, with the number of rows of each."""
    places = {column: x for x, column in enumerate(columns)}
    width = max(WIDTH, 2.6 + 0.2 * len(columns))
    with drawing(width, 1.3 + 0.22 * len(patterns)) as figure:
        left, right = figure.subplots(
            1, 2, sharey=True, width_ratios=[max(len(columns), 4), 7]
        )
        for y, pattern in enumerate(patterns):
            missing = [places[each] for each in pattern.missing if each in places]
            left.plot(range(len(columns)), [y] * len(columns), "o", color=LINE, ms=5)
            left.plot(missing, [y] * len(missing), "s", color=ACCENT, ms=6.5)
            label = f"{pattern.n_rows:,} ({show_percent(pattern.fraction)})"
            write_beside(right, label, pattern.n_rows, y)
        counts = [pattern.n_rows for pattern in patterns]
        colours = [ACCENT if pattern.missing else THIRD for pattern in patterns]
        right.barh(range(len(patterns)), counts, color=colours, height=0.6)
        name_across(left, columns)
        left.set_yticks([])
        left.set_ylim(len(patterns) - 0.4, -0.6)
        left.set_xlim(-0.6, len(columns) - 0.4)
        right.set_xlim(0, max(counts) * 1.45)
        right.set_xticks([])
        strip(left)
        strip(right)
        return to_svg(figure, "patterns", "The most frequent patterns")


def draw_associations(by: str, profile: "Profile") -> str:
    """Draw the strength of associations as squares; nothing if there are none."""
    from matplotlib.patches import Rectangle

    links = [link for link in profile.associations.links if link.by == by]
    rows = list(dict.fromkeys(link.column for link in links))[:_MAX_SQUARES]
    links = [link for link in links if link.column in rows]
    columns = list(dict.fromkeys(link.on for link in links))[:_MAX_SQUARES]
    if not links:
        return ""
    order = [column.name for column in profile.columns]
    kinds = {column.name: column.kind for column in profile.columns}
    rows, columns = (sorted(each, key=order.index) for each in (rows, columns))
    n_across, n_down = max(len(columns), 6), max(len(rows), 3)
    with drawing(2.0 + 0.27 * n_across, 1.3 + 0.3 * n_down) as figure:
        axes = figure.add_subplot()
        for link in links:
            if link.on not in columns:
                continue
            x, y = columns.index(link.on), rows.index(link.column)
            colour = ACCENT if link.auc > 0.5 else SECOND
            if by == "value" and kinds[link.on] == "category":
                colour = THIRD  # without direction
            square = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, edgecolor="none")
            square.set(facecolor=colour, alpha=0.15 + 0.85 * link.strength)
            axes.add_patch(square)
            centred = {"ha": "center", "va": "center", "fontsize": 6.5}
            ink = PAPER if link.strength > 0.55 else INK
            axes.text(x, y, f"{100 * link.strength:.0f}", color=ink, **centred)
        name_across(axes, columns)
        list_names(axes, rows)
        # Squares of the same size, however few there are.
        axes.set_xlim(-0.6, n_across - 0.4)
        axes.set_ylim(n_down - 0.4, -0.6)
        strip(axes)
        axes.set_aspect("equal", anchor="NW")
        title = f"Associations with {'values' if by == 'value' else 'missingness'}"
        return to_svg(figure, f"associations-{by}", title)


def draw_predictability(columns: "Sequence[Predictability]") -> str:
    """Draw the AUC of predicting missingness, from values and with missingness."""
    if not columns:
        return ""
    with drawing(WIDTH, 0.75 + _ROW * len(columns)) as figure:
        axes = figure.add_subplot()
        for y, each in enumerate(columns):
            both = [each.auc, each.auc_values]
            axes.plot(both, [y, y], color=LINE, linewidth=2, zorder=1)
        by_values = [each.auc_values for each in columns]
        dot(axes, by_values, "from values", SECOND, hollow=True)
        dot(axes, [each.auc for each in columns], "and missingness", ACCENT)
        axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=":")
        list_names(axes, [each.column for each in columns])
        axes.set_xlim(min(0.4, *by_values) - 0.02, 1.02)
        axes.set_xlabel("AUC (0.5: by chance)")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, "predictability", "How well missingness is predicted")


def draw_contrast(name: str, tests: "AssociationTable") -> str:
    """Draw where columns are missing most often; nothing if there is no such place."""
    links = tests.clearest()[:_MAX_CONTRASTS]
    if not links:
        return ""
    with drawing(WIDTH, 0.8 + 1.55 * _ROW * len(links)) as figure:
        axes = figure.add_subplot()
        elsewhere = [link.fraction_elsewhere for link in links]
        there = [link.fraction_there for link in links]
        for y, ends in enumerate(zip(elsewhere, there, strict=True)):
            axes.plot(ends, [y, y], color=LINE, linewidth=2, zorder=1)
        dot(axes, elsewhere, "in other rows", MUTED, hollow=True)
        dot(axes, there, "in these rows", ACCENT)
        list_names(axes, [link.column for link in links])
        labels = [
            f"{cut(link.column)}\nwhere {cut(f'{cut(link.on)} {link.where}', 40)}"
            for link in links
        ]
        axes.set_yticklabels(labels, fontsize=8)
        set_share_axis(axes, "fraction missing")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, "Where columns are missing most often")
