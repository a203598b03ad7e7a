"""Regression on rows with missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from torch import Tensor

from lacunet.estimators._base import Problem, Validation
from lacunet.estimators._checks import (
    check_given,
    check_no_more,
    check_numbers,
    check_pair,
    check_weights,
    read_bounds,
    read_table,
)
from lacunet.estimators._encoding import Indicator, Method, TargetScale
from lacunet.estimators._fit import REGRESSION
from lacunet.estimators._predicting import PredictingEstimator
from lacunet.estimators._recipe import RECIPE
from lacunet.estimators._sampling import repeat_rows
from lacunet.estimators._saving import AnyPath, check_agreement
from lacunet.estimators._stream import TableSummary, TargetCode
from lacunet.estimators._uncertainty import (
    VarianceParts,
    find_quantiles,
    find_variances,
)
from lacunet.nn import ActivationLike


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetRegressor(RegressorMixin, PredictingEstimator):
    """Neural networks that predict numbers from rows with missing values as they are.

    Takes what :class:`LacunetClassifier` takes, and targets of one or more columns. The
    networks minimise the squared error of the targets, each brought to unit variance.

    Parameters
    ----------
    density : "auto" or IncompleteGaussianMixture, default="auto"
        The density of the table. With "auto" the networks see the table in two views:
        numbers as they are, under a mixture of diagonal Gaussians (from 60 columns on
        perhaps with factors, chosen on validation rows); and numbers in bins, between
        quantiles and where the target changes, under latent classes. The weight of each
        view in the prediction is chosen on validation rows too. Give a mixture with the
        parameters that you want for one view under that mixture.
    gamma : float, default=0.01
        Initial value of the paper's regulariser: the variance of a noise on observed
        values, on the standardised scale.
    train_density : bool, default=False
        Train the density with the networks, at a tenth of their learning rate; else it
        stays as EM has found it.
    density_loss_weight : float, default=0.1
        Weight in the loss of the negative log likelihood of an observed cell, which
        keeps the trained density a density of the data.
    indicator : bool or "auto", default="auto"
        Whether the networks get missing-value indicators: of all columns with missing
        values, of none, or of those whose missingness is associated with the target by
        a test.
    mask_augmentation : float or "auto", default="auto"
        Mean fraction of a row's values that are masked in training on top of what is
        missing, others in each step and at another rate in each row. From 0 to 0.5;
        "auto" for a tenth of what is seen in bins, and nothing of what is not.
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.
    scale : {"auto", "standard", "robust", "quantile", "none"}, default="auto"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all. With "auto", quantiles for columns whose standard
        deviation a few values determine, else mean and standard deviation.
    on_unseen_missing : {"warn", "use", "raise"}, default="warn"
        What to do about missing values, at prediction, in a column that had none in
        training: warn and use them, use them, or raise an error.
    missing_columns : {"raise", "use"}, default="raise"
        What to do about frames, after training, that lack a column: raise an error, or
        use them, the column missing in each row. Columns are found by name.
    hidden_layer_sizes : tuple of int, default=(128, 128)
        Widths of the hidden layers of each network; the first is the expected layer.
    activation : str, torch.nn.Module or callable, default="gelu"
        Activation of the hidden layers. Models with a name here can be saved.
    dropout : float, default=0.15
        Fraction of hidden units that are dropped in training.
    n_networks : int or "auto", default="auto"
        Number of networks, of both views together. Each has other validation rows;
        their predictions are averaged. With "auto" ten, and four from 2000
        rows on.
    max_epochs : int or "auto", default="auto"
        Largest number of epochs; with "auto" from 8 to 60, by the number of rows.
        Training of a view stops earlier: when its loss on validation rows stops
        falling, the learning rate falls to nothing from its best weights on, and the
        best of all are kept.
    batch_size : int or "auto", default="auto"
        Rows of a training step; with "auto" from 128 to 1024, by the number of rows.
    lr : float, default=0.004
        Learning rate of AdamW.
    weight_decay : float, default=0.01
        Weight decay of AdamW on the networks; the density has none.
    validation_fraction : float, default=0.2
        Fraction of the rows that each network is validated on, from 0.01 to 0.5;
        rounded to one over a whole number.
    time_limit : float, default=None
        Seconds from the start of ``fit`` after which no step of training is made, with
        a warning; at least one is. EM ends after a third of it, with a warning too,
        unless there is a checkpoint.
    propagate : {"auto", "expectation", "sample"}, default="auto"
        What predictions are made of: the mean response of the first layer, as in the
        paper, or the mean prediction for draws of what is missing, which is slower.
        "auto" draws for rows that lack a value of a column that was complete in
        training, or more values than any row of it: networks take a mean that they
        have never seen for certain.
    n_samples : int, default=64
        Number of draws of a row: quasi-random ones, the same for each row.
    calibration : bool, default=True
        Whether to keep at most 1,000 encoded rows with the model, and in the folder
        that it is saved to, which some networks have not learned, to calibrate
        standard deviations, quantiles and intervals on.
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
        From the encoded table to the outputs of all networks, one row of them each.
    density_ : GaussianMixtureDensity or MixedMixtureDensity
        The density of the encoded table, numbers as they are.
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
    >>> from lacunet import LacunetRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = X[:, 0] + X[:, 1]
    >>> X[rng.rand(300, 3) < 0.2] = np.nan
    >>> model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    >>> low, high = model.fit(X, y).predict([[-1.0, -1.0, np.nan], [1.0, 1.0, 0.0]])
    >>> bool(low < 0 < high)
    True
    """

    density: Any = "auto"
    gamma: float = 0.01
    train_density: bool = False
    density_loss_weight: float = 0.1
    indicator: Indicator = "auto"
    mask_augmentation: float | Literal["auto"] = "auto"
    max_categories: int = 32
    scale: Method = "auto"
    on_unseen_missing: Literal["warn", "use", "raise"] = "warn"
    missing_columns: Literal["raise", "use"] = "raise"
    hidden_layer_sizes: tuple[int, ...] = RECIPE.hidden_layer_sizes
    activation: ActivationLike = "gelu"
    dropout: float = RECIPE.dropout
    n_networks: int | Literal["auto"] = "auto"
    max_epochs: int | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    lr: float = RECIPE.lr
    weight_decay: float = RECIPE.weight_decay
    validation_fraction: float = 0.2
    time_limit: float | None = None
    propagate: Literal["auto", "expectation", "sample"] = "auto"
    n_samples: int = 64
    calibration: bool = True
    warm_start: bool = False
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    verbose: int = 0
    random_state: Any = None

    _criterion = REGRESSION

    def __sklearn_tags__(self) -> Any:
        """Declare that there may be several outputs."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lower: Any = None,
        upper: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        X_unlabelled: Any = None,
        checkpoint: AnyPath | None = None,
        **unknown: Any,
    ) -> Self:
        """Fit the density, then train the networks with it.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers, categories and dates, with missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers. Of several outputs some may be missing in a row: the networks
            learn from what is there, and a row without any is one of
            ``X_unlabelled``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Whole weights are counts, exactly, as long as the table
            grows no more than eight times by them; a weight of zero leaves the row out.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, NaN or infinite where there is none: a value
            below a detection limit is NaN in ``X``, and the limit in ``upper``. Bounds
            of observed values are checked, and have no effect. Where there is no lower
            bound, it is 0 in a column without a negative value; give one of your own
            where that is wrong.
        X_val, y_val : default=None
            Validation rows, instead of a fraction of ``X``: for data in groups or in
            time.
        X_unlabelled : array-like or frame, default=None
            Rows without a target, which teach the density.
        checkpoint : str or PathLike, default=None
            File that training is written to after each epoch. If it exists, training
            is resumed from it, to the same result.

        Returns
        -------
        self
        """
        check_no_more(self, unknown)
        check_given(y, self)
        began = self._begin()
        table = read_table(self, X, reset=not self._is_warm)
        numbers = check_numbers(y)
        weights = check_weights(sample_weight, numbers, table)
        outputs = numbers.reshape(len(numbers), -1)
        index, _ = repeat_rows(weights)
        empty = np.isnan(outputs[index]).all(0)
        if empty.any():
            msg = (
                f"Got y without one value of the outputs {np.flatnonzero(empty)}, but "
                f"expected some of each. Leave these out."
            )
            raise ValueError(msg)
        if not self._is_warm:
            self._flat = numbers.ndim == 1
            self._scale = TargetScale.of(outputs[index])
        elif outputs.shape[1] != len(self._scale.mean):
            msg = (
                f"Got y with {outputs.shape[1]} outputs, but expected "
                f"{len(self._scale.mean)}, which the networks were fitted to. Set "
                f"warm_start=False to begin anew."
            )
            raise ValueError(msg)
        targets = self._scale.forward(outputs)
        problem = Problem(targets, weights, REGRESSION, targets.shape[1])
        valid = None
        if X_val is not None or y_val is not None:
            check_pair(X_val, y_val)
            numbers_val = check_numbers(y_val)
            if numbers_val.shape[1:] != numbers.shape[1:]:
                msg = (
                    f"Got y_val of shape {numbers_val.shape}, but expected as many "
                    f"outputs as y of shape {numbers.shape} has."
                )
                raise ValueError(msg)
            outputs_val = numbers_val.reshape(len(numbers_val), -1)
            weights_val = (~np.isnan(outputs_val)).any(1).astype(np.float64)
            if not weights_val.any():
                msg = "Got y_val with missing values only, but expected targets."
                raise ValueError(msg)
            valid = Validation(X_val, self._scale.forward(outputs_val), weights_val)
        return self._fit_networks(
            table,
            problem,
            began=began,
            bounds=read_bounds(self, table, lower, upper),
            valid=valid,
            X_unlabelled=X_unlabelled,
            checkpoint=checkpoint,
        )

    def _target_of(self, summary: TableSummary) -> tuple[TargetCode, Problem]:
        assert summary.scale is not None
        self._flat, self._scale = True, summary.scale
        return TargetCode(scale=summary.scale), Problem(None, np.ones(0), REGRESSION, 1)

    def _pack(self) -> dict[str, Any]:
        scale = [values.tolist() for values in self._scale]
        return {**super()._pack(), "target_scale": scale, "flat": self._flat}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        super()._unpack(content)
        self._scale = TargetScale(*map(np.array, content["target_scale"]))
        self._flat = bool(content["flat"])
        n_outputs = self.module_.out_features
        check_agreement(
            mean=(self._scale.mean.shape, (n_outputs,)),
            std=(self._scale.std.shape, (n_outputs,)),
        )

    def predict(
        self,
        X: Any,
        *,
        return_std: bool = False,
        lower: Any = None,
        upper: Any = None,
    ) -> Any:
        """Predict the targets of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        return_std : bool, default=False
            Whether to return the standard deviation of each target too: by its noise,
            by the networks' disagreement and by what is missing
            (:meth:`predict_variances` returns each).
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            If ``return_std``.
        """
        x = self._read(X, lower, upper)[1]
        predictions = self._flatten(self._predict_rows(x))
        if not return_std:
            return predictions
        return predictions, np.sqrt(self._variances_of(x).total)

    def predict_variances(
        self, X: Any, *, lower: Any = None, upper: Any = None
    ) -> VarianceParts:
        """Return why targets may not be what is predicted, as variances that sum up.

        They are calibrated as :meth:`predict_quantiles` is, each combination of missing
        values by itself.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``.

        Returns
        -------
        VarianceParts
            ``noise``, ``networks`` and ``missing``, of the shape of predictions, and
            their sum, ``total``.

        Examples
        --------
        >>> import numpy as np
        >>> from lacunet import LacunetRegressor
        >>> rng = np.random.RandomState(0)
        >>> X = rng.randn(300, 3)
        >>> y = X[:, 0] + 0.1 * rng.randn(300)
        >>> X[rng.rand(300, 3) < 0.1] = np.nan
        >>> model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
        >>> rows = [[1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]
        >>> parts = model.fit(X, y).predict_variances(rows)
        >>> [round(float(part)) for part in parts.missing]
        [0, 1]
        """
        return self._variances_of(self._read(X, lower, upper)[1])

    def _variances_of(self, x: Tensor) -> VarianceParts:
        """Return the parts of encoded rows, in the units of the targets."""
        parts = find_variances(self, x)
        square = np.square(self._scale.std)
        return VarianceParts(*(self._flatten(square * part) for part in parts))

    def predict_quantiles(
        self,
        X: Any,
        quantiles: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        lower: Any = None,
        upper: Any = None,
    ) -> np.ndarray:
        """Predict quantiles of the targets of each row, given what it lacks.

        A new row's target is below its quantile at 0.95 with a probability of 0.95,
        whichever values are missing, as long as rows are like those of training:
        quantiles are calibrated on the rows that the model keeps which lack just the
        same. Up to 400, they are calibrated on others, too, after the same values were
        hidden in these; then values have to be missing completely at random, or on
        account of what errors do not depend on.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Levels between 0 and 1. One so near to 0 or 1 that there are too few
            calibration rows for it is infinite, with a warning.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``. Predictions use them. How far
            these may be from targets is known from rows with bounds of the same
            columns, if 50 are kept, else from rows that lack the value.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        """
        given = np.ravel(quantiles)
        fine = given.size and given.dtype.kind in "fiu"
        if not fine or not ((given > 0.0) & (given < 1.0)).all():
            msg = f"Got quantiles={quantiles!r}, but expected some between 0 and 1."
            raise ValueError(msg)
        probabilities = given.astype(np.float64).tolist()
        found = find_quantiles(self, self._read(X, lower, upper)[1], probabilities)
        found[:, self._scale.std == 0] = 0.0  # of a constant target, not infinite
        return self._flatten(self._finish(found.swapaxes(1, 2)).swapaxes(1, 2))

    def _flatten(self, outputs: np.ndarray) -> np.ndarray:
        """Drop the axis of outputs, (rows, outputs, *), if targets had none."""
        return outputs[:, 0] if self._flat else outputs

    def _finish(self, means: np.ndarray) -> np.ndarray:
        return self._scale.inverse(means)
