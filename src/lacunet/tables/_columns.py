"""What is known of a column of a file, from all of its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._scanner import Bools, RawRows, TextGrid
from lacunet.tables._values import (
    DAY_FIRST,
    MONTH_FIRST,
    DateSurvey,
    NumberSurvey,
    Order,
    Sight,
    are_booleans,
    find_no_numbers,
    is_with_thousands,
    is_with_units,
    look_at_numbers,
    read_floats,
)

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
    """Return the name of a column as it stands in messages."""
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


MOST_DISTINCT = 1000  # values that are kept of a column
_MOST_IN_ALL = 2**20  # that are kept of all columns
_MANY_COLUMNS = 1000  # beyond which measured values are not counted


class Distinct:
    """The values of a column, as long as they are few."""

    def __init__(self, n_columns: int = 1) -> None:
        self.all_differ = True
        self._most = min(MOST_DISTINCT, _MOST_IN_ALL // n_columns)
        self._is_one_of_many = n_columns > _MANY_COLUMNS
        self._values: dict[Any, None] | None = {}

    @property
    def values(self) -> tuple[Any, ...] | None:
        """The values in the order in which they came; None if they are too many."""
        return None if self._values is None else tuple(self._values)

    @property
    def count(self) -> int | None:
        """Their number; None if they are too many."""
        return None if self._values is None else len(self._values)

    def is_open(self, *, is_measured: bool) -> bool:
        """Tell whether there is something left to find out."""
        if is_measured and self._is_one_of_many:
            return False
        return self._values is not None or (self.all_differ and not is_measured)

    def give_up(self) -> None:
        """Count no longer."""
        self._values = None

    def see(self, array: pa.Array) -> None:
        """Look at more values."""
        values = pc.unique(array).drop_null()
        self.all_differ &= len(values) == len(array) - array.null_count
        if self._values is None or len(values) > self._most:
            self._values = None
            return
        n_before = len(self._values)
        self._values.update(dict.fromkeys(values.to_pylist()))
        self.all_differ &= len(self._values) == n_before + len(values)
        if len(self._values) > self._most:
            self._values = None


class Counting:
    """Tells whether every row has a number that is one more than the row before."""

    def __init__(self) -> None:
        self.alive = True
        self._last: float | None = None

    def see(self, values: NDArray[np.float64]) -> None:
        """Look at more numbers."""
        if not self.alive:
            return
        before = values[0] - 1 if self._last is None else self._last
        with np.errstate(invalid="ignore"):  # of infinite numbers
            self.alive = values[0] - before == 1 and bool((np.diff(values) == 1).all())
        self._last = float(values[-1])


_FEW = 0.2  # of cells, among which the others are the rule


class Odd(NamedTuple):
    """A cell that is not as the others are."""

    text: str
    line: int


class TextColumn:
    """A column of a CSV file, and what all of its rows have shown."""

    def __init__(
        self,
        name: str,
        *,
        separator: str,
        n_columns: int = 1,
        order: Order | None = None,
    ) -> None:
        self.name = name
        self.n_missing = self.n_observed = self.n_quoted = 0
        self.numbers = NumberSurvey()
        self.dates = DateSurvey(order)
        self.distinct = Distinct(n_columns)
        self.no_number: Odd | None = None
        self.infinite: Odd | None = None
        self.is_nearly_number = False
        self._separator = separator

    @property
    def is_number(self) -> bool:
        """Whether all values can be read as numbers."""
        return self.numbers.alive

    @property
    def is_boolean(self) -> bool:
        """Whether all values are true or false, in any case."""
        return bool(self.distinct.values) and are_booleans(self.distinct.values or ())

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only."""
        return self.distinct.count == 1 or self.numbers.is_constant

    @property
    def is_quoted(self) -> bool:
        """Whether most values are quoted."""
        return 2 * self.n_quoted > self.n_observed

    @property
    def has_thousands(self) -> bool:
        """Whether the commas in its numbers are likely to stand between thousands.

        Where semicolons separate cells, commas are there for decimals.
        """
        return self._separator != ";" and self.numbers.may_be_thousands

    @property
    def has_quoted_commas(self) -> bool:
        """Whether its numbers have commas before decimals that separate cells, too."""
        return self._separator == "," and self.numbers.decimal == ","

    def see(self, block: "ColumnBlock", sight: Sight | None = None) -> None:
        """Look at more rows."""
        self.n_missing += block.n_missing
        self.n_observed += block.n_observed
        self.n_quoted += block.n_quoted
        if not block.n_observed:
            return
        if sight is not None:
            self.numbers.add(sight)
        elif self.numbers.alive:
            self.numbers.see(block.texts)
        self._find_odd(block)
        if self.numbers.alive:
            self.dates.give_up()
        elif self.dates.alive:
            self.dates.see(block.texts.drop_null())
        is_measured = self.numbers.alive and not self.numbers.is_integer
        if self.distinct.is_open(is_measured=is_measured):
            self.distinct.see(block.texts)
        else:
            self.distinct.give_up()

    def _find_odd(self, block: "ColumnBlock") -> None:
        """Keep the first cell that is no number, and the first that is infinite."""
        if not self.numbers.alive and self.no_number is None:
            found = find_no_numbers(block.texts, self.numbers.decimal)
            self.no_number = block.odd(int(found[0]))
            self.is_nearly_number = len(found) <= _FEW * self.n_observed
        elif self.infinite is None and not self.numbers.is_finite:
            values = read_floats(block.texts, self.numbers.decimal)
            if values is not None:
                infinite = pc.fill_null(pc.is_inf(values), False)
                self.infinite = block.odd(pc.index(infinite, True).as_py())


class ColumnBlock:
    """Some rows of a column, whose texts are taken only if somebody asks for them."""

    def __init__(
        self, grid: TextGrid, place: int, rows: RawRows, n_missing: int, n_quoted: int
    ) -> None:
        self.n_missing = n_missing
        self.n_quoted = n_quoted
        self.n_observed = len(rows) - n_missing
        self._grid = grid
        self._place = place
        self._rows = rows

    @cached_property
    def texts(self) -> pa.StringArray:
        """The texts, (rows,)."""
        return self._grid.column(self._place)

    def odd(self, row: int) -> Odd:
        """Return a cell as an odd one."""
        return Odd(self.texts[row].as_py(), self._rows.line_of(row))


def survey(
    columns: Sequence[TextColumn], grid: TextGrid, holes: Bools, rows: RawRows
) -> None:
    """Let all columns see a block of rows."""
    n_missing = np.count_nonzero(holes, axis=0)
    n_quoted = np.count_nonzero(rows.quoted & ~holes, axis=0).tolist()
    plain = [
        place
        for place in np.flatnonzero(n_missing < len(rows)).tolist()
        if columns[place].numbers.alive and columns[place].numbers.decimal == "."
    ]
    sights = _look_at(grid, plain)
    for place, column in enumerate(columns):
        block = ColumnBlock(grid, place, rows, int(n_missing[place]), n_quoted[place])
        column.see(block, sights.get(place))


def _look_at(grid: TextGrid, places: list[int]) -> dict[int, Sight]:
    """Look at the columns that have only numbers, all at once."""
    if not places:
        return {}
    chosen = grid.columns(places)
    values = read_floats(chosen.flat)
    if values is None:
        wrong = find_no_numbers(chosen.flat) % len(places)
        others = np.delete(np.array(places), np.unique(wrong)).tolist()
        # What reads as no number though it looks like one is left to its column.
        return _look_at(grid, others) if len(others) < len(places) else {}
    numbers = values.to_numpy(zero_copy_only=False).reshape(chosen.shape)
    return dict(zip(places, look_at_numbers(chosen, numbers), strict=True))


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
    """Return what is known of a column."""
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
    """Return what a column is if nobody says otherwise."""
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
    """Refuse a column that is to be of numbers and has other values."""
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
    """Refuse a column that is to be of dates and has other values."""
    if column.n_observed and column.dates.style is None:
        msg = (
            f"Got column {quote_name(column.name)} of {source} with values that are no "
            f"dates, or not all written in one way, but expected dates. Write them as "
            f"2024-12-31, or name what means missing with --missing."
        )
        raise TableError(msg)


def names_rows(name: str) -> bool:
    """Tell whether a column is called as one that names rows is."""
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
