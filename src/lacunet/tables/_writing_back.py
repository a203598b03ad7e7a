"""Tables written back with their holes filled."""

from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING

from lacunet.tables._file import TableFile
from lacunet.tables._filling import FillCount
from lacunet.tables._schema import Schema

if TYPE_CHECKING:
    import pandas as pd


def write_filled(
    table: TableFile,
    out: IO[bytes],
    fill: "Callable[[pd.DataFrame], pd.DataFrame]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
) -> FillCount:
    r"""Write a table with its holes filled, and everything else as it stands.

    In CSV all bytes but those of the holes are as they were: quotes, spaces, ``007``,
    ``1.50``, line ends, encoding. What comes into a hole is written as the column's
    other cells are: integers without decimals, numbers with as many as the column has
    at most, dates and truth values in their own spelling, in quotes if they are.

    Parquet keeps its schema, metadata and groups of rows; observed cells are as they
    were.

    Parameters
    ----------
    table : TableFile
    out : binary stream
        Such as ``open_output`` opens.
    fill : callable
        Takes a frame of rows with holes and returns it filled. What it leaves missing
        stays in the file as it is.
    schema : Schema, default=None
        The columns of a model: only those are filled.
    advance : callable, default=None
        Told the number of rows, after each block.

    Returns
    -------
    FillCount

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_table, write_filled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "nurses.csv"
    ...     size = path.write_text('id, age\n007, 41\n008, NA\n"009", 43\n')
    ...     out = io.BytesIO()
    ...     with open_table(path) as table:
    ...         count = write_filled(table, out, lambda frame: frame.fillna(42.3))
    >>> print(out.getvalue().decode(), count.filled)
    id, age
    007, 41
    008, 42
    "009", 43
     {'age': 1}
    """
    return write_draws(
        table, [out], lambda frame: [fill(frame)], schema=schema, advance=advance
    )


def write_draws(
    table: TableFile,
    outs: Sequence[IO[bytes]],
    fill: "Callable[[pd.DataFrame], Sequence[pd.DataFrame]]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
) -> FillCount:
    """Write a table several times, with its holes filled in other ways.

    Parameters
    ----------
    table : TableFile
    outs : sequence of binary streams
    fill : callable
        Takes a frame of rows with holes and returns as many filled ones as there are
        streams. It is called once for each block of rows: what draws at random has to
        go on from one call to the next, and not to start anew.
    schema, advance
        As in ``write_filled``.

    Returns
    -------
    FillCount
        Of one of the tables.
    """
    return table.fill(outs, fill, schema=schema, advance=advance or (lambda n: None))
