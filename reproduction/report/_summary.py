"""What the results say, in words that are made from the numbers."""

from math import isfinite
from statistics import fmean
from typing import Any

from reproduction.experiments import load_experiment
from reproduction.experiments._claims_chance import FEWEST_SEEDS, MARGIN
from reproduction.report._authors import find_beside, tell_authors
from reproduction.report._blocks import Block, Point, Points, Text
from reproduction.report._comparisons import ALPHA, friedman_p, tell_differences
from reproduction.report._figures import FIGURES
from reproduction.report._folder import Folder
from reproduction.report._origins import (
    find_commits,
    find_failed,
    find_mixed,
    find_slices,
)
from reproduction.report._patches import tell_patches
from reproduction.report._scores_sheet import METRICS, find_scores, find_winners
from reproduction.report._slices import (
    AUTHORS,
    IMPUTATIONS,
    OURS,
    PAPER,
    Slice,
    name_method,
)
from reproduction.report._standing import Standing, find_standing
from reproduction.report._tables import (
    TABLES,
    Shown,
    find_joined,
    show_slice,
    show_title,
)
from reproduction.report._verdicts import count_verdicts
from reproduction.report._words import (
    show_count,
    show_difference,
    show_list,
    show_place,
    show_value,
    tell_p,
)
from reproduction.statistics import mean_table

MOST_NAMED = 4  # of a list in a sentence


def make_summary(folder: Folder, verdicts: tuple[Any, ...]) -> tuple[Block, ...]:
    """Return what a reader is told first.

    Parameters
    ----------
    folder : Folder
    verdicts : tuple of Verdict

    Returns
    -------
    tuple of Block
    """
    points = [_tell_table(folder, name) for name in TABLES]
    points += [_tell_joined(part) for part in find_joined(folder)]
    points.append(Point("Claims", count_verdicts(verdicts), "claims"))
    points.append(_tell_gaps(folder))
    scope = _tell_scope(folder)
    return (*((Text(scope, "warning"),) if scope else ()), Points(_some(points)))


def _some(points: list[Point | None]) -> tuple[Point, ...]:
    return tuple(point for point in points if point is not None)


def _tell_scope(folder: Folder) -> str:
    """Return a warning if there is nothing of the paper's protocol on its data."""
    tables = [part for part in find_slices(folder) if part.experiment.name in TABLES]
    if not tables or any(
        part.data == "paper" and part.protocol == PAPER for part in tables
    ):
        return ""
    if any(part.data == "paper" for part in tables):
        return (
            "Nothing here is measured by the paper's protocol. What follows is a first "
            "look, and no comparison with the paper's figures."
        )
    return (
        "All tables here are of stand-in data, which come with scikit-learn. They show "
        "that everything runs; they say nothing about the paper's figures, and little "
        "about which method is better."
    )


# --- tables


def _tell_table(folder: Folder, name: str) -> Point | None:
    """Return who is first, where the paper's method stands, and who wins where."""
    every = folder.slices(load_experiment(name))
    slices = [part for part in every if part.protocol != AUTHORS]
    if not slices:
        return None
    shown = show_slice(slices[0])
    told = [
        *_tell_standing(shown.standing),
        _tell_winners(shown),
        _tell_errors(shown.part),
        _tell_reported(shown.part),
        tell_patches(shown.part),
        *(
            tell_authors(part, find_beside(part, [shown.part]))
            for part in every
            if part.protocol == AUTHORS
        ),
    ]
    title = show_title(name)
    return Point(
        f"{title} ({_describe(slices[0])})",
        " ".join(filter(None, told)) or "No two methods have numbers yet.",
        title.lower().replace(" ", "-"),
    )


def _describe(part: Slice) -> str:
    words = [part.title.lower(), part.tag]
    return ", ".join(filter(None, words))


def _tell_standing(standing: Standing | None) -> list[str]:
    if standing is None:
        return []
    told = [_tell_first(standing), _tell_paper(standing)]
    if standing.independent and standing.controls:
        told.append(_tell_tests(standing))
    return told


def _tell_tests(standing: Standing) -> str:
    """Return whether anything is proven: the pairs only if the gate is passed."""
    p = friedman_p(standing)
    if p is not None and p > ALPHA:
        return f"Friedman's test does not tell the methods apart ({tell_p(p)})."
    return tell_differences(standing, standing.controls[0])


def _tell_first(standing: Standing) -> str:
    """Return who is first, who comes next, and where ours stands."""
    best = standing.ranks[0].rank
    first = [name_method(key) for key, rank in standing.ranks if rank == best]
    verb = "has" if len(first) == 1 else "share"
    told = f"{show_list(first)} {verb} the best "
    told += (
        f"figure of {len(standing.ranks)} methods"
        if standing.single
        else f"mean rank of {len(standing.ranks)} methods over {standing.over}"
        f"{_show_rank(standing, best)}"
    )
    behind = standing.ranks[len(first) :]
    if behind:
        next_rank = _show_rank(standing, behind[0].rank)
        told += f", before {name_method(behind[0].method)}{next_rank}"
    if OURS not in [each.method for each in behind[1:]]:
        return f"{told}."
    place, rank = show_place(standing.place_of(OURS)), dict(standing.ranks)[OURS]
    return f"{told}; {name_method(OURS)} is {place}{_show_rank(standing, rank)}."


def _show_rank(standing: Standing, rank: float) -> str:
    """Return a mean rank in brackets; of one row, the place says it all."""
    return "" if standing.single else f" ({rank:.2f})"


def _tell_paper(standing: Standing) -> str:
    """Return where the paper's method stands, and which imputations it beats."""
    rank = standing.rank_of(PAPER)
    if rank is None:
        return "The paper's method has no mean rank here."
    ranks = {key: of for key, of in standing.ranks if key in IMPUTATIONS}
    beaten = [name_method(key) for key, other in ranks.items() if rank < other]
    ahead = [name_method(key) for key, other in ranks.items() if rank >= other]
    place = show_place(standing.place_of(PAPER))
    told = f"The paper's method is {place}{_show_rank(standing, rank)}"
    if not ranks:
        return f"{told}."
    if not ahead:
        return f"{told}, before {show_list(beaten)}."
    if not beaten:
        return f"{told}, not before {show_list(ahead)}."
    return f"{told}, before {show_list(beaten)}, but not before {show_list(ahead)}."


def _tell_winners(shown: Shown) -> str:
    """Return who is best in which column."""
    sheet = shown.sheets[0]
    n_columns = len(find_scores(sheet))
    told = [
        f"{title} in all {n_columns} columns"
        if len(places) == n_columns > 1
        else f"{title} on {_few(places)}"
        for title, places in find_winners(sheet).items()
    ]
    return f"Best in single columns: {'; '.join(told)}." if told else ""


def _tell_errors(part: Slice) -> str:
    """Return by which of several errors ours is below which imputations."""
    if part.experiment.higher_is_better or len(part.main_rows) > 1:
        return ""
    told, close = [], []
    for metric in part.experiment.metrics:
        errors = _errors(part, metric)
        if OURS not in errors:
            continue
        ours = errors.pop(OURS)
        near = [
            name_method(key)
            for key, other in errors.items()
            if _may_be_chance(ours, other)
        ]
        if near:
            close.append(f"{METRICS[metric]} of {show_list(near)}")
        beaten = [name_method(key) for key, other in errors.items() if ours < other]
        ahead = [name_method(key) for key, other in errors.items() if ours >= other]
        lists = [
            f"lower than of {show_list(beaten)}" if beaten else "",
            f"not lower than of {show_list(ahead)}" if ahead else "",
        ]
        told.append(f"{METRICS[metric]} {', '.join(filter(None, lists))}")
    if not told:
        return ""
    text = f"The error of {name_method(OURS)}: {'; '.join(told)}."
    n_seeds = len({cell.seed for cell in part.cells})
    if not close or n_seeds >= FEWEST_SEEDS:
        return text
    return (
        f"{text} Within {MARGIN:.0%} of it, which may be chance with "
        f"{show_count(n_seeds, 'seed')}: {'; '.join(close)}."
    )


def _may_be_chance(ours: float, other: float) -> bool:
    return abs(ours - other) <= MARGIN * other


def _errors(part: Slice, metric: str) -> dict[str, float]:
    """Return the errors of ours and of the imputations on the paper's own row."""
    if not any(cell.metric == metric for cell in part.cells):
        return {}
    table = mean_table(part.cells, metric)
    means = dict(
        zip(table.methods, table.mean[table.rows.index(part.main_rows[0])], strict=True)
    )
    errors = {
        key: float(means[key])
        for key in (OURS, *IMPUTATIONS)
        if key in means and isfinite(means[key])
    }
    return errors if len(errors) > 1 else {}


def _few(places: list[str]) -> str:
    if len(places) <= MOST_NAMED:
        return show_list(places)
    return f"{len(places)} ({', '.join(places[:MOST_NAMED])}, ...)"


def _tell_reported(part: Slice) -> str:
    """Return how far the paper's method is from what the paper reports of it."""
    reported = part.experiment.reported.get(part.metric, {})
    if part.data != "paper" or PAPER not in part.methods:
        return ""
    table = mean_table(part.cells, part.metric)
    j = table.methods.index(PAPER)
    pairs = [
        (float(table.mean[i, j]), reported[row][PAPER])
        for i, row in enumerate(table.rows)
        if table.count[i, j] and PAPER in reported.get(row, {})
    ]
    if not pairs:
        return ""
    better = part.experiment.higher_is_better
    n_reached = sum(
        ours >= theirs if better else ours <= theirs for ours, theirs in pairs
    )
    if len(pairs) == 1:
        ours, theirs = (show_value(each, part.metric) for each in pairs[0])
        return f"The paper reports {theirs} for its method, here it has {ours}."
    distance = fmean(ours - theirs for ours, theirs in pairs)
    return (
        f"Here the paper's method reaches what the paper reports of it in {n_reached} "
        f"of {len(pairs)} rows, on average {show_difference(distance, part.metric)}."
    )


def _tell_joined(part: Slice) -> Point | None:
    standing = find_standing(part)
    if standing is None:
        return None
    told = " ".join(_tell_standing(standing))
    return Point(f"Tables 4 and 6 together ({_describe(part)})", told, "table-6")


# --- gaps


def _tell_gaps(folder: Folder) -> Point:
    """Return what was not run, is not finished, has failed or is mixed."""
    told = [
        _tell_unrun(folder),
        *_tell_unfinished(folder),
        _tell_failed(folder),
        _tell_mixed(folder),
    ]
    return Point(
        "What is missing",
        " ".join(filter(None, told))
        or "Nothing: everything was run, and nothing failed.",
        "protocol-and-versions",
    )


def _tell_unrun(folder: Folder) -> str:
    unrun = [show_title(name) for name in (*TABLES, *FIGURES) if not folder.has(name)]
    return f"Not run yet: {show_list(unrun)}." if unrun else ""


def _tell_unfinished(folder: Folder) -> list[str]:
    told = []
    for part in find_slices(folder):
        n_missing = part.count_missing()
        if n_missing:
            told.append(
                f"{show_title(part.experiment.name)} ({_describe(part)}) is not "
                f"finished: {n_missing:,} of {len(part.find_planned()):,} cells are to "
                f"be run."
            )
    return told


def _tell_failed(folder: Folder) -> str:
    failed = find_failed(folder.cells)
    if not failed:
        return ""
    methods = sorted({name_method(cell.method) for cell in failed})
    return (
        f"{show_count(len(failed), 'cell')} without a value, of {show_list(methods)}; "
        f"the reasons stand below the tables."
    )


def _tell_mixed(folder: Folder) -> str:
    commits, mixed = find_commits(folder.cells), find_mixed(folder.cells)
    told = []
    if len(commits) > 1:
        told.append(show_count(len(commits), "commit"))
    if mixed:
        told.append(f"several versions of {show_list(list(mixed))}")
    return f"The cells are of {' and '.join(told)}." if told else ""
