"""Pure tensor functions: condition, push moments through a map, take expectations."""

from lacunet.functional._activations import (
    expected_cos,
    expected_elu,
    expected_erf,
    expected_function,
    expected_gelu,
    expected_hardtanh,
    expected_identity,
    expected_identity_squared,
    expected_leaky_relu,
    expected_leaky_relu_squared,
    expected_relu,
    expected_relu6,
    expected_relu_squared,
    expected_selu,
    expected_sigmoid,
    expected_silu,
    expected_sin,
    expected_softplus,
    expected_tanh,
)
from lacunet.functional._bounds import truncated_moments
from lacunet.functional._condition import Components, condition, log_likelihood
from lacunet.functional._diag import DiagComponents
from lacunet.functional._factor import FactorComponents
from lacunet.functional._full import FullComponents
from lacunet.functional._losses import masked_bce, masked_mse
from lacunet.functional._mixed import GaussianComponents, MixedComponents
from lacunet.functional._mixture import ConditionalMixture, mix
from lacunet.functional._moments import affine_moments, conv_moments
from lacunet.functional._rbf import expected_rbf

# For the rooms above, not for users.
# isort: split
from lacunet.functional._bounds import BoundedConditional as BoundedConditional
from lacunet.functional._bounds import draw_truncated as draw_truncated
from lacunet.functional._condition import check_gaussian as check_gaussian
from lacunet.functional._condition import check_mixed as check_mixed
from lacunet.functional._diag import cancels as cancels
from lacunet.functional._diag import diag_log_likelihood as diag_log_likelihood
from lacunet.functional._factor import factor_posterior as factor_posterior
from lacunet.functional._mixed import Restriction as Restriction
from lacunet.functional._mixed import find_restrictions as find_restrictions
from lacunet.functional._mixed import group_starts as group_starts
from lacunet.functional._mixed import level_variances as level_variances
from lacunet.functional._mixed import padded_groups as padded_groups
from lacunet.functional._mixed import restrict as restrict
from lacunet.functional._mixed import split_at as split_at
from lacunet.functional._mixture import LinearMap as LinearMap
from lacunet.functional._moments import Affine as Affine
from lacunet.functional._moments import Convolution as Convolution
from lacunet.functional._ops import Cells as Cells
from lacunet.functional._ops import WideCells as WideCells
from lacunet.functional._ops import find_patterns as find_patterns
from lacunet.functional._ops import place_bounds as place_bounds
from lacunet.functional._ops import split_cells as split_cells
from lacunet.functional._ops import wide_dtype as wide_dtype
from lacunet.functional._ops import widen as widen
from lacunet.functional._ops import without_nan as without_nan

__all__ = [
    "Components",
    "ConditionalMixture",
    "DiagComponents",
    "FactorComponents",
    "FullComponents",
    "GaussianComponents",
    "MixedComponents",
    "affine_moments",
    "condition",
    "conv_moments",
    "expected_cos",
    "expected_elu",
    "expected_erf",
    "expected_function",
    "expected_gelu",
    "expected_hardtanh",
    "expected_identity",
    "expected_identity_squared",
    "expected_leaky_relu",
    "expected_leaky_relu_squared",
    "expected_rbf",
    "expected_relu",
    "expected_relu6",
    "expected_relu_squared",
    "expected_selu",
    "expected_sigmoid",
    "expected_silu",
    "expected_sin",
    "expected_softplus",
    "expected_tanh",
    "log_likelihood",
    "masked_bce",
    "masked_mse",
    "mix",
    "truncated_moments",
]
