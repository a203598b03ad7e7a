"""Full covariances: what is missing given what is observed, by one block a pattern.

With A the covariance plus gamma on its diagonal and L its inverse, the covariance of
the missing cells given the others is inverse(L_mm) less gamma. So the matrix that is
factored for a pattern is as small as the number of its missing cells. Where most cells
are missing, or A is nearly singular, it is the block A_oo of the observed ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lacunet._validation import branch_free
from lacunet.functional._bounds import BoundedConditional
from lacunet.functional._diag import log_normal
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
    find_patterns,
    inverse_cholesky,
    log_det,
    wide_dtype,
)

# Condition number of A with its diagonal scaled to one, times gamma beside the
# variances: up to here, the inverse keeps as many digits as single precision has.
_WELL_CONDITIONED = 1e9


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
        posterior = _Batch.of(self, cells, gamma).posterior()
        given = posterior.log_likelihood
        if cells.lower is None:
            return given
        flat = FullConditional(torch.zeros_like(given), cells, self, posterior)
        return given + BoundedConditional.of(flat, gamma).evidence

    def condition(self, cells: Cells, gamma: Tensor) -> ConditionalMixture:
        """Return F_S by regression of the missing cells on the observed ones."""
        posterior = _Batch.of(self, cells, gamma).posterior()
        joint = self.log_weights + posterior.log_likelihood
        log_weights = joint.log_softmax(-1).to(cells.values.dtype)
        base = FullConditional(log_weights, cells, self, posterior)
        return base if cells.lower is None else BoundedConditional.of(base, gamma)


class FullPosterior(NamedTuple):
    """The rows explained by each component."""

    log_likelihood: Tensor  # (batch, components)
    means: Tensor  # given the observed cells, (batch, components, features)
    blocks: list["Block"]
    place: Tensor  # of every row among the rows of the blocks

    def by_row(self, results: list[Tensor]) -> Tensor:
        """Bring results of the blocks, (rows, *) each, into the order of the batch."""
        return _by_row(results, self.place)


def _by_row(results: Sequence[Tensor], place: Tensor) -> Tensor:
    if len(results) == 1:
        return results[0]
    return torch.cat(tuple(results)).index_select(0, place)


class Block(NamedTuple):
    """Rows with about as many missing cells, and the covariance of these."""

    rows: Tensor  # of the batch
    patterns: Patterns  # of these rows
    columns: Tensor  # the missing ones, and others to fill up, (patterns, size)
    missing: Tensor  # which of them are missing, bool
    covariance: Tensor  # 0 where not missing, (patterns, components, size, size)

    def spread_out(self, values: Tensor, n_features: int) -> Tensor:
        """Put (rows, *, size) at their columns, with 0 at the others."""
        index = self.patterns.expand(self.columns)
        index = index.view(values.shape[0], *(1,) * (values.ndim - 2), values.shape[-1])
        out = values.new_zeros((*values.shape[:-1], n_features))
        return out.scatter(-1, index.expand_as(values), values)


class _Batch(NamedTuple):
    """What all blocks of a batch have in common, in wide dtype."""

    means: Tensor
    covariances: Tensor
    noise: Tensor  # gamma, (features,)
    raised: Tensor  # A, (components, features, features)
    residual: Tensor  # 0 where missing, (batch, components, features)
    patterns: Patterns

    @classmethod
    def of(cls, components: FullComponents, cells: Cells, gamma: Tensor) -> "_Batch":
        wide = wide_dtype(components.means)
        means, covariances = components.means.to(wide), components.covariances.to(wide)
        noise = gamma.to(wide).expand(means.shape[1])
        gaps = cells.values.to(wide)[:, None] - means
        return cls(
            means,
            covariances,
            noise,
            covariances + torch.diag_embed(noise),
            gaps * cells.observed[:, None],
            find_patterns(cells.observed),
        )

    def posterior(self) -> FullPosterior:
        """Work out every pattern once, those of about the same size together."""
        observed, of_row, distinct = self.patterns
        rows = torch.arange(of_row.shape[0], device=of_row.device)
        n_features = observed.shape[1]
        if branch_free() or of_row.shape[0] == 0:
            everything = torch.arange(n_features, device=of_row.device)
            columns = everything.expand(observed.shape[0], -1)
            found = self._by_observed(rows, self.patterns, columns)
            return FullPosterior(*found[:2], [found[2]], rows)
        root = self._well_conditioned_root()
        n_missing = (~observed).sum(1)
        missing_first = observed.to(torch.uint8).argsort(dim=1, stable=True)
        # Up to 8 missing cells, up to 16, up to 32 and so on.
        sizes = (n_missing - 1).clamp_min(7).to(torch.float64).log2().floor()
        results = []
        for size in sizes.unique():
            chosen = (sizes == size).nonzero()[:, 0]
            new_name = torch.empty_like(n_missing)
            new_name[chosen] = torch.arange(len(chosen), device=rows.device)
            some = rows[sizes[of_row] == size]
            patterns = Patterns(observed[chosen], new_name[of_row[some]], distinct)
            columns, counts = missing_first[chosen], n_missing[chosen]
            most, fewest = int(counts.max()), int(counts.min())
            if root is not None and most <= n_features - fewest:
                found = self._by_missing(some, patterns, columns[:, :most], root)
            else:
                found = self._by_observed(some, patterns, columns[:, fewest:])
            results.append(found)
        likelihoods, means, blocks = zip(*results, strict=True)
        order = torch.cat([block.rows for block in blocks])
        place = torch.empty_like(order)
        place[order] = rows
        return FullPosterior(
            _by_row(likelihoods, place), _by_row(means, place), list(blocks), place
        )

    def _well_conditioned_root(self) -> Tensor | None:
        """Return the inverse Cholesky factor of A, None if it is not to be trusted."""
        raised = self.raised.detach()
        if raised.shape[-1] == 0:
            return None
        cholesky, info = torch.linalg.cholesky_ex(raised)
        if bool(info.any()):
            return None
        scale = raised.diagonal(dim1=-2, dim2=-1).sqrt()
        scales = scale[..., None] * scale[:, None]
        norms = (
            matrix.abs().sum(-1).amax()
            for matrix in (raised / scales, torch.cholesky_inverse(cholesky) * scales)
        )
        beside = self.noise / self.covariances.diagonal(dim1=-2, dim2=-1)
        condition = next(norms) * next(norms) * (1.0 + beside.amax())
        return inverse_cholesky(self.raised) if condition < _WELL_CONDITIONED else None

    def _by_missing(
        self, rows: Tensor, patterns: Patterns, columns: Tensor, root: Tensor
    ) -> tuple[Tensor, Tensor, Block]:
        precision = root.mT @ root  # L
        missing = ~patterns.observed.gather(1, columns)
        inner = inverse_cholesky(_square(precision, columns, missing))
        residual = self.residual.index_select(0, rows)
        pull = torch.einsum("bkd,kde->bke", residual, precision)
        half, moved = _solve(inner, inner, patterns, pull, columns, missing)
        quadratic = (residual * pull).sum(-1) - half.square().sum(-1)
        volume = patterns.expand(log_det(inner)) + log_det(root)
        both = missing[:, None, :, None] & missing[:, None, None, :]
        noise = self.noise[columns].diag_embed()[:, None]
        covariance = torch.where(both, inner.mT @ inner - noise, 0.0)
        block = Block(rows, patterns, columns, missing, covariance)
        means = self.means - block.spread_out(moved, self.means.shape[1])
        return self._log_likelihood(quadratic, volume, patterns), means, block

    def _by_observed(
        self, rows: Tensor, patterns: Patterns, columns: Tensor
    ) -> tuple[Tensor, Tensor, Block]:
        present = patterns.observed.gather(1, columns)
        root = inverse_cholesky(_square(self.raised, columns, present))
        cross = self.covariances.index_select(1, columns.flatten())
        cross = cross.unflatten(1, columns.shape).transpose(0, 1)
        explained = root @ (cross * present[:, None, :, None])  # (u, c, size, features)
        residual = self.residual.index_select(0, rows)
        half, moved = _solve(root, explained, patterns, residual, columns, present)
        quadratic = half.square().sum(-1)
        volume = patterns.expand(log_det(root))
        missing = ~patterns.observed
        both = missing[:, None, :, None] & missing[:, None, None, :]
        covariance = torch.where(both, self.covariances - explained.mT @ explained, 0.0)
        everything = torch.arange(missing.shape[1], device=rows.device)
        everywhere = everything.expand_as(missing)
        block = Block(rows, patterns, everywhere, missing, covariance)
        likelihood = self._log_likelihood(quadratic, volume, patterns)
        return likelihood, self.means + moved, block

    def _log_likelihood(
        self, quadratic: Tensor, volume: Tensor, patterns: Patterns
    ) -> Tensor:
        n_observed = patterns.observed.sum(1, dtype=quadratic.dtype)
        constant = patterns.expand(n_observed)[:, None] * LOG_TWO_PI
        return -0.5 * (quadratic + constant) - volume


def _square(matrix: Tensor, columns: Tensor, real: Tensor) -> Tensor:
    """Take the rows and columns of (c, f, f), the identity where not ``real``."""
    n_patterns, size = columns.shape
    place = (columns[:, :, None] * matrix.shape[-1] + columns[:, None]).flatten()
    chosen = matrix.flatten(1).gather(1, place.expand(matrix.shape[0], -1))
    block = chosen.view(matrix.shape[0], n_patterns, size, size).transpose(0, 1)
    both = real[:, None, :, None] & real[:, None, None, :]
    identity = torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    return torch.where(both, block, identity)


def _solve(
    root: Tensor,
    other: Tensor,
    patterns: Patterns,
    rows: Tensor,
    columns: Tensor,
    real: Tensor,
) -> tuple[Tensor, Tensor]:
    """Compute ``root @ row`` and ``other.T`` of that, for the columns of each row."""
    index = patterns.expand(columns)[:, None].expand(-1, rows.shape[1], -1)
    chosen = rows.gather(-1, index) * patterns.expand(real)[:, None]
    if patterns.distinct:
        half = root @ chosen[..., None]
        return half[..., 0], (other.mT @ half)[..., 0]
    groups = _group_rows(patterns.of_row, root.shape[0])
    if groups.capacity > 1:
        root, other = root[groups.owner], other[groups.owner]
    half = root @ groups.gather(chosen)
    return groups.scatter(half), groups.scatter(other.mT @ half)


class _Groups(NamedTuple):
    """Rows of one pattern as columns of one matrix, so that no factor is copied."""

    slot: Tensor  # of every row: group * capacity + place
    owner: Tensor  # the pattern of every group
    capacity: int  # of a group

    def gather(self, rows: Tensor) -> Tensor:
        """Turn (batch, *) into (groups, *, capacity), 0 where a place is empty."""
        groups = self.owner.shape[0]
        places = groups * self.capacity
        padded = rows.new_zeros((places, *rows.shape[1:])).index_copy(
            0, self.slot, rows
        )
        by_group = padded.view(groups, self.capacity, *rows.shape[1:])
        return by_group.movedim(1, -1)

    def scatter(self, columns: Tensor) -> Tensor:
        """Turn (groups, *, capacity) back into (batch, *)."""
        return columns.movedim(-1, 1).flatten(0, 1).index_select(0, self.slot)


def _group_rows(index: Tensor, n_patterns: int) -> _Groups:
    """Deal rows into groups of one pattern and equal size, at most twice the space."""
    n_rows = index.shape[0]
    if n_patterns == n_rows:
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

    def component_means(self) -> Tensor:  # noqa: D102
        return self.posterior.means.to(self.cells.values.dtype)

    def component_variances(self) -> Tensor:  # noqa: D102
        variances = []
        for block in self.posterior.blocks:
            diagonal = block.covariance.diagonal(dim1=-2, dim2=-1)
            rows = block.patterns.expand(diagonal)
            variances.append(block.spread_out(rows, self.cells.values.shape[1]))
        variance = self.posterior.by_row(variances).clamp_min(0.0)
        return variance.to(self.cells.values.dtype)

    def covariance_columns(self, columns: Tensor) -> Tensor:  # noqa: D102
        results = []
        for block in self.posterior.blocks:
            of_row = block.patterns.of_row
            some = columns.index_select(0, block.rows)  # (rows, n)
            same = block.columns[of_row][:, None] == some[..., None]
            place = same.to(torch.uint8).argmax(-1)
            covariance = block.covariance.transpose(1, 2)  # (patterns, size, c, size)
            found = covariance[of_row[:, None], place].transpose(1, 2)
            results.append(block.spread_out(found, self.cells.values.shape[1]))
        return self.posterior.by_row(results)

    def mapped_variance(  # noqa: D102
        self, linear: LinearMap, pairs: Pairs = ALL_PAIRS
    ) -> Tensor:
        weight = linear.matrix("full covariances")
        directions = weight.T.to(self.posterior.means.dtype)
        results, order, start = [], [], 0
        for block in self.posterior.blocks:
            inside = pairs
            if pairs.row is not None and pairs.component is not None:
                place = self.posterior.place.index_select(0, pairs.row) - start
                chosen = ((place >= 0) & (place < len(block.rows))).nonzero()[:, 0]
                inside = Pairs(place[chosen], pairs.component[chosen])
                order.append(chosen)
            start += block.rows.shape[0]
            along = directions.index_select(0, block.columns.flatten())
            along = along.unflatten(0, block.columns.shape) * block.missing[..., None]
            units, unit = inside.once_a_pattern(block.patterns)
            along = units.of_rows(along)  # (units, size, outputs)
            variance = (along * (units.of_both(block.covariance) @ along)).sum(-2)
            results.append(variance if unit is None else variance.index_select(0, unit))
        if order:
            every = torch.cat(order)
            back = torch.empty_like(every)
            back[every] = torch.arange(len(every), device=every.device)
            variance = torch.cat(results).index_select(0, back)
        else:
            variance = self.posterior.by_row(results)
        # Rounding may leave a variance of nothing just below zero.
        return variance.clamp_min(0.0).to(weight.dtype)

    def missing_second_moments(self, weights: Tensor) -> Tensor:
        """Sum the covariances of all rows, weighted by (batch, components).

        Returns
        -------
        Tensor of shape (components, features, features)
        """
        n_components, n_features = self.components.means.shape
        total = weights.new_zeros((n_components, n_features**2))
        for block in self.posterior.blocks:
            of_pattern = weights.new_zeros(block.covariance.shape[:2])
            of_pattern.index_add_(
                0, block.patterns.of_row, weights.index_select(0, block.rows)
            )
            place = block.columns[:, :, None] * n_features + block.columns[:, None]
            covariances = of_pattern[..., None, None] * block.covariance
            total.scatter_add_(
                1,
                place.flatten().expand(n_components, -1),
                covariances.transpose(0, 1).flatten(1),
            )
        return total.view(n_components, n_features, n_features)

    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:  # noqa: D102
        known = log_normal(self.cells, centres, variances)[:, None]
        centres, variances = centres.to(known.dtype), variances.to(known.dtype)
        results = []
        for block in self.posterior.blocks:
            of_row = block.patterns.of_row
            columns, missing = block.columns, block.missing
            at = columns.flatten()
            widths, middles = (
                table.index_select(1, at).unflatten(1, columns.shape).transpose(0, 1)
                for table in (variances, centres)
            )  # (patterns, units, size)
            widths = torch.where(missing[:, None], widths, 1.0).diag_embed()
            root = inverse_cholesky(block.covariance[:, :, None] + widths[:, None])
            means = self.posterior.means.index_select(0, block.rows)
            index = columns.index_select(0, of_row)[:, None]
            means = means.gather(-1, index.expand(-1, means.shape[1], -1))
            gaps = middles.index_select(0, of_row)[:, None] - means[:, :, None]
            gaps = gaps * missing.index_select(0, of_row)[:, None, None]
            half = root.index_select(0, of_row) @ gaps[..., None]
            volume = log_det(root).index_select(0, of_row)
            count = missing.sum(1, dtype=known.dtype)
            count = count.index_select(0, of_row)[:, None, None]
            quadratic = half.square().sum((-2, -1)) + count * LOG_TWO_PI
            results.append(0.5 * quadratic + volume)
        return known - self.posterior.by_row(results)

    @property
    def _noise_size(self) -> int:
        return self.cells.values.shape[1]

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        n_components, n_features = self.components.means.shape
        every = torch.arange(index.shape[1], device=index.device)
        noise = noise.to(self.posterior.means.dtype).expand(*index.shape, n_features)
        spreads = []
        for block in self.posterior.blocks:
            of_row = block.patterns.of_row
            # A root for every pair of pattern and component that was drawn, no others.
            pairs, owner = torch.unique(
                of_row * n_components + index[:, block.rows], return_inverse=True
            )
            roots = self._roots(block, pairs // n_components, pairs % n_components)
            cells = block.columns[of_row].expand(len(index), -1, -1)
            columns = noise[:, block.rows].gather(-1, cells)  # (n, rows, size)
            groups = _group_rows(owner.flatten(), len(pairs))
            turned = roots[groups.owner] @ groups.gather(columns.flatten(0, 1))
            spread = groups.scatter(turned).view_as(columns).transpose(0, 1)
            spreads.append(block.spread_out(spread, n_features))
        draws = self.posterior.means[every, index]
        draws = draws + self.posterior.by_row(spreads).transpose(0, 1)
        return draws.to(self.cells.values.dtype)

    def _roots(self, block: Block, pattern: Tensor, component: Tensor) -> Tensor:
        """Return Cholesky factors of conditional covariances, (pairs, size, size)."""
        covariance = block.covariance[pattern, component]
        columns, missing = block.columns[pattern], block.missing[pattern]
        # A difference of matrices: rounding may cost it a tiny positive eigenvalue.
        rounding = 16 * self.cells.values.shape[1] * torch.finfo(covariance.dtype).eps
        variances = self.components.covariances.diagonal(dim1=-2, dim2=-1)
        raised = variances[component].to(covariance.dtype).gather(1, columns) * rounding
        raised = torch.where(missing, raised, 1.0)
        root: Tensor = torch.linalg.cholesky(covariance + raised.diag_embed())
        return root
