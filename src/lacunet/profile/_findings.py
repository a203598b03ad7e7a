"""What a profile found, in words: findings, and notices of what may be wrong."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import join_words, list_names, shorten, show_count, show_percent
from lacunet.profile._association import SIGNIFICANCE, Association
from lacunet.profile._input import Column, Oddities

if TYPE_CHECKING:
    from lacunet.profile._profile import Profile

_MAX_OF_A_KIND = 10  # notices; the others are counted


@dataclass(frozen=True)
class Finding:
    """A finding of a profile.

    Attributes
    ----------
    about : {"cells", "together", "little", "dependence", "target"}
        What it is about.
    head : str
        A headline.
    text : str
        A sentence or two, with numbers.
    """

    about: Literal["cells", "together", "little", "dependence", "target"]
    head: str
    text: str


def make_findings(profile: "Profile") -> Iterator[Finding]:
    """Summarise a profile; all but its findings and notices must be there."""
    if not profile.n_missing:
        yield Finding("cells", "Nothing is missing", "All cells have a value.")
        return
    n_incomplete = sum(column.n_missing > 0 for column in profile.columns)
    n_complete = profile.rows.n_complete
    yield Finding(
        "cells",
        f"{show_percent(profile.fraction_missing)} of the cells are missing",
        f"{profile.n_missing:,} of {profile.n_rows * profile.n_columns:,} cells, in "
        f"{n_incomplete:,} of {profile.n_columns:,} columns. Of {profile.n_rows:,} "
        f"rows, {n_complete:,} are complete "
        f"({show_percent(n_complete / profile.n_rows)}).",
    )
    yield from _find_together(profile)
    yield _find_little(profile)
    tests = profile.dependence.tests
    clearest = tests.clearest()
    if clearest:
        which = show_count(len(clearest), "column")
        yield Finding(
            "dependence",
            f"Missingness of {which} depends on values of others",
            _list_associations(clearest),
        )
    elif tests.n_tests:
        yield Finding(
            "dependence",
            "Missingness does not seem to depend on values of other columns",
            f"None of {tests.n_tests:,} pairwise tests is significant.",
        )
    yield from _find_target(profile)


def _find_together(profile: "Profile") -> Iterator[Finding]:
    together = profile.together
    sentences = []
    if together.always:
        largest = max(together.always, key=len)
        names = [repr(name) for name in largest]
        shown = list_names(largest) if len(names) > 5 else join_words(names)
        sentences.append(f"{shown} are missing in the same rows.")
    if together.only_if:
        first, second = together.only_if[0]
        sentences.append(f"{first!r} is missing only where {second!r} is.")
    if sentences:
        yield Finding("together", "Columns are missing together", " ".join(sentences))


def _find_little(profile: "Profile") -> Finding:
    little, note = profile.little, profile.little_note
    if little is None:
        text = f"{note[:1].upper()}{note[1:]}."
        return Finding("little", "Little's test was not run", text)
    rejected = little.p_value <= SIGNIFICANCE
    return Finding(
        "little",
        f"Values {'are not' if rejected else 'may be'} missing completely at random",
        f"Means {'differ' if rejected else 'do not differ significantly'} between rows "
        f"with different patterns of missing values (Little's test, "
        f"p = {little.p_value:.2g}).{'' if rejected else ' This is not a proof.'}",
    )


def _find_target(profile: "Profile") -> Iterator[Finding]:
    target = profile.target
    if target is None:
        return
    clearest, score, name = target.tests.clearest(), target.score, repr(target.name)
    sentences = [_list_associations(clearest)] if clearest else []
    if score is not None and score.p_value <= SIGNIFICANCE:
        sentences.append(
            f"Missingness alone explains {score.explained:.1%} of the target on "
            f"held-out rows."
        )
    if sentences:
        sentences.append(
            "Keep the missingness as information for the model, and check that values "
            "will be missing in the same way at prediction."
        )
        head = f"Missingness is associated with the target {name}"
        yield Finding("target", head, " ".join(sentences))
    elif target.tests.n_tests:
        head = f"Missingness does not seem to be associated with the target {name}"
        text = f"None of {target.tests.n_tests:,} tests is significant."
        yield Finding("target", head, text)


def _list_associations(links: Sequence[Association]) -> str:
    first = links[0]
    return (
        f"Columns: {list_names([link.column for link in links])}. For example, "
        f"{first.column!r} is missing in {show_percent(first.fraction_there)} of the "
        f"rows in which {first.on!r} {first.where}, and in "
        f"{show_percent(first.fraction_elsewhere)} of the others."
    )


# --- notices


def make_notices(
    profile: "Profile",
    columns: Sequence[Column],
    oddities: Sequence[Oddities],
    renamed: Sequence[tuple[str, str]],
    n_duplicates: int,
) -> Iterator[str]:
    """Report what may be wrong with a table, with what to do, and what was left out."""
    if not profile.n_rows or not profile.n_columns:
        yield f"The table has no {'rows' if profile.n_columns else 'columns'}."
    elif not profile.n_missing:
        yield (
            "Nothing is missing. If values may be missing at prediction, this table "
            "does not show how."
        )
    for label, name in renamed[:_MAX_OF_A_KIND]:
        yield f"Several columns are called {label!r}: here, a later one is {name!r}."
    if profile.n_rows:
        yield from _notice_columns(profile, oddities)
    yield from _notice_values(columns, oddities)
    what = {
        f"the same as an earlier one ({n_duplicates / max(profile.n_rows, 1):.1%}). If "
        f"that is a mistake, scores on held-out rows will be too good.": n_duplicates,
        "without a single value.": profile.rows.n_empty,
        "without a target. A model learns from them how columns depend on each other, "
        "but not how to predict.": profile.target.n_missing if profile.target else 0,
    }
    for text, n in what.items():
        if n:
            yield f"{n:,} {'row is' if n == 1 else 'rows are'} {text}"
    yield from _notice_limits(profile)


def _notice_columns(profile: "Profile", oddities: Sequence[Oddities]) -> Iterator[str]:
    columns = profile.columns
    pairs = list(zip(columns, oddities, strict=True))
    empty = [c.name for c in columns if c.kind == "empty"]
    yield from _about(empty, "has", "no value at all", _advise_drop(empty))
    nearly = [c.name for c in columns if c.n_distinct and c.fraction_missing >= 0.95]
    yield from _about(nearly, "is", "missing in 95% of the rows or more")
    constant = [c.name for c in columns if c.n_distinct == 1 and profile.n_rows > 1]
    advice = "Only whether it is missing carries information."
    yield from _about(constant, "has", "only one distinct value", advice)
    never = [c.name for c in columns if not c.n_missing and profile.n_missing]
    advice = "If that may be different at prediction, this table does not show how."
    yield from _about(never, "is", "never missing here", advice)
    ids = [c.name for c, odd in pairs if odd.is_identifier]
    what = "to identify rows, as no value occurs twice"
    yield from _about(ids, "seems", what, _advise_drop(ids))
    infinite = [c.name for c, odd in pairs if odd.has_infinity]
    advice = "Replace them by NaN, or clip them."
    yield from _about(infinite, "has", "infinite numbers", advice)


def _about(names: list[str], verb: str, what: str, advice: str = "") -> Iterator[str]:
    if names:
        columns = show_count(len(names), "column")
        if len(names) > 1:
            verb = {"has": "have", "is": "are", "seems": "seem"}[verb]
        yield f"{columns} {verb} {what}: {list_names(names)}. {advice}".rstrip()


def _advise_drop(names: list[str]) -> str:
    options = [f"--drop {shlex.quote(name)}" for name in names[:3]]
    more = " ..." if len(names) > 3 else ""
    return f"Leave out what is of no use: {' '.join(options)}{more}."


def _notice_values(
    columns: Sequence[Column], oddities: Sequence[Oddities]
) -> Iterator[str]:
    pairs = list(zip(columns, oddities, strict=True))
    marked = [(column.name, odd) for column, odd in pairs if odd.markers]
    for name, odd in marked[:_MAX_OF_A_KIND]:
        shown = " and ".join(
            f"{shorten(text)!r} ({show_count(n, 'time')})"
            for text, n in odd.markers[:3]
        )
        options = [f"--missing {shlex.quote(text)}" for text, _ in odd.markers[:3]]
        numeric = " Without them, the column is numeric." if odd.else_number else ""
        yield (
            f"{name!r} has values that may stand for missing ones: {shown}. If they "
            f"do, read the table with {' '.join(options)}, or replace them by NaN."
            f"{numeric}"
        )
    if len(marked) > _MAX_OF_A_KIND:
        yield (
            f"{len(marked) - _MAX_OF_A_KIND} more columns have values that may stand "
            f"for missing ones."
        )
    refused = [
        column for column, odd in pairs if column.problem and not odd.else_number
    ]
    for column in refused[:_MAX_OF_A_KIND]:
        yield (
            f"No estimator accepts {column.name!r}: {column.problem}, but expected are "
            f"numbers, booleans, strings or dates, of one kind. Convert the column, or "
            f"leave it out."
        )


def _notice_limits(profile: "Profile") -> Iterator[str]:
    dependence, tests = profile.dependence, profile.dependence.tests
    if not tests.n_tests:
        return
    if dependence.n_rows < profile.n_rows:
        yield (
            f"Counts are over all {profile.n_rows:,} rows; tests are on a random "
            f"sample of {dependence.n_rows:,}."
        )
    if len(tests.columns) < dependence.n_candidates:
        yield (
            f"Of {dependence.n_candidates:,} columns with missing values, the "
            f"{len(tests.columns)} with the most were tested."
        )
    if len(tests.on) < sum(c.kind != "empty" for c in profile.columns):
        yield (
            f"Missingness was tested against the {len(tests.on)} columns with the "
            f"fewest missing values."
        )
