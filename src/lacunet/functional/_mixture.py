"""The conditional mixture of a batch, whatever the covariances, and mixing over it."""

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from lacunet._validation import branch_free, check_positive_int
from lacunet.functional._ops import Cells, Patterns, wide_dtype


class LinearMap(Protocol):
    """A linear map of rows (*, features) to outputs (*, outputs), of any axes."""

    def __call__(self, rows: Tensor) -> Tensor:
        """Map rows, and add the bias."""

    def turn(self, rows: Tensor) -> Tensor:
        """Map rows without the bias."""

    def squared(self, rows: Tensor) -> Tensor:
        """Map rows by the squared coefficients."""

    def matrix(self, kind: str) -> Tensor:
        """Return the coefficients (outputs, features), or refuse a density's kind."""


class Pairs(NamedTuple):
    """Rows and components that are worked out together: some of them, or all.

    What belongs to some pairs has one axis for them, row by row. What belongs to all
    has two, (rows, components), or 1 instead of one of them.
    """

    row: Tensor | None = None  # (pairs,)
    component: Tensor | None = None

    def of_rows(self, tensor: Tensor) -> Tensor:
        """Lay (rows, *) out over the pairs."""
        return tensor[:, None] if self.row is None else tensor.index_select(0, self.row)

    def of_components(self, tensor: Tensor) -> Tensor:
        """Lay (components, *) out over the pairs."""
        if self.component is None:
            return tensor
        return tensor.index_select(0, self.component)

    def of_both(self, tensor: Tensor) -> Tensor:
        """Lay (rows, components, *) out over the pairs."""
        if self.row is None or self.component is None:
            return tensor
        place = self.row * tensor.shape[1] + self.component
        return tensor.flatten(0, 1).index_select(0, place)

    def mix(
        self, weights: Tensor, values: Tensor, n_rows: int, rows: Tensor | None = None
    ) -> Tensor:
        """Average (pairs, *) over the components of each row, to (n_rows, *).

        ``rows`` are the places of the rows; places without a row are 0.
        """
        if self.row is None:
            mixed = mix(weights, values.view(*weights.shape, *values.shape[1:]))
            if rows is None:
                return mixed
            out = values.new_zeros((n_rows, *values.shape[1:]))
            return out.index_copy_(0, rows, mixed)
        place = self.row if rows is None else rows.index_select(0, self.row)
        weighted = weights.view(-1, *(1,) * (values.ndim - 1)) * values
        out = values.new_zeros((n_rows, *values.shape[1:]))
        return out.index_add_(0, place, weighted)

    def once_a_pattern(self, patterns: Patterns) -> tuple["Pairs", Tensor | None]:
        """Return pairs of pattern and component, and where each of these finds its own.

        Rows with the same mask share what does not depend on their values.
        """
        if patterns.distinct:
            return self, None
        if self.row is None or self.component is None:
            return self, patterns.of_row
        pattern = patterns.of_row.index_select(0, self.row)
        n_patterns = patterns.observed.shape[0]
        keys, place = torch.unique(
            self.component * n_patterns + pattern, return_inverse=True
        )
        return Pairs(keys % n_patterns, keys // n_patterns), place


ALL_PAIRS = Pairs()


@dataclass(frozen=True, eq=False)
class ConditionalMixture(ABC):
    """The density F_S of a batch: what the missing cells may be, given the others.

    Made by :func:`condition`. Given its component, a row's missing numbers are Gaussian
    and its missing categories independent; the components are weighted by how well they
    explain what is observed.

    Attributes
    ----------
    log_weights : Tensor of shape (batch, components)
        Logarithms of the components' weights for each row.
    cells : Cells
        The batch: ``values`` (0 where missing), ``observed``, ``missing``.
    """

    log_weights: Tensor
    cells: Cells

    @property
    def weights(self) -> Tensor:
        """Weights of the components for each row, of shape (batch, components)."""
        return self.log_weights.exp()

    @property
    def observed(self) -> Tensor:
        """True where a value is present, of shape (batch, features)."""
        return self.cells.observed

    def mean(self) -> Tensor:
        """Fill the missing cells with their conditional mean.

        Returns
        -------
        Tensor of shape (batch, features)
            Observed cells are returned bit for bit.

        Examples
        --------
        >>> import torch
        >>> from lacunet.functional import DiagComponents, condition
        >>> one = DiagComponents(torch.zeros(1), torch.ones(1, 2), torch.ones(1, 2))
        >>> condition(torch.tensor([[5.0, torch.nan]]), one, gamma=0.1).mean()
        tensor([[5., 1.]])
        """
        filled = mix(self.weights, self.component_means())
        return torch.where(self.observed, self.cells.values, filled)

    def variance(self) -> Tensor:
        """Compute the variance of each cell, 0 where it is observed.

        Returns
        -------
        Tensor of shape (batch, features)
        """
        means, variances = self.component_moments()
        centre = mix(self.weights, means)[:, None]  # (batch, 1, features)
        total = mix(self.weights, variances + (means - centre).square())
        return torch.where(self.observed, 0.0, total)

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw the missing cells ``n`` times from F_S.

        Parameters
        ----------
        n : int
            Number of completed batches.
        generator : torch.Generator, optional
            Source of the randomness, on the device of the batch; torch's default
            generator if not given.

        Returns
        -------
        Tensor of shape (n, batch, features)
            Observed cells are returned bit for bit.
        """
        index = torch.multinomial(
            self.weights, n, replacement=True, generator=generator
        ).T  # (n, batch)
        values = self.cells.values
        noise = torch.randn(
            (*index.shape, self._noise_size),
            generator=generator,
            dtype=values.dtype,
            device=values.device,
        )
        draws = self._draw(index, noise)
        return torch.where(self.observed, self.cells.values, draws)

    def quasi_sample(self, n: int, seed: int = 0) -> Tensor:
        """Draw the missing cells ``n`` times, spread more evenly than chance would.

        Every row is drawn from the same points of a scrambled Sobol sequence: its draws
        depend on the row, ``n`` and ``seed`` alone, not on the rest of the batch,
        up to rounding. A mean of a smooth function over them is closer to its
        expectation than one over as many draws of :meth:`sample`; powers of two are the
        best choice for ``n``. The draws of two rows are not independent.

        Parameters
        ----------
        n : int
            Number of completed batches.
        seed : int, default=0
            Chooses the scrambling. No generator is drawn from.

        Returns
        -------
        Tensor of shape (n, batch, features)
            Observed cells are returned bit for bit.

        Examples
        --------
        >>> import torch
        >>> from lacunet.functional import DiagComponents, condition
        >>> one = DiagComponents(torch.zeros(1), torch.ones(1, 2), torch.ones(1, 2))
        >>> mixture = condition(torch.tensor([[5.0, torch.nan]]), one, gamma=0.1)
        >>> draws = mixture.quasi_sample(64)
        >>> draws.shape
        torch.Size([64, 1, 2])
        >>> bool((draws.mean(0) - mixture.mean()).abs().max() < 0.05)
        True
        """
        check_positive_int(n, "n")
        uniform, noise = quasi_noise(n, self._noise_size, int(seed))
        ends = self.weights.detach().to(wide_dtype(self.weights)).cumsum(1)
        # By the inverse distribution function; a component without weight is never hit.
        targets = uniform.to(ends) * ends[:, -1:]  # (batch, n)
        index = torch.searchsorted(ends, targets, right=True)
        index = index.clamp_max(ends.shape[1] - 1).T  # (n, batch)
        draws = self._draw(index, noise.to(self.cells.values)[:, None])
        return torch.where(self.observed, self.cells.values, draws)

    def component_moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance of every cell given the component.

        Returns
        -------
        mean, variance : Tensor of shape (batch, components, features)
            Right at the missing cells only; the others are not looked at.
        """
        return self.component_means(), self.component_variances()

    @abstractmethod
    def component_means(self) -> Tensor:
        """Return the mean of every cell given the component."""

    @abstractmethod
    def component_variances(self) -> Tensor:
        """Return the variance of every cell given the component."""

    def covariance_columns(self, columns: Tensor) -> Tensor | None:
        """Return the covariances of all cells with some missing ones of each row.

        Of columns (batch, n) as (batch, components, n, features), with 0 for observed
        cells; None where the cells are independent given the component.
        """
        return None

    def pairs(self, prune: float = 0.0) -> tuple[Pairs, Tensor]:
        """Return the pairs of row and component that matter, and their weights.

        Parameters
        ----------
        prune : float, default=0.0
            Components with a smaller weight for a row are left out, and the others'
            weights sum to one again. With 0, and in compiled or exported code, none is.
        """
        n_components = self.log_weights.shape[1]
        if prune == 0.0 or n_components == 1 or branch_free():
            return ALL_PAIRS, self.weights
        log_weights = self.log_weights.detach()
        left_out = log_weights < math.log(prune)
        if 2 * prune * n_components > 1:  # else the largest is not below it
            left_out &= log_weights < log_weights.amax(1, keepdim=True)
        row, component = left_out.logical_not().nonzero(as_tuple=True)
        if row.shape[0] == left_out.numel():
            return ALL_PAIRS, self.weights
        pairs = Pairs(row, component)
        weights = self.log_weights.masked_fill(left_out, -torch.inf).softmax(1)
        return pairs, pairs.of_both(weights)

    def completed(self, pairs: Pairs = ALL_PAIRS) -> Tensor:
        """Return rows with the missing cells at their means given the component."""
        values, missing = (
            pairs.of_rows(tensor) for tensor in (self.cells.values, self.cells.missing)
        )
        return torch.addcmul(values, missing, self._pair_means(pairs))

    def _pair_means(self, pairs: Pairs) -> Tensor:
        return pairs.of_both(self.component_means())

    @abstractmethod
    def mapped_variance(self, linear: LinearMap, pairs: Pairs = ALL_PAIRS) -> Tensor:
        """Compute the variance of ``linear(x)`` given the component.

        Returns
        -------
        Tensor of shape (pairs, *) or (batch, components, *)
        """

    @abstractmethod
    def log_rbf(self, centres: Tensor, variances: Tensor) -> Tensor:
        """Compute log E[N(centre, variances)(x)] given the component.

        Returns
        -------
        Tensor of shape (batch, components, units)
        """

    @property
    @abstractmethod
    def _noise_size(self) -> int:
        """Number of standard normals that one draw of one row takes."""

    @abstractmethod
    def _draw(self, index: Tensor, noise: Tensor) -> Tensor:
        """Turn noise into every cell given the component.

        Index (n, batch) and noise (n, batch or 1, noise size) to (n, batch, features).
        """


def mix(weights: Tensor, values: Tensor) -> Tensor:
    """Average ``values`` over the components: the last step of an expected layer.

    Parameters
    ----------
    weights : Tensor of shape (batch, components)
    values : Tensor of shape (batch, components, *)

    Returns
    -------
    Tensor of shape (batch, *)

    Examples
    --------
    >>> mix(torch.tensor([[0.25, 0.75]]), torch.tensor([[[0.0], [4.0]]]))
    tensor([[3.]])
    """
    trailing = (1,) * (values.ndim - weights.ndim)
    return (weights.view(*weights.shape, *trailing) * values).sum(dim=1)


# Scrambling takes long in many dimensions, and few points are no better than random
# ones in the last of them.
SOBOL_DIMENSIONS = 1024

_HALF_A_CELL = 2.0**-31  # of the grid that the points lie on


def quasi_noise(n: int, size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return uniforms (n,) and standard normals (n, size), in float64 on the CPU.

    They are the coordinates of a scrambled Sobol sequence; beyond its first dimensions
    the normals are random ones. All of it follows from ``seed``.
    """
    even = min(size, SOBOL_DIMENSIONS - 1)
    # A copy, as drawing moves the engine on.
    engine = copy.deepcopy(_scrambled_engine(1 + even, seed))
    points = engine.draw(n, dtype=torch.float64) + _HALF_A_CELL
    # Torch rounds the first point in single precision: up to one.
    points = points.clamp(_HALF_A_CELL, 1.0 - _HALF_A_CELL)
    normals = torch.special.ndtri(points[:, 1:])
    if size > even:
        # Not the seed itself, which the scrambling has drawn from already.
        generator = torch.Generator("cpu").manual_seed(seed + 1)
        shape = (n, size - even)
        rest = torch.randn(
            shape, generator=generator, dtype=torch.float64, device="cpu"
        )
        normals = torch.cat((normals, rest), 1)
    return points[:, 0], normals


@lru_cache(maxsize=8)
def _scrambled_engine(dimension: int, seed: int) -> SobolEngine:
    return SobolEngine(dimension, scramble=True, seed=seed)
