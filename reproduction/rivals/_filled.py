"""Autoencoders over filled rows."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data
from torch import Tensor, nn

from lacunet._validation import check_choice
from lacunet.density import GaussianMixtureDensity
from lacunet.estimators import (
    DTYPE,
    FOR_NETWORKS,
    RECONSTRUCTION,
    LacunetAutoencoder,
    Samples,
    check_parameters,
    find_device,
    make_plan,
    undisturbed,
)
from lacunet.exceptions import warn_user
from lacunet.nn import ActivationLike, NetworkEnsemble
from lacunet.training import Epoch, train
from reproduction.rivals._split import SplitTask, ask, hold_back

Scale = Literal["standard", "none"]


class AutoencoderBaseline(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What the autoencoders over filled rows share: scale, fill, network, and back.

    Networks work in single precision, and of a table in single no copy in double is
    made. A column without one value in training takes no part; its holes become 0.
    """

    module_: "OneNetwork"
    imputer_: Any
    scaler_: Any
    history_: list[Epoch]
    _known: np.ndarray

    @abstractmethod
    def _make_imputer(self) -> Any:
        """Return what fills the rows, not fitted."""

    def __sklearn_tags__(self) -> Any:
        """Say that NaN is welcome, and that single precision stays single."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the network to give back what is observed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where one is missing.
        y : Ignored

        Returns
        -------
        self
        """
        x = self._begin(X)
        return self._learn(self._fill(x), x, check_random_state(self.random_state))

    def transform(self, X: Any) -> np.ndarray:
        """Fill the holes with what the autoencoder gives back in their places.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Observed cells are as they were.
        """
        rows = self._read(X)
        return np.where(np.isnan(rows), self._give_back(rows), rows)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return all cells as the autoencoder gives them back, the observed ones too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            On the scale of ``X``.
        """
        return self._give_back(self._read(X))

    def encode(self, X: Any) -> np.ndarray:
        """Return the responses of the narrowest layer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, min(hidden_layer_sizes))
        """
        rows = self._read(X)
        return self._ask(self.module_.encode, rows)

    def _begin(self, X: Any) -> np.ndarray:
        """Fit scale and imputer, and return the rows on scale, with their holes."""
        check_parameters(self)
        check_choice(self.scale, ("standard", "none"), "scale")
        rows = self._validate(X, reset=True)
        self._known = _find_known(rows)
        chosen = self._choose(rows)
        self.scaler_ = StandardScaler().fit(chosen) if self.scale != "none" else None
        x = self._to_scale(rows)
        self.imputer_ = self._make_imputer().fit(x)
        return x

    def _learn(
        self, inputs: np.ndarray, targets: np.ndarray, state: np.random.RandomState
    ) -> Self:
        """Train the network to make targets, where they are known, of inputs."""
        seeds = [int(seed) for seed in state.randint(2**31 - 1, size=3)]
        device = find_device(self.device)
        # Images are hardly ever the same: each row is its own.
        alone = np.arange(len(inputs))
        held_back = hold_back(alone, None, self.validation_fraction, seeds[0])
        with undisturbed():
            module = self._build(inputs.shape[1], seeds[1]).to(device)
            rows = Samples(inputs, targets, np.ones(len(inputs))).to_rows(device)
            task = SplitTask(module, rows, RECONSTRUCTION.losses, held_back)
            self.history_ = train(
                task,
                self._optimiser(module),
                make_plan(self.get_params(deep=False), task.n_rows),
                torch.Generator().manual_seed(seeds[2]),
                verbose=bool(self.verbose),
            )
        self.module_ = module
        return self

    def _build(self, width: int, seed: int) -> "OneNetwork":
        """Make the network of ``LacunetAutoencoder``: on complete rows a plain one."""
        like = LacunetAutoencoder(
            hidden_layer_sizes=self.hidden_layer_sizes,
            activation=self.activation,
            out_activation=self.out_activation,
        )
        generator = torch.Generator().manual_seed(seed)
        nowhere = GaussianMixtureDensity(1, width, generator=generator, dtype=DTYPE)
        shape = like._body(width)
        ensemble = shape.build(nowhere.requires_grad_(False), 1, generator)
        return OneNetwork(ensemble, int(np.argmin(shape.hidden_sizes)))

    def _optimiser(self, module: nn.Module) -> torch.optim.Optimizer:
        learned = [p for p in module.parameters() if p.requires_grad]
        return torch.optim.AdamW(learned, lr=self.lr, weight_decay=self.weight_decay)

    def _read(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "module_")
        return self._validate(X, reset=False)

    def _validate(self, X: Any, *, reset: bool) -> np.ndarray:
        rows: np.ndarray = validate_data(
            self, X, reset=reset, dtype=FLOAT_DTYPES, ensure_all_finite="allow-nan"
        )
        return rows

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns that had a value in training."""
        return rows if self._known.all() else rows[:, self._known]

    def _to_scale(self, rows: np.ndarray) -> np.ndarray:
        x = self._choose(rows)
        if self.scaler_ is not None:
            x = np.asarray(self.scaler_.transform(x)).clip(-FOR_NETWORKS, FOR_NETWORKS)
        # Writable: torch shares its memory, and warns of what it may not write to.
        return np.require(x, np.float32, ["C", "W"])

    def _fill(self, x: np.ndarray) -> np.ndarray:
        filled = np.asarray(self.imputer_.transform(x))
        if filled.shape != x.shape or np.isnan(filled).any():
            msg = (
                f"Got a table of shape {filled.shape} with {np.isnan(filled).sum()} "
                f"holes from {self.imputer_!r}, but expected {x.shape} without holes."
            )
            raise ValueError(msg)
        return np.require(filled, np.float32, ["C", "W"])

    def _ask(self, respond: Callable[[Tensor], Tensor], rows: np.ndarray) -> np.ndarray:
        inputs = torch.from_numpy(self._fill(self._to_scale(rows)))
        device = next(self.module_.parameters()).device
        return ask(respond, inputs, device).numpy()

    def _give_back(self, rows: np.ndarray) -> np.ndarray:
        outputs = self._ask(self.module_, rows)
        if self.scaler_ is not None:
            outputs = np.asarray(self.scaler_.inverse_transform(outputs))
        given_back = np.zeros_like(rows)
        given_back[:, self._known] = outputs
        return given_back


class OneNetwork(nn.Module):
    """The only network of an ensemble, without the axis of networks.

    Parameters
    ----------
    ensemble : NetworkEnsemble
        Of one network.
    narrowest : int
        Which hidden layer it is that encodes.

    Shape
    -----
    - Input: (batch, features)
    - Output: (batch, out)
    """

    def __init__(self, ensemble: NetworkEnsemble, narrowest: int) -> None:
        super().__init__()
        self.ensemble = ensemble
        self.narrowest = narrowest

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        outputs: Tensor = self.ensemble(x)[0]
        return outputs

    def encode(self, x: Tensor) -> Tensor:
        """Return the responses of the narrowest layer."""
        return self.ensemble.hidden(x, self.narrowest)[0]


def _find_known(rows: np.ndarray) -> np.ndarray:
    """Return which columns have a value, (columns,), and name the others."""
    empty = np.isnan(rows).all(0)
    if empty.all():
        msg = "Got X without one observed value, but expected some to learn from."
        raise ValueError(msg)
    if empty.any():
        columns = np.flatnonzero(empty).tolist()
        msg = (
            f"Got columns without one observed value: {columns}. They take no part, "
            f"and their holes are filled with 0."
        )
        warn_user(msg)
    known: np.ndarray = ~empty
    return known


class FilledAutoencoder(AutoencoderBaseline):
    """An autoencoder over filled rows, trained on observed cells alone.

    Its input is what an imputer makes of the rows, on one scale; its loss is taken
    over the cells that were observed, so no complete row is needed. With the means of
    the columns, k-nn (``NeighbourImputer()``) or ``InputDropout()`` for an imputer and
    the network of ``LacunetAutoencoder`` behind it, these are the autoencoders that the
    paper compares with.

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
        Training stops earlier, when the loss on rows held back stops falling; the best
        weights are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of AdamW.
    schedule : {"constant", "one-cycle"}, default="constant"
        What becomes of the learning rate. With "one-cycle" it rises at first and falls
        to nothing by the last of ``max_epochs``, all of which are run: the best use of
        a number of epochs that you can name.
    weight_decay : float, default=0.0
    validation_fraction : float, default=0.2
        Share of the rows that are held back, from 0.01 to 0.5; rounded to one part in
        a whole number.
    time_limit : float, default=None
        Seconds of training after which no epoch begins; at least one is run.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of the network and its training; an imputer that draws has its own.

    Attributes
    ----------
    module_ : torch.nn.Module
        From filled rows, on scale, to what is given back.
    imputer_ : transformer
    scaler_ : StandardScaler or None
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

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
    >>> filled = model.fit_transform(X)
    >>> bool(np.isnan(filled).any())
    False
    >>> model.encode(X).shape
    (200, 1)
    """

    def __init__(
        self,
        imputer: Any = None,
        *,
        scale: Scale = "standard",
        hidden_layer_sizes: tuple[int, ...] = (256, 128, 64, 128, 256),
        activation: ActivationLike | tuple[ActivationLike, ActivationLike] = "relu",
        out_activation: ActivationLike = "identity",
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 1e-3,
        schedule: Literal["constant", "one-cycle"] = "constant",
        weight_decay: float = 0.0,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        verbose: int = 0,
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
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _make_imputer(self) -> Any:
        return SimpleImputer() if self.imputer is None else clone(self.imputer)
