"""Points that fill a cube more evenly than chance, as noise for draws."""

import copy
from functools import lru_cache

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

# Scrambling takes long in many dimensions, and few points are no better than random
# ones in the last of them.
SOBOL_DIMENSIONS = 1024

_HALF_A_CELL = 2.0**-31  # of the grid that the points lie on


def quasi_noise(n: int, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return uniforms (n,) and standard normals (n, size), in float64 on the CPU.

    They are the coordinates of a scrambled Sobol sequence; beyond its first dimensions
    the normals are random ones. All of it follows from ``seed``.
    """
    even = min(size, SOBOL_DIMENSIONS - 1)
    # A copy, as drawing moves the engine on.
    engine = copy.deepcopy(_scrambled_engine(1 + even, seed))
    points = engine.draw(n, dtype=torch.float64) + _HALF_A_CELL
    # Torch rounds the first point in single precision: up to one.
    points = points.clamp(_HALF_A_CELL, 1.0 - _HALF_A_CELL)
    normals = torch.special.ndtri(points[:, 1:])
    if size > even:
        # Not the seed itself, which the scrambling has drawn from already.
        generator = torch.Generator("cpu").manual_seed(seed + 1)
        shape = (n, size - even)
        rest = torch.randn(
            shape, generator=generator, dtype=torch.float64, device="cpu"
        )
        normals = torch.cat((normals, rest), 1)
    return points[:, 0], normals


@lru_cache(maxsize=8)
def _scrambled_engine(dimension: int, seed: int) -> SobolEngine:
    return SobolEngine(dimension, scramble=True, seed=seed)
