"""Expected activations of any function, by Gauss-Hermite quadrature."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lacunet.functional._normal import known_and_std


def expected_function(
    function: Callable[[Tensor], Tensor],
    mean: Tensor,
    variance: Tensor,
    *,
    n_nodes: int = 32,
) -> Tensor:
    """Compute E[function(Z)] for Z ~ Normal(mean, variance) by quadrature.

    Exact for polynomials of degree below ``2 * n_nodes``; good for smooth functions,
    slow to converge for functions with kinks (those of the rectifier family have
    exact forms of their own).

    Parameters
    ----------
    function : callable
        Applied element by element: takes and returns a tensor of one shape.
    mean, variance : Tensor of shape (*)
        Moments of the pre-activation; ``variance`` is non-negative.
    n_nodes : int, default=32
        Number of points at which ``function`` is evaluated.

    Returns
    -------
    Tensor of shape (*)

    Examples
    --------
    >>> expected_function(torch.square, torch.tensor([2.0]), torch.ones(1))
    tensor([5.])
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    known, std = known_and_std(variance)
    out = torch.zeros_like(mean)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        share = weight / math.sqrt(2 * math.pi)
        out = out + share * function(mean + node * std)
    return torch.where(known, function(mean), out)
