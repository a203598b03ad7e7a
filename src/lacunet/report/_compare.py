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
    from lacunet.evaluation import Comparison, Metric

_DASH, _MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
_NOT_TESTED = (_DASH, _DASH, _DASH)
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
    titles = comparison.methods.set_index("key")["title"]
    points = _list_points(comparison)
    seconds = [each.seconds for each in points]
    sections = {
        "Scores": True,
        "Time": len(points) > 2 and max(seconds) > _LONG * min(seconds),
        "Missing at prediction": bool(comparison.drop_at_test),
        "Protocol": True,
    }
    return {
        "title": title,
        "comparison": comparison,
        "sections": [name for name, shown in sections.items() if shown],
        "findings": [
            {"head": each.head, "text": each.text, "section": sections[name] and name}
            for each in comparison.findings
            for name in [_SECTIONS[each.about]]
        ],
        "score_titles": [
            f"{each.title} {'↓↑'[each.higher_is_better]}" for each in comparison.metrics
        ],
        "class_names": quote_names(comparison.classes),
        "tested": bool(comparison.scores["gain"].notna().any()),
        "scores": _scores_rows(comparison),
        "fold_names": [
            (f"repeat {repeat}, " if comparison.n_repeats > 1 else "") + f"fold {fold}"
            for repeat in range(1, comparison.n_repeats + 1)
            for fold in range(1, comparison.n_folds + 1)
        ],
        "folds": {
            metric.heading: [
                _mark(row, [show_score(score, form) for score in row.by_fold])
                for row in comparison.ranking(metric).sort_index().itertuples()
            ]
            for metric in comparison.metrics
            for form in [comparison.score_format(metric)]
        },
        "tests": {
            metric.heading: [
                [name, *gains.get(key, _NOT_TESTED)]
                for key, name in titles.drop("lacunet").items()
            ]
            for metric in comparison.metrics
            if (gains := _gain_cells(comparison, metric))
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
            [titles[e.method], str(e.fold + 1), shorten(e.without or ""), e.why]
            for e in comparison.failures.itertuples()
        ],
        "warnings": [
            [each.title, text]
            for each in comparison.methods.itertuples()
            for text in each.warnings
        ],
        "imputed": [titles[key] for key in titles.index if key in _IMPUTED],
    }


# --- tables


def _scores_rows(comparison: "Comparison") -> list[dict[str, Any]]:
    first = comparison.metrics[0]
    scores = [_score_cells(comparison, metric) for metric in comparison.metrics]
    gains = _gain_cells(comparison, first)
    rows = []
    for row in comparison.ranking(first).itertuples():
        cells = [
            *(each[row.method] for each in scores),
            _DASH if row.rank is None else f"{row.rank:.1f}",
            _DASH if row.seconds is None else show_seconds(row.seconds),
        ]
        if gains:
            cells += gains.get(row.method, _NOT_TESTED)[::2]
        rows.append(_mark(row, cells))
    constant = ["constant prediction"]
    for metric in comparison.metrics:
        mean = comparison.trivial[metric.key]
        constant.append(show_score(mean, comparison.score_format(metric)))
    rows.append({"cells": constant + [""] * (4 if gains else 2)})
    return rows


def _missing_rows(
    comparison: "Comparison", metric: "Metric", column: str
) -> list[dict[str, Any]]:
    form = comparison.score_format(metric, column)
    gains = _gain_cells(comparison, metric, column)
    whole = comparison.ranking(metric).set_index("method")["mean"]
    scores = [_score_cells(comparison, metric, each) for each in (None, column)]
    rows = []
    for row in comparison.ranking(metric, column).itertuples():
        change: Any = _DASH
        if row.mean is not None:  # then it has a score with the column, too
            difference = row.mean - whole[row.method]
            better = (difference > 0) == metric.higher_is_better
            tone = ("better" if better else "worse") if difference else ""
            change = {"text": _show_signed(difference, form), "tone": tone}
        cells = [*(each[row.method] for each in scores), change]
        if comparison.scores["gain"].notna().any():
            cells += gains.get(row.method, _NOT_TESTED)[::2]
        rows.append(_mark(row, cells))
    return rows


def _mark(row: Any, cells: list[Any]) -> dict[str, Any]:
    """Return the cells of a method behind its title; lacunet stands out."""
    return {"cells": [row.title, *cells], "accent": row.method == "lacunet"}


def _score_cells(
    comparison: "Comparison", metric: "Metric", without: str | None = None
) -> dict[str, Any]:
    """Return means and standard errors; bold if best, * if folds are missing."""
    form = comparison.score_format(metric, without)
    ranking = comparison.ranking(metric, without)
    failed = set(comparison.failures["method"])
    best = ranking["mean"].iloc[0]
    found: dict[str, Any] = {}
    for row in ranking.itertuples():
        if row.mean is None:
            found[row.method] = f"{_DASH}*" if row.method in failed else _DASH
        else:
            found[row.method] = {
                "text": show_score(row.mean, form) + ("" if row.complete else "*"),
                "error": show_error(row.stderr, form),
                "strong": row.complete and math.isclose(row.mean, best, rel_tol=1e-12),
            }
    return found


def _gain_cells(
    comparison: "Comparison", metric: "Metric", without: str | None = None
) -> dict[str, tuple[Any, str, str]]:
    """Return by method how much better lacunet is, p and p corrected for all tests."""
    ranking = comparison.ranking(metric, without).sort_index()
    form = comparison.score_format(metric, without)
    low = min([0.0, *ranking["low"].dropna()])
    room = (max([0.0, *ranking["high"].dropna()]) - low) or 1.0
    found = {}
    for test in ranking.dropna(subset="gain").itertuples():
        tone = ("better" if test.gain > 0 else "worse") if test.different else ""
        ends = {"low": test.low, "high": test.high, "point": test.gain, "zero": 0.0}
        drawn = {key: round(100 * (x - low) / room, 1) for key, x in ends.items()}
        shown = [_show_signed(each, form) for each in (test.low, test.high)]
        tip = f"95% confidence interval: {' to '.join(shown)}"
        cell = {
            "text": _show_signed(test.gain, form),
            "tone": tone,
            "sort": test.gain,
            "interval": drawn | {"tone": tone, "tip": tip},
        }
        found[test.method] = (cell, _bare_p(test.p), _bare_p(test.p_holm))
    return found


def _show_signed(difference: float, form: str) -> str:
    shown = f"{difference:+{form}}"
    return "±0" if float(shown.replace(",", "")) == 0 else shown.replace("-", _MINUS)


def _bare_p(p: float) -> str:
    return show_p(p).removeprefix("p ").removeprefix("= ")


# --- time


def _list_points(comparison: "Comparison") -> list[Any]:
    """Return the methods that completed every fold and have a time."""
    rows = comparison.ranking(comparison.metrics[0]).itertuples()
    return [each for each in rows if each.complete and each.seconds]


def _draw_time(comparison: "Comparison") -> str:
    """Draw losses against time, and the methods that no other beats in both."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    metric, points = comparison.metrics[0], _list_points(comparison)
    front = find_front([(each.seconds, each.mean) for each in points])
    form = comparison.score_format(metric)
    with drawing(WIDTH, 3.4) as figure:
        axes = figure.add_subplot()
        step = {"linewidth": 3, "drawstyle": "steps-post", "zorder": 1}
        axes.plot(*zip(*front, strict=True), color=LINE, **step)
        for each in points:
            ours, at = each.method == "lacunet", (each.seconds, each.mean)
            colour = ACCENT if ours else INK
            style = {"color": colour, "mfc": colour if at in front else PAPER, "ms": 7}
            (dot,) = axes.plot(*at, "o", **style)
            score, time = show_score(each.mean, form), show_seconds(each.seconds)
            add_tips(dot, [f"{each.title}: {score}, {time}"])
            if ours or at in front:
                place = {"textcoords": "offset points", "ha": "center", "fontsize": 8.5}
                axes.annotate(cut(each.title), at, (0, 9), color=colour, **place)
        axes.set_xscale("log")
        axes.margins(x=0.25, y=0.18)
        axes.invert_yaxis()
        axes.set_xlabel("seconds to fit and predict")
        axes.set_ylabel(metric.title)
        low, high = axes.get_xlim()
        steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        return to_svg(figure, "time", f"{metric.title} against time")


def find_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the pairs of time and loss that no other beats in both, fastest first.

    Examples
    --------
    >>> find_front([(1, 5), (2, 4), (3, 6)])
    [(1, 5), (2, 4)]
    """
    front: list[tuple[float, float]] = []
    for seconds, loss in sorted(points):
        if not front or loss < front[-1][1]:
            front.append((seconds, loss))
    return front
