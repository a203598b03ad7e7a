"""The paper's own rivals, as scikit-learn estimators."""

from reproduction.rivals._context import ContextEncoder
from reproduction.rivals._context_classifier import ContextEncoderClassifier
from reproduction.rivals._dropout import InputDropout
from reproduction.rivals._dropout_autoencoder import DropoutAutoencoder
from reproduction.rivals._dropout_mlp import (
    DropoutMLP,
    DropoutMLPClassifier,
    DropoutMLPRegressor,
)
from reproduction.rivals._filled import FilledAutoencoder
from reproduction.rivals._geom import GeometricMarginSVC
from reproduction.rivals._karma import KarmaSVC
from reproduction.rivals._neighbours import NeighbourImputer

__all__ = [
    "ContextEncoder",
    "ContextEncoderClassifier",
    "DropoutAutoencoder",
    "DropoutMLP",
    "DropoutMLPClassifier",
    "DropoutMLPRegressor",
    "FilledAutoencoder",
    "GeometricMarginSVC",
    "InputDropout",
    "KarmaSVC",
    "NeighbourImputer",
]
