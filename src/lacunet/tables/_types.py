"""What columns of Arrow's types are to estimators, and their values in few types."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from lacunet._text import shorten
from lacunet.exceptions import TableError
from lacunet.tables._booleans import read_booleans
from lacunet.tables._columns import Kind, quote_name
from lacunet.tables._dates import STAMP
from lacunet.tables._markers import Markers, trim
from lacunet.tables._numbers import find_no_numbers, read_floats
from lacunet.tables._scanner import Bools
from lacunet.tables._wanted import TYPES, Form

_ADVICE = (
    (pt.is_nested, "give its elements columns of their own"),
    (pt.is_duration, "make it a number, such as its days or seconds"),
    (pt.is_time, "make it a number, such as the hours since midnight"),
    (pt.is_binary, "decode it to texts"),
)


def is_text(type_: pa.DataType) -> bool:
    """Tell whether a type is one of texts.

    Parameters
    ----------
    type_ : DataType

    Returns
    -------
    bool
    """
    return bool(
        pt.is_string(type_) or pt.is_large_string(type_) or pt.is_string_view(type_)
    )


def is_number(type_: pa.DataType) -> bool:
    """Tell whether a type is one of numbers.

    Parameters
    ----------
    type_ : DataType

    Returns
    -------
    bool
    """
    return bool(pt.is_integer(type_) or pt.is_floating(type_) or pt.is_decimal(type_))


def is_date(type_: pa.DataType) -> bool:
    """Tell whether a type is one of dates.

    Parameters
    ----------
    type_ : DataType

    Returns
    -------
    bool
    """
    return bool(pt.is_date(type_) or pt.is_timestamp(type_))


def kind_of(type_: pa.DataType) -> Kind:
    """Return what a column of this type is.

    Parameters
    ----------
    type_ : DataType

    Returns
    -------
    str
    """
    if pt.is_dictionary(type_):
        inner = kind_of(type_.value_type)
        return inner if inner in ("unsupported", "empty", "boolean") else "category"
    if is_number(type_):
        return "integer" if pt.is_integer(type_) else "number"
    if pt.is_boolean(type_):
        return "boolean"
    if is_text(type_):
        return "category"
    if is_date(type_):
        return "date"
    return "empty" if pt.is_null(type_) else "unsupported"


def value_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values; that of its levels, if it has a dictionary.

    Parameters
    ----------
    type_ : DataType

    Returns
    -------
    DataType
    """
    return type_.value_type if pt.is_dictionary(type_) else type_


def advise(name: str, type_: pa.DataType) -> str:
    """Return what can be done about a column of a type that is not supported.

    Parameters
    ----------
    name : str
    type_ : DataType

    Returns
    -------
    str
    """
    advice = [text for test, text in _ADVICE if test(value_type(type_))]
    other = advice[0] if advice else "make it numbers, texts or dates"
    return (
        f"It has the type {shorten(str(type_), 30)}: {other}, or leave it out with "
        f"--drop {quote_name(name)}."
    )


def flatten(array: pa.Array) -> pa.Array:
    """Return an array without dictionary, and texts in one type.

    Parameters
    ----------
    array : Array

    Returns
    -------
    Array
    """
    flat = array.dictionary_decode() if pt.is_dictionary(array.type) else array
    if is_text(flat.type):
        return flat.cast(pa.string())
    return flat.cast(pa.float32()) if pt.is_float16(flat.type) else flat


def find_holes(array: pa.Array, markers: Markers) -> Bools:
    """Return where values are missing.

    Parameters
    ----------
    array : Array
        What ``flatten`` returned.
    markers : Markers

    Returns
    -------
    ndarray of bool of shape (rows,)
    """
    holes: Bools = np.array(array.is_null(), dtype=bool)
    if is_number(array.type):
        own = array if pt.is_float32(array.type) else as_floats(array)
        holes |= markers.find_numbers(own.to_numpy(zero_copy_only=False))
    elif is_text(array.type):
        holes |= markers.find(trim(array))
    return holes


def read_as(array: pa.Array, form: Form, name: str, first_row: int) -> pa.Array:
    """Read values as what they are wanted for.

    Parameters
    ----------
    array : Array
        What ``flatten`` returned, null where missing.
    form : {"number", "integer", "boolean", "text", "date"}
    name : str
        Of the column.
    first_row : int
        Number of the first row in the file.

    Returns
    -------
    Array
    """
    type_ = array.type
    if pt.is_null(type_):
        return pa.nulls(len(array), TYPES[form])
    if form == "text" and kind_of(type_) != "unsupported":
        return _as_texts(array)
    if form in ("number", "integer") and (is_number(type_) or is_text(type_)):
        values = _as_numbers(array, name, first_row)
        return values if form == "number" else array.cast(pa.int64())
    if form == "boolean" and (is_number(type_) or is_text(type_)):
        return read_booleans(_as_texts(array))
    if form == "date" and is_date(type_):
        return _as_dates(array)
    if form != kind_of(type_):
        raise _mismatch(array, form, name)
    return array


def _as_texts(array: pa.Array) -> pa.StringArray:
    if is_text(array.type):
        return trim(array)
    # 1.0 is 1: in a column with holes, pandas makes floats of integers.
    return pc.replace_substring_regex(array.cast(pa.string()), r"\.0$", "")


def _as_numbers(array: pa.Array, name: str, first_row: int) -> pa.DoubleArray:
    if is_text(array.type):
        texts = trim(array)
        values = read_floats(texts)
        if values is None:
            place = int(find_no_numbers(texts)[0])
            raise _no_number(texts[place].as_py(), name, first_row + place)
    else:
        values = as_floats(array)
    infinite = pc.fill_null(pc.is_inf(values), False)
    if pc.any(infinite).as_py():
        place = pc.index(infinite, True).as_py()
        msg = (
            f"Got {values[place].as_py()} in row {first_row + place} of column "
            f"{quote_name(name)}, but expected finite numbers. Count it as missing "
            f"with --missing {values[place].as_py()}."
        )
        raise TableError(msg)
    return values


def as_floats(array: pa.Array) -> pa.DoubleArray:
    return array.cast(pa.float64(), safe=False)


def _as_dates(array: pa.Array) -> pa.TimestampArray:
    """Return dates without a zone, in UTC."""
    zone = getattr(array.type, "tz", None)
    return array.cast(pa.timestamp("us", zone), safe=False).view(STAMP)


def _no_number(text: str, name: str, row: int) -> TableError:
    msg = (
        f"Got {shorten(text)!r} in row {row} of column {quote_name(name)}, but "
        f'expected a number. If it means missing, say --missing "{shorten(text)}".'
    )
    return TableError(msg)


def _mismatch(array: pa.Array, form: Form, name: str) -> TableError:
    msg = (
        f"Got column {quote_name(name)} of type {shorten(str(array.type), 30)}, but "
        f"expected what the model was trained on: a {form}. Convert the column."
    )
    return TableError(msg)
