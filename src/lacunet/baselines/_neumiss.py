"""NeuMiss networks, for classes and for numbers."""

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from lacunet._validation import check_positive_int
from lacunet.baselines._encoded import TableBaseline
from lacunet.baselines._neumiss_block import NeuMissBlock, check_count
from lacunet.baselines._split import Losses, SplitTask, ask, clip_gradients, hold_back
from lacunet.estimators._fitting import Samples, make_plan, undisturbed
from lacunet.estimators._network import DTYPE
from lacunet.estimators._parameters import check_parameters, find_device
from lacunet.estimators._rows import find_copies
from lacunet.estimators._targets import (
    TargetScale,
    check_given,
    check_labels,
    check_numbers,
    find_classes,
)
from lacunet.training import Epoch, train

# Hidden units of the head, at least.
_LEAST_WIDTH = 64
# Length that a gradient is cut to: it may grow through the steps of the block.
_LONGEST_GRADIENT = 1.0


class NeuMissNetwork(TableBaseline):
    """What the two share: the network and its training.

    Attributes
    ----------
    module_ : torch.nn.Sequential
        The block and its head, in double precision.
    history_ : list of Epoch
    """

    module_: nn.Sequential
    history_: list[Epoch]

    def __init__(
        self,
        depth: int = 10,
        *,
        mlp_depth: int = 1,
        width: int | None = None,
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 1e-3,
        weight_decay: float = 1e-5,
        patience: int = 12,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.mlp_depth = mlp_depth
        self.width = width
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _begin(self, X: Any, y: Any) -> np.ndarray:
        """Check the parameters, and return the table encoded."""
        check_given(y, self)
        check_parameters(self)
        check_count(self.depth, "depth")
        check_count(self.mlp_depth, "mlp_depth")
        check_positive_int(self.patience, "patience")
        if self.width is not None:
            check_positive_int(self.width, "width")
        return self._fit_inputs(X)

    def _learn(
        self, x: np.ndarray, targets: np.ndarray, losses: Losses, n_outputs: int
    ) -> Self:
        state = check_random_state(self.random_state)
        seeds = [int(seed) for seed in state.randint(2**31 - 1, size=3)]
        classes = targets if targets.dtype.kind == "i" else None
        copies = find_copies(x, targets)
        held_back = hold_back(copies, classes, self.validation_fraction, seeds[0])
        device = find_device(self.device)
        with undisturbed():
            module = self._build(x.shape[1], n_outputs, seeds[1]).to(device)
            rows = Samples(x, targets, np.ones(len(x))).to_rows(device)
            task = SplitTask(module, rows, losses, held_back)
            plan = make_plan(self.get_params(deep=False), task.n_rows)
            self.history_ = train(
                task,
                self._optimiser(module),
                replace(plan, patience=self.patience),
                torch.Generator().manual_seed(seeds[2]),
                verbose=bool(self.verbose),
            )
        # In double precision a row alone is predicted as among others, to 1e-12 or so.
        self.module_ = module.cpu().double()
        return self

    def _build(self, n_features: int, n_outputs: int, seed: int) -> nn.Sequential:
        """Put a head of linear layers and ReLU behind the block."""
        generator = torch.Generator().manual_seed(seed)
        width = max(n_features, _LEAST_WIDTH) if self.width is None else self.width
        block = NeuMissBlock(n_features, self.depth, generator=generator, dtype=DTYPE)
        sizes = [n_features, *[width] * self.mlp_depth, n_outputs]
        layers: list[nn.Module] = [block]
        for before, after in pairwise(sizes):
            layers += [_make_linear(before, after, generator), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def _optimiser(self, module: nn.Sequential) -> torch.optim.Optimizer:
        """Let the mean of the block and the last bias not decay, as the authors do."""
        free = [module[0].mean, module[-1].bias]
        others = [p for p in module.parameters() if all(p is not q for q in free)]
        optimiser = torch.optim.Adam(
            [
                {"params": others, "weight_decay": self.weight_decay},
                {"params": free, "weight_decay": 0.0},
            ],
            lr=self.lr,
        )
        clip_gradients(optimiser, _LONGEST_GRADIENT)
        return optimiser

    def _answer(self, X: Any) -> Tensor:
        """Return the outputs for every row, in double precision."""
        check_is_fitted(self, "module_")
        x = torch.from_numpy(self._encode(X))
        return ask(self.module_, x, torch.device("cpu"))


def _make_linear(before: int, after: int, generator: torch.Generator) -> nn.Linear:
    # Not drawn on the way: torch would draw from the global generator.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, before, after, dtype=DTYPE)
    nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(2), generator=generator)
    nn.init.zeros_(layer.bias)
    return layer


class NeuMissClassifier(ClassifierMixin, NeuMissNetwork):
    """A NeuMiss network that classifies rows with missing values.

    A ``NeuMissBlock`` with shared weights (Le Morvan et al. 2020, 2021) and a
    multi-layer perceptron behind it, trained by the cross-entropy. Numbers are
    standardised over the observed cells of the training rows before. It is one network,
    as its authors train it; for several, put it into a ``BaggingClassifier``. What
    papers and code of the authors leave open, or choose by a grid, is our reading here:
    the defaults, gradients that are cut to a length of one, and no schedule of the
    learning rate.

    Parameters
    ----------
    depth : int, default=10
        Number of steps of the block; 0 for none, which is a network over mean-filled
        rows.
    mlp_depth : int, default=1
        Number of hidden layers of the head; 0 for a linear one.
    width : int, default=None
        Of the hidden layers; by default 64, or the number of inputs if that is larger.
    max_epochs : int, default=200
        Training stops earlier, when the loss on rows held back stops falling; the best
        weights are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of Adam.
    weight_decay : float, default=1e-5
        None for the mean of the block and the last bias.
    patience : int, default=12
        Epochs without a better loss on rows held back, after which training stops.
    validation_fraction : float, default=0.2
        Share of the rows that are held back, from 0.01 to 0.5; rounded to one part in
        a whole number.
    time_limit : float, default=None
        Seconds of training after which no epoch begins; at least one is run.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        To train on; predictions are made on the CPU.
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    module_ : torch.nn.Sequential
        The block and its head, in double precision.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import NeuMissClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> X[rng.rand(200, 2) < 0.2] = np.nan
    >>> model = NeuMissClassifier(depth=3, lr=0.01, max_epochs=20, random_state=0)
    >>> model.fit(X, y).predict([[2.0, np.nan], [-2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    classes_: np.ndarray

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self
        """
        x = self._begin(X, y)
        labels = check_labels(y)
        check_consistent_length(x, labels)
        self.classes_ = find_classes(labels, np.ones(len(labels)))
        codes = np.searchsorted(self.classes_, labels)
        losses = partial(functional.cross_entropy, reduction="none")
        return self._learn(x, codes, losses, len(self.classes_))

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
        return self._answer(X).softmax(1).numpy()

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


class NeuMissRegressor(RegressorMixin, NeuMissNetwork):
    """A NeuMiss network that predicts numbers from rows with missing values.

    A ``NeuMissBlock`` with shared weights (Le Morvan et al. 2020, 2021) and a
    multi-layer perceptron behind it, trained by the squared error. Numbers are
    standardised over the observed cells of the training rows before, and targets too.
    It is one network, as its authors train it; for several, put it into a
    ``BaggingRegressor``. What papers and code of the authors leave open, or choose by a
    grid, is our reading here: the defaults, gradients that are cut to a length of one,
    and no schedule of the learning rate.

    Parameters
    ----------
    depth : int, default=10
        Number of steps of the block; 0 for none, which is a network over mean-filled
        rows.
    mlp_depth : int, default=1
        Number of hidden layers of the head; 0 for a linear one.
    width : int, default=None
        Of the hidden layers; by default 64, or the number of inputs if that is larger.
    max_epochs : int, default=200
        Training stops earlier, when the loss on rows held back stops falling; the best
        weights are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of Adam.
    weight_decay : float, default=1e-5
        None for the mean of the block and the last bias.
    patience : int, default=12
        Epochs without a better loss on rows held back, after which training stops.
    validation_fraction : float, default=0.2
        Share of the rows that are held back, from 0.01 to 0.5; rounded to one part in
        a whole number.
    time_limit : float, default=None
        Seconds of training after which no epoch begins; at least one is run.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        To train on; predictions are made on the CPU.
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn.

    Attributes
    ----------
    module_ : torch.nn.Sequential
        The block and its head, in double precision.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet.baselines import NeuMissRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(200, 2)
    >>> y = 2 * X[:, 0]
    >>> X[rng.rand(200, 2) < 0.2] = np.nan
    >>> model = NeuMissRegressor(depth=3, lr=0.01, max_epochs=20, random_state=0)
    >>> high, low = model.fit(X, y).predict([[1.0, np.nan], [-1.0, 0.0]])
    >>> bool(low < 0 < high)
    True
    """

    _scale: TargetScale
    _flat: bool

    def __sklearn_tags__(self) -> Any:
        """Say that there may be several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.

        Returns
        -------
        self
        """
        x = self._begin(X, y)
        numbers = check_numbers(y)
        check_consistent_length(x, numbers)
        self._flat = numbers.ndim == 1
        outputs = numbers.reshape(len(numbers), -1)
        self._scale = TargetScale.of(outputs)
        losses = partial(functional.mse_loss, reduction="none")
        targets = self._scale.forward(outputs)
        return self._learn(x, targets, losses, targets.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        answer = self._answer(X).numpy()
        predictions = self._scale.inverse(answer)
        return predictions[:, 0] if self._flat else predictions


# The method's own name, as the tables of results have it.
NeuMissMLP = NeuMissClassifier
