"""What the networks of an estimator are trained to do, and how they are judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lacunet.estimators._hiding import hide_cells, hide_in_some, hide_patches
from lacunet.estimators._network import NUMBERS_AT_ONCE, Branch, Branches

# The loss, summed over rows, that one view alone must spare to be taken alone.
_EVEN_ROWS = 5.0


@dataclass(frozen=True)
class Criterion:
    """What a prediction is worth.

    Attributes
    ----------
    losses : callable
        From outputs (networks, batch, out) and targets (batch, *) to losses
        (networks, batch).
    predict : callable
        From outputs to predictions of the same shape, which may be averaged.
    score : callable
        From averaged predictions (batch, out) and targets to losses (batch,).
    """

    losses: Callable[[Tensor, Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]
    score: Callable[[Tensor, Tensor], Tensor]


def _cross_entropies(outputs: Tensor, targets: Tensor) -> Tensor:
    repeated = targets.expand(len(outputs), -1).flatten()
    losses = functional.cross_entropy(outputs.flatten(0, 1), repeated, reduction="none")
    return losses.view(outputs.shape[:2])


def _log_losses(probabilities: Tensor, targets: Tensor) -> Tensor:
    chosen = probabilities.gather(1, targets[:, None])[:, 0]
    return -chosen.clamp_min(torch.finfo(chosen.dtype).tiny).log()


def _squares(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).square().mean(-1)


def _observed_squares(outputs: Tensor, targets: Tensor) -> Tensor:
    observed = ~torch.isnan(targets)
    gaps = torch.where(observed, outputs - targets.nan_to_num(), 0.0)
    return gaps.square().sum(-1) / observed.sum(-1).clamp_min(1)


def _softmax(outputs: Tensor) -> Tensor:
    return outputs.softmax(-1)


def _as_it_is(outputs: Tensor) -> Tensor:
    return outputs


CLASSIFICATION = Criterion(_cross_entropies, _softmax, _log_losses)
REGRESSION = Criterion(_squares, _as_it_is, _squares)
RECONSTRUCTION = Criterion(_observed_squares, _as_it_is, _observed_squares)


class Rows(NamedTuple):
    """Encoded rows with what is asked of them, on one device."""

    x: Tensor  # (rows, width), NaN where a value is missing
    targets: Tensor  # (rows, *)
    weights: Tensor  # (rows,)


class Folds(NamedTuple):
    """A partition of the rows: network i of a branch doesn't see fold i modulo n."""

    of_row: Tensor  # (rows,), -1 for rows that every network sees
    n: int

    def held_back(self, branch: Branch) -> Tensor:
        """Return which rows are held back from which network, (networks, rows)."""
        networks = torch.arange(branch.networks.n_networks, device=self.of_row.device)
        return (networks % self.n)[:, None] == self.of_row


@dataclass(frozen=True)
class Extras:
    """What is done to a batch, and what is added to its loss.

    Attributes
    ----------
    mask_augmentation : float
        Mean share of a row's cells that are hidden in training.
    sources : Tensor of shape (width,)
        The original column of each encoded one, as a category is hidden whole; -1 for
        what is never hidden.
    density_loss_weight : float
        Of the negative log likelihood of a cell, in the loss.
    unlabelled : Tensor of shape (any, width)
        Rows that teach the density alone.
    image_shape : tuple of int or None
        Height and width if rows are images: patches are hidden instead of cells.
    masked_fraction : float
        Share of the rows of a batch in which anything is hidden.
    """

    mask_augmentation: float
    sources: Tensor
    density_loss_weight: float
    unlabelled: Tensor
    image_shape: tuple[int, int] | None = None
    masked_fraction: float = 1.0


class NetworkTask:
    """Train each network on the rows of its own, and judge it by the others.

    Parameters
    ----------
    module : Branches
    rows : Rows
    folds : Folds
        Which network does not see which rows.
    valid : Rows or None
        Rows to validate on instead.
    criterion : Criterion
    extras : Extras
    """

    def __init__(
        self,
        module: Branches,
        rows: Rows,
        folds: Folds,
        valid: Rows | None,
        criterion: Criterion,
        extras: Extras,
    ) -> None:
        self.parts: Sequence[nn.Module] = list(module)
        self.n_rows = len(rows.x)
        self._rows = rows
        self._folds = folds
        self._valid = valid
        self._criterion = criterion
        self._extras = extras
        # The weight of a row for each network, 0 if it is held back: its mean.
        self._mean_shares = [
            (rows.weights * ~folds.held_back(branch)).mean(1).clamp_min(1e-6)
            for branch in module
        ]
        sources = extras.sources.cpu().numpy()
        columns, places = np.unique(sources, return_index=True)
        self._places = places[columns >= 0]  # of one input of each column

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return the mean over networks of the loss of the rows that are theirs."""
        branch = self._branch(part)
        rows = rows.to(self._rows.x.device)
        x, targets, weights = (tensor[rows] for tensor in self._rows)
        outputs = branch(self._hide(x, generator), generator)
        losses = self._criterion.losses(outputs, targets)  # (networks, batch)
        folds = self._folds._replace(of_row=self._folds.of_row[rows])
        shares = weights * ~folds.held_back(branch)
        # By the weight that a batch has on average, not by its own: a batch of light
        # rows has less to say than one of heavy rows.
        means = (losses * shares).sum(1) / (len(rows) * self._mean_shares[part])
        return means.mean() + self._density_loss(branch, x, generator)

    def _branch(self, part: int) -> Branch:
        branch = self.parts[part]
        assert isinstance(branch, Branch)
        return branch

    def _hide(self, x: Tensor, generator: torch.Generator) -> Tensor:
        """Hide some more cells, others in each step."""
        extras = self._extras
        if extras.mask_augmentation == 0.0:
            return x
        if extras.masked_fraction < 1.0:
            return hide_in_some(x, extras.masked_fraction, self._hide_in_all, generator)
        return self._hide_in_all(x, generator)

    def _hide_in_all(self, x: Tensor, generator: torch.Generator) -> Tensor:
        extras = self._extras
        if extras.image_shape is not None:
            rate = extras.mask_augmentation
            return hide_patches(x, rate, extras.image_shape, generator)
        return hide_cells(x, extras.mask_augmentation, extras.sources, generator)

    def _density_loss(
        self, branch: Branch, x: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Return the weighted negative log likelihood of a cell."""
        weight = self._extras.density_loss_weight
        if weight == 0.0:
            return x.new_zeros(())
        more = self._extras.unlabelled
        if len(more):
            drawn = torch.randint(len(more), (len(x),), generator=generator)
            x = torch.cat((x, more[drawn.to(x.device)]))
        seen = branch.view(x)
        n_cells = (~torch.isnan(x[:, self._places])).sum().clamp_min(1)
        return -weight * branch.density.log_prob(seen).sum() / n_cells

    def validate(self, part: int) -> float:
        """Return the loss of the mean prediction of the networks that may judge."""
        return self._mean_loss(*self._judge(part))

    def _mean_loss(self, predictions: Tensor, rows: Tensor) -> float:
        losses = self._criterion.score(predictions, self._judged.targets[rows])
        weights = self._judged.weights[rows]
        return float((losses * weights).sum() / weights.sum())

    @property
    def _judged(self) -> Rows:
        """The rows among which the networks are judged."""
        return self._rows if self._valid is None else self._valid

    def _judge(self, part: int) -> tuple[Tensor, Tensor]:
        """Return mean predictions by the networks that did not see the rows, and which.

        Rows are taken a block at a time: there may be many.
        """
        branch = self._branch(part)
        judges = self._judges(branch)
        rows = judges.any(0).nonzero()[:, 0]
        means = []
        for block in rows.split(max(1, NUMBERS_AT_ONCE // branch.numbers_a_row)):
            outputs = self._criterion.predict(branch(self._judged.x[block]))
            of_block = judges[:, block].to(outputs)
            shares = of_block / of_block.sum(0)
            means.append((outputs * shares[..., None]).sum(0))
        return torch.cat(means), rows

    @torch.no_grad()
    def blend(self) -> list[float]:
        """Return the share of each part in the mean prediction that judges best.

        Shares that are far from even must earn it: few rows hardly move them.
        """
        if len(self.parts) != 2:
            return [1.0 / len(self.parts)] * len(self.parts)
        (first, of_first), (second, of_second) = self._judge(0), self._judge(1)
        # A view with fewer networks judges fewer rows.
        both = torch.isin(of_first, of_second)
        first, second = first[both], second[torch.isin(of_second, of_first)]
        rows = of_first[both]
        pull = _EVEN_ROWS / len(rows)
        losses = {
            share: self._mean_loss(torch.lerp(second, first, share), rows)
            + pull * (2.0 * share - 1.0) ** 2
            for share in torch.linspace(0.0, 1.0, 21).tolist()
        }
        best = min(losses, key=lambda share: losses[share])
        return [best, 1.0 - best]

    def _judges(self, branch: Branch) -> Tensor:
        """Return which networks may judge which rows, (networks, rows)."""
        if self._valid is not None:
            everyone = (branch.networks.n_networks, len(self._valid.x))
            return torch.ones(everyone, dtype=torch.bool, device=self._valid.x.device)
        judges = self._folds.held_back(branch)
        # With too few rows to hold any back, all may.
        return judges if bool(judges.any()) else ~judges
