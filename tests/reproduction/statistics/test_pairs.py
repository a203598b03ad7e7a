import itertools

import numpy as np
import pytest
from reproduction.statistics import Scores, compare_pairs, holm
from scipy import stats


def scores(values):
    n_datasets, n_methods = np.shape(values)
    names = [f"set {i}" for i in range(n_datasets)], list("abcdefghi")[:n_methods]
    return Scores(*names, values)


def two(differences):
    """Two methods with these differences."""
    return scores([[difference, 0] for difference in differences])


def p_by_all_signs(differences):
    """P-value of the signed ranks from all ways to set the signs."""
    ranks = stats.rankdata(np.abs(differences)) * np.sign(np.abs(differences))
    signs = np.array(list(itertools.product((-1, 1), repeat=len(differences))))
    sums = signs @ ranks
    observed = np.sign(differences) @ ranks
    return min(2 * min((sums >= observed).mean(), (sums <= observed).mean()), 1)


# --- one pair


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1, 2, 3, 4, 5, 6, 7], 2 / 2**7),
        ([-1, -2, -3, -4, -5, -6, -7], 2 / 2**7),
        ([1, 2, 3, 4, -5], 0.625),  # 10 of 32 sums are as small or smaller, times 2
        ([0, 0, 1, 2, 3], 2 / 2**3),
        ([0, 0, 0], 1),
        ([1], 1),
        ([0], 1),
        ([0] * 20, 1),
    ],
)
def test_p_values_computed_by_hand(differences, p):
    (pair,) = compare_pairs(two(differences)).pairs
    assert pair.p == pytest.approx(p)
    assert pair.p_holm == pair.p


@pytest.mark.parametrize("seed", range(5))
def test_p_values_are_exact_with_ties_and_zeros(seed):
    differences = np.random.RandomState(seed).randint(-3, 5, size=9)
    (pair,) = compare_pairs(two(differences)).pairs
    assert pair.p == pytest.approx(p_by_all_signs(differences))


@pytest.mark.parametrize("n_datasets", [12, 13, 14, 20, 60])
def test_p_values_without_ties_are_those_of_the_signed_rank_test(n_datasets):
    differences = np.random.RandomState(n_datasets).normal(0.4, 1, n_datasets)
    (pair,) = compare_pairs(two(differences)).pairs
    assert pair.p == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_with_ties_in_many_data_sets_the_ranks_of_zeros_are_shared():
    # Ranks are 3.5 (6 zeros), 11 (9 ones, 3 of them negative) and 18.5 (6 twos).
    smaller_sum = 3 * 11 + 6 * 3.5 / 2
    mean = 21 * 22 / 4
    ties = sum(n**3 - n for n in (6, 9, 6)) / 48
    z = (smaller_sum - mean) / np.sqrt(21 * 22 * 43 / 24 - ties)
    (pair,) = compare_pairs(two([0, 0, 1, 1, 2, 2, -1] * 3)).pairs
    assert pair.p == pytest.approx(2 * stats.norm.cdf(z))


def test_differences_that_are_ties_but_for_rounding_are_ties():
    values = [[0.8, 0.7], [0.9, 0.8], [0.5, 0.6], [0.4, 0.1]]
    (pair,) = compare_pairs(scores(values)).pairs
    assert pair.p == pytest.approx(p_by_all_signs([1, 1, -1, 3]))


def test_first_and_second_can_change_places():
    values = np.random.RandomState(0).normal(size=(8, 2))
    (pair,) = compare_pairs(scores(values)).pairs
    (turned,) = compare_pairs(scores(values[:, ::-1])).pairs
    assert turned.p == pair.p
    assert turned.median_difference == -pair.median_difference
    assert pair.median_difference == pytest.approx(
        np.median(values[:, 0] - values[:, 1])
    )


# --- many pairs


def test_all_pairs_are_compared_or_those_with_a_control():
    table = scores(np.random.RandomState(0).normal(size=(5, 3)))
    names = [pair[:2] for pair in compare_pairs(table).pairs]
    assert names == [("a", "b"), ("a", "c"), ("b", "c")]
    names = [pair[:2] for pair in compare_pairs(table, control="b").pairs]
    assert names == [("b", "a"), ("b", "c")]


def test_holm_is_over_the_pairs_that_are_compared():
    values = np.random.RandomState(3).normal(size=(10, 4)) + [0, 0, 1, 3]
    for control in (None, "a"):
        pairs = compare_pairs(scores(values), control=control).pairs
        corrected = holm([pair.p for pair in pairs])
        assert [pair.p_holm for pair in pairs] == corrected.tolist()
        assert [pair.different for pair in pairs] == (corrected <= 0.05).tolist()
        assert {pair.different for pair in pairs} == {True, False}


def test_a_pair_does_not_depend_on_other_methods_before_the_correction():
    values = np.random.RandomState(4).normal(size=(7, 5))
    alone = compare_pairs(scores(values[:, :2])).pairs[0]
    among = compare_pairs(scores(values)).pairs[0]
    assert (alone.p, alone.median_difference) == (among.p, among.median_difference)


@pytest.mark.parametrize(
    ("n_datasets", "control", "enough"),
    [(7, None, False), (10, None, False), (11, None, True), (8, "a", False)]
    + [(9, "a", True)],
)
def test_nine_methods_need_eleven_sets_or_nine_with_a_control(
    n_datasets, control, enough
):
    best = np.arange(1, n_datasets + 1)[:, None] * np.arange(9)  # "i" wins everywhere
    tests = compare_pairs(scores(best), control=control)
    assert tests.n_datasets == n_datasets
    assert tests.smallest_p == 2 / 2**n_datasets
    assert min(pair.p for pair in tests.pairs) == pytest.approx(tests.smallest_p)
    assert tests.enough is enough
    assert any(pair.different for pair in tests.pairs) is enough


def test_alpha_decides_what_is_different_and_what_is_enough():
    table = two([1, 2, 3, 4, 5])  # p = 0.0625
    strict, loose = (compare_pairs(table, alpha=alpha) for alpha in (0.06, 0.0625))
    assert (strict.enough, strict.pairs[0].different) == (False, False)
    assert (loose.enough, loose.pairs[0].different) == (True, True)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (two([1, 2]), {"control": "z"}, "'z', but expected one of a, b"),
        (two([1, 2]), {"alpha": 1}, "alpha=1, but expected a number between 0 and 1"),
        (scores([[1], [2]]), {}, "only the method 'a', but expected at least two"),
    ],
)
def test_wrong_arguments_are_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        compare_pairs(table, **options)
