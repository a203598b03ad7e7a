"""From encoded rows to trained networks: views, losses, validation, optimiser."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet._device import on_cpu
from lacunet._remember import remembering
from lacunet.density import IncompleteGaussianMixture
from lacunet.estimators._densities import (
    DTYPE,
    Watch,
    build_density,
    fill_bounded,
    fit_classes,
    fit_density,
    some_rows,
    split_bounds,
)
from lacunet.estimators._recipe import RECIPE
from lacunet.estimators._sampling import deal_folds, find_copies, hide
from lacunet.estimators._saving import CheckpointFile
from lacunet.estimators._views import (
    NUMBERS_AT_ONCE,
    Bins,
    BodyShape,
    Histogram,
    View,
    ViewEnsemble,
    add_edges,
    find_bins,
    find_codes,
    find_grid,
    put_in_bins,
    rule_out,
)
from lacunet.exceptions import warn_user
from lacunet.functional import FactorComponents
from lacunet.nn import ExpectedBins, ExpectedLinear, RowGenerator
from lacunet.training import AdamW, Epoch, Plan, train

# Of the networks' learning rate: EM has put the density near to where it belongs.
_DENSITY_LEARNING_RATE = 0.1
# With fewer there are no validation rows: too few would be left to learn from.
_FEWEST_ROWS = 10
# The loss, summed over rows, that one view alone must save to be taken alone.
_EVEN_ROWS = 5.0


@dataclass(frozen=True)
class Criterion:
    """How outputs are scored."""

    # From outputs (networks, batch, out) and targets (batch, *) to (networks, batch).
    losses: Callable[[Tensor, Tensor], Tensor]
    # From outputs to predictions of the same shape, which may be averaged.
    predict: Callable[[Tensor], Tensor]
    # From averaged predictions (batch, out) and targets to losses (batch,).
    score: Callable[[Tensor, Tensor], Tensor]


def _cross_entropies(outputs: Tensor, targets: Tensor) -> Tensor:
    repeated = targets.expand(len(outputs), -1).flatten()
    losses = functional.cross_entropy(outputs.flatten(0, 1), repeated, reduction="none")
    return losses.view(outputs.shape[:2])


def _log_losses(probabilities: Tensor, targets: Tensor) -> Tensor:
    chosen = probabilities.gather(1, targets[:, None])[:, 0]
    return -chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log()


def _observed_squares(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over what is observed of a row: each row counts the same."""
    observed = ~torch.isnan(targets)
    errors = torch.where(observed, outputs - targets.nan_to_num(), 0.0)
    return errors.square().sum(-1) / observed.sum(-1).clamp_min(1)


def _softmax(outputs: Tensor) -> Tensor:
    return outputs.softmax(-1)


def _identity(outputs: Tensor) -> Tensor:
    return outputs


CLASSIFICATION = Criterion(_cross_entropies, _softmax, _log_losses)
REGRESSION = RECONSTRUCTION = Criterion(_observed_squares, _identity, _observed_squares)


class Rows(NamedTuple):
    """Encoded rows and their targets, on one device."""

    x: Tensor  # (rows, width), NaN where a value is missing
    targets: Tensor  # (rows, *)
    weights: Tensor  # (rows,)


@dataclass(frozen=True)
class Samples:
    """Encoded rows and their targets, as arrays."""

    x: np.ndarray  # (rows, width)
    targets: np.ndarray  # (rows,) indices of classes, or (rows, outputs)
    weights: np.ndarray  # (rows,)

    @property
    def outputs(self) -> np.ndarray:
        """Targets as numbers, (rows, outputs), classes one-hot: bins depend on them."""
        if self.targets.dtype.kind == "i":
            n_classes = int(self.targets.max(initial=0)) + 1
            return np.asarray(np.eye(n_classes)[self.targets])
        # A missing target is put at the mean, where it moves no edge.
        return np.asarray(np.nan_to_num(self.targets))

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
    """All that a training needs beside its rows."""

    parameters: dict[str, Any]  # of the estimator
    sizes: tuple[int, ...]  # categories of the encoded rows
    n_numeric: int
    sources: np.ndarray  # the column of each input, -1 where nothing may be hidden
    body: BodyShape
    criterion: Criterion
    device: torch.device
    seed: int

    def after(self, seconds: float) -> "Setting":
        """Return the setting with this part of its time limit used up."""
        limit = self.parameters["time_limit"]
        left = None if limit is None else max(0.0, limit - seconds)
        return replace(self, parameters={**self.parameters, "time_limit": left})

    def seeds(self, stage: int) -> int:
        """Return the seed of a stage: each draws from a source of its own."""
        return int(np.random.RandomState(self.seed).randint(2**31 - 1, size=9)[stage])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore the caller's inference mode, gradient mode and default device."""
    with torch.inference_mode(False), torch.enable_grad(), on_cpu(), remembering():
        yield


# --- the views


def count_networks(
    parameters: dict[str, Any], body: BodyShape, n_rows: int, n_numeric: int
) -> tuple[int, int]:
    """Return the number of networks, and of those that see bins."""
    n_networks = parameters["n_networks"]
    if n_networks == "auto":
        many = n_rows >= RECIPE.many_rows
        n_networks = RECIPE.n_networks_of_many if many else RECIPE.n_networks
    # Without numbers both views would be the same; radial networks have one.
    two = parameters["density"] == "auto" and n_numeric and body.normalise is None
    return n_networks, n_networks // 2 if two else 0


# What a density sees of encoded rows, if that is not all.
See = Callable[[np.ndarray], np.ndarray] | None
# Given a mixture, its components fitted to some rows (None if it is fitted itself), and
# what they see of rows, it goes on with EM over all rows, and returns components.
Refine = Callable[[IncompleteGaussianMixture, Any, See], Any]


def build_views(
    setting: Setting,
    samples: Samples,
    unlabelled: np.ndarray,
    watch: Watch,
    *,
    bins: Sequence[Bins] | None = None,
    refine: Refine | None = None,
) -> ViewEnsemble:
    """Fit the densities of all views, and put networks behind them.

    With ``density="auto"`` there are two views, if there are networks for both: numbers
    as they are, under Gaussians, and numbers in bins, under latent classes. Where the
    rows are but some of those to be fitted, ``bins`` are of all of them, and ``refine``
    takes all of them into the densities.
    """
    parameters, body = setting.parameters, setting.body
    generator = torch.Generator().manual_seed(setting.seeds(0))
    rows = np.concatenate([samples.x, unlabelled]) if len(unlabelled) else samples.x
    auto = parameters["density"] == "auto"
    n_networks, n_second = count_networks(
        parameters, body, len(samples.x), setting.n_numeric
    )

    width = len(setting.sources)  # behind which may be bounds
    mixture, components = fit_density(
        parameters["density"],
        rows,
        setting.sizes,
        setting.seeds(1),
        watch,
        width=width,
    )
    if refine is not None:
        components = refine(mixture, components, None)
    trainable: bool | tuple[str, ...] = parameters["train_density"]
    if trainable and auto and isinstance(components.gaussian, FactorComponents):
        # The gradients of the factors take half of a step, and EM has learned them.
        trainable = ("weights", "means", *(["probabilities"] if setting.sizes else []))
    gamma = parameters["gamma"]
    density = build_density(components, gamma=gamma, trainable=trainable)
    networks = body.build_over(density, n_networks - n_second, generator)
    first = networks.first
    if isinstance(first, ExpectedLinear):
        # As wide as if a category were one input: one of its one-hot inputs is 1.
        n_columns = len(np.unique(setting.sources))
        with torch.no_grad():
            first.weight.mul_(math.sqrt(first.in_features / n_columns))
    views = [View(networks)]
    if n_second:
        if bins is None:
            numbers = samples.x[:, : setting.n_numeric]
            outputs = samples.outputs
            bins = find_bins(
                [
                    Histogram.of_column(x, outputs, find_grid(x[~np.isnan(x)]))
                    for x in numbers.T
                ]
            )
            if samples.x.shape[1] > width:
                ends = np.hsplit(samples.x[:, width:], 2)
                filled = fill_bounded(samples.x[:, : setting.n_numeric], *ends)
                bins = add_edges(bins, filled, *ends)
        seed = setting.seeds(2)
        chosen = some_rows(rows, seed, RECIPE.rows_of_classes)
        some, bounds = put_in_bins(chosen[:, :width], bins), chosen[:, width:]
        outside = None
        if bounds.shape[1]:
            lower, upper = np.hsplit(bounds, 2)
            outside = rule_out(bins, lower, upper, sum(setting.sizes))
        n_edges = tuple(len(column.edges) for column in bins)
        sizes = (*(n + 1 for n in n_edges), *setting.sizes)
        mixture, components = fit_classes(some, sizes, seed, watch, outside)
        if refine is not None:
            see = partial(find_codes, bins=bins, sizes=setting.sizes)
            components = refine(mixture, components, see)
        density = build_density(components, gamma=gamma, trainable=False)
        networks = body.build_over(density, n_second, generator, n_edges)
        assert isinstance(networks.first, ExpectedBins)
        networks.first.set_bins(*([*column] for column in zip(*bins, strict=True)))
        views.append(View(networks))
    return ViewEnsemble(views).to(setting.device)


# --- their training


def fit_views(
    module: ViewEnsemble,
    setting: Setting,
    samples: Samples,
    folds: "Folds",
    *,
    valid: Samples | None,
    unlabelled: np.ndarray,
    store: CheckpointFile | None,
    warm: bool,
) -> list[Epoch]:
    """Train the networks, and leave them with their best weights."""
    parameters = setting.parameters
    task = make_task(module, setting, samples, folds, valid, unlabelled)
    history = train(
        task,
        [make_optimiser(parameters, view) for view in module],
        make_plan(parameters, len(samples.x), anneal=setting.body.skip),
        torch.Generator().manual_seed(setting.seeds(3)),
        store=store,
        warm=warm,
        verbose=bool(parameters["verbose"]),
    )
    module.view_weights.copy_(torch.tensor(task.choose_view_weights()))
    module.eval()
    return history


def make_task(
    module: ViewEnsemble,
    setting: Setting,
    samples: Samples,
    folds: "Folds",
    valid: Samples | None,
    unlabelled: np.ndarray,
    whole: "Whole | None" = None,
) -> "NetworkTask":
    """Return the task of training views by the parameters of an estimator."""
    parameters, device = setting.parameters, setting.device
    return NetworkTask(
        module,
        samples.to_rows(device),
        folds,
        None if valid is None else valid.to_rows(device),
        setting.criterion,
        sources=torch.as_tensor(setting.sources, device=device),
        mask_augmentation=[_hidden_inputs(parameters, view) for view in module],
        masked_fraction=parameters.get("masked_fraction", 1.0),
        image_shape=parameters.get("image_shape"),
        density_loss_weight=parameters["density_loss_weight"],
        unlabelled=to_tensor(unlabelled, device),
        whole=whole,
    )


@dataclass(frozen=True)
class Batch:
    """Rows that are trained on at once, here and perhaps in other processes."""

    x: Tensor
    targets: Tensor
    weights: Tensor
    folds: Tensor
    generator: RowGenerator  # of what is drawn for them
    n_rows: int  # in all processes
    factor: float = 1.0  # of the loss: 0 if the rows stand for none at all

    def __len__(self) -> int:
        """Return the number of rows, in all processes."""
        return self.n_rows


class Whole(NamedTuple):
    """What is known of all rows of training, where they are not in memory."""

    n_rows: int
    fold_weights: Tensor  # (folds,), summed over the rows of each
    cells_a_row: float  # observed ones, in the mean


class Folds(NamedTuple):
    """A partition of the rows: network i of a view validates on fold i modulo n."""

    of_row: Tensor  # (rows,), -1 for rows that every network learns from
    n: int

    def validation_rows(self, view: View) -> Tensor:
        """Return which rows each network does not learn from, (networks, rows)."""
        networks = torch.arange(view.networks.n_networks, device=self.of_row.device)
        return (networks % self.n)[:, None] == self.of_row


def make_folds(setting: Setting, samples: Samples, *, validate: bool) -> Folds:
    """Deal the rows into folds; without validation, into none."""
    copies = find_copies(samples.x, samples.targets)
    n_rows = int(copies.max()) + 1
    n_folds = max(2, round(1 / setting.parameters["validation_fraction"]))
    if validate and n_rows < _FEWEST_ROWS:
        validate = False
        msg = (
            f"Got {n_rows} distinct rows, too few for validation rows: training stops "
            f"by the loss on its own rows. Give X_val, or at least {_FEWEST_ROWS} rows."
        )
        warn_user(msg)
    if not validate:
        nowhere = torch.full((len(samples.x),), -1, device=setting.device)
        return Folds(nowhere, n_folds)
    strata = samples.targets if samples.targets.dtype.kind == "i" else None
    folds = deal_folds(copies, strata, n_folds, setting.seeds(4))
    return Folds(torch.as_tensor(folds, device=setting.device), n_folds)


def make_optimiser(parameters: dict[str, Any], view: View) -> AdamW:
    """Train the density at a lower learning rate, without decay: zero means nothing."""
    of_density = [p for p in view.density.parameters() if p.requires_grad]
    known = {id(parameter) for parameter in view.density.parameters()}
    of_networks = [p for p in view.parameters() if id(p) not in known]
    lr, decay = float(parameters["lr"]), float(parameters["weight_decay"])
    slow = _DENSITY_LEARNING_RATE * lr
    return AdamW(
        [
            {"params": of_networks, "lr": lr, "weight_decay": decay},
            {"params": of_density, "lr": slow, "weight_decay": 0.0},
        ]
    )


def _hidden_inputs(parameters: dict[str, Any], view: View) -> float:
    """Return the mean fraction of a row that is hidden from networks in training."""
    rate = parameters["mask_augmentation"]
    if rate != "auto":
        return float(rate)
    if view.sees_bins:
        return RECIPE.hidden_inputs_of_bins
    return RECIPE.hidden_inputs_of_values


def make_plan(parameters: dict[str, Any], n_rows: int, *, anneal: bool = False) -> Plan:
    """Return how long to train, in which batches, on this number of rows."""
    batch_size, max_epochs = parameters["batch_size"], parameters["max_epochs"]
    if batch_size == "auto":
        # Others have some thirty steps an epoch, from 64 rows on.
        few = int(min(512, max(64, 2 ** round(math.log2(n_rows / 32)))))
        batch_size = RECIPE.batch_size(n_rows) if anneal else few
    n_steps = math.ceil(n_rows / batch_size)
    if max_epochs == "auto":
        max_epochs = RECIPE.epochs(n_steps)
    # A cycle is run to its end: its last steps are the smallest, and the best.
    cycle = parameters.get("schedule") == "one-cycle"
    plan = Plan(
        max_epochs=max_epochs,
        batch_size=int(batch_size),
        patience=max_epochs if cycle else 15 if n_rows < 5_000 else 8,
        tol=0.0 if cycle else 1e-4,
        time_limit=parameters["time_limit"],
        one_cycle=cycle,
    )
    if not anneal:
        return plan
    return replace(
        plan,
        patience=RECIPE.patience(n_steps),
        tol=0.0,
        anneal=RECIPE.anneal,
        warmup=min(RECIPE.warmup, max_epochs * n_steps // 10),
        validate_every=RECIPE.validate_every(n_steps),
    )


class NetworkTask:
    """Train each network on the rows of its folds, and validate it on the others.

    If there are rows ``valid``, all networks are validated on those instead. Rows
    ``unlabelled`` are for the density alone. If there is a ``whole``, ``rows`` are some
    of its rows, which networks are validated on; they are trained on batches given.
    """

    def __init__(
        self,
        module: ViewEnsemble,
        rows: Rows,
        folds: Folds,
        valid: Rows | None,
        criterion: Criterion,
        *,
        sources: Tensor,
        mask_augmentation: Sequence[float],
        masked_fraction: float = 1.0,
        image_shape: tuple[int, int] | None = None,
        density_loss_weight: float = 0.0,
        unlabelled: Tensor,
        whole: Whole | None = None,
    ) -> None:
        self.parts: Sequence[nn.Module] = list(module)
        self.n_rows = len(rows.x) if whole is None else whole.n_rows
        self._rows = rows
        self._folds = folds
        self._valid = valid
        self._criterion = criterion
        self._rates = mask_augmentation
        self._hidden: dict[str, Any] = {
            "sources": sources,
            "image_shape": image_shape,
            "fraction": masked_fraction,
        }
        self._density_loss_weight = density_loss_weight
        self._unlabelled = unlabelled
        # The mean weight of a row for each network; its validation rows weigh nothing.
        self._mean_weights = [
            (rows.weights * ~folds.validation_rows(view)).mean(1).clamp_min(1e-6)
            for view in module
        ]
        self._cells_a_row: float | None = None
        if whole is not None:
            trained = (whole.fold_weights.sum() - whole.fold_weights) / whole.n_rows
            trained = trained.clamp_min(1e-6)
            self._mean_weights = [
                trained[torch.arange(view.networks.n_networks) % folds.n].to(rows.x)
                for view in module
            ]
            self._cells_a_row = whole.cells_a_row
        columns, places = np.unique(sources.cpu().numpy(), return_index=True)
        self._places = places[columns >= 0]  # of one input of each column

    def _view(self, part: int) -> View:
        view = self.parts[part]
        assert isinstance(view, View)
        return view

    def loss(
        self, part: int, rows: Tensor | Batch, generator: torch.Generator
    ) -> Tensor:
        """Return the mean over networks of the loss of their training rows."""
        view = self._view(part)
        if isinstance(rows, Batch):
            batch = rows
        else:
            here = rows.to(self._rows.x.device)
            x, targets, weights = (tensor[here] for tensor in self._rows)
            folds = self._folds.of_row[here]
            batch = Batch(x, targets, weights, folds, generator, len(rows))
        seen = self._hide(part, batch)
        outputs = view(seen, batch.generator)
        losses = self._criterion.losses(outputs, batch.targets)  # (networks, batch)
        validating = self._folds._replace(of_row=batch.folds).validation_rows(view)
        of_networks = batch.weights * ~validating
        # By the weight that a batch has on average, not by its own: a batch of light
        # rows counts less than one of heavy rows.
        totals = batch.n_rows * self._mean_weights[part]
        means = (losses * of_networks).sum(1) / totals
        return batch.factor * (means.mean() + self._density_loss(view, batch))

    def _hide(self, part: int, batch: Batch) -> Tensor:
        """Hide cells of a batch, of each generator's rows by its own draws."""
        rate, source = self._rates[part], batch.generator
        if isinstance(source, torch.Generator):
            return hide(batch.x, source, rate=rate, **self._hidden)
        blocks = batch.x.split([n_rows for _, n_rows in source])
        seen = [
            hide(block, generator, rate=rate, **self._hidden)
            for (generator, _), block in zip(source, blocks, strict=True)
        ]
        return torch.cat(seen)

    def _density_loss(self, view: View, batch: Batch) -> Tensor:
        """Return the weighted negative log likelihood of a cell."""
        weight, x, more = self._density_loss_weight, batch.x, self._unlabelled
        if weight == 0.0 or not any(p.requires_grad for p in view.density.parameters()):
            return x.new_zeros(())
        if len(more):
            assert isinstance(batch.generator, torch.Generator)
            drawn = torch.randint(len(more), (len(x),), generator=batch.generator)
            x = torch.cat((x, more[drawn.to(x.device)]))
        if self._cells_a_row is None:
            n_cells = (~torch.isnan(x[:, self._places])).sum().clamp_min(1)
        else:  # other processes have rows of this batch, too
            n_cells = x.new_tensor(batch.n_rows * self._cells_a_row)
        rows = split_bounds(x, view.density.n_features)
        return -weight * view.density.log_prob(*rows).sum() / n_cells

    def validate(self, part: int) -> float:
        """Return the loss of the mean prediction for validation rows."""
        return self._mean_loss(*self._predict(part))

    @property
    def _validation(self) -> Rows:
        return self._rows if self._valid is None else self._valid

    def _mean_loss(self, predictions: Tensor, rows: Tensor) -> float:
        losses = self._criterion.score(predictions, self._validation.targets[rows])
        weights = self._validation.weights[rows]
        return float((losses * weights).sum() / weights.sum())

    def _predict(self, part: int) -> tuple[Tensor, Tensor]:
        """Return mean predictions by networks that did not learn the rows, and which.

        Rows are taken a block at a time: there may be many.
        """
        view = self._view(part)
        if self._valid is None:
            validating = self._folds.validation_rows(view)  # (networks, rows)
            if not bool(validating.any()):  # too few rows for any
                validating = ~validating
        else:
            everywhere = (view.networks.n_networks, len(self._valid.x))
            validating = torch.ones(
                everywhere, dtype=torch.bool, device=self._valid.x.device
            )
        rows = validating.any(0).nonzero()[:, 0]
        if (
            len(rows) > RECIPE.validation_rows
        ):  # which are in no order: some of each fold
            rows = rows[:: math.ceil(len(rows) / RECIPE.validation_rows)]
        means = []
        for block in rows.split(max(1, NUMBERS_AT_ONCE // view.numbers_a_row)):
            outputs = self._criterion.predict(view(self._validation.x[block]))
            of_block = validating[:, block].to(outputs)
            weights = of_block / of_block.sum(0)
            means.append((outputs * weights[..., None]).sum(0))
        return torch.cat(means), rows

    @torch.no_grad()
    def choose_view_weights(self) -> list[float]:
        """Return the weights of the views whose mean prediction validates best.

        Weights that are far from even must earn it: few rows hardly move them.
        """
        if len(self.parts) != 2:
            return [1.0 / len(self.parts)] * len(self.parts)
        (first, of_first), (second, of_second) = self._predict(0), self._predict(1)
        # A view with fewer networks has fewer validation rows.
        both = torch.isin(of_first, of_second)
        first, second = first[both], second[torch.isin(of_second, of_first)]
        rows = of_first[both]
        pull = _EVEN_ROWS / len(rows)
        losses = {
            weight: self._mean_loss(torch.lerp(second, first, weight), rows)
            + pull * (2.0 * weight - 1.0) ** 2
            for weight in torch.linspace(0.0, 1.0, 21, dtype=DTYPE).tolist()
        }
        best = min(losses, key=lambda weight: losses[weight])
        return [best, 1.0 - best]
