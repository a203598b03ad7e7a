"""Mean and variance of a pre-activation: the density pushed through a linear map."""

import math
from collections.abc import Sequence

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
    return mixture.affine(weight, bias)


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
    convolve = _CONVOLUTIONS[weight.ndim]

    def along(kernel: Tensor, signals: Tensor) -> Tensor:
        flat = signals.reshape(-1, *input_shape)
        out = convolve(flat, kernel, None, stride, padding, dilation, groups)
        # Flattened once more, so that outputs of any rank are one axis to the mixture.
        return out.flatten(1).view(*signals.shape[:-1], -1)

    mean, variance = mixture.push(
        lambda signals: along(weight, signals),
        lambda signals: along(weight.square(), signals),
    )
    size = _output_size(input_shape, weight, stride, padding, dilation)
    mean, variance = (
        moment.unflatten(-1, (len(weight), *size)) for moment in (mean, variance)
    )
    if bias is not None:
        mean = mean + bias.view(-1, *(1,) * len(size))
    return mean, variance


def _output_size(
    input_shape: Sequence[int],
    weight: Tensor,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
) -> tuple[int, ...]:
    """Ask torch itself, on a tensor without memory."""
    channels, *lengths = input_shape
    probe = weight.new_empty((1, weight.shape[1], *lengths), device="meta")
    kernel = weight.new_empty((1, *weight.shape[1:]), device="meta")
    out = _CONVOLUTIONS[weight.ndim](probe, kernel, None, stride, padding, dilation)
    return tuple(out.shape[2:])
