"""What follows from a module's parameters, computed once as long as these stay."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
_WANTED = ContextVar("wanted", default=False)


@contextmanager
def remembering() -> Iterator[None]:
    """Let ``remember`` keep what it computes.

    For those who know how their parameters change: a change through ``tensor.data``
    leaves no trace, and would not be noticed.
    """
    token = _WANTED.set(True)
    try:
        yield
    finally:
        _WANTED.reset(token)


def remember(
    owner: nn.Module, name: str, tensors: Iterable[Tensor], compute: Callable[[], T]
) -> T:
    """Return ``compute()``, from memory if the tensors that it uses are as they were.

    It is computed each time where gradients have to flow to one of them, and outside of
    ``remembering``.
    """
    if branch_free() or not _WANTED.get():
        return compute()
    tensors = list(tensors)
    gradients = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    if gradients or any(t.is_inference() for t in tensors):
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
