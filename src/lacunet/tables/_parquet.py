"""Tables in Parquet, read in batches."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import (
    EMPTY,
    ColumnInfo,
    DistinctValues,
    Kind,
    Notice,
    is_id,
    notice_constant,
    notice_digits,
    notice_id,
    quote_name,
)
from lacunet.tables._options import ReadOptions
from lacunet.tables._scanner import Bools
from lacunet.tables._selection import TYPES, Form, SelectedColumn, make_table
from lacunet.tables._source import FileFormat, Source
from lacunet.tables._values import (
    EXACT,
    STAMP,
    Markers,
    find_non_numbers,
    read_booleans,
    read_floats,
    trim,
)

_CELLS = 2**19  # of a batch
_BUFFER = 2**18  # bytes of a column that are read ahead
_INDEX = re.compile(r"__index_level_[0-9]+__")  # what pandas calls a nameless index
_ADVICE = (
    (pt.is_nested, "give its elements columns of their own"),
    (pt.is_duration, "make it a number, such as its days or seconds"),
    (pt.is_time, "make it a number, such as the hours since midnight"),
    (pt.is_binary, "decode it to texts"),
)


def is_text(type_: pa.DataType) -> bool:
    """Return whether a type is one of texts."""
    return bool(
        pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_)
    )


def is_number(type_: pa.DataType) -> bool:
    """Return whether a type is one of numbers."""
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_))


def kind_of(type_: pa.DataType) -> Kind:
    """Return what a column of this type is."""
    if pt.is_dictionary(type_):
        inner = kind_of(type_.value_type)
        return inner if inner in ("unsupported", "empty", "boolean") else "category"
    if is_number(type_):
        return "integer" if pt.is_integer(type_) else "number"
    if pt.is_boolean(type_):
        return "boolean"
    if is_text(type_):
        return "category"
    if pt.is_date(type_) or pt.is_timestamp(type_):
        return "date"
    return "empty" if pt.is_null(type_) else "unsupported"


def value_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values, without a dictionary."""
    return type_.value_type if pt.is_dictionary(type_) else type_


def advise(name: str, type_: pa.DataType) -> str:
    """Return what can be done about a column of a type that is not supported."""
    advice = [text for test, text in _ADVICE if test(value_type(type_))]
    other = advice[0] if advice else "make it numbers, texts or dates"
    return (
        f"It has the type {shorten(str(type_), 30)}: {other}, or leave it out with "
        f"--drop {quote_name(name)}."
    )


def flatten(array: pa.Array) -> pa.Array:
    """Return an array without dictionary, and texts in one type."""
    flat = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    if is_text(flat.type):
        return flat.cast(pa.string())
    return flat.cast(pa.float32()) if pt.is_float16(flat.type) else flat


def read_as(array: pa.Array, form: Form, name: str, first_row: int) -> pa.Array:
    """Read the values of a column, null where missing, in the form asked for."""
    type_ = array.type
    kind = kind_of(type_)
    if pt.is_null(type_):
        return pa.nulls(len(array), TYPES[form])
    if form == "text" and kind != "unsupported":
        return _as_texts(array)
    if form in ("number", "integer") and (is_number(type_) or is_text(type_)):
        values = _as_numbers(array, name, first_row)
        return values if form == "number" else array.cast(pa.int64())
    if form == "boolean" and (is_number(type_) or is_text(type_)):
        return read_booleans(_as_texts(array))
    if form == "date" and kind == "date":
        # Without a zone, in UTC.
        zone = getattr(type_, "tz", None)
        return array.cast(pa.timestamp("us", zone), safe=False).view(STAMP)
    if form != kind:
        msg = (
            f"Got column {quote_name(name)} of type {shorten(str(type_), 30)}, but "
            f"expected what the model was trained on: a {form}. Convert the column."
        )
        raise TableError(msg)
    return array


def _as_texts(array: pa.Array) -> pa.StringArray:
    if is_text(array.type):
        return trim(array)
    # 1.0 is 1: in a column with missing values, pandas makes floats of integers.
    return pc.replace_substring_regex(array.cast(pa.string()), r"\.0$", "")


def _as_numbers(array: pa.Array, name: str, first_row: int) -> pa.DoubleArray:
    if is_text(array.type):
        texts = trim(array)
        values = read_floats(texts)
        if values is None:
            index = int(find_non_numbers(texts)[0])
            text = shorten(texts[index].as_py())
            msg = (
                f"Got {text!r} in row {first_row + index} of column "
                f"{quote_name(name)}, but expected a number. If it means missing, use "
                f'--missing "{text}".'
            )
            raise TableError(msg)
    else:
        values = as_floats(array)
    infinite = pc.fill_null(pc.is_inf(values), False)
    if pc.any(infinite).as_py():
        index = pc.index(infinite, True).as_py()
        msg = (
            f"Got {values[index].as_py()} in row {first_row + index} of column "
            f"{quote_name(name)}, but expected finite numbers. Count it as missing "
            f"with --missing {values[index].as_py()}."
        )
        raise TableError(msg)
    return values


def as_floats(array: pa.Array) -> pa.DoubleArray:
    """Return numbers of any type as the nearest floats."""
    return array.cast(pa.float64(), safe=False)


class TypedColumn:
    """A column of a Parquet file, and what all of its rows have shown."""

    def __init__(self, name: str, type_: pa.DataType, *, n_columns: int = 1) -> None:
        self.name = name
        self._type = type_
        self._n_missing = self._n_observed = 0
        self._distinct = DistinctValues(n_columns)
        self._is_counting = True  # every row is one more than the row before it
        self._last: float | None = None
        self._largest = 0.0  # absolute value

    def update(self, values: pa.Array) -> None:
        """Take in more rows."""
        self._n_missing += values.null_count
        self._n_observed += len(values) - values.null_count
        kind = kind_of(self._type)
        if values.null_count == len(values) or kind == "unsupported":
            return
        if self._distinct.is_open(is_measured=kind in ("number", "date")):
            self._distinct.update(values)
        else:
            self._distinct.give_up()
        if is_number(values.type):
            floats = as_floats(values).to_numpy(zero_copy_only=False)
            self._largest = max(self._largest, float(np.fmax.reduce(np.abs(floats))))
            with np.errstate(invalid="ignore"):  # of infinite numbers
                follows = self._last is None or floats[0] - self._last == 1
                self._is_counting &= bool(follows and (np.diff(floats) == 1).all())
            self._last = float(floats[-1])

    def info(self, *, is_categorical: bool = False) -> ColumnInfo:
        """Return what is known of the column."""
        kind, count = kind_of(self._type), self._distinct.count
        if not self._n_observed:
            kind = "empty"
        elif is_categorical and kind != "unsupported":
            kind = "category"
        elif kind == "category" and (
            count is None or self._distinct.identify_rows(self._n_observed)
        ):
            kind = "text"
        elif kind == "integer" and self._largest >= 2**63:  # beyond int64
            kind = "number"
        return ColumnInfo(
            self.name, kind, self._n_missing, count, tuple(self._notices(kind))
        )

    def _notices(self, kind: Kind) -> list[Notice]:
        if kind == "empty":
            return [EMPTY]
        if kind == "unsupported":
            return [Notice("unsupported", advise(self.name, self._type))]
        found = []
        distinct, counting = self._distinct, self._is_counting
        if distinct.values is not None and distinct.count == 1:
            found.append(notice_constant(distinct.values[0]))
        if is_id(self.name, kind, distinct, self._n_observed, is_counting=counting):
            found.append(notice_id(self.name))
        elif kind_of(self._type) == "integer" and self._largest >= EXACT:
            found.append(notice_digits(self.name))
        if math.isinf(self._largest):
            text = "It has infinite numbers. Count them as missing with --missing inf."
            found.append(Notice("infinite", text))
        return found


class ParquetReader:
    """A table in Parquet."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source
        self._options = options
        self._markers = Markers(options.missing, usual=())
        with self.open() as file:
            self.schema = file.schema_arrow
            self._n_rows = file.metadata.num_rows
        every = tuple(self.schema.names)
        self.names = tuple(name for name in every if not _INDEX.fullmatch(name))
        if not self.names:
            msg = f"Got {source.name}, which has no columns, but expected a table."
            raise TableError(msg)

    @property
    def format(self) -> FileFormat:
        """How the file is written."""
        return FileFormat("parquet")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if not self._n_rows:
            msg = (
                f"Got {self._source.name}, which has columns and no rows, but expected "
                f"rows."
            )
            raise TableError(msg)
        return int(self._n_rows)

    def infos(self, indices: Sequence[int]) -> tuple[ColumnInfo, ...]:
        """Return what is known of some columns."""
        named = set(self._options.categorical)
        columns = [self._columns[self.names[index]] for index in indices]
        return tuple(
            column.info(is_categorical=column.name in named) for column in columns
        )

    def tables(self, selection: Sequence[SelectedColumn]) -> Iterator[pa.Table]:
        """Read columns, in blocks of any size."""
        names = [each.name for each in selection if each.index is not None]
        first_row = 1
        with self.open() as file:
            for batch in self.batches(file, columns=names):
                yield self.convert(batch, selection, first_row)
                first_row += len(batch)

    def check(self, selection: Sequence[SelectedColumn]) -> None:
        """Refuse what can't be read in the form asked for, before any work."""
        assert self.n_rows
        for each in selection:
            if each.index is None:
                continue
            type_ = self.schema.field(each.name).type
            if kind_of(type_) == "unsupported":
                msg = (
                    f"Got column {quote_name(each.name)}, but expected numbers, "
                    f"booleans, texts or dates. {advise(each.name, type_)}"
                )
                raise TableError(msg)

    def split(self, batch: pa.RecordBatch, name: str) -> tuple[pa.Array, Bools]:
        """Return the values of a column, null where missing, and which are missing."""
        values = flatten(batch.column(name))
        missing: Bools = np.array(values.is_null(), dtype=bool)
        if is_number(values.type):
            floats = values if pt.is_float32(values.type) else as_floats(values)
            numbers = floats.to_numpy(zero_copy_only=False)
            missing |= self._markers.find_numbers(numbers)
        elif is_text(values.type):
            missing |= self._markers.find(trim(values))
        if missing.sum() > values.null_count:
            empty = pa.scalar(None, values.type)
            values = pc.if_else(pa.array(missing), empty, values)
        return values, missing

    def convert(
        self, batch: pa.RecordBatch, selection: Sequence[SelectedColumn], first_row: int
    ) -> pa.Table:
        """Read a batch in the forms asked for."""
        arrays = []
        for each in selection:
            if each.index is None:
                arrays.append(pa.nulls(len(batch), TYPES[each.form]))
            else:
                found, _ = self.split(batch, each.name)
                values = read_as(found, each.form, each.name, first_row)
                if each.categories is not None:
                    values = each.categories.recode(values, found)
                arrays.append(values)
        return make_table(arrays, selection)

    @contextmanager
    def open(self) -> Iterator[pq.ParquetFile]:
        """Open the file."""
        with self._source.open() as stream:
            with self.explain_errors():
                file = pq.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
            with file:
                yield file

    def batches(self, file: pq.ParquetFile, **choice: Any) -> Iterator[pa.RecordBatch]:
        """Read batches of rows."""
        n_columns = len(choice.get("columns", self.schema.names))
        size = max(1, _CELLS // max(1, n_columns))
        with self.explain_errors():
            found = file.iter_batches(size, use_threads=False, **choice)
        n_rows = 0
        while True:
            with self.explain_errors():
                batch = next(found, None)
                if batch is None:
                    break
                batch.validate(full=True)  # also that texts are UTF-8
            yield batch
            n_rows += len(batch)
        if "row_groups" not in choice and n_rows != self._n_rows:
            msg = (
                f"Got {n_rows} rows in {self._source.name}, but expected "
                f"{self._n_rows}, as its metadata says. It is damaged: write it again."
            )
            raise TableError(msg)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Raise what is wrong with a file as a TableError."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())[:200].rstrip(".")
            msg = (
                f"Got {self._source.name}, which begins as a Parquet file does, but "
                f"could not be read: {reason}. Write it again."
            )
            raise TableError(msg) from error

    @cached_property
    def _columns(self) -> dict[str, TypedColumn]:
        """All columns that are not left out, after a pass over all rows."""
        assert self.n_rows
        n_columns = len(self.names)
        dropped = set(self._options.drop)  # among them may be two of one name
        columns = {
            name: TypedColumn(name, self.schema.field(name).type, n_columns=n_columns)
            for name in self.names
            if name not in dropped
        }
        with self.open() as file:
            for batch in self.batches(file, columns=[*columns]):
                for name, column in columns.items():
                    column.update(self.split(batch, name)[0])
        return columns
