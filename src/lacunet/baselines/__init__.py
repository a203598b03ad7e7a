"""What one would use instead of our networks, as scikit-learn estimators."""

from typing import Any

from lacunet.baselines._boosting import BoostedClassifier, BoostedRegressor
from lacunet.baselines._methods import METHODS, Method, set_nested
from lacunet.baselines._neumiss import (
    NeuMissBlock,
    NeuMissClassifier,
    NeuMissMLP,
    NeuMissRegressor,
)
from lacunet.baselines._pipelines import (
    MixtureImputer,
    TableNumbers,
    gmm,
    knn,
    mean,
    mean_indicator,
    plain_network,
)
from lacunet.baselines._pooling import (
    ChainedImputer,
    PooledClassifier,
    PooledRegressor,
    mice,
)

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

_MOVED = (
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
)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        msg = (
            f"lacunet.baselines.{name} is now in reproduction.rivals, beside the "
            f"package in its repository."
        )
        raise ImportError(msg)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
