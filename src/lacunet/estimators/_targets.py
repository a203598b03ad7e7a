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

from lacunet.estimators._reading import find_observed
from lacunet.exceptions import warn_user

# Sums of larger weights may overflow.
_HUGE = 1e30


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
    # Huge ones are brought down; whole ones stay whole.
    return weights / weights.max() if weights.max() > _HUGE else weights


def check_given(y: Any, estimator: Any) -> None:
    """Refuse to go on without a target, in scikit-learn's words."""
    if y is None:
        name = type(estimator).__name__
        msg = (
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
        raise ValueError(msg)


def _check_known(y: Any) -> None:
    """Refuse targets that are missing, whatever stands for them."""
    values = np.asarray(y)
    missing = False
    if values.dtype.kind == "f":
        missing = bool(np.isnan(values).any())
    elif values.dtype.kind == "O":
        missing = not find_observed(values.ravel().tolist()).all()
    if missing:
        msg = (
            "Got y with missing values: Input y contains NaN, but expected a target "
            "for each row. Give the rows without one as X_unlabelled: they still teach "
            "the density."
        )
        raise ValueError(msg)


def check_labels(y: Any) -> np.ndarray:
    """Return the labels as a vector of known values."""
    _check_known(y)
    # As an array first: scikit-learn makes floats of nullable integers and booleans.
    values = np.asarray(y)
    labels: np.ndarray = column_or_1d(values if values.ndim else y, warn=True)
    if labels.dtype.kind in "fc":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)
    return labels


def find_classes(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the classes of rows with weight, and name those of one row only."""
    seen = weights > 0
    classes, codes = np.unique(labels[seen], return_inverse=True)
    # A row that counts twice is two rows.
    counts = np.bincount(codes, np.maximum(weights[seen], 1.0))
    if len(classes) > 1 and (counts == 1).any():
        msg = (
            f"Got classes with one row only: {classes[counts == 1][:5].tolist()}. They "
            f"are kept, but the networks that hold this row back never see them."
        )
        warn_user(msg)
    found: np.ndarray = classes
    return found


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


def class_factors(
    class_weight: Any, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the weight of each row's class; rows count by their own weights."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        _, codes = np.unique(labels, return_inverse=True)
        masses = np.bincount(codes, weights)
        even = masses.sum() / np.count_nonzero(masses)
        # A class whose rows are all left out has no mass, and needs none.
        balanced: np.ndarray = even / np.where(masses > 0, masses, 1.0)[codes]
        return balanced
    factors: np.ndarray = compute_sample_weight(class_weight, labels)
    if not np.isfinite(factors).all() or (factors < 0).any() or not factors.any():
        msg = (
            f"Got class_weight={class_weight!r}, but expected finite weights of at "
            f"least 0, some of them above."
        )
        raise ValueError(msg)
    return factors


def check_pair(X_val: Any, y_val: Any) -> None:
    """Refuse rows to validate on without their targets, and the other way round."""
    for given, other, missing in (("X_val", y_val, "y_val"), ("y_val", X_val, "X_val")):
        if other is None:
            msg = f"Got {given} without {missing}, but expected both or none of them."
            raise ValueError(msg)
    check_consistent_length(X_val, y_val)


def check_outputs(y_val: np.ndarray, y: np.ndarray) -> None:
    """Refuse targets to validate on of another shape than those to learn from."""
    if y_val.shape[1:] != y.shape[1:]:
        msg = (
            f"Got y_val of shape {y_val.shape}, but expected as many outputs as y of "
            f"shape {y.shape} has."
        )
        raise ValueError(msg)


class TargetScale(NamedTuple):
    """Mean and spread of each output of a regression; 0 where it is constant."""

    centre: np.ndarray  # (outputs,)
    spread: np.ndarray  # (outputs,)

    @classmethod
    def of(cls, y: np.ndarray) -> "TargetScale":
        """Measure targets (rows, outputs), however their rows are ordered."""
        largest = np.abs(y).max(0)
        unit = np.where(largest > 0, largest, 1.0)  # whose squares neither overflow
        ordered = np.sort(y / unit, axis=0)
        constant = ordered[0] == ordered[-1]
        centre = np.where(constant, ordered[0], ordered.mean(0))
        return cls(centre * unit, np.where(constant, 0.0, ordered.std(0)) * unit)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Bring targets to scale."""
        scaled: np.ndarray = (y - self.centre) / np.where(self.spread, self.spread, 1)
        return scaled

    def inverse(self, outputs: np.ndarray) -> np.ndarray:
        """Bring outputs back."""
        y: np.ndarray = outputs * self.spread + self.centre
        return y


def check_numbers(y: Any) -> np.ndarray:
    """Return the targets of a regression, (n_samples,) or (n_samples, outputs)."""
    _check_known(y)
    if np.asarray(y).dtype.kind in "mM":
        msg = (
            "Got y of dates or durations, but expected numbers. Convert them, for "
            "instance to days since the first one."
        )
        raise TypeError(msg)
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
