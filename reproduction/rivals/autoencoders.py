"""Autoencoders over filled rows, with the network and the training of all of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from lacunet.nn import ExpectedActivation
from lacunet.training import Epoch, Plan, train
from reproduction.rivals._base import NaNEstimator

Activation = str | nn.Module | Callable[[Tensor], Tensor]

# Standard deviations from the mean at which networks have their inputs bounded.
FARTHEST = 5.0
# From so many rows on an epoch has more steps, and fewer epochs are waited for.
_MANY_ROWS = 5_000
# Rows that are taken at once where nothing is learned from them.
_BLOCK = 4096
# Standard deviation of the sigmoid of a standard normal variable.
_SIGMOID_DEVIATION = 0.208
# Networks with so many layers behind the first start with responses of equal size.
_DEEP = 4
_RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU)


class FilledAutoencoder(OneToOneFeatureMixin, TransformerMixin, NaNEstimator):
    """An autoencoder over filled rows, trained on observed cells alone.

    Its input is what an imputer makes of the rows, on one scale; its loss is taken
    over the cells that were observed, so no complete row is needed. With the means of
    the columns, k-nn (``NeighbourImputer()``) or ``InputDropout()`` for an imputer and
    the network of ``LacunetAutoencoder`` behind it, these are the autoencoders that the
    paper compares with. Networks work in single precision, and of a table in single no
    copy in double is made.

    Parameters
    ----------
    imputer : transformer, default=None
        What fills the rows, on their scale, and keeps their columns; it is fitted on
        the training rows. The means of the columns by default.
    scale : {"standard", "none"}, default="standard"
        How numbers are brought to one scale: by mean and standard deviation of the
        observed cells, bounded at five of them, or not at all: "none" is for images,
        whose pixels have one scale.
    hidden_layer_sizes : tuple of int, default=(256, 128, 64, 128, 256)
        Widths of the hidden layers.
    activation : str, torch.nn.Module, callable or a pair of them, default="relu"
        Of the hidden layers; of a pair, the second is for those behind the first. The
        paper has ``("relu", "sigmoid")`` and ``out_activation="sigmoid"``.
    out_activation : str, torch.nn.Module or callable, default="identity"
        Of the outputs, on the scale of the inputs.
    max_epochs : int, default=200
        Training stops earlier, when the validation loss stops falling; the best weights
        are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of AdamW, without weight decay.
    schedule : {"constant", "one-cycle"}, default="constant"
        With "one-cycle" the learning rate rises at first and falls to nothing by the
        last of ``max_epochs``, all of which are run.
    validation_fraction : float, default=0.2
        Fraction of the rows that the validation loss is of.
    random_state : int, RandomState instance or None, default=None
        Seed of the network and its training; an imputer that draws has its own.

    Attributes
    ----------
    module_ : torch.nn.Module
        From filled rows, on scale, to their reconstruction.
    imputer_ : transformer
        Fitted, on scale.
    scaler_ : StandardScaler or None
        Of the observed cells.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.rivals import FilledAutoencoder
    >>> x = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([x, 2 * x, -x])
    >>> X[::3, 1] = np.nan
    >>> model = FilledAutoencoder(
    ...     hidden_layer_sizes=(16, 1, 16), max_epochs=20, random_state=0
    ... )
    >>> bool(np.isnan(model.fit_transform(X)).any())
    False
    """

    module_: nn.Module
    imputer_: Any
    scaler_: StandardScaler | None
    history_: list[Epoch]
    _default_imputer: Any = SimpleImputer

    def __init__(
        self,
        imputer: Any = None,
        *,
        scale: Literal["standard", "none"] = "standard",
        hidden_layer_sizes: tuple[int, ...] = (256, 128, 64, 128, 256),
        activation: Activation | tuple[Activation, Activation] = "relu",
        out_activation: Activation = "identity",
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 1e-3,
        schedule: Literal["constant", "one-cycle"] = "constant",
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.imputer = imputer
        self.scale = scale
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.out_activation = out_activation
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the network to reconstruct what is observed."""
        x = self._fit_scale(X)
        return self._fit_network(x, x)

    def transform(self, X: Any) -> np.ndarray:
        """Fill missing values with their reconstruction; others stay as they are."""
        reconstructed = self.reconstruct(X)
        rows = self._read(X, reset=False)
        return np.where(np.isnan(rows), reconstructed, rows)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return the reconstruction of all cells, the observed ones too."""
        check_is_fitted(self, "module_")
        rows = self._read(X, reset=False)
        inputs = torch.from_numpy(self._fill(self._to_scale(rows)))
        with torch.inference_mode():
            blocks = [self.module_(block) for block in inputs.split(_BLOCK)]
        outputs = torch.cat(blocks).numpy()
        if self.scaler_ is not None:
            outputs = self.scaler_.inverse_transform(outputs)
        return np.asarray(outputs, dtype=rows.dtype)

    def _fit_scale(self, X: Any) -> np.ndarray:
        """Fit scale and imputer, and return the rows on scale."""
        if self.scale not in ("standard", "none"):
            msg = f"Got scale={self.scale!r}, but expected one of standard, none."
            raise ValueError(msg)
        rows = self._read(X, reset=True)
        empty = np.flatnonzero(np.isnan(rows).all(0))
        if len(empty):
            msg = (
                f"Got columns without one observed value, {empty.tolist()}, but "
                f"expected some in each. Leave these columns out."
            )
            raise ValueError(msg)
        self.scaler_ = StandardScaler().fit(rows) if self.scale != "none" else None
        x = self._to_scale(rows)
        given = self.imputer
        imputer = self._default_imputer() if given is None else clone(given)
        self.imputer_ = imputer.fit(x)
        return x

    def _to_scale(self, rows: np.ndarray) -> np.ndarray:
        if self.scaler_ is not None:
            rows = self.scaler_.transform(rows).clip(-FARTHEST, FARTHEST)
        # Writable: torch shares its memory, and warns of what it may not write to.
        return np.require(rows, np.float32, ["C", "W"])

    def _fill(self, x: np.ndarray) -> np.ndarray:
        return np.require(self.imputer_.transform(x), np.float32, ["C", "W"])

    def _fit_network(self, x: np.ndarray, targets: np.ndarray) -> Self:
        """Train the network to make targets, where they are known, of filled rows."""
        state = check_random_state(self.random_state)
        held_out = np.zeros(len(x), dtype=bool)
        n_held_out = int(self.validation_fraction * len(x))
        held_out[state.permutation(len(x))[:n_held_out]] = True
        pair = self.activation
        first, later = pair if isinstance(pair, tuple) else (pair, pair)
        sizes = (x.shape[1], *self.hidden_layer_sizes, x.shape[1])
        task = SplitTask(
            torch.from_numpy(self._fill(x)),
            torch.from_numpy(targets),
            torch.from_numpy(held_out),
            losses=squared_errors,
            score=squared_errors,
        )
        self.module_, self.history_ = fit_network(
            lambda: build_network(sizes, first, later, self.out_activation),
            task,
            self.get_params(deep=False),
            state,
        )
        return self


Losses = Callable[[Tensor, Tensor], Tensor]  # outputs and targets to one of each row


class SplitTask:
    """One network that learns from some rows and is validated by the others.

    By all rows, if none are held out.
    """

    parts: Sequence[nn.Module]

    def __init__(
        self,
        inputs: Tensor,
        targets: Tensor,
        held_out: Tensor,
        *,
        losses: Losses,
        score: Losses,
    ) -> None:
        self._inputs, self._targets = inputs, targets
        self._training = (~held_out).nonzero()[:, 0]
        rows = held_out if bool(held_out.any()) else ~held_out
        self._validation = rows.nonzero()[:, 0]
        self._losses, self._score = losses, score
        self.n_rows = len(self._training)

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        chosen = self._training[rows]
        return self._losses(
            self.parts[part](self._inputs[chosen]), self._targets[chosen]
        ).mean()

    def validate(self, part: int) -> float:
        scores = [
            self._score(self.parts[part](self._inputs[rows]), self._targets[rows])
            for rows in self._validation.split(_BLOCK)
        ]
        return float(torch.cat(scores).mean())


def fit_network(
    build: Callable[[], nn.Module],
    task: SplitTask,
    parameters: Mapping[str, Any],
    state: np.random.RandomState,
) -> tuple[nn.Module, list[Epoch]]:
    """Build a network and train it with the parameters of an estimator."""
    seeds = state.randint(2**31 - 1, size=2).tolist()
    with torch.random.fork_rng(devices=[]):  # of the start, and of dropout
        torch.manual_seed(seeds[0])
        module = build()
        task.parts = [module]
        history = train(
            task,
            [
                torch.optim.AdamW(
                    [p for p in module.parameters() if p.requires_grad],
                    lr=parameters["lr"],
                    weight_decay=parameters.get("weight_decay", 0.0),
                )
            ],
            make_plan(parameters, task.n_rows),
            torch.Generator().manual_seed(seeds[1]),
        )
    return module, history


def squared_errors(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error over the known cells of each row."""
    known = ~torch.isnan(targets)
    errors = torch.where(known, outputs - targets.nan_to_num(), 0.0)
    return errors.square().sum(-1) / known.sum(-1).clamp_min(1)


def build_network(
    sizes: Sequence[int],
    first: Activation,
    later: Activation,
    last: Activation,
    dropout: float = 0.0,
) -> nn.Sequential:
    """Make a plain network that starts as those of lacunet's estimators do."""

    def activate(activation: Activation) -> Any:
        return ExpectedActivation(activation).known

    layers: list[Any] = [nn.Linear(sizes[0], sizes[1]), activate(first)]
    behind = list(pairwise(sizes[1:]))
    for depth, (before, after) in enumerate(behind):
        linear = nn.Linear(before, after)
        activation = activate(later)
        with torch.no_grad():
            linear.bias.zero_()
            if depth and isinstance(activation, nn.Sigmoid):
                # As if its inputs were centred and of unit variance. Else each layer
                # halves what they differ by.
                linear.weight.mul_(math.sqrt(3.0) / _SIGMOID_DEVIATION)
                linear.bias.sub_(0.5 * linear.weight.sum(1))
            elif depth and isinstance(activation, _RECTIFIERS) and len(behind) >= _DEEP:
                # Keep the mean square of the responses, as He and others (2015) start.
                linear.weight.mul_(math.sqrt(6.0))
        is_last = depth == len(behind) - 1
        layers += [
            nn.Dropout(dropout),
            linear,
            activate(last) if is_last else activation,
        ]
    return nn.Sequential(*layers)


def make_plan(parameters: Mapping[str, Any], n_rows: int) -> Plan:
    """Return how long to train, in which batches, as lacunet's estimators do."""
    batch_size = parameters["batch_size"]
    if batch_size == "auto":
        # Some thirty steps an epoch, in batches that are neither noisy nor slow.
        batch_size = min(512, max(64, 2 ** round(math.log2(n_rows / 32))))
    # A cycle is run to its end: its last steps are the smallest, and the best.
    cycle = parameters.get("schedule") == "one-cycle"
    patience = 15 if n_rows < _MANY_ROWS else 8
    return Plan(
        max_epochs=parameters["max_epochs"],
        batch_size=int(batch_size),
        patience=parameters["max_epochs"] if cycle else patience,
        tol=0.0 if cycle else 1e-4,
        one_cycle=cycle,
    )
