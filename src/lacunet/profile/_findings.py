"""What a profile found, in words: findings, and notices of what may be wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import list_names, show_count, show_p, show_percent
from lacunet.profile._dependence import SIGNIFICANCE, AssociationTable

if TYPE_CHECKING:
    from lacunet.profile._profile import Profile, TargetProfile

_MIN_EXPLAINED = 0.01  # fraction of the target: below it, it may be chance


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
    """Summarise a profile; all but its findings and own notices must be there."""
    if not profile.n_missing:
        text = "If values may be missing at prediction, this table does not show how."
        head = "Nothing is missing"
        if any("--missing" in notice for notice in profile.notices):
            head = "No cell is empty or marked as missing"
            text = "But some values may mean that, as the notices say."
        yield Finding("cells", head, text)
        return
    n_incomplete = sum(column.n_missing > 0 for column in profile.columns)
    cells = show_count(profile.n_rows * profile.n_columns, "cell")
    columns = show_count(profile.n_columns, "column")
    rows = show_count(profile.n_rows, "row")
    complete, n_complete = f"None of {rows} is complete", profile.n_complete_rows
    if n_complete:
        which = f"{n_complete:,} of {rows} {'are' if n_complete > 1 else 'is'}"
        complete = f"{which} complete ({show_percent(n_complete / profile.n_rows)})"
    yield Finding(
        "cells",
        f"{show_percent(profile.fraction_missing)} of the cells are missing",
        f"{profile.n_missing:,} of {cells}, in {n_incomplete:,} of {columns}. "
        f"{complete}.",
    )
    sentences = []
    if profile.same_rows:
        largest = max(profile.same_rows, key=len)
        sentences.append(f"Missing in the same rows: {list_names(largest)}.")
    for first, second in profile.only_if[:1]:
        sentences.append(f"{first!r} is missing only where {second!r} is.")
    if sentences:
        yield Finding("together", "Columns are missing together", " ".join(sentences))
    little, note = profile.little, profile.little_note
    head, text = "Little's test was not run", f"{note[:1].upper()}{note[1:]}."
    if little is not None:
        which, differ = "may be", "do not differ significantly"
        if little.p_value <= SIGNIFICANCE:
            which, differ = "are not", "differ"
        head = f"Values {which} missing completely at random"
        text = (
            f"Means {differ} between rows with different patterns of missing values "
            f"(Little's test, {show_p(little.p_value)})."
        )
    yield Finding("little", head, text)
    tests, target = profile.associations, profile.target
    head = "Missingness does not seem to depend on values of other columns"
    if clearest := tests.clearest():
        which = show_count(len(clearest), "column")
        head = f"Missingness of {which} depends on values of others"
    if tests.n_tests:
        yield Finding("dependence", head, _describe(tests, "pairwise test"))
    if target is not None:
        yield from _find_target(target)


def _find_target(target: "TargetProfile") -> Iterator[Finding]:
    tests = target.associations
    sentences = [_describe(tests, "test")] if tests.clearest() else []
    if target.explained is not None and target.explained >= _MIN_EXPLAINED:
        sentences.append(
            f"Missingness alone explains {target.explained:.1%} of the target on "
            f"held-out rows."
        )
    if sentences:
        sentences.append(
            "Keep the missingness as information for the model, and check that values "
            "will be missing in the same way at prediction."
        )
        head = f"Missingness is associated with the target {target.name!r}"
        yield Finding("target", head, " ".join(sentences))
    elif tests.n_tests:
        head = "Missingness does not seem to be associated with the target"
        yield Finding("target", f"{head} {target.name!r}", _describe(tests, "test"))


def _describe(tests: AssociationTable, what: str) -> str:
    """Return the columns whose missingness depends on values, with an example."""
    links = tests.clearest()
    if not links and tests.n_tests == 1:
        return f"The only {what} is not significant."
    if not links:
        return f"None of {tests.n_tests:,} {what}s is significant."
    first, names = links[0], list_names([link.column for link in links])
    several = f"Columns: {names}. For example, " if len(links) > 1 else ""
    return (
        f"{several}{first.column!r} is missing in "
        f"{show_percent(first.fraction_there)} of the rows in which {first.on!r} "
        f"{first.where}, and in {show_percent(first.fraction_elsewhere)} of the others."
    )


def make_notices(
    profile: "Profile", renamed: Sequence[str], n_duplicates: int
) -> Iterator[str]:
    """Report what may be wrong with a table, with what to do, and what was left out."""
    if not profile.n_rows or not profile.n_columns:
        yield f"The table has no {'rows' if profile.n_columns else 'columns'}."
        return
    others = [column.name for column in profile.columns if column.kind == "other"]
    if renamed:
        yield f"Columns of a name that occurs again: {list_names(renamed)}."
    if others:
        yield (
            f"Columns of types that no estimator accepts: {list_names(others)}. "
            f"Convert them, or leave them out."
        )
    n_without = profile.target.n_missing if profile.target else 0
    for n, what in (
        (n_duplicates, "equal to earlier ones: held-out scores may be too good."),
        (profile.n_empty_rows, "without a single value."),
        (n_without, "without a target, of no use for learning to predict it."),
    ):
        if n:
            yield f"{show_count(n, 'row')} {what}"
    n_tested, tested = len(profile.associations.columns), []
    if profile.n_tested_rows < profile.n_rows:
        tested.append(show_count(profile.n_tested_rows, "row"))
    if n_tested < profile.n_candidates:
        tested.append(f"the {n_tested} columns with the most missing values")
    if tested:
        yield f"Counts are over the whole table; tests are on {' and '.join(tested)}."
