"""Small estimators that fit in a moment, and small tables with missing values."""

import datetime
import functools
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.utils import estimator_checks

from lacunet import (
    IncompleteGaussianMixture,
    LacunetAutoencoder,
    LacunetClassifier,
    LacunetImputer,
    LacunetRBFClassifier,
    LacunetRegressor,
)

NAN = np.nan
_NETWORK = {"hidden_layer_sizes": (8,), "max_epochs": 3, "random_state": 0}


def classifier(**options):
    return LacunetClassifier(**{**_NETWORK, "n_networks": 2, **options})


def regressor(**options):
    settings = {**_NETWORK, "n_networks": 2, "density": IncompleteGaussianMixture(2)}
    return LacunetRegressor(**{**settings, **options})


def rbf(**options):
    density = IncompleteGaussianMixture(2)
    settings = {"n_units": 5, "max_epochs": 3, "random_state": 0, "density": density}
    return LacunetRBFClassifier(**{**settings, **options})


def autoencoder(**options):
    density = IncompleteGaussianMixture(2)
    return LacunetAutoencoder(**{**_NETWORK, "density": density, **options})


def imputer(**options):
    density = IncompleteGaussianMixture(2)
    return LacunetImputer(**{"random_state": 0, "density": density, **options})


PREDICTORS = {"classifier": classifier, "regressor": regressor, "rbf": rbf}
NETWORKS = {**PREDICTORS, "autoencoder": autoencoder}
ALL = {**NETWORKS, "imputer": imputer}


def numbers(n=60, *, missing=0.2, seed=0):
    """Return an array of four columns with missing values, and classes."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 4)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.randn(n) > 0).astype(int)
    X[rng.rand(n, 4) < missing] = NAN
    return X, y


def frame(n=60, *, seed=0):
    """Return an incomplete pandas frame of numbers, categories and dates."""
    rng = np.random.RandomState(seed)
    cause = rng.randn(n)

    def incomplete(values, dtype=None):
        column = pd.Series(values, dtype=dtype)
        return column.where(rng.rand(n) > 0.15)

    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(int(d)) for d in cause]
    return pd.DataFrame(
        {
            "number": incomplete(cause + 0.1 * rng.randn(n)),
            "whole": incomplete(np.round(10 * cause).astype(int), "Int64"),
            "town": incomplete(np.where(cause > 0, "Rome", "Bonn"), "category"),
            "text": incomplete(np.where(rng.rand(n) > 0.5, "x", "y"), "str"),
            "flag": cause > 0.5,
            "maybe": incomplete(cause > 0.3, "boolean"),
            "day": incomplete(pd.to_datetime(days)),
        }
    ), (cause > 0).astype(int)


@functools.cache
def fitted(name, table=numbers):
    """Return an estimator that is fitted already, which no test may change."""
    return ALL[name]().fit(*table())


def predictions(model, X):
    """Return the predictions of a model of any kind, as numbers."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if hasattr(model, "predict"):
        return model.predict(X)
    filled = model.transform(X)
    return np.asarray(filled) if isinstance(filled, np.ndarray) else cells(filled)


def cells(frame):
    """Return the cells of a pandas frame as they are, as objects."""
    return frame.astype(object).to_numpy()


def history_of(model):
    """Return the records of training but for the seconds, which no one can repeat."""
    return [record[:4] for record in getattr(model, "history_", [])]


def check_network(estimator, check):
    """Run a check of scikit-learn, as exactly as networks in single precision allow.

    A CPU may round a row's products by where it stands, and among how many.
    """

    def loosen(compare):
        return lambda *args, **options: compare(*args, **{**options, "atol": 1e-5})

    names = ("assert_allclose", "assert_allclose_dense_sparse")
    loose = {name: loosen(getattr(estimator_checks, name)) for name in names}
    with mock.patch.multiple(estimator_checks, **loose):
        check(estimator)
