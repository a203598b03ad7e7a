"""Checks at the public edge: what was got, what was expected, what to do."""

import math
import numbers
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.masked import MaskedTensor

_NO_LEVEL = -(2**40)  # below any sum over a group of columns


def branch_free() -> bool:
    """Return whether code may not look at data: compiled, traced, transformed."""
    return (
        torch.compiler.is_compiling()
        or torch._C._get_tracing_state() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
    )


def check_floating(x: object, name: str = "x") -> Tensor:
    """Return ``x`` if it is a floating-point tensor."""
    if not isinstance(x, Tensor):
        msg = (
            f"Got {name} of type {type(x).__name__}, but expected a torch.Tensor. "
            f"Convert it with torch.as_tensor({name}, dtype=torch.float32)."
        )
        raise TypeError(msg)
    if x.is_nested or isinstance(x, MaskedTensor):
        what = "NestedTensor" if x.is_nested else "MaskedTensor"
        msg = (
            f"Got {name} of type {what}, but expected a plain tensor with NaN where a "
            f"value is missing. Convert it: torch.nested.to_padded_tensor({name}, "
            f"torch.nan), or {name}.to_tensor(torch.nan)."
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
    """Return ``x`` if it is a float tensor with ``n_features`` columns."""
    tensor = check_floating(x, name)
    if tensor.ndim == 0 or tensor.shape[-1] != n_features:
        msg = (
            f"Got {name} of shape {tuple(tensor.shape)}, but expected "
            f"(*, {n_features}): the density is over {n_features} features."
        )
        raise ValueError(msg)
    return tensor


def check_rows(x: object, n_features: int, name: str = "x") -> Tensor:
    """Return ``x`` if it is a float tensor of shape (batch, n_features)."""
    tensor = check_batch(x, n_features, name)
    if tensor.ndim != 2:
        msg = (
            f"Got {name} of shape {tuple(tensor.shape)}, but expected "
            f"(batch, {n_features})."
        )
        raise ValueError(msg)
    return tensor


def check_no_infinity(values: Tensor, name: str = "x") -> None:
    """Refuse infinities; NaN must be gone from ``values`` already."""
    if torch.compiler.is_compiling():
        if not torch.compiler.is_exporting():
            msg = f"Got an infinite value in {name}, but expected finite ones, or NaN."
            torch._assert_async(torch.isfinite(values).all(), msg)
        return
    if torch._C._get_tracing_state() is not None:
        return
    while torch._C._functorch.is_functorch_wrapped_tensor(values):
        values = torch._C._functorch.get_unwrapped(values)
    # The sum of finite numbers is finite unless it overflows: one cheap pass.
    if math.isfinite(values.detach().sum()):
        return
    infinite = torch.isinf(values)
    if bool(infinite.any()):
        place = tuple(infinite.nonzero()[0].tolist())
        msg = (
            f"Got an infinite value in {name} at index {place}, but expected finite "
            f"numbers, or NaN where a value is missing."
        )
        raise ValueError(msg)


def hide(x: Tensor, mask: object) -> Tensor:
    """Return ``x`` with NaN where ``mask`` is False."""
    if mask is None:
        return x
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        what = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        msg = (
            f"Got mask of type {what}, but expected a bool tensor, True where a value "
            f"is observed. Convert it with mask.bool()."
        )
        raise TypeError(msg)
    check_shape(mask, x.shape, "mask")
    return x.masked_fill(~mask, torch.nan)


def check_same_dtype(x: Tensor, parameter: Tensor, name: str = "x") -> None:
    """Refuse a batch of another floating dtype than the parameters'."""
    if x.dtype != parameter.dtype:
        msg = (
            f"Got {name} of dtype {x.dtype}, but expected {parameter.dtype}, the dtype "
            f"of the parameters. Convert one: {name}.to({parameter.dtype}), or "
            f"layer.to({x.dtype})."
        )
        raise TypeError(msg)


def check_positive_int(value: object, name: str) -> int:
    """Return ``value`` if it is an integer of at least one."""
    msg = f"Got {name}={value!r}, but expected an integer of at least 1."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(msg)
    if value < 1:
        raise ValueError(msg)
    return int(value)


def check_dtype(dtype: torch.dtype | None) -> torch.dtype | None:
    """Return ``dtype`` if parameters can be of it."""
    if dtype is not None and not dtype.is_floating_point:
        msg = f"Got dtype={dtype}, but expected a floating-point dtype."
        raise TypeError(msg)
    return dtype


def check_gamma(gamma: float | Tensor, n_features: int) -> float | Tensor:
    """Return ``gamma`` if it is one number, or one a feature, and none is negative."""
    if isinstance(gamma, Tensor):
        if gamma.ndim > 0:
            check_shape(gamma, (n_features,), "gamma")
        fine = bool((torch.isfinite(gamma) & (gamma >= 0)).all())
    elif isinstance(gamma, numbers.Real):
        fine = math.isfinite(gamma) and gamma >= 0
    else:
        msg = f"Got gamma={gamma!r}, but expected a number or a tensor."
        raise TypeError(msg)
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


def check_sizes(sizes: object) -> tuple[int, ...]:
    """Return the numbers of levels of categorical columns as a tuple."""
    if isinstance(sizes, str) or not isinstance(sizes, Sequence):
        msg = f"Got sizes={sizes!r}, but expected a sequence of integers."
        raise TypeError(msg)
    return tuple(check_positive_int(size, "an entry of sizes") for size in sizes)


def check_levels(x: Tensor, n_numeric: int, sizes: Sequence[int]) -> None:
    """Refuse groups of ``x`` that are neither one-hot nor missing altogether."""
    if branch_free() or not sizes:
        return
    levels = x[:, n_numeric:].detach()
    count = torch.tensor(sizes, device=x.device)
    group = torch.repeat_interleave(count)  # of every column
    # A valid group sums to its size: a missing cell counts 1, a single 1 counts all.
    known = (levels == 0) | (levels == 1)
    cells = torch.where(known, levels.nan_to_num().long() * count[group], _NO_LEVEL)
    cells = torch.where(torch.isnan(levels), 1, cells)
    total = cells.new_zeros((len(x), len(sizes))).index_add_(1, group, cells)
    wrong = total != count
    if bool(wrong.any()):
        row, place = wrong.nonzero()[0].tolist()
        start = n_numeric + sum(sizes[:place])
        end = start + sizes[place]
        msg = (
            f"Got {x[row, start:end].tolist()} in columns {start} to {end - 1} of row "
            f"{row} of x, but expected a category: a single 1 among 0, or NaN in all "
            f"of these columns where it is missing."
        )
        raise ValueError(msg)
