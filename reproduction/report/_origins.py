"""How results came about: protocols, versions, commits, and what failed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from reproduction.experiments import PROTOCOLS, list_experiments, load_experiment
from reproduction.report._blocks import (
    Block,
    Column,
    Entry,
    Line,
    Lines,
    Section,
    Sheet,
    Text,
)
from reproduction.report._folder import Folder
from reproduction.report._gaps import why
from reproduction.report._slices import Slice, name_method, name_protocol
from reproduction.report._tables import show_title
from reproduction.report._words import DASH, show_count, show_list, show_seconds
from reproduction.statistics import Cell

SHORT = 10  # letters of a commit
_CHANGED = "-dirty"


def make_origins_section(folder: Folder) -> Section:
    """Return the section of protocols and versions.

    Parameters
    ----------
    folder : Folder

    Returns
    -------
    Section
    """
    blocks: list[Block] = [_protocols_sheet()]
    slices = find_slices(folder)
    if slices:
        blocks += [_runs_sheet(slices), *_show_versions(folder.cells)]
    unknown = sorted(
        {cell.experiment for cell in folder.cells} - set(list_experiments())
    )
    if unknown:
        told = f"Cells of experiments that are not known here: {show_list(unknown)}."
        blocks.append(Text(told, "warning"))
    failures = _failures_sheet(slices)
    if failures.lines:
        blocks.append(failures)
    return Section("Protocol and versions", tuple(blocks))


def find_slices(folder: Folder) -> list[Slice]:
    """Return the slices of all experiments, in the order of the paper."""
    experiments = map(load_experiment, list_experiments())
    return [part for each in experiments for part in folder.slices(each)]


def find_failed(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells without a value."""
    return [cell for cell in cells if cell.value is None]


def find_mixed(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """Return the packages of which there are several versions.

    Parameters
    ----------
    cells : iterable of Cell

    Returns
    -------
    dict of str to list of str
    """
    return {name: some for name, some in _versions(cells).items() if len(some) > 1}


def find_commits(cells: Iterable[Cell]) -> list[str]:
    """Return the commits that cells were made by, each once, cut short."""
    return sorted({_shorten(cell.commit) for cell in cells})


def _shorten(commit: str | None) -> str:
    if commit is None:
        return "unknown"
    changed = " with changes" if commit.endswith(_CHANGED) else ""
    return commit.removesuffix(_CHANGED)[:SHORT] + changed


# --- sheets


def _protocols_sheet() -> Sheet:
    lines = [
        Line(name_protocol(key), (Entry(protocol.description),))
        for key, protocol in PROTOCOLS.items()
    ]
    return Sheet(
        "", (Column("how it is measured"),), (Lines(tuple(lines)),), prose=True
    )


def _runs_sheet(slices: Sequence[Slice]) -> Sheet:
    groups: dict[str, list[Line]] = defaultdict(list)
    for part in slices:
        groups[show_title(part.experiment.name)].append(_run_line(part))
    titles = (
        "data",
        "seeds",
        "folds",
        "cells",
        "failed",
        "commits",
        "time on one core",
    )
    return Sheet(
        corner="experiment",
        columns=tuple(map(Column, titles)),
        groups=tuple(Lines(tuple(lines), title) for title, lines in groups.items()),
        caption="Cells are folds times seeds times methods times metrics; behind the "
        "stroke how many a whole run has.",
    )


def _run_line(part: Slice) -> Line:
    planned = part.find_planned()
    n_cells = f"{len(part.cells):,}"
    return Line(
        part.title,
        (
            Entry(part.tag or "the paper's"),
            Entry(str(len({cell.seed for cell in part.cells}))),
            Entry(str(len({cell.fold for cell in part.cells}))),
            Entry(f"{n_cells} / {len(planned):,}" if planned else n_cells),
            Entry(str(len(find_failed(part.cells)))),
            Entry(", ".join(find_commits(part.cells))),
            Entry(show_seconds(_total_seconds(part.cells))),
        ),
    )


def _total_seconds(cells: Iterable[Cell]) -> float:
    """Return the time of all fits; the metrics of one fit share it."""
    return sum({cell.key[:-1]: cell.seconds for cell in cells}.values())


def _failures_sheet(slices: Sequence[Slice]) -> Sheet:
    """Return the reasons of cells without a value, each with its data sets."""
    groups: list[Lines] = []
    for part in slices:
        found: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        for cell in find_failed(part.cells):
            found[cell.method, why(cell)].append(cell)
        if found:
            named = filter(None, (part.title.lower(), part.tag))
            title = f"{show_title(part.experiment.name)}, {', '.join(named)}"
            lines = [_failure_line(*key, cells) for key, cells in found.items()]
            groups.append(Lines(tuple(lines), title))
    return Sheet(
        "failed",
        tuple(map(Column, ("data sets", "cells", "reason"))),
        tuple(groups),
        caption="Cells without a value.",
        prose=True,
    )


def _failure_line(method: str, reason: str, cells: Sequence[Cell]) -> Line:
    sets = show_list(sorted({cell.dataset for cell in cells}))
    return Line(
        name_method(method), (Entry(sets), Entry(str(len(cells))), Entry(reason))
    )


def _show_versions(cells: Sequence[Cell]) -> tuple[Block, ...]:
    commits = find_commits(cells)
    told = [
        f"All cells were made by commit {commits[0]}."
        if len(commits) == 1
        else f"Cells were made by {show_count(len(commits), 'commit')}, so numbers of "
        f"one table may come from different code: {show_list(commits)}."
    ]
    mixed = find_mixed(cells)
    if mixed:
        told.append(f"Several versions are mixed of {show_list(list(mixed))}.")
    lines = [
        Line(name, (Entry(", ".join(some) or DASH),))
        for name, some in _versions(cells).items()
    ]
    sheet = Sheet("package", (Column("version"),), (Lines(tuple(lines)),), prose=True)
    is_plain = len(commits) == 1 and not mixed
    return Text(" ".join(told), "" if is_plain else "warning"), sheet


def _versions(cells: Iterable[Cell]) -> Mapping[str, list[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        for name, version in cell.versions.items():
            found[name].add(version)
    return {name: sorted(found[name]) for name in sorted(found)}
