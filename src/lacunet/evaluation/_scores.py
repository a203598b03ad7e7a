"""Scores of predictions, row by row: metrics, trivial models, and their format."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.dummy import DummyClassifier, DummyRegressor

from lacunet.evaluation._target import Task
from lacunet.inspection import row_losses


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


# The first metric of a task, a loss, is the one that models are compared by. Accuracy
# is the last: of unbalanced classes, always predicting the larger one is accurate.
METRICS: Mapping[Task, tuple[Metric, ...]] = MappingProxyType(
    {
        "classification": (
            Metric("log_loss", "log-loss", False),
            Metric("auc", "AUC", True),
            Metric("accuracy", "accuracy", True),
        ),
        "regression": (Metric("rmse", "RMSE", False), Metric("r2", "R²", True)),
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
        each class, R² of a single row. With several classes the AUC is the mean over
        each class against the others.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation import score
    >>> score("regression", np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    {'rmse': 0.7071..., 'r2': -1.0}
    """
    targets = np.searchsorted(np.asarray(classes), y) if len(classes) else y
    return average(row_scores(task, targets, predicted))


RowScores = Mapping[str, np.ndarray | None]


def row_scores(task: Task, y: np.ndarray, predicted: np.ndarray) -> RowScores:
    """Return each score as the mean of a number a row; None where it is undefined.

    ``y`` has numbers, or indices of the columns. Scores that are no means over rows are
    linearised: their numbers have the standard error of the score (for the AUC, that of
    DeLong).
    """
    losses = row_losses(task, y, predicted)
    if task == "regression":
        mean, variance = losses.mean(), np.var(y)
        rmse = math.sqrt(mean)
        r2: np.ndarray | None = 1.0 - losses / variance if variance else None
        if not variance and len(y) > 1:  # as scikit-learn: perfect, or no better
            r2 = np.full(len(y), float(mean == 0))
        return {"rmse": rmse + (losses - mean) / (2 * rmse or 1.0), "r2": r2}
    n_rows, n_classes = predicted.shape
    aucs = []
    if len(np.unique(y)) == n_classes:
        for each in range(int(n_classes == 2), n_classes):
            event, values = y == each, predicted[:, each]
            n_same = np.where(event, event.sum(), (~event).sum())
            below = rankdata(values)  # of the other rows, after those of the same side
            for side in (event, ~event):
                below[side] -= rankdata(values[side])
            below /= n_rows - n_same
            placed = np.where(event, below, 1 - below)
            auc = placed[event].mean()
            aucs.append(auc + (placed - auc) * n_rows / n_same)
    return {
        "log_loss": losses,
        "auc": np.mean(aucs, 0) if aucs else None,
        "accuracy": (predicted.argmax(1) == y).astype(np.float64),
    }


def average(scores: RowScores) -> dict[str, float | None]:
    """Return the means over rows."""
    return {k: None if e is None else float(e.mean()) for k, e in scores.items()}


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


def predict(model: Any, X: Any, classes: np.ndarray, **bounds: Any) -> np.ndarray:
    """Return probabilities of all classes, or numbers if there are no classes."""
    if len(classes):
        probabilities = model.predict_proba(X, **bounds)
        return align_probabilities(probabilities, model.classes_, classes)
    return np.asarray(model.predict(X, **bounds))


def trivial_model(task: Task) -> Any:
    """Return a model that predicts the class frequencies or the mean for every row."""
    return DummyClassifier() if task == "classification" else DummyRegressor()


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
