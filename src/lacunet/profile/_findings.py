"""What a profile comes to, in words: a head and a sentence or two for each thing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lacunet._text import list_names, show_percent
from lacunet.profile._dependence import LEVEL, HoleLink, LinkTable

if TYPE_CHECKING:
    from lacunet.profile._profile import Profile

About = Literal["cells", "together", "little", "dependence", "target"]


@dataclass(frozen=True)
class Finding:
    """Something that a profile has found.

    Attributes
    ----------
    about : {"cells", "together", "little", "dependence", "target"}
    head : str
        In a few words.
    text : str
        A sentence or two, with numbers.
    """

    about: About
    head: str
    text: str


def make_findings(profile: "Profile") -> tuple[Finding, ...]:
    """Say what is missing, and what that has to do with what.

    Parameters
    ----------
    profile : Profile
        Its own findings don't matter.

    Returns
    -------
    tuple of Finding
        Only of cells if nothing is missing.
    """
    if not profile.n_missing:
        return (Finding("cells", "Nothing is missing", "All cells have a value."),)
    return (
        _tell_cells(profile),
        *_tell_together(profile),
        _tell_little(profile),
        *_tell_dependence(profile),
        *_tell_target(profile),
    )


def tell_link(link: HoleLink) -> str:
    """Return what a column's holes have to do with another column.

    Parameters
    ----------
    link : HoleLink

    Returns
    -------
    str
    """
    return (
        f"{link.column!r} is missing in {show_percent(link.share_there)} of the rows "
        f"in which {link.on!r} {link.where}, and in "
        f"{show_percent(link.share_elsewhere)} of the others."
    )


def find_clearest(tests: LinkTable) -> list[HoleLink]:
    """Return for each column whose holes depend on values where that is clearest.

    Parameters
    ----------
    tests : LinkTable

    Returns
    -------
    list of HoleLink
        The clearest first.
    """
    by_value = (link for link in tests.links if link.by == "value")
    ordered = sorted(by_value, key=lambda link: -link.contrast)
    firsts = {link.column: link for link in reversed(ordered)}
    return [link for link in ordered if firsts[link.column] is link]


def _tell_cells(profile: "Profile") -> Finding:
    some = sum(column.n_missing > 0 for column in profile.columns)
    complete = profile.rows.n_complete
    return Finding(
        "cells",
        f"{show_percent(profile.share_missing)} of the cells are missing",
        f"{profile.n_missing:,} of {profile.n_rows * profile.n_columns:,} cells, in "
        f"{some:,} of {profile.n_columns:,} columns. Of {profile.n_rows:,} rows, "
        f"{complete:,} are complete ({show_percent(complete / profile.n_rows)}).",
    )


def _tell_together(profile: "Profile") -> Iterator[Finding]:
    together = profile.together
    said = []
    if together.always:
        largest = max(together.always, key=len)
        said.append(f"{_join(largest)} are missing in the same rows.")
    if together.only_if:
        first, second = together.only_if[0]
        said.append(f"{first!r} is missing only where {second!r} is.")
    if said:
        yield Finding("together", "Columns are missing together", " ".join(said))


def _tell_little(profile: "Profile") -> Finding:
    little = profile.little
    if little is None:
        note = profile.little_note
        text = f"{note[:1].upper()}{note[1:]}."
        return Finding("little", "Little's test was not made", text)
    if little.p_value <= LEVEL:
        return Finding(
            "little",
            "Values are not missing completely at random",
            f"Rows in which different cells are missing have different means (Little's "
            f"test, p = {little.p_value:.2g}).",
        )
    return Finding(
        "little",
        "Values may be missing completely at random",
        f"Rows in which different cells are missing have no different means (Little's "
        f"test, p = {little.p_value:.2g}). That is no proof.",
    )


def _tell_dependence(profile: "Profile") -> Iterator[Finding]:
    tests = profile.dependence.tests
    clearest = find_clearest(tests)
    if clearest:
        what = "1 column" if len(clearest) == 1 else f"{len(clearest)} columns"
        yield Finding(
            "dependence",
            f"Holes of {what} depend on values of others",
            _tell_links(clearest),
        )
    elif tests.n_tests:
        yield Finding(
            "dependence",
            "Holes do not seem to depend on values of other columns",
            f"None of {tests.n_tests:,} tests of two columns each finds more than "
            f"chance.",
        )


def _tell_target(profile: "Profile") -> Iterator[Finding]:
    target = profile.target
    if target is None:
        return
    clearest = find_clearest(target.tests)
    score = target.score
    learned = score is not None and score.p_value <= LEVEL
    if not clearest and not learned:
        if target.tests.n_tests:
            head = f"Holes do not seem to tell of the target {target.name!r}"
            text = f"None of {target.tests.n_tests:,} tests finds more than chance."
            yield Finding("target", head, text)
        return
    said = []
    if clearest:
        said.append(_tell_links(clearest))
    if score is not None and learned:
        said.append(
            f"Which cells are missing explains {score.explained:.1%} of the target by "
            f"itself, on rows that were not learned from."
        )
    said.append(
        "Keep the information that they are missing, and see whether it will be the "
        "same at prediction."
    )
    yield Finding("target", f"Holes tell of the target {target.name!r}", " ".join(said))


def _tell_links(links: Sequence[HoleLink]) -> str:
    names = [link.column for link in links]
    return f"{list_names(names)}. For one, {tell_link(links[0])}"


def _join(names: Sequence[str]) -> str:
    if len(names) > 5:
        return list_names(names)
    quoted = [repr(name) for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
