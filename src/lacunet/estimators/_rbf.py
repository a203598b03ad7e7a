"""The paper's radial basis function network."""

from typing import Any, Literal

import numpy as np
import torch

from lacunet.estimators._classifier import LabelledEstimator
from lacunet.estimators._fitting import Samples, to_tensor
from lacunet.estimators._inputs import Indicator
from lacunet.estimators._network import BodyShape, Branches
from lacunet.estimators._scaling import Method
from lacunet.nn import ExpectedRBF

# Of the variances of the columns, where radial units start: the authors' units start
# at |N(0, 1)| on columns from -1 to 1, whose variance is about a fifth. Narrower ones
# answer to the nearest centre alone, and never learn better.
_START_SPREAD = 5.0
# The least that is drawn, and the least that a column's variance counts for.
_LEAST_VARIANCE = 1e-2


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
        covariances are chosen by rows held back.
    gamma : float, default=0.01
        Start of the paper's regulariser: the variance of a noise on observed values,
        on the standardised scale.
    train_density : bool, default=True
        Train the density with the networks, at a tenth of their learning rate; else it
        stays as EM has found it.
    density_loss_weight : float, default=0.1
        Weight in the loss of the negative log likelihood of an observed cell, which
        keeps the trained density a density of the data.
    indicator : bool or "auto", default=False
        Whether the networks are told which values are missing: of all columns with
        holes, of none, or of those whose holes go with the target by a test.
    mask_augmentation : float, default=0.0
        Mean share of a row's values that are hidden on top in training, others in each
        step and at another rate in each row. From 0 to 0.5.
    max_categories : int, default=32
        Most levels of a category; the rarest beyond are pooled.
    scale : {"standard", "robust", "quantile", "none"}, default="standard"
        How numbers are brought to one scale: by mean and standard deviation, by median
        and interquartile range, by a map of their quantiles to those of the normal
        distribution, or not at all.
    on_unseen_missing : {"warn", "use", "raise"}, default="warn"
        What to do about holes, at prediction, in a column that had none in training.
    n_networks : int, default=1
        Number of networks; each holds other rows back, and their predictions are
        averaged.
    max_epochs : int, default=200
        Training stops earlier, when the loss on rows held back stops falling; the best
        weights are kept.
    batch_size : int or "auto", default="auto"
        With "auto" from 64 to 512, by the number of rows.
    lr : float, default=0.01
        Learning rate of AdamW.
    weight_decay : float, default=0.0001
        Of the networks; the density has none.
    validation_fraction : float, default=0.2
        Share of the rows that each network holds back, from 0.01 to 0.5;
        rounded to one part in a whole number.
    time_limit : float, default=None
        Seconds from the start of ``fit`` after which no epoch of training begins; EM is
        not cut short, and at least one epoch is run.
    propagate : {"expectation", "sample"}, default="expectation"
        What predictions are made of: the mean response of the radial units, as in the
        paper, or the mean prediction for draws of what is missing. The latter is slower
        and knows better what it does not know, where much is missing that was not in
        training.
    n_samples : int, default=64
        Number of draws; the same for each row, and spread evenly.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    device : {"cpu", "cuda", "mps", "auto"}, default="cpu"
    verbose : int, default=0
        Show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Seed of all that is drawn. The order of the rows has no influence.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    module_ : torch.nn.Module
        From the encoded table to the outputs of all networks, one row of them each.
    density_ : GaussianMixtureDensity or MixedMixtureDensity
        Of the encoded table.
    history_ : list of Epoch
        Epoch, training and validation loss, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a frame.

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

    def __init__(
        self,
        *,
        n_units: int = 50,
        normalise: bool = True,
        density: Any = "auto",
        gamma: float = 0.01,
        train_density: bool = True,
        density_loss_weight: float = 0.1,
        indicator: Indicator = False,
        mask_augmentation: float = 0.0,
        max_categories: int = 32,
        scale: Method = "standard",
        on_unseen_missing: Literal["warn", "use", "raise"] = "warn",
        n_networks: int = 1,
        max_epochs: int = 200,
        batch_size: int | Literal["auto"] = "auto",
        lr: float = 1e-2,
        weight_decay: float = 1e-4,
        validation_fraction: float = 0.2,
        time_limit: float | None = None,
        propagate: Literal["expectation", "sample"] = "expectation",
        n_samples: int = 64,
        class_weight: Any = None,
        device: Literal["cpu", "cuda", "mps", "auto"] = "cpu",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_units = n_units
        self.normalise = normalise
        self.density = density
        self.gamma = gamma
        self.train_density = train_density
        self.density_loss_weight = density_loss_weight
        self.indicator = indicator
        self.mask_augmentation = mask_augmentation
        self.max_categories = max_categories
        self.scale = scale
        self.on_unseen_missing = on_unseen_missing
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

    def _body(self, out_features: int) -> BodyShape:
        return BodyShape((self.n_units,), out_features, normalise=bool(self.normalise))

    @torch.no_grad()
    def _start(self, module: Branches, samples: Samples, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for branch in module:
            first = branch.networks.first
            assert isinstance(first, ExpectedRBF)
            n_units = len(first.centres)
            chosen = torch.randint(len(samples.x), (n_units,), generator=generator)
            rows = to_tensor(samples.x[chosen.numpy()], first.centres.device)
            first.centres.copy_(branch.density.condition(rows).mean())
            drawn = torch.randn(
                first.centres.shape, generator=generator, dtype=first.centres.dtype
            )
            spread = drawn.abs().clamp_min(_LEAST_VARIANCE)
            scale = _START_SPREAD * _column_variances(samples.x)
            first.log_variances.copy_(spread.log() + torch.from_numpy(np.log(scale)))


def _column_variances(x: np.ndarray) -> np.ndarray:
    """Return the variances of the columns' observed cells; one where there is none."""
    empty = np.isnan(x).all(0)
    variances = np.ones(x.shape[1])
    variances[~empty] = np.nanvar(x[:, ~empty], axis=0)
    floored: np.ndarray = np.maximum(variances, _LEAST_VARIANCE)
    return floored
