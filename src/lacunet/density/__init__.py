"""The density F of the data: EM on incomplete rows, and a trainable torch module."""

from lacunet.density._incomplete import IncompleteGaussianMixture
from lacunet.density._mixed import MixedMixtureDensity, bin_gaussians
from lacunet.density._mixed_em import fit_mixed
from lacunet.density._mixture import GaussianMixtureDensity, MixtureDensity

__all__ = [
    "GaussianMixtureDensity",
    "IncompleteGaussianMixture",
    "MixedMixtureDensity",
    "MixtureDensity",
    "bin_gaussians",
    "fit_mixed",
]
