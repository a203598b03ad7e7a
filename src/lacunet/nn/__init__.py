"""Torch layers that take NaN, and the adaptation of whole models to them."""

# For other rooms, beside what is public: ActivationLike, LinearEnsemble,
# NetworkEnsemble, PartlyLinear, PRUNE and RowGenerator.
from lacunet.nn._activation import ActivationLike as ActivationLike
from lacunet.nn._activation import ExpectedActivation
from lacunet.nn._activation import PartlyLinear as PartlyLinear
from lacunet.nn._adapt import adapt
from lacunet.nn._bins import ExpectedBins
from lacunet.nn._conv import ExpectedConv1d, ExpectedConv2d
from lacunet.nn._ensemble import LinearEnsemble as LinearEnsemble
from lacunet.nn._ensemble import NetworkEnsemble as NetworkEnsemble
from lacunet.nn._ensemble import RowGenerator as RowGenerator
from lacunet.nn._expected import PRUNE as PRUNE
from lacunet.nn._linear import ExpectedLinear
from lacunet.nn._rbf import ExpectedRBF

__all__ = [
    "ExpectedActivation",
    "ExpectedBins",
    "ExpectedConv1d",
    "ExpectedConv2d",
    "ExpectedLinear",
    "ExpectedRBF",
    "adapt",
]
