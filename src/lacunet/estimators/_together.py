"""Estimators that wait for others, to be trained with them."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from lacunet.density import GaussianMixtureDensity
from lacunet.estimators._bank import Seat, train_bank
from lacunet.estimators._network import Branches
from lacunet.estimators._task import CLASSIFICATION, Criterion
from lacunet.nn import ExpectedRBF


@dataclass(frozen=True)
class _Waiting:
    seat: Seat
    pace: tuple[float, ...]  # what must be the same for one optimiser


_WAITING: ContextVar[list[_Waiting] | None] = ContextVar("waiting", default=None)


@contextmanager
def train_together() -> Iterator[None]:
    """Let radial networks that are fitted inside be trained as one, at the end.

    For a search with many small fits: ``fit`` of ``LacunetRBFClassifier`` does all but
    train its network, wherever in a pipeline it stands, and the end of the block does
    that for all of them. Each comes out as if it had been fitted alone, but for
    rounding. Nothing may be predicted before the end of the block. What can't be
    trained with others (several networks, other covariances, masks drawn in training)
    is trained at once.
    """
    waiting: list[_Waiting] = []
    token = _WAITING.set(waiting)
    try:
        yield
    finally:
        _WAITING.reset(token)
    for group in _group(waiting).values():
        train_bank(group)


def may_wait(
    module: Branches, criterion: Criterion, parameters: dict[str, object]
) -> bool:
    """Return whether the networks can be trained with others, and should be."""
    if _WAITING.get() is None or len(module.branches) != 1:
        return False
    (branch,) = module
    density = branch.density
    weight = parameters["density_loss_weight"] if parameters["train_density"] else 0.0
    return (
        criterion is CLASSIFICATION
        and branch.networks.n_networks == 1
        and isinstance(branch.networks.first, ExpectedRBF)
        and isinstance(density, GaussianMixtureDensity)
        and density.covariance_type == "diag"
        and density.gamma.ndim == 0
        and parameters["mask_augmentation"] == 0.0
        and weight == 0.0
        and parameters["time_limit"] is None
        and density.means.device.type == "cpu"
    )


def wait_for_others(seat: Seat, pace: tuple[float, ...]) -> None:
    """Let a network be trained at the end of the block."""
    waiting = _WAITING.get()
    assert waiting is not None
    waiting.append(_Waiting(seat, pace))


def _group(waiting: Sequence[_Waiting]) -> dict[Hashable, list[Seat]]:
    """Return networks of the same shape and plan together."""
    groups: dict[Hashable, list[Seat]] = defaultdict(list)
    for each in waiting:
        seat = each.seat
        (branch,) = seat.module
        first = branch.networks.first
        shape = (first.in_features, first.units, first.normalise)
        trained = tuple(p.requires_grad for p in branch.parameters())
        key = (shape, seat.module.out_features, trained, seat.n_steps, seat.plan)
        groups[key, each.pace].append(seat)
    return groups
