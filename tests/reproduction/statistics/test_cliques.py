import itertools

import numpy as np
import pytest
from reproduction.statistics import (
    MeanRank,
    Pair,
    PairTests,
    Scores,
    cliques,
    compare_pairs,
)


def ranks(methods):
    return [MeanRank(method, place) for place, method in enumerate(methods, 1)]


def pair_tests(methods, different):
    """Tests over all pairs, in which these are different."""
    pairs = tuple(
        Pair(*pair, 0.0, 0.5, 0.5, pair in different or pair[::-1] in different)
        for pair in itertools.combinations(sorted(methods), 2)
    )
    return PairTests(pairs, n_datasets=20, alpha=0.05)


def pairs_of(text):
    return {tuple(pair) for pair in text.split()}


@pytest.mark.parametrize(
    ("different", "groups"),
    [
        ("", ["abcd"]),
        ("ad", ["abc", "bcd"]),
        ("ac ad bd", ["ab", "bc", "cd"]),
        ("ab ac ad", ["bcd"]),
        ("ab ac ad bc bd cd", []),
        ("ab", ["acd", "bcd"]),  # not next to each other: c and d are with both
        ("ab cd", ["ac", "ad", "bc", "bd"]),
    ],
)
def test_groups_are_the_largest_without_a_difference(different, groups):
    tests = pair_tests("abcd", pairs_of(different))
    assert cliques(ranks("abcd"), tests) == tuple(map(tuple, groups))


def test_groups_are_in_the_order_of_the_ranks():
    tests = pair_tests("abcd", pairs_of("ad"))
    found = cliques(ranks("dcba"), tests)
    assert found == (("d", "c", "b"), ("c", "b", "a"))


@pytest.mark.parametrize("seed", range(10))
def test_groups_are_those_of_a_search_through_all_subsets(seed):
    methods = "abcdefg"
    every = list(itertools.combinations(methods, 2))
    chosen = np.random.RandomState(seed).uniform(size=len(every)) < 0.3
    different = {pair for pair, is_in in zip(every, chosen, strict=True) if is_in}
    alike = [
        set(group)
        for size in range(2, 8)
        for group in itertools.combinations(methods, size)
        if not different & set(itertools.combinations(group, 2))
    ]
    largest = [group for group in alike if not any(group < other for other in alike)]
    found = cliques(ranks(methods), pair_tests(methods, different))
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))


def test_many_methods_that_are_all_alike_are_one_group_soon():
    methods = [f"method {i:02}" for i in range(40)]
    assert cliques(ranks(methods), pair_tests(methods, ())) == (tuple(methods),)


def test_pairs_of_other_methods_or_with_a_control_are_refused():
    scores = Scores(list("pqr"), list("abc"), np.arange(9).reshape(3, 3))
    for names, control in (("ab", None), ("abcd", None), ("abc", "a")):
        tests = compare_pairs(scores, control=control)
        with pytest.raises(ValueError, match="expected all pairs of them"):
            cliques(ranks(names), tests)
