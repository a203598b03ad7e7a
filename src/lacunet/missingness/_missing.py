"""Ways to lose values of a table."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.missingness._cells import (
    Table,
    as_table,
    find_observed,
    read_columns,
    without_cells,
)
from lacunet.missingness._mechanisms import (
    MECHANISMS,
    Cells,
    Loss,
    Mechanism,
    draw_lost,
)
from lacunet.missingness._stream import own_stream


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
    fraction = _check_rate(rate)
    _check_mechanism(mechanism)
    table = as_table(X)
    cells = _read_cells(table, columns)
    loss = Loss(fraction, exact, keep_one)
    lost = draw_lost(mechanism, cells, loss, own_stream(random_state))
    missing = without_cells(table, lost)
    return (missing, lost) if return_mask else missing


def _check_rate(rate: object) -> float:
    msg = f"Got rate={rate!r}, but expected a number of at least 0 and less than 1."
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
        raise TypeError(msg)
    fraction = float(rate)
    if not 0 <= fraction < 1:
        raise ValueError(msg)
    return fraction


def _check_mechanism(mechanism: object) -> None:
    # The same check in lacunet._validation would load torch, which nothing here needs.
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        msg = f"Got mechanism={mechanism!r}, but expected one of {known}."
        raise ValueError(msg)


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
    _check_columns(columns, known)
    return np.array(list(dict.fromkeys(known[column] for column in columns)))


def _check_columns(columns: Sequence[Any], known: dict[Any, int]) -> None:
    if isinstance(columns, str) or len(columns) == 0:
        msg = f"Got columns={columns!r}, but expected a list of at least one column."
        raise ValueError(msg)
    for column in columns:
        # A boolean would count as 0 or 1.
        if isinstance(column, (bool, np.bool_)) or column not in known:
            msg = (
                f"Got {column!r} in columns, but expected names of columns of a frame, "
                f"or indices of columns of an array. Known are {_shorten(list(known))}."
            )
            raise ValueError(msg)


def _shorten(names: list[Any]) -> str:
    shown = names if len(names) <= 6 else [*names[:3], "...", *names[-3:]]
    return ", ".join(map(str, shown))
