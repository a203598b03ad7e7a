"""Autoencoders, dropped inputs, context encoders and neighbours."""

import numpy as np
import pytest
import torch
from reproduction.rivals import (
    ContextEncoder,
    ContextEncoderClassifier,
    DropoutAutoencoder,
    DropoutMLPClassifier,
    FilledAutoencoder,
    InputDropout,
    NeighbourImputer,
)
from reproduction.rivals.autoencoders import (
    SplitTask,
    build_network,
    make_plan,
    squared_errors,
)
from reproduction.rivals.context import NO_CLASS, borrow_missing, two_heads
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.utils import estimator_checks
from torch import nn

from lacunet import IncompleteGaussianMixture, LacunetRBFClassifier
from lacunet.baselines import plain_network

NAN = np.nan
QUICK = {"hidden_layer_sizes": (8,), "max_epochs": 2, "random_state": 0}
# The parameters of the paper's table 1.
IMAGES = {
    "scale": "none",
    "hidden_layer_sizes": (8, 4, 8),
    "activation": ("relu", "sigmoid"),
    "out_activation": "sigmoid",
    "schedule": "one-cycle",
}


def mlp(**options):
    quick = {"n_networks": 1, "hidden_layer_sizes": (8,), "max_epochs": 2}
    return plain_network(**{**quick, "dropout": 0.0, **options})


def rbf(**options):
    return LacunetRBFClassifier(
        density=IncompleteGaussianMixture(1), train_density=False, **options
    )


def incomplete(n=60, rate=0.2, seed=0):
    """Return rows with missing values, the same rows without, and classes."""
    rng = np.random.RandomState(seed)
    complete = rng.randn(n, 4)
    y = (complete[:, 0] + 0.5 * complete[:, 1] + 0.2 * rng.randn(n) > 0).astype(int)
    return np.where(rng.rand(n, 4) < rate, NAN, complete), complete, y


X, COMPLETE, Y = incomplete()


def line(n=300):
    """Return rows on a line: what is observed determines what is missing."""
    rng = np.random.RandomState(0)
    truth = rng.randn(n, 1) * [1.0, 2.0, -1.0] + [0.0, 5.0, 1.0]
    return np.where(rng.rand(n, 3) < 0.2, NAN, truth), truth


def still(make, *arguments):
    """Return a model whose weights hardly move, validated by all of a few rows."""
    options = {**QUICK, "lr": 1e-12, "max_epochs": 1, "scale": "none"}
    return make(*arguments, **options)


@pytest.mark.parametrize(
    "estimator",
    [
        FilledAutoencoder(**QUICK),
        InputDropout(),
        NeighbourImputer(2),
        DropoutMLPClassifier(mlp(max_epochs=6, lr=0.2), random_state=0),
        ContextEncoderClassifier(mlp(max_epochs=6, lr=0.2), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_estimators_unfitted,
        estimator_checks.check_n_features_in,
    ],
)
def test_scikit_learn_check(estimator, check):
    check(type(estimator).__name__, estimator)


# --- autoencoders


def test_missing_values_are_filled_better_than_by_the_mean():
    rows, truth = line()
    model = FilledAutoencoder(
        hidden_layer_sizes=(16, 1, 16), max_epochs=60, lr=0.01, random_state=0
    )
    filled = model.fit_transform(rows)
    missing = np.isnan(rows) & ~np.isnan(rows).all(1, keepdims=True)
    means = np.where(missing, np.nanmean(rows, axis=0), rows)
    error, of_means = (np.square(t - truth)[missing].mean() for t in (filled, means))
    assert error < 0.5 * of_means
    assert (filled[~np.isnan(rows)] == rows[~np.isnan(rows)]).all()
    reconstructed = model.reconstruct(rows)
    assert (reconstructed[~np.isnan(rows)] != rows[~np.isnan(rows)]).all()


@pytest.mark.parametrize("make", [FilledAutoencoder, ContextEncoder])
def test_network_sees_mean_filled_rows_on_scale(make):
    teacher = {"X_complete": COMPLETE} if make is ContextEncoder else {}
    model = make(**QUICK).fit(X, **teacher)
    centre, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    far = X.copy()
    far[0, 0] = 1e6  # as five deviations
    x = torch.tensor((far - centre) / deviation, dtype=torch.float32).clamp(-5, 5)
    with torch.no_grad():
        outputs = model.module_(x.nan_to_num(0.0)).numpy()
    expected = outputs * deviation + centre
    np.testing.assert_allclose(model.reconstruct(far), expected, rtol=1e-4, atol=1e-5)


def test_images_keep_their_scale_and_single_precision():
    images = np.random.RandomState(0).rand(50, 16).astype(np.float32)
    images[::3, 4:8] = NAN
    model = FilledAutoencoder(NeighbourImputer(2), **{**QUICK, **IMAGES}).fit(images)
    filled = NeighbourImputer(2).fit_transform(images)
    with torch.no_grad():
        outputs = model.module_(torch.from_numpy(filled)).numpy()
    reconstructed = model.reconstruct(images)
    np.testing.assert_allclose(reconstructed, outputs, rtol=1e-5, atol=1e-5)
    assert reconstructed.dtype == np.float32
    assert (reconstructed > 0).all()
    assert (reconstructed < 1).all()
    assert len(model.history_) == 2


def test_loss_is_taken_over_observed_cells_alone():
    rows = np.array([[1.0, NAN, 2.0], [NAN, NAN, -1.0], [0.5, 3.0, 1.0]])
    model = still(FilledAutoencoder, SimpleImputer(strategy="constant")).fit(rows)
    squares = (model.reconstruct(rows) - rows) ** 2
    expected = np.nanmean(squares, axis=1).mean()  # a row counts as a row
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)
    assert model.history_[0].train_loss == pytest.approx(expected, rel=1e-5)


def test_loss_of_a_context_encoder_is_taken_over_all_cells():
    complete = np.arange(12.0).reshape(4, 3) / 12
    rows = complete.copy()
    rows[[0, 1, 1], [0, 1, 2]] = NAN
    model = still(ContextEncoder).fit(rows, X_complete=complete)
    expected = np.mean((model.reconstruct(rows) - complete) ** 2)
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)


def test_complete_rows_help_to_fill():
    rng = np.random.RandomState(0)
    truth = rng.randn(400, 1) * [1.0, 1.0, 1.0, -1.0]
    rows = np.where(rng.rand(400, 4) < 0.3, NAN, truth)
    options = {**QUICK, "hidden_layer_sizes": (32,), "max_epochs": 30, "lr": 0.01}
    missing = np.isnan(rows) & ~np.isnan(rows).all(1, keepdims=True)
    error, of_other = (
        np.mean((model.transform(rows) - truth)[missing] ** 2)
        for model in (
            ContextEncoder(**options).fit(rows, X_complete=truth),
            FilledAutoencoder(**options).fit(rows),
        )
    )
    assert error < 0.7 * of_other


def test_dropout_autoencoder_reconstructs_values_that_are_not_divided():
    rows = np.random.RandomState(0).rand(300, 2)[:, [0, 0, 1, 1]]
    rows[::2, 0] = NAN
    options = {"scale": "none", "hidden_layer_sizes": (32,), "lr": 0.01}
    model = DropoutAutoencoder(**options, max_epochs=60, random_state=0).fit(rows)
    assert model.imputer_.rate_ == 1 / 8
    error = np.nanmean((model.reconstruct(rows) - rows) ** 2)
    assert error < 0.2 * np.nanvar(rows)
    same = FilledAutoencoder(InputDropout(), **options, max_epochs=2, random_state=0)
    model.set_params(max_epochs=2).fit(rows)
    np.testing.assert_allclose(model.transform(rows), same.fit_transform(rows))


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
def test_deep_networks_start_with_responses_of_equal_size(activation):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = build_network((50, *[200] * 8, 1), activation, activation, "identity")
        responses = torch.randn(500, 50)
    deviations = []
    for layer in network:
        responses = layer(responses)
        if isinstance(layer, nn.Linear) and layer.out_features > 1:
            deviations.append(float(responses.detach().std(0).mean()))
    # Behind the second layer, which starts as torch has it.
    assert 0.5 < deviations[-1] / deviations[2] < 2.0


def test_plan_is_that_of_the_estimators():
    parameters = {"batch_size": "auto", "max_epochs": 200}
    sizes = [make_plan(parameters, n).batch_size for n in (100, 4096, 60_000)]
    assert sizes == [64, 128, 512]
    assert [make_plan(parameters, n).patience for n in (100, 5000)] == [15, 8]
    plan = make_plan({**parameters, "schedule": "one-cycle"}, 100)
    assert (plan.one_cycle, plan.patience, plan.tol) == (True, 200, 0.0)


def test_same_seed_gives_the_same_and_global_generators_stay():
    before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    for make in (
        lambda seed: FilledAutoencoder(**{**QUICK, "random_state": seed}),
        lambda seed: ContextEncoderClassifier(mlp(dropout=0.2), random_state=seed),
        lambda seed: DropoutMLPClassifier(mlp(), random_state=seed),
    ):
        first, again, other = (
            (m.predict_proba if hasattr(m, "predict_proba") else m.transform)(X)
            for m in (make(seed).fit(X, Y) for seed in (0, 0, 1))
        )
        np.testing.assert_allclose(first, again, rtol=1e-10)
        assert (first != other).any()
    assert torch.equal(torch.get_rng_state(), before[0])
    assert str(np.random.get_state()) == before[1]  # noqa: NPY002


def test_wrong_input_of_autoencoders_is_refused():
    with pytest.raises(ValueError, match=r"without one observed value, \[1\]"):
        FilledAutoencoder(**QUICK).fit([[1.0, NAN], [2.0, NAN]])
    with pytest.raises(ValueError, match="Got scale='robust'.*standard, none"):
        FilledAutoencoder(scale="robust").fit(X)
    with pytest.raises(NotFittedError):
        FilledAutoencoder().transform(X)


# --- dropped inputs


def test_missing_inputs_are_zero_and_others_are_divided_by_one_minus_the_rate():
    rows = np.array([[1.0, NAN, 3.0], [NAN, -2.0, 0.5]])
    dropout = InputDropout().fit(rows)
    assert dropout.rate_ == 2 / 6
    expected = [[1.5, 0.0, 4.5], [0.0, -3.0, 0.75]]
    np.testing.assert_allclose(dropout.transform(rows), expected)
    np.testing.assert_allclose(dropout.transform([[2.0, 4.0, 6.0]]), [[3, 6, 9]])
    given = InputDropout(0.5).fit_transform(rows.astype(np.float32))
    np.testing.assert_array_equal(given, [[2, 0, 6], [0, -4, 1]])
    assert given.dtype == np.float32
    assert np.isnan(rows).sum() == 2
    for wrong in (1.0, -0.1, "half"):
        with pytest.raises(ValueError, match="Got rate="):
            InputDropout(wrong).fit(rows)
    with pytest.raises(ValueError, match=r"Got rate=.*1\.0"):
        InputDropout().fit([[NAN], [NAN]])


@pytest.mark.parametrize("network", [mlp(max_epochs=6, lr=0.1), rbf(n_units=10)])
def test_classes_are_learned_with_dropped_inputs(network):
    rows, _, labels = incomplete(300)
    words = np.array(["no", "yes"])[labels]
    model = DropoutMLPClassifier(network, random_state=0)
    model.set_params(network__lr=0.1).fit(rows[:200], words[:200])
    assert model.score(rows[200:], words[200:]) > 0.7
    centre, deviation = np.nanmean(rows[:200], 0), np.nanstd(rows[:200], 0)
    scaled = np.nan_to_num(((rows - centre) / deviation).clip(-5, 5))
    inputs = scaled / (1 - np.isnan(rows[:200]).mean())
    expected = model.model_[-1].predict_proba(inputs)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-6)


# --- the context encoder as a classifier


def test_both_heads_have_their_weight_in_the_loss():
    outputs = torch.tensor([[0.0, np.log(3.0), 1.0, 2.0], [5.0, -5.0, 1.0, 1.0]])
    targets = torch.tensor([[1.0, 0.0, NAN], [NO_CLASS, 3.0, 1.0]])
    losses = two_heads(outputs, targets, n_classes=2, weight=0.5)
    of_class = np.log(4 / 3)  # of odds of three to one
    expected = [of_class + 0.5 * 1.0, 0.5 * (4.0 + 0.0) / 2]
    np.testing.assert_allclose(losses, expected, rtol=1e-6)


def test_networks_learn_from_some_rows_and_are_validated_by_the_others():
    inputs, targets = torch.arange(5.0)[:, None], torch.zeros(5, 1)
    held_out = torch.tensor([False, True, False, False, True])
    for chosen, learned, validated in (
        (held_out, [0, 2, 3], [1, 4]),
        (torch.zeros_like(held_out), range(5), range(5)),
    ):
        task = SplitTask(
            inputs, targets, chosen, losses=squared_errors, score=squared_errors
        )
        task.parts = [nn.Identity()]
        loss = task.loss(0, torch.arange(task.n_rows), torch.Generator())
        assert float(loss) == pytest.approx(np.mean(np.square(learned)))
        assert task.validate(0) == pytest.approx(np.mean(np.square(validated)))


def test_weight_is_that_of_the_squared_error():
    records = [
        ContextEncoderClassifier(
            mlp(lr=1e-12, max_epochs=1), reconstruction_weight=w, random_state=0
        )
        .fit(X, Y, X_complete=COMPLETE)
        .history_[0]
        for w in (0.0, 1.0, 3.0)
    ]
    none, one, three = (record.train_loss for record in records)
    assert one - none > 0.1
    assert three - none == pytest.approx(3 * (one - none), rel=1e-4)
    assert np.ptp([record.valid_loss for record in records]) < 1e-6


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize(
    "network", [mlp(max_epochs=8, lr=0.1), rbf(n_units=10, max_epochs=30)]
)
def test_classes_are_learned_by_a_context_encoder(network, given):
    rows, complete, labels = incomplete(300)
    words = np.array(["no", "yes"])[labels]
    model = ContextEncoderClassifier(network, random_state=0)
    teacher = {"X_complete": complete[:200]} if given else {}
    model.fit(rows[:200], words[:200], **teacher)
    assert model.score(rows[200:], words[200:]) > 0.7
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(rows).sum(1), 1.0)


def test_radial_units_start_at_training_rows():
    network = rbf(n_units=200, lr=1e-12, max_epochs=1)
    model = ContextEncoderClassifier(network, random_state=0)
    units = model.fit(X, Y, X_complete=COMPLETE).module_[0]
    rows = model._fill(model._to_scale(X))
    apart = np.abs(units.centres.detach().numpy()[:, None] - rows).max(-1)
    assert apart.min(1).max() < 1e-5
    assert len(set(apart.argmin(1))) > 40
    # Five times the mean of |N(0, 1)|, on columns of unit variance.
    mean = float(units.variances.detach().mean())
    assert mean == pytest.approx(5 * np.sqrt(2 / np.pi), rel=0.1)


def test_complete_rows_borrow_the_missing_cells_of_incomplete_ones():
    rows, whole, _ = incomplete(500)
    complete = ~np.isnan(rows).any(1)
    inputs = borrow_missing(rows, np.random.RandomState(0))
    seen = ~np.isnan(inputs)
    assert (inputs[seen] == rows[complete][seen]).all()
    patterns = {tuple(row) for row in np.isnan(rows[~complete])}
    drawn = {tuple(row) for row in np.isnan(inputs)}
    assert drawn <= patterns
    assert len(drawn) > 5
    assert not np.isnan(rows[complete]).any()
    np.testing.assert_array_equal(
        borrow_missing(whole, np.random.RandomState(0)), whole
    )


def test_wrong_input_of_context_encoders_is_refused():
    rows = X.copy()
    rows[np.arange(60), np.arange(60) % 4] = NAN
    model = ContextEncoderClassifier(mlp())
    with pytest.raises(ValueError, match="Got X without one complete row.*X_complete"):
        model.fit(rows, Y)
    for each in (model, ContextEncoder(**QUICK)):
        with pytest.raises(ValueError, match="X_complete with missing values in"):
            each.fit(X, Y, X_complete=X)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            each.fit(X, Y, X_complete=COMPLETE[1:])
        with pytest.raises(ValueError, match="3 features"):
            each.fit(X, Y, X_complete=COMPLETE[:, 1:])
    with pytest.raises(TypeError, match="expected a LacunetClassifier"):
        ContextEncoderClassifier(LogisticRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="reconstruction_weight == -1.0"):
        ContextEncoderClassifier(mlp(), reconstruction_weight=-1.0).fit(X, Y)


def test_complete_rows_go_through_cross_validation():
    model = ContextEncoderClassifier(mlp(), random_state=0)
    params = {"X_complete": COMPLETE}
    scores = cross_validate(model, X, Y, cv=2, params=params, error_score="raise")
    assert np.isfinite(scores["test_score"]).all()


# --- neighbours


def neighbour_table(seed, rate=None):
    rng = np.random.RandomState(seed)
    n, width = rng.randint(5, 80), rng.randint(2, 9)
    rows = rng.randn(n, width) * 10 * rng.rand(width) + 5 * rng.randn(width)
    rows[rng.rand(n, width) < (0.8 * rng.rand() if rate is None else rate)] = NAN
    rows[0] = 1.0
    return rows


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_neighbors", [1, 5])
def test_neighbours_fill_as_those_of_scikit_learn(seed, n_neighbors):
    train, others = neighbour_table(seed), neighbour_table(seed, rate=0.5)
    ours = NeighbourImputer(n_neighbors).fit(train)
    theirs = KNNImputer(n_neighbors=n_neighbors).fit(train)
    for rows in (train, others):
        found = ours.transform(rows)
        np.testing.assert_allclose(found, theirs.transform(rows), atol=1e-6)
        with config_context(working_memory=0.001):  # in many blocks
            np.testing.assert_allclose(ours.transform(rows), found, rtol=1e-10)


def test_far_neighbours_are_found_where_the_near_ones_lack_the_column():
    rows = np.arange(400.0, dtype=np.float32)[:, None].repeat(2, axis=1)
    rows[:390, 1] = NAN
    filled = NeighbourImputer(2).fit_transform(rows)
    np.testing.assert_allclose(filled[0, 1], 390.5)
    assert filled.dtype == np.float32


def test_missing_values_without_neighbours_get_the_mean():
    rows = np.array([[1.0, NAN, NAN], [3.0, NAN, NAN], [NAN, 7.0, NAN], [NAN] * 3])
    filled = NeighbourImputer(2).fit_transform(rows)
    np.testing.assert_allclose(filled, [[1, 7, 0], [3, 7, 0], [2, 7, 0], [2, 7, 0]])
    with pytest.raises(ValueError, match="n_neighbors"):
        NeighbourImputer(0).fit(rows)
