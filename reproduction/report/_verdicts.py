"""The section of claims."""

from collections import Counter
from typing import Any

from reproduction.report._blocks import (
    Card,
    Cards,
    Column,
    Entry,
    Line,
    Lines,
    Section,
    Sheet,
    Text,
    Tone,
)
from reproduction.report._folder import Folder
from reproduction.report._words import show_count, show_number

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable"
_TONES: dict[str, Tone] = {HOLDS: "better", FAILS: "worse"}


def find_verdicts(folder: Folder) -> tuple[Any, ...]:
    """Return the paper's claims, judged by the results in a folder."""
    from reproduction.experiments.claims import judge_claims

    return tuple(judge_claims(folder.path))


def make_claims_section(verdicts: tuple[Any, ...]) -> Section:
    """Return the section of claims.

    Parameters
    ----------
    verdicts : tuple of Verdict

    Returns
    -------
    Section
    """
    cards = tuple(
        Card(
            title=verdict.claim.statement,
            place=verdict.claim.place,
            badge=verdict.outcome,
            tone=_TONES.get(verdict.outcome, ""),
            text=verdict.why,
            rule=verdict.claim.rule,
            facts={name: show_number(x) for name, x in verdict.figures.items()},
        )
        for verdict in verdicts
    )
    return Section(
        "Claims",
        (Text(count_verdicts(verdicts)), Cards(cards)),
        lead="What the paper states, and what the results say to it",
    )


def make_claims_sheet(verdicts: tuple[Any, ...]) -> Sheet:
    """Return the claims as a table.

    Parameters
    ----------
    verdicts : tuple of Verdict

    Returns
    -------
    Sheet
    """
    lines = tuple(
        Line(
            verdict.claim.statement,
            tuple(map(Entry, (verdict.claim.place, verdict.outcome, verdict.why))),
        )
        for verdict in verdicts
    )
    columns = tuple(map(Column, ("in the paper", "verdict", "what the results say")))
    caption = count_verdicts(verdicts)
    return Sheet("statement", columns, (Lines(lines),), caption)


def count_verdicts(verdicts: tuple[Any, ...]) -> str:
    """Return how many claims hold, as a sentence."""
    count = Counter(verdict.outcome for verdict in verdicts)
    return (
        f"Of {show_count(len(verdicts), 'claim')} of the paper these results confirm "
        f"{count[HOLDS]}, deny {count[FAILS]}, and can't decide {count[OPEN]}."
    )
