"""Mean and variance of a pre-activation: the density pushed through a linear map."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor
from torch.nn import functional

from lacunet._validation import check_shape
from lacunet.functional._mixture import ConditionalMixture

_CONVOLUTIONS = {3: functional.conv1d, 4: functional.conv2d}

Sizes = int | Sequence[int]


class Affine(NamedTuple):
    """The map ``rows @ weight.T + bias``."""

    weight: Tensor  # (outputs, features)
    bias: Tensor | None = None

    def __call__(self, rows: Tensor) -> Tensor:
        """Map rows, and add the bias."""
        return functional.linear(rows, self.weight, self.bias)

    def turn(self, rows: Tensor) -> Tensor:
        """Map rows without the bias."""
        return functional.linear(rows, self.weight)

    def squared(self, rows: Tensor) -> Tensor:
        """Map rows by the squared coefficients."""
        return functional.linear(rows, self.weight.square())

    def matrix(self, kind: str) -> Tensor:
        """Return the coefficients (outputs, features)."""
        return self.weight


class Convolution(NamedTuple):
    """A convolution of flattened signals or images."""

    weight: Tensor  # (out_channels, in_channels / groups, *kernel_size)
    bias: Tensor | None
    input_shape: tuple[int, ...]  # (channels, *size)
    stride: Sizes = 1
    padding: Sizes | str = 0
    dilation: Sizes = 1
    groups: int = 1

    def __call__(self, rows: Tensor) -> Tensor:
        """Convolve rows (*, features) to (*, out_channels, *out_size)."""
        return self._convolve(rows, self.weight, self.bias)

    def turn(self, rows: Tensor) -> Tensor:
        """Convolve rows without the bias."""
        return self._convolve(rows, self.weight, None)

    def squared(self, rows: Tensor) -> Tensor:
        """Convolve rows with the squared kernel."""
        return self._convolve(rows, self.weight.square(), None)

    def _convolve(self, rows: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
        images = rows.reshape(-1, *self.input_shape)
        convolve: Any = _CONVOLUTIONS[kernel.ndim]
        options = (self.stride, self.padding, self.dilation, self.groups)
        out: Tensor = convolve(images, kernel, bias, *options)
        return out.view(*rows.shape[:-1], *out.shape[1:])

    def matrix(self, kind: str) -> Tensor:
        """Refuse what needs the coefficients one by one."""
        msg = (
            f"Got a density with {kind}, but a convolution expected a "
            f"GaussianMixtureDensity with covariance_type='diag' or 'factor'."
        )
        raise ValueError(msg)


def affine_moments(
    mixture: ConditionalMixture, weight: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute mean and variance of ``x @ weight.T + bias`` given the component.

    Parameters
    ----------
    mixture : ConditionalMixture
        F_S of a batch, from :func:`condition`.
    weight : Tensor of shape (hidden, features)
    bias : Tensor of shape (hidden,), optional

    Returns
    -------
    mean, variance : Tensor of shape (batch, components, hidden)
        Where nothing is missing, the variance is 0.

    Examples
    --------
    >>> import torch
    >>> from lacunet.functional import DiagComponents, affine_moments, condition
    >>> one = DiagComponents(torch.zeros(1), torch.zeros(1, 2), torch.ones(1, 2))
    >>> mixture = condition(torch.tensor([[5.0, torch.nan]]), one, gamma=0.1)
    >>> affine_moments(mixture, torch.tensor([[1.0, 3.0]]))
    (tensor([[[5.]]]), tensor([[[9.]]]))
    """
    hidden = weight.shape[0]
    check_shape(weight, (hidden, mixture.observed.shape[1]), "weight")
    if bias is not None:
        check_shape(bias, (hidden,), "bias")
    linear = Affine(weight, bias)
    return linear(mixture.completed()), mixture.mapped_variance(linear)


def conv_moments(
    mixture: ConditionalMixture,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    input_shape: Sequence[int],
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> tuple[Tensor, Tensor]:
    """Compute mean and variance of a convolution's output given the component.

    The mixture is over flattened signals or images. Padding is known zeros: it adds
    nothing to the variance.

    Parameters
    ----------
    mixture : ConditionalMixture
        F_S of a batch, from :func:`condition`, with diagonal or factor covariances.
    weight : Tensor of shape (out_channels, in_channels / groups, *kernel_size)
        One or two kernel axes.
    bias : Tensor of shape (out_channels,), optional
    input_shape : sequence of int
        (channels, length) or (channels, height, width); its product is the number of
        features of the mixture.
    stride, padding, dilation, groups
        As in ``torch.nn.functional.conv2d``.

    Returns
    -------
    mean, variance : Tensor of shape (batch, components, out_channels, *out_size)

    Examples
    --------
    >>> import torch
    >>> from lacunet.functional import DiagComponents, condition, conv_moments
    >>> one = DiagComponents(torch.zeros(1), torch.zeros(1, 4), torch.ones(1, 4))
    >>> signal = torch.tensor([[1.0, 2.0, torch.nan, 4.0]])
    >>> mixture = condition(signal, one, gamma=0.1)
    >>> mean, variance = conv_moments(
    ...     mixture, torch.ones(1, 1, 2), input_shape=(1, 4), padding=1
    ... )
    >>> mean.flatten(), variance.flatten()
    (tensor([1., 3., 2., 4., 4.]), tensor([0., 0., 1., 1., 0.]))
    """
    if weight.ndim not in _CONVOLUTIONS or len(input_shape) != weight.ndim - 1:
        msg = (
            f"Got weight of shape {tuple(weight.shape)} and "
            f"input_shape={tuple(input_shape)}, but expected (out, in, length) with "
            f"(channels, length), or (out, in, height, width) with "
            f"(channels, height, width)."
        )
        raise ValueError(msg)
    if math.prod(input_shape) != mixture.observed.shape[1]:
        msg = (
            f"Got input_shape={tuple(input_shape)}, but expected its product to be "
            f"{mixture.observed.shape[1]}, the number of features of the density."
        )
        raise ValueError(msg)

    linear = Convolution(
        weight, bias, tuple(input_shape), stride, padding, dilation, groups
    )
    return linear(mixture.completed()), mixture.mapped_variance(linear)
