import numpy as np
import pytest

from lacunet.profile._patterns import (
    MAP_SHAPE,
    MAX_PATTERNS,
    count_patterns,
    count_rows,
    find_patterns,
    find_together,
    map_missing,
)


def mask(*rows):
    return np.array([[cell == "x" for cell in row] for row in rows])


@pytest.fixture
def missing():
    """Return six rows of four columns; the last two are missing together."""
    return mask("....", "x...", "..xx", "x...", "x.xx", "....")


def test_patterns_are_counted_the_most_frequent_first(missing):
    patterns = find_patterns(missing)
    assert patterns.counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(
        patterns.missing, mask("....", "x...", "..xx", "x.xx")
    )
    assert patterns.of_row.tolist() == [0, 1, 2, 1, 3, 0]


@pytest.mark.parametrize("seed", range(3))
def test_rows_have_the_pattern_that_is_assigned_to_them(seed):
    missing = np.random.RandomState(seed).rand(200, 6) < 0.4
    patterns = find_patterns(missing)
    np.testing.assert_array_equal(patterns.missing[patterns.of_row], missing)
    unique, counts = np.unique(missing, axis=0, return_counts=True)
    assert len(unique) == len(patterns.counts)
    assert sorted(counts) == sorted(patterns.counts)


def test_rare_patterns_are_summed_up():
    missing = np.eye(MAX_PATTERNS + 5, dtype=bool)
    counts = count_patterns(find_patterns(missing), [f"c{j}" for j in range(25)])
    assert counts.n_patterns == 25
    assert len(counts.frequent) == MAX_PATTERNS
    assert counts.n_other_rows == 5
    assert counts.n_alone == 25
    assert counts.frequent[0].missing == ("c0",)
    assert counts.frequent[0].fraction == 1 / 25


def test_rows_are_counted_by_their_missing_cells(missing):
    rows = count_rows(missing)
    assert rows.histogram == ((0, 2), (1, 2), (2, 1), (3, 1))
    assert (rows.n_complete, rows.n_empty) == (2, 0)
    assert count_rows(mask("xx", ".x")).n_empty == 1


def test_pairs_have_counts_and_a_correlation(missing):
    together = find_together(missing, list("abcd"))
    assert together.always == (("c", "d"),)
    (pair,) = together.pairs  # c stands for d
    assert (pair.first, pair.second) == ("a", "c")
    assert (pair.both, pair.only_first, pair.only_second) == (1, 2, 1)
    assert pair.phi == pytest.approx(np.corrcoef(missing[:, 0], missing[:, 2])[0, 1])
    assert (together.n_columns, together.n_incomplete) == (2, 3)


def test_one_only_if_the_other_is_reported_unless_it_may_be_chance():
    other = np.arange(100) < 50
    within = other & (np.arange(100) % 2 == 0)  # 25 of 25 by a half: no chance
    few = other & (np.arange(100) < 2)  # 2 of 2 by a half: one in four
    together = find_together(np.column_stack([other, within, few]), list("abc"))
    assert together.only_if == (("b", "a"), )  # fmt: skip


def test_columns_that_are_never_or_always_missing_have_no_pairs():
    together = find_together(mask(".xx", ".x.", ".x."), list("abc"))
    assert together.pairs == together.always == together.only_if == ()
    assert together.n_incomplete == 1


def test_of_many_columns_those_with_the_most_missing_values_are_paired(monkeypatch):
    monkeypatch.setattr("lacunet.profile._patterns.MAX_PAIRED_COLUMNS", 2)
    together = find_together(mask("x.x", "..x", "xx."), list("abc"))
    assert together.n_columns == 2
    assert {together.pairs[0].first, together.pairs[0].second} == {"a", "c"}


def test_tables_without_rows_or_columns_are_supported():
    for shape in ((0, 3), (3, 0), (0, 0)):
        missing = np.zeros(shape, dtype=bool)
        names = list("abc")[: shape[1]]
        assert find_together(missing, names).pairs == ()
        assert count_rows(missing).n_complete == shape[0]
        n_patterns = count_patterns(find_patterns(missing), names).n_patterns
        assert n_patterns == min(shape[0], 1)


# --- map


def test_a_small_table_is_shown_cell_by_cell():
    missing = np.array([[True, False], [False, False], [True, True]])
    found = map_missing(missing, ["a", "b"])
    assert found.fractions == ((1, 0), (0, 0), (1, 1))
    assert found.row_starts == (0, 1, 2)
    assert found.columns == (("a",), ("b",))


def test_a_large_table_is_shown_in_blocks_that_keep_the_fraction():
    missing = np.random.RandomState(0).rand(1000, 300) < 0.3
    found = map_missing(missing, [f"c{j}" for j in range(300)])
    fractions = np.array(found.fractions)
    assert fractions.shape == MAP_SHAPE
    np.testing.assert_allclose(fractions[0, 0], missing[:5, :3].mean(), atol=1e-3)
    np.testing.assert_allclose(fractions[-1, -1], missing[-5:, -3:].mean(), atol=1e-3)
    np.testing.assert_allclose(fractions.mean(), missing.mean(), atol=1e-3)
    assert found.columns[1] == ("c3", "c4", "c5")


def test_sizes_that_do_not_divide_lose_no_row_and_no_column():
    missing = np.ones((457, 101), dtype=bool)
    found = map_missing(missing, [str(j) for j in range(101)])
    assert np.array(found.fractions).min() == 1
    assert sum(map(len, found.columns)) == 101
    assert found.row_starts[0] == 0


def test_sorted_rows_begin_with_the_complete_ones_and_stand_by_pattern():
    missing = np.array([[1, 1], [0, 1], [0, 0], [1, 0], [0, 1]], dtype=bool)
    found = map_missing(missing, ["a", "b"], find_patterns(missing))
    assert found.fractions == ((0, 0), (0, 1), (0, 1), (1, 0), (1, 1))


def test_empty_tables_have_empty_maps():
    assert map_missing(np.zeros((0, 2), dtype=bool), ["a", "b"]).fractions == ()
    assert map_missing(np.zeros((2, 0), dtype=bool), []).fractions == ((), ())
