import numpy as np
import pandas as pd
import pytest

from lacunet.profile._patterns import (
    MAP_SHAPE,
    find_patterns,
    find_same_rows,
    map_missing,
    pair_columns,
)


def mask(*rows):
    return np.array([[cell == "x" for cell in row] for row in rows])


def table_of(missing):
    return pd.DataFrame(
        np.where(missing, np.nan, 1.0), columns=[*"abcd"][: missing.shape[1]]
    )


@pytest.fixture
def missing():
    """Return six rows of four columns; the last two are missing together."""
    return mask("....", "x...", "..xx", "x...", "x.xx", "....")


def test_patterns_are_counted_the_most_frequent_first(missing):
    patterns, counts, of_row = find_patterns(missing)
    assert counts.tolist() == [2, 2, 1, 1]
    np.testing.assert_array_equal(patterns, mask("....", "x...", "..xx", "x.xx"))
    assert of_row.tolist() == [0, 1, 2, 1, 3, 0]


@pytest.mark.parametrize("seed", range(3))
def test_rows_have_the_pattern_that_is_assigned_to_them(seed):
    missing = np.random.RandomState(seed).rand(200, 6) < 0.4
    patterns, counts, of_row = find_patterns(missing)
    np.testing.assert_array_equal(patterns[of_row], missing)
    expected = np.unique(missing, axis=0, return_counts=True)[1]
    assert sorted(counts) == sorted(expected)


def test_columns_that_are_missing_in_the_same_rows_are_grouped(missing):
    assert find_same_rows(table_of(missing)) == [("a",), ("c", "d")]
    assert find_same_rows(table_of(mask(".xx", ".x.", ".x."))) == [("c",)]


def test_pairs_have_counts_and_a_correlation(missing):
    ((pair,), _) = pair_columns(table_of(missing)[["a", "c"]])
    assert (pair.first, pair.second) == ("a", "c")
    assert (pair.both, pair.only_first, pair.only_second) == (1, 2, 1)
    assert pair.phi == pytest.approx(np.corrcoef(missing[:, 0], missing[:, 2])[0, 1])


def test_one_only_if_the_other_is_reported_unless_it_may_be_chance():
    other = np.arange(100) < 50
    within = other & (np.arange(100) % 2 == 0)  # 25 of 25 by a half: no chance
    few = other & (np.arange(100) < 2)  # 2 of 2 by a half: one in four
    _, only_if = pair_columns(table_of(np.column_stack([other, within, few])))
    assert only_if == (("b", "a"),)


def test_of_many_columns_those_with_the_most_missing_values_are_paired(monkeypatch):
    monkeypatch.setattr("lacunet.profile._patterns.MAX_PAIRED_COLUMNS", 2)
    ((pair,), _) = pair_columns(table_of(mask("x.x", "..x", "xx.")))
    assert (pair.first, pair.second) == ("a", "c")


def test_tables_without_rows_or_columns_are_supported():
    for shape in ((0, 3), (3, 0), (0, 0)):
        missing = np.zeros(shape, dtype=bool)
        assert find_same_rows(table_of(missing)) == []
        assert pair_columns(table_of(missing)[[]]) == ((), ())
        assert len(find_patterns(missing)[1]) == min(shape[0], 1)


# --- map


def test_a_small_table_is_shown_cell_by_cell():
    missing = np.array([[True, False], [False, False], [True, True]])
    assert map_missing(missing) == ((1, 0), (0, 0), (1, 1))


def test_a_large_table_is_shown_in_blocks_that_keep_the_fraction():
    missing = np.random.RandomState(0).rand(1000, 300) < 0.3
    fractions = np.array(map_missing(missing))
    assert fractions.shape == MAP_SHAPE
    np.testing.assert_allclose(fractions[0, 0], missing[:5, :3].mean(), atol=1e-3)
    np.testing.assert_allclose(fractions[-1, -1], missing[-5:, -3:].mean(), atol=1e-3)
    np.testing.assert_allclose(fractions.mean(), missing.mean(), atol=1e-3)


def test_sizes_that_do_not_divide_lose_no_row_and_no_column():
    assert np.array(map_missing(np.ones((457, 101), dtype=bool))).min() == 1


def test_empty_tables_have_empty_maps():
    assert map_missing(np.zeros((0, 2), dtype=bool)) == ()
    assert map_missing(np.zeros((2, 0), dtype=bool)) == ((), ())
