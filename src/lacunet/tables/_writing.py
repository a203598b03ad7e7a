"""Values as the cells of a column are written."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.tables._booleans import spell_booleans
from lacunet.tables._dates import ORDERS, DateStyle
from lacunet.tables._survey import TextColumn
from lacunet.tables._wanted import Form


def write_values(values: NDArray[Any], column: TextColumn, form: Form) -> list[str]:
    """Write values as a column has them.

    Parameters
    ----------
    values : ndarray of shape (cells,)
        None of them missing.
    column : TextColumn
    form : {"number", "integer", "boolean", "text", "date"}
        What the values are.

    Returns
    -------
    list of str
    """
    if form in ("number", "integer"):
        return column.numbers.style.write(values.astype(np.float64))
    if form == "boolean":
        spelled = spell_booleans(column.distinct.values or ())
        return [spelled[bool(value)] for value in values]
    if form == "date":
        style = column.dates.style or DateStyle(ORDERS[0])
        return style.write(values.astype("M8[us]"))
    return [str(value) for value in values]


def quote_cells(
    texts: Sequence[str],
    holes: Sequence[bytes],
    column: TextColumn,
    separator: str,
) -> list[bytes]:
    """Return texts as cells, with the spaces that the holes have around them.

    They are quoted where they must be, and where most cells of the column are.

    Parameters
    ----------
    texts : sequence of str
    holes : sequence of bytes
        The cells in whose places they come.
    column : TextColumn
    separator : str

    Returns
    -------
    list of bytes
    """
    special = re.compile(rf'[{re.escape(separator)}"\r\n]|^\s|\s$')
    if column.is_quoted:
        quoted = [_quote(text) for text in texts]
    elif any(map(special.search, texts)):
        quoted = [_quote(text) if special.search(text) else text for text in texts]
    else:
        quoted = list(texts)
    cells = [text.encode("utf-8") for text in quoted]
    if b" " not in b"".join(holes):
        return cells
    return [_pad(cell, hole) for cell, hole in zip(cells, holes, strict=True)]


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _pad(cell: bytes, hole: bytes) -> bytes:
    before = hole[: len(hole) - len(hole.lstrip(b" "))]
    after = hole[len(hole.rstrip(b" ")) :] if hole.strip(b" ") else b""
    return before + cell + after
