"""The paper's own rivals, as scikit-learn estimators of arrays with NaN."""

from reproduction.rivals.autoencoders import FilledAutoencoder
from reproduction.rivals.context import ContextEncoder, ContextEncoderClassifier
from reproduction.rivals.dropout import (
    DropoutAutoencoder,
    DropoutMLPClassifier,
    InputDropout,
)
from reproduction.rivals.neighbours import NeighbourImputer
from reproduction.rivals.svm import GeometricMarginSVC, KarmaSVC

__all__ = [
    "ContextEncoder",
    "ContextEncoderClassifier",
    "DropoutAutoencoder",
    "DropoutMLPClassifier",
    "FilledAutoencoder",
    "GeometricMarginSVC",
    "InputDropout",
    "KarmaSVC",
    "NeighbourImputer",
]
