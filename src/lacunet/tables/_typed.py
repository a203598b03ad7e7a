"""A column of a Parquet file, looked at batch by batch."""

import math

import numpy as np
import pyarrow as pa

from lacunet.tables._columns import (
    ColumnInfo,
    Kind,
    Notice,
    notice_constant,
    notice_digits,
    notice_empty,
    notice_id,
)
from lacunet.tables._describing import LEAST_ROWS, names_rows
from lacunet.tables._distinct import Counting, Distinct
from lacunet.tables._numbers import EXACT
from lacunet.tables._types import advise, as_floats, is_number, kind_of


class TypedColumn:
    """A column of a Parquet file, and what all of its rows have shown.

    Parameters
    ----------
    name : str
    type_ : DataType
    n_columns : int, default=1
        Of the file.
    """

    def __init__(self, name: str, type_: pa.DataType, *, n_columns: int = 1) -> None:
        self.name = name
        self._type = type_
        self._n_missing = self._n_observed = 0
        self._distinct = Distinct(n_columns)
        self._counting = Counting()
        self._farthest = 0.0  # from zero

    def see(self, values: pa.Array) -> None:
        """Look at more rows.

        Parameters
        ----------
        values : Array
            Flat, null where a value is missing.
        """
        self._n_missing += values.null_count
        self._n_observed += len(values) - values.null_count
        kind = kind_of(self._type)
        if values.null_count == len(values) or kind == "unsupported":
            return
        if self._distinct.is_open(is_measured=kind in ("number", "date")):
            self._distinct.see(values)
        else:
            self._distinct.give_up()
        if is_number(values.type):
            floats = as_floats(values).to_numpy(zero_copy_only=False)
            farthest = float(np.fmax.reduce(np.abs(floats)))
            self._farthest = max(self._farthest, farthest)
            self._counting.see(floats)

    def info(self, *, is_categorical: bool = False) -> ColumnInfo:
        """Return what is known of the column.

        Parameters
        ----------
        is_categorical : bool, default=False
            Whether a user has called it so.

        Returns
        -------
        ColumnInfo
        """
        kind = self._kind()
        if is_categorical and kind not in ("empty", "unsupported"):
            kind = "category"
        notices = tuple(self._notices(kind))
        return ColumnInfo(
            self.name, kind, self._n_missing, self._distinct.count, notices
        )

    def _kind(self) -> Kind:
        kind = kind_of(self._type)
        if not self._n_observed:
            return "empty"
        if kind == "category" and (self._distinct.count is None or self._is_id()):
            return "text"
        # What has no room in 64 bits with a sign.
        return "number" if kind == "integer" and self._farthest >= 2**63 else kind

    def _is_id(self) -> bool:
        return self._distinct.all_differ and self._n_observed >= LEAST_ROWS

    def _notices(self, kind: Kind) -> list[Notice]:
        if kind == "empty":
            return [notice_empty()]
        if kind == "unsupported":
            return [Notice("unsupported", advise(self.name, self._type))]
        found = []
        if self._distinct.values is not None and self._distinct.count == 1:
            found.append(notice_constant(self._distinct.values[0]))
        if self._names_rows(kind):
            found.append(notice_id(self.name))
        elif kind_of(self._type) == "integer" and self._farthest >= EXACT:
            found.append(notice_digits(self.name))
        if math.isinf(self._farthest):
            text = "It has infinite numbers. Count them as missing with --missing inf."
            found.append(Notice("infinite", text))
        return found

    def _names_rows(self, kind: Kind) -> bool:
        if kind != "integer":
            return kind in ("text", "category") and self._is_id()
        named = self._distinct.all_differ and names_rows(self.name)
        return self._n_observed >= LEAST_ROWS and (self._counting.alive or named)
