"""A column of a CSV file, looked at block by block."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lacunet.tables._booleans import are_booleans
from lacunet.tables._dates import DateSurvey, Order
from lacunet.tables._distinct import Distinct
from lacunet.tables._grid import TextGrid
from lacunet.tables._numbers import (
    NumberSurvey,
    find_no_numbers,
    read_floats,
)
from lacunet.tables._raw import RawRows
from lacunet.tables._scanner import Bools
from lacunet.tables._sights import Sight, look_at_numbers

_FEW = 0.2  # of cells, among which the others are the rule


class Odd(NamedTuple):
    """A cell that is not as the others are.

    Parameters
    ----------
    text : str
    line : int
        In which its row begins.
    """

    text: str
    line: int


class TextColumn:
    """A column of a CSV file, and what all of its rows have shown.

    Parameters
    ----------
    name : str
    separator : str
        Of the file.
    n_columns : int, default=1
        Of the file.
    order : Order or None, default=None
        Of day, month and year, where its dates do not tell it.

    Attributes
    ----------
    n_missing, n_observed, n_quoted : int
        Cells: without a value, with one, with one in quotes.
    numbers : NumberSurvey
    dates : DateSurvey
    distinct : Distinct
    no_number, infinite : Odd or None
        The first cell that is no number, and the first infinite number.
    is_nearly_number : bool
        Whether few cells are no numbers, up to the block with the first of them.
    """

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
        """Look at more rows.

        Parameters
        ----------
        block : ColumnBlock
        sight : Sight, default=None
            Of its numbers, if it is known already that all of them are.
        """
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
    """Some rows of a column, whose texts are taken only if somebody asks for them.

    Parameters
    ----------
    grid : TextGrid
        Null where a value is missing.
    place : int
        Of the column.
    rows : RawRows
        Where they come from.
    n_missing, n_quoted : int
        Cells without a value, and with one in quotes.

    Attributes
    ----------
    n_observed : int
    """

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
        """Return a cell as an odd one.

        Parameters
        ----------
        row : int

        Returns
        -------
        Odd
        """
        return Odd(self.texts[row].as_py(), self._rows.line_of(row))


def survey(
    columns: Sequence[TextColumn], grid: TextGrid, holes: Bools, rows: RawRows
) -> None:
    """Let all columns see a block of rows.

    Parameters
    ----------
    columns : sequence of TextColumn
    grid : TextGrid
    holes : ndarray of bool of shape (rows, columns)
    rows : RawRows
    """
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
