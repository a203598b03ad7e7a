"""How well a column tells two groups of rows apart, for many groups at once.

All counts and sums of ranks are products of matrices, so that thousands of pairs take
no longer than a few. Values of 0.5 mean "not at all", whatever the kind of the column.
"""

from typing import NamedTuple

import numpy as np

from lacunet.profile._holes import Bools, Floats

# Rows that there must be on either side.
LEAST_ROWS = 10
# Rows of a group that a level must be expected to have, or it is taken with others.
_LEAST_EXPECTED = 2.0


class Separation(NamedTuple):
    """How well a column tells groups apart.

    Attributes
    ----------
    auc : ndarray of shape (groups,)
        The chance that of two rows, one of the group and one not, the column tells
        which is which. Above 0.5 for numbers: they are higher in the group. NaN where
        there are too few rows.
    p_value : ndarray of shape (groups,)
        Of the test whether the column has to do with the group; NaN as well.
    """

    auc: Floats
    p_value: Floats


def tell_nothing(n_groups: int) -> Separation:
    """Return what a column tells that can't be compared."""
    nothing = np.full(n_groups, np.nan)
    return Separation(nothing, nothing)


def separate_by_number(values: Floats, groups: Bools) -> Separation:
    """Compare numbers in and out of groups by their ranks (Mann and Whitney's test).

    Parameters
    ----------
    values : ndarray of shape (rows,)
        NaN where missing: these rows are left out.
    groups : ndarray of bool of shape (rows, groups)

    Returns
    -------
    Separation

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._separation import separate_by_number
    >>> group = np.arange(40) >= 20
    >>> separate_by_number(np.arange(40.0), group[:, None]).auc
    array([1.])
    """
    from scipy import stats

    seen = ~np.isnan(values)
    ranks = stats.rankdata(values[seen])
    member = groups[seen].astype(np.float64)
    total = len(ranks)
    inside = member.sum(axis=0)
    outside = total - inside
    pairs = inside * outside
    wins = ranks @ member - inside * (inside + 1) / 2
    times = np.unique(ranks, return_counts=True)[1].astype(np.float64)
    ties = (times**3 - times).sum() / max(total * (total - 1), 1)
    variance = pairs / 12 * (total + 1 - ties)
    fewer = np.minimum(inside, outside)
    enough = (fewer >= LEAST_ROWS) & (variance > 0)
    # Nearly all values are the same one: a single row would decide.
    enough &= fewer * (total - times.max(initial=0.0)) >= _LEAST_EXPECTED * total
    score = _divide((wins - pairs / 2) ** 2, variance, enough)
    return Separation(
        _divide(wins, pairs, enough), np.where(enough, stats.chi2.sf(score, 1), np.nan)
    )


def separate_by_level(codes: Floats, groups: Bools) -> Separation:
    """Compare shares of groups between levels of a category (the chi-squared test).

    The chance of telling two rows apart is that of guessing by the level's share in the
    group, which is taken without the two: otherwise levels with few rows would seem to
    tell much.

    Parameters
    ----------
    codes : ndarray of shape (rows,)
        0, 1, ...; NaN where missing: these rows are left out.
    groups : ndarray of bool of shape (rows, groups)

    Returns
    -------
    Separation

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._separation import separate_by_level
    >>> group = np.arange(40) >= 20
    >>> separate_by_level(group.astype(float), group[:, None]).auc
    array([1.])
    """
    seen = ~np.isnan(codes)
    levels = codes[seen].astype(np.intp)
    size = np.bincount(levels).astype(np.float64)
    inside = np.zeros((len(size), groups.shape[1]))
    np.add.at(inside, levels, groups[seen].astype(np.float64))
    inside, size = inside[size > 0], size[size > 0, None]
    if len(size) < 2:
        return tell_nothing(groups.shape[1])
    total, members = float(size.sum()), inside.sum(axis=0)
    enough = np.minimum(members, total - members) >= LEAST_ROWS
    return Separation(
        np.where(enough, _guess_by_share(inside, size), np.nan),
        np.where(enough, _test_shares(inside, size), np.nan),
    )


def separate_by_hole(missing: Bools, groups: Bools) -> Separation:
    """Compare how often a column is missing in and out of groups (Fisher's test).

    Parameters
    ----------
    missing : ndarray of bool of shape (rows,)
    groups : ndarray of bool of shape (rows, groups)

    Returns
    -------
    Separation
        Above 0.5: it is missing more often in the group.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.profile._separation import separate_by_hole
    >>> group = np.arange(40) >= 20
    >>> separate_by_hole(~group, group[:, None]).auc
    array([0.])
    """
    from scipy import stats

    total, holes = len(missing), int(missing.sum())
    inside = groups.sum(axis=0)
    outside = total - inside
    both = groups[missing].sum(axis=0)
    enough = (np.minimum(inside, outside) >= LEAST_ROWS) & (0 < holes < total)
    gap = both * outside - (holes - both) * inside
    law = stats.hypergeom(total, holes, inside)
    p_value = 2 * np.minimum(law.cdf(both), law.sf(both - 1))
    return Separation(
        0.5 + 0.5 * _divide(gap, inside * outside, enough),
        np.where(enough, np.minimum(p_value, 1.0), np.nan),
    )


def _test_shares(inside: Floats, size: Floats) -> Floats:
    """Return p-values of the chi-squared test; rare levels are taken together."""
    from scipy import stats

    total = float(size.sum())
    share = inside.sum(axis=0) / total
    kept = _find_frequent(size, size * np.minimum(share, 1 - share))
    gaps = inside - size * share
    pooled_size = np.where(kept, 0.0, size).sum(axis=0)
    pooled_gap = np.where(kept, 0.0, gaps).sum(axis=0)
    squares = np.where(kept, gaps**2 / size, 0.0).sum(axis=0)
    squares += _divide(pooled_gap**2, pooled_size, pooled_size > 0, empty=0.0)
    variance = share * (1 - share) * total / (total - 1)
    score = _divide(squares, variance, variance > 0, empty=0.0)
    freedom = kept.sum(axis=0) + (pooled_size > 0) - 1
    p_value: Floats = stats.chi2.sf(score, np.maximum(freedom, 1))
    return p_value


def _find_frequent(size: Floats, expected: Floats) -> Bools:
    """Return which levels stand for themselves in which groups: (levels, groups)."""
    kept = expected >= _LEAST_EXPECTED
    pooled = np.where(kept, 0.0, expected).sum(axis=0)
    # The others together may be too few as well: then the next one goes with them.
    weak = np.flatnonzero((pooled > 0) & (pooled < _LEAST_EXPECTED))
    smallest = np.where(kept, size, np.inf).argmin(axis=0)
    kept[smallest[weak], weak] = False
    return kept


def _guess_by_share(inside: Floats, size: Floats) -> Floats:
    """Return the chance of telling two rows apart by the share of their level.

    ``inside`` has the members of the group, (levels, groups), of ``size`` rows each.
    """
    outside = size - inside
    # The shares without the row itself; of a level with no other row, the share of all.
    others = np.maximum(size - 1, 1)
    overall = inside.sum(axis=0) / size.sum()
    of_member = np.where(size > 1, (inside - 1) / others, overall)
    of_other = np.where(size > 1, inside / others, overall)
    wins = np.zeros(inside.shape[1])
    for level in range(len(size)):
        better = np.sign(of_member[level] - of_other)  # (levels, groups)
        better[level] = 0.0  # of one level: can't be told apart
        wins += inside[level] * (outside * (1 + better) / 2).sum(axis=0)
    pairs = inside.sum(axis=0) * outside.sum(axis=0)
    return _divide(wins, pairs, pairs > 0)


def _divide(
    above: Floats, below: Floats, where: Bools, empty: float = np.nan
) -> Floats:
    out = np.full(len(where), empty)
    np.divide(above, below, out=out, where=where)
    return out
