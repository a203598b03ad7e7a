"""What to look at in a table, in words."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lacunet._text import list_names, shorten
from lacunet.profile._facts import Facts
from lacunet.profile._holes import HoleColumn
from lacunet.profile._survey import Survey

if TYPE_CHECKING:
    from lacunet.profile._profile import Profile

NEARLY_ALWAYS = 0.95
_MOST_OF_A_KIND = 10  # notices; the rest is counted


def make_notices(profile: "Profile", survey: Survey) -> tuple[str, ...]:
    """Say what is odd about a table, and what was looked at.

    Parameters
    ----------
    profile : Profile
        Its own notices don't matter.
    survey : Survey

    Returns
    -------
    tuple of str
    """
    return (
        *_tell_of_size(profile),
        *_tell_of_columns(profile, survey),
        *_tell_of_cells(survey),
        *_tell_of_rows(profile, survey),
        *_tell_of_limits(profile),
    )


def _tell_of_size(profile: "Profile") -> Iterator[str]:
    if not profile.n_rows or not profile.n_columns:
        what = "rows" if profile.n_columns else "columns"
        yield f"The table has no {what}."
    elif not profile.n_missing:
        yield (
            "Nothing is missing. If values may be missing at prediction, the table "
            "says nothing about how."
        )


def _tell_of_columns(profile: "Profile", survey: Survey) -> Iterator[str]:
    for label, name in survey.renamed[:_MOST_OF_A_KIND]:
        yield f"Several columns are called {label!r}: here, a later one is {name!r}."
    if not profile.n_rows:
        return
    empty = [c.name for c in profile.columns if c.kind == "empty"]
    if empty:
        yield (
            f"{_count(empty, 'column has', 'columns have')} no value at all: "
            f"{list_names(empty)}. {_advise_drop(empty)}"
        )
    nearly = [
        c.name
        for c in profile.columns
        if c.kind != "empty" and c.share_missing >= NEARLY_ALWAYS
    ]
    if nearly:
        yield (
            f"{_count(nearly, 'column is', 'columns are')} missing in "
            f"{NEARLY_ALWAYS:.0%} of the rows or more: {list_names(nearly)}."
        )
    constant = [
        c.name for c in profile.columns if c.n_distinct == 1 and profile.n_rows > 1
    ]
    if constant:
        yield (
            f"{_count(constant, 'column has', 'columns have')} one value only: "
            f"{list_names(constant)}. All there is to learn is whether it is there."
        )
    never = [c.name for c in profile.columns if not c.n_missing]
    if never and profile.n_missing:
        yield (
            f"{_count(never, 'column is', 'columns are')} never missing here: "
            f"{list_names(never)}. If that may be otherwise at prediction, nothing in "
            f"this table shows how."
        )


def _tell_of_cells(survey: Survey) -> Iterator[str]:
    pairs = list(zip(survey.columns, survey.facts, strict=True))
    names = [column.name for column, facts in pairs if facts.id_like]
    if names:
        yield (
            f"{_count(names, 'column seems', 'columns seem')} to name the rows, as no "
            f"value occurs twice: {list_names(names)}. {_advise_drop(names)}"
        )
    told = [line for pair in pairs for line in _tell_of_markers(*pair)]
    yield from told[:_MOST_OF_A_KIND]
    if len(told) > _MOST_OF_A_KIND:
        yield (
            f"{len(told) - _MOST_OF_A_KIND} more columns have values that may stand "
            f"for missing ones."
        )
    endless = [column.name for column, facts in pairs if facts.infinite]
    if endless:
        yield (
            f"{_count(endless, 'column has', 'columns have')} infinite numbers: "
            f"{list_names(endless)}. Make them missing, or cut them off."
        )
    refused = [
        column
        for column, facts in pairs
        if column.kind == "other" and not facts.number_but_for
    ]
    for column in refused[:_MOST_OF_A_KIND]:
        yield f"No model can take {column.name!r}. {column.refusal}"


def _tell_of_markers(column: HoleColumn, facts: Facts) -> Iterator[str]:
    if not facts.markers:
        return
    shown = " and ".join(
        f"{shorten(text)!r} ({count:,} {'time' if count == 1 else 'times'})"
        for text, count in facts.markers[:3]
    )
    options = " ".join(
        f"--missing {shlex.quote(text)}" for text, _ in facts.markers[:3]
    )
    besides = " Without, it is a column of numbers." if facts.number_but_for else ""
    yield (
        f"{column.name!r} has values that may stand for missing ones: {shown}. If they "
        f"do, read the table with {options}, or replace them by NaN.{besides}"
    )


def _tell_of_rows(profile: "Profile", survey: Survey) -> Iterator[str]:
    if survey.n_duplicates:
        share = survey.n_duplicates / profile.n_rows
        yield (
            f"{_count_rows(survey.n_duplicates)} the same as an earlier one "
            f"({share:.1%}). If that is by mistake, scores on held-out rows are too "
            f"good."
        )
    if profile.rows.n_empty:
        yield f"{_count_rows(profile.rows.n_empty)} without a single value."
    if profile.target is not None and profile.target.n_missing:
        yield (
            f"{_count_rows(profile.target.n_missing)} without a target. No prediction "
            f"can be learned from them, but what columns have to do with each other."
        )


def _tell_of_limits(profile: "Profile") -> Iterator[str]:
    dependence = profile.dependence
    if not dependence.tests.n_tests:
        return
    if dependence.n_rows < profile.n_rows:
        yield (
            f"Counts are over all {profile.n_rows:,} rows; tests are on "
            f"{dependence.n_rows:,} of them, drawn at random."
        )
    n_tested = len(dependence.tests.columns)
    if n_tested < dependence.n_candidates:
        yield (
            f"Of {dependence.n_candidates:,} columns with holes, the {n_tested} with "
            f"the most were tested."
        )
    if len(dependence.tests.on) < sum(c.kind != "empty" for c in profile.columns):
        yield (
            f"Holes were compared with the {len(dependence.tests.on)} columns that "
            f"have the fewest holes."
        )


# --- words


def _count(names: list[str], one: str, many: str) -> str:
    return f"{len(names):,} {one if len(names) == 1 else many}"


def _count_rows(number: int) -> str:
    return "1 row is" if number == 1 else f"{number:,} rows are"


def _advise_drop(names: list[str]) -> str:
    options = " ".join(f"--drop {shlex.quote(name)}" for name in names[:3])
    more = " ..." if len(names) > 3 else ""
    return f"Leave out what is no use: {options}{more}."
