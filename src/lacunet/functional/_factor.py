"""Factor covariances: loadings @ loadings.T + diag(variances), rank l.

Given the component and its l factors, the cells of a row are independent. So a missing
value simply drops out of every sum over features, and all masks go through one product.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lacunet._validation import branch_free
from lacunet.functional._bounds import BoundedConditional
from lacunet.functional._diag import cancels, diag_log_likelihood, log_normal
from lacunet.functional._mixture import (
    ALL_PAIRS,
    ConditionalMixture,
    LinearMap,
    Pairs,
)
from lacunet.functional._ops import (
    LOG_TWO_PI,
    Cells,
    Patterns,
    WideCells,
    find_patterns,
    inverse_cholesky,
    log_det,
    small_inverse_cholesky,
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
        patterns = find_patterns(cells.observed)
        given, posterior = self._posterior(cells, gamma, patterns)
        if cells.lower is None:
            return given
        dtype = cells.values.dtype
        posterior = FactorPosterior(*(tensor.to(dtype) for tensor in posterior))
        even = torch.zeros_like(given, dtype=dtype)
        flat = FactorConditional(even, cells, self, patterns, posterior)
        return given + BoundedConditional.of(flat, gamma).evidence

    def condition(self, cells: Cells, gamma: Tensor) -> ConditionalMixture:
        """Return F_S, by the posterior of the factors given the observed cells."""
        patterns = find_patterns(cells.observed)
        log_likelihood, posterior = self._posterior(cells, gamma, patterns)
        dtype = cells.values.dtype
        log_weights = (self.log_weights + log_likelihood).log_softmax(-1).to(dtype)
        base = FactorConditional(
            log_weights,
            cells,
            self,
            patterns,
            FactorPosterior(*(tensor.to(dtype) for tensor in posterior)),
        )
        return base if cells.lower is None else BoundedConditional.of(base, gamma)

    def _posterior(
        self, cells: Cells, gamma: Tensor, patterns: Patterns
    ) -> tuple[Tensor, "FactorPosterior"]:
        wide = wide_dtype(self.means)
        return factor_posterior(
            widen(cells),
            patterns,
            means=self.means.to(wide),
            loadings=self.loadings.to(wide),
            noise=self.variances.to(wide) + gamma,
        )


class FactorPosterior(NamedTuple):
    """The factors given what is observed: Normal(mean, root.T @ root).

    Ranks come first and rows last: small matrices are best worked on side by side.
    """

    mean: Tensor  # (rank, components, batch)
    root: Tensor  # (rank, rank, components, patterns)


def factor_posterior(
    cells: WideCells,
    patterns: Patterns,
    *,
    means: Tensor,
    loadings: Tensor,
    noise: Tensor,
) -> tuple[Tensor, FactorPosterior]:
    """Compute log densities (batch, components) and the posterior of the factors."""
    columns = loadings.movedim(-1, 0)  # (rank, components, features)
    weighted = columns / noise
    squares = columns[:, None] * weighted
    precision = _over_rows(squares, patterns.observed.to(means.dtype))
    identity = torch.eye(len(columns), dtype=means.dtype, device=means.device)
    root = small_inverse_cholesky(precision + identity[..., None, None])
    rows = patterns.expand(root, -1)  # (rank, rank, components, batch)
    half = (rows * _project(cells, means, weighted)).sum(1)
    mean = (rows * half[:, None]).sum(0)
    volume = root.diagonal().log().sum(-1)  # minus half the log determinant
    explained = 0.5 * half.square().sum(0) + patterns.expand(volume, -1)
    diagonal = diag_log_likelihood(cells, means, noise)
    return diagonal + explained.T, FactorPosterior(mean, root)


def _project(cells: WideCells, means: Tensor, weighted: Tensor) -> Tensor:
    """Project the observed residuals on the weighted loadings, (rank, c, batch)."""
    if branch_free():
        gaps = (cells.values[:, None] - means) * cells.present[:, None]
        return torch.einsum("bkd,lkd->lkb", gaps, weighted)
    shifted = weighted * means
    if cancels(shifted.square()):
        pairs = zip(means, weighted.unbind(1), strict=True)
        return torch.stack(
            [w @ (cells.values - cells.present * mean).T for mean, w in pairs], 1
        )
    return _over_rows(weighted, cells.values) - _over_rows(shifted, cells.present)


def _over_rows(table: Tensor, rows: Tensor) -> Tensor:
    """Multiply (*, features) and (rows, features) in one product, to (*, rows)."""
    return (table.flatten(0, -2) @ rows.T).view(*table.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class FactorConditional(ConditionalMixture):
    """F_S of a batch under factor components."""

    components: FactorComponents
    patterns: Patterns
    posterior: FactorPosterior

    def component_means(self) -> Tensor:  # noqa: D102
        loadings = self.components.loadings
        explained = torch.einsum("kdl,lkb->bkd", loadings, self.posterior.mean)
        return self.components.means + explained

    def component_variances(self) -> Tensor:  # noqa: D102
        root = self.posterior.root.movedim((2, 3), (1, 0))  # (patterns, c, l, l)
        half = root @ self.components.loadings.mT
        spread = self.components.variances + half.square().sum(-2)
        return self.patterns.expand(spread)

    def covariance_columns(self, columns: Tensor) -> Tensor:
        """Return the covariances with the features, and then with the factors."""
        root = self.posterior.root.movedim((2, 3), (1, 0))
        half = self.patterns.expand(root @ self.components.loadings.to(root.dtype).mT)
        at = columns[:, None].expand(-1, half.shape[1], -1)  # (batch, c, n)
        some = half.gather(-1, at[:, :, None].expand(-1, -1, half.shape[2], -1)).mT
        noise = self.components.variances.to(root.dtype).expand(len(at), -1, -1)
        noise = noise.gather(-1, at)[..., None]
        features = (some @ half).scatter_add(-1, at[..., None], noise)
        missing = self.cells.missing.to(features.dtype)[:, None, None]
        factors = some @ self.patterns.expand(root)  # (batch, c, n, rank)
        return torch.cat((features * missing, factors), -1)

    def mapped_variance(  # noqa: D102
        self, linear: LinearMap, pairs: Pairs = ALL_PAIRS
    ) -> Tensor:
        units, place = pairs.once_a_pattern(self.patterns)
        dtype = self.cells.values.dtype
        missing = units.of_rows((~self.patterns.observed).to(dtype))
        loadings = units.of_components(self.components.loadings.mT)
        noise = units.of_components(self.components.variances)
        root = self.posterior.root
        if units.row is None or units.component is None:
            root = root.movedim((2, 3), (-3, -4))
        else:
            both = units.component * root.shape[-1] + units.row
            root = root.flatten(2).index_select(-1, both).movedim(-1, 0)
            root = root.contiguous()
        half = linear.turn(missing[..., None, :] * (root @ loadings))  # (u, rank, *)
        variance = linear.squared(missing * noise) + half.square().sum(missing.ndim - 1)
        return variance if place is None else variance.index_select(0, place)

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
        # In coordinates in which the factors have unit covariance.
        prior = self.posterior.root.to(wide).movedim((2, 3), (1, 0))[:, :, None]
        identity = torch.eye(prior.shape[-1], dtype=wide, device=prior.device)
        root = inverse_cholesky(prior @ stiffness @ prior.mT + identity)
        factor = self.posterior.mean.to(wide).permute(2, 1, 0)[:, :, None, :, None]
        response = stiffness[row] @ factor  # (batch, components, units, rank, 1)
        residual = pull[..., None] - response
        quadratic = (factor * (response - 2.0 * pull[..., None])).sum((-2, -1))
        half = (root @ prior)[row] @ residual
        volume = 2.0 * log_det(root)[row]
        unknown = diagonal + quadratic - half.square().sum((-2, -1)) + volume
        return known - 0.5 * unknown

    @property
    def _noise_size(self) -> int:
        return self.posterior.mean.shape[0] + self.cells.values.shape[1]

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        rank = self.posterior.mean.shape[0]
        hidden, rest = noise[..., :rank], noise[..., rank:]
        rows = torch.arange(index.shape[1], device=index.device)  # (batch,)
        root = self.posterior.root[:, :, index, self.patterns.of_row]
        spread = (root * hidden.movedim(-1, 0)[:, None]).sum(0)  # (rank, n, batch)
        factor = (self.posterior.mean[:, index, rows] + spread).movedim(0, -1)
        means = self.components.means[index]  # (n, batch, features)
        chosen = functional.one_hot(index, len(self.components.means)).to(factor.dtype)
        # One product for all rows: the factors of the other components are zero.
        spread_out = (chosen[..., None] * factor[..., None, :]).flatten(-2)
        explained = spread_out @ self.components.loadings.mT.flatten(0, 1)
        return means + explained + self.components.variances.sqrt()[index] * rest


def _sum_over_missing(missing: Tensor, table: Tensor) -> Tensor:
    """Sum (components, units, features, *) over the missing features of a pattern."""
    return torch.einsum("ud,kjd...->ukj...", missing, table)
