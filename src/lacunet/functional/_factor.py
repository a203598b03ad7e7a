"""Factor covariances: loadings @ loadings.T + diag(variances), rank l.

Given the component and its l factors, the cells of a row are independent. So a missing
value simply drops out of every sum over features, and all masks go through one product.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lacunet.functional._diag import cancels, diag_log_likelihood, log_normal
from lacunet.functional._mixture import ConditionalMixture, LinearMap
from lacunet.functional._ops import (
    LOG_TWO_PI,
    Cells,
    Patterns,
    WideCells,
    find_patterns,
    log_det,
    masked_products,
    solve_lower,
    solve_transposed,
    wide_dtype,
    widen,
)


class FactorComponents(NamedTuple):
    """Components of a mixture of factor analysers.

    Attributes
    ----------
    log_weights : Tensor of shape (components,)
    means : Tensor of shape (components, features)
    loadings : Tensor of shape (components, features, rank)
    variances : Tensor of shape (components, features)
        Of the noise, what the factors leave over.
    """

    log_weights: Tensor
    means: Tensor
    loadings: Tensor
    variances: Tensor

    def log_likelihood(self, cells: Cells, gamma: Tensor) -> Tensor:
        """Compute log N(x_o; m_o, covariance_oo + gamma) for every component."""
        return self._posterior(cells, gamma, find_patterns(cells.observed))[0]

    def condition(self, cells: Cells, gamma: Tensor) -> "FactorConditional":
        """Return F_S, by the posterior of the factors given the observed cells."""
        patterns = find_patterns(cells.observed)
        log_likelihood, posterior = self._posterior(cells, gamma, patterns)
        dtype = cells.values.dtype
        log_weights = (self.log_weights + log_likelihood).log_softmax(-1).to(dtype)
        return FactorConditional(
            log_weights,
            cells,
            self,
            patterns,
            FactorPosterior(*(tensor.to(dtype) for tensor in posterior)),
        )

    def _posterior(
        self, cells: Cells, gamma: Tensor, patterns: Patterns
    ) -> tuple[Tensor, "FactorPosterior"]:
        shift = self.means.detach().mean(0)
        wide = wide_dtype(self.means)
        return factor_posterior(
            widen(cells, shift),
            patterns,
            means=self.means.to(wide) - shift.to(wide),
            loadings=self.loadings.to(wide),
            noise=self.variances.to(wide) + gamma,
        )


class FactorPosterior(NamedTuple):
    """The factors given what is observed: Normal(mean, inverse(chol @ chol.T))."""

    mean: Tensor  # (batch, components, rank)
    cholesky: Tensor  # of the precision, (patterns, components, rank, rank)


def factor_posterior(
    cells: WideCells,
    patterns: Patterns,
    *,
    means: Tensor,
    loadings: Tensor,
    noise: Tensor,
) -> tuple[Tensor, FactorPosterior]:
    """Compute log densities (batch, components) and the posterior of the factors."""
    n_components, _, rank = loadings.shape
    weighted = loadings / noise[..., None]  # (components, features, rank)
    squares = (weighted[..., None] * loadings[:, :, None]).flatten(2)  # (c, f, l * l)
    precision = torch.einsum(
        "ud,kdm->ukm", patterns.observed.to(means.dtype), squares
    ).unflatten(-1, (rank, rank))
    identity = torch.eye(rank, dtype=means.dtype, device=means.device)
    cholesky = torch.linalg.cholesky(precision + identity)
    projected = _project(cells, means, weighted)
    rows = cholesky[patterns.of_row]  # (batch, components, rank, rank)
    half = solve_lower(rows, projected[..., None])
    mean = solve_transposed(rows, half)[..., 0]
    volume = log_det(cholesky)[patterns.of_row]
    diagonal = diag_log_likelihood(cells, means, noise)
    explained = 0.5 * half[..., 0].square().sum(-1)
    return diagonal + explained - volume, FactorPosterior(mean, cholesky)


def _project(cells: WideCells, means: Tensor, weighted: Tensor) -> Tensor:
    """Project the observed residuals on the weighted loadings, (batch, c, rank)."""
    if cancels((weighted * means[..., None]).square()):
        pairs = zip(means, weighted, strict=True)
        return torch.stack(
            [(cells.values - cells.present * mean) @ w for mean, w in pairs], 1
        )
    return torch.einsum("bd,kdl->bkl", cells.values, weighted) - torch.einsum(
        "bd,kdl->bkl", cells.present, weighted * means[..., None]
    )


@dataclass(frozen=True, eq=False)
class FactorConditional(ConditionalMixture):
    """F_S of a batch under factor components."""

    components: FactorComponents
    patterns: Patterns
    posterior: FactorPosterior

    def component_moments(self) -> tuple[Tensor, Tensor]:  # noqa: D102
        loadings = self.components.loadings
        explained = torch.einsum("kdl,bkl->bkd", loadings, self.posterior.mean)
        half = solve_lower(
            self.posterior.cholesky, loadings.mT
        )  # (patterns, components, rank, features)
        spread = self.components.variances + half.square().sum(-2)
        return self.components.means + explained, spread[self.patterns.of_row]

    def missing_affine(self, weight: Tensor) -> tuple[Tensor, Tensor]:  # noqa: D102
        missing = self.cells.missing
        absent = (~self.patterns.observed).to(weight.dtype)  # (patterns, features)
        columns = self.components.loadings.mT.flatten(0, 1)  # (components * rank, f)
        pushed = masked_products(absent, weight, columns).unflatten(
            1, self.posterior.cholesky.shape[1:3]
        )  # (patterns, components, rank, hidden)
        mean = masked_products(missing, weight, self.components.means)
        noise = masked_products(absent, weight.square(), self.components.variances)
        return self._moments(mean, noise, pushed)

    def missing_push(  # noqa: D102
        self, linear: LinearMap, squared: LinearMap
    ) -> tuple[Tensor, Tensor]:
        missing = self.cells.missing[:, None]  # (batch, 1, features)
        absent = (~self.patterns.observed).to(missing.dtype)[:, None]
        pushed = linear(absent[:, None] * self.components.loadings.mT)
        mean = linear(missing * self.components.means)
        return self._moments(mean, squared(absent * self.components.variances), pushed)

    def _moments(
        self, mean: Tensor, noise: Tensor, pushed: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Add the factors' moments; ``noise`` and ``pushed`` are one a pattern."""
        explained = torch.einsum(
            "bkl,bklh->bkh", self.posterior.mean, pushed[self.patterns.of_row]
        )
        half = solve_lower(self.posterior.cholesky, pushed)
        variance = noise + half.square().sum(-2)  # (patterns, components, outputs)
        return mean + explained, variance[self.patterns.of_row]

    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:  # noqa: D102
        # The factors are Gaussian given the row: integrated out a second time.
        known = log_normal(self.cells, centres, variances)[:, None]
        wide = known.dtype
        means, noise, loadings = (
            tensor.to(wide)[:, None]
            for tensor in (
                self.components.means,
                self.components.variances,
                self.components.loadings,
            )
        )
        total = noise + variances.to(wide)  # (components, units, features)
        gap = centres.to(wide) - means
        missing = (~self.patterns.observed).to(wide)  # (patterns, features)
        row = self.patterns.of_row
        weighted = loadings / total[..., None]  # (components, units, features, rank)
        diagonal = _sum_over_missing(
            missing, gap.square() / total + total.log() + LOG_TWO_PI
        )[row]  # (batch, components, units)
        pull = _sum_over_missing(missing, weighted * gap[..., None])[row]
        squares = weighted[..., None] * loadings[..., None, :]
        stiffness = _sum_over_missing(missing, squares)  # (patterns, c, units, l, l)
        prior = self.posterior.cholesky.to(wide)[:, :, None]  # (patterns, c, 1, l, l)
        cholesky = torch.linalg.cholesky(prior @ prior.mT + stiffness)
        factor = self.posterior.mean.to(wide)[:, :, None, :, None]  # (b, c, 1, l, 1)
        response = stiffness[row] @ factor  # (batch, components, units, rank, 1)
        residual = pull[..., None] - response
        quadratic = (factor * (response - 2.0 * pull[..., None])).sum((-2, -1))
        half = solve_lower(cholesky[row], residual)
        volume = 2.0 * (log_det(cholesky) - log_det(prior))[row]
        unknown = diagonal + quadratic - half.square().sum((-2, -1)) + volume
        return known - 0.5 * unknown

    @property
    def _noise_size(self) -> int:
        return self.posterior.mean.shape[-1] + self.cells.values.shape[1]

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        rank = self.posterior.mean.shape[-1]
        hidden, rest = noise[..., :rank], noise[..., rank:]
        rows = torch.arange(index.shape[1], device=index.device)  # (batch,)
        cholesky = self.posterior.cholesky[self.patterns.of_row, index]
        spread = solve_transposed(cholesky, hidden[..., None])  # (n, batch, rank, 1)
        factor = self.posterior.mean[rows, index] + spread[..., 0]
        means = self.components.means[index]  # (n, batch, features)
        chosen = functional.one_hot(index, len(self.components.means)).to(factor.dtype)
        # One product for all rows: the factors of the other components are zero.
        spread_out = (chosen[..., None] * factor[..., None, :]).flatten(-2)
        explained = spread_out @ self.components.loadings.mT.flatten(0, 1)
        return means + explained + self.components.variances.sqrt()[index] * rest


def _sum_over_missing(missing: Tensor, table: Tensor) -> Tensor:
    """Sum (components, units, features, *) over the missing features of a pattern."""
    return torch.einsum("ud,kjd...->ukj...", missing, table)
