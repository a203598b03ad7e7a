"""Texts as dates: whether all are, and how they are written."""

import datetime
import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

STAMP = pa.timestamp("us")  # of all dates that are read; in UTC if zones are known

_SECONDS = r"(?P<seconds>:[0-9]{2}(?P<fraction>\.[0-9]{1,9})?)"
_CLOCK = rf"[0-9]{{1,2}}:[0-9]{{2}}{_SECONDS}?"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})"


class Order(NamedTuple):
    """An order of day, month and year.

    Parameters
    ----------
    day : str
        What is written of a day, in the codes of ``strftime``.
    pattern : str
        What a whole text matches.
    is_iso : bool, default=False
        Whether pandas knows all of its variants.
    """

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
    """How the dates of a column are written.

    Parameters
    ----------
    order : Order
    gap : str, default=""
        What stands before the time; nothing if there is none.
    has_seconds : bool, default=False
    n_digits : int, default=0
        Of fractions of seconds.
    zone : str, default=""
        What stands behind the time, such as ``Z`` or ``+01:00``.
    is_padded : bool, default=True
        Whether days and months below 10 begin with a zero.
    """

    order: Order
    gap: str = ""
    has_seconds: bool = False
    n_digits: int = 0
    zone: str = ""
    is_padded: bool = True

    @classmethod
    def of_text(cls, order: Order, text: str) -> "DateStyle | None":
        """Return how a date is written, if it has this order.

        Parameters
        ----------
        order : Order
        text : str

        Returns
        -------
        DateStyle or None
        """
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
        """Read texts that are all written like this.

        Parameters
        ----------
        texts : StringArray
            Nulls stay.

        Returns
        -------
        TimestampArray or None
            None if one is no such date. In UTC if there is a zone.
        """
        # Dates are often the same in many rows: each is read once.
        encoded = texts.dictionary_encode()
        dates = self._read_all(encoded.dictionary)
        return None if dates is None else dates.take(encoded.indices)

    def write(self, values: NDArray[np.datetime64]) -> list[str]:
        """Write dates as the column has them, rounded to what is written.

        Parameters
        ----------
        values : ndarray of datetime64 of shape (cells,)

        Returns
        -------
        list of str
        """
        local = values.astype("M8[us]") + np.timedelta64(self._offset, "us")
        step = np.timedelta64(self._step, "us")
        since = local.astype(np.int64)
        rounded = np.rint(since / step.astype(np.int64)).astype(np.int64) * step
        dates = (np.datetime64(0, "us") + rounded).tolist()
        return [self._write_one(date) for date in dates]

    def widen(self, texts: pa.StringArray) -> "DateStyle":
        """Return the style with as many digits and zeros as these texts have.

        Parameters
        ----------
        texts : StringArray

        Returns
        -------
        DateStyle
        """
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
    """Tells whether the texts of a column are dates, and how they are written.

    Parameters
    ----------
    order : Order or None, default=None
        The one to take where the texts leave open which of several it is. Texts that
        tell another are read as they tell.

    Attributes
    ----------
    styles : list of DateStyle
        Those that all texts so far may be written in; None before the first.
    """

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
        """Look at more texts.

        Parameters
        ----------
        texts : StringArray
            Not empty, without nulls.
        """
        if self.styles is None:
            first: Any = texts[0].as_py()
            found = [DateStyle.of_text(order, first) for order in ORDERS]
            self.styles = [style for style in found if style is not None]
        fitting = [style for style in self.styles if style.read(texts) is not None]
        self.styles = [style.widen(texts) for style in fitting]


def _plain(order: Order) -> str:
    """Return a pattern without names, which Arrow reads faster."""
    return re.sub(r"\?P<[a-z]+>", "?:", order.pattern)
