"""Tables written to files: predictions, and tables with their missing values filled."""

import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from itertools import repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
from numpy.typing import NDArray

from lacunet._output import STANDARD
from lacunet._text import list_names, shorten
from lacunet.exceptions import TableError
from lacunet.tables._columns import quote_name
from lacunet.tables._readers import CsvReader, Form, TypedReader, flatten, is_text
from lacunet.tables._schema import Schema
from lacunet.tables._source import UTF_8, Encoding, Kind
from lacunet.tables._values import (
    PLAIN,
    Bools,
    DateStyle,
    NumberStyle,
    spell_booleans,
    trim,
)

if TYPE_CHECKING:
    from lacunet.tables._file import TableFile

_KINDS: dict[str, Kind] = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat", ""), "csv"),
    **dict.fromkeys((".parquet", ".pq", ".parq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
}


@dataclass(frozen=True)
class FileFormat:
    r"""How a file is written.

    Parameters
    ----------
    kind : {"csv", "parquet", "arrow", "json"}, default="csv"
        The other fields are about CSV.
    separator : str, default=","
        The character between cells.
    decimal : {".", ","}, default="."
        The decimal mark of numbers.
    encoding : str, default="utf-8"
        As Python names it.
    has_mark : bool, default=False
        Whether the file begins with the byte order mark (BOM) of its encoding.
    line_end : str, default="\n"
        What ends a line.

    Examples
    --------
    >>> from lacunet.tables import FileFormat
    >>> FileFormat.of_name("out.parquet").kind
    'parquet'
    """

    kind: Kind = "csv"
    separator: str = ","
    decimal: str = "."
    encoding: str = UTF_8
    has_mark: bool = False
    line_end: str = "\n"

    @classmethod
    def of_name(cls, path: str | os.PathLike[str]) -> "FileFormat":
        """Return the format that the name of a file asks for.

        Parameters
        ----------
        path : str or PathLike
            ``.csv``, ``.tsv``, ``.parquet``, ``.feather``, ``.arrow`` or ``.jsonl``;
            text may be compressed, ``.csv.gz``. ``-`` and names without an ending are
            CSV; others are refused.

        Returns
        -------
        FileFormat
            With the defaults of all other fields.
        """
        name = Path(os.fspath(path)).name.lower()
        if os.fspath(path) == STANDARD:
            name = ""
        packed = Path(name).suffix in (".gz", ".bz2", ".xz")
        ending = Path(Path(name).stem if packed else name).suffix
        kind = _KINDS.get(ending)
        if kind is None or (packed and kind in ("parquet", "arrow")):
            msg = (
                f"Got {os.fspath(path)!r} to be written, but expected a name that ends "
                f"in .csv, .tsv, .parquet, .feather or .jsonl; text may end in .gz, "
                f".bz2 or .xz, too."
            )
            raise TableError(msg)
        return cls(kind, separator="\t" if ending in (".tsv", ".tab") else ",")


def predict_rows(
    model: Any,
    rows: pd.DataFrame,
    *,
    lower: pd.DataFrame | None = None,
    upper: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the predictions of a model: a class and all probabilities, or a number.

    Parameters
    ----------
    model : estimator
        Fitted.
    rows : DataFrame
        Such as ``TableFile.blocks`` returns.
    lower, upper : DataFrame, default=None
        Bounds of missing values, such as ``TableFile.bounds`` returns.

    Returns
    -------
    DataFrame
        With a column ``prediction``, and ``probability_`` of each class. Numbers have
        seven significant digits, probabilities six decimals: networks know no more.

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
    bounds = {} if lower is None else {"lower": lower, "upper": upper}
    if not hasattr(model, "classes_"):
        numbers = np.asarray(model.predict(rows, **bounds))
        names = ["prediction"]
        if numbers.ndim == 2:
            names = [f"prediction_{output}" for output in range(numbers.shape[1])]
        return pd.DataFrame(
            round_numbers(numbers.reshape(len(numbers), -1)), None, names
        )
    probabilities = model.predict_proba(rows, **bounds)
    columns = {"prediction": model.classes_[probabilities.argmax(1)]}
    for name, values in zip(model.classes_, probabilities.T, strict=True):
        columns[f"probability_{name}"] = np.round(values, 6)
    return pd.DataFrame(columns)


def round_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return numbers with seven digits."""
    texts = [float(f"{number:.7g}") for number in numbers.ravel()]
    return np.array(texts).reshape(numbers.shape)


def predict_blocks(
    model: Any,
    blocks: Iterable[pd.DataFrame],
    n_jobs: int | None = None,
    *,
    bounds: Iterable[Mapping[str, pd.DataFrame]] | None = None,
    predict: Callable[..., pd.DataFrame] = predict_rows,
) -> Iterator[pd.DataFrame]:
    """Predict blocks of rows, several at a time, in their order.

    Parameters
    ----------
    model : estimator
        Fitted.
    blocks : iterable of DataFrame
        Such as ``TableFile.blocks`` returns. A few are taken ahead.
    n_jobs : int, default=None
        Number of threads, one core each; one for each core by default, at most four.
    bounds : iterable of mapping, default=None
        Of each block, such as ``TableFile.bounds`` returns.
    predict : callable, default=predict_rows
        Makes predictions of the model, a block and its bounds.

    Yields
    ------
    DataFrame
        Of each block, as ``predict`` returns it.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.dummy import DummyClassifier
    >>> from lacunet.tables import predict_blocks
    >>> rows = pd.DataFrame({"age": [40, 50, 60, 70]})
    >>> model = DummyClassifier().fit(rows, ["ill", "ill", "well", "ill"])
    >>> [len(block) for block in predict_blocks(model, [rows[:1], rows[1:]])]
    [1, 3]
    """
    import torch
    from joblib import cpu_count  # type: ignore[import-untyped]

    n_threads, n_own = torch.get_num_threads(), n_jobs or min(cpu_count(), 4)
    # Blocks side by side use cores better than small products do.
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(n_own) as pool:
            coming: deque[Any] = deque()
            ends = repeat({}) if bounds is None else bounds
            for block, of_block in zip(blocks, ends, strict=False):
                coming.append(pool.submit(predict, model, block, **of_block))
                if len(coming) > n_own:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
    finally:
        torch.set_num_threads(n_threads)


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
    n_rows = 0
    with _RowWriter(out, format or FileFormat()) as writer:
        for frame in frames:
            writer.write(frame)
            n_rows += len(frame)
    return n_rows


class _RowWriter:
    """Writes frames, or batches of Arrow, to one file."""

    def __init__(
        self,
        out: IO[bytes],
        form: FileFormat,
        schema: pa.Schema | None = None,
        codec: str = "snappy",
    ) -> None:
        self._out, self._form, self._schema, self._codec = out, form, schema, codec
        self._encoding = Encoding.of_name(form.encoding, has_mark=form.has_mark)
        self._writer: Any = None
        self._is_first = True

    def __enter__(self) -> "_RowWriter":
        return self

    def __exit__(self, *rest: Any) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, rows: Any) -> None:
        form = self._form
        if form.kind in ("parquet", "arrow"):
            if isinstance(rows, pa.RecordBatch):
                table = pa.Table.from_batches([rows])
            else:
                # Without the metadata of pandas, which can't be read of Arrow's types.
                table = pa.Table.from_pandas(rows, preserve_index=False)
                table = table.replace_schema_metadata()
            if self._writer is None:
                self._schema = self._schema or table.schema
                if form.kind == "parquet":
                    self._writer = pq.ParquetWriter(
                        self._out, self._schema, compression=self._codec
                    )
                else:
                    deltas = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
                    self._writer = pa.ipc.new_file(
                        self._out, self._schema, options=deltas
                    )
            self._writer.write_table(table.cast(self._schema))
            return
        frame = rows
        if isinstance(rows, pa.RecordBatch):
            frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
        if form.kind == "json":
            text = frame.to_json(
                orient="records", lines=True, force_ascii=False, date_format="iso"
            )
        else:
            text = frame.to_csv(
                index=False,
                header=self._is_first,
                sep=form.separator,
                decimal=form.decimal,
                lineterminator=form.line_end,
            )
        mark = self._encoding.mark if self._is_first else b""
        self._out.write(mark + self._encoding.encode(text))
        self._is_first = False


# --- tables with their missing values filled


@dataclass(frozen=True)
class FillCount:
    """What was filled in a table.

    Parameters
    ----------
    n_rows : int
        Of the table.
    filled : mapping of str to int
        Missing values that were filled, of each column that had some.
    left : mapping of str to int
        Missing values for which there was no value.
    unseen : mapping of str to sequence of str
        A few categories, in incomplete rows, that the model has not seen.
    """

    n_rows: int
    filled: Mapping[str, int]
    left: Mapping[str, int]
    unseen: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_filled(
    table: "TableFile",
    out: IO[bytes],
    fill: "Callable[[pd.DataFrame], pd.DataFrame]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
    format: FileFormat | None = None,
    fill_censored: bool = False,
) -> FillCount:
    r"""Write a table with its missing values filled, and everything else as it is.

    In CSV the text of every observed cell is as it was: ``007``, ``1.50``, spaces; so
    are encoding, separator and what stands above the table. Quotes that are not needed,
    blank lines and mixed line ends are not kept. What is filled in is written as the
    column's other cells are: integers without decimals, numbers with as many as the
    column has at most and with its marks and units, dates and booleans in their own
    spelling. Cells that are no numbers in a column of numbers, and bounds such as
    ``<0.5``, are left alone.

    Parquet keeps its schema and metadata; observed cells are as they were.

    Parameters
    ----------
    table : TableFile
        As ``open_table`` returns it.
    out : binary stream
        Such as ``open_output`` opens.
    fill : callable
        Takes a frame of incomplete rows and returns it filled. What it leaves missing
        stays in the file as it is.
    schema : Schema, default=None
        The columns of a model: only those are filled.
    advance : callable, default=None
        Called with the number of rows, after each block.
    format : FileFormat, default=None
        Of the output: that of the table by default. A table of text is written as text.
    fill_censored : bool, default=False
        Whether bounds such as ``<0.5`` are filled, too.

    Returns
    -------
    FillCount
        What was filled, by column.

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_table, write_filled
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "nurses.csv"
    ...     size = path.write_text('id, age\n007, 41\n008, NA\n009, 43\n')
    ...     out = io.BytesIO()
    ...     with open_table(path) as table:
    ...         count = write_filled(table, out, lambda frame: frame.fillna(42.3))
    >>> print(out.getvalue().decode(), count.filled)
    id, age
    007, 41
    008, 42
    009, 43
     {'age': 1}
    """
    return write_draws(
        table,
        [out],
        lambda frame: [fill(frame)],
        schema=schema,
        advance=advance,
        format=format,
        fill_censored=fill_censored,
    )


def write_draws(
    table: "TableFile",
    outs: Sequence[IO[bytes]],
    fill: "Callable[..., Sequence[pd.DataFrame]]",
    *,
    schema: Schema | None = None,
    advance: Callable[[int], object] | None = None,
    format: FileFormat | None = None,
    fill_censored: bool = False,
    use_bounds: bool = False,
) -> FillCount:
    r"""Write a table several times, with its missing values filled in other ways.

    Parameters
    ----------
    table : TableFile
        As ``open_table`` returns it.
    outs : sequence of binary streams
        One for each filled table.
    fill : callable
        Takes a frame of incomplete rows and returns as many filled frames as there are
        outputs. It is called once for each block: random draws have to continue.
    schema, advance, format, fill_censored
        As in ``write_filled``.
    use_bounds : bool, default=False
        Whether ``fill`` takes the bounds of a block too, as ``TableFile.bounds``
        returns them, by the keywords ``lower`` and ``upper``.

    Returns
    -------
    FillCount
        Of one of the tables.

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> from lacunet.tables import open_table, write_draws
    >>> outs = [io.BytesIO(), io.BytesIO()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ages.csv"
    ...     size = path.write_text("age,town\n41,Rome\n,Bonn\n")
    ...     with open_table(path) as table:
    ...         count = write_draws(
    ...             table, outs, lambda frame: [frame.fillna(40), frame.fillna(50)]
    ...         )
    >>> [out.getvalue().decode().splitlines()[2] for out in outs]
    ['40,Bonn', '50,Bonn']
    """
    from lacunet.tables._file import as_frame, find_unseen

    reader, form = table.reader, format or table.format
    is_text = isinstance(reader, CsvReader)
    if is_text and form.kind != "csv":
        msg = (
            f"Got a table of text to be written as {form.kind}, but expected CSV: "
            f"cells are written as they stand."
        )
        raise TableError(msg)
    selection = table.select(schema)
    here = [each for each in selection if each.index is not None]
    if is_text:
        filler: Any = _TextFiller(reader, here, fill_censored=fill_censored)
    else:
        filler = _TypedFiller(reader)
    filled: Counter[str] = Counter()
    left: Counter[str] = Counter()
    n_rows = 0
    with ExitStack() as stack:
        writers: list[Any] = [
            stack.enter_context(
                _TextWriter(out, reader, form.separator)
                if is_text
                else _RowWriter(out, form, reader.schema, reader.codec)
            )
            for out in outs
        ]
        for batch in reader.raw_batches():
            missing = {each: filler.find_missing(batch, each) for each in here}
            incomplete = np.any([np.zeros(len(batch), bool), *missing.values()], axis=0)
            rows = np.flatnonzero(incomplete)
            frames: Sequence[Any] = ()
            if len(rows):
                # Complete rows are not passed to the model.
                some = batch.filter(pa.array(incomplete))
                ends = table.find_bounds(some, selection) if use_bounds else {}
                converted = table.convert(some, selection, n_rows + 1)
                frames = fill(as_frame(converted), **ends)
                sizes = [len(each) for each in frames]
                if sizes != [len(some)] * len(outs):
                    msg = (
                        f"Got frames of {sizes} rows as filled, but expected "
                        f"{len(outs)} of {len(some)} rows."
                    )
                    raise ValueError(msg)
            for number, writer in enumerate(writers):
                arrays = [*batch.columns]
                for each in here if len(rows) else ():
                    asked = np.flatnonzero(missing[each][rows])
                    known, values = _take(frames[number], each.name, asked)
                    if len(known):
                        place = batch.schema.get_field_index(reader.keys[each.index])
                        mask = np.zeros(len(batch), dtype=bool)
                        mask[rows[known]] = True
                        arrays[place] = filler.put(arrays[place], mask, values, each)
                    if number == 0 and len(asked):
                        filled[each.name] += len(known)
                        left[each.name] += len(asked) - len(known)
                writer.write(pa.RecordBatch.from_arrays(arrays, schema=batch.schema))
            n_rows += len(batch)
            if advance is not None:
                advance(len(batch))
    unseen = {name: new for name, new in find_unseen(selection).items() if new}
    return FillCount(n_rows, dict(+filled), dict(+left), unseen)


def _take(
    frame: Any, name: str, rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the rows for which a frame has values, and these."""
    if not len(rows) or name not in frame.columns:
        return rows[:0], np.empty(0)
    series = frame[name]
    # What numpy can hold is picked in numpy, which takes much less time.
    if isinstance(series.dtype, np.dtype):
        values = series.to_numpy()[rows]
    else:
        values = series.iloc[rows].to_numpy(object)
    known = pd.notna(values)
    return rows[known], values[known]


class _TextFiller:
    """Fills cells of text in the style of their columns."""

    def __init__(
        self, reader: CsvReader, columns: Sequence[Any], *, fill_censored: bool
    ) -> None:
        self._reader, self._fill_censored = reader, fill_censored
        self._styles = {
            each.index: NumberStyle(reader.columns[each.index].format or PLAIN)
            for each in columns
            if each.form in ("number", "integer")
            and (reader.columns[each.index].n_missing or fill_censored)
        }
        for batch in reader.raw_batches() if self._styles else ():
            for index, style in self._styles.items():
                style.update(reader.split(batch, index))

    def find_missing(self, batch: pa.RecordBatch, column: Any) -> Bools:
        """Return which cells are to be filled: not those that are no numbers."""
        texts = self._reader.split(batch, column.index)
        missing = np.asarray(texts.is_null())
        known = self._reader.columns[column.index]
        if self._fill_censored and known.n_censored and known.format is not None:
            missing = missing | known.format.find_censored(texts)
        return missing

    def put(self, array: pa.Array, mask: Bools, values: Any, column: Any) -> pa.Array:
        """Return the cells with values at some places, written as the others are."""
        known = self._reader.columns[column.index]
        if column.form in ("number", "integer"):
            texts = self._styles[column.index].write(values.astype(np.float64))
        elif column.form == "boolean":
            spelled = spell_booleans(known.distinct.values)
            texts = [spelled[bool(value)] for value in values]
        elif column.form == "date":
            texts = (known.dates.style or DateStyle()).write(values.astype("M8[us]"))
        else:
            texts = [str(value) for value in values]
        # With the spaces of the cells that they replace.
        cells = [
            old[: len(old) - len(old.lstrip(" "))] + text if old[:1] == " " else text
            for old, text in zip(array.filter(mask).to_pylist(), texts, strict=True)
        ]
        return pc.replace_with_mask(array, pa.array(mask), pa.array(cells, pa.string()))


class _TextWriter:
    """Writes rows of text, below what stands above them in the file."""

    def __init__(self, out: IO[bytes], reader: CsvReader, separator: str) -> None:
        self._out, self._encoding = out, reader.encoding
        self._separator, self._end = separator, reader.line_end
        above = reader.above
        if separator != reader.separator:
            above = self._join([pa.array([name]) for name in reader.names])
        out.write(reader.encoding.mark + reader.encoding.encode(above))

    def __enter__(self) -> "_TextWriter":
        return self

    def __exit__(self, *rest: Any) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None:
        self._out.write(self._encoding.encode(self._join(batch.columns)))

    def _join(self, columns: Sequence[pa.Array]) -> str:
        """Return rows, with quotes around the cells that need them."""
        special = rf'[{re.escape(self._separator)}"\r\n]'
        if len(columns) == 1:
            special += "|^$"  # a blank line is no row
        cells = []
        for texts in columns:
            needy = pc.match_substring_regex(texts, special)
            if pc.any(needy).as_py():
                doubled = pc.replace_substring(texts, '"', '""')
                quoted = pc.binary_join_element_wise('"', doubled, '"', "")
                texts = pc.if_else(needy, quoted, texts)
            cells.append(texts)
        rows = pc.binary_join_element_wise(*cells, self._separator).to_pylist()
        return self._end.join([*rows, ""])


class _TypedFiller:
    """Fills cells that have a type, as near as this has the values."""

    def __init__(self, reader: TypedReader) -> None:
        self._reader = reader
        self._categories: dict[int, pa.Array] = {}  # of all rows

    def find_missing(self, batch: pa.RecordBatch, column: Any) -> Bools:
        """Return which cells are to be filled; one of no type has no room for it."""
        values = self._reader.split(batch, column.index)
        missing = np.asarray(values.is_null())
        return missing & (not pt.is_null(values.type))

    def put(self, array: pa.Array, mask: Bools, values: Any, column: Any) -> pa.Array:
        """Return an array of the same type with other values at some places."""
        type_ = array.type
        try:
            if not pt.is_dictionary(type_):
                new = flatten(_as_array(values, type_, column.form))
                return pc.replace_with_mask(flatten(array), pa.array(mask), new).cast(
                    type_
                )
            # Categories stay in their order; new ones come last.
            new = _as_array(values, type_.value_type, column.form)
            known = self._find_categories(column.index, new)
            codes = _index_in(array.dictionary, known).take(array.indices)
            codes = pc.replace_with_mask(codes, pa.array(mask), _index_in(new, known))
            codes = codes.cast(type_.index_type)
            return pa.DictionaryArray.from_arrays(codes, known, ordered=type_.ordered)
        except pa.ArrowInvalid as error:
            texts = list_names([*dict.fromkeys(map(str, values))])
            msg = (
                f"Got {texts} from the model for missing values of column "
                f"{quote_name(column.name)}, but expected what its type "
                f"{shorten(str(type_), 30)} has room for. Convert the column to texts."
            )
            raise TableError(msg) from error

    def _find_categories(self, index: int, new: pa.Array) -> pa.Array:
        """Return all categories of a column, in the order of the file, and new ones."""
        if index not in self._categories:
            found = [x.column(0).dictionary for x in self._reader.raw_batches([index])]
            self._categories[index] = pc.unique(pa.concat_arrays(found))
        known = self._categories[index]
        lacking = pc.unique(new.filter(_index_in(new, known).is_null()))
        if len(lacking):
            known = pa.concat_arrays([known, lacking.cast(known.type)])
            self._categories[index] = known
        return known


def _index_in(values: pa.Array, categories: pa.Array) -> pa.Array:
    """Return the indices of values in a dictionary, null if it lacks them."""

    def trimmed(array: pa.Array) -> pa.Array:
        return trim(flatten(array)) if is_text(array.type) else flatten(array)

    return pc.index_in(trimmed(values), value_set=trimmed(categories))


def _as_array(values: Any, type_: pa.DataType, form: Form) -> pa.Array:
    """Return the values of a model in a type of Arrow, as near as it has them."""
    if form == "text" or is_text(type_):
        return pa.array([str(value) for value in values], pa.string()).cast(type_)
    if pt.is_integer(type_):
        ends = np.iinfo(type_.to_pandas_dtype())
        # As Python integers: the largest of 64 bits is no float.
        rounded = [round(value) for value in values.astype(np.float64).tolist()]
        return pa.array([min(max(each, ends.min), ends.max) for each in rounded], type_)
    if pt.is_decimal(type_):
        step = Decimal((0, (1,), -type_.scale))
        top = Decimal((0, (9,) * type_.precision, -type_.scale))
        exact = [Decimal(repr(float(value))) for value in values]
        with localcontext(prec=type_.precision):
            near = [min(max(each, -top), top).quantize(step) for each in exact]
        return pa.array(near, type_)
    if pt.is_floating(type_):
        return pa.array(values.astype(np.float64)).cast(type_, safe=False)
    if pt.is_boolean(type_):
        return pa.array([bool(value) for value in values], type_)
    stamps = values.astype("M8[us]")
    if pt.is_date(type_):
        half_a_day = np.timedelta64(12, "h")
        return pa.array((stamps + half_a_day).astype("M8[D]")).cast(type_)
    zoned = pa.array(stamps).view(pa.timestamp("us", type_.tz))
    return zoned.cast(type_, safe=False)
