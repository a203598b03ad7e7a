"""What is known of a column of a file, from all of its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._scanner import Bools, RawRows, TextGrid
from lacunet.tables._values import (
    DAY_FIRST,
    MONTH_FIRST,
    DateSurvey,
    NumberSummary,
    NumberSurvey,
    Order,
    are_booleans,
    find_non_numbers,
    has_thousands_separators,
    has_units,
    read_floats,
    summarize_numbers,
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

_FEW = 0.2  # fraction of cells below which the others are the rule
_LEAST_ROWS = 20  # from which on a column can be seen to identify rows
_NAME_OF_ID = re.compile(r"(?i)(?:^|[\W_])(?:id|idx|index|key|uuid|guid)(?:$|[\W_])")
MOST_DISTINCT = 1000  # values that are kept of a column
_MOST_IN_ALL = 2**20  # that are kept of all columns
_MANY_COLUMNS = 1000  # beyond which distinct measurements are not counted
_CODES = "Its numbers have leading zeros: they are read as categories."
_THOUSANDS = (
    "Its numbers have commas between thousands: they are read as categories. Remove "
    "the commas to have them read as numbers."
)
_UNITS = (
    "It has units, or times of day: its numbers are read as categories. Write numbers "
    "alone (56 for 56%, 15.5 for 15:30) to have them read as such."
)
_DAY_OR_MONTH = (
    "In its dates, days and months can't be told apart: they are read as categories. "
    "Write them as 2024-12-31."
)
_COMMAS = (
    "Its commas in quotes are read as decimal ones. If its cells are lists or names, "
    "leave it out with --drop, or use --categorical."
)
_MINUS = (
    "It has '+', and '-' counts as missing. If that is a value, use --no-usual-missing."
)


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
        Of the column.
    kind : str
        "number", "integer", "boolean", "category", "date" or "empty"; "text" is a
        column of strings with so many different ones that it may be no category;
        "unsupported" is what no estimator takes, such as lists.
    n_missing : int
        Number of missing values.
    n_distinct : int or None
        Number of different values; None if there are too many to count: more than a
        thousand, or fewer in a table of more than a thousand columns.
    notices : tuple of Notice, default=()
        What a user may want to act on.
    day_first : bool or None, default=None
        Of dates with slashes, whether days stand before months, as in ``31/12/2024``.
        None of all others, which are written without ambiguity.
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


class DistinctValues:
    """The different values of a column, as long as they are few.

    The more columns a table has, the fewer values are kept of each.
    """

    def __init__(self, n_columns: int = 1) -> None:
        self.all_differ = True  # no two rows are the same; if many: no two of a block
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
        """Return whether more values can change what is known.

        Of measurements it does not matter whether all differ.
        """
        if is_measured and self._is_one_of_many:
            return False
        return self._values is not None or (self.all_differ and not is_measured)

    def give_up(self) -> None:
        """Count no longer."""
        self._values = None

    def update(self, array: pa.Array) -> None:
        """Take in more values, null where missing."""
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

    def identify_rows(self, n_observed: int) -> bool:
        """Return whether the values differ in enough rows to be names of rows."""
        return self.all_differ and n_observed >= _LEAST_ROWS


def is_id(
    name: str,
    kind: Kind,
    distinct: DistinctValues,
    n_observed: int,
    *,
    is_counting: bool,
) -> bool:
    """Return whether a column seems to number or name the rows."""
    if kind == "integer":
        named = distinct.all_differ and _NAME_OF_ID.search(name) is not None
        return n_observed >= _LEAST_ROWS and (is_counting or named)
    return kind in ("text", "category") and distinct.identify_rows(n_observed)


EMPTY = Notice("empty", "No row has a value.")


def notice_constant(value: object) -> Notice:
    """Return the notice of a column with one value."""
    return Notice("constant", f"The only value is {shorten(str(value))!r}.")


def notice_id(name: str) -> Notice:
    """Return the notice of a column that identifies its rows."""
    return Notice(
        "id-like",
        f"It seems to number or name the rows, and nothing can be learned from that. "
        f"Leave it out with --drop {quote_name(name)}.",
    )


def notice_digits(name: str) -> Notice:
    """Return the notice of integers that floats do not represent exactly."""
    return Notice(
        "digits",
        f"It has integers of more than 15 digits, whose last ones are lost in "
        f"computations. If they are names, use --categorical {quote_name(name)} or "
        f"--drop.",
    )


# --- columns of CSV


class OddCell(NamedTuple):
    """A cell that is not as the others are, and the line in which its row begins."""

    text: str
    line: int


class ColumnBlock:
    """Some rows of a column, whose texts are taken out only if needed."""

    def __init__(
        self, grid: TextGrid, index: int, rows: RawRows, n_missing: int, n_quoted: int
    ) -> None:
        self.n_missing = n_missing
        self.n_quoted = n_quoted
        self.n_observed = len(rows) - n_missing
        self._grid = grid
        self._index = index
        self._rows = rows

    @cached_property
    def texts(self) -> pa.StringArray:
        """The texts, (rows,), null where missing."""
        return self._grid.column(self._index)

    def odd_cell(self, row: int) -> OddCell:
        """Return a cell with its line."""
        return OddCell(self.texts[row].as_py(), self._rows.line_of(row))


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
        self.n_missing = self.n_observed = self.n_quoted = 0  # cells
        self.numbers = NumberSurvey()
        self.dates = DateSurvey(order)
        self.distinct = DistinctValues(n_columns)
        self.non_number: OddCell | None = None  # the first
        self.infinite: OddCell | None = None  # the first
        self.is_nearly_number = False  # up to the block with the first other cell
        self._separator = separator

    def update(self, block: ColumnBlock, summary: NumberSummary | None = None) -> None:
        """Take in more rows; the summary is of its numbers, if all of them are."""
        self.n_missing += block.n_missing
        self.n_observed += block.n_observed
        self.n_quoted += block.n_quoted
        if not block.n_observed:
            return
        if summary is not None:
            self.numbers.add(summary)
        elif self.numbers.alive:
            self.numbers.update(block.texts)
        self._find_odd_cells(block)
        if self.numbers.alive:
            self.dates.give_up()
        elif self.dates.alive:
            self.dates.update(block.texts.drop_null())
        is_measured = self.numbers.alive and not self.numbers.is_integer
        if self.distinct.is_open(is_measured=is_measured):
            self.distinct.update(block.texts)
        else:
            self.distinct.give_up()

    @property
    def kind(self) -> Kind:
        """What the column is, unless a user calls it a category."""
        if not self.n_observed:
            return "empty"
        numbers = self.numbers
        if numbers.alive and not numbers.is_code and not self.has_thousands:
            return "integer" if numbers.is_integer else "number"
        values = self.distinct.values
        if values and are_booleans(values):
            return "boolean"
        if self.dates.style is not None:
            return "date"
        is_text = values is None or self.distinct.identify_rows(self.n_observed)
        return "text" if is_text else "category"

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

    def info(self, *, is_categorical: bool = False) -> ColumnInfo:
        """Return what is known of the column."""
        kind = self.kind
        if is_categorical and kind != "empty":
            kind = "category"
        style, day_first = self.dates.style, None
        if kind == "date" and style and style.order in (DAY_FIRST, MONTH_FIRST):
            day_first = style.order == DAY_FIRST
        return ColumnInfo(
            self.name,
            kind,
            self.n_missing,
            self.distinct.count,
            tuple(self._notices(kind)),
            day_first,
        )

    def check_number(self, source: str) -> None:
        """Refuse a column that is to be of numbers and has other values."""
        if self.non_number is not None:
            text, line = self.non_number
            advice = f'If it means missing, use --missing "{shorten(text)}".'
            if has_thousands_separators(pa.array([text])):
                advice = "Remove the commas."
            msg = (
                f"Got {shorten(text)!r} in line {line} of {source}, in column "
                f"{quote_name(self.name)}, but expected a number. {advice}"
            )
            raise TableError(msg)
        if self.numbers.alive and self.has_thousands:
            msg = (
                f"Got column {quote_name(self.name)} of {source} with commas in its "
                f"numbers that may stand between thousands or before decimals, but "
                f"expected unambiguous numbers. Remove commas between thousands; "
                f"before decimals, write points."
            )
            raise TableError(msg)
        if self.infinite is not None:
            msg = (
                f"Got column {quote_name(self.name)} of {source} with an infinite "
                f"number, but expected finite ones. {_describe_infinite(self.infinite)}"
            )
            raise TableError(msg)

    def check_date(self, source: str) -> None:
        """Refuse a column that is to be of dates and has other values."""
        if self.n_observed and self.dates.style is None:
            msg = (
                f"Got column {quote_name(self.name)} of {source} with values that are "
                f"no dates, or not all written in one way, but expected dates. Write "
                f"them as 2024-12-31, or name what means missing with --missing."
            )
            raise TableError(msg)

    def _find_odd_cells(self, block: ColumnBlock) -> None:
        """Keep the first cell that is no number, and the first that is infinite."""
        if not self.numbers.alive and self.non_number is None:
            found = find_non_numbers(block.texts, self.numbers.decimal)
            self.non_number = block.odd_cell(int(found[0]))
            self.is_nearly_number = len(found) <= _FEW * self.n_observed
        elif self.infinite is None and not self.numbers.is_finite:
            values = read_floats(block.texts, self.numbers.decimal)
            if values is not None:
                infinite = pc.fill_null(pc.is_inf(values), False)
                self.infinite = block.odd_cell(pc.index(infinite, True).as_py())

    def _notices(self, kind: Kind) -> list[Notice]:
        if kind == "empty":
            return [EMPTY]
        found = []
        numbers, distinct = self.numbers, self.distinct
        if distinct.count == 1 or numbers.is_constant:
            found.append(notice_constant((distinct.values or (numbers.least,))[0]))
        counting = numbers.is_counting
        if is_id(self.name, kind, distinct, self.n_observed, is_counting=counting):
            found.append(notice_id(self.name))
        elif kind in ("integer", "number") and not numbers.is_exact:
            found.append(notice_digits(self.name))
        if self.infinite is not None:
            found.append(Notice("infinite", _describe_infinite(self.infinite)))
        if kind in ("category", "text"):
            found += self._notices_of_numbers()
        if self.dates.is_ambiguous:
            found.append(Notice("day-or-month", _DAY_OR_MONTH))
        if kind == "number" and self._separator == "," and numbers.decimal == ",":
            found.append(Notice("commas", _COMMAS))
        if self.n_missing and "+" in (distinct.values or ()):
            found.append(Notice("minus", _MINUS))
        return found

    def _notices_of_numbers(self) -> list[Notice]:
        """Point out categories that look like numbers."""
        # All values, or one where they are too many to keep.
        one = self.non_number.text if self.non_number else ""
        texts = pa.array(self.distinct.values or (one,), pa.string())
        found = []
        is_number = self.numbers.alive
        if is_number and self.numbers.is_code:
            found.append(Notice("codes", _CODES))
        if self.has_thousands if is_number else has_thousands_separators(texts):
            found.append(Notice("thousands", _THOUSANDS))
        if has_units(texts):
            found.append(Notice("units", _UNITS))
        if self.is_nearly_number and self.non_number is not None:
            text = shorten(self.non_number.text)
            sentence = (
                f"Most of its cells are numbers, but not {text!r} in line "
                f"{self.non_number.line}: so all are read as categories. If that means "
                f'missing, use --missing "{text}".'
            )
            found.append(Notice("nearly-number", sentence))
        return found


def survey(
    columns: Sequence[TextColumn], grid: TextGrid, missing: Bools, rows: RawRows
) -> None:
    """Let all columns take in a block of rows."""
    n_missing = np.count_nonzero(missing, axis=0)
    n_quoted = np.count_nonzero(rows.quoted & ~missing, axis=0).tolist()
    plain = [
        index
        for index in np.flatnonzero(n_missing < len(rows)).tolist()
        if columns[index].numbers.alive and columns[index].numbers.decimal == "."
    ]
    summaries = _summarize(grid, plain)
    for index, column in enumerate(columns):
        block = ColumnBlock(grid, index, rows, int(n_missing[index]), n_quoted[index])
        column.update(block, summaries.get(index))


def _summarize(grid: TextGrid, indices: list[int]) -> dict[int, NumberSummary]:
    """Summarize the columns that have only numbers, all at once."""
    if not indices:
        return {}
    chosen = grid.columns(indices)
    values = read_floats(chosen.flat)
    if values is None:
        wrong = find_non_numbers(chosen.flat) % len(indices)
        others = np.delete(np.array(indices), np.unique(wrong)).tolist()
        # What reads as no number though it looks like one is left to its column.
        return _summarize(grid, others) if len(others) < len(indices) else {}
    numbers = values.to_numpy(zero_copy_only=False).reshape(chosen.shape)
    return dict(zip(indices, summarize_numbers(chosen, numbers), strict=True))


def _describe_infinite(cell: OddCell) -> str:
    return (
        f"It has {cell.text!r} in line {cell.line}. Count it as missing with --missing "
        f"{cell.text}."
    )
