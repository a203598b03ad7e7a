"""Diagonal covariances, the paper's own: all of it is matrix products with masks."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from lacunet._validation import branch_free
from lacunet.functional._bounds import BoundedConditional
from lacunet.functional._mixture import (
    ALL_PAIRS,
    ConditionalMixture,
    LinearMap,
    Pairs,
)
from lacunet.functional._ops import (
    LOG_TWO_PI,
    Cells,
    WideCells,
    wide_dtype,
    widen,
)


class DiagComponents(NamedTuple):
    """Components with diagonal covariances.

    Attributes
    ----------
    log_weights : Tensor of shape (components,)
    means : Tensor of shape (components, features)
    variances : Tensor of shape (components, features)
    """

    log_weights: Tensor
    means: Tensor
    variances: Tensor

    def log_likelihood(self, cells: Cells, gamma: Tensor) -> Tensor:
        """Compute log N(x_o; m_o, diag(variances)_o + gamma) for every component."""
        given = log_normal(cells, self.means, self.variances, gamma)
        if cells.lower is None:
            return given
        flat = DiagConditional(torch.zeros_like(given), cells, self)
        return given + BoundedConditional.of(flat, gamma).evidence

    def condition(self, cells: Cells, gamma: Tensor) -> ConditionalMixture:
        """Return F_S: the missing cells keep their moments, only the weights change."""
        given = log_normal(cells, self.means, self.variances, gamma)
        log_weights = (self.log_weights + given).log_softmax(-1)
        base = DiagConditional(log_weights.to(cells.values.dtype), cells, self)
        return base if cells.lower is None else BoundedConditional.of(base, gamma)


def diag_log_likelihood(cells: WideCells, means: Tensor, variances: Tensor) -> Tensor:
    """Compute the log density of the observed cells, (batch, components)."""
    half = -0.5 / variances
    logs = -0.5 * (variances.log() + LOG_TWO_PI)
    if branch_free():
        gaps = (cells.values[:, None] - means) * cells.present[:, None]
        return (gaps.square() * half).sum(-1) + cells.sum_tables(logs)
    weighted = half * means
    squares = weighted * means
    if cancels(squares):
        pairs = zip(means, half, strict=True)
        quadratic = [(cells.values - cells.present * m).square() @ h for m, h in pairs]
        return torch.stack(quadratic, -1) + cells.sum_tables(logs)
    crossed = torch.addmm(
        cells.sum_tables(squares + logs), cells.values, weighted.T, alpha=-2.0
    )
    return torch.addmm(crossed, cells.squares, half.T)


def cancels(squares: Tensor) -> bool:
    """Return whether squares are so large that their difference is lost to rounding.

    Seldom: where components are very far away for their size. Then differences are
    squared, one component after the other, not squares subtracted in one product.
    """
    if squares.numel() == 0:
        return False
    return float(squares.detach().abs().amax()) * torch.finfo(squares.dtype).eps > 1e-7


def log_normal(
    cells: Cells, means: Tensor, variances: Tensor, gamma: Tensor | float = 0.0
) -> Tensor:
    """Compute log N(x_o; means, diag(variances) + gamma), (batch, components)."""
    wide = wide_dtype(means)
    return diag_log_likelihood(widen(cells), means.to(wide), variances.to(wide) + gamma)


@dataclass(frozen=True, eq=False)
class DiagConditional(ConditionalMixture):
    """F_S of a batch under diagonal components."""

    components: DiagComponents

    def mean(self) -> Tensor:  # noqa: D102 - the same, without the large tensor
        filled = self.weights @ self.components.means
        return torch.where(self.observed, self.cells.values, filled)

    def component_means(self) -> Tensor:  # noqa: D102
        return self._expand(self.components.means)

    def component_variances(self) -> Tensor:  # noqa: D102
        return self._expand(self.components.variances)

    def _expand(self, table: Tensor) -> Tensor:
        return table.expand(self.log_weights.shape[0], *table.shape)

    def _pair_means(self, pairs: Pairs) -> Tensor:
        return pairs.of_components(self.components.means)

    def mapped_variance(  # noqa: D102
        self, linear: LinearMap, pairs: Pairs = ALL_PAIRS
    ) -> Tensor:
        missing = pairs.of_rows(self.cells.missing)
        return linear.squared(missing * pairs.of_components(self.components.variances))

    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:  # noqa: D102
        known = log_normal(self.cells, centres, variances)  # (batch, units)
        means, spreads = (
            tensor.to(known.dtype)[:, None]
            for tensor in (self.components.means, self.components.variances)
        )  # (components, 1, features)
        total = spreads + variances  # (components, units, features)
        table = (means - centres).square() / total + total.log() + LOG_TWO_PI
        missing = self.cells.missing.to(known.dtype)
        unknown = (missing @ table.flatten(0, 1).T).view(-1, *table.shape[:2])
        return known[:, None] - 0.5 * unknown

    @property
    def _noise_size(self) -> int:
        return self.cells.values.shape[1]

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        means = self.components.means[index]  # (n, batch, features)
        return means + self.components.variances.sqrt()[index] * noise
