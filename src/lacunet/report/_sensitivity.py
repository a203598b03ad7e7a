"""The page of a sensitivity analysis: means, if values are not missing at random."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacunet._text import show_number
from lacunet.report import _drawing as draw
from lacunet.report._page import write_page

if TYPE_CHECKING:
    from lacunet.inspection import ColumnSensitivity

_MAX_CARDS = 40


def write_sensitivity(
    columns: "Sequence[ColumnSensitivity]",
    path: str | PathLike[str],
    *,
    title: str = "What if values are not missing at random",
    force: bool = False,
) -> Path:
    """Write how means change with the values that are missing as HTML.

    It is one file that needs no other and no network: a drawing of each column, and a
    table. It is written whole or not at all.

    Parameters
    ----------
    columns : sequence of ColumnSensitivity
        What :func:`lacunet.inspection.sensitivity` returned.
    path : str or PathLike
        The file to write; its folder is made.
    title : str, default="What if values are not missing at random"
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
    >>> from lacunet.inspection import ColumnSensitivity, pool
    >>> from lacunet.report import write_sensitivity
    >>> pooled = tuple(pool([mean, mean + 0.1], [0.04, 0.04]) for mean in (1, 2, 3))
    >>> column = ColumnSensitivity("height", 20, 2.0, (-1.0, 0.0, 1.0), pooled)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_sensitivity([column], Path(folder) / "page.html")
    ...     "from a shift of -1 and of +1 on" in path.read_text("utf-8")
    True
    """
    return write_page(
        path, "sensitivity.html", lambda: make_context(columns, title), force=force
    )


def make_context(columns: "Sequence[ColumnSensitivity]", title: str) -> dict[str, Any]:
    """Return what the template shows."""
    rows = [
        [
            str(column.name),
            f"{column.n_missing:,}",
            show_number(column.observed),
            *(
                {
                    "text": show_number(each.estimate),
                    "below": f"{show_number(each.low)} to {show_number(each.high)}",
                    "tone": "worse" if shift in column.outside else "",
                }
                for shift, each in zip(column.shifts, column.pooled, strict=True)
            ),
        ]
        for column in columns
    ]
    shifts = columns[0].shifts if columns else ()
    header = [f"{shift:+g} sd" if shift else "no shift" for shift in shifts]
    drawings = [
        draw_column(column, f"column{number}")
        for number, column in enumerate(columns[:_MAX_CARDS])
    ]
    return {
        "title": title,
        "columns": columns,
        "drawings": drawings,
        "header": ["column", "missing", "observed mean", *header],
        "rows": rows,
    }


def draw_column(column: "ColumnSensitivity", name: str) -> str:
    """Draw the mean and its interval over the shift, and the observed mean."""
    with draw.drawing(draw.WIDTH, 2.4) as figure:
        axes = figure.add_subplot()
        ends = [[each.low for each in column.pooled], [x.high for x in column.pooled]]
        means = [each.estimate for each in column.pooled]
        axes.fill_between(column.shifts, *ends, color=draw.ACCENT, alpha=0.2, lw=0)
        axes.axhline(column.observed, color=draw.MUTED, lw=1.2, ls="--")
        (line,) = axes.plot(column.shifts, means, color=draw.ACCENT, marker="o")
        draw.add_tips(line, [pooled.show() for pooled in column.pooled])
        axes.set_xlabel("shift of missing values, in standard deviations")
        axes.set_ylabel("mean")
        return draw.to_svg(figure, name, f"Mean of {column.name} by the shift")
