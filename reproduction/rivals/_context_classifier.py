"""The context encoder as a classifier."""

import math
import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from lacunet.baselines import plain_network
from lacunet.estimators import (
    check_given,
    check_labels,
    class_factors,
    find_classes,
    read_table,
)
from reproduction.rivals._complete import borrow_holes, check_complete, find_complete
from reproduction.rivals._encoded import TableBaseline, seeded
from reproduction.rivals._two_heads import NO_CLASS, Lesson, with_two_heads


class ContextEncoderClassifier(ClassifierMixin, TableBaseline):
    """A classifier of mean-filled rows that also learns to give complete rows back.

    The paper has results of a context encoder as a classifier, but no formula: this
    is our reading. Numbers are standardised over the observed cells of the training
    rows and holes are filled with the mean. The network behind is that of
    ``LacunetClassifier``, on complete rows an ordinary one; in training its last layer
    has a second head that is to give the complete row back. The loss is the
    cross-entropy of the class and, times a weight, the squared error of a cell of the
    complete row; networks are judged by the first alone. As the tables of the paper
    say, it is the one classifier that is shown complete data.

    Parameters
    ----------
    network : LacunetClassifier or LacunetRBFClassifier, default=None
        With the parameters that you want; ``plain_network()`` by default.
    reconstruction_weight : float, default=1.0
        Of the squared error.
    random_state : int, RandomState instance or None, default=None
        Seed of the holes that are drawn, and of the network where it has none of its
        own.

    Attributes
    ----------
    network_ : estimator
        Fitted, on rows without holes.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import plain_network
    >>> from reproduction.rivals import ContextEncoderClassifier
    >>> rng = np.random.RandomState(0)
    >>> complete = rng.randn(200, 2)
    >>> y = np.where(complete[:, 0] > 0, "yes", "no")
    >>> X = np.where(rng.rand(200, 2) < 0.2, np.nan, complete)
    >>> network = plain_network(n_networks=2, max_epochs=10, lr=0.01)
    >>> model = ContextEncoderClassifier(network, random_state=0)
    >>> model.fit(X, y, X_complete=complete).predict([[2.0, np.nan], [-2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    network_: Any
    classes_: np.ndarray
    _imputer: SimpleImputer

    def __init__(
        self,
        network: Any = None,
        *,
        reconstruction_weight: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.network = network
        self.reconstruction_weight = reconstruction_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, X_complete: Any = None) -> Self:
        """Train the network to tell classes, and to give complete rows back.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : array-like of shape (n_samples,)
            Classes.
        X_complete : array-like or frame of shape (n_samples, n_features), default=None
            The rows of ``X`` without holes. If they are not given, the rows of ``X``
            that are complete serve: a copy of each, without its class, gets the holes
            of an incomplete row that is drawn for it, and is to be given back whole.
            If there is no complete row either, a context encoder can't be fitted.

        Returns
        -------
        self
        """
        check_given(y, self)
        _check_weight(self.reconstruction_weight)
        given = plain_network() if self.network is None else self.network
        state = check_random_state(self.random_state)
        network = seeded(with_two_heads(clone(given)), state)
        x = self._fit_inputs(X)
        labels = check_labels(y)
        check_consistent_length(x, labels)
        self.classes_ = find_classes(labels, np.ones(len(labels)))
        codes = np.searchsorted(self.classes_, labels)
        weights = class_factors(network.class_weight, labels, np.ones(len(labels)))
        self._imputer = SimpleImputer(keep_empty_features=True).fit(x)
        if X_complete is None:
            lesson = self._lesson_of_copies(x, codes, weights, state)
        else:
            complete = self._encode_complete(X_complete, x)
            lesson = Lesson(self._fill(x), codes, complete, weights)
        self.network_ = network.learn(
            lesson, classes=self.classes_, weight=self.reconstruction_weight
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self, "network_")
        filled = self._fill(self._encode(X))
        probabilities: np.ndarray = self.network_.predict_proba(filled)
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        chosen: np.ndarray = self.classes_[probabilities.argmax(1)]
        return chosen

    def _fill(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._imputer.transform(x))

    def _encode_complete(self, X_complete: Any, x: np.ndarray) -> np.ndarray:
        table = read_table(self, X_complete, reset=False)
        check_complete(table, x, self._inputs.table.missing(table))
        return self._inputs.transform(table)

    def _lesson_of_copies(
        self,
        x: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        state: np.random.RandomState,
    ) -> Lesson:
        """Ask for the classes of all rows, and for the rows of copies with holes."""
        copies = borrow_holes(x, state)
        return Lesson(
            self._fill(np.concatenate([x, copies])),
            np.concatenate([codes, np.full(len(copies), NO_CLASS)]),
            np.concatenate([np.full_like(x, np.nan), x[find_complete(x)]]),
            np.concatenate([weights, np.ones(len(copies))]),
        )


def _check_weight(weight: Any) -> None:
    number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
    if not number or not 0 <= weight < math.inf:
        msg = (
            f"Got reconstruction_weight={weight!r}, but expected a finite number of at "
            f"least 0."
        )
        raise ValueError(msg)
