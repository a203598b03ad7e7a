"""How well missingness can be predicted, and the target from missingness alone.

Scores are out-of-fold, of a small histogram gradient boosting: it accepts missing
values, and the question is only whether there is anything to learn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lacunet.profile._association import MIN_ROWS, pool_categories
from lacunet.profile._input import Floats, as_numbers, kind_of

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
    """

    column: str
    auc: float
    auc_values: float


def predict_missingness(
    columns: Any,
    others: Any,
    same_rows: Mapping[str, Sequence[str]],
    random_state: np.random.RandomState,
) -> tuple[Predictability, ...]:
    """Predict the missingness of columns, not from those missing in the same rows."""
    seed = int(random_state.randint(2**31 - 1))
    others = others.loc[:, others.notna().sum() >= MIN_ROWS]
    features = others.apply(_as_feature)
    filled = features.copy()
    for name in filled:
        missing = filled[name].isna()
        drawn = random_state.choice(filled[name][~missing], missing.sum())
        filled.loc[missing, name] = drawn
    found = []
    for name in columns:
        missing = columns[name].isna()
        kept = ~others.columns.isin([name, *same_rows.get(name, ())])
        if min(missing.sum(), (~missing).sum()) >= MIN_CLASS and kept.any():
            auc = _cross_validate(features.loc[:, kept], missing, seed)
            auc_values = _cross_validate(filled.loc[:, kept], missing, seed)
            found.append(Predictability(name, auc, auc_values))
    return tuple(found)


def _as_feature(column: Any) -> Floats:
    if column.dtype == object:  # only its missingness is of use
        return np.where(column.isna(), np.nan, 0.0)
    if column.dtype == "category":
        return pool_categories(column)
    limits = np.finfo(np.float32)  # infinite numbers become very large ones
    clipped: Floats = np.clip(as_numbers(column), limits.min, limits.max)
    return clipped


def _cross_validate(features: Any, missing: Any, seed: int) -> float:
    """Return the out-of-fold AUC."""
    from sklearn import ensemble, metrics, model_selection  # takes its time

    predicted = model_selection.cross_val_predict(
        ensemble.HistGradientBoostingClassifier(**BOOSTING),
        features.to_numpy(),
        missing,
        cv=model_selection.StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
        method="decision_function",
    )
    return round(float(metrics.roc_auc_score(missing, predicted)), 4)


def score_target(
    target: Any, columns: Any, random_state: np.random.RandomState
) -> float | None:
    """Return the fraction of the target that missingness explains, out of fold.

    It is a fraction of the variance of a number, and of the deviance of classes. Rare
    classes are left out. None if there are too few rows.
    """
    y = target.dropna()
    numeric = kind_of(target) in ("number", "date") and y.nunique() > _MAX_DISCRETE
    if not numeric:
        size = y.value_counts().head(_MAX_CLASSES)
        y = y[y.isin(size.index[size >= MIN_CLASS])]
    values = as_numbers(y) if numeric else pd.factorize(y)[0]
    varied = y.nunique() > 1 and np.isfinite(values).all()
    if columns.empty or len(y) < 2 * MIN_CLASS or not varied:
        return None
    from sklearn import ensemble, model_selection

    X = columns.loc[y.index].isna().to_numpy(dtype=np.float64)
    model: Any = ensemble.HistGradientBoostingClassifier(**BOOSTING)
    folds, scoring = model_selection.StratifiedKFold, "d2_log_loss_score"
    if numeric:
        values = values / np.abs(values).max()  # or squares may overflow
        model = ensemble.HistGradientBoostingRegressor(**BOOSTING)
        folds, scoring = model_selection.KFold, "r2"
    cv = folds(N_FOLDS, shuffle=True, random_state=random_state)
    scores = model_selection.cross_val_score(model, X, values, cv=cv, scoring=scoring)
    return round(float(scores.mean()), 4)
