import math

import numpy as np
import pytest
from reproduction.statistics import corrected_t, paired_differences
from scipy import stats

DIFFERENCES = (0.02, 0.01, 0.03, 0, 0.02)


def test_values_computed_by_hand():
    # Mean 0.016, variance 0.00013, which is multiplied by 1/5 + 1/4.
    result = corrected_t(DIFFERENCES, n_train=80, n_test=20)
    assert result.mean == pytest.approx(0.016)
    assert result.t == pytest.approx(0.016 / math.sqrt(0.45 * 0.00013))
    assert result.t == pytest.approx(2.0919, abs=5e-5)
    assert result.p == pytest.approx(0.1046, abs=5e-5)
    assert result.df == 4


def test_only_the_ratio_of_the_rows_counts():
    by_rows = corrected_t(DIFFERENCES, n_train=80, n_test=20)
    assert by_rows == corrected_t(DIFFERENCES, n_train=4, n_test=1)


def test_it_is_the_usual_t_test_if_nothing_is_tested_on():
    result = corrected_t(DIFFERENCES, n_train=1e12, n_test=1)
    usual = stats.ttest_1samp(DIFFERENCES, 0)
    assert result.t == pytest.approx(usual.statistic)
    assert result.p == pytest.approx(usual.pvalue)


def test_the_sign_turns_with_the_differences():
    result = corrected_t(DIFFERENCES, n_train=4, n_test=1)
    turned = corrected_t(np.negative(DIFFERENCES), n_train=4, n_test=1)
    assert (turned.mean, turned.t, turned.p) == (-result.mean, -result.t, result.p)


@pytest.mark.parametrize(
    ("difference", "t", "p"), [(0, 0, 1), (0.5, math.inf, 0), (-0.5, -math.inf, 0)]
)
def test_equal_differences_have_the_limit_of_a_small_variance(difference, t, p):
    result = corrected_t([difference] * 4, n_train=3, n_test=1)
    assert (result.t, result.p) == (t, p)


@pytest.mark.parametrize(
    ("differences", "n_train", "message"),
    [
        ([0.1], 4, "expected at least two"),
        ([[0.1, 0.2]], 4, "expected at least two"),
        ([0.1, np.nan], 4, "finite numbers"),
        ([0.1, 0.2], 0, "n_train=0 and n_test=1, but expected positive"),
    ],
)
def test_wrong_arguments_are_refused(differences, n_train, message):
    with pytest.raises(ValueError, match=message):
        corrected_t(differences, n_train=n_train, n_test=1)


# --- differences


def test_differences_are_over_the_splits_that_both_have(make_cell):
    why = {"params": {"why": "no rows"}}
    cells = [
        make_cell(method="a", fold=1, value=4),
        make_cell(method="a", fold=0, value=3),
        make_cell(method="a", fold=0, seed=1, value=9),
        make_cell(method="a", fold=2, value=None, **why),
        make_cell(method="b", fold=0, value=1),
        make_cell(method="b", fold=1, value=5),
        make_cell(method="b", fold=2, value=5),
        make_cell(method="c", fold=0, value=7, dataset="other"),
        make_cell(method="b", fold=0, metric="mse", value=50),
    ]
    found = paired_differences(cells, "a", "b", metric="accuracy")
    assert found.tolist() == [2, -1]


@pytest.mark.parametrize("name", ["experiment", "protocol", "dataset", "rate"])
def test_differences_are_within_one_data_set_and_rate(make_cell, name):
    changed = {name: 0.5 if name == "rate" else "other"}
    cells = [make_cell(method="a"), make_cell(method="b", **changed)]
    with pytest.raises(ValueError, match=f"different {name}: "):
        paired_differences(cells, "a", "b", metric="accuracy")


def test_methods_without_a_common_split_are_refused(make_cell):
    cells = [make_cell(method="a", fold=0), make_cell(method="b", fold=1)]
    for rival in ("b", "unknown"):
        with pytest.raises(
            ValueError, match=f"no split on which both 'a' and '{rival}"
        ):
            paired_differences(cells, "a", rival, metric="accuracy")
