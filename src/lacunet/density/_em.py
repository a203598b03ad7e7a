"""The EM loop over blocks of rows, and its stepwise sister for rows beyond memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from lacunet.density._steps import Step
from lacunet.functional import Components
from lacunet.functional._cells import Cells, find_patterns

# Numbers that a block may hold at once: 64 MB of float64.
BLOCK_BUDGET = 2**23


@dataclass(frozen=True)
class EMResult:
    """Where EM ended."""

    components: Components
    statistics: Any  # of the last E-step, a row's share
    lower_bounds: list[float]
    converged: bool

    @property
    def lower_bound(self) -> float:
        """Mean log likelihood of a row under the components."""
        return self.lower_bounds[-1]


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
    converged = False
    for iteration in range(1, max_iter + 1):
        log_likelihood, sums = _expect_all(step, prepared, components)
        bound = log_likelihood / n_rows
        gain = bound - bounds[-1] if bounds else torch.inf
        converged = abs(gain) < tol
        if gain < -1e-10 * max(1.0, abs(bound)):
            # reg_covar makes the step inexact: one that would fall is not taken.
            components, converged = previous, True
            break
        bounds.append(bound)
        previous = components
        components = step.maximise(sums, components, reg_covar)
        if progress is not None:
            progress(iteration, bound)
        if converged:
            break
    return EMResult(components, _share(sums, n_rows), bounds, converged)


def _expect_all(
    step: Step[Any, Any, Any], prepared: list[Any], components: Components
) -> tuple[float, Any]:
    """Return the log likelihood of all rows and the sums of their statistics."""
    total, sums = step.expect(prepared[0], components)
    log_likelihood = float(total.sum())
    for data in prepared[1:]:
        total, statistics = step.expect(data, components)
        log_likelihood += float(total.sum())
        sums = type(sums)(*(a + b for a, b in zip(sums, statistics, strict=True)))
    return log_likelihood, sums


def _share(sums: Any, n_rows: int) -> Any:
    return type(sums)(*(tensor / n_rows for tensor in sums))


def step_towards(
    step: Step[Any, Any, Any],
    blocks: list[Cells],
    components: Components,
    statistics: Any,
    *,
    share: float,
) -> tuple[float, Any]:
    """Move statistics by ``share`` towards those of a new batch (stepwise EM).

    Returns the mean log likelihood of the batch, and the statistics.
    """
    n_rows = sum(len(block.values) for block in blocks)
    prepared = [step.prepare(block) for block in blocks]
    log_likelihood, sums = _expect_all(step, prepared, components)
    pairs = zip(statistics, _share(sums, n_rows), strict=True)
    moved = type(sums)(*((1.0 - share) * a + share * b for a, b in pairs))
    return log_likelihood / n_rows, moved
