"""New rows beside those that a model was trained on: what has changed in a column."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from scipy.special import chdtrc, gammaln, kolmogorov
from scipy.stats import hypergeom

from lacunet._text import list_names, shorten, show_count, show_percent

if TYPE_CHECKING:
    from lacunet.tables._schema import Schema, SchemaColumn

Change = Literal["lacking", "outside", "categories", "missing", "distribution"]
_Kind = Literal["number", "category", "date"]

N_BINS = 20  # of equal frequency in training, by which a number or date is summarised
MOST_CATEGORIES = 50  # that are counted one by one, the most frequent
# Of all columns together, for each kind of change: how often rows like those of
# training may be reported.
_LEVEL = 0.01
# Smaller changes are not reported, however certain they are. Cohen calls h = 0.2 small:
# 0% and 1%, 10% and 17%, 50% and 60% missing.
_SMALL_H = 0.2
_SMALL_OUTSIDE = 0.01  # of the values, unless some are far outside
_SMALL_DISTANCE = 0.1  # Kolmogorov-Smirnov, or total variation of categories
_SAMPLE = 4096  # rows for medians and distributions; everything else counts all rows
# A single value is far outside from here on at the earliest, in distances of the end of
# the range from the median; and the heaviest tail, in distances of a tail's begin.
_FAR, _HEAVIEST = 5.0, 30.0


@dataclass(frozen=True)
class ColumnSummary:
    """What is kept of a column that a model was trained on.

    Parameters
    ----------
    name : str
        Of the column.
    kind : {"number", "category", "date"}
        Dates are seconds since 1970.
    n_rows, n_missing : int
        Numbers of rows, and of rows where the value is missing.
    edges : tuple of float, default=()
        Distinct quantiles of a number or date, its minimum and maximum among them.
    categories : tuple of str, default=()
        The most frequent categories, the most frequent first.
    counts : tuple of int, default=()
        Numbers of values: up to the first edge, then between each edge and the one
        before; or of each category.
    """

    name: str
    kind: _Kind
    n_rows: int
    n_missing: int
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    @property
    def n_observed(self) -> int:
        """Number of values."""
        return self.n_rows - self.n_missing

    @property
    def fraction_missing(self) -> float:
        """Fraction of the rows where the value is missing."""
        return self.n_missing / max(1, self.n_rows)

    def quantile(self, fraction: float) -> float:
        """Return the first edge with so many of the values at it or below.

        Parameters
        ----------
        fraction : float
            Of the values, between 0 and 1.

        Returns
        -------
        float
        """
        reached = np.cumsum(self.counts) >= fraction * sum(self.counts)
        return self.edges[int(reached.argmax())]

    def show(self, value: float) -> str:
        """Return a value of the column as a text.

        Parameters
        ----------
        value : float
            Of a date, seconds since 1970.

        Returns
        -------
        str

        Examples
        --------
        >>> ColumnSummary("since", "date", 0, 0).show(86400.0)
        '1970-01-02'
        """
        if self.kind != "date" or not math.isfinite(value):
            return f"{value:.6g}"
        stamp = str(np.datetime64(round(value), "s"))
        return stamp.removesuffix("T00:00:00").replace("T", " ")

    @classmethod
    def of_record(cls, record: Any) -> Self:
        """Return the summary that a file has.

        Parameters
        ----------
        record : dict
            As ``dataclasses.asdict`` makes it. What is no such record is a ValueError.

        Returns
        -------
        ColumnSummary
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(record, dict) or set(record) != set(names):
            msg = f"expected columns with {names}"
            raise ValueError(msg)
        values: list[Any] = [record[name] for name in names]
        name, kind, n_rows, n_missing, edges, categories, counts = values
        right = (
            isinstance(name, str)
            and kind in get_args(_Kind)
            and all(isinstance(each, list) for each in (edges, categories, counts))
            and all(isinstance(each, str) for each in categories)
            and all(isinstance(x, (int, float)) and math.isfinite(x) for x in edges)
            and all(one < other for one, other in zip(edges, edges[1:], strict=False))
            and all(isinstance(x, int) and x >= 0 for x in (n_rows, n_missing, *counts))
            and len(counts) == len(categories if kind == "category" else edges) > 0
            and n_missing + sum(counts) <= n_rows
        )
        if not right:
            msg = f"expected a summary of the column {name!r}"
            raise ValueError(msg)
        return cls(
            name,
            kind,
            n_rows,
            n_missing,
            tuple(edges),
            tuple(categories),
            tuple(counts),
        )


def summarize_columns(
    rows: pd.DataFrame, schema: "Schema"
) -> tuple[ColumnSummary, ...]:
    """Summarise the rows that a model was trained on, for later comparison.

    Parameters
    ----------
    rows : DataFrame
        The rows of training.
    schema : Schema
        The columns of the model.

    Returns
    -------
    tuple of ColumnSummary
        Of the columns that have a value.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.tables import Schema, SchemaColumn, summarize_columns
    >>> schema = Schema((SchemaColumn("town", "category", ("Bonn", "Rome")),))
    >>> rows = pd.DataFrame({"town": ["Rome", "Bonn", None, "Rome"]})
    >>> [town] = summarize_columns(rows, schema)
    >>> town.categories, town.counts, town.n_missing
    (('Rome', 'Bonn'), (2, 1), 1)
    """
    found = []
    for column in schema.columns:
        if column.kind == "empty" or rows[column.name].isna().all():
            continue
        edges: list[float] = []
        categories: list[str] = []
        if column.kind == "category":
            n_missing = int(rows[column.name].isna().sum())
            frequent = _count_categories(rows[column.name])[:MOST_CATEGORIES]
            categories = [name for name, _ in frequent]
            counts = [count for _, count in frequent]
        else:
            numbers = _numbers(rows[column.name], column.kind)
            numbers = numbers[np.isfinite(numbers)]
            n_missing = len(rows) - len(numbers)
            steps = np.linspace(0, 1, N_BINS + 1)
            # Values that occur, so that many equal ones are a bin of their own.
            edges = np.unique(
                np.quantile(numbers, steps, method="inverted_cdf")
            ).tolist()
            counts = _count_bins(numbers, edges)[1:-1].tolist()
        summary = ColumnSummary(
            column.name,
            column.kind,
            len(rows),
            n_missing,
            tuple(edges),
            tuple(categories),
            tuple(counts),
        )
        found.append(summary)
    return tuple(found)


@dataclass(frozen=True)
class ColumnDrift:
    """A column of new rows beside the same column in training.

    Parameters
    ----------
    name : str
        Of the column.
    kind : {"number", "category", "date"}
        As the model knows it.
    n_rows, n_missing, n_outside : int
        Numbers of rows, of rows where the value is missing, and of values that are
        outside the range of training or are categories that the model has not seen.
    training : ColumnSummary or None
        None if nothing is known of its values in training.
    fractions : tuple of float
        Of the new values: below the first edge of ``training``, at it, up to each of
        the others, and above the last; or of each of its categories, of other ones, and
        of those that the model has not seen.
    changes : dict
        A text for each change: ``"lacking"``, ``"outside"``, ``"categories"``,
        ``"missing"`` or ``"distribution"``. Empty if nothing has changed noticeably.
    severity : float
        Larger is worse: about the fraction of the rows that are concerned.
    """

    name: str
    kind: str
    n_rows: int
    n_missing: int
    n_outside: int
    training: ColumnSummary | None
    fractions: tuple[float, ...]
    changes: Mapping[Change, str]
    severity: float

    @property
    def fraction_missing(self) -> float:
        """Fraction of the rows where the value is missing."""
        return self.n_missing / max(1, self.n_rows)

    def as_dict(self) -> dict[str, Any]:
        """Return what a script wants to know.

        Returns
        -------
        dict
        """
        before = self.training
        return {
            "column": self.name,
            "type": self.kind,
            "changes": dict(self.changes),
            "missing": self.fraction_missing,
            "missing_in_training": None if before is None else before.fraction_missing,
            "outside": self.n_outside / max(1, self.n_rows - self.n_missing),
        }


class Drift:
    """New rows beside those that a model was trained on, gathered block by block.

    Values outside the range of training, categories that the model has not seen and
    missing values are counted in all rows, medians and distributions in every k-th row,
    at most 4096 of them: memory does not grow with the table. Whether new rows come in
    one block or in many makes no difference.

    Parameters
    ----------
    schema : Schema
        The columns of the model.
    training : sequence of ColumnSummary, default=()
        What :func:`summarize_columns` returned. Of a column without a summary only new
        categories are found, and missing values where there were none in training.
    lacking : collection of str, default=()
        Columns that the new table lacks.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.tables import Drift, Schema, SchemaColumn, summarize_columns
    >>> schema = Schema((SchemaColumn("height", "number", had_missing=False),))
    >>> rows = pd.DataFrame({"height": [1.55, 1.62, 1.71, 1.78, 1.83, 1.94]})
    >>> drift = Drift(schema, summarize_columns(rows, schema))
    >>> drift.update(100 * rows)
    >>> [height] = drift.compare()
    >>> for text in height.changes["outside"].split("; "):
    ...     print(text)
    all 6 values are outside 1.55 to 1.94, the range of training
    they are larger by a factor of about 100 (another unit?)
    """

    def __init__(
        self,
        schema: "Schema",
        training: Sequence[ColumnSummary] = (),
        *,
        lacking: Collection[str] = (),
    ) -> None:
        known = {summary.name: summary for summary in training}
        self.n_rows = 0
        self._step = 1
        self._columns = [
            _NewColumn(column, known.get(column.name), column.name in lacking)
            for column in schema.columns
            if column.kind != "empty"
        ]

    @property
    def unsummarized(self) -> tuple[str, ...]:
        """Names of columns whose values in training are not known."""
        return tuple(each.name for each in self._columns if each.training is None)

    def update(
        self, rows: pd.DataFrame, unseen: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Add rows.

        Parameters
        ----------
        rows : DataFrame
            Such as ``TableFile.blocks`` returns for the schema.
        unseen : mapping, default=None
            That which ``TableFile.blocks`` fills. Categories are then searched for new
            ones only in columns where it has some.
        """
        first = -self.n_rows % self._step
        self.n_rows += len(rows)
        for column in self._columns:
            if not column.lacking:
                examples = None if unseen is None else unseen.get(column.name, ())
                column.update(rows[column.name], first, self._step, examples)
        while -(-self.n_rows // self._step) > _SAMPLE:
            self._step *= 2
            for column in self._columns:
                column.sample = column.sample[::2]

    def compare(self) -> tuple[ColumnDrift, ...]:
        """Return all columns, those that have changed most first.

        Returns
        -------
        tuple of ColumnDrift
        """
        level = _LEVEL / max(1, len(self._columns))
        found = [column.compare(self.n_rows, level) for column in self._columns]
        return tuple(sorted(found, key=lambda column: -column.severity))


class _NewColumn:
    """A column of new rows: counts over all of them, and a sample."""

    def __init__(
        self, column: "SchemaColumn", training: ColumnSummary | None, lacking: bool
    ) -> None:
        self.name, self.kind, self.lacking = column.name, column.kind, lacking
        self.training, self.had_missing = training, column.had_missing
        self.categories = list(column.categories)
        self.examples: dict[str, None] = {}  # of unseen categories
        self.n_missing = self.n_below = self.n_above = self.n_unseen = 0
        self.low, self.high = math.inf, -math.inf  # of the new values
        self.sample: Any = np.empty(0, object if self.kind == "category" else float)

    def update(
        self, values: Any, first: int, step: int, examples: Sequence[str] | None
    ) -> None:
        if self.kind == "category":
            missing = values.isna()
            self.n_missing += int(missing.sum())
            self.examples |= dict.fromkeys(examples or ())
            if examples is None or examples:
                new = values[~(values.isin(self.categories) | missing)]
                self.n_unseen += len(new)
                if examples is None:
                    self.examples |= {_label(each): None for each in new.unique()[:3]}
            added = values.iloc[first::step].to_numpy(object)
        else:
            numbers = _numbers(values, self.kind)
            self.n_missing += int(np.isnan(numbers).sum())
            added = numbers[first::step]
            if self.training is not None and len(numbers):
                low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
                self.low, self.high = min(self.low, low), max(self.high, high)
                smallest, largest = self.training.edges[0], self.training.edges[-1]
                if low < smallest:
                    self.n_below += int((numbers < smallest).sum())
                if high > largest:
                    self.n_above += int((numbers > largest).sum())
        self.sample = np.concatenate([self.sample, added])

    def compare(self, n_rows: int, level: float) -> ColumnDrift:
        """Return what has changed; the texts continue the name of the column."""
        n_missing = n_rows if self.lacking else self.n_missing
        found: dict[Change, tuple[str, float] | None] = {}  # texts and severities
        fractions: tuple[float, ...] = ()
        if self.lacking:
            found["lacking"] = "not in the table, so missing in every row", 1.5
        elif n_rows:
            found["categories"] = self._compare_categories(n_rows)
            found["missing"] = self._compare_missing(n_rows, level)
            if self.training is not None and n_missing < n_rows:
                values = self.sample[~pd.isna(self.sample)]
                counts = self._count(values, self.training)
                fractions = tuple((counts / max(1, len(values))).tolist())
                n_observed = n_rows - n_missing
                outside = self._compare_range(self.training, n_observed, values, level)
                found["outside"] = outside
                if outside is None and len(values):
                    compare = self._compare_distribution
                    distribution = compare(self.training, values, counts, level)
                    found["distribution"] = distribution
        changes = {what: each for what, each in found.items() if each is not None}
        return ColumnDrift(
            self.name,
            self.kind,
            n_rows,
            n_missing,
            self.n_below + self.n_above + self.n_unseen,
            self.training,
            fractions,
            {what: text for what, (text, _) in changes.items()},
            max((severity for _, severity in changes.values()), default=0.0),
        )

    def _count(self, values: np.ndarray, training: ColumnSummary) -> np.ndarray:
        """Count the sample in the bins or categories of training, and beside them."""
        if self.kind != "category":
            return _count_bins(values, training.edges)
        series = pd.Series(values, dtype=object)
        counts = dict(_count_categories(series))
        known = [counts.get(name, 0) for name in training.categories]
        n_unseen = int((~series.isin(self.categories)).sum())
        return np.array([*known, len(values) - sum(known) - n_unseen, n_unseen])

    def _compare_categories(self, n_rows: int) -> tuple[str, float] | None:
        if not self.examples:
            return None
        n_observed = n_rows - self.n_missing
        part = _show_part(self.n_unseen, n_observed)
        names = list_names(list(self.examples)[:3])
        if self.n_unseen == 1:
            start = f"{part} is of a category"
        elif self.n_unseen:
            start = f"{part} are of categories"
        else:  # of booleans and numbers they are missing in the rows, and not counted
            start = "there are categories"
        text = f"{start} that the model has not seen, counted as missing: {names}"
        return text, max(self.n_unseen, 1) / max(n_observed, 1)

    def _compare_missing(self, n_rows: int, level: float) -> tuple[str, float] | None:
        if self.examples and not self.n_unseen:  # they are among the missing
            return None
        now = self.n_missing / n_rows
        if self.n_missing and not self.had_missing:
            text = (
                f"missing in {self.n_missing:,} of {show_count(n_rows, 'row')} but in "
                f"none of training, so that nothing was learned about that"
            )
            return text, now
        if self.training is None:
            return None
        before, n_before = self.training.fraction_missing, self.training.n_rows
        h = 2 * abs(math.asin(math.sqrt(now)) - math.asin(math.sqrt(before)))
        if h < _SMALL_H:
            return None
        # Fisher's exact test: all missing values as if dealt out at random.
        n_both = self.n_missing + self.training.n_missing
        dealt = hypergeom(n_rows + n_before, n_both, n_rows)
        p = 2 * min(dealt.cdf(self.n_missing), dealt.sf(self.n_missing - 1))
        if p > level:
            return None
        text = f"missing in {show_percent(now)} of the rows"
        return f"{text}, in training in {show_percent(before)}", abs(now - before)

    def _compare_range(
        self,
        training: ColumnSummary,
        n_observed: int,
        values: np.ndarray,
        level: float,
    ) -> tuple[str, float] | None:
        n_outside = self.n_below + self.n_above
        if not n_outside:
            return None
        # If new rows are like old ones: the chance that the k largest are all new.
        k, n_both = max(self.n_below, self.n_above), training.n_observed + n_observed
        log_p = gammaln([n_observed + 1, n_both - k + 1]).sum()
        log_p -= gammaln([n_observed - k + 1, n_both + 1]).sum()
        certain = k >= _SMALL_OUTSIDE * n_observed and log_p < math.log(level / 2)
        far_low, far_high = _find_far(training, n_observed, level)
        if not certain and far_low <= self.low and self.high <= far_high:
            return None
        fraction = n_outside / n_observed
        smallest, largest, low, high = (
            training.show(each)
            for each in (training.edges[0], training.edges[-1], self.low, self.high)
        )
        text = (
            f"{_show_part(n_outside, n_observed)} {'is' if n_outside == 1 else 'are'} "
            f"outside {smallest} to {largest}, the range of training"
        )
        power = _find_power(training, values) if self.kind == "number" else 0
        if power:
            text += f"; they are {'larger' if power > 0 else 'smaller'} by a factor of "
            text += f"about {10 ** abs(power):,} (another unit?)"
            return text, 1 + fraction
        if low == high:
            return f"{text}: {low}", fraction
        return f"{text}; the new one is {low} to {high}", fraction

    def _compare_distribution(
        self,
        training: ColumnSummary,
        values: np.ndarray,
        counts: np.ndarray,
        level: float,
    ) -> tuple[str, float] | None:
        if self.kind == "category":
            now = counts[:-1]  # without those that the model has not seen
            before = np.array([*training.counts, training.n_observed])
            before[-1] -= sum(training.counts)
            if not now.sum():
                return None
            distance, p = _compare_counts(before, now)
            most = int(abs(now / now.sum() - before / before.sum()).argmax())
            name = [*map(repr, map(shorten, training.categories)), "another"][most]
            fractions = now[most] / now.sum(), before[most] / before.sum()
            text = "{} is {} of the values, in training {}"
            text = text.format(name, *map(show_percent, fractions))
        else:
            reached = np.cumsum(counts)[:-1] / len(values)  # below, at, up to each edge
            reached_before = np.cumsum([0, *training.counts]) / sum(training.counts)
            most = int(abs(reached - reached_before).argmax())
            distance = float(abs(reached - reached_before)[most])
            n_both = 1 / (1 / len(values) + 1 / sum(training.counts))
            p = float(kolmogorov(distance * math.sqrt(n_both)))
            edge = training.show(training.edges[max(0, most - 1)])
            text = (
                f"{show_percent(reached[most])} of the values are "
                f"{'at most' if most else 'below'} {edge}, in training "
                f"{show_percent(reached_before[most])}"
            )
        if distance < _SMALL_DISTANCE or p > level:
            return None
        return text, distance / 2


def _find_far(
    training: ColumnSummary, n_observed: int, level: float
) -> tuple[float, float]:
    """Return below and above which a single value among so many is far outside.

    Tails are taken for those of a Pareto distribution, as heavy as the ends of the
    range show; most tails are lighter. The largest of all new values is then beyond
    that with a chance of about ``level``.
    """
    center, n_before = training.quantile(0.5), training.n_observed
    ends = np.array([training.edges[0], training.edges[-1]])
    tail = min(max(0.05, 10 / n_before), 0.25)  # of ten values at least
    inner = np.array([training.quantile(tail), training.quantile(1 - tail)])
    if ends[0] == ends[1]:  # a constant has no such measure
        return -math.inf, math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num((ends - center) / (inner - center), posinf=_HEAVIEST)
    inverse_index = math.log(max(ratios)) / math.log(max(2, n_before * tail))
    odds = max(1, n_observed / n_before) / level
    low, high = center + (ends - center) * max(_FAR, odds**inverse_index)
    return float(low), float(high)


def _find_power(training: ColumnSummary, values: np.ndarray) -> int:
    """Return the power of ten by which values are larger, or 0 if they would not fit.

    It is one if, divided by it, the median is about the same and nine in ten values
    are within the range of training.
    """
    before, now = training.quantile(0.5), float(np.median(values))
    if not before or not np.isfinite(now) or now / before <= 0:
        return 0
    exact = math.log10(now / before)
    power = round(exact)
    scaled = values / 10.0**power
    fit = (scaled >= training.edges[0]) & (scaled <= training.edges[-1])
    return power if abs(exact - power) < 0.1 and fit.mean() >= 0.9 else 0


def _compare_counts(before: np.ndarray, now: np.ndarray) -> tuple[float, float]:
    """Return the distance of two distributions, and the p-value of chi-squared."""
    distance = abs(before / before.sum() - now / now.sum()).sum() / 2
    table = np.array([before, now])
    rare = table.sum(0) * min(table.sum(1)) / table.sum() < 5
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    table = table[:, table.sum(0) > 0]
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    return float(distance), float(chdtrc(max(1, table.shape[1] - 1), statistic))


def _numbers(values: Any, kind: str) -> np.ndarray:
    """Return numbers, or dates as seconds; NaN where missing."""
    if kind != "date":
        return np.asarray(values.to_numpy(float, na_value=np.nan))
    stamps = values.to_numpy("datetime64[us]")
    return np.where(np.isnat(stamps), np.nan, stamps.astype("int64") / 1e6)


def _count_bins(values: np.ndarray, edges: Sequence[float]) -> np.ndarray:
    """Count values below the first edge, at it, up to each of the others, and above."""
    places = np.searchsorted(edges, values) + 1
    places[values < edges[0]] = 0
    return np.bincount(places, minlength=len(edges) + 2)


def _count_categories(values: Any) -> list[tuple[str, int]]:
    """Return categories as texts with their counts, the most frequent first."""
    counts = values.value_counts()
    return [(_label(each), int(n)) for each, n in counts.items() if n]


def _label(category: Any) -> str:
    """Return a category as a text: the same for 2, 2.0 and '2'."""
    if isinstance(category, (float, np.floating)) and float(category).is_integer():
        return str(int(category))
    return str(category)


def _show_part(count: int, total: int) -> str:
    if count == total:
        return f"all {show_count(total, 'value')}" if total > 1 else "the only value"
    return f"{count:,} of {total:,} values ({show_percent(count / total)})"
