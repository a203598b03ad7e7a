"""Mean and variance of a pre-activation: the density pushed through a linear map."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lacunet._validation import check_shape
from lacunet.functional._mixture import ConditionalMixture

_CONVOLUTIONS = {3: functional.conv1d, 4: functional.conv2d}

Sizes = int | Sequence[int]


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
    hidden, features = weight.shape
    check_shape(weight, (hidden, mixture.observed.shape[1]), "weight")
    if bias is not None:
        check_shape(bias, (hidden,), "bias")
    known = functional.linear(mixture.cells.values, weight, bias)
    mean, variance = mixture.missing_affine(weight)
    return mean + known[:, None], variance


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

    def convolve(signals: Tensor, kernel: Tensor, offset: Tensor | None) -> Tensor:
        convolution = _CONVOLUTIONS[weight.ndim]
        return convolution(signals, kernel, offset, stride, padding, dilation, groups)

    images = mixture.cells.values.view(-1, *input_shape)
    known = convolve(images, weight, bias)
    mean, variance = missing_conv(mixture, weight, convolve, tuple(input_shape))
    return mean + known[:, None], variance


def missing_conv(
    mixture: ConditionalMixture,
    weight: Tensor,
    convolve: Callable[[Tensor, Tensor, None], Tensor],
    input_shape: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """Compute what the missing pixels add to the moments of a convolution.

    Returns
    -------
    mean, variance : Tensor of shape (batch, components, out_channels, *out_size)
    """
    out_shape: list[torch.Size] = []

    def along(kernel: Tensor, signals: Tensor) -> Tensor:
        out = convolve(signals.reshape(-1, *input_shape), kernel, None)
        out_shape.append(out.shape[1:])
        # Flattened, so that outputs of any rank are one axis to the mixture.
        return out.reshape(*signals.shape[:-1], -1)

    mean, variance = mixture.missing_push(
        lambda signals: along(weight, signals),
        lambda signals: along(weight.square(), signals),
    )
    shape = (*mean.shape[:2], *out_shape[0])
    return mean.reshape(shape), variance.reshape(shape)
