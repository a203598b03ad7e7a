"""Context encoders: complete rows are what they learn to give back."""

import numpy as np
import pytest
import torch
from reproduction.rivals._complete import borrow_holes
from reproduction.rivals._context import ContextEncoder
from reproduction.rivals._context_classifier import ContextEncoderClassifier
from reproduction.rivals._filled import FilledAutoencoder
from reproduction.rivals._two_heads import NO_CLASS, two_heads
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import check_network, frame, numbers

from lacunet import IncompleteGaussianMixture, LacunetRBFClassifier
from lacunet.baselines import plain_network

NAN = np.nan
_QUICK = {"n_networks": 1, "hidden_layer_sizes": (8,), "max_epochs": 2, "dropout": 0.0}
_GOOD = {**_QUICK, "max_epochs": 8, "lr": 0.1}
# Many of scikit-learn's checks fit, and some of them ask for a good fit.
_HASTY = {**_QUICK, "max_epochs": 4, "lr": 0.3}
_AUTOENCODER = {"hidden_layer_sizes": (8,), "max_epochs": 2, "random_state": 0}


def encoder(**options):
    return ContextEncoder(**{**_AUTOENCODER, **options})


def classifier(**options):
    network = plain_network(**_QUICK)
    return ContextEncoderClassifier(network, **{"random_state": 0, **options})


def still(**options):
    """Make a model whose weights hardly move; it is judged by all of a few rows."""
    return encoder(lr=1e-12, max_epochs=1, scale="none", **options)


def holed(n=60, *, holes=0.2, seed=0):
    """Return rows with holes, the same rows without, and classes."""
    complete, y = numbers(n, missing=0.0, seed=seed)
    hidden = np.random.RandomState(seed + 1).rand(*complete.shape) < holes
    return np.where(hidden, NAN, complete), complete, y


few_rows = pytest.mark.filterwarnings("ignore:Got .* rows, too few")
single_members = pytest.mark.filterwarnings("ignore:Got classes with one row only")


@few_rows
@single_members
@parametrize_with_checks(
    [
        encoder(),
        ContextEncoderClassifier(plain_network(**_HASTY), random_state=0),
    ]
)
def test_scikit_learn_check(estimator, check):
    check_network(estimator, check)


@pytest.mark.slow
@few_rows
@single_members
@parametrize_with_checks([ContextEncoder(), ContextEncoderClassifier()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check_network(estimator, check)


# --- what complete rows there are


def test_complete_rows_borrow_the_holes_of_incomplete_ones():
    X, _, _ = holed(500)
    complete = ~np.isnan(X).any(1)
    inputs = borrow_holes(X, np.random.RandomState(0))
    assert len(inputs) == complete.sum()
    seen = ~np.isnan(inputs)
    assert (inputs[seen] == X[complete][seen]).all()
    patterns = {tuple(row) for row in np.isnan(X[~complete])}
    drawn = [tuple(row) for row in np.isnan(inputs)]
    assert set(drawn) <= patterns
    assert len(set(drawn)) > 5
    assert not np.isnan(X[complete]).any()


def test_complete_rows_stay_as_they_are_if_there_are_no_others():
    X, _ = numbers(missing=0.0)
    np.testing.assert_array_equal(borrow_holes(X, np.random.RandomState(0)), X)


@pytest.mark.parametrize("make", [encoder, classifier])
def test_without_a_complete_row_it_says_what_it_needs(make):
    X, complete, y = holed()
    X[np.arange(60), np.arange(60) % 4] = NAN
    message = "Got X without one complete row.*Give them as X_complete"
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)
    make().fit(X, y, X_complete=complete)


@pytest.mark.parametrize("make", [encoder, classifier])
def test_complete_rows_must_be_complete_and_as_many(make):
    X, complete, y = holed()
    with pytest.raises(ValueError, match="X_complete with missing values in"):
        make().fit(X, y, X_complete=X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make().fit(X, y, X_complete=complete[1:])
    with pytest.raises(ValueError, match="3 features"):
        make().fit(X, y, X_complete=complete[:, 1:])


# --- as an autoencoder


@few_rows
def test_the_loss_is_taken_over_all_cells_of_the_complete_rows():
    complete = np.arange(12.0).reshape(4, 3) / 12
    X = complete.copy()
    X[[0, 1, 1], [0, 1, 2]] = NAN
    model = still().fit(X, X_complete=complete)
    expected = np.mean((model.reconstruct(X) - complete) ** 2)
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)


@few_rows
def test_complete_rows_of_the_table_serve_with_holes_in_the_input():
    X = np.arange(12.0).reshape(4, 3) / 12
    X[3, 1] = NAN
    model = still().fit(X)
    inputs = X[:3].copy()
    inputs[:, 1] = NAN
    expected = np.mean((model.reconstruct(inputs) - X[:3]) ** 2)
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)


def test_the_input_is_filled_with_means_of_what_is_observed():
    X, complete, _ = holed()
    model = encoder().fit(X, X_complete=complete)
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    x = torch.tensor((X - centre) / spread, dtype=torch.float32).clamp(-5, 5)
    with torch.no_grad():
        outputs = model.module_(x.nan_to_num(0.0)).numpy()
    expected = outputs * spread + centre
    np.testing.assert_allclose(model.reconstruct(X), expected, rtol=1e-4, atol=1e-5)
    seen = ~np.isnan(X)
    assert (model.transform(X)[seen] == X[seen]).all()


@pytest.mark.parametrize("given", [True, False])
def test_complete_rows_teach_to_fill_holes(given):
    rng = np.random.RandomState(0)
    truth = rng.randn(400, 1) * [1.0, 1.0, 1.0, -1.0]
    X = np.where(rng.rand(400, 4) < 0.3, NAN, truth)
    options = {"hidden_layer_sizes": (32,), "max_epochs": 30, "lr": 0.01}
    teacher = {"X_complete": truth} if given else {}
    model = encoder(**options).fit(X, **teacher)
    other = FilledAutoencoder(**{**_AUTOENCODER, **options}).fit(X)
    holes = np.isnan(X) & ~np.isnan(X).all(1, keepdims=True)
    error, of_other = (
        np.mean((m.transform(X) - truth)[holes] ** 2) for m in (model, other)
    )
    assert error < 0.7 * of_other


def test_the_same_seed_gives_the_same():
    X, _, _ = holed()
    first, again, other = (
        encoder(random_state=seed).fit_transform(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# --- as a classifier


def test_both_heads_have_their_share_of_the_loss():
    criterion = two_heads(n_classes=2, weight=0.5)
    outputs = torch.tensor([[[0.0, np.log(3.0), 1.0, 2.0], [5.0, -5.0, 1.0, 1.0]]])
    targets = torch.tensor([[1.0, 0.0, NAN], [NO_CLASS, 3.0, 1.0]])
    losses = criterion.losses(outputs, targets)
    of_class = np.log(4 / 3)  # of odds of three to one
    expected = [[of_class + 0.5 * 1.0, 0.5 * (4.0 + 0.0) / 2]]
    np.testing.assert_allclose(losses, expected, rtol=1e-6)


def test_networks_are_judged_by_the_class_alone():
    criterion = two_heads(n_classes=2, weight=0.5)
    outputs = torch.tensor([[[0.0, np.log(3.0), 1.0], [0.0, 0.0, 1.0]]])
    probabilities = criterion.predict(outputs)
    np.testing.assert_allclose(probabilities, [[[0.25, 0.75], [0.5, 0.5]]], rtol=1e-6)
    targets = torch.tensor([[1.0, 9.0], [NO_CLASS, 9.0]])
    scores = criterion.score(probabilities[0], targets)
    np.testing.assert_allclose(scores, [np.log(4 / 3), 0.0], rtol=1e-6)


@pytest.mark.parametrize("given", [True, False])
def test_the_weight_is_that_of_the_squared_error(given):
    X, complete, y = holed()
    teacher = {"X_complete": complete} if given else {}
    network = plain_network(**{**_QUICK, "lr": 1e-12, "max_epochs": 1})
    records = [
        ContextEncoderClassifier(network, reconstruction_weight=w, random_state=0)
        .fit(X, y, **teacher)
        .network_.history_[0]
        for w in (0.0, 1.0, 3.0)
    ]
    none, one, three = (record.train_loss for record in records)
    assert one - none > 0.1
    assert three - none == pytest.approx(3 * (one - none), rel=1e-4)
    assert len({record.valid_loss for record in records}) == 1


def test_copies_of_complete_rows_have_holes_and_no_class():
    X, _, y = holed()
    model = classifier().fit(X, y)
    x = model._encode(X)
    weights = np.full(60, 2.0)
    lesson = model._lesson_of_copies(x, y, weights, np.random.RandomState(0))
    n_complete = (~np.isnan(X).any(1)).sum()
    assert len(lesson.x) == len(lesson.weights) == 60 + n_complete
    np.testing.assert_array_equal(lesson.x[:60], model._fill(x))
    assert lesson.codes.tolist() == [*y, *[NO_CLASS] * n_complete]
    assert np.isnan(lesson.complete[:60]).all()
    np.testing.assert_array_equal(lesson.complete[60:], x[~np.isnan(x).any(1)])
    assert (lesson.x[60:] != lesson.complete[60:]).any(1).all()


def test_the_network_is_asked_about_mean_filled_rows_and_has_one_head_left():
    X, complete, y = holed()
    model = classifier().fit(X, y, X_complete=complete)
    centre, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    filled = np.nan_to_num((X - centre) / spread)
    expected = model.network_.predict_proba(filled)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
    assert model.network_.module_.out_features == 2
    np.testing.assert_array_equal(model.predict(X), expected.argmax(1))


@pytest.mark.parametrize("given", [True, False])
def test_classes_are_learned_from_rows_with_holes(given):
    X, complete, y = holed(300)
    words = np.array(["no", "yes"])[y]
    model = ContextEncoderClassifier(plain_network(**_GOOD), random_state=0)
    teacher = {"X_complete": complete[:200]} if given else {}
    model.fit(X[:200], words[:200], **teacher)
    assert model.score(X[200:], words[200:]) > 0.75
    assert model.classes_.tolist() == ["no", "yes"]


def test_classes_can_be_weighted_by_name():
    X, complete, y = holed()
    words = np.array(["no", "yes"])[y]
    plain, weighted = (
        ContextEncoderClassifier(plain_network(**_GOOD, class_weight=w), random_state=0)
        .fit(X, words, X_complete=complete)
        .predict_proba(X)[:, 1]
        .mean()
        for w in (None, {"no": 1.0, "yes": 20.0})
    )
    assert weighted > plain + 0.05


def test_the_paper_s_radial_network_has_a_second_head_too():
    X, complete, y = holed()
    density = IncompleteGaussianMixture(1)
    network = LacunetRBFClassifier(n_units=5, density=density, max_epochs=2)
    model = ContextEncoderClassifier(network, random_state=0)
    model.fit(X, y, X_complete=complete)
    assert model.predict_proba(X).shape == (60, 2)


def test_other_networks_have_no_second_head():
    X, complete, y = holed()
    model = ContextEncoderClassifier(LogisticRegression())
    with pytest.raises(TypeError, match="expected a LacunetClassifier"):
        model.fit(X, y, X_complete=complete)


@pytest.mark.parametrize("weight", [-1.0, np.inf, "much", None])
def test_wrong_weights_are_refused(weight):
    X, _, y = holed()
    with pytest.raises(ValueError, match="Got reconstruction_weight="):
        classifier(reconstruction_weight=weight).fit(X, y)


def test_frames_with_categories_will_do():
    X, y = frame()
    complete = X.ffill().bfill()
    given = classifier().fit(X, y, X_complete=complete).predict_proba(X)
    not_given = classifier().fit(X, y).predict_proba(X)
    assert given.shape == not_given.shape == (60, 2)
    assert (given != not_given).any()


def test_complete_rows_go_through_cross_validation():
    X, complete, y = holed()
    params = {"X_complete": complete}
    scores = cross_validate(
        classifier(), X, y, cv=2, params=params, error_score="raise"
    )
    assert np.isfinite(scores["test_score"]).all()


def test_the_same_seed_gives_the_same_classes_and_global_generators_stay():
    X, _, y = holed()
    before = torch.get_rng_state()
    first, again, other = (
        classifier(random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert torch.equal(torch.get_rng_state(), before)
