"""Which cells are lost: the mechanisms, as keys.

A mechanism gives a random key to each cell that can be lost, and those with keys above
zero are. To lose a given number of cells is to take the largest keys instead: with
logistic noise in the keys that is Pareto sampling (Rosén 1997), in which each cell is
lost about as likely as it was without the given number.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.optimize import brentq
from scipy.special import expit, logit

from lacunet.missingness._cells import as_numbers

Mechanism = Literal["mcar", "mar", "mnar", "censored", "column", "monotone"]

# Of the logistic models: how the log odds grow with a standardised value.
_SLOPE = 2.0

_NEVER = -np.inf  # the key of what can't be lost


class Loss(NamedTuple):
    """How much is lost.

    Parameters
    ----------
    rate : float
        The fraction of the values that can be lost.
    exact : bool
        Whether their number is given, or random.
    keep_one : bool
        Whether rows keep a value if they had one.
    """

    rate: float
    exact: bool
    keep_one: bool


class Cells(NamedTuple):
    """The cells of a table, as the mechanisms see them.

    Parameters
    ----------
    columns : list of ndarray of shape (rows,)
        All columns, from ``read_columns``.
    observed : ndarray of bool of shape (rows, columns)
        True where there is a value.
    places : ndarray of int of shape (losing columns,)
        Which columns can lose values, in the order in which rows drop out.
    """

    columns: list[np.ndarray]
    observed: np.ndarray
    places: np.ndarray

    @property
    def total(self) -> int:
        """The number of values that can be lost."""
        return int(self.observed[:, self.places].sum())

    def never(self) -> np.ndarray:
        """Return keys by which nothing is lost."""
        return np.full(self.observed.shape, _NEVER)

    def rows_of(self, place: int) -> np.ndarray:
        """Return the rows with a value in a column."""
        return np.flatnonzero(self.observed[:, place])


def draw_lost(
    mechanism: Mechanism, cells: Cells, loss: Loss, random_state: RandomState
) -> np.ndarray:
    """Draw the cells that are lost.

    Parameters
    ----------
    mechanism : {"mcar", "mar", "mnar", "censored", "column", "monotone"}
    cells : Cells
    loss : Loss
    random_state : RandomState

    Returns
    -------
    ndarray of bool of shape (rows, columns)
    """
    if loss.rate == 0 or cells.total == 0:
        return np.zeros_like(cells.observed)
    keys = MECHANISMS[mechanism](cells, loss, random_state)
    wanted = round(loss.rate * cells.total)
    count = wanted if loss.exact else int((keys > 0).sum())
    if loss.keep_one:
        keys = _spare_one(keys, cells.observed)
    # Whole columns or none: no other cell is lost in the place of one that is spared.
    if mechanism == "column" or not (loss.exact or loss.keep_one):
        return keys > 0
    most = int((keys > _NEVER).sum())
    _check_possible(loss.rate, wanted, most, cells.total)
    return _largest(keys, min(count, most))


def _spare_one(keys: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Let no row be emptied: what would be the last of it to go can't go."""
    able = keys > _NEVER
    threatened = able.any(1) & ~(observed & ~able).any(1)
    last = np.where(able, keys, np.inf).argmin(1)
    spared = keys.copy()
    spared[threatened, last[threatened]] = _NEVER
    return spared


def _check_possible(rate: float, wanted: int, most: int, total: int) -> None:
    if wanted > most:
        msg = (
            f"Got rate={rate!r} with keep_one=True, but expected at most "
            f"{math.floor(1000 * most / total) / 1000}: no more can be lost if every "
            f"row keeps a value. Lower the rate."
        )
        raise ValueError(msg)


def _largest(keys: np.ndarray, count: int) -> np.ndarray:
    largest = np.zeros(keys.size, dtype=bool)
    if count:
        largest[np.argpartition(keys, -count, axis=None)[-count:]] = True
    return largest.reshape(keys.shape)


# --- the logistic ones


def _mcar(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    scores = np.zeros((len(cells.observed), len(cells.places)))
    return _logistic(cells, cells.places, scores, loss.rate, random_state)


def _mnar(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    scores = _standardised(cells, cells.places)
    return _logistic(cells, cells.places, scores, loss.rate, random_state)


def _mar(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    scores = _standardised(cells, np.arange(len(cells.columns)))
    staying = _staying_columns(cells, scores, loss.rate, random_state)
    places = np.setdiff1d(cells.places, staying)
    most = float(cells.observed[:, places].sum() / cells.total)
    _check_some_stay(loss.rate, staying, most)
    weights = random_state.standard_normal((len(staying), len(places)))
    mixed = scores[:, staying] @ weights  # (rows, losing columns)
    for score in mixed.T:
        score[:] = _standardise(score)
    return _logistic(cells, places, mixed, loss.rate / most, random_state)


def _staying_columns(
    cells: Cells, scores: np.ndarray, rate: float, random_state: RandomState
) -> np.ndarray:
    """Return the columns that a loss at random depends on.

    At most a fraction 1 - rate of the columns can stay. If all can lose values, half as
    many are drawn.
    """
    varying = np.flatnonzero(scores.any(0))
    others = np.setdiff1d(np.arange(len(cells.columns)), cells.places)
    if others.size:
        return np.intersect1d(others, varying)
    count = max(1, int((1 - rate) / 2 * len(cells.columns)))
    return np.sort(random_state.permutation(varying)[:count])


def _check_some_stay(rate: float, staying: np.ndarray, most: float) -> None:
    if len(staying) == 0 or most == 0:
        msg = (
            "Got mechanism='mar', but nothing that a loss could depend on: expected a "
            "column of different values that stays, beside those that lose values. "
            "Name fewer columns, or use another mechanism."
        )
        raise ValueError(msg)
    if rate >= most:
        msg = (
            f"Got rate={rate!r} with mechanism='mar', but expected less than "
            f"{most:.3g}, the fraction of values that are not in columns that stay. "
            f"Lower the rate, or name columns: the rate is then that of their values."
        )
        raise ValueError(msg)


def _logistic(
    cells: Cells,
    places: np.ndarray,
    scores: np.ndarray,
    rate: float,
    random_state: RandomState,
) -> np.ndarray:
    """Lose a cell with log odds of ``_SLOPE`` times its score, plus an intercept."""
    keys = cells.never()
    for place, score in zip(places, scores.T, strict=True):
        rows = cells.rows_of(place)
        if rows.size:
            log_odds = _SLOPE * score[rows]
            keys[rows, place] = log_odds + _intercept(log_odds, rate)
    # A cell is lost if the log odds exceed those of a uniform number.
    return keys + random_state.logistic(size=keys.shape)


def _intercept(log_odds: np.ndarray, rate: float) -> float:
    """Return what to add to the log odds for a mean probability of ``rate``."""

    def excess(intercept: float) -> float:
        return float(expit(log_odds + intercept).mean() - rate)

    low, high = logit(rate) - log_odds.max(), logit(rate) - log_odds.min()
    return low if low == high else float(brentq(excess, low - 1, high + 1))


def _standardised(cells: Cells, places: np.ndarray) -> np.ndarray:
    scores = np.zeros((len(cells.observed), len(places)))
    for index, place in enumerate(places):
        values = as_numbers(cells.columns[place])
        if np.isinf(values).any():
            msg = (
                f"Got an infinite value in column {place} (counted from 0), but "
                f"expected finite numbers: what is lost depends on them."
            )
            raise ValueError(msg)
        scores[:, index] = _standardise(values)
    return scores


def _standardise(values: np.ndarray) -> np.ndarray:
    """Return values at a mean of 0 and a deviation of 1; 0 where they are missing."""
    observed = ~np.isnan(values)
    seen = values[observed]
    scores = np.zeros(len(values))
    # The deviation of equal values may come out as a tiny number.
    if seen.size and seen.min() < seen.max():
        scaled = seen / np.abs(seen).max()  # whose squares are no infinities
        scores[observed] = (scaled - scaled.mean()) / scaled.std()
    return scores


# --- the others


def _censored(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    keys = cells.never()
    for place in cells.places:
        rows = cells.rows_of(place)
        values = as_numbers(cells.columns[place])[rows]
        # Equal values go in any order.
        order = np.lexsort((random_state.random_sample(rows.size), values))
        levels = np.arange(1, rows.size + 1) - random_state.random_sample()
        keys[rows[order], place] = levels / max(rows.size, 1) - (1 - loss.rate)
    return keys


def _monotone(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    steps = np.arange(1, len(cells.places) + 1)
    fractions = cells.observed[:, cells.places].sum(0) / cells.total

    def excess(hazard: float) -> float:
        return float(fractions @ -np.expm1(-hazard * steps) - loss.rate)

    hazard = brentq(excess, 0, -2 * math.log1p(-loss.rate))
    # A row whose patience is an exponential number drops out where step times hazard
    # exceeds it.
    patience = random_state.standard_exponential((len(cells.observed), 1))
    keys = cells.never()
    keys[:, cells.places] = hazard - patience / steps
    keys[~cells.observed] = _NEVER
    return keys


def _column(cells: Cells, loss: Loss, random_state: RandomState) -> np.ndarray:
    places = cells.places[cells.observed[:, cells.places].any(0)]
    wanted = loss.rate * len(places)
    up = random_state.random_sample()
    count = round(wanted) if loss.exact else math.floor(wanted + up)
    keys = cells.never()
    keys[:, places] = count - 0.5 - random_state.permutation(len(places))
    keys[~cells.observed] = _NEVER
    return keys


MECHANISMS: dict[Mechanism, Callable[[Cells, Loss, RandomState], np.ndarray]] = {
    "mcar": _mcar,
    "mar": _mar,
    "mnar": _mnar,
    "censored": _censored,
    "column": _column,
    "monotone": _monotone,
}
