"""Values of a model in Arrow's types, put into the holes of arrays."""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from lacunet.tables._markers import trim
from lacunet.tables._scanner import Places
from lacunet.tables._types import flatten, is_text
from lacunet.tables._wanted import Form


def as_array(values: Any, type_: pa.DataType, form: Form) -> pa.Array:
    """Return values in a flat type, as near as it has them.

    Parameters
    ----------
    values : ndarray of shape (values,)
    type_ : DataType
        Without a dictionary.
    form : {"number", "integer", "boolean", "text", "date"}
        What the model knows the column as. Texts are what ``read_as`` makes of values,
        and become the same values again.

    Returns
    -------
    Array
    """
    if form == "text" or is_text(type_):
        return pa.array([str(value) for value in values], pa.string()).cast(type_)
    if pt.is_integer(type_):
        return _as_integers(values, type_)
    if pt.is_decimal(type_):
        return _as_decimals(values, type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(np.float64)).cast(type_, safe=False)
    if pt.is_boolean(type_):
        return pa.array([bool(value) for value in values], type_)
    return _as_dates(values, type_)


def put_values(array: pa.Array, rows: Places, values: pa.Array) -> pa.Array:
    """Put values into some rows of an array without a dictionary.

    Parameters
    ----------
    array : Array
    rows : ndarray of int of shape (values,)
    values : Array of shape (values,)
        Of the same type.

    Returns
    -------
    Array
    """
    flat = flatten(array)
    placed = pc.replace_with_mask(flat, _mask(array, rows), flatten(values))
    return placed.cast(array.type)


def put_levels(
    array: pa.DictionaryArray,
    rows: Places,
    values: pa.Array,
    levels: pa.Array | None = None,
) -> pa.DictionaryArray | None:
    """Put values into some rows of an array, and keep its dictionary and their order.

    Parameters
    ----------
    array : DictionaryArray
    rows : ndarray of int of shape (values,)
    values : Array of shape (values,)
        Of the type of its levels; texts without spaces around them.
    levels : Array, default=None
        A dictionary in place of that of the array, with all that it has.

    Returns
    -------
    DictionaryArray or None
        None if the dictionary lacks a value.
    """
    type_, indices = array.type, array.indices
    if levels is None:
        levels = array.dictionary
    else:
        places = pc.index_in(flatten(array.dictionary), value_set=flatten(levels))
        indices = places.take(indices).cast(type_.index_type)
    found = _find(values, levels)
    if found.null_count:
        return None
    indices = pc.replace_with_mask(
        indices, _mask(array, rows), found.cast(type_.index_type)
    )
    return pa.DictionaryArray.from_arrays(indices, levels, ordered=type_.ordered)


def unite(dictionaries: Iterable[pa.Array]) -> pa.Array:
    """Return all levels of some dictionaries, each where it comes first.

    Parameters
    ----------
    dictionaries : iterable of Array
        At least one.

    Returns
    -------
    Array
    """
    several = iter(dictionaries)
    levels = last = next(several)
    for more in several:
        if not more.equals(last):
            levels, last = pc.unique(pa.concat_arrays([levels, more])), more
    return levels


def add_levels(levels: pa.Array, values: pa.Array) -> pa.Array:
    """Put values behind the levels of a dictionary, if it lacks them.

    Parameters
    ----------
    levels : Array
    values : Array
        Of the same type; texts without spaces around them.

    Returns
    -------
    Array
    """
    return unite([levels, values.filter(_find(values, levels).is_null())])


def _find(values: pa.Array, levels: pa.Array) -> pa.Array:
    """Return the places of values in a dictionary, null if it lacks them."""
    return pc.index_in(_trimmed(values), value_set=_trimmed(levels))


def _mask(array: pa.Array, rows: Places) -> pa.BooleanArray:
    mask = np.zeros(len(array), dtype=bool)
    mask[rows] = True
    return pa.array(mask)


def _trimmed(values: pa.Array) -> pa.Array:
    return trim(flatten(values)) if is_text(values.type) else flatten(values)


def _as_integers(values: Any, type_: pa.DataType) -> pa.Array:
    ends = np.iinfo(type_.to_pandas_dtype())
    # As Python integers: the largest of 64 bits is no float.
    rounded = [round(value) for value in values.astype(np.float64).tolist()]
    return pa.array([min(max(each, ends.min), ends.max) for each in rounded], type_)


def _as_decimals(values: Any, type_: pa.DataType) -> pa.Array:
    step = Decimal((0, (1,), -type_.scale))
    top = Decimal((0, (9,) * type_.precision, -type_.scale))
    exact = [Decimal(repr(float(value))) for value in values]
    with localcontext(prec=type_.precision):
        near = [min(max(each, -top), top).quantize(step) for each in exact]
    return pa.array(near, type_)


def _as_dates(values: Any, type_: pa.DataType) -> pa.Array:
    stamps = values.astype("M8[us]")
    if pt.is_date(type_):
        half_a_day = np.timedelta64(12, "h")
        return pa.array((stamps + half_a_day).astype("M8[D]")).cast(type_)
    zoned = pa.array(stamps).view(pa.timestamp("us", type_.tz))
    return zoned.cast(type_, safe=False)
