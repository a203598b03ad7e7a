"""What every expected layer asks of its density and of the batch's precision."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from lacunet._validation import check_same_dtype
from lacunet.density import GaussianMixtureDensity, MixtureDensity


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
