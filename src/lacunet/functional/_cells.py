"""A batch with holes, taken apart: what is known, and where."""

from typing import NamedTuple

import torch
from torch import Tensor

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
    complete: bool = False  # known to have no hole: two products are saved

    def sum_tables(self, tables: Tensor) -> Tensor:
        """Sum (tables, features) over each row's observed features, (batch, tables)."""
        if self.complete:
            return tables.sum(1).expand(len(self.values), -1)
        return self.present @ tables.T

    def observed_mass(self, shares: Tensor) -> Tensor:
        """Sum (batch, components) over the rows that have a feature, (c, features)."""
        if self.complete:
            return shares.sum(0)[:, None].expand(-1, self.values.shape[1])
        return shares.T @ self.present


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
    hole = torch.isnan(x)
    return Cells(values, ~hole, hole.to(x.dtype))


def wide_dtype(x: Tensor) -> torch.dtype:
    """Return float64 where the device has it, else float32.

    Log densities are differences of large sums: in float32, 784 features of variance
    1e-8 leave nothing of them. The products concerned are thin, so width costs little.
    """
    return torch.float32 if x.device.type == "mps" else torch.float64


def widen(cells: Cells, shift: Tensor) -> WideCells:
    """Return the observed values relative to ``shift``, their squares and the mask."""
    dtype = wide_dtype(cells.values)
    present = cells.observed.to(dtype)
    values = (cells.values.to(dtype) - shift.to(dtype)) * present
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
