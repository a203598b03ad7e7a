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

MARKERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "NAN", "null", "NULL", "None", "?", "-"),
)


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
        found = [_as_decimal(text) for text in stripped]
        texts = [*dict.fromkeys([*usual, *stripped])]
        self._texts = pa.array([text for text in texts if text], pa.string())
        self._longest = max((len(text.encode()) for text in texts), default=0)
        self._empty = "" in texts
        self._decimals = [decimal for decimal in found if decimal is not None]
        self._infinite = [float(text) for text in stripped if _is_infinite(text)]

    def find(self, texts: pa.StringArray) -> Bools:
        """Return which texts mean missing."""
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
        """Return which numbers mean missing, as the type writes them; NaN does."""
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


Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

_MANY = 2**30  # more than any length


class Sight(NamedTuple):
    """What the numbers of a column in a block look like."""

    least: float
    most: float
    first: float
    last: float
    is_counting: bool
    decimals: tuple[int, int]
    lengths: tuple[int, int]
    is_dotted: bool
    is_padded: bool
    n_digits: int
    has_lower: bool
    has_upper: bool


def look_at_numbers(grid: TextGrid, values: Floats, decimal: str = ".") -> list[Sight]:
    """Look at columns of numbers."""
    data, offsets = _as_bytes(grid.flat)
    lengths = np.diff(offsets)
    observed = lengths > 0
    first = np.zeros(len(lengths), dtype=np.uint8)  # bytes
    first[observed] = data[offsets[:-1][observed]]
    decimals, dotted = _find_decimals(data, offsets, decimal)
    padded = (first == ord("0")) & (lengths > 1) & ~dotted
    marks = dotted.astype(np.int32) + ((first == ord("-")) | (first == ord("+")))
    ends, upper, lower = _find_exponents(data, offsets)
    digits = ends - offsets[:-1] - marks

    def by_column(cells: NDArray[Any]) -> NDArray[Any]:
        return cells.reshape(grid.shape)

    def find_any(cells: Bools) -> list[bool]:
        found: list[bool] = np.any(by_column(cells), axis=0).tolist()
        return found

    columns = zip(
        np.fmin.reduce(values).tolist(),
        np.fmax.reduce(values).tolist(),
        values[0].tolist(),
        values[-1].tolist(),
        _find_counting(values).tolist(),
        _ends(by_column(decimals), by_column(observed)),
        _ends(by_column(lengths), by_column(observed)),
        find_any(dotted),
        find_any(padded),
        by_column(digits).max(0).tolist(),
        find_any(lower),
        find_any(upper),
        strict=True,
    )
    return [Sight(*column) for column in columns]


def _as_bytes(texts: pa.StringArray) -> tuple[NDArray[np.uint8], Ints]:
    """Return the bytes of texts, and where they begin; nulls have none."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
    if texts.null_count:
        # A null may have bytes that nobody sees.
        lengths = np.diff(places)
        if (lengths[np.asarray(texts.is_null())] > 0).any():
            return _as_bytes(pc.fill_null(texts, ""))
    return np.frombuffer(data, np.uint8, int(places[-1])), places


def _find_decimals(
    data: NDArray[np.uint8], offsets: Ints, decimal: str
) -> tuple[Ints, Bools]:
    """Return the number of decimals, and which have a mark before them."""
    dots = np.flatnonzero(data == ord(decimal))
    cells = np.searchsorted(offsets, dots, side="right") - 1
    decimals = np.zeros(len(offsets) - 1, dtype=np.int32)
    decimals[cells] = offsets[cells + 1] - dots - 1
    dotted = np.zeros(len(decimals), dtype=bool)
    dotted[cells] = True
    return decimals, dotted


def _find_exponents(
    data: NDArray[np.uint8], offsets: Ints
) -> tuple[Ints, Bools, Bools]:
    """Return where exponents begin or else texts end, and which have an E or e."""
    ends = offsets[1:].copy()
    upper, lower = np.zeros((2, len(ends)), dtype=bool)
    for letter, found in (("E", upper), ("e", lower)):
        places = np.flatnonzero(data == ord(letter))
        cells = np.searchsorted(offsets, places, side="right") - 1
        found[cells] = True
        ends[cells] = places
    return ends, upper, lower


def _find_counting(values: Floats) -> Bools:
    with np.errstate(invalid="ignore"):  # of infinite numbers
        counting: Bools = np.all(np.diff(values, axis=0) == 1, axis=0)
    return counting


def _ends(values: Ints, observed: Bools) -> list[tuple[int, int]]:
    least = np.where(observed, values, _MANY).min(0)
    most = np.where(observed, values, 0).max(0)
    return list(zip(least.tolist(), most.tolist(), strict=True))


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
    """Tells whether the texts of a column are numbers, and how they are written."""

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
        """Look at more texts."""
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
        """Take note of what numbers look like."""
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
    """How the numbers of a column are written."""

    decimal: str = "."
    fewest: int = 0
    most: int = 0
    digits: int = 0
    upper: bool = False

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


def find_no_numbers(texts: pa.StringArray, decimal: str = ".") -> NDArray[np.intp]:
    """Return the places of texts that are no numbers."""
    pattern = _NUMBER.replace(r"\.", r"\,") if decimal == "," else _NUMBER
    fine = pc.or_(
        pc.match_substring_regex(texts, pattern),
        pc.match_substring_regex(texts, _INFINITE),
    )
    return np.flatnonzero(~np.asarray(pc.fill_null(fine, True)))


def is_with_thousands(texts: pa.StringArray) -> bool:
    """Tell whether texts are numbers but for the commas between thousands."""
    like = pc.match_substring_regex(texts, _THOUSANDS)
    number = pc.match_substring_regex(texts, _NUMBER)
    return bool(pc.any(like).as_py() and pc.all(pc.or_(like, number)).as_py())


def is_with_units(texts: pa.StringArray) -> bool:
    """Tell whether texts are numbers with the sign of a unit, or times of day."""
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


STAMP = pa.timestamp("us")  # of all dates that are read; in UTC if zones are known

_SECONDS = r"(?P<seconds>:[0-9]{2}(?P<fraction>\.[0-9]{1,9})?)"
_CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}{_SECONDS}?"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})"


class Order(NamedTuple):
    """An order of day, month and year."""

    day: str
    pattern: str
    is_iso: bool = False


def _order(day: str, mark: str) -> Order:
    parts = {"%Y": "[0-9]{4}", "%m": "[0-9]{1,2}", "%d": "[0-9]{1,2}"}
    pattern = re.escape(mark).join(parts[part] for part in day.split(mark))
    return Order(day, rf"^{pattern}(?:(?P<gap> ){_CLOCK})?$")


# Where no day is beyond 12, nothing in a column tells these two apart.
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
    gap: str = ""
    has_seconds: bool = False
    n_digits: int = 0
    zone: str = ""
    is_padded: bool = True

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
        found = [self.of_text(self.order, texts[place].as_py()) for place in firsts]
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
        """Tell whether all or none have a zone."""
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
    """Tells whether the texts of a column are dates, and how they are written."""

    def __init__(self, order: Order | None = None) -> None:
        self.styles: list[DateStyle] | None = None
        self._order = order

    @property
    def alive(self) -> bool:
        """Whether all texts so far are dates."""
        return self.styles is None or bool(self.styles)

    @property
    def style(self) -> DateStyle | None:
        """How the dates are written, if that can be told."""
        styles = self.styles or []
        if len(styles) > 1:
            styles = [style for style in styles if style.order == self._order]
        return styles[0] if len(styles) == 1 else None

    @property
    def is_ambiguous(self) -> bool:
        """Whether days can't be told from months."""
        return bool(self.styles) and self.style is None

    def give_up(self) -> None:
        """Take note of texts that are no dates."""
        self.styles = []

    def see(self, texts: pa.StringArray) -> None:
        """Look at more texts."""
        if self.styles is None:
            first: Any = texts[0].as_py()
            found = [DateStyle.of_text(order, first) for order in ORDERS]
            self.styles = [style for style in found if style is not None]
        fitting = [style for style in self.styles if style.read(texts) is not None]
        self.styles = [style.widen(texts) for style in fitting]


def _plain(order: Order) -> str:
    """Return a pattern without names, which Arrow reads faster."""
    return re.sub(r"\?P<[a-z]+>", "?:", order.pattern)


_PAIRS = (
    *(("False", "True"), ("F", "T"), ("No", "Yes"), ("N", "Y")),
    *(("0", "1"), ("0.0", "1.0")),
)
_BOOLEANS = {
    text.lower(): bool(value) for pair in _PAIRS for value, text in enumerate(pair)
}
_TRUE = [text for text, value in _BOOLEANS.items() if value]


def are_booleans(texts: Iterable[str]) -> bool:
    """Tell whether texts are true or false, in any case."""
    return {text.lower() for text in texts} <= {"false", "true"}


def read_booleans(texts: pa.StringArray) -> pa.BooleanArray:
    """Read texts as truth values: true, yes, y, t or 1, and their opposites."""
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
