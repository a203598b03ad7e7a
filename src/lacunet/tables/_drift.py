"""New rows beside those that a model was trained on: what has changed in a column."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import pandas as pd

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
# A single value is far outside if it is so many times as far from the median as the end
# of the range: the heavier the tails, the more times.
_FAR, _FARTHEST = 5.0, 20.0


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
            As ``dataclasses.asdict`` makes it. What is no such record is refused by a
            ValueError or a TypeError.

        Returns
        -------
        ColumnSummary
        """
        if not isinstance(record, dict):
            msg = "expected a list of summaries of columns"
            raise TypeError(msg)
        lists = {name: tuple(x) for name, x in record.items() if isinstance(x, list)}
        made: Any = cls(**record | lists)
        numbers = (made.n_rows, made.n_missing, *made.counts)
        bins = made.categories if made.kind == "category" else made.edges
        right = (
            isinstance(made.name, str)
            and made.kind in get_args(_Kind)
            and all(isinstance(each, str) for each in made.categories)
            and all(isinstance(x, float | int) for x in made.edges)
            and all(a < b < math.inf for a, b in pairwise((-math.inf, *made.edges)))
            and all(isinstance(x, int) and x >= 0 for x in numbers)
            and len(made.counts) == len(bins) > 0
            and made.n_missing + sum(made.counts) <= made.n_rows
        )
        if not right:
            msg = f"expected a summary of the column {made.name!r}"
            raise ValueError(msg)
        return cls(**vars(made))


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
    steps = np.linspace(0, 1, N_BINS + 1)
    for column in schema.columns:
        values = rows[column.name].dropna()
        if column.kind not in ("empty", "category"):
            numbers = _numbers(values, column.kind)
            values = numbers[np.isfinite(numbers)]
        if column.kind == "empty" or not len(values):
            continue
        edges: list[float] = []
        names: list[str] = []
        if column.kind == "category":
            frequent = _count_categories(values)
            names = [*frequent][:MOST_CATEGORIES]
            counts = [frequent[name] for name in names]
        else:
            # Quantiles that occur, so that many equal values are a bin of their own.
            quantiles = np.quantile(values, steps, method="inverted_cdf")
            edges = np.unique(quantiles).tolist()
            counts = _count_bins(values, edges)[1:-1].tolist()
        lists = tuple(edges), tuple(names), tuple(counts)
        n_missing = len(rows) - len(values)
        summary = ColumnSummary(column.name, column.kind, len(rows), n_missing, *lists)
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
        before, n_values = self.training, max(1, self.n_rows - self.n_missing)
        is_known = before is not None or self.kind == "category"
        return {
            "column": self.name,
            "type": self.kind,
            "changes": dict(self.changes),
            "missing": self.fraction_missing,
            "missing_in_training": None if before is None else before.fraction_missing,
            "outside": self.n_outside / n_values if is_known else None,
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
            found["outside"] = self._compare_range(n_rows - n_missing, level)
            found["categories"] = self._compare_categories(n_rows)
            found["missing"] = self._compare_missing(n_rows, level)
            values = self.sample[~pd.isna(self.sample)]
            if self.training is not None and len(values):
                counts = self._count(values, self.training)
                fractions = tuple((counts / len(values)).tolist())
                if found["outside"] is None:
                    compare = (
                        _compare_counts if self.kind == "category" else _compare_bins
                    )
                    found["distribution"] = compare(self.training, counts, level)
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
        counts = _count_categories(series)
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
        before = self.training.fraction_missing
        h = 2 * abs(math.asin(math.sqrt(now)) - math.asin(math.sqrt(before)))
        if h < _SMALL_H:
            return None
        from scipy.stats import fisher_exact

        counts = (
            [n_rows, self.n_missing],
            [self.training.n_rows, self.training.n_missing],
        )
        if fisher_exact([[n - k, k] for n, k in counts]).pvalue > level:
            return None
        text = f"missing in {show_percent(now)} of the rows"
        return f"{text}, in training in {show_percent(before)}", abs(now - before)

    def _compare_range(self, n_observed: int, level: float) -> tuple[str, float] | None:
        training, n_outside = self.training, self.n_below + self.n_above
        if training is None or not n_outside:
            return None
        from scipy.special import gammaln

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
        power = _find_power(training, self.sample) if self.kind == "number" else 0
        if power:
            text += f"; they are {'larger' if power > 0 else 'smaller'} by a factor of "
            text += f"about {10 ** abs(power):,} (another unit?)"
            return text, 1 + fraction
        if low == high:
            return f"{text}: {low}", fraction
        return f"{text}; the new one is {low} to {high}", fraction


def _compare_counts(
    training: ColumnSummary, counts: np.ndarray, level: float
) -> tuple[str, float] | None:
    """Compare the fractions of categories that the model has seen."""
    from scipy.stats import chi2_contingency

    n_rare = training.n_observed - sum(training.counts)
    table = np.array([[*training.counts, n_rare], counts[:-1]])
    sizes = table.sum(1, keepdims=True)
    if not sizes.all():
        return None
    change = np.diff(table / sizes, axis=0)[0]
    distance = abs(change).sum() / 2
    # Categories that are expected less than five times are taken together.
    rare = table.sum(0) * sizes.min() < 5 * sizes.sum()
    tested = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    tested = tested[:, tested.any(0)]
    if distance < _SMALL_DISTANCE or chi2_contingency(tested).pvalue > level:
        return None
    most = abs(change).argmax()
    name = [*map(repr, map(shorten, training.categories)), "any other category"][most]
    before, now = map(show_percent, (table / sizes)[:, most])
    return f"{name} is {now} of the values, in training {before}", distance / 2


def _compare_bins(
    training: ColumnSummary, counts: np.ndarray, level: float
) -> tuple[str, float] | None:
    """Compare distribution functions at the edges of the bins."""
    from scipy.special import kolmogorov

    n_before, n_now = sum(training.counts), counts.sum()
    before = np.cumsum([0, *training.counts]) / n_before  # below, at, up to each edge
    now = np.cumsum(counts)[:-1] / n_now
    most = int(abs(now - before).argmax())
    distance = float(abs(now - before)[most])
    p = kolmogorov(distance * math.sqrt(n_before * n_now / (n_before + n_now)))
    if distance < _SMALL_DISTANCE or p > level:
        return None
    edge = training.show(training.edges[max(0, most - 1)])
    text = (
        f"{show_percent(now[most])} of the values are {'at most' if most else 'below'} "
        f"{edge}, in training {show_percent(before[most])}"
    )
    return text, distance / 2


def _find_far(
    training: ColumnSummary, n_observed: int, level: float
) -> tuple[float, float]:
    """Return below and above which a single value among so many is far outside.

    Tails are taken for those of a Pareto distribution, as heavy as the ends of the
    range show; most tails are lighter. The largest of all new values is then beyond
    that with a chance of about ``level``; but twenty times is always far.
    """
    center, n_before = training.quantile(0.5), training.n_observed
    ends = np.array([training.edges[0], training.edges[-1]])
    tail = min(max(0.05, 10 / n_before), 0.25)  # of ten values at least
    inner = np.array([training.quantile(tail), training.quantile(1 - tail)])
    if ends[0] == ends[1]:  # a constant has no such measure
        return -math.inf, math.inf
    lengths, inner_lengths = abs(ends - center), abs(inner - center)
    ratios = np.where(lengths > 0, _FARTHEST, 1)  # where most values are equal
    np.divide(lengths, inner_lengths, out=ratios, where=inner_lengths > 0)
    inverse_index = math.log(max(ratios)) / math.log(max(2, n_before * tail))
    growth = max(1, n_observed / n_before)
    times = min(max(_FAR, (growth / level) ** inverse_index), _FARTHEST * growth)
    low, high = center + np.where(lengths, lengths, max(lengths)) * (-times, times)
    return float(low), float(high)


def _find_power(training: ColumnSummary, sample: np.ndarray) -> int:
    """Return the power of ten by which values are larger, or 0 if they would not fit.

    It is one if, divided by it, the median is about the same and nine in ten values
    are within the range of training.
    """
    values = sample[~np.isnan(sample)]
    before = training.quantile(0.5)
    now = float(np.median(values)) if len(values) else 0.0
    if not before or not np.isfinite(now) or now / before <= 0:
        return 0
    exact = math.log10(now / before)
    power = round(exact)
    scaled = values / 10.0**power
    fit = (scaled >= training.edges[0]) & (scaled <= training.edges[-1])
    return power if abs(exact - power) < 0.1 and fit.mean() >= 0.9 else 0


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


def _count_categories(values: Any) -> dict[str, int]:
    """Return categories as texts with their counts, the most frequent first."""
    return {_label(each): int(n) for each, n in values.value_counts().items() if n}


def _label(category: Any) -> str:
    """Return a category as a text: the same for 2, 2.0 and '2'."""
    if isinstance(category, (float, np.floating)) and float(category).is_integer():
        return str(int(category))
    return str(category)


def _show_part(count: int, total: int) -> str:
    if count == total:
        return f"all {show_count(total, 'value')}" if total > 1 else "the only value"
    return f"{count:,} of {total:,} values ({show_percent(count / total)})"
