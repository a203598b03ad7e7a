"""Networks behind dropped inputs, for classes and for numbers."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lacunet.baselines import plain_network
from lacunet.estimators import NetworkEstimator, check_given
from reproduction.rivals._dropout import InputDropout
from reproduction.rivals._encoded import TableBaseline, seeded


class DropoutNetwork(TableBaseline):
    """What the two share: the way of a table to the network.

    Attributes
    ----------
    network_ : estimator
        Fitted, on rows without holes.
    rate_ : float
    """

    network_: Any
    rate_: float
    _dropout: InputDropout
    _task: str

    def __init__(
        self,
        network: Any = None,
        *,
        rate: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.network = network
        self.rate = rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn scale and rate, and fit the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        check_given(y, self)
        encoded = self._fit_inputs(X)
        self._dropout = InputDropout(self.rate)
        inputs = self._dropout.fit_transform(encoded)
        self.rate_ = self._dropout.rate_
        self.network_ = self._make_network().fit(inputs, y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        inputs = self._drop(X)
        answer: np.ndarray = self.network_.predict(inputs)
        return answer

    def _drop(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "network_")
        return self._dropout.transform(self._encode(X))

    def _given_network(self) -> Any:
        return plain_network(self._task) if self.network is None else self.network

    def _make_network(self) -> Any:
        network = clone(self._given_network())
        if isinstance(network, NetworkEstimator):
            # Its own scale would undo the division.
            network.set_params(scale="none")
        return seeded(network, check_random_state(self.random_state))


def _says_probabilities(model: DropoutNetwork) -> bool:
    return model.network is None or hasattr(model.network, "predict_proba")


class DropoutMLPClassifier(ClassifierMixin, DropoutNetwork):
    """A network whose missing inputs are dropped, for classes.

    Numbers are standardised over the observed cells of the training rows. What is
    missing is then zero, and what is not is divided by one minus the dropout rate (see
    ``InputDropout``). The network behind is that of ``LacunetClassifier``, on complete
    rows an ordinary one: only the treatment of missing values differs.

    Parameters
    ----------
    network : classifier, default=None
        ``plain_network("classification")`` by default. One of lacunet's is told not to
        scale its inputs again.
    rate : float, default=None
        Dropout rate, from 0 to below 1; by default the share of the inputs of the
        training rows that are missing.
    random_state : int, RandomState instance or None, default=None
        Seed of the network, where it has none of its own.

    Attributes
    ----------
    network_ : classifier
        Fitted, on rows without holes.
    rate_ : float
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import plain_network
    >>> from reproduction.rivals import DropoutMLPClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> X[rng.rand(200, 2) < 0.2] = np.nan
    >>> network = plain_network(n_networks=2, max_epochs=10, lr=0.01)
    >>> model = DropoutMLPClassifier(network, random_state=0).fit(X, y)
    >>> model.predict([[2.0, np.nan], [-2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    _task = "classification"

    @property
    def classes_(self) -> np.ndarray:
        """Return the classes, in the order of the probabilities."""
        classes: np.ndarray = self.network_.classes_
        return classes

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
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
        inputs = self._drop(X)
        probabilities: np.ndarray = self.network_.predict_proba(inputs)
        return probabilities


class DropoutMLPRegressor(RegressorMixin, DropoutNetwork):
    """A network whose missing inputs are dropped, for numbers.

    Numbers are standardised over the observed cells of the training rows. What is
    missing is then zero, and what is not is divided by one minus the dropout rate (see
    ``InputDropout``). The network behind is that of ``LacunetRegressor``, on complete
    rows an ordinary one: only the treatment of missing values differs.

    Parameters
    ----------
    network : regressor, default=None
        ``plain_network("regression")`` by default. One of lacunet's is told not to
        scale its inputs again.
    rate : float, default=None
        Dropout rate, from 0 to below 1; by default the share of the inputs of the
        training rows that are missing.
    random_state : int, RandomState instance or None, default=None
        Seed of the network, where it has none of its own.

    Attributes
    ----------
    network_ : regressor
        Fitted, on rows without holes.
    rate_ : float
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import plain_network
    >>> from reproduction.rivals import DropoutMLPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = 2 * X[:, 0]
    >>> X[rng.rand(200, 2) < 0.2] = np.nan
    >>> network = plain_network("regression", n_networks=2, max_epochs=10, lr=0.01)
    >>> model = DropoutMLPRegressor(network, random_state=0).fit(X, y)
    >>> high, low = model.predict([[1.0, np.nan], [-1.0, 0.0]])
    >>> bool(low < 0 < high)
    True
    """

    _task = "regression"

    def __sklearn_tags__(self) -> Any:
        """Say whether there may be several outputs, as the network does."""
        tags = super().__sklearn_tags__()
        of_network = get_tags(self._given_network()).target_tags
        tags.target_tags.multi_output = of_network.multi_output
        return tags


# The method's own name, as the tables of results have it.
DropoutMLP = DropoutMLPClassifier
