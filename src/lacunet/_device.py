"""Where tensors are made."""

from contextlib import AbstractContextManager, nullcontext

import torch


def on_cpu() -> AbstractContextManager[object]:
    """Return a context in which tensors are made on the CPU, whatever the default."""
    # Only if need be: each call of torch is slower under a device.
    away = torch.get_default_device().type != "cpu"
    return torch.device("cpu") if away else nullcontext()
