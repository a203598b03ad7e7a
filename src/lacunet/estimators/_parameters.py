"""Checks of the parameters that the estimators share."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from lacunet._validation import check_choice
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._scaling import METHODS

# What is checked of each parameter: its kind, its least value, whether None or "auto"
# is another choice.
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


def _check(name: str, value: Any) -> None:
    if name in _INTEGERS:
        _check_integer(value, _INTEGERS[name], name)
    elif name in _NUMBERS:
        _check_number(value, *_NUMBERS[name], name)
    elif name in _CHOICES:
        check_choice(value, _CHOICES[name], name)
    elif name in _OTHERS:
        _OTHERS[name](value)


def _check_integer(value: Any, least: int, name: str) -> None:
    fine = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not fine or value < least:
        msg = f"Got {name}={value!r}, but expected an integer of at least {least}."
        raise ValueError(msg)


def _check_number(value: Any, least: float, most: float, name: str) -> None:
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not fine or not least <= value <= most or not math.isfinite(value):
        bounds = (
            f"from {least:g} to {most:g}" if math.isfinite(most) else f">= {least:g}"
        )
        msg = f"Got {name}={value!r}, but expected a number {bounds}."
        raise ValueError(msg)


def _check_density(value: Any) -> None:
    auto = isinstance(value, str) and value == "auto"
    if not auto and not isinstance(value, IncompleteGaussianMixture):
        msg = (
            f"Got density={value!r}, but expected 'auto' or an "
            f"IncompleteGaussianMixture with the parameters that you want."
        )
        raise ValueError(msg)


def _check_hidden_layer_sizes(value: Any) -> None:
    several = isinstance(value, (tuple, list, np.ndarray))
    sizes = tuple(value) if several else (None,)
    if not sizes:
        sizes = (None,)
    for size in sizes:
        fine = isinstance(size, numbers.Integral) and not isinstance(size, bool)
        if not fine or size < 1:
            msg = (
                f"Got hidden_layer_sizes={value!r}, but expected a tuple of at least "
                f"one positive integer."
            )
            raise ValueError(msg)


def _check_batch_size(value: Any) -> None:
    if value != "auto":
        _check_integer(value, 1, "batch_size")


def _check_n_networks(value: Any) -> None:
    if value != "auto":
        _check_integer(value, 1, "n_networks")


def _check_time_limit(value: Any) -> None:
    if value is not None:
        _check_number(value, 0.0, math.inf, "time_limit")


def _check_indicator(value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)) and value != "auto":
        msg = f"Got indicator={value!r}, but expected True, False or 'auto'."
        raise ValueError(msg)


def _check_train_density(value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        msg = f"Got train_density={value!r}, but expected True or False."
        raise ValueError(msg)


def _check_image_shape(value: Any) -> None:
    if value is None:
        return
    pair = isinstance(value, (tuple, list)) and len(value) == 2
    if not pair or not all(isinstance(n, (int, np.integer)) and n > 0 for n in value):
        msg = (
            f"Got image_shape={value!r}, but expected None, or a pair of positive "
            f"integers: height and width."
        )
        raise ValueError(msg)


_OTHERS = {
    "image_shape": _check_image_shape,
    "density": _check_density,
    "hidden_layer_sizes": _check_hidden_layer_sizes,
    "batch_size": _check_batch_size,
    "n_networks": _check_n_networks,
    "time_limit": _check_time_limit,
    "indicator": _check_indicator,
    "train_density": _check_train_density,
}


def find_device(device: str) -> torch.device:
    """Return the device that was asked for, or the best there is."""
    there = [name for name, is_there in _DEVICES.items() if is_there()]
    if device != "auto" and device not in there:
        msg = (
            f"Got device={device!r}, but expected one that torch finds on this "
            f"machine: {', '.join(there)}. Use 'auto' for the first of them."
        )
        raise ValueError(msg)
    return torch.device(there[0] if device == "auto" else device)


_DEVICES: dict[str, Callable[[], bool]] = {
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
    "cpu": lambda: True,
}
