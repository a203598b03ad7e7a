"""Small verbs on batches of Cholesky factors."""

import torch
from torch import Tensor


def solve_lower(cholesky: Tensor, right: Tensor) -> Tensor:
    """Solve ``L @ out = right`` for lower triangular L."""
    out: Tensor = torch.linalg.solve_triangular(cholesky, right, upper=False)
    return out


def solve_transposed(cholesky: Tensor, right: Tensor) -> Tensor:
    """Solve ``L.T @ out = right`` for lower triangular L."""
    out: Tensor = torch.linalg.solve_triangular(cholesky.mT, right, upper=True)
    return out


def log_det(cholesky: Tensor) -> Tensor:
    """Return the logarithm of the determinant of L itself: half that of L @ L.T."""
    return cholesky.diagonal(dim1=-2, dim2=-1).log().sum(-1)
