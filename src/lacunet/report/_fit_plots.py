"""The drawings of a model that was judged on rows held out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lacunet.evaluation._hold_out_record import OURS, TITLES, LearningStep
from lacunet.evaluation._holes_and_error import HoleBin
from lacunet.evaluation._importance import ColumnLoss
from lacunet.evaluation._reliability import Agreement, Reliability
from lacunet.report._drawing import (
    ACCENT,
    INK,
    LINE,
    MUTED,
    PAPER,
    SECOND,
    WIDTH,
    cut,
    drawing,
    list_names,
    name_across,
    strip,
    to_svg,
    write_beside,
)

_ROW = 0.235  # inches of a line with a name
_ASIDE = 0.09  # between the marks of two models, in bins


def _style(name: str) -> dict[str, Any]:
    """Return how the dots of a model look: ours full and blue, others hollow."""
    colour = ACCENT if name == OURS else SECOND
    face = colour if name == OURS else PAPER
    label = TITLES[name]
    return {"color": colour, "mfc": face, "mec": colour, "label": label, "ms": 5.5}


def draw_reliability(
    name: str, curves: Mapping[str, Reliability], *, start: float, title: str
) -> str:
    """Draw probabilities beside how often it happened.

    Parameters
    ----------
    name : str
    curves : mapping of str to Reliability
        By model.
    start : float
        The least probability that may be.
    title : str
        What happens, along the axis.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 4.2) as figure:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], ":", color=MUTED, linewidth=1.2, zorder=1)
        for model, curve in curves.items():
            x = [each.predicted for each in curve.bins]
            y = [each.observed for each in curve.bins]
            if model == OURS:
                low, high = zip(*((b.low, b.high) for b in curve.bins), strict=True)
                axes.vlines(x, low, high, color=ACCENT, linewidth=1.2, alpha=0.45)
            width = 1.8 if model == OURS else 1.1
            axes.plot(x, y, "o-", linewidth=width, zorder=3, **_style(model))
        axes.set_xlim(start - 0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        _label_shares(axes)
        axes.set_xlabel("probability that is said")
        axes.set_ylabel(title)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, "Probabilities beside how often it happened")


def _label_shares(axes: Any) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda share, _: f"{share:.0%}")


def draw_agreement(name: str, curves: Mapping[str, Agreement], target: str) -> str:
    """Draw what was observed where about the same was predicted.

    Parameters
    ----------
    name : str
    curves : mapping of str to Agreement
        By model.
    target : str

    Returns
    -------
    str
    """
    with drawing(WIDTH, 4.2) as figure:
        axes = figure.add_subplot()
        for model, curve in curves.items():
            x = [each.predicted for each in curve.bins]
            y = [each.observed for each in curve.bins]
            if model == OURS:
                low, first, _, third, high = np.array(
                    [each.quantiles for each in curve.bins]
                ).T
                axes.vlines(x, low, high, color=ACCENT, linewidth=1.1, alpha=0.6)
                axes.vlines(x, first, third, color=ACCENT, linewidth=5, alpha=0.35)
            line = {"linewidth": 1.8 if model == OURS else 1.1, "zorder": 3}
            axes.plot(x, y, "o-", **line, **_style(model))
        ends = [each.predicted for curve in curves.values() for each in curve.bins]
        axes.axline(
            (min(ends), min(ends)),
            slope=1,
            color=MUTED,
            linewidth=1.2,
            linestyle=":",
            zorder=1,
        )
        axes.set_xlabel("predicted")
        axes.set_ylabel(f"observed: {cut(target, 30)}")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, "Observed values beside predicted ones")


def draw_residuals(name: str, curves: Mapping[str, Agreement]) -> str:
    """Draw how far off predictions are.

    Parameters
    ----------
    name : str
    curves : mapping of str to Agreement
        By model.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 0.9 + 0.42 * len(curves)) as figure:
        axes = figure.add_subplot()
        for y, (model, curve) in enumerate(curves.items()):
            low, first, middle, third, high = curve.residuals
            colour = _style(model)["color"]
            axes.hlines(y, low, high, color=colour, linewidth=1.2)
            axes.hlines(y, first, third, color=colour, linewidth=9, alpha=0.45)
            axes.plot(middle, y, "|", color=INK, ms=11, mew=1.8)
        axes.axvline(0, color=MUTED, linewidth=1.2, linestyle=":", zorder=1)
        list_names(axes, [TITLES[model] for model in curves])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("observed less predicted")
        return to_svg(figure, name, "How far off predictions are")


def draw_columns(
    name: str,
    columns: Sequence[ColumnLoss],
    show: Callable[[float], str],
    title: str,
) -> str:
    """Draw what is lost without each column.

    Parameters
    ----------
    name : str
    columns : sequence of ColumnLoss
        In the order from top to bottom.
    show : callable
        How numbers are written.
    title : str
        Along the axis.

    Returns
    -------
    str
    """
    values = np.array([each.lost.value for each in columns])
    spans = 2 * np.array([each.lost.error or 0.0 for each in columns])
    with drawing(WIDTH, 0.6 + _ROW * len(columns)) as figure:
        axes = figure.add_subplot()
        colours = [_colour_of(each) for each in columns]
        places = range(len(columns))
        axes.barh(places, values, color=colours, height=0.7)
        axes.hlines(places, values - spans, values + spans, color=INK, linewidth=1)
        for place, each in enumerate(columns):
            end = max(0.0, values[place] + spans[place])
            write_beside(axes, show(each.lost.value), end, place)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        list_names(axes, [each.name for each in columns])
        low, high = (values - spans).min(), (values + spans).max()
        room = (high - low) or 1.0
        axes.set_xlim(min(low, 0) - 0.02 * room, max(high, 0) + 0.16 * room)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(title)
        return to_svg(figure, name, "What is lost without each column")


def _colour_of(column: ColumnLoss) -> str:
    if not column.lost.is_sure:
        return LINE
    return ACCENT if column.lost.value > 0 else SECOND


def draw_learning(name: str, steps: Sequence[LearningStep]) -> str:
    """Draw losses in the course of training.

    Parameters
    ----------
    name : str
    steps : sequence of LearningStep

    Returns
    -------
    str
    """
    epochs = [each.epoch for each in steps]
    best = [each for each in steps if each.best]
    marker = "o" if len(steps) == 1 else ""
    with drawing(WIDTH, 3.9) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        losses = [each.valid_loss for each in steps]
        upper.plot(epochs, losses, color=ACCENT, marker=marker)
        places = [each.epoch for each in best], [each.valid_loss for each in best]
        upper.plot(*places, "o", color=ACCENT, ms=4)
        upper.set_title("rows that networks hold back", loc="left", fontsize=9)
        losses = [each.train_loss for each in steps]
        lower.plot(epochs, losses, color=MUTED, marker=marker)
        lower.set_title("rows that they learn from", loc="left", fontsize=9)
        for axes in (upper, lower):
            axes.set_ylabel("loss")
            axes.locator_params(axis="y", nbins=5)
        lower.set_xlabel("epoch")
        lower.locator_params(axis="x", integer=True)
        return to_svg(figure, name, "Losses in the course of training")


def draw_holes(name: str, bins: Sequence[HoleBin], title: str) -> str:
    """Draw the loss of rows with ever more missing values.

    Parameters
    ----------
    name : str
    bins : sequence of HoleBin
    title : str
        Of the loss.

    Returns
    -------
    str
    """
    with drawing(WIDTH, 3.3) as figure:
        axes = figure.add_subplot()
        models = list(bins[0].losses)
        for number, model in enumerate(models):
            aside = _ASIDE * (2 * number - len(models) + 1)
            places = np.arange(len(bins)) + aside
            values = np.array([each.losses[model].value for each in bins])
            spans = np.array([each.losses[model].error or 0.0 for each in bins])
            style = _style(model)
            axes.vlines(places, values - spans, values + spans, color=style["color"])
            axes.plot(places, values, "o", zorder=3, **style)
            axes.plot(places, values, color=style["color"], linewidth=1, alpha=0.5)
        labels = [f"{_range_of(each)}\n{each.n_rows:,} rows" for each in bins]
        axes.set_xticks(range(len(bins)), labels, fontsize=8.5)
        axes.set_xlim(-0.5, len(bins) - 0.5)
        axes.set_ylim(0)
        axes.grid(axis="x", visible=False)
        axes.set_xlabel("missing values in a row")
        axes.set_ylabel(title)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return to_svg(figure, name, f"{title} by the number of missing values")


def _range_of(each: HoleBin) -> str:
    if each.fewest == each.most:
        return str(each.most)
    return f"{each.fewest}\N{EN DASH}{each.most}"


def draw_confusion(
    name: str, classes: Sequence[str], counts: Sequence[Sequence[int]]
) -> str:
    """Draw how many rows of each class were taken for which.

    Parameters
    ----------
    name : str
    classes : sequence of str
    counts : sequence of sequences of int
        True classes down, chosen ones across.

    Returns
    -------
    str
    """
    from matplotlib.patches import Rectangle

    size = len(classes)
    side = 0.62 if size <= 6 else 0.36
    letters = 9 if size <= 6 else 7
    with drawing(2.4 + side * size, 1.0 + side * size) as figure:
        axes = figure.add_subplot()
        for y, row in enumerate(counts):
            for x, number in enumerate(row):
                share = number / max(sum(row), 1)
                square = Rectangle(
                    (x - 0.47, y - 0.47),
                    0.94,
                    0.94,
                    facecolor=ACCENT if x == y else SECOND,
                    edgecolor="none",
                    alpha=0.06 + 0.94 * share,
                )
                axes.add_patch(square)
                colour = PAPER if share > 0.5 else INK if number else MUTED
                centred = {"ha": "center", "va": "center", "fontsize": letters}
                axes.text(x, y, f"{number:,}", color=colour, **centred)
        name_across(axes, classes)
        if max(map(len, classes)) <= 6 and size <= 6:
            axes.tick_params(axis="x", rotation=0)
        list_names(axes, classes)
        axes.set_ylabel("class in truth")
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("class that was chosen", labelpad=7)
        axes.set_xlim(-0.6, size - 0.4)
        strip(axes)
        axes.set_aspect("equal", anchor="NW")
        return to_svg(figure, name, "Classes in truth and classes chosen")
