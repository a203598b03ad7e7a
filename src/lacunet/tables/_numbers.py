"""Texts as numbers: whether all are, and how they are written."""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.tables._grid import TextGrid
from lacunet.tables._sights import Sight, look_at_numbers

_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_INFINITE = r"(?i)^[+-]?inf(?:inity)?$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?$"
# A currency's sign before or behind, a percent sign behind; or a time of day.
_WITH_UNIT = (
    r"^(?:[+-]?[$€£¥] ?[+-]?[0-9][0-9.,]*|[+-]?[0-9][0-9.,]* ?[%$€£¥]"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)$"
)
_MOST_PLAIN_DECIMALS = 15  # that are those of the number and not of its binary form
_DIGITS_UNSEEN = 6  # of numbers in a column that has none to go by
EXACT = 2**53  # up to which every integer is a float


class NumberSurvey:
    """Tells whether the texts of a column are numbers, and how they are written.

    Attributes
    ----------
    alive : bool
        Whether all texts so far are numbers.
    decimal : {".", ","}
    is_counting : bool
        Whether every row is one more than the row before it.
    is_padded : bool
        Whether one has zeros in front.
    least : float
    """

    def __init__(self) -> None:
        self.alive = self.is_counting = True
        self.decimal = "."
        self.least, self._most = math.inf, -math.inf
        self._decimals = (math.inf, 0.0)  # fewest and most
        self._lengths = (math.inf, 0.0)  # shortest and longest text
        self._digits = 0  # of the longest number
        self._is_dotted = self.is_padded = False
        self._has_lower = self._has_upper = False
        self._only_thousands = True
        self._last: float | None = None

    @property
    def is_integer(self) -> bool:
        """Whether there are only digits and signs, and a column of integers has room.

        Integers of more digits are numbers.
        """
        return not (self._is_dotted or self._has_exponents) and self._fits(2**63)

    @property
    def is_exact(self) -> bool:
        """Whether no digit of an integer is lost in a float."""
        is_measured = self._is_dotted or self._has_exponents or not self.is_finite
        return is_measured or self._fits(EXACT)

    @property
    def is_finite(self) -> bool:
        """Whether none is infinite."""
        return -math.inf < self.least and self._most < math.inf

    @property
    def is_constant(self) -> bool:
        """Whether all are the same."""
        return self.alive and self.least == self._most

    @property
    def is_code(self) -> bool:
        """Whether these are digits of one length with zeros in front: 007, 012."""
        same = self._lengths[0] == self._lengths[1]
        return self.is_padded and same and self.is_integer

    @property
    def may_be_thousands(self) -> bool:
        """Whether commas may stand for thousands as well as for decimals."""
        return self.decimal == "," and self._only_thousands

    @property
    def style(self) -> "NumberStyle":
        """How the numbers are written."""
        fewest, most = self._decimals
        if fewest == math.inf:
            return NumberStyle(digits=_DIGITS_UNSEEN)
        return NumberStyle(
            self.decimal,
            int(fewest),
            int(most),
            digits=self._digits if self._has_exponents else 0,
            upper=self._has_upper and not self._has_lower,
        )

    def see(self, texts: pa.StringArray) -> None:
        """Look at more texts.

        Parameters
        ----------
        texts : StringArray
            Null where a value is missing, but not everywhere.
        """
        values = read_floats(texts, self.decimal)
        if values is None and self.decimal == "." and not self._is_dotted:
            values = read_floats(texts, ",")
            if values is not None or _has_more_commas(texts):
                self.decimal = ","
        if values is None:
            self.alive = False
            return
        column = values.to_numpy(zero_copy_only=False)[:, None]
        (sight,) = look_at_numbers(TextGrid(texts, 1), column, self.decimal)
        self.add(sight)
        if sight.is_dotted and self.may_be_thousands:
            dotted = texts.filter(pc.match_substring(texts, ","))
            like = pc.match_substring_regex(dotted, _THOUSANDS)
            self._only_thousands = pc.all(like).as_py()

    def add(self, sight: Sight) -> None:
        """Take note of what numbers look like.

        Parameters
        ----------
        sight : Sight
        """
        follows = self._last is None or sight.first - self._last == 1
        self.is_counting &= follows and sight.is_counting
        self._last = sight.last
        self.least = min(self.least, sight.least)
        self._most = max(self._most, sight.most)
        self._decimals = _widen(self._decimals, sight.decimals)
        self._lengths = _widen(self._lengths, sight.lengths)
        self._is_dotted |= sight.is_dotted
        self.is_padded |= sight.is_padded
        self._digits = max(self._digits, sight.n_digits)
        self._has_lower |= sight.has_lower
        self._has_upper |= sight.has_upper

    @property
    def _has_exponents(self) -> bool:
        return self._has_lower or self._has_upper

    def _fits(self, bound: int) -> bool:
        return -bound < self.least and self._most < bound


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written.

    Parameters
    ----------
    decimal : {".", ","}, default="."
    fewest, most : int, default=0
        Decimals.
    digits : int, default=0
        Of the longest number, if some have exponents; else 0.
    upper : bool, default=False
        Whether the exponent is written with a capital.
    """

    decimal: str = "."
    fewest: int = 0
    most: int = 0
    digits: int = 0
    upper: bool = False

    def write(self, values: NDArray[np.float64]) -> list[str]:
        """Write numbers as the column has them.

        Parameters
        ----------
        values : ndarray of shape (cells,)

        Returns
        -------
        list of str
        """
        if self.digits:
            texts = [f"{value:.{self.digits}g}" for value in values.tolist()]
            texts = [text.upper() for text in texts] if self.upper else texts
        elif self.most > _MOST_PLAIN_DECIMALS:
            texts = [self._write_shortest(value) for value in values.tolist()]
        else:
            texts = [f"{value:.{self.most}f}" for value in values.tolist()]
            if self.fewest < self.most:
                texts = [self._trim(t) if t.endswith("0") else t for t in texts]
        texts = [
            _without_sign_of_zero(text) if text.startswith("-0") else text
            for text in texts
        ]
        if self.decimal == ".":
            return texts
        return [text.replace(".", self.decimal) for text in texts]

    def _trim(self, text: str) -> str:
        """Leave out zeros at the end that the column's cells need not have."""
        whole, _, decimals = text.partition(".")
        decimals = decimals.rstrip("0").ljust(self.fewest, "0")
        return f"{whole}.{decimals}" if decimals else whole

    def _write_shortest(self, value: float) -> str:
        text = np.format_float_positional(value, precision=self.most, trim="-")
        return self._trim(text if "." in text else f"{text}.")


def read_floats(texts: pa.StringArray, decimal: str = ".") -> pa.DoubleArray | None:
    """Read texts as numbers.

    Parameters
    ----------
    texts : StringArray
        Without spaces around them.
    decimal : {".", ","}, default="."

    Returns
    -------
    DoubleArray or None
        None if one of them is no number. An infinite number is one, NaN is not.
    """
    if decimal == ",":
        if pc.any(pc.match_substring(texts, ".")).as_py():
            return None
        texts = pc.replace_substring(texts, ",", ".")
    try:
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    found = values.to_numpy(zero_copy_only=False)
    return values if np.isnan(found).sum() == values.null_count else None


def read_integers(texts: pa.StringArray) -> pa.Int64Array:
    """Read texts that are known to be integers.

    Parameters
    ----------
    texts : StringArray

    Returns
    -------
    Int64Array
    """
    return pc.utf8_ltrim(texts, "+").cast(pa.int64())


def find_no_numbers(texts: pa.StringArray, decimal: str = ".") -> NDArray[np.intp]:
    """Return the places of texts that are no numbers.

    Parameters
    ----------
    texts : StringArray
        Nulls are passed over.
    decimal : {".", ","}, default="."

    Returns
    -------
    ndarray of int of shape (places,)
    """
    pattern = _NUMBER.replace(r"\.", r"\,") if decimal == "," else _NUMBER
    fine = pc.or_(
        pc.match_substring_regex(texts, pattern),
        pc.match_substring_regex(texts, _INFINITE),
    )
    return np.flatnonzero(~np.asarray(pc.fill_null(fine, True)))


def is_with_thousands(texts: pa.StringArray) -> bool:
    """Tell whether texts are numbers but for the commas between thousands.

    Parameters
    ----------
    texts : StringArray
        Some of the column.

    Returns
    -------
    bool
    """
    like = pc.match_substring_regex(texts, _THOUSANDS)
    number = pc.match_substring_regex(texts, _NUMBER)
    return bool(pc.any(like).as_py() and pc.all(pc.or_(like, number)).as_py())


def is_with_units(texts: pa.StringArray) -> bool:
    """Tell whether texts are numbers with the sign of a unit, or times of day.

    Parameters
    ----------
    texts : StringArray
        Some of the column.

    Returns
    -------
    bool
    """
    like = pc.match_substring_regex(texts, _WITH_UNIT)
    return len(texts) > 0 and bool(pc.all(like).as_py())


def _has_more_commas(texts: pa.StringArray) -> bool:
    """Tell whether more texts are numbers if a comma stands before decimals."""
    return len(find_no_numbers(texts, ",")) < len(find_no_numbers(texts))


def _widen(
    ends: tuple[float, float], others: tuple[float, float]
) -> tuple[float, float]:
    return min(ends[0], others[0]), max(ends[1], others[1])


def _without_sign_of_zero(text: str) -> str:
    return text if text.strip("-0.") else text[1:]
