import numpy as np
import pytest
from reproduction.statistics import Scores, count_wins, rank_methods

# Ranks of errors (1 2 3), (1 3 2), (1.5 1.5 3): means 3.5/3, 6.5/3, 8/3.
ERRORS = Scores(list("pqr"), list("abc"), [[1, 2, 3], [0.1, 0.3, 0.2], [5, 5, 6]])


def test_ranks_are_averaged_with_ties_shared():
    ranks = rank_methods(ERRORS, higher_is_better=False)
    assert [method for method, _ in ranks] == ["a", "b", "c"]
    assert [rank for _, rank in ranks] == pytest.approx([3.5 / 3, 6.5 / 3, 8 / 3])


def test_the_other_direction_turns_the_ranks_round():
    ranks = rank_methods(ERRORS, higher_is_better=True)
    assert [method for method, _ in ranks] == ["c", "b", "a"]
    assert [rank for _, rank in ranks] == pytest.approx([4 / 3, 5.5 / 3, 8.5 / 3])


def test_ranks_depend_on_the_order_only_and_add_up():
    values = np.random.RandomState(0).normal(size=(6, 5))
    names = list("pqrstu"), list("abcde")
    ranks = rank_methods(Scores(*names, values), higher_is_better=True)
    curved = rank_methods(Scores(*names, np.exp(3 * values)), higher_is_better=True)
    assert ranks == curved
    assert sum(rank for _, rank in ranks) == pytest.approx(5 * 6 / 2)


def test_equal_methods_are_sorted_by_name():
    ranks = rank_methods(Scores(["p"], ["b", "a"], [[1, 1]]), higher_is_better=True)
    assert ranks == (("a", 1.5), ("b", 1.5))


def test_wins_losses_and_ties_are_counted_against_each_rival():
    assert count_wins(ERRORS, "b", higher_is_better=False) == (
        ("a", 0, 2, 1),
        ("c", 2, 1, 0),
    )
    assert count_wins(ERRORS, "b", higher_is_better=True) == (
        ("a", 2, 0, 1),
        ("c", 1, 2, 0),
    )


def test_wins_of_an_unknown_method_are_refused():
    alone = Scores(["p"], ["a"], [[1]])
    assert count_wins(alone, "a", higher_is_better=True) == ()
    with pytest.raises(ValueError, match="'z', but expected one of a"):
        count_wins(alone, "z", higher_is_better=True)
