"""Checks of what an estimator is given: parameters, tables, targets, weights."""

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import narwhals.stable.v2 as nw
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

from lacunet._text import list_names
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._columns import as_table
from lacunet.estimators._encoding import METHODS, Bounds
from lacunet.exceptions import warn_user
from lacunet.missingness import find_observed

# They may be changed on a fitted model.
OF_PREDICTION = (
    "missing_columns",
    "on_unseen_missing",
    "propagate",
    "n_samples",
    "shift",
)
# Sums of larger weights may overflow.
_HUGE = 1e30

_DEVICES: dict[str, Callable[[], bool]] = {
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
    "cpu": lambda: True,
}


class CheckedEstimator(BaseEstimator):
    """Base of the estimators: what they take, and errors that help."""

    def __sklearn_tags__(self) -> Any:
        """Declare that tables may have missing values, categories and strings."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, and of its density as ``density__<name>``.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self
        """
        nested = [name for name in params if name.startswith("density__")]
        density = params.get("density", getattr(self, "density", None))
        if nested and not isinstance(density, BaseEstimator):
            msg = (
                f"Got {nested[0]}={params[nested[0]]!r}, but density is {density!r}, "
                f"which has no such parameter: it chooses the mixture itself. Give "
                f"density=IncompleteGaussianMixture() to set parameters of it."
            )
            raise ValueError(msg)
        return cast("Self", super().set_params(**params))


def check_parameters(estimator: Any) -> None:
    """Check the parameters of an estimator, whichever of them it has."""
    _check(estimator.get_params(deep=False))
    find_device(estimator.device)


def check_prediction_parameters(estimator: Any) -> None:
    """Check those that may have been changed on a fitted model."""
    names = [name for name in OF_PREDICTION if hasattr(estimator, name)]
    _check({name: getattr(estimator, name) for name in names})


def _check(parameters: Mapping[str, Any]) -> None:
    for name, value in parameters.items():
        is_valid, expected = _RULES.get(name, (lambda _: True, ""))
        if not is_valid(value):
            msg = f"Got {name}={value!r}, but expected {expected}."
            raise ValueError(msg)


def check_no_more(estimator: Any, unknown: Mapping[str, Any]) -> None:
    """Refuse further arguments of ``fit``; groups with the way to have them."""
    for name in unknown:
        msg = f"{type(estimator).__name__}.fit() got an unexpected argument {name!r}."
        if name == "groups":
            msg += " Give the rows of some of the groups as X_val and y_val instead."
        raise TypeError(msg)


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


# --- rules of parameters

# Whether a value is as it must be, and that in words.
Rule = tuple[Callable[[Any], bool], str]


def _number(least: float, most: float = math.inf, kind: type = numbers.Real) -> Rule:
    def is_valid(value: Any) -> bool:
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and bool(least <= value <= most)

    what = "a number" if kind is numbers.Real else "an integer"
    end = (
        f"of at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
    )
    return is_valid, f"{what} {end}"


def _integer(least: int) -> Rule:
    return _number(least, kind=numbers.Integral)


def _choice(*choices: str) -> Rule:
    return lambda v: isinstance(v, str) and v in choices, f"one of {', '.join(choices)}"


def _either(special: Any, rule: Rule) -> Rule:
    """Allow one value more: "auto" or None."""
    is_valid, expected = rule
    same_type = type(special)
    return (
        lambda v: (isinstance(v, same_type) and v == special) or is_valid(v),
        f"{special!r} or {expected}",
    )


def _sizes(value: Any) -> bool:
    several = isinstance(value, (tuple, list, np.ndarray)) and len(value) > 0
    return several and all(map(_integer(1)[0], value))


_BOOLEAN: Rule = (lambda v: isinstance(v, (bool, np.bool_)), "True or False")
_RULES: dict[str, Rule] = {
    "max_categories": _integer(2),
    "max_epochs": _either("auto", _integer(1)),
    "n_samples": _integer(1),
    "n_units": _integer(1),
    "batch_size": _either("auto", _integer(1)),
    "n_networks": _either("auto", _integer(1)),
    "gamma": _number(0.0),
    "density_loss_weight": _number(0.0),
    "mask_augmentation": _either("auto", _number(0.0, 0.5)),
    "masked_fraction": _number(0.0, 1.0),
    "dropout": _number(0.0, 0.95),
    "weight_decay": _number(0.0),
    "lr": _number(1e-12),
    "validation_fraction": _number(0.01, 0.5),
    "time_limit": _either(None, _number(0.0)),
    "missing_columns": _choice("raise", "use"),
    "on_unseen_missing": _choice("warn", "use", "raise"),
    "propagate": _choice("auto", "expectation", "sample"),
    "scale": _choice(*METHODS),
    "schedule": _choice("constant", "one-cycle"),
    "shift": (
        lambda v: all(
            map(_number(-math.inf)[0], v.values() if isinstance(v, dict) else [v])
        ),
        "a finite number, or a dict of numbers by the names of columns",
    ),
    "keep_rows": _BOOLEAN,
    "train_density": _BOOLEAN,
    "warm_start": _BOOLEAN,
    "calibration": _BOOLEAN,
    "indicator": _either("auto", _BOOLEAN),
    "hidden_layer_sizes": (_sizes, "a tuple of at least one positive integer"),
    "image_shape": _either(
        None, (lambda v: _sizes(v) and len(v) == 2, "a pair of positive integers")
    ),
    "density": _either(
        "auto",
        (
            lambda v: isinstance(v, IncompleteGaussianMixture),
            "an IncompleteGaussianMixture with the parameters that you want",
        ),
    ),
}


# --- tables


def read_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check a table as scikit-learn does, and return a frame as it is, else an array.

    Sets ``n_features_in_`` and, for frames with names, ``feature_names_in_`` on the
    estimator if ``reset`` (in ``fit``), and compares with them otherwise. NaN may be
    anywhere. For an estimator with a parameter ``missing_columns`` the columns of a
    frame are found by their names.
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
    frame = X if type(X) is np.ndarray else as_table(X)
    if isinstance(frame, np.ndarray):
        return validate_data(
            estimator, frame, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )
    for size, what in zip(frame.shape, ("sample", "feature"), strict=True):
        if size == 0:
            msg = (
                f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum "
                f"of 1 is required by {type(estimator).__name__}."
            )
            raise ValueError(msg)
    missing_columns = getattr(estimator, "missing_columns", None)
    names = [*getattr(estimator, "feature_names_in_", ())]
    here = frame.columns
    absent = sorted(set(names) - set(here))
    if not reset and missing_columns and names and names != here:
        use = missing_columns == "use" and len(absent) < len(names)
        if set(here) <= set(names) and (use or not absent):
            empty = [nw.lit(None).alias(name) for name in absent]
            X = frame.with_columns(*empty).select(*names).to_native()
    try:
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        if absent and missing_columns == "raise":
            error.add_note("Set missing_columns='use' to count them as missing.")
        raise


def read_bounds(
    estimator: BaseEstimator, table: Any, lower: Any, upper: Any
) -> Bounds | None:
    """Return bounds of the cells of a table, as arrays of its shape; None if none."""
    if lower is None and upper is None:
        return None
    ends = []
    for name, given, none in (("lower", lower, -np.inf), ("upper", upper, np.inf)):
        if given is None:
            ends.append(np.full(table.shape, np.nan))
            continue
        is_frame = hasattr(given, "columns") or hasattr(given, "column_names")
        cells = _bounds_by_name(estimator, given, name) if is_frame else given
        if type(cells) is not np.ndarray:
            cells = np.array(cells, dtype=object)
        if cells.dtype.kind == "O":
            observed = find_observed(cells.ravel()).reshape(cells.shape)
            cells = np.where(observed, cells, np.nan)
        try:
            end = cells.astype(np.float64)
        except (TypeError, ValueError) as error:
            msg = f"Got {name} that is not of numbers ({error}), but expected bounds."
            raise TypeError(msg) from error
        if end.shape != tuple(table.shape):
            msg = (
                f"Got {name} of shape {end.shape}, but expected {tuple(table.shape)}, "
                f"a bound for each cell of X: NaN where there is none."
            )
            raise ValueError(msg)
        if (end == -none).any():
            msg = f"Got {name} with {-none}, but expected numbers, NaN or {none}."
            raise ValueError(msg)
        ends.append(np.where(end == none, np.nan, end))
    return Bounds(*ends)


def _bounds_by_name(estimator: BaseEstimator, given: Any, name: str) -> np.ndarray:
    """Return a frame of bounds as an array; columns that it lacks have none."""
    frame: Any = as_table(given)
    names = [*getattr(estimator, "feature_names_in_", frame.columns)]
    if unknown := [each for each in frame.columns if each not in names]:
        msg = (
            f"Got {name} with the columns {list_names(unknown)}, but expected those of "
            f"X: {list_names(names)}."
        )
        raise ValueError(msg)
    absent = [nw.lit(None).alias(each) for each in names if each not in frame.columns]
    cells: np.ndarray = frame.with_columns(*absent).select(*names).to_numpy()
    return cells


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
        return np.asarray(even / np.where(totals > 0, totals, 1.0)[codes])
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
    if not find_observed(np.asarray(y).ravel()).all():
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
    return np.asarray(classes)


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
    """Return the targets of a regression, (n_samples,) or (n_samples, outputs).

    Of several outputs some may be missing, which are NaN.
    """
    given = np.asarray(y)
    several = given.ndim == 2 and given.shape[1] > 1
    if not several:
        _check_observed(y)
    cells = given.ravel().tolist() if given.dtype.kind in "OUTmM" else []
    others = [c for c in cells if isinstance(c, str) or given.dtype.kind in "mM"]
    if others:
        msg = (
            f"Got y with {others[0]!r}, but expected numbers. Convert dates to days, "
            f"and use a classifier if the strings are names of classes."
        )
        raise TypeError(msg)
    if several and cells:  # None and pd.NA as well
        observed = find_observed(given.ravel()).reshape(given.shape)
        y = np.where(observed, given, np.nan)
    values: np.ndarray = check_array(
        y,
        ensure_2d=False,
        dtype=np.float64,
        ensure_all_finite="allow-nan" if several else True,
        input_name="y",
    )
    single = values.ndim == 2 and values.shape[1] == 1
    return column_or_1d(values, warn=True) if single else values


def check_pair(X_val: Any, y_val: Any) -> None:
    """Refuse rows to validate on without their targets, and the other way round."""
    for given, other, missing in (("X_val", y_val, "y_val"), ("y_val", X_val, "X_val")):
        if other is None:
            msg = f"Got {given} without {missing}, but expected both or none of them."
            raise ValueError(msg)
    check_consistent_length(X_val, y_val)
