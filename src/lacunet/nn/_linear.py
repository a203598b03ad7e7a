"""The first layer of a network whose batches have missing values."""

import math
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet._validation import check_batch, check_dtype, check_positive_int
from lacunet.density import MixtureDensity
from lacunet.functional import ConditionalMixture
from lacunet.nn._activation import ActivationLike
from lacunet.nn._expected import ExpectedLayer, check_plain, full_precision, take_over


class ExpectedLinear(ExpectedLayer):
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
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(density, in_features, activation)
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
    ) -> Self:
        """Make the expected counterpart of a linear layer, with a copy of its weights.

        Parameters
        ----------
        linear : torch.nn.Linear
        density : GaussianMixtureDensity or MixedMixtureDensity
            Over ``linear.in_features`` columns.
        activation : str, torch.nn.Module or callable, default="relu"
            What followed the linear layer.

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
            # Drawn and overwritten: from a generator of its own, not the global one.
            generator=torch.Generator(linear.weight.device),
            device=linear.weight.device,
            dtype=linear.weight.dtype,
        )
        take_over(layer.weight, linear.weight)
        if layer.bias is not None:
            take_over(layer.bias, linear.bias)
        return layer.train(linear.training)

    def forward(self, x: Tensor) -> Tensor:
        """Return the expected activation of every row of ``x``."""
        rows = check_batch(x, self.in_features).reshape(-1, self.in_features)
        if x.ndim != 2:
            self.activation.check_any_axis()
        with full_precision(rows, self.weight) as batch:
            out = self.respond(batch)
        return out.view(*x.shape[:-1], self.out_features)

    def preactivate(self, values: Tensor) -> Tensor:
        """Apply weight and bias to rows in which 0 stands for missing."""
        return functional.linear(values, self.weight, self.bias)

    def missing_moments(
        self, mixture: ConditionalMixture, shape: torch.Size
    ) -> tuple[Tensor, Tensor]:
        """Compute what the missing cells, and the fact that they are, add."""
        mean, variance = mixture.missing_affine(self.weight)
        if self.indicator_weight is not None:
            mask = mixture.cells.missing
            mean = mean + functional.linear(mask, self.indicator_weight)[:, None]
        return mean, variance

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, "
            f"indicator={self.indicator_weight is not None}"
        )
