"""Scikit-learn estimators that take tables with missing values as they are."""

from lacunet.estimators._autoencoder import LacunetAutoencoder
from lacunet.estimators._classifier import LacunetClassifier
from lacunet.estimators._imputer import LacunetImputer
from lacunet.estimators._loading import load
from lacunet.estimators._rbf import LacunetRBFClassifier
from lacunet.estimators._regressor import LacunetRegressor
from lacunet.estimators._saving import check_place
from lacunet.estimators._targets import check_labels as check_labels
from lacunet.estimators._targets import check_numbers as check_numbers

__all__ = [
    "LacunetAutoencoder",
    "LacunetClassifier",
    "LacunetImputer",
    "LacunetRBFClassifier",
    "LacunetRegressor",
    "check_place",
    "load",
]
