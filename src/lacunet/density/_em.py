"""The EM loop over blocks of rows, and its stepwise sister for rows beyond memory."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic

import torch
from torch import Tensor

from lacunet.density._steps import Parts, Step
from lacunet.functional._cells import Cells, find_patterns

# Numbers that a block may hold at once: 8 MB of float64.
BLOCK_BUDGET = 2**20


@dataclass(frozen=True)
class EMResult(Generic[Parts]):
    """Where EM ended."""

    components: Parts
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
    step: Step[Any, Parts, Any],
    blocks: list[Cells],
    components: Parts,
    *,
    tol: float,
    max_iter: int,
    reg_covar: float,
    progress: Callable[[int, float], None] | None = None,
) -> EMResult[Parts]:
    """Climb from ``components`` until a step gains less than ``tol`` a row.

    The likelihood rises with every step, but for what ``reg_covar`` costs. Where it
    ended lower than it had been, the best components that were measured are returned.
    """
    prepared = [step.prepare(block) for block in blocks]
    n_rows = sum(len(block.values) for block in blocks)
    bounds: list[float] = []
    best: EMResult[Parts] | None = None
    converged = False
    for iteration in range(1, max_iter + 1):
        log_likelihood, sums = expect_all(step, prepared, components)
        prior = step.log_prior(components)
        bounds.append(_finite((log_likelihood + prior) / n_rows))
        converged = len(bounds) > 1 and abs(bounds[-1] - bounds[-2]) < tol
        measured = components
        if best is None or bounds[-1] >= best.lower_bound:
            best = EMResult(measured, _share(sums, n_rows), list(bounds), converged)
        components = step.maximise(sums, measured, reg_covar)
        if progress is not None:
            progress(iteration, bounds[-1])
        if converged:
            break
    assert best is not None
    if bounds[-1] < best.lower_bound - 1e-10 * abs(best.lower_bound):
        return replace(best, converged=converged)
    statistics = step.recentre(_share(sums, n_rows), measured, components)
    return EMResult(components, statistics, bounds, converged)


def _finite(bound: float) -> float:
    """Refuse what no further step can mend."""
    if not math.isfinite(bound):
        msg = (
            f"Got a mean log likelihood of {bound}, but expected a finite one: a "
            f"component has collapsed, or the values are too large to be squared. "
            f"Raise reg_covar, scale the columns, or ask for fewer components."
        )
        raise ValueError(msg)
    return bound


def expect_all(
    step: Step[Any, Parts, Any], prepared: list[Any], components: Parts
) -> tuple[float, Any]:
    """Return the log likelihood of all rows and the sums of their statistics."""
    log_likelihood, sums = 0.0, None
    for data in prepared:
        try:
            total, _, statistics = step.expect(data, components)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            msg = (
                f"Got a covariance that is not positive definite ({error}), but "
                f"expected it to be. Raise reg_covar, or drop columns that are "
                f"combinations of others."
            )
            raise ValueError(msg) from error
        log_likelihood += float(total.sum())
        sums = _combine(torch.add, sums, statistics) if sums else statistics
    return log_likelihood, sums


def _combine(function: Callable[..., Tensor], *statistics: Any) -> Any:
    """Apply a function to records of statistics, tensor by tensor, nested ones too."""
    if isinstance(statistics[0], Tensor):
        return function(*statistics)
    parts = (_combine(function, *p) for p in zip(*statistics, strict=True))
    return type(statistics[0])(*parts)


def _share(sums: Any, n_rows: int) -> Any:
    return _combine(lambda tensor: tensor / n_rows, sums)


def step_towards(
    step: Step[Any, Parts, Any],
    blocks: list[Cells],
    components: Parts,
    statistics: Any,
    *,
    share: float,
    reg_covar: float,
) -> EMResult[Parts]:
    """Move statistics by ``share`` towards those of a new batch (stepwise EM)."""
    n_rows = sum(len(block.values) for block in blocks)
    prepared = [step.prepare(block) for block in blocks]
    log_likelihood, sums = expect_all(step, prepared, components)
    blended = _combine(
        lambda old, new: (1.0 - share) * old + share * new,
        statistics,
        _share(sums, n_rows),
    )
    moved = step.maximise(blended, components, reg_covar)
    recentred = step.recentre(blended, components, moved)
    return EMResult(moved, recentred, [_finite(log_likelihood / n_rows)], False)
