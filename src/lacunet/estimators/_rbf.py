"""The paper's radial basis function network."""

from typing import Any, Literal

import torch

from lacunet.estimators._classifier import LabelledEstimator
from lacunet.estimators._fitting import Samples, to_tensor
from lacunet.estimators._inputs import Indicator
from lacunet.estimators._network import BodyShape, Branches
from lacunet.nn import ExpectedRBF

# Below this a radial unit answers to its own centre alone.
_LEAST_VARIANCE = 1e-2


class LacunetRBFClassifier(LabelledEstimator):
    """The paper's radial basis function network, on rows with missing values.

    Radial units with diagonal variances, expected over what is missing (theorem 3.2),
    then a linear layer and softmax. Centres start at training rows, filled by the
    density; variances start at ``|N(0, 1)|``.
    """

    def __init__(
        self,
        *,
        n_units: int = 50,
        normalise: bool = True,
        density: Any = "auto",
        gamma: float = 0.01,
        train_density: bool = True,
        density_loss_weight: float = 0.0,
        indicator: Indicator = False,
        mask_augmentation: float = 0.0,
        max_categories: int = 32,
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
            spread = torch.randn(
                first.centres.shape, generator=generator, dtype=first.centres.dtype
            ).abs()
            first.log_variances.copy_(spread.clamp_min(_LEAST_VARIANCE).log())
