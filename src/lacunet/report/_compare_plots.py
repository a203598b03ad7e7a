"""The drawings of a comparison."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lacunet.report._drawing import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    PAPER,
    SECOND,
    THIRD,
    WIDTH,
    cut,
    drawing,
    list_names,
    to_svg,
)

_ROW = 0.3  # inches of a line with folds
_LABEL = 10.5  # points of a label's height
_LETTER = 5.2  # points of a letter's width
# Where a name may stand from its dot, in points, and from where on a line leads to it.
_OFFSETS = (
    *((7.0, 0.0), (-7.0, 0.0), (0.0, 11.0), (0.0, -11.0)),
    *((7.0, 8.0), (7.0, -8.0), (-7.0, 8.0), (-7.0, -8.0)),
    *((14.0, 20.0), (14.0, -20.0), (-14.0, 20.0), (-14.0, -20.0)),
    *((14.0, 34.0), (14.0, -34.0), (-14.0, 34.0), (-14.0, -34.0)),
)
_NEAR = 12.0


class Box(NamedTuple):
    """A place that is taken, in points."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: "Box") -> float:
        """Return the area that is in both."""
        across = min(self.right, other.right) - max(self.left, other.left)
        up = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(across, 0.0) * max(up, 0.0)


class FoldsLine(NamedTuple):
    """A method: its folds, their mean and its standard error.

    Attributes
    ----------
    title : str
    values : sequence of float
    mean : float
    stderr : float
    accent : bool
    """

    title: str
    values: Sequence[float]
    mean: float
    stderr: float
    accent: bool


class GainLine(NamedTuple):
    """A rival: how much better ours is on each fold, and where the mean may be.

    Attributes
    ----------
    title : str
    values : sequence of float
    mean, low, high : float
    different : bool
        Whether it is more than chance.
    """

    title: str
    values: Sequence[float]
    mean: float
    low: float
    high: float
    different: bool


class TimePoint(NamedTuple):
    """A method: what it takes and what it gives."""

    title: str
    seconds: float
    value: float
    accent: bool


class LossLine(NamedTuple):
    """A method with all columns and without one; the first may be missing."""

    title: str
    whole: float | None
    without: float
    accent: bool


def draw_folds(
    name: str, lines: Sequence[FoldsLine], metric: str, trivial: float | None
) -> str:
    """Draw a score of all methods: folds as points, means with standard errors.

    Parameters
    ----------
    name : str
    lines : sequence of FoldsLine
        From top to bottom.
    metric : str
        Title of the score.
    trivial : float or None
        A line at what is known without any column, if that is near the others.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.6 + _ROW * len(lines)) as figure:
        axes = figure.add_subplot()
        for y, line in enumerate(lines):
            colour = ACCENT if line.accent else INK
            _scatter(axes, line.values, y, colour)
            axes.errorbar(
                line.mean,
                y,
                xerr=line.stderr,
                fmt="o",
                color=colour,
                markersize=6,
                elinewidth=2,
                zorder=3,
            )
        list_names(axes, [line.title for line in lines])
        if trivial is not None and _is_near(trivial, axes.get_xlim()):
            _mark(axes, trivial, "no columns")
        _strip_lines(axes)
        axes.set_xlabel(metric)
        return to_svg(figure, name, f"{metric} of each method, fold by fold")


def draw_gains(name: str, lines: Sequence[GainLine], metric: str, ours: str) -> str:
    """Draw how much better our method is than each rival, fold by fold.

    Parameters
    ----------
    name : str
    lines : sequence of GainLine
        From top to bottom.
    metric, ours : str
        Titles.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.85 + _ROW * len(lines)) as figure:
        axes = figure.add_subplot()
        axes.axvline(0, color=MUTED, linewidth=1.2)
        for y, line in enumerate(lines):
            colour = _tone(line)
            _scatter(axes, line.values, y, colour)
            axes.plot([line.low, line.high], [y, y], color=colour, linewidth=2)
            face = colour if line.different else PAPER
            axes.plot(line.mean, y, "o", color=colour, mfc=face, markersize=6.5)
        list_names(axes, [line.title for line in lines])
        _name_sides(axes, ours)
        _strip_lines(axes)
        axes.set_xlabel(f"difference in {metric}")
        return to_svg(figure, name, f"{ours} against each rival by {metric}")


def draw_time(
    name: str, points: Sequence[TimePoint], metric: str, *, higher_is_better: bool
) -> str:
    """Draw scores against time, and the methods that no other beats in both.

    Parameters
    ----------
    name : str
    points : sequence of TimePoint
    metric : str
    higher_is_better : bool

    Returns
    -------
    str
    """
    with drawing(WIDTH, 3.4) as figure:
        axes = figure.add_subplot()
        front = find_front(points, higher_is_better=higher_is_better)
        axes.plot(
            [point.seconds for point in front],
            [point.value for point in front],
            color=LINE,
            linewidth=3,
            drawstyle="steps-post",
            zorder=1,
        )
        for point in points:
            colour = ACCENT if point.accent else INK
            face = colour if point in front else PAPER
            axes.plot(point.seconds, point.value, "o", color=colour, mfc=face, ms=7)
        axes.set_xscale("log")
        axes.margins(x=0.15, y=0.15)
        if not higher_is_better:
            axes.invert_yaxis()
        axes.set_xlabel("seconds to fit and predict")
        axes.set_ylabel(metric)
        _write_names(figure, axes, points)
        _plain_seconds(axes)
        return to_svg(figure, name, f"{metric} against time")


def find_front(
    points: Sequence[TimePoint], *, higher_is_better: bool
) -> list[TimePoint]:
    """Return the methods that no other beats in both score and time.

    Parameters
    ----------
    points : sequence of TimePoint
    higher_is_better : bool

    Returns
    -------
    list of TimePoint
        The fastest first.

    Examples
    --------
    >>> from lacunet.report._compare_plots import TimePoint, find_front
    >>> points = [TimePoint(*each, False) for each in (("a", 1, 5), ("b", 2, 4))]
    >>> [point.title for point in find_front(points, higher_is_better=True)]
    ['a']
    >>> [point.title for point in find_front(points, higher_is_better=False)]
    ['a', 'b']
    """
    sign = 1 if higher_is_better else -1
    front: list[TimePoint] = []
    for point in sorted(points, key=lambda each: (each.seconds, -sign * each.value)):
        if not front or sign * point.value > sign * front[-1].value:
            front.append(point)
    return front


def draw_losses(name: str, lines: Sequence[LossLine], metric: str, column: str) -> str:
    """Draw the score of each method with all columns, and without one.

    Parameters
    ----------
    name : str
    lines : sequence of LossLine
        From top to bottom.
    metric, column : str

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.85 + _ROW * len(lines)) as figure:
        axes = figure.add_subplot()
        for y, line in enumerate(lines):
            colour = ACCENT if line.accent else INK
            if line.whole is not None:
                ends = [line.whole, line.without]
                axes.plot(ends, [y, y], color=LINE, linewidth=3, zorder=1)
                axes.plot(line.whole, y, "o", color=colour, mfc=PAPER, markersize=6)
            axes.plot(line.without, y, "o", color=colour, markersize=7)
        list_names(axes, [line.title for line in lines])
        _strip_lines(axes)
        axes.set_xlabel(metric)
        shown = cut(column)
        for label, face in (("all columns", PAPER), (f"without {shown}", MUTED)):
            axes.plot([], [], "o", color=MUTED, mfc=face, label=label)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, f"{metric} with all columns and without {shown}")


# --- axes


def _scatter(axes: Any, values: Sequence[float], y: int, colour: str) -> None:
    """Draw folds as faint points, spread a little."""
    spread = 0.18 * np.linspace(-1, 1, len(values)) if len(values) > 1 else [0.0]
    heights = [y + each for each in spread]
    faint = {"alpha": 0.4, "markeredgewidth": 0}
    axes.plot(values, heights, "o", color=colour, markersize=4, zorder=2, **faint)


def _tone(line: GainLine) -> str:
    if not line.different:
        return MUTED
    return THIRD if line.mean > 0 else SECOND


def _is_near(value: float, limits: tuple[float, float]) -> bool:
    """Tell whether a line at a value would leave the others their room."""
    low, high = limits
    room = 0.6 * (high - low)
    return low - room <= value <= high + room


def _mark(axes: Any, value: float, label: str) -> None:
    axes.axvline(value, color=MUTED, linewidth=1, linestyle=":", zorder=1)
    top = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    axes.annotate(
        label,
        (value, 1),
        xytext=(0, 2),
        ha="center",
        fontsize=8,
        color=MUTED,
        annotation_clip=False,
        **top,
    )


def _name_sides(axes: Any, ours: str) -> None:
    """Say above the drawing which side is whose."""
    low, high = axes.get_xlim()
    far = max(abs(low), abs(high))
    # Both sides have some room, however one-sided the differences are.
    axes.set_xlim(min(low, -0.25 * far), max(high, 0.25 * far))
    at = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    for text, offset, align in (
        ("rival better", -6, "right"),
        (f"{ours} better", 6, "left"),
    ):
        axes.annotate(
            text, (0, 1), xytext=(offset, 3), ha=align, fontsize=8, color=MUTED, **at
        )


def _strip_lines(axes: Any) -> None:
    axes.locator_params(axis="x", nbins=6)  # numbers of many digits need room
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)


def _write_names(figure: Any, axes: Any, points: Sequence[TimePoint]) -> None:
    """Write each name near its dot, where nothing else is if that can be."""
    figure.draw_without_rendering()  # before that nothing has a place
    scale = 72 / figure.dpi
    pairs = [(point.seconds, point.value) for point in points]
    dots = axes.transData.transform(pairs) * scale
    corners = axes.get_window_extent().get_points() * scale
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
    for point, pair, place in zip(points, pairs, dots, strict=True):
        title = cut(point.title)
        offset, box = _choose_place(place, _LETTER * len(title), taken, corners)
        taken.append(box)
        far = max(map(abs, offset)) > _NEAR
        axes.annotate(
            title,
            pair,
            xytext=offset,
            textcoords="offset points",
            ha="left" if offset[0] > 0 else "right" if offset[0] < 0 else "center",
            va="center",
            fontsize=8.5,
            color=ACCENT if point.accent else INK,
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.7} if far else None,
        )


def _choose_place(
    dot: np.ndarray, width: float, taken: Sequence[Box], corners: np.ndarray
) -> tuple[tuple[float, float], Box]:
    """Return where a name covers least: its offset from the dot, and its box."""
    (low_x, low_y), (high_x, high_y) = corners
    found = []
    for order, (dx, dy) in enumerate(_OFFSETS):
        shift = 0.0 if dx > 0 else width if dx < 0 else width / 2
        x, y = dot[0] + dx - shift, dot[1] + dy - _LABEL / 2
        box = Box(x, y, x + width, y + _LABEL)
        covered = sum(box.overlap(other) for other in taken)
        outside = max(low_x - x, box.right - high_x, low_y - y, box.top - high_y, 0)
        found.append((covered + _LABEL * outside, order, (dx, dy), box))
    *_, offset, box = min(found)
    return offset, box


def _plain_seconds(axes: Any) -> None:
    """Write seconds as plain numbers, not as powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_xlim()
    steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
