"""Which cells mean that a value is missing."""

import math
import re
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.tables._scanner import Bools

MARKERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "NAN", "null", "NULL", "None", "?", "-"),
)


def trim(texts: pa.StringArray) -> pa.StringArray:
    """Return texts without spaces, tabs and line ends around them.

    Parameters
    ----------
    texts : StringArray

    Returns
    -------
    StringArray
    """
    data = texts.buffers()[2]
    # Most tables have none, which is found out faster than each text is looked at.
    if data is None or not (np.frombuffer(data, np.uint8) <= ord(" ")).any():
        return texts
    return pc.ascii_trim_whitespace(texts)


class Markers:
    """The cells that mean missing: the usual ones and those that a user has named.

    Parameters
    ----------
    named : tuple of str, default=()
    usual : tuple of str, default=MARKERS
    decimals : str, default="."
        What may stand before the decimals of a number.
    """

    def __init__(
        self,
        named: tuple[str, ...] = (),
        *,
        usual: tuple[str, ...] = MARKERS,
        decimals: str = ".",
    ) -> None:
        self._marks = re.escape(decimals)
        stripped = [text.strip() for text in named]
        found = [_as_decimal(text) for text in stripped]
        texts = [*dict.fromkeys([*usual, *stripped])]
        self._texts = pa.array([text for text in texts if text], pa.string())
        self._longest = max((len(text.encode()) for text in texts), default=0)
        self._empty = "" in texts
        self._decimals = [decimal for decimal in found if decimal is not None]
        self._infinite = [float(text) for text in stripped if _is_infinite(text)]

    def find(self, texts: pa.StringArray) -> Bools:
        """Return which texts mean missing.

        Parameters
        ----------
        texts : StringArray of shape (cells,)
            Without spaces around them.

        Returns
        -------
        ndarray of bool of shape (cells,)
        """
        lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
        holes: Bools = (lengths == 0) & self._empty
        short = np.flatnonzero((lengths > 0) & (lengths <= self._longest))
        if len(short):
            some = texts.take(pa.array(short))
            found = pc.is_in(some, value_set=self._texts)
            holes[short] = found.to_numpy(zero_copy_only=False)
        if self._pattern:
            found = pc.match_substring_regex(texts, self._pattern)
            holes |= pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        return holes

    def find_numbers(self, values: NDArray[np.floating]) -> Bools:
        """Return which numbers mean missing, as the type writes them; NaN does.

        Parameters
        ----------
        values : ndarray of shape (cells,)

        Returns
        -------
        ndarray of bool of shape (cells,)
        """
        holes: Bools = np.isnan(values)
        largest = float(np.finfo(values.dtype).max)
        numbers = [float(each) for each in self._decimals if abs(each) <= largest]
        named = np.array([*numbers, *self._infinite], dtype=values.dtype)
        if len(named):
            holes |= np.isin(values, named)
        return holes

    @cached_property
    def _pattern(self) -> str:
        """What matches the numbers in any spelling without an exponent."""
        spellings = "|".join(_spell(each, self._marks) for each in self._decimals)
        return f"^(?:{spellings})$" if spellings else ""


def _as_decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_infinite(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def _spell(number: Decimal, marks: str) -> str:
    sign = "-" if number < 0 else r"\+?"
    whole, _, decimals = f"{abs(number):f}".partition(".")
    decimals = decimals.rstrip("0")
    rest = f"[{marks}]{decimals}0*" if decimals else f"(?:[{marks}]0*)?"
    return f"{sign}0*{re.escape(whole.lstrip('0') or '0')}{rest}"
