"""Values removed from a table by a known mechanism.

A mechanism gives a random key to each cell that can be removed, and those with keys
above zero are. To remove a given number of cells is to take the largest keys instead:
with logistic noise in the keys that is Pareto sampling (Rosén 1997), in which each cell
is removed about as likely as it was without the given number.
"""

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.optimize import brentq
from scipy.special import expit, logit

from lacunet._text import list_names
from lacunet.missingness._cells import (
    Table,
    as_numbers,
    as_table,
    find_observed,
    own_stream,
    read_columns,
    without_cells,
)

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


def drop_values(
    X: Any,
    rate: float = 0.5,
    mechanism: Mechanism = "mcar",
    *,
    columns: Sequence[Any] | None = None,
    exact: bool = False,
    keep_one: bool = False,
    return_mask: bool = False,
    random_state: Any = None,
) -> Any:
    r"""Return a copy of a table in which values are missing, by a known mechanism.

    Let :math:`r` be the rate, :math:`\sigma` the logistic function and
    :math:`z_{ij}` the value in row i and column j, standardised over what is observed
    of its column. The mechanisms:

    - "mcar", missing completely at random: each value is lost with probability
      :math:`r`.
    - "mar", missing at random: some columns stay as they are, and the others lose
      values by what stands there, with probability :math:`\sigma(2 s_{ij} + b_j)`. The
      score :math:`s_{ij} = \sum_k w_{jk} z_{ik}`, over the columns k that stay, has
      weights drawn from a normal distribution, scaled for a deviation of 1. With
      ``columns``, all others stay; without, a fraction :math:`(1 - r) / 2` of the
      columns is drawn, at least one. A value missing from a column that stays counts as
      its mean.
    - "mnar", missing not at random by self-masking: a value is lost by what it is
      itself, a large one more likely, with probability :math:`\sigma(2 z_{ij} + b_j)`.
    - "censored", missing not at random by a quantile: each column loses its largest
      values, all above its quantile of :math:`1 - r`. Equal values are lost in random
      order.
    - "column": columns are lost as a whole, :math:`r` times their number. Between two
      whole numbers, one is drawn so that the mean is right.
    - "monotone", rows drop out: a row loses all values from one column on. At each
      column it drops out with the same probability :math:`h`, so that the j-th is lost
      with probability :math:`1 - (1 - h)^j`.

    The intercepts :math:`b_j` are such that the mean probability of each column is
    :math:`r`; under "mar", where some columns lose nothing, it is higher in the others.
    :math:`h` is such that the mean over all values is :math:`r`.

    Dates and booleans count as numbers. Ordered categories have the order that they
    were given, other categories and strings that of their texts.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        It is left as it is. Frames of pandas, polars and arrow stay such frames.
    rate : float, default=0.5
        The fraction of the observed values of ``columns`` that is lost, in [0, 1).
        Values that are missing already stay missing and don't count.
    mechanism : {"mcar", "mar", "mnar", "censored", "column", "monotone"}, \
            default="mcar"
        How it is decided what is lost.
    columns : sequence, default=None
        The columns that can lose values: names in a frame, indices in an array; all
        columns if not given. Rows drop out in the order in which they stand here.
    exact : bool, default=False
        Lose exactly ``round(rate * observed values)`` values, each about as likely as
        it would be otherwise, or ``round(rate * columns)`` columns if those are lost as
        a whole. Else the rate is met within sampling error.
    keep_one : bool, default=False
        Let each row that has a value keep one: of those that it would lose, the one
        that came nearest to staying. Others are lost in its place, so the rate is met
        all the same, or refused if it can't be. With "column", fewer are lost.
    return_mask : bool, default=False
        Return also which values were lost.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    X_missing : ndarray or frame of shape (n_samples, n_features)
        A copy. Arrays of integers become float64, those of booleans and of strings
        become objects, as such hold NaN. Columns of frames that lose values get the
        dtype that their library gives them.
    lost : ndarray of bool of shape (n_samples, n_features)
        If ``return_mask``: True where a value was taken away, and False where there
        was none before.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.missingness import drop_values
    >>> X = np.arange(12).reshape(4, 3)
    >>> drop_values(X, 0.25, exact=True, random_state=0)
    array([[ 0.,  1., nan],
           [ 3.,  4., nan],
           [ 6.,  7.,  8.],
           [ 9., nan, 11.]])
    >>> drop_values(X, 0.5, "censored", columns=[2])
    array([[ 0.,  1.,  2.],
           [ 3.,  4.,  5.],
           [ 6.,  7., nan],
           [ 9., 10., nan]])
    """
    wrong = f"Got rate={rate!r}, but expected a number of at least 0 and less than 1."
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
        raise TypeError(wrong)
    if not 0 <= rate < 1:
        raise ValueError(wrong)
    # The check in lacunet._validation would load torch, which nothing here needs.
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        msg = f"Got mechanism={mechanism!r}, but expected one of {known}."
        raise ValueError(msg)
    table = as_table(X)
    cells = _read_cells(table, columns)
    loss = Loss(float(rate), exact, keep_one)
    lost = draw_lost(mechanism, cells, loss, own_stream(random_state))
    missing = without_cells(table, lost)
    return (missing, lost) if return_mask else missing


def _read_cells(table: Table, columns: Sequence[Any] | None) -> Cells:
    found = read_columns(table)
    observed = np.zeros(table.shape, dtype=bool)
    for place, column in enumerate(found):
        observed[:, place] = find_observed(column)
    return Cells(found, observed, _find_places(table, columns))


def _find_places(table: Table, columns: Sequence[Any] | None) -> np.ndarray:
    """Return the indices of columns, in the order given."""
    n_columns = table.shape[1]
    if columns is None:
        return np.arange(n_columns)
    known: dict[Any, int]
    if isinstance(table, np.ndarray):
        known = {place: place % n_columns for place in range(-n_columns, n_columns)}
    else:
        known = {name: place for place, name in enumerate(table.columns)}
    if isinstance(columns, str) or len(columns) == 0:
        msg = f"Got columns={columns!r}, but expected a list of at least one column."
        raise ValueError(msg)
    for column in columns:
        # A boolean would count as 0 or 1.
        if isinstance(column, (bool, np.bool_)) or column not in known:
            msg = (
                f"Got {column!r} in columns, but expected names of columns of a frame, "
                f"or indices of columns of an array. Known are "
                f"{list_names(list(map(str, known)))}."
            )
            raise ValueError(msg)
    return np.array(list(dict.fromkeys(known[column] for column in columns)))


def draw_lost(
    mechanism: Mechanism, cells: Cells, loss: Loss, random_state: RandomState
) -> np.ndarray:
    """Draw the cells that are lost, of shape (rows, columns)."""
    if loss.rate == 0 or cells.total == 0:
        return np.zeros_like(cells.observed)
    keys = MECHANISMS[mechanism](cells, loss, random_state)
    wanted = round(loss.rate * cells.total)
    n_lost = wanted if loss.exact else int((keys > 0).sum())
    if loss.keep_one:  # what would be the last value of a row to go can't go
        able = keys > _NEVER
        threatened = able.any(1) & ~(cells.observed & ~able).any(1)
        last = np.where(able, keys, np.inf).argmin(1)
        keys[threatened, last[threatened]] = _NEVER
    # Whole columns or none: no other cell is lost in the place of one that is spared.
    if mechanism == "column" or not (loss.exact or loss.keep_one):
        return keys > 0
    most = int((keys > _NEVER).sum())
    if wanted > most:
        msg = (
            f"Got rate={loss.rate!r} with keep_one=True, but expected at most "
            f"{math.floor(1000 * most / cells.total) / 1000}: no more can be lost if "
            f"every row keeps a value. Lower the rate."
        )
        raise ValueError(msg)
    lost = np.zeros(keys.size, dtype=bool)
    n_lost = min(n_lost, most)
    if n_lost:
        lost[np.argpartition(keys, -n_lost, axis=None)[-n_lost:]] = True
    return lost.reshape(keys.shape)


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
    if len(staying) == 0 or most == 0:
        msg = (
            "Got mechanism='mar', but nothing that a loss could depend on: expected a "
            "column of different values that stays, beside those that lose values. "
            "Name fewer columns, or use another mechanism."
        )
        raise ValueError(msg)
    if loss.rate >= most:
        msg = (
            f"Got rate={loss.rate!r} with mechanism='mar', but expected less than "
            f"{most:.3g}, the fraction of values that are not in columns that stay. "
            f"Lower the rate, or name columns: the rate is then that of their values."
        )
        raise ValueError(msg)
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
