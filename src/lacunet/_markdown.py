"""Texts and tables as Markdown."""

import re
from collections.abc import Iterable, Sequence

# Letters that mean something in Markdown; an underscore within a word does not.
_SPECIAL = re.compile(r"([\\`*\[\]|~$]|(?<!\w)_|_(?!\w))")


def escape(text: str) -> str:
    r"""Return a text that Markdown shows as it is, in one line.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet._markdown import escape
    >>> print(escape("<b> a|b *c* kidney_disease"))
    &lt;b&gt; a\|b \*c\* kidney_disease
    """
    marked = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(_SPECIAL.sub(r"\\\1", marked).split())


def make_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a table.

    Parameters
    ----------
    titles : sequence of str
    rows : iterable of sequences of str
        Cells; escaped already.

    Returns
    -------
    str

    Examples
    --------
    >>> from lacunet._markdown import make_table
    >>> print(make_table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    rule = f"|{'---|' * len(titles)}"
    return "\n".join([_row(titles), rule, *map(_row, rows)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
