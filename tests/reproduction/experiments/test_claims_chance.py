import math

import numpy as np
import pytest
from made_up import cell
from reproduction.experiments._claims_chance import (
    average_rates,
    by_margin,
    find_common,
    over_rows,
    over_splits,
    settle,
    tell_comparisons,
)
from reproduction.experiments._claims_record import LackingError
from reproduction.statistics import Scores


def test_methods_are_compared_on_the_splits_that_all_have():
    cells = [
        cell("table-4", "pima", method, 0.1 * fold, fold=fold)
        for method, folds in (("paper", 3), ("knn", 2), ("mean", 3))
        for fold in range(folds)
    ]
    common = find_common(cells, "paper", ("knn", "mean", "gmm"))
    assert common.missing == ("gmm",)
    assert common.methods == ("paper", "knn", "mean")
    assert common.n_splits == 2
    assert common.means() == pytest.approx({"paper": 0.05, "knn": 0.05, "mean": 0.05})


@pytest.mark.parametrize(
    ("have", "partial"), [((), False), (("knn",), True), (("paper",), True)]
)
def test_without_both_sides_there_is_nothing_to_compare(have, partial):
    cells = [cell("table-4", "pima", method, 0.5) for method in have]
    with pytest.raises(LackingError, match="no results of") as raised:
        find_common(cells, "paper", ("knn",))
    assert raised.value.partial == partial


def test_methods_on_different_rows_can_not_be_compared():
    cells = [cell("table-4", "pima", "paper", 0.5), cell("table-4", "horse", "knn", 1)]
    with pytest.raises(LackingError, match="paper and k-nn on the same rows"):
        find_common(cells, "paper", ("knn",))


def test_rates_are_averaged_on_the_splits_that_have_all_of_them():
    values = {(0.75, 0): 0.5, (0.9, 0): 0.3, (0.75, 1): 0.9}
    cells = [
        cell("table-2", "esr", "paper", value, rate=rate, fold=fold)
        for (rate, fold), value in values.items()
    ]
    (mean,) = average_rates(cells)
    assert (mean.value, mean.rate, mean.fold) == (pytest.approx(0.4), None, 0)


def test_over_rows_it_is_wilcoxon_with_holm_over_the_pairs():
    values = np.zeros((6, 3))
    values[:, 0] = np.arange(1, 7)  # better on all six: p = 2 / 2**6
    scores = Scores(list("abcdef"), ["ours", "x", "y"], values)
    (alone,) = over_rows(scores, [("ours", "x")], higher_is_better=True)
    assert (alone.p, alone.side) == (0.03125, 1)
    assert alone.gain == pytest.approx(3.5)
    both = over_rows(scores, [("ours", "x"), ("ours", "y")], higher_is_better=True)
    assert [(each.p, each.side) for each in both] == [(0.0625, 0), (0.0625, 0)]
    (error,) = over_rows(scores, [("ours", "x")], higher_is_better=False)
    assert (error.gain, error.side) == (pytest.approx(-3.5), -1)


def splits(ours, theirs):
    cells = [
        cell("table-1", "mnist", method, value, seed=seed)
        for method, values in (("paper", ours), ("knn", theirs))
        for seed, value in enumerate(values)
    ]
    return find_common(cells, "paper", ("knn",))


def test_over_splits_it_is_the_corrected_t_test():
    common = splits([0.52, 0.51, 0.53, 0.50, 0.52], [0.5] * 5)
    # As in the example of corrected_t: p is 0.1046, and 0.02 if uncorrected.
    (found,) = over_splits(common, higher_is_better=True)
    assert (round(found.p, 4), found.side) == (0.1046, 0)
    (given,) = over_splits(common, higher_is_better=True, allowance=0.02)
    assert given.p < 0.05
    assert (given.side, given.gain) == (1, pytest.approx(0.016))


def test_one_split_says_nothing_of_chance():
    (found,) = over_splits(splits([0.9], [0.1]), higher_is_better=True)
    assert math.isnan(found.p)
    assert found.side == 0


@pytest.mark.parametrize(
    ("ours", "side"), [(0.89, 1), (0.91, 0), (1.0, 0), (1.09, 0), (1.11, -1)]
)
def test_an_error_that_was_measured_once_differs_by_a_tenth(ours, side):
    (found,) = by_margin({"paper": ours, "knn": 1.0}, "paper")
    assert found.side == side
    assert found.gain == pytest.approx(1 - ours)


def test_one_better_rival_denies_and_only_all_agree():
    better, worse, open_ = (
        by_margin({"paper": ours, "knn": 1.0}, "paper")[0] for ours in (0.5, 1.5, 1.0)
    )
    assert settle([better, better]) == "holds"
    assert settle([better, open_]) == "not decidable"
    assert settle([better, open_, worse]) == "does not hold"
    assert settle([worse], ["mice"]) == "does not hold"
    with pytest.raises(LackingError, match="no results of mice") as raised:
        settle([better], ["mice"])
    assert raised.value.partial


def test_comparisons_are_told_by_side():
    means = {"paper": 1.0, "knn": 2.0, "mean": 0.5, "ce": 1.0}
    told = tell_comparisons(by_margin(means, "paper"))
    assert told == (
        "paper is better than k-nn, worse than mean, within chance of context encoder."
    )
