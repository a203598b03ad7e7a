import numpy as np
import pandas as pd
import pytest

from lacunet.profile._input import as_frame, read_table
from lacunet.profile._predictability import (
    MIN_CLASS,
    predict_missingness,
    score_target,
)


def read(X):
    return read_table(as_frame(X))


@pytest.fixture(scope="module")
def columns():
    stream = np.random.RandomState(0)
    X = stream.randn(400, 4)
    X[X[:, 1] ** 2 > 1.5, 0] = np.nan  # high and low ones: by no rank
    lost = stream.rand(400) < 0.3
    X[lost, 2], X[lost & (stream.rand(400) < 0.9), 3] = np.nan, np.nan
    return read(X)


@pytest.fixture(scope="module")
def predicted(columns):
    found = predict_missingness(columns, columns, {}, np.random.RandomState(0))
    return {each.column: each for each in found}


def test_missingness_by_values_is_predicted_from_values(predicted):
    assert predicted["0"].auc > 0.95
    assert predicted["0"].auc_values > 0.95


def test_columns_missing_together_are_predicted_from_missingness_only(predicted):
    assert predicted["2"].auc > 0.9
    assert 0.4 < predicted["2"].auc_values < 0.6


def test_columns_that_are_never_missing_have_nothing_to_predict_missingness(predicted):
    assert set(predicted) == {"0", "2", "3"}


def test_columns_missing_in_the_same_rows_are_not_used(columns):
    (alone,) = predict_missingness(
        columns[["2"]], columns, {"2": ("2", "3")}, np.random.RandomState(0)
    )
    assert alone.auc < 0.65


def test_random_missingness_is_not_predicted():
    stream = np.random.RandomState(1)
    X = stream.randn(400, 3)
    X[stream.rand(400) < 0.4, 0] = np.nan
    columns = read(X)
    (found,) = predict_missingness(columns, columns, {}, stream)
    assert 0.4 < found.auc < 0.6


def test_the_same_seed_gives_the_same(columns, predicted):
    again = predict_missingness(
        columns[["2", "3"]], columns, {}, np.random.RandomState(0)
    )
    assert [each.auc for each in again] == [predicted[name].auc for name in "23"]


def test_too_few_missing_values_are_not_predicted():
    X = np.random.RandomState(0).randn(100, 2)
    X[: MIN_CLASS - 1, 0] = np.nan
    columns = read(X)
    assert predict_missingness(columns, columns, {}, np.random.RandomState(0)) == ()


# --- the target


@pytest.mark.parametrize("kind", ["classes", "numbers", "huge", "days"])
def test_missingness_that_depends_on_the_target_explains_it(columns, kind):
    stream = np.random.RandomState(0)
    y = columns["0"].isna() + 0.2 * stream.randn(400)
    if kind == "classes":
        y = np.round(y)
    if kind == "huge":
        y = 1e300 * y
    if kind == "days":
        y = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * y, unit="D")
    assert 0.5 < score_target(y, columns, stream) <= 1


@pytest.mark.parametrize("kind", ["classes", "numbers", "words"])
def test_random_missingness_explains_nothing(columns, kind):
    stream = np.random.RandomState(0)
    y = stream.randn(400) if kind == "numbers" else stream.randint(0, 3, 400)
    y = pd.Series(y.astype(str) if kind == "words" else y.astype(float))
    assert score_target(y, columns, stream) < 0.02


@pytest.mark.parametrize(
    "y",
    [
        np.full(400, np.nan),
        np.zeros(400),
        np.where(np.arange(400) < 40, 1.0, np.nan),
        np.where(np.arange(400) < 5, 1.0, 0.0),
        np.where(np.arange(400) < 300, np.inf, np.arange(400)),
        np.arange(400) % 40 / 7,
    ],
    ids=["missing", "constant", "few", "rare", "infinite", "many classes"],
)
def test_a_target_without_enough_data_has_no_score(columns, y):
    stream = np.random.RandomState(0)
    y = pd.Series(y)
    if y.nunique() == 40:
        y = y.astype(str).astype("category")
    assert score_target(y, columns, stream) is None
    assert score_target(pd.Series(range(400)), columns[[]], stream) is None
