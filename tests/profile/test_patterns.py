import numpy as np
import pytest

from lacunet.profile._patterns import (
    MOST_PATTERNS,
    count_patterns,
    count_rows,
    find_patterns,
    find_together,
)


def mask(*rows):
    return np.array([[cell == "x" for cell in row] for row in rows])


@pytest.fixture
def holes():
    """Return six rows of four columns; the last two are missing together."""
    return mask("....", "x...", "..xx", "x...", "x.xx", "....")


def test_patterns_are_counted_the_most_frequent_first(holes):
    patterns = find_patterns(holes)
    assert patterns.counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(
        patterns.missing, mask("....", "x...", "..xx", "x.xx")
    )
    assert patterns.of_row.tolist() == [0, 1, 2, 1, 3, 0]


@pytest.mark.parametrize("seed", range(3))
def test_rows_have_the_pattern_that_they_are_said_to_have(seed):
    missing = np.random.RandomState(seed).rand(200, 6) < 0.4
    patterns = find_patterns(missing)
    np.testing.assert_array_equal(patterns.missing[patterns.of_row], missing)
    unique, counts = np.unique(missing, axis=0, return_counts=True)
    assert len(unique) == len(patterns.counts)
    assert sorted(counts) == sorted(patterns.counts)


def test_rare_patterns_are_summed_up():
    missing = np.eye(MOST_PATTERNS + 5, dtype=bool)
    counts = count_patterns(find_patterns(missing), [f"c{j}" for j in range(25)])
    assert counts.n_patterns == 25
    assert len(counts.frequent) == MOST_PATTERNS
    assert counts.n_other_rows == 5
    assert counts.n_alone == 25
    assert counts.frequent[0].missing == ("c0",)
    assert counts.frequent[0].share == 1 / 25


def test_rows_are_counted_by_their_holes(holes):
    rows = count_rows(holes)
    assert rows.histogram == ((0, 2), (1, 2), (2, 1), (3, 1))
    assert (rows.n_complete, rows.n_empty) == (2, 0)
    assert count_rows(mask("xx", ".x")).n_empty == 1


def test_pairs_have_counts_and_a_correlation(holes):
    together = find_together(holes, list("abcd"))
    assert together.always == (("c", "d"),)
    (pair,) = together.pairs  # d is spoken for by c
    assert (pair.first, pair.second) == ("a", "c")
    assert (pair.both, pair.only_first, pair.only_second) == (1, 2, 1)
    assert pair.phi == pytest.approx(np.corrcoef(holes[:, 0], holes[:, 2])[0, 1])
    assert (together.n_columns, together.n_with_holes) == (2, 3)


def test_one_only_if_the_other_is_told_unless_it_may_be_chance():
    other = np.arange(100) < 50
    within = other & (np.arange(100) % 2 == 0)  # 25 of 25 by a half: no chance
    few = other & (np.arange(100) < 2)  # 2 of 2 by a half: one in four
    together = find_together(np.column_stack([other, within, few]), list("abc"))
    assert together.only_if == (("b", "a"), )  # fmt: skip


def test_columns_that_are_never_or_always_missing_have_no_pairs():
    together = find_together(mask(".xx", ".x.", ".x."), list("abc"))
    assert together.pairs == together.always == together.only_if == ()
    assert together.n_with_holes == 1


def test_of_many_columns_those_with_the_most_holes_are_paired(monkeypatch):
    monkeypatch.setattr("lacunet.profile._patterns.MOST_COLUMNS", 2)
    together = find_together(mask("x.x", "..x", "xx."), list("abc"))
    assert together.n_columns == 2
    assert {together.pairs[0].first, together.pairs[0].second} == {"a", "c"}


def test_tables_without_rows_or_columns_are_no_hindrance():
    for shape in ((0, 3), (3, 0), (0, 0)):
        missing = np.zeros(shape, dtype=bool)
        names = list("abc")[: shape[1]]
        assert find_together(missing, names).pairs == ()
        assert count_rows(missing).n_complete == shape[0]
        n_patterns = count_patterns(find_patterns(missing), names).n_patterns
        assert n_patterns == min(shape[0], 1)
