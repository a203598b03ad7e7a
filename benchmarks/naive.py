"""The layer as one would write it first: a pass per component, nothing spared."""

import math

import torch
from torch import Tensor
from torch.nn import functional

from lacunet.nn import ExpectedLinear


def naive_expected_relu_layer(layer: ExpectedLinear, x: Tensor) -> Tensor:
    """Compute what ``layer`` with ReLU computes on ``x`` of shape (batch, features).

    Every component fills the whole batch with its own means and variances, and plain
    autograd keeps all of it.
    """
    density = layer.density
    missing = torch.isnan(x)
    log_weights, responses = [], []
    for log_weight, mean, variance in zip(
        density.weights.log(), density.means, density.variances, strict=True
    ):
        filled = torch.where(missing, mean, x)  # (batch, features)
        missing_variance = torch.where(missing, variance, 0.0)
        noise = variance + density.gamma
        terms = (filled - mean).square() / noise + (2 * math.pi * noise).log()
        log_density = -0.5 * torch.where(missing, 0.0, terms).sum(1)
        log_weights.append(log_weight + log_density)
        responses.append(
            _expected_relu(
                functional.linear(filled, layer.weight, layer.bias),
                functional.linear(missing_variance, layer.weight.square()),
            )
        )
    weights = torch.stack(log_weights, 1).softmax(1)  # (batch, components)
    return (weights[..., None] * torch.stack(responses, 1)).sum(1)  # (batch, hidden)


def _expected_relu(mean: Tensor, variance: Tensor) -> Tensor:
    uncertain = variance > 0
    std = torch.where(uncertain, variance, 1.0).sqrt()
    z = mean / std
    bell = torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi)
    smooth = mean * torch.special.ndtr(z) + std * bell
    return torch.where(uncertain, smooth, torch.relu(mean))
