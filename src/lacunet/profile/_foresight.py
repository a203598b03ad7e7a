"""What can be foreseen, and what holes tell: judged on rows that were not learned from.

The learner is scikit-learn's histogram gradient boosting, small and with few bins: it
takes holes as they are, and what matters is whether there is anything to learn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.profile._dependence import adjust, pool_levels
from lacunet.profile._holes import Bools, ColumnKind, Floats, HoleColumn, Ints
from lacunet.profile._separation import LEAST_ROWS, separate_by_number

MOST_FORESEEN = 20
MOST_FEATURES = 50
MOST_LEARNED = 3000
LEAST_LEARNED = 25  # rows in which a column is missing, and in which it is not
_MOST_CLASSES = 20
_MOST_AS_CLASSES = 10  # values of numbers that count as classes
_LEAST_PROBABILITY = 1e-6
_NO_ERROR = 1e-9  # of a mean, that is more than rounding
_N_FOLDS = 3
_SETTINGS: dict[str, Any] = {
    "max_iter": 30,
    "max_leaf_nodes": 8,
    "max_bins": 31,
    "early_stopping": False,
    "random_state": 0,
}


@dataclass(frozen=True)
class Foresight:
    """Whether a column's holes can be foreseen from the other columns.

    Attributes
    ----------
    column : str
    auc : float
        The chance that of two rows that were not learned from, the others tell in
        which the column is missing: by their values and by their own holes.
    auc_values : float
        The same by their values alone: holes are filled with random values of their
        column. If it is near 0.5 and ``auc`` is not, columns are missing together, but
        not for certain values.
    p_value : float
        How likely an ``auc`` so high is by chance.
    p_adjusted : float
        The same, corrected for the number of columns.
    """

    column: str
    auc: float
    auc_values: float
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class TargetScore:
    """What holes alone tell of the target, on rows that were not learned from.

    Attributes
    ----------
    explained : float
        Share of the target's deviance, or of its variance if it is a number with many
        values. At most 1; at 0 or below, nothing was learned.
    p_value : float
        How likely a share so high is by chance.
    """

    explained: float
    p_value: float


def foresee(
    columns: Sequence[HoleColumn],
    others: Sequence[HoleColumn],
    echoes: Mapping[str, Sequence[str]],
    random_state: np.random.RandomState,
) -> tuple[Foresight, ...]:
    """Try to foresee the holes of columns.

    Parameters
    ----------
    columns : sequence of HoleColumn
        Whose holes.
    others : sequence of HoleColumn
        What they may be foreseen from.
    echoes : mapping of str to sequence of str
        Columns that are missing in the same rows as one: they tell nothing new of it.
    random_state : RandomState

    Returns
    -------
    tuple of Foresight
        In the order of the columns, without those that have too few holes to learn.
    """
    seed = int(random_state.randint(2**31 - 1))
    sources = [other for other in others if (~other.missing).sum() >= LEAST_ROWS]
    with_holes = make_features(sources)
    filled = _fill_at_random(with_holes, random_state)
    found = []
    for column in columns:
        own = {column.name, *echoes.get(column.name, ())}
        kept = [source.name not in own for source in sources]
        if _can_learn(column) and any(kept):
            by_all, p_value = _separate(with_holes[:, kept], column.missing, seed)
            by_values, _ = _separate(filled[:, kept], column.missing, seed)
            found.append((column.name, by_all, by_values, p_value))
    adjusted = adjust([each[-1] for each in found]).tolist()
    return tuple(Foresight(*each, p) for each, p in zip(found, adjusted, strict=True))


def score_target(
    target: HoleColumn,
    columns: Sequence[HoleColumn],
    random_state: np.random.RandomState,
) -> TargetScore | None:
    """Try to foresee the target from nothing but which cells are missing.

    Parameters
    ----------
    target : HoleColumn
    columns : sequence of HoleColumn
        Those with holes.
    random_state : RandomState

    Returns
    -------
    TargetScore or None
        None if there is too little to learn from.
    """
    rows = ~target.missing
    seen = target.values[rows]
    if not columns or len(seen) < 2 * LEAST_LEARNED or not np.isfinite(seen).all():
        return None
    holes = np.column_stack([column.missing[rows] for column in columns])
    features = holes.astype(np.float64)
    seed = int(random_state.randint(2**31 - 1))
    classes = _find_classes(target.kind, seen)
    if classes is None:
        scaled = seen / np.abs(seen).max()  # that squares don't overflow
        return _compare(*_lose_squares(features, scaled, seed))
    if (classes == classes[0]).all():
        return None
    return _compare(*_lose_deviance(features, classes, seed))


def _compare(said: Floats, blind: Floats) -> TargetScore:
    """Compare the losses of rows: by holes, and without."""
    from scipy import stats

    gains = blind - said
    gain = float(gains.mean())
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if error > _NO_ERROR * abs(gain):
        p_value = float(stats.norm.sf(gain / error))
    else:  # all rows gain the same
        p_value = float(gain <= 0)
    return TargetScore(round(gain / float(blind.mean()), 4), p_value)


# --- features


def make_features(columns: Sequence[HoleColumn]) -> Floats:
    """Return columns as numbers with NaN, (rows, columns)."""
    if not columns:
        return np.empty((0, 0))
    return np.column_stack([_as_feature(column) for column in columns])


def _as_feature(column: HoleColumn) -> Floats:
    if column.kind == "other":  # whether it is there is all that can be told
        return np.where(column.missing, np.nan, 0.0)
    if column.kind == "category":
        return pool_levels(column)
    limits = np.finfo(np.float32)  # infinite numbers are very large ones
    clipped: Floats = np.clip(column.values, limits.min, limits.max)
    return clipped


def _fill_at_random(features: Floats, random_state: np.random.RandomState) -> Floats:
    """Fill holes with values of the same column: so they are not to be told."""
    filled = features.copy()
    for values in filled.T:
        missing = np.isnan(values)
        values[missing] = random_state.choice(values[~missing], missing.sum())
    return filled


def _find_classes(kind: ColumnKind, seen: Floats) -> Ints | None:
    """Return the classes of a target, rare ones as one; None for numbers."""
    distinct, codes, size = np.unique(seen, return_inverse=True, return_counts=True)
    if kind in ("number", "date") and len(distinct) > _MOST_AS_CLASSES:
        return None
    rare = size < LEAST_LEARNED
    rare[np.argsort(-size, kind="stable")[_MOST_CLASSES:]] = True
    if rare.sum() > 1:
        codes = np.where(rare[codes], len(distinct), codes)
    known = np.bincount(codes) >= LEAST_LEARNED
    # Too few to learn from, even together.
    return np.where(known[codes], codes, int(np.bincount(codes).argmax()))


# --- learning


def _can_learn(column: HoleColumn) -> bool:
    holes = int(column.missing.sum())
    return min(holes, len(column.missing) - holes) >= LEAST_LEARNED


def _separate(features: Floats, holes: Bools, seed: int) -> tuple[float, float]:
    """Return AUC and p-value of holes foreseen on rows that were left out."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
    said = cross_val_predict(
        HistGradientBoostingClassifier(**_SETTINGS),
        features,
        holes,
        cv=folds,
        method="decision_function",
    )
    separation = separate_by_number(said, holes[:, None])
    auc, p_value = float(separation.auc[0]), float(separation.p_value[0])
    if np.isnan(auc):  # nearly the same is said of all rows
        return 0.5, 1.0
    return round(auc, 4), p_value / 2 if auc > 0.5 else 1 - p_value / 2


def _lose_squares(holes: Floats, asked: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return squared errors of rows left out: by holes, and by the mean."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold

    said, blind = np.empty((2, len(asked)))
    folds = KFold(_N_FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(holes):
        model = HistGradientBoostingRegressor(**_SETTINGS).fit(
            holes[train], asked[train]
        )
        said[test] = (asked[test] - model.predict(holes[test])) ** 2
        blind[test] = (asked[test] - asked[train].mean()) ** 2
    return said, blind


def _lose_deviance(holes: Floats, asked: Ints, seed: int) -> tuple[Floats, Floats]:
    """Return the log losses of rows left out: by holes, and by the classes' shares."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold

    said, blind = np.empty((2, len(asked)))
    folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(holes, asked):
        model = HistGradientBoostingClassifier(**_SETTINGS)
        model.fit(holes[train], asked[train])
        place = np.searchsorted(model.classes_, asked[test])
        shares = np.bincount(np.searchsorted(model.classes_, asked[train])) / len(train)
        probability = model.predict_proba(holes[test])[np.arange(len(test)), place]
        said[test] = -np.log(np.maximum(probability, _LEAST_PROBABILITY))
        blind[test] = -np.log(shares[place])
    return said, blind
