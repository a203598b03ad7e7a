"""Numeric and categorical columns in one mixture: Gaussians beside level probabilities.

A row has its numeric columns first, then one group of columns for each categorical
column: one-hot, or NaN all over where the category is missing. Given the component, the
groups are independent of each other and of the numeric columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lacunet.functional._diag import DiagComponents, log_normal
from lacunet.functional._factor import FactorComponents
from lacunet.functional._full import FullComponents
from lacunet.functional._mixture import (
    ALL_PAIRS,
    ConditionalMixture,
    LinearMap,
    Pairs,
    mix,
)
from lacunet.functional._moments import Affine
from lacunet.functional._ops import (
    LOG_TWO_PI,
    Cells,
    exporting_to_onnx,
    normal_cdf,
    wide_dtype,
)

GaussianComponents = DiagComponents | FactorComponents | FullComponents


class MixedComponents(NamedTuple):
    """Components over numeric and categorical columns.

    Attributes
    ----------
    gaussian : DiagComponents, FactorComponents or FullComponents
        Over the numeric columns, of which there may be none; with the log weights.
    log_probabilities : Tensor of shape (components, sum(sizes))
        Logarithms of the levels' probabilities; those of a group sum to one.
    sizes : tuple of int
        Number of levels of each categorical column.

    Examples
    --------
    Two clusters of one number and a category with two levels; a missing level is
    guessed from the number.

    >>> import torch
    >>> from lacunet.functional import DiagComponents, MixedComponents, condition
    >>> numbers = DiagComponents(
    ...     torch.tensor([0.5, 0.5]).log(),
    ...     torch.tensor([[0.0], [9.0]]),
    ...     torch.ones(2, 1),
    ... )
    >>> probabilities = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    >>> two = MixedComponents(numbers, probabilities.log(), sizes=(2,))
    >>> x = torch.tensor([[0.0, torch.nan, torch.nan], [torch.nan, 0.0, 1.0]])
    >>> condition(x, two, gamma=0.0).mean()
    tensor([[0.0000, 0.2500, 0.7500],
            [0.0000, 0.0000, 1.0000]])
    """

    gaussian: GaussianComponents
    log_probabilities: Tensor
    sizes: tuple[int, ...]

    @property
    def log_weights(self) -> Tensor:
        """Logarithms of the components' weights, (components,)."""
        return self.gaussian.log_weights

    @property
    def n_numeric(self) -> int:
        """Number of numeric columns."""
        return self.gaussian.means.shape[1]

    @property
    def probabilities(self) -> Tensor:
        """Probabilities of the levels, (components, sum(sizes))."""
        return self.log_probabilities.exp()

    @property
    def means(self) -> Tensor:
        """Means of all columns, (components, features): of levels, probabilities."""
        return torch.cat((self.gaussian.means, self.probabilities), 1)

    def log_likelihood(self, cells: Cells, gamma: Tensor) -> Tensor:
        """Compute the log density of the observed cells for every component."""
        numeric, levels = split_at(cells, self.n_numeric)
        noise = gamma if gamma.ndim == 0 else gamma[: self.n_numeric]
        given = self.gaussian.log_likelihood(numeric, noise)
        restricted = self.restrict(find_restrictions(levels, self.sizes), gamma)
        return given + self._evidence(levels, gamma, restricted)

    def condition(self, cells: Cells, gamma: Tensor) -> "MixedConditional":
        """Return F_S: the observed levels are evidence for the Gaussian components."""
        if self.n_numeric == 0 and exporting_to_onnx():
            msg = (
                "Got a density without numeric columns to export, but expected one at "
                "least: ONNX Runtime fails on arrays without columns. Use torch.export."
            )
            raise ValueError(msg)
        numeric, levels = split_at(cells, self.n_numeric)
        noise = gamma if gamma.ndim == 0 else gamma[: self.n_numeric]
        # To the Gaussian part, the levels give a prior that each row has.
        restricted = self.restrict(find_restrictions(levels, self.sizes), gamma)
        prior = self.log_weights + self._evidence(levels, gamma, restricted)
        given = self.gaussian._replace(log_weights=prior).condition(numeric, noise)
        return MixedConditional(given.log_weights, cells, self, given, restricted)

    def _evidence(
        self, levels: Cells, gamma: Tensor, restricted: Sequence["RestrictedGroup"]
    ) -> Tensor:
        """Compute log((p + gamma / L) / (1 + gamma)) of the observed levels, summed."""
        table = self.level_evidence(gamma)
        evidence = levels.values.to(table.dtype) @ table.T  # (batch, components)
        for group in restricted:
            seen = group.evidence.index_select(0, group.of_row)
            evidence = evidence.index_add(0, group.rows, seen)
        return evidence

    def restrict(
        self, restrictions: Sequence["Restriction"], gamma: Tensor
    ) -> list["RestrictedGroup"]:
        """Return what it means that some levels of missing categories are ruled out."""
        if not restrictions:
            return []
        table, probabilities = self.level_evidence(gamma), self.probabilities
        found = []
        for start, rows, of_row, possible in restrictions:
            here = slice(start, start + possible.shape[1])
            chances = probabilities[:, here].to(table.dtype)
            inside = restrict(possible, table[:, here], chances)
            found.append(RestrictedGroup(start, rows, of_row, *inside))
        return found

    def level_evidence(self, gamma: Tensor) -> Tensor:
        """Compute log((p + gamma / L) / (1 + gamma)) of each level, (components, *)."""
        wide = wide_dtype(self.log_probabilities)
        noise = gamma.to(wide)
        if gamma.ndim > 0:
            groups = noise[self.n_numeric :].split(self.sizes)
            noise = torch.cat([noise[:0], *(g.mean().expand(len(g)) for g in groups)])
        counts = noise.new_tensor([size for size in self.sizes for _ in range(size)])
        blurred = (self.log_probabilities.to(wide).exp() + noise / counts) / (1 + noise)
        # An impossible level is next to impossible: its logarithm stays finite.
        return blurred.clamp_min(torch.finfo(wide).tiny).log()


class Restriction(NamedTuple):
    """Rows of which some levels of a missing category are ruled out."""

    start: int  # the group's first level
    rows: Tensor  # of the batch
    of_row: Tensor  # which of the distinct sets of possible levels each of them has
    possible: Tensor  # these sets, (distinct, levels), bool


def find_restrictions(levels: Cells, sizes: tuple[int, ...]) -> list[Restriction]:
    """Find the missing categories of which some levels are ruled out."""
    if levels.upper is None:
        return []
    found = []
    groups = (levels.upper > 0).split(sizes, 1)
    for start, group in zip(group_starts(sizes), groups, strict=True):
        rows = (~group).any(1).nonzero()[:, 0]
        if len(rows):
            some = group.index_select(0, rows)
            possible, of_row = torch.unique(some, dim=0, return_inverse=True)
            found.append(Restriction(start, rows, of_row, possible))
    return found


class RestrictedGroup(NamedTuple):
    """The same, with what it means under the components."""

    start: int  # the group's first level
    rows: Tensor  # of the batch
    of_row: Tensor  # which of the distinct sets of possible levels each of them has
    evidence: Tensor  # log probability of these levels, (distinct, components)
    chances: Tensor  # of each level given that, (distinct, components, levels)

    def spread_out(self, of_distinct: Tensor, n_rows: int) -> Tensor:
        """Give (distinct, components, *) to the rows that have it, and 0 to others."""
        out = of_distinct.new_zeros((n_rows, *of_distinct.shape[1:]))
        return out.index_copy(0, self.rows, of_distinct.index_select(0, self.of_row))


def restrict(
    possible: Tensor, evidence: Tensor, probabilities: Tensor
) -> tuple[Tensor, Tensor]:
    """Return log evidence and chances of sets of possible levels.

    Of ``possible`` (distinct, levels), bool, and two tables (components, levels): log
    evidence of each level, and its probability. As in RestrictedGroup.
    """
    if not bool(possible.any(1).all()):
        msg = (
            "Got bounds that rule out all levels of a category, but expected one at "
            "least that is possible."
        )
        raise ValueError(msg)
    logs = evidence.masked_fill(~possible[:, None], -torch.inf).logsumexp(-1)
    tiny = torch.finfo(probabilities.dtype).tiny
    # Levels that are possible, but not in this component, are equally so.
    chances = probabilities.clamp_min(tiny) * possible[:, None]
    return logs, chances / chances.sum(-1, keepdim=True)


def split_at(cells: Cells, n_numeric: int) -> tuple[Cells, Cells]:
    """Split the cells of a batch into numeric columns and levels."""
    numeric = cells.map(lambda tensor: tensor[:, :n_numeric])
    if numeric.lower is not None and not numeric.bounded.any():
        numeric = Cells(numeric.values, numeric.observed, numeric.missing)
    return numeric, cells.map(lambda tensor: tensor[:, n_numeric:])


def group_starts(sizes: tuple[int, ...]) -> list[int]:
    """Return the first column of each group, counted from the first level."""
    return list(accumulate(sizes, initial=0))[:-1]


@dataclass(frozen=True, eq=False)
class MixedConditional(ConditionalMixture):
    """F_S of a batch with categories: the Gaussian one, and levels beside it."""

    components: MixedComponents
    gaussian: ConditionalMixture  # of the numeric columns, with the same weights
    restricted: Sequence[RestrictedGroup] = ()

    @property
    def _levels(self) -> Cells:
        return split_at(self.cells, self.components.n_numeric)[1]

    def mean(self) -> Tensor:
        """Fill missing numbers with their mean, missing levels with probabilities.

        Returns
        -------
        Tensor of shape (batch, features)
            Observed cells are returned bit for bit.
        """
        levels = self._levels
        filled = self._frequencies()
        known = torch.where(levels.observed, levels.values, filled)
        return torch.cat((self.gaussian.mean(), known), 1)

    def variance(self) -> Tensor:  # noqa: D102 - the same, without the large tensor
        frequency = self._frequencies()
        spread = torch.where(self._levels.observed, 0.0, frequency * (1.0 - frequency))
        return torch.cat((self.gaussian.variance(), spread), 1)

    def _frequencies(self) -> Tensor:
        """Return the probabilities of missing levels, (batch, levels)."""
        if not self.restricted:
            return self.weights @ self.components.probabilities
        return mix(self.weights, self._chances())

    def _chances(self) -> Tensor:
        """Return probabilities of levels, (components, *) or (batch, components, *)."""
        chances = self.components.probabilities
        if self.restricted:
            chances = chances.expand(len(self.log_weights), -1, -1).clone()
        for group in self.restricted:
            here = slice(group.start, group.start + group.chances.shape[-1])
            of_rows = group.chances.index_select(0, group.of_row)
            chances[group.rows, :, here] = of_rows.to(chances.dtype)
        return chances

    def component_means(self) -> Tensor:  # noqa: D102
        return self._beside(self.gaussian.component_means(), self._chances())

    def component_variances(self) -> Tensor:  # noqa: D102
        chances = self._chances()
        return self._beside(
            self.gaussian.component_variances(), chances * (1.0 - chances)
        )

    def _beside(self, numeric: Tensor, levels: Tensor) -> Tensor:
        rows = levels.expand(numeric.shape[0], *levels.shape[-2:])
        return torch.cat((numeric, rows), -1)

    def completed(self, pairs: Pairs = ALL_PAIRS) -> Tensor:  # noqa: D102
        numeric = self.gaussian.completed(pairs)
        levels, chances = self._levels, self._chances()
        known = torch.addcmul(
            pairs.of_rows(levels.values),
            pairs.of_rows(levels.missing),
            (pairs.of_both if self.restricted else pairs.of_components)(chances),
        )
        return torch.cat((numeric, known), -1)

    def mapped_variance(self, linear: LinearMap, pairs: Pairs = ALL_PAIRS) -> Tensor:
        """Compute the variance of ``linear(x)`` given the component.

        A missing category adds the variance of its level's weight. That is exact; that
        the sum over columns is taken for Gaussian is not.

        Returns
        -------
        Tensor of shape (pairs, *) or (batch, components, *)
        """
        weight = linear.matrix("categorical columns")
        first, sizes = self.components.n_numeric, self.components.sizes
        variance = self.gaussian.mapped_variance(Affine(weight[:, :first]), pairs)
        if not sizes:
            return variance
        # All categories at once, the smaller ones filled up with impossible levels.
        place, real = padded_groups(sizes, weight.device)
        chances = self.components.probabilities[:, place] * real  # (c, groups, most)
        levels = weight[:, first:][:, place]  # (hidden, groups, most)
        table = level_variances(chances.transpose(0, 1), levels.transpose(0, 1))
        variance = variance + self._sum_missing(table.to(variance.dtype), pairs)
        starts = group_starts(sizes)
        for group in self.restricted:
            size = group.chances.shape[-1]
            some = weight[:, first + group.start :][:, :size].to(group.chances.dtype)
            change = level_variances(group.chances, some) - table[
                starts.index(group.start)
            ].to(some.dtype)
            change = group.spread_out(change, len(self.log_weights))
            variance = variance + pairs.of_both(change.to(variance.dtype))
        return variance.clamp_min(0.0) if self.restricted else variance

    def _groups(self, *columns: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """Cut log probabilities and (rows, features) into groups, in wide dtype."""
        wide = wide_dtype(self.cells.values)
        first, sizes = self.components.n_numeric, self.components.sizes
        levels = (self.components.log_probabilities, *(c[:, first:] for c in columns))
        return zip(*(t.to(wide).split(sizes, 1) for t in levels), strict=True)

    def _sum_missing(self, table: Tensor, pairs: Pairs = ALL_PAIRS) -> Tensor:
        """Sum (groups, components, outputs) over each row's missing groups."""
        starts = group_starts(self.components.sizes)
        missing = self._levels.missing[:, starts].to(table.dtype)
        if pairs.row is None or pairs.component is None:
            return (missing @ table.flatten(1)).view(-1, *table.shape[1:])
        by_component = pairs.component.argsort(stable=True)
        rows = missing.index_select(0, pairs.row.index_select(0, by_component))
        counts = torch.bincount(pairs.component, minlength=table.shape[1]).tolist()
        sums = [
            some @ table[:, k] for k, some in enumerate(rows.split(counts)) if len(some)
        ]
        back = torch.empty_like(by_component)
        back[by_component] = torch.arange(len(back), device=back.device)
        return torch.cat(sums).index_select(0, back)

    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:  # noqa: D102
        first = self.components.n_numeric
        given = self.gaussian.log_rbf(centres[:, :first], variances[:, :first])
        if not self.components.sizes:
            return given
        if self.restricted:
            msg = (
                "Got bounds that rule out levels of a category, but radial units "
                "expected bounds of numbers only."
            )
            raise ValueError(msg)
        known = log_normal(self._levels, centres[:, first:], variances[:, first:])
        fits = [
            (p[:, None] + _log_normal_of_levels(c, v)).logsumexp(-1)
            for p, c, v in self._groups(centres, variances)
        ]  # of (components, units), one a group
        return given + known[:, None] + self._sum_missing(torch.stack(fits))

    @property
    def _noise_size(self) -> int:
        return len(self.components.sizes) + self.gaussian._noise_size

    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        n_groups = len(self.components.sizes)
        uniforms = normal_cdf(noise[..., :n_groups])  # uniform
        restricted = {group.start: group for group in self.restricted}
        starts = group_starts(self.components.sizes)
        levels = []
        for start, (logs,), uniform in zip(
            starts, self._groups(), uniforms.unbind(-1), strict=True
        ):
            chances = logs.exp()
            if start in restricted:
                group = restricted[start]
                of_rows = group.chances.index_select(0, group.of_row).to(chances.dtype)
                chances = chances.repeat(len(self.log_weights), 1, 1)
                chances[group.rows] = of_rows
            levels.append(_draw_level(chances, index, uniform))
        numeric = self.gaussian._draw(index, noise[..., n_groups:])
        return torch.cat((numeric, *(level.to(numeric.dtype) for level in levels)), -1)


def padded_groups(
    sizes: tuple[int, ...], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the columns of each group, and which are its own, (groups, most)."""
    ranks = torch.arange(max(sizes), device=device)
    counts = torch.tensor(sizes, device=device)[:, None]
    starts = torch.tensor(group_starts(sizes), device=device)[:, None]
    return starts + ranks.minimum(counts - 1), ranks < counts


def level_variances(probabilities: Tensor, weights: Tensor) -> Tensor:
    """Compute the variance of a level's weight, (groups, c, hidden).

    Of probabilities (groups, components, levels) and weights (groups, hidden, levels).
    """
    # About their middle, so that no large squares are subtracted.
    relative = (weights - weights.mean(-1, keepdim=True)).mT
    variance = probabilities @ relative.square() - (probabilities @ relative).square()
    # Rounding may leave a variance of nothing just below zero.
    return variance.clamp_min(0.0)


def _log_normal_of_levels(centres: Tensor, variances: Tensor) -> Tensor:
    """Compute log N(e_l; centre, variances) of each level's corner, (units, levels)."""
    origin = (centres.square() / variances + variances.log() + LOG_TWO_PI).sum(1)
    return -0.5 * (origin[:, None] + (1.0 - 2.0 * centres) / variances)


def _draw_level(probabilities: Tensor, index: Tensor, uniform: Tensor) -> Tensor:
    """Draw one-hot levels (n, batch, levels) by the inverse distribution function.

    The component ``index`` is (n, batch), the uniform ``uniform`` (n, batch or 1);
    probabilities are (components, levels), or those of each row.
    """
    ends = probabilities.cumsum(-1)
    if ends.ndim == 2:
        ends = ends[index]  # (n, batch, levels)
    else:
        ends = ends[torch.arange(index.shape[1], device=index.device), index]
    level = (uniform[..., None] * ends[..., -1:] >= ends).sum(-1)
    n_levels = ends.shape[-1]
    return functional.one_hot(level.clamp_max(n_levels - 1), n_levels)
