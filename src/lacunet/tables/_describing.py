"""What a column of a CSV file is, told by what its rows have shown."""

import re

import pyarrow as pa

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import (
    ColumnInfo,
    Kind,
    Notice,
    notice_constant,
    notice_digits,
    notice_empty,
    notice_id,
    quote_name,
)
from lacunet.tables._dates import DAY_FIRST, MONTH_FIRST
from lacunet.tables._numbers import is_with_thousands, is_with_units
from lacunet.tables._survey import Odd, TextColumn

LEAST_ROWS = 20  # by which names of rows can be told
_NAME_OF_NAMES = re.compile(r"(?i)(?:^|[\W_])(?:id|idx|index|key|uuid|guid)(?:$|[\W_])")
_CODES = "Its numbers have zeros in front: they are taken for names."
_THOUSANDS = (
    "Its numbers have commas between thousands: they are taken for names. Take the "
    "commas out to have them read as numbers."
)
_UNITS = (
    "It has signs of a unit, or times of day: its numbers are taken for names. Write "
    "numbers alone (56 for 56%, 15.5 for 15:30) to have them read as such."
)
_DAY_OR_MONTH = (
    "Its dates do not tell days from months: they are taken for names. Write them as "
    "2024-12-31."
)
_COMMAS = (
    "Its commas in quotes are taken for decimal ones. If its cells are lists or names, "
    "leave it out with --drop, or use --categorical."
)
_MINUS = (
    "It has '+', and '-' counts as missing. If that is a value, say --no-usual-missing."
)


def describe(column: TextColumn, *, is_categorical: bool = False) -> ColumnInfo:
    """Return what is known of a column.

    Parameters
    ----------
    column : TextColumn
        That has seen all rows.
    is_categorical : bool, default=False
        Whether a user has called it so.

    Returns
    -------
    ColumnInfo
    """
    kind = find_kind(column)
    if is_categorical and kind != "empty":
        kind = "category"
    notices = tuple(_notices(column, kind))
    return ColumnInfo(
        column.name,
        kind,
        column.n_missing,
        column.distinct.count,
        notices,
        _find_day_first(column) if kind == "date" else None,
    )


def find_kind(column: TextColumn) -> Kind:
    """Return what a column is if nobody says otherwise.

    Parameters
    ----------
    column : TextColumn

    Returns
    -------
    str
    """
    if not column.n_observed:
        return "empty"
    numbers = column.numbers
    if numbers.alive and not numbers.is_code and not column.has_thousands:
        return "integer" if numbers.is_integer else "number"
    if column.is_boolean:
        return "boolean"
    if column.dates.style is not None:
        return "date"
    return "text" if column.distinct.count is None or _is_id(column) else "category"


def check_number(column: TextColumn, source: str) -> None:
    """Refuse a column that is to be of numbers and has other values.

    Parameters
    ----------
    column : TextColumn
    source : str
        Name of the file.
    """
    if column.no_number is not None:
        text, line = column.no_number
        advice = f'If it means missing, say --missing "{shorten(text)}".'
        if is_with_thousands(pa.array([text])):
            advice = "Take the commas out."
        msg = (
            f"Got {shorten(text)!r} in line {line} of {source}, in column "
            f"{quote_name(column.name)}, but expected a number. {advice}"
        )
        raise TableError(msg)
    if column.is_number and column.has_thousands:
        msg = (
            f"Got column {quote_name(column.name)} of {source} with commas in its "
            f"numbers that may stand between thousands or before decimals, but "
            f"expected numbers that can be told. Take commas between thousands out; "
            f"before decimals, write points."
        )
        raise TableError(msg)
    if column.infinite is not None:
        msg = (
            f"Got column {quote_name(column.name)} of {source} with an infinite "
            f"number, but expected finite ones. {_tell_infinite(column.infinite)}"
        )
        raise TableError(msg)


def check_date(column: TextColumn, source: str) -> None:
    """Refuse a column that is to be of dates and has other values.

    Parameters
    ----------
    column : TextColumn
    source : str
        Name of the file.
    """
    if column.n_observed and column.dates.style is None:
        msg = (
            f"Got column {quote_name(column.name)} of {source} with values that are no "
            f"dates, or not all written in one way, but expected dates. Write them as "
            f"2024-12-31, or name what means missing with --missing."
        )
        raise TableError(msg)


def names_rows(name: str) -> bool:
    """Tell whether a column is called as one that names rows is.

    Parameters
    ----------
    name : str

    Returns
    -------
    bool
    """
    return bool(_NAME_OF_NAMES.search(name))


def _find_day_first(column: TextColumn) -> bool | None:
    style = column.dates.style
    if style is None or style.order not in (DAY_FIRST, MONTH_FIRST):
        return None
    return style.order == DAY_FIRST


def _is_id(column: TextColumn) -> bool:
    return column.distinct.all_differ and column.n_observed >= LEAST_ROWS


def _notices(column: TextColumn, kind: Kind) -> list[Notice]:
    if kind == "empty":
        return [notice_empty()]
    found = []
    if column.is_constant:
        values = column.distinct.values or (column.numbers.least,)
        found.append(notice_constant(values[0]))
    if _names_rows(column, kind):
        found.append(notice_id(column.name))
    elif kind in ("integer", "number") and not column.numbers.is_exact:
        found.append(notice_digits(column.name))
    return found + _notices_of_writing(column, kind)


def _names_rows(column: TextColumn, kind: Kind) -> bool:
    if kind != "integer":
        return kind in ("text", "category") and _is_id(column)
    named = column.distinct.all_differ and names_rows(column.name)
    return column.n_observed >= LEAST_ROWS and (column.numbers.is_counting or named)


def _notices_of_writing(column: TextColumn, kind: Kind) -> list[Notice]:
    found = []
    if column.infinite is not None:
        found.append(Notice("infinite", _tell_infinite(column.infinite)))
    if kind in ("category", "text"):
        found += _notices_of_names(column)
    if column.is_nearly_number and column.no_number is not None:
        found.append(Notice("nearly-number", _tell_no_number(column.no_number)))
    if column.dates.is_ambiguous:
        found.append(Notice("day-or-month", _DAY_OR_MONTH))
    if kind == "number" and column.has_quoted_commas:
        found.append(Notice("commas", _COMMAS))
    if column.n_missing and "+" in (column.distinct.values or ()):
        found.append(Notice("minus", _MINUS))
    return found


def _notices_of_names(column: TextColumn) -> list[Notice]:
    """Point out names that look like numbers."""
    found = []
    if column.is_number and column.numbers.is_code:
        found.append(Notice("codes", _CODES))
    if _looks_like_thousands(column):
        found.append(Notice("thousands", _THOUSANDS))
    if is_with_units(_some_texts(column)):
        found.append(Notice("units", _UNITS))
    return found


def _looks_like_thousands(column: TextColumn) -> bool:
    if column.is_number:
        return column.has_thousands
    return is_with_thousands(_some_texts(column))


def _some_texts(column: TextColumn) -> pa.StringArray:
    """Return the values of a column, or one where they are too many to keep."""
    some = column.distinct.values or (
        column.no_number.text if column.no_number else "",
    )
    return pa.array(some, pa.string())


def _tell_no_number(odd: Odd) -> str:
    text = shorten(odd.text)
    return (
        f"Most of its cells are numbers, but not {text!r} in line {odd.line}: so all "
        f'are taken for names. If that means missing, say --missing "{text}".'
    )


def _tell_infinite(odd: Odd) -> str:
    return (
        f"It has {odd.text!r} in line {odd.line}. Count it as missing with --missing "
        f"{odd.text}."
    )
