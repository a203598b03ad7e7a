"""Context encoders: the one method of the paper that is shown complete rows."""

from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length, check_random_state, check_scalar
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn import functional

from lacunet.baselines import plain_network
from lacunet.density import GaussianMixtureDensity
from lacunet.estimators import LacunetClassifier, LacunetRBFClassifier
from lacunet.nn import ExpectedRBF
from lacunet.training import Epoch
from reproduction.rivals._base import NaNEstimator
from reproduction.rivals.autoencoders import (
    FARTHEST,
    FilledAutoencoder,
    SplitTask,
    build_network,
    fit_network,
    squared_errors,
)

# In place of a class, for rows that only the second head learns from.
NO_CLASS = -1
# Fewer rows than these are all learned from: validation rows would be too few.
_FEWEST_ROWS = 10
# Of the variances of the columns, where radial units start, as in
# ``LacunetRBFClassifier``; and the least that is drawn or that a column counts for.
_START_VARIANCE, _LEAST_VARIANCE = 5.0, 1e-2


class ContextEncoder(FilledAutoencoder):
    """An autoencoder from mean-filled rows to complete rows.

    ``FilledAutoencoder``, whose parameters it has, but its loss is taken over all cells
    of the complete rows, those that are missing from its input among them.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import ContextEncoder
    >>> x = np.linspace(-1, 1, 200)
    >>> complete = np.column_stack([x, 2 * x, -x])
    >>> X = complete.copy()
    >>> X[::3, 1] = np.nan
    >>> model = ContextEncoder(
    ...     hidden_layer_sizes=(16, 1, 16), max_epochs=5, random_state=0
    ... )
    >>> filled = model.fit(X, X_complete=complete).transform(X)
    >>> bool(np.isnan(filled).any())
    False
    """

    def fit(  # type: ignore[override]
        self, X: Any, y: Any = None, *, X_complete: Any
    ) -> Self:
        """Train the network to make complete rows of incomplete ones.

        ``X_complete`` has the rows of ``X`` without missing values.
        """
        x = self._fit_scale(X)
        complete = self._read(X_complete, reset=False)
        _check_complete(complete, x)
        return self._fit_network(x, self._to_scale(complete))


def _check_complete(complete: np.ndarray, x: np.ndarray) -> None:
    check_consistent_length(complete, x)
    if np.isnan(complete).any():
        msg = (
            f"Got X_complete with missing values in "
            f"{int(np.isnan(complete).any(1).sum())} rows, but expected the rows of X "
            f"without: they are what the network learns to reconstruct."
        )
        raise ValueError(msg)


class ContextEncoderClassifier(ClassifierMixin, NaNEstimator):
    """A classifier of mean-filled rows that also learns to reconstruct complete rows.

    The paper has results of a context encoder as a classifier, but no formula: this
    is our reading. Numbers are standardised over the observed cells of the training
    rows and missing values are filled with the mean. Behind is a network like those of
    ``LacunetClassifier`` or ``LacunetRBFClassifier``, whose last layer has a second
    head for the complete row. The loss is the cross-entropy of the class and,
    times a weight, the squared error of a cell of the complete row; the validation loss
    is the first alone.

    Parameters
    ----------
    network : LacunetClassifier or LacunetRBFClassifier, default=None
        Whose shape of network and recipe of training are taken, and nothing else:
        it is always one network, as in the paper's tables. ``plain_network()`` by
        default.
    reconstruction_weight : float, default=1.0
        Of the squared error.
    random_state : int, RandomState instance or None, default=None
        Seed of the missing values that are drawn, and of a network without one of its
        own.

    Attributes
    ----------
    module_ : torch.nn.Module
        The network, with both heads.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    classes_ : ndarray of shape (n_classes,)
        In the order of the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import plain_network
    >>> from reproduction.rivals import ContextEncoderClassifier
    >>> rng = np.random.RandomState(0)
    >>> complete = rng.randn(200, 2)
    >>> y = np.where(complete[:, 0] > 0, "yes", "no")
    >>> X = np.where(rng.rand(200, 2) < 0.2, np.nan, complete)
    >>> network = plain_network(max_epochs=10, lr=0.01)
    >>> model = ContextEncoderClassifier(network, random_state=0)
    >>> model.fit(X, y, X_complete=complete).predict([[2.0, np.nan], [-2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    module_: nn.Module
    history_: list[Epoch]
    classes_: np.ndarray
    _scaler: StandardScaler
    _filling: Pipeline

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
        """Train the network to classify, and to reconstruct complete rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where one is missing.
        y : array-like of shape (n_samples,)
            Classes.
        X_complete : array-like of shape (n_samples, n_features), default=None
            The rows of ``X`` without missing values. If they are not given, the rows of
            ``X`` that are complete serve: a copy of each, without its class, gets the
            missing values of an incomplete row that is drawn for it, and is to be
            reconstructed. If there is no complete row either, a context encoder can't
            be fitted.

        Returns
        -------
        self
        """
        check_scalar(
            self.reconstruction_weight, "reconstruction_weight", Real, min_val=0
        )
        network = plain_network() if self.network is None else self.network
        if not isinstance(network, LacunetClassifier | LacunetRBFClassifier):
            msg = (
                f"Got network={network!r}, but expected a LacunetClassifier, such as "
                f"plain_network(), or a LacunetRBFClassifier."
            )
            raise TypeError(msg)
        rows, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self._scaler = StandardScaler().fit(rows)
        x = self._to_scale(rows)
        state = check_random_state(self.random_state)
        if X_complete is not None:
            complete = self._read(X_complete, reset=False)
            _check_complete(complete, x)
            targets = self._to_scale(complete)
        else:
            copies = borrow_missing(x, state)
            targets = np.concatenate([np.full_like(x, np.nan), x[_find_complete(x)]])
            x = np.concatenate([x, copies])
            codes = np.concatenate([codes, np.full(len(copies), NO_CLASS)])
        # Networks of lacunet bring what they get to scale once more.
        self._filling = make_pipeline(
            SimpleImputer(keep_empty_features=True), StandardScaler()
        ).fit(x)
        if network.random_state is not None:
            state = check_random_state(network.random_state)
        inputs = torch.from_numpy(self._fill(x)).float()
        n_classes, weight = len(self.classes_), float(self.reconstruction_weight)
        both = np.column_stack([codes, targets])
        held_out = _hold_out(np.column_stack([x, both]), network, state)
        task = SplitTask(
            inputs,
            torch.from_numpy(both).float(),
            torch.from_numpy(held_out),
            losses=partial(two_heads, n_classes=n_classes, weight=weight),
            score=partial(two_heads, n_classes=n_classes, weight=0.0),
        )
        self.module_, self.history_ = fit_network(
            lambda: _build(network, inputs, n_classes + inputs.shape[1]),
            task,
            network.get_params(deep=False),
            state,
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self, "module_")
        rows = self._read(X, reset=False)
        inputs = torch.from_numpy(self._fill(self._to_scale(rows))).float()
        with torch.inference_mode():
            outputs = self.module_(inputs)[:, : len(self.classes_)].double()
        probabilities: np.ndarray = outputs.softmax(-1).numpy()
        return probabilities

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row."""
        codes = self.predict_proba(X).argmax(1)
        chosen: np.ndarray = self.classes_[codes]
        return chosen

    def _to_scale(self, rows: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = self._scaler.transform(rows)
        return scaled.clip(-FARTHEST, FARTHEST)

    def _fill(self, x: np.ndarray) -> np.ndarray:
        filled: np.ndarray = self._filling.transform(x)
        return filled.clip(-FARTHEST, FARTHEST)


def _hold_out(
    cells: np.ndarray, network: Any, state: np.random.RandomState
) -> np.ndarray:
    """Mark the validation rows of a network; copies of a row stay together."""
    _, copies = np.unique(np.nan_to_num(cells, nan=np.inf), axis=0, return_inverse=True)
    order = state.permutation(int(copies.max()) + 1)
    n_folds = max(2, round(1 / network.validation_fraction))
    chosen: np.ndarray = (order % n_folds == 0)[copies.ravel()]
    return chosen if len(order) >= _FEWEST_ROWS else np.zeros_like(chosen)


def _build(network: Any, x: Tensor, n_outputs: int) -> nn.Module:
    """Make one network of this kind, for complete rows."""
    width = x.shape[1]
    if isinstance(network, LacunetClassifier):
        return build_network(
            (width, *network.hidden_layer_sizes, n_outputs),
            network.activation,
            network.activation,
            "identity",
            network.dropout,
        )
    # On complete rows the density of the expected layer has no say.
    density = GaussianMixtureDensity(1, width, dtype=x.dtype).requires_grad_(False)
    units = ExpectedRBF(
        width, network.n_units, density, normalise=network.normalise, dtype=x.dtype
    )
    head = nn.Linear(network.n_units, n_outputs)
    with torch.no_grad():
        units.centres.copy_(x[torch.randint(len(x), (network.n_units,))])
        drawn = torch.randn(units.centres.shape).abs().clamp_min(_LEAST_VARIANCE)
        of_columns = x.var(0, correction=0).clamp_min(_LEAST_VARIANCE)
        units.log_variances.copy_((drawn * _START_VARIANCE * of_columns).log())
        head.bias.zero_()
    return nn.Sequential(units, head)


def two_heads(
    outputs: Tensor, targets: Tensor, *, n_classes: int, weight: float
) -> Tensor:
    """Return the cross-entropy and the weighted squared error of each row.

    The first outputs are of the classes. Targets have a class, or ``NO_CLASS``, and the
    complete row, NaN where nothing is to be reconstructed.
    """
    of_class = functional.cross_entropy(
        outputs[:, :n_classes],
        targets[:, 0].long(),
        ignore_index=NO_CLASS,
        reduction="none",
    )
    of_row = squared_errors(outputs[:, n_classes:], targets[:, 1:])
    return of_class + weight * of_row


def _find_complete(x: np.ndarray) -> np.ndarray:
    """Return which rows are complete; refuse a table that has no such row."""
    complete: np.ndarray = ~np.isnan(x).any(1)
    if not complete.any():
        msg = (
            "Got X without one complete row, but expected some: a context encoder "
            "learns to reconstruct complete rows. Give them as X_complete, or take a "
            "method that needs none."
        )
        raise ValueError(msg)
    return complete


def borrow_missing(x: np.ndarray, random_state: np.random.RandomState) -> np.ndarray:
    """Return the complete rows, each with the missing cells of a row drawn for it.

    They are as they were if there are no incomplete rows to draw from.
    """
    complete = _find_complete(x)
    patterns = np.isnan(x[~complete])  # (incomplete rows, columns)
    rows: np.ndarray = x[complete]
    if len(patterns):
        rows[patterns[random_state.randint(len(patterns), size=len(rows))]] = np.nan
    return rows
