"""Between a fitted estimator and the two files of a model."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._saving import AnyPath
from lacunet.exceptions import LacunetError

Value = TypeVar("Value")


def pack_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON-able values."""
    return {name: _pack(value, name) for name, value in parameters.items()}


def _pack(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list, np.ndarray)):
        return {"list": [_pack(item, name) for item in value]}
    if isinstance(value, dict):
        items = value.items()
        return {"dict": [[_pack(key, name), _pack(item, name)] for key, item in items]}
    if isinstance(value, IncompleteGaussianMixture):
        return {"mixture": pack_parameters(value.get_params(deep=False))}
    if name == "random_state":
        return None  # a generator has no name; the model is fitted already
    msg = (
        f"Got {name}={value!r}, but expected something that can be written to a model "
        f"file without code: a number, a text, a tuple of them or, for density, an "
        f"IncompleteGaussianMixture. Give an activation by its name."
    )
    raise LacunetError(msg)


def unpack_parameters(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters from what ``pack_parameters`` returned."""
    return {name: _unpack(value) for name, value in state.items()}


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "list":
        return tuple(_unpack(item) for item in content)
    if kind == "dict":
        return {_unpack(key): _unpack(item) for key, item in content}
    if kind == "mixture":
        return IncompleteGaussianMixture(**unpack_parameters(content))
    msg = f"a parameter of unknown kind {kind!r}"
    raise ValueError(msg)


def pack_array(array: np.ndarray) -> dict[str, Any]:
    """Return an array of labels or names as JSON-able values."""
    kind = "O" if array.dtype.kind in "OT" else array.dtype.str
    values = [value.item() if hasattr(value, "item") else value for value in array]
    if not all(isinstance(value, (str, int, float, bool)) for value in values):
        msg = (
            f"Got classes or names such as {values[0]!r}, but expected texts, numbers "
            f"or booleans: others can't be written to a model file without code."
        )
        raise LacunetError(msg)
    return {"dtype": kind, "values": values}


def unpack_array(state: Mapping[str, Any]) -> np.ndarray:
    """Return the array of what ``pack_array`` returned."""
    dtype = np.dtype(state["dtype"])
    if dtype.kind not in "OUbiuf":
        msg = f"an array of dtype {dtype}"
        raise ValueError(msg)
    return np.array(state["values"], dtype=dtype)


def check_agreement(**pairs: tuple[Any, Any]) -> None:
    """Refuse parts of a model that contradict each other, by what they say of a thing.

    Parameters
    ----------
    **pairs : tuple of (found, expected)
    """
    for name, (found, expected) in pairs.items():
        if found != expected:
            msg = f"{name} is {found!r} in one place and {expected!r} in another"
            raise ValueError(msg)


def check_no_nan(tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors in which something is no number."""
    for name, tensor in tensors.items():
        if bool(torch.isnan(tensor).any()):
            msg = f"the tensor {name} holds NaN"
            raise ValueError(msg)


def reading(path: AnyPath, read: Callable[[], Value]) -> Value:
    """Call ``read``, and turn what a wrong file makes of it into a clear error."""
    try:
        return read()
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        msg = (
            f"Got a model in {path} whose content does not fit together ({error}), but "
            f"expected one written by save. Save it again."
        )
        raise LacunetError(msg) from error
