"""The EM loop over blocks of rows, and its stepwise sister for rows beyond memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lacunet.density._steps import Step
from lacunet.functional import Components
from lacunet.functional._cells import Cells, find_patterns

# Numbers that a block may hold at once: 64 MB of float64.
BLOCK_BUDGET = 2**23


@dataclass(frozen=True)
class EMResult:
    """Where EM ended."""

    components: Components
    lower_bounds: list[float]
    converged: bool

    @property
    def lower_bound(self) -> float:
        """Mean log likelihood of a row under the components."""
        return self.lower_bounds[-1] if self.lower_bounds else -torch.inf


def split_blocks(cells: Cells, covariance_type: str, *, size: int) -> list[Cells]:
    """Split rows into blocks whose intermediate results fit in memory.

    ``size`` is the number of components times what one row of one component takes.
    Rows of one pattern come together, as a pattern of full covariances is dear.
    """
    n_rows, n_features = cells.values.shape
    row_cost = torch.full((n_rows,), size + n_features)
    order = torch.arange(n_rows)
    if covariance_type == "full":
        index = find_patterns(cells.observed).of_row
        order = index.argsort(stable=True)
        first = torch.ones(n_rows, dtype=torch.bool)
        first[1:] = index[order].diff() != 0
        row_cost = row_cost + first * size * n_features
    block = row_cost.cumsum(0) // BLOCK_BUDGET
    counts = torch.unique_consecutive(block, return_counts=True)[1].tolist()
    if len(counts) == 1:
        return [cells]
    return [Cells(*(t[rows] for t in cells)) for rows in order.split(counts)]


def run_em(
    step: Step[Any, Any, Any],
    blocks: list[Cells],
    components: Components,
    *,
    tol: float,
    max_iter: int,
    reg_covar: float,
    progress: Callable[[int, float], None] | None = None,
) -> EMResult:
    """Climb from ``components`` until a step gains less than ``tol`` a row."""
    prepared = [step.prepare(block) for block in blocks]
    n_rows = sum(len(block.values) for block in blocks)
    bounds: list[float] = []
    previous = components
    for iteration in range(1, max_iter + 1):
        log_likelihood, statistics = _expect_all(step, prepared, components)
        bound = log_likelihood / n_rows
        gain = bound - bounds[-1] if bounds else torch.inf
        if gain < -_rounding(bound):
            # reg_covar makes the step inexact: one that would fall is not taken.
            return EMResult(previous, bounds, converged=True)
        bounds.append(bound)
        previous = components
        components = step.maximise(statistics, components, reg_covar)
        if progress is not None:
            progress(iteration, bound)
        if abs(gain) < tol:
            return EMResult(components, bounds, converged=True)
    return EMResult(components, bounds, converged=False)


def _rounding(bound: float) -> float:
    return 1e-10 * max(1.0, abs(bound))


def _expect_all(
    step: Step[Any, Any, Any], prepared: list[Any], components: Components
) -> tuple[float, Any]:
    total, sums = step.expect(prepared[0], components)
    log_likelihood = float(total.sum())
    for data in prepared[1:]:
        total, statistics = step.expect(data, components)
        log_likelihood += float(total.sum())
        sums = type(sums)(*(a + b for a, b in zip(sums, statistics, strict=True)))
    return log_likelihood, sums


def blend(statistics: Any, new: Any, *, share: float) -> Any:
    """Move statistics by ``share`` towards those of a new batch (stepwise EM)."""
    pairs = zip(statistics, new, strict=True)
    return type(statistics)(*((1.0 - share) * a + share * b for a, b in pairs))


def batch_statistics(
    step: Step[Any, Any, Any], blocks: list[Cells], components: Components
) -> tuple[float, Any]:
    """Return the mean log likelihood and the statistics of a batch, a row's share."""
    n_rows = sum(len(block.values) for block in blocks)
    prepared = [step.prepare(block) for block in blocks]
    log_likelihood, sums = _expect_all(step, prepared, components)
    mean: tuple[Tensor, ...] = tuple(tensor / n_rows for tensor in sums)
    return log_likelihood / n_rows, type(sums)(*mean)
