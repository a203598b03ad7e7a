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
from lacunet.functional._condition import Components, condition, log_likelihood
from lacunet.functional._diag import DiagComponents
from lacunet.functional._factor import FactorComponents
from lacunet.functional._full import FullComponents
from lacunet.functional._losses import masked_bce, masked_mse
from lacunet.functional._mixed import GaussianComponents, MixedComponents
from lacunet.functional._mixture import ConditionalMixture, mix
from lacunet.functional._moments import affine_moments, conv_moments
from lacunet.functional._rbf import expected_rbf

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
]
