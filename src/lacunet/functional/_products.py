"""The product every diagonal moment is made of, in the cheapest of its forms."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def masked_products(missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
    """Compute ``sum_d missing[b, d] * tables[t, d] * weight[h, d]``.

    Parameters
    ----------
    missing : Tensor of shape (batch, features)
        1.0 where a value is missing, else 0.0; takes no gradient.
    weight : Tensor of shape (hidden, features)
    tables : Tensor of shape (tables, features)
        Means, variances or loadings of the components.

    Returns
    -------
    Tensor of shape (batch, tables, hidden)
    """
    if torch.compiler.is_compiling():
        return _tabulated(missing, weight, tables)
    touched = missing.any(dim=0)
    if int(touched.sum()) <= 0.75 * len(touched):
        columns = touched.nonzero()[:, 0]
        missing, weight, tables = (
            tensor.index_select(1, columns) for tensor in (missing, weight, tables)
        )
    if len(missing) < len(weight):
        # Few rows: (batch, tables, features) is smaller than the table of products.
        return functional.linear(missing[:, None] * tables, weight)
    product: Tensor = _TabulatedProducts.apply(missing, weight, tables)  # type: ignore[no-untyped-call]
    return product


def _tabulated(missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
    products = (tables[:, None] * weight).flatten(0, 1)  # (tables * hidden, features)
    return (missing @ products.T).view(-1, len(tables), len(weight))


class _TabulatedProducts(torch.autograd.Function):
    """``_tabulated`` that keeps no table of products between forward and backward."""

    @staticmethod
    def forward(ctx: Any, missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
        ctx.save_for_backward(missing, weight, tables)
        return _tabulated(missing, weight, tables)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        missing, weight, tables = ctx.saved_tensors
        # Out of place throughout, so that it can itself be differentiated.
        outer = (grads[0].flatten(1).T @ missing).view(len(tables), *weight.shape)
        needs_weight, needs_tables = ctx.needs_input_grad[1:]
        grad_weight = (outer * tables[:, None]).sum(0) if needs_weight else None
        grad_tables = (outer * weight).sum(1) if needs_tables else None
        return None, grad_weight, grad_tables
