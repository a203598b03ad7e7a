"""Predictions and other frames written to a file, one after the other."""

from collections.abc import Iterable, Iterator
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from lacunet.tables._source import Encoding, FileFormat

_IN_MEMORY = 2**24  # bytes of rows put aside; beyond, they go to a file


def predict_rows(model: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the predictions of a model: a class and all probabilities, or a number.

    Parameters
    ----------
    model : estimator
        Fitted.
    rows : DataFrame
        Such as ``TableFile.blocks`` returns.

    Returns
    -------
    DataFrame
        With a column ``prediction``, and ``probability_`` of each class.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.dummy import DummyClassifier
    >>> from lacunet.tables import predict_rows
    >>> rows = pd.DataFrame({"age": [40, 50, 60, 70]})
    >>> model = DummyClassifier().fit(rows, ["ill", "ill", "well", "ill"])
    >>> predict_rows(model, rows[:1])
      prediction  probability_ill  probability_well
    0        ill             0.75              0.25
    """
    if not hasattr(model, "classes_"):
        return pd.DataFrame({"prediction": model.predict(rows)})
    probabilities = model.predict_proba(rows)
    columns = {"prediction": model.classes_[probabilities.argmax(1)]}
    for name, values in zip(model.classes_, probabilities.T, strict=True):
        columns[f"probability_{name}"] = values
    return pd.DataFrame(columns)


def write_rows(
    out: IO[bytes], frames: Iterable[pd.DataFrame], format: FileFormat | None = None
) -> int:
    """Write frames with the same columns to one file, holding one at a time.

    Parameters
    ----------
    out : binary stream
        Such as ``open_output`` opens.
    frames : iterable of DataFrame
        Each is written before the next is taken.
    format : FileFormat, default=None
        CSV with commas in UTF-8 by default; ``FileFormat.of_name`` returns that of a
        name.

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
    encoding = Encoding.of_format(form)
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
    n_rows = 0
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as room:
        # Without the metadata of pandas, which it can't read of Arrow's own types.
        every = (
            pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
            for frame in frames
        )
        schema, tables = _find_schema(every, room)
        if schema is None:
            return 0
        with pq.ParquetWriter(out, schema) as writer:
            for table in tables:
                writer.write_table(table.cast(schema))
                n_rows += len(table)
    return n_rows


def _find_schema(
    tables: Iterator[pa.Table], room: IO[bytes]
) -> tuple[pa.Schema | None, Iterator[pa.Table]]:
    """Return the types of all columns, and the tables again from the first on.

    A column may have its first value, and with it a type, in any table: those before it
    are put aside.
    """
    schema, n_aside = None, 0
    for table in tables:
        schemas = [table.schema] if schema is None else [schema, table.schema]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
        if not any(pt.is_null(field.type) for field in schema):
            return schema, chain(_take_up(room, n_aside), [table], tables)
        with pa.ipc.new_stream(room, table.schema) as aside:
            aside.write_table(table)
        n_aside += 1
    return schema, _take_up(room, n_aside)


def _take_up(room: IO[bytes], n_tables: int) -> Iterator[pa.Table]:
    room.seek(0)
    for _ in range(n_tables):
        with pa.ipc.open_stream(room) as aside:
            yield aside.read_all()
