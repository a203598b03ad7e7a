"""The density F of the data: EM on incomplete rows, and a trainable torch module.

Names that are imported as themselves are for other rooms, not for users.
"""

from lacunet.density._incomplete import IncompleteGaussianMixture
from lacunet.density._incomplete import refine as refine
from lacunet.density._mixed import MixedMixtureDensity, bin_gaussians
from lacunet.density._mixed_em import add_expectations as add_expectations
from lacunet.density._mixed_em import expect_codes as expect_codes
from lacunet.density._mixed_em import expect_rows as expect_rows
from lacunet.density._mixed_em import fit_mixed
from lacunet.density._mixed_em import refine_mixed as refine_mixed
from lacunet.density._mixture import GaussianMixtureDensity, MixtureDensity

__all__ = [
    "GaussianMixtureDensity",
    "IncompleteGaussianMixture",
    "MixedMixtureDensity",
    "MixtureDensity",
    "bin_gaussians",
    "fit_mixed",
]
