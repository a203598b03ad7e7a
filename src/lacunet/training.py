"""One training loop: batches, early stopping, history, time limit, checkpoints.

It knows nothing of missing values: what a batch costs, and what is measured after an
epoch, is the task's own business.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from lacunet._progress import ProgressLine, clear_line
from lacunet._text import clock_time, show_count
from lacunet.exceptions import LacunetError, warn_user

Tensors = dict[str, Tensor]


class Task(Protocol):
    """What is trained, and how it is scored.

    A task has one part or several. They are trained on the same batches and share no
    parameter: each keeps its own best weights and stops when it gets no better.
    """

    @property
    def parts(self) -> Sequence[nn.Module]:
        """Return the modules."""

    @property
    def n_rows(self) -> int:
        """Return the number of training rows."""

    def loss(self, part: int, rows: Any, generator: torch.Generator) -> Tensor:
        """Return the loss of the rows with these indices, or of a batch given."""

    def validate(self, part: int) -> float:
        """Return the validation loss; the lower the better."""


class Store(Protocol):
    """Where a checkpoint is kept."""

    def read(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the last checkpoint, None if there is none."""

    def write(self, tensors: Tensors, content: dict[str, Any]) -> None:
        """Replace the checkpoint, such that there is a whole one at any moment."""


class Batches(Protocol):
    """The batches of an epoch, each with its number of rows as length."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __iter__(self) -> Iterator[Any]:
        """Yield one after the other."""


MakeBatches = Callable[[int, torch.Generator], Batches]
# Sums gradients and a loss over processes.
SumUp = Callable[[nn.Module, Tensor], None]
Optimiser = Any  # torch.optim.Optimizer, or AdamW below


class Epoch(NamedTuple):
    """The record of one epoch.

    Attributes
    ----------
    epoch : int
        Counted from one.
    train_loss, valid_loss : float
        Mean over the parts that were still in training.
    best : bool
        Whether a part got better than ever before.
    seconds : float
        Since training began.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    best: bool
    seconds: float


@dataclass(frozen=True)
class Plan:
    """How long, and in what steps, to train.

    Parameters
    ----------
    max_epochs : int
    batch_size : int
    patience : int
        A part stops after so many epochs without a better validation loss.
    tol : float, default=1e-4
        A validation loss that is lower by less is not better.
    time_limit : float, optional
        In seconds. No step is made after it, but for the first of all.
    one_cycle : bool, default=False
        Let the learning rates of the optimiser rise to what they are over the first
        steps, and fall to nothing up to the last of ``max_epochs``.
    anneal : float, default=0.0
        When a part gets no better, go back to its best weights and train them on, with
        learning rates that fall to nothing over this fraction of the epochs they took.
        The patience is then three tenths of the epochs so far, if that is more, and
        nothing but annealing is done in the last three tenths of ``max_epochs``.
    warmup : int, default=0
        Steps over which the learning rates rise to what they are.
    validate_every : int, default=1
        Epochs from one validation to the next, as long as rates do not fall. The first
        is after the first epoch.
    """

    max_epochs: int
    batch_size: int
    patience: int
    tol: float = 1e-4
    time_limit: float | None = None
    one_cycle: bool = False
    anneal: float = 0.0
    warmup: int = 0
    validate_every: int = 1

    def rate_factor(self, step: int, n_steps: int) -> float:
        """Return the factor of the learning rates in a step of all.

        Parameters
        ----------
        step, n_steps : int

        Returns
        -------
        float

        Examples
        --------
        >>> from lacunet.training import Plan
        >>> plan = Plan(max_epochs=1, batch_size=8, patience=1, one_cycle=True)
        >>> [round(plan.rate_factor(step, 10), 2) for step in (0, 3, 6, 9)]
        [0.04, 1.0, 0.61, 0.05]
        """
        if not self.one_cycle:
            return min(1.0, (step + 1) / (self.warmup + 1))
        top = 0.3 * n_steps  # up to there the rates rise, from 0.04 of what they are
        if step < top:
            return 0.04 + (1.0 - 0.04) * _ease(step / top)
        return 1.0 - _ease((step - top) / (n_steps - top))


def _ease(progress: float) -> float:
    """Go from 0 to 1, slowly at both ends."""
    return 0.5 - 0.5 * math.cos(math.pi * progress)


class AdamW:
    """AdamW as torch has it, without what torch imports for its compiler.

    That import takes more than a second, the first time in a process.

    Parameters
    ----------
    groups : sequence of dict
        Parameters with what they share: "params", "lr" and "weight_decay".
    """

    def __init__(self, groups: Sequence[dict[str, Any]]) -> None:
        self.param_groups = list(groups)
        self.n_steps = 0
        self.moments = [
            [(torch.zeros_like(p), torch.zeros_like(p)) for p in group["params"]]
            for group in groups
        ]

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Make a step: one more of exponential means of gradients and their squares."""
        self.n_steps += 1
        scale = math.sqrt(1.0 - 0.999**self.n_steps)
        for group, moments in zip(self.param_groups, self.moments, strict=True):
            rate = group["lr"]
            for parameter, (mean, square) in zip(group["params"], moments, strict=True):
                gradient = parameter.grad
                if gradient is None:
                    continue
                parameter.mul_(1.0 - rate * group["weight_decay"])
                mean.lerp_(gradient, 0.1)
                square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                root = square.sqrt().div_(scale).add_(1e-8)
                parameter.addcdiv_(mean, root, value=-rate / (1.0 - 0.9**self.n_steps))

    def state_dict(self) -> dict[str, Any]:
        """Return the exponential means, numbered as the parameters are."""
        pairs = [pair for moments in self.moments for pair in moments]
        count = torch.tensor(self.n_steps)
        state = [{"mean": m, "square": s, "n_steps": count} for m, s in pairs]
        return {"state": dict(enumerate(state)), "param_groups": self.param_groups}

    def load_state_dict(self, content: Mapping[str, Any]) -> None:
        """Go on from what ``state_dict`` returned."""
        pairs = [pair for moments in self.moments for pair in moments]
        for (mean, square), state in zip(pairs, content["state"].values(), strict=True):
            mean.copy_(state["mean"])
            square.copy_(state["square"])
            self.n_steps = int(state["n_steps"])


@dataclass
class _Progress:
    """The best that a part has reached, and whether its learning rates are falling."""

    loss: float = math.inf
    epoch: int = 0
    weights: Tensors = field(default_factory=dict)
    anneal_from: int | None = None  # the epoch after which they fall
    anneal_for: int = 0  # in epochs
    last_loss: float = math.nan  # of the last validation


def train(
    task: Task,
    optimisers: Sequence[Optimiser],
    plan: Plan,
    generator: torch.Generator,
    *,
    store: Store | None = None,
    warm: bool = False,
    batches: MakeBatches | None = None,
    sum_up: SumUp | None = None,
    interruptible: bool = True,
    verbose: bool = False,
) -> list[Epoch]:
    """Train until no part's validation loss falls, and keep the best weights.

    Parameters
    ----------
    task : Task
        The modules and their losses. They are left in evaluation mode.
    optimisers : sequence of torch.optim.Optimizer
        One for each part, over its parameters.
    plan : Plan
    generator : torch.Generator
        Source of the order of the rows, and of what the task draws.
    store : Store, optional
        Read before the first epoch and written after each one: training that was
        killed goes on from there, to the result it would have had on this machine.
    warm : bool, default=False
        Whether the parts are trained already: they keep their weights if they get no
        better.
    batches : callable, optional
        Given the size of a batch and the generator, it returns the batches of an epoch,
        which the task knows how to take, each with its number of rows as length. By
        default they are indices of all rows, in a random order.
    sum_up : callable, optional
        Given a part with its gradients and the loss of a batch, it sums both, in place,
        over several processes that train the same part on batches of their own.
    interruptible : bool, default=True
        Whether a ``KeyboardInterrupt`` ends training as the last epoch would; else it
        is raised.
    verbose : bool, default=False
        Show the epoch, the validation loss and the time left: at a terminal in a line
        that is rewritten, elsewhere in a line every ten seconds.

    Returns
    -------
    list of Epoch
        After a ``KeyboardInterrupt``, at the time limit, or if a loss is not finite
        any more, up to there, with a warning.

    Raises
    ------
    LacunetError
        If a loss is not finite in the first epoch.
    """
    loop = _Loop(task, optimisers, plan, generator, batches, sum_up)
    if store is not None and (found := store.read()) is not None:
        loop.restore(*found)
    elif warm:
        for part in range(len(task.parts)):
            loop.validate(part, 0)
    try:
        for _ in loop.epochs(verbose=verbose):
            if store is not None:
                store.write(*loop.checkpoint())
    except KeyboardInterrupt:
        if not interruptible:
            raise
        kept = "The best weights so far are kept."
        if not loop.progress[0].weights:
            kept = "Nothing was measured yet: the weights are hardly trained."
        epochs = show_count(len(loop.history), "epoch")
        msg = f"Training was interrupted after {epochs}. {kept}"
        warn_user(msg)
    loop.finish()
    return loop.history


class _Loop:
    """The parts of one training, and where it stands."""

    def __init__(
        self,
        task: Task,
        optimisers: Sequence[Optimiser],
        plan: Plan,
        generator: torch.Generator,
        batches: MakeBatches | None,
        sum_up: SumUp | None,
    ) -> None:
        self.task = task
        self.batches = batches
        self.sum_up = sum_up
        self.optimisers = optimisers
        self.plan = plan
        self.generator = generator
        self.history: list[Epoch] = []
        self.progress = [_Progress() for _ in task.parts]
        self.rates = [
            [group["lr"] for group in optimiser.param_groups]
            for optimiser in optimisers
        ]

    def epochs(self, *, verbose: bool) -> Iterator[Epoch]:
        """Run one epoch after the other until there is a reason to stop."""
        self.began = time.monotonic()
        self.began -= self.history[-1].seconds if self.history else 0.0
        limit = self.plan.time_limit
        self.deadline = None if limit is None else self.began + limit
        self.line = ProgressLine(shown=verbose)
        try:
            while active := self._active():
                if self.history and self._late():
                    epochs = show_count(len(self.history), "epoch")
                    msg = (
                        f"Training was cut by time_limit after {epochs}. The best "
                        f"weights so far are kept."
                    )
                    warn_user(msg, ConvergenceWarning)
                    return
                record = self._run_epoch(active)
                if not math.isfinite(record.train_loss + record.valid_loss):
                    self._refuse_divergence(record)
                    return
                self.history.append(record)
                yield record
        finally:
            clear_line()

    def _describe(self, n_epochs: float) -> str:
        """Return where training stands in words, and when it ends.

        The first time is until the patience runs out, the other until the epochs or the
        time limit do.
        """
        plan = self.plan
        soonest: float = 0.0
        for p in self.progress:
            begin, length = p.anneal_from, p.anneal_for
            if begin is None:
                patience = float(plan.patience)
                if plan.anneal:  # which are then 0.3 of the epochs
                    patience = max(patience, 0.3 / 0.7 * p.epoch)
                begin = math.ceil(p.epoch + patience)
                length = math.ceil(plan.anneal * p.epoch)
            soonest = max(soonest, min(begin + length, plan.max_epochs))
        ending = all(p.anneal_from is not None for p in self.progress)
        latest = soonest if ending else plan.max_epochs
        now = time.monotonic()
        each = (now - self.began) / n_epochs
        left = math.inf if self.deadline is None else self.deadline - now
        soon, late = (
            clock_time(max(0.0, min((end - n_epochs) * each, left)))
            for end in (soonest, latest)
        )
        text = f"epoch {math.ceil(n_epochs)}"
        if self.history:
            text += f", validation loss {self.history[-1].valid_loss:.4f}"
        if soon == late:
            return f"{text}: at most {late} left"
        return f"{text}: {soon} left if it gets no better, at most {late}"

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _active(self) -> list[int]:
        """Return the parts that may still get better; let learning rates fall."""
        n_done, plan = len(self.history), self.plan
        active = []
        for part, progress in enumerate(self.progress):
            if progress.anneal_from is None:
                patience: float = plan.patience
                longest = plan.max_epochs
                if plan.anneal:
                    patience = max(patience, 0.3 * n_done)
                    longest = max(1, round(0.7 * longest))
                stuck = n_done - progress.epoch >= patience
                if not stuck and n_done < longest:
                    active.append(part)
                    continue
                if not plan.anneal or not n_done:
                    continue
                self.task.parts[part].load_state_dict(progress.weights)
                length = math.ceil(plan.anneal * progress.epoch)
                progress.anneal_from = n_done
                progress.anneal_for = min(length, plan.max_epochs - n_done)
            if n_done < progress.anneal_from + progress.anneal_for:
                active.append(part)
        return active

    def _run_epoch(self, active: list[int]) -> Epoch:
        number = len(self.history) + 1
        train_loss = self._run_batches(active)
        every = self.plan.validate_every
        last = number >= round(0.7 * self.plan.max_epochs)
        due = number == 1 or number % every == 0 or last
        valid_losses = [
            self.validate(part, number)
            if due or self.progress[part].anneal_from is not None
            else self.progress[part].last_loss
            for part in active
        ]
        return Epoch(
            number,
            train_loss / len(active),
            sum(valid_losses) / len(active),
            any(self.progress[part].epoch == number for part in active),
            time.monotonic() - self.began,
        )

    def _refuse_divergence(self, record: Epoch) -> None:
        """Raise in the first epoch, else warn: these weights are not kept."""
        msg = (
            f"Got a training loss of {record.train_loss} and a validation loss of "
            f"{record.valid_loss} in epoch {record.epoch}, but expected finite ones"
        )
        if not self.history:
            msg += ". Lower the learning rate, or look for huge values in the data."
            raise LacunetError(msg)
        msg += (
            ": training has stopped, and the best weights so far are kept. Lower the "
            "learning rate if they are not good enough."
        )
        warn_user(msg, ConvergenceWarning)

    def _run_batches(self, active: list[int]) -> float:
        for part in active:
            self.task.parts[part].train()
        total, n_rows = 0.0, 0
        if self.batches is None:
            order = torch.randperm(self.task.n_rows, generator=self.generator)
            batches: Batches = order.split(self.plan.batch_size)
        else:
            batches = self.batches(self.plan.batch_size, self.generator)
        for number, rows in enumerate(batches):
            # One after the other: what a part keeps for its gradients is then freed.
            for part in active:
                factor = self._rate_factor(part, number, len(batches))
                optimiser = self.optimisers[part]
                groups = optimiser.param_groups
                for group, rate in zip(groups, self.rates[part], strict=True):
                    group["lr"] = factor * rate
                optimiser.zero_grad(set_to_none=True)
                loss = self.task.loss(part, rows, self.generator)
                loss.backward()
                if self.sum_up is not None:
                    self.sum_up(self.task.parts[part], loss)
                optimiser.step()
                total += float(loss.detach()) * len(rows)
            n_rows += len(rows)
            done = len(self.history) + (number + 1) / len(batches)
            self.line.show(self._describe, done)
            if self._late():
                break
        return total / n_rows

    def _rate_factor(self, part: int, number: int, n_steps: int) -> float:
        """Return the factor of the learning rates in a step of the current epoch."""
        n_done, progress = len(self.history), self.progress[part]
        step = n_done * n_steps + number
        factor = self.plan.rate_factor(step, self.plan.max_epochs * n_steps)
        if progress.anneal_from is not None:
            done = (n_done - progress.anneal_from) * n_steps + number
            factor *= 1.0 - (done + 0.5) / (progress.anneal_for * n_steps)
        return factor

    def validate(self, part: int, epoch: int) -> float:
        """Return the validation loss of a part, and keep its weights if it is best."""
        module = self.task.parts[part].eval()
        with torch.no_grad():
            loss = self.task.validate(part)
        progress = self.progress[part]
        progress.last_loss = loss
        if loss < progress.loss - self.plan.tol:
            weights = {n: tensor.clone() for n, tensor in module.state_dict().items()}
            progress.loss, progress.epoch, progress.weights = loss, epoch, weights
        return loss

    def finish(self) -> None:
        """Go back to the best weights."""
        for module, progress in zip(self.task.parts, self.progress, strict=True):
            if progress.weights:
                module.load_state_dict(progress.weights)
            module.eval()

    def checkpoint(self) -> tuple[Tensors, dict[str, Any]]:
        """Return all that it takes to go on from here."""
        tensors = {"generator": self.generator.get_state()}
        for part, module in enumerate(self.task.parts):
            tensors |= _prefixed(f"part.{part}", module.state_dict())
            tensors |= _prefixed(f"best.{part}", self.progress[part].weights)
            states = self.optimisers[part].state_dict()["state"]
            for index, state in states.items():
                tensors |= _prefixed(f"optimiser.{part}.{index}", state)
        content = {
            "max_epochs": self.plan.max_epochs,
            "history": [list(record) for record in self.history],
            # JSON has no infinity: a part that was never measured has no loss.
            "progress": [
                [
                    p.loss if math.isfinite(p.loss) else None,
                    p.epoch,
                    p.anneal_from,
                    p.anneal_for,
                    p.last_loss,
                ]
                for p in self.progress
            ],
        }
        return tensors, content

    def restore(self, tensors: Tensors, content: dict[str, Any]) -> None:
        """Go back to where a checkpoint was written.

        A part whose rates fell for the end of fewer epochs goes on at its full rates.
        """
        before = content.get("max_epochs", self.plan.max_epochs)
        longer = self.plan.max_epochs > before
        self.generator.set_state(tensors["generator"])
        self.history = [Epoch(*record) for record in content["history"]]
        for part, module in enumerate(self.task.parts):
            module.load_state_dict(_under(f"part.{part}", tensors))
            loss, epoch, *annealing = content["progress"][part]
            weights = _under(f"best.{part}", tensors)
            loss = math.inf if loss is None else loss
            self.progress[part] = progress = _Progress(loss, epoch, weights, *annealing)
            if longer and (progress.anneal_from or 0) >= max(1, round(0.7 * before)):
                progress.anneal_from = None
            optimiser = self.optimisers[part].state_dict()
            n = sum(len(group["params"]) for group in optimiser["param_groups"])
            states = {i: _under(f"optimiser.{part}.{i}", tensors) for i in range(n)}
            optimiser["state"] = {i: state for i, state in states.items() if state}
            self.optimisers[part].load_state_dict(optimiser)


def _prefixed(prefix: str, tensors: Tensors) -> Tensors:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def _under(prefix: str, tensors: Tensors) -> Tensors:
    """Return the tensors whose names begin with ``prefix``, without it."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): tensor
        for name, tensor in tensors.items()
        if name.startswith(start)
    }
