"""The autoencoder of table 1 as the authors' released code trains it."""

import math
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from lacunet.density import GaussianMixtureDensity, IncompleteGaussianMixture
from lacunet.nn import ExpectedLinear

DTYPE = torch.float32
# Images that are given back at once.
_BLOCK = 1000


class AuthorsAutoencoder(BaseEstimator):
    """The network of table 1, with the start and the steps of the authors' code.

    Dark on white, where the data are white on dark. The mixture is fitted to images
    filled by their means; gamma and all biases start at random; RMSProp takes the
    images in their order, and nothing is held back, chosen or stopped. What was read
    of that code is told in words here, and nothing of it is copied.

    Parameters
    ----------
    n_components : int, default=5
    hidden_layer_sizes : tuple of int, default=(256, 128, 64, 128, 256)
    max_epochs : int, default=250
    batch_size : int, default=64
    lr : float, default=0.01
    random_state : int, default=0

    Attributes
    ----------
    module_ : torch.nn.Sequential
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
        """Train the network to give back what is observed.

        Parameters
        ----------
        X : ndarray of shape (images, pixels)
            From 0 to 1, NaN where a pixel is missing.
        y : Ignored

        Returns
        -------
        self
        """
        white = 1.0 - X.astype(np.float32)
        generator = torch.Generator().manual_seed(self.random_state)
        self.module_ = self._build(white, generator)
        optimiser = _make_optimiser(self.module_, self.lr)
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
        """Return all pixels as the autoencoder gives them back.

        Parameters
        ----------
        X : ndarray of shape (images, pixels)

        Returns
        -------
        ndarray of shape (images, pixels)
        """
        rows = torch.from_numpy(1.0 - X.astype(np.float32))
        with torch.inference_mode():
            given_back = torch.cat([self.module_(part) for part in rows.split(_BLOCK)])
        return 1.0 - given_back.numpy()

    def _loss(self, batch: Tensor) -> Tensor:
        observed = ~torch.isnan(batch)
        gaps = torch.where(observed, self.module_(batch) - batch.nan_to_num(), 0.0)
        return gaps.square().mean()

    def _build(self, rows: np.ndarray, generator: torch.Generator) -> nn.Sequential:
        mixture = IncompleteGaussianMixture(
            self.n_components, strategy="mean", random_state=self.random_state
        )
        gamma = float((1.0 + torch.randn((), generator=generator)).abs())
        density = GaussianMixtureDensity.from_estimator(
            mixture.fit(rows), gamma=gamma, dtype=DTYPE
        )
        sizes = (rows.shape[1], *self.hidden_layer_sizes, rows.shape[1])
        layers: list[nn.Module] = [
            ExpectedLinear(
                sizes[0], sizes[1], density, generator=generator, dtype=DTYPE
            )
        ]
        for pair in zip(sizes[1:-1], sizes[2:], strict=True):
            # Else it would draw from the global generator.
            linear = nn.utils.skip_init(nn.Linear, *pair, dtype=DTYPE)
            layers += [linear, nn.Sigmoid()]
        for layer in layers[:1] + layers[1::2]:
            _start(layer, generator)
        return nn.Sequential(*layers)


@torch.no_grad()
def _start(layer: Any, generator: torch.Generator) -> None:
    """Start weights by the number of inputs, and biases at standard normal values."""
    spread = math.sqrt(2.0 / layer.in_features)
    nn.init.trunc_normal_(
        layer.weight, std=spread, a=-2 * spread, b=2 * spread, generator=generator
    )
    nn.init.normal_(layer.bias, generator=generator)


def _make_optimiser(module: nn.Module, lr: float) -> torch.optim.Optimizer:
    """Return RMSProp whose mean squares start at one, as in TensorFlow 1."""
    optimiser = torch.optim.RMSprop(module.parameters(), lr=lr, alpha=0.9, eps=1e-10)
    for parameter in module.parameters():
        optimiser.state[parameter] = {
            "step": torch.zeros(()),
            "square_avg": torch.ones_like(parameter),
        }
    return optimiser
