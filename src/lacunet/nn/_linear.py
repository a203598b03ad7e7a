"""The first layer of a network whose batches have missing values."""

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet._validation import (
    check_batch,
    check_dtype,
    check_positive_int,
    hide,
)
from lacunet.density import MixtureDensity
from lacunet.functional import Affine, place_bounds
from lacunet.nn._activation import ActivationLike, ExpectedActivation
from lacunet.nn._expected import (
    PRUNE,
    check_density,
    check_plain,
    check_prune,
    expected_map,
    full_precision,
    take_over,
)


class ExpectedLinear(nn.Module):
    """A linear layer with its activation, expected over what is missing.

    For an incomplete row the density gives the distribution F_S of the missing cells,
    and the layer answers with ``E[activation(x @ weight.T + bias)], x ~ F_S`` (the
    paper's theorem 3.1). For a complete row that is the ordinary activation. Use it
    in place of the first ``Linear`` and its activation; the rest of the network stays
    as it is.

    Parameters
    ----------
    in_features, out_features : int
        As in ``torch.nn.Linear``.
    density : GaussianMixtureDensity or MixedMixtureDensity
        Over the ``in_features`` columns; may be shared with other layers.
    activation : str, torch.nn.Module or callable, default="relu"
        What the layer ends with; "identity" for none.
    bias : bool, default=True
        Whether to learn an additive bias.
    indicator : bool, default=False
        Learn a linear term of the mask too, so that the fact that a value is missing
        can speak. It starts at zero.
    prune : float, default=1e-3
        Components whose weight for a row is smaller are left out for it, and the
        others' weights sum to one again: several times faster where components are
        distinct. 0 is exact, and so is compiled code.
    variance_gradient : bool, default=True
        Whether gradients of the weight flow through the variance of pre-activations.
        Without them a step of training is faster; what the layer returns is the same.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    weight : Parameter of shape (out_features, in_features)
    bias : Parameter of shape (out_features,) or None
    indicator_weight : Parameter of shape (out_features, in_features) or None

    Shape
    -----
    - Input: (*, in_features), NaN where a value is missing
    - Output: (*, out_features)

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> from lacunet.nn import ExpectedLinear
    >>> layer = ExpectedLinear(3, 8, GaussianMixtureDensity(2, 3))
    >>> layer(torch.tensor([[1.0, torch.nan, 2.0], [0.0, 1.0, 2.0]])).shape
    torch.Size([2, 8])
    """

    bias: nn.Parameter | None
    indicator_weight: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        density: MixtureDensity,
        *,
        activation: ActivationLike = "relu",
        bias: bool = True,
        indicator: bool = False,
        prune: float = PRUNE,
        variance_gradient: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.density = check_density(density, in_features)
        self.activation = ExpectedActivation(activation)
        self.prune = check_prune(prune)
        self.variance_gradient = variance_gradient
        self.in_features = check_positive_int(in_features, "in_features")
        self.out_features = check_positive_int(out_features, "out_features")
        check_dtype(dtype)
        shape = (out_features, in_features)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.register_parameter(
            "bias",
            nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
            if bias
            else None,
        )
        self.register_parameter(
            "indicator_weight",
            nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
            if indicator
            else None,
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start as ``torch.nn.Linear`` does; the indicator starts at zero."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5), generator=generator)
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features)
            nn.init.uniform_(self.bias, -bound, bound, generator=generator)
        if self.indicator_weight is not None:
            nn.init.zeros_(self.indicator_weight)

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        density: MixtureDensity,
        activation: ActivationLike = "relu",
        *,
        prune: float = PRUNE,
    ) -> Self:
        """Make the expected counterpart of a linear layer, with a copy of its weights.

        Parameters
        ----------
        linear : torch.nn.Linear
        density : GaussianMixtureDensity or MixedMixtureDensity
            Over ``linear.in_features`` columns.
        activation : str, torch.nn.Module or callable, default="relu"
            What followed the linear layer.
        prune : float, default=1e-3
            As in the constructor.

        Returns
        -------
        ExpectedLinear
        """
        check_plain(linear, nn.Linear)
        layer = cls(
            linear.in_features,
            linear.out_features,
            density,
            activation=activation,
            bias=linear.bias is not None,
            prune=prune,
            # Drawn and overwritten: from a generator of its own, not the global one.
            generator=torch.Generator(linear.weight.device),
            device=linear.weight.device,
            dtype=linear.weight.dtype,
        )
        take_over(layer.weight, linear.weight)
        if layer.bias is not None:
            take_over(layer.bias, linear.bias)
        return layer.train(linear.training)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        lower: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> Tensor:
        """Return the expected activation of every row of ``x``.

        Parameters
        ----------
        x : Tensor of shape (*, in_features)
            NaN marks a missing value.
        mask : Tensor of bool of shape (*, in_features), optional
            False marks a value that is missing too, whatever stands in ``x``.
        lower, upper : Tensor of shape (*, in_features), optional
            Bounds of missing values, NaN or infinite where there is none. Weights of
            components and moments of pre-activations are those of the truncated
            values; that a pre-activation is normal, with these moments, is no longer
            exact then.
        """
        return self._expect(x, mask, lower, upper)

    def mean_and_variance(
        self, x: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return mean and variance of the activation over what is missing.

        The variance is 0 for a complete row: it is that of the missing values alone. As
        the mean square less the squared mean it is lost to rounding where it is small
        beside these: below 1e-6 of them in float32.

        Parameters
        ----------
        x, mask
            As in ``forward``.

        Returns
        -------
        mean, variance : Tensor of shape (*, out_features)

        Examples
        --------
        >>> import torch
        >>> from lacunet.density import GaussianMixtureDensity
        >>> from lacunet.nn import ExpectedLinear
        >>> layer = ExpectedLinear(3, 8, GaussianMixtureDensity(2, 3))
        >>> x = torch.tensor([[1.0, torch.nan, 2.0], [0.0, 1.0, 2.0]])
        >>> mean, variance = layer.mean_and_variance(x)
        >>> bool((variance[0] > 0).any()), bool((variance[1] > 0).any())
        (True, False)
        """
        mean = self._expect(x, mask)
        second = self._expect(x, mask, squared=True)
        incomplete = torch.isnan(hide(x, mask)).any(-1, keepdim=True)
        variance = (second - mean.square()).clamp_min(0.0)
        return mean, torch.where(incomplete, variance, 0.0)

    def _expect(
        self,
        x: Tensor,
        mask: Tensor | None,
        lower: Tensor | None = None,
        upper: Tensor | None = None,
        *,
        squared: bool = False,
    ) -> Tensor:
        rows = hide(check_batch(x, self.in_features), mask)
        if x.ndim != 2:
            self.activation.check_any_axis()
        with full_precision(rows, self.weight) as batch:
            batch = batch.reshape(-1, self.in_features)
            bounds = None
            if lower is not None or upper is not None:
                flat = (
                    None if end is None else end.reshape(-1, self.in_features)
                    for end in (lower, upper)
                )
                batch, *bounds = place_bounds(batch, *flat)
            offset = None
            if self.indicator_weight is not None:
                missing = torch.isnan(batch).to(batch.dtype)
                offset = functional.linear(missing, self.indicator_weight)
            spread = None if self.variance_gradient else Affine(self.weight.detach())
            out = expected_map(
                batch,
                self.density,
                Affine(self.weight, self.bias),
                self.activation,
                squared=squared,
                offset=offset,
                spread=spread,
                prune=self.prune,
                bounds=None if bounds is None else (bounds[0], bounds[1]),
            )
        return out if x.ndim == 2 else out.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, "
            f"indicator={self.indicator_weight is not None}, prune={self.prune}"
        )
