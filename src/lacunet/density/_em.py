"""EM on rows with missing values: the loop, and the steps of each covariance type."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from lacunet.density._parameters import row_size
from lacunet.functional import (
    BoundedConditional,
    Cells,
    Components,
    DiagComponents,
    FactorComponents,
    FullComponents,
    MixedComponents,
    WideCells,
    cancels,
    diag_log_likelihood,
    factor_posterior,
    find_patterns,
    widen,
)

# Numbers that a block may hold at once: 8 MB of float64.
BLOCK_BUDGET = 2**20
# Below this fraction of a row, nothing was learned of a column in a component.
_NOTHING = 1e-10

Parts = TypeVar("Parts", bound=Components)
# Given the mean log likelihood of a row after each iteration: whether EM shall end.
Stop = Callable[[float], bool]


class Expectation(NamedTuple):
    """What an E-step finds out about a block of rows."""

    log_likelihood: Tensor  # (rows,)
    responsibilities: Tensor  # (rows, components)
    statistics: Any


class Step(ABC, Generic[Parts]):
    """What EM needs to know of a covariance type."""

    def prepare(self, cells: Cells) -> Any:
        """Do once what is the same in every iteration: by default, nothing."""
        return cells

    @abstractmethod
    def expect(self, data: Any, components: Parts) -> Expectation:
        """Return the log likelihood of every row and the statistics of all.

        The log weights may be one set for all rows, or (rows, components).
        """

    @abstractmethod
    def maximise(self, statistics: Any, components: Parts, reg_covar: float) -> Parts:
        """Return the components that fit the statistics best.

        ``components`` are those that weighed the rows.
        """

    def recentre(self, statistics: Any, old: Parts, new: Parts) -> Any:
        """Return statistics about the means of other components, if they have any."""
        return statistics

    def log_prior(self, components: Parts) -> float:
        """Return what the M-step adds to the log likelihood of all rows."""
        return 0.0

    def leap(self, zero: Any, one: Any, two: Any) -> Any:
        """Extrapolate three iterates (SQUAREM, Varadhan and Roland 2008).

        It may lead to a worse density, or to none.
        """
        first = [after - before for before, after in zip(zero, one, strict=True)]
        steps = zip(one, two, first, strict=True)
        second = [after - before - step for before, after, step in steps]
        norms = [sum(float(t.square().sum()) for t in part) for part in (first, second)]
        length = max(1.0, math.sqrt(norms[0] / max(norms[1], 1e-300)))
        parts = (
            start + 2.0 * length * step + length**2 * bend
            for start, step, bend in zip(zero, first, second, strict=True)
        )
        log_weights, *others = parts
        return type(zero)(log_weights.log_softmax(0), *others)


@dataclass(frozen=True)
class EMResult(Generic[Parts]):
    """Where EM ended."""

    components: Parts
    statistics: Any  # of the last E-step, averaged over rows
    lower_bounds: list[float]
    converged: bool

    @property
    def lower_bound(self) -> float:
        """Mean log likelihood of a row under the components."""
        return self.lower_bounds[-1]


def split_blocks(estimator: Any, cells: Cells, n_numeric: int) -> list[Cells]:
    """Split rows into blocks whose intermediate results fit in memory.

    With full covariances a pattern costs about the square of its number of missing
    cells: rows with as many come together, and those of one pattern. Rows with bounded
    cells have blocks of their own.
    """
    most = 0  # bounded cells of a row
    if cells.lower is not None:
        bounded = cells.bounded.any(1)
        if not bool(bounded.all()):
            free = Cells(*(tensor[~bounded] for tensor in cells[:3]))
            some = cells.map(lambda tensor: tensor[bounded])
            return [
                *split_blocks(estimator, free, n_numeric),
                *split_blocks(estimator, some, n_numeric),
            ]
        most = int(cells.bounded[:, :n_numeric].sum(1).max())
    n_rows, n_features = cells.values.shape
    row_cost = torch.full((n_rows,), row_size(estimator, n_numeric) + n_features)
    row_cost += (2 + most) * estimator.n_components * n_features if most else 0
    order = torch.arange(n_rows)
    if estimator.covariance_type == "full":
        patterns = find_patterns(cells.observed[:, :n_numeric])
        n_missing = (~patterns.observed).sum(1)
        by_size = n_missing.argsort(stable=True).argsort()
        order = by_size[patterns.of_row].argsort(stable=True)
        index = patterns.of_row[order]
        first = torch.ones(n_rows, dtype=torch.bool)
        first[1:] = index.diff() != 0
        # A tenth of what it takes where covariances are nearly singular.
        each = 3 * n_missing[index].square() + n_numeric**2 // 8
        row_cost = 4 * row_cost + first * estimator.n_components * each
    block = row_cost.cumsum(0) // BLOCK_BUDGET
    counts = torch.unique_consecutive(block, return_counts=True)[1].tolist()
    if len(counts) == 1:
        return [cells]
    parts = order.split(counts)
    return [cells.map(partial(torch.index_select, dim=0, index=i)) for i in parts]


def best_of_starts(
    estimator: Any,
    step: Step[Parts],
    blocks: list[Cells],
    starts: Iterable[Parts],
    stop: Stop | None = None,
) -> EMResult[Parts]:
    """Run EM from every start, and keep the best result."""
    expect = partial(expect_all, step, [step.prepare(block) for block in blocks])
    n_rows = sum(len(block.values) for block in blocks)
    results = (
        run_em(estimator, step, expect, n_rows, start, stop=stop) for start in starts
    )
    return max(results, key=lambda result: result.lower_bound)


def run_em(
    estimator: Any,
    step: Step[Parts],
    expect: Callable[[Parts], tuple[float, Any]],
    n_rows: int,
    components: Parts,
    *,
    stop: Stop | None = None,
) -> EMResult[Parts]:
    """Climb from ``components`` until a step gains less than ``tol`` per row.

    ``expect`` is the E-step over all rows: their log likelihood, and the sums of their
    statistics. The likelihood rises with every step, but for what ``reg_covar`` costs.
    Where it ended lower than it had been, the best components that were measured are
    returned. With ``accelerate``, every other step is followed by a leap in the same
    direction, which is taken back if it leads down.
    """
    bounds: list[float] = []
    best: EMResult[Parts] | None = None
    converged = False
    last: list[Parts] = []  # since the last leap
    instead: Parts | None = None  # of a leap that may turn out to lead down
    for iteration in range(1, estimator.max_iter + 1):
        leapt = instead is not None
        bound, found = _measure(step, expect, components, n_rows, risky=leapt)
        if instead is not None and bound < bounds[-1]:
            components, instead = instead, None
            continue
        instead, sums = None, found
        bounds.append(bound)
        # What a leap gains does not tell how near the top is.
        gain = abs(bounds[-1] - bounds[-2]) if len(bounds) > 1 else math.inf
        converged = gain < estimator.tol and not leapt
        measured = components
        if best is None or bounds[-1] >= best.lower_bound:
            best = EMResult(measured, _average(sums, n_rows), list(bounds), converged)
        components = step.maximise(sums, measured, estimator.reg_covar)
        if estimator.verbose and iteration % estimator.verbose == 0:
            print(f"iteration {iteration}: log likelihood {bounds[-1]:.6f}")  # noqa: T201
        if converged or (stop is not None and stop(bounds[-1])):
            break
        last = [*last, measured][-2:]
        if estimator.accelerate and len(last) == 2:
            leap = step.leap(last[0], last[1], components)
            last = []
            if is_density(leap):
                instead, components = components, leap
    components = components if instead is None else instead
    assert best is not None
    if bounds[-1] < best.lower_bound - 1e-10 * abs(best.lower_bound):
        return replace(best, converged=converged)
    statistics = step.recentre(_average(sums, n_rows), measured, components)
    return EMResult(components, statistics, bounds, converged)


def _measure(
    step: Step[Parts],
    expect: Callable[[Parts], tuple[float, Any]],
    components: Parts,
    n_rows: int,
    *,
    risky: bool,
) -> tuple[float, Any]:
    """Return a row's mean log likelihood and the sums of all rows' statistics."""
    try:
        log_likelihood, sums = expect(components)
        return _finite((log_likelihood + step.log_prior(components)) / n_rows), sums
    except ValueError:
        if not risky:
            raise
        return -math.inf, None


def is_density(components: Any) -> bool:
    """Return whether variances are positive, and covariances positive definite."""
    if isinstance(components, MixedComponents):
        return is_density(components.gaussian)
    if isinstance(components, FullComponents):
        covariances = components.covariances
        return not bool(torch.linalg.cholesky_ex(covariances)[1].any())
    return bool((components.variances > 0).all())


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
    step: Step[Parts], prepared: list[Any], components: Parts
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
        sums = statistics if sums is None else combine(torch.add, sums, statistics)
    return log_likelihood, sums


def combine(function: Callable[..., Tensor], *statistics: Any) -> Any:
    """Apply a function to records of statistics, tensor by tensor, nested ones too."""
    if isinstance(statistics[0], Tensor):
        return function(*statistics)
    parts = (combine(function, *p) for p in zip(*statistics, strict=True))
    return type(statistics[0])(*parts)


def _average(sums: Any, n_rows: int) -> Any:
    return combine(lambda tensor: tensor / n_rows, sums)


def step_towards(
    estimator: Any,
    step: Step[Parts],
    blocks: list[Cells],
    components: Parts,
    statistics: Any,
    *,
    rate: float,
) -> EMResult[Parts]:
    """Move statistics by ``rate`` towards those of a new batch (stepwise EM)."""
    n_rows = sum(len(block.values) for block in blocks)
    prepared = [step.prepare(block) for block in blocks]
    log_likelihood, sums = expect_all(step, prepared, components)
    blended = combine(
        lambda old, new: (1.0 - rate) * old + rate * new,
        statistics,
        _average(sums, n_rows),
    )
    moved = step.maximise(blended, components, estimator.reg_covar)
    recentred = step.recentre(blended, components, moved)
    return EMResult(moved, recentred, [_finite(log_likelihood / n_rows)], False)


# --- the covariance types


def normalise(joint: Tensor) -> tuple[Tensor, Tensor]:
    """Return log likelihoods (rows,) and responsibilities (rows, components)."""
    total = joint.logsumexp(-1)
    return total, (joint - total[:, None]).exp()


class DiagStatistics(NamedTuple):
    """Sums over rows, weighted by the responsibilities."""

    mass: Tensor  # (components,)
    present: Tensor  # (components, features)
    first: Tensor  # of differences from the means
    second: Tensor  # of their squares


class DiagStep(Step[DiagComponents]):
    """Diagonal covariances."""

    def prepare(self, cells: Cells) -> WideCells | Cells:
        """Take the squares, and see whether anything is missing at all."""
        if cells.lower is not None:
            return cells
        return widen(cells)._replace(complete=bool(cells.observed.all()))

    def expect(
        self, data: WideCells | Cells, components: DiagComponents
    ) -> Expectation:
        """Weigh the observed cells."""
        if isinstance(data, Cells):
            return self._expect_bounded(data, components)
        log_weights, means, variances = components
        total, responsibilities = normalise(
            log_weights + diag_log_likelihood(data, means, variances)
        )
        statistics = diag_statistics(data, responsibilities, means, variances)
        return Expectation(total, responsibilities, statistics)

    def _expect_bounded(self, data: Cells, components: DiagComponents) -> Expectation:
        """Count bounded cells by the moments of truncated normals."""
        log_weights, means, variances = components
        wide = widen(data)
        mixture = _condition_bounded(components, data)
        given = diag_log_likelihood(wide, means, variances) + mixture.evidence
        total, responsibilities = normalise(log_weights + given)
        mass, present, first, second = diag_statistics(
            wide, responsibilities, means, variances
        )
        bounded = data.bounded.to(means.dtype)
        squares = mixture.moves.square() + mixture.component_variances()
        squares *= bounded[:, None]
        statistics = DiagStatistics(
            mass,
            present + responsibilities.T @ bounded,
            first + torch.einsum("bk,bkd->kd", responsibilities, mixture.moves),
            second + torch.einsum("bk,bkd->kd", responsibilities, squares),
        )
        return Expectation(total, responsibilities, statistics)

    def maximise(
        self, statistics: DiagStatistics, components: DiagComponents, reg_covar: float
    ) -> DiagComponents:
        """Take means and variances over the observed cells of each column."""
        mass, present, first, second = statistics
        seen = present > _NOTHING
        weight = torch.where(seen, present, 1.0)
        move = first / weight
        variances = (second / weight - move.square()).clamp_min(0.0) + reg_covar
        return DiagComponents(
            log_fractions(mass),
            torch.where(seen, components.means + move, components.means),
            torch.where(seen, variances, components.variances),
        )

    def recentre(
        self, statistics: DiagStatistics, old: DiagComponents, new: DiagComponents
    ) -> DiagStatistics:
        """Expand the squares about the new means."""
        mass, present, first, second = statistics
        move = old.means - new.means
        second = second + 2.0 * move * first + move.square() * present
        return DiagStatistics(mass, present, first + move * present, second)


def diag_statistics(
    cells: WideCells, responsibilities: Tensor, means: Tensor, variances: Tensor
) -> DiagStatistics:
    """Sum the observed cells about ``means``, weighted by responsibilities."""
    by_component = responsibilities.T
    present = cells.observed_mass(responsibilities)
    if cancels(means.square() / variances):
        first, second = torch.empty_like(means), torch.empty_like(means)
        for k, mean in enumerate(means):
            gaps = cells.values - cells.present * mean
            first[k] = by_component[k] @ gaps
            second[k] = by_component[k] @ gaps.square()
        return DiagStatistics(responsibilities.sum(0), present, first, second)
    sums = by_component @ cells.values
    squares = by_component @ cells.squares
    return DiagStatistics(
        responsibilities.sum(0),
        present,
        sums - means * present,
        squares - 2.0 * means * sums + means.square() * present,
    )


def _condition_bounded(components: Any, cells: Cells) -> BoundedConditional:
    """Return the conditional mixture of rows that have bounded cells each."""
    # Not by weights of each row, which the caller has: they do not change the moments.
    one = components._replace(log_weights=components.means.new_zeros(()))
    mixture = one.condition(cells, torch.zeros((), dtype=torch.float64))
    assert isinstance(mixture, BoundedConditional)
    return mixture


class FactorStatistics(NamedTuple):
    """The same for the regression of every column on the factors and a constant."""

    mass: Tensor  # (components,)
    factors: Tensor  # of the factors and a one: (components, rank + 1, rank + 1)
    design: Tensor  # over the rows that have the column: (c, features, rank + 1, ...)
    cross: Tensor  # (components, features, rank + 1)
    second: Tensor  # (components, features)


class FactorStep(Step[FactorComponents]):
    """Factor covariances: every column is regressed on the factors."""

    def expect(self, data: Cells, components: FactorComponents) -> Expectation:
        """Take the posterior moments of the factors."""
        wide = widen(data)
        patterns = find_patterns(data.observed)
        log_likelihood, posterior = factor_posterior(
            wide,
            patterns,
            means=components.means,
            loadings=components.loadings,
            noise=components.variances,
        )
        mixture = None
        if data.lower is not None:
            mixture = _condition_bounded(components, data)
            log_likelihood = log_likelihood + mixture.evidence
        total, responsibilities = normalise(components.log_weights + log_likelihood)
        mean = posterior.mean.permute(2, 1, 0)  # (rows, components, rank)
        n_features = data.values.shape[1]
        if mixture is not None:
            mean = mean + mixture.moves[..., n_features:]
        factor = torch.cat((mean, torch.ones_like(mean[..., :1])), -1)
        root = posterior.root.movedim((2, 3), (1, 0))  # (patterns, components, l, l)
        square = factor[..., None] * factor[..., None, :]
        square[..., :-1, :-1] += patterns.expand(root.mT @ root)
        if mixture is not None:
            assert mixture.directions is not None
            along = mixture.directions[..., n_features:]
            square[..., :-1, :-1] += torch.einsum(
                "bkt,bktl,bktm->bklm", mixture.scales, along, along
            )
        square *= responsibilities[..., None, None]
        factor *= responsibilities[..., None]
        present = wide.present
        cross = torch.einsum("bd,bkl->kdl", wide.values, factor)
        second = responsibilities.T @ wide.squares
        if mixture is not None:  # bounded cells count by their moments
            bounded = data.bounded.to(present.dtype)
            present = present + bounded
            means = mixture.component_means() * bounded[:, None]
            cross += torch.einsum("bkd,bkl->kdl", means, factor)
            with_factors = mixture.covariance_with_factors() * bounded[:, None, :, None]
            cross[..., :-1] += torch.einsum(
                "bk,bkdl->kdl", responsibilities, with_factors
            )
            squares = means.square() + mixture.component_variances() * bounded[:, None]
            second = second + torch.einsum("bk,bkd->kd", responsibilities, squares)
        statistics = FactorStatistics(
            responsibilities.sum(0),
            square.sum(0),
            torch.einsum("bd,bklm->kdlm", present, square),
            cross,
            second,
        )
        return Expectation(total, responsibilities, statistics)

    def maximise(
        self,
        statistics: FactorStatistics,
        components: FactorComponents,
        reg_covar: float,
    ) -> FactorComponents:
        """Regress, then bring the factors back to unit covariance (PX-EM)."""
        mass, factors, design, cross, second = statistics
        present = design[..., -1, -1]
        seen = present > _NOTHING
        weight = torch.where(seen, present, 1.0)
        identity = torch.eye(design.shape[-1], dtype=design.dtype)
        solvable = torch.where(seen[..., None, None], design, identity)
        slopes = torch.linalg.solve(solvable, cross[..., None])[..., 0]
        residual = (second - (slopes * cross).sum(-1)) / weight
        variances = residual.clamp_min(0.0) + reg_covar
        old = torch.cat((components.loadings, components.means[..., None]), -1)
        slopes = torch.where(seen[..., None], slopes, old)
        loadings, means = slopes[..., :-1], slopes[..., -1]
        means, loadings = _standardise_factors(mass, factors, means, loadings)
        return FactorComponents(
            log_fractions(mass),
            means,
            loadings,
            torch.where(seen, variances, components.variances),
        )


def _standardise_factors(
    mass: Tensor, factors: Tensor, means: Tensor, loadings: Tensor
) -> tuple[Tensor, Tensor]:
    """Absorb the factors' own mean and covariance into the means and loadings."""
    weight = mass.clamp_min(_NOTHING)[:, None]
    centre = factors[:, :-1, -1] / weight  # (components, rank)
    spread = factors[:, :-1, :-1] / weight[..., None]
    spread = spread - centre[..., None] * centre[:, None]
    root, info = torch.linalg.cholesky_ex(spread)
    usable = (info == 0)[:, None]  # an empty component knows nothing of its factors
    means = means + torch.where(usable, (loadings @ centre[..., None])[..., 0], 0.0)
    return means, torch.where(usable[..., None], loadings @ root, loadings)


class FullStatistics(NamedTuple):
    """The same with the missing cells filled in and their covariance added."""

    mass: Tensor  # (components,)
    missing: Tensor  # (components, features)
    first: Tensor  # (components, features)
    second: Tensor  # (components, features, features)


class FullStep(Step[FullComponents]):
    """Full covariances: Ghahramani and Jordan's EM."""

    def expect(self, data: Cells, components: FullComponents) -> Expectation:
        """Fill the missing cells in under each component, with their covariance."""
        mixture: Any
        if data.lower is None:
            mixture = components.condition(data, torch.zeros((), dtype=torch.float64))
            base, log_likelihood = mixture, mixture.posterior.log_likelihood
        else:
            mixture = _condition_bounded(components, data)
            base = mixture.base
            log_likelihood = base.posterior.log_likelihood + mixture.evidence
        total, responsibilities = normalise(components.log_weights + log_likelihood)
        filled = torch.where(
            data.observed[:, None], data.values[:, None], mixture.component_means()
        ).transpose(0, 1)  # (components, rows, features)
        gaps = filled.sub_(components.means[:, None])
        weighted = gaps * responsibilities.T[..., None]
        second = weighted.mT @ gaps
        second += base.missing_second_moments(responsibilities)
        if base is not mixture:
            second += torch.einsum(
                "bk,bkt,bktf,bktg->kfg",
                *(responsibilities, mixture.scales),
                *(mixture.directions, mixture.directions),
            )
        missing = responsibilities.T @ data.missing
        statistics = FullStatistics(
            responsibilities.sum(0), missing, weighted.sum(1), second
        )
        return Expectation(total, responsibilities, statistics)

    def maximise(
        self, statistics: FullStatistics, components: FullComponents, reg_covar: float
    ) -> FullComponents:
        """Take means and covariances of the completed rows."""
        mass, missing, first, second = statistics
        seen = (mass > _NOTHING)[:, None]
        weight = torch.where(seen, mass[:, None], 1.0)
        move = first / weight
        covariances = second / weight[..., None] - move[..., None] * move[:, None]
        covariances = 0.5 * (covariances + covariances.mT)
        # What the missing cells add has reg_covar in it from the last time.
        raised = reg_covar * (1.0 - missing / weight)
        covariances.diagonal(dim1=-2, dim2=-1).add_(raised)
        return FullComponents(
            log_fractions(mass),
            torch.where(seen, components.means + move, components.means),
            torch.where(seen[..., None], covariances, components.covariances),
        )

    def recentre(
        self, statistics: FullStatistics, old: FullComponents, new: FullComponents
    ) -> FullStatistics:
        """Expand the products about the new means."""
        mass, missing, first, second = statistics
        move = old.means - new.means
        cross = move[..., None] * first[:, None]
        squares = move[..., None] * move[:, None] * mass[:, None, None]
        second = second + cross + cross.mT + squares
        return FullStatistics(mass, missing, first + move * mass[:, None], second)


def log_fractions(mass: Tensor) -> Tensor:
    """Return the logarithms of the components' weights."""
    # As scikit-learn does: no component's weight becomes an exact zero.
    raised = mass + 10 * torch.finfo(mass.dtype).eps
    return raised.log() - raised.sum().log()


STEPS: dict[str, Step[Any]] = {
    "diag": DiagStep(),
    "factor": FactorStep(),
    "full": FullStep(),
}
