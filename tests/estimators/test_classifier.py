"""What a user of the classifier may rely on, with NaN in X."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from small import classifier, fitted, frame, history_of, numbers, rbf

from lacunet import IncompleteGaussianMixture, LacunetClassifier, load
from lacunet.nn import ExpectedLinear

NAN = np.nan


# --- what it learns


def test_it_learns_from_rows_with_missing_values():
    X, y = numbers(400)
    model = classifier(max_epochs=15, lr=0.02).fit(X[:300], y[:300])
    prior = log_loss(y[300:], np.tile(np.bincount(y[:300]) / 300, (100, 1)))
    assert log_loss(y[300:], model.predict_proba(X[300:])) < prior - 0.15


def test_probabilities_sum_to_one_and_the_likeliest_is_predicted():
    X, _ = numbers()
    y = np.repeat(["ape", "bee", "cat"], 20)
    model = classifier().fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-12)
    chosen = model.classes_[probabilities.argmax(1)]
    np.testing.assert_array_equal(model.predict(X), chosen)


def sums_problem(n, *, seed):
    X = np.random.RandomState(seed).randn(n, 4)
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def losses_without_the_first_column(**options):
    """Return log-losses: complete rows, the first column hidden, never had."""
    X, y = sums_problem(1000, seed=0)
    X_test, y_test = sums_problem(1000, seed=1)
    hidden = X_test.copy()
    hidden[:, 0] = NAN
    settings = {"on_unseen_missing": "use", "random_state": 0, **options}
    model = LacunetClassifier(**settings).fit(X, y)
    without = LacunetClassifier(**settings).fit(X[:, 1:], y)
    return (
        log_loss(y_test, model.predict_proba(X_test)),
        log_loss(y_test, model.predict_proba(hidden)),
        log_loss(y_test, without.predict_proba(X_test[:, 1:])),
    )


def test_predictions_are_not_overconfident_where_a_whole_column_is_missing():
    complete, hidden, never_had = losses_without_the_first_column(
        n_samples=32,
        n_networks=2,
        hidden_layer_sizes=(32,),
        max_epochs=8,
        lr=0.02,
        density=IncompleteGaussianMixture(1),
    )
    assert complete < 0.15
    assert hidden < never_had + 0.03


@pytest.mark.slow
def test_defaults_are_not_overconfident_where_a_whole_column_is_missing():
    complete, hidden, never_had = losses_without_the_first_column()
    assert complete < 0.15
    assert hidden < never_had + 0.03


def test_draws_are_for_rows_that_lack_what_no_row_of_training_lacked():
    X, y = numbers()
    X[:, 0] = np.nan_to_num(X[:, 0])
    X[:40, 1:] = np.nan_to_num(X[:40, 1:])
    X[np.isnan(X).sum(1) == X.shape[1] - 1, 1] = 0.0
    model = classifier(on_unseen_missing="use", n_samples=8).fit(X, y)
    rows = X[:40].copy()
    rows[10:20, 0] = NAN  # was complete
    rows[20:30, 1:] = NAN  # more than any row lacked
    found, expected, drawn = (
        model.set_params(propagate=way).predict_proba(rows)
        for way in ("auto", "expectation", "sample")
    )
    np.testing.assert_allclose(found[10:30], drawn[10:30], atol=1e-6)
    others = np.r_[0:10, 30:40]
    np.testing.assert_allclose(found[others], expected[others], atol=1e-6)
    assert np.abs(expected - drawn)[10:30].max() > 1e-3


# --- the paper's method


def paper_method(**options):
    return classifier(
        density=IncompleteGaussianMixture(3, strategy="mean"),
        density_loss_weight=0.0,
        indicator=False,
        mask_augmentation=0.0,
        propagate="expectation",
        n_networks=1,
        hidden_layer_sizes=(8, 6),
        activation="relu",
        **options,
    )


def test_the_papers_method_is_the_expected_layer_and_a_plain_network():
    """By hand, on the same weights: theorem 3.1, a plain network, a linear skip."""
    torch = pytest.importorskip("torch")
    X, y = numbers()
    model = paper_method().fit(X, y)
    (view,) = model.module_
    first = view.networks.first
    assert isinstance(first, ExpectedLinear)
    encoded = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    x = torch.tensor(encoded.clip(-5, 5), dtype=torch.float32)
    with torch.no_grad():
        response, skip = first(x).split([8, 2], 1)
        for layer in view.networks.layers[:-1]:
            response = torch.relu(response @ layer.weight[0] + layer.bias[0])
        last = view.networks.layers[-1]
        expected = (response @ last.weight[0] + last.bias[0] + skip).softmax(1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_the_papers_method_on_complete_rows_is_a_plain_network():
    torch = pytest.importorskip("torch")
    X, y = numbers(missing=0.0)
    model = paper_method().fit(X, y)
    (view,) = model.module_
    first, layers = view.networks.first, view.networks.layers
    x = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    with torch.no_grad():
        response, skip = (x @ first.weight.T + first.bias).split([8, 2], 1)
        response = torch.relu(response)
        response = torch.relu(response @ layers[0].weight[0] + layers[0].bias[0])
        expected = response @ layers[1].weight[0] + layers[1].bias[0] + skip
        expected = expected.softmax(1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)


# --- classes


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([0.0, 1.0]),
        np.array([-1, 1], dtype=np.int8),
    ],
    ids=lambda classes: str(classes.dtype),
)
@pytest.mark.parametrize("make", [classifier, rbf])
def test_classes_of_any_type_come_back_as_they_were(make, classes):
    X, y = numbers()
    model = make().fit(X, classes[y])
    assert model.classes_.dtype == classes.dtype
    np.testing.assert_array_equal(model.classes_, classes)
    assert model.predict(X).dtype == classes.dtype
    plain = make().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    "as_labels",
    [
        list,
        pd.Series,
        lambda y: pd.Series(y, index=range(100, 160)),
        lambda y: pd.Series(y).astype("Int64"),
        lambda y: pytest.importorskip("polars").Series(y.tolist()),
    ],
)
def test_labels_may_come_in_any_container(as_labels):
    X, y = numbers()
    model = classifier().fit(X, as_labels(y))
    plain = classifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    ("dtype", "found"), [("Int64", np.int64), ("boolean", np.bool_), ("int8", np.int8)]
)
def test_nullable_labels_come_back_as_what_they_are(dtype, found):
    X, y = numbers()
    model = classifier(max_epochs=1).fit(X, pd.Series(y, dtype=dtype))
    assert model.classes_.dtype == model.predict(X).dtype == found


def test_categories_are_classes():
    X, y = numbers()
    names = pd.Series(np.array(["no", "yes"])[y], dtype="category")
    assert set(classifier().fit(X, names).predict(X)) <= {"no", "yes"}


def test_a_class_of_one_member_is_a_class():
    X, y = numbers()
    y[:1] = 2
    with pytest.warns(UserWarning, match=r"one row only: \[2\]"):
        model = classifier().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_single_class_is_certain():
    X, _ = numbers()
    model = classifier().fit(X, np.full(60, "only"))
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))
    assert set(model.predict(X)) == {"only"}


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.eye(3, dtype=int)[np.zeros(60, dtype=int)], "1d array"),
        (sparse.csr_matrix(np.eye(60)[:, :2]), "dense|sparse"),
        (np.random.RandomState(0).randn(60), "Unknown label type"),
        (None, "requires y to be passed"),
        (np.zeros(59), "inconsistent numbers of samples"),
    ],
)
def test_other_targets_are_refused(y, match):
    X, _ = numbers()
    with pytest.raises((ValueError, TypeError), match=match):
        classifier().fit(X, y)


@pytest.mark.parametrize(
    "missing",
    [
        lambda y: np.where(np.arange(60) == 3, NAN, y),
        lambda y: [None, *y[1:]],
        lambda y: pd.Series(y, dtype="Int64").mask(np.arange(60) == 3),
        lambda y: pd.Series(y.astype(str)).mask(np.arange(60) == 3),
        lambda y: pd.Series(y.astype(str), dtype="category").mask(np.arange(60) == 3),
        lambda y: pd.Series(y.astype(bool), dtype="boolean").mask(np.arange(60) == 3),
    ],
)
def test_missing_labels_are_refused_with_advice(missing):
    X, y = numbers()
    with pytest.raises(ValueError, match="X_unlabelled"):
        classifier().fit(X, missing(y))


# --- weights


def weighted(weights, **options):
    X, y = numbers()
    model = classifier(**options).fit(X, y, sample_weight=weights)
    return model.predict_proba(X)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.5}])
def test_whole_weights_are_repeated_rows(class_weight):
    X, y = numbers()
    weights = np.random.RandomState(0).randint(3, size=60)
    model = classifier(class_weight=class_weight)
    weighted = model.fit(X, y, weights).predict_proba(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(repeated.predict_proba(X), weighted)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_weight_of_zero_leaves_the_row_out(class_weight):
    X, y = numbers()
    y[:5] = 2  # a class of its own, which then does not exist
    weights = np.where(np.arange(60) < 5, 0.0, np.linspace(0.5, 1.5, 60))
    model = classifier(class_weight=class_weight)
    weighted = model.fit(X, y, weights).predict_proba(X)
    without = model.fit(X[5:], y[5:], weights[5:])
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(without.predict_proba(X), weighted)


def test_weights_may_be_of_any_size():
    weights = np.linspace(0.5, 1.5, 60)
    np.testing.assert_allclose(weighted(weights), weighted(1000 * weights), atol=1e-5)


def test_heavier_rows_pull_the_predictions():
    _, y = numbers()
    heavy = np.where(y == 1, 2.5, 0.3)
    options = {"max_epochs": 10, "lr": 0.02}
    assert weighted(heavy, **options)[:, 1].mean() > (
        weighted(None, **options)[:, 1].mean() + 0.1
    )


@pytest.mark.parametrize("make", [classifier, rbf])
def test_balanced_weights_lift_a_rare_class(make):
    X, y = numbers(100)
    rare = np.flatnonzero(y)[6:]
    X, names = np.delete(X, rare, 0), np.array(["no", "yes"])[np.delete(y, rare)]
    options = {"max_epochs": 10, "lr": 0.02}
    plain, balanced, given = (
        make(class_weight=weight, **options).fit(X, names).predict_proba(X)[:, 1].mean()
        for weight in (None, "balanced", {"no": 0.5, "yes": 4.6})
    )
    assert balanced > plain + 0.1
    assert given > plain + 0.1


@pytest.mark.parametrize("weights", [[-1.0] * 60, [NAN] * 60, [0.0] * 60, [1.0] * 59])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="Got sample_weight"):
        weighted(weights)


# --- rows to validate on, and rows without a label


def test_given_rows_are_validated_on_and_not_trained_on():
    X, y = numbers(80)
    model = classifier(max_epochs=1, n_networks=1)
    right = model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    expected = right.predict_proba(X)
    valid_loss = right.history_[0].valid_loss
    wrong = model.fit(X[:60], y[:60], X_val=X[60:], y_val=1 - y[60:])
    np.testing.assert_array_equal(wrong.predict_proba(X), expected)
    assert wrong.history_[0].valid_loss != valid_loss


def test_the_validation_loss_is_that_of_the_given_rows():
    X, y = numbers(80)
    model = classifier(max_epochs=1, n_networks=1)
    model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    expected = log_loss(y[60:], model.predict_proba(X[60:]))
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-5)


def test_given_validation_rows_leave_all_others_for_training():
    X, y = numbers(80)
    fitted = classifier(max_epochs=1).fit(X[:60], y[:60])
    given = classifier(max_epochs=1).fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    assert (fitted.predict_proba(X) != given.predict_proba(X)).any()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"X_val": numbers(20)[0]}, "y_val"),
        ({"y_val": numbers(20)[1]}, "X_val"),
        ({"X_val": numbers(20)[0], "y_val": [0] * 19}, "inconsistent numbers"),
        ({"X_val": numbers(20)[0], "y_val": [5] * 20}, r"y_val with \[5\]"),
        ({"X_val": numbers(20)[0][:, :3], "y_val": [0] * 20}, "3 features"),
        ({"X_unlabelled": numbers(20)[0][:, :3]}, "3 features"),
    ],
)
def test_wrong_rows_beside_the_table_are_refused(given, match):
    X, y = numbers()
    with pytest.raises(ValueError, match=match):
        classifier().fit(X, y, **given)


@pytest.mark.parametrize("density", ["auto", IncompleteGaussianMixture(2)])
def test_unlabelled_rows_teach_the_density(density):
    X, y = numbers()
    more = np.tile([[8.0, -8.0, NAN, 1.0]], (60, 1))
    model = classifier(density=density, max_epochs=1)
    plain = model.fit(X, y).impute(X)
    taught = model.fit(X, y, X_unlabelled=more).impute(X)
    assert np.abs(taught - plain).max() > 0.2


def test_the_order_of_unlabelled_rows_does_not_matter():
    X, y = numbers()
    more, _ = numbers(50, seed=1)
    model = classifier()
    one = model.fit(X, y, X_unlabelled=more).predict_proba(X)
    two = model.fit(X, y, X_unlabelled=more[::-1]).predict_proba(X)
    np.testing.assert_array_equal(one, two)


def test_a_density_loss_trains_the_density_on_unlabelled_rows_too():
    X, y = numbers()
    more, _ = numbers(50, seed=1)
    fits = [
        classifier(density_loss_weight=weight, train_density=True)
        .fit(X, y, X_unlabelled=more)
        .impute(X)
        for weight in (0.0, 1.0)
    ]
    assert (fits[0] != fits[1]).any()


# --- parameters


def test_a_frozen_density_stays_where_em_left_it():
    X, y = numbers()
    few, many = (classifier(max_epochs=n).fit(X, y) for n in (1, 4))
    np.testing.assert_array_equal(few.impute(X), many.impute(X))
    trained = classifier(train_density=True, max_epochs=4).fit(X, y)
    assert (trained.impute(X) != few.impute(X)).any()


def test_the_time_limit_ends_training(tmp_path):
    X, y = numbers()
    with (
        pytest.warns(ConvergenceWarning, match="EM was cut by time_limit"),
        pytest.warns(ConvergenceWarning, match=r"cut by time_limit after 1 epoch\."),
    ):
        model = classifier(max_epochs=1000, time_limit=0.0).fit(X, y)
    assert len(model.history_) == 1
    assert model.timed_out_
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").timed_out_
    assert not classifier(time_limit=100.0).fit(X, y).timed_out_


def test_em_is_whole_where_training_can_be_resumed(tmp_path):
    X, y = numbers()
    with pytest.warns(ConvergenceWarning, match="Training was cut"):
        model = classifier(time_limit=0.0).fit(X, y, checkpoint=tmp_path / "checkpoint")
    np.testing.assert_array_equal(model.impute(X), fitted("classifier").impute(X))


@pytest.mark.parametrize("n_networks", [1, 3, 7])
def test_there_may_be_any_number_of_networks(n_networks):
    X, y = numbers()
    model = classifier(n_networks=n_networks).fit(X, y)
    assert sum(b.networks.n_networks for b in model.module_) == n_networks
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_networks_of_one_view_are_averaged():
    torch = pytest.importorskip("torch")
    X, y = numbers()
    density = IncompleteGaussianMixture(2)
    model = classifier(n_networks=3, density=density).fit(X, y)
    x = model._read(X)[1]
    with torch.no_grad():
        outputs = model.module_(x)
    assert outputs.shape == (3, 60, 2)
    expected = outputs.softmax(-1).mean(0)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_draws_and_expectation_are_the_same_on_complete_rows():
    X, y = numbers(missing=0.0)
    model = classifier().fit(X, y)
    expected = model.predict_proba(X)
    drawn = model.set_params(propagate="sample", n_samples=3).predict_proba(X)
    np.testing.assert_allclose(drawn, expected, atol=1e-6)


def test_more_draws_come_to_a_limit():
    X, y = numbers()
    model = classifier(propagate="sample", max_epochs=8, lr=0.02).fit(X, y)
    limit = model.set_params(n_samples=2048).predict_proba(X)
    errors = [
        np.abs(model.set_params(n_samples=n).predict_proba(X) - limit).max()
        for n in (4, 256)
    ]
    assert errors[1] < errors[0] / 4


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"density": "full"}, "Got density='full', but expected 'auto' or an"),
        ({"gamma": -1.0}, "Got gamma=-1.0"),
        ({"density_loss_weight": -1}, "Got density_loss_weight=-1"),
        ({"indicator": "sometimes"}, "Got indicator='sometimes'"),
        ({"mask_augmentation": 0.9}, "Got mask_augmentation=0.9"),
        ({"max_categories": 1}, "Got max_categories=1"),
        ({"on_unseen_missing": "shout"}, "Got on_unseen_missing='shout'"),
        ({"hidden_layer_sizes": ()}, "Got hidden_layer_sizes="),
        ({"hidden_layer_sizes": (8, 0)}, "Got hidden_layer_sizes="),
        ({"activation": "bend"}, "Got activation='bend'"),
        ({"dropout": 1.0}, "Got dropout=1.0"),
        ({"n_networks": 0}, "Got n_networks=0"),
        ({"max_epochs": 0}, "Got max_epochs=0"),
        ({"batch_size": 0}, "Got batch_size=0"),
        ({"lr": 0.0}, "Got lr=0.0"),
        ({"weight_decay": -0.1}, "Got weight_decay=-0.1"),
        ({"validation_fraction": 0.0}, "Got validation_fraction=0.0"),
        ({"time_limit": -1}, "Got time_limit=-1"),
        ({"propagate": "guess"}, "Got propagate='guess'"),
        ({"n_samples": 0}, "Got n_samples=0"),
        ({"device": "tpu"}, "Got device='tpu'"),
        ({"class_weight": "even"}, "class_weight"),
    ],
)
def test_wrong_parameters_are_refused_in_fit(options, match):
    X, y = numbers()
    with pytest.raises(ValueError, match=match):
        classifier(**options).fit(X, y)


def test_a_learning_rate_that_is_far_too_high_is_told():
    X, y = numbers()
    with pytest.raises(Exception, match="Lower the learning rate"):
        classifier(lr=1e30).fit(X, y)


def test_the_history_is_a_list_of_records():
    X, y = numbers()
    model = classifier(max_epochs=4).fit(X, y)
    assert [record.epoch for record in model.history_] == [1, 2, 3, 4]
    assert all(np.isfinite(record[:3]).all() for record in model.history_)
    assert len(history_of(model)) == 4


def test_verbose_shows_the_progress_and_is_off_by_default(capsys, monkeypatch):
    monkeypatch.setattr("lacunet._progress._PRINTED", 0.0)
    X, y = numbers()
    classifier().fit(X, y)
    assert capsys.readouterr() == ("", "")
    classifier(verbose=1).fit(X, y)
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith("EM, iteration 1: log-likelihood -")
    assert shown[-1].startswith("epoch 3, validation loss ")


def test_frames_with_categories_and_dates_need_no_encoder():
    X, y = frame(100)
    model = classifier(max_epochs=10, lr=0.02).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.feature_names_in_.tolist() == list(X)


def test_parameters_may_be_numbers_of_numpy():
    """As those of a grid are."""
    X, y = numbers()
    given = {"n_networks": 3, "max_epochs": 2, "batch_size": 16, "n_samples": 4}
    density = IncompleteGaussianMixture(np.int64(2))
    grid = {name: np.int64(value) for name, value in given.items()}
    plain, from_grid = (
        classifier(propagate="sample", **options).fit(X, y).predict_proba(X)
        for options in (
            {**given, "density": IncompleteGaussianMixture(2), "lr": 0.5**7},
            {**grid, "density": density, "lr": np.float32(0.5**7)},
        )
    )
    np.testing.assert_allclose(plain, from_grid, atol=1e-6)


def views_of(X, y):
    shapes = [view.shape for view in classifier().fit(X, y).module_]
    return [(shape.covariance_type, shape.n_edges is not None) for shape in shapes]


def test_the_first_view_are_gaussians_and_the_second_bins():
    X, y = numbers(300)
    assert views_of(X, y) == [("diag", False), ("diag", True)]
    signals = X[:, :1] + 0.1 * np.random.RandomState(0).randn(300, 60)
    assert views_of(signals, y) == [("factor", False), ("diag", True)]
