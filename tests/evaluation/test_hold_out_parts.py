"""What a hold-out is made of: losses, rows, reliability, holes, columns."""

import numpy as np
import pandas as pd
import pytest

from lacunet.evaluation import METRICS, score
from lacunet.evaluation import _importance as importance_module
from lacunet.evaluation._holes_and_error import loss_by_holes
from lacunet.evaluation._importance import find_importance
from lacunet.evaluation._losses import (
    Estimate,
    compare_losses,
    mean_loss,
    row_losses,
)
from lacunet.evaluation._reliability import (
    equal_bins,
    find_agreement,
    find_reliability,
)
from lacunet.evaluation._splitting import split_rows


def made_up(task, n=40, seed=0):
    """Return targets, predictions of two models, and classes."""
    rng = np.random.RandomState(seed)
    if task == "regression":
        return rng.randn(n), rng.randn(n), rng.randn(n), ()
    shares = rng.dirichlet(np.ones(3), size=(2, n))
    shares[0, 0] = [0.0, 0.0, 1.0]  # rules the truth out
    y = rng.choice(["a", "b", "c"], n)
    y[0] = "a"
    return y, *shares, np.array(["a", "b", "c"])


# --- losses


@pytest.mark.parametrize("task", METRICS)
def test_the_mean_of_the_losses_is_the_first_score(task):
    y, predicted, _, classes = made_up(task)
    losses = row_losses(task, y, predicted, classes)
    first = METRICS[task][0].key
    assert mean_loss(task, losses) == pytest.approx(
        score(task, y, predicted, classes)[first]
    )
    assert not METRICS[task][0].higher_is_better  # a loss, wherever it is called so


@pytest.mark.parametrize("task", METRICS)
def test_differences_have_the_standard_error_that_draws_of_rows_have(task):
    y, first, second, classes = made_up(task, 400)
    losses = row_losses(task, y, first, classes)
    others = row_losses(task, y, second, classes)
    found = compare_losses(task, losses, others)
    assert found.value == mean_loss(task, losses) - mean_loss(task, others)
    rng = np.random.RandomState(0)
    drawn = [rng.randint(400, size=400) for _ in range(500)]
    values = [mean_loss(task, losses[i]) - mean_loss(task, others[i]) for i in drawn]
    assert found.error == pytest.approx(np.std(values), rel=0.15)


def test_compared_with_nothing_it_is_the_score_itself():
    losses = np.array([1.0, 4.0, 9.0])
    assert compare_losses("classification", losses).value == pytest.approx(14 / 3)
    found = compare_losses("regression", losses)
    assert found.value == pytest.approx(np.sqrt(14 / 3))
    assert found.error == pytest.approx(
        losses.std(ddof=1) / np.sqrt(3) / (2 * np.sqrt(14 / 3))
    )


@pytest.mark.parametrize("task", METRICS)
def test_one_row_and_no_loss_are_no_trouble(task):
    assert compare_losses(task, np.zeros(5)) == Estimate(0.0, 0.0)
    assert compare_losses(task, np.array([4.0])).error is None


@pytest.mark.parametrize(
    ("value", "error", "is_sure"),
    [(0.3, 0.1, True), (-0.3, 0.1, True), (0.1, 0.1, False), (1.0, None, False)],
)
def test_two_standard_errors_are_sure(value, error, is_sure):
    assert Estimate(value, error).is_sure is is_sure


# --- rows to hold out


def split(y, task="classification", **options):
    settings = {"test_size": 0.2, "random_state": 0, **options}
    return split_rows(np.asarray(y), task, **settings)


@pytest.mark.parametrize("task", METRICS)
def test_every_row_is_in_one_part(task):
    train, test = split([0, 1] * 25, task)
    assert len(test) == 10
    assert sorted([*train, *test]) == list(range(50))


def test_shares_of_classes_are_kept():
    y = np.repeat([0, 1], [80, 20])
    for seed in range(5):
        _, test = split(y, random_state=seed)
        assert y[test].sum() == 4


def test_seeds_choose_other_rows():
    y = [0, 1] * 25
    first, again, other = (set(split(y, random_state=seed)[1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    "y",
    [
        ["a"] * 9 + ["b"],
        [*"aabbccddee"],  # five classes, two rows held out
        [*"aaaaaaaabb"],
        [*"aaaab", *"c"],
    ],
    ids="".join,
)
@pytest.mark.parametrize("test_size", [0.2, 0.7])
def test_each_class_is_learned_from_however_few_rows_it_has(y, test_size):
    for seed in range(10):
        train, test = split(y, random_state=seed, test_size=test_size)
        assert set(np.array(y)[train]) == set(y)
        assert len(test)
        assert sorted([*train, *test]) == list(range(len(y)))


@pytest.mark.parametrize(
    ("y", "options", "match"),
    [
        (["a"] * 20, {}, "single class 'a'"),
        ([*"abcdefgh"], {}, "8 classes of one row each"),
        ([0.5, 1.5, 2.5], {"task": "regression"}, "Got 3 rows with a target"),
        ([0, 1] * 9, {"test_size": 1.5}, "test_size=1.5"),
        ([0, 1] * 9, {"test_size": 0}, "test_size=0"),
    ],
)
def test_what_can_not_be_split_is_refused(y, options, match):
    with pytest.raises(ValueError, match=match):
        split(y, **options)


# --- reliability


def test_bins_have_as_many_rows_and_equal_values_stay_together():
    values = np.random.RandomState(0).rand(200)
    codes = equal_bins(values)
    assert np.bincount(codes).tolist() == [20] * 10
    assert (np.diff(codes[np.argsort(values)]) >= 0).all()
    assert equal_bins(np.zeros(100)).max() == 0
    assert np.bincount(equal_bins(np.repeat([0.0, 1.0], 50))).tolist() == [50, 50]
    assert equal_bins(np.array([0.5])).tolist() == [0]


def test_reliability_of_a_few_rows_by_hand():
    shares = np.array([0.1] * 20 + [0.8] * 20)
    happened = np.array(([True] + [False] * 3) * 5 + [True] * 20)
    found = find_reliability(shares, happened)
    low, high = found.bins
    assert (low.n_rows, low.observed) == (20, 0.25)
    assert low.predicted == pytest.approx(0.1)
    assert low.low < 0.25 < low.high
    assert (high.observed, high.high) == (1.0, 1.0)
    assert found.calibration_error == pytest.approx((0.15 + 0.2) / 2)


def test_true_probabilities_are_found_to_be_true_and_others_not():
    rng = np.random.RandomState(0)
    shares = rng.rand(2000)
    happened = rng.rand(2000) < shares
    true = find_reliability(shares, happened)
    assert true.p_value > 0.1
    assert true.calibration_error == pytest.approx(true.by_chance, rel=0.5)
    vain = find_reliability(np.where(shares > 0.5, 0.97, 0.03), happened)
    assert vain.p_value < 0.01
    assert vain.calibration_error > 5 * vain.by_chance


def test_agreement_is_of_rows_with_about_the_same_prediction():
    predicted = np.repeat([1.0, 2.0], 20)
    y = predicted + np.tile([-1.0, 3.0], 20)
    found = find_agreement(y, predicted)
    assert [each.predicted for each in found.bins] == [1.0, 2.0]
    assert [each.observed for each in found.bins] == [2.0, 3.0]
    assert found.bias == 1.0
    assert found.bins[0].quantiles == (0.0, 0.0, 2.0, 4.0, 4.0)
    assert found.residuals == (-1.0, -1.0, 1.0, 3.0, 3.0)


# --- holes


def test_losses_by_holes_are_those_of_the_rows():
    n_missing = np.repeat([0, 1, 2, 5, 9], [100, 30, 15, 14, 3])
    losses = np.random.RandomState(0).rand(len(n_missing))
    bins = loss_by_holes("classification", n_missing, {"ours": losses})
    assert [(each.fewest, each.most) for each in bins] == [(0, 0), (1, 1), (2, 9)]
    assert sum(each.n_rows for each in bins) == len(n_missing)
    last = losses[n_missing >= 2]
    assert bins[-1].losses["ours"] == compare_losses("classification", last)


def test_rows_that_lack_as_many_or_are_few_are_in_one_bin():
    assert len(loss_by_holes("regression", np.full(50, 3), {"a": np.ones(50)})) == 1
    (only,) = loss_by_holes("regression", np.arange(9), {"a": np.ones(9)})
    assert (only.fewest, only.most, only.n_rows) == (0, 8, 9)


# --- columns


def losses_of_frame(frame):
    """Return losses to which the column with the number k adds k where it is hidden."""
    hidden = frame.isna().to_numpy()
    return 1.0 + hidden @ np.arange(frame.shape[1])


def make_frame(n_rows, n_columns):
    return pd.DataFrame(np.ones((n_rows, n_columns))).add_prefix("c")


def test_all_columns_are_hidden_if_they_are_few():
    seen = []

    def losses_of(frame):
        seen.append(frame)
        return losses_of_frame(frame)

    X = make_frame(30, 4)
    found = find_importance("classification", losses_of, X)
    assert [each.name for each in found.columns] == ["c3", "c2", "c1", "c0"]
    assert [each.lost.value for each in found.columns] == [3.0, 2.0, 1.0, 0.0]
    assert (found.n_columns, found.n_rows, found.rule) == (4, 30, "all columns")
    assert [int(frame.isna().any().sum()) for frame in seen] == [0, 1, 1, 1, 1]
    assert not X.isna().any(axis=None)


def test_of_many_columns_those_that_cost_the_most_are_taken():
    found = find_importance("classification", losses_of_frame, make_frame(300, 80))
    assert [each.name for each in found.columns] == [f"c{k}" for k in range(79, 29, -1)]
    assert found.n_rows == 300
    assert found.rule.startswith("the 50 that cost the most in 100 rows, among all of")


def test_of_very_many_columns_the_most_complete_are_tried(monkeypatch):
    monkeypatch.setattr(importance_module, "_CELLS_TO_CHOOSE", 100 * 80 * 60)
    X = make_frame(300, 80)
    X.iloc[0, 60:] = np.nan
    found = find_importance("classification", losses_of_frame, X)
    assert {each.name for each in found.columns} == {f"c{k}" for k in range(10, 60)}
    assert found.rule.endswith("among the 60 most complete of 80 columns")
    monkeypatch.setattr(importance_module, "_CELLS_TO_CHOOSE", 0)
    found = find_importance("classification", losses_of_frame, X)
    assert {each.name for each in found.columns} == {f"c{k}" for k in range(50)}
    assert found.rule == "the 50 most complete of 80 columns"


def test_columns_are_hidden_in_so_many_rows_that_it_stays_bearable(monkeypatch):
    X = make_frame(2500, 3)
    assert find_importance("regression", losses_of_frame, X).n_rows == 2000
    monkeypatch.setattr(importance_module, "_CELLS", 1500)
    assert find_importance("regression", losses_of_frame, X).n_rows == 500
