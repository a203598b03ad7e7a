"""Drawings of matplotlib as markup that takes its colours from the page.

A drawing is made in stand-in colours. In the markup they become variables of the style
sheet, so that it is readable in light and dark.
"""

import io
import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

# Stand-ins, which occur in no drawing otherwise, and the variables they become.
_NAMES = ("ink", "muted", "line", "accent", "second", "third", "paper")
COLOURS = {f"#0102{i:02x}": f"var(--{name})" for i, name in enumerate(_NAMES)}
INK, MUTED, LINE, ACCENT, SECOND, THIRD, PAPER = COLOURS
# What is drawn as pixels can't change: these do on light and dark ground.
MISSING = (224, 138, 60)
FIRST_CLASS, SECOND_CLASS = "#3b8fc4", "#e08a3c"

# Any, as matplotlib types the name of each setting.
_STYLE: Any = {
    "svg.fonttype": "none",  # letters stay letters
    "text.parse_math": False,  # a name with dollars is a name
    "font.size": 9.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "lines.linewidth": 1.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.frameon": False,
}
WIDTH = 5.0  # of most drawings, in inches; a phone is about as wide
_HREF = "{http://www.w3.org/1999/xlink}href"
_TIPS = "tips"  # what a mark's name begins with if texts to show above it follow


@contextmanager
def drawing(width: float, height: float) -> Iterator[Any]:
    """Give a figure of matplotlib in our style, without touching its settings.

    Parameters
    ----------
    width, height : float
        In inches.

    Yields
    ------
    matplotlib.figure.Figure
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user has set
        mpl.rcParams.update(_STYLE)
        yield Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Any, name: str, title: str) -> str:
    """Return a figure as markup for a page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        Another for each drawing of a page: names of parts are made of it.
    title : str
        Read out in place of the drawing.

    Returns
    -------
    str
        The same for the same figure. All texts in it are escaped.
    """
    import matplotlib as mpl

    stream = io.BytesIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name}), warnings.catch_warnings():
        # Widths are guessed where the font lacks a letter; the browser has others.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(stream, format="svg", dpi=200, metadata=nothing)
    root = ElementTree.fromstring(stream.getvalue())
    used = {element.get(key) for element in root.iter() for key in (_HREF, "clip-path")}
    for element in root.iter():
        identity = element.attrib.pop("id", "")
        if identity.startswith(_TIPS):
            marks = element.findall(".//{*}use") or element.findall("{*}path")
            texts = json.loads(identity.removeprefix(_TIPS))
            for mark, text in zip(marks, texts, strict=True):
                ElementTree.SubElement(mark, "title").text = text
        elif used & {f"#{identity}", f"url(#{identity})"}:
            element.set("id", identity)
        if _HREF in element.attrib:
            element.set("href", element.attrib.pop(_HREF))
        for colour, variable in COLOURS.items():
            if "style" in element.attrib:
                style = element.attrib["style"].replace(colour, variable)
                element.set("style", style)
        element.tag = element.tag.rpartition("}")[2]  # a page knows without namespaces
    # The size is left to the page.
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    width = float(root.attrib["viewBox"].split()[2])
    root.set("style", f"width: {width * 4 / 3:.0f}px")
    root.set("role", "img")
    root.set("aria-label", title)
    return ElementTree.tostring(root, encoding="unicode")


def add_tips(marks: Any, texts: Sequence[str]) -> None:
    """Give the dots of a line, or the bars of a list, a text to show above each."""
    if hasattr(marks, "set_gid"):
        marks.set_gid(_TIPS + json.dumps(texts))
        return
    for mark, text in zip(marks, texts, strict=True):
        mark.set_gid(_TIPS + json.dumps([text]))


# --- axes


def cut(name: str, most: int = 24) -> str:
    """Return a name that is short enough for a drawing."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def write_beside(axes: Any, text: str, x: float, y: float) -> None:
    """Write a text behind a bar."""
    beside = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (x, y), fontsize=8, color=INK, **beside)


def list_names(axes: Any, names: Sequence[str], most: int = 24) -> None:
    """Name the lines, from top to bottom."""
    cuts = [cut(each, most) for each in names]
    axes.set_yticks(range(len(names)), cuts, fontsize=8.5)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def finish_lines(axes: Any, names: Sequence[str], label: str, most: int = 24) -> None:
    """Name the lines and the scale below them."""
    list_names(axes, names, most)
    axes.locator_params(axis="x", nbins=6)  # numbers of many digits need room
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(label)


def name_across(axes: Any, names: Sequence[str]) -> None:
    """Name the columns, above."""
    axes.xaxis.tick_top()
    axes.set_xticks(
        range(len(names)), [cut(each) for each in names], rotation=90, fontsize=8
    )
    axes.tick_params(axis="x", length=0)


def strip(axes: Any) -> None:
    """Leave the drawing alone, without frame and grid."""
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
