"""Boosted trees of four libraries, which take missing values as they are."""

import importlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lacunet._validation import check_choice
from lacunet.estimators import (
    TableEncoder,
    check_given,
    check_labels,
    check_numbers,
    check_weights,
    read_table,
)

# HistGradientBoosting takes at most 255 categories of a column.
_MAX_CATEGORIES = 250
# Of each library: its module, the beginning of its classes' names, and its names of
# random_state and n_jobs.
_LIBRARIES = {
    "hgb": ("sklearn.ensemble", "HistGradientBoosting", "random_state", None),
    "lightgbm": ("lightgbm", "LGBM", "random_state", "n_jobs"),
    "xgboost": ("xgboost", "XGB", "random_state", "n_jobs"),
    "catboost": ("catboost", "CatBoost", "random_seed", "thread_count"),
}


class BoostedEstimator(BaseEstimator):
    """Base of the two boosted models."""

    model_: Any
    _kind: str

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

    def __sklearn_tags__(self) -> Any:
        """Declare that NaN, categories and strings are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _fit(self, table: Any, y: np.ndarray, sample_weight: Any) -> Self:
        check_choice(self.library, tuple(_LIBRARIES), "library")
        encoder = TableEncoder(max_categories=_MAX_CATEGORIES, scale="none")
        self._encoder = encoder.fit(table)
        check_consistent_length(table, y)
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, y, table)
        self.model_ = self._fit_library(self._codes(table), y, weights)
        return self

    def _fit_library(self, X: np.ndarray, y: np.ndarray, weights: Any) -> Any:
        """Fit the library's own model, each in its own way with categories."""
        module, prefix, seed, threads = _LIBRARIES[self.library]
        try:
            make = getattr(importlib.import_module(module), f"{prefix}{self._kind}")
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
            if self._kind == "Classifier" and np.bincount(y).min() < 2:
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
            X = _for_catboost(X, n_numeric)
        return make(**{**options, **(self.parameters or {})}).fit(X, y, **fitting)

    def _codes(self, table: Any) -> np.ndarray:
        """Return numbers as they are, then categories as indices."""
        encoder = self._encoder
        encoded = encoder.transform(table)
        columns = [encoded[:, : encoder.n_numeric]]
        start = encoder.n_numeric
        for size in encoder.sizes:
            one_hot = encoded[:, start : start + size]
            missing = np.isnan(one_hot[:, :1])
            index = np.nan_to_num(one_hot).argmax(1)[:, None]
            columns.append(np.where(missing, np.nan, index))
            start += size
        return np.hstack(columns)

    def _predict(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self)
        codes = self._codes(read_table(self, X, reset=False))
        if self.library == "catboost":
            codes = _for_catboost(codes, self._encoder.n_numeric)
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

    classes_: np.ndarray
    _kind = "Classifier"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        check_given(y, self)
        table = read_table(self, X, reset=True)
        labels = check_labels(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            msg = (
                f"Classifier can't train when only one class is present: got "
                f"{self.classes_.tolist()}, but expected at least two."
            )
            raise ValueError(msg)
        return self._fit(table, codes, sample_weight)

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

    _kind = "Regressor"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        check_given(y, self)
        table = read_table(self, X, reset=True)
        targets = column_or_1d(check_numbers(y))
        return self._fit(table, targets, sample_weight)

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


def _for_catboost(codes: np.ndarray, n_numeric: int) -> np.ndarray:
    """Return categories as strings, a missing one as "nan"."""
    if codes.shape[1] == n_numeric:
        return codes
    rows = codes.astype(object)
    rows[:, n_numeric:] = codes[:, n_numeric:].astype(str)
    return rows
