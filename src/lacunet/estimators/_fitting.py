"""From encoded rows to trained networks."""

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lacunet.estimators._checkpoint import CheckpointFile
from lacunet.estimators._mixtures import (
    find_edges,
    fit_density,
    fit_independent,
    fit_levels,
    some_rows,
)
from lacunet.estimators._network import DTYPE, BodyShape, Branch, Branches, density_of
from lacunet.estimators._rows import deal_folds, find_copies
from lacunet.estimators._task import Criterion, Extras, Folds, NetworkTask, Rows
from lacunet.exceptions import warn_user
from lacunet.functional import FactorComponents, MixedComponents
from lacunet.nn import ExpectedLinear
from lacunet.nn._levels import Levels
from lacunet.training import Epoch, Plan, train

# Of the density's learning rate: EM has put it near to where it belongs.
_DENSITY_PACE = 0.1
# From here on networks differ less, and an epoch has more steps.
_MANY_ROWS = 5_000
# Fewer rows than these are not held back: there would be too few to learn from.
_FEWEST_ROWS = 10


@dataclass(frozen=True)
class Samples:
    """Encoded rows and what is asked of them, as arrays.

    Attributes
    ----------
    x : ndarray of shape (rows, width)
    targets : ndarray of shape (rows,) or (rows, outputs)
        Indices of classes, or numbers.
    weights : ndarray of shape (rows,)
    """

    x: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> "Samples":
        """Return some rows."""
        return Samples(self.x[rows], self.targets[rows], self.weights[rows])

    def to_rows(self, device: torch.device) -> Rows:
        """Return them as tensors, numbers in single precision."""
        whole = self.targets.dtype.kind == "i"
        dtype = torch.int64 if whole else torch.float32
        return Rows(
            to_tensor(self.x, device),
            torch.as_tensor(self.targets, dtype=dtype, device=device),
            to_tensor(self.weights, device),
        )


def to_tensor(array: np.ndarray, device: torch.device) -> Tensor:
    """Return an array in single precision on a device."""
    return torch.as_tensor(array, dtype=DTYPE, device=device)


@dataclass(frozen=True)
class Setting:
    """All that a training is told beside its rows.

    Attributes
    ----------
    parameters : dict
        Of the estimator.
    sizes : tuple of int
        Levels of the categories of the encoded rows.
    n_numeric : int
    sources : ndarray of int of shape (width,)
        The original column of each encoded one, -1 where nothing may be hidden.
    body : BodyShape
    criterion : Criterion
    device : torch.device
    seed : int
    """

    parameters: dict[str, Any]
    sizes: tuple[int, ...]
    n_numeric: int
    sources: np.ndarray
    body: BodyShape
    criterion: Criterion
    device: torch.device
    seed: int

    def after(self, seconds: float) -> "Setting":
        """Return the setting with so much of its time limit gone."""
        limit = self.parameters["time_limit"]
        left = None if limit is None else max(0.0, limit - seconds)
        return replace(self, parameters={**self.parameters, "time_limit": left})

    def seeds(self, stage: int) -> int:
        """Return the seed of a stage: each draws from a source of its own."""
        return int(np.random.RandomState(self.seed).randint(2**31 - 1, size=9)[stage])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Compute as if the caller had not changed how torch does."""
    away = torch.get_default_device().type != "cpu"
    # Only if need be: each call of torch is slower under a device.
    device = torch.device("cpu") if away else nullcontext()
    with torch.inference_mode(False), torch.enable_grad(), device:
        yield


def build_branches(
    setting: Setting, samples: Samples, unlabelled: np.ndarray
) -> Branches:
    """Fit the densities of all views, and put networks behind them.

    With ``density="auto"`` there are two views, if there are networks for both: numbers
    as they are, under Gaussians, and numbers as levels, under latent classes. Where
    columns depend on each other so plainly that the Gaussians have factors, the second
    view are Gaussians without: levels would lose what the columns say of each other.
    """
    parameters = setting.parameters
    generator = torch.Generator().manual_seed(setting.seeds(0))
    rows = np.concatenate([samples.x, unlabelled]) if len(unlabelled) else samples.x
    n_networks = parameters["n_networks"]
    if n_networks == "auto":
        n_networks = 10 if len(samples.x) < _MANY_ROWS else 4
    n_second = n_networks // 2 if _has_second_view(setting) else 0
    branches = [_numbers_branch(setting, rows, n_networks - n_second, generator)]
    if n_second:
        dependent = branches[0].shape.covariance_type == "factor"
        second = _independent_branch if dependent else _levels_branch
        branches.append(second(setting, rows, n_second, generator))
    n_columns = len(np.unique(setting.sources))
    for branch in branches:
        _widen_start(branch, n_columns)
    return Branches(branches).to(setting.device)


@torch.no_grad()
def _widen_start(branch: Branch, n_columns: int) -> None:
    """Start as wide as if a category were one input: one of its levels is one."""
    if isinstance(first := branch.networks.first, ExpectedLinear):
        first.weight.mul_(math.sqrt(first.in_features / n_columns))


def _has_second_view(setting: Setting) -> bool:
    # Without numbers both views would be the same.
    auto = setting.parameters["density"] == "auto"
    return auto and setting.n_numeric > 0 and setting.body.normalise is None


def _numbers_branch(
    setting: Setting, rows: np.ndarray, n_networks: int, generator: torch.Generator
) -> Branch:
    parameters = setting.parameters
    components = fit_density(
        parameters["density"],
        rows,
        setting.sizes,
        setting.seeds(1),
        for_network=True,
    )
    trainable: bool | tuple[str, ...] = parameters["train_density"]
    if trainable and parameters["density"] == "auto":
        trainable = _trainable_parts(components)
    density = density_of(components, gamma=parameters["gamma"], trainable=trainable)
    return Branch(nn.Identity(), setting.body.build(density, n_networks, generator))


def _trainable_parts(components: MixedComponents) -> bool | tuple[str, ...]:
    """Leave covariances with factors as they are: their gradients take half of a step.

    EM has learned the dependence they stand for.
    """
    if isinstance(components.gaussian, FactorComponents):
        return ("weights", "means", *(["probabilities"] if components.sizes else []))
    return True


def _independent_branch(
    setting: Setting, rows: np.ndarray, n_networks: int, generator: torch.Generator
) -> Branch:
    parameters = setting.parameters
    components = fit_independent(rows, setting.sizes, setting.seeds(2))
    density = density_of(
        components, gamma=parameters["gamma"], trainable=parameters["train_density"]
    )
    return Branch(nn.Identity(), setting.body.build(density, n_networks, generator))


def _levels_branch(
    setting: Setting, rows: np.ndarray, n_networks: int, generator: torch.Generator
) -> Branch:
    parameters = setting.parameters
    edges = find_edges(rows[:, : setting.n_numeric])
    view = Levels([len(column) for column in edges], dtype=DTYPE)
    view.set_edges(edges)
    rows = some_rows(rows, setting.seeds(2))
    seen = view(torch.from_numpy(rows.astype(np.float32))).double().numpy()
    sizes = (*view.sizes, *setting.sizes)
    components = fit_levels(seen, sizes, setting.seeds(2))
    density = density_of(
        components, gamma=parameters["gamma"], trainable=parameters["train_density"]
    )
    return Branch(view, setting.body.build(density, n_networks, generator))


def fit_branches(
    module: Branches,
    setting: Setting,
    samples: Samples,
    *,
    valid: Samples | None,
    unlabelled: np.ndarray,
    store: CheckpointFile | None,
) -> list[Epoch]:
    """Train the networks, and leave them with their best weights."""
    parameters = setting.parameters
    device = setting.device
    extras = Extras(
        parameters["mask_augmentation"],
        torch.as_tensor(setting.sources, device=device),
        parameters["density_loss_weight"] if parameters["train_density"] else 0.0,
        to_tensor(unlabelled, device),
        parameters.get("image_shape"),
        parameters.get("masked_fraction", 1.0),
    )
    task = NetworkTask(
        module,
        samples.to_rows(device),
        _make_folds(setting, samples, held_back=valid is None),
        None if valid is None else valid.to_rows(device),
        setting.criterion,
        extras,
    )
    history = train(
        task,
        _optimiser(parameters, module),
        make_plan(parameters, len(samples.x)),
        torch.Generator().manual_seed(setting.seeds(3)),
        store=store,
        verbose=bool(parameters["verbose"]),
    )
    module.shares.copy_(torch.tensor(task.blend()))
    module.eval()
    return history


def _make_folds(setting: Setting, samples: Samples, *, held_back: bool) -> Folds:
    copies = find_copies(samples.x, samples.targets)
    n_rows = int(copies.max()) + 1
    n_folds = max(2, round(1 / setting.parameters["validation_fraction"]))
    if held_back and n_rows < _FEWEST_ROWS:
        held_back = False
        msg = (
            f"Got {n_rows} distinct rows, too few to hold any back: training stops by "
            f"the loss on its own rows. Give X_val, or at least {_FEWEST_ROWS} rows."
        )
        warn_user(msg)
    if not held_back:
        nowhere = torch.full((len(samples.x),), -1, device=setting.device)
        return Folds(nowhere, n_folds)
    strata = samples.targets if samples.targets.dtype.kind == "i" else None
    folds = deal_folds(copies, strata, n_folds, setting.seeds(4))
    return Folds(torch.as_tensor(folds, device=setting.device), n_folds)


def _optimiser(parameters: dict[str, Any], module: Branches) -> torch.optim.Optimizer:
    """Train densities at a lower learning rate, without decay: zero means nothing."""
    of_densities = [p for branch in module for p in branch.density.parameters()]
    known = {id(parameter) for parameter in of_densities}
    of_networks = [p for p in module.parameters() if id(p) not in known]
    lr = float(parameters["lr"])
    groups: list[dict[str, Any]] = [
        {"params": of_networks, "weight_decay": float(parameters["weight_decay"])}
    ]
    if parameters["train_density"]:
        groups.append(
            {"params": of_densities, "lr": _DENSITY_PACE * lr, "weight_decay": 0.0}
        )
    return torch.optim.AdamW(groups, lr=lr)


def make_plan(parameters: dict[str, Any], n_rows: int) -> Plan:
    """Return how long to train, in which batches, on so many rows."""
    batch_size = parameters["batch_size"]
    if batch_size == "auto":
        # Some thirty steps an epoch, in batches that are neither noisy nor slow.
        batch_size = int(min(512, max(64, 2 ** round(math.log2(n_rows / 32)))))
    # A cycle is run to its end: its last steps are the smallest, and the best.
    cycle = parameters.get("schedule") == "one-cycle"
    patience = 15 if n_rows < _MANY_ROWS else 8
    return Plan(
        max_epochs=parameters["max_epochs"],
        batch_size=int(batch_size),
        patience=parameters["max_epochs"] if cycle else patience,
        tol=0.0 if cycle else 1e-4,
        time_limit=parameters["time_limit"],
        one_cycle=cycle,
    )
