"""What the formulas are made of."""

import pytest
import torch
from torch.autograd import forward_ad

from lacunet._validation import branch_free
from lacunet.functional._ops import (
    _by_solve,
    _unrolled,
    inverse_cholesky,
    log_det,
)


def positive_definite(n, *batch):
    generator = torch.Generator().manual_seed(n)
    root = torch.randn(*batch, n, n, generator=generator, dtype=torch.float64)
    return root @ root.mT + 0.1 * torch.eye(n)


@pytest.mark.parametrize("way", [inverse_cholesky, _unrolled, _by_solve])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_inverse_cholesky_gives_inverse_and_determinant(way, n):
    matrix = positive_definite(n, 2, 3)
    root = way(matrix)
    assert torch.equal(root, root.tril())
    torch.testing.assert_close(root.mT @ root, torch.linalg.inv(matrix))
    torch.testing.assert_close(2 * log_det(root), torch.logdet(matrix))


def test_inverse_cholesky_passes_gradcheck_twice():
    matrix = positive_definite(4, 2).requires_grad_()

    def symmetric(matrix):
        return inverse_cholesky(0.5 * (matrix + matrix.mT))

    assert torch.autograd.gradcheck(symmetric, matrix)
    assert torch.autograd.gradgradcheck(symmetric, matrix)


def test_inverse_cholesky_refuses_what_is_not_positive_definite():
    with pytest.raises(torch.linalg.LinAlgError):
        inverse_cholesky(-torch.eye(3))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_branch_free_under_every_transform():
    seen = []

    def record(x):
        seen.append(branch_free())
        return x.sum()

    x = torch.ones(2)
    record(x)
    torch.func.grad(record)(x)
    torch.func.vmap(record)(x[None])
    torch.func.jvp(record, (x,), (x,))
    torch.jit.trace(record, x, check_trace=False)
    with forward_ad.dual_level():
        record(x)
    record(x)
    assert seen[0] is seen[-1] is False
    assert all(seen[1:-1])
