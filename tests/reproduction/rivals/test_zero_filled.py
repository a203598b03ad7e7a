"""Rows with zeros for holes, the scale of their columns, and copies of them."""

import numpy as np
import pytest
from reproduction.rivals._zero_filled import ColumnScale, ZeroFilled, merge_copies

NAN = np.nan


def test_columns_are_standardised_over_their_observed_cells():
    X = np.array([[1.0, NAN], [3.0, 5.0], [NAN, 7.0]])
    rows = ColumnScale.of(X, np.ones(3)).fill(X)
    np.testing.assert_allclose(rows.values, [[-1, 0], [1, -1], [0, 1]])
    np.testing.assert_array_equal(rows.observed, [[1, 0], [1, 1], [0, 1]])


def test_weights_count_as_rows_in_the_scale():
    X = np.array([[1.0, NAN], [3.0, 5.0], [NAN, 7.0]])
    weighted = ColumnScale.of(X, np.array([2.0, 1.0, 3.0]))
    repeated = ColumnScale.of(X[[0, 0, 1, 2, 2, 2]], np.ones(6))
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other)


def test_a_column_with_nothing_observed_is_left_out_for_good():
    scale = ColumnScale.of(np.array([[1.0, NAN], [3.0, NAN]]), np.ones(2))
    rows = scale.fill(np.array([[2.0, 100.0]]))
    np.testing.assert_array_equal(rows.values, [[0.0]])


def test_a_constant_column_is_zero():
    X = np.array([[1.0, 4.0], [3.0, 4.0], [5.0, NAN]])
    rows = ColumnScale.of(X, np.ones(3)).fill(X)
    np.testing.assert_array_equal(rows.values[:, 1], 0.0)
    np.testing.assert_array_equal(rows.observed[:, 1], [True, True, False])


def test_values_far_out_are_brought_in():
    scale = ColumnScale.of(np.array([[0.0], [1e-300], [1.0]]), np.ones(3))
    filled = scale.fill(np.array([[1e308], [-1e308]])).values
    np.testing.assert_array_equal(filled, [[1e6], [-1e6]])


def test_nothing_observed_at_all_is_refused():
    with pytest.raises(ValueError, match="without a single observed value"):
        ColumnScale.of(np.full((3, 2), NAN), np.ones(3))


def test_values_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match=r"values up to 1e\+308"):
        ColumnScale.of(np.array([[1e308], [-1e308], [1e308]]), np.ones(3))


def test_copies_are_merged_with_the_sum_of_their_weights():
    X = np.array([[NAN, 1.0], [0.0, 1.0], [NAN, 1.0], [NAN, 1.0]])
    index, weights = merge_copies(X, np.array([0, 0, 0, 1]), np.array([1, 2, 4, 8.0]))
    # A zero is no hole, and a copy in another class is no copy.
    found = {int(i): float(w) for i, w in zip(index, weights, strict=True)}
    assert found == {0: 5.0, 1: 2.0, 3: 8.0}


def test_distinct_rows_come_in_an_order_of_their_own():
    rng = np.random.RandomState(0)
    X = rng.randint(3, size=(40, 3)).astype(float)
    X[rng.rand(40, 3) < 0.3] = NAN
    codes, order = rng.randint(2, size=40), rng.permutation(40)
    index, weights = merge_copies(X, codes, np.ones(40))
    mixed, mixed_weights = merge_copies(X[order], codes[order], np.ones(40))
    np.testing.assert_array_equal(X[index], X[order][mixed])
    np.testing.assert_array_equal(weights, mixed_weights)
    assert len(index) < 40


def test_rows_are_taken_with_what_is_observed_of_them():
    rows = ZeroFilled.of(np.array([[1.0, NAN], [2.0, 3.0]])).take([1])
    np.testing.assert_array_equal(rows.values, [[2.0, 3.0]])
    assert rows.observed.all()
