"""One network trained on some rows, and judged by rows held back."""

import numpy as np
import pytest
import torch
from reproduction.rivals import _split
from reproduction.rivals._split import SplitTask, ask, clip_gradients, hold_back
from torch import nn

from lacunet.estimators import Rows


def squares(outputs, targets):
    return (outputs - targets) ** 2


def task(held_back):
    x = torch.arange(4.0)[:, None]  # 0, 1, 2, 3, of which the targets are 0
    rows = Rows(x, torch.zeros_like(x), torch.ones(4))
    return SplitTask(nn.Identity(), rows, squares, np.array(held_back))


def test_rows_held_back_are_judged_by_and_the_others_are_learned_from():
    split = task([True, False, False, True])
    assert split.n_rows == 2
    assert split.validate(0) == (0 + 9) / 2
    both = split.loss(0, torch.tensor([0, 1]), torch.Generator())
    assert both == (1 + 4) / 2
    assert split.loss(0, torch.tensor([1]), torch.Generator()) == 4


def test_without_rows_held_back_all_are_judged_by():
    split = task([False] * 4)
    assert split.n_rows == 4
    assert split.validate(0) == (0 + 1 + 4 + 9) / 4


def test_blocks_make_no_difference(monkeypatch):
    held_back = [True, False, True, True]
    whole = task(held_back).validate(0)
    x = torch.arange(6.0).view(3, 2)
    monkeypatch.setattr(_split, "_BLOCK", 2)
    assert task(held_back).validate(0) == whole
    torch.testing.assert_close(ask(torch.neg, x, torch.device("cpu")), -x)


@pytest.mark.parametrize(("fraction", "n"), [(0.2, 20), (0.5, 50), (0.3, 34)])
def test_a_share_of_every_class_is_held_back(fraction, n):
    classes = np.repeat([0, 1], [60, 40])
    chosen = hold_back(np.arange(100), classes, fraction, seed=0)
    assert chosen.sum() == n
    share = chosen[classes == 1].mean()
    assert share == pytest.approx(n / 100, abs=0.03)


def test_copies_of_a_row_are_held_back_together():
    copies = np.arange(60) // 3
    chosen = hold_back(copies, None, 0.2, seed=0).reshape(20, 3)
    assert (chosen.all(1) | ~chosen.any(1)).all()
    assert 0 < chosen.sum() < 60


def test_other_seeds_hold_other_rows_back():
    first, again, other = (hold_back(np.arange(50), None, 0.2, s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_of_few_rows_none_are_held_back_and_that_is_said():
    with pytest.warns(UserWarning, match="Got 9 distinct rows, too few"):
        chosen = hold_back(np.array([*range(9), 8, 8]), None, 0.2, seed=0)
    assert chosen.tolist() == [False] * 11


@pytest.mark.parametrize(("slope", "step"), [(3.0, 1.0), (0.5, 0.5)])
def test_gradients_are_cut_to_a_length(slope, step):
    weight = nn.Parameter(torch.zeros(4))
    optimiser = torch.optim.SGD([weight], lr=1.0)
    clip_gradients(optimiser, 1.0)
    (slope * weight.sum() / 2).backward()  # a gradient of this length
    optimiser.step()
    assert weight.detach().norm().item() == pytest.approx(step, rel=1e-4)
