import numpy as np

from lacunet.profile._hole_map import (
    MOST_COLUMNS,
    MOST_ROWS,
    map_holes,
    order_by_pattern,
)
from lacunet.profile._patterns import find_patterns


def test_a_small_table_is_shown_cell_by_cell():
    missing = np.array([[True, False], [False, False], [True, True]])
    holes = map_holes(missing, ["a", "b"])
    assert holes.shares == ((1, 0), (0, 0), (1, 1))
    assert holes.row_starts == (0, 1, 2)
    assert holes.columns == (("a",), ("b",))


def test_a_large_table_is_shown_in_blocks_that_keep_the_share():
    missing = np.random.RandomState(0).rand(1000, 300) < 0.3
    holes = map_holes(missing, [f"c{j}" for j in range(300)])
    shares = np.array(holes.shares)
    assert shares.shape == (MOST_ROWS, MOST_COLUMNS)
    np.testing.assert_allclose(shares[0, 0], missing[:5, :3].mean(), atol=1e-3)
    np.testing.assert_allclose(shares[-1, -1], missing[-5:, -3:].mean(), atol=1e-3)
    np.testing.assert_allclose(shares.mean(), missing.mean(), atol=1e-3)
    assert holes.columns[1] == ("c3", "c4", "c5")


def test_sizes_that_do_not_divide_lose_no_row_and_no_column():
    missing = np.ones((457, 101), dtype=bool)
    holes = map_holes(missing, [str(j) for j in range(101)])
    assert np.array(holes.shares).min() == 1
    assert sum(map(len, holes.columns)) == 101
    assert holes.row_starts[0] == 0


def test_sorted_rows_begin_with_the_complete_ones_and_stand_by_pattern():
    missing = np.array([[1, 1], [0, 1], [0, 0], [1, 0], [0, 1]], dtype=bool)
    order = order_by_pattern(find_patterns(missing))
    assert order.tolist() == [2, 1, 4, 3, 0]
    assert map_holes(missing, ["a", "b"], order).shares[0] == (0, 0)


def test_empty_tables_have_empty_maps():
    assert map_holes(np.zeros((0, 2), dtype=bool), ["a", "b"]).shares == ()
    assert map_holes(np.zeros((2, 0), dtype=bool), []).shares == ((), ())
