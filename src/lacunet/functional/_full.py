"""Full covariances: one Cholesky factor for each component and missing pattern.

A pattern's matrix is the covariance plus gamma on the observed cells, and the identity
on the missing ones: every pattern has the same size, so all are factored in one batch.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lacunet.functional._diag import log_normal
from lacunet.functional._mixture import ConditionalMixture, LinearMap
from lacunet.functional._ops import (
    LOG_TWO_PI,
    Cells,
    Patterns,
    find_patterns,
    log_det,
    solve_lower,
    solve_transposed,
    wide_dtype,
)


class FullComponents(NamedTuple):
    """Components with full covariances.

    Attributes
    ----------
    log_weights : Tensor of shape (components,)
    means : Tensor of shape (components, features)
    covariances : Tensor of shape (components, features, features)
    """

    log_weights: Tensor
    means: Tensor
    covariances: Tensor

    def log_likelihood(self, cells: Cells, gamma: Tensor) -> Tensor:
        """Compute log N(x_o; m_o, covariance_oo + gamma) for every component."""
        return _posterior(self, cells, gamma).log_likelihood

    def condition(self, cells: Cells, gamma: Tensor) -> "FullConditional":
        """Return F_S by regression of the missing cells on the observed ones."""
        posterior = _posterior(self, cells, gamma)
        joint = self.log_weights + posterior.log_likelihood
        log_weights = joint.log_softmax(-1).to(cells.values.dtype)
        return FullConditional(log_weights, cells, self, posterior)


class FullPosterior(NamedTuple):
    """The observed cells explained by each component."""

    log_likelihood: Tensor  # (batch, components)
    solution: Tensor  # inverse(covariance_oo + gamma) @ (x_o - m_o), (b, c, features)
    cholesky: Tensor  # (patterns, components, features, features)
    patterns: Patterns


def _posterior(
    components: FullComponents, cells: Cells, gamma: Tensor
) -> FullPosterior:
    """Factor every pattern's matrix once and solve for every row."""
    wide = wide_dtype(components.means)
    means, covariances = components.means.to(wide), components.covariances.to(wide)
    patterns = find_patterns(cells.observed)
    present = patterns.observed.to(means.dtype)  # (patterns, features)
    both = present[:, None, :, None] * present[:, None, None, :]
    diagonal = torch.diag_embed(gamma.to(wide) * present + (1.0 - present))[:, None]
    cholesky = torch.linalg.cholesky(covariances * both + diagonal)
    residual = (cells.values.to(means.dtype)[:, None] - means) * cells.observed[:, None]
    # Solve L h = r and L.T s = h for rows that share their pattern's L.
    groups = _group_rows(patterns.of_row, len(cholesky))
    columns = groups.gather(residual)  # (groups, components, features, capacity)
    factors = cholesky if groups.capacity == 1 else cholesky[groups.owner]
    half_columns = solve_lower(factors, columns)
    half = groups.scatter(half_columns)
    solution = groups.scatter(solve_transposed(factors, half_columns))
    # The missing cells stand on the diagonal with a one: no part in the determinant.
    volume = log_det(cholesky)[patterns.of_row]
    count = cells.observed.sum(-1, dtype=means.dtype)[:, None]
    quadratic = half.square().sum(-1) + count * LOG_TWO_PI
    return FullPosterior(-0.5 * quadratic - volume, solution, cholesky, patterns)


class _Groups(NamedTuple):
    """Rows of one pattern as columns of one matrix, so that no factor is copied."""

    slot: Tensor  # of every row: group * capacity + place
    owner: Tensor  # the pattern of every group
    capacity: int  # of a group

    def gather(self, rows: Tensor) -> Tensor:
        """Turn (batch, *) into (groups, *, capacity), 0 where a place is empty."""
        places = len(self.owner) * self.capacity
        padded = rows.new_zeros((places, *rows.shape[1:])).index_copy(
            0, self.slot, rows
        )
        by_group = padded.view(len(self.owner), self.capacity, *rows.shape[1:])
        return by_group.movedim(1, -1)

    def scatter(self, columns: Tensor) -> Tensor:
        """Turn (groups, *, capacity) back into (batch, *)."""
        return columns.movedim(-1, 1).flatten(0, 1)[self.slot]


def _group_rows(index: Tensor, n_patterns: int) -> _Groups:
    """Deal rows into groups of one pattern and equal size, at most twice the space."""
    n_rows = len(index)
    if torch.compiler.is_compiling() or n_patterns == n_rows:
        return _Groups(index, torch.arange(n_patterns, device=index.device), 1)
    capacity = -(-n_rows // n_patterns)
    counts = torch.bincount(index, minlength=n_patterns)
    groups = (counts + capacity - 1) // capacity  # of every pattern
    owner = torch.repeat_interleave(groups)
    order = index.argsort(stable=True)
    first_row = counts.cumsum(0) - counts
    first_slot = (groups.cumsum(0) - groups) * capacity
    place = torch.arange(n_rows, device=index.device) - first_row[index[order]]
    slot = torch.empty_like(order)
    slot[order] = first_slot[index[order]] + place
    return _Groups(slot, owner, capacity)


@dataclass(frozen=True, eq=False)
class FullConditional(ConditionalMixture):
    """F_S of a batch under full components."""

    components: FullComponents
    posterior: FullPosterior

    def component_moments(self) -> tuple[Tensor, Tensor]:  # noqa: D102
        features = self.components.means.shape[1]
        identity = torch.eye(
            features, dtype=self.cells.values.dtype, device=self.cells.values.device
        )
        return self.component_means(), self._variance_along(identity)

    def component_means(self) -> Tensor:
        """Return the mean of every cell given the component, without its variance."""
        covariances = self.components.covariances.to(self.posterior.solution.dtype)
        explained = torch.einsum("kde,bke->bkd", covariances, self.posterior.solution)
        return self.components.means + explained.to(self.components.means.dtype)

    def _variance_along(self, directions: Tensor) -> Tensor:
        """Compute the variance of ``directions @ x``, (batch, components, outputs)."""
        cholesky = self.posterior.cholesky
        observed = self.posterior.patterns.observed.to(cholesky.dtype)
        masked = directions.to(cholesky.dtype) * (1.0 - observed)[:, None]
        covariances = self.components.covariances.to(cholesky.dtype)
        spread = covariances @ masked.mT[:, None]  # (patterns, c, features, outputs)
        prior = torch.einsum("uhd,ukdh->ukh", masked, spread)
        half = solve_lower(cholesky, spread * observed[:, None, :, None])
        # Rounding may leave a variance of nothing just below zero.
        variance = (prior - half.square().sum(-2)).clamp_min(0.0)
        return variance.to(directions.dtype)[self.posterior.patterns.of_row]

    def missing_affine(self, weight: Tensor) -> tuple[Tensor, Tensor]:  # noqa: D102
        unknown = self.cells.missing[:, None] * self.component_means()
        return functional.linear(unknown, weight), self._variance_along(weight)

    def missing_push(  # noqa: D102
        self, linear: LinearMap, squared: LinearMap
    ) -> tuple[Tensor, Tensor]:
        msg = (
            "Got a density with full covariances, but a convolution expected diagonal "
            "or factor ones: fit it with covariance_type='diag' or 'factor'."
        )
        raise ValueError(msg)

    def missing_covariances(self) -> Tensor:
        """Compute the covariance of the missing cells for every pattern.

        Returns
        -------
        Tensor of shape (patterns, components, features, features)
            Zero in the rows and columns of observed cells.
        """
        return _missing_covariances(
            self.posterior.cholesky,
            self.components.covariances,
            self.posterior.patterns.observed[:, None],
        )

    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:  # noqa: D102
        known = log_normal(self.cells, centres, variances)[:, None]
        index = self.posterior.patterns.of_row
        missing = (~self.posterior.patterns.observed).to(known.dtype)  # (p, features)
        widths = variances.to(known.dtype) * missing[:, None] + (1.0 - missing)[:, None]
        spread = self.missing_covariances()[:, :, None]
        cholesky = torch.linalg.cholesky(
            spread + torch.diag_embed(widths)[:, None]
        )  # (patterns, c, units, f, f)
        gap = centres.to(known.dtype) - self.component_means()[:, :, None]
        residual = gap * missing[index][:, None, None]  # (batch, c, units, features)
        half = solve_lower(cholesky[index], residual[..., None])
        volume = log_det(cholesky)[index]
        count = missing.sum(-1)[index][:, None, None]
        quadratic = half.square().sum((-2, -1)) + count * LOG_TWO_PI
        return known - 0.5 * quadratic - volume

    @property
    def _noise_size(self) -> int:
        return self.cells.values.shape[1]

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        n_components, n_features = self.components.means.shape
        patterns = self.posterior.patterns
        rows = torch.arange(index.shape[1], device=index.device)
        # A root for every pair of pattern and component that was drawn, no others.
        pairs, owner = torch.unique(
            patterns.of_row * n_components + index, return_inverse=True
        )
        roots = self._roots(pairs // n_components, pairs % n_components)
        shape = (*index.shape, n_features)  # (n, batch, features)
        groups = _group_rows(owner.flatten(), len(pairs))
        columns = groups.gather(noise.to(roots.dtype).expand(shape).flatten(0, 1))
        spread = groups.scatter(roots[groups.owner] @ columns).view(shape)
        draws = self.component_means()[rows, index] + spread
        return draws.to(self.cells.values.dtype)

    def _roots(self, pattern: Tensor, component: Tensor) -> Tensor:
        """Return Cholesky factors of conditional covariances, (pairs, f, f)."""
        observed = self.posterior.patterns.observed[pattern]
        covariances = self.components.covariances[component]
        cholesky = self.posterior.cholesky[pattern, component]
        spread = _missing_covariances(cholesky, covariances, observed)
        # A difference of matrices: rounding may cost it a tiny positive eigenvalue.
        rounding = 16 * spread.shape[-1] * torch.finfo(spread.dtype).eps
        raised = covariances.diagonal(dim1=-2, dim2=-1).to(spread.dtype) * rounding
        raised = torch.where(observed, 1.0, raised)
        root: Tensor = torch.linalg.cholesky(spread + raised.diag_embed())
        return root


def _missing_covariances(
    cholesky: Tensor, covariances: Tensor, observed: Tensor
) -> Tensor:
    """Compute (*, f, f) of the missing cells, zero where ``observed`` (*, f)."""
    present = observed.to(cholesky.dtype)
    missing = 1.0 - present
    spread = covariances.to(cholesky.dtype) * missing[..., None, :]
    half = solve_lower(cholesky, spread * present[..., :, None])
    return spread * missing[..., :, None] - half.mT @ half
