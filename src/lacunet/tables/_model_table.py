"""What a model's table was: kept beside the model, for the tables to come."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from lacunet.exceptions import TableError
from lacunet.tables._columns import ColumnInfo
from lacunet.tables._options import ReadOptions

_MOST_BYTES = 2**24  # of the record, which may name all columns of a wide table
# Written only where there are such columns: earlier records have none of them.
_OPTIONAL = ("day_first", "month_first")


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
        Columns whose dates were ``31/12/2024`` or ``12/31/2024``: rows to come that do
        not tell days from months are written alike.

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

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[ColumnInfo],
        options: ReadOptions,
        *,
        source: str = "",
        target: str | None = None,
    ) -> Self:
        """Return what is to be known of a table, by what was found in it.

        Parameters
        ----------
        columns : sequence of ColumnInfo
        options : ReadOptions
            By which it was read.
        source : str, default=""
            Name of its file.
        target : str or None, default=None
            Name of the column that is predicted.

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
        )

    def options(self, given: ReadOptions) -> ReadOptions:
        """Return how another table is to be read: as this one, beside what is given.

        Parameters
        ----------
        given : ReadOptions
            What it says of the dates of a column goes before.

        Returns
        -------
        ReadOptions
        """
        told = given.day_first + given.month_first
        return replace(
            given,
            missing=given.missing + _without(self.missing, given.missing),
            usual_missing=given.usual_missing and self.usual_missing,
            day_first=given.day_first + _without(self.day_first, told),
            month_first=given.month_first + _without(self.month_first, told),
        )

    def to_text(self) -> str:
        """Return what stands in the file.

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
        """Read what stands beside a model; nothing is known of one without the file.

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
        names = [field.name for field in fields(cls)]
        if not isinstance(record, dict) or not _has_fields(record, names):
            msg = f"expected {names}"
            raise ValueError(msg)
        source, target, usual = (
            record[name] for name in ("source", "target", "usual_missing")
        )
        if not isinstance(source, str) or not isinstance(target, str | None):
            msg = "expected texts as 'source' and 'target'"
            raise TypeError(msg)
        if not isinstance(usual, bool):
            msg = "expected true or false as 'usual_missing'"
            raise TypeError(msg)
        day_first, month_first = (_read_texts(record, name) for name in _OPTIONAL)
        if set(day_first) & set(month_first):
            msg = "expected each column in one of 'day_first' and 'month_first' at most"
            raise ValueError(msg)
        missing = _read_texts(record, "missing")
        return cls(source, target, missing, usual, day_first, month_first)


def _has_fields(record: dict[str, Any], names: Sequence[str]) -> bool:
    needed = set(names) - set(_OPTIONAL)
    return needed <= set(record) <= set(names)


def _read_texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    texts = record.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        msg = f"expected a list of texts as {name!r}"
        raise TypeError(msg)
    return tuple(texts)


def _without(texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(text for text in texts if text not in known)
