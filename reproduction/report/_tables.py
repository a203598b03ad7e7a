"""The sections of tables."""

from dataclasses import dataclass

from reproduction.experiments import Experiment, load_experiment
from reproduction.report._authors import find_beside, show_authors
from reproduction.report._blocks import (
    Block,
    Column,
    Command,
    Entry,
    Fold,
    Line,
    Lines,
    Part,
    Picture,
    Pictures,
    Section,
    Sheet,
    Text,
)
from reproduction.report._comparisons import (
    compare_all,
    compare_with,
    make_rivals_sheet,
    make_within_sheet,
    tell_differences,
    tell_friedman,
)
from reproduction.report._folder import Folder
from reproduction.report._gaps import tell_unrun
from reproduction.report._patches import tell_patches
from reproduction.report._plots import draw_ranks
from reproduction.report._scores_sheet import (
    RANK,
    make_scores_sheets,
)
from reproduction.report._slices import (
    AUTHORS,
    OURS,
    PAPER,
    Slice,
    join_slices,
    name_method,
)
from reproduction.report._standing import Standing, find_standing
from reproduction.report._words import show_count, show_list
from reproduction.statistics import cliques

TABLES = ("table-1", "table-2", "table-4", "table-6")
# Sets of the same kind, under the same protocol: more of them allow more.
JOINED = ("table-4", "table-6")


@dataclass(frozen=True, eq=False)
class Shown:
    """A slice with its table, and who stands where.

    Attributes
    ----------
    part : Slice
    sheets : tuple of Sheet
    standing : Standing or None
    """

    part: Slice
    sheets: tuple[Sheet, ...]
    standing: Standing | None


def show_slice(part: Slice) -> Shown:
    """Return a slice with its table."""
    standing = find_standing(part)
    # Over one row, they say no more than its numbers.
    ranked = standing is not None and len(standing.scores.datasets) > 1
    ranks = dict(standing.ranks) if standing and ranked else {}
    over = standing.over if standing else ""
    return Shown(part, make_scores_sheets(part, ranks, over), standing)


def show_title(name: str) -> str:
    """Return the heading of an experiment.

    Examples
    --------
    >>> from reproduction.report._tables import show_title
    >>> show_title("table-1"), show_title("figure-gamma")
    ('Table 1', 'Figure gamma')
    """
    return name.replace("-", " ").capitalize()


def ask_to_run(experiment: Experiment) -> tuple[Block, ...]:
    """Return what stands in the place of results that are not there."""
    protocol = experiment.protocols[0]
    command = f"lacunet reproduce {experiment.name} --protocol {protocol}"
    return Text("Not run yet: there are no results. This runs it:"), Command(command)


def make_table_section(folder: Folder, name: str) -> Section:
    """Return the section of a table.

    Parameters
    ----------
    folder : Folder
    name : str

    Returns
    -------
    Section
    """
    experiment = load_experiment(name)
    slices = folder.slices(experiment)
    if slices:
        parts = [_make_part(each, slices) for each in slices]
        blocks: tuple[Block, ...] = (Text(experiment.note), *parts)
    else:
        blocks = ask_to_run(experiment)
    joined = _join_tables(folder) if name == JOINED[-1] else ()
    return Section(show_title(name), (*blocks, *joined), lead=experiment.title)


def _make_part(part: Slice, slices: list[Slice]) -> Part:
    if part.protocol == AUTHORS:
        return Part(part.title, show_authors(part, find_beside(part, slices)), part.tag)
    shown = show_slice(part)
    unrun, patches = tell_unrun(part), tell_patches(part)
    blocks = (
        *((Text(unrun, "warning"),) if unrun else ()),
        *shown.sheets,
        *((Text(patches),) if patches else ()),
        *_show_standing(part, shown.standing),
        *_show_within(part),
    )
    return Part(part.title, blocks, part.tag)


# --- who stands where


def _show_standing(part: Slice, standing: Standing | None) -> tuple[Block, ...]:
    """Return ranks, and tests over data sets."""
    if standing is None:
        return (Text("Less than two methods have numbers here: there are no ranks."),)
    told = [tell_friedman(standing), standing.tell_left_out()]
    texts: list[Block] = [Text(" ".join(filter(None, told)))]
    if not standing.independent:
        return tuple(texts)
    sheets = [
        Fold(
            f"{name_method(key)} against each rival",
            (make_rivals_sheet(standing, key),),
        )
        for key in standing.controls
    ]
    return (*texts, _draw_standing(part, standing), *sheets)


def _draw_standing(part: Slice, standing: Standing) -> Pictures:
    """Return the critical-difference plot: bars if all pairs can be compared."""
    named = [(name_method(key), rank) for key, rank in standing.ranks]
    name = f"ranks-{part.experiment.name}-{part.protocol}-{part.data}".replace("+", "-")
    accents = [name_method(key) for key in (OURS, PAPER)]
    tests = compare_all(standing)
    if tests is not None:
        groups = cliques(standing.ranks, tests)
        titles = [[name_method(key) for key in group] for group in groups]
        svg = draw_ranks(name, named, groups=titles, accents=accents)
        caption = (
            f"Critical-difference plot over {standing.over}. A bar joins methods that "
            f"Wilcoxon's test with Holm's correction over all "
            f"{show_count(len(tests.pairs), 'pair')} can't tell apart."
        )
        return Pictures((Picture(svg),), caption)
    caption = (
        f"Mean ranks over {standing.over}, too few to compare all pairs of "
        f"{len(named)} methods, so that one at a time is compared with the others."
    )
    if not standing.controls:
        return Pictures((Picture(draw_ranks(name, named, accents=accents)),), caption)
    control = standing.controls[0]
    pairs = compare_with(standing, control).pairs
    different = [name_method(pair.second) for pair in pairs if pair.different]
    filled = [name_method(control), *different] if different else ()
    svg = draw_ranks(name, named, filled=filled, accents=accents)
    if different:
        caption += f" Filled dots differ from {name_method(control)}."
    return Pictures((Picture(svg),), f"{caption} {tell_differences(standing, control)}")


def _show_within(part: Slice) -> tuple[Block, ...]:
    """Return tests within single data sets."""
    found = {key: make_within_sheet(part, key) for key in (OURS, PAPER)}
    return tuple(
        Fold(f"{name_method(key)} within each data set", (sheet,))
        for key, sheet in found.items()
        if sheet is not None
    )


# --- two tables as one


def find_joined(folder: Folder) -> list[Slice]:
    """Return the slices of tables 4 and 6 together, where both were run on real data.

    Parameters
    ----------
    folder : Folder

    Returns
    -------
    list of Slice
    """
    first, second = (folder.slices(load_experiment(name)) for name in JOINED)
    return [
        join_slices(one, other)
        for one in first
        for other in second
        if one.protocol == other.protocol != AUTHORS
        and one.data == other.data == "paper"
    ]


def _join_tables(folder: Folder) -> tuple[Block, ...]:
    return tuple(
        Part(
            f"Tables 4 and 6 together, {part.title.lower()}",
            (Text(tell_joined(standing)), *_show_standing(part, standing)),
            part.tag,
        )
        for part in find_joined(folder)
        if (standing := find_standing(part)) is not None
    )


def make_ranks_sheet(standing: Standing) -> Sheet:
    """Return the methods with their mean ranks, the best first.

    Parameters
    ----------
    standing : Standing

    Returns
    -------
    Sheet
    """
    best = standing.ranks[0].rank
    lines = [
        Line(
            name_method(key),
            (Entry(f"{rank:.2f}", strong=rank == best),),
            accent=key in (OURS, PAPER),
        )
        for key, rank in standing.ranks
    ]
    told = (tell_joined(standing), tell_friedman(standing), standing.tell_left_out())
    return Sheet(
        corner="method",
        columns=(Column(RANK),),
        groups=(Lines(tuple(lines)),),
        caption=" ".join(filter(None, told)),
    )


def tell_joined(standing: Standing) -> str:
    """Return which data sets count once."""
    pairs = [name for name in standing.scores.datasets if "+" in name]
    told = f"{standing.over} of both tables, ranked as one."
    if not pairs:
        return told
    named = show_list([" with ".join(name.split("+")) for name in pairs])
    return f"{told} Sets over the same patients count once: {named}."
