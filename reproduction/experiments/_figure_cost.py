"""The cost of the expected layer, as components and missing values grow in number."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedLinear
from reproduction.experiments._record import Drawing, Experiment

COMPONENTS = (1, 2, 3, 5, 10)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)
SEED = 0


@dataclass(frozen=True)
class Sizes:
    """Sizes of what is timed."""

    batch: int
    features: int
    units: int
    repeats: int


SIZES = {
    "paper": Sizes(batch=1024, features=784, units=256, repeats=20),
    "quick": Sizes(batch=256, features=178, units=89, repeats=5),
}


def draw_cost(drawing: Drawing) -> dict[str, Any]:
    """Time the layer against an ordinary one on complete rows.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    dict
        ``forward[k][s]`` and ``step[k][s]``, with gradients, are how many times longer
        it takes with ``components[k]`` and ``shares[s]``; the seconds are those of the
        ordinary layer.
    """
    sizes = SIZES[drawing.protocol]
    generator = torch.Generator().manual_seed(SEED)
    rows = torch.randn(sizes.batch, sizes.features, generator=generator)
    draws = torch.rand(rows.shape, generator=generator)
    plain = nn.Sequential(nn.Linear(sizes.features, sizes.units), nn.ReLU())
    told: dict[str, Any] = {
        "components": COMPONENTS,
        "shares": SHARES,
        "sizes": asdict(sizes),
    }
    for name, run in (("forward", _forward), ("step", _step)):
        seconds = _time(run, plain, rows, sizes.repeats)
        told[f"{name}_seconds"] = seconds
        told[name] = [
            [
                _time(run, layer, rows.masked_fill(draws < s, torch.nan), sizes.repeats)
                / seconds
                for s in SHARES
            ]
            for layer in (_make_layer(k, sizes) for k in COMPONENTS)
        ]
    return told


def _make_layer(n_components: int, sizes: Sizes) -> ExpectedLinear:
    generator = torch.Generator().manual_seed(SEED)
    density = GaussianMixtureDensity(n_components, sizes.features, generator=generator)
    return ExpectedLinear(sizes.features, sizes.units, density)


@torch.no_grad()
def _forward(layer: nn.Module, rows: Tensor) -> None:
    layer(rows)


def _step(layer: nn.Module, rows: Tensor) -> None:
    layer.zero_grad()
    layer(rows).sum().backward()


def _time(
    run: Callable[[nn.Module, Tensor], None],
    layer: nn.Module,
    rows: Tensor,
    repeats: int,
) -> float:
    """Return the median of the seconds that a run takes, after one to warm up."""
    run(layer, rows)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run(layer, rows)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


EXPERIMENT = Experiment(
    name="figure-cost",
    title="Time of the expected layer, in times of an ordinary one on complete rows",
    draw=draw_cost,
    note="The supplement says about 2k times, for k components. One core.",
)
