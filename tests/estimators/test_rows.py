"""Weights as rows, an order that depends on the rows alone, and folds."""

import numpy as np
import pytest

from lacunet.estimators import _rows
from lacunet.estimators._rows import (
    canonical_order,
    deal_folds,
    find_copies,
    repeat_rows,
)


def test_whole_weights_are_counts():
    index, weights = repeat_rows(np.array([2.0, 0.0, 1.0, 3.0]))
    assert index.tolist() == [0, 0, 2, 3, 3, 3]
    assert weights.tolist() == [1.0] * 6


def test_other_weights_stay_with_their_rows_at_a_mean_of_one():
    index, weights = repeat_rows(np.array([0.5, 0.0, 1.0, 1.5]))
    assert index.tolist() == [0, 2, 3]
    assert weights.tolist() == [0.5, 1.0, 1.5]


def test_large_counts_do_not_blow_up_the_table():
    index, weights = repeat_rows(np.array([1.0, 10_000.0]))
    assert index.tolist() == [0, 1]
    assert weights[1] / weights[0] == 10_000


def test_weights_of_one_change_nothing():
    index, weights = repeat_rows(np.ones(5))
    assert index.tolist() == [0, 1, 2, 3, 4]
    assert weights.tolist() == [1.0] * 5


def make_rows(n=200):
    rng = np.random.RandomState(0)
    x = rng.randint(-2, 3, size=(n, 3)).astype(float)
    x[rng.rand(n, 3) < 0.2] = np.nan
    return x, rng.randint(3, size=n)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_in_any_order_come_to_the_same_order(seed):
    x, y = make_rows()
    shuffled = np.random.RandomState(seed).permutation(len(x))
    order, other = canonical_order(x, y), canonical_order(x[shuffled], y[shuffled])
    np.testing.assert_array_equal(x[order], x[shuffled][other])
    np.testing.assert_array_equal(y[order], y[shuffled][other])


def test_the_order_has_each_row_once():
    assert sorted(canonical_order(*make_rows())) == list(range(200))


def test_the_order_says_nothing_of_what_is_in_the_rows():
    """Else rows held back would not be like the others."""
    x = np.arange(2000.0)[:, None]
    ranks = np.argsort(canonical_order(x))
    assert abs(np.corrcoef(ranks, x[:, 0])[0, 1]) < 0.1


def test_minus_zero_is_zero():
    x = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(canonical_order(x), canonical_order(x * 1.0 - 0.0))
    minus = np.array([[-0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(canonical_order(x), canonical_order(minus))


@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_are_as_even_as_it_goes_in_all_and_in_each_class(n_folds):
    _, strata = make_rows(203)
    folds = deal_folds(np.arange(203), strata, n_folds, seed=0)
    counts = np.bincount(folds, minlength=n_folds)
    assert counts.max() - counts.min() <= 1
    for stratum in range(3):
        within = np.bincount(folds[strata == stratum], minlength=n_folds)
        assert within.max() - within.min() <= 1


def test_folds_come_from_the_seed():
    one, two, other = (deal_folds(np.arange(50), None, 5, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_copies_go_to_one_fold():
    rows = np.random.RandomState(0).randn(40, 3)
    copies = find_copies(np.concatenate([rows, rows]), np.zeros(80))
    folds = deal_folds(copies, None, 5, seed=0)
    np.testing.assert_array_equal(folds[:40], folds[40:])
    assert set(folds) == set(range(5))


def test_rows_of_a_table_of_few_categories_are_no_copies():
    assert find_copies(np.arange(60.0)[:, None] % 2).tolist() == list(range(60))


def test_missing_is_missing_whatever_its_sign():
    rows = np.random.RandomState(0).randn(9, 2)
    rows[::2, 0] = np.nan
    other = rows.copy()
    other[::2, 0] = -np.nan
    np.testing.assert_array_equal(canonical_order(rows), canonical_order(other))


def test_rows_are_hashed_alike_in_blocks_of_any_size(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(100, 3), rng.randint(3, size=100)
    X[::7] = np.nan
    whole = canonical_order(X, y)
    monkeypatch.setattr(_rows, "_ROWS_TO_HASH", 9)
    np.testing.assert_array_equal(canonical_order(X, y), whole)
