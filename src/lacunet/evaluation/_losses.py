"""The loss of each row: what a score is the mean of, and how sure that mean is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.evaluation._task import Task


@dataclass(frozen=True)
class Estimate:
    """A number that was found on some rows.

    Attributes
    ----------
    value : float
    error : float or None
        Its standard error; None if a single row leaves it unknown.
    """

    value: float
    error: float | None

    @property
    def is_sure(self) -> bool:
        """Whether it is two standard errors away from 0."""
        return self.error is not None and abs(self.value) > 2 * self.error


def row_losses(
    task: Task,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: Sequence[Any] | np.ndarray = (),
) -> np.ndarray:
    """Return the log-loss or the squared error of each row.

    Parameters
    ----------
    task : {"classification", "regression"}
    y : ndarray of shape (n_samples,)
    predicted : ndarray of shape (n_samples,) or (n_samples, n_classes)
        As :func:`lacunet.evaluation.score` takes it.
    classes : sequence
        In the order of the columns, sorted.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._losses import row_losses
    >>> row_losses("regression", np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array([0., 4.])
    """
    if task == "regression":
        squares: np.ndarray = np.square(y - predicted)
        return squares
    shares = predicted / predicted.sum(1, keepdims=True)
    of_truth = shares[np.arange(len(y)), np.searchsorted(np.asarray(classes), y)]
    # Where scikit-learn cuts: a class that was ruled out has a finite loss.
    losses: np.ndarray = -np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0))
    return losses


def mean_loss(task: Task, losses: np.ndarray) -> float:
    """Return the first score of a task: the log-loss, or the root mean square.

    Parameters
    ----------
    task : {"classification", "regression"}
    losses : ndarray of shape (n_samples,)
        Of the rows.

    Returns
    -------
    float
    """
    mean = float(losses.mean())
    return mean if task == "classification" else float(np.sqrt(mean))


def compare_losses(
    task: Task, losses: np.ndarray, others: np.ndarray | float = 0.0
) -> Estimate:
    """Return by how much the first score differs on the same rows.

    Parameters
    ----------
    task : {"classification", "regression"}
    losses : ndarray of shape (n_samples,)
    others : ndarray of shape (n_samples,), default=0.0
        Those of another model, or of other rows. Compared with nothing, it is the score
        itself.

    Returns
    -------
    Estimate
        Of the former score less the latter. A root of means has the standard error that
        it has by its slope.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.evaluation._losses import compare_losses
    >>> compare_losses("classification", np.array([0.5, 0.7]), np.array([0.1, 0.4]))
    Estimate(value=0.35, error=0.05...)
    """
    beside = np.broadcast_to(others, losses.shape)
    value = mean_loss(task, losses) - mean_loss(task, beside)
    gaps = losses * _slope(task, losses) - beside * _slope(task, beside)
    n_rows = len(gaps)
    error = float(gaps.std(ddof=1) / np.sqrt(n_rows)) if n_rows > 1 else None
    return Estimate(value, error)


def _slope(task: Task, losses: np.ndarray) -> float:
    if task == "classification":
        return 1.0
    root = mean_loss(task, losses)
    return 0.5 / root if root else 0.0
