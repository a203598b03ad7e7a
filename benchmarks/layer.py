"""ExpectedLinear against nn.Linear and ReLU on the filled batch."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.batches import complete_batch, patched_batch, scattered_batch
from benchmarks.memory import peak_bytes, record_shapes
from benchmarks.naive import naive_expected_relu_layer
from benchmarks.table import Row
from benchmarks.timing import CPU, WALL, Effort, Pair, compare, threads
from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedLinear

BYTES_PER_FLOAT = 4


@dataclass(frozen=True)
class LayerCase:
    """Sizes of a layer, the batch it is given, and what it must reach."""

    name: str
    hidden: int
    components: int
    x: Tensor  # (batch, features), NaN where missing
    bound: float


@dataclass(frozen=True)
class Contenders:
    """One forward and backward pass each, on the same batch."""

    ours: Callable[[], None]
    naive: Callable[[], None]
    reference: Callable[[], None]


def layer_cases() -> list[LayerCase]:
    """Return the cases of the speed table; the first is the memory case too."""
    generator = torch.Generator().manual_seed(0)
    patched = patched_batch(1024, 28, 13, generator)
    few = patched_batch(1024, 28, 13, generator, every=50)
    complete = complete_batch(1024, 784, generator)
    scattered = scattered_batch(256, 178, 0.25, generator)
    return [
        LayerCase("784->256, k=5, 13x13 patch in every row", 256, 5, patched, 14.0),
        LayerCase("784->256, k=5, 1 row in 50 incomplete", 256, 5, few, 1.8),
        LayerCase("784->256, k=5, complete batch", 256, 5, complete, 1.2),
        LayerCase("178->128, k=3, 25% of values missing", 128, 3, scattered, 11.0),
    ]


def make_layer(case: LayerCase, *, dtype: torch.dtype | None = None) -> ExpectedLinear:
    """Return the layer of a case, every part of its density trainable."""
    generator = torch.Generator().manual_seed(1)
    features = case.x.shape[1]
    density = GaussianMixtureDensity(
        case.components, features, generator=generator, dtype=dtype
    )
    return ExpectedLinear(
        features, case.hidden, density, generator=generator, dtype=dtype
    )


def contenders(case: LayerCase) -> Contenders:
    """Return the passes of a case; ours and the naive one have the same parameters."""
    layer = make_layer(case)
    linear = nn.Linear(layer.in_features, layer.out_features)
    linear.load_state_dict(
        {"weight": layer.weight.detach(), "bias": layer.bias.detach()}
    )
    plain = nn.Sequential(linear, nn.ReLU())
    x = case.x
    filled = torch.nan_to_num(x)
    upstream = torch.randn(
        len(x), case.hidden, generator=torch.Generator().manual_seed(2)
    )
    agree = torch.testing.assert_close
    agree(layer(x), naive_expected_relu_layer(layer, x), atol=1e-4, rtol=1e-4)

    def one_pass(module: nn.Module, forward: Callable[[], Tensor]) -> None:
        forward().backward(upstream)
        module.zero_grad()  # so that every pass starts without gradients

    return Contenders(
        ours=lambda: one_pass(layer, lambda: layer(x)),
        naive=lambda: one_pass(layer, lambda: naive_expected_relu_layer(layer, x)),
        reference=lambda: one_pass(plain, lambda: plain(filled)),
    )


def measure_speed(case: LayerCase, effort: Effort) -> Row:
    """Time the passes of a case: CPU time of one thread, wall time of two."""
    passes = contenders(case)
    with threads(1):
        cpu = compare(passes.ours, passes.reference, CPU, effort)
        # In a loop of its own: it is so slow that it would cool the others' caches.
        naive = compare(passes.naive, passes.reference, CPU, effort)
    with threads(2):
        wall = compare(passes.ours, passes.reference, WALL, effort)
    return _speed_row(case, cpu, wall, naive)


def _speed_row(case: LayerCase, cpu: Pair, wall: Pair, naive: Pair) -> Row:
    return Row(
        case=case.name,
        unit="ms",
        ours=1e3 * cpu.ours,
        reference=1e3 * cpu.reference,
        bound=case.bound,
        repetitions=cpu.repetitions,
        wall=wall,
        naive=naive,
    )


def measure_memory(case: LayerCase) -> Row:
    """Follow one pass of a case: its peak, and whether it holds a cube of the batch."""
    passes = contenders(case)
    (batch, features), hidden, components = case.x.shape, case.hidden, case.components
    bound = 8 * components * hidden * (batch + features)
    ours, naive, reference = (
        peak_bytes(one_pass) / BYTES_PER_FLOAT / 1e6
        for one_pass in (passes.ours, passes.naive, passes.reference)
    )
    shapes = record_shapes(passes.ours)
    cubes = shapes.with_axes(batch, components, features)
    return Row(
        case="peak extra memory of the first case",
        unit="Mfloats",
        ours=ours,
        reference=None,
        bound=bound / 1e6,
        repetitions=1,
        conditions_hold=not cubes,
        details={
            "largest tensor": shapes.largest(),
            "tensors of (batch, components, features)": cubes,
            "naive version, Mfloats": naive,
            "Linear + ReLU, Mfloats": reference,
        },
    )
