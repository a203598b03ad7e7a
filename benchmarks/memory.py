"""What one forward and backward pass takes: peak bytes, and every shape on the way."""

import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def peak_bytes(call: Callable[[], object]) -> int:
    """Return the most memory of torch that ``call`` held at once.

    Exact: every allocation and release of torch's allocator is an event of the
    profiler, and their running sum is followed. Work space inside the matrix products
    of the BLAS library is not torch's and is not seen.
    """
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        record.export_chrome_trace(str(path))
        trace = json.loads(path.read_text("utf-8"))["traceEvents"]
    events = [event for event in trace if event.get("name") == "[memory]"]
    events.sort(key=lambda event: event["ts"])
    held = peak = 0
    for event in events:
        held += event["args"]["Bytes"]
        peak = max(peak, held)
    return peak


class ShapeRecorder(TorchDispatchMode):
    """Counts the shapes of all tensors that go into or come out of an operation.

    It stands below autograd, so the operations of the backward pass and those inside
    of custom functions are seen as well.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shapes: Counter[tuple[int, ...]] = Counter()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves((args, kwargs, out)):
            if isinstance(leaf, Tensor):
                self.shapes[tuple(leaf.shape)] += 1
        return out

    def largest(self) -> tuple[int, ...]:
        """Return the shape with the most elements."""
        return max(self.shapes, key=math.prod)

    def with_axes(self, *sizes: int) -> list[tuple[int, ...]]:
        """Return the shapes that have an axis for each of ``sizes``, or merge them.

        A tensor of shape (batch, components, features) counts in any order of its
        axes and with others beside them; as (batch * components, features) it counts
        too, since the number of elements gives it away.
        """
        wanted = Counter(sizes)
        return sorted(
            shape
            for shape in self.shapes
            if Counter(shape) >= wanted or math.prod(shape) == math.prod(sizes)
        )


def record_shapes(call: Callable[[], object]) -> ShapeRecorder:
    """Run ``call`` and return the shapes of the tensors that it met."""
    recorder = ShapeRecorder()
    with recorder, torch.enable_grad():
        call()
    return recorder
