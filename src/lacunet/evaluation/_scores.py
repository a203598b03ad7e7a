"""Scores of predictions, the same for all models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from lacunet.evaluation._task import Task


@dataclass(frozen=True)
class Metric:
    """A score of predictions.

    Attributes
    ----------
    key : str
    title : str
    higher_is_better : bool
    """

    key: str
    title: str
    higher_is_better: bool


# The first is what models are told apart by.
METRICS: Mapping[Task, tuple[Metric, ...]] = MappingProxyType(
    {
        "classification": (
            Metric("log_loss", "log-loss", False),
            Metric("accuracy", "accuracy", True),
            Metric("auc", "AUC", True),
        ),
        "regression": (
            Metric("rmse", "RMSE", False),
            Metric("r2", "R²", True),
        ),
    }
)


def score(
    task: Task,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: Sequence[Any] | np.ndarray = (),
) -> dict[str, float | None]:
    """Return all scores of a task.

    Parameters
    ----------
    task : {"classification", "regression"}
    y : ndarray of shape (n_samples,)
    predicted : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Numbers, or probabilities of the classes.
    classes : sequence
        In the order of the columns, sorted.

    Returns
    -------
    dict of str to float or None
        By the key of the metric. None where it has no value: the area under the curve
        without a row of each class, R² of a single row.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation import score
    >>> score("regression", np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    {'rmse': 0.7071..., 'r2': -1.0}
    """
    if task == "regression":
        r2 = r2_score(y, predicted) if len(y) > 1 else None
        return {"rmse": float(root_mean_squared_error(y, predicted)), "r2": r2}
    known = np.asarray(classes)
    # Some models give single precision, and sums that are not quite 1.
    shares = np.asarray(predicted, dtype=np.float64)
    shares = shares / shares.sum(1, keepdims=True)
    chosen = known[shares.argmax(1)]
    return {
        "log_loss": float(log_loss(y, shares, labels=known)),
        "accuracy": float(accuracy_score(y, chosen)),
        "auc": _area(y, shares, known),
    }


def _area(y: np.ndarray, shares: np.ndarray, classes: np.ndarray) -> float | None:
    """Return the area under the ROC curve, its mean over the classes if several."""
    if len(np.unique(y)) < len(classes) or len(classes) < 2:
        return None
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], shares[:, 1]))
    return float(roc_auc_score(y, shares, multi_class="ovr", labels=classes))


def align_probabilities(
    probabilities: np.ndarray,
    known: Sequence[Any] | np.ndarray,
    classes: Sequence[Any] | np.ndarray,
) -> np.ndarray:
    """Return probabilities with a column for each class, also for those not learned.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_known)
    known : sequence of length n_known
        Classes of the model.
    classes : sequence of length n_classes
        All classes, sorted.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation import align_probabilities
    >>> align_probabilities(np.array([[0.25, 0.75]]), ["a", "c"], ["a", "b", "c"])
    array([[0.25, 0.  , 0.75]])
    """
    places = np.searchsorted(np.asarray(classes), np.asarray(known))
    aligned = np.zeros((len(probabilities), len(classes)))
    aligned[:, places] = probabilities
    return aligned
