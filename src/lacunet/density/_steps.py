"""One iteration of EM on rows with holes, for each covariance type.

An E-step turns rows into additive sufficient statistics, so rows may come in blocks; an
M-step turns statistics into components. Sums are taken about the means of the
components that weighed the rows, so that a small cluster far away keeps its digits.
Everything is float64 and without gradients.

For diagonal and factor covariances the missing cells are independent of all else given
what is hidden anyway (the component, the factors): they drop out of the likelihood, and
the M-step is over observed cells alone. That climbs faster than filling them in, and to
the same place.
"""

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from lacunet.functional import (
    Components,
    DiagComponents,
    FactorComponents,
    FullComponents,
)
from lacunet.functional._cells import Cells, WideCells, find_patterns, widen
from lacunet.functional._diag import cancels, diag_log_likelihood
from lacunet.functional._factor import factor_posterior

# Below this share of a row, nothing was learned of a column in a component.
_NOTHING = 1e-10


class DiagStatistics(NamedTuple):
    """Sums over rows, weighted by the responsibilities."""

    mass: Tensor  # (components,)
    present: Tensor  # (components, features)
    first: Tensor  # of differences from the means
    second: Tensor  # of their squares


class FactorStatistics(NamedTuple):
    """The same for the regression of every column on the factors and a constant."""

    mass: Tensor  # (components,)
    factors: Tensor  # of the factors and a one: (components, rank + 1, rank + 1)
    design: Tensor  # over the rows that have the column: (c, features, rank + 1, ...)
    cross: Tensor  # (components, features, rank + 1)
    second: Tensor  # (components, features)


class FullStatistics(NamedTuple):
    """The same with the missing cells filled in and their covariance added."""

    mass: Tensor  # (components,)
    missing: Tensor  # (components, features)
    first: Tensor  # (components, features)
    second: Tensor  # (components, features, features)


Data = TypeVar("Data")
Parts = TypeVar("Parts", bound=Components)
Sums = TypeVar("Sums", bound=tuple[Any, ...])


class Expectation(NamedTuple, Generic[Sums]):
    """What an E-step finds out about a block of rows."""

    log_likelihood: Tensor  # (rows,)
    shares: Tensor  # responsibilities, (rows, components)
    statistics: Sums


class Step(ABC, Generic[Data, Parts, Sums]):
    """What EM needs to know of a covariance type."""

    @abstractmethod
    def prepare(self, cells: Cells) -> Data:
        """Do once what is the same in every iteration."""

    @abstractmethod
    def expect(self, data: Data, components: Parts) -> Expectation[Sums]:
        """Return the log likelihood of every row and the statistics of all.

        The log weights may be one set for all rows, or (rows, components).
        """

    @abstractmethod
    def maximise(self, statistics: Sums, components: Parts, reg_covar: float) -> Parts:
        """Return the components that fit the statistics best.

        ``components`` are those that weighed the rows.
        """

    @abstractmethod
    def recentre(self, statistics: Sums, old: Parts, new: Parts) -> Sums:
        """Return statistics about the means of other components."""

    def log_prior(self, components: Parts) -> float:
        """Return what the M-step adds to the log likelihood of all rows."""
        return 0.0


def responsibilities(joint: Tensor) -> tuple[Tensor, Tensor]:
    """Return log likelihoods (rows,) and responsibilities (rows, components)."""
    total = joint.logsumexp(-1)
    return total, (joint - total[:, None]).exp()


class DiagStep(Step[WideCells, DiagComponents, DiagStatistics]):
    """Diagonal covariances."""

    def prepare(self, cells: Cells) -> WideCells:
        """Take the squares, and see whether anything is missing at all."""
        wide = widen(cells, torch.zeros((), dtype=torch.float64))
        return wide._replace(complete=bool(cells.observed.all()))

    def expect(
        self, data: WideCells, components: DiagComponents
    ) -> Expectation[DiagStatistics]:
        """Weigh the observed cells."""
        log_weights, means, variances = components
        total, shares = responsibilities(
            log_weights + diag_log_likelihood(data, means, variances)
        )
        statistics = diag_statistics(data, shares, means, variances)
        return Expectation(total, shares, statistics)

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
            log_shares(mass),
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
    cells: WideCells, shares: Tensor, means: Tensor, variances: Tensor
) -> DiagStatistics:
    """Sum the observed cells about ``means``, weighted by ``shares`` (rows, c)."""
    by_component = shares.T
    present = cells.observed_mass(shares)
    if cancels(means.square() / variances):
        first, second = torch.empty_like(means), torch.empty_like(means)
        for k, mean in enumerate(means):
            gaps = cells.values - cells.present * mean
            first[k] = by_component[k] @ gaps
            second[k] = by_component[k] @ gaps.square()
        return DiagStatistics(shares.sum(0), present, first, second)
    sums = by_component @ cells.values
    squares = by_component @ cells.squares
    return DiagStatistics(
        shares.sum(0),
        present,
        sums - means * present,
        squares - 2.0 * means * sums + means.square() * present,
    )


class FactorStep(Step[Cells, FactorComponents, FactorStatistics]):
    """Factor covariances: every column is regressed on the factors."""

    def prepare(self, cells: Cells) -> Cells:
        """Keep the cells: the rest would be larger than they are."""
        return cells

    def expect(
        self, data: Cells, components: FactorComponents
    ) -> Expectation[FactorStatistics]:
        """Take the posterior moments of the factors."""
        wide = widen(data, torch.zeros((), dtype=torch.float64))
        patterns = find_patterns(data.observed)
        log_likelihood, posterior = factor_posterior(
            wide,
            patterns,
            means=components.means,
            loadings=components.loadings,
            noise=components.variances,
        )
        total, shares = responsibilities(components.log_weights + log_likelihood)
        one = torch.ones_like(posterior.mean[..., :1])
        factor = torch.cat((posterior.mean, one), -1)  # (rows, components, rank + 1)
        covariance = torch.cholesky_inverse(posterior.cholesky)
        square = factor[..., None] * factor[..., None, :]
        square[..., :-1, :-1] += covariance[patterns.of_row]
        square *= shares[..., None, None]
        factor *= shares[..., None]
        statistics = FactorStatistics(
            shares.sum(0),
            square.sum(0),
            torch.einsum("bd,bklm->kdlm", wide.present, square),
            torch.einsum("bd,bkl->kdl", wide.values, factor),
            shares.T @ wide.squares,
        )
        return Expectation(total, shares, statistics)

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
            log_shares(mass),
            means,
            loadings,
            torch.where(seen, variances, components.variances),
        )

    def recentre(
        self, statistics: FactorStatistics, old: FactorComponents, new: FactorComponents
    ) -> FactorStatistics:
        """Keep them: they are about the origin."""
        return statistics


def _standardise_factors(
    mass: Tensor, factors: Tensor, means: Tensor, loadings: Tensor
) -> tuple[Tensor, Tensor]:
    """Absorb the factors' own mean and covariance into the means and loadings."""
    weight = mass.clamp_min(_NOTHING)[:, None]
    centre = factors[:, :-1, -1] / weight  # (components, rank)
    spread = factors[:, :-1, :-1] / weight[..., None]
    spread = spread - centre[..., None] * centre[:, None]
    root, info = torch.linalg.cholesky_ex(spread)
    usable = (info == 0)[:, None]  # an empty component says nothing of its factors
    means = means + torch.where(usable, (loadings @ centre[..., None])[..., 0], 0.0)
    return means, torch.where(usable[..., None], loadings @ root, loadings)


class FullStep(Step[Cells, FullComponents, FullStatistics]):
    """Full covariances: Ghahramani and Jordan's EM."""

    def prepare(self, cells: Cells) -> Cells:
        """Keep the cells: the rest would be larger than they are."""
        return cells

    def expect(
        self, data: Cells, components: FullComponents
    ) -> Expectation[FullStatistics]:
        """Fill the missing cells in under each component, with their covariance."""
        mixture = components.condition(data, torch.zeros((), dtype=torch.float64))
        total, shares = responsibilities(
            components.log_weights + mixture.posterior.log_likelihood
        )
        means = components.means[:, None]
        gaps = (
            torch.where(
                data.observed[:, None], data.values[:, None], mixture.component_means()
            )
            .transpose(0, 1)
            .sub_(means)
        )  # (components, rows, features)
        weighted = gaps * shares.T[..., None]
        second = weighted.mT @ gaps
        if not bool(data.observed.all()):
            index = mixture.posterior.patterns.of_row
            covariances = mixture.missing_covariances()  # (patterns, c, f, f)
            by_pattern = shares.new_zeros(covariances.shape[:2])
            by_pattern.index_add_(0, index, shares)
            second = second + torch.einsum("uk,ukde->kde", by_pattern, covariances)
        missing = shares.T @ data.missing
        statistics = FullStatistics(shares.sum(0), missing, weighted.sum(1), second)
        return Expectation(total, shares, statistics)

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
        # The share of the missing cells has reg_covar in it from the last time.
        raised = reg_covar * (1.0 - missing / weight)
        covariances.diagonal(dim1=-2, dim2=-1).add_(raised)
        return FullComponents(
            log_shares(mass),
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


def log_shares(mass: Tensor) -> Tensor:
    """Return the logarithms of the components' weights."""
    # As scikit-learn does: no component's weight becomes an exact zero.
    raised = mass + 10 * torch.finfo(mass.dtype).eps
    return raised.log() - raised.sum().log()


STEPS: dict[str, Step[Any, Any, Any]] = {
    "diag": DiagStep(),
    "factor": FactorStep(),
    "full": FullStep(),
}
