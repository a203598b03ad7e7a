"""An autoencoder whose missing inputs are dropped."""

from typing import Any, Literal

from lacunet.nn._activation import ActivationLike
from reproduction.rivals._dropout import InputDropout
from reproduction.rivals._filled import AutoencoderBaseline, Scale


class DropoutAutoencoder(AutoencoderBaseline):
    """An autoencoder whose missing inputs are dropped, trained on observed cells alone.

    ``FilledAutoencoder`` with ``InputDropout`` for an imputer: inputs with missing
    values are zero and the others are divided by one minus the dropout rate. What it
    is to give back is on the scale of the inputs before that.

    Parameters
    ----------
    rate : float, default=None
        Dropout rate, from 0 to below 1; by default the share of the training table's
        cells that are missing.
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
        Seed of the network and its training.

    Attributes
    ----------
    module_ : torch.nn.Module
        From dropped rows, on scale, to what is given back.
    imputer_ : InputDropout
        With the ``rate_``.
    scaler_ : StandardScaler or None
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

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

    def __init__(
        self,
        rate: float | None = None,
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
        self.rate = rate
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

    def _make_imputer(self) -> InputDropout:
        return InputDropout(self.rate)
