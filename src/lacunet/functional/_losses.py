"""Losses over the observed cells of an incomplete target."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from lacunet._validation import check_choice, check_shape

Reduction = Literal["mean", "sum"]


def masked_mse(
    prediction: Tensor, target: Tensor, *, reduction: Reduction = "mean"
) -> Tensor:
    """Compute the squared error over the observed cells of ``target``.

    Parameters
    ----------
    prediction : Tensor of shape (*)
    target : Tensor of shape (*)
        NaN marks a cell that doesn't count.
    reduction : {"mean", "sum"}, default="mean"
        Mean over the observed cells (0 if there is none), or their sum.

    Returns
    -------
    Tensor of shape ()

    Examples
    --------
    >>> masked_mse(torch.tensor([1.0, 2.0]), torch.tensor([3.0, torch.nan]))
    tensor(4.)
    """
    return _masked(functional.mse_loss, prediction, target, reduction)


def masked_bce(
    prediction: Tensor,
    target: Tensor,
    *,
    from_logits: bool = False,
    reduction: Reduction = "mean",
) -> Tensor:
    """Compute the binary cross-entropy over the observed cells of ``target``.

    Parameters
    ----------
    prediction : Tensor of shape (*)
        Probabilities, or logits with ``from_logits=True``.
    target : Tensor of shape (*)
        Between 0 and 1; NaN marks a cell that doesn't count.
    from_logits : bool, default=False
        Whether ``prediction`` is before the sigmoid.
    reduction : {"mean", "sum"}, default="mean"
        Mean over the observed cells (0 if there is none), or their sum.

    Returns
    -------
    Tensor of shape ()

    Examples
    --------
    >>> masked_bce(torch.tensor([0.5, 0.9]), torch.tensor([1.0, torch.nan]))
    tensor(0.6931)
    """
    loss = (
        functional.binary_cross_entropy_with_logits
        if from_logits
        else functional.binary_cross_entropy
    )
    return _masked(loss, prediction, target, reduction)


def _masked(
    loss: Callable[..., Tensor], prediction: Tensor, target: Tensor, reduction: str
) -> Tensor:
    check_shape(target, prediction.shape, "target")
    check_choice(reduction, ("mean", "sum"), "reduction")
    observed = ~torch.isnan(target)
    # Selected, not multiplied by a mask: a prediction gone wrong at a cell that does
    # not count stays without effect.
    total = loss(prediction[observed], target[observed], reduction="sum")
    return total if reduction == "sum" else total / observed.sum().clamp_min(1)
