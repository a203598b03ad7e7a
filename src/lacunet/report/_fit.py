"""The page of a model that was evaluated on held-out rows."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet._text import show_count, show_error, show_percent, show_score, show_seconds
from lacunet.report import _drawing as draw
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.evaluation import HoldOut, TableFacts

_MOST_BARS = 25
_MOST_LINES = 200
_MOST_POINTS = 400  # of a curve
_N_THRESHOLDS = 200  # steps of the threshold
_ROW = 0.235  # inches of a line with a name
_ASIDE = 0.09  # between the marks of two models, in bins


def write_fit(
    found: "HoldOut",
    path: str | PathLike[str],
    *,
    table: "TableFacts | None" = None,
    title: str = "How good the model is",
    force: bool = False,
) -> Path:
    """Write the evaluation of a model as an HTML page.

    It is one file that needs no other and no network: scores beside those of other
    models, calibration, the confusion matrix (for two classes with a threshold to
    move), ROC and precision-recall curves, columns that matter, errors by the number of
    missing values, and the learning curve, each explained. The same evaluation gives
    the same file. It is written whole or not at all.

    Parameters
    ----------
    found : HoldOut
        What :func:`lacunet.evaluation.hold_out` returned.
    path : str or PathLike
        The file to write; its folder is made.
    table : TableFacts, default=None
        The table that the model was trained on, to be described too.
    title : str, default="How good the model is"
        Heading of the page.
    force : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    Path
        Path of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import pandas as pd
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.evaluation import hold_out
    >>> from lacunet.report import write_fit
    >>> X = pd.DataFrame({"age": np.arange(40.0)})
    >>> model = LacunetRegressor(n_networks=1, max_epochs=2, random_state=0)
    >>> found = hold_out(model, X, 2 * X["age"], task="regression")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_fit(found, Path(folder) / "fit.html")
    ...     "32 training rows" in path.read_text("utf-8")
    True
    """
    return write_page(
        path, "fit.html", lambda: _make_context(found, table, title), force=force
    )


def _make_context(
    found: "HoldOut", table: "TableFacts | None", title: str
) -> dict[str, Any]:
    """Return the drawings and the rows of tables."""
    from lacunet.evaluation import list_parameters

    form = found.score_format
    columns = [(e.name, e.value, e.missingness) for e in found.importance.columns]
    n_estimates = 1 + any(each is not None for *_, each in columns)
    context: dict[str, Any] = {
        "title": title,
        "found": found,
        "table": table,
        "score_titles": [
            f"{e.title} {'↓↑'[e.higher_is_better]}" for e in found.metrics
        ],
        "scores": _score_rows(found),
        "columns": [
            [name, *(_estimate_cell(each, form) for each in estimates[:n_estimates])]
            for name, *estimates in columns
        ],
        "with_missingness": n_estimates == 2,
        "classes": _class_rows(found),
        "most_bars": _MOST_BARS,
        "model_class": type(found.model).__name__,
        "importance_drawing": draw_importance(columns[:_MOST_BARS], found),
        "learning_drawing": draw_learning(found),
        "missing_drawing": draw_missing(found) if len(found.by_missing) > 1 else "",
        "coverage_drawings": draw_coverage(found) if len(found.coverage) > 1 else [],
    }
    if table is not None:
        context["table_columns"] = [
            [
                e.name,
                e.kind,
                f"{e.n_missing:,}",
                show_percent(table.fraction_missing(e)),
            ]
            for e in table.inputs[:_MOST_LINES]
        ]
    if found.model is not None:
        context["parameters"] = [
            [name, {"text": draw.cut(value, 200), "strong": chosen}]
            for name, value, chosen in list_parameters(found.model)
        ]
    if found.task == "regression":
        target = "target" if table is None else table.target
        context["agreement_drawing"] = draw_agreement(found, target)
        context["residuals_drawing"] = draw_residuals(found)
        return context
    names = [draw.cut(str(each.name), 40) for each in found.classes]
    context["names"] = names
    context["event"] = f"class {names[1]}" if len(names) == 2 else ""
    context["calibration_drawing"] = draw_calibration(found)
    if found.predicted:
        context["threshold"] = count_by_threshold(found)
        context["curves"] = draw_curves(found)
    return context


def _estimate_cell(estimate: Any, form: str, tone: str = "", sign: str = "") -> Any:
    if estimate is None:
        return "\N{EN DASH}"
    text, error = show_score(estimate.value, sign + form), estimate.error
    return {"text": text, "error": show_error(error, form), "tone": tone}


def count_by_threshold(found: "HoldOut") -> dict[str, Any] | None:
    """Count rows of two classes above each threshold of the second's probability."""
    if len(found.classes) != 2:
        return None
    happened = found.y_test == found.classes[1].name
    probability = found.predicted["lacunet"][:, 1]
    steps = np.arange(_N_THRESHOLDS + 1) / _N_THRESHOLDS
    true, false = (
        len(rows) - np.searchsorted(np.sort(rows), steps, side="right")
        for rows in (probability[happened], probability[~happened])
    )
    return {
        "positives": int(happened.sum()),
        "negatives": int((~happened).sum()),
        "true_positives": true.tolist(),
        "false_positives": false.tolist(),
    }


def _score_rows(found: "HoldOut") -> list[dict[str, Any]]:
    """Return models with their scores, the lead of ours over them, and their time."""
    rows = []
    for name, title in found.titles.items():
        cells: list[Any] = [title]
        for metric in found.metrics:
            first = metric is found.metrics[0]
            form = found.score_format if first else ".3f"
            values = [each[metric.key] for each in found.scores.values()]
            known = [each for each in values if each is not None]
            value = found.scores[name][metric.key]
            best = (max if metric.higher_is_better else min)(known, default=None)
            text = show_score(value, form)
            strong = value is not None and text == show_score(best, form)
            error = show_error(found.estimates[name].error, form) if first else ""
            cells.append({"text": text, "error": error, "strong": strong})
        lead, tone = found.leads.get(name), ""
        if lead is not None and lead.is_sure:
            tone = "better" if lead.value > 0 else "worse"
        cells.append(_estimate_cell(lead, found.score_format, tone, sign="+"))
        cells.append(show_seconds(found.seconds[name]))
        rows.append({"cells": cells, "accent": name == "lacunet"})
    return rows


def _class_rows(found: "HoldOut") -> list[list[str]]:
    """Return classes with their rows, and with recall and precision if known."""
    rows = []
    for i, each in enumerate(found.classes[:_MOST_LINES]):
        row = [str(each.name), f"{each.n_train:,}", f"{each.n_test:,}"]
        if found.confusion:
            n_chosen = sum(line[i] for line in found.confusion)
            row += [
                show_percent(found.confusion[i][i] / whole) if whole else "\N{EN DASH}"
                for whole in (each.n_test, n_chosen)
            ]
        rows.append(row)
    return rows


# --- drawings


def _style(found: "HoldOut", name: str) -> dict[str, Any]:
    """Return how the dots of a model look: ours full and blue, others hollow."""
    colour = draw.ACCENT if name == "lacunet" else draw.SECOND
    face = colour if name == "lacunet" else draw.PAPER
    label = found.titles[name]
    return {"color": colour, "mfc": face, "mec": colour, "label": label, "ms": 5.5}


def _draw_bins(
    axes: Any, found: "HoldOut", curves: Mapping[str, Any], show: Callable[[float], str]
) -> None:
    """Draw observed against predicted values, in bins, and name the models."""
    for name, curve in curves.items():
        x = [each.predicted for each in curve.bins]
        y = [each.observed for each in curve.bins]
        line = {"linewidth": 1.8 if name == "lacunet" else 1.1, "zorder": 3}
        form = "o-" if len(x) > 2 else "o"  # two dots make no curve
        (dots,) = axes.plot(x, y, form, **line, **_style(found, name))
        tips = [
            f"{found.titles[name]}, {show_count(each.n_rows, 'row')}: "
            f"predicted {show(each.predicted)}, observed {show(each.observed)}"
            for each in curve.bins
        ]
        draw.add_tips(dots, tips)
    style = {"color": draw.MUTED, "linewidth": 1.2, "linestyle": ":", "zorder": 1}
    axes.axline((x[0], x[0]), slope=1, **style)
    axes.figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)


def draw_calibration(found: "HoldOut") -> str:
    """Draw predicted probabilities against observed frequencies."""
    several = len(found.classes) > 2
    least = 1 / len(found.classes) if several else 0
    with draw.drawing(draw.WIDTH, 4.2) as figure:
        axes = figure.add_subplot()
        bins = found.calibration["lacunet"].bins
        x = [each.predicted for each in bins]
        low, high = zip(*((each.low, each.high) for each in bins), strict=True)
        axes.vlines(x, low, high, color=draw.ACCENT, linewidth=1.2, alpha=0.45)
        _draw_bins(axes, found, found.calibration, show_percent)
        axes.set(xlim=(least - 0.03, 1.03), ylim=(-0.03, 1.03))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda fraction, _: f"{fraction:.0%}")
        label = "accuracy" if several else "fraction of rows of the class"
        axes.set(xlabel="predicted probability", ylabel=label)
        return draw.to_svg(figure, "calibration", "Calibration curve")


def draw_agreement(found: "HoldOut", target: str) -> str:
    """Draw observed numbers against predicted ones."""
    with draw.drawing(draw.WIDTH, 4.2) as figure:
        axes = figure.add_subplot()
        bins = found.agreement["lacunet"].bins
        x = [each.predicted for each in bins]
        low, first, _, third, high = np.array([each.quantiles for each in bins]).T
        axes.vlines(x, low, high, color=draw.ACCENT, linewidth=1.1, alpha=0.6)
        axes.vlines(x, first, third, color=draw.ACCENT, linewidth=5, alpha=0.35)
        _draw_bins(axes, found, found.agreement, "{:.4g}".format)
        axes.set(xlabel="predicted", ylabel=f"observed: {draw.cut(target, 30)}")
        return draw.to_svg(figure, "agreement", "Observed against predicted values")


def draw_residuals(found: "HoldOut") -> str:
    """Draw quantiles of the residuals."""
    with draw.drawing(draw.WIDTH, 0.9 + 0.42 * len(found.agreement)) as figure:
        axes = figure.add_subplot()
        for y, (name, curve) in enumerate(found.agreement.items()):
            low, first, middle, third, high = curve.residuals
            colour = _style(found, name)["color"]
            axes.hlines(y, low, high, color=colour, linewidth=1.2)
            axes.hlines(y, first, third, color=colour, linewidth=9, alpha=0.45)
            axes.plot(middle, y, "|", color=draw.INK, ms=11, mew=1.8)
        axes.axvline(0, color=draw.MUTED, linewidth=1.2, linestyle=":", zorder=1)
        names = [found.titles[name] for name in found.agreement]
        draw.finish_lines(axes, names, "residual: observed minus predicted")
        return draw.to_svg(figure, "residuals", "Residuals")


def draw_curves(found: "HoldOut") -> list[dict[str, Any]]:
    """Draw ROC and precision-recall curves: of two models, or of several classes."""
    from sklearn import metrics

    both = len(found.classes) == 2
    shown = [(found.titles[name], name, 1) for name in ("hgb", "lacunet")]
    colours = [draw.SECOND, draw.ACCENT]
    if not both:
        order = np.argsort([-each.n_test for each in found.classes], kind="stable")
        names = [draw.cut(str(each.name)) for each in found.classes]
        shown = [(names[j], "lacunet", int(j)) for j in order]
        colours = [draw.ACCENT, draw.SECOND, draw.THIRD, draw.MUTED]
    lines = []
    for (label, name, j), colour in zip(shown, colours, strict=False):
        happened = found.y_test == found.classes[j].name
        if 0 < happened.sum() < len(happened):
            lines.append((label, found.predicted[name][:, j], happened, colour))
    drawings: list[dict[str, Any]] = []
    if not lines:
        return drawings
    for key, title, x_label, y_label in (
        ("roc", "ROC curve", "false positive rate", "true positive rate (recall)"),
        ("pr", "Precision-recall curve", "recall", "precision"),
    ):
        with draw.drawing(draw.WIDTH, 4.2) as figure:
            axes = figure.add_subplot()
            for label, probability, happened, colour in lines:
                if key == "roc":
                    x, y, _ = metrics.roc_curve(happened, probability)
                    area = f"AUC {metrics.auc(x, y):.3f}"
                else:
                    y, x, _ = metrics.precision_recall_curve(happened, probability)
                    precision = metrics.average_precision_score(happened, probability)
                    area = f"average precision {precision:.3f}"
                    axes.axhline(happened.mean(), color=colour, lw=1, ls=":", zorder=1)
                some = np.unique(np.linspace(0, len(x) - 1, _MOST_POINTS).astype(int))
                label = f"{area}: {label}"
                axes.plot(x[some], y[some], color=colour, label=label, linewidth=1.6)
            if key == "roc":
                axes.axline(
                    (0, 0), slope=1, color=draw.MUTED, linewidth=1, linestyle=":"
                )
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
            axes.set(xlabel=x_label, ylabel=y_label)
            figure.legend(loc="outside lower center", ncols=1, fontsize=8.5)
            svg = draw.to_svg(figure, key, title)
            # Where 0 and 1 are, for the dot that goes with the threshold.
            ends = axes.transData.transform([(0, 0), (1, 1)]) / figure.bbox.size
            places = np.abs(ends - [0, 1]) * figure.get_size_inches() * 72
        curve = {"name": key, "axes": places.round(1).ravel().tolist()}
        data = {"curve": curve} if both else {}
        drawings.append({"title": title, "svg": svg, "data": data})
    return drawings


def draw_importance(columns: Sequence[tuple[str, Any, Any]], found: "HoldOut") -> str:
    """Draw how much the loss increases by each column, from top to bottom."""
    values = np.array([each.value for _, each, _ in columns])
    spans = 2 * np.array([each.error or 0.0 for _, each, _ in columns])
    low, high = values - spans, values + spans
    room = (high.max() - low.min()) or 1.0
    form = found.score_format
    with draw.drawing(draw.WIDTH, 0.6 + _ROW * len(columns)) as figure:
        axes = figure.add_subplot()
        for y, (name, each, missingness) in enumerate(columns):
            colour = draw.ACCENT if each.value > 0 else draw.SECOND
            colour = colour if each.is_sure else draw.LINE
            bar = axes.barh(y, values[y], color=colour, height=0.7)
            draw.add_tips(bar, [f"{name}: {each.show(form)}"])
            axes.hlines(y, low[y], high[y], color=draw.INK, linewidth=1)
            draw.write_beside(axes, show_score(each.value, form), max(0.0, high[y]), y)
            if missingness is not None:
                (dot,) = axes.plot(missingness.value, y, "D", color=draw.THIRD, ms=4.5)
                draw.add_tips(dot, [f"missingness of {name}: {missingness.show(form)}"])
        axes.axvline(0, color=draw.MUTED, linewidth=0.8)
        axes.set_xlim(min(low.min(), 0) - 0.02 * room, max(high.max(), 0) + 0.16 * room)
        label = f"increase of the {found.metrics[0].title}"
        draw.finish_lines(axes, [name for name, *_ in columns], label)
        return draw.to_svg(figure, "columns", "Importance of columns")


def draw_learning(found: "HoldOut") -> str:
    """Draw validation and training loss by epoch."""
    steps = found.learning
    epochs = [each.epoch for each in steps]
    marker = "o" if len(steps) == 1 else ""
    with draw.drawing(draw.WIDTH, 3.9) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        for axes, rows, colour, losses in (
            (upper, "validation rows", draw.ACCENT, [e.valid_loss for e in steps]),
            (lower, "training rows", draw.MUTED, [e.train_loss for e in steps]),
        ):
            axes.plot(epochs, losses, color=colour, marker=marker)
            axes.set_title(rows, loc="left", fontsize=9)
            axes.set_ylabel("loss")
            axes.locator_params(axis="y", nbins=5)
        best = [each for each in steps if each.best]
        x, y = [each.epoch for each in best], [each.valid_loss for each in best]
        (dots,) = upper.plot(x, y, "o", color=draw.ACCENT, ms=4)
        draw.add_tips(dots, [f"epoch {e.epoch}: loss {e.valid_loss:.4g}" for e in best])
        lower.set_xlabel("epoch")
        lower.locator_params(axis="x", integer=True)
        return draw.to_svg(figure, "learning", "Learning curve")


def draw_missing(found: "HoldOut") -> str:
    """Draw the first score by the number of missing values in a row."""
    metric, bins = found.metrics[0].title, found.by_missing
    title = f"{metric} by the number of missing values"
    with draw.drawing(draw.WIDTH, 3.3) as figure:
        axes = figure.add_subplot()
        models = list(bins[0].losses)
        for number, name in enumerate(models):
            x = np.arange(len(bins)) + _ASIDE * (2 * number - len(models) + 1)
            y = np.array([each.losses[name].value for each in bins])
            error = np.array([each.losses[name].error or 0.0 for each in bins])
            style = _style(found, name)
            axes.vlines(x, y - error, y + error, color=style["color"])
            (dots,) = axes.plot(x, y, "o", zorder=3, **style)
            shown = [each.losses[name].show(found.score_format) for each in bins]
            draw.add_tips(dots, [f"{found.titles[name]}: {each}" for each in shown])
            axes.plot(x, y, color=style["color"], linewidth=1, alpha=0.5)
        labels = [f"{each.label}\n{each.n_rows:,} rows" for each in bins]
        axes.set_xticks(range(len(bins)), labels, fontsize=8.5)
        axes.set(xlim=(-0.5, len(bins) - 0.5), ylim=(0, None))
        axes.set(xlabel="missing values in a row", ylabel=metric)
        axes.grid(axis="x", visible=False)
        figure.legend(loc="outside lower center", ncols=2, fontsize=8.5)
        return draw.to_svg(figure, "missing", title)


def draw_coverage(found: "HoldOut") -> list[dict[str, Any]]:
    """Draw coverage and width of intervals or sets by the number of missing values."""
    bins, classifies = found.coverage, found.task == "classification"
    regions = "sets of classes" if classifies else "intervals"
    x = np.arange(len(bins))
    drawings: list[dict[str, Any]] = []
    for title, label, values in (
        (f"Coverage of 90% {regions}", "covered (%)", [100 * e.covered for e in bins]),
        (
            "Their size" if classifies else "Their width",
            "classes" if classifies else "width",
            [e.width for e in bins],
        ),
    ):
        with draw.drawing(draw.WIDTH, 2.9) as figure:
            axes = figure.add_subplot()
            (dots,) = axes.plot(x, values, "o", color=draw.ACCENT, zorder=3)
            draw.add_tips(dots, [f"{label}: {value:.3g}" for value in values])
            axes.set_ylim(0, 1.1 * max(values) or 1.0)
            if not drawings:
                ends = [[100 * e.low for e in bins], [100 * e.high for e in bins]]
                axes.vlines(x, *ends, color=draw.ACCENT)
                axes.axhline(90, color=draw.MUTED, linestyle=":", linewidth=1)
                axes.set_ylim(min(60.0, *ends[0]) - 2, 101)
            labels = [f"{e.label}\n{e.n_rows:,} rows" for e in bins]
            axes.set_xticks(x, labels, fontsize=8.5)
            axes.set(xlim=(-0.5, len(bins) - 0.5))
            axes.set(xlabel="missing values in a row", ylabel=label)
            axes.grid(axis="x", visible=False)
            svg = draw.to_svg(figure, f"coverage{len(drawings)}", title)
        drawings.append({"svg": svg, "title": title})
    return drawings
