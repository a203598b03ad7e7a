"""Tables as Markdown."""

from lacunet._markdown import escape, make_table
from reproduction.report._blocks import Entry, Sheet


def to_markdown(sheet: Sheet) -> str:
    """Return a sheet as a table of Markdown, with its caption and notes.

    Parameters
    ----------
    sheet : Sheet

    Returns
    -------
    str

    Examples
    --------
    >>> from reproduction.report._blocks import Column, Entry, Line, Lines, Sheet
    >>> from reproduction.report._markdown import to_markdown
    >>> line = Line("mean", (Entry("0.8", "± 0.1", "0.7", strong=True),))
    >>> print(to_markdown(Sheet("method", (Column("pima"),), (Lines((line,)),))))
    | method | pima |
    |---|---|
    | mean | **0.8** ± 0.1 / 0.7 |
    """
    titles = [
        ", ".join(filter(None, (column.group, column.title)))
        for column in sheet.columns
    ]
    table = make_table(
        [escape(sheet.corner), *map(escape, titles)],
        (
            [_title(line.title, line.accent), *map(_cell, line.entries)]
            for line in sheet.lines
        ),
    )
    notes = [f"<sup>{escape(n.mark)}</sup> {escape(n.text)}" for n in sheet.notes]
    below = f"Behind the stroke: {sheet.below}." if sheet.below else ""
    caption = escape(" ".join(filter(None, (sheet.caption, below))))
    return "\n\n".join(filter(None, (table, caption, *notes)))


def _title(title: str, accent: bool) -> str:
    return f"*{escape(title)}*" if accent else escape(title)


def _cell(entry: Entry) -> str:
    text = escape(entry.text)
    strong = f"**{text}**" if entry.strong else text
    mark = f"<sup>{escape(entry.mark)}</sup>" if entry.mark else ""
    below = f"/ {escape(entry.below)}" if entry.below else ""
    return " ".join(filter(None, (strong + mark, escape(entry.error), below)))
