"""How the numbers of a block are written, of all columns at once."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lacunet.tables._grid import TextGrid

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

_MANY = 2**30  # more than any length


class Sight(NamedTuple):
    """What the numbers of a column in a block look like.

    Parameters
    ----------
    least, most : float
    first, last : float
        NaN if missing.
    is_counting : bool
        Whether every row is one more than the row before it.
    decimals : tuple of int
        Fewest and most.
    lengths : tuple of int
        Letters of the shortest text and of the longest.
    is_dotted : bool
        Whether one has a decimal mark.
    is_padded : bool
        Whether one without it begins with a zero and goes on.
    n_digits : int
        Of the longest number.
    has_lower, has_upper : bool
        Whether there are exponents after an e, and after an E.
    """

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
    """Look at columns of numbers.

    Parameters
    ----------
    grid : TextGrid
        Null where a value is missing, but not in all rows of a column.
    values : ndarray of shape (rows, columns)
        The same as numbers, NaN where missing.
    decimal : {".", ","}, default="."

    Returns
    -------
    list of Sight
    """
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
