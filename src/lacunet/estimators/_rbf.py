"""The paper's radial basis function network."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from lacunet.estimators._classifier import LabelledEstimator
from lacunet.estimators._encoding import Indicator, Method
from lacunet.estimators._fit import Samples, to_tensor
from lacunet.estimators._views import BodyShape, ViewEnsemble
from lacunet.nn import ExpectedRBF

# Initial variances of radial units, in variances of the columns: the authors' units
# start at |N(0, 1)| on columns from -1 to 1, whose variance is about a fifth. Narrower
# ones respond to the nearest centre alone, and never learn better.
_INITIAL_VARIANCE = 5.0
# Lower bound of what is drawn, and of a column's variance.
_LEAST_VARIANCE = 1e-2


@dataclass(kw_only=True, eq=False, repr=False)
class LacunetRBFClassifier(LabelledEstimator):
    """The paper's radial basis function network, on rows with missing values.

    Radial units with diagonal variances, expected over what is missing (theorem 3.2),
    then a linear layer and softmax. Centres start at training rows, filled by the
    density; variances start at ``|N(0, 1)|`` times five times those of the columns.

    Parameters
    ----------
    n_units : int, default=50
        Number of radial units.
    normalise : bool, default=True
        Divide the responses of a row by their sum, as the authors' code does. Raw
        densities under- or overflow beyond a few dozen columns.
    density : "auto" or IncompleteGaussianMixture, default="auto"
        The density of the table; with "auto" a mixture of three Gaussians whose
        covariances are chosen on validation rows.
    gamma : float, default=0.01
        Initial value of the paper's regulariser: the variance of a noise on observed
        values, on the standardised scale.
    train_density : bool, default=True
        Train the density with the networks, at a tenth of their learning rate; else it
        stays as EM has found it.
    density_loss_weight : float, default=0.1
        Weight in the loss of the negative log likelihood of an observed cell, which
        keeps the trained density a density of the data.
    indicator : bool or "auto", default=False
        Whether the networks get missing-value indicators: of all columns with missing
        values, of none, or of those whose missingness is associated with the target by
        a test.
    mask_augmentation : float, default=0.0
        Mean fraction of a row's values that are masked in training on top of what is
        missing, others in each step and at another rate in each row. From 0 to 0.5.
    max_categories : int, default=32
        Largest number of categories of a column; the rarest beyond are pooled.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are scaled: by mean and standard deviation, by median and
        interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all.
    on_unseen_missing : {"warn", "use", "raise"}, default="warn"
        What to do about missing values, at prediction, in a column that had none in
        training: warn and use them, use them, or raise an error.
    missing_columns : {"raise", "use"}, default="raise"
        What to do about frames, after training, that lack a column: raise an error, or
        use them, the column missing in each row. Columns are found by name.
    n_networks : int, default=1
        Number of networks; each has other validation rows, and their predictions are
        averaged.
    max_epochs : int, default=200
        Largest number of epochs. Training stops earlier, when the loss on validation
        rows stops falling; the best weights are kept.
    batch_size : int or "auto", default="auto"
        Rows of a training step; with "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.01
        Learning rate of AdamW.
    weight_decay : float, default=0.0001
        Weight decay of AdamW on the networks; the density has none.
    validation_fraction : float, default=0.2
        Fraction of the rows that each network is validated on, from 0.01 to 0.5;
        rounded to one over a whole number.
    time_limit : float, default=None
        Seconds from the start of ``fit`` after which no step of training is made, with
        a warning; at least one is. EM ends after a third of it, with a warning too,
        unless there is a checkpoint.
    propagate : {"auto", "expectation", "sample"}, default="auto"
        What predictions are made of: the mean response of the radial units, as in the
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
    >>> from lacunet import LacunetRBFClassifier
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(300, 2)
    >>> y = (X**2).sum(1) > 1
    >>> X[rng.rand(300, 2) < 0.2] = np.nan
    >>> model = LacunetRBFClassifier(n_units=20, max_epochs=50, random_state=0)
    >>> model.fit(X, y).predict([[0.0, 0.0], [3.0, np.nan]])
    array([False,  True])
    """

    n_units: int = 50
    normalise: bool = True
    density: Any = "auto"
    gamma: float = 0.01
    train_density: bool = True
    density_loss_weight: float = 0.1
    indicator: Indicator = False
    mask_augmentation: float = 0.0
    max_categories: int = 32
    scale: Method = "standard"
    on_unseen_missing: Literal["warn", "use", "raise"] = "warn"
    missing_columns: Literal["raise", "use"] = "raise"
    n_networks: int = 1
    max_epochs: int = 200
    batch_size: int | Literal["auto"] = "auto"
    lr: float = 1e-2
    weight_decay: float = 1e-4
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

    def _body(self, out_features: int) -> BodyShape:
        return BodyShape((self.n_units,), out_features, normalise=bool(self.normalise))

    @torch.no_grad()
    def _initialise(self, module: ViewEnsemble, samples: Samples, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        x = samples.x[:, : len(self._inputs.sources)]
        empty = np.isnan(x).all(0)
        variances = np.ones(x.shape[1])
        variances[~empty] = np.nanvar(x[:, ~empty], axis=0)
        scale = _INITIAL_VARIANCE * np.maximum(variances, _LEAST_VARIANCE)
        for view in module:
            first = view.networks.first
            assert isinstance(first, ExpectedRBF)
            n_units = len(first.centres)
            chosen = torch.randint(len(x), (n_units,), generator=generator)
            rows = to_tensor(x[chosen.numpy()], first.centres.device)
            first.centres.copy_(view.density.condition(rows).mean())
            drawn = torch.randn(
                first.centres.shape, generator=generator, dtype=first.centres.dtype
            )
            factors = drawn.abs().clamp_min(_LEAST_VARIANCE)
            first.log_variances.copy_(factors.log() + torch.from_numpy(np.log(scale)))
