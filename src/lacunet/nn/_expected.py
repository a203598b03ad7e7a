"""What the expected layers have in common: rows, densities and weights."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from lacunet import functional as F  # noqa: N812
from lacunet._validation import check_no_infinity, check_same_dtype
from lacunet.density import GaussianMixtureDensity, MixtureDensity
from lacunet.functional import ConditionalMixture, without_nan
from lacunet.nn._activation import ActivationLike, ExpectedActivation


class ExpectedLayer(nn.Module):
    """A linear map and its activation, expected over what is missing.

    The map of the observed cells is taken once, for all rows; to incomplete rows the
    missing cells then add to mean and variance. Complete rows have the
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
    def missing_moments(
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
        mean, variance = self.missing_moments(mixture, chosen.shape[1:])
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


def check_density(density: object, n_features: int | None) -> MixtureDensity:
    """Return ``density`` if it is one, over ``n_features`` columns if that is known."""
    if not isinstance(density, MixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but expected a "
            f"GaussianMixtureDensity or MixedMixtureDensity. Make one of a fitted "
            f"mixture with GaussianMixtureDensity.from_estimator(mixture)."
        )
        raise TypeError(msg)
    if n_features is not None and density.n_features != n_features:
        msg = (
            f"Got a density over {density.n_features} features, but expected "
            f"{n_features}, the width of the layer."
        )
        raise ValueError(msg)
    return density


def check_gaussian_density(density: MixtureDensity) -> GaussianMixtureDensity:
    """Return ``density`` if it is one over numbers alone."""
    if not isinstance(density, GaussianMixtureDensity):
        msg = (
            f"Got density of type {type(density).__name__}, but a convolution expected "
            f"a GaussianMixtureDensity: categories have no place in an image."
        )
        raise ValueError(msg)
    return density


@contextmanager
def full_precision(x: Tensor, weight: Tensor) -> Iterator[Tensor]:
    """Keep responsibilities and moments out of autocast; yield the batch for it."""
    device = x.device.type
    if not torch.is_autocast_enabled(device):
        check_same_dtype(x, weight)
        yield x
        return
    with torch.autocast(device, enabled=False):
        yield x.to(weight.dtype)


def check_plain(module: object, kind: type[nn.Module]) -> None:
    """Refuse a module that does anything but what ``kind`` itself does.

    A subclass with its own forward, a hook, or a weight that is computed from others
    would be lost without a word in the counterpart.
    """
    if not isinstance(module, kind):
        msg = f"Got {type(module).__name__}, but expected a torch.nn.{kind.__name__}."
        raise TypeError(msg)
    why = None
    if isinstance(module._parameters.get("weight"), nn.UninitializedParameter):
        why = "no weights yet (call it once on a batch)"
    elif type(module).forward is not kind.forward:
        why = "a forward of its own"
    elif parametrize.is_parametrized(module) or "weight" not in module._parameters:
        why = "a weight that is computed from other parameters"
    elif module._forward_hooks or module._forward_pre_hooks:
        why = "hooks"
    if why is not None:
        msg = (
            f"Got a {type(module).__name__} with {why}, but expected a plain "
            f"torch.nn.{kind.__name__}: its counterpart would not do the same."
        )
        raise ValueError(msg)


@torch.no_grad()
def take_over(parameter: nn.Parameter, source: Tensor) -> None:
    """Copy values, and whether they are trained."""
    parameter.copy_(source)
    parameter.requires_grad_(source.requires_grad)
