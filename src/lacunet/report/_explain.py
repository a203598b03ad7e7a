"""The page of an explanation: what each value of a row adds to its prediction."""

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunet.report import _drawing as draw
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.inspection import Explanation

_MOST_BARS = 20
_MOST_LINES = 500
_ROW = 0.25  # inches of a line with a name


def write_explanation(
    found: "Explanation",
    path: str | PathLike[str],
    *,
    title: str = "Why this prediction",
    force: bool = False,
) -> Path:
    """Write what each value of a row adds to its prediction as HTML.

    It is one file that needs no other and no network: the way from the base to the
    prediction, the largest contributions first, and a table of all columns. It is
    written whole or not at all.

    Parameters
    ----------
    found : Explanation
        What :func:`lacunet.inspection.explain_row` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="Why this prediction"
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
    >>> from lacunet import LacunetRegressor
    >>> from lacunet.inspection import explain_row
    >>> from lacunet.report import write_explanation
    >>> X = pd.DataFrame({"age": range(40), "size": 1.5})
    >>> model = LacunetRegressor(n_networks=1, max_epochs=2, random_state=0)
    >>> found = explain_row(model.fit(X[["age"]], 2.0 * X["age"]), X[["age"]].tail(1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_explanation(found, Path(folder) / "row.html")
    ...     "age = 39" in path.read_text("utf-8")
    True
    """

    def make_context() -> dict[str, Any]:
        order = np.argsort(-np.abs(found.contributions), kind="stable").tolist()
        order.sort(key=lambda i: not found.observed[i])
        rows = []
        for i in order[:_MOST_LINES]:
            contribution, error = found.contributions[i], found.errors[i]
            adds: Any = "\N{EN DASH}"
            if found.observed[i]:
                shown = f"± {found.show(error)}" if error else ""
                adds = {"text": found.show(contribution, sign=True), "error": shown}
            rows.append([found.names[i], found.show_value(i), adds])
        return {
            "title": title,
            "found": found,
            "drawing": draw_contributions(found),
            "largest": [
                f"{name} = {value} ({found.show(contribution, sign=True)})"
                for name, value, contribution, _ in found.list_largest(3)[:3]
            ],
            "rows": rows,
        }

    return write_page(path, "explain.html", make_context, force=force)


def draw_contributions(found: "Explanation") -> str:
    """Draw the way from the base to the prediction, from top to bottom."""
    lines = found.list_largest(_MOST_BARS)
    steps = np.array([contribution for _, _, contribution, _ in lines])
    ends = found.base + np.concatenate([[0.0], steps.cumsum()])
    cells = [f"{draw.cut(n)} = {draw.cut(v, 14)}" if v else n for n, v, *_ in lines]
    names = ["base", *cells, "prediction"]
    room = float(ends.max() - ends.min()) or 1.0
    with draw.drawing(draw.WIDTH, 0.8 + _ROW * len(names)) as figure:
        axes = figure.add_subplot()
        axes.axvline(found.base, color=draw.MUTED, linewidth=0.8, linestyle=":")
        tops = np.arange(len(ends))
        axes.vlines(ends, tops, tops + 1, color=draw.MUTED, linewidth=0.8)
        for y, (name, (*_, step, error)) in enumerate(
            zip(names[1:-1], lines, strict=True), start=1
        ):
            colour = draw.ACCENT if step > 0 else draw.SECOND
            bar = axes.barh(y, step, left=ends[y - 1], color=colour, height=0.62)
            shown, span = found.show(step, sign=True), 2 * (error or 0.0)
            more = f" ± {found.show(error)}" if error else ""
            draw.add_tips(bar, [f"{name}: {shown}{more}"])
            axes.hlines(y, ends[y] - span, ends[y] + span, color=draw.INK, linewidth=1)
            draw.write_beside(axes, shown, max(ends[y - 1], ends[y] + span), y)
        for y, value in ((0, found.base), (len(names) - 1, found.prediction)):
            axes.plot(value, y, "o", color=draw.INK, ms=5)
            draw.write_beside(axes, found.show(value), value + 0.012 * room, y)
        axes.set_xlim(ends.min() - 0.04 * room, ends.max() + 0.22 * room)
        draw.finish_lines(axes, names, found.subject, max(map(len, names)))
        return draw.to_svg(figure, "contributions", "What each value adds")
