"""Radial basis functions over incomplete rows."""

import torch
from torch import Tensor, nn

from lacunet import functional as F  # noqa: N812
from lacunet._validation import check_batch, check_dtype, check_positive_int, hide
from lacunet.density import MixtureDensity
from lacunet.nn._expected import check_density, full_precision


class ExpectedRBF(nn.Module):
    """Gaussian radial units, expected over what is missing (theorem 3.2).

    Parameters
    ----------
    in_features, units : int
        Width of the rows, and number of units.
    density : GaussianMixtureDensity or MixedMixtureDensity
        Over the ``in_features`` columns, of any covariance type; may be shared.
    normalise : bool, default=True
        Divide the responses of a row by their sum, as the authors' code does. Raw
        densities under- or overflow beyond a few dozen features.
    generator : torch.Generator, optional
        Source of the random start; torch's default one if not given.
    device, dtype : optional
        Of the parameters; torch's defaults if not given.

    Attributes
    ----------
    centres : Parameter of shape (units, in_features)
    variances : Tensor of shape (units, in_features)
        Stored as logarithms.

    Shape
    -----
    - Input: (*, in_features), NaN where a value is missing
    - Output: (*, units)

    Examples
    --------
    >>> import torch
    >>> from lacunet.density import GaussianMixtureDensity
    >>> from lacunet.nn import ExpectedRBF
    >>> layer = ExpectedRBF(2, 5, GaussianMixtureDensity(3, 2))
    >>> layer(torch.tensor([[1.0, torch.nan]])).shape
    torch.Size([1, 5])
    """

    def __init__(
        self,
        in_features: int,
        units: int,
        density: MixtureDensity,
        *,
        normalise: bool = True,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check_positive_int(in_features, "in_features")
        self.units = check_positive_int(units, "units")
        self.density = check_density(density, in_features)
        check_dtype(dtype)
        self.normalise = normalise
        shape = (units, in_features)
        self.centres = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.log_variances = nn.Parameter(
            torch.empty(shape, device=device, dtype=dtype)
        )
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Start with standard normal centres and unit variances."""
        nn.init.normal_(self.centres, generator=generator)
        nn.init.zeros_(self.log_variances)

    @property
    def variances(self) -> Tensor:
        """Diagonal variances of the units."""
        tiny = torch.finfo(self.log_variances.dtype).tiny
        return self.log_variances.exp().clamp_min(tiny)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        lower: Tensor | None = None,
        upper: Tensor | None = None,
    ) -> Tensor:
        """Return the expected response of every unit to every row of ``x``.

        Parameters
        ----------
        x : Tensor of shape (*, in_features)
            NaN marks a missing value.
        mask : Tensor of bool of shape (*, in_features), optional
            False marks a value that is missing too, whatever stands in ``x``.
        lower, upper : Tensor of shape (*, in_features), optional
            Bounds of missing values, NaN or infinite where there is none; for a density
            with diagonal covariances, of which it is exact.
        """
        hidden = hide(check_batch(x, self.in_features), mask)
        rows = hidden.reshape(-1, self.in_features)
        lower, upper = (
            None if end is None else end.reshape(-1, self.in_features)
            for end in (lower, upper)
        )
        with full_precision(rows, self.centres) as batch:
            out = F.expected_rbf(
                self.density.condition(batch, lower=lower, upper=upper),
                self.centres,
                self.variances,
                normalise=self.normalise,
            )
        return out if x.ndim == 2 else out.view(*x.shape[:-1], self.units)

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"in_features={self.in_features}, units={self.units}, "
            f"normalise={self.normalise}"
        )
