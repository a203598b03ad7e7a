"""The density of the data as a trainable module: mixtures of Gaussians."""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from lacunet._remember import remember
from lacunet._validation import (
    check_choice,
    check_dtype,
    check_gamma,
    check_positive_int,
    check_rows,
    check_same_dtype,
    hide,
)
from lacunet.density._parameters import RECORDS, read_components
from lacunet.functional import (
    Cells,
    Components,
    ConditionalMixture,
    DiagComponents,
    FactorComponents,
    FullComponents,
    GaussianComponents,
    check_gaussian,
    split_cells,
    wide_dtype,
)


class MixtureDensity(nn.Module, ABC):
    """A mixture over rows with missing values, as a trainable module."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def gamma(self) -> Tensor:
        """The regulariser: variance of the noise on observed values."""

    @property
    @abstractmethod
    def components(self) -> Components:
        """The record that the functions of ``lacunet.functional`` take."""

    def condition(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        lower: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> ConditionalMixture:
        """Compute F_S of every row of ``x``, see :func:`lacunet.functional.condition`.

        Parameters
        ----------
        x : Tensor of shape (batch, n_features)
            NaN marks a missing value.
        mask : Tensor of bool of shape (batch, n_features), optional
            False marks a value that is missing too, whatever stands in ``x``.
        lower, upper : Tensor of shape (batch, n_features), optional
            Bounds of missing cells, NaN or infinite where there is none.

        Returns
        -------
        ConditionalMixture
        """
        components = self.components
        cells = self._split(hide(x, mask), components, lower, upper)
        return components.condition(cells, self.gamma)

    def log_prob(
        self, x: Tensor, lower: Tensor | None = None, upper: Tensor | None = None
    ) -> Tensor:
        """Compute the log density of each row's observed cells, without gamma.

        Add ``-density.log_prob(x).mean()`` to a loss to keep it a density of the data.

        Parameters
        ----------
        x : Tensor of shape (batch, n_features)
            NaN marks a missing value. A row with nothing observed has log density 0.
        lower, upper : Tensor of shape (batch, n_features), optional
            Bounds of missing cells, NaN or infinite where there is none: the log
            probability of values between them is added.

        Returns
        -------
        Tensor of shape (batch,)
        """
        components = self.components
        cells = self._split(x, components, lower, upper)
        given = components.log_likelihood(cells, x.new_zeros(()))
        return (components.log_weights + given).logsumexp(-1).to(x.dtype)

    forward = log_prob

    def _split(
        self, x: Tensor, components: Components, *bounds: Tensor | None
    ) -> Cells:
        """Check the batch and take it apart."""
        check_rows(x, self.n_features)
        check_same_dtype(x, components.log_weights)
        return split_cells(x, *bounds)


def chosen_parts(
    trainable: bool | Collection[str], parts: tuple[str, ...]
) -> Collection[str]:
    """Return the names of the parts that shall take gradients."""
    if isinstance(trainable, bool):
        return parts if trainable else ()
    chosen = (trainable,) if isinstance(trainable, str) else trainable
    for part in chosen:
        check_choice(part, parts, "trainable")
    return chosen


CovarianceType = Literal["diag", "factor", "full"]

PARTS = ("weights", "means", "covariances", "gamma")
_RAW_NAMES = {
    "weights": ("logits",),
    "means": ("means",),
    "covariances": ("log_variances", "loadings", "raw_cholesky"),
    "gamma": ("log_gamma",),
}


class GaussianMixtureDensity(MixtureDensity):
    """A mixture of Gaussians over rows with missing values, as a trainable module.

    Positive quantities are stored as logarithms and read through properties, so every
    step of an optimiser leaves a valid density. One density may be shared by several
    layers.

    Parameters
    ----------
    n_components : int
        Number of Gaussians.
    n_features : int
        Number of columns.
    covariance_type : {"diag", "factor", "full"}, default="diag"
        Diagonal (the paper), loadings plus diagonal, or full covariances.
    rank : int, optional
        Number of factors; needed for "factor" and refused otherwise.
    gamma : float or Tensor of shape (n_features,), default=0.01
        Start of the paper's regulariser: the variance of a noise on observed values.
        It is on the scale of the data, so standardise them, or choose it.
    trainable : bool or collection of str, default=True
        Which parts take gradients: all, none, or some of "weights", "means",
        "covariances" and "gamma".
    generator : torch.Generator, optional
        Source of the random start of the means; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    weights : Tensor of shape (n_components,)
    means : Tensor of shape (n_components, n_features)
    gamma : Tensor of shape () or (n_features,)
    variances : Tensor of shape (n_components, n_features)
        Of "diag"; of "factor", the noise.
    loadings : Tensor of shape (n_components, n_features, rank)
        Of "factor".
    covariances : Tensor of shape (n_components, n_features, n_features)
        Of every type; computed from the above.

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> density = GaussianMixtureDensity(3, 2, trainable=("means", "gamma"))
    >>> x = torch.tensor([[0.5, torch.nan], [torch.nan, torch.nan]])
    >>> density.condition(x).weights.shape
    torch.Size([2, 3])
    >>> density.log_prob(x).shape
    torch.Size([2])
    """

    _may_be_empty = False  # of columns

    def __init__(
        self,
        n_components: int,
        n_features: int,
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
        check_positive_int(n_components, "n_components")
        if n_features != 0 or not self._may_be_empty:
            check_positive_int(n_features, "n_features")
        kind = check_choice(covariance_type, tuple(RECORDS), "covariance_type")
        if kind == "factor":
            check_positive_int(rank, "rank")
        elif rank is not None:
            msg = f"Got rank={rank!r}, but expected None: {kind!r} has no rank."
            raise ValueError(msg)
        check_dtype(dtype)
        check_gamma(gamma, n_features)
        self.covariance_type = covariance_type
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = (n_components, n_features)
        self.logits = nn.Parameter(torch.zeros(n_components, **options))
        self.means = nn.Parameter(torch.empty(shape, **options))
        if covariance_type == "full":
            square = torch.empty((*shape, n_features), **options)
            self.raw_cholesky = nn.Parameter(square)
        else:
            self.log_variances = nn.Parameter(torch.empty(shape, **options))
        if covariance_type == "factor":
            self.loadings = nn.Parameter(torch.empty((*shape, rank or 0), **options))
        # Kept for reset_parameters, which may come after another device.
        start = torch.as_tensor(gamma, dtype=self.means.dtype, device="cpu")
        self._log_gamma_start = finite_log(start.detach()).reshape(-1)
        self._one_gamma = start.ndim == 0  # it has an axis, as sharded parameters must
        self.log_gamma = nn.Parameter(
            torch.empty(len(self._log_gamma_start), **options)
        )
        self.reset_parameters(generator)
        self.set_trainable(trainable)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start with equal weights, standard normal means and unit variances.

        ``gamma`` is again what the constructor was given.
        """
        nn.init.zeros_(self.logits)
        self.log_gamma.copy_(self._log_gamma_start)
        nn.init.normal_(self.means, generator=generator)
        if self.covariance_type == "full":
            nn.init.zeros_(self.raw_cholesky)  # the logarithm of a unit diagonal
        else:
            nn.init.zeros_(self.log_variances)
        if self.covariance_type == "factor":
            nn.init.normal_(self.loadings, std=0.1, generator=generator)

    @classmethod
    def from_components(
        cls,
        components: GaussianComponents,
        *,
        gamma: float | Tensor = 0.01,
        trainable: bool | Collection[str] = True,
        dtype: torch.dtype | None = None,
    ) -> Self:
        """Make a density with the given components.

        Parameters
        ----------
        components : DiagComponents, FactorComponents or FullComponents
            Weights, means and covariances, of one dtype on one device.
        gamma, trainable
            As in the constructor.
        dtype : torch.dtype, optional
            Of the parameters; that of the components if not given.

        Returns
        -------
        GaussianMixtureDensity

        Examples
        --------
        >>> import torch
        >>> from lacunet.density import GaussianMixtureDensity
        >>> from lacunet.functional import DiagComponents
        >>> one = DiagComponents(torch.zeros(1), torch.ones(1, 2), torch.ones(1, 2))
        >>> GaussianMixtureDensity.from_components(one, gamma=0.5)
        GaussianMixtureDensity(1, 2, covariance_type='diag')
        """
        check_gaussian(components, fewest_features=0 if cls._may_be_empty else 1)
        means = components.means
        kind, rank = kind_and_rank(components)
        density = cls(
            *means.shape,
            covariance_type=kind,
            rank=rank,
            gamma=gamma,
            trainable=trainable,
            # Drawn and overwritten: from a generator of its own, not the global one.
            generator=torch.Generator(means.device),
            device=means.device,
            dtype=dtype or means.dtype,
        )
        density.store(components)
        return density

    @torch.no_grad()
    def store(self, components: GaussianComponents) -> None:
        """Take over components of the same shape.

        Parameters
        ----------
        components : DiagComponents, FactorComponents or FullComponents
            Of this density's type.
        """
        self.logits.copy_(components.log_weights)
        self.means.copy_(components.means)
        if isinstance(components, FullComponents):
            wide = wide_dtype(components.covariances)  # half precision has no Cholesky
            factor = torch.linalg.cholesky(components.covariances.to(wide))
            diagonal = factor.diagonal(dim1=-2, dim2=-1)
            self.raw_cholesky.copy_(factor.tril(-1) + diagonal.log().diag_embed())
        else:
            self.log_variances.copy_(components.variances.log())
        if isinstance(components, FactorComponents):
            self.loadings.copy_(components.loadings)

    @classmethod
    def from_estimator(
        cls,
        fitted: Any,
        *,
        gamma: float | Tensor = 0.01,
        trainable: bool | Collection[str] = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> Self:
        """Make a density from a fitted mixture of scikit-learn's kind.

        Parameters
        ----------
        fitted : IncompleteGaussianMixture or sklearn.mixture.GaussianMixture
            With covariances of type "diag", "factor" or "full".
        gamma, trainable, device, dtype
            As in the constructor.

        Returns
        -------
        GaussianMixtureDensity

        Examples
        --------
        >>> import numpy as np
        >>> from lacunet.density import GaussianMixtureDensity
        >>> from lacunet.density import IncompleteGaussianMixture
        >>> X = np.array([[0.0, 1.0], [np.nan, 3.0], [2.0, np.nan], [1.0, 2.0]])
        >>> mixture = IncompleteGaussianMixture().fit(X)
        >>> GaussianMixtureDensity.from_estimator(mixture, gamma=0.1)
        GaussianMixtureDensity(1, 2, covariance_type='diag')
        """
        return cls.from_components(
            read_components(fitted, device),
            gamma=gamma,
            trainable=trainable,
            dtype=dtype or torch.get_default_dtype(),
        )

    @property
    def n_components(self) -> int:
        """Number of Gaussians."""
        return self.means.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.means.shape[1]

    @property
    def weights(self) -> Tensor:
        """Weights of the components; they sum to one."""
        return self.logits.softmax(0)

    @property
    def gamma(self) -> Tensor:
        """The regulariser: variance of the noise on observed values."""
        gamma = finite_exp(self.log_gamma)
        return gamma.view(()) if self._one_gamma else gamma

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        # Until 0.1, one gamma was a number without an axis.
        name = f"{prefix}log_gamma"
        if name in state_dict and state_dict[name].ndim == 0:
            state_dict[name] = state_dict[name].reshape(1)
        super()._load_from_state_dict(state_dict, prefix, *args)

    @property
    def variances(self) -> Tensor:
        """Diagonal of "diag" covariances; of "factor" ones, the noise."""
        # A logarithm may run off; the density stays positive and finite all the same.
        smallest = math.log(torch.finfo(self.log_variances.dtype).tiny)
        largest = largest_log(self.log_variances.dtype)
        return self.log_variances.clamp(smallest, largest).exp()

    @property
    def covariances(self) -> Tensor:
        """Covariance matrices, whatever they are stored as."""
        if self.covariance_type == "full":
            return self._full_covariances().to(self.means.dtype)
        diagonal = self.variances.diag_embed()
        if self.covariance_type == "diag":
            return diagonal
        return self.loadings @ self.loadings.mT + diagonal

    def _full_covariances(self) -> Tensor:
        # Wide, since rounding of the product may cost it its positive eigenvalues.
        raw = self.raw_cholesky.to(wide_dtype(self.raw_cholesky))
        diagonal = finite_exp(raw.diagonal(dim1=-2, dim2=-1))
        factor = raw.tril(-1) + diagonal.diag_embed()
        return factor @ factor.mT

    @property
    def components(self) -> GaussianComponents:
        """The record that the functions of ``lacunet.functional`` take."""
        return remember(self, "components", self.parameters(), self._components)

    def _components(self) -> GaussianComponents:
        log_weights = self.logits.log_softmax(0)
        if self.covariance_type == "diag":
            return DiagComponents(log_weights, self.means, self.variances)
        if self.covariance_type == "factor":
            return FactorComponents(
                log_weights, self.means, self.loadings, self.variances
            )
        return FullComponents(log_weights, self.means, self._full_covariances())

    def set_trainable(self, trainable: bool | Collection[str]) -> Self:
        """Choose which parts take gradients.

        Parameters
        ----------
        trainable : bool or collection of str
            All, none, or some of "weights", "means", "covariances" and "gamma".

        Returns
        -------
        GaussianMixtureDensity
            Itself.
        """
        chosen = chosen_parts(trainable, PARTS)
        for part, names in _RAW_NAMES.items():
            for name in names:
                if isinstance(parameter := getattr(self, name, None), nn.Parameter):
                    parameter.requires_grad_(part in chosen)
        return self

    def extra_repr(self) -> str:  # noqa: D102
        rank = f", rank={self.loadings.shape[-1]}" if hasattr(self, "loadings") else ""
        return (
            f"{self.n_components}, {self.n_features}, "
            f"covariance_type={self.covariance_type!r}{rank}"
        )


def finite_log(values: Tensor) -> Tensor:
    """Return the logarithm; of zero, one that survives an optimiser's step."""
    return values.log().clamp_min(-1e4)  # its exponential is zero again


def finite_exp(logarithm: Tensor) -> Tensor:
    """Return the exponential, finite however far an optimiser went."""
    return logarithm.clamp_max(largest_log(logarithm.dtype)).exp()


def largest_log(dtype: torch.dtype) -> float:
    """Return a logarithm whose exponential is finite, and sums of it too."""
    return min(80.0, math.log(torch.finfo(dtype).max) - 1.0)


def kind_and_rank(components: GaussianComponents) -> tuple[CovarianceType, int | None]:
    """Return the covariance type of a record, and its number of factors."""
    if isinstance(components, FactorComponents):
        return "factor", components.loadings.shape[-1]
    return "diag" if isinstance(components, DiagComponents) else "full", None
