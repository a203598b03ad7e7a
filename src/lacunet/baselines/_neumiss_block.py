"""The NeuMiss block: a Neumann series over what is observed."""

import numbers
from typing import Any

import torch
from torch import Tensor, nn

from lacunet._validation import check_dtype, check_floating, check_positive_int

# Of the start of the weights: the series must not grow with its depth.
_GAIN = 0.5


class NeuMissBlock(nn.Module):
    r"""Map rows with holes to rows that are zero where a value is missing.

    With the mask :math:`m` of what is observed, :math:`x^0` for zeros in the holes,
    and one :math:`W` for all steps (Le Morvan et al. 2021),

    .. math::
        h^0 = m \circ (x^0 - \mu), \qquad
        h^{l+1} = m \circ (W h^l) + h^0, \qquad l = 0, \dots, \text{depth} - 1.

    The output :math:`h^{\text{depth}}` is the start of a Neumann series. With
    :math:`W = I - c \Sigma` and :math:`0 < c < 2 / \lambda_{\max}(\Sigma)` it tends to
    :math:`(c \Sigma_{oo})^{-1} (x_o - \mu_o)` over the observed columns :math:`o`, of
    which a linear layer can make the conditional mean of a normal distribution.

    Parameters
    ----------
    n_features : int
    depth : int
        Number of steps; 0 for the centred rows alone.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    weight : Parameter of shape (n_features, n_features)
    mean : Parameter of shape (n_features,)

    Shape
    -----
    - Input: (*, n_features), NaN where a value is missing
    - Output: (*, n_features)

    Examples
    --------
    >>> import torch
    >>> from lacunet.baselines import NeuMissBlock
    >>> block = NeuMissBlock(2, depth=3)
    >>> with torch.no_grad():
    ...     _ = block.weight.copy_(torch.tensor([[0.5, 0.2], [0.1, 0.3]]))
    ...     _ = block.mean.copy_(torch.tensor([1.0, 0.0]))
    >>> block(torch.tensor([[2.0, torch.nan]])).tolist()
    [[1.875, 0.0]]
    """

    def __init__(
        self,
        n_features: int,
        depth: int,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_positive_int(n_features, "n_features")
        check_dtype(dtype)
        self.depth = check_count(depth, "depth")
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(n_features, n_features, **factory))
        self.mean = nn.Parameter(torch.empty(n_features, **factory))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start with small weights, and a mean of zero."""
        nn.init.xavier_uniform_(self.weight, gain=_GAIN, generator=generator)
        nn.init.zeros_(self.mean)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the first terms of the series, for every row."""
        self._check_batch(x)
        missing = torch.isnan(x)
        # Cleaned of NaN before anything is computed: none can come back in a gradient.
        start = (x.masked_fill(missing, 0.0) - self.mean).masked_fill(missing, 0.0)
        response = start
        for _ in range(self.depth):
            step = nn.functional.linear(response, self.weight)
            response = step.masked_fill(missing, 0.0) + start
        return response

    def _check_batch(self, x: Tensor) -> None:
        n_features = len(self.mean)
        if check_floating(x).ndim == 0 or x.shape[-1] != n_features:
            msg = f"Got x of shape {tuple(x.shape)}, but expected (*, {n_features})."
            raise ValueError(msg)

    def extra_repr(self) -> str:  # noqa: D102
        return f"{len(self.mean)}, depth={self.depth}"


def check_count(value: object, name: str) -> int:
    """Return ``value`` if it is an integer of at least zero."""
    msg = f"Got {name}={value!r}, but expected an integer of at least 0."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(msg)
    if value < 0:
        raise ValueError(msg)
    return int(value)
