"""The autoencoders of table 1, their errors, and the authors' own recipe."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from lacunet import IncompleteGaussianMixture, LacunetAutoencoder
from lacunet.baselines import set_nested
from lacunet.density import GaussianMixtureDensity
from lacunet.nn import ExpectedLinear
from reproduction.protocols import PROTOCOLS, Images, load_images
from reproduction.rivals import (
    ContextEncoder,
    DropoutAutoencoder,
    FilledAutoencoder,
    NeighbourImputer,
)
from reproduction.tables import ERRORS, SHORT, Experiment, Job

N_COMPONENTS = 5  # as in the authors' code
N_FACTORS = 50
# Variance of pixels that is added to theirs, or those that are nearly always black
# would weigh most.
NOISE = 0.02
N_SHOWN = 20  # images of the supplement's figure

# First layer ReLU, the rest sigmoid; pixels have one scale.
NETWORK = {
    "hidden_layer_sizes": (256, 128, 64, 128, 256),
    "activation": ("relu", "sigmoid"),
    "out_activation": "sigmoid",
    "scale": "none",
}


def measure_errors(
    experiment: Experiment, job: Job
) -> tuple[dict[str, float], dict[str, Any], np.ndarray]:
    """Train an autoencoder on images with patches, and score its reconstructions.

    Returns
    -------
    values : dict of str to float
        By metric.
    params : dict
        Numbers of images and epochs.
    images : ndarray of shape (20, pixels)
        Reconstructions of the first test images.
    """
    budget = experiment.budget(job.protocol, job.data)
    images = load_images(job.dataset, job.seed, budget.n_rows)
    if PROTOCOLS[job.protocol].all_rows:
        model: Any = AuthorsAutoencoder(N_COMPONENTS, random_state=job.seed)
        set_nested(model, **budget.parameters_of(job.method))
    else:
        model = AUTOENCODERS[job.method](**NETWORK, random_state=job.seed)
        side = math.isqrt(images.train.shape[1])
        given = {**experiment.parameters, "image_shape": (side, side)}
        set_nested(model, **{**given, **budget.parameters_of(job.method)})
    complete = {"X_complete": images.original} if job.method == "ce" else {}
    model.fit(images.train, **complete)
    reconstructed = model.reconstruct(images.test)
    params = {"n_train": len(images.train), "n_epochs": len(model.history_)}
    return find_errors(reconstructed, images), params, reconstructed[:N_SHOWN]


def find_errors(reconstructed: np.ndarray, images: Images) -> dict[str, float]:
    """Return the squared error in total, inside the patches and outside.

    Each is divided by the number of all pixels, as the paper's figures add up.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction.autoencoders import find_errors
    >>> from reproduction.protocols import Images
    >>> test, whole = np.array([[np.nan, 0.0]]), np.array([[1.0, 0.0]])
    >>> find_errors(np.array([[0.5, 0.25]]), Images(test, test, whole, whole))
    {'mse': 0.15625, 'mse_inside': 0.125, 'mse_outside': 0.03125}
    """
    squares = np.square(reconstructed.astype(np.float64) - images.original_test)
    missing = np.isnan(images.test)
    inside = float(squares[missing].sum() / squares.size)
    outside = float(squares[~missing].sum() / squares.size)
    return dict(zip(ERRORS, (inside + outside, inside, outside), strict=True))


def _published(
    strategy: Any, *, train_density: bool, **fixed: Any
) -> Callable[..., Any]:
    """Return how to make the paper's method, with its density started in some way."""

    def make(**options: Any) -> Any:
        return LacunetAutoencoder(
            density=IncompleteGaussianMixture(N_COMPONENTS, strategy=strategy),
            gamma=1.0,
            train_density=train_density,
            density_loss_weight=0.0,
            mask_augmentation=0.0,
            **{**options, **fixed},
        )

    return make


def _make_lacunet(**options: Any) -> Any:
    """Return the same network with what goes beyond the paper.

    A density with factors, by EM on all incomplete images, gamma near 0, and small
    patches hidden in training, in a tenth of the images: enough to learn what stands
    behind a patch, and few enough not to lose what stands around it. That was chosen by
    trials on validation images, whose patches are known. In more images the error is
    lower inside and higher outside: ``python -m benchmarks.digits``, where the results
    that are kept are of larger patches.
    """
    density = IncompleteGaussianMixture(
        covariance_type="factor", rank=N_FACTORS, reg_covar=NOISE, tol=1.0
    )
    return LacunetAutoencoder(
        density=density,
        gamma=0.1,
        train_density=False,
        density_loss_weight=0.0,
        **{"mask_augmentation": 0.05, "masked_fraction": 0.1, **options},
    )


def _make_wide(**options: Any) -> Any:
    """Return ours with a network that need not be the paper's.

    It has room for more: larger patches are hidden, in a quarter of the images.
    """
    wide = {"hidden_layer_sizes": (512, 256, 128, 256, 512), "activation": "gelu"}
    hidden = {"mask_augmentation": 0.2, "masked_fraction": 0.25}
    return _make_lacunet(**{**options, **wide, **hidden})


AUTOENCODERS: Mapping[str, Callable[..., Any]] = {
    "knn": lambda **options: FilledAutoencoder(NeighbourImputer(5), **options),
    "mean": FilledAutoencoder,
    "dropout": DropoutAutoencoder,
    "paper": _published("mean", train_density=True),
    "ce": ContextEncoder,
    "em-frozen": _published("em", train_density=False),
    "em-joint": _published("em", train_density=True),
    "lacunet": _make_lacunet,
    "lacunet-wide": _make_wide,
    SHORT: _make_lacunet,
    "paper-relu": _published("mean", train_density=True, activation="relu"),
}


class AuthorsAutoencoder(BaseEstimator):
    """The network of table 1, with the start and the steps of the authors' code.

    Dark on white, where the data are white on dark. The mixture is fitted to images
    filled by their means; gamma and all biases start at random; RMSProp takes the
    images in their order; there is no validation and no early stopping. What was read
    of that code is described in words here, and nothing of it is copied.

    Parameters
    ----------
    n_components : int, default=5
        Number of Gaussians.
    hidden_layer_sizes : tuple of int, default=(256, 128, 64, 128, 256)
        Units of the hidden layers.
    max_epochs : int, default=250
        Passes over the images.
    batch_size : int, default=64
        Images in a step.
    lr : float, default=0.01
        Learning rate.
    random_state : int, default=0
        Seed of all that is drawn.

    Attributes
    ----------
    module_ : torch.nn.Sequential
        The network.
    history_ : list of float
        Mean loss of each epoch.
    """

    module_: nn.Sequential
    history_: list[float]

    def __init__(
        self,
        n_components: int = 5,
        *,
        hidden_layer_sizes: tuple[int, ...] = (256, 128, 64, 128, 256),
        max_epochs: int = 250,
        batch_size: int = 64,
        lr: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.lr = lr
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Train the network to reconstruct what is observed, images from 0 to 1."""
        white = 1.0 - X.astype(np.float32)
        generator = torch.Generator().manual_seed(self.random_state)
        self.module_ = self._build(white, generator)
        parameters = list(self.module_.parameters())
        optimiser = torch.optim.RMSprop(parameters, lr=self.lr, alpha=0.9, eps=1e-10)
        for each in parameters:  # mean squares start at one, as in TensorFlow 1
            optimiser.state[each] = {
                "step": torch.zeros(()),
                "square_avg": torch.ones_like(each),
            }
        rows = torch.from_numpy(white)
        self.history_ = []
        for _ in range(self.max_epochs):
            total = 0.0
            for batch in rows.split(self.batch_size):
                loss = self._loss(batch)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += float(loss.detach()) * len(batch) / len(rows)
            self.history_.append(total)
        return self

    def reconstruct(self, X: np.ndarray) -> np.ndarray:
        """Return all pixels as the autoencoder reconstructs them."""
        rows = torch.from_numpy(1.0 - X.astype(np.float32))
        with torch.inference_mode():
            found = torch.cat([self.module_(block) for block in rows.split(1000)])
        return 1.0 - found.numpy()

    def _loss(self, batch: Tensor) -> Tensor:
        observed = ~torch.isnan(batch)
        gaps = torch.where(observed, self.module_(batch) - batch.nan_to_num(), 0.0)
        return gaps.square().mean()

    def _build(self, rows: np.ndarray, generator: torch.Generator) -> nn.Sequential:
        """Return the network at its start.

        Weights are drawn by the number of inputs, biases are standard normal.
        """
        dtype = torch.float32
        mixture = IncompleteGaussianMixture(
            self.n_components, strategy="mean", random_state=self.random_state
        )
        gamma = float((1.0 + torch.randn((), generator=generator)).abs())
        density = GaussianMixtureDensity.from_estimator(
            mixture.fit(rows), gamma=gamma, dtype=dtype
        )
        sizes = (rows.shape[1], *self.hidden_layer_sizes, rows.shape[1])
        layers: list[Any] = [
            ExpectedLinear(
                sizes[0], sizes[1], density, generator=generator, dtype=dtype
            )
        ]
        for pair in zip(sizes[1:-1], sizes[2:], strict=True):
            # Else it would draw from the global generator.
            linear = nn.utils.skip_init(nn.Linear, *pair, dtype=dtype)
            layers += [linear, nn.Sigmoid()]
        for layer in layers[:1] + layers[1::2]:
            std = math.sqrt(2.0 / layer.in_features)
            with torch.no_grad():
                nn.init.trunc_normal_(
                    layer.weight, std=std, a=-2 * std, b=2 * std, generator=generator
                )
                nn.init.normal_(layer.bias, generator=generator)
        return nn.Sequential(*layers)
