"""What follows from a module's parameters, computed once as long as these stay."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from lacunet._validation import branch_free

T = TypeVar("T")

# By module and name: where the tensors lay and which version they were, aliases that
# keep their memory from being used by others, and the value.
_Entry = tuple[list[tuple[int, int]], list[Tensor], Any]
_KEPT: WeakKeyDictionary[nn.Module, dict[str, _Entry]] = WeakKeyDictionary()


def remember(
    owner: nn.Module, name: str, tensors: Iterable[Tensor], compute: Callable[[], T]
) -> T:
    """Return ``compute()``, from memory if the tensors that it uses are as they were.

    Where gradients have to flow to one of them, it is computed each time.
    """
    tensors = list(tensors)
    gradients = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    if gradients or branch_free() or any(t.is_inference() for t in tensors):
        return compute()
    state = [(tensor.data_ptr(), tensor._version) for tensor in tensors]
    kept = _KEPT.setdefault(owner, {})
    found = kept.get(name)
    if found is None or found[0] != state:
        with torch.inference_mode(False), torch.no_grad():
            found = (state, [tensor.detach() for tensor in tensors], compute())
        kept[name] = found
    value: T = found[2]
    return value
