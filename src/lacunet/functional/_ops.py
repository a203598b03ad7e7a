"""What the formulas are made of: a batch taken apart, products, the normal."""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lacunet._validation import check_no_infinity


class Cells(NamedTuple):
    """The cells of a batch of shape (batch, features)."""

    values: Tensor  # 0 where missing
    observed: Tensor  # bool
    missing: Tensor  # 1.0 where missing: the mask as a factor of matrix products


class WideCells(NamedTuple):
    """The same in the dtype that sums over many features are taken in."""

    values: Tensor  # 0 where missing
    squares: Tensor
    present: Tensor  # 1.0 where observed
    complete: bool = False  # known to be complete: two products are saved

    def sum_tables(self, tables: Tensor) -> Tensor:
        """Sum (tables, features) over each row's observed features, (batch, tables)."""
        if self.complete:
            return tables.sum(1).expand(len(self.values), -1)
        return self.present @ tables.T

    def observed_mass(self, responsibilities: Tensor) -> Tensor:
        """Sum (batch, components) over the rows that have a feature, (c, features)."""
        if self.complete:
            return responsibilities.sum(0)[:, None].expand(-1, self.values.shape[1])
        return responsibilities.T @ self.present


class Patterns(NamedTuple):
    """The distinct masks of a batch, and which one each row has."""

    observed: Tensor  # (patterns, features) bool
    of_row: Tensor  # (batch,)


def without_nan(x: Tensor) -> Tensor:
    """Return ``x`` with 0 where a value is missing."""
    # A dozen times faster than where; infinities are left for the check to find.
    return torch.nan_to_num(x, nan=0.0, posinf=torch.inf, neginf=-torch.inf)


def split_cells(x: Tensor) -> Cells:
    """Split ``x`` of shape (batch, features) into values and masks."""
    # Cleaned before anything is computed: no NaN can reach a gradient from here on.
    values = without_nan(x)
    check_no_infinity(values)
    missing = torch.isnan(x)
    return Cells(values, ~missing, missing.to(x.dtype))


def wide_dtype(x: Tensor) -> torch.dtype:
    """Return float64 where the device has it, else float32.

    Log densities are differences of large sums: in float32, 784 features of variance
    1e-8 leave nothing of them. The products concerned are thin, so width costs little.
    """
    return torch.float32 if x.device.type == "mps" else torch.float64


def widen(cells: Cells, shift: Tensor | float = 0.0) -> WideCells:
    """Return the observed values relative to ``shift``, their squares and the mask."""
    dtype = wide_dtype(cells.values)
    present = cells.observed.to(dtype)
    values = (cells.values.to(dtype) - shift) * present
    return WideCells(values, values.square(), present)


def find_patterns(observed: Tensor) -> Patterns:
    """Find the distinct rows of a boolean mask of shape (batch, features)."""
    if torch.compiler.is_compiling():
        # The number of patterns depends on the data: each row is its own pattern.
        return Patterns(observed, torch.arange(len(observed), device=observed.device))
    generator = torch.Generator("cpu").manual_seed(observed.shape[1])
    keys = torch.randint(
        -(2**62), 2**62, observed.shape[1:], generator=generator, device="cpu"
    )
    # One 64-bit word a row: sorting words is far cheaper than sorting rows.
    words = (observed * keys.to(observed.device)).sum(dim=1)
    distinct, index = torch.unique(words, return_inverse=True)
    first = torch.empty_like(distinct).scatter_(
        0, index, torch.arange(len(index), device=observed.device)
    )
    patterns = observed[first]
    if not torch.equal(patterns[index], observed):  # two masks with one word
        patterns, index = torch.unique(observed, dim=0, return_inverse=True)
    return Patterns(patterns, index)


def masked_products(missing: Tensor, weight: Tensor, tables: Tensor) -> Tensor:
    """Compute ``sum_d missing[b, d] * tables[t, d] * weight[h, d]``, (b, t, h).

    The mask takes no gradient; tables are means, variances or loadings of components.
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


LOG_TWO_PI = math.log(2 * math.pi)


def known_below(dtype: torch.dtype) -> float:
    """Return the variance up to which a value counts as known."""
    return max(1e-30, torch.finfo(dtype).tiny)


def known_and_std(variance: Tensor) -> tuple[Tensor, Tensor]:
    """Return where ``variance`` is zero, and its root with 1 put in those places."""
    known = variance <= known_below(variance.dtype)
    # Substituted before the root: its slope at zero is infinite and would poison the
    # gradient even of the branch that is not taken.
    return known, torch.where(known, 1.0, variance).sqrt()


def normal_cdf(z: Tensor) -> Tensor:
    """Return the standard normal distribution function, accurate in both tails."""
    return 0.5 * torch.erfc(-math.sqrt(0.5) * z)


def normal_pdf(z: Tensor) -> Tensor:
    """Return the standard normal density."""
    return torch.exp(-0.5 * z.square() - 0.5 * LOG_TWO_PI)
