"""What a page is made of: records that templates show, and nothing else.

A report builds these from its data. How they look stands in ``templates``, which know
each of them by its ``kind``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

Tone = Literal["", "better", "worse", "note", "warning"]


@dataclass(frozen=True)
class Entry:
    """A cell of a sheet.

    Attributes
    ----------
    text : str
        The number.
    error : str
        What stands behind it, such as its standard error.
    below : str
        A second line, such as what others report.
    tone : {"", "better", "worse"}
        Of the second line, or of the first if there is no second.
    strong : bool
        Whether it is the best.
    mark : str
        Of a note below the sheet.
    """

    text: str = ""
    error: str = ""
    below: str = ""
    tone: Tone = ""
    strong: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a sheet: its title, and that of the columns it belongs to."""

    title: str
    group: str = ""


@dataclass(frozen=True)
class Line:
    """A row of a sheet; ``accent`` marks those that a reader looks for."""

    title: str
    entries: tuple[Entry, ...]
    accent: bool = False


@dataclass(frozen=True)
class Lines:
    """Rows of a sheet that belong together."""

    lines: tuple[Line, ...]
    title: str = ""


@dataclass(frozen=True)
class Note:
    """What a mark in a sheet stands for."""

    mark: str
    text: str


@dataclass(frozen=True)
class Sheet:
    """A table.

    Attributes
    ----------
    corner : str
        Title of the first column.
    columns : tuple of Column
        All but the first.
    groups : tuple of Lines
    caption : str
        How to read it.
    below : str
        What the second lines of its entries are.
    notes : tuple of Note
    prose : bool
        Whether the entries are words, and not numbers.
    """

    kind: ClassVar[str] = "sheet"
    corner: str
    columns: tuple[Column, ...]
    groups: tuple[Lines, ...]
    caption: str = ""
    below: str = ""
    notes: tuple[Note, ...] = ()
    prose: bool = False

    @property
    def lines(self) -> tuple[Line, ...]:
        """All rows."""
        return tuple(line for group in self.groups for line in group.lines)

    @property
    def heads(self) -> tuple[tuple[str, int], ...]:
        """Titles over neighbouring columns, with their number; none if none has one."""
        found: list[tuple[str, int]] = []
        for column in self.columns:
            if found and found[-1][0] == column.group:
                found[-1] = (column.group, found[-1][1] + 1)
            else:
                found.append((column.group, 1))
        return tuple(found) if any(title for title, _ in found) else ()


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Point:
    """A sentence or two, and what they are about."""

    lead: str
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Points:
    """A list of statements."""

    kind: ClassVar[str] = "points"
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Command:
    """What to type."""

    kind: ClassVar[str] = "command"
    text: str


@dataclass(frozen=True)
class Picture:
    """A drawing: ``svg`` is markup that ``to_svg`` has made, and shown as it is."""

    svg: str
    title: str = ""


@dataclass(frozen=True)
class Pictures:
    """Drawings side by side, where there is room."""

    kind: ClassVar[str] = "pictures"
    pictures: tuple[Picture, ...]
    caption: str = ""


@dataclass(frozen=True)
class Strip:
    """A row of images in one: ``png`` is an address that holds its bytes."""

    title: str
    png: str
    accent: bool = False


@dataclass(frozen=True)
class Strips:
    """Rows of images, one below the other; ``large`` if there are few in each."""

    kind: ClassVar[str] = "strips"
    strips: tuple[Strip, ...]
    caption: str = ""
    large: bool = False


@dataclass(frozen=True)
class Card:
    """A statement with a judgement.

    Attributes
    ----------
    title : str
        The statement.
    place : str
        Where it was made.
    badge : str
        The judgement.
    tone : {"", "better", "worse"}
    text : str
        Why.
    rule : str
        How it is judged, on demand.
    facts : mapping of str to str
        Numbers with their names, on demand.
    """

    title: str
    place: str
    badge: str
    tone: Tone
    text: str
    rule: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cards:
    """Statements with judgements."""

    kind: ClassVar[str] = "cards"
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Fold:
    """What is shown on demand; print shows it anyway."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple["Block", ...]


@dataclass(frozen=True)
class Part:
    """A sub-section; ``tag`` warns of what must not be taken for the real thing."""

    kind: ClassVar[str] = "part"
    title: str
    blocks: tuple["Block", ...]
    tag: str = ""


Block = Sheet | Text | Points | Command | Pictures | Strips | Cards | Fold | Part


@dataclass(frozen=True)
class Section:
    """A section with a heading."""

    title: str
    blocks: tuple[Block, ...]
    lead: str = ""

    @property
    def anchor(self) -> str:
        """Where links lead to."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True)
class Page:
    """A whole report: what is told first, and the sections."""

    title: str
    subtitle: str
    summary: tuple[Block, ...]
    sections: tuple[Section, ...]
    footer: str = ""
