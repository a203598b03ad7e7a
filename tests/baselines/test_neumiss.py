"""The NeuMiss block, and networks on it."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import BaggingClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import frame, numbers
from torch import nn

from lacunet.baselines import (
    NeuMissBlock,
    NeuMissClassifier,
    NeuMissMLP,
    NeuMissRegressor,
)

NAN = float("nan")
_QUICK = {"depth": 2, "width": 8, "max_epochs": 2, "random_state": 0}
_GOOD = {**_QUICK, "max_epochs": 10, "lr": 0.05}
# Many of scikit-learn's checks fit, and some of them ask for a good fit.
_HASTY = {**_GOOD, "depth": 1, "max_epochs": 6}

few_rows = pytest.mark.filterwarnings("ignore:Got .* rows, too few")
single_members = pytest.mark.filterwarnings("ignore:Got classes with one row only")


@few_rows
@single_members
@parametrize_with_checks([NeuMissClassifier(**_HASTY), NeuMissRegressor(**_HASTY)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@few_rows
@single_members
@parametrize_with_checks([NeuMissClassifier(), NeuMissRegressor()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check(estimator)


# --- the block


def block(depth, weight=((0.5, 0.2), (0.1, 0.3)), mean=(1.0, 0.0)):
    made = NeuMissBlock(len(mean), depth, dtype=torch.float64)
    made.weight.data = torch.tensor(weight, dtype=torch.float64)
    made.mean.data = torch.tensor(mean, dtype=torch.float64)
    return made


def random_block(depth, n_features=4):
    generator = torch.Generator().manual_seed(0)
    made = NeuMissBlock(n_features, depth, generator=generator, dtype=torch.float64)
    nn.init.normal_(made.mean, generator=generator)
    return made


def random_rows(n=20, n_features=4):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(n, n_features, generator=generator, dtype=torch.float64)
    hidden = torch.rand(n, n_features, generator=generator) < 0.4
    return x.masked_fill(hidden, NAN)


@pytest.mark.parametrize(
    ("depth", "row", "expected"),
    [
        (0, (2.0, NAN), (1.0, 0.0)),
        (1, (2.0, NAN), (1.5, 0.0)),
        (2, (2.0, NAN), (1.75, 0.0)),
        (3, (2.0, NAN), (1.875, 0.0)),
        (0, (2.0, 1.0), (1.0, 1.0)),
        (1, (2.0, 1.0), (1.7, 1.4)),
        (2, (2.0, 1.0), (2.13, 1.59)),
        (3, (NAN, NAN), (0.0, 0.0)),
    ],
)
def test_values_worked_out_by_hand(depth, row, expected):
    out = block(depth)(torch.tensor([row], dtype=torch.float64))
    torch.testing.assert_close(out, torch.tensor([expected], dtype=torch.float64))


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_the_output_is_the_sum_of_powers_of_the_masked_weight(depth):
    x, made = random_rows(), random_block(depth)
    out = made(x)
    for row, got in zip(x, out, strict=True):
        observed = ~torch.isnan(row)
        masked = observed[:, None] * made.weight  # diag(m) W
        start = torch.where(observed, row.nan_to_num() - made.mean, 0.0)
        powers = [torch.linalg.matrix_power(masked, j) for j in range(depth + 1)]
        torch.testing.assert_close(got, sum(power @ start for power in powers))


def test_missing_coordinates_are_zero():
    x = random_rows()
    out = random_block(4)(x)
    assert (out[torch.isnan(x)] == 0).all()
    assert (out[~torch.isnan(x)] != 0).all()


def test_deep_blocks_tend_to_the_inverse_of_the_observed_covariance():
    factor = random_block(0).weight.detach()
    covariance = factor @ factor.T + 0.5 * torch.eye(4, dtype=torch.float64)
    c = 1.9 / torch.linalg.eigvalsh(covariance).max()
    mean = torch.tensor([1.0, -1.0, 0.5, 0.0], dtype=torch.float64)
    weight = torch.eye(4, dtype=torch.float64) - c * covariance
    x = random_rows()
    limit = torch.zeros_like(x)
    for row, out in zip(x, limit, strict=True):
        seen = ~torch.isnan(row)
        inverse = torch.linalg.inv(c * covariance[seen][:, seen])
        out[seen] = inverse @ (row - mean)[seen]
    errors = [
        (block(depth, weight.tolist(), mean.tolist())(x) - limit).abs().max().item()
        for depth in (5, 20, 400)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8


def test_a_linear_layer_behind_it_makes_the_conditional_mean():
    covariance = torch.tensor([[2.0, 0.6], [0.6, 1.0]], dtype=torch.float64)
    weight = torch.eye(2, dtype=torch.float64) - 0.5 * covariance
    deep = block(300, weight.tolist(), (0.0, 0.0))
    x = torch.tensor([[1.5, NAN], [NAN, -2.0]], dtype=torch.float64)
    out = deep(x) @ (0.5 * covariance)
    expected = [[1.5, 0.6 / 2.0 * 1.5], [0.6 * -2.0, -2.0]]
    torch.testing.assert_close(out, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("depth", [0, 1, 7])
def test_a_row_alone_has_the_output_that_it_has_among_others(depth):
    x, made = random_rows(), random_block(depth)
    alone = torch.cat([made(row[None]) for row in x])
    torch.testing.assert_close(alone, made(x))
    torch.testing.assert_close(made(x[0]), made(x)[0])
    torch.testing.assert_close(made(x.view(4, 5, 4)), made(x).view(4, 5, 4))


def test_gradients_are_those_of_finite_differences_and_never_nan():
    made, x = random_block(3), random_rows(5)
    missing = torch.isnan(x)
    values = x.nan_to_num().requires_grad_()

    def respond(values, weight, mean):
        parameters = {"weight": weight, "mean": mean}
        rows = values.masked_fill(missing, NAN)
        return torch.func.functional_call(made, parameters, (rows,))

    weight, mean = (p.detach().requires_grad_() for p in (made.weight, made.mean))
    assert torch.autograd.gradcheck(respond, (values, weight, mean))
    made(x).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in made.parameters())


def test_it_starts_small_from_its_own_generator():
    before = torch.get_rng_state()
    first, again = (
        NeuMissBlock(50, 2, generator=torch.Generator().manual_seed(3)).weight
        for _ in range(2)
    )
    assert torch.equal(torch.get_rng_state(), before)
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    bound = 0.5 * np.sqrt(6 / (50 + 50))  # Xavier's, times the gain
    assert 0.95 * bound < first.abs().max().item() <= bound
    assert (NeuMissBlock(5, 2).mean == 0).all()


def test_wrong_shapes_and_depths_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 5\), but expected \(\*, 4\)"):
        random_block(1)(torch.zeros(3, 5))
    with pytest.raises(TypeError, match="floating-point"):
        random_block(1)(torch.zeros(3, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="Got depth=-1"):
        NeuMissBlock(3, -1)
    with pytest.raises(TypeError, match="Got depth=1.5"):
        NeuMissBlock(3, 1.5)
    assert repr(NeuMissBlock(3, 2)) == "NeuMissBlock(3, depth=2)"


# --- the networks


def gaussian_rows(n):
    """Return rows whose columns depend on each other, and a linear target."""
    rng = np.random.RandomState(0)
    truth = rng.randn(n, 2) @ rng.randn(2, 4) + 0.2 * rng.randn(n, 4)
    target = truth @ [1.0, -2.0, 1.0, 1.5]
    return np.where(rng.rand(n, 4) < 0.5, np.nan, truth), target


def test_steps_of_the_block_teach_a_linear_head_to_use_correlations():
    X, y = gaussian_rows(800)
    options = {"mlp_depth": 0, "lr": 0.05, "max_epochs": 60}
    flat, deep = (
        np.mean(
            [
                NeuMissRegressor(depth, **options, random_state=seed)
                .fit(X[:400], y[:400])
                .score(X[400:], y[400:])
                for seed in range(3)
            ]
        )
        for depth in (0, 5)
    )
    assert deep > flat + 0.06  # about 0.14 more


def test_classes_are_learned_from_rows_with_missing_values():
    X, y = numbers(300)
    words = np.array(["no", "yes"])[y]
    model = NeuMissClassifier(**_GOOD).fit(X[:200], words[:200])
    assert model.score(X[200:], words[200:]) > 0.75
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0)


def test_the_head_s_layers_are_of_their_own():
    X, y = numbers()
    model = NeuMissClassifier(**{**_QUICK, "mlp_depth": 3}).fit(X, y)
    linear = [part for part in model.module_ if isinstance(part, nn.Linear)]
    assert [tuple(part.weight.shape) for part in linear] == [
        (8, 4),
        (8, 8),
        (8, 8),
        (2, 8),
    ]
    assert sum(isinstance(part, nn.ReLU) for part in model.module_) == 3
    assert not torch.equal(linear[1].weight, linear[2].weight)
    assert len({id(p) for p in model.module_.parameters()}) == 2 + 2 * 4


@pytest.mark.parametrize(("n_columns", "width"), [(4, 64), (70, 70)])
def test_the_head_is_as_wide_as_the_table_and_at_least_64(n_columns, width):
    X = np.random.RandomState(0).randn(30, n_columns)
    model = NeuMissRegressor(max_epochs=1, random_state=0).fit(X, X[:, 0])
    assert model.module_[1].weight.shape == (width, n_columns)


def test_a_head_without_hidden_layers_is_linear():
    X, y = numbers()
    model = NeuMissRegressor(**{**_QUICK, "mlp_depth": 0}).fit(X, y)
    kinds = [type(part) for part in model.module_]
    assert kinds == [NeuMissBlock, nn.Linear]


def test_mean_and_last_bias_do_not_decay():
    model = NeuMissClassifier()
    module = model._build(3, 2, seed=0)
    decayed, free = model._optimiser(module).param_groups
    assert decayed["weight_decay"] == 1e-5
    assert free["weight_decay"] == 0.0
    assert [id(p) for p in free["params"]] == [id(module[0].mean), id(module[-1].bias)]
    assert len(decayed["params"]) + 2 == len(list(module.parameters()))


@pytest.mark.parametrize(("slope", "step"), [(3.0, 1.0), (0.5, 0.5)])
def test_gradients_are_clipped_to_a_length(slope, step):
    model = NeuMissRegressor()
    module = model._build(3, 1, seed=0)
    optimiser = model._optimiser(module)
    parameters = list(module.parameters())
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    parameters[0].grad[0, 0] = slope
    optimiser.step()
    assert parameters[0].grad[0, 0].item() == pytest.approx(step, rel=1e-4)


def test_few_rows_are_all_learned_from_with_a_warning():
    X, y = numbers(9)
    with pytest.warns(UserWarning, match="Got 9 distinct rows, too few for validation"):
        NeuMissClassifier(**_QUICK).fit(X, y)


def test_copies_of_a_row_are_validated_on_together():
    rng = np.random.RandomState(0)
    X, y = rng.randn(50, 10), rng.randint(2, size=50)
    options = {**_QUICK, "max_epochs": 60, "lr": 0.02, "width": 32}
    model = NeuMissClassifier(**options).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    # The classes are noise: no network does better than chance on rows unseen.
    assert min(record.valid_loss for record in model.history_) > 0.6


def test_predictions_are_those_of_the_module_for_standardised_rows():
    X, y = numbers()
    model = NeuMissClassifier(**_QUICK).fit(X, y)
    x = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    with torch.no_grad():
        expected = model.module_(torch.from_numpy(x)).softmax(1).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected)
    alone = np.vstack([model.predict_proba(row[None]) for row in X])
    np.testing.assert_allclose(alone, expected, atol=1e-10)


def test_targets_on_another_scale_are_predicted_on_that_scale():
    X, y = gaussian_rows(60)
    plain, scaled = (
        NeuMissRegressor(**_QUICK).fit(X, target).predict(X) for target in (y, 8.0 * y)
    )
    np.testing.assert_allclose(scaled, 8.0 * plain)
    shifted = NeuMissRegressor(**_GOOD).fit(X, y + 1e3).predict(X)
    assert np.abs(shifted - y - 1e3).mean() < 2.0 * y.std()


def test_several_numbers_are_predicted_at_once():
    X, y = gaussian_rows(60)
    model = NeuMissRegressor(**_QUICK).fit(X, np.column_stack([y, -y]))
    assert model.predict(X).shape == (60, 2)


@pytest.mark.parametrize("depth", [0, 1, 30])
def test_any_depth_and_one_row_at_a_time_will_do(depth):
    X, y = numbers(20)
    model = NeuMissClassifier(**{**_QUICK, "depth": depth, "batch_size": 1})
    assert np.isfinite(model.fit(X, y).predict_proba(X[:1])).all()


def test_training_stops_when_patience_is_at_an_end():
    X, y = numbers()
    options = {**_QUICK, "max_epochs": 50, "lr": 1e-12}
    model = NeuMissClassifier(**options, patience=3).fit(X, y)
    assert len(model.history_) == 1 + 3


def test_the_same_seed_gives_the_same_and_global_generators_stay():
    X, y = numbers()
    before = torch.get_rng_state()
    first, again, other = (
        NeuMissClassifier(**{**_QUICK, "random_state": seed}).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert torch.equal(torch.get_rng_state(), before)


def test_frames_with_categories_will_do():
    X, y = frame()
    model = NeuMissClassifier(**_QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (60, 2)
    assert model.feature_names_in_.tolist() == list(X)


def test_several_networks_are_bagged():
    X, y = numbers()
    model = BaggingClassifier(NeuMissClassifier(**_QUICK), 2, random_state=0)
    assert model.fit(X, y).predict_proba(X).shape == (60, 2)


def test_the_method_s_name_is_the_classifier():
    assert NeuMissMLP is NeuMissClassifier


@pytest.mark.parametrize(
    ("name", "value"),
    [("depth", -1), ("mlp_depth", -1), ("width", 0), ("patience", 0), ("lr", 0.0)],
)
def test_wrong_parameters_are_refused(name, value):
    X, y = numbers()
    with pytest.raises(ValueError, match=f"Got {name}={value}"):
        NeuMissClassifier(**{**_QUICK, name: value}).fit(X, y)
