"""What is kept of a training table to make rows like its rows: patterns and types."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from lacunet.estimators._columns import as_table, category_of
from lacunet.estimators._saving import check_agreement

# The most frequent patterns that are kept; of the others, rates of the columns.
_MOST_PATTERNS = 200
_MOST_CATEGORIES = 1_000  # of a dtype that is kept
_BACKENDS = ("pandas", "polars", "pyarrow")
# Dtypes that are kept, by their names; others are those that the values have.
_OF_PANDAS = re.compile(
    r"([Uu]?[Ii]nt|[Ff]loat)(8|16|32|64)|bool|boolean|category"
    r"|(u?int(8|16|32|64)|float|double|bool)\[pyarrow\]"
)
_INTEGERS = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_PLAIN = (*_INTEGERS, "Float32", "Float64", "Boolean", "String", "Categorical", "Date")
_NANOSECONDS = datetime(1677, 9, 22), datetime(2262, 4, 10)  # that 64 bits can hold


@dataclass(frozen=True)
class TableForm:
    """Which values were missing together in training, and the type of the table.

    Rows of the ``counts`` have the ``patterns`` of missing values, those of the last
    count others, with values missing at the ``rates``. A frame has a ``backend``, and
    each column a dtype: its name in pandas, else name, unit and zone of narwhals, or
    name and categories; None for that of the values.
    """

    patterns: np.ndarray  # (patterns, columns), bool
    counts: np.ndarray  # (patterns + 1,)
    rates: np.ndarray  # (columns,)
    backend: str | None = None
    dtypes: tuple[Any, ...] = ()

    @classmethod
    def of(cls, missing: np.ndarray, X: Any = None, backend: str | None = None) -> Self:
        """Describe rows by where values are missing, (rows, columns), and their table.

        Rows that come without a table belong to one of ``backend``.
        """
        packed = np.packbits(missing, axis=1)
        packed, counts = np.unique(packed, axis=0, return_counts=True)
        patterns = np.unpackbits(packed, axis=1, count=missing.shape[1]).astype(bool)
        order = np.argsort(-counts, kind="stable")[:_MOST_PATTERNS]
        rest = np.delete(patterns, order, 0), np.delete(counts, order)
        rates = rest[1] @ rest[0] / max(1, rest[1].sum())
        dtypes: tuple[Any, ...] = ()
        table = None if X is None else as_table(X)
        if table is not None and not isinstance(table, np.ndarray):
            backend = table.implementation.value
            backend = backend if backend in _BACKENDS else _BACKENDS[0]
            dtypes = tuple(_describe(series) for series in table.iter_columns())
        kept = np.append(counts[order], rest[1].sum())
        return cls(patterns[order], kept, rates, backend, dtypes)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_columns: int) -> Self:
        """Make one of what ``to_state`` returned."""
        packed = [[*bytes.fromhex(text)] for text in state["patterns"]]
        bits = np.array(packed, dtype=np.uint8).reshape(len(packed), -(-n_columns // 8))
        patterns = np.unpackbits(bits, axis=1, count=n_columns).astype(bool)
        counts, rates = (np.array(state[name]) for name in ("counts", "rates"))
        dtypes = tuple(state["dtypes"])
        names = {each[0] for each in dtypes if isinstance(each, list)}
        names |= {
            n for n in dtypes if isinstance(n, str) and not _OF_PANDAS.fullmatch(n)
        }
        check_agreement(
            patterns=(len(counts), len(patterns) + 1),
            counts=(bool((counts >= 0).all() and counts.any()), True),
            rates=(rates.shape, (n_columns,)),
            backend=(state["backend"] in (None, *_BACKENDS), True),
            n_dtypes=(len(dtypes) in (0, n_columns), True),
            dtypes=(names - {*_PLAIN, "Datetime", "Enum", "category"}, set()),
        )
        for each in dtypes:
            if isinstance(each, list) and each[0] in ("Enum", "category"):
                distinct = [*dict.fromkeys(map(category_of, each[1]))]
                check_agreement(categories=(each[1], distinct))
        return cls(patterns, counts, rates, state["backend"], dtypes)

    def to_state(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return {
            "patterns": [np.packbits(row).tobytes().hex() for row in self.patterns],
            "counts": self.counts.tolist(),
            "rates": self.rates.tolist(),
            "backend": self.backend,
            "dtypes": list(self.dtypes),
        }

    def draw_missing(self, n: int, random: np.random.RandomState) -> np.ndarray:
        """Draw which values are missing in ``n`` rows, (n, columns)."""
        chosen = random.choice(len(self.counts), n, p=self.counts / self.counts.sum())
        missing: np.ndarray = random.random_sample((n, len(self.rates))) < self.rates
        known = chosen < len(self.patterns)
        missing[known] = self.patterns[chosen[known]]
        return missing

    def make_frame(self, cells: np.ndarray, names: Sequence[Any]) -> Any:
        """Return cells as a frame of the backend, with the dtypes of training."""
        backend: Any = self.backend
        dtypes = self.dtypes or [None] * len(names)
        columns = []
        for name, column, dtype in zip(names, cells.T, dtypes, strict=True):
            values = column.tolist()
            kind, *options = [dtype] if isinstance(dtype, str) else dtype or [""]
            of_pandas = isinstance(dtype, str) or kind == "category"
            if integer := re.match(r"u?int\d+", kind.lower()):
                ends = np.iinfo(integer[0])
                values = [
                    v if v is None else min(max(round(v), ends.min), ends.max)
                    for v in values
                ]
            if options[:1] == ["ns"]:
                first, last = _NANOSECONDS
                values = [v if v is None else min(max(v, first), last) for v in values]
            if any(options[1:]):  # a time zone: values are in UTC
                values = [v if v is None else v.replace(tzinfo=UTC) for v in values]
            typed = getattr(nw, kind)(*options) if kind and not of_pandas else None
            if of_pandas and integer:  # floats would round the largest
                typed = nw.Object()
            series = nw.new_series(str(name), values, typed, backend=backend)
            if of_pandas:
                native = series.to_native().astype(kind)
                native = native.cat.set_categories(options[0]) if options else native
                series = nw.from_native(native, series_only=True)
            columns.append(series)
        frame = columns[0].to_frame().with_columns(*columns[1:]).to_native()
        if not all(isinstance(name, str) for name in names):  # pandas has others
            frame.columns = list(names)
        return frame


def _describe(series: Any) -> Any:
    """Return the dtype of a column of a frame as JSON-able values."""
    name = type(series.dtype).__name__
    if name == "Datetime":
        return [name, series.dtype.time_unit, series.dtype.time_zone]
    is_pandas = series.implementation.is_pandas()
    if name == "Enum" or (name == "Categorical" and is_pandas):
        found = series.cat.get_categories().to_list()
        if len(found) <= _MOST_CATEGORIES and found == [*map(category_of, found)]:
            return ["category" if name == "Categorical" else name, found]
    if is_pandas:
        native = str(series.to_native().dtype)
        return native if _OF_PANDAS.fullmatch(native) else None
    return [name] if name in _PLAIN else None
