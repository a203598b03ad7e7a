"""What the text of a cell means: a missing value, a number, a date or a boolean."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MARKERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>"),
    *("NaN", "nan", "NAN", "null", "NULL", "None", "?", "-"),
)
EXACT = 2**53  # up to which every integer is a float
STAMP = pa.timestamp("us")  # of all dates that are read; in UTC if zones are known
_MOST_PLAIN_DECIMALS = 15  # that are those of the number and not of its binary form
_DIGITS_UNSEEN = 6  # of numbers in a column that has none to go by

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
    """Return texts without spaces around them, and without quotes after such."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
    # Most columns have none, which is found out faster than each text is looked at.
    least = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
    if not len(least) or least.min() > ord(" "):
        return texts
    trimmed = pc.utf8_trim_whitespace(texts)
    quoted = pc.and_(pc.starts_with(trimmed, '"'), pc.not_equal(trimmed, texts))
    if not pc.any(quoted).as_py():
        return trimmed
    bare = pc.replace_substring_regex(trimmed, r'^"(.+)"$', r"\1")
    return pc.if_else(quoted, bare, trimmed)


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


# A sign, a currency, digits with any marks, a unit.
_DECORATED = (
    r"^(?P<sign>[+-]?)(?P<before>[$€£¥₹¢] ?|(?:USD|EUR|GBP|CHF|JPY|CNY) |)"
    r"(?P<body>[+-]?[.,]?[0-9](?:[0-9.,' ]*[0-9.,])?(?:[eE][+-]?[0-9]+)?)"
    r"(?P<after> ?(?:[%‰$€£¥₹¢]|°[CF]?|[A-Za-zµμΩ][A-Za-zµμΩ/²³]{0,9})|)$"
)
_CENSORED = r"^(?P<side>[<>]=?|[≤≥]) ?"
_SPACES = "[\u00a0\u2009\u202f]"  # between thousands, or before a unit


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = "."
    thousands: str = ""
    before: str = ""  # a currency, such as $
    after: str = ""  # a unit, such as %

    @property
    def body(self) -> str:
        """A pattern of what stands between currency and unit."""
        decimal, thousands = re.escape(self.decimal), re.escape(self.thousands)
        if not thousands:
            digits = rf"(?:[0-9]+{decimal}?[0-9]*|{decimal}[0-9]+)"
            return rf"[+-]?{digits}(?:[eE][+-]?[0-9]+)?"
        whole = rf"(?:[0-9]{{1,3}}(?:{thousands}[0-9]{{3}})+|[0-9]+)"
        return rf"[+-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)"

    def read(self, texts: pa.StringArray) -> pa.DoubleArray:
        """Read texts, null where there is none or it is no such number."""
        if self[:4] == (".", "", "", ""):
            values = read_floats(texts)
            if values is not None:
                return values
        clean = self.strip(texts)
        try:
            values = clean.cast(pa.float64())
        except pa.ArrowInvalid:  # more digits than a number may have
            values = pa.array(
                [None if x is None else float(x) for x in clean.to_pylist()],
                pa.float64(),
            )
        return values

    def strip(self, texts: pa.StringArray) -> pa.StringArray:
        """Return numbers as Arrow reads them, null where there is none."""
        before, after = (re.escape(x.strip()) for x in (self.before, self.after))
        flat = pc.replace_substring_regex(texts, _SPACES, " ")
        parts = pc.extract_regex(
            flat, rf"^(?P<sign>[+-]?){before} ?(?P<body>{self.body}) ?{after}$"
        )
        sign, body = pc.struct_field(parts, "sign"), pc.struct_field(parts, "body")
        if self.thousands:
            body = pc.replace_substring(body, self.thousands, "")
        if self.decimal != ".":
            body = pc.replace_substring(body, self.decimal, ".")
        joined = pc.binary_join_element_wise(sign, body, "")
        # A sign on both sides of a currency is none; neither is it a number.
        twice = pc.match_substring_regex(joined, "^[+-][+-]")
        return pc.if_else(twice, pa.scalar(None, pa.string()), joined)

    def find_censored(self, texts: pa.StringArray) -> Bools:
        """Return which texts are bounds: <0.5, or >100."""
        pattern = _CENSORED + self.body
        found = pc.match_substring_regex(
            texts, rf"{pattern} ?{re.escape(self.after.strip())}$"
        )
        return np.asarray(pc.fill_null(found, False))

    def read_bounds(
        self, texts: pa.StringArray, *, whole: bool = False
    ) -> tuple[Floats, Floats]:
        """Return lower and upper bounds, NaN where a text is none.

        Of whole numbers ``<5`` is at most 4.
        """
        found = pc.if_else(self.find_censored(texts), texts, None)
        flat = pc.replace_substring_regex(found, _SPACES, " ")
        side = pc.struct_field(pc.extract_regex(flat, _CENSORED), "side")
        numbers = self.read(pc.replace_substring_regex(flat, _CENSORED, ""))
        values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
        is_upper = pc.fill_null(pc.match_substring_regex(side, "[<≤]"), False)
        below = np.asarray(is_upper)
        if whole:
            strict = np.asarray(
                pc.fill_null(pc.match_substring_regex(side, "^[<>]$"), False)
            )
            nearest = np.where(below, np.ceil(values) - 1, np.floor(values) + 1)
            values = np.where(strict, nearest, values)
        return np.where(below, np.nan, values), np.where(below, values, np.nan)


PLAIN = NumberFormat()
FORMATS = (
    *(NumberFormat(".", thousands) for thousands in ("", ",", "'", " ")),
    *(NumberFormat(",", thousands) for thousands in ("", ".", "'", " ")),
)


def split_numbers(texts: pa.StringArray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return what stands before, in and after numbers; null where there is none."""
    flat = pc.replace_substring_regex(texts, _SPACES, " ")
    parts = pc.extract_regex(flat, _DECORATED)
    before, body, after = (
        pc.struct_field(parts, name) for name in ("before", "body", "after")
    )
    return before, body, after


def read_floats(texts: pa.StringArray) -> pa.DoubleArray | None:
    """Read texts as plain numbers; None if one of them is none."""
    try:
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    found = values.to_numpy(zero_copy_only=False)
    return values if np.isnan(found).sum() == values.null_count else None


def read_integers(texts: pa.StringArray) -> pa.Int64Array:
    """Read texts that are known to be integers."""
    return pc.utf8_ltrim(texts, "+").cast(pa.int64())


@dataclass
class NumberStyle:
    """With how many decimals the numbers of a column are written."""

    format: NumberFormat = PLAIN
    fewest: float = math.inf  # decimals
    most: int = 0
    digits: int = 0  # of the longest number
    upper: bool = True  # E and not e
    has_exponents: bool = False

    def update(self, texts: pa.StringArray) -> None:
        """Take in more texts."""
        clean = (
            texts if self.format == PLAIN else self.format.strip(texts)
        ).drop_null()
        if not len(clean):
            return
        lower = pc.ascii_lower(clean)
        length, dot, exponent = (
            np.asarray(found)
            for found in (
                pc.binary_length(clean),
                pc.find_substring(clean, "."),
                pc.find_substring(lower, "e"),
            )
        )
        ends = np.where(exponent < 0, length, exponent)
        decimals = np.where(dot < 0, 0, ends - dot - 1)
        signed = np.asarray(pc.match_substring_regex(clean, "^[+-]"))
        self.fewest = min(self.fewest, int(decimals.min()))
        self.most = max(self.most, int(decimals.max()))
        self.digits = max(self.digits, int((ends - (dot >= 0) - signed).max()))
        if (exponent >= 0).any():
            self.has_exponents = True
            self.upper &= not pc.any(pc.match_substring(clean, "e")).as_py()

    def write(self, values: Floats) -> list[str]:
        """Write numbers as the column has them."""
        if self.fewest == math.inf:
            texts = [f"{value:.{_DIGITS_UNSEEN}g}" for value in values.tolist()]
        elif self.has_exponents:
            texts = [f"{value:.{self.digits}g}" for value in values.tolist()]
            texts = [text.upper() for text in texts] if self.upper else texts
        elif self.most > _MOST_PLAIN_DECIMALS:
            texts = [
                np.format_float_positional(value, precision=self.most, trim="-")
                for value in values.tolist()
            ]
            texts = [self._trim(text if "." in text else f"{text}.") for text in texts]
        else:
            comma = "," if self.format.thousands else ""
            texts = [f"{value:{comma}.{self.most}f}" for value in values.tolist()]
            if self.fewest < self.most:
                texts = [self._trim(t) if t.endswith("0") else t for t in texts]
        # Not -0.00.
        texts = [
            text[1:] if text.startswith("-0") and not text.strip("-0.") else text
            for text in texts
        ]
        if self.format == PLAIN:
            return texts
        _, _, before, after = self.format
        marks = str.maketrans({".": self.format.decimal, ",": self.format.thousands})
        signs = ["-" if text.startswith("-") else "" for text in texts]
        return [
            f"{sign}{before}{text.removeprefix('-').translate(marks)}{after}"
            for sign, text in zip(signs, texts, strict=True)
        ]

    def _trim(self, text: str) -> str:
        """Remove trailing zeros that not all cells of the column have."""
        whole, _, decimals = text.partition(".")
        decimals = decimals.rstrip("0").ljust(int(self.fewest), "0")
        return f"{whole}.{decimals}" if decimals else whole


# --- dates


DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"  # the same where no day is beyond 12
_ISO = "%Y-%m-%d"
_DAYS = (_ISO, "%Y/%m/%d", "%d.%m.%Y", DAY_FIRST, MONTH_FIRST, "%d-%m-%Y")
_DATE = re.compile(
    r"(?P<day>[0-9]{1,4}(?P<mark>[-/.])[0-9]{1,2}(?P=mark)[0-9]{1,4})"
    r"(?:(?P<gap>[T ])[0-9]{1,2}:[0-9]{2}(?P<seconds>:[0-9]{2}(?P<fraction>\.[0-9]+)?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


@dataclass(frozen=True)
class DateStyle:
    """How the dates of a column are written."""

    day: str = _ISO  # in the codes of strftime
    gap: str = ""  # before the time; nothing if there is none
    has_seconds: bool = False
    n_digits: int = 0  # of fractions of seconds
    zone: str = ""  # such as Z or +01:00
    is_padded: bool = True  # whether days and months below 10 begin with a zero

    @classmethod
    def of_text(cls, day: str, text: str) -> "DateStyle | None":
        """Return how a text is written that may be a date of this order."""
        match = _DATE.fullmatch(text)
        if match is None or match["mark"] not in day or (match["zone"] and day != _ISO):
            return None
        return cls(
            day,
            match["gap"] or "",
            match["seconds"] is not None,
            len(match["fraction"] or ".") - 1,
            match["zone"] or "",
            is_padded=not re.search(r"(?<![0-9])[1-9](?![0-9])", match["day"]),
        )

    def read(self, texts: pa.StringArray) -> pa.TimestampArray | None:
        """Read texts, null where missing; None if one is no such date."""
        # Dates are often the same in many rows: each is read once.
        encoded = texts.dictionary_encode()
        unique = encoded.dictionary
        mark = re.escape(self.day[2])
        day = rf"^[0-9]{{1,4}}{mark}[0-9]{{1,2}}{mark}[0-9]{{1,4}}(?:[T ].+)?$"
        zoned = pc.match_substring_regex(unique, "(?:Z|:[0-9.]*[+-][0-9:]+)$")
        fine = pc.match_substring_regex(unique, day)
        if pc.any(pc.invert(pc.and_(fine, pc.equal(zoned, bool(self.zone))))).as_py():
            return None
        format = self.day
        if self.gap:
            seconds = ":%S" if self.has_seconds else ""
            format += f"{self.gap}%H:%M{seconds}{'.%f' if self.n_digits else ''}"
        found = pd.to_datetime(
            pd.Series(unique.to_pylist(), dtype=object),
            format="ISO8601" if self.day == _ISO else format,
            errors="coerce",
            utc=bool(self.zone),
        )
        if self.zone:
            found = found.dt.tz_localize(None)
        dates = pa.array(found.to_numpy("M8[us]"), STAMP, from_pandas=True)
        return None if dates.null_count else dates.take(encoded.indices)

    def widen(self, texts: pa.StringArray) -> "DateStyle":
        """Return the style with as many digits and zeros as these texts have."""
        lengths = pc.binary_length(texts)
        # One of each length: what is written more or less fully differs in it.
        firsts = [pc.index(lengths, length).as_py() for length in pc.unique(lengths)]
        found = [self.of_text(self.day, texts[index].as_py()) for index in firsts]
        styles = [self, *(style for style in found if style is not None)]
        fullest = max(styles, key=lambda style: (bool(style.gap), style.has_seconds))
        return replace(
            fullest,
            n_digits=max(style.n_digits for style in styles),
            is_padded=all(style.is_padded for style in styles),
        )

    def write(self, values: NDArray[np.datetime64]) -> list[str]:
        """Write dates as the column has them, rounded to what is written."""
        offset = 0  # microseconds ahead of UTC
        if self.zone not in ("", "Z"):
            minutes = 60 * int(self.zone[1:3]) + int(self.zone[-2:])
            offset = 60_000_000 * (-minutes if self.zone[0] == "-" else minutes)
        step = 1_000_000 if self.has_seconds else 60_000_000
        step = step // 10 ** min(self.n_digits, 6) if self.gap else 86_400_000_000
        since = values.astype("M8[us]").astype(np.int64) + offset
        texts = []
        for date in (
            (np.rint(since / step).astype(np.int64) * step).view("M8[us]").tolist()
        ):
            text = self.day.replace("%Y", f"{date.year:04d}")
            width = "02d" if self.is_padded else "d"
            text = text.replace("%m", f"{date.month:{width}}")
            text = text.replace("%d", f"{date.day:{width}}")
            if self.gap:
                text += f"{self.gap}{date:%H:%M:%S}"[: None if self.has_seconds else -3]
            if self.n_digits:
                text += f".{date.microsecond:06d}".ljust(10, "0")[: self.n_digits + 1]
            texts.append(text + self.zone)
        return texts


class DateSurvey:
    """Checks whether the texts of a column are dates, and how they are written."""

    def __init__(self, day: str | None = None) -> None:
        self._styles: list[DateStyle] | None = None
        self._day = day  # where several are possible

    @property
    def style(self) -> DateStyle | None:
        """How the dates are written, if only one style is possible."""
        styles = self._styles or []
        if len(styles) > 1:
            styles = [style for style in styles if style.day == self._day]
        return styles[0] if len(styles) == 1 else None

    @property
    def is_ambiguous(self) -> bool:
        """Whether days and months can't be told apart."""
        return bool(self._styles) and self.style is None

    def update(self, texts: pa.StringArray) -> None:
        """Take in more texts, at least one, without nulls."""
        if self._styles is None:
            found = [DateStyle.of_text(day, texts[0].as_py()) for day in _DAYS]
            self._styles = [style for style in found if style is not None]
        fitting = [each for each in self._styles if each.read(texts) is not None]
        self._styles = [style.widen(texts) for style in fitting]

    def give_up(self) -> None:
        """Record that the texts are no dates."""
        self._styles = []


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
