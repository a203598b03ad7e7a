"""The drawings of the report."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from lacunet.report._drawing import (
    ACCENT,
    FIRST_CLASS,
    INK,
    LINE,
    MUTED,
    PAPER,
    SECOND,
    SECOND_CLASS,
    THIRD,
    WIDTH,
    drawing,
    to_svg,
)

# Where bars stand in a plot of ranks, in ranks behind the last.
FIRST_LANE, LANE = 1.4, 0.75
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)), (0, (8, 2)))


def draw_ranks(
    name: str,
    ranks: Sequence[tuple[str, float]],
    *,
    groups: Sequence[Sequence[str]] = (),
    filled: Sequence[str] = (),
    accents: Sequence[str] = (),
) -> str:
    """Draw a critical-difference plot: methods down, mean ranks across.

    Parameters
    ----------
    name : str
    ranks : sequence of (str, float)
        Methods and mean ranks, the best first.
    groups : sequence of sequences of str
        Methods that can't be told apart: a bar joins them at the right.
    filled : sequence of str
        Methods whose dots are filled; all if empty.
    accents : sequence of str
        Methods in colour.

    Returns
    -------
    str
    """
    titles = [title for title, _ in ranks]
    with drawing(WIDTH + 0.1 * len(groups), 0.55 + 0.235 * len(ranks)) as figure:
        axes = figure.add_subplot()
        for y, (title, rank) in enumerate(ranks):
            colour = ACCENT if title in accents else MUTED
            face = colour if not filled or title in filled else PAPER
            axes.plot([1, rank], [y, y], color=LINE, linewidth=1.4, zorder=1)
            axes.plot(rank, y, "o", color=colour, mfc=face, markersize=6, zorder=3)
            _write(axes, f"{rank:.2f}", rank, y)
        _join(axes, [[titles.index(each) for each in group] for group in groups])
        _set_rank_axis(axes, len(titles), len(groups))
        axes.set_yticks(range(len(titles)), titles)
        axes.set_ylim(len(titles) - 0.4, -0.6)
        return to_svg(figure, name, f"Mean ranks of {len(ranks)} methods")


def _write(axes: Any, text: str, x: float, y: float) -> None:
    """Write a text behind a dot."""
    beside = {"xytext": (7, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (x, y), fontsize=8, color=INK, **beside)


def _set_rank_axis(axes: Any, n_methods: int, n_groups: int) -> None:
    """Leave room for bars at the right of all ranks, each in a lane of its own."""
    step = 1 if n_methods <= 10 else 2
    axes.set_xticks(range(1, n_methods + 1, step))
    lanes = FIRST_LANE + LANE * (n_groups - 1) if n_groups else 0.5
    axes.set_xlim(0.8, n_methods + lanes + 0.5)
    axes.spines["bottom"].set_bounds(1, n_methods)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("mean rank", x=0.4 if n_groups else 0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _join(axes: Any, groups: Sequence[Sequence[int]]) -> None:
    """Draw a bar for each group, with a dot for each of its methods."""
    n_methods = len(axes.lines) // 2  # a stem and a dot each
    for lane, group in enumerate(groups):
        x = n_methods + FIRST_LANE + LANE * lane
        axes.plot([x, x], [min(group), max(group)], color=MUTED, linewidth=1.2)
        axes.plot([x] * len(group), group, "o", color=INK, markersize=3.2)


def draw_gamma(name: str, content: Mapping[str, Any]) -> str:
    """Draw the density of the missing coordinate for each gamma.

    Parameters
    ----------
    name : str
    content : mapping
        What the experiment has computed.

    Returns
    -------
    str
    """
    x, gammas = content["x"], content["gammas"]
    with drawing(WIDTH, 3.0) as figure:
        axes = figure.add_subplot()
        colours = cycle((ACCENT, SECOND, THIRD))
        for gamma, density, colour, dash in zip(
            gammas, content["density"], colours, cycle(DASHES), strict=False
        ):
            label = f"γ {_name_gamma(gamma, gammas)}"
            axes.plot(x, density, color=colour, linestyle=dash, label=label)
        axes.set_xlabel("missing coordinate")
        axes.set_ylabel("density")
        axes.set_ylim(0)
        axes.legend()
        return to_svg(figure, name, "Density of the missing coordinate for each gamma")


def _name_gamma(gamma: float, gammas: Sequence[float]) -> str:
    if gamma < 1 and gamma == min(gammas):
        return f"→ 0 ({gamma:g})"
    if gamma > 1 and gamma == max(gammas):
        return f"→ ∞ ({gamma:g})"
    return f"= {gamma:g}"


def draw_cost(name: str, content: Mapping[str, Any], key: str, title: str) -> str:
    """Draw how many times longer the layer takes than an ordinary one.

    Parameters
    ----------
    name : str
    content : mapping
        What the experiment has computed.
    key : {"forward", "step"}
    title : str

    Returns
    -------
    str
    """
    components = np.asarray(content["components"])
    times = np.asarray(content[key])  # (components, shares)
    with drawing(WIDTH, 3.3) as figure:
        axes = figure.add_subplot()
        axes.plot(
            components, 2 * components, ":", color=INK, label="2k, as in the paper"
        )
        n_shares = times.shape[1]
        for j, (share, marker) in enumerate(
            zip(content["shares"], cycle("osD^v"), strict=False)
        ):
            axes.plot(
                components,
                times[:, j],
                marker=marker,
                markersize=4,
                color=ACCENT if share else SECOND,
                alpha=0.4 + 0.6 * j / max(n_shares - 1, 1) if share else 1,
                label=f"{share:.0%} missing",
            )
        axes.set_xticks(components)
        axes.set_xlabel("components k")
        axes.set_ylabel("times as long")
        axes.set_ylim(0)
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=3, fontsize=8.5)
        return to_svg(figure, name, title)


def draw_classes(
    name: str,
    content: Mapping[str, Any],
    said: Sequence[int],
    title: str,
    gaussians: Mapping[str, Any] | None = None,
) -> str:
    """Draw points in the colours of classes, and Gaussians over them.

    Points that lack a coordinate are rings, at the place where they are in truth.

    Parameters
    ----------
    name : str
    content : mapping
        Points with what is missing, and whole.
    said : sequence of int
        The class of each point.
    title : str
    gaussians : mapping, optional
        Means and variances.

    Returns
    -------
    str
    """
    points = np.asarray(content["complete"], dtype=float)
    given = np.array(content["points"], dtype=float)  # None becomes NaN
    whole = ~np.isnan(given).any(axis=1)
    classes = np.asarray(said)
    with drawing(3.0, 2.5) as figure:
        axes = figure.add_subplot()
        for label, colour in ((0, FIRST_CLASS), (1, SECOND_CLASS)):
            for kind, face in ((whole, colour), (~whole, "none")):
                axes.scatter(
                    *points[kind & (classes == label)].T,
                    s=9,
                    facecolors=face,
                    edgecolors=colour,
                    linewidths=0.7,
                    rasterized=True,
                )
        if gaussians is not None:
            _draw_gaussians(axes, gaussians)
        axes.grid(visible=False)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(title)
        axes.tick_params(labelsize=8)
        return to_svg(figure, name, title)


def _draw_gaussians(axes: Any, gaussians: Mapping[str, Any]) -> None:
    """Draw each Gaussian as an ellipse of one and of two standard deviations."""
    from matplotlib.patches import Ellipse

    for mean, variance in zip(gaussians["means"], gaussians["variances"], strict=True):
        spread = np.sqrt(np.asarray(variance, dtype=float))
        for times, width in ((1, 1.8), (2, 0.9)):
            axes.add_patch(
                Ellipse(
                    mean,
                    *(2 * times * spread),
                    fill=False,
                    edgecolor=INK,
                    linewidth=width,
                )
            )
