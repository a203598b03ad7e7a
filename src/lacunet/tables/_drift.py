"""New rows beside those that a model was trained on: what has changed in a column."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
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
    def of_values(
        cls, name: str, kind: _Kind, n_rows: int, n_observed: int, values: np.ndarray
    ) -> Self:
        """Summarise a number or date by values whose quantiles are those of the column.

        Parameters
        ----------
        name : str
            Of the column.
        kind : {"number", "date"}
            Dates are seconds since 1970.
        n_rows, n_observed : int
            Numbers of rows, and of rows with a value.
        values : ndarray
            All values of the column, or fewer that stand for as many rows each.

        Returns
        -------
        ColumnSummary
        """
        # Quantiles that occur, so that many equal values are a bin of their own.
        steps = np.linspace(0, 1, N_BINS + 1)
        quantiles = np.quantile(values, steps, method="inverted_cdf")
        edges = tuple(np.unique(quantiles).tolist())
        reached = _count_bins(values, edges)[1:-1].cumsum() * (n_observed / len(values))
        counts = np.diff(np.rint(reached).astype(int), prepend=0)
        n_missing = n_rows - n_observed
        return cls(name, kind, n_rows, n_missing, edges, (), tuple(counts.tolist()))

    @classmethod
    def of_counts(
        cls, name: str, n_rows: int, n_observed: int, counts: Mapping[Any, int]
    ) -> Self:
        """Summarise categories.

        Parameters
        ----------
        name : str
            Of the column.
        n_rows, n_observed : int
            Numbers of rows, and of rows with a value.
        counts : mapping
            Numbers of rows of the categories, the most frequent first.

        Returns
        -------
        ColumnSummary
        """
        frequent = [*counts.items()][:MOST_CATEGORIES]
        names, numbers = zip(*((_label(k), n) for k, n in frequent), strict=True)
        return cls(name, "category", n_rows, n_rows - n_observed, (), names, numbers)

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
        given: dict[str, Any] = record if isinstance(record, dict) else {}
        lists = {name: tuple(x) for name, x in given.items() if isinstance(x, list)}
        made = cls(**given | lists)
        n_rest = made.n_rows - made.n_missing - sum(made.counts)
        counts, edges = np.array([*made.counts, made.n_missing, n_rest]), made.edges
        bins = made.categories if made.kind == "category" else edges
        right = (
            made.kind in get_args(_Kind)
            and all(isinstance(x, str) for x in (made.name, *made.categories))
            and counts.dtype.kind == "i"
            and counts.min() >= 0
            and all(a < b for a, b in pairwise((-math.inf, *edges, math.inf)))
            and len(made.counts) == len(bins) > 0
        )
        if not right:
            msg = f"expected a summary of the column {made.name!r}"
            raise ValueError(msg)
        return made


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
        if column.kind == "empty":
            continue
        values = rows[column.name].dropna()
        if column.kind != "category":
            numbers = _numbers(values, column.kind)
            values = numbers[np.isfinite(numbers)]
        if not len(values):
            continue
        sizes = len(rows), len(values)
        if column.kind == "category":
            counts = _count_categories(values)
            found.append(ColumnSummary.of_counts(column.name, *sizes, counts))
        else:
            summary = ColumnSummary.of_values(column.name, column.kind, *sizes, values)
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
        return tuple(x.name for x in self._columns if not x.training.n_rows)

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
        sampled = slice(-self.n_rows % self._step, None, self._step)
        self.n_rows += len(rows)
        for column in self._columns:
            if not column.lacking:
                examples = None if unseen is None else unseen.get(column.name, ())
                column.update(rows[column.name], sampled, examples)
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
        kind: Any = column.kind
        self.name, self.kind = column.name, kind
        self.schema, self.lacking = column, lacking
        # Of no rows, if nothing is known of its values in training.
        self.training = training or ColumnSummary(column.name, kind, 0, 0)
        self.examples: dict[str, None] = {}  # of unseen categories
        self.n_missing = self.n_below = self.n_above = self.n_unseen = 0
        self.low, self.high = math.inf, -math.inf  # of the new values
        self.sample: Any = np.empty(0, object if kind == "category" else float)

    def update(
        self, values: Any, sampled: slice, examples: Sequence[str] | None
    ) -> None:
        if self.kind != "category":
            values = pd.Series(_numbers(values, self.kind))
            self.low = min(self.low, values.min())
            self.high = max(self.high, values.max())
            if self.training.edges:
                self.n_below += int((values < self.training.edges[0]).sum())
                self.n_above += int((values > self.training.edges[-1]).sum())
        elif examples is None or examples:
            new = values[~values.isin(self.schema.categories) & values.notna()]
            self.n_unseen += len(new)
            self.examples |= dict.fromkeys(examples or map(_label, new.unique()[:3]))
        self.n_missing += int(values.isna().sum())
        added = values.iloc[sampled].to_numpy(self.sample.dtype)
        self.sample = np.concatenate([self.sample, added])

    def compare(self, n_rows: int, level: float) -> ColumnDrift:
        training = self.training if self.training.n_rows else None
        values = self.sample[~pd.isna(self.sample)]
        counts = np.empty(0, int)
        if training and len(values) and self.kind != "category":
            counts = _count_bins(values, training.edges)
        elif training and len(values):
            series = pd.Series(values, dtype=object)
            n_unseen = int((~series.isin(self.schema.categories)).sum())
            found = _count_categories(series)
            known = [found.get(name, 0) for name in training.categories]
            counts = np.array([*known, len(values) - sum(known) - n_unseen, n_unseen])
        fractions = tuple((counts / max(1, len(values))).tolist())
        n_missing = n_rows if self.lacking else self.n_missing
        sizes = n_rows, n_missing, self.n_below + self.n_above + self.n_unseen
        changes = [*self._list_changes(n_rows, values, counts, level)]
        return ColumnDrift(
            self.name,
            self.kind,
            *sizes,
            training,
            fractions,
            {what: text for what, text, _ in changes},
            max((severity for *_, severity in changes), default=0.0),
        )

    def _list_changes(
        self, n_rows: int, values: np.ndarray, counts: np.ndarray, level: float
    ) -> Iterator[tuple[Change, str, float]]:
        """Yield changes, texts that continue the name of the column, and severities."""
        from scipy.stats import fisher_exact

        if self.lacking:
            yield "lacking", "not in the table, so missing in every row", 1.5
        if self.lacking or not n_rows:
            return
        training, n_values = self.training, n_rows - self.n_missing
        is_outside = self._is_outside(n_values, level)
        if is_outside:
            n_outside = self.n_below + self.n_above
            start, end = map(training.show, (training.edges[0], training.edges[-1]))
            low, high = map(training.show, (self.low, self.high))
            power = _find_power(training, values) if self.kind == "number" else 0
            text = f"{_show_part(n_outside, n_values)} outside {start} to {end}, the "
            text += "range of training"
            if power:
                text += f"; they are {'larger' if power > 0 else 'smaller'} by a factor"
                text += f" of about {10 ** abs(power):,} (another unit?)"
            elif low == high:
                text += f": {low}"
            else:
                text += f"; the new one is {low} to {high}"
            yield "outside", text, n_outside / n_values + bool(power)
        if self.examples:
            text = "there are categories"  # missing in rows of booleans and numbers
            if self.n_unseen:
                noun = "a category" if self.n_unseen == 1 else "categories"
                text = f"{_show_part(self.n_unseen, n_values)} of {noun}"
            names = list_names(list(self.examples)[:3])
            text += f" that the model has not seen, counted as missing: {names}"
            yield "categories", text, max(self.n_unseen, 1) / max(n_values, 1)
        now, before = self.n_missing / n_rows, training.fraction_missing
        h = 2 * abs(math.asin(math.sqrt(now)) - math.asin(math.sqrt(before)))
        table = [n_values, self.n_missing], [training.n_observed, training.n_missing]
        if self.examples and not self.n_unseen:
            pass  # they are among the missing
        elif self.n_missing and not self.schema.had_missing:
            text = f"missing in {self.n_missing:,} of {show_count(n_rows, 'row')} but "
            text += "in none of training, so that nothing was learned about that"
            yield "missing", text, now
        elif h >= _SMALL_H and fisher_exact(table).pvalue <= level:
            text = f"missing in {show_percent(now)} of the rows, in training in "
            yield "missing", text + show_percent(before), abs(now - before)
        if len(counts) and not is_outside:
            yield from _compare_distributions(training, counts, level)

    def _is_outside(self, n_values: int, level: float) -> bool:
        """Return whether many values are outside the range of training, or one is far.

        Tails are taken for those of a Pareto distribution, as heavy as the ends of the
        range show; most tails are lighter. The largest of all new values is then far
        with a chance of about ``level``; but twenty times the range is always far.
        """
        from scipy.stats import hypergeom

        training, k = self.training, max(self.n_below, self.n_above)
        if not k:
            return False
        # If new rows are like old ones: the chance that the k largest are all new.
        n_before = training.n_observed
        p = hypergeom.pmf(k, n_before + n_values, n_values, k)
        if k >= _SMALL_OUTSIDE * n_values and p < level / 2:
            return True
        if len(training.edges) == 1:  # a constant has no tails
            return False
        tail = min(max(0.05, 10 / n_before), 0.25)  # of ten values at least
        inner = [training.quantile(tail), training.quantile(1 - tail)]
        ends, center = [training.edges[0], training.edges[-1]], training.quantile(0.5)
        lengths, inner_lengths = abs(np.array([ends, inner]) - center)
        ratios = np.where(lengths > 0, _FARTHEST, 1)  # where most values are equal
        np.divide(lengths, inner_lengths, out=ratios, where=inner_lengths > 0)
        inverse_index = math.log(max(ratios)) / math.log(max(2, n_before * tail))
        growth = max(1, n_values / n_before)
        times = min(max(_FAR, (growth / level) ** inverse_index), _FARTHEST * growth)
        low, high = center + np.where(lengths, lengths, max(lengths)) * (-times, times)
        return bool(self.low < low or self.high > high)


def _compare_distributions(
    training: ColumnSummary, counts: np.ndarray, level: float
) -> Iterator[tuple[Change, str, float]]:
    """Compare the fractions of categories, or distribution functions at the edges."""
    from scipy.special import kolmogorov
    from scipy.stats import chi2_contingency

    if training.kind == "category":  # those that the model has seen
        n_rare = training.n_observed - sum(training.counts)
        table = np.array([[*training.counts, n_rare], counts[:-1]])
        sizes = table.sum(1, keepdims=True)
    else:
        table = np.array([[0, *training.counts, 0], counts]).cumsum(1)
        sizes = table[:, -1:]
    if not sizes.all():
        return
    fractions = table / sizes
    change = abs(fractions[1] - fractions[0])
    most = int(change.argmax())
    before, now = map(show_percent, fractions[:, most])
    if training.kind == "category":
        # Categories that are expected less than five times are taken together.
        rare = table.sum(0) * sizes.min() < 5 * sizes.sum()
        tested = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
        distance = change.sum() / 2
        p = chi2_contingency(tested[:, tested.any(0)]).pvalue
        names = [*map(repr, map(shorten, training.categories)), "any other category"]
        text = f"{names[most]} is {now} of the values, in training {before}"
    else:
        distance = change[most]
        p = kolmogorov(distance * math.sqrt(sizes.prod() / sizes.sum()))
        edge = training.show(training.edges[max(0, most - 1)])
        text = f"{now} of the values are {'at most' if most else 'below'} {edge}, "
        text += f"in training {before}"
    if distance >= _SMALL_DISTANCE and p <= level:
        yield "distribution", text, float(distance) / 2


def _find_power(training: ColumnSummary, values: np.ndarray) -> int:
    """Return the power of ten by which values are larger, or 0 if they would not fit.

    It is one if, divided by it, the median is about the same and nine in ten values
    are within the range of training.
    """
    center = training.quantile(0.5)
    ratio = np.median(values) / center if center and len(values) else 0.0
    if not 0 < ratio < math.inf:
        return 0
    power = round(math.log10(ratio))
    scaled = values / 10.0**power
    fit = (scaled >= training.edges[0]) & (scaled <= training.edges[-1])
    same = abs(math.log10(ratio) - power) < 0.1
    return power if same and fit.mean() >= 0.9 else 0


def _numbers(values: Any, kind: str) -> np.ndarray:
    """Return numbers, or dates as seconds; NaN where missing."""
    if kind != "date":
        return np.asarray(values.to_numpy(float, na_value=np.nan))
    stamps = values.to_numpy("datetime64[us]")
    return np.where(np.isnat(stamps), np.nan, stamps.astype("int64") / 1e6)


def _count_bins(values: np.ndarray, edges: Sequence[float]) -> np.ndarray:
    """Count values below the first edge, at it, up to each of the others, and above."""
    bounds = [np.nextafter(edges[0], -math.inf), *edges]
    return np.bincount(np.searchsorted(bounds, values), minlength=len(edges) + 2)


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
        return "the only value is" if total == 1 else f"all {total:,} values are"
    part = f"{count:,} of {total:,} values ({show_percent(count / total)})"
    return f"{part} {'is' if count == 1 else 'are'}"
