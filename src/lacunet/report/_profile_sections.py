"""The sections of a profile as blocks, and the sentences in them."""

from collections.abc import Sequence

from lacunet._text import show_percent
from lacunet.profile import (
    ColumnProfile,
    Dependence,
    HoleLink,
    LinkTable,
    Profile,
    TargetProfile,
)
from lacunet.profile._dependence import LEVEL
from lacunet.profile._findings import find_clearest
from lacunet.report._blocks import (
    Block,
    Card,
    Cards,
    Column,
    Entry,
    Fold,
    Line,
    Lines,
    Note,
    Picture,
    Pictures,
    Point,
    Points,
    Section,
    Sheet,
    Text,
)
from lacunet.report._drawing import cut
from lacunet.report._profile_plots import (
    Contrast,
    draw_contrast,
    draw_foresight,
    draw_links,
    draw_map,
    draw_patterns,
    draw_rows,
    draw_shares,
)
from lacunet.report._words import MINUS, show_count, show_list, show_p, tell_p

_MOST_BARS = 40
_MOST_PATTERNS = 15
_MOST_DOTS = 30  # columns beside patterns
_MOST_LINES = 200
_MOST_LINKS = 30  # in a sheet
_MOST_SQUARES = 25  # rows and columns of a drawing of links
_MOST_NAMES = 6
_MOST_GROUPS = 10
_MOST_CONTRASTS = 12
_ANCHORS = {
    "cells": "map-of-holes",
    "together": "patterns",
    "little": "dependence",
    "dependence": "dependence",
    "target": "target",
}


def make_summary(profile: Profile) -> tuple[Block, ...]:
    """Say the most important things first.

    Parameters
    ----------
    profile : Profile

    Returns
    -------
    tuple of Block
    """
    anchors = _ANCHORS if profile.n_missing else {}
    points = tuple(
        Point(finding.head, finding.text, anchors.get(finding.about, ""))
        for finding in profile.findings
    )
    return (Points(points), *(Text(notice, "note") for notice in profile.notices))


def tell_size(profile: Profile) -> str:
    """Return the size of the table in words."""
    rows = show_count(profile.n_rows, "row")
    size = f"{rows}, {show_count(profile.n_columns, 'column')}"
    target = profile.target
    return size if target is None else f"{size} and the target {target.name}"


# --- the map, columns, rows and patterns


def make_map_section(profile: Profile) -> Section:
    """Show the table from far away."""
    n_rows = profile.n_rows
    pictures = (
        Picture(
            draw_map("map-rows", profile.map_by_row, n_rows, "rows in order"),
            "Rows as they stand in the table",
        ),
        Picture(
            draw_map("map-sorted", profile.map_by_pattern, n_rows, "rows sorted"),
            "Rows sorted by what they lack",
        ),
    )
    caption = (
        "Missing cells are in colour; where many cells share a point, the stronger it "
        "is, the more of them are missing. Left: streaks mean that holes come with the "
        "order of the rows. Right: rows with the same holes stand together, complete "
        "rows at the top."
    )
    return Section("Map of holes", (Pictures(pictures, caption),))


def make_counts_section(profile: Profile) -> Section:
    """Show how much of each column is missing, and of how many rows."""
    ordered = sorted(profile.columns, key=lambda column: -column.n_missing)
    with_holes = [column for column in ordered if column.n_missing]
    sheet = _columns_sheet(ordered)
    if not with_holes:
        return Section("Columns", (sheet,))
    bars = [(c.name, c.share_missing) for c in with_holes[:_MOST_BARS]]
    pictures = (
        Picture(draw_shares("shares", bars), "How much of a column is missing"),
        Picture(draw_rows("rows", profile.rows), "How much is missing in a row"),
    )
    caption = _caption_counts(profile, len(with_holes), len(bars))
    fold = Fold("All columns in figures", (sheet,))
    return Section("Columns and rows", (Pictures(pictures, caption), fold))


def _caption_counts(profile: Profile, n_with_holes: int, n_shown: int) -> str:
    said = []
    if n_shown < n_with_holes:
        said.append(f"The {n_shown} columns with the most holes, of {n_with_holes:,}.")
    if n_with_holes < profile.n_columns:
        never = profile.n_columns - n_with_holes
        said.append(f"Never missing: {show_count(never, 'column')}.")
    said.append(f"Green: {show_count(profile.rows.n_complete, 'complete row')}.")
    if profile.rows.n_empty:
        said.append(f"Without any value: {show_count(profile.rows.n_empty, 'row')}.")
    return " ".join(said)


def _columns_sheet(columns: Sequence[ColumnProfile]) -> Sheet:
    lines = tuple(
        Line(
            column.name,
            (
                Entry(column.kind),
                Entry(f"{column.n_missing:,}"),
                Entry(show_percent(column.share_missing)),
                Entry(f"{column.n_distinct:,}"),
            ),
        )
        for column in columns[:_MOST_LINES]
    )
    titles = ("kind", "missing", "share", "distinct values")
    more = len(columns) - len(lines)
    caption = f"The {len(lines)} with the most holes; {more:,} more." if more else ""
    return Sheet("column", tuple(map(Column, titles)), (Lines(lines),), caption)


def make_patterns_section(profile: Profile) -> Section:
    """Show which cells are missing together."""
    together = profile.together
    blocks = _show_patterns(profile)
    points = [*_tell_groups(together.always), *_tell_implied(together.only_if)]
    if points:
        blocks.append(Points(tuple(points)))
    if together.pairs:
        blocks.append(Fold("Pairs of columns in figures", (_pairs_sheet(profile),)))
    return Section("Patterns", tuple(blocks))


def _show_patterns(profile: Profile) -> list[Block]:
    counts = profile.patterns
    shown = counts.frequent[:_MOST_PATTERNS]
    if profile.n_rows > 1 and shown[0].n_rows == 1:
        return [Text("No two rows lack the same cells.")]
    held = {name for pattern in shown for name in pattern.missing}
    columns = [c.name for c in profile.columns if c.name in held][:_MOST_DOTS]
    picture = Picture(draw_patterns("patterns", shown, columns))
    n_rest = profile.n_rows - sum(pattern.n_rows for pattern in shown)
    caption = (
        f"Each line is a pattern: a square where a column is missing, and the number "
        f"of rows that have it. {show_count(counts.n_patterns, 'pattern')} in all"
    )
    caption += f"; {show_count(n_rest, 'row')} in others." if n_rest else "."
    if len(columns) < len(held):
        caption += f" {len(held) - len(columns)} more columns are not shown."
    return [Pictures((picture,), caption)]


def _tell_groups(groups: Sequence[Sequence[str]]) -> list[Point]:
    told = "; ".join(_list(group) for group in groups[:_MOST_GROUPS])
    return [Point("Always missing together", f"{told}.")] if groups else []


def _tell_implied(pairs: Sequence[tuple[str, str]]) -> list[Point]:
    told = "; ".join(f"{one}: where {other} is" for one, other in pairs[:_MOST_GROUPS])
    return [Point("Missing only where another is", f"{told}.")] if pairs else []


def _pairs_sheet(profile: Profile) -> Sheet:
    lines = tuple(
        Line(
            f"{pair.first} and {pair.second}",
            (
                Entry(f"{pair.phi:.2f}".replace("-", MINUS)),
                Entry(f"{pair.both:,}"),
                Entry(f"{pair.only_first:,}"),
                Entry(f"{pair.only_second:,}"),
            ),
        )
        for pair in profile.together.pairs[:_MOST_LINKS]
    )
    titles = ("correlation", "both missing", "only the first", "only the second")
    return Sheet("columns", tuple(map(Column, titles)), (Lines(lines),))


# --- tests


def make_tests_section(profile: Profile) -> Section:
    """Say whether and how holes depend on values."""
    dependence = profile.dependence
    blocks: list[Block] = [
        Cards((_little_card(profile),)),
        *_show_links(dependence.tests, profile),
        *_show_foresight(dependence),
        Text(dependence.caveat, "warning"),
    ]
    return Section("Dependence", tuple(blocks), "Whether holes have to do with values.")


def _little_card(profile: Profile) -> Card:
    title = "Are values missing completely at random?"
    told = next(each.text for each in profile.findings if each.about == "little")
    little = profile.little
    if little is None:
        return Card(title, "Little's test", "not tested", "", told)
    facts = {
        "statistic": f"{little.statistic:.2f}",
        "degrees of freedom": f"{little.df:,}",
        "p": show_p(little.p_value),
        "patterns": f"{little.n_patterns:,}",
        "rows alone with their pattern": f"{little.n_alone:,}",
    }
    place = (
        f"{show_count(little.n_columns, 'column')} of numbers, "
        f"{show_count(little.n_rows, 'row')}"
    )
    rule = _tell_rule(little.left_out, profile.little_note)
    if little.p_value <= LEVEL:
        return Card(title, place, "no", "worse", told, rule, facts)
    return Card(title, place, "maybe", "", told, rule, facts)


def _tell_rule(left_out: Sequence[tuple[str, str]], note: str) -> str:
    rule = (
        "The mean of the rows with a pattern of holes is compared with the mean of "
        "all, as the likeliest normal distribution has it. The test takes numbers to "
        "be about normal; rows that are alone with their pattern add nothing to it."
    )
    if note:
        rule += f" {note[:1].upper()}{note[1:]}."
    if left_out:
        rule += f" Left out: {_list([f'{name} ({why})' for name, why in left_out])}."
    return rule


def _show_foresight(dependence: Dependence) -> list[Block]:
    if not dependence.foreseen:
        return []
    lines = [(each.column, each.auc, each.auc_values) for each in dependence.foreseen]
    sure = sum(each.p_adjusted <= LEVEL for each in dependence.foreseen)
    caption = (
        f"The chance that of two rows the other columns tell in which one this column "
        f"is missing, on rows that were not learned from. It is more than chance for "
        f"{sure} of {len(lines)} columns. Where only the filled dot is far from 0.5, "
        f"columns are missing together, but not for certain values. By gradient "
        f"boosting on {dependence.n_rows_learned:,} rows."
    )
    title = "Can holes be foreseen from the rest of a row?"
    return [Pictures((Picture(draw_foresight("foresight", lines), title),), caption)]


def _show_links(tests: LinkTable, profile: Profile) -> list[Block]:
    if not tests.n_tests:
        return [Text("There are too few holes to see what they depend on.")]
    if not tests.links:
        return []
    pictures = (
        *_draw_some(tests, "value", "By the other's value", profile),
        *_draw_some(tests, "missing", "By the other's being missing", profile),
    )
    caption = (
        "Left: the column with holes; above: what tells of them. The number is from "
        "0, nothing, to 100, everything (100 (2 AUC − 1)). Blue: missing where the "
        "other is high, or missing as well; orange: where it is low, or there; green: "
        "at some levels of a category. Only what is more than chance is shown."
    )
    return [
        *_show_contrast("contrast", tests, "Where columns are missing most often"),
        Pictures(pictures, caption),
        Fold("What depends on what, in figures", (_links_sheet(tests),)),
    ]


def _show_contrast(name: str, tests: LinkTable, title: str) -> list[Block]:
    lines = [
        Contrast(
            link.column,
            f"{cut(link.on)} {link.where}",
            link.share_there,
            link.share_elsewhere,
        )
        for link in find_clearest(tests)
    ]
    if not lines:
        return []
    picture = Picture(draw_contrast(name, lines[:_MOST_CONTRASTS], title), title)
    return [Pictures((picture,))]


def _draw_some(
    tests: LinkTable, by: str, title: str, profile: Profile
) -> list[Picture]:
    links = [link for link in tests.links if link.by == by]
    rows = list(dict.fromkeys(link.column for link in links))[:_MOST_SQUARES]
    columns = list(dict.fromkeys(link.on for link in links if link.column in rows))
    columns = columns[:_MOST_SQUARES]
    if not rows or not columns:
        return []
    order = [column.name for column in profile.columns]
    kinds = {column.name: column.kind for column in profile.columns}
    cells = [
        (link.column, link.on, link.strength, _direct(link, kinds[link.on]))
        for link in links
        if link.column in rows and link.on in columns
    ]
    svg = draw_links(
        f"links-{by}",
        [name for name in order if name in rows],
        [name for name in order if name in columns],
        cells,
        title,
    )
    return [Picture(svg, title)]


def _direct(link: HoleLink, kind: str) -> str:
    if link.by == "value" and kind == "category":
        return ""
    return "+" if link.auc > 0.5 else "-"


def _links_sheet(tests: LinkTable) -> Sheet:
    lines = tuple(
        Line(
            link.column,
            (
                Entry(f"{link.on} {link.where}"),
                Entry(show_percent(link.share_there)),
                Entry(show_percent(link.share_elsewhere)),
                Entry(f"{0.5 + link.strength / 2:.2f}"),
                Entry(show_p(link.p_adjusted)),
            ),
        )
        for link in tests.links[:_MOST_LINKS]
    )
    titles = ("where", "missing there", "elsewhere", "AUC", "p")
    note = (
        "corrected for the number of tests (Benjamini and Hochberg); by Mann and "
        "Whitney's test for numbers and dates, the chi-squared test for categories, "
        "Fisher's test for holes"
    )
    some = len(lines) < tests.n_links
    caption = f"The strongest of {tests.n_links:,} found." if some else ""
    return Sheet(
        "missing",
        (*map(Column, titles[:-1]), Column("p*")),
        (Lines(lines),),
        caption,
        notes=(Note("*", note),),
    )


def make_target_section(target: TargetProfile) -> Section:
    """Say what holes tell of the target."""
    blocks: list[Block] = []
    if target.n_missing:
        blocks.append(Text(f"{show_count(target.n_missing, 'row')} without a target."))
    score = target.score
    if score is not None:
        told = (
            f"From nothing but which cells are missing, {max(score.explained, 0):.1%} "
            f"of its deviance is explained on rows that were not learned from "
            f"({tell_p(score.p_value)})."
        )
        blocks.append(Text(told))
    if target.tests.links:
        title = f"Where columns are missing most often, by {target.name}"
        blocks += _show_contrast("target", target.tests, title)
        blocks.append(Fold("In figures", (_links_sheet(target.tests),)))
    else:
        blocks.append(Text("No column's holes depend on it, as far as can be seen."))
    return Section("Target", tuple(blocks), f"What holes tell of {target.name}.")


# --- words


def _list(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return show_list(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
