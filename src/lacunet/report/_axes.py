"""What drawings have in common: names along axes, dots, and texts beside bars."""

from collections.abc import Sequence
from typing import Any

from lacunet.report._svg import INK, PAPER


def cut(name: str, most: int = 24) -> str:
    """Return a name that is short enough for a drawing."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def dot(
    axes: Any, values: Sequence[float], label: str, colour: str, *, hollow: bool = False
) -> None:
    """Draw a dot in each line."""
    face = PAPER if hollow else colour
    places = range(len(values))
    axes.plot(values, places, "o", color=colour, mfc=face, markersize=6, label=label)


def write_beside(axes: Any, text: str, x: float, y: float) -> None:
    """Write a text behind a bar."""
    beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (x, y), fontsize=8, color=INK, **beside)


def list_names(axes: Any, names: Sequence[str]) -> None:
    """Name the lines, from top to bottom."""
    axes.set_yticks(range(len(names)), [cut(each) for each in names], fontsize=8.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def name_across(axes: Any, names: Sequence[str]) -> None:
    """Name the columns, above."""
    axes.xaxis.tick_top()
    axes.set_xticks(
        range(len(names)), [cut(each) for each in names], rotation=90, fontsize=8
    )
    axes.tick_params(axis="x", length=0)


def set_share_axis(axes: Any, label: str) -> None:
    """Go from nothing to all, with room for a text."""
    axes.set_xlim(-0.02, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.spines["bottom"].set_bounds(0, 1)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(label)


def strip(axes: Any) -> None:
    """Leave the drawing alone, without frame and grid."""
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
