"""Which rows each network learns from and is validated on, and its losses."""

import numpy as np
import pytest
import torch
from small import numbers
from torch import nn

from lacunet.density import GaussianMixtureDensity, MixedMixtureDensity
from lacunet.estimators._fit import (
    CLASSIFICATION,
    RECONSTRUCTION,
    REGRESSION,
    Folds,
    NetworkTask,
    Rows,
)
from lacunet.estimators._views import BodyShape, View, ViewEnsemble

N = 60


def make_module(*n_networks, out=2, dropout=0.0, width=4):
    body = BodyShape((6,), out, dropout=dropout)
    views = []
    for seed, n in enumerate(n_networks):
        generator = torch.Generator().manual_seed(seed)
        density = GaussianMixtureDensity(2, width, generator=generator)
        views.append(View(body.build_over(density, n, generator)))
    return ViewEnsemble(views)


def make_task(
    module,
    *,
    n_folds=5,
    valid=None,
    density_loss=0.0,
    unlabelled=0,
    weights=None,
    y=None,
    rows=N,
):
    X, labels = numbers(rows)
    return NetworkTask(
        module,
        Rows(
            torch.tensor(X, dtype=torch.float32),
            torch.tensor(labels if y is None else y),
            torch.ones(rows) if weights is None else torch.tensor(weights),
        ),
        Folds(torch.arange(rows) % n_folds, n_folds),
        valid,
        CLASSIFICATION if y is None else REGRESSION,
        sources=torch.arange(4),
        mask_augmentation=[0.0] * len(list(module)),
        density_loss_weight=density_loss,
        unlabelled=torch.zeros(unlabelled, 4),
    )


def source(seed=0):
    return torch.Generator().manual_seed(seed)


# --- folds


def gradients(module, task, rows):
    module.zero_grad()
    task.loss(0, torch.tensor(rows), source()).backward()
    networks = next(iter(module)).networks
    return networks.layers[-1].weight.grad


def test_a_network_gets_no_gradient_from_its_validation_rows():
    module = make_module(3)
    task = make_task(module)
    for row in range(10):
        grad = gradients(module, task, [row])
        silent = [not grad[network].any() for network in range(3)]
        assert silent == [row % 5 == network for network in range(3)]


def test_validation_rows_have_no_influence_on_their_network():
    module = make_module(5)
    task = make_task(module)
    rows = list(range(N))
    before = gradients(module, task, rows).clone()
    task._rows.x[7] += 1.0
    task._rows.targets[7] = 1 - task._rows.targets[7]
    after = gradients(module, task, rows)
    changed = [not torch.equal(before[n], after[n]) for n in range(5)]
    assert changed == [True, True, False, True, True]


def test_networks_beyond_the_folds_begin_again_with_the_first_fold():
    module = make_module(7)
    grad = gradients(module, make_task(module), [1])
    assert [n for n in range(7) if not grad[n].any()] == [1, 6]


@pytest.mark.parametrize("n_networks", [1, 3, 5])
def test_the_validation_loss_is_of_the_validation_rows_alone(n_networks):
    module = make_module(n_networks).eval()
    task = make_task(module)
    X, y, _ = task._rows
    validated = [row for row in range(N) if row % 5 < n_networks]
    with torch.no_grad():
        outputs = module(X).softmax(-1)
        chosen = [outputs[row % 5, row, y[row]] for row in validated]
        expected = -torch.stack(chosen).log().mean()
        assert task.validate(0) == pytest.approx(float(expected), rel=1e-5)


def test_rows_that_several_networks_validate_on_have_their_mean_prediction():
    module = make_module(4).eval()
    task = make_task(module, n_folds=2)
    X, y, _ = task._rows
    with torch.no_grad():
        outputs = module(X).softmax(-1)
        means = [outputs[row % 2 :: 2, row].mean(0)[y[row]] for row in range(N)]
        expected = -torch.stack(means).log().mean()
        assert task.validate(0) == pytest.approx(float(expected), rel=1e-5)


def test_rows_are_validated_in_blocks(monkeypatch):
    task = make_task(make_module(5).eval())
    with torch.no_grad():
        whole = task.validate(0)
        monkeypatch.setattr("lacunet.estimators._fit.NUMBERS_AT_ONCE", 1)
        assert task.validate(0) == pytest.approx(whole, rel=1e-5)


def test_all_networks_validate_on_given_rows():
    X, y = numbers(20, seed=1)
    x = torch.tensor(X, dtype=torch.float32)
    valid = Rows(x, torch.tensor(y), torch.ones(20))
    module = make_module(2).eval()
    task = make_task(module, valid=valid)
    with torch.no_grad():
        means = module(x).softmax(-1).mean(0)
        expected = -means.gather(1, valid.targets[:, None]).log().mean()
        assert task.validate(0) == pytest.approx(float(expected), rel=1e-5)


def test_without_folds_all_rows_are_validated_and_learned_from():
    module = make_module(2).eval()
    task = make_task(module)
    task._folds = Folds(torch.full((N,), -1), 5)
    X, y, _ = task._rows
    with torch.no_grad():
        means = module(X).softmax(-1).mean(0)
        expected = -means.gather(1, y[:, None]).log().mean()
        assert task.validate(0) == pytest.approx(float(expected), rel=1e-5)
    assert gradients(module, task, [0])[0].any()


# --- the weights of two views


def test_one_view_has_all_the_weight():
    assert make_task(make_module(3).eval()).choose_view_weights() == [1.0]


def weight_of_an_oracle(n_networks, rows):
    """Return the weight of a first view that knows the classes by heart."""
    module = make_module(*n_networks).eval()
    task = make_task(module, rows=rows)
    answers = {
        tuple(row.tolist()): 20.0 * nn.functional.one_hot(label, 2).float()
        for row, label in zip(
            task._rows.x.nan_to_num(), task._rows.targets, strict=True
        )
    }

    def know(x, generator=None):
        outputs = [answers[tuple(row.tolist())] for row in x.nan_to_num()]
        return torch.stack(outputs).expand(n_networks[0], -1, -1)

    next(iter(module)).forward = know
    weights = task.choose_view_weights()
    assert sum(weights) == pytest.approx(1.0)
    return weights[0]


@pytest.mark.parametrize("n_networks", [(2, 2), (3, 2), (5, 4), (6, 5)])
def test_a_view_that_knows_more_has_the_larger_weight(n_networks):
    assert weight_of_an_oracle(n_networks, 400) > 0.9


def test_a_few_rows_hardly_move_the_weights():
    assert 0.5 <= weight_of_an_oracle((2, 2), 10) < weight_of_an_oracle((2, 2), 400)


# --- weights


def test_weights_are_those_of_a_mean():
    module = make_module(1)
    weights = np.linspace(0.1, 2.0, N)
    rows = torch.arange(N)
    weighted = make_task(module, weights=weights.astype(np.float32))
    scaled = make_task(module, weights=(3 * weights).astype(np.float32))
    one, two = (task.loss(0, rows, source()) for task in (weighted, scaled))
    torch.testing.assert_close(one, two)
    plain = make_task(module).loss(0, rows, source())
    assert not torch.isclose(one, plain)


def test_the_validation_loss_is_weighted():
    module = make_module(5).eval()
    weights = np.linspace(0.0, 3.0, N).astype(np.float32)
    task = make_task(module, weights=weights)
    X, y, _ = task._rows
    with torch.no_grad():
        outputs = module(X).softmax(-1)
        losses = [-float(outputs[row % 5, row, y[row]].log()) for row in range(N)]
        expected = np.average(losses, weights=weights)
        assert task.validate(0) == pytest.approx(expected, rel=1e-5)


# --- the likelihood


def test_the_density_loss_is_the_likelihood_of_a_cell():
    module = make_module(1)
    rows = torch.arange(N)
    plain, with_density = (
        make_task(module, density_loss=w).loss(0, rows, source()) for w in (0.0, 0.5)
    )
    x = make_task(module)._rows.x
    density = next(iter(module)).density
    likelihood = density.log_prob(x).sum() / (~torch.isnan(x)).sum()
    torch.testing.assert_close(with_density, plain - 0.5 * likelihood)


def test_unlabelled_rows_take_part_in_the_density_loss_alone():
    module = make_module(1)
    rows = torch.arange(N)
    losses = [
        make_task(module, density_loss=w, unlabelled=n).loss(0, rows, source())
        for w, n in ((0.0, 0), (0.0, 9), (1.0, 0), (1.0, 9))
    ]
    assert losses[0] == losses[1]
    assert losses[2] != losses[3]


# --- criteria


def test_criteria_by_hand():
    outputs = torch.tensor([[[2.0, 0.0], [0.0, 1.0]]])
    labels = torch.tensor([0, 0])
    losses = CLASSIFICATION.losses(outputs, labels)
    expected = torch.tensor([[1 + np.exp(-2.0), 1 + np.exp(1.0)]]).log()
    torch.testing.assert_close(losses, expected.float())
    predicted = CLASSIFICATION.predict(outputs)[0]
    torch.testing.assert_close(CLASSIFICATION.score(predicted, labels), losses[0])
    numbers = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    squares = torch.tensor([[0.5, 0.5]])
    torch.testing.assert_close(REGRESSION.losses(outputs, numbers), squares)


def test_reconstruction_is_scored_on_observed_cells():
    outputs = torch.tensor([[[1.0, 5.0], [2.0, 2.0], [3.0, 3.0]]], requires_grad=True)
    nan = torch.nan
    targets = torch.tensor([[0.0, nan], [0.0, 1.0], [nan, nan]])
    losses = RECONSTRUCTION.losses(outputs, targets)
    torch.testing.assert_close(losses, torch.tensor([[1.0, 2.5, 0.0]]))
    losses.sum().backward()
    assert torch.isfinite(outputs.grad).all()
    assert outputs.grad[0, 0, 1] == 0.0


def test_a_wrong_class_that_was_certain_costs_much_but_not_infinitely():
    certain = torch.tensor([[1.0, 0.0]])
    assert torch.isfinite(CLASSIFICATION.score(certain, torch.tensor([1])))


# --- the module


def test_draws_go_through_the_whole_network():
    module = make_module(2, 1).eval()
    x = make_task(module)._rows.x[:5]
    with torch.no_grad():
        outputs = torch.cat([view.forward_draws(x, 8) for view in module])
        first = next(iter(module))
        draws = first.density.condition(x).quasi_sample(8)
        by_hand = torch.stack([first.networks(draw) for draw in draws], 1)
    assert outputs.shape == (3, 8, 5, 2)
    torch.testing.assert_close(outputs[:2], by_hand)
    assert not torch.isnan(draws).any()


def make_two_views(body):
    """Return values and bins of one number, beside a category."""
    generator = source()
    gaussians = MixedMixtureDensity(2, 1, (3,), generator=generator)
    classes = MixedMixtureDensity(2, 0, (3, 3), generator=generator)
    values = body.build_over(gaussians, 2, generator)
    bins = body.build_over(classes, 2, generator, (2,))
    bins.first.set_bins([[-0.5, 0.5]], [[-1.0, 0.1, 1.2]])
    return ViewEnsemble([View(values), View(bins)]).eval()


TWO_ROWS = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.5, *[torch.nan] * 3]])


@pytest.mark.parametrize("skip", [False, True])
def test_a_module_comes_back_from_its_shapes(skip):
    body = BodyShape((6, 5), 3, skip=skip)
    module = make_two_views(body)
    again = ViewEnsemble.from_shapes([view.shape for view in module], body)
    again.load_state_dict(module.state_dict())
    with torch.no_grad():
        assert torch.equal(again(TWO_ROWS), module(TWO_ROWS))
    assert again.out_features == 3
    assert [view.sees_bins for view in again] == [False, True]


def test_draws_of_bins_are_complete_rows():
    module = make_two_views(BodyShape((6,), 2, skip=True))
    x = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.3, 0.0, 1.0, 0.0]])
    some = x.clone()
    some[1, 0] = torch.nan
    with torch.no_grad():
        drawn = torch.cat([view.forward_draws(some, 50) for view in module])
        expected = module(x)
    assert drawn.shape == (4, 50, 2, 2)
    complete = expected[:, None, 0].expand(-1, 50, -1)
    torch.testing.assert_close(drawn[:, :, 0], complete)
    of_bins = drawn[2, :, 1]  # a missing number has the centre of one of its bins
    assert len(of_bins.round(decimals=5).unique(dim=0)) == 3


def test_the_linear_skip_starts_at_zero():
    module = make_two_views(BodyShape((6,), 2, skip=True))
    for view in module:
        for parameter in view.networks.first.parameters(recurse=False):
            assert not parameter[2 * 6 :].any()
            assert parameter[: 2 * 6].any()
