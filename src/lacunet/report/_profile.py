"""The page of a table's profile: what the template shows, and its drawings."""

from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet._text import show_count, show_p, show_percent, show_score
from lacunet.report import _drawing as draw
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.profile import AssociationTable, Pattern, Profile

_MAX_PATTERNS = 15
_MAX_PATTERN_COLUMNS = 30
# Rarer patterns are summed up: these many rows, this fraction of all.
_MIN_PATTERN_ROWS, _MIN_PATTERN_FRACTION = 3, 0.01
_MIN_IN_PATTERNS = 0.25  # of incomplete rows, or no pattern is drawn
_MAX_CARDS = 30  # with those of complete columns
_MAX_TABLE_ROWS = 200
_MAX_NAMED = 45  # columns of a map
_MAX_LINKS = 30  # in tables
_MAX_SQUARES = 25  # rows and columns of a drawing of associations
_MAX_ROW_BARS = 15


def write_profile(
    profile: "Profile",
    path: str | PathLike[str],
    *,
    title: str = "What is missing",
    force: bool = False,
) -> Path:
    """Write a profile of a table as HTML.

    It is one file that needs no other and no network: a map of the missing cells, a
    card for each column with its distribution, patterns, what is missing together, what
    missingness depends on, and tests in words. Tables can be sorted and filtered. The
    same profile gives the same file. It is written whole or not at all.

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
    incomplete = [column.name for column in profile.columns if column.n_missing]
    tests, target = profile.associations, profile.target
    clearest = {link.column: link for link in tests.clearest()}
    few = profile.n_columns <= _MAX_CARDS
    context = {
        "title": title,
        "profile": profile,
        "cards": [
            make_card(column) | {"link": clearest.get(column.name)}
            for column in ordered
            if column.distribution
            and (column.n_missing or few or column.distribution.by)
        ],
        "column_rows": [
            (
                column.name,
                column.kind,
                f"{column.n_missing:,}",
                _bar(column.fraction_missing, show_percent(column.fraction_missing)),
                f"{column.n_distinct:,}",
                {"text": ", ".join(column.samples[:3]), "tone": "words"},
            )
            for column in ordered[:_MAX_TABLE_ROWS]
        ],
    }
    if not incomplete:
        return context
    fewest = max(_MIN_PATTERN_ROWS, _MIN_PATTERN_FRACTION * profile.n_rows)
    shown = [each for each in profile.patterns if each.n_rows >= fewest][:_MAX_PATTERNS]
    n_drawn = sum(pattern.n_rows for pattern in shown if pattern.missing)
    if n_drawn < _MIN_IN_PATTERNS * (profile.n_rows - profile.n_complete_rows):
        shown = []
    rarer = [each for each in profile.patterns if each.missing and each not in shown]
    in_patterns = {name for pattern in shown for name in pattern.missing}
    pattern_columns = [name for name in incomplete if name in in_patterns]
    maps = [(False, profile.map_by_row), (True, profile.map_by_pattern)]
    return context | {
        "significance": SIGNIFICANCE,
        "maps": [draw_map(profile, incomplete, *each) for each in maps],
        "rows": _count_rows(profile),
        "patterns": draw_patterns(shown, pattern_columns[:_MAX_PATTERN_COLUMNS]),
        "n_rarer": profile.n_patterns - len(shown),
        "n_rarer_rows": profile.n_rows - sum(pattern.n_rows for pattern in shown),
        "most_rarer": max((each.n_rows for each in rarer), default=0),
        "n_hidden_columns": max(len(pattern_columns) - _MAX_PATTERN_COLUMNS, 0),
        "pair_rows": [
            (
                f"{pair.first} and {pair.second}",
                show_score(pair.phi, ".2f"),
                *(f"{n:,}" for n in (pair.both, pair.only_first, pair.only_second)),
            )
            for pair in profile.pairs[:_MAX_LINKS]
        ],
        "by_value": draw_associations("value", profile),
        "by_missing": draw_associations("missing", profile),
        "link_rows": _list_links(tests),
        "predictability_rows": [
            (each.column, _bar(each.auc_values), _bar(each.auc))
            for each in sorted(profile.predictability, key=lambda each: -each.auc)
        ],
        "target_card": target and target.distribution and make_card(target),
        "target_rows": target and _list_links(target.associations),
    }


def make_card(column: Any) -> dict[str, Any]:
    """Return how values are distributed, in all rows or in two groups of them."""
    found = column.distribution
    names, counts = [""], np.array([found.counts])
    if found.by is not None:
        lost = np.array([found.counts_missing])
        names, counts = ["observed", "missing"], np.vstack([counts - lost, lost])
    totals = counts.sum(axis=1, keepdims=True)
    fractions = counts / np.maximum(totals, 1)
    # Categories of both groups stand beside each other, bins below each other.
    tops = fractions.max(axis=1 if found.binned else None, keepdims=True)
    heights = (100 * fractions / np.where(tops > 0, tops, 1)).round(1)
    labels = found.labels
    if found.binned:
        labels = [f"{low} to {high}" for low, high in pairwise(labels)]
    groups = []
    for by, *group in zip(names, totals, counts, fractions, heights, strict=True):
        (total,), *bars = (each.tolist() for each in group)
        shown = [
            {
                "height": height,
                "text": show_percent(fraction),
                "tip": f"{label}: {show_count(n, 'row')} ({show_percent(fraction)})",
            }
            for label, n, fraction, height in zip(labels, *bars, strict=True)
        ]
        groups.append({"by": by, "total": total, "bars": shown})
    return {"column": column, "labels": labels, "groups": groups}


def _count_rows(profile: "Profile") -> list[dict[str, Any]]:
    """Return bars: how many rows have how many missing cells."""
    numbers, counts = np.array(profile.row_histogram).T
    step = int(np.ceil((numbers.max() + 1) / _MAX_ROW_BARS))
    totals = np.bincount(numbers // step, weights=counts).astype(int).tolist()
    bars = []
    for place, n in enumerate(totals):
        start, last = place * step, place * step + step - 1
        label = f"{start}\N{EN DASH}{last}" if step > 1 else str(start)
        text = f"{n:,} ({show_percent(n / profile.n_rows)})"
        fraction = round(n / max(totals), 3)
        bars.append({"label": label, "fraction": fraction, "text": text})
    return bars


def _list_links(tests: "AssociationTable") -> list[tuple[Any, ...]]:
    return [
        (
            link.column,
            {"text": f"{link.on} {link.where}", "tone": "words"},
            _bar(link.fraction_there, show_percent(link.fraction_there)),
            _bar(link.fraction_elsewhere, show_percent(link.fraction_elsewhere)),
            f"{0.5 + link.strength / 2:.2f}",
            show_p(link.p_adjusted).removeprefix("p ").removeprefix("= "),
        )
        for link in tests.links[:_MAX_LINKS]
    ]


def _bar(fraction: float | None, text: str = "") -> dict[str, Any]:
    """Return a cell of a table with a bar in it, or a dash."""
    if fraction is None:
        return {"text": "\N{EN DASH}", "sort": 0}
    shown = text or f"{fraction:.2f}"
    return {"text": shown, "fraction": round(fraction, 4), "sort": round(fraction, 4)}


# --- drawings


def draw_map(
    profile: "Profile", columns: Sequence[str], by_pattern: bool, fractions: Any
) -> dict[str, Any]:
    """Draw the columns with missing values from far away, and name what is where."""
    cells = np.array(fractions)
    n_blocks, n_complete = cells.shape[1], profile.n_columns - len(columns)
    ends = np.linspace(0, len(columns), n_blocks + 1).astype(int)
    blocks = [columns[start:end] for start, end in pairwise(ends)]
    names = [" to ".join(dict.fromkeys([block[0], block[-1]])) for block in blocks]
    if n_complete:
        cells = np.pad(cells, [(0, 0), (0, 1)])
        names.append(show_count(n_complete, "complete column"))
    pixels = np.empty((*cells.shape, 4))  # (rows, columns, channels)
    pixels[..., :3] = np.array(draw.MISSING) / 255
    pixels[..., 3] = cells
    named = n_blocks == len(columns) <= _MAX_NAMED
    with draw.drawing(draw.WIDTH, 4.6 if named else 4.0) as figure:
        axes = figure.add_subplot()
        axes.set_facecolor(draw.LINE)
        extent = (-0.5, len(names) - 0.5, profile.n_rows, 0)
        axes.imshow(pixels, interpolation="none", aspect="auto", extent=extent)
        axes.set_ylabel("rows, sorted" if by_pattern else "row")
        draw.strip(axes)
        if named:
            draw.name_across(axes, names)
        else:
            axes.set_xticks([])
            hidden = f" and {names[-1]} at the right" if n_complete else ""
            axes.set_xlabel(f"{len(columns):,} columns with missing values{hidden}")
        name = "map-sorted" if by_pattern else "map-rows"
        svg = draw.to_svg(figure, name, "Map of missing cells")
    data = {
        "names": names,
        "rows": profile.n_rows,
        "sorted": by_pattern,
        "cells": ["".join(chr(48 + round(50 * x)) for x in row) for row in cells],
    }
    title = "Sorted by pattern" if by_pattern else "In the order of the table"
    return {"title": title, "svg": svg, "data": {"map": data}}


def draw_patterns(patterns: "Sequence[Pattern]", columns: Sequence[str]) -> str:
    """Draw patterns as rows of squares, with the number of rows; nothing if none."""
    if not columns:
        return ""
    places = {column: x for x, column in enumerate(columns)}
    width = max(draw.WIDTH, 2.6 + 0.2 * len(columns))
    names = 0.08 * len(max(map(draw.cut, columns), key=len))  # inches
    ratios = [max(len(columns), 4), 7]
    with draw.drawing(width, 0.4 + names + 0.22 * len(patterns)) as figure:
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=ratios)
        for y, pattern in enumerate(patterns):
            missing = [places[each] for each in pattern.missing if each in places]
            every, colour = range(len(columns)), draw.ACCENT
            left.plot(every, [y] * len(columns), "o", color=draw.LINE, ms=5)
            left.plot(missing, [y] * len(missing), "s", color=colour, ms=6.5)
            label = f"{pattern.n_rows:,} ({show_percent(pattern.fraction)})"
            draw.write_beside(right, label, pattern.n_rows, y)
            colour = colour if pattern.missing else draw.THIRD
            right.barh(y, pattern.n_rows, color=colour, height=0.6)
        draw.name_across(left, columns)
        left.set(yticks=[], ylim=(len(patterns) - 0.4, -0.6))
        left.set_xlim(-0.6, len(columns) - 0.4)
        most = max(pattern.n_rows for pattern in patterns)
        right.set(xlim=(0, most * 1.45), xticks=[])
        draw.strip(left)
        draw.strip(right)
        return draw.to_svg(figure, "patterns", "The most frequent patterns")


def draw_associations(by: str, profile: "Profile") -> str:
    """Draw the strength of associations as squares; nothing if there are none."""
    from matplotlib.patches import Rectangle

    links = [link for link in profile.associations.links if link.by == by]
    rows = list(dict.fromkeys(link.column for link in links))[:_MAX_SQUARES]
    links = [link for link in links if link.column in rows]
    columns = list(dict.fromkeys(link.on for link in links))[:_MAX_SQUARES]
    if not links:
        return ""
    kinds = {column.name: column.kind for column in profile.columns}
    rows, columns = (sorted(each, key=[*kinds].index) for each in (rows, columns))
    n_across, n_down = max(len(columns), 6), max(len(rows), 3)
    with draw.drawing(2.0 + 0.27 * n_across, 1.3 + 0.3 * n_down) as figure:
        axes = figure.add_subplot()
        for link in (link for link in links if link.on in columns):
            x, y = columns.index(link.on), rows.index(link.column)
            colour = draw.ACCENT if link.auc > 0.5 else draw.SECOND
            if by == "value" and kinds[link.on] == "category":
                colour = draw.THIRD  # without direction
            square = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, edgecolor="none")
            square.set(facecolor=colour, alpha=0.15 + 0.85 * link.strength)
            axes.add_patch(square)
            there, elsewhere = link.fraction_there, link.fraction_elsewhere
            tip = f"{link.column} is missing in {show_percent(there)} where {link.on} "
            tip += f"{link.where}, in {show_percent(elsewhere)} elsewhere"
            draw.add_tips([square], [tip])
            centred = {"ha": "center", "va": "center", "fontsize": 6.5}
            ink = draw.PAPER if link.strength > 0.55 else draw.INK
            axes.text(x, y, f"{100 * link.strength:.0f}", color=ink, **centred)
        draw.name_across(axes, columns)
        draw.list_names(axes, rows)
        # Squares of the same size, however few there are.
        axes.set(xlim=(-0.6, n_across - 0.4), ylim=(n_down - 0.4, -0.6))
        draw.strip(axes)
        axes.set_aspect("equal", anchor="NW")
        title = f"Associations with {'values' if by == 'value' else 'missingness'}"
        return draw.to_svg(figure, f"associations-{by}", title)
