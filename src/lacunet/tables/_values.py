"""What the text of a cell means: a missing value, a number, a date or a boolean."""

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.tables._scanner import Bools, TextGrid

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

MARKERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "NAN", "null", "NULL", "None", "?", "-"),
)
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
STAMP = pa.timestamp("us")  # of all dates that are read; in UTC if zones are known

_SECONDS = r"(?P<seconds>:[0-9]{2}(?P<fraction>\.[0-9]{1,9})?)"
_CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}{_SECONDS}?"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})"
_PAIRS = (
    *(("False", "True"), ("F", "T"), ("No", "Yes"), ("N", "Y")),
    *(("0", "1"), ("0.0", "1.0")),
)
_BOOLEANS = {
    text.lower(): bool(value) for pair in _PAIRS for value, text in enumerate(pair)
}
_TRUE = [text for text, value in _BOOLEANS.items() if value]


# --- missing values


def trim(texts: pa.StringArray) -> pa.StringArray:
    """Return texts without spaces, tabs and line ends around them."""
    data = texts.buffers()[2]
    # Most tables have none, which is found out faster than each text is looked at.
    if data is None or not (np.frombuffer(data, np.uint8) <= ord(" ")).any():
        return texts
    return pc.ascii_trim_whitespace(texts)


class Markers:
    """The cells that mean missing: the usual ones and those that a user has named."""

    def __init__(
        self,
        named: tuple[str, ...] = (),
        *,
        usual: tuple[str, ...] = MARKERS,
        decimals: str = ".",
    ) -> None:
        self._marks = re.escape(decimals)
        stripped = [text.strip() for text in named]
        texts = [*dict.fromkeys([*usual, *stripped])]
        self._texts = pa.array([text for text in texts if text], pa.string())
        self._longest = max((len(text.encode()) for text in texts), default=0)
        self._empty = "" in texts
        numbers = [n for text in stripped if not (n := _as_decimal(text)).is_nan()]
        self._decimals = [number for number in numbers if number.is_finite()]
        self._infinite = [f for number in numbers if math.isinf(f := float(number))]

    def find(self, texts: pa.StringArray) -> Bools:
        """Return which texts mean missing."""
        lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
        missing: Bools = (lengths == 0) & self._empty
        short = np.flatnonzero((lengths > 0) & (lengths <= self._longest))
        if len(short):
            some = texts.take(pa.array(short))
            found = pc.is_in(some, value_set=self._texts)
            missing[short] = found.to_numpy(zero_copy_only=False)
        if self._pattern:
            found = pc.match_substring_regex(texts, self._pattern)
            missing |= pc.fill_null(found, False).to_numpy(zero_copy_only=False)
        return missing

    def find_numbers(self, values: NDArray[np.floating]) -> Bools:
        """Return which numbers mean missing, as the type writes them; NaN does."""
        missing: Bools = np.isnan(values)
        largest = float(np.finfo(values.dtype).max)
        numbers = [float(each) for each in self._decimals if abs(each) <= largest]
        named = np.array([*numbers, *self._infinite], dtype=values.dtype)
        if len(named):
            missing |= np.isin(values, named)
        return missing

    @cached_property
    def _pattern(self) -> str:
        """What matches the numbers in any spelling without an exponent."""
        spellings = "|".join(_spell(each, self._marks) for each in self._decimals)
        return f"^(?:{spellings})$" if spellings else ""


def _as_decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


def _spell(number: Decimal, marks: str) -> str:
    sign = "-" if number < 0 else r"\+?"
    whole, _, decimals = f"{abs(number):f}".partition(".")
    decimals = decimals.rstrip("0")
    rest = f"[{marks}]{decimals}0*" if decimals else f"(?:[{marks}]0*)?"
    return f"{sign}0*{re.escape(whole.lstrip('0') or '0')}{rest}"


# --- numbers


class NumberSummary(NamedTuple):
    """How the numbers of a column in a block are written."""

    least: float
    most: float
    first: float  # NaN if missing
    last: float
    is_counting: bool  # whether every row is one more than the row before it
    decimals: tuple[int, int]  # fewest and most
    lengths: tuple[int, int]  # of the shortest text and of the longest
    is_dotted: bool  # whether one has a decimal mark
    is_padded: bool  # whether one without it has leading zeros
    n_digits: int  # of the longest number
    has_lower: bool  # whether there are exponents after an e
    has_upper: bool  # and after an E


def summarize_numbers(
    grid: TextGrid, values: Floats, decimal: str = "."
) -> list[NumberSummary]:
    """Summarize columns of numbers, none of which is missing in all rows."""
    data, offsets = _as_bytes(grid.flat)
    lengths = np.diff(offsets)
    observed = lengths > 0
    first = np.zeros(len(lengths), dtype=np.uint8)  # bytes
    first[observed] = data[offsets[:-1][observed]]
    dots = np.flatnonzero(data == ord(decimal))
    cells = np.searchsorted(offsets, dots, side="right") - 1
    decimals = np.zeros(len(lengths), dtype=np.int32)
    decimals[cells] = offsets[cells + 1] - dots - 1
    dotted = np.zeros(len(lengths), dtype=bool)
    dotted[cells] = True
    padded = (first == ord("0")) & (lengths > 1) & ~dotted
    marks = dotted.astype(np.int32) + ((first == ord("-")) | (first == ord("+")))
    ends = offsets[1:].copy()  # of mantissas
    upper, lower = np.zeros((2, len(ends)), dtype=bool)
    for letter, found in (("E", upper), ("e", lower)):
        exponents = np.flatnonzero(data == ord(letter))
        cells = np.searchsorted(offsets, exponents, side="right") - 1
        found[cells] = True
        ends[cells] = exponents
    digits = ends - offsets[:-1] - marks

    with np.errstate(invalid="ignore"):  # of infinite numbers
        counting = np.all(np.diff(values, axis=0) == 1, axis=0)

    def any_of(cells: Bools) -> list[bool]:
        found: list[bool] = np.any(cells.reshape(grid.shape), axis=0).tolist()
        return found

    def ends_of(cells: Ints) -> list[tuple[int, int]]:
        least = np.where(observed, cells, 2**30).reshape(grid.shape).min(0)
        most = np.where(observed, cells, 0).reshape(grid.shape).max(0)
        return list(zip(least.tolist(), most.tolist(), strict=True))

    columns = zip(
        np.fmin.reduce(values).tolist(),
        np.fmax.reduce(values).tolist(),
        values[0].tolist(),
        values[-1].tolist(),
        counting.tolist(),
        ends_of(decimals),
        ends_of(lengths),
        any_of(dotted),
        any_of(padded),
        digits.reshape(grid.shape).max(0).tolist(),
        any_of(lower),
        any_of(upper),
        strict=True,
    )
    return [NumberSummary(*column) for column in columns]


def _as_bytes(texts: pa.StringArray) -> tuple[NDArray[np.uint8], Ints]:
    """Return the bytes of texts, and where they begin; nulls have none."""
    _, buffer, data = texts.buffers()
    offsets = np.frombuffer(buffer, np.int32, len(texts) + 1, 4 * texts.offset)
    if texts.null_count:
        # A null may have hidden bytes.
        lengths = np.diff(offsets)
        if (lengths[np.asarray(texts.is_null())] > 0).any():
            return _as_bytes(pc.fill_null(texts, ""))
    return np.frombuffer(data, np.uint8, int(offsets[-1])), offsets


class NumberSurvey:
    """Checks whether the texts of a column are numbers, and how they are written."""

    def __init__(self) -> None:
        self.alive = True  # all texts so far are numbers
        self.is_counting = True  # every row is one more than the row before it
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
        """Whether there are only digits and signs, and 64 bits are enough."""
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
        """Whether these are digits of one length with leading zeros: 007, 012."""
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

    def update(self, texts: pa.StringArray) -> None:
        """Take in more texts, null where a value is missing, but not everywhere."""
        values = read_floats(texts, self.decimal)
        if values is None and self.decimal == "." and not self._is_dotted:
            values = read_floats(texts, ",")
            if values is not None or (
                len(find_non_numbers(texts, ",")) < len(find_non_numbers(texts))
            ):
                self.decimal = ","
        if values is None:
            self.alive = False
            return
        column = values.to_numpy(zero_copy_only=False)[:, None]
        (summary,) = summarize_numbers(TextGrid(texts, 1), column, self.decimal)
        self.add(summary)
        if summary.is_dotted and self.may_be_thousands:
            dotted = texts.filter(pc.match_substring(texts, ","))
            like = pc.match_substring_regex(dotted, _THOUSANDS)
            self._only_thousands = pc.all(like).as_py()

    def add(self, summary: NumberSummary) -> None:
        """Take in the summary of more numbers."""
        follows = self._last is None or summary.first - self._last == 1
        self.is_counting &= follows and summary.is_counting
        self._last = summary.last
        self.least = min(self.least, summary.least)
        self._most = max(self._most, summary.most)
        self._decimals = _widen(self._decimals, summary.decimals)
        self._lengths = _widen(self._lengths, summary.lengths)
        self._is_dotted |= summary.is_dotted
        self.is_padded |= summary.is_padded
        self._digits = max(self._digits, summary.n_digits)
        self._has_lower |= summary.has_lower
        self._has_upper |= summary.has_upper

    @property
    def _has_exponents(self) -> bool:
        return self._has_lower or self._has_upper

    def _fits(self, bound: int) -> bool:
        return -bound < self.least and self._most < bound


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written."""

    decimal: str = "."
    fewest: int = 0  # decimals
    most: int = 0
    digits: int = 0  # of the longest number, if some have exponents; else 0
    upper: bool = False  # E or e

    def write(self, values: NDArray[np.float64]) -> list[str]:
        """Write numbers as the column has them."""
        if self.digits:
            texts = [f"{value:.{self.digits}g}" for value in values.tolist()]
            texts = [text.upper() for text in texts] if self.upper else texts
        elif self.most > _MOST_PLAIN_DECIMALS:
            texts = [self._write_shortest(value) for value in values.tolist()]
        else:
            texts = [f"{value:.{self.most}f}" for value in values.tolist()]
            if self.fewest < self.most:
                texts = [self._trim(t) if t.endswith("0") else t for t in texts]
        # Not -0.00.
        texts = [
            text[1:] if text.startswith("-0") and not text.strip("-0.") else text
            for text in texts
        ]
        if self.decimal == ".":
            return texts
        return [text.replace(".", self.decimal) for text in texts]

    def _trim(self, text: str) -> str:
        """Remove trailing zeros that not all cells of the column have."""
        whole, _, decimals = text.partition(".")
        decimals = decimals.rstrip("0").ljust(self.fewest, "0")
        return f"{whole}.{decimals}" if decimals else whole

    def _write_shortest(self, value: float) -> str:
        text = np.format_float_positional(value, precision=self.most, trim="-")
        return self._trim(text if "." in text else f"{text}.")


def read_floats(texts: pa.StringArray, decimal: str = ".") -> pa.DoubleArray | None:
    """Read texts as numbers."""
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
    """Read texts that are known to be integers."""
    return pc.utf8_ltrim(texts, "+").cast(pa.int64())


def find_non_numbers(texts: pa.StringArray, decimal: str = ".") -> NDArray[np.intp]:
    """Return the indices of texts that are no numbers."""
    pattern = _NUMBER.replace(r"\.", r"\,") if decimal == "," else _NUMBER
    fine = pc.or_(
        pc.match_substring_regex(texts, pattern),
        pc.match_substring_regex(texts, _INFINITE),
    )
    return np.flatnonzero(~np.asarray(pc.fill_null(fine, True)))


def has_thousands_separators(texts: pa.StringArray) -> bool:
    """Return whether texts are numbers but for the commas between thousands."""
    like = pc.match_substring_regex(texts, _THOUSANDS)
    number = pc.match_substring_regex(texts, _NUMBER)
    return bool(pc.any(like).as_py() and pc.all(pc.or_(like, number)).as_py())


def has_units(texts: pa.StringArray) -> bool:
    """Return whether texts are numbers with the sign of a unit, or times of day."""
    like = pc.match_substring_regex(texts, _WITH_UNIT)
    return len(texts) > 0 and bool(pc.all(like).as_py())


def _widen(
    ends: tuple[float, float], others: tuple[float, float]
) -> tuple[float, float]:
    return min(ends[0], others[0]), max(ends[1], others[1])


# --- dates


class Order(NamedTuple):
    """An order of day, month and year."""

    day: str  # in the codes of strftime
    pattern: str  # that a whole text matches
    is_iso: bool = False  # then pandas knows all of its variants


def _order(day: str, mark: str) -> Order:
    parts = {"%Y": "[0-9]{4}", "%m": "[0-9]{1,2}", "%d": "[0-9]{1,2}"}
    pattern = re.escape(mark).join(parts[part] for part in day.split(mark))
    return Order(day, rf"^{pattern}(?:(?P<gap> ){_CLOCK})?$")


# Where no day is beyond 12, these two can't be told apart.
DAY_FIRST = _order("%d/%m/%Y", "/")
MONTH_FIRST = _order("%m/%d/%Y", "/")
ORDERS = (
    Order(
        "%Y-%m-%d",
        rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:(?P<gap>[T ]){_CLOCK}{_ZONE}?)?$",
        is_iso=True,
    ),
    _order("%Y/%m/%d", "/"),
    _order("%d.%m.%Y", "."),
    DAY_FIRST,
    MONTH_FIRST,
    _order("%d-%m-%Y", "-"),
)


@dataclass(frozen=True)
class DateStyle:
    """How the dates of a column are written."""

    order: Order
    gap: str = ""  # before the time; nothing if there is none
    has_seconds: bool = False
    n_digits: int = 0  # of fractions of seconds
    zone: str = ""  # such as Z or +01:00
    is_padded: bool = True  # whether days and months below 10 begin with a zero

    @classmethod
    def of_text(cls, order: Order, text: str) -> "DateStyle | None":
        """Return how a date is written, if it has this order."""
        match = re.match(order.pattern, text)
        if match is None:
            return None
        parts = match.groupdict()
        day = text[: match.start("gap")] if parts["gap"] else text
        return cls(
            order,
            parts["gap"] or "",
            parts["seconds"] is not None,
            len(parts["fraction"] or ".") - 1,
            parts.get("zone") or "",
            is_padded=not re.search(r"(?<![0-9])[1-9](?![0-9])", day),
        )

    def read(self, texts: pa.StringArray) -> pa.TimestampArray | None:
        """Read texts that are all written like this."""
        # Dates are often the same in many rows: each is read once.
        encoded = texts.dictionary_encode()
        dates = self._read_all(encoded.dictionary)
        return None if dates is None else dates.take(encoded.indices)

    def write(self, values: NDArray[np.datetime64]) -> list[str]:
        """Write dates as the column has them, rounded to what is written."""
        local = values.astype("M8[us]") + np.timedelta64(self._offset, "us")
        step = np.timedelta64(self._step, "us")
        since = local.astype(np.int64)
        rounded = np.rint(since / step.astype(np.int64)).astype(np.int64) * step
        dates = (np.datetime64(0, "us") + rounded).tolist()
        return [self._write_one(date) for date in dates]

    def widen(self, texts: pa.StringArray) -> "DateStyle":
        """Return the style with as many digits and zeros as these texts have."""
        lengths = pc.binary_length(texts)
        # One of each length: what is written more or less fully differs in it.
        firsts = [pc.index(lengths, length).as_py() for length in pc.unique(lengths)]
        found = [self.of_text(self.order, texts[index].as_py()) for index in firsts]
        styles = [self, *(style for style in found if style is not None)]
        fullest = max(styles, key=lambda style: (bool(style.gap), style.has_seconds))
        return replace(
            fullest,
            n_digits=max(style.n_digits for style in styles),
            is_padded=all(style.is_padded for style in styles),
        )

    def _read_all(self, texts: pa.StringArray) -> pa.TimestampArray | None:
        if not len(texts):
            return pa.array([], STAMP)
        if not pc.all(pc.match_substring_regex(texts, _plain(self.order))).as_py():
            return None
        if self.order.is_iso and not self._agrees(texts):
            return None
        form = "ISO8601" if self.order.is_iso else self._format
        found = pd.to_datetime(
            texts.to_pandas(), format=form, errors="coerce", utc=bool(self.zone)
        )
        if self.zone:
            found = found.dt.tz_localize(None)
        dates = pa.array(found.to_numpy("M8[us]"), STAMP, from_pandas=True)
        return None if dates.null_count else dates

    @property
    def _format(self) -> str:
        seconds = ":%S" if self.has_seconds else ""
        fraction = ".%f" if self.n_digits else ""
        clock = f"{self.gap}%H:%M{seconds}{fraction}" if self.gap else ""
        return self.order.day + clock

    @property
    def _offset(self) -> int:
        """Microseconds that the zone is ahead of UTC."""
        if self.zone in ("", "Z"):
            return 0
        hours, minutes = int(self.zone[1:3]), int(self.zone[-2:])
        sign = -1 if self.zone[0] == "-" else 1
        return sign * (hours * 60 + minutes) * 60_000_000

    @property
    def _step(self) -> int:
        """Microseconds between two dates that can be written."""
        if not self.gap:
            return 86_400_000_000
        seconds = 1_000_000 if self.has_seconds else 60_000_000
        return int(seconds // 10 ** min(self.n_digits, 6))

    def _agrees(self, texts: pa.StringArray) -> bool:
        """Return whether all or none have a zone."""
        zoned = pc.match_substring_regex(texts, "(?:Z|:[0-9.]*[+-][0-9:]+)$")
        same = zoned if self.zone else pc.invert(zoned)
        return bool(pc.all(same).as_py())

    def _write_one(self, date: datetime.datetime) -> str:
        year, month, day = f"{date.year:04d}", f"{date.month:02d}", f"{date.day:02d}"
        hour = f"{date.hour:02d}"
        if not self.is_padded:
            month, day = str(date.month), str(date.day)
        text = self.order.day
        for code, part in (("%Y", year), ("%m", month), ("%d", day)):
            text = text.replace(code, part)
        if not self.gap:
            return text
        text += f"{self.gap}{hour}:{date.minute:02d}"
        if self.has_seconds:
            text += f":{date.second:02d}"
        if self.n_digits:
            text += f".{date.microsecond:06d}".ljust(10, "0")[: self.n_digits + 1]
        return text + self.zone


class DateSurvey:
    """Checks whether the texts of a column are dates, and how they are written."""

    def __init__(self, order: Order | None = None) -> None:
        self.styles: list[DateStyle] | None = None
        self._order = order

    @property
    def alive(self) -> bool:
        """Whether all texts so far are dates."""
        return self.styles is None or bool(self.styles)

    @property
    def style(self) -> DateStyle | None:
        """How the dates are written, if only one style is possible."""
        styles = self.styles or []
        if len(styles) > 1:
            styles = [style for style in styles if style.order == self._order]
        return styles[0] if len(styles) == 1 else None

    @property
    def is_ambiguous(self) -> bool:
        """Whether days and months can't be told apart."""
        return bool(self.styles) and self.style is None

    def give_up(self) -> None:
        """Record that the texts are no dates."""
        self.styles = []

    def update(self, texts: pa.StringArray) -> None:
        """Take in more texts, at least one, without nulls."""
        if self.styles is None:
            first: Any = texts[0].as_py()
            found = [DateStyle.of_text(order, first) for order in ORDERS]
            self.styles = [style for style in found if style is not None]
        fitting = [style for style in self.styles if style.read(texts) is not None]
        self.styles = [style.widen(texts) for style in fitting]


def _plain(order: Order) -> str:
    """Return a pattern without names, which Arrow reads faster."""
    return re.sub(r"\?P<[a-z]+>", "?:", order.pattern)


# --- booleans


def are_booleans(texts: Iterable[str]) -> bool:
    """Return whether texts are true or false, in any case."""
    return {text.lower() for text in texts} <= {"false", "true"}


def read_booleans(texts: pa.StringArray) -> pa.BooleanArray:
    """Read texts as booleans: true, yes, y, t or 1, and their opposites."""
    lower = pc.ascii_lower(texts)
    known = pc.is_in(lower, value_set=pa.array([*_BOOLEANS]))
    truth = pc.is_in(lower, value_set=pa.array(_TRUE))
    return pc.if_else(known, truth, pa.scalar(None, pa.bool_()))


def spell_booleans(texts: Iterable[str]) -> dict[bool, str]:
    """Return how true and false are written.

    Parameters
    ----------
    texts : iterable of str
        Some of them; others may be among them. What is not is written alike.

    Returns
    -------
    dict of bool to str

    Examples
    --------
    >>> spell_booleans(["FALSE"])
    {False: 'FALSE', True: 'TRUE'}
    """
    known = [text for text in texts if text.lower() in _BOOLEANS]
    found = {_BOOLEANS[text.lower()]: text for text in known}
    some = next(iter(found.values()), "True")
    (pair,) = (pair for pair in _PAIRS if some.title() in pair)
    for value, text in enumerate(pair):
        cases = {some.lower(): text.lower(), some.upper(): text.upper()}
        found.setdefault(bool(value), cases.get(some, text))
    return found
