"""One network trained on some rows, and judged by rows held back."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lacunet.estimators import Rows, deal_folds
from lacunet.exceptions import warn_user

# From outputs (batch, *) and targets (batch, *) to losses that are averaged.
Losses = Callable[[Tensor, Tensor], Tensor]

# Rows that are taken at once where nothing is learned from them.
_BLOCK = 4096
# Fewer rows than these are not held back: there would be too few to learn from.
_FEWEST_ROWS = 10


class SplitTask:
    """Train one network on some rows, and judge it by the others.

    Parameters
    ----------
    module : nn.Module
    rows : Rows
        All of them, on the device of the module; their weights don't count.
    losses : callable
        From outputs and targets of some rows to as many losses.
    held_back : ndarray of bool of shape (rows,)
        The rows to judge by; if there are none, the network is judged by all rows.
    """

    def __init__(
        self,
        module: nn.Module,
        rows: Rows,
        losses: Losses,
        held_back: np.ndarray,
    ) -> None:
        self.parts: Sequence[nn.Module] = [module]
        self._rows = rows
        self._losses = losses
        judges = held_back if held_back.any() else ~held_back
        self._learned, self._judged = (
            torch.as_tensor(np.flatnonzero(chosen), device=rows.x.device)
            for chosen in (~held_back, judges)
        )

    @property
    def n_rows(self) -> int:
        """Return the number of rows that are learned from."""
        return len(self._learned)

    def loss(self, part: int, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return the mean loss of these of the rows that are learned from."""
        return self._losses_of(self._learned[rows.to(self._learned.device)]).mean()

    def validate(self, part: int) -> float:
        """Return the mean loss of the rows held back."""
        blocks = [self._losses_of(rows) for rows in self._judged.split(_BLOCK)]
        return float(torch.cat(blocks).mean())

    def _losses_of(self, chosen: Tensor) -> Tensor:
        (module,) = self.parts
        outputs = module(self._rows.x[chosen])
        return self._losses(outputs, self._rows.targets[chosen]).flatten()


def hold_back(
    copies: np.ndarray, strata: np.ndarray | None, fraction: float, seed: int
) -> np.ndarray:
    """Choose the rows that a network is judged by.

    Parameters
    ----------
    copies : ndarray of int of shape (rows,)
        The same number for copies of a row, which are held back together.
    strata : ndarray of int of shape (rows,) or None
        Classes, of each of which the same share is chosen.
    fraction : float
        Share of the rows; rounded to one part in a whole number.
    seed : int

    Returns
    -------
    ndarray of bool of shape (rows,)
        True for rows held back: none, with a warning, if there are too few rows.
    """
    n_rows = int(copies.max()) + 1
    if n_rows < _FEWEST_ROWS:
        msg = (
            f"Got {n_rows} distinct rows, too few to hold any back: training stops by "
            f"the loss on its own rows. Give at least {_FEWEST_ROWS} rows."
        )
        warn_user(msg)
        return np.zeros(len(copies), dtype=bool)
    folds = deal_folds(copies, strata, max(2, round(1 / fraction)), seed)
    chosen: np.ndarray = folds == 0
    return chosen


def clip_gradients(optimiser: torch.optim.Optimizer, max_norm: float) -> None:
    """Shorten the gradient to this length before each step, if it is longer.

    Parameters
    ----------
    optimiser : torch.optim.Optimizer
    max_norm : float
    """
    groups = optimiser.param_groups
    parameters = [p for group in groups for p in group["params"]]

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(parameters, max_norm)

    optimiser.register_step_pre_hook(clip)


@torch.inference_mode()
def ask(respond: Callable[[Tensor], Tensor], x: Tensor, device: torch.device) -> Tensor:
    """Return what a network says of all rows, on the CPU.

    Parameters
    ----------
    respond : callable
        From rows on the device to answers.
    x : Tensor of shape (rows, *)
    device : torch.device

    Returns
    -------
    Tensor of shape (rows, *)
    """
    return torch.cat([respond(block.to(device)).cpu() for block in x.split(_BLOCK)])
