"""Missing inputs dropped, and the others made larger for it: the paper's footnote."""

import numbers
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lacunet.baselines import plain_network
from reproduction.rivals._base import NaNEstimator
from reproduction.rivals.autoencoders import FARTHEST, FilledAutoencoder


class InputDropout(OneToOneFeatureMixin, TransformerMixin, NaNEstimator):
    r"""Drop missing inputs, and divide the others by one minus the dropout rate.

    With the mask :math:`m` of what is observed, a row becomes

    .. math:: \tilde x = \frac{m \circ x}{1 - r},

    zero where a value is missing: the rule of the paper's footnote. The rate
    :math:`r` is one number for all rows, in training and after. Standardise before it,
    so that zero is the mean, and not behind it, which would undo the division.

    Parameters
    ----------
    rate : float, default=None
        From 0 to below 1; by default the fraction of the training table's cells that
        are missing.

    Attributes
    ----------
    rate_ : float
        The rate that is used.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import InputDropout
    >>> InputDropout().fit_transform([[1.0, np.nan], [np.nan, -2.0]])
    array([[ 2.,  0.],
           [ 0., -4.]])
    """

    rate_: float

    def __init__(self, rate: float | None = None) -> None:
        self.rate = rate

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how much is missing."""
        missing = np.isnan(self._read(X, reset=True))
        rate: Any = missing.mean() if self.rate is None else self.rate
        if not (isinstance(rate, numbers.Real) and 0 <= float(rate) < 1):
            msg = (
                f"Got rate={rate!r}, but expected a number of at least 0 and below 1, "
                f"or None for the fraction of cells that are missing."
            )
            raise ValueError(msg)
        self.rate_ = float(rate)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Drop what is missing, and scale what is not."""
        check_is_fitted(self)
        dropped: np.ndarray = np.nan_to_num(self._read(X, reset=False))
        dropped /= 1.0 - self.rate_
        return dropped


class DropoutMLPClassifier(ClassifierMixin, NaNEstimator):
    """A network whose missing inputs are dropped.

    Numbers are standardised over the observed cells of the training rows. What is
    missing is then zero, and what is not is divided by one minus the dropout rate (see
    ``InputDropout``). The network behind is that of ``LacunetClassifier``, on complete
    rows an ordinary one: only the treatment of missing values differs.

    Parameters
    ----------
    network : LacunetClassifier or LacunetRBFClassifier, default=None
        ``plain_network()`` by default. It is fitted with ``scale="none"``: a scale of
        its own would undo the division.
    random_state : int, RandomState instance or None, default=None
        Seed of the network, where it has none of its own.

    Attributes
    ----------
    model_ : sklearn.pipeline.Pipeline
        Fitted: scale, dropout and network.
    classes_ : ndarray of shape (n_classes,)
        In the order of the probabilities.

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

    model_: Pipeline
    classes_: np.ndarray

    def __init__(self, network: Any = None, *, random_state: Any = None) -> None:
        self.network = network
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn scale and rate, and fit the network."""
        network = plain_network() if self.network is None else clone(self.network)
        network.set_params(scale="none")
        if network.random_state is None:
            seed = check_random_state(self.random_state).randint(2**31 - 1)
            network.set_params(random_state=int(seed))
        bounds = {"a_min": -FARTHEST, "a_max": FARTHEST}
        self.model_ = make_pipeline(
            StandardScaler(),
            FunctionTransformer(np.clip, kw_args=bounds),
            InputDropout(),
            network,
        ).fit(self._read(X, reset=True), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        probabilities: np.ndarray = self.model_.predict_proba(
            self._read(X, reset=False)
        )
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row."""
        codes = self.predict_proba(X).argmax(1)
        chosen: np.ndarray = self.classes_[codes]
        return chosen


class DropoutAutoencoder(FilledAutoencoder):
    """An autoencoder whose missing inputs are dropped, trained on observed cells alone.

    ``FilledAutoencoder``, whose parameters it has, with ``InputDropout`` for an
    imputer: missing inputs are zero and the others are divided by one minus the dropout
    rate. What it reconstructs is on the scale of the inputs before that.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import DropoutAutoencoder
    >>> x = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([x, 2 * x, -x])
    >>> X[::2, 1] = np.nan
    >>> model = DropoutAutoencoder(
    ...     hidden_layer_sizes=(16, 1, 16), max_epochs=20, random_state=0
    ... )
    >>> bool(np.isnan(model.fit_transform(X)).any())
    False
    >>> round(model.imputer_.rate_, 3)
    0.167
    """

    _default_imputer = InputDropout
