import math

import numpy as np
import pytest
from reproduction.statistics import Scores, friedman, rank_methods
from scipy import stats


def scores(values):
    n_datasets, n_methods = np.shape(values)
    names = [f"set {i}" for i in range(n_datasets)], list("abcdefgh")[:n_methods]
    return Scores(*names, values)


def test_values_computed_by_hand():
    result = friedman(scores([[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]))
    assert result.chi2 == pytest.approx(4.5)
    assert result.chi2_p == pytest.approx(math.exp(-4.5 / 2))  # two degrees of freedom
    assert result.f == pytest.approx(3 * 4.5 / 3.5)  # 3.857
    assert result.f_p == pytest.approx((1 + result.f / 3) ** -3)  # 2 and 6 degrees
    assert (result.n_datasets, result.n_methods) == (4, 3)


def test_chi2_is_the_formula_over_mean_ranks_without_ties():
    table = scores(np.random.RandomState(1).normal(size=(9, 5)))
    ranks = [rank for _, rank in rank_methods(table, higher_is_better=True)]
    spread = sum(rank**2 for rank in ranks) - 5 * 6**2 / 4
    assert friedman(table).chi2 == pytest.approx(12 * 9 / (5 * 6) * spread)


def test_f_is_that_of_an_analysis_of_variance_of_the_ranks():
    values = np.round(np.random.RandomState(2).normal(size=(8, 4)))  # with ties
    ranks = stats.rankdata(values, axis=1)
    between = 8 * ((ranks.mean(axis=0) - 2.5) ** 2).sum() / 3
    left = ((ranks - ranks.mean(axis=0)) ** 2).sum() / (3 * 7)
    assert friedman(scores(values)).f == pytest.approx(between / left)


def test_the_direction_does_not_matter():
    values = np.random.RandomState(3).normal(size=(6, 4))
    assert friedman(scores(values)) == pytest.approx(friedman(scores(-values)))


@pytest.mark.parametrize("row", [[1, 2, 3, 4, 5], [1, 2, 3, 3], [1, 2, 3, 4, 4]])
@pytest.mark.parametrize("n_datasets", [2, 7, 21])
def test_data_sets_that_all_agree_give_an_infinite_f(row, n_datasets):
    # Rounding puts chi2 on either side of its largest value.
    result = friedman(scores([row] * n_datasets))
    assert (result.f, result.f_p) == (math.inf, 0)
    assert result.chi2 == pytest.approx((len(row) - 1) * n_datasets)


def test_methods_that_are_equal_everywhere_do_not_differ():
    result = friedman(scores([[1, 1, 1], [2, 2, 2]]))
    assert result[:4] == (0, 1, 0, 1)


@pytest.mark.parametrize("shape", [(1, 3), (5, 2)])
def test_too_few_data_sets_or_methods_are_refused(shape):
    with pytest.raises(ValueError, match="at least 2 and 3"):
        friedman(scores(np.arange(math.prod(shape)).reshape(shape)))
