import math

import numpy as np
import pytest
from scipy import stats

from lacunet.evaluation import METRICS, corrected_t, holm
from lacunet.evaluation._statistics import compare_with_ours, summarize

LOG_LOSS, ACCURACY, _ = METRICS["classification"]
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


def test_means_and_standard_errors_are_over_folds():
    found = summarize({"a": [1.0, 2.0, 3.0, 6.0]}, LOG_LOSS, 1)["a"]
    assert found.by_fold == (1, 2, 3, 6)
    assert found.mean == 3
    assert found.stderr == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert (found.rank, found.complete) == (1, True)


def test_repeats_do_not_make_the_standard_error_smaller():
    once, twice = [1.0, 2.0, 3.0, 6.0], [1.0, 2.0, 3.0, 6.0] * 2
    first = summarize({"a": once}, LOG_LOSS, 1)["a"]
    second = summarize({"a": twice}, LOG_LOSS, 2)["a"]
    assert second.stderr == pytest.approx(first.stderr)


@pytest.mark.parametrize(("metric", "best"), [(LOG_LOSS, "a"), (ACCURACY, "b")])
def test_ranks_know_which_way_is_better(metric, best):
    values = {"a": [0.1, 0.2, 0.3, 0.4], "b": [0.2, 0.3, 0.3, 0.5]}
    found = summarize(values, metric, 1)
    assert found[best].rank == (1 + 1 + 1.5 + 1) / 4
    assert found["a"].rank + found["b"].rank == 3


def test_methods_without_a_value_on_some_folds_have_a_mean_but_no_rank():
    values = {"a": [0.1, None, 0.3, 0.2], "b": [0.5] * 4, "c": [0.6] * 4}
    found = summarize(values, LOG_LOSS, 1)
    assert found["a"].mean == pytest.approx(0.2)
    assert (found["a"].rank, found["a"].complete) == (None, False)
    assert (found["b"].rank, found["c"].rank) == (1, 2)


def test_a_fold_without_any_value_counts_for_none():
    values = {"a": [0.1, None, 0.3, 0.2], "b": [0.5, None, 0.5, 0.5]}
    found = summarize(values, LOG_LOSS, 1)
    assert found["a"].complete
    assert (found["a"].rank, found["b"].rank) == (1, 2)
    assert found["a"].by_fold[1] is None


def test_no_value_at_all_is_no_mean():
    found = summarize({"a": [None] * 4}, LOG_LOSS, 1)["a"]
    assert (found.mean, found.stderr, found.rank) == (None, None, None)
    assert not found.complete


# --- tests

OURS = [0.50, 0.52, 0.48, 0.51]
VALUES = {
    "lacunet": OURS,
    "knn": [0.60, 0.63, 0.57, 0.62],
    "hgb": [0.49, 0.53, 0.47, 0.52],
}


@pytest.mark.parametrize(("metric", "sign"), [(LOG_LOSS, -1), (ACCURACY, 1)])
def test_gains_are_those_of_the_corrected_test_with_holms_correction(metric, sign):
    found = compare_with_ours(VALUES, metric, "x", **ROWS)
    assert [each.rival for each in found] == ["knn", "hgb"]
    tests = [
        corrected_t(sign * (np.array(OURS) - VALUES[key]), n_train=30, n_test=10)
        for key in ("knn", "hgb")
    ]
    assert [each.gain for each in found] == pytest.approx([t.mean for t in tests])
    assert [each.p for each in found] == pytest.approx([t.p for t in tests])
    corrected = holm([t.p for t in tests])
    assert [each.p_holm for each in found] == pytest.approx(corrected)
    assert [each.different for each in found] == [True, False]
    assert {(each.metric, each.without) for each in found} == {(metric.key, "x")}


def test_what_is_clear_alone_may_not_be_so_among_many():
    values = {"lacunet": OURS, "hgb": [0.53, 0.56, 0.50, 0.53]}
    (alone,) = compare_with_ours(values, LOG_LOSS, **ROWS)
    assert alone.p < 0.05
    assert alone.different
    values |= {key: [0.5, 0.51, 0.49, 0.5] for key in ("knn", "mice", "mean", "gmm")}
    among = compare_with_ours(values, LOG_LOSS, **ROWS)[0]
    assert among.p == alone.p
    assert among.p_holm > 0.05
    assert not among.different


def test_the_interval_is_that_of_the_test():
    found = compare_with_ours(VALUES, LOG_LOSS, **ROWS)[0]
    gains = np.array(VALUES["knn"]) - OURS
    stderr = math.sqrt((1 / 4 + 10 / 30) * gains.var(ddof=1))
    half = stats.t.ppf(0.975, 3) * stderr
    assert (found.low, found.high) == pytest.approx(
        (gains.mean() - half, gains.mean() + half)
    )


def test_an_interval_around_zero_has_a_width():
    values = {"lacunet": [1.0, 2.0, 1.0, 2.0], "hgb": [2.0, 1.0, 2.0, 1.0]}
    (found,) = compare_with_ours(values, LOG_LOSS, **ROWS)
    assert (found.gain, found.p) == (0, 1)
    assert found.high == -found.low > 0.5


def test_tiny_scores_have_intervals_too():
    values = {key: [value * 1e-13 for value in given] for key, given in VALUES.items()}
    small = compare_with_ours(values, LOG_LOSS, **ROWS)[0]
    large = compare_with_ours(VALUES, LOG_LOSS, **ROWS)[0]
    assert small.low == pytest.approx(large.low * 1e-13, rel=1e-6)


def test_equal_methods_are_not_different():
    (found,) = compare_with_ours({"lacunet": OURS, "hgb": OURS}, LOG_LOSS, **ROWS)
    assert (found.gain, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert not found.different


def test_folds_without_both_are_left_out():
    values = VALUES | {"knn": [0.6, None, 0.57, None], "hgb": [None, None, None, 0.5]}
    (found,) = compare_with_ours(values, LOG_LOSS, **ROWS)
    assert (found.rival, found.n_folds) == ("knn", 2)
    assert found.gain == pytest.approx((0.1 + 0.09) / 2)


def test_without_ours_there_is_nothing_to_test():
    assert compare_with_ours({"knn": OURS, "hgb": OURS}, LOG_LOSS, **ROWS) == []
