import numpy as np
import pytest
from scipy import stats

from lacunet.profile._input import Column, read_columns
from lacunet.profile._predictability import (
    MIN_CLASS,
    compare_losses,
    predict_missingness,
    score_target,
)


@pytest.fixture(scope="module")
def columns():
    stream = np.random.RandomState(0)
    X = stream.randn(400, 4)
    X[X[:, 1] ** 2 > 1.5, 0] = np.nan  # high and low ones: by no rank
    lost = stream.rand(400) < 0.3
    X[lost, 2], X[lost & (stream.rand(400) < 0.9), 3] = np.nan, np.nan
    return read_columns(X)


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


def test_p_values_are_adjusted_for_the_number_of_columns(predicted):
    p_values = [each.p_value for each in predicted.values()]
    adjusted = [each.p_adjusted for each in predicted.values()]
    assert max(adjusted) < 1e-10
    assert all(one <= other for one, other in zip(p_values, adjusted, strict=True))


def test_columns_missing_in_the_same_rows_are_not_used(columns):
    (alone,) = predict_missingness(
        columns[2:3], columns, {"2": ("2", "3")}, np.random.RandomState(0)
    )
    assert alone.auc < 0.65


def test_random_missingness_is_not_predicted():
    stream = np.random.RandomState(1)
    X = stream.randn(400, 3)
    X[stream.rand(400) < 0.4, 0] = np.nan
    columns = read_columns(X)
    (found,) = predict_missingness(columns, columns, {}, stream)
    assert 0.4 < found.auc < 0.6
    assert found.p_value > 0.01


def test_the_same_seed_gives_the_same(columns, predicted):
    again = predict_missingness(columns[2:], columns, {}, np.random.RandomState(0))
    assert [each.auc for each in again] == [predicted[name].auc for name in "23"]


def test_too_few_missing_values_are_not_predicted():
    X = np.random.RandomState(0).randn(100, 2)
    X[: MIN_CLASS - 1, 0] = np.nan
    columns = read_columns(X)
    assert predict_missingness(columns, columns, {}, np.random.RandomState(0)) == ()


# --- the target


def make_target(values, kind="number"):
    values = np.asarray(values, dtype=float)
    return Column("y", kind, values, np.isnan(values))


@pytest.mark.parametrize("kind", ["classes", "numbers", "huge", "days"])
def test_missingness_that_depends_on_the_target_explains_it(columns, kind):
    stream = np.random.RandomState(0)
    y = columns[0].missing + 0.2 * stream.randn(400)
    if kind == "classes":
        y = np.round(y)
    if kind == "huge":
        y = 1e300 * y
    score = score_target(
        make_target(y, "date" if kind == "days" else "number"), columns, stream
    )
    assert score.explained > 0.5
    assert score.p_value < 1e-10


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_random_missingness_explains_nothing(columns, kind):
    stream = np.random.RandomState(0)
    y = stream.randn(400) if kind == "numbers" else stream.randint(0, 3, 400)
    score = score_target(make_target(y), columns, stream)
    assert score.explained < 0.02
    assert score.p_value > 0.05


@pytest.mark.parametrize(("gain", "p_value"), [(0.0, 1.0), (0.5, 0.0), (-0.5, 1.0)])
def test_where_all_rows_gain_the_same_there_is_no_doubt(gain, p_value):
    score = compare_losses(np.full(50, 1.0 - gain), np.ones(50))
    assert (score.explained, score.p_value) == (gain, p_value)


def test_gains_are_compared_with_their_standard_error():
    baseline, learned = np.ones(4), np.array([0.0, 1.0, 0.0, 1.0])
    score = compare_losses(learned, baseline)  # 0.5, with an error of sqrt(1 / 12)
    assert score.explained == 0.5
    assert score.p_value == pytest.approx(stats.norm.sf(0.5 * np.sqrt(12)))


def test_all_of_a_target_is_explained_at_most():
    stream = np.random.RandomState(0)
    X = np.where(stream.rand(300, 2) < 0.4, np.nan, 1.0)
    columns = read_columns(X)
    score = score_target(make_target(columns[0].missing), columns, stream)
    assert 0.8 < score.explained <= 1


@pytest.mark.parametrize(
    "y",
    [
        np.full(400, np.nan),
        np.zeros(400),
        np.where(np.arange(400) < 40, 1.0, np.nan),
        np.where(np.arange(400) < 5, 1.0, 0.0),
        np.where(np.arange(400) < 300, np.inf, 0.0),
    ],
    ids=["missing", "constant", "few", "rare", "infinite"],
)
def test_a_target_without_enough_data_has_no_score(columns, y):
    assert score_target(make_target(y), columns, np.random.RandomState(0)) is None
    assert score_target(make_target(range(400)), [], np.random.RandomState(0)) is None


def test_many_classes_are_supported(columns):
    y = np.random.RandomState(0).randint(0, 200, 400)
    target = make_target(y, "category")
    score = score_target(target, columns, np.random.RandomState(0))
    assert score is None or score.explained < 0.05
