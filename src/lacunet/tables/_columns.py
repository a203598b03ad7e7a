"""What is known of a column of a file, from all of its rows."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lacunet._text import join_words, list_names, shorten, show_count
from lacunet.tables._values import (
    DAY_FIRST,
    EXACT,
    FORMATS,
    MONTH_FIRST,
    PLAIN,
    DateSurvey,
    Floats,
    NumberFormat,
    are_booleans,
    read_floats,
    split_numbers,
)

Kind = Literal[
    "number", "integer", "boolean", "category", "text", "date", "empty", "unsupported"
]
# The worst first.
What = Literal[
    "unsupported",
    "infinite",
    "missing-code",
    "not-numbers",
    "censored",
    "day-or-month",
    "digits",
    "minus",
    "thousands",
    "decorated",
    "codes",
    "time",
    "missing-word",
    "empty",
    "constant",
    "id-like",
]

_MOST_DISTINCT = 1000  # values that are kept of a column
_MOST_IN_ALL = 2**20  # that are kept of all columns
_MOST_ODD = 0.05  # fraction of cells that may be no numbers in a column of numbers
_LEAST_NUMBERS = 0.5  # from which on it is worth saying that others are not
_LEAST_ROWS = 20  # from which on a column can be seen to identify rows
_NAME_OF_ID = re.compile(r"(?i)(?:^|[\W_])(?:id|idx|index|key|uuid|guid)(?:$|[\W_])")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
# Strings that often stand for a missing value.
_WORDS = re.compile(
    r"[-?.*#]+|#?n/?a|n\.a\.?|<na>|nan|#?null!?|missing|unk|unkn|unknown|"
    r"undefined|unspecified|no (data|answer|response)|don'?t know|"
    r"not (available|known|recorded|specified)",
    re.IGNORECASE,
)
_NINES = re.compile("-99+|99+")
_ISOLATED, _APART = 0.2, 0.05  # distance of a code, as a fraction of the other values


@dataclass(frozen=True)
class Notice:
    """Something about a column that a user may want to act on.

    Parameters
    ----------
    what : str
        One word for it, such as "missing-code", "not-numbers", "censored", "decorated",
        "digits", "constant" or "id-like".
    text : str
        A sentence or two, with what to do.
    shared : str, default=""
        What several columns have of which the same can be said; nothing if it is about
        this one alone.
    """

    what: What
    text: str
    shared: str = ""

    @property
    def rank(self) -> int:
        """How bad it is; the worst is 0."""
        return get_args(What).index(self.what)

    @property
    def is_of_cells(self) -> bool:
        """Whether it is about how cells are read, and not about what is in them."""
        return self.what in ("not-numbers", "censored", "thousands", "decorated")


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
        Number of missing values, with those known by a bound alone.
    n_distinct : int or None
        Number of different values; None if there are too many to count.
    notices : tuple of Notice, default=()
        What a user may want to act on, the worst first.
    day_first : bool or None, default=None
        Of dates with slashes, whether days stand before months, as in ``31/12/2024``.
        None of all others, which are written without ambiguity.
    n_censored : int, default=0
        Number of values that are known by a bound alone, such as ``<0.5``.
    bounds : tuple of str, default=()
        A few of these bounds, as they are written.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int | None
    notices: tuple[Notice, ...] = ()
    day_first: bool | None = None
    n_censored: int = 0
    bounds: tuple[str, ...] = ()


def quote_name(name: str) -> str:
    """Return the name of a column as it stands in messages."""
    return repr(shorten(name))


def quote_cell(text: str) -> str:
    """Return a text as it is typed in a shell."""
    return text if re.fullmatch(r"[\w=.+-]+", text) else f'"{shorten(text)}"'


def list_notices(columns: Iterable[ColumnInfo], most: int = 8) -> list[str]:
    """Return the notices of all columns in a few lines, the worst first.

    Parameters
    ----------
    columns : iterable of ColumnInfo
        Of a table.
    most : int, default=8
        Number of lines.

    Returns
    -------
    list of str
        At most one line a column, and one for all columns that share a lesser notice.

    Examples
    --------
    >>> from lacunet.tables import ColumnInfo, Notice, list_notices
    >>> one = Notice("constant", "The only value is '1'.", "have a single value")
    >>> columns = [ColumnInfo(name, "integer", 0, 1, (one,)) for name in "abcd"]
    >>> list_notices(columns)
    ["4 columns have a single value: 'a', 'b', 'c', 'd'."]
    """
    groups: dict[tuple[int, str], list[tuple[str, Notice]]] = {}
    for column in columns:
        if column.notices:
            notice = min(column.notices, key=lambda each: each.rank)
            key = notice.rank, notice.shared or column.name
            groups.setdefault(key, []).append((column.name, notice))
    lines = []
    for (_, shared), found in sorted(groups.items(), key=lambda each: each[0][0]):
        if len(found) > 2:
            names = list_names([name for name, _ in found])
            lines.append(f"{len(found)} columns {shared}: {names}.")
        else:
            lines += [f"Column {quote_name(k)}: {notice.text}" for k, notice in found]
    if len(lines) > most:
        left = len(lines) - most + 1
        lines = [*lines[: most - 1], f"... and {show_count(left, 'more notice')}."]
    return lines


class NumberStats:
    """Ends of the numbers of a column, and how often they occur."""

    def __init__(self) -> None:
        self.n = 0
        self.is_counting = True  # every row is one more than the row before it
        self.is_whole = True  # no number has decimals
        self.infinite: int | None = None  # the row of the first
        self._ends: dict[int, Counter[float]] = {1: Counter(), -1: Counter()}
        self._last = math.nan

    def update(self, values: Floats, first_row: int) -> None:
        """Take in more numbers, NaN where missing."""
        seen = values[np.isfinite(values)]
        if len(seen) < len(values) and np.isinf(values).any():
            row = first_row + int(np.flatnonzero(np.isinf(values))[0])
            self.infinite = row if self.infinite is None else self.infinite
        if self.is_counting and len(values):
            with np.errstate(invalid="ignore"):  # of infinite numbers
                follows = not self.n or values[0] - self._last == 1
                self.is_counting = bool(follows and (np.diff(values) == 1).all())
            self._last = float(values[-1])
        self.n += len(seen)
        self.is_whole = self.is_whole and bool((seen == np.floor(seen)).all())
        # The two outermost values on each side.
        for sign, ends in self._ends.items():
            rest = seen
            for _ in range(2):
                if len(rest):
                    end = float(rest.min() if sign == 1 else rest.max())
                    ends[end] += int((rest == end).sum())
                    rest = rest[rest != end]
            for value in sorted(ends, key=lambda each: sign * each)[2:]:
                del ends[value]

    def fits(self, bound: int) -> bool:
        """Return whether all are within a bound."""
        return all(abs(end) < bound for ends in self._ends.values() for end in ends)

    @property
    def is_constant(self) -> bool:
        """Whether all are the same."""
        return len(self._ends[1]) == 1 and self.infinite is None

    @property
    def are_two(self) -> bool:
        """Whether there are at most two different ones."""
        return len(self._ends[1] | self._ends[-1]) <= 2

    def covers(self, value: float) -> bool:
        """Return whether a value is between the smallest and the largest."""
        return bool(self.n) and min(self._ends[1]) <= value <= max(self._ends[-1])

    def edge(self, sign: int) -> tuple[float, int, float, float] | None:
        """Return the value at an end, its count, and the range of the others."""
        near, far = self._ends[sign], self._ends[-sign]
        if len(near) < 2:
            return None
        code, other = sorted(near, key=lambda each: sign * each)
        return code, near[code], other, max(far) if sign == 1 else min(far)


class Code(NamedTuple):
    """A number that may mean missing."""

    value: float
    times: int
    ends: tuple[float, float]  # of the other numbers
    option: str  # of --missing


def mark_codes(columns: Sequence["Column"]) -> None:
    """Find numbers that may mean missing: repeated at an end, far from the rest.

    Those that end several columns need not be as far.
    """
    numbers = [each for each in columns if each.kind in ("number", "integer")]
    found: dict[str, Code] = {}
    near: dict[float, dict[str, Code]] = {}
    for each in numbers:
        for edge in filter(None, map(each.stats.edge, (1, -1))):
            value, count, other, last = edge
            if not value.is_integer():  # codes are round
                continue
            gap, extent = abs(other - value), abs(last - other)
            low, high = sorted((other, last))
            code = Code(value, count, (low, high), f"{value:g}")
            many = each.distinct.count is None or each.distinct.count > 10
            repeated = many and count >= max(3, each.stats.n // 500)
            nines = bool(_NINES.fullmatch(f"{value:g}")) and gap > extent
            if nines or (repeated and gap > _ISOLATED * extent):
                found[each.name] = code
            elif repeated and value and gap > _APART * extent:  # 0 is often a value
                near.setdefault(value, {})[each.name] = code
    for value, codes in near.items():
        if len(codes) + sum(code.value == value for code in found.values()) >= 3:
            found = codes | found
    for each in numbers:
        if each.name in found:
            code = found[each.name]
            # Elsewhere it may be a value.
            others = (x.stats for x in numbers if x.name not in found)
            if any(other.covers(code.value) for other in others):
                code = code._replace(option=f"{each.name}={code.value:g}")
            each.code = code


class DistinctValues:
    """The different values of a column, as long as they are few.

    The more columns a table has, the fewer values are kept of each.
    """

    def __init__(self, n_columns: int = 1) -> None:
        self.all_differ = True  # no two rows are the same; if many: no two of a block
        self._most = min(_MOST_DISTINCT, _MOST_IN_ALL // n_columns)
        self._values: dict[Any, None] | None = {}

    @property
    def values(self) -> tuple[Any, ...]:
        """The values in the order in which they came; none if they are too many."""
        return tuple(self._values or ())

    @property
    def count(self) -> int | None:
        """Their number; None if they are too many."""
        return None if self._values is None else len(self._values)

    def update(self, array: pa.Array, *, is_measured: bool) -> None:
        """Take in more values, null where missing.

        Of measurements it does not matter whether all differ, and many are found to be
        many by a few rows.
        """
        if self._values is None and (is_measured or not self.all_differ):
            return
        values = pc.unique(
            array[: 3 * self._most] if is_measured else array
        ).drop_null()
        if is_measured and len(values) <= self._most:
            values = pc.unique(array).drop_null()
        n_before = len(self._values or ())
        self.all_differ &= len(values) == len(array) - array.null_count
        if self._values is not None and len(values) <= self._most:
            self._values.update(dict.fromkeys(values.to_pylist()))
            self.all_differ &= len(self._values) == n_before + len(values)
        if (
            self._values is not None
            and max(len(self._values), len(values)) > self._most
        ):
            self._values = None


class Column:
    """A column of any file, and what all of its rows have shown."""

    def __init__(self, name: str, kind: Kind, *, n_columns: int = 1) -> None:
        self.name = name
        self.n_missing = self.n_observed = 0  # cells
        self.stats = NumberStats()
        self.distinct = DistinctValues(n_columns)
        self.code: Code | None = None
        self.advice = ""  # where no estimator takes its type
        self._kind = kind  # by its type

    @property
    def kind(self) -> Kind:
        """What the column is, unless a user calls it a category."""
        if not self.n_observed:
            return "empty"
        # Beyond int64 there are floats alone.
        if self._kind == "integer" and not self.stats.fits(2**63):
            return "number"
        return self._as_names() if self._kind == "category" else self._kind

    def update(self, values: pa.Array, first_row: int) -> None:
        """Take in more rows, null where missing."""
        self.n_missing += values.null_count
        self.n_observed += len(values) - values.null_count
        if values.null_count == len(values) or self._kind == "unsupported":
            return
        measured = self._kind in ("number", "date")
        self.distinct.update(values, is_measured=measured)
        if self._kind in ("number", "integer"):
            floats = values.cast(pa.float64(), safe=False)
            self.stats.update(floats.to_numpy(zero_copy_only=False), first_row)

    def info(
        self, place: Callable[[int], str], *, is_categorical: bool = False
    ) -> ColumnInfo:
        """Return what is known; ``place`` names a row."""
        kind = self.kind
        if is_categorical and kind not in ("empty", "unsupported"):
            kind = "category"
        notices = tuple(sorted(self._notices(kind, place), key=lambda each: each.rank))
        return ColumnInfo(self.name, kind, self.n_missing, self.distinct.count, notices)

    def _as_names(self) -> Kind:
        identify = self.distinct.all_differ and self.n_observed >= _LEAST_ROWS
        return "text" if identify or self.distinct.count is None else "category"

    def _notices(self, kind: Kind, place: Callable[[int], str]) -> Iterator[Notice]:
        if kind == "empty":
            yield Notice("empty", "No row has a value.", "have no value")
        if kind == "unsupported":
            yield Notice("unsupported", self.advice)
        is_number = kind in ("number", "integer")
        stats, distinct, name = self.stats, self.distinct, quote_cell(self.name)
        if is_number and self.code is not None:
            value, count, (low, high), option = self.code
            text = (
                f"{value:g} occurs {show_count(count, 'time')}, far from the other "
                f"values ({low:g} to {high:g}). If it means missing, use --missing "
                f"{quote_cell(option)}."
            )
            shared = f"have {value:g}, far from their other values (--missing {option})"
            is_own = option != f"{value:g}"  # of this column alone
            yield Notice("missing-code", text, "" if is_own else shared)
        if is_number and stats.infinite is not None:
            where = place(stats.infinite)
            text = f"It has an infinite number in {where}. Use --missing inf."
            yield Notice("infinite", text)
        is_id = kind in ("category", "text") and distinct.all_differ
        if kind == "integer":
            named = distinct.all_differ and _NAME_OF_ID.search(self.name) is not None
            is_id = stats.is_counting or named
        same = is_number and stats.is_constant and stats.n == self.n_observed
        if distinct.count == 1 or (same and stats.fits(EXACT)):
            text = f"The only value is {shorten(str(distinct.values[0]))!r}."
            yield Notice("constant", text, "have a single value")
        elif is_id and self.n_observed >= _LEAST_ROWS:
            text = (
                f"It seems to number or name the rows, and nothing can be learned from "
                f"that. Leave it out with --drop {name}."
            )
            yield Notice("id-like", text, "seem to number or name the rows (--drop)")
        elif is_number and stats.is_whole and not stats.fits(EXACT):
            text = (
                f"It has integers of more than 15 digits, whose last ones are lost in "
                f"computations. If they are names, use --categorical {name}."
            )
            yield Notice("digits", text)
        words = [x for x in map(str, distinct.values) if _WORDS.fullmatch(x.strip())]
        if kind == "category" and words:
            text = (
                f"{list_names(words)} may mean missing. If so, use --missing "
                f"{quote_cell(words[0])}."
            )
            shared = "have words that may mean missing (--missing)"
            yield Notice("missing-word", text, shared)


class TextColumn(Column):
    """A column of a CSV file, typed by what all of its cells are.

    The first pass over its rows counts in which formats its cells are numbers; numbers
    that are not plain are read in a second pass.
    """

    def __init__(
        self,
        name: str,
        *,
        n_columns: int = 1,
        day: str | None = None,
        decimal: str = ".",
    ) -> None:
        super().__init__(name, "category", n_columns=n_columns)
        self.format: NumberFormat | None = PLAIN  # None if its cells are no numbers
        self.is_plain = True  # all cells are numbers without marks and units
        self.dates = DateSurvey(day)
        self.odd: dict[str, int] = {}  # a few cells that are no numbers, with rows
        self.n_odd = self.n_censored = 0
        self._bounds: dict[str, None] = {}
        self._decimal = decimal  # where both marks are possible
        self._counts: Counter[NumberFormat] = Counter()  # of cells that agree
        self._decorations: Counter[tuple[str, str]] = Counter()
        self._is_dotted = self._is_padded = self._collapses = self._is_ambiguous = False
        self._lengths: set[int] = set()

    def update(self, texts: pa.StringArray, first_row: int) -> None:
        """Take in more rows, null where missing."""
        n_observed = len(texts) - texts.null_count
        values = read_floats(texts) if self.is_plain else None
        if n_observed and values is not None:
            self._update_plain(texts, values, n_observed, first_row)
            self.dates.give_up()
        elif n_observed:
            self.is_plain = False
            # Once most cells were none, no more numbers are looked for.
            if 2 * max(self._counts.values(), default=0) >= self.n_observed:
                self._count_formats(texts)
            self.dates.update(texts.drop_null())
        self.n_missing += texts.null_count
        self.n_observed += n_observed
        measured = self.is_plain and self._is_dotted
        self.distinct.update(texts, is_measured=measured)

    def _update_plain(
        self,
        texts: pa.StringArray,
        values: pa.DoubleArray,
        n_observed: int,
        first_row: int,
    ) -> None:
        self.stats.update(values.to_numpy(zero_copy_only=False), first_row)
        self._decorations["", ""] += n_observed
        if not self.stats.is_whole or any(
            pc.any(pc.match_substring(texts, mark)).as_py() for mark in ".eE"
        ):
            self._is_dotted = True
            self._counts[PLAIN] += n_observed
            if self._decimal == ",":  # 1.234 may be a thousand
                grouped = NumberFormat(",", ".")
                like = pc.match_substring_regex(texts, f"^{grouped.body}$")
                self._counts[grouped] += pc.sum(like).as_py() or 0
            return
        self._counts.update(dict.fromkeys(FORMATS, n_observed))
        lengths = pc.binary_length(texts)
        zeros = pc.and_(pc.starts_with(texts, "0"), pc.greater(lengths, 1))
        self._is_padded |= bool(pc.any(zeros).as_py())
        self._lengths |= set(pc.unique(lengths).drop_null().to_pylist())
        if not self.stats.fits(EXACT):
            n_texts = len(pc.unique(texts).drop_null())
            self._collapses |= len(pc.unique(values).drop_null()) < n_texts

    def _count_formats(self, texts: pa.StringArray) -> None:
        before, body, after = split_numbers(texts)
        pairs = pc.value_counts(pc.binary_join_element_wise(before, after, "\n"))
        for pair in pairs.to_pylist():
            if pair["values"] is not None:
                first, _, second = pair["values"].partition("\n")
                self._decorations[first, second] += pair["counts"]
        for format in FORMATS:
            like = pc.match_substring_regex(body, f"^{format.body}$")
            self._counts[format] += pc.sum(like).as_py() or 0

    def vote(self) -> str | None:
        """Return the decimal mark that its numbers must have; None if any may be."""
        most = max(self._counts.values(), default=0)
        marks = {format.decimal for format, n in self._counts.items() if n == most}
        is_clear = len(marks) == 1 and most >= _LEAST_NUMBERS * self.n_observed
        return marks.pop() if is_clear else None

    def choose_format(self, decimal: str, formats: Sequence[NumberFormat]) -> bool:
        """Choose how its numbers are written; return whether they are to be read again.

        ``decimal`` is the mark where both are possible.
        """
        order = sorted(formats, key=lambda each: each.decimal != decimal)
        best = max(order, key=lambda each: self._counts[each])
        (before, after), n_alike = max(
            self._decorations.items(), key=lambda each: each[1], default=(("", ""), 0)
        )
        n_numbers = min(self._counts[best], n_alike)
        if n_numbers < _LEAST_NUMBERS * self.n_observed:
            texts = pa.array(self.distinct.values, pa.string())
            bounds = PLAIN.find_censored(texts)
            numbers = np.asarray(PLAIN.read(texts).is_valid())
            self.format = None
            if not (bounds.any() and numbers.any() and (bounds | numbers).all()):
                return False
            best, before, after = PLAIN, "", ""  # most cells are bounds
        same = [each for each in formats if self._counts[each] == self._counts[best]]
        self._is_ambiguous = best.thousands == "," and NumberFormat(",") in same
        if PLAIN in same and not self._is_dotted:
            best = PLAIN
        self.format = best._replace(before=before, after=after)
        return not (self.is_plain and self.format == PLAIN)

    def update_numbers(self, texts: pa.StringArray, first_row: int) -> None:
        """Take in the numbers of more rows, and the cells that are none."""
        assert self.format is not None
        values = self.format.read(texts)
        self.stats.update(values.to_numpy(zero_copy_only=False), first_row)
        others = np.asarray(values.is_null()) & ~np.asarray(texts.is_null())
        censored = others & self.format.find_censored(texts)
        self.n_censored += int(censored.sum())
        self._bounds |= dict.fromkeys(
            texts.filter(pa.array(censored)).unique()[:3].to_pylist()
        )
        odd = np.flatnonzero(others & ~censored)
        self.n_odd += len(odd)
        for row in odd[:1000].tolist() if len(self.odd) < 5 else ():
            self.odd.setdefault(texts[row].as_py(), first_row + row)

    @property
    def can_be_numbers(self) -> bool:
        """Whether all cells but a few are numbers."""
        return self.format is not None and self.n_odd <= _MOST_ODD * self.n_observed

    @property
    def keeps_digits(self) -> bool:
        """Whether numbers say all that the cells say."""
        plain = self.is_plain and self.format == PLAIN and not self._is_padded
        return plain and (self._is_dotted or self.stats.fits(EXACT))

    @property
    def _is_code(self) -> bool:
        """Whether these are digits of one length with leading zeros: 007, 012."""
        return self._is_padded and len(self._lengths) == 1 and not self._is_dotted

    @property
    def kind(self) -> Kind:
        """What the column is, unless a user calls it a category."""
        if not self.n_observed:
            return "empty"
        is_name = self._is_code or self._collapses
        if self.can_be_numbers and self.stats.n and not is_name:
            whole = self.is_plain and not self._is_dotted and self.format == PLAIN
            whole = whole and self.stats.infinite is None
            return "integer" if whole and self.stats.fits(2**63) else "number"
        if self.distinct.values and are_booleans(self.distinct.values):
            return "boolean"
        return "date" if self.dates.style is not None else self._as_names()

    def info(
        self, place: Callable[[int], str], *, is_categorical: bool = False
    ) -> ColumnInfo:
        """Return what is known; ``place`` names the line of a row."""
        found = super().info(place, is_categorical=is_categorical)
        if found.kind == "date" and self.dates.style is not None:
            days = {DAY_FIRST: True, MONTH_FIRST: False}
            return replace(found, day_first=days.get(self.dates.style.day))
        if found.kind != "number":
            return found
        return replace(
            found,
            n_missing=self.n_missing + self.n_odd + self.n_censored,
            n_censored=self.n_censored,
            bounds=tuple(self._bounds)[:3],
        )

    def _notices(self, kind: Kind, place: Callable[[int], str]) -> Iterator[Notice]:
        yield from super()._notices(kind, place)
        is_name = kind in ("category", "text")
        name = quote_cell(self.name)
        odd = [*self.odd.items()]
        cells = [f"{shorten(text)!r} in {place(row)}" for text, row in odd[:3]]
        if len(odd) > 3:
            cells.append("others")
        if kind == "number" and self.n_odd:
            what = (
                "is no number, and counts"
                if self.n_odd == 1
                else "are no numbers, and count"
            )
            text = (
                f"{show_count(self.n_odd, 'cell')} {what} as missing: "
                f"{join_words(cells)}. If its values are categories, use --categorical "
                f"{name}."
            )
            yield Notice("not-numbers", text)
        elif is_name and self.n_odd and self.stats.n and not self.stats.are_two:
            text = (
                f"Most of its cells are numbers, but not {join_words(cells)}: so all "
                f"are read as categories. If that means missing, use --missing "
                f"{quote_cell(odd[0][0])}."
            )
            yield Notice("not-numbers", text)
        if kind == "number" and self.n_censored:
            values = "value is" if self.n_censored == 1 else "values are"
            text = (
                f"{self.n_censored:,} {values} known by a bound alone, such as "
                f"{list_names(list(self._bounds)[:3])}: predictions and fills use the "
                f"bound, all else counts them as missing."
            )
            yield Notice("censored", text)
        if kind == "number" and self._is_ambiguous:
            text = (
                "Its commas are read as thousands separators. If they stand before "
                "decimals, use --decimal ,"
            )
            shared = "have commas that are read as thousands separators (--decimal)"
            yield Notice("thousands", text, shared)
        elif kind == "number" and self.format and any(self.format[1:]):
            decimal, thousands, before, after = self.format
            marks = [repr(x.strip()) for x in (before, after) if x]
            marks += [f"{thousands!r} between thousands"] if thousands else []
            marks += [f"{decimal!r} before decimals"] if decimal != "." else []
            text = f"Its cells are read as numbers, written with {join_words(marks)}."
            shared = "have numbers with units or marks, read as numbers"
            yield Notice("decorated", text, shared)
        if is_name and self._collapses:
            text = "Its integers have more than 15 digits: they are read as names."
            yield Notice("digits", text)
        elif is_name and self._is_code:
            text = "Its numbers have leading zeros: they are read as categories."
            shared = "have numbers with leading zeros, read as categories"
            yield Notice("codes", text, shared)
        if is_name and self.dates.is_ambiguous:
            text = (
                "In its dates, days and months can't be told apart: they are read as "
                "categories. Write them as 2024-12-31."
            )
            yield Notice("day-or-month", text)
        if is_name and all(map(_TIME.fullmatch, self.distinct.values or ("",))):
            text = (
                "Its times of day are read as categories. Write 15.5 for 15:30 to have "
                "them read as numbers."
            )
            yield Notice("time", text, "have times of day, read as categories")
        if self.n_missing and "+" in self.distinct.values:
            text = (
                "It has '+', and '-' counts as missing. If that is a value, use "
                "--no-usual-missing."
            )
            yield Notice("minus", text)
