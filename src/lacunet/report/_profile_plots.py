"""The drawings of a profile."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet._text import show_percent
from lacunet.profile import HoleMap, Pattern, RowCounts
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

_MOST_BARS = 30
_ROW = 0.235  # inches of a line with a name


class Contrast(NamedTuple):
    """How often a column is missing where something is so, and elsewhere."""

    column: str
    where: str
    there: float
    elsewhere: float


def draw_shares(name: str, shares: Sequence[tuple[str, float]]) -> str:
    """Draw how much of each column is missing.

    Parameters
    ----------
    name : str
    shares : sequence of (str, float)
        Columns and shares, in the order from top to bottom.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.5 + _ROW * len(shares)) as figure:
        axes = figure.add_subplot()
        values = [share for _, share in shares]
        axes.barh(range(len(shares)), values, color=ACCENT, height=0.7)
        for y, share in enumerate(values):
            write_beside(axes, show_percent(share), share, y)
        list_names(axes, [title for title, _ in shares])
        set_share_axis(axes, "share missing")
        return to_svg(figure, name, "Share missing of each column")


def draw_rows(name: str, rows: RowCounts) -> str:
    """Draw how many rows lack how many cells.

    Parameters
    ----------
    name : str
    rows : RowCounts

    Returns
    -------
    str
    """
    numbers, counts = (np.array(part) for part in zip(*rows.histogram, strict=True))
    step = int(np.ceil((numbers.max() + 1) / _MOST_BARS))
    totals = np.bincount(numbers // step, weights=counts)
    with drawing(WIDTH, 2.6) as figure:
        axes = figure.add_subplot()
        starts = np.arange(len(totals)) * step
        # The complete rows are another colour: they are what most methods ask for.
        colours = [THIRD if start == 0 and step == 1 else ACCENT for start in starts]
        axes.bar(starts + (step - 1) / 2, totals, width=0.8 * step, color=colours)
        axes.set_xlabel("missing cells in a row")
        axes.set_ylabel("rows")
        axes.set_xlim(-0.6, numbers.max() + step - 0.4)
        axes.locator_params(integer=True)
        axes.grid(axis="x", visible=False)
        return to_svg(figure, name, "Number of missing cells in a row")


def draw_patterns(
    name: str, patterns: Sequence[Pattern], columns: Sequence[str]
) -> str:
    """Draw patterns as rows of dots, with the number of rows behind each.

    Parameters
    ----------
    name : str
    patterns : sequence of Pattern
    columns : sequence of str
        Those to show.

    Returns
    -------
    str
    """
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
            label = f"{pattern.n_rows:,} ({show_percent(pattern.share)})"
            write_beside(right, label, pattern.n_rows, y)
        counts = [pattern.n_rows for pattern in patterns]
        colours = [ACCENT if pattern.missing else THIRD for pattern in patterns]
        right.barh(range(len(patterns)), counts, color=colours, height=0.6)
        name_across(left, columns)
        left.set_yticks([])
        left.set_ylim(len(patterns) - 0.4, -0.6)
        left.set_xlim(-0.6, len(columns) - 0.4)
        strip(left)
        right.set_xlim(0, max(counts) * 1.45)
        right.set_xticks([])
        strip(right)
        return to_svg(figure, name, "The most frequent patterns of holes")


def draw_map(name: str, holes: HoleMap, n_rows: int, title: str) -> str:
    """Draw a table from far away: where it is missing, it is in colour.

    Parameters
    ----------
    name : str
    holes : HoleMap
    n_rows : int
    title : str

    Returns
    -------
    str
    """
    shares = np.array(holes.shares)  # (rows, columns)
    pixels = np.empty((*shares.shape, 4))
    pixels[..., :3] = np.array(MISSING) / 255
    pixels[..., 3] = shares
    named = shares.shape[1] <= 45 and all(len(block) == 1 for block in holes.columns)
    n_columns = sum(map(len, holes.columns))
    with drawing(WIDTH, 4.6 if named else 4.0) as figure:
        axes = figure.add_subplot()
        axes.set_facecolor(LINE)
        axes.imshow(
            pixels,
            interpolation="none",
            aspect="auto",
            extent=(-0.5, shares.shape[1] - 0.5, n_rows, 0),
        )
        axes.grid(visible=False)
        axes.set_ylabel("row")
        axes.spines[["left", "bottom"]].set_visible(False)
        if named:
            name_across(axes, [block[0] for block in holes.columns])
        else:
            axes.set_xticks([])
            axes.set_xlabel(f"{n_columns:,} columns")
        return to_svg(figure, name, f"Map of holes, {title}")


def draw_links(
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[tuple[str, str, float, str]],
    title: str,
) -> str:
    """Draw how much columns tell of others' holes: the darker, the more.

    Parameters
    ----------
    name : str
    rows, columns : sequence of str
        Whose holes, and what tells of them.
    cells : sequence of (str, str, float, str)
        A row and a column, from 0, nothing, to 1, everything, and the direction: "+",
        "-" or "".
    title : str

    Returns
    -------
    str
    """
    from matplotlib.patches import Rectangle

    across = {each: x for x, each in enumerate(columns)}
    down = {each: y for y, each in enumerate(rows)}
    colours = {"+": ACCENT, "-": SECOND, "": THIRD}
    width = 2.0 + 0.27 * max(len(columns), 6)
    with drawing(width, 1.3 + 0.3 * max(len(rows), 3)) as figure:
        axes = figure.add_subplot()
        for row, column, strength, direction in cells:
            x, y = across[column], down[row]
            axes.add_patch(
                Rectangle(
                    (x - 0.46, y - 0.46),
                    0.92,
                    0.92,
                    facecolor=colours[direction],
                    edgecolor="none",
                    alpha=0.15 + 0.85 * strength,
                )
            )
            centred = {"ha": "center", "va": "center", "fontsize": 6.5}
            colour = PAPER if strength > 0.55 else INK
            axes.text(x, y, f"{100 * strength:.0f}", color=colour, **centred)
        name_across(axes, columns)
        list_names(axes, rows)
        # Squares of the same size, however few there are.
        axes.set_xlim(-0.6, max(len(columns), 6) - 0.4)
        axes.set_ylim(max(len(rows), 3) - 0.4, -0.6)
        strip(axes)
        axes.set_aspect("equal", anchor="NW")
        return to_svg(figure, name, title)


def draw_foresight(name: str, columns: Sequence[tuple[str, float, float]]) -> str:
    """Draw how well holes are foreseen: by values, and by values and holes.

    Parameters
    ----------
    name : str
    columns : sequence of (str, float, float)
        Names, with both chances.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.75 + _ROW * len(columns)) as figure:
        axes = figure.add_subplot()
        for y, each in enumerate(columns):
            axes.plot(each[1:], [y, y], color=LINE, linewidth=2, zorder=1)
        by_values = [each[2] for each in columns]
        dot(axes, by_values, "by values alone", SECOND, hollow=True)
        dot(axes, [each[1] for each in columns], "and by holes", ACCENT)
        axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=":")
        list_names(axes, [each[0] for each in columns])
        axes.set_xlim(min(0.4, *by_values) - 0.02, 1.02)
        axes.set_xlabel("chance to tell apart (0.5: not at all)")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, "How well the holes of columns are foreseen")


def draw_contrast(name: str, lines: Sequence[Contrast], title: str) -> str:
    """Draw how often columns are missing in some rows and in the others.

    Parameters
    ----------
    name : str
    lines : sequence of Contrast
    title : str

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.8 + 1.55 * _ROW * len(lines)) as figure:
        axes = figure.add_subplot()
        for y, line in enumerate(lines):
            shares = [line.elsewhere, line.there]
            axes.plot(shares, [y, y], color=LINE, linewidth=2, zorder=1)
        dot(axes, [line.elsewhere for line in lines], "elsewhere", MUTED, hollow=True)
        dot(axes, [line.there for line in lines], "there", ACCENT)
        list_names(axes, [line.column for line in lines])
        labels = [f"{cut(line.column)}\nwhere {cut(line.where, 40)}" for line in lines]
        axes.set_yticklabels(labels, fontsize=8)
        set_share_axis(axes, "share missing")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, title)
