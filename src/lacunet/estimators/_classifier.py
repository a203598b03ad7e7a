"""Classification of rows with missing values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from lacunet.estimators._base import Problem, Validation
from lacunet.estimators._checks import (
    check_given,
    check_labels,
    check_no_more,
    check_pair,
    check_weights,
    class_factors,
    encode_labels,
    find_classes,
    read_bounds,
    read_table,
)
from lacunet.estimators._encoding import Indicator, Method
from lacunet.estimators._fit import CLASSIFICATION
from lacunet.estimators._predicting import PredictingEstimator
from lacunet.estimators._recipe import RECIPE
from lacunet.estimators._saving import (
    AnyPath,
    check_agreement,
    pack_array,
    unpack_array,
)
from lacunet.estimators._stream import TableSummary, TargetCode
from lacunet.nn import ActivationLike


class LabelledEstimator(ClassifierMixin, PredictingEstimator):
    """Base of the classifiers."""

    classes_: np.ndarray
    _criterion = CLASSIFICATION

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
        y : array-like of shape (n_samples,)
            Classes.
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
            Rows without a label, which teach the density.
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
        labels = check_labels(y)
        weights = check_weights(sample_weight, labels, table)
        classes = find_classes(labels, weights)
        if self._is_warm and classes.tolist() != self.classes_.tolist():
            msg = (
                f"Got y with classes {classes.tolist()[:5]}, but expected "
                f"{self.classes_.tolist()[:5]}, which the networks were fitted to. Set "
                f"warm_start=False to begin anew."
            )
            raise ValueError(msg)
        self.classes_ = classes
        factors = class_factors(self.class_weight, labels, weights)
        codes = np.searchsorted(self.classes_, labels).astype(np.int64)
        problem = Problem(codes, weights, CLASSIFICATION, len(self.classes_), factors)
        valid = None
        if X_val is not None or y_val is not None:
            check_pair(X_val, y_val)
            labels_val = check_labels(y_val)
            of_class = dict(zip(labels.tolist(), factors.tolist(), strict=True))
            codes_val = encode_labels(labels_val, self.classes_, "y_val")
            weights_val = np.array([of_class[label] for label in labels_val.tolist()])
            valid = Validation(X_val, codes_val, weights_val)
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
        labels = sorted(summary.counts)
        counts = np.array([summary.counts[label] for label in labels], dtype=float)
        self.classes_ = find_classes(check_labels(labels), counts)
        factors = class_factors(self.class_weight, self.classes_, counts)
        factors = factors / np.average(factors, weights=counts)
        problem = Problem(None, counts, CLASSIFICATION, len(labels))
        return TargetCode(tuple(labels), factors), problem

    def _pack(self) -> dict[str, Any]:
        return {**super()._pack(), "classes": pack_array(self.classes_)}

    def _unpack(self, content: Mapping[str, Any]) -> None:
        super()._unpack(content)
        self.classes_ = unpack_array(content["classes"])
        check_agreement(classes=(len(self.classes_), self.module_.out_features))

    def predict_proba(
        self, X: Any, *, lower: Any = None, upper: Any = None
    ) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._predict_table(X, lower, upper)

    def _finish(self, means: np.ndarray) -> np.ndarray:
        # In single precision they sum to one but for rounding.
        exact: np.ndarray = means / means.sum(-1, keepdims=True)
        return exact

    def predict(self, X: Any, *, lower: Any = None, upper: Any = None) -> np.ndarray:
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            A table with the columns of training, and missing values.
        lower, upper : array-like or frame of the shape of ``X``, default=None
            Bounds of missing numbers, as in ``fit``.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X, lower=lower, upper=upper)
        chosen: np.ndarray = self.classes_[probabilities.argmax(1)]
        return chosen


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetClassifier(LabelledEstimator):
    """Neural networks that classify rows with missing values as they are.

    Takes arrays and frames (pandas, polars, arrow) of numbers, categories, booleans and
    dates, with values missing anywhere: no imputer, scaler or encoder goes before it. A
    density fitted by EM describes what a missing value may have been, and the first
    layer of each network returns its expected activation under it (the paper's theorem
    3.1). Density and networks are then trained together.

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
    class_weight : dict or "balanced", default=None
        Weights of the classes in the loss; "balanced" for the inverse of their
        frequencies.
    calibration : bool, default=True
        Whether to keep at most 1,000 encoded rows with the model, and in the folder
        that it is saved to, which some networks have not learned, to calibrate
        sets of classes on.
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
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
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
    >>> from lacunet import LacunetClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 3)
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> X[rng.rand(300, 3) < 0.2] = np.nan
    >>> model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0)
    >>> model = model.fit(X, y)
    >>> model.predict([[2.0, 2.0, np.nan], [np.nan, -2.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
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
    class_weight: Any = None
    calibration: bool = True
    warm_start: bool = False
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    verbose: int = 0
    random_state: Any = None
