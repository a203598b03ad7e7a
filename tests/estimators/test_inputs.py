"""Tables of all kinds in front of networks, and missing-value indicators."""

import copy
import datetime

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from small import (
    autoencoder,
    classifier,
    fitted,
    frame,
    imputer,
    numbers,
    predictions,
    regressor,
)

from lacunet import IncompleteGaussianMixture
from lacunet.estimators._encoding import (
    InputEncoder,
    TableEncoder,
    choose_marked,
    clip_numbers,
)

NAN = np.nan


# --- containers


def rows_of(X):
    """Return a table as lists of Python values, None where a value is missing."""
    cells = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    return [[c.to_pydatetime() if hasattr(c, "day") else c for c in r] for r in cells]


def as_object_array(X):
    return np.array(rows_of(X), dtype=object)


def as_polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame(rows_of(X), schema=list(X), orient="row", strict=False)


def as_arrow(X):
    pytest.importorskip("pyarrow")
    return as_polars(X).to_arrow()


@pytest.mark.parametrize("convert", [as_object_array, rows_of, as_polars, as_arrow])
def test_a_table_in_any_container_gives_the_same(convert):
    X, y = frame()
    expected = fitted("classifier", frame).predict_proba(X)
    model = classifier().fit(convert(X), y)
    np.testing.assert_array_equal(model.predict_proba(convert(X)), expected)


@pytest.mark.parametrize("convert", [as_polars, as_arrow])
def test_weights_select_rows_of_any_frame(convert):
    X, y = frame()
    weights = np.arange(60) % 3
    expected = regressor().fit(X, y, weights).predict(X)
    model = regressor().fit(convert(X), y, weights)
    np.testing.assert_array_equal(model.predict(convert(X)), expected)


@pytest.mark.parametrize("convert", [as_polars, as_arrow])
def test_frames_are_filled_as_the_kind_they_are(convert):
    X, _ = frame()
    table = convert(X)
    for filled in (imputer().fit_transform(table), autoencoder().fit_transform(table)):
        assert type(filled) is type(table)
        assert filled.schema == table.schema
        count = getattr(filled, "null_count", None)  # polars counts, arrow's columns do
        counts = count().row(0) if count else [c.null_count for c in filled.columns]
        assert sum(counts) == 0


def test_numbers_in_any_container_give_the_same():
    X, y = numbers()
    expected = fitted("classifier").predict_proba(X)
    for convert in (pd.DataFrame, np.ma.masked_invalid, lambda X: X.tolist()):
        model = classifier().fit(convert(X), y)
        np.testing.assert_allclose(model.predict_proba(convert(X)), expected, atol=1e-6)
    single = classifier().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict_proba(X), expected, atol=0.05)


@pytest.mark.parametrize("convert", [lambda X: X, as_polars, as_arrow])
@pytest.mark.parametrize("name", ["classifier", "autoencoder", "imputer"])
def test_columns_of_frames_are_found_by_name(name, convert):
    X, _ = frame()
    model = fitted(name, frame)
    reordered = convert(X[list(X)[::-1]])
    same = predictions(model, X)
    if name == "classifier":
        np.testing.assert_array_equal(predictions(model, reordered), same)
    else:  # the table comes back in the order of training
        filled = TableEncoder().fit(model.transform(convert(X)))
        columns = [
            c.name for c in TableEncoder().fit(model.transform(reordered)).columns
        ]
        assert columns == [column.name for column in filled.columns] == list(X)


@pytest.mark.parametrize("convert", [lambda X: X, as_polars, as_arrow])
def test_absent_columns_are_missing_in_each_row_if_they_may_be(convert):
    X, y = frame()
    model = fitted("classifier", frame)
    fewer = convert(X.drop(columns=["town", "whole"]))
    with pytest.raises(ValueError, match="now missing:\n- town") as caught:
        model.predict(fewer)
    assert "missing_columns='use'" in caught.value.__notes__[0]
    model = copy.copy(model).set_params(missing_columns="use")
    blank = X.assign(town=pd.Series([None] * 60, dtype="str"), whole=NAN)
    expected = fitted("classifier", frame).predict_proba(blank)
    np.testing.assert_array_equal(model.predict_proba(fewer), expected)
    filled = nw.from_native(model.impute(fewer))
    assert filled.columns == list(X)
    assert set(filled["town"].to_list()) <= {"Rome", "Bonn"}


def test_other_columns_are_refused_as_scikit_learn_does():
    X, _ = frame()
    model = copy.copy(fitted("classifier", frame)).set_params(missing_columns="use")
    for other in (
        X.rename(columns={"town": "city"}),
        X.assign(more=1),
        pd.DataFrame({"a": [1.0]}),
    ):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)


def test_another_number_of_columns_is_refused():
    X, _ = numbers()
    with pytest.raises(ValueError, match="3 features.*expecting 4"):
        fitted("classifier").predict(X[:, :3])


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (sparse.csr_matrix(np.eye(60)), TypeError, "dense"),
        (np.full((60, 2), np.inf), ValueError, "infinity"),
        (np.empty((0, 2)), ValueError, "0 sample"),
        (np.empty((60, 0)), ValueError, "0 feature"),
        (np.ones(60), ValueError, "Reshape your data"),
        (np.full((60, 2), datetime.timedelta(1)), TypeError, "timedelta"),
        (np.ones((60, 2), dtype=complex), ValueError, "Complex data"),
    ],
)
def test_other_tables_are_refused(X, error, match):
    with pytest.raises(error, match=match):
        classifier().fit(X, np.arange(X.shape[0]) % 2)


# --- columns


def test_an_unseen_category_counts_as_missing():
    X, _ = frame()
    model = fitted("classifier", frame)
    unseen, missing = (
        X.assign(town=pd.Series([town] * 60, dtype="str")) for town in ("Oslo", None)
    )
    one, two = model.predict_proba(unseen), model.predict_proba(missing)
    np.testing.assert_array_equal(one, two)


def test_an_unseen_category_in_a_complete_column_gives_a_warning():
    X = pd.DataFrame({"a": ["u", "v"] * 20, "b": np.arange(40.0)})
    model = classifier().fit(X, [0, 1] * 20)
    with pytest.warns(
        UserWarning, match=r"categories that training has not seen.*\['a'\]"
    ):
        model.predict_proba(X.assign(a="w"))


def test_rare_categories_are_pooled_so_that_the_layer_stays_small():
    names = [f"name {i}" for i in range(60)]
    X = pd.DataFrame({"name": names, "x": np.arange(60.0)})
    model = regressor(max_categories=5).fit(X, np.arange(60.0))
    assert model.density_.n_features == 5 + 1


def test_a_column_without_one_value_is_kept_with_a_warning():
    X, y = numbers()
    X[:, 2] = NAN
    with pytest.warns(UserWarning, match=r"without one observed value: \[2\].*kept"):
        model = classifier().fit(X, y)
    assert model.n_features_in_ == 4
    before = model.predict_proba(X)
    X[:, 2] = 5.0
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_constant_column_is_kept_with_a_warning():
    X, y = numbers()
    X[:, 1] = 3.0
    with pytest.warns(UserWarning, match=r"one value only: \[1\]"):
        model = classifier().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_table_without_any_value_is_fitted():
    nothing = np.full((60, 2), NAN)
    with pytest.warns(UserWarning, match=r"without one observed value: \[0, 1\]"):
        model = classifier(max_epochs=20, lr=0.05).fit(nothing, np.arange(60) % 4 == 0)
    np.testing.assert_allclose(model.predict_proba(nothing)[:, 1], 0.25, atol=0.1)


def test_one_column_is_enough():
    X, y = numbers(200)
    model = classifier(max_epochs=10, lr=0.02).fit(X[:, :1], y)
    assert model.score(X[:, :1], y) > 0.7


def test_a_single_row_is_fitted():
    with pytest.warns(UserWarning, match="1 distinct rows, too few"):
        model = classifier().fit([[1.0, "a"]], ["only"])
    assert model.predict([[2.0, "a"]]).tolist() == ["only"]


@pytest.mark.filterwarnings(
    "ignore:Got . distinct rows, too few", "ignore:Got classes with one"
)
@pytest.mark.parametrize("n", [2, 5, 9, 11])
def test_a_few_rows_are_fitted(n):
    X, y = numbers(n, missing=0.0)
    y[:2] = 0, 1
    assert np.isfinite(classifier().fit(X, y).predict_proba(X)).all()


def incomplete(X, fraction=0.3):
    """Return a complete table with values removed, and a row of nothing."""
    missing = np.random.RandomState(0).rand(*X.shape) < fraction
    return np.where(missing, NAN, X), np.full((1, X.shape[1]), NAN)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_a_row_with_nothing_in_it_has_the_frequencies_of_the_classes(load):
    X, y = load(return_X_y=True)
    X, nothing = incomplete(X)
    options = {"hidden_layer_sizes": (32,), "max_epochs": 20, "n_networks": 4}
    model = classifier(propagate="sample", **options).fit(X, y)
    frequencies = np.bincount(y) / len(y)
    (predicted,) = model.predict_proba(nothing)
    np.testing.assert_allclose(predicted, frequencies, atol=0.08)


@pytest.mark.parametrize("propagate", ["expectation", "sample"])
def test_a_row_with_nothing_in_it_has_the_mean_of_the_targets(propagate):
    X, y = load_diabetes(return_X_y=True)
    X, nothing = incomplete(X)
    options = {"density": "auto", "max_epochs": 20, "n_networks": 4}
    model = regressor(propagate=propagate, **options).fit(X, y)
    (predicted,) = model.predict(nothing)
    assert abs(predicted - y.mean()) < 0.2 * y.std()


def test_a_row_with_nothing_in_it_may_be_trained_on():
    X, y = numbers()
    X[:3] = NAN
    assert np.isfinite(classifier().fit(X, y).predict_proba(X)).all()
    assert np.isfinite(autoencoder().fit(X).transform(X)).all()


def test_a_table_of_categories_alone_has_one_view():
    X, y = frame()
    X = X[["town", "text", "maybe"]]
    model = classifier().fit(X, y)
    assert len(list(model.module_)) == 1
    assert len(list(fitted("classifier", frame).module_)) == 2
    assert not model.impute(X).isna().any(axis=None)


def test_a_table_of_two_distinct_rows_is_fitted():
    X = pd.DataFrame({"a": ["u", "v"] * 30, "b": [True, False] * 30})
    model = classifier(max_epochs=20, lr=0.05).fit(X, [0, 1] * 30)
    assert model.score(X, [0, 1] * 30) == 1.0


def test_an_outlier_does_not_dominate_the_network():
    X, _ = numbers()
    outlier = X[:1].copy()
    outlier[0, 0] = 1e12
    far = X[:1].copy()
    far[0, 0] = 1e4
    model = fitted("classifier")
    one, two = model.predict_proba(outlier), model.predict_proba(far)
    np.testing.assert_array_equal(one, two)


def test_a_smooth_clip_is_the_identity_in_the_middle_and_grows_beyond():
    middle = np.linspace(-3, 3, 101)
    np.testing.assert_array_equal(clip_numbers(middle, 5.0, smooth=True), middle)
    far = clip_numbers(np.array([3.0, 3.1, 20.0, 1e9]), 5.0, smooth=True)
    assert (np.diff(far) > 0).all()
    assert far[-1] == 10.0
    np.testing.assert_allclose(far[1] - far[0], 0.1, atol=0.01)  # no corner
    np.testing.assert_array_equal(clip_numbers(-far, np.inf, smooth=True), -far)
    assert np.isnan(clip_numbers(np.array([NAN]), 5.0, smooth=True)).all()


def test_numbers_of_inputs_are_clipped_smoothly_or_as_earlier_models_had_it():
    table = TableEncoder().fit([[-1.0], [1.0]])
    encoder = InputEncoder(table, np.empty(0))
    far = [[20.0], [-3.0]]
    smooth = encoder.transform(far)
    np.testing.assert_allclose(smooth, [[3 + np.log(18)], [-3.0]])
    assert encoder.transform(far, farthest=np.inf).tolist() == far
    earlier = InputEncoder(table, np.empty(0), smooth=False)
    assert earlier.transform(far).tolist() == [[5.0], [-3.0]]


# --- indicators


def informative_missingness():
    """Return a table whose second column is missing where the class is 1."""
    rng = np.random.RandomState(0)
    X = rng.randn(200, 3)
    y = np.arange(200) % 2
    X[(y == 1) & (rng.rand(200) < 0.9), 1] = NAN
    X[rng.rand(200) < 0.3, 2] = NAN
    return X, y


@pytest.mark.parametrize(
    ("indicator", "marked"), [("auto", [1]), (True, [1, 2]), (False, [])]
)
def test_columns_are_marked_where_missingness_goes_with_the_target(indicator, marked):
    X, y = informative_missingness()
    missing = np.isnan(X)
    for targets, classes in ((y, True), (y * 1.0, False)):
        chosen = choose_marked(indicator, missing, targets, classes=classes)
        assert chosen.tolist() == marked


def test_few_rows_give_no_indicator_unless_asked_for():
    y = np.arange(4000) % 10 == 0
    X = np.random.RandomState(0).randn(4000, 2)
    for n_missing, expected in ((29, []), (30, [0])):
        X[np.flatnonzero(y)[:n_missing], 0] = NAN
        missing = np.isnan(X)
        chosen = choose_marked("auto", missing, y.astype(int), classes=True)
        assert chosen.tolist() == expected
        assert choose_marked(True, missing, y, classes=True).tolist() == [0]


def test_indicators_let_a_network_learn_from_missingness():
    X, y = informative_missingness()
    options = {"max_epochs": 15, "lr": 0.02, "density": IncompleteGaussianMixture(1)}
    with_marks, without = (
        classifier(indicator=indicator, **options).fit(X, y).score(X, y)
        for indicator in ("auto", False)
    )
    assert with_marks > 0.85
    assert with_marks > without


def test_an_indicator_is_a_category_that_is_always_known():
    table = TableEncoder().fit([[1.0, "a"], [None, "b"], [3.0, None]])
    encoder = InputEncoder(table, np.array([0, 1]))
    encoded = encoder.transform([[2.0, None], [None, "a"]])
    assert encoder.sizes == (2, 2, 2)
    assert encoder.sources.tolist() == [0, 1, 1, -1, -1, -1, -1]
    assert encoded[:, 3:].tolist() == [[1, 0, 0, 1], [0, 1, 1, 0]]


def test_empty_and_complete_columns_are_not_marked():
    missing = np.isnan([[NAN, 1.0], [NAN, 2.0]])
    marked = choose_marked(True, missing, np.array([0, 1]), classes=True)
    assert marked.tolist() == []


def test_a_model_with_indicators_fills_missing_values():
    X, y = informative_missingness()
    filled = classifier(indicator=True).fit(X, y).impute(X)
    assert filled.shape == X.shape
    assert not np.isnan(filled).any()


def test_an_encoder_with_indicators_comes_back_from_its_state():
    X, _ = frame()
    encoder = InputEncoder(TableEncoder().fit(X), np.array([0, 2]))
    again = InputEncoder.from_state(encoder.to_state())
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
