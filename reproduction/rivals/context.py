"""Context encoders: the one method of the paper that is shown complete rows."""

from collections.abc import Sequence
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
from lacunet.training import Epoch, train
from reproduction.rivals._base import NaNEstimator
from reproduction.rivals.autoencoders import (
    FARTHEST,
    FilledAutoencoder,
    build_network,
    make_plan,
    squared_errors,
)

# In place of a class, for rows that only the second head learns from.
NO_CLASS = -1
# Networks without a number of their own: fewer from so many rows on.
_N_NETWORKS, _FEWER_NETWORKS, _MANY_ROWS = 10, 4, 5_000
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
    rows and missing values are filled with the mean. Behind are networks like those of
    ``LacunetClassifier`` or ``LacunetRBFClassifier``, whose last layer has a second
    head for the complete row. The loss is the cross-entropy of the class and,
    times a weight, the squared error of a cell of the complete row; the validation loss
    is the first alone.

    Parameters
    ----------
    network : LacunetClassifier or LacunetRBFClassifier, default=None
        Whose shape of networks and recipe of training are taken, and nothing else;
        ``plain_network()`` by default.
    reconstruction_weight : float, default=1.0
        Of the squared error.
    random_state : int, RandomState instance or None, default=None
        Seed of the missing values that are drawn, and of networks without one of their
        own.

    Attributes
    ----------
    module_ : torch.nn.ModuleList
        The networks, with both heads.
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
    >>> network = plain_network(n_networks=2, max_epochs=10, lr=0.01)
    >>> model = ContextEncoderClassifier(network, random_state=0)
    >>> model.fit(X, y, X_complete=complete).predict([[2.0, np.nan], [-2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    module_: nn.ModuleList
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
        """Train the networks to classify, and to reconstruct complete rows.

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
        # The networks of lacunet bring what they get to scale, and so is this.
        self._filling = make_pipeline(
            SimpleImputer(keep_empty_features=True), StandardScaler()
        ).fit(x)
        seeded = state if network.random_state is None else network.random_state
        self._fit_networks(network, self._fill(x), codes, targets, seeded)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self, "module_")
        rows = self._read(X, reset=False)
        inputs = torch.from_numpy(self._fill(self._to_scale(rows))).float()
        n_classes = len(self.classes_)
        with torch.inference_mode():
            outputs = [network(inputs)[:, :n_classes] for network in self.module_]
            return torch.stack(outputs).double().softmax(-1).mean(0).numpy()

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

    def _fit_networks(
        self,
        network: Any,
        inputs: np.ndarray,
        codes: np.ndarray,
        targets: np.ndarray,
        random_state: Any,
    ) -> None:
        state = check_random_state(random_state)
        n_networks = getattr(network, "n_networks", 1)
        if n_networks == "auto":
            n_networks = _N_NETWORKS if len(inputs) < _MANY_ROWS else _FEWER_NETWORKS
        # Copies of a row are in one fold. Network i does not learn from fold i.
        cells = np.column_stack([inputs, codes, np.nan_to_num(targets)])
        _, copies = np.unique(cells, axis=0, return_inverse=True)
        n_folds = max(2, round(1 / network.validation_fraction))
        order = state.permutation(int(copies.max()) + 1)
        folds = (order % n_folds)[copies.ravel()]
        held_out = folds == (np.arange(n_networks) % n_folds)[:, None]
        if len(order) < _FEWEST_ROWS:
            held_out[:] = False
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(state.randint(2**31 - 1)))
            x = torch.from_numpy(inputs).float()
            n_outputs = len(self.classes_) + x.shape[1]
            self.module_ = nn.ModuleList(
                _build(network, x, n_outputs) for _ in range(n_networks)
            )
            task = TwoHeads(
                self.module_,
                x,
                torch.from_numpy(codes),
                torch.from_numpy(targets).float(),
                torch.from_numpy(held_out),
                n_classes=len(self.classes_),
                weight=float(self.reconstruction_weight),
            )
            learned = [p for p in self.module_.parameters() if p.requires_grad]
            self.history_ = train(
                task,
                torch.optim.AdamW(
                    learned, lr=network.lr, weight_decay=network.weight_decay
                ),
                make_plan(network.get_params(deep=False), len(x)),
                torch.Generator().manual_seed(int(state.randint(2**31 - 1))),
            )


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


class TwoHeads:
    """Networks that are trained to classify rows and to reconstruct them.

    Their first outputs are of the classes. They are validated by the cross-entropy of
    their mean prediction for rows that they do not learn from.
    """

    def __init__(
        self,
        networks: nn.ModuleList,
        inputs: Tensor,  # (rows, width)
        codes: Tensor,  # (rows,), NO_CLASS where there is none
        targets: Tensor,  # (rows, width), NaN where nothing is to be reconstructed
        held_out: Tensor,  # (networks, rows), of bool
        *,
        n_classes: int,
        weight: float,
    ) -> None:
        self.parts: Sequence[nn.Module] = [networks]
        self.n_rows = len(inputs)
        self._networks = networks
        self._inputs, self._codes, self._targets = inputs, codes, targets
        self._learned = (~held_out).float()
        judges = held_out if bool(held_out.any()) else ~held_out
        self._validating = judges & (codes != NO_CLASS)
        self._n_classes = n_classes
        self._weight = weight

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return the mean over networks of the loss of the rows they learn from."""
        means = [
            (self.losses(network, rows) * learned[rows]).mean() / learned.mean()
            for network, learned in zip(self._networks, self._learned, strict=True)
        ]
        return torch.stack(means).mean()

    def losses(self, network: nn.Module, rows: Tensor) -> Tensor:
        """Return the cross-entropy and the weighted squared error of each row."""
        outputs = network(self._inputs[rows])
        of_class = functional.cross_entropy(
            outputs[:, : self._n_classes],
            self._codes[rows],
            ignore_index=NO_CLASS,
            reduction="none",
        )
        of_row = squared_errors(outputs[:, self._n_classes :], self._targets[rows])
        return of_class + self._weight * of_row

    def validate(self, part: int) -> float:
        """Return the cross-entropy of the mean prediction for held-out rows."""
        total = torch.zeros(self.n_rows, self._n_classes)
        for network, rows in zip(self._networks, self._validating, strict=True):
            total[rows] += network(self._inputs[rows])[:, : self._n_classes].softmax(-1)
        counts = self._validating.sum(0)
        means = total[counts > 0] / counts[counts > 0, None]
        chosen = means.gather(1, self._codes[counts > 0, None])
        return float(-chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log().mean())


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
