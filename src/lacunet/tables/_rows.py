"""Frames to a file, one after the other."""

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lacunet.tables._format import FileFormat
from lacunet.tables._text import encoding_of

if TYPE_CHECKING:
    import pandas as pd


def write_rows(
    out: IO[bytes], frames: "Iterable[pd.DataFrame]", format: FileFormat | None = None
) -> int:
    """Write frames with the same columns to one file, holding one at a time.

    Parameters
    ----------
    out : binary stream
        Such as ``open_output`` opens.
    frames : iterable of DataFrame
    format : FileFormat, default=None
        CSV with commas in UTF-8 by default; ``FileFormat.of_name`` tells what a name
        asks for.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> from lacunet.tables import write_rows
    >>> out = io.BytesIO()
    >>> write_rows(out, [pd.DataFrame({"p": [0.25]}), pd.DataFrame({"p": [0.5]})])
    2
    >>> print(out.getvalue().decode())
    p
    0.25
    0.5
    <BLANKLINE>
    """
    form = format or FileFormat()
    if form.kind == "parquet":
        return _write_parquet(out, frames)
    return _write_csv(out, frames, form)


def _write_csv(out: IO[bytes], frames: Iterable[Any], form: FileFormat) -> int:
    encoding = encoding_of(form)
    n_rows = 0
    for number, frame in enumerate(frames):
        text = frame.to_csv(
            index=False,
            header=number == 0,
            sep=form.separator,
            decimal=form.decimal,
            lineterminator=form.line_end,
        )
        start = encoding.mark if number == 0 else b""
        out.write(start + encoding.encode(text.encode("utf-8")))
        n_rows += len(frame)
    return n_rows


def _write_parquet(out: IO[bytes], frames: Iterable[Any]) -> int:
    writer, n_rows = None, 0
    try:
        for frame in frames:
            if writer is None:
                table = pa.Table.from_pandas(frame, preserve_index=False)
                # Without what pandas adds, which it can't read of Arrow's own types.
                writer = pq.ParquetWriter(out, table.schema.remove_metadata())
            else:
                table = pa.Table.from_pandas(
                    frame, schema=writer.schema, preserve_index=False
                )
            writer.write_table(table)
            n_rows += len(frame)
    finally:
        if writer is not None:
            writer.close()
    return n_rows
