"""How well missingness can be predicted, and the target from missingness alone.

Scores are out-of-fold, of a small histogram gradient boosting: it accepts missing
values, and the question is only whether there is anything to learn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from lacunet.profile._association import (
    MIN_ROWS,
    adjust,
    compare_numbers,
    pool_categories,
)
from lacunet.profile._input import Bools, Column, Floats, Ints

MAX_PREDICTED = 20
MAX_FEATURES = 50
MAX_TRAINING_ROWS = 3000
MIN_CLASS = 25  # rows of the rarer class
_MAX_CLASSES = 20
_MAX_DISCRETE = 10  # distinct numbers that count as classes
N_FOLDS = 3
BOOSTING: dict[str, Any] = {
    "max_iter": 30,
    "max_leaf_nodes": 8,
    "max_bins": 31,
    "early_stopping": False,
    "random_state": 0,
}


@dataclass(frozen=True)
class Predictability:
    """Whether a column's missingness can be predicted from the other columns.

    Attributes
    ----------
    column : str
        Whose missingness.
    auc : float
        Out-of-fold area under the ROC curve, predicting from the values and the
        missingness of the other columns.
    auc_values : float
        The same from values alone: missing ones are replaced by random values of their
        column. If it is near 0.5 and ``auc`` is not, columns are missing together, but
        not depending on values.
    p_value : float
        Of the null hypothesis that ``auc`` is at most 0.5.
    p_adjusted : float
        The same, adjusted for the number of columns.
    """

    column: str
    auc: float
    auc_values: float
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class TargetScore:
    """How much of the target the missingness of all columns explains, out of fold.

    Attributes
    ----------
    explained : float
        Fraction of the target's deviance, or of its variance if it is a number of many
        values. At most 1; at 0 or below, nothing was learned.
    p_value : float
        Of the null hypothesis that nothing is explained.
    """

    explained: float
    p_value: float


def predict_missingness(
    columns: Sequence[Column],
    others: Sequence[Column],
    same_rows: Mapping[str, Sequence[str]],
    random_state: np.random.RandomState,
) -> tuple[Predictability, ...]:
    """Predict the missingness of columns, not from those missing in the same rows."""
    seed = int(random_state.randint(2**31 - 1))
    sources = [other for other in others if (~other.missing).sum() >= MIN_ROWS]
    features = np.column_stack([*map(_as_feature, sources)] or [np.empty(0)])
    filled = features.copy()
    for values in filled.T:
        missing = np.isnan(values)
        values[missing] = random_state.choice(values[~missing], missing.sum())
    found = []
    for column in columns:
        own = {column.name, *same_rows.get(column.name, ())}
        kept = [source.name not in own for source in sources]
        n_missing = int(column.missing.sum())
        n_rarer = min(n_missing, len(column.missing) - n_missing)
        if n_rarer >= MIN_CLASS and any(kept):
            auc, p_value = _cross_validate(features[:, kept], column.missing, seed)
            auc_values, _ = _cross_validate(filled[:, kept], column.missing, seed)
            found.append((column.name, auc, auc_values, p_value))
    p_adjusted = adjust([each[-1] for each in found])
    return tuple(
        Predictability(*each, p) for each, p in zip(found, p_adjusted, strict=True)
    )


def _as_feature(column: Column) -> Floats:
    if column.kind == "other":  # only its missingness is of use
        return np.where(column.missing, np.nan, 0.0)
    if column.kind == "category":
        return pool_categories(column)
    limits = np.finfo(np.float32)  # infinite numbers become very large ones
    clipped: Floats = np.clip(column.values, limits.min, limits.max)
    return clipped


def _cross_validate(features: Floats, missing: Bools, seed: int) -> tuple[float, float]:
    """Return the out-of-fold AUC and its one-sided p-value."""
    predicted = cross_val_predict(
        HistGradientBoostingClassifier(**BOOSTING),
        features,
        missing,
        cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
        method="decision_function",
    )
    auc, p_value = compare_numbers(predicted, missing[:, None])[:, 0].tolist()
    if math.isnan(auc):  # nearly all predictions are equal
        return 0.5, 1.0
    return round(auc, 4), p_value / 2 if auc > 0.5 else 1 - p_value / 2


def score_target(
    target: Column, columns: Sequence[Column], random_state: np.random.RandomState
) -> TargetScore | None:
    """Predict the target from missingness alone; None if there is too little data."""
    rows = ~target.missing
    y = target.values[rows]
    if not columns or len(y) < 2 * MIN_CLASS or not np.isfinite(y).all():
        return None
    X = np.column_stack([each.missing[rows] for each in columns]).astype(np.float64)
    split = {"shuffle": True, "random_state": int(random_state.randint(2**31 - 1))}
    if target.kind in ("number", "date") and len(np.unique(y)) > _MAX_DISCRETE:
        y = y / np.abs(y).max()  # or squares may overflow
        folds = KFold(N_FOLDS, **split)
        learned, baseline = (
            (y - cross_val_predict(model, X, y, cv=folds)) ** 2
            for model in (HistGradientBoostingRegressor(**BOOSTING), DummyRegressor())
        )
        return compare_losses(learned, baseline)
    classes = _merge_rare(y)
    if (classes == classes[0]).all():
        return None
    folds = StratifiedKFold(N_FOLDS, **split)
    learned, baseline = (
        cross_val_predict(model, X, classes, cv=folds, method="predict_proba")
        for model in (HistGradientBoostingClassifier(**BOOSTING), DummyClassifier())
    )
    learned, baseline = (
        -np.log(np.maximum(probability[np.arange(len(y)), classes], 1e-6))
        for probability in (learned, baseline)
    )
    return compare_losses(learned, baseline)


def _merge_rare(y: Floats) -> Ints:
    """Return classes, with rare ones merged into one, or into the most frequent."""
    _, codes, size = np.unique(y, return_inverse=True, return_counts=True)
    rare = size < MIN_CLASS
    rare[np.argsort(-size, kind="stable")[_MAX_CLASSES:]] = True
    if rare.sum() > 1:
        codes = np.where(rare[codes], len(size), codes)
    size = np.bincount(codes)
    merged = np.where(size[codes] >= MIN_CLASS, codes, int(size.argmax()))
    return np.unique(merged, return_inverse=True)[1]


def compare_losses(learned: Floats, baseline: Floats) -> TargetScore:
    """Return the relative gain, with a z-test of the mean gain per row."""
    gains = baseline - learned
    gain = float(gains.mean())
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    if error > 1e-9 * abs(gain):
        p_value = float(stats.norm.sf(gain / error))
    else:  # all rows gain the same, but for rounding
        p_value = float(gain <= 0)
    return TargetScore(round(gain / float(baseline.mean()), 4), p_value)
