"""A classifier that is trained on complete rows, whatever it is asked about."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone


class TrainedOnComplete(ClassifierMixin, BaseEstimator):
    """Train a classifier on rows before values were removed from them.

    Parameters
    ----------
    network : estimator

    Attributes
    ----------
    network_ : estimator
        Fitted.
    classes_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from reproduction.experiments._trained_on_complete import TrainedOnComplete
    >>> complete = np.eye(3)
    >>> holed = np.where(complete == 1, np.nan, complete)
    >>> model = TrainedOnComplete(DummyClassifier())
    >>> model.fit(holed, [0, 1, 1], X_complete=complete).predict(holed)
    array([1, 1, 1])
    """

    network_: Any
    classes_: np.ndarray

    def __init__(self, network: Any) -> None:
        self.network = network

    def fit(self, X: Any, y: Any, *, X_complete: Any) -> Self:
        """Fit to the complete rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With holes; not looked at.
        y : array-like of shape (n_samples,)
        X_complete : array-like of shape (n_samples, n_features)

        Returns
        -------
        self
        """
        self.network_ = clone(self.network).fit(X_complete, y)
        self.classes_ = self.network_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the classes of rows, with holes or without.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        classes: np.ndarray = self.network_.predict(X)
        return classes
