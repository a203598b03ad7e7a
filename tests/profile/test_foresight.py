import numpy as np
import pytest
from scipy import stats

from lacunet.profile._foresight import (
    LEAST_LEARNED,
    _compare,
    foresee,
    score_target,
)
from lacunet.profile._holes import HoleColumn, open_holes


@pytest.fixture(scope="module")
def columns():
    stream = np.random.RandomState(0)
    X = stream.randn(400, 4)
    X[X[:, 1] ** 2 > 1.5, 0] = np.nan  # high and low ones: by no rank
    holes = stream.rand(400) < 0.3
    X[holes, 2], X[holes & (stream.rand(400) < 0.9), 3] = np.nan, np.nan
    return list(open_holes(X).columns())


@pytest.fixture(scope="module")
def foreseen(columns):
    found = foresee(columns, columns, {}, np.random.RandomState(0))
    return {each.column: each for each in found}


def test_holes_that_depend_on_values_are_foreseen_by_values(foreseen):
    assert foreseen["0"].auc > 0.95
    assert foreseen["0"].auc_values > 0.95


def test_holes_that_come_together_are_foreseen_by_holes_alone(foreseen):
    assert foreseen["2"].auc > 0.9
    assert 0.4 < foreseen["2"].auc_values < 0.6


def test_columns_that_are_never_missing_have_nothing_to_foresee(foreseen):
    assert set(foreseen) == {"0", "2", "3"}


def test_chances_are_corrected_for_the_number_of_columns(foreseen):
    p_values = [each.p_value for each in foreseen.values()]
    adjusted = [each.p_adjusted for each in foreseen.values()]
    assert max(adjusted) < 1e-10
    assert all(one <= other for one, other in zip(p_values, adjusted, strict=True))


def test_echoes_are_not_asked(columns):
    (alone,) = foresee(
        columns[2:3], columns, {"2": ("2", "3")}, np.random.RandomState(0)
    )
    assert alone.auc < 0.65


def test_what_is_random_is_not_foreseen():
    stream = np.random.RandomState(1)
    X = stream.randn(400, 3)
    X[stream.rand(400) < 0.4, 0] = np.nan
    columns = list(open_holes(X).columns())
    (found,) = foresee(columns, columns, {}, stream)
    assert 0.4 < found.auc < 0.6
    assert found.p_value > 0.01


def test_the_same_seed_gives_the_same(columns, foreseen):
    again = foresee(columns[2:], columns, {}, np.random.RandomState(0))
    assert [each.auc for each in again] == [foreseen[name].auc for name in "23"]


def test_too_few_holes_are_not_learned_from():
    X = np.random.RandomState(0).randn(100, 2)
    X[: LEAST_LEARNED - 1, 0] = np.nan
    columns = list(open_holes(X).columns())
    assert foresee(columns, columns, {}, np.random.RandomState(0)) == ()


# --- the target


def make_target(values, kind="number"):
    values = np.asarray(values, dtype=float)
    return HoleColumn("y", kind, values, np.isnan(values))


@pytest.mark.parametrize("kind", ["classes", "numbers", "huge", "days"])
def test_holes_that_tell_of_the_target_explain_it(columns, kind):
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
def test_holes_that_do_not_tell_explain_nothing(columns, kind):
    stream = np.random.RandomState(0)
    y = stream.randn(400) if kind == "numbers" else stream.randint(0, 3, 400)
    score = score_target(make_target(y), columns, stream)
    assert score.explained < 0.02
    assert score.p_value > 0.05


@pytest.mark.parametrize(("gain", "p_value"), [(0.0, 1.0), (0.5, 0.0), (-0.5, 1.0)])
def test_where_all_rows_gain_the_same_there_is_no_doubt(gain, p_value):
    score = _compare(np.full(50, 1.0 - gain), np.ones(50))
    assert (score.explained, score.p_value) == (gain, p_value)


def test_gains_are_judged_by_their_standard_error():
    blind, said = np.ones(4), np.array([0.0, 1.0, 0.0, 1.0])
    score = _compare(said, blind)  # 0.5, with an error of sqrt(1 / 12)
    assert score.explained == 0.5
    assert score.p_value == pytest.approx(stats.norm.sf(0.5 * np.sqrt(12)))


def test_all_of_a_target_is_explained_at_most():
    stream = np.random.RandomState(0)
    X = np.where(stream.rand(300, 2) < 0.4, np.nan, 1.0)
    columns = list(open_holes(X).columns())
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
def test_a_target_that_nothing_can_be_learned_of_has_no_score(columns, y):
    assert score_target(make_target(y), columns, np.random.RandomState(0)) is None
    assert score_target(make_target(range(400)), [], np.random.RandomState(0)) is None


def test_many_classes_are_no_hindrance(columns):
    y = np.random.RandomState(0).randint(0, 200, 400)
    target = make_target(y, "category")
    score = score_target(target, columns, np.random.RandomState(0))
    assert score is None or score.explained < 0.05
