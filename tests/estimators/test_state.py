"""Fits that fail, settings that change later, and callers with ways of their own."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError
from small import ALL, NAN, classifier, numbers, predictions, regressor

import lacunet
from lacunet import LacunetAutoencoder


def test_a_refit_that_fails_leaves_no_model_of_two_fits():
    X, y = numbers()
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match="lr=-1"):
        model.set_params(lr=-1).fit(X, np.where(y == 1, "aa", "zz"))
    assert model.set_params(lr=0.01).predict(X).dtype.kind == "i"


def test_a_refit_that_fails_late_leaves_no_model():
    X, y = numbers()
    model = classifier().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 1, np.inf, X), y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_settings_changed_after_a_fit_do_not_change_what_is_saved(tmp_path):
    X, y = numbers()
    model = classifier().fit(X, y)
    expected = model.predict_proba(X)
    model.set_params(activation="relu", hidden_layer_sizes=(3, 3)).save(tmp_path / "m")
    again = lacunet.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), expected)


def test_codes_are_those_of_the_fitted_network():
    X, _ = numbers()
    model = LacunetAutoencoder(
        hidden_layer_sizes=(8, 3, 8), max_epochs=2, random_state=0
    ).fit(X)
    assert model.set_params(hidden_layer_sizes=(2, 9)).encode(X).shape == (len(X), 3)


@pytest.mark.parametrize(
    "wrong", [{"propagate": "samples"}, {"n_samples": 0}, {"on_unseen_missing": "no"}]
)
def test_slips_after_a_fit_are_refused(wrong):
    X, y = numbers()
    model = classifier().fit(X, y).set_params(**wrong)
    with pytest.raises(ValueError, match="Got " + next(iter(wrong))):
        model.predict(X)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_fitting_ignores_the_modes_of_the_caller(mode):
    X, y = numbers()
    expected = classifier().fit(X, y).predict_proba(X)
    with mode():
        model = classifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_a_default_device_does_not_reach_a_model():
    X, y = numbers()
    with torch.device("meta"):
        model = classifier().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_a_device_that_is_not_there_is_named():
    X, y = numbers()
    with pytest.raises(ValueError, match="Got device='cuda'.*cpu"):
        classifier(device="cuda").fit(X, y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_a_model_of_another_device_is_loaded_where_one_says(tmp_path, monkeypatch):
    X, y = numbers()
    model = classifier().fit(X, y)
    monkeypatch.setattr("lacunet.estimators._base.check_parameters", lambda _: None)
    model.set_params(device="cuda").save(tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="Got device='cuda'"):
        lacunet.load(tmp_path / "m")
    again = lacunet.load(tmp_path / "m", device="cpu")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("batch_size", [16, 200])
def test_weights_count_the_same_in_batches_of_any_size(batch_size):
    rng = np.random.RandomState(0)
    X, y = rng.randn(200, 2), (np.arange(200) % 10 == 0).astype(int)
    model = classifier(
        class_weight="balanced", batch_size=batch_size, max_epochs=15, lr=0.01
    ).fit(X, y)
    assert abs(model.predict_proba(X)[:, 1].mean() - 0.5) < 0.08


def test_rows_that_count_twice_are_not_validated_on_their_copies():
    rng = np.random.RandomState(0)
    X, y = rng.randn(100, 10), rng.randint(2, size=100)
    model = classifier(max_epochs=40, lr=0.02).fit(X, y, np.full(100, 2))
    assert min(record.valid_loss for record in model.history_) > 0.6


def test_an_unseen_category_is_not_marked_as_missing():
    rng = np.random.RandomState(0)
    y = np.arange(200) % 2
    column = np.where(y == 1, None, rng.choice(["a", "b"], 200))
    X = pd.DataFrame({"s": column, "x": rng.randn(200)})
    model = classifier(indicator=True, max_epochs=10, lr=0.05).fit(X, y)
    new, gone = (
        model.predict_proba(pd.DataFrame({"s": [s], "x": [0.0]}))[0, 1]
        for s in ("new", None)
    )
    assert new < 0.5 < gone


def test_a_marker_of_all_nines_does_not_hide_its_column():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 3)
    y = (X[:, 0] > 0).astype(int)
    X[0, 0] = 999_999_999_999.0
    model = classifier(max_epochs=10, lr=0.05).fit(X, y)
    assert model.score(X[1:], y[1:]) > 0.85


def test_a_constant_target_is_predicted_exactly():
    X, _ = numbers()
    assert (regressor().fit(X, np.full(len(X), 3.0)).predict(X) == 3.0).all()


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_targets_of_any_size_are_predicted(unit):
    X, _ = numbers()
    y = X[:, 1].copy()
    y[np.isnan(y)] = 0.0
    small, any_size = (
        regressor(max_epochs=5).fit(X, t).predict(X) for t in (y, y * unit)
    )
    np.testing.assert_allclose(any_size / unit, small, rtol=1e-5)


@pytest.mark.parametrize("weights", [{0: -1, 1: 1}, {0: 0, 1: 0}])
def test_class_weights_that_are_none_are_refused(weights):
    X, y = numbers()
    with pytest.raises(ValueError, match="Got class_weight"):
        classifier(class_weight=weights).fit(X, y)


def test_warnings_point_at_the_caller():
    X, y = numbers(missing=0.0)
    model = classifier().fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(np.where(X > 1, NAN, X))
        model.impute(np.where(X > 1, NAN, X))
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_the_losses_of_training_are_of_one_network():
    X, y = numbers()
    first = classifier(n_networks=6, max_epochs=1, density_loss_weight=0.0)
    assert 0.3 < first.fit(X, y).history_[0].train_loss < 1.2


def test_two_columns_of_one_name_are_refused():
    X, y = numbers()
    table = pd.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match="several columns of one name.*'a' 2 times"):
        classifier().fit(table, y)


def test_an_integer_beyond_floats_is_refused():
    X, y = numbers()
    table = X.astype(object)
    table[0, 2] = 10**400
    with pytest.raises(ValueError, match="beyond the range of floats in column 2"):
        classifier().fit(table, y)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_no_rows_without_a_label_are_none(make):
    X, y = numbers()
    plain, empty = (
        classifier().fit(make(X), y, X_unlabelled=rows) for rows in (None, make(X[:0]))
    )
    np.testing.assert_array_equal(
        plain.predict_proba(make(X)), empty.predict_proba(make(X))
    )


def test_a_row_that_counts_twice_is_no_class_of_one():
    X, y = numbers()
    labels = np.where(np.arange(len(y)) == 7, 2, y)
    with pytest.warns(UserWarning, match=r"one row only: \[2\]"):
        classifier().fit(X, labels)
    weights = np.where(labels == 2, 2.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(X, labels, sample_weight=weights)


@pytest.mark.parametrize("name", ["classifier", "regressor", "rbf", "imputer"])
def test_the_scale_of_numbers_is_a_parameter(name, tmp_path):
    X, y = numbers()
    X[:, 0] = np.exp(3 * X[:, 0])
    found = {}
    for scale in ("standard", "robust", "quantile"):
        model = ALL[name](scale=scale).fit(X, y)
        found[scale] = predictions(model, X)
        model.save(tmp_path / scale)
        again = predictions(lacunet.load(tmp_path / scale), X)
        np.testing.assert_array_equal(again, found[scale])
    assert not np.allclose(found["standard"], found["quantile"], atol=1e-4)
    assert not np.allclose(found["standard"], found["robust"], atol=1e-4)
