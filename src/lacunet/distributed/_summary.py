"""The first pass over the rows: what there is in each column, by sketches.

Quantiles are those of a t-digest, which unlike other sketches draws nothing at random:
added up in the order of the row groups, it is the same whoever has read them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasketches import (
    frequent_items_error_type,
    frequent_strings_sketch,
    tdigest_double,
)

from lacunet.estimators import Column, TableSummary, TargetScale, read_columns
from lacunet.estimators import as_table as as_columns
from lacunet.exceptions import TableError, warn_user
from lacunet.tables import ColumnSummary

# Of the t-digest: the larger, the finer. The quantiles are right within 0.1%.
_FINENESS = 500
# Numbers with fewer values are counted value by value.
_FEW_VALUES = 1_000
# Logarithm of the number of categories that are counted; the rarest beyond are lost.
_LOG_CATEGORIES = 14
_QUANTILES = 4096
_MOST_CLASSES = 1_000
_DAY = np.timedelta64(1, "D")
_EPOCH = np.datetime64(0, "D")


@dataclass(frozen=True)
class ColumnSketch:
    """What is known of a column in some of the rows."""

    kind: str | None  # None as long as nothing was observed
    n_missing: int
    n_observed: int
    low: float = np.inf  # of numbers, and of dates in days since 1970
    high: float = -np.inf
    whole: bool = True  # whether all are whole numbers
    distinct: Mapping[float, int] | None = None  # counts, if there are few values
    digest: bytes = b""
    origin: str | None = None  # the first date
    categories: bytes = b""
    boolean: bool = False

    @classmethod
    def of_cells(cls, raw: Any) -> "ColumnSketch":
        """Describe the cells of a column, as ``read_columns`` returns them."""
        observed = raw.values[raw.observed]
        n_missing = len(raw.values) - len(observed)
        if raw.kind is None:
            return cls(None, n_missing, 0)
        if raw.kind == "category":
            counts = Counter(observed.tolist())
            boolean = all(isinstance(value, bool) for value in counts)
            sketch = frequent_strings_sketch(_LOG_CATEGORIES)
            for value, count in sorted(counts.items()):
                sketch.update(str(value), count)
            return cls(
                raw.kind,
                n_missing,
                len(observed),
                categories=sketch.serialize(),
                boolean=boolean,
            )
        origin = None
        if raw.kind == "date":
            origin = str(observed.min())
            observed = (observed - _EPOCH) / _DAY
        digest = tdigest_double(_FINENESS)
        digest.update(np.ascontiguousarray(observed))
        distinct = None
        if len(np.unique(observed[:_FEW_VALUES])) < _FEW_VALUES // 2:
            values, n_values = np.unique(observed, return_counts=True)
            if len(values) <= _FEW_VALUES:
                distinct = dict(zip(values.tolist(), n_values.tolist(), strict=True))
        return cls(
            raw.kind,
            n_missing,
            len(observed),
            float(observed.min()),
            float(observed.max()),
            bool((observed == np.rint(observed)).all()),
            distinct,
            digest.serialize(),
            origin,
        )

    def __add__(self, other: "ColumnSketch") -> "ColumnSketch":
        """Add up two sketches, of rows one after the other."""
        n_missing = self.n_missing + other.n_missing
        n_observed = self.n_observed + other.n_observed
        if self.kind is None or other.kind is None:
            known = other if self.kind is None else self
            return ColumnSketch(
                **{**vars(known), "n_missing": n_missing, "n_observed": n_observed}
            )
        if self.kind == "category":
            categories = frequent_strings_sketch.deserialize(self.categories)
            categories.merge(frequent_strings_sketch.deserialize(other.categories))
            return ColumnSketch(
                self.kind,
                n_missing,
                n_observed,
                categories=categories.serialize(),
                boolean=self.boolean and other.boolean,
            )
        digest = tdigest_double.deserialize(self.digest)
        digest.merge(tdigest_double.deserialize(other.digest))
        distinct = None
        if self.distinct is not None and other.distinct is not None:
            counts = Counter(self.distinct) + Counter(other.distinct)
            distinct = dict(counts) if len(counts) <= _FEW_VALUES else None
        origins = [o for o in (self.origin, other.origin) if o is not None]
        return ColumnSketch(
            self.kind,
            n_missing,
            n_observed,
            min(self.low, other.low),
            max(self.high, other.high),
            self.whole and other.whole,
            distinct,
            digest.serialize(),
            min(origins) if origins else None,
        )

    def describe(self, name: str, max_categories: int) -> Column:
        """Return the column as an encoder knows it."""
        had_missing = self.n_missing > 0
        if self.kind is None:
            return Column(name, "number", had_missing, empty=True)
        if self.kind == "category":
            sketch = frequent_strings_sketch.deserialize(self.categories)
            # Some more than there are, if some of the rarest were lost.
            kind = frequent_items_error_type.NO_FALSE_NEGATIVES
            items = sketch.get_frequent_items(kind)
            counts: dict[Any, int] = {
                value == "True" if self.boolean else value: int(count)
                for value, count, *_ in items
            }
            # Those that were lost count as missing.
            had_missing |= any(low < high for *_, low, high in items) or not items
            if not counts:
                msg = (
                    f"Got column {name!r} with so many different texts that none of "
                    f"them is frequent. It is kept, but hardly any text is known, and "
                    f"the others count as missing. Leave it out."
                )
                warn_user(msg)
                counts = {"": 1}
            return Column.of_categories(
                name, counts, max_categories, had_missing=had_missing
            )
        kind_of_number: Any = self.kind
        return Column(name, kind_of_number, had_missing, origin=self.origin)

    def summarise(self, name: str) -> ColumnSummary | None:
        """Return the column as later rows are compared with it; None if it is empty."""
        sizes = self.n_missing + self.n_observed, self.n_observed
        if self.kind is None:
            return None
        if self.kind == "category":
            sketch = frequent_strings_sketch.deserialize(self.categories)
            kind = frequent_items_error_type.NO_FALSE_NEGATIVES
            items = sketch.get_frequent_items(kind)
            if not items:
                return None
            least = {value: int(low) for value, _, low, _ in items}
            frequent = sorted(least.items(), key=lambda pair: (-pair[1], pair[0]))
            return ColumnSummary.of_counts(name, *sizes, dict(frequent))
        values = self.quantiles()
        values[[0, -1]] = self.low, self.high
        if self.kind == "date":
            values *= 86_400
            return ColumnSummary.of_values(name, "date", *sizes, values)
        return ColumnSummary.of_values(name, "number", *sizes, values)

    def quantiles(self) -> np.ndarray:
        """Return values whose quantiles are those of the column, NaN if it is empty."""
        ranks = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        if self.kind is None:
            return np.full(_QUANTILES, np.nan)
        if self.distinct is not None:
            pairs = np.array(sorted(self.distinct.items()))
            values, counts = pairs.T
            places = np.searchsorted(counts.cumsum(), ranks * counts.sum())
            return np.asarray(values[places])
        digest = tdigest_double.deserialize(self.digest)
        return np.array([digest.get_quantile(rank) for rank in ranks])

    @property
    def is_constant(self) -> bool:
        """Whether there is one value only, but for zero and False."""
        if self.kind == "category":
            sketch = frequent_strings_sketch.deserialize(self.categories)
            kind = frequent_items_error_type.NO_FALSE_NEGATIVES
            items = sketch.get_frequent_items(kind)
            return len(items) == 1 and not (self.boolean and items[0][0] == "False")
        one = self.low == self.high
        return one and (self.kind == "date" or self.low != 0)


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared differences from it, of a numeric target."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: "Moments") -> "Moments":
        """Add up the moments of two sets of rows."""
        n = self.n + other.n
        if not n:
            return self
        step = other.mean - self.mean
        return Moments(
            n,
            self.mean + step * other.n / n,
            self.squares + other.squares + step**2 * self.n * other.n / n,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def to_scale(self) -> TargetScale:
        """Return mean and standard deviation, 0 if all are the same."""
        std = 0.0 if self.low == self.high else np.sqrt(self.squares / self.n)
        return TargetScale(np.array([self.mean]), np.array([float(std)]))


@dataclass(frozen=True)
class Summary:
    """What there is in some of the rows."""

    n_rows: int
    columns: Sequence[ColumnSketch]
    counts: Mapping[Any, int]  # of classes
    moments: Moments  # of a numeric target

    def __add__(self, other: "Summary") -> "Summary":
        """Add up two summaries, of rows one after the other."""
        counts = Counter(self.counts) + Counter(other.counts)
        if len(counts) > _MOST_CLASSES:
            msg = (
                f"Got a target with more than {_MOST_CLASSES:,} different values, but "
                f"expected classes. Use LacunetRegressor if it is a number."
            )
            raise TableError(msg)
        pairs = zip(self.columns, other.columns, strict=True)
        return Summary(
            self.n_rows + other.n_rows,
            [one + two for one, two in pairs],
            counts,
            self.moments + other.moments,
        )

    def to_table(self, names: Sequence[str], max_categories: int) -> TableSummary:
        """Return what an estimator has to know."""
        sketches = dict(zip(names, self.columns, strict=True))
        numeric = [s for s in sketches.values() if s.kind != "category"]
        values = [s.quantiles() for s in numeric]
        # Dates are counted from the first of them, in days.
        first = np.array([s.low if s.kind == "date" else 0.0 for s in numeric])
        low, high = (np.array([getattr(s, end) for s in numeric]) for end in _ENDS)
        empty = np.array([s.kind is None for s in numeric], dtype=bool)
        table = np.stack(values, axis=1) if values else np.empty((_QUANTILES, 0))
        return TableSummary(
            self.n_rows,
            [s.describe(name, max_categories) for name, s in sketches.items()],
            [name for name, s in sketches.items() if s.is_constant],
            table - first,
            np.where(empty, 0.0, low - first),
            np.where(empty, 0.0, high - first),
            np.array([s.whole and s.kind == "number" for s in numeric], dtype=bool),
            dict(self.counts),
            self.moments.to_scale() if self.moments.n else None,
        )


_ENDS = ("low", "high")


def summarise_rows(
    tables: Iterator[tuple[pa.Table, pa.ChunkedArray | None]], *, classes: bool
) -> Summary:
    """Describe the rows of one row group, given as tables and their targets."""
    total: Summary | None = None
    for table, target in tables:
        counts: dict[Any, int] = {}
        moments = Moments()
        if target is not None:
            target = target.drop_null()
            if pa.types.is_floating(target.type):
                target = target.filter(pc.invert(pc.is_nan(target)))
            if classes:
                found = pc.value_counts(target).to_pylist()
                counts = {pair["values"]: pair["counts"] for pair in found}
            elif len(target):
                y = target.cast(pa.float64(), safe=False).to_numpy()
                if not np.isfinite(y).all():
                    msg = "the target has infinite values"
                    raise ValueError(msg)
                squares = float(np.square(y - y.mean()).sum())
                ends = float(y.min()), float(y.max())
                moments = Moments(len(y), float(y.mean()), squares, *ends)
        cells = read_columns(as_columns(table))
        sketches = [ColumnSketch.of_cells(raw) for raw in cells]
        part = Summary(len(table), sketches, counts, moments)
        total = part if total is None else total + part
    assert total is not None
    return total
