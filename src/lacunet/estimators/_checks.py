"""Checks of what an estimator is given: parameters, tables, targets, weights."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    compute_sample_weight,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._columns import (
    as_narwhals,
    as_table,
    check_in_memory,
    find_observed,
    is_frame,
)
from lacunet.estimators._scaling import METHODS
from lacunet.exceptions import warn_user

# Least integer; least and largest number; choices.
_INTEGERS = {
    "max_categories": 2,
    "max_epochs": 1,
    "n_samples": 1,
    "n_units": 1,
}
_NUMBERS = {
    "gamma": (0.0, math.inf),
    "density_loss_weight": (0.0, math.inf),
    "mask_augmentation": (0.0, 0.5),
    "masked_fraction": (0.0, 1.0),
    "dropout": (0.0, 0.95),
    "weight_decay": (0.0, math.inf),
    "lr": (1e-12, math.inf),
    "validation_fraction": (0.01, 0.5),
}
_CHOICES = {
    "on_unseen_missing": ("warn", "use", "raise"),
    "propagate": ("expectation", "sample"),
    "device": ("cpu", "cuda", "mps", "auto"),
    "scale": METHODS,
    "schedule": ("constant", "one-cycle"),
}
# They may be changed on a fitted model.
_OF_PREDICTION = ("on_unseen_missing", "propagate", "n_samples")
# Sums of larger weights may overflow.
_HUGE = 1e30

_DEVICES: dict[str, Callable[[], bool]] = {
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
    "cpu": lambda: True,
}


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator, whichever of them it has."""
    for name, value in estimator.get_params(deep=False).items():
        _check(name, value)
    find_device(estimator.device)


def check_prediction_parameters(estimator: Any) -> None:
    """Check those that may have been changed on a fitted model."""
    for name in _OF_PREDICTION:
        if hasattr(estimator, name):
            _check(name, getattr(estimator, name))


def find_device(device: str) -> torch.device:
    """Return the named device, or with "auto" the best one."""
    available = [name for name, is_available in _DEVICES.items() if is_available()]
    if device != "auto" and device not in available:
        msg = (
            f"Got device={device!r}, but expected one that torch finds on this "
            f"machine: {', '.join(available)}. Use 'auto' for the first of them."
        )
        raise ValueError(msg)
    return torch.device(available[0] if device == "auto" else device)


def _check(name: str, value: Any) -> None:
    if name in _INTEGERS:
        least = _INTEGERS[name]
        if not _is_integer(value, least):
            _refuse(name, value, f"an integer of at least {least}")
    elif name in _NUMBERS:
        _check_number(value, *_NUMBERS[name], name)
    elif name in _CHOICES:
        check_choice(value, _CHOICES[name], name)
    elif name == "time_limit" and value is not None:
        _check_number(value, 0.0, math.inf, name)
    elif name in _OTHERS:
        is_valid, expected = _OTHERS[name]
        if not is_valid(value):
            _refuse(name, value, expected)


def _refuse(name: str, value: Any, expected: str) -> None:
    msg = f"Got {name}={value!r}, but expected {expected}."
    raise ValueError(msg)


def _is_integer(value: Any, least: int) -> bool:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and value >= least


def _check_number(value: Any, least: float, most: float, name: str) -> None:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not least <= value <= most or not math.isfinite(value):
        bounds = (
            f"from {least:g} to {most:g}" if math.isfinite(most) else f">= {least:g}"
        )
        _refuse(name, value, f"a number {bounds}")


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_sizes(value: Any, n: int | None = None) -> bool:
    several = isinstance(value, (tuple, list, np.ndarray)) and len(value) > 0
    return (
        several
        and (n is None or len(value) == n)
        and all(_is_integer(size, 1) for size in value)
    )


_OTHERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "image_shape": (
        lambda value: value is None or _is_sizes(value, 2),
        "None, or a pair of positive integers: height and width",
    ),
    "density": (
        lambda value: _is_auto(value) or isinstance(value, IncompleteGaussianMixture),
        "'auto' or an IncompleteGaussianMixture with the parameters that you want",
    ),
    "hidden_layer_sizes": (_is_sizes, "a tuple of at least one positive integer"),
    "batch_size": (
        lambda value: _is_auto(value) or _is_integer(value, 1),
        "'auto' or an integer of at least 1",
    ),
    "n_networks": (
        lambda value: _is_auto(value) or _is_integer(value, 1),
        "'auto' or an integer of at least 1",
    ),
    "indicator": (
        lambda value: isinstance(value, (bool, np.bool_)) or _is_auto(value),
        "True, False or 'auto'",
    ),
    "train_density": (
        lambda value: isinstance(value, (bool, np.bool_)),
        "True or False",
    ),
}


# --- tables


def read_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check a table as scikit-learn does, and return a frame as it is, else an array.

    Sets ``n_features_in_`` and, for frames with names, ``feature_names_in_`` on the
    estimator if ``reset`` (in ``fit``), and compares with them otherwise. NaN may be
    anywhere.
    """
    if (
        not reset
        and type(X) is np.ndarray
        and X.dtype.kind == "f"
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    ):
        # A shortcut for single rows. Infinities are found when the table is encoded.
        return X
    if not is_frame(X):
        check_in_memory(X)
        table = as_table(X) if isinstance(X, (list, tuple, np.ma.MaskedArray)) else X
        return validate_data(
            estimator, table, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )
    n_rows, n_columns = as_narwhals(X).shape
    for size, what in ((n_rows, "sample"), (n_columns, "feature")):
        if size == 0:
            msg = (
                f"Found array with 0 {what}(s) (shape={(n_rows, n_columns)}) while a "
                f"minimum of 1 is required by {type(estimator).__name__}."
            )
            raise ValueError(msg)
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


# --- weights and targets


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
    if not _are_weights(weights):
        msg = (
            "Got sample_weight with negative, infinite or missing values, or zeros "
            "only, but expected finite weights of at least 0, some of them above."
        )
        raise ValueError(msg)
    # Huge ones are scaled down; whole ones stay whole.
    return weights / weights.max() if weights.max() > _HUGE else weights


def _are_weights(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all() and values.any())


def class_factors(
    class_weight: Any, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the weight of each row's class; rows count by their own weights."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        _, codes = np.unique(labels, return_inverse=True)
        totals = np.bincount(codes, weights)
        even = totals.sum() / np.count_nonzero(totals)
        # A class whose rows are all left out has no weight, and needs none.
        balanced: np.ndarray = even / np.where(totals > 0, totals, 1.0)[codes]
        return balanced
    factors: np.ndarray = compute_sample_weight(class_weight, labels)
    if not _are_weights(factors):
        msg = (
            f"Got class_weight={class_weight!r}, but expected finite weights of at "
            f"least 0, some of them above."
        )
        raise ValueError(msg)
    return factors


def check_given(y: Any, estimator: Any) -> None:
    """Refuse to go on without a target, in scikit-learn's words."""
    if y is None:
        name = type(estimator).__name__
        msg = (
            f"This {name} estimator requires y to be passed, but the target y is None."
        )
        raise ValueError(msg)


def _check_observed(y: Any) -> None:
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
    """Return the labels as a vector of observed values."""
    _check_observed(y)
    # As an array first: scikit-learn makes floats of nullable integers and booleans.
    values = np.asarray(y)
    labels: np.ndarray = column_or_1d(values if values.ndim else y, warn=True)
    if labels.dtype.kind in "fc":
        check_array(labels, ensure_2d=False, input_name="y")
    check_classification_targets(labels)
    return labels


def find_classes(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the classes of rows with weight, and warn of those of one row only."""
    seen = weights > 0
    classes, codes = np.unique(labels[seen], return_inverse=True)
    # A row that counts twice is two rows.
    counts = np.bincount(codes, np.maximum(weights[seen], 1.0))
    if len(classes) > 1 and (counts == 1).any():
        msg = (
            f"Got classes with one row only: {classes[counts == 1][:5].tolist()}. They "
            f"are kept, but networks that validate on this row never see them."
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


def check_numbers(y: Any) -> np.ndarray:
    """Return the targets of a regression, (n_samples,) or (n_samples, outputs)."""
    _check_observed(y)
    if np.asarray(y).dtype.kind in "mM":
        msg = (
            "Got y of dates or durations, but expected numbers. Convert them, for "
            "instance to days since the first one."
        )
        raise TypeError(msg)
    values: np.ndarray = check_array(
        y, ensure_2d=False, dtype=np.float64, input_name="y"
    )
    if values.ndim == 2 and values.shape[1] == 1:
        values = column_or_1d(values, warn=True)
    if values.ndim > 2:
        msg = (
            f"Got y of shape {values.shape}, but expected (n_samples,) or "
            f"(n_samples, n_outputs)."
        )
        raise ValueError(msg)
    return values


def check_pair(X_val: Any, y_val: Any) -> None:
    """Refuse rows to validate on without their targets, and the other way round."""
    for given, other, missing in (("X_val", y_val, "y_val"), ("y_val", X_val, "X_val")):
        if other is None:
            msg = f"Got {given} without {missing}, but expected both or none of them."
            raise ValueError(msg)
    check_consistent_length(X_val, y_val)
