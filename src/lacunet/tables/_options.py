"""How a table is to be read."""

import codecs
import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet._text import list_names, shorten
from lacunet.exceptions import TableError

_TYPED = {"\\t": "\t", "tab": "\t", "space": " "}  # for what is hard to type in a shell


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read.

    Parameters
    ----------
    missing : tuple of str, default=()
        Cells that mean "missing", beside the usual ones. A number also stands for the
        same number in another spelling: ``-999`` for ``-999.0``. ``bmi=0`` is about the
        column ``bmi`` alone.
    drop : tuple of str, default=()
        Columns to leave out.
    categorical : tuple of str, default=()
        Columns whose values are categories, also where they look like numbers.
    sep : str, default=None
        The separator between cells; found by default.
    encoding : str, default=None
        UTF-8 and UTF-16 are found; others are guessed, with a notice.
    usual_missing : bool, default=True
        Whether ``NA``, ``?``, ``-`` and the like mean "missing" in a CSV file. An empty
        cell always does.
    day_first, month_first : tuple of str, default=()
        Columns of a CSV file whose dates are ``31/12/2024`` or ``12/31/2024``, used
        where no day is beyond 12. Unambiguous dates are read as they are. The table may
        lack these columns.
    header : bool, default=True
        Whether the first row has the names of the columns. If not, they are called
        ``column1``, ``column2`` and so on.
    skip_rows : int, default=0
        Lines above the table, to be ignored.
    comment : str, default=None
        Rows that begin with it are ignored.
    decimal, thousands : str, default=None
        The marks of numbers in CSV; found column by column by default.
    sheet : str, default=None
        Of an Excel workbook, by name or by number from 1; the first by default.

    Examples
    --------
    >>> from lacunet.tables import ReadOptions
    >>> ReadOptions(missing=("-999",), drop=("id",)).drop
    ('id',)
    """

    missing: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    sep: str | None = None
    encoding: str | None = None
    usual_missing: bool = True
    day_first: tuple[str, ...] = ()
    month_first: tuple[str, ...] = ()
    header: bool = True
    skip_rows: int = 0
    comment: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        for field in ("missing", "drop", "categorical", "day_first", "month_first"):
            given = getattr(self, field)
            texts = (given,) if isinstance(given, str) else tuple(map(str, given))
            object.__setattr__(self, field, texts)
        both = sorted(set(self.day_first) & set(self.month_first))
        if both:
            msg = (
                f"Got column {shorten(both[0])!r} in day_first and in month_first, but "
                f"expected it in one of them at most."
            )
            raise TableError(msg)
        for field in ("sep", "thousands"):
            given = getattr(self, field)
            if given is not None:
                object.__setattr__(self, field, _TYPED.get(given.lower(), given))
        for field, what, fine in (
            ("sep", "a single character, such as ',' or ';', or tab", _is_separator),
            ("decimal", "'.' or ','", (".", ",").__contains__),
            ("thousands", "',', '.', a quote or a space", (*",.' ",).__contains__),
            ("comment", "some characters, such as '#'", str.strip),
        ):
            given = getattr(self, field)
            if given is not None and not fine(given):
                msg = f"Got --{field} {given!r}, but expected {what}."
                raise TableError(msg)
        if self.decimal is not None and self.decimal == self.thousands:
            msg = (
                f"Got {self.decimal!r} as --decimal and --thousands, but expected two."
            )
            raise TableError(msg)
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _check_encoding(self.encoding))


def check_known(
    chosen: Sequence[str],
    names: Sequence[str],
    what: str,
    of: str = "column of the table",
) -> None:
    """Refuse names that no column has."""
    unknown = sorted(set(chosen) - set(names))
    if not unknown:
        return
    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(unknown[0].lower(), lowered, n=3)
    meant = " or ".join(repr(shorten(lowered[name])) for name in close)
    msg = f"Got {what} {unknown[0]!r}, but expected a {of}"
    msg += f": did you mean {meant}?" if close else f", such as {list_names(names)}."
    raise TableError(msg)


def _is_separator(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in '"\r\n\0'


def _check_encoding(encoding: str) -> str:
    try:
        # Codecs that are not of text (base64, zip) raise a LookupError, too.
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except LookupError as error:
        msg = (
            f"Got --encoding {encoding!r}, but expected one that Python knows, such as "
            f"utf-8, latin-1, cp1252 or utf-16."
        )
        raise TableError(msg) from error
