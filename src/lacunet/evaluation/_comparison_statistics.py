"""Means, ranks and tests over the folds of one table."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from lacunet.evaluation._comparison_folds import Folds
from lacunet.evaluation._comparison_record import OURS, Against, Summary
from lacunet.evaluation._scores import Metric
from lacunet.results import (
    Cell,
    Scores,
    corrected_t,
    holm,
    mean_table,
    paired_differences,
    rank_methods,
)

# By method, a value for each split or None.
Values = Mapping[str, Sequence[float | None]]

ALPHA = 0.05


def summarize(values: Values, metric: Metric, folds: Folds) -> dict[str, Summary]:
    """Average one score of all methods over the folds.

    Parameters
    ----------
    values : mapping of str to sequence of float or None
    metric : Metric
    folds : Folds

    Returns
    -------
    dict of str to Summary
    """
    cells = _make_cells(values, metric, folds)
    if not cells:
        return {
            method: Summary(tuple(given), None, None, None, complete=False)
            for method, given in values.items()
        }
    table = mean_table(cells, metric.key)
    ranks = _rank(values, metric)
    return {
        method: Summary(
            tuple(given),
            _plain(table.mean[0, column]),
            _plain(table.stderr[0, column]),
            ranks.get(method),
            bool(table.complete[0, column]),
        )
        for method, given in values.items()
        for column in [table.methods.index(method)]
    }


def compare_with_ours(
    values: Values, metric: Metric, folds: Folds, without: str | None = None
) -> list[Against]:
    """Test our method against each rival.

    Parameters
    ----------
    values : mapping of str to sequence of float or None
    metric : Metric
    folds : Folds
    without : str, default=None
        The column that was missing.

    Returns
    -------
    list of Against
        Of the rivals that have a value with ours on two folds at least.
    """
    cells = _make_cells(values, metric, folds)
    sign = 1 if metric.higher_is_better else -1
    gains = {
        rival: sign * paired_differences(cells, OURS, rival, metric=metric.key)
        for rival in values
        if OURS in values and rival != OURS and _count_common(values, rival) > 1
    }
    found = [_test(each, folds) for each in gains.values()]
    corrected = holm([p for *_, p in found]).tolist() if found else []
    return [
        Against(
            rival,
            metric.key,
            without,
            *test,
            p_holm=p_holm,
            different=p_holm <= ALPHA,
            n_folds=len(gains[rival]),
        )
        for rival, test, p_holm in zip(gains, found, corrected, strict=True)
    ]


def _test(gains: np.ndarray, folds: Folds) -> tuple[float, float, float, float]:
    """Return the mean gain, an interval and the p-value."""
    sizes = {"n_train": folds.n_train, "n_test": folds.n_test}
    test = corrected_t(gains, **sizes)
    # The t-value is the mean over its spread, which a mean of zero does not tell.
    known = float(np.abs(gains).max()) or 1.0
    spread = known / corrected_t(gains - test.mean + known, **sizes).t
    half = spread * float(stats.t.isf(ALPHA / 2, test.df))
    return test.mean, test.mean - half, test.mean + half, test.p


def _make_cells(values: Values, metric: Metric, folds: Folds) -> list[Cell]:
    """Return the values as cells of an experiment, of splits that have some."""
    return [
        Cell(
            experiment="comparison",
            dataset="table",
            rate=None,
            method=method,
            fold=split.fold,
            seed=split.repeat,
            protocol="comparison",
            metric=metric.key,
            value=given[place],
            params={"why": "no value"} if given[place] is None else {},
            seconds=0,
            versions={},
            commit=None,
        )
        for place, split in enumerate(folds.splits)
        if any(each[place] is not None for each in values.values())
        for method, given in values.items()
    ]


def _rank(values: Values, metric: Metric) -> dict[str, float]:
    """Return mean ranks of the methods that have a value wherever any has."""
    numbers = np.array(list(values.values()), dtype=np.float64).T  # (splits, methods)
    rows = numbers[~np.isnan(numbers).all(axis=1)]
    whole = np.flatnonzero(~np.isnan(rows).any(axis=0))
    if not whole.size:
        return {}
    methods = [list(values)[column] for column in whole]
    names = [str(row) for row in range(len(rows))]
    scores = Scores(names, methods, rows[:, whole])
    return dict(rank_methods(scores, higher_is_better=metric.higher_is_better))


def _count_common(values: Values, rival: str) -> int:
    pairs = zip(values[OURS], values[rival], strict=True)
    return sum(ours is not None and other is not None for ours, other in pairs)


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
