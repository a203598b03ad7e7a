"""Numbers as levels: the same columns, seen as categories."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Levels(nn.Module):
    """See numeric columns as ordered levels, between edges that were chosen before.

    A number becomes a one-hot group: the level it falls in. A missing number is NaN in
    all columns of its group, as a missing category is. What stands behind the numeric
    columns is passed on as it is.

    Parameters
    ----------
    n_edges : sequence of int
        Number of edges of each numeric column; it has one level more.
    dtype : torch.dtype, optional

    Attributes
    ----------
    edges : Tensor of shape (numeric columns, most edges)
        Ascending, filled up with infinity.
    sizes : tuple of int
        Number of levels of each numeric column.

    Shape
    -----
    - Input: (batch, numeric columns + others)
    - Output: (batch, sum(sizes) + others)

    Examples
    --------
    >>> import torch
    >>> levels = Levels([1, 2])
    >>> levels.set_edges([[0.0], [-1.0, 1.0]])
    >>> levels(torch.tensor([[0.5, 0.0], [-3.0, torch.nan]]))
    tensor([[0., 1., 0., 1., 0.],
            [1., 0., nan, nan, nan]])
    """

    edges: Tensor
    starts: Tensor
    column: Tensor

    def __init__(
        self, n_edges: Sequence[int], *, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self.sizes = tuple(int(n) + 1 for n in n_edges)
        most = max(n_edges, default=0)
        edges = torch.full((len(self.sizes), most), math.inf, dtype=dtype)
        self.register_buffer("edges", edges)
        sizes = torch.tensor(self.sizes, dtype=torch.long)
        # Known from the sizes, so they are not part of the state.
        self.register_buffer("starts", sizes.cumsum(0) - sizes, persistent=False)
        column = torch.arange(len(self.sizes)).repeat_interleave(sizes)
        self.register_buffer("column", column, persistent=False)

    def set_edges(self, edges: Sequence[Sequence[float]]) -> None:
        """Put in the edges of each numeric column, as many as were announced."""
        for row, values in zip(self.edges, edges, strict=True):
            row[: len(values)] = torch.tensor(values, dtype=row.dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the levels of every row."""
        numbers, others = x[:, : len(self.sizes)], x[:, len(self.sizes) :]
        # NaN is above no edge: it has a level for now.
        level = (numbers[..., None] > self.edges).sum(-1)  # (batch, numeric)
        groups = x.new_zeros(len(x), len(self.column))
        groups.scatter_(1, self.starts + level, 1.0)
        missing = torch.isnan(numbers)[:, self.column]
        return torch.cat((groups.masked_fill(missing, math.nan), others), 1)

    def extra_repr(self) -> str:  # noqa: D102
        return f"sizes={self.sizes}"
