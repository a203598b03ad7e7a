"""What an expected linear layer and an expected convolution share."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from lacunet import functional as F  # noqa: N812
from lacunet._validation import check_no_infinity
from lacunet.density import MixtureDensity
from lacunet.functional import ConditionalMixture
from lacunet.functional._cells import without_nan
from lacunet.nn._activation import ActivationLike, ExpectedActivation
from lacunet.nn._density import check_density


class ExpectedLayer(nn.Module):
    """A linear map and its activation, expected over what is missing.

    The map of the observed cells is taken once, for all rows; to rows with holes the
    missing cells then add their share of mean and variance. Complete rows have the
    plain activation, and all rows keep their place.

    Parameters
    ----------
    density : GaussianMixtureDensity or MixedMixtureDensity
        Of the rows, flattened.
    n_features : int or None
        Width that the density must have, if it is known.
    activation : str, torch.nn.Module or callable
        What the layer ends with.
    """

    def __init__(
        self,
        density: MixtureDensity,
        n_features: int | None,
        activation: ActivationLike,
    ) -> None:
        super().__init__()
        self.density = check_density(density, n_features)
        self.activation = ExpectedActivation(activation)

    @abstractmethod
    def preactivate(self, values: Tensor) -> Tensor:
        """Apply the linear map and the bias to rows in which 0 stands for missing."""

    @abstractmethod
    def missing_share(
        self, mixture: ConditionalMixture, shape: torch.Size
    ) -> tuple[Tensor, Tensor]:
        """Compute what the missing cells add to mean and variance.

        ``shape`` is that of one row of the batch, before it was flattened. Both results
        are of shape (rows, components, *out).
        """

    def respond(self, x: Tensor) -> Tensor:
        """Return the expected activation of every row of ``x``, (batch, *)."""
        values = without_nan(x)
        known = self.preactivate(values)  # (batch, *out)
        rows = incomplete_rows(x)
        if rows is not None and len(rows) == 0:
            return self._activate(known)
        check_no_infinity(values)
        chosen = x if rows is None else x.index_select(0, rows)
        mixture = self.density.condition(chosen.flatten(1))
        mean, variance = self.missing_share(mixture, chosen.shape[1:])
        offset = known if rows is None else known.index_select(0, rows)
        # In place: mean is ours alone, and the largest tensor of the layer.
        expected = self.activation(mean.add_(offset[:, None]), variance)
        response = F.mix(mixture.weights, expected)
        if rows is None:
            return response
        return self._activate(known).index_copy(0, rows, response)

    def _activate(self, known: Tensor) -> Tensor:
        out: Tensor = self.activation.known(known)
        return out


def incomplete_rows(x: Tensor) -> Tensor | None:
    """Return the indices of rows with something missing, None for all rows."""
    if torch.compiler.is_compiling():
        return None  # they depend on the data; the expected way is right for all rows
    # One pass: a sum is finite unless something in it is not. A row whose sum merely
    # overflows is among them, which is right for it too, and so is a row with an
    # infinity, which is refused later.
    doubtful = ~torch.isfinite(x.flatten(1).sum(1))
    rows = doubtful.nonzero()[:, 0]
    return None if len(rows) == len(x) else rows
