import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

from lacunet.evaluation import METRICS, corrected_t, holm
from lacunet.evaluation._statistics import compare_scores

LOG_LOSS, _, ACCURACY = METRICS["classification"]
ROWS = {"n_train": 30, "n_test": 10}

# --- the corrected resampled t-test

DIFFERENCES = (0.02, 0.01, 0.03, 0, 0.02)


def test_corrected_t_computed_by_hand():
    # Mean 0.016, variance 0.00013, which is multiplied by 1/5 + 1/4.
    result = corrected_t(DIFFERENCES, n_train=80, n_test=20)
    assert result.mean == pytest.approx(0.016)
    assert result.t == pytest.approx(0.016 / math.sqrt(0.45 * 0.00013))
    assert result.p == pytest.approx(0.1046, abs=5e-5)
    assert result.df == 4


def test_only_the_ratio_of_the_rows_counts():
    by_rows = corrected_t(DIFFERENCES, n_train=80, n_test=20)
    assert by_rows == corrected_t(DIFFERENCES, n_train=4, n_test=1)


def test_without_test_rows_it_is_the_usual_t_test():
    result = corrected_t(DIFFERENCES, n_train=1e12, n_test=1)
    usual = stats.ttest_1samp(DIFFERENCES, 0)
    assert result.t == pytest.approx(usual.statistic)
    assert result.p == pytest.approx(usual.pvalue)


@pytest.mark.parametrize(
    ("difference", "t", "p"), [(0, 0, 1), (0.5, math.inf, 0), (-0.5, -math.inf, 0)]
)
def test_equal_differences_have_the_limit_of_a_small_variance(difference, t, p):
    result = corrected_t([difference] * 4, n_train=3, n_test=1)
    assert (result.t, result.p) == (t, p)


@pytest.mark.parametrize(
    ("differences", "n_train", "message"),
    [
        ([0.1], 4, "at least two finite numbers"),
        ([[0.1, 0.2]], 4, "at least two finite numbers"),
        ([0.1, np.nan], 4, "at least two finite numbers"),
        ([0.1, 0.2], 0, "n_train=0 and n_test=1, but expected positive"),
    ],
)
def test_corrected_t_refuses_wrong_arguments(differences, n_train, message):
    with pytest.raises(ValueError, match=message):
        corrected_t(differences, n_train=n_train, n_test=1)


# --- Holm's correction


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]),
        ([0.5, 0.6], [1, 1]),
        ([0.01, 0.01], [0.02, 0.02]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm_computed_by_hand(given, expected):
    np.testing.assert_allclose(holm(given), expected)


def test_holm_lies_between_no_correction_and_bonferroni_and_keeps_the_order():
    p_values = np.random.RandomState(0).uniform(size=20) ** 3
    corrected = holm(p_values)
    assert (corrected >= p_values).all()
    assert (corrected <= np.minimum(20 * p_values, 1)).all()
    assert (np.diff(corrected[np.argsort(p_values)]) >= 0).all()


@pytest.mark.parametrize("wrong", [[0.5, 1.5], [-0.1], [np.nan], 0.5, [[0.5]]])
def test_holm_refuses_what_are_no_p_values(wrong):
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        holm(wrong)


# --- means and ranks


def compare(values, metric=LOG_LOSS, n_repeats=1):
    """Compare methods whose rows have the score of their fold; ten in each."""
    n_folds = len(next(iter(values.values())))
    places = [np.repeat(np.arange(n_folds), 10), np.arange(10 * n_folds)]
    rows = pd.DataFrame(values, dtype=float).loc[places[0]].set_axis(places)
    found = compare_scores(rows, metric, n_repeats=n_repeats, **ROWS)
    return {each.method: each for each in found.itertuples()}


def test_means_and_standard_errors_are_over_folds():
    found = compare({"a": [1.0, 2.0, 3.0, 6.0]})["a"]
    assert found.by_fold == (1, 2, 3, 6)
    assert found.mean == 3
    assert found.stderr == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert (found.rank, found.complete) == (1, True)


def test_repeats_do_not_make_the_standard_error_smaller():
    once = [1.0, 2.0, 3.0, 6.0]
    first, second = (compare({"a": once * n}, LOG_LOSS, n)["a"] for n in (1, 2))
    assert second.stderr == pytest.approx(first.stderr)


@pytest.mark.parametrize(("metric", "best"), [(LOG_LOSS, "a"), (ACCURACY, "b")])
def test_ranks_know_which_way_is_better(metric, best):
    values = {"a": [0.1, 0.2, 0.3, 0.4], "b": [0.2, 0.3, 0.3, 0.5]}
    found = compare(values, metric)
    assert found[best].rank == (1 + 1 + 1.5 + 1) / 4
    assert found["a"].rank + found["b"].rank == 3


def test_methods_without_a_value_on_some_folds_have_a_mean_but_no_rank():
    values = {"a": [0.1, None, 0.3, 0.2], "b": [0.5] * 4, "c": [0.6] * 4}
    found = compare(values)
    assert found["a"].mean == pytest.approx(0.2)
    assert (found["a"].rank, found["a"].complete) == (None, False)
    assert (found["b"].rank, found["c"].rank) == (1, 2)


def test_a_fold_without_any_value_counts_for_none():
    values = {"a": [0.1, None, 0.3, 0.2], "b": [0.5, None, 0.5, 0.5]}
    found = compare(values)
    assert found["a"].complete
    assert (found["a"].rank, found["b"].rank) == (1, 2)
    assert found["a"].by_fold[1] is None


def test_no_value_at_all_is_no_mean():
    found = compare({"a": [None] * 4})["a"]
    assert (found.mean, found.stderr, found.rank) == (None, None, None)
    assert not found.complete


# --- tests

OURS = [0.50, 0.52, 0.48, 0.51]
VALUES = {
    "lacunet": OURS,
    "knn": [0.60, 0.63, 0.57, 0.62],
    "hgb": [0.49, 0.53, 0.47, 0.52],
}


def against(*given, **options):
    """Return the methods that lacunet was tested against."""
    found = compare(*given, **options).values()
    return [each for each in found if each.gain is not None]


def compare_rows(ours, theirs, folds, metric, **sizes):
    """Compare lacunet with another method, row by row."""
    rows = {
        name: pd.concat(
            [pd.Series(*each) for each in zip(scores, folds, strict=True)],
            keys=range(len(folds)),
        )
        for name, scores in (("lacunet", ours), ("hgb", theirs))
    }
    found = compare_scores(pd.DataFrame(rows), metric, **sizes)
    return next(each for each in found.itertuples() if each.method == "hgb")


@pytest.mark.parametrize(("metric", "sign"), [(LOG_LOSS, -1), (ACCURACY, 1)])
def test_gains_are_those_of_the_corrected_test_with_holms_correction(metric, sign):
    found = against(VALUES, metric)
    assert [each.method for each in found] == ["knn", "hgb"]
    tests = [
        corrected_t(sign * (np.array(OURS) - VALUES[key]), **ROWS)
        for key in ("knn", "hgb")
    ]
    assert [each.gain for each in found] == pytest.approx([t.mean for t in tests])
    assert [each.p for each in found] == pytest.approx([t.p for t in tests])
    corrected = holm([t.p for t in tests])
    assert [each.p_holm for each in found] == pytest.approx(corrected)
    assert [each.different for each in found] == [True, False]
    half = stats.t.ppf(0.975, 3) * tests[0].stderr
    ends = tests[0].mean - half, tests[0].mean + half
    assert (found[0].low, found[0].high) == pytest.approx(ends)


def test_what_is_clear_alone_may_not_be_so_among_many():
    values = {"lacunet": OURS, "hgb": [0.53, 0.56, 0.50, 0.53]}
    (alone,) = against(values)
    assert alone.p < 0.05
    assert alone.different
    values |= {key: [0.5, 0.51, 0.49, 0.5] for key in ("knn", "mice", "mean", "gmm")}
    among = against(values)[0]
    assert among.p == alone.p
    assert among.p_holm > 0.05
    assert not among.different


def test_equal_methods_are_not_different():
    (found,) = against({"lacunet": OURS, "hgb": OURS}, ACCURACY)
    assert (found.gain, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert (found.different, found.n_decided, found.n_rows) == (False, 0, 40)


def test_folds_without_both_are_left_out():
    values = VALUES | {"knn": [0.6, None, 0.57, None], "hgb": [None, None, None, 0.5]}
    (found,) = against(values)
    assert (found.method, found.n_folds, found.n_rows) == ("knn", 2, 20)
    assert found.gain == pytest.approx((0.1 + 0.09) / 2)


def test_without_ours_there_is_nothing_to_test():
    assert against({"knn": OURS, "hgb": OURS}) == []


@pytest.mark.parametrize(("more", "n_decided"), [(0, 6), (5, 36)])
def test_six_rows_of_three_folds_decide_nothing(more, n_decided):
    # Two rows more are right in each of three folds: without variance over folds.
    folds = np.split(np.arange(294), 3)
    ours, theirs = ([np.zeros(98) for _ in folds] for _ in range(2))
    for mine, other in zip(ours, theirs, strict=True):
        mine[: 2 + more] = 1.0
        other[90 : 90 + more] = 1.0
    found = compare_rows(ours, theirs, folds, ACCURACY, n_train=196, n_test=98)
    assert found.gain == pytest.approx(2 / 98)
    assert found.p > 0.1
    assert (found.n_decided, found.n_rows) == (n_decided, 294)


def test_many_rows_decide():
    rng = np.random.RandomState(0)
    folds = np.split(rng.permutation(1000), 5)
    theirs = [(rng.rand(200) < 0.8).astype(float) for _ in folds]
    ours = [np.maximum(each, rng.rand(200) < 0.5) for each in theirs]
    found = compare_rows(ours, theirs, folds, ACCURACY, n_train=800, n_test=200)
    assert found.p < 0.01
    assert found.n_decided == (np.concatenate(ours) > np.concatenate(theirs)).sum()


def test_repeats_bring_no_new_rows():
    rng = np.random.RandomState(0)
    gains = rng.randn(40) + 0.3
    sizes = {"n_train": 1, "n_test": 1e-9}
    halves, zeros = np.split(-gains, 2), [np.zeros(20)] * 2
    first = compare_rows(halves, zeros, np.split(np.arange(40), 2), LOG_LOSS, **sizes)
    assert first.n_rows == 40
    least = gains.std(ddof=1) / np.sqrt(40)
    again = compare_rows(
        [-gains] * 9, [np.zeros(40)] * 9, [np.arange(40)] * 9, LOG_LOSS, **sizes
    )
    half = stats.t.ppf(0.975, 8) * least
    assert again.high - again.gain == pytest.approx(half)


def test_methods_that_are_as_good_are_seldom_different():
    # Trees of five columns each, which are worth the same.
    n_rows, n_runs, folds = 60, 100, np.split(np.arange(60), 5)
    rng, n_different = np.random.RandomState(0), 0
    for _ in range(n_runs):
        X = rng.randn(n_rows, 10)
        y = X.sum(1) + rng.randn(n_rows)
        rows = {"lacunet": [], "hgb": []}
        for test, (name, part) in itertools.product(
            folds, (("lacunet", X[:, :5]), ("hgb", X[:, 5:]))
        ):
            train = np.setdiff1d(np.arange(n_rows), test)
            tree = DecisionTreeRegressor(random_state=0).fit(part[train], y[train])
            rows[name].append((y[test] - tree.predict(part[test])) ** 2)
        found = compare_rows(*rows.values(), folds, LOG_LOSS, n_train=48, n_test=12)
        n_different += found.different
    assert n_different / n_runs <= 0.07
