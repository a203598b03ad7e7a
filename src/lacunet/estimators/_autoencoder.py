"""An autoencoder that is trained on what is observed, and fills in the rest."""

from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from torch import Tensor

from lacunet.estimators._base import NetworkEstimator, Problem, Validation
from lacunet.estimators._input import read_table
from lacunet.estimators._network import BodyShape
from lacunet.estimators._saving import AnyPath
from lacunet.estimators._table import TableEncoder
from lacunet.estimators._task import RECONSTRUCTION
from lacunet.nn._activation import ActivationLike


class LacunetAutoencoder(OneToOneFeatureMixin, TransformerMixin, NetworkEstimator):
    """An autoencoder over rows with missing values, trained on observed cells alone.

    It learns to give back what it is given, through a narrow layer; the loss is taken
    over observed cells, so no complete row is needed. ``transform`` fills the holes
    with what it gives back in their places.
    """

    def __init__(
        self,
        *,
        density: Any = "auto",
        gamma: float = 0.01,
        train_density: bool = True,
        density_loss_weight: float = 0.0,
        mask_augmentation: float = 0.2,
        max_categories: int = 32,
        on_unseen_missing: Literal["warn", "use", "raise"] = "warn",
        scale: Literal["standard", "none"] = "standard",
        hidden_layer_sizes: tuple[int, ...] = (256, 128, 64, 128, 256),
        activation: ActivationLike | tuple[ActivationLike, ActivationLike] = "relu",
        out_activation: ActivationLike = "identity",
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.gamma = gamma
        self.train_density = train_density
        self.density_loss_weight = density_loss_weight
        self.mask_augmentation = mask_augmentation
        self.max_categories = max_categories
        self.on_unseen_missing = on_unseen_missing
        self.scale = scale
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.out_activation = out_activation
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_val: Any = None,
        checkpoint: AnyPath | None = None,
    ) -> Self:
        """Fit the density, then train the autoencoder with it.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : Ignored
        X_val : array-like or frame, default=None
            Rows to validate on instead of rows held back from ``X``.
        checkpoint : str or PathLike, default=None
            File that training is written to after each epoch. If it is there already,
            training goes on from it, to the same result.

        Returns
        -------
        self
        """
        table = read_table(self, X, reset=True)
        problem = Problem(None, np.ones(len(table)), RECONSTRUCTION, None)
        valid = None if X_val is None else Validation(X_val, None)
        return self._fit_networks(table, problem, valid=valid, checkpoint=checkpoint)

    def transform(self, X: Any) -> Any:
        """Fill the holes with what the autoencoder gives back in their places.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        array or frame of shape (n_samples, n_features)
            Of the kind of ``X``. Observed cells are as they were.
        """
        table, x = self._read(X)
        return self._restore(self._outputs(x), table)

    def reconstruct(self, X: Any) -> np.ndarray:
        """Return all cells as the autoencoder gives them back, the observed ones too.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            On the scale of ``X``; of objects if there are categories or dates.
        """
        _, x = self._read(X)
        plain = all(column.kind == "number" for column in self._inputs.table.columns)
        shape = (len(x), self.n_features_in_)
        nothing = np.full(shape, np.nan) if plain else np.full(shape, None)
        filled: np.ndarray = self._restore(self._outputs(x), nothing)
        return filled

    def encode(self, X: Any) -> np.ndarray:
        """Return the responses of the narrowest layer.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, min(hidden_layer_sizes))
        """
        _, x = self._read(X)
        depth = int(np.argmin(self.hidden_layer_sizes))
        (branch,) = self.module_
        with torch.inference_mode():
            blocks = [
                branch.networks.hidden(branch.view(block), depth)[0]
                for block in x.split(self._block_size())
            ]
        return torch.cat(blocks).double().cpu().numpy()

    def _outputs(self, x: Tensor) -> Tensor:
        with torch.inference_mode():
            blocks = [self.module_(block)[0] for block in x.split(self._block_size())]
        return torch.cat(blocks)

    def _training_parameters(self) -> dict[str, Any]:
        return {**super()._training_parameters(), "n_networks": 1, "indicator": False}

    def _make_encoder(self) -> TableEncoder:
        return TableEncoder(max_categories=self.max_categories, scale=self.scale)

    def _body(self, out_features: int) -> BodyShape:
        given: Any = self.activation
        first, later = given if isinstance(given, (tuple, list)) else (given, given)
        return BodyShape(
            tuple(self.hidden_layer_sizes),
            out_features,
            first,
            later,
            self.out_activation,
        )
