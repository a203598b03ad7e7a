"""Regression on rows with missing values."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from lacunet.estimators._base import NetworkEstimator, Problem, Validation
from lacunet.estimators._input import read_table
from lacunet.estimators._inputs import Indicator
from lacunet.estimators._rows import repeat_rows
from lacunet.estimators._saving import AnyPath
from lacunet.estimators._targets import (
    TargetScale,
    check_given,
    check_numbers,
    check_weights,
)
from lacunet.estimators._task import REGRESSION
from lacunet.nn._activation import ActivationLike


class LacunetRegressor(RegressorMixin, NetworkEstimator):
    """Neural networks that predict numbers from rows with missing values."""

    _scale: TargetScale
    _flat: bool

    def __init__(
        self,
        *,
        density: Any = "auto",
        gamma: float = 0.01,
        train_density: bool = True,
        density_loss_weight: float = 0.0,
        indicator: Indicator = "auto",
        mask_augmentation: float = 0.2,
        max_categories: int = 32,
        on_unseen_missing: Literal["warn", "use", "raise"] = "warn",
        hidden_layer_sizes: tuple[int, ...] = (64, 64),
        activation: ActivationLike = "gelu",
        dropout: float = 0.1,
        n_networks: int = 10,
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 3e-3,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        propagate: Literal["expectation", "sample"] = "expectation",
        n_samples: int = 64,
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.gamma = gamma
        self.train_density = train_density
        self.density_loss_weight = density_loss_weight
        self.indicator = indicator
        self.mask_augmentation = mask_augmentation
        self.max_categories = max_categories
        self.on_unseen_missing = on_unseen_missing
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.n_networks = n_networks
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.time_limit = time_limit
        self.propagate = propagate
        self.n_samples = n_samples
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Say that there may be several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        X_unlabelled: Any = None,
        checkpoint: AnyPath | None = None,
    ) -> Self:
        """Fit the density, then train the networks with it.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with holes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Whole weights are counts, exactly; a weight of zero
            leaves the row out.
        X_val, y_val : default=None
            Rows to validate on instead of rows held back from ``X``: for data in groups
            or in time.
        X_unlabelled : array-like or frame, default=None
            Rows without a target, which teach the density.
        checkpoint : str or PathLike, default=None
            File that training is written to after each epoch. If it is there already,
            training goes on from it, to the same result.

        Returns
        -------
        self
        """
        check_given(y, self)
        table = read_table(self, X, reset=True)
        numbers = check_numbers(y)
        weights = check_weights(sample_weight, numbers, table)
        self._flat = numbers.ndim == 1
        outputs = numbers.reshape(len(numbers), -1)
        index, _ = repeat_rows(weights)
        self._scale = TargetScale.of(outputs[index])
        targets = self._scale.forward(outputs)
        problem = Problem(targets, weights, REGRESSION, targets.shape[1])
        valid = None
        if X_val is not None:
            judged = check_numbers(y_val).reshape(-1, targets.shape[1])
            valid = Validation(X_val, self._scale.forward(judged))
        return self._fit_networks(
            table,
            problem,
            valid=valid,
            X_unlabelled=X_unlabelled,
            checkpoint=checkpoint,
        )

    def _pack(self) -> dict[str, Any]:
        scale = [values.tolist() for values in self._scale]
        return {**super()._pack(), "target_scale": scale, "flat": self._flat}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        super()._unpack(content)
        self._scale = TargetScale(*map(np.array, content["target_scale"]))
        self._flat = bool(content["flat"])

    def predict(self, X: Any) -> np.ndarray:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        outputs = self._predict_mean(X, REGRESSION)
        predictions = self._scale.inverse(outputs)
        return predictions[:, 0] if self._flat else predictions
