"""The columns that a model knows, and those of a file beside them."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo
from lacunet.tables._drift import ColumnSummary
from lacunet.tables._options import ReadOptions

Category = str | int | float | bool
Kind = Literal["number", "category", "date", "empty"]

MOST_UNSEEN = 3  # kept of a column, to be named
# With leading zeros it is a code: 007 is not 7.
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)
_MOST_BYTES = 2**26  # of the record, which may name all columns of a wide table
# Written only where there are such columns: earlier records have none of them.
_OPTIONAL = ("day_first", "month_first", "decimal", "thousands", "censored", "training")
_NULLABLE = ("target", "decimal", "thousands")


@dataclass(frozen=True)
class SchemaColumn:
    """A column that a model was trained on.

    Parameters
    ----------
    name : str
        Of the column.
    kind : {"number", "category", "date", "empty"}
        Of a column that was empty in training no value is ever used or filled.
    categories : tuple of str, int, float or bool, default=()
        Those seen in training, if it is a category.
    had_missing : bool, default=True
        Whether a value was missing in training.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] = ()
    had_missing: bool = True


@dataclass(frozen=True)
class Schema:
    """The columns that a model was trained on, in their order.

    Parameters
    ----------
    columns : tuple of SchemaColumn
        In the order of training.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import LacunetImputer
    >>> from lacunet.tables import Schema
    >>> table = pd.DataFrame({"age": [40, None, 50], "town": ["Rome", "Bonn", None]})
    >>> Schema.of_model(LacunetImputer(random_state=0).fit(table)).names
    ('age', 'town')
    """

    columns: tuple[SchemaColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def empty(self) -> tuple[str, ...]:
        """Names of the columns that had no value in training."""
        return tuple(column.name for column in self.columns if column.kind == "empty")

    @classmethod
    def of_model(cls, model: Any) -> Self:
        """Return the columns that a model was trained on.

        Parameters
        ----------
        model : estimator of lacunet
            Fitted, on a table whose columns have names.

        Returns
        -------
        Schema
        """
        columns = model._inputs.table.columns
        if not hasattr(model, "feature_names_in_"):
            msg = (
                f"Got a model of {len(columns)} columns without names, but expected "
                f"names, by which the columns of a file are found. Fit it on a frame."
            )
            raise TableError(msg)
        return cls(
            tuple(
                SchemaColumn(
                    str(name),
                    "empty" if column.empty else column.kind,
                    (*column.categories, *column.pooled),
                    column.had_missing,
                )
                for name, column in zip(model.feature_names_in_, columns, strict=True)
            )
        )


@dataclass(frozen=True)
class Match:
    """What a file has of the columns of a model.

    Parameters
    ----------
    missing : tuple of str
        Columns that the file lacks: they are missing in every row. Those that were
        empty in training are missing in any case, and not among them.
    unknown : tuple of str
        Columns that the model does not know: they are left out.
    """

    missing: tuple[str, ...]
    unknown: tuple[str, ...]


def match_names(names: Sequence[str], schema: Schema, source: str) -> Match:
    """Compare the columns of a file with those of a model."""
    here, known, empty = set(names), set(schema.names), set(schema.empty)
    useful = [name for name in schema.names if name not in empty] or schema.names
    if here.isdisjoint(useful):
        msg = (
            f"Got {source} without a column that the model knows, but expected some, "
            f"such as {useful[0]!r}. Is it the right file, and does its first line "
            f"have the names of the columns?"
        )
        raise TableError(msg)
    return Match(
        tuple(name for name in schema.names if name not in here | empty),
        tuple(name for name in names if name not in known),
    )


@dataclass(frozen=True)
class ModelTable:
    """The table that a model was trained on.

    Parameters
    ----------
    source : str, default=""
        Name of its file.
    target : str or None, default=None
        Name of the column that is predicted.
    missing : tuple of str, default=()
        Cells that mean "missing", beside the usual ones.
    usual_missing : bool, default=True
        Whether the usual ones do.
    day_first, month_first : tuple of str, default=()
        Columns whose dates were ``31/12/2024`` or ``12/31/2024``: ambiguous dates of
        later tables are read alike.
    decimal, thousands : str or None, default=None
        The marks of numbers, if a user has named them.
    censored : mapping of str to tuple of str, default={}
        Columns with values that are known by a bound alone, and a few of the bounds.
    training : tuple of ColumnSummary, default=()
        What its columns looked like, by which later tables are checked.

    Examples
    --------
    >>> from lacunet.tables import ModelTable, ReadOptions
    >>> known = ModelTable("patients.csv", "ill", ("-999",))
    >>> known.options(ReadOptions(missing=("x",))).missing
    ('x', '-999')
    """

    FILE_NAME: ClassVar[str] = "table.json"

    source: str = ""
    target: str | None = None
    missing: tuple[str, ...] = ()
    usual_missing: bool = True
    day_first: tuple[str, ...] = ()
    month_first: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    censored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    training: tuple[ColumnSummary, ...] = ()

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[ColumnInfo],
        options: ReadOptions,
        *,
        source: str = "",
        target: str | None = None,
        training: Sequence[ColumnSummary] = (),
    ) -> Self:
        """Return the record of a table, by what was found in it.

        Parameters
        ----------
        columns : sequence of ColumnInfo
            Of the table.
        options : ReadOptions
            By which it was read.
        source : str, default=""
            Name of its file.
        target : str or None, default=None
            Name of the column that is predicted.
        training : sequence of ColumnSummary, default=()
            What :func:`summarize_columns` returned of its rows.

        Returns
        -------
        ModelTable
        """
        return cls(
            source,
            target,
            options.missing,
            options.usual_missing,
            tuple(column.name for column in columns if column.day_first is True),
            tuple(column.name for column in columns if column.day_first is False),
            options.decimal,
            options.thousands,
            {column.name: column.bounds for column in columns if column.n_censored},
            tuple(training),
        )

    def options(self, given: ReadOptions) -> ReadOptions:
        """Return how another table is to be read: as this one, beside what is given.

        Parameters
        ----------
        given : ReadOptions
            Its order of the dates of a column takes precedence.

        Returns
        -------
        ReadOptions
        """
        ordered = given.day_first + given.month_first
        return replace(
            given,
            missing=given.missing + _without(self.missing, given.missing),
            usual_missing=given.usual_missing and self.usual_missing,
            day_first=given.day_first + _without(self.day_first, ordered),
            month_first=given.month_first + _without(self.month_first, ordered),
            decimal=given.decimal or self.decimal,
            thousands=given.thousands or self.thousands,
        )

    def to_text(self) -> str:
        """Return the content of the file.

        Returns
        -------
        str
        """
        record = asdict(self)
        for name in _OPTIONAL:
            if not record[name]:
                del record[name]
        return json.dumps(record, indent=1) + "\n"

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read the record beside a model; a model may come without one.

        Parameters
        ----------
        folder : str or PathLike
            That of the model.

        Returns
        -------
        ModelTable
        """
        path = Path(folder) / cls.FILE_NAME
        if not path.is_file():
            return cls()
        try:
            with path.open("rb") as stream:
                return cls._of_record(json.loads(stream.read(_MOST_BYTES)))
        except (ValueError, TypeError, RecursionError) as error:
            msg = (
                f"Got {path} that is damaged ({error}), but expected what lacunet fit "
                f"wrote. Fit again; or delete it, give --missing again, and write "
                f"dates as 2024-12-31."
            )
            raise TableError(msg) from error

    @classmethod
    def _of_record(cls, record: Any) -> Self:
        empty = asdict(cls(target=""))
        needed = {name for name in empty if name not in _OPTIONAL}
        if not isinstance(record, dict) or not needed <= set(record) <= set(empty):
            msg = f"expected {[*empty]}"
            raise ValueError(msg)
        summaries = record.pop("training", [])
        for name, value in record.items():
            default = "" if empty[name] is None else empty[name]
            wanted = list if isinstance(default, tuple) else type(default)
            lists = [*value.values()] if isinstance(value, dict) else [value]
            texts = [x for each in lists if isinstance(each, list) for x in each]
            fine = isinstance(value, wanted) or (value is None and name in _NULLABLE)
            if not fine or not all(isinstance(text, str) for text in texts):
                msg = f"expected a {wanted.__name__} as {name!r}, of texts if of many"
                raise TypeError(msg)
        if set(record.get("day_first", ())) & set(record.get("month_first", ())):
            msg = "expected each column in one of 'day_first' and 'month_first' at most"
            raise ValueError(msg)
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in record.items()
        }
        training = tuple(map(ColumnSummary.of_record, summaries))
        return cls(**values, training=training)


def _without(texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(text for text in texts if text not in known)


class KnownCategories:
    """The categories of a column that a model was trained on.

    A few of the values that were read and are none of them are kept in ``unseen``.

    Examples
    --------
    >>> categories = KnownCategories(["1.0", "2.0"])
    >>> texts = pa.array(["2", "3", None])
    >>> categories.recode(texts, texts).to_pylist()
    ['2.0', '3', None]
    >>> categories.unseen
    ['3']
    """

    def __init__(self, categories: Sequence[Category]) -> None:
        self.unseen: list[str] = []
        self._texts = [each for each in categories if isinstance(each, str)]
        self._others = [each for each in categories if not isinstance(each, str)]
        self._by_number: dict[Decimal | None, str | None] = {}
        for category in self._texts:
            number = _as_number(category)
            if number is not None:
                # Two that are the same number differ by their spelling only.
                again = number in self._by_number
                self._by_number[number] = None if again else category

    def recode(self, values: pa.Array, found: pa.Array) -> pa.Array:
        """Return values as categories, and keep a few of those that are none.

        A number among texts becomes the category that is the same number, however that
        is spelled. ``found`` is what stands in the file, null where missing.
        """
        if values.type == pa.string():
            known = pa.array(self._texts, pa.string())
        elif values.type == pa.bool_():
            known = pa.array(self._others, pa.bool_())
        else:
            known = pa.array([*map(float, self._others)], values.type)
        if pc.all(pc.or_(pc.is_in(values, known), found.is_null())).as_py():
            return values
        if values.type == pa.string():
            values = self._respell(values)
        others = pc.and_(pc.invert(pc.is_in(values, known)), found.is_valid())
        new = pc.unique(found.filter(others))
        room = MOST_UNSEEN - len(self.unseen)
        texts = dict.fromkeys(map(str, new[: room + MOST_UNSEEN].to_pylist()))
        self.unseen += [text for text in texts if text not in self.unseen][:room]
        return values

    def _respell(self, texts: pa.StringArray) -> pa.StringArray:
        exact = set(self._texts)
        coded = texts.dictionary_encode()
        spelled = [
            text if text in exact else self._by_number.get(_as_number(text)) or text
            for text in coded.dictionary.to_pylist()
        ]
        return pa.array(spelled, pa.string()).take(coded.indices)


def _as_number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None
