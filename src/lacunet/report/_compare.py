"""A comparison of methods as a page: tables and drawings for ``compare.html``."""

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacunet._text import list_names as quote_names
from lacunet._text import shorten, show_error, show_p, show_score, show_seconds
from lacunet.report._drawing import (
    ACCENT,
    INK,
    LINE,
    PAPER,
    WIDTH,
    add_tips,
    cut,
    drawing,
    to_svg,
)
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.evaluation import Comparison, MethodResult, Metric

_DASH, _MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
# Methods that impute, with lacunet's network behind.
_IMPUTED = ("mean", "mean+indicator", "knn", "mice", "gmm")
# Where a finding is shown in detail.
_SECTIONS = {
    "best": "Scores",
    "ours": "Scores",
    "metrics": "Scores",
    "time": "Time",
    "missing": "Missing at prediction",
}
_LONG = 3  # time is drawn if a method takes this many times as long as another


def write_comparison(
    comparison: "Comparison",
    path: str | PathLike[str],
    *,
    title: str = "Methods compared",
    force: bool = False,
) -> Path:
    """Write a comparison of methods as an HTML page.

    It is one file that needs no other and no network: which method is best and whether
    that is significant, one ranking with all scores, their standard errors and the
    confidence intervals of differences, time, scores without a column, and the
    protocol. The same comparison gives the same file. It is written whole or not at
    all.

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
    seconds = [m.seconds for m, _ in comparison.completed(first) if m.seconds]
    sections = {
        "Scores": True,
        "Time": len(seconds) > 2 and max(seconds) > _LONG * min(seconds),
        "Missing at prediction": bool(comparison.drop_at_test),
        "Protocol": True,
    }
    return {
        "title": title,
        "comparison": comparison,
        "sections": [name for name, shown in sections.items() if shown],
        "findings": [
            {
                "head": each.head,
                "text": each.text,
                "section": name if sections.get(name) else "",
            }
            for each in comparison.findings
            for name in [_SECTIONS.get(each.about, "")]
        ],
        "metric": first.title,
        "score_titles": [
            f"{each.title} {'↓↑'[each.higher_is_better]}" for each in comparison.metrics
        ],
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
        "tests": {
            metric.heading: _tests_rows(comparison, metric)
            for metric in comparison.metrics
            if comparison.tests_of(metric)
        },
        "time_drawing": _draw_time(comparison) if sections["Time"] else "",
        "missing": [
            (
                metric.heading,
                [
                    (shorten(each), _missing_rows(comparison, metric, each))
                    for each in comparison.drop_at_test
                ],
            )
            for metric in comparison.metrics
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


# --- tables


def _scores_rows(comparison: "Comparison") -> list[dict[str, Any]]:
    first = comparison.metrics[0]
    gains = _gain_cells(comparison, first)
    rows = []
    for method in _by_rank(comparison, first):
        rank = method.scores[first.key].rank
        cells = [
            method.title,
            *(_score_cell(comparison, method, each) for each in comparison.metrics),
            _DASH if rank is None else f"{rank:.1f}",
            _DASH if method.seconds is None else show_seconds(method.seconds),
        ]
        if gains:
            cells += gains.get(method.key, (_DASH, _DASH, _DASH))[::2]
        rows.append({"cells": cells, "accent": method is comparison.ours})
    constant = ["constant prediction"]
    for metric in comparison.metrics:
        mean = comparison.trivial[metric.key].mean
        constant.append(show_score(mean, comparison.score_format(metric)))
    rows.append({"cells": constant + [""] * (4 if gains else 2)})
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
    gains = _gain_cells(comparison, metric)
    return [
        [method.title, *gains.get(method.key, (_DASH, _DASH, _DASH))]
        for method in comparison.methods
        if method is not comparison.ours
    ]


def _missing_rows(
    comparison: "Comparison", metric: "Metric", column: str
) -> list[dict[str, Any]]:
    form = comparison.score_format(metric, column)
    gains = _gain_cells(comparison, metric, column)
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
            cells += gains.get(method.key, (_DASH, _DASH, _DASH))[::2]
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


def _gain_cells(
    comparison: "Comparison", metric: "Metric", without: str | None = None
) -> dict[str, tuple[Any, str, str]]:
    """Return by method how much better lacunet is, p and p corrected for all tests."""
    tests = comparison.tests_of(metric, without)
    form = comparison.score_format(metric, without)
    low = min([0.0, *(test.low for test in tests)])
    room = (max([0.0, *(test.high for test in tests)]) - low) or 1.0
    found = {}
    for test in tests:
        tone = ("better" if test.gain > 0 else "worse") if test.different else ""
        ends = [_show_signed(each, form) for each in (test.low, test.high)]
        drawn = {
            name: round(100 * (value - low) / room, 1)
            for name, value in (
                *(("low", test.low), ("high", test.high)),
                *(("point", test.gain), ("zero", 0.0)),
            )
        }
        tip = f"95% confidence interval: {ends[0]} to {ends[1]}"
        cell = {
            "text": _show_signed(test.gain, form),
            "tone": tone,
            "sort": test.gain,
            "interval": drawn | {"tone": tone, "tip": tip},
        }
        found[test.rival] = (cell, _bare_p(test.p), _bare_p(test.p_holm))
    return found


def _show_signed(difference: float, form: str) -> str:
    shown = f"{difference:+{form}}"
    return "±0" if float(shown.replace(",", "")) == 0 else shown.replace("-", _MINUS)


def _bare_p(p: float) -> str:
    return show_p(p).removeprefix("p ").removeprefix("= ")


# --- time


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
    form = comparison.score_format(metric)
    with drawing(WIDTH, 3.4) as figure:
        axes = figure.add_subplot()
        step = {"linewidth": 3, "drawstyle": "steps-post", "zorder": 1}
        axes.plot(*zip(*front, strict=True), color=LINE, **step)
        for method, mean in points:
            ours, best = method is comparison.ours, (method.seconds, mean) in front
            colour = ACCENT if ours else INK
            style = {"color": colour, "mfc": colour if best else PAPER, "ms": 7}
            (dot,) = axes.plot(method.seconds, mean, "o", **style)
            time = show_seconds(method.seconds or 0.0)
            add_tips(dot, [f"{method.title}: {show_score(mean, form)}, {time}"])
            if ours or best:
                place = {"textcoords": "offset points", "ha": "center", "fontsize": 8.5}
                at = (method.seconds, mean)
                axes.annotate(cut(method.title), at, (0, 9), color=colour, **place)
        axes.set_xscale("log")
        axes.margins(x=0.25, y=0.18)
        if not metric.higher_is_better:
            axes.invert_yaxis()
        axes.set_xlabel("seconds to fit and predict")
        axes.set_ylabel(metric.title)
        low, high = axes.get_xlim()
        steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
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
