"""What is known of a column of a file."""

from dataclasses import dataclass
from typing import Literal

from lacunet._text import shorten

Kind = Literal[
    "number", "integer", "boolean", "category", "text", "date", "empty", "unsupported"
]
What = Literal[
    "empty",
    "constant",
    "id-like",
    "codes",
    "digits",
    "infinite",
    "thousands",
    "units",
    "nearly-number",
    "day-or-month",
    "commas",
    "minus",
    "unsupported",
]


@dataclass(frozen=True)
class Notice:
    """Something about a column that a user may want to act on.

    Parameters
    ----------
    what : str
        One word for it: "empty", "constant", "id-like", "codes", "digits",
        "infinite", "thousands", "units", "nearly-number", "day-or-month",
        "commas", "minus" or "unsupported".
    text : str
        A sentence or two, with what to do.
    """

    what: What
    text: str


@dataclass(frozen=True)
class ColumnInfo:
    """What is known of a column, from all of its rows.

    Parameters
    ----------
    name : str
    kind : str
        "number", "integer", "boolean", "category", "date" or "empty"; "text" is a
        category of so many levels that it may be no category; "unsupported" is what no
        estimator takes, such as lists.
    n_missing : int
    n_distinct : int or None
        Number of values; None if there are too many to count: more than a thousand, or
        fewer in a table of more than a thousand columns.
    notices : tuple of Notice, default=()
    day_first : bool or None, default=None
        Of dates with slashes, whether days stand before months, as in ``31/12/2024``.
        None of all others: how those are written leaves nothing open.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int | None
    notices: tuple[Notice, ...] = ()
    day_first: bool | None = None


def quote_name(name: str) -> str:
    """Return the name of a column as it stands in messages.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
    """
    return repr(shorten(name))


def notice_empty() -> Notice:
    """Return the notice of a column without values."""
    return Notice("empty", "No row has a value.")


def notice_constant(value: object) -> Notice:
    """Return the notice of a column with one value."""
    return Notice("constant", f"The only value is {shorten(str(value))!r}.")


def notice_id(name: str) -> Notice:
    """Return the notice of a column that names its rows."""
    return Notice(
        "id-like",
        f"It seems to number or name the rows, and nothing can be learned from that. "
        f"Leave it out with --drop {quote_name(name)}.",
    )


def notice_digits(name: str) -> Notice:
    """Return the notice of integers beyond those that floats can tell apart."""
    return Notice(
        "digits",
        f"It has integers of more than 15 digits, whose last ones are lost in "
        f"computations. If they are names, use --categorical {quote_name(name)} or "
        f"--drop.",
    )
