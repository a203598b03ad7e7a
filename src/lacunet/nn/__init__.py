"""Torch layers that take NaN, and the adaptation of whole models to them."""

from lacunet.nn._activation import ExpectedActivation
from lacunet.nn._adapt import adapt
from lacunet.nn._conv import ExpectedConv1d, ExpectedConv2d
from lacunet.nn._linear import ExpectedLinear
from lacunet.nn._rbf import ExpectedRBF

__all__ = [
    "ExpectedActivation",
    "ExpectedConv1d",
    "ExpectedConv2d",
    "ExpectedLinear",
    "ExpectedRBF",
    "adapt",
]
