"""Radial networks over rows of their own, trained in one go."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from lacunet.estimators._network import Branches
from lacunet.estimators._task import Folds, Rows
from lacunet.exceptions import LacunetError
from lacunet.functional._ops import LOG_TWO_PI, split_cells, wide_dtype
from lacunet.training import Epoch, Plan

# Names in the state of a branch.
_CENTRES = "networks.first.centres"
_LOG_SPREADS = "networks.first.log_variances"
_LOGITS = "networks.first.density.logits"
_MEANS = "networks.first.density.means"
_LOG_VARIANCES = "networks.first.density.log_variances"
_LOG_GAMMA = "networks.first.density.log_gamma"
_WEIGHT = "networks.layers.0.weight"
_BIAS = "networks.layers.0.bias"
_OF_DENSITY = (_LOGITS, _MEANS, _LOG_VARIANCES, _LOG_GAMMA)
# The logit of a component that is not there.
_NOWHERE = -1e4
# Networks that have stopped are left out as soon as they are so large a share.
_IDLE = 0.25


@dataclass(frozen=True)
class Seat:
    """A network that is trained among others.

    Attributes
    ----------
    module : Branches
        One branch of one radial network; left with its best weights.
    rows : Rows
    folds : Folds
        Which rows the network does not see.
    plan : Plan
    make_optimiser : callable
        From the parameters of the network and those of the density, any number of
        networks side by side, to their optimiser.
    generator : torch.Generator
        Source of the order of the rows.
    history : list of Epoch
        Filled as training goes on.
    """

    module: Branches
    rows: Rows
    folds: Folds
    plan: Plan
    make_optimiser: Callable[[list[Tensor], list[Tensor]], torch.optim.Optimizer]
    generator: torch.Generator
    history: list[Epoch] = field(default_factory=list)

    @property
    def n_steps(self) -> int:
        """Return the number of batches in an epoch."""
        return math.ceil(len(self.rows.x) / self.plan.batch_size)


@dataclass
class _Best:
    """The best that a network has reached."""

    loss: float = math.inf
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)


def train_bank(seats: Sequence[Seat]) -> None:
    """Train radial networks of one shape side by side.

    Each has its own rows, batches, optimiser state, early stop and best weights: all
    is, but for rounding, as if it had been trained alone.

    Parameters
    ----------
    seats : sequence of Seat
        With the same numbers of units, inputs, outputs and batches, and the same plan.
    """
    bank = _Bank(seats)
    began = time.monotonic()
    plan = seats[0].plan
    for epoch in range(1, plan.max_epochs + 1):
        bank.run_epoch()
        bank.judge(epoch, began)
        if not bank.leave_out(epoch):
            break
    bank.write_back()


class _Bank:
    """Parameters and rows of all networks, stacked along the first dimension."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats = list(seats)
        self.bests = [_Best() for _ in seats]
        self.places = list(range(len(seats)))  # the seat of each stacked network
        self.plan = seats[0].plan
        self.rows = _StackedRows.of(seats)
        first = next(iter(seats[0].module))
        self.normalise = bool(first.networks.first.normalise)
        self.trained = {name for name, p in first.named_parameters() if p.requires_grad}
        self.state = _stack_states(seats)
        self.optimiser = self._make_optimiser()

    def run_epoch(self) -> None:
        """Take a step for each batch, every network with an order of its own."""
        batch = self.plan.batch_size
        n_steps = self.seats[0].n_steps
        orders = self._draw_orders(n_steps * batch)
        self.train_losses = torch.zeros(len(self.places))
        for step in range(n_steps):
            index = orders[:, step * batch : (step + 1) * batch]
            losses, counts = self._batch_losses(index)
            self.optimiser.zero_grad(set_to_none=True)
            losses.sum().backward()
            self.optimiser.step()
            self.train_losses += losses.detach() * counts / self.rows.counts

    def _draw_orders(self, length: int) -> Tensor:
        """Return the rows of all batches, -1 behind the last, (networks, length)."""
        orders = torch.full((len(self.places), length), -1)
        for order, place in zip(orders, self.places, strict=True):
            seat = self.seats[place]
            n_rows = len(seat.rows.x)
            order[:n_rows] = torch.randperm(n_rows, generator=seat.generator)
        return orders

    def _batch_losses(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss of each network on its batch, and the rows in it."""
        real = index >= 0
        rows = self.rows.take(index.clamp_min(0))
        losses = _cross_entropies(self.forward(rows), rows.targets)
        counts = real.sum(1)
        shares = rows.shares * real
        return (losses * shares).sum(1) / (counts * self.rows.mean_shares), counts

    def forward(self, rows: "_StackedRows") -> Tensor:
        """Return the logits, (networks, batch, classes)."""
        hidden = expected_responses(
            self.state, rows.values, rows.missing, normalise=self.normalise
        )
        return torch.baddbmm(self.state[_BIAS], hidden, self.state[_WEIGHT])

    @torch.no_grad()
    def judge(self, epoch: int, began: float) -> None:
        """Validate all networks, and keep what is better than before."""
        rows = self.rows.take(self.rows.judged.clamp_min(0))
        chances = self.forward(rows).softmax(-1)
        chosen = chances.gather(2, rows.targets[..., None])[..., 0]
        losses = -chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log()
        weights = rows.weights * (self.rows.judged >= 0)
        valid = ((losses * weights).sum(1) / weights.sum(1)).tolist()
        seconds = time.monotonic() - began
        for i, place in enumerate(self.places):
            best = self.bests[place]
            if epoch - 1 - best.epoch >= self.plan.patience:
                continue  # it has stopped, and only waits to be left out
            better = valid[i] < best.loss - self.plan.tol
            if better:
                state = {n: tensor[i].clone() for n, tensor in self.state.items()}
                self.bests[place] = _Best(valid[i], epoch, state)
            self._record(
                place,
                Epoch(epoch, float(self.train_losses[i]), valid[i], better, seconds),
            )

    def _record(self, place: int, record: Epoch) -> None:
        if not self.bests[place].state:
            msg = (
                f"Got a validation loss of {record.valid_loss} in epoch "
                f"{record.epoch}, but expected a finite one. Lower the learning rate, "
                f"or look for huge values in the data."
            )
            raise LacunetError(msg)
        self.seats[place].history.append(record)

    def leave_out(self, epoch: int) -> bool:
        """Leave out networks that have stopped, once they are many; False if all."""
        active = [
            i
            for i, place in enumerate(self.places)
            if epoch - self.bests[place].epoch < self.plan.patience
        ]
        if active and len(active) < (1.0 - _IDLE) * len(self.places):
            index = torch.tensor(active)
            self.places = [self.places[i] for i in active]
            self.rows = self.rows.of_networks(index)
            self.state = {n: tensor[index] for n, tensor in self.state.items()}
            former, self.optimiser = self.optimiser, self._make_optimiser()
            self._take_over(former, index)
        return bool(active)

    def _make_optimiser(self) -> torch.optim.Optimizer:
        """Make an optimiser over the parameters as they are stacked now."""
        for name, tensor in self.state.items():
            self.state[name] = tensor.detach().requires_grad_(name in self.trained)
        trained = {n: t for n, t in self.state.items() if t.requires_grad}
        return self.seats[0].make_optimiser(
            [tensor for name, tensor in trained.items() if name not in _OF_DENSITY],
            [tensor for name, tensor in trained.items() if name in _OF_DENSITY],
        )

    def _take_over(self, former: torch.optim.Optimizer, index: Tensor) -> None:
        """Go on where a former optimiser was, with some of its networks."""
        groups = zip(former.param_groups, self.optimiser.param_groups, strict=True)
        for before, after in groups:
            for old, new in zip(before["params"], after["params"], strict=True):
                self.optimiser.state[new] = {
                    key: value[index] if value.ndim else value
                    for key, value in former.state[old].items()
                }

    @torch.no_grad()
    def write_back(self) -> None:
        """Give every network its best weights."""
        for seat, best in zip(self.seats, self.bests, strict=True):
            branch = next(iter(seat.module))
            for name, parameter in branch.named_parameters():
                found = best.state[name]
                if name in (_LOGITS, _MEANS, _LOG_VARIANCES):
                    found = found[: len(parameter)]  # without what it was padded with
                parameter.copy_(found.view(parameter.shape))
            seat.module.eval()


def expected_responses(
    state: dict[str, Tensor], values: Tensor, missing: Tensor, *, normalise: bool
) -> Tensor:
    """Return what ``ExpectedRBF`` does, for networks of which each has its own rows.

    Parameters
    ----------
    state : dict of str to Tensor
        Parameters of diagonal densities and radial units, networks first.
    values, missing : Tensor of shape (networks, batch, features)
        Rows with 0 where a value is missing, and 1 there.
    normalise : bool

    Returns
    -------
    Tensor of shape (networks, batch, units)
    """
    wide = wide_dtype(values)
    x, present = values.to(wide), 1.0 - missing.to(wide)
    centres, spreads = state[_CENTRES], _variances(state[_LOG_SPREADS])
    log_response = _log_normal(x, present, centres.to(wide), spreads.to(wide))
    if bool(missing.any()):
        means, variances = state[_MEANS], _variances(state[_LOG_VARIANCES])
        noise = variances.to(wide) + state[_LOG_GAMMA].exp().to(wide)[:, None, None]
        joint = state[_LOGITS].log_softmax(-1)[:, None] + _log_normal(
            x, present, means.to(wide), noise
        )
        # The only large tensors, and no difference of large sums: narrow.
        total = variances[:, :, None] + spreads[:, None]
        gaps = (means[:, :, None] - centres[:, None]).square() / total
        table = (gaps + total.log() + LOG_TWO_PI).flatten(1, 2)
        unknown = torch.bmm(missing, table.mT).unflatten(2, (means.shape[1], -1))
        log_weights = joint.log_softmax(-1).to(unknown.dtype)
        log_response = log_response + _log_sum(log_weights[..., None] - 0.5 * unknown)
    response = log_response.softmax(-1) if normalise else log_response.exp()
    return response.to(values.dtype)


def _log_sum(terms: Tensor) -> Tensor:
    """Return ``logsumexp`` over components, (networks, batch, components, units)."""
    # Half the time of torch's own, in the middle of a tensor.
    top = terms.detach().amax(2, keepdim=True)
    return (terms - top).exp().sum(2).log() + top[:, :, 0]


def _variances(logarithms: Tensor) -> Tensor:
    return logarithms.exp().clamp_min(torch.finfo(logarithms.dtype).tiny)


def _log_normal(x: Tensor, present: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Return log densities of the observed cells, (networks, batch, Gaussians)."""
    precisions = 1.0 / variances
    weighted = means * precisions
    constants = weighted * means + variances.log() + LOG_TWO_PI
    quadratic = torch.bmm(x.square(), precisions.mT) - 2.0 * torch.bmm(x, weighted.mT)
    return -0.5 * (quadratic + torch.bmm(present, constants.mT))


def _cross_entropies(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the loss of every row of every network."""
    return -logits.log_softmax(-1).gather(2, targets[..., None])[..., 0]


def _stack_states(seats: Sequence[Seat]) -> dict[str, Tensor]:
    """Return the parameters of all networks, components padded to the most."""
    branches = [next(iter(seat.module)) for seat in seats]
    most = max(len(branch.density.components.log_weights) for branch in branches)
    return {
        name: torch.stack([_padded(branch, name, most) for branch in branches])
        for name, _ in branches[0].named_parameters()
    }


def _padded(branch: torch.nn.Module, name: str, n_components: int) -> Tensor:
    tensor = branch.get_parameter(name).detach()
    if name in (_WEIGHT, _BIAS):
        return tensor[0]  # of the only network
    if name not in (_LOGITS, _MEANS, _LOG_VARIANCES):
        return tensor
    blank = tensor.new_full(
        (n_components - len(tensor), *tensor.shape[1:]),
        _NOWHERE if name == _LOGITS else 0.0,
    )
    return torch.cat([tensor, blank])


@dataclass(frozen=True)
class _StackedRows:
    """Rows of all networks, (networks, rows, ...); padded with rows of no weight."""

    values: Tensor
    missing: Tensor
    targets: Tensor
    weights: Tensor
    shares: Tensor  # weights, 0 if a row is held back
    judged: Tensor  # (networks, any): rows to validate on, -1 behind the last
    counts: Tensor  # (networks,)
    mean_shares: Tensor  # (networks,)

    @classmethod
    def of(cls, seats: Sequence[Seat]) -> "_StackedRows":
        cells = [split_cells(seat.rows.x) for seat in seats]
        held = [seat.folds.held_back(next(iter(seat.module)))[0] for seat in seats]
        shares = [s.rows.weights * ~h for s, h in zip(seats, held, strict=True)]
        # With too few rows to hold any back, all may judge.
        judges = [h if bool(h.any()) else ~h for h in held]
        return cls(
            _pad([each.values for each in cells]),
            _pad([each.missing for each in cells]),
            _pad([seat.rows.targets for seat in seats]),
            _pad([seat.rows.weights for seat in seats]),
            _pad(shares),
            _pad([judge.nonzero()[:, 0] for judge in judges], -1),
            torch.tensor([len(seat.rows.x) for seat in seats]),
            torch.stack([share.mean().clamp_min(1e-6) for share in shares]),
        )

    def take(self, index: Tensor) -> "_StackedRows":
        """Return some rows of each network."""
        own = torch.arange(len(index))[:, None]
        names = ("values", "missing", "targets", "weights", "shares")
        return replace(
            self, **{name: getattr(self, name)[own, index] for name in names}
        )

    def of_networks(self, index: Tensor) -> "_StackedRows":
        """Return the rows of some networks."""
        return _StackedRows(*(getattr(self, each.name)[index] for each in fields(self)))


def _pad(tensors: Sequence[Tensor], value: float = 0.0) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(
        list(tensors), batch_first=True, padding_value=value
    )
