"""Scores of predictions: metrics, losses of rows, standard errors, and their format."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from lacunet._text import show_error, show_score
from lacunet.evaluation._target import Task


@dataclass(frozen=True)
class Metric:
    """A score of predictions.

    Attributes
    ----------
    key : str
        Name in mappings of scores, such as ``"log_loss"``.
    title : str
        Name for people, such as ``"log-loss"``.
    higher_is_better : bool
        Whether larger values are better.
    """

    key: str
    title: str
    higher_is_better: bool

    @property
    def heading(self) -> str:
        """The title with a capital letter."""
        return f"{self.title[:1].upper()}{self.title[1:]}"


# The first metric of a task, a loss, is the one that models are compared by.
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
    """Compute all scores of a task.

    Parameters
    ----------
    task : {"classification", "regression"}
        Which metrics of ``METRICS`` to compute.
    y : ndarray of shape (n_samples,)
        True targets.
    predicted : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Predicted numbers, or probabilities of the classes.
    classes : sequence
        Classes in the order of the columns, sorted.

    Returns
    -------
    dict of str to float or None
        By the key of the metric. None where it is undefined: the AUC without a row of
        each class, R² of a single row.

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
    # Some models return single precision, and sums that are not quite 1.
    probabilities = np.asarray(predicted, dtype=np.float64)
    probabilities = probabilities / probabilities.sum(1, keepdims=True)
    auc = None
    if len(known) == 2 and len(np.unique(y)) == 2:
        auc = float(roc_auc_score(y == known[1], probabilities[:, 1]))
    elif len(known) > 2 and len(np.unique(y)) == len(known):
        auc = float(roc_auc_score(y, probabilities, multi_class="ovr", labels=known))
    return {
        "log_loss": float(log_loss(y, probabilities, labels=known)),
        "accuracy": float(accuracy_score(y, known[probabilities.argmax(1)])),
        "auc": auc,
    }


def align_probabilities(
    probabilities: np.ndarray,
    known: Sequence[Any] | np.ndarray,
    classes: Sequence[Any] | np.ndarray,
) -> np.ndarray:
    """Add columns of zeros for the classes that a model has not seen.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_known)
        What ``predict_proba`` returned.
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
    aligned = np.zeros((len(probabilities), len(classes)))
    aligned[:, np.searchsorted(np.asarray(classes), np.asarray(known))] = probabilities
    return aligned


def predict(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Return probabilities of all classes, or numbers if there are no classes."""
    if len(classes):
        return align_probabilities(model.predict_proba(X), model.classes_, classes)
    numbers: np.ndarray = model.predict(X)
    return numbers


def trivial_model(task: Task) -> Any:
    """Return a model that predicts the class frequencies or the mean for every row."""
    return DummyClassifier() if task == "classification" else DummyRegressor()


# --- losses of rows


@dataclass(frozen=True)
class Estimate:
    """A score, or a difference of scores, with its standard error over rows.

    Attributes
    ----------
    value : float
        The estimate.
    error : float or None
        Its standard error; None if there is only one row.
    """

    value: float
    error: float | None

    @property
    def is_sure(self) -> bool:
        """Whether it is more than two standard errors away from 0."""
        return self.error is not None and abs(self.value) > 2 * self.error

    def show(self, form: str) -> str:
        """Return the value and its standard error in a format of Python."""
        return f"{show_score(self.value, form)} {show_error(self.error, form)}".rstrip()


def row_losses(
    task: Task,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: Sequence[Any] | np.ndarray = (),
) -> np.ndarray:
    """Return the log-loss or the squared error of each row."""
    if task == "regression":
        squares: np.ndarray = np.square(y - predicted)
        return squares
    of_truth = predicted[np.arange(len(y)), np.searchsorted(np.asarray(classes), y)]
    # Clipped like scikit-learn's: a class with probability 0 has a finite loss.
    losses: np.ndarray = -np.log(
        np.clip(of_truth / predicted.sum(1), np.finfo(np.float64).eps, 1.0)
    )
    return losses


def compare_losses(
    task: Task, losses: np.ndarray, others: np.ndarray | float = 0.0
) -> Estimate:
    """Return the difference of the first score between two losses of the same rows.

    Without ``others`` it is the score itself: the log-loss, or the root mean square.
    """
    values, slopes = [], []
    for each in (losses, np.broadcast_to(others, losses.shape)):
        value, slope = float(each.mean()), 1.0
        if task == "regression":
            value = math.sqrt(value)
            slope = 0.5 / value if value else 0.0  # of the root: the delta method
        values.append(value)
        slopes.append(slope)
    gaps = losses * slopes[0] - others * slopes[1]
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else None
    return Estimate(values[0] - values[1], error)


# --- formats


def choose_format(metric: Metric, values: Iterable[float | None]) -> str:
    """Return the format that writes all values of a metric with the same digits.

    Examples
    --------
    >>> from lacunet.evaluation import METRICS
    >>> choose_format(METRICS["classification"][0], [12.5])
    '.3f'
    >>> rmse = METRICS["regression"][0]
    >>> choose_format(rmse, [53.25, None]), choose_format(rmse, [1e-9])
    (',.2f', '.4g')
    """
    if metric.key != "rmse":
        return ".3f"  # whatever the unit of the target is
    largest = max((abs(each) for each in values if each is not None), default=0.0)
    power = math.floor(math.log10(largest)) if largest else 0
    return f",.{max(3 - power, 0)}f" if -4 < power < 9 else ".4g"
