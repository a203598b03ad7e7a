"""The density of tables with categorical columns, as a torch module."""

from collections.abc import Collection, Sequence
from typing import Self

import torch
from torch import Tensor, nn

from lacunet._remember import remember
from lacunet._validation import (
    check_gamma,
    check_levels,
    check_positive_int,
    check_sizes,
)
from lacunet.density._mixture import (
    PARTS,
    CovarianceType,
    GaussianMixtureDensity,
    MixtureDensity,
    chosen_parts,
    finite_exp,
    finite_log,
    kind_and_rank,
)
from lacunet.functional import (
    Cells,
    Components,
    DiagComponents,
    MixedComponents,
    check_mixed,
    padded_groups,
)


class NumericDensity(GaussianMixtureDensity):
    """The Gaussian part of a mixed density; it may be without columns."""

    _may_be_empty = True


class MixedMixtureDensity(MixtureDensity):
    """A mixture over numeric and categorical columns, as a trainable module.

    Given its component, a row's categories are independent of each other and of its
    numbers; each level has a probability. Rows have the numeric columns first, then a
    group of columns for each category: one-hot, or NaN in the whole group where the
    category is missing. The layers of ``lacunet.nn`` take such rows as they are.

    Parameters
    ----------
    n_components : int
        Number of components.
    n_numeric : int
        Number of numeric columns; 0 if there are none.
    sizes : sequence of int
        Number of levels of each categorical column; empty if there are none.
    covariance_type : {"diag", "factor", "full"}, default="diag"
        Of the numeric columns.
    rank : int, optional
        Number of factors; needed for "factor" and refused otherwise.
    gamma : float or Tensor of shape (n_features,), default=0.01
        Start of the regulariser. On a number it is the variance of a noise; an observed
        level with probability p of L levels counts as (p + gamma / L) / (1 + gamma).
        The columns of a category share one gamma, the mean of theirs.
    trainable : bool or collection of str, default=True
        Which parts take gradients: all, none, or some of "weights", "means",
        "covariances", "gamma" and "probabilities".
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    sizes : tuple of int
    n_features : int
        Width of a row: ``n_numeric + sum(sizes)``.
    weights : Tensor of shape (n_components,)
    means : Tensor of shape (n_components, n_features)
        Means of the numbers, probabilities of the levels.
    probabilities : Tensor of shape (n_components, sum(sizes))
    gamma : Tensor of shape () or (n_features,)
    gaussian : GaussianMixtureDensity
        The part over the numeric columns; it holds the weights.

    Examples
    --------
    Two numbers, and categories with three and two levels.

    >>> import torch
    >>> from lacunet.density import MixedMixtureDensity
    >>> from lacunet.nn import ExpectedLinear
    >>> density = MixedMixtureDensity(4, 2, (3, 2))
    >>> nan = torch.nan
    >>> x = torch.tensor(
    ...     [
    ...         [0.5, nan, 0.0, 1.0, 0.0, nan, nan],  # level 1, and a missing category
    ...         [nan, 1.5, nan, nan, nan, 1.0, 0.0],
    ...     ]
    ... )
    >>> density.condition(x).mean().shape
    torch.Size([2, 7])
    >>> ExpectedLinear(7, 8, density)(x).shape
    torch.Size([2, 8])
    """

    log_level_gamma: nn.Parameter | None

    def __init__(
        self,
        n_components: int,
        n_numeric: int,
        sizes: Sequence[int],
        *,
        covariance_type: CovarianceType = "diag",
        rank: int | None = None,
        gamma: float | Tensor = 0.01,
        trainable: bool | Collection[str] = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.sizes = check_sizes(sizes)
        if n_numeric == 0 and not self.sizes:
            msg = "Got n_numeric=0 and sizes=(), but expected at least one column."
            raise ValueError(msg)
        if n_numeric != 0:
            check_positive_int(n_numeric, "n_numeric")
        check_gamma(gamma, n_numeric + sum(self.sizes))
        level_gamma = None  # one for each category, unless all columns share one
        if isinstance(gamma, Tensor) and gamma.ndim > 0:
            means = [group.mean() for group in gamma[n_numeric:].split(self.sizes)]
            level_gamma = torch.stack(means) if means else gamma[:0]
            gamma = gamma[:n_numeric]
        self.gaussian = NumericDensity(
            n_components,
            n_numeric,
            covariance_type=covariance_type,
            rank=rank,
            gamma=gamma,
            generator=generator,
            device=device,
            dtype=dtype,
        )
        like = self.gaussian.means
        self.level_logits = nn.Parameter(like.new_empty(n_components, sum(self.sizes)))
        self.log_level_gamma = None
        if level_gamma is not None:
            start = level_gamma.detach().to("cpu", like.dtype)
            self._log_level_gamma_start = finite_log(start)
            self.log_level_gamma = nn.Parameter(like.new_empty(len(start)))
        self._reset_levels(generator)
        self.set_trainable(trainable)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start with equal weights, random means and nearly equal probabilities.

        ``gamma`` is again what the constructor was given.
        """
        self.gaussian.reset_parameters(generator)
        self._reset_levels(generator)

    @torch.no_grad()
    def _reset_levels(self, generator: torch.Generator | None) -> None:
        # Not all equal: components without numbers could never be separated.
        nn.init.normal_(self.level_logits, std=0.1, generator=generator)
        if self.log_level_gamma is not None:
            self.log_level_gamma.copy_(self._log_level_gamma_start)

    @classmethod
    def from_components(
        cls,
        components: MixedComponents,
        *,
        gamma: float | Tensor = 0.01,
        trainable: bool | Collection[str] = True,
        dtype: torch.dtype | None = None,
    ) -> Self:
        """Make a density with the given components.

        Parameters
        ----------
        components : MixedComponents
            Gaussian components and probabilities, of one dtype on one device.
        gamma, trainable
            As in the constructor.
        dtype : torch.dtype, optional
            Of the parameters; that of the components if not given.

        Returns
        -------
        MixedMixtureDensity

        Examples
        --------
        >>> import torch
        >>> from lacunet.density import MixedMixtureDensity
        >>> from lacunet.functional import DiagComponents, MixedComponents
        >>> one = DiagComponents(torch.zeros(1), torch.ones(1, 2), torch.ones(1, 2))
        >>> even = torch.full((1, 4), 0.25).log()
        >>> density = MixedMixtureDensity.from_components(
        ...     MixedComponents(one, even, (4,))
        ... )
        >>> density.n_features
        6
        """
        check_mixed(components)
        means = components.gaussian.means
        kind, rank = kind_and_rank(components.gaussian)
        density = cls(
            len(means),
            components.n_numeric,
            components.sizes,
            covariance_type=kind,
            rank=rank,
            gamma=gamma,
            trainable=trainable,
            # Drawn and overwritten: from a generator of its own, not the global one.
            generator=torch.Generator(means.device),
            device=means.device,
            dtype=dtype or means.dtype,
        )
        density.gaussian.store(components.gaussian)
        with torch.no_grad():  # an impossible level has a finite logit all the same
            density.level_logits.copy_(components.log_probabilities.clamp_min(-1e4))
        return density

    @property
    def covariance_type(self) -> CovarianceType:
        """How the covariances of the numeric columns are stored."""
        return self.gaussian.covariance_type

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.gaussian.n_components

    @property
    def n_features(self) -> int:
        """Width of a row."""
        return self.gaussian.n_features + sum(self.sizes)

    @property
    def weights(self) -> Tensor:
        """Weights of the components; they sum to one."""
        return self.gaussian.weights

    @property
    def means(self) -> Tensor:
        """Means of the numbers beside the probabilities of the levels."""
        return self.components.means

    @property
    def probabilities(self) -> Tensor:
        """Probabilities of the levels; those of a category sum to one."""
        return self.components.probabilities

    @property
    def gamma(self) -> Tensor:
        """The regulariser: one for all columns, or one for each."""
        gamma = self.gaussian.gamma
        if self.log_level_gamma is None:
            return gamma
        sizes = torch.tensor(self.sizes, device=gamma.device, dtype=torch.long)
        levels = finite_exp(self.log_level_gamma).repeat_interleave(sizes)
        return torch.cat((gamma, levels))

    @property
    def components(self) -> MixedComponents:
        """The record that the functions of ``lacunet.functional`` take."""
        return remember(self, "components", self.parameters(), self._components)

    def _components(self) -> MixedComponents:
        log_probabilities: Tensor = self.level_logits
        if self.sizes:  # normalised, all categories at once
            place, real = padded_groups(self.sizes, log_probabilities.device)
            padded = log_probabilities[:, place].masked_fill(~real, -torch.inf)
            totals = padded.logsumexp(-1)  # (components, groups)
            counts = torch.tensor(self.sizes, device=totals.device)
            log_probabilities = log_probabilities - totals.repeat_interleave(counts, 1)
        return MixedComponents(self.gaussian.components, log_probabilities, self.sizes)

    def set_trainable(self, trainable: bool | Collection[str]) -> Self:
        """Choose which parts take gradients.

        Parameters
        ----------
        trainable : bool or collection of str
            All, none, or some of "weights", "means", "covariances", "gamma" and
            "probabilities".

        Returns
        -------
        MixedMixtureDensity
            Itself.
        """
        chosen = chosen_parts(trainable, (*PARTS, "probabilities"))
        self.gaussian.set_trainable([part for part in chosen if part in PARTS])
        self.level_logits.requires_grad_("probabilities" in chosen)
        if self.log_level_gamma is not None:
            self.log_level_gamma.requires_grad_("gamma" in chosen)
        return self

    def _split(
        self, x: Tensor, components: Components, *bounds: Tensor | None
    ) -> Cells:
        cells = super()._split(x, components, *bounds)
        check_levels(x, self.gaussian.n_features, self.sizes)
        return cells

    def extra_repr(self) -> str:  # noqa: D102
        return f"{self.n_components}, {self.gaussian.n_features}, sizes={self.sizes}"


@torch.no_grad()
def bin_gaussians(
    density: MixtureDensity,
    edges: Sequence[Sequence[float]],
    *,
    gamma: float = 0.01,
    trainable: bool | Collection[str] = True,
) -> MixedMixtureDensity:
    """Make the density of binned numbers from one of the numbers themselves.

    Each component becomes a latent class in which a number with mean ``m`` and standard
    deviation ``s`` falls between two edges with probability
    ``Phi((upper - m) / s) - Phi((lower - m) / s)``; categories keep their
    probabilities. Of an observed number the new density is given the bin alone: it
    weighs the classes by the probability of the bin, not by the density of the value.

    Parameters
    ----------
    density : GaussianMixtureDensity or MixedMixtureDensity
        With diagonal covariances: given the component, other bins would depend on each
        other.
    edges : sequence of sequence of float
        Increasing, for each numeric column; none for a column of one bin.
    gamma : float, default=0.01
        Start of the regulariser of the new density: an observed bin with probability p
        of L bins counts as (p + gamma / L) / (1 + gamma).
    trainable : bool or collection of str, default=True
        Which parts of the new density take gradients, as in its constructor.

    Returns
    -------
    MixedMixtureDensity
        Without numeric columns: over the bins of each number, one more than its edges,
        and then the categories. A value that equals an edge belongs to the bin below.

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity, bin_gaussians
    >>> from lacunet.functional import DiagComponents
    >>> one = DiagComponents(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2))
    >>> normal = GaussianMixtureDensity.from_components(one)
    >>> bins = bin_gaussians(normal, [[0.0], [-1.0, 1.0]], trainable=False)
    >>> bins.sizes
    (2, 3)
    >>> bins.probabilities.numpy().round(2)
    array([[0.5 , 0.5 , 0.16, 0.68, 0.16]], dtype=float32)
    """
    mixed = density if isinstance(density, MixedMixtureDensity) else None
    gaussian = density if mixed is None else mixed.gaussian
    if not isinstance(gaussian, GaussianMixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but expected a "
            f"GaussianMixtureDensity or MixedMixtureDensity."
        )
        raise TypeError(msg)
    if gaussian.covariance_type != "diag":
        msg = (
            f"Got a density with covariance_type={gaussian.covariance_type!r}, but "
            f"expected 'diag': given the component, bins must be independent. Fit a "
            f"diagonal mixture."
        )
        raise ValueError(msg)
    if len(edges) != gaussian.n_features:
        msg = (
            f"Got edges of {len(edges)} columns, but expected them of "
            f"{gaussian.n_features}, the numeric columns of the density."
        )
        raise ValueError(msg)
    means, deviations = gaussian.means.double(), gaussian.variances.double().sqrt()
    groups = []
    for column, given in enumerate(edges):
        ends = torch.as_tensor(given, dtype=torch.float64, device=means.device)
        if not bool(torch.isfinite(ends).all()) or not bool((ends.diff() > 0).all()):
            msg = (
                f"Got edges[{column}]={given!r}, but expected finite numbers in "
                f"increasing order."
            )
            raise ValueError(msg)
        far = ends.new_tensor([torch.inf])
        ends = torch.cat((-far, ends, far))
        z = (ends - means[:, column, None]) / deviations[:, column, None]
        groups.append(_log_probability(z[:, :-1], z[:, 1:]))
    sizes = tuple(len(given) + 1 for given in edges)
    if mixed is not None:
        groups.append(mixed.components.log_probabilities.double())
        sizes += mixed.sizes
    log_weights = gaussian.components.log_weights.double()
    none = means[:, :0]
    components = MixedComponents(
        DiagComponents(log_weights, none, none), torch.cat(groups, 1), sizes
    )
    return MixedMixtureDensity.from_components(
        components, gamma=gamma, trainable=trainable, dtype=gaussian.means.dtype
    )


def _log_probability(lower: Tensor, upper: Tensor) -> Tensor:
    """Compute log(Phi(upper) - Phi(lower)), in the tail where Phi is not near one."""
    flip = lower > 0
    low, high = torch.where(flip, -upper, lower), torch.where(flip, -lower, upper)
    log_high: Tensor = torch.special.log_ndtr(high)
    return log_high + torch.log1p(-(torch.special.log_ndtr(low) - log_high).exp())
