"""The other ways to live with missing values, as scikit-learn estimators."""

from lacunet.baselines._boosting import BoostedClassifier, BoostedRegressor
from lacunet.baselines._draws import ChainedImputer, MixtureImputer
from lacunet.baselines._factories import gmm, knn, mean, mean_indicator, mice
from lacunet.baselines._methods import METHODS, Method, set_nested
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
    "METHODS",
    "BoostedClassifier",
    "BoostedRegressor",
    "ChainedImputer",
    "Method",
    "MixtureImputer",
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
    "set_nested",
]
