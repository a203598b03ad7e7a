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
        return _tabulated(missing, weight, tables).view(-1, len(tables), len(weight))
    touched = missing.sum(dim=0) > 0
    if int(touched.sum()) <= 0.75 * len(touched):
        columns = touched.nonzero()[:, 0]
        missing, weight, tables = (
            tensor.index_select(1, columns) for tensor in (missing, weight, tables)
        )
    if len(missing) < len(weight):
        # Few rows: (batch, tables, features) is smaller than the table of products.
        return functional.linear(missing[:, None] * tables, weight)
    product: Tensor = _TabulatedProducts.apply(missing, weight, tables)  # type: ignore[no-untyped-call]
    return product.view(-1, len(tables), len(weight))


def _tabulated(missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
    products = (tables[:, None] * weight).flatten(0, 1)  # (tables * hidden, features)
    return missing @ products.T


class _TabulatedProducts(torch.autograd.Function):
    """``_tabulated`` that keeps no table of products between forward and backward."""

    @staticmethod
    def forward(ctx: Any, missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
        ctx.save_for_backward(missing, weight, tables)
        return _tabulated(missing, weight, tables)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        missing, weight, tables = ctx.saved_tensors
        # Out of place throughout, so that it can itself be differentiated; one table
        # at a time, so that the slices stay in the cache.
        outer = (grads[0].T @ missing).view(len(tables), *weight.shape)
        needs_weight, needs_tables = ctx.needs_input_grad[1:]
        grad_weight = torch.zeros_like(weight) if needs_weight else None
        grad_tables = []
        for slice_, table in zip(outer, tables, strict=True):
            if grad_weight is not None:
                grad_weight = torch.addcmul(grad_weight, slice_, table)
            if needs_tables:
                grad_tables.append((slice_ * weight).sum(0))
        return None, grad_weight, torch.stack(grad_tables) if needs_tables else None
