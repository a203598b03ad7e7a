"""What is asked of each row: checked, and brought to the form that networks take."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    compute_sample_weight,
)
from sklearn.utils.multiclass import check_classification_targets


def check_weights(sample_weight: Any, y: np.ndarray, X: Any) -> np.ndarray:
    """Return the weights of the rows, one for each of them."""
    check_consistent_length(X, y)
    if sample_weight is None:
        return np.ones(len(y))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(len(y), float(weights))
    if weights.shape != (len(y),):
        msg = (
            f"Got sample_weight of shape {weights.shape}, but expected ({len(y)},): "
            f"one weight for each row."
        )
        raise ValueError(msg)
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        msg = (
            "Got sample_weight with negative, infinite or missing values, or zeros "
            "only, but expected finite weights of at least 0, some of them above."
        )
        raise ValueError(msg)
    return weights


def check_given(y: Any, estimator: Any) -> None:
    """Refuse to go on without a target, in scikit-learn's words."""
    if y is None:
        name = type(estimator).__name__
        msg = (
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
        raise ValueError(msg)


def check_labels(y: Any) -> np.ndarray:
    """Return the labels as a vector of known values."""
    labels: np.ndarray = column_or_1d(y, warn=True)
    if labels.dtype.kind in "fc":
        check_array(labels, ensure_2d=False, input_name="y")
    elif labels.dtype == object and any(
        value is None or value != value for value in labels
    ):
        msg = (
            "Got y with missing labels, but expected one for each row. Give the rows "
            "without a label as X_unlabelled: they still teach the density."
        )
        raise ValueError(msg)
    check_classification_targets(labels)
    return labels


def encode_labels(labels: np.ndarray, classes: np.ndarray, name: str) -> np.ndarray:
    """Return the index of each label's class."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        msg = (
            f"Got {name} with {np.unique(labels[unknown])[:5].tolist()}, but expected "
            f"the classes of y."
        )
        raise ValueError(msg)
    return np.searchsorted(classes, labels).astype(np.int64)


def class_weights(class_weight: Any, y: np.ndarray) -> np.ndarray:
    """Return the weight of each row's class."""
    weights: np.ndarray = compute_sample_weight(class_weight, y)
    return weights


class TargetScale(NamedTuple):
    """Mean and spread of each output of a regression."""

    centre: np.ndarray  # (outputs,)
    spread: np.ndarray  # (outputs,)

    @classmethod
    def of(cls, y: np.ndarray) -> "TargetScale":
        """Measure targets (rows, outputs), however their rows are ordered."""
        ordered = np.sort(y, axis=0)
        spread = ordered.std(0)
        return cls(ordered.mean(0), np.where(spread > 0, spread, 1.0))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Bring targets to scale."""
        scaled: np.ndarray = (y - self.centre) / self.spread
        return scaled

    def inverse(self, outputs: np.ndarray) -> np.ndarray:
        """Bring outputs back."""
        y: np.ndarray = outputs * self.spread + self.centre
        return y


def check_numbers(y: Any) -> np.ndarray:
    """Return the targets of a regression, (n_samples,) or (n_samples, outputs)."""
    numbers: np.ndarray = check_array(
        y, ensure_2d=False, dtype=np.float64, input_name="y"
    )
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = column_or_1d(numbers, warn=True)
    if numbers.ndim > 2:
        msg = (
            f"Got y of shape {numbers.shape}, but expected (n_samples,) or "
            f"(n_samples, n_outputs)."
        )
        raise ValueError(msg)
    return numbers
