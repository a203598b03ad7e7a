"""The conditional mixture of a batch, whatever the covariances, and mixing over it."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from lacunet._validation import check_positive_int
from lacunet.functional._ops import Cells, wide_dtype

LinearMap = Callable[[Tensor], Tensor]


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
        means, _ = self.component_moments()  # (batch, components, features)
        return torch.where(self.observed, self.cells.values, mix(self.weights, means))

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

    @abstractmethod
    def component_moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance of every cell given the component.

        Returns
        -------
        mean, variance : Tensor of shape (batch, components, features)
            Right at the missing cells only; the others are not looked at.
        """

    @abstractmethod
    def missing_affine(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Compute what the missing cells add to the moments of ``x @ weight.T``.

        Returns
        -------
        mean, variance : Tensor of shape (batch, components, hidden)
        """

    @abstractmethod
    def missing_push(
        self, linear: LinearMap, squared: LinearMap
    ) -> tuple[Tensor, Tensor]:
        """Do the same for any linear map on the last axis.

        ``squared`` is the same map with every coefficient squared. Both results are of
        shape (batch, components, outputs).
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
