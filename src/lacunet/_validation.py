"""Checks at the public edge: what was got, what was expected, what to do."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def check_floating(x: object, name: str = "x") -> Tensor:
    """Return ``x`` if it is a floating-point tensor."""
    if not isinstance(x, Tensor):
        msg = (
            f"Got {name} of type {type(x).__name__}, but expected a torch.Tensor. "
            f"Convert it with torch.as_tensor({name}, dtype=torch.float32)."
        )
        raise TypeError(msg)
    if not x.is_floating_point():
        msg = (
            f"Got {name} of dtype {x.dtype}, but expected a floating-point tensor: "
            f"only floats can hold NaN. Convert it with {name}.float()."
        )
        raise TypeError(msg)
    return x


def check_batch(x: object, n_features: int, name: str = "x") -> Tensor:
    """Return ``x`` if it is a non-empty float tensor with ``n_features`` columns."""
    tensor = check_floating(x, name)
    if tensor.ndim == 0 or tensor.shape[-1] != n_features:
        msg = (
            f"Got {name} of shape {tuple(tensor.shape)}, but expected "
            f"(*, {n_features}): the density is over {n_features} features."
        )
        raise ValueError(msg)
    if not torch.compiler.is_compiling() and tensor.numel() == 0:
        msg = (
            f"Got {name} of shape {tuple(tensor.shape)}, an empty batch, "
            f"but expected at least one row."
        )
        raise ValueError(msg)
    return tensor


def check_no_infinity(values: Tensor, name: str = "x") -> None:
    """Refuse infinities; NaN must be gone from ``values`` already."""
    # The sum of finite numbers is finite unless it overflows: one cheap pass.
    if torch.compiler.is_compiling() or bool(torch.isfinite(values.sum())):
        return
    infinite = torch.isinf(values)
    if bool(infinite.any()):
        place = tuple(infinite.nonzero()[0].tolist())
        msg = (
            f"Got an infinite value in {name} at index {place}, but expected finite "
            f"numbers, or NaN where a value is missing."
        )
        raise ValueError(msg)


def check_same_dtype(x: Tensor, parameter: Tensor, name: str = "x") -> None:
    """Refuse a batch of another floating dtype than the parameters'."""
    if x.dtype != parameter.dtype:
        msg = (
            f"Got {name} of dtype {x.dtype}, but expected {parameter.dtype}, the dtype "
            f"of the layer. Convert one: {name}.to({parameter.dtype}), or "
            f"layer.to({x.dtype})."
        )
        raise TypeError(msg)


def check_positive_int(value: object, name: str) -> int:
    """Return ``value`` if it is an integer of at least one."""
    if isinstance(value, bool) or not isinstance(value, int):
        msg = f"Got {name}={value!r}, but expected an integer of at least 1."
        raise TypeError(msg)
    if value < 1:
        msg = f"Got {name}={value!r}, but expected an integer of at least 1."
        raise ValueError(msg)
    return value


def check_gamma(gamma: float | Tensor) -> float | Tensor:
    """Return ``gamma`` if every entry is finite and not negative."""
    if isinstance(gamma, Tensor):
        fine = bool((torch.isfinite(gamma) & (gamma >= 0)).all())
    else:
        fine = math.isfinite(gamma) and gamma >= 0
    if not fine:
        msg = (
            f"Got gamma={gamma!r}, but expected a finite number of at least 0 "
            f"(0: the conditional density; large: the marginal density)."
        )
        raise ValueError(msg)
    return gamma


def check_shape(x: Tensor, shape: Sequence[int], name: str) -> Tensor:
    """Return ``x`` if it has this shape."""
    if tuple(x.shape) != tuple(shape):
        msg = f"Got {name} of shape {tuple(x.shape)}, but expected {tuple(shape)}."
        raise ValueError(msg)
    return x


def check_choice(value: object, choices: Sequence[str], name: str) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        msg = f"Got {name}={value!r}, but expected one of {', '.join(choices)}."
        raise ValueError(msg)
    return str(value)
