"""NeuMiss networks: a Neumann series over what is observed, and a head behind it."""

import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from lacunet._validation import check_dtype, check_floating, check_positive_int
from lacunet.baselines._pipelines import IncompleteEstimator
from lacunet.estimators import (
    DTYPE,
    TableEncoder,
    TargetScale,
    check_given,
    check_labels,
    check_numbers,
    check_parameters,
    deal_folds,
    find_classes,
    find_copies,
    find_device,
    make_plan,
    read_table,
    undisturbed,
)
from lacunet.exceptions import warn_user
from lacunet.training import Epoch, train

# With fewer there are no validation rows: too few would be left to learn from.
_FEWEST_ROWS = 10
# Rows that are taken at once where nothing is learned from them.
_BLOCK = 4096


class NeuMissBlock(nn.Module):
    r"""Map rows with missing values to rows that are zero there.

    With the mask :math:`m` of what is observed, :math:`x^0` for zeros where it is not,
    and one :math:`W` for all steps (Le Morvan et al. 2021),

    .. math::
        h^0 = m \circ (x^0 - \mu), \qquad
        h^{l+1} = m \circ (W h^l) + h^0, \qquad l = 0, \dots, \text{depth} - 1.

    The output :math:`h^{\text{depth}}` is the start of a Neumann series. With
    :math:`W = I - c \Sigma` and :math:`0 < c < 2 / \lambda_{\max}(\Sigma)` it tends to
    :math:`(c \Sigma_{oo})^{-1} (x_o - \mu_o)` over the observed columns :math:`o`, of
    which a linear layer can make the conditional mean of a normal distribution.

    Parameters
    ----------
    n_features : int
        Number of columns.
    depth : int
        Number of steps; 0 for the centred rows alone.
    generator : torch.Generator, optional
        Source of the initial weights; torch's default one if not given.
    device, dtype : optional
        Those of the parameters; torch's defaults if not given.

    Attributes
    ----------
    weight : Parameter of shape (n_features, n_features)
        The matrix :math:`W`.
    mean : Parameter of shape (n_features,)
        The vector :math:`\mu`.

    Shape
    -----
    - Input: (*, n_features), NaN where a value is missing
    - Output: (*, n_features)

    Examples
    --------
    >>> import torch
    >>> from lacunet.baselines import NeuMissBlock
    >>> block = NeuMissBlock(2, depth=3)
    >>> with torch.no_grad():
    ...     _ = block.weight.copy_(torch.tensor([[0.5, 0.2], [0.1, 0.3]]))
    ...     _ = block.mean.copy_(torch.tensor([1.0, 0.0]))
    >>> block(torch.tensor([[2.0, torch.nan]])).tolist()
    [[1.875, 0.0]]
    """

    def __init__(
        self,
        n_features: int,
        depth: int,
        *,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_positive_int(n_features, "n_features")
        check_dtype(dtype)
        self.depth = _check_count(depth, "depth")
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(n_features, n_features, **factory))
        self.mean = nn.Parameter(torch.empty(n_features, **factory))
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Initialise with small weights, and a mean of zero."""
        # The series must not grow with its depth.
        nn.init.xavier_uniform_(self.weight, gain=0.5, generator=generator)
        nn.init.zeros_(self.mean)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the first terms of the series, for every row."""
        n_features = len(self.mean)
        if check_floating(x).ndim == 0 or x.shape[-1] != n_features:
            msg = f"Got x of shape {tuple(x.shape)}, but expected (*, {n_features})."
            raise ValueError(msg)
        missing = torch.isnan(x)
        # Cleaned of NaN before anything is computed: none can come back in a gradient.
        start = (x.masked_fill(missing, 0.0) - self.mean).masked_fill(missing, 0.0)
        response = start
        for _ in range(self.depth):
            step = functional.linear(response, self.weight)
            response = step.masked_fill(missing, 0.0) + start
        return response

    def extra_repr(self) -> str:  # noqa: D102
        return f"{len(self.mean)}, depth={self.depth}"


def _check_count(value: object, name: str) -> int:
    """Return ``value`` if it is an integer of at least zero."""
    msg = f"Got {name}={value!r}, but expected an integer of at least 0."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(msg)
    if value < 0:
        raise ValueError(msg)
    return int(value)


class NeuMissNetwork(IncompleteEstimator):
    """Base of the two: the network and its training."""

    module_: nn.Sequential
    history_: list[Epoch]
    _encoder: TableEncoder

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
        _check_count(self.depth, "depth")
        _check_count(self.mlp_depth, "mlp_depth")
        check_positive_int(self.patience, "patience")
        if self.width is not None:
            check_positive_int(self.width, "width")
        table = read_table(self, X, reset=True)
        self._encoder = TableEncoder()
        return self._clip(self._encoder.fit_transform(table))

    def _clip(self, encoded: np.ndarray) -> np.ndarray:
        """Clip the standardised numbers, in place."""
        scaled = encoded[:, : self._encoder.n_numeric]
        np.clip(scaled, -5.0, 5.0, out=scaled)
        return encoded

    def _learn(self, x: np.ndarray, targets: np.ndarray, n_outputs: int) -> Self:
        """Train on numbers, or on classes as integers."""
        state = check_random_state(self.random_state)
        seeds = [int(seed) for seed in state.randint(2**31 - 1, size=3)]
        classes = targets if targets.dtype.kind == "i" else None
        copies = find_copies(x, targets)
        n_rows = int(copies.max()) + 1
        validation = np.zeros(len(x), dtype=bool)
        if n_rows < _FEWEST_ROWS:
            msg = (
                f"Got {n_rows} distinct rows, too few for validation rows: training "
                f"stops by the loss on its own rows. Give at least {_FEWEST_ROWS} rows."
            )
            warn_user(msg)
        else:
            n_folds = max(2, round(1 / self.validation_fraction))
            validation = deal_folds(copies, classes, n_folds, seeds[0]) == 0
        device = find_device(self.device)
        dtype = DTYPE if classes is None else torch.int64
        with undisturbed():
            module = self._build(x.shape[1], n_outputs, seeds[1]).to(device)
            task = _SplitTask(
                module,
                torch.as_tensor(x, dtype=DTYPE, device=device),
                torch.as_tensor(targets, dtype=dtype, device=device),
                validation,
            )
            plan = make_plan(self.get_params(deep=False), task.n_rows)
            self.history_ = train(
                task,
                [self._optimiser(module)],
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
        width = max(n_features, 64) if self.width is None else self.width
        block = NeuMissBlock(n_features, self.depth, generator=generator, dtype=DTYPE)
        sizes = [n_features, *[width] * self.mlp_depth, n_outputs]
        layers: list[nn.Module] = [block]
        for before, after in pairwise(sizes):
            # Not initialised on the way: torch would draw from the global generator.
            layer: nn.Linear = nn.utils.skip_init(nn.Linear, before, after, dtype=DTYPE)
            nn.init.xavier_uniform_(layer.weight, math.sqrt(2), generator)
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def _optimiser(self, module: nn.Sequential) -> torch.optim.Optimizer:
        """Let the mean of the block and the last bias not decay, as the authors do."""
        free: list[Any] = [module[0].mean, module[-1].bias]
        others = [p for p in module.parameters() if all(p is not q for q in free)]
        optimiser = torch.optim.Adam(
            [
                {"params": others, "weight_decay": self.weight_decay},
                {"params": free, "weight_decay": 0.0},
            ],
            lr=self.lr,
        )

        def clip(*_: Any) -> None:  # gradients may grow through the steps of the block
            nn.utils.clip_grad_norm_([*others, *free], 1.0)

        optimiser.register_step_pre_hook(clip)
        return optimiser

    def _outputs(self, X: Any) -> Tensor:
        """Return the outputs for every row, in double precision."""
        check_is_fitted(self, "module_")
        table = read_table(self, X, reset=False)
        x = torch.from_numpy(self._clip(self._encoder.transform(table)))
        with torch.inference_mode():
            return torch.cat([self.module_(block) for block in x.split(_BLOCK)])


class _SplitTask:
    """Train one network on some rows, and validate it on the others, if any."""

    def __init__(
        self, module: nn.Module, x: Tensor, targets: Tensor, validation: np.ndarray
    ) -> None:
        self.parts: Sequence[nn.Module] = [module]
        self._x, self._targets = x, targets
        chosen = validation if validation.any() else ~validation
        self._training = torch.as_tensor(np.flatnonzero(~validation), device=x.device)
        self._validation = torch.as_tensor(np.flatnonzero(chosen), device=x.device)
        self.n_rows = len(self._training)

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return the mean loss of some training rows."""
        return self._losses_of(self._training[rows.to(self._training.device)]).mean()

    def validate(self, part: int) -> float:
        """Return the mean loss of the validation rows."""
        blocks = [self._losses_of(rows) for rows in self._validation.split(_BLOCK)]
        return float(torch.cat(blocks).mean())

    def _losses_of(self, rows: Tensor) -> Tensor:
        outputs, targets = self.parts[0](self._x[rows]), self._targets[rows]
        if targets.is_floating_point():
            return functional.mse_loss(outputs, targets, reduction="none").flatten()
        return functional.cross_entropy(outputs, targets, reduction="none")


class NeuMissClassifier(ClassifierMixin, NeuMissNetwork):
    """A NeuMiss network that classifies rows with missing values.

    A ``NeuMissBlock`` with shared weights (Le Morvan et al. 2020, 2021) and a
    multi-layer perceptron behind it, trained by the cross-entropy. Numbers are
    standardised over the observed cells of the training rows before. It is one network,
    as its authors train it; for several, put it into a ``BaggingClassifier``. What
    papers and code of the authors leave open, or choose by a grid, is our reading here:
    the defaults, gradients that are clipped to a length of one, and no schedule of the
    learning rate.

    Parameters
    ----------
    depth : int, default=10
        Number of steps of the block; 0 for none, which is a network over mean-filled
        rows.
    mlp_depth : int, default=1
        Number of hidden layers of the head; 0 for a linear one.
    width : int, default=None
        Units of a hidden layer; by default 64, or the number of inputs if that is
        larger.
    max_epochs : int, default=200
        Largest number of epochs. Training stops earlier, when the loss on validation
        rows stops falling; the best weights are kept.
    batch_size : int or "auto", default="auto"
        Rows of a training step; with "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of Adam.
    weight_decay : float, default=1e-5
        Weight decay of Adam; none for the mean of the block and the last bias.
    patience : int, default=12
        Epochs without a better loss on validation rows, after which training stops.
    validation_fraction : float, default=0.2
        Fraction of the rows that the network is validated on, from 0.01 to 0.5;
        rounded to one over a whole number.
    time_limit : float, default=None
        Seconds of training after which no step is made, with a warning; one always is.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        Where to train; predictions are made on the CPU.
    verbose : int, default=0
        Show the progress of training if not 0.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    module_ : torch.nn.Sequential
        The block and its head, in double precision.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

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
            Numbers, categories and dates, with missing values.
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
        return self._learn(x, codes, len(self.classes_))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._outputs(X).softmax(1).numpy()

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


class NeuMissRegressor(RegressorMixin, NeuMissNetwork):
    """A NeuMiss network that predicts numbers from rows with missing values.

    A ``NeuMissBlock`` with shared weights (Le Morvan et al. 2020, 2021) and a
    multi-layer perceptron behind it, trained by the squared error. Numbers are
    standardised over the observed cells of the training rows before, and targets too.
    It is one network, as its authors train it; for several, put it into a
    ``BaggingRegressor``. What papers and code of the authors leave open, or choose by a
    grid, is our reading here: the defaults, gradients that are clipped to a length of
    one, and no schedule of the learning rate.

    Parameters
    ----------
    depth : int, default=10
        Number of steps of the block; 0 for none, which is a network over mean-filled
        rows.
    mlp_depth : int, default=1
        Number of hidden layers of the head; 0 for a linear one.
    width : int, default=None
        Units of a hidden layer; by default 64, or the number of inputs if that is
        larger.
    max_epochs : int, default=200
        Largest number of epochs. Training stops earlier, when the loss on validation
        rows stops falling; the best weights are kept.
    batch_size : int or "auto", default="auto"
        Rows of a training step; with "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of Adam.
    weight_decay : float, default=1e-5
        Weight decay of Adam; none for the mean of the block and the last bias.
    patience : int, default=12
        Epochs without a better loss on validation rows, after which training stops.
    validation_fraction : float, default=0.2
        Fraction of the rows that the network is validated on, from 0.01 to 0.5;
        rounded to one over a whole number.
    time_limit : float, default=None
        Seconds of training after which no step is made, with a warning; one always is.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        Where to train; predictions are made on the CPU.
    verbose : int, default=0
        Show the progress of training if not 0.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness.

    Attributes
    ----------
    module_ : torch.nn.Sequential
        The block and its head, in double precision.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

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
        """Declare that there may be several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
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
        targets = self._scale.forward(outputs)
        return self._learn(x, targets, targets.shape[1])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        outputs = self._outputs(X).numpy()
        predictions = self._scale.inverse(outputs)
        return predictions[:, 0] if self._flat else predictions


# The name of the method in tables of results.
NeuMissMLP = NeuMissClassifier
