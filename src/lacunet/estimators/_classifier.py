"""Classification of rows with missing values."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from lacunet.estimators._base import NetworkEstimator, Problem, Validation
from lacunet.estimators._input import read_table
from lacunet.estimators._inputs import Indicator
from lacunet.estimators._models import pack_array, unpack_array
from lacunet.estimators._saving import AnyPath
from lacunet.estimators._targets import (
    check_given,
    check_labels,
    check_weights,
    class_weights,
    encode_labels,
)
from lacunet.estimators._task import CLASSIFICATION
from lacunet.nn._activation import ActivationLike


class LabelledEstimator(ClassifierMixin, NetworkEstimator):
    """What classifiers share.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    """

    classes_: np.ndarray

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
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Whole weights are counts, exactly; a weight of zero
            leaves the row out.
        X_val, y_val : default=None
            Rows to validate on instead of rows held back from ``X``: for data in groups
            or in time.
        X_unlabelled : array-like or frame, default=None
            Rows without a label, which teach the density.
        checkpoint : str or PathLike, default=None
            File that training is written to after each epoch. If it is there already,
            training goes on from it, to the same result.

        Returns
        -------
        self
        """
        check_given(y, self)
        table = read_table(self, X, reset=True)
        labels = check_labels(y)
        weights = check_weights(sample_weight, labels, table)
        kept = labels[weights > 0]
        self.classes_ = np.unique(kept)
        weights = weights * class_weights(self.class_weight, labels)
        codes = np.searchsorted(self.classes_, labels).astype(np.int64)
        problem = Problem(codes, weights, CLASSIFICATION, len(self.classes_))
        valid = None
        if X_val is not None:
            judged = encode_labels(check_labels(y_val), self.classes_, "y_val")
            valid = Validation(X_val, judged)
        return self._fit_networks(
            table,
            problem,
            valid=valid,
            X_unlabelled=X_unlabelled,
            checkpoint=checkpoint,
        )

    def _pack(self) -> dict[str, Any]:
        return {**super()._pack(), "classes": pack_array(self.classes_)}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        super()._unpack(content)
        self.classes_ = unpack_array(content["classes"])

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
        probabilities = self._predict_mean(X, CLASSIFICATION)
        # In single precision they sum to one but for rounding.
        exact: np.ndarray = probabilities / probabilities.sum(1, keepdims=True)
        return exact

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


class LacunetClassifier(LabelledEstimator):
    """Neural networks that classify rows with missing values as they are."""

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.device = device
        self.verbose = verbose
        self.random_state = random_state
