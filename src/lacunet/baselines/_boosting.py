"""Boosted trees of four libraries, which take missing values as they are."""

import importlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lacunet._validation import check_choice
from lacunet.baselines._pipelines import IncompleteEstimator, find_two_classes
from lacunet.estimators import (
    TableEncoder,
    check_given,
    check_labels,
    check_numbers,
    check_weights,
    read_table,
)

# Of each library: its module, the beginning of its classes' names, and its names of
# random_state and n_jobs.
_LIBRARIES = {
    "hgb": ("sklearn.ensemble", "HistGradientBoosting", "random_state", None),
    "lightgbm": ("lightgbm", "LGBM", "random_state", "n_jobs"),
    "xgboost": ("xgboost", "XGB", "random_state", "n_jobs"),
    "catboost": ("catboost", "CatBoost", "random_seed", "thread_count"),
}


class BoostedEstimator(IncompleteEstimator):
    """Base of the two boosted models."""

    model_: Any
    classes_: np.ndarray  # of a classifier
    _takes_tables = True

    def __init__(
        self,
        library: str = "hgb",
        *,
        parameters: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.library = library
        self.parameters = parameters
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : array-like of shape (n_samples,)
            Classes, or numbers of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        check_given(y, self)
        table = read_table(self, X, reset=True)
        if is_classifier(self):
            labels = check_labels(y)
            self.classes_ = find_two_classes(labels)
            targets = np.searchsorted(self.classes_, labels)
        else:
            targets = column_or_1d(check_numbers(y))
        check_choice(self.library, tuple(_LIBRARIES), "library")
        # HistGradientBoosting takes at most 255 categories of a column.
        self._encoder = TableEncoder(max_categories=250, scale="none").fit(table)
        check_consistent_length(table, targets)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, targets, table)
        self.model_ = self._fit_library(self._codes(table), targets, weights)
        return self

    def _fit_library(self, X: np.ndarray, y: np.ndarray, weights: Any) -> Any:
        """Fit the library's own model, each in its own way with categories."""
        kind = "Classifier" if is_classifier(self) else "Regressor"
        module, prefix, seed, threads = _LIBRARIES[self.library]
        try:
            make = getattr(importlib.import_module(module), f"{prefix}{kind}")
        except ImportError as error:
            msg = (
                f"Got library={self.library!r}, which is not installed. Install it "
                f"with pip install 'lacunet[boosting]', or take 'hgb', which needs "
                f"nothing."
            )
            raise ImportError(msg) from error
        n_numeric = self._encoder.n_numeric
        categorical = list(range(n_numeric, X.shape[1]))
        given = {seed: self.random_state, threads: self.n_jobs}
        options = {k: v for k, v in given.items() if k is not None and v is not None}
        fitting: dict[str, Any] = {"sample_weight": weights}
        if self.library == "hgb":
            options["categorical_features"] = categorical or None
            if kind == "Classifier" and np.bincount(y).min() < 2:
                # Early stopping needs validation rows of each class.
                options["early_stopping"] = False
            # It fails on columns without a value (scikit-learn 1.9).
            X = np.where(np.isnan(X).all(0), 0.0, X)
        elif self.library == "lightgbm":
            options["verbose"] = -1
            fitting["categorical_feature"] = categorical or "auto"
        elif self.library == "xgboost":
            kinds = ["q"] * n_numeric + ["c"] * len(categorical)
            options |= {"enable_categorical": True, "feature_types": kinds}
        else:
            options |= {"verbose": 0, "allow_writing_files": False}
            fitting["cat_features"] = categorical or None
        return make(**{**options, **(self.parameters or {})}).fit(X, y, **fitting)

    def _codes(self, table: Any) -> np.ndarray:
        """Return numbers as they are, then categories as indices."""
        encoded = self._encoder.transform(table)
        ends = np.cumsum([self._encoder.n_numeric, *self._encoder.sizes])
        numbers, *groups = np.split(encoded, ends[:-1], axis=1)
        if not groups:
            return numbers
        indices = np.hstack(
            [
                np.where(np.isnan(group[:, :1]), np.nan, group.argmax(1)[:, None])
                for group in groups
            ]
        )
        if self.library == "catboost":  # as strings, a missing one as "nan"
            return np.hstack([numbers.astype(object), indices.astype(str)])
        return np.hstack([numbers, indices])

    def _predict(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self)
        codes = self._codes(read_table(self, X, reset=False))
        predictions: np.ndarray = np.asarray(getattr(self.model_, method)(codes))
        return predictions


class BoostedClassifier(ClassifierMixin, BoostedEstimator):
    """Boosted trees of four libraries, with categories passed through.

    Parameters
    ----------
    library : {"hgb", "lightgbm", "xgboost", "catboost"}, default="hgb"
        HistGradientBoosting of scikit-learn, or another one, if it is installed.
    parameters : dict, default=None
        Parameters of the library's own model, which is at its defaults otherwise.
    n_jobs : int, default=None
        Number of threads, for libraries that take one; their own default if None.
    random_state : int or None, default=None
        Seed of the library's own model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    model_ : the library's own model
        Fitted to numbers, and to categories as indices.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet.baselines import BoostedClassifier
    >>> X = pd.DataFrame({"age": [40, None, 50] * 50})
    >>> X["town"] = ["Rome", None, "Bonn"] * 50
    >>> BoostedClassifier("hgb").fit(X, [1, 0, 0] * 50).predict(X[:3])
    array([1, 0, 0])
    """

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._predict("predict_proba", X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        likeliest = self.predict_proba(X).argmax(1)
        chosen: np.ndarray = self.classes_[likeliest]
        return chosen


class BoostedRegressor(RegressorMixin, BoostedEstimator):
    """Boosted trees of four libraries, with categories passed through.

    Parameters
    ----------
    library : {"hgb", "lightgbm", "xgboost", "catboost"}, default="hgb"
        HistGradientBoosting of scikit-learn, or another one, if it is installed.
    parameters : dict, default=None
        Parameters of the library's own model, which is at its defaults otherwise.
    n_jobs : int, default=None
        Number of threads, for libraries that take one; their own default if None.
    random_state : int or None, default=None
        Seed of the library's own model.

    Attributes
    ----------
    model_ : the library's own model
        Fitted to numbers, and to categories as indices.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> from lacunet.baselines import BoostedRegressor
    >>> X = [[0.0], [None], [1.0]] * 50
    >>> BoostedRegressor("hgb").fit(X, [1.0, 3.0, 5.0] * 50).predict(X[:3]).round(2)
    array([1., 3., 5.])
    """

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict("predict", X)
