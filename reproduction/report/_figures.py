"""The sections of figures."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import fmean

import numpy as np

from lacunet.exceptions import LacunetError
from reproduction.experiments import load_experiment
from reproduction.experiments._figure_2 import N_FIRST
from reproduction.report._blocks import (
    Block,
    Column,
    Entry,
    Line,
    Lines,
    Part,
    Picture,
    Pictures,
    Section,
    Sheet,
    Strip,
    Strips,
    Text,
)
from reproduction.report._folder import Contents, Drawn, Folder
from reproduction.report._images import to_strip
from reproduction.report._plots import draw_classes, draw_cost, draw_gamma
from reproduction.report._slices import (
    OURS,
    PAPER,
    TAGS,
    Slice,
    name_method,
    name_protocol,
    order_of,
)
from reproduction.report._tables import ask_to_run, show_title
from reproduction.report._words import DASH, show_list, show_value

FIGURES = ("figure-2", "figure-gamma", "figure-density", "figure-cost")
Show = Callable[[str, Contents], tuple[Block, ...]]


def make_figure_section(folder: Folder, name: str) -> Section:
    """Return the section of a figure.

    Parameters
    ----------
    folder : Folder
    name : str

    Returns
    -------
    Section
    """
    experiment = load_experiment(name)
    parts = [
        *_show_drawn(name, folder.figures.get(name, ())),
        *_show_cells(folder.slices(experiment)),
    ]
    if not parts:
        blocks = ask_to_run(experiment)
    else:
        blocks = (Text(experiment.note), *_merge(parts))
    return Section(show_title(name), blocks, lead=experiment.title)


Key = tuple[str, str]  # heading and tag


def _merge(parts: list[tuple[Key, tuple[Block, ...]]]) -> list[Part]:
    """Put what is of one protocol under one heading."""
    merged: dict[Key, list[Block]] = defaultdict(list)
    for key, blocks in parts:
        merged[key] += blocks
    return [Part(title, tuple(some), tag) for (title, tag), some in merged.items()]


def _show_drawn(
    name: str, drawn: tuple[Drawn, ...]
) -> list[tuple[Key, tuple[Block, ...]]]:
    """Return what is drawn of each run; of runs with the same data once."""
    shown: list[Drawn] = []
    for each in drawn:
        _check_content(name, each.content)
        if not any(_is_same(each.content, other.content) for other in shown):
            shown.append(each)
    return [
        (
            (name_protocol(each.protocol), TAGS[each.data]),
            SHOW[name](f"{name}-{each.protocol}-{each.data}", each.content),
        )
        for each in shown
    ]


def _check_content(name: str, content: Contents) -> None:
    lacking = [key for key in NEEDED[name] if key not in content]
    if lacking:
        msg = (
            f"Got data of {name} without {', '.join(lacking)}, but expected what "
            f"lacunet writes now. Run lacunet reproduce {name} again."
        )
        raise LacunetError(msg)


def _is_same(one: Contents, other: Contents) -> bool:
    if one.keys() != other.keys():
        return False
    return all(np.array_equal(one[key], other[key]) for key in one)


# --- figure 2


def _show_images(name: str, content: Contents) -> tuple[Block, ...]:
    """Return rows of images: a few large ones, and all."""
    n_images = len(content["original"])
    caption = (
        "What each autoencoder makes of the masked images; in the second row, what was "
        "removed is in colour."
    )
    few = _strips(content, N_FIRST, f"The first {N_FIRST} test images. {caption}")
    if n_images <= N_FIRST:
        return (few,)
    return few, _strips(content, n_images, f"{n_images} test images.")


def _strips(content: Contents, n_images: int, caption: str) -> Strips:
    strips = [
        Strip(
            name_method(key), to_strip(images[:n_images]), accent=key in (OURS, PAPER)
        )
        for key, images in content.items()
    ]
    return Strips(tuple(strips), caption, large=n_images <= N_FIRST)


# --- figure gamma


def _show_gamma(name: str, content: Contents) -> tuple[Block, ...]:
    weights = [
        f"{gamma:g}: {show_list([f'{weight:.3f}' for weight in of_gamma])}"
        for gamma, of_gamma in zip(
            content["gammas"], content["component_weights"], strict=True
        )
    ]
    caption = (
        f"Small gamma gives the density given what is observed, large gamma that of "
        f"the coordinate alone. Weights of the components for gamma = "
        f"{'; '.join(weights)}."
    )
    return (Pictures((Picture(draw_gamma(name, content)),), caption),)


# --- figure density


def _show_density(name: str, content: Contents) -> tuple[Block, ...]:
    """Return the points as they are, and as each method sees them."""
    methods = {
        key: told
        for key, told in content.items()
        if isinstance(told, Mapping) and "said" in told
    }
    pictures = [
        Picture(draw_classes(f"{name}-truth", content, content["classes"], "the truth"))
    ]
    for i, (key, told) in enumerate(methods.items()):
        named = "paper, before training" if key == "initial" else name_method(key)
        title = f"{named}: {_accuracy(content, told):.3f}"
        drawn = draw_classes(f"{name}-{i}", content, told["said"], title, told)
        pictures.append(Picture(drawn))
    caption = (
        "Points in the colour of the class that they are said to have; rings lack one "
        "coordinate. Ellipses are one and two standard deviations of the Gaussians. "
        "Behind the names is the accuracy on the points that were not trained on."
    )
    return (Pictures(tuple(pictures), caption),)


def _accuracy(content: Contents, told: Mapping[str, list[int]]) -> float:
    """Return the share of test points whose class is said right."""
    trained = set(content["training"])
    pairs = zip(content["classes"], told["said"], strict=True)
    return fmean(y == said for i, (y, said) in enumerate(pairs) if i not in trained)


def _show_cells(slices: list[Slice]) -> list[tuple[Key, tuple[Block, ...]]]:
    """Return a table of accuracies over seeds for each run."""
    ordered = sorted(slices, key=lambda each: order_of(each.protocol, each.data))
    return [((each.title, each.tag), (make_seeds_sheet(each),)) for each in ordered]


def make_seeds_sheet(part: Slice) -> Sheet:
    """Return the mean over seeds and the range of each method.

    Parameters
    ----------
    part : Slice
        Of an experiment that draws its data anew for each seed.

    Returns
    -------
    Sheet
    """
    found = {
        method: [
            cell.value
            for cell in part.cells
            if cell.method == method
            and cell.metric == part.metric
            and cell.value is not None
        ]
        for method in part.methods
    }
    means = {method: fmean(values) for method, values in found.items() if values}
    choose = max if part.experiment.higher_is_better else min
    best = choose(means.values(), default=None)
    lines = [
        Line(
            name_method(method),
            tuple(
                _seed_entries(values, part.metric, is_best=means.get(method) == best)
            ),
            accent=method in (OURS, PAPER),
        )
        for method, values in found.items()
    ]
    return Sheet(
        corner="method",
        columns=tuple(map(Column, ("mean", "least", "most", "seeds"))),
        groups=(Lines(tuple(lines)),),
        caption="Accuracy on points that were not trained on. Each seed draws the "
        "points, and what they lose, anew.",
    )


def _seed_entries(values: list[float], metric: str, *, is_best: bool) -> list[Entry]:
    if not values:
        return [Entry(DASH)] * 3 + [Entry("0")]
    shown = [show_value(v, metric) for v in (fmean(values), min(values), max(values))]
    first, *others = map(Entry, shown)
    return [Entry(first.text, strong=is_best), *others, Entry(str(len(values)))]


# --- figure cost


def _show_cost(name: str, content: Contents) -> tuple[Block, ...]:
    titles = {"forward": "forward", "step": "forward and backward"}
    pictures = [
        Picture(draw_cost(f"{name}-{key}", content, key, title))
        for key, title in titles.items()
    ]
    sizes = content["sizes"]
    seconds = [
        f"{1000 * content[f'{key}_seconds']:.2f} ms {title}"
        for key, title in titles.items()
    ]
    caption = (
        f"Time of the expected layer, divided by that of an ordinary one on complete "
        f"rows: {sizes['batch']} rows, {sizes['features']} columns, {sizes['units']} "
        f"units. The ordinary layer takes {show_list(seconds)}."
    )
    return (Pictures(tuple(pictures), caption),)


# What is drawn from.
NEEDED: Mapping[str, tuple[str, ...]] = {
    "figure-2": ("original", "masked"),
    "figure-gamma": ("x", "gammas", "density", "component_weights"),
    "figure-density": ("points", "complete", "classes", "training"),
    "figure-cost": (
        "components",
        "shares",
        "sizes",
        "forward",
        "step",
        "forward_seconds",
        "step_seconds",
    ),
}
SHOW: Mapping[str, Show] = {
    "figure-2": _show_images,
    "figure-gamma": _show_gamma,
    "figure-density": _show_density,
    "figure-cost": _show_cost,
}
