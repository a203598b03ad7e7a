"""A comparison of methods as a page: tables and drawings for ``compare.html``."""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet._text import list_names as quote_names
from lacunet._text import shorten, show_error, show_p, show_score, show_seconds
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
    finish_lines,
    to_svg,
)
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.evaluation import Against, Comparison, MethodResult, Metric

_DASH, _MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
# Methods that impute, with lacunet's network behind.
_IMPUTED = ("mean", "mean+indicator", "knn", "mice", "gmm")
# Where a finding is shown in detail.
_SECTIONS = {
    "best": "Scores",
    "ours": "Differences",
    "metrics": "Scores",
    "time": "Time",
    "missing": "Missing at prediction",
}
_LONG = 3  # time is drawn if a method takes this many times as long as another
_ROW = 0.3  # inches of a line of a drawing


def write_comparison(
    comparison: "Comparison",
    path: str | PathLike[str],
    *,
    title: str = "Methods compared",
    force: bool = False,
) -> Path:
    """Write a comparison of methods as an HTML page.

    It is one file that needs no other and no network: which method is best and whether
    that is significant, all scores with their standard errors, folds as drawings, time,
    scores without a column, and the protocol. The same comparison gives the same file.
    It is written whole or not at all.

    Parameters
    ----------
    comparison : Comparison
        What :func:`lacunet.evaluation.compare_methods` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="Methods compared"
        The heading of the page.
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
    >>> from lacunet.evaluation import compare_methods
    >>> from lacunet.report import write_comparison
    >>> X = pd.DataFrame({"age": [40, None, 50] * 20})
    >>> found = compare_methods(
    ...     X, [1, 0, 1] * 20, task="classification", methods=["hgb"], n_folds=2
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_comparison(found, Path(folder) / "comparison.html")
    ...     "HistGradientBoosting has the lowest log-loss" in path.read_text("utf-8")
    True
    """
    return write_page(
        path, "compare.html", lambda: _make_context(comparison, title), force=force
    )


def _make_context(comparison: "Comparison", title: str) -> dict[str, Any]:
    first, *others = comparison.metrics
    tested = [each for each in comparison.metrics if comparison.tests_of(each)]
    seconds = [m.seconds for m, _ in comparison.completed(first) if m.seconds]
    sections = {
        "Scores": True,
        "Differences": first in tested,
        "Time": len(seconds) > 2 and max(seconds) > _LONG * min(seconds),
        "Missing at prediction": bool(comparison.drop_at_test),
        "Protocol": True,
    }
    hidden = comparison.drop_at_test
    return {
        "title": title,
        "comparison": comparison,
        "sections": [name for name, shown in sections.items() if shown],
        "findings": [
            {"head": each.head, "text": each.text, "section": name * sections[name]}
            for each in comparison.findings
            for name in [_SECTIONS[each.about]]
        ],
        "metric": first.title,
        "metric_title": _with_direction(first),
        "others": [metric.title for metric in others],
        "class_names": quote_names(comparison.classes),
        "versions": [f"{name} {each}" for name, each in comparison.versions.items()],
        "tested": bool(comparison.tests),
        "scores": _scores_rows(comparison),
        "fold_names": [
            (f"repeat {repeat}, " if comparison.n_repeats > 1 else "") + f"fold {fold}"
            for repeat in range(1, comparison.n_repeats + 1)
            for fold in range(1, comparison.n_folds + 1)
        ],
        "folds": {
            metric.heading: _folds_rows(comparison, metric)
            for metric in comparison.metrics
        },
        "folds_drawings": [
            {"title": _with_direction(metric), "svg": _draw_folds(comparison, metric)}
            for metric in comparison.metrics
            if comparison.ordered(metric)
        ],
        "tests": {each.heading: _tests_rows(comparison, each) for each in tested},
        "gains_drawings": [
            {"title": f"By {metric.title}", "svg": _draw_gains(comparison, metric)}
            for metric in tested
        ],
        "time_drawing": _draw_time(comparison) if sections["Time"] else "",
        "missing": [
            (
                metric.heading,
                [
                    (shorten(each), _missing_rows(comparison, metric, each))
                    for each in hidden
                ],
            )
            for metric in comparison.metrics
        ],
        "missing_drawings": [
            {
                "title": f"Without {column}",
                "svg": _draw_losses(comparison, column, f"missing-{place}"),
            }
            for place, column in enumerate(hidden)
            if comparison.ordered(first, column)
        ],
        "failures": [
            [method.title, str(each.fold + 1), shorten(each.without or ""), each.why]
            for method in comparison.methods
            for each in method.failures
        ],
        "warnings": [
            [method.title, text]
            for method in comparison.methods
            for text in method.warnings
        ],
        "imputed": [each.title for each in comparison.methods if each.key in _IMPUTED],
    }


def _with_direction(metric: "Metric") -> str:
    better = "higher" if metric.higher_is_better else "lower"
    return f"{metric.heading} ({better} is better)"


# --- tables


def _scores_rows(comparison: "Comparison") -> list[dict[str, Any]]:
    first = comparison.metrics[0]
    tests = {test.rival: test for test in comparison.tests_of(first)}
    rows = []
    for method in _by_rank(comparison, first):
        rank = method.scores[first.key].rank
        cells = [
            method.title,
            *(_score_cell(comparison, method, each) for each in comparison.metrics),
            _DASH if rank is None else f"{rank:.1f}",
            _DASH if method.seconds is None else show_seconds(method.seconds),
        ]
        if tests:
            form = comparison.score_format(first)
            cells += _gain_cells(tests.get(method.key), form)
        rows.append({"cells": cells, "accent": method is comparison.ours})
    constant = ["constant prediction"]
    for metric in comparison.metrics:
        mean = comparison.trivial[metric.key].mean
        constant.append(show_score(mean, comparison.score_format(metric)))
    rows.append({"cells": constant + [""] * (4 if tests else 2)})
    return rows


def _folds_rows(comparison: "Comparison", metric: "Metric") -> list[dict[str, Any]]:
    form = comparison.score_format(metric)
    rows = []
    for method in comparison.methods:
        scores = [show_score(x, form) for x in method.scores[metric.key].by_fold]
        cells = [method.title, *scores]
        rows.append({"cells": cells, "accent": method is comparison.ours})
    return rows


def _tests_rows(comparison: "Comparison", metric: "Metric") -> list[list[Any]]:
    tests = {test.rival: test for test in comparison.tests_of(metric)}
    rows = []
    for method in comparison.methods:
        if method is comparison.ours:
            continue
        test = tests.get(method.key)
        gain, p_holm = _gain_cells(test, comparison.score_format(metric))
        p_value = _DASH if test is None else _bare_p(test.p)
        rows.append([method.title, gain, p_value, p_holm])
    return rows


def _missing_rows(
    comparison: "Comparison", metric: "Metric", column: str
) -> list[dict[str, Any]]:
    form = comparison.score_format(metric, column)
    tests = {test.rival: test for test in comparison.tests_of(metric, column)}
    rows = []
    for method in _by_rank(comparison, metric, column):
        whole = method.scores[metric.key].mean
        without = method.without[column][metric.key].mean
        change: Any = _DASH
        if whole is not None and without is not None:
            difference = without - whole
            better = difference > 0 if metric.higher_is_better else difference < 0
            tone = ("better" if better else "worse") if difference else ""
            change = {"text": _show_signed(difference, form), "tone": tone}
        cells = [
            method.title,
            _score_cell(comparison, method, metric),
            _score_cell(comparison, method, metric, column),
            change,
        ]
        if comparison.tests:
            cells += _gain_cells(tests.get(method.key), form)
        rows.append({"cells": cells, "accent": method is comparison.ours})
    return rows


def _by_rank(
    comparison: "Comparison", metric: "Metric", without: str | None = None
) -> list["MethodResult"]:
    """Return all methods, those without a score last."""
    ordered = [method for method, _ in comparison.ordered(metric, without)]
    return ordered + [each for each in comparison.methods if each not in ordered]


def _score_cell(
    comparison: "Comparison",
    method: "MethodResult",
    metric: "Metric",
    without: str | None = None,
) -> Any:
    """Return a mean with its standard error; bold if best, * if folds are missing."""
    summary = method.at(without)[metric.key]
    if summary.mean is None:
        return f"{_DASH}*" if method.failures else _DASH
    form = comparison.score_format(metric, without)
    best = comparison.ordered(metric, without)[0][1].mean
    assert best is not None
    ties = math.isclose(summary.mean, best, rel_tol=1e-12)
    return {
        "text": show_score(summary.mean, form) + ("" if summary.complete else "*"),
        "error": show_error(summary.stderr, form),
        "strong": summary.complete and ties,
    }


def _gain_cells(test: "Against | None", form: str) -> tuple[Any, Any]:
    """Return how much better lacunet is than a method, and the corrected p-value."""
    if test is None:
        return _DASH, _DASH
    tone = ("better" if test.gain > 0 else "worse") if test.different else ""
    return {"text": _show_signed(test.gain, form), "tone": tone}, _bare_p(test.p_holm)


def _show_signed(difference: float, form: str) -> str:
    shown = f"{difference:+{form}}"
    return "±0" if float(shown.replace(",", "")) == 0 else shown.replace("-", _MINUS)


def _bare_p(p: float) -> str:
    return show_p(p).removeprefix("p ").removeprefix("= ")


# --- drawings


def _draw_folds(comparison: "Comparison", metric: "Metric") -> str:
    """Draw a score of all methods: folds as faint dots, means with standard errors."""
    ordered = comparison.ordered(metric)
    with drawing(WIDTH, 0.6 + _ROW * len(ordered)) as figure:
        axes = figure.add_subplot()
        for y, (method, summary) in enumerate(ordered):
            colour = _colour_of(comparison, method)
            _draw_faint(axes, summary.by_fold, y, colour)
            axes.errorbar(
                summary.mean,
                y,
                xerr=summary.stderr or 0.0,
                fmt="o",
                color=colour,
                markersize=6,
                elinewidth=2,
                zorder=3,
            )
        trivial = comparison.trivial[metric.key].mean
        low, high = axes.get_xlim()
        room = 0.6 * (high - low)
        if trivial is not None and low - room <= trivial <= high + room:
            axes.axvline(trivial, color=MUTED, linewidth=1, linestyle=":", zorder=1)
            _write_above(axes, "constant prediction", trivial, 0, "center")
        finish_lines(axes, [method.title for method, _ in ordered], metric.title)
        title = f"{metric.title} of each method, fold by fold"
        return to_svg(figure, f"folds-{metric.key}", title)


def _draw_gains(comparison: "Comparison", metric: "Metric") -> str:
    """Draw how much better lacunet is than each method, fold by fold."""
    assert comparison.ours is not None
    methods = {method.key: method for method in comparison.methods}
    ours = comparison.ours.scores[metric.key].by_fold
    sign = 1 if metric.higher_is_better else -1
    tests = sorted(comparison.tests_of(metric), key=lambda test: test.gain)
    with drawing(WIDTH, 0.85 + _ROW * len(tests)) as figure:
        axes = figure.add_subplot()
        axes.axvline(0, color=MUTED, linewidth=1.2)
        for y, test in enumerate(tests):
            theirs = methods[test.rival].scores[metric.key].by_fold
            gains = [
                None if a is None or b is None else sign * (a - b)
                for a, b in zip(ours, theirs, strict=True)
            ]
            colour = MUTED
            if test.different:
                colour = THIRD if test.gain > 0 else SECOND
            _draw_faint(axes, gains, y, colour)
            axes.plot([test.low, test.high], [y, y], color=colour, linewidth=2)
            face = colour if test.different else PAPER
            axes.plot(test.gain, y, "o", color=colour, mfc=face, markersize=6.5)
        # Both sides have some room, however one-sided the differences are.
        low, high = axes.get_xlim()
        far = max(abs(low), abs(high))
        axes.set_xlim(min(low, -0.25 * far), max(high, 0.25 * far))
        _write_above(axes, "other method better", 0, -6, "right")
        _write_above(axes, "lacunet better", 0, 6, "left")
        titles = [methods[test.rival].title for test in tests]
        finish_lines(axes, titles, f"difference in {metric.title}")
        title = f"lacunet against each method by {metric.title}"
        return to_svg(figure, f"gains-{metric.key}", title)


def _draw_losses(comparison: "Comparison", column: str, name: str) -> str:
    """Draw the first score of each method with all columns, and without one."""
    metric = comparison.metrics[0]
    ordered = comparison.ordered(metric, column)
    with drawing(WIDTH, 0.85 + _ROW * len(ordered)) as figure:
        axes = figure.add_subplot()
        for y, (method, summary) in enumerate(ordered):
            colour = _colour_of(comparison, method)
            whole = method.scores[metric.key].mean
            if whole is not None:
                ends = [whole, summary.mean]
                axes.plot(ends, [y, y], color=LINE, linewidth=3, zorder=1)
                axes.plot(whole, y, "o", color=colour, mfc=PAPER, markersize=6)
            axes.plot(summary.mean, y, "o", color=colour, markersize=7)
        finish_lines(axes, [method.title for method, _ in ordered], metric.title)
        shown = cut(column)
        for label, face in (("all columns", PAPER), (f"without {shown}", MUTED)):
            axes.plot([], [], "o", color=MUTED, mfc=face, label=label)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        title = f"{metric.title} with all columns and without {shown}"
        return to_svg(figure, name, title)


def _draw_time(comparison: "Comparison") -> str:
    """Draw scores against time, and the methods that no other beats in both."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    metric = comparison.metrics[0]
    points = [
        (method, score.value)
        for method, score in comparison.completed(metric)
        if method.seconds
    ]
    front = find_front(
        [(method.seconds or 0.0, mean) for method, mean in points],
        higher_is_better=metric.higher_is_better,
    )
    with drawing(WIDTH, 3.4) as figure:
        axes = figure.add_subplot()
        step = {"linewidth": 3, "drawstyle": "steps-post", "zorder": 1}
        axes.plot(*zip(*front, strict=True), color=LINE, **step)
        for method, mean in points:
            colour = _colour_of(comparison, method)
            face = colour if (method.seconds, mean) in front else PAPER
            axes.plot(method.seconds, mean, "o", color=colour, mfc=face, markersize=7)
        axes.set_xscale("log")
        axes.margins(x=0.15, y=0.15)
        if not metric.higher_is_better:
            axes.invert_yaxis()
        axes.set_xlabel("seconds to fit and predict")
        axes.set_ylabel(metric.title)
        low, high = axes.get_xlim()
        steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        _label_points(
            figure,
            axes,
            [
                (method.title, (method.seconds, mean), _colour_of(comparison, method))
                for method, mean in points
            ],
        )
        return to_svg(figure, "time", f"{metric.title} against time")


def find_front(
    points: Sequence[tuple[float, float]], *, higher_is_better: bool
) -> list[tuple[float, float]]:
    """Return the pairs of time and score that no other beats in both, fastest first.

    Examples
    --------
    >>> find_front([(1, 5), (2, 4)], higher_is_better=True)
    [(1, 5)]
    >>> find_front([(1, 5), (2, 4)], higher_is_better=False)
    [(1, 5), (2, 4)]
    """
    sign = 1 if higher_is_better else -1
    front: list[tuple[float, float]] = []
    for seconds, mean in sorted(points, key=lambda each: (each[0], -sign * each[1])):
        if not front or sign * mean > sign * front[-1][1]:
            front.append((seconds, mean))
    return front


# Where a label may stand from its dot, in points; a line leads to the far ones.
_OFFSETS = (
    *((7, 0), (-7, 0), (0, 11), (0, -11), (7, 8), (7, -8), (-7, 8), (-7, -8)),
    *((14, 20), (14, -20), (-14, 20), (-14, -20)),
    *((14, 34), (14, -34), (-14, 34), (-14, -34)),
)


def _label_points(
    figure: Any, axes: Any, points: Sequence[tuple[str, tuple[Any, float], str]]
) -> None:
    """Write a label near each dot, where it covers least."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # before that nothing has a place
    frame, pixels = axes.get_window_extent(), figure.dpi / 72
    dots = axes.transData.transform([place for _, place, _ in points])
    taken = [Bbox.from_bounds(x - 7, y - 7, 14, 14) for x, y in dots]
    for (title, place, colour), (x, y) in zip(points, dots, strict=True):
        above = {"textcoords": "offset points", "va": "center", "fontsize": 8.5}
        label = axes.annotate(cut(title), place, (0, 0), color=colour, **above)
        width, height = label.get_window_extent().size
        choices = []
        for order, (right, up) in enumerate(_OFFSETS):
            shift = width * (1 - np.sign(right)) / 2
            corner = x + right * pixels - shift, y + up * pixels - height / 2
            box = Bbox.from_bounds(*corner, width, height)
            common = [Bbox.intersection(box, other) for other in taken]
            covered = sum(each.width * each.height for each in common if each)
            outside = max(
                *(frame.min - box.min).tolist(), *(box.max - frame.max).tolist(), 0
            )
            choices.append((covered + height * outside, order, box))
        _, order, box = min(choices)
        taken.append(box)
        offset = _OFFSETS[order]
        side = {1: "left", -1: "right", 0: "center"}[int(np.sign(offset[0]))]
        label.set(position=offset, ha=side)
        if abs(offset[1]) > 12:
            line = {"arrowstyle": "-", "color": MUTED, "lw": 0.7}
            axes.annotate("", place, offset, **above, arrowprops=line)


def _colour_of(comparison: "Comparison", method: "MethodResult") -> str:
    return ACCENT if method is comparison.ours else INK


def _draw_faint(axes: Any, values: Sequence[float | None], y: int, colour: str) -> None:
    """Draw the values of single folds as faint dots, slightly apart."""
    known = [each for each in values if each is not None]
    apart = 0.18 if len(known) > 1 else 0.0
    heights = y + np.linspace(-apart, apart, len(known))
    faint = {"alpha": 0.4, "markeredgewidth": 0, "markersize": 4, "zorder": 2}
    axes.plot(known, heights, "o", color=colour, **faint)


def _write_above(axes: Any, text: str, x: float, offset: int, side: str) -> None:
    axes.annotate(
        text,
        (x, 1),
        (offset, 3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha=side,
        fontsize=8,
        color=MUTED,
        annotation_clip=False,
    )
