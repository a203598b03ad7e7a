"""Laws of all estimators: chance, order, neighbours, missing values, interruptions."""

import copy
import pickle
import random

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small import (
    ALL,
    NETWORKS,
    PREDICTORS,
    classifier,
    fitted,
    frame,
    history_of,
    imputer,
    numbers,
    predictions,
)

from lacunet.estimators import _fit

NAN = np.nan

every = pytest.mark.parametrize("name", ALL)
every_network = pytest.mark.parametrize("name", NETWORKS)
every_predictor = pytest.mark.parametrize("name", PREDICTORS)


def fit(name, X, y, **options):
    return ALL[name](**options).fit(X, y)


# --- chance


@every
def test_the_same_random_state_gives_the_same_model(name):
    X, y = numbers()
    one, two = fitted(name), fit(name, X, y)
    np.testing.assert_array_equal(predictions(one, X), predictions(two, X))
    np.testing.assert_array_equal(
        one.sample_imputations(X, 2), two.sample_imputations(X, 2)
    )
    assert history_of(one) == history_of(two)


@every
def test_another_random_state_gives_another_model(name):
    X, y = numbers()
    one, other = fitted(name), fit(name, X, y, random_state=1)
    assert (predictions(one, X) != predictions(other, X)).any()


@every
def test_a_generator_goes_on_from_fit_to_fit(name):
    X, y = numbers()
    model = ALL[name](random_state=np.random.RandomState(0))
    one, other = (predictions(clone(model).fit(X, y), X) for _ in range(2))
    np.testing.assert_array_equal(one, other)  # a clone has a copy of it
    again = predictions(model.fit(X, y), X)
    assert (again != predictions(model.fit(X, y), X)).any()


def global_states():
    return (
        torch.get_rng_state().tolist(),
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        random.getstate(),
    )


@every
@pytest.mark.parametrize("random_state", [0, None])
def test_the_global_sources_of_chance_are_left_alone(name, random_state):
    X, y = numbers()
    model = ALL[name](random_state=random_state)
    before = global_states()
    if random_state is None:
        before = before[0], before[2]  # which is numpy's own, in scikit-learn's words
    model.fit(X, y)
    predictions(model, X)
    model.impute(X)
    model.sample_imputations(X)
    after = global_states()
    assert (after if random_state == 0 else (after[0], after[2])) == before


def test_dropout_and_draws_leave_the_global_sources_alone():
    X, y = numbers()
    before = global_states()
    model = classifier(dropout=0.5, propagate="sample", n_samples=4).fit(X, y)
    model.predict_proba(X)
    assert global_states() == before


@every
def test_the_global_sources_have_no_influence(name):
    X, y = numbers()
    one = predictions(fitted(name), X)
    torch.manual_seed(5)
    np.testing.assert_array_equal(predictions(fit(name, X, y), X), one)


# --- rows


@every
@pytest.mark.parametrize("table", [numbers, frame], ids=["array", "frame"])
def test_the_order_of_the_rows_does_not_matter(name, table):
    X, y = table()
    order = np.random.RandomState(1).permutation(len(X))
    shuffled = X[order] if isinstance(X, np.ndarray) else X.iloc[order]
    one, two = fitted(name, table), fit(name, shuffled, y[order])
    np.testing.assert_array_equal(predictions(one, X), predictions(two, X))


@every_predictor
def test_the_order_of_weighted_rows_does_not_matter(name):
    X, y = numbers()
    weights = np.linspace(0.1, 2.0, 60)
    order = np.random.RandomState(1).permutation(60)
    one = ALL[name]().fit(X, y, weights)
    two = ALL[name]().fit(X[order], y[order], weights[order])
    np.testing.assert_array_equal(predictions(one, X), predictions(two, X))


@every_predictor
@pytest.mark.parametrize("propagate", ["expectation", "sample"])
def test_a_prediction_does_not_depend_on_the_other_rows(name, propagate):
    X, y = numbers()
    model = ALL[name](propagate=propagate, n_samples=16).fit(X, y)
    together = predictions(model, X)
    alone = np.concatenate([predictions(model, X[[row]]) for row in range(60)])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-5)
    backwards = predictions(model, X[::-1])[::-1]
    np.testing.assert_allclose(backwards, together, rtol=0, atol=1e-5)


def test_a_filled_row_does_not_depend_on_the_other_rows():
    X, _ = numbers()
    model = imputer().fit(X)
    alone = np.concatenate([model.impute(X[[row]]) for row in range(60)])
    np.testing.assert_allclose(alone, model.impute(X), atol=1e-5)


@every
def test_rows_come_in_blocks_that_fit_in_memory(name, monkeypatch):
    X, _ = numbers()
    model = fitted(name)
    whole = predictions(model, X)
    for name in ("_base.BLOCK_BUDGET", "_base.NUMBERS_AT_ONCE"):
        monkeypatch.setattr(f"lacunet.estimators.{name}", 1)
    np.testing.assert_allclose(predictions(model, X), whole, atol=1e-5)


# --- precision


@every
def test_the_default_dtype_of_torch_has_no_influence(name, tmp_path):
    X, y = numbers()
    expected = predictions(fitted(name), X)
    torch.set_default_dtype(torch.float64)
    try:
        model = fit(name, X, y)
        np.testing.assert_array_equal(predictions(model, X), expected)
        model.save(tmp_path / "model")
        loaded = __import__("lacunet").load(tmp_path / "model")
        np.testing.assert_array_equal(predictions(loaded, X), expected)
    finally:
        torch.set_default_dtype(torch.float32)


# --- copies


@every
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["deepcopy", "pickle"],
)
def test_a_copy_predicts_the_same(name, copied):
    X, _ = frame()
    model = fitted(name, frame)
    again = copied(model)
    np.testing.assert_array_equal(predictions(again, X), predictions(model, X))
    assert again.impute(X).equals(model.impute(X))
    assert history_of(again) == history_of(model)


@every
def test_joblib_brings_a_model_back(name, tmp_path):
    X, _ = numbers()
    model = fitted(name)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(predictions(again, X), predictions(model, X))


@every
def test_a_copy_of_a_copy_can_be_fitted_again(name):
    X, y = numbers()
    model = pickle.loads(pickle.dumps(fitted(name)))
    expected = predictions(fitted(name), X)
    np.testing.assert_array_equal(predictions(model.fit(X, y), X), expected)


@every
def test_nothing_is_predicted_before_fit(name):
    X, _ = numbers()
    for predict in (lambda m: predictions(m, X), lambda m: m.impute(X)):
        with pytest.raises(NotFittedError, match="not fitted"):
            predict(ALL[name]())


# --- values missing where none was in training


def without_a_column(X):
    gone = X.copy()
    gone[:, 2] = NAN
    return gone


def clone_fitted(model, **options):
    return copy.copy(model).set_params(**options)


@every
def test_a_column_that_had_no_missing_values_is_named_in_one_warning(name):
    X, _ = frame()
    model = clone_fitted(fitted(name, frame), on_unseen_missing="warn")
    gone = X.assign(flag=X["flag"].astype("boolean").mask([True] + [False] * 59))
    with pytest.warns(
        UserWarning, match=r"missing values.* in columns \['flag'\]"
    ) as w:
        predictions(model, gone)
    assert len(w) == 1
    predictions(model, X)  # without a warning, which would be an error


@every
def test_unseen_missing_values_can_be_used_or_refused(name):
    X, y = numbers(missing=0.0)
    model = fit(name, X, y, on_unseen_missing="use")
    predictions(model, without_a_column(X))
    model.set_params(on_unseen_missing="raise")
    with pytest.raises(ValueError, match=r"columns \[2\], which had none in training"):
        predictions(model, without_a_column(X))
    predictions(model, X)


@every_network
def test_a_warning_is_the_default_of_networks(name):
    X, y = numbers(missing=0.0)
    model = fit(name, X, y, max_epochs=1)
    with pytest.warns(UserWarning, match="on_unseen_missing='use' to silence") as given:
        predictions(model, without_a_column(X))
    # Only those that can draw say so.
    assert ("propagate" in str(given[0].message)) == hasattr(model, "propagate")


# --- filling


@every
def test_imputations_fill_missing_values_and_leave_the_rest(name):
    X, _ = frame()
    model = fitted(name, frame)
    for filled in (model.impute(X), *model.sample_imputations(X, 2)):
        assert type(filled) is type(X)
        assert filled.dtypes.equals(X.dtypes)
        assert not filled.isna().any(axis=None)
        assert filled.where(X.notna()).equals(X)
        assert set(filled["town"]) == {"Rome", "Bonn"}


@every
def test_draws_differ_and_their_mean_is_near_the_imputation(name):
    X, _ = numbers()
    model = fitted(name)
    n = 300 if name == "imputer" else 2000
    draws = np.stack(model.sample_imputations(X, n))
    missing = np.isnan(X)
    assert (draws[:, ~missing] == X[~missing]).all()
    deviations = draws[:, missing].std(0)
    assert (deviations > 0).all()
    errors = (draws.mean(0) - model.impute(X))[missing]
    # The imputer fits each of its draws to other rows.
    bound = 0.75 if name == "imputer" else 5 / 2000**0.5
    assert np.abs(errors / deviations).max() < bound


def test_the_number_of_draws_is_checked():
    X, _ = numbers()
    model = imputer().fit(X)
    assert len(model.sample_imputations(X)) == 5
    with pytest.raises(ValueError, match="Got n=0"):
        model.sample_imputations(X, 0)


@every
def test_the_table_is_left_as_it_was(name):
    X, y = numbers()
    before = X.copy()
    model = fit(name, X, y)
    predictions(model, X)
    model.impute(X)
    np.testing.assert_array_equal(X, before)


# --- interruptions


@every_network
def test_an_interrupt_in_the_middle_of_an_epoch_leaves_a_model(name, monkeypatch):
    X, y = numbers()
    calls = []

    def count(self, part, rows, generator, loss=_fit.NetworkTask.loss):
        calls.append(part)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return loss(self, part, rows, generator)

    monkeypatch.setattr(_fit.NetworkTask, "loss", count)
    model = ALL[name](max_epochs=50, batch_size=20)
    with pytest.warns(UserWarning, match=r"interrupted after (1 epoch|2 epochs)\."):
        model.fit(X, y)
    assert len(model.history_) in (1, 2)
    assert np.isfinite(predictions(model, X)).all()
