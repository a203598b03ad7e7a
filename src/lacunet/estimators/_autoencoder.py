"""An autoencoder that is trained on observed cells, and fills in the others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from lacunet.estimators._base import (
    FillingMixin,
    NetworkEstimator,
    Problem,
    Validation,
)
from lacunet.estimators._checks import read_bounds, read_table
from lacunet.estimators._encoding import Method
from lacunet.estimators._fit import RECONSTRUCTION
from lacunet.estimators._saving import AnyPath, check_agreement
from lacunet.estimators._stream import TableSummary, TargetCode
from lacunet.estimators._views import BodyShape
from lacunet.nn import ActivationLike


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetAutoencoder(FillingMixin, NetworkEstimator):
    """An autoencoder over rows with missing values, trained on observed cells alone.

    It learns to reconstruct its input through a narrow layer; the loss is taken over
    observed cells, so no complete row is needed. ``transform`` fills missing values
    with their reconstruction.

    Parameters
    ----------
    density : "auto" or IncompleteGaussianMixture, default="auto"
        The density of the table; with "auto" a mixture of three Gaussians whose
        covariances are chosen on validation rows.
    gamma : float, default=0.01
        Initial value of the paper's regulariser: the variance of a noise on observed
        values, on the standardised scale.
    train_density : bool, default=True
        Train the density with the network, at a tenth of its learning rate; else it
        stays as EM has found it.
    density_loss_weight : float, default=0.1
        Weight in the loss of the negative log likelihood of an observed cell, which
        keeps the trained density a density of the data.
    mask_augmentation : float, default=0.2
        Mean fraction of a row's values that are masked in training on top of what is
        missing, others in each step and at another rate in each row. From 0 to 0.5.
    masked_fraction : float, default=1.0
        Fraction of the rows of a step in which anything is masked on top. The lower,
        the more exactly are observed values reconstructed, and the less exactly missing
        ones.
    image_shape : tuple of int, default=None
        Height and width if rows are images. What is masked on top is then a patch, at
        another place in each image and each step, instead of single pixels, which their
        neighbours would reveal.
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all: "none" is for images, whose pixels have one scale.
    on_unseen_missing : {"warn", "use", "raise"}, default="warn"
        What to do about missing values, at prediction, in a column that had none in
        training: warn and use them, use them, or raise an error.
    missing_columns : {"raise", "use"}, default="raise"
        What to do about frames, after training, that lack a column: raise an error, or
        use them, the column missing in each row. Columns are found by name.
    hidden_layer_sizes : tuple of int, default=(256, 128, 64, 128, 256)
        Widths of the hidden layers; the first is the expected layer.
    activation : str, torch.nn.Module, callable or a pair of them, default="relu"
        Activation of the hidden layers; of a pair, the second is for those behind the
        first. The paper has ``("relu", "sigmoid")`` and ``out_activation="sigmoid"``.
    out_activation : str, torch.nn.Module or callable, default="identity"
        Activation of the outputs, on the scale of the inputs.
    max_epochs : int, default=200
        Largest number of epochs. Training stops earlier, when the loss on validation
        rows stops falling; the best weights are kept.
    batch_size : int or "auto", default="auto"
        Rows of a training step; with "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.001
        Learning rate of AdamW.
    schedule : {"constant", "one-cycle"}, default="constant"
        Schedule of the learning rate. With "one-cycle" it rises at first and falls to
        zero by the last of ``max_epochs``, all of which are run: the best use of a
        fixed number of epochs.
    weight_decay : float, default=0.0
        Weight decay of AdamW on the network; the density has none.
    validation_fraction : float, default=0.2
        Fraction of the rows that the network is validated on, from 0.01 to 0.5;
        rounded to one over a whole number.
    time_limit : float, default=None
        Seconds from the start of ``fit`` after which no step of training is made, with
        a warning; at least one is. EM ends after a third of it, with a warning too,
        unless there is a checkpoint.
    warm_start : bool, default=False
        Go on from the fitted networks in ``fit``, on rows of the same columns: encoder,
        density and bins stay what they are, whatever their parameters are now, and
        networks that get no better on the validation rows keep their weights.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
        Where to compute; "auto" for the best device that torch finds.
    verbose : int, default=0
        Show the progress of EM and of training if not 0.
    random_state : int, RandomState instance or None, default=None
        Seed of all randomness. The order of the rows has no influence.

    Attributes
    ----------
    module_ : torch.nn.Module
        From the encoded table to itself.
    density_ : GaussianMixtureDensity or MixedMixtureDensity
        The density of the encoded table.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    timed_out_ : bool
        Whether ``time_limit`` cut the training.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if ``X`` is a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunet import LacunetAutoencoder
    >>> x = np.linspace(-1, 1, 200)
    >>> X = np.column_stack([x, 2 * x, -x])
    >>> X[::3, 1] = np.nan
    >>> model = LacunetAutoencoder(
    ...     hidden_layer_sizes=(16, 1, 16), max_epochs=20, random_state=0
    ... )
    >>> filled = model.fit_transform(X)
    >>> bool(np.isnan(filled).any())
    False
    >>> model.encode(X).shape
    (200, 1)
    """

    density: Any = "auto"
    gamma: float = 0.01
    train_density: bool = True
    density_loss_weight: float = 0.1
    mask_augmentation: float = 0.2
    masked_fraction: float = 1.0
    image_shape: tuple[int, int] | None = None
    max_categories: int = 32
    scale: Method = "standard"
    on_unseen_missing: Literal["warn", "use", "raise"] = "warn"
    missing_columns: Literal["raise", "use"] = "raise"
    hidden_layer_sizes: tuple[int, ...] = (256, 128, 64, 128, 256)
    activation: ActivationLike | tuple[ActivationLike, ActivationLike] = "relu"
    out_activation: ActivationLike = "identity"
    max_epochs: int = 200
    batch_size: int | Literal["auto"] = "auto"
    lr: float = 1e-3
    schedule: Literal["constant", "one-cycle"] = "constant"
    weight_decay: float = 0.0
    validation_fraction: float = 0.2
    time_limit: float | None = None
    warm_start: bool = False
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    verbose: int = 0
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
        X_val: Any = None,
        checkpoint: AnyPath | None = None,
    ) -> Self:
        """Fit the density, then train the autoencoder with it.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : Ignored
            Not used; for scikit-learn's API.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, NaN or infinite where there is none: a value
            below a detection limit is NaN in ``X``, and the limit in ``upper``. Bounds
            of observed values are checked, and have no effect. Where there is no lower
            bound, it is 0 in a column without a negative value; give one of your own
            where that is wrong.
        X_val : array-like or frame, default=None
            Validation rows, instead of a fraction of ``X``.
        checkpoint : str or PathLike, default=None
            File that training is written to after each epoch. If it exists, training
            is resumed from it, to the same result.

        Returns
        -------
        self
        """
        began = self._begin()
        table = read_table(self, X, reset=not self._is_warm)
        self._check_image(table.shape[1])
        problem = Problem(None, np.ones(len(table)), RECONSTRUCTION, None)
        valid = None if X_val is None else Validation(X_val, None)
        return self._fit_networks(
            table,
            problem,
            began=began,
            bounds=read_bounds(self, table, lower, upper),
            valid=valid,
            checkpoint=checkpoint,
        )

    def _check_image(self, n_columns: int) -> None:
        if self.image_shape is not None and np.prod(self.image_shape) != n_columns:
            msg = (
                f"Got image_shape={self.image_shape!r} and X with {n_columns} "
                f"columns, but expected {np.prod(self.image_shape)} of them: one for "
                f"each pixel, row after row."
            )
            raise ValueError(msg)

    def _target_of(self, summary: TableSummary) -> tuple[TargetCode, Problem]:
        self._check_image(len(summary.columns))
        return TargetCode(), Problem(None, np.ones(0), RECONSTRUCTION, None)

    def transform(self, X: Any, *, lower: Any = None, upper: Any = None) -> Any:
        """Fill missing values with their reconstruction.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``; what is filled in lies between.

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the type of ``X``. Observed cells are unchanged.
        """
        table, x, bounds = self._read(X, lower, upper)
        return self._restore(self._map_blocks(self.module_, x), table, bounds)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return the reconstruction of all cells, the observed ones too.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            On the scale of ``X``; of objects if there are categories or dates. Columns
            without one observed value in training are missing.
        """
        x = self._read(X)[1]
        plain = all(column.kind == "number" for column in self._inputs.table.columns)
        shape = (len(x), self.n_features_in_)
        nothing = np.full(shape, np.nan) if plain else np.full(shape, None)
        filled: np.ndarray = self._restore(self._map_blocks(self.module_, x), nothing)
        return filled

    def encode(self, X: Any) -> np.ndarray:
        """Return the activations of the narrowest layer.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.

        Returns
        -------
        ndarray of shape (n_samples, min(hidden_layer_sizes))
        """
        x = self._read(X)[1]
        depth = int(np.argmin(self._fitted_body.hidden_sizes))
        (view,) = self.module_
        codes = self._map_blocks(lambda block: view.networks.hidden(block, depth), x)
        return codes.cpu().double().numpy()

    def _unpack(self, content: Mapping[str, Any]) -> None:
        super()._unpack(content)
        width = len(self._inputs.sources)
        check_agreement(outputs=(self.module_.out_features, width))

    def _map_blocks(self, network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        with torch.inference_mode():
            blocks = [network(block)[0] for block in x.split(self._block_size())]
        return torch.cat(blocks)

    def _training_parameters(self) -> dict[str, Any]:
        return {**super()._training_parameters(), "n_networks": 1, "indicator": False}

    def _body(self, out_features: int) -> BodyShape:
        given: Any = self.activation
        pair = given if isinstance(given, (tuple, list)) else (given, given)
        if len(pair) != 2:
            msg = (
                f"Got activation={given!r}, but expected one, or a pair: of the first "
                f"layer, and of those behind it."
            )
            raise ValueError(msg)
        sizes = tuple(self.hidden_layer_sizes)
        return BodyShape(sizes, out_features, pair[0], pair[1], self.out_activation)
