"""What the formulas are made of: a batch taken apart, products, the normal."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lacunet._validation import branch_free, check_no_infinity


class Cells(NamedTuple):
    """The cells of a batch of shape (batch, features)."""

    values: Tensor  # 0 where missing
    observed: Tensor  # bool
    missing: Tensor  # 1.0 where missing: the mask as a factor of matrix products
    # Of missing cells that are known by bounds, infinite for all others; or None.
    lower: Tensor | None = None
    upper: Tensor | None = None

    @property
    def bounded(self) -> Tensor:
        """Where a missing cell is known by a bound, bool."""
        if self.lower is None or self.upper is None:
            return torch.zeros_like(self.observed)
        return (self.lower > -torch.inf) | (self.upper < torch.inf)

    def map(self, function: Callable[[Tensor], Tensor]) -> "Cells":
        """Apply a function to each of the tensors."""
        ends = (None if t is None else function(t) for t in (self.lower, self.upper))
        return Cells(*map(function, self[:3]), *ends)


class WideCells(NamedTuple):
    """The same in the dtype that sums over many features are taken in."""

    values: Tensor  # 0 where missing
    squares: Tensor
    present: Tensor  # 1.0 where observed
    complete: bool = False  # known to be complete: two products are saved

    def sum_tables(self, tables: Tensor) -> Tensor:
        """Sum (tables, features) over each row's observed features, (batch, tables)."""
        if self.complete:
            return tables.sum(1).expand(self.values.shape[0], -1)
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
    distinct: bool = False  # every row stands for itself

    def expand(self, table: Tensor, axis: int = 0) -> Tensor:
        """Give every row what its pattern has, along an axis."""
        return table if self.distinct else table.index_select(axis, self.of_row)


def without_nan(x: Tensor) -> Tensor:
    """Return ``x`` with 0 where a value is missing."""
    # A dozen times faster than where; infinities are left for the check to find.
    return torch.nan_to_num(x, nan=0.0, posinf=torch.inf, neginf=-torch.inf)


def split_cells(
    x: Tensor, lower: Tensor | None = None, upper: Tensor | None = None
) -> Cells:
    """Split ``x`` of shape (batch, features) into values and masks.

    ``lower`` and ``upper`` are bounds of missing cells, of the same shape, NaN or
    infinite where there is none. Where they are equal, the cell is observed.
    """
    ends: list[Tensor] = []
    if lower is not None or upper is not None:
        x, *ends = place_bounds(x, lower, upper)
    # Cleaned before anything is computed: no NaN can reach a gradient from here on.
    values = without_nan(x)
    check_no_infinity(values)
    missing = torch.isnan(x)
    cells = Cells(values, ~missing, missing.to(x.dtype), *ends)
    return cells if ends and bool(cells.bounded.any()) else Cells(*cells[:3])


def place_bounds(
    x: Tensor, lower: Tensor | None, upper: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Check bounds, and return rows and the bounds of what is missing in them."""
    ends = []
    for name, end, none in (
        ("lower", lower, -torch.inf),
        ("upper", upper, torch.inf),
    ):
        if end is None:
            ends.append(torch.full_like(x, none))
            continue
        if end.shape != x.shape:
            msg = (
                f"Got {name} of shape {tuple(end.shape)}, but expected "
                f"{tuple(x.shape)}, a bound for each cell of x: NaN where there is "
                f"none."
            )
            raise ValueError(msg)
        ends.append(torch.where(torch.isnan(end), none, end.to(x.dtype)))
    low, high = ends
    wrong = (low > high) | (x < low) | (x > high)
    if bool(wrong.any()):
        row, column = wrong.nonzero()[0].tolist()
        found = [float(tensor[row, column]) for tensor in (low, high, x)]
        msg = (
            f"Got lower={found[0]:g} and upper={found[1]:g} for the value {found[2]:g} "
            f"in row {row}, column {column}, but expected lower <= upper, and a value "
            f"that is not missing between them."
        )
        raise ValueError(msg)
    x = torch.where(torch.isnan(x) & (low == high), low, x)
    missing = torch.isnan(x)
    return (
        x,
        torch.where(missing, low, -torch.inf),
        torch.where(missing, high, torch.inf),
    )


def wide_dtype(x: Tensor) -> torch.dtype:
    """Return float64 where the device has it, else float32.

    Log densities are differences of large sums: in float32, 784 features of variance
    1e-8 leave nothing of them. The products concerned are thin, so width costs little.
    """
    return torch.float32 if x.device.type == "mps" else torch.float64


def widen(cells: Cells) -> WideCells:
    """Return the observed values, their squares and the mask."""
    dtype = wide_dtype(cells.values)
    values = cells.values.to(dtype)
    return WideCells(values, values.square(), cells.observed.to(dtype))


def find_patterns(observed: Tensor) -> Patterns:
    """Find the distinct rows of a boolean mask of shape (batch, features)."""
    if branch_free():
        # The number of patterns depends on the data: each row is its own pattern.
        return _every_row(observed)
    generator = torch.Generator("cpu").manual_seed(observed.shape[1])
    keys = torch.randint(
        -(2**62), 2**62, observed.shape[1:], generator=generator, device="cpu"
    )
    # One 64-bit word a row: sorting words is far cheaper than sorting rows.
    words = (observed * keys.to(observed.device)).sum(dim=1)
    distinct, index = torch.unique(words, return_inverse=True)
    if len(distinct) > 0.75 * len(words):  # too few repeat to be worth the look-up
        return _every_row(observed)
    first = torch.empty_like(distinct).scatter_(
        0, index, torch.arange(len(index), device=observed.device)
    )
    patterns = observed[first]
    if not torch.equal(patterns[index], observed):  # two masks with one word
        patterns, index = torch.unique(observed, dim=0, return_inverse=True)
    return Patterns(patterns, index)


def _every_row(observed: Tensor) -> Patterns:
    rows = torch.arange(observed.shape[0], device=observed.device)
    return Patterns(observed, rows, distinct=True)


def inverse_cholesky(matrix: Tensor) -> Tensor:
    """Return inverse(L) of positive definite matrices L @ L.T, (*, n, n).

    In eager code its gradient takes products only, no solves.
    """
    if branch_free():
        size = matrix.shape[-1]
        for_onnx = exporting_to_onnx()
        if size <= (LARGEST_IN_ONNX if for_onnx else LARGEST_UNROLLED):
            return _unrolled(matrix)
        if for_onnx:
            msg = (
                f"Got covariances of {size} columns (or factors) to export, but "
                f"expected at most {LARGEST_IN_ONNX}: ONNX has no Cholesky "
                f"decomposition. Use covariance_type='factor' with fewer factors, or "
                f"'diag'; or torch.export, which has no such limit."
            )
            raise ValueError(msg)
        return _by_solve(matrix)
    out: Tensor = _InverseCholesky.apply(matrix)  # type: ignore[no-untyped-call]
    return out


def small_inverse_cholesky(matrices: Tensor) -> Tensor:
    """Do the same for matrices (n, n, *), up to 8 x 8 with passes over all at once."""
    if branch_free() or len(matrices) > 8:
        inverse = inverse_cholesky(matrices.movedim((0, 1), (-2, -1)))
        return inverse.movedim((-2, -1), (0, 1))
    out: Tensor = _SmallInverseCholesky.apply(matrices)  # type: ignore[no-untyped-call]
    return out


# Up to this size compiled code is no larger than it has to be for the rest.
LARGEST_UNROLLED = 16
# ONNX has products only: half a second and 10 kB a column.
LARGEST_IN_ONNX = 64


def exporting_to_onnx() -> bool:
    """Return whether a graph for ONNX is made, strictly or not."""
    # Not torch.onnx.is_in_onnx_export: strict export takes that to be False.
    flags = sys.modules.get("torch.onnx._internal.exporter._flags")
    return torch.compiler.is_exporting() and getattr(flags, "_is_onnx_exporting", False)


def _unrolled(matrix: Tensor) -> Tensor:
    """Return inverse(L) by products alone, a column of L and a row of it at a time."""
    cholesky, inverse = matrix[..., :0], matrix[..., :0, :]
    for j in range(matrix.shape[-1]):
        column, zeros = matrix[..., j:, j : j + 1], torch.zeros_like(matrix[..., :1, :])
        row = torch.cat((zeros[..., :j], zeros[..., :1] + 1, zeros[..., j + 1 :]), -1)
        if j:  # a product over nothing is undefined in some runtimes
            before = cholesky[..., j : j + 1, :]
            column = column - cholesky[..., j:, :] @ before.mT
            row = row - before @ inverse
        corner = column[..., :1, :].rsqrt()
        above = torch.zeros_like(matrix[..., :j, :1])
        cholesky = torch.cat((cholesky, torch.cat((above, column * corner), -2)), -1)
        inverse = torch.cat((inverse, row * corner), -2)
    return inverse


def _by_solve(matrix: Tensor) -> Tensor:
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    inverse: Tensor = torch.linalg.solve_triangular(
        torch.linalg.cholesky(matrix), identity.expand_as(matrix), upper=False
    )
    return inverse


class _InverseCholesky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor) -> Tensor:
        inverse = _by_solve(matrix)
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        inverse: Tensor = ctx.saved_tensors[0]
        product = grads[0] @ inverse.mT
        symmetric = product.tril() + product.tril(-1).mT
        return -0.5 * (inverse.mT @ symmetric @ inverse)


class _SmallInverseCholesky(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrices: Tensor) -> Tensor:
        cholesky, inverse = matrices.clone(), torch.zeros_like(matrices)
        for j in range(len(matrices)):
            column = cholesky[j:, j]
            if j:
                column = column - (cholesky[j:, :j] * cholesky[j, :j]).sum(1)
            corner = column[0].rsqrt()
            cholesky[j:, j] = column * corner
            if j:
                row = (cholesky[j, :j, None] * inverse[:j, :j]).sum(0)
                inverse[j, :j] = row.mul_(-corner)
            inverse[j, j] = corner
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        inverse: Tensor = ctx.saved_tensors[0]
        turned = inverse.transpose(0, 1)
        product = _small_product(grads[0].contiguous(), turned)
        identity = torch.eye(len(inverse), dtype=product.dtype, device=product.device)
        half = torch.ones_like(identity).tril() - 0.5 * identity
        lower = product * half.view(*half.shape, *(1,) * (product.ndim - 2))
        symmetric = lower + lower.transpose(0, 1)
        return -0.5 * _small_product(_small_product(turned, symmetric), inverse)


def _small_product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply matrices (n, n, *)."""
    out = left[:, 0, None] * right[0]
    for j in range(1, len(right)):
        out.addcmul_(left[:, j, None], right[j])
    return out


def log_det(inverse: Tensor) -> Tensor:
    """Return half the log determinant of a matrix by its ``inverse_cholesky``."""
    return -inverse.diagonal(dim1=-2, dim2=-1).log().sum(-1)


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
