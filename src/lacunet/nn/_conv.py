"""Convolutions over signals and images with missing values."""

import copy
import math
from collections.abc import Sequence
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from lacunet._validation import check_dtype, check_floating, hide
from lacunet.density import GaussianMixtureDensity
from lacunet.functional import Convolution
from lacunet.nn._activation import ActivationLike, ExpectedActivation
from lacunet.nn._expected import (
    PRUNE,
    check_density,
    check_gaussian_density,
    check_plain,
    check_prune,
    expected_map,
    full_precision,
)

Sizes = int | Sequence[int]


class _ExpectedConv(nn.Module):
    """A convolution over one or two axes, and its expected counterpart."""

    _plain: ClassVar[type[nn.Conv1d | nn.Conv2d]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        density: GaussianMixtureDensity,
        *,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        activation: ActivationLike = "relu",
        prune: float = PRUNE,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.density = check_gaussian_density(check_density(density, None))
        self.activation = ExpectedActivation(activation)
        self.prune = check_prune(prune)
        if density.covariance_type == "full":
            msg = (
                "Got a density with full covariances, but expected 'diag' or 'factor': "
                "the full covariance of a convolution's output is out of reach."
            )
            raise ValueError(msg)
        check_dtype(dtype)
        # Not filled by torch, which takes no generator, but by reset_parameters.
        self.convolution: nn.Conv1d | nn.Conv2d = nn.utils.skip_init(
            self._plain,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            device=device or torch.get_default_device(),
            dtype=dtype,
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start as torch's own convolutions do."""
        weight, bias = self.convolution.weight, self.convolution.bias
        nn.init.kaiming_uniform_(weight, a=math.sqrt(5), generator=generator)
        if bias is not None:
            bound = 1 / math.sqrt(weight[0].numel())
            nn.init.uniform_(bias, -bound, bound, generator=generator)

    @property
    def weight(self) -> Tensor:
        """The kernel, of shape (out_channels, in_channels / groups, *kernel_size)."""
        return self.convolution.weight

    @property
    def bias(self) -> Tensor | None:
        """The bias, of shape (out_channels,), or None."""
        return self.convolution.bias

    @property
    def in_channels(self) -> int:
        """Number of channels of the input."""
        return self.convolution.in_channels

    @property
    def out_channels(self) -> int:
        """Number of channels of the output."""
        return self.convolution.out_channels

    @property
    def kernel_size(self) -> tuple[int, ...]:
        """Size of the kernel along each axis."""
        return self.convolution.kernel_size

    @classmethod
    def from_conv(
        cls,
        convolution: nn.Conv1d | nn.Conv2d,
        density: GaussianMixtureDensity,
        activation: ActivationLike = "relu",
        *,
        prune: float = PRUNE,
    ) -> Self:
        """Make the expected counterpart of a convolution, with a copy of its weights.

        Parameters
        ----------
        convolution : torch.nn.Conv1d or torch.nn.Conv2d
            Of as many axes as the class.
        density : GaussianMixtureDensity
            Over the flattened input.
        activation : str, torch.nn.Module or callable, default="relu"
            What followed the convolution.
        prune : float, default=1e-3
            As in the constructor.

        Returns
        -------
        ExpectedConv1d or ExpectedConv2d
        """
        check_plain(convolution, cls._plain)
        if convolution.padding_mode != "zeros":
            msg = (
                f"Got padding_mode={convolution.padding_mode!r}, but expected 'zeros': "
                f"other paddings repeat values that may be missing."
            )
            raise ValueError(msg)
        with torch.device("meta"):  # no random numbers are drawn for what is replaced
            layer = cls(
                convolution.in_channels,
                convolution.out_channels,
                density,
                kernel_size=convolution.kernel_size,
                activation=activation,
                prune=prune,
            )
        layer.convolution = copy.deepcopy(convolution)
        return layer.train(convolution.training)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the expected activation of every pixel of the output.

        Parameters
        ----------
        x : Tensor of shape (batch, in_channels, *size)
            NaN marks a missing value.
        mask : Tensor of bool of the same shape, optional
            False marks a value that is missing too, whatever stands in ``x``.
        """
        images = self._check_images(hide(check_floating(x), mask))
        plain = self.convolution
        with full_precision(images, plain.weight) as batch:
            linear = Convolution(
                plain.weight,
                plain.bias,
                tuple(images.shape[1:]),
                plain.stride,
                plain.padding,
                plain.dilation,
                plain.groups,
            )
            out = expected_map(
                batch.flatten(1),
                self.density,
                linear,
                self.activation,
                prune=self.prune,
            )
        return out if x.ndim == plain.weight.ndim else out[0]

    def _check_images(self, x: Tensor) -> Tensor:
        n_axes = self.convolution.weight.ndim  # batch, channels, and the kernel's axes
        images = x[None] if x.ndim == n_axes - 1 else x
        channels = self.convolution.in_channels
        if images.ndim != n_axes or images.shape[1] != channels:
            axes = "length" if n_axes == 3 else "height, width"
            msg = (
                f"Got x of shape {tuple(x.shape)}, but expected "
                f"(batch, {channels}, {axes})."
            )
            raise ValueError(msg)
        if math.prod(images.shape[1:]) != self.density.n_features:
            msg = (
                f"Got x of shape {tuple(x.shape)}, that is "
                f"{math.prod(images.shape[1:])} values each, but expected "
                f"{self.density.n_features}: the density is over that many features."
            )
            raise ValueError(msg)
        return images


class ExpectedConv1d(_ExpectedConv):
    """A 1d convolution with its activation, expected over what is missing.

    The density is over the flattened signal. Padding is known zeros.

    Parameters
    ----------
    in_channels, out_channels : int
        As in ``torch.nn.Conv1d``.
    density : GaussianMixtureDensity
        Over ``in_channels * length`` features, diagonal or factor; may be shared.
    kernel_size, stride, padding, dilation, groups, bias
        As in ``torch.nn.Conv1d``.
    activation : str, torch.nn.Module or callable, default="relu"
        What the layer ends with; "identity" for none.
    prune : float, default=1e-3
        Components whose weight for a signal is smaller are left out for it; 0 is exact.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Shape
    -----
    - Input: (batch, in_channels, length), NaN where a value is missing
    - Output: (batch, out_channels, out_length)

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> from lacunet.nn import ExpectedConv1d
    >>> layer = ExpectedConv1d(1, 4, GaussianMixtureDensity(2, 10), kernel_size=3)
    >>> x = torch.randn(5, 1, 10)
    >>> x[:, :, 4:6] = torch.nan
    >>> layer(x).shape
    torch.Size([5, 4, 8])
    """

    _plain = nn.Conv1d


class ExpectedConv2d(_ExpectedConv):
    """A 2d convolution with its activation, expected over what is missing.

    The density is over the flattened image. Padding is known zeros.

    Parameters
    ----------
    in_channels, out_channels : int
        As in ``torch.nn.Conv2d``.
    density : GaussianMixtureDensity
        Over ``in_channels * height * width`` features, diagonal or factor; may be
        shared.
    kernel_size, stride, padding, dilation, groups, bias
        As in ``torch.nn.Conv2d``.
    activation : str, torch.nn.Module or callable, default="relu"
        What the layer ends with; "identity" for none.
    prune : float, default=1e-3
        Components whose weight for an image is smaller are left out for it; 0 is exact.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Shape
    -----
    - Input: (batch, in_channels, height, width), NaN where a pixel is missing
    - Output: (batch, out_channels, out_height, out_width)

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> from lacunet.nn import ExpectedConv2d
    >>> layer = ExpectedConv2d(1, 4, GaussianMixtureDensity(2, 64), kernel_size=3)
    >>> x = torch.randn(5, 1, 8, 8)
    >>> x[:, :, 2:5, 2:5] = torch.nan
    >>> layer(x).shape
    torch.Size([5, 4, 6, 6])
    """

    _plain = nn.Conv2d
