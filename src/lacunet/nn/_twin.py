"""What may be replaced by an expected twin, and how its weights are taken over."""

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


def check_plain(module: object, kind: type[nn.Module]) -> None:
    """Refuse a module that does anything but what ``kind`` itself does.

    A subclass with its own forward, a hook, or a weight that is computed from others
    would be lost without a word in the twin.
    """
    if not isinstance(module, kind):
        msg = f"Got {type(module).__name__}, but expected a torch.nn.{kind.__name__}."
        raise TypeError(msg)
    why = None
    if isinstance(module._parameters.get("weight"), nn.UninitializedParameter):
        why = "no weights yet (call it once on a batch)"
    elif type(module).forward is not kind.forward:
        why = "a forward of its own"
    elif parametrize.is_parametrized(module) or "weight" not in module._parameters:
        why = "a weight that is computed from other parameters"
    elif module._forward_hooks or module._forward_pre_hooks:
        why = "hooks"
    if why is not None:
        msg = (
            f"Got a {type(module).__name__} with {why}, but expected a plain "
            f"torch.nn.{kind.__name__}: its twin would not do the same."
        )
        raise ValueError(msg)


@torch.no_grad()
def take_over(parameter: nn.Parameter, source: Tensor) -> None:
    """Copy values, and whether they are trained."""
    parameter.copy_(source)
    parameter.requires_grad_(source.requires_grad)
