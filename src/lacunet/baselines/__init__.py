"""The other ways to live with missing values, as scikit-learn estimators."""

from lacunet.baselines._boosting import BoostedClassifier, BoostedRegressor
from lacunet.baselines._context import ContextEncoder
from lacunet.baselines._context_classifier import ContextEncoderClassifier
from lacunet.baselines._draws import ChainedImputer, MixtureImputer
from lacunet.baselines._dropout import InputDropout
from lacunet.baselines._dropout_autoencoder import DropoutAutoencoder
from lacunet.baselines._dropout_mlp import (
    DropoutMLP,
    DropoutMLPClassifier,
    DropoutMLPRegressor,
)
from lacunet.baselines._factories import gmm, knn, mean, mean_indicator, mice
from lacunet.baselines._filled import FilledAutoencoder
from lacunet.baselines._geom import GeometricMarginSVC
from lacunet.baselines._karma import KarmaSVC
from lacunet.baselines._neighbours import NeighbourImputer
from lacunet.baselines._neumiss import (
    NeuMissClassifier,
    NeuMissMLP,
    NeuMissRegressor,
)
from lacunet.baselines._neumiss_block import NeuMissBlock
from lacunet.baselines._numbers import TableNumbers
from lacunet.baselines._plain import plain_network
from lacunet.baselines._pooled import PooledClassifier, PooledRegressor

__all__ = [
    "BoostedClassifier",
    "BoostedRegressor",
    "ChainedImputer",
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
    "MixtureImputer",
    "NeighbourImputer",
    "NeuMissBlock",
    "NeuMissClassifier",
    "NeuMissMLP",
    "NeuMissRegressor",
    "PooledClassifier",
    "PooledRegressor",
    "TableNumbers",
    "gmm",
    "knn",
    "mean",
    "mean_indicator",
    "mice",
    "plain_network",
]
