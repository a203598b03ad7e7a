"""Weights as rows, canonical order, folds, and what is hidden in training."""

import numpy as np
import pytest
import torch

from lacunet.estimators._sampling import (
    canonical_order,
    deal_folds,
    find_copies,
    hide,
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


def test_the_order_is_not_correlated_with_the_content():
    """Else validation rows would not be like the others."""
    x = np.arange(2000.0)[:, None]
    ranks = np.argsort(canonical_order(x))
    assert abs(np.corrcoef(ranks, x[:, 0])[0, 1]) < 0.1


def test_minus_zero_is_zero():
    x = np.array([[0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(canonical_order(x), canonical_order(x * 1.0 - 0.0))
    minus = np.array([[-0.0], [1.0], [2.0]])
    np.testing.assert_array_equal(canonical_order(x), canonical_order(minus))


@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_are_as_even_as_possible_in_all_and_in_each_class(n_folds):
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


# --- hidden cells


SOURCES = torch.tensor([1, 0, 0, 0, 2, 2, -1, -1])


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def hidden_cells(n_rows, seed=0, *, rate=0.5, sources=SOURCES, **options):
    x = torch.zeros(n_rows, len(sources))
    return torch.isnan(hide(x, source(seed), rate=rate, sources=sources, **options))


def test_a_fraction_of_the_cells_is_hidden_at_another_rate_in_each_row():
    hidden = hidden_cells(20_000, rate=0.2, sources=torch.arange(4))
    assert float(hidden.float().mean()) == pytest.approx(0.2, abs=0.01)
    independent = 4 * 0.2 * 0.8
    assert hidden.sum(1).float().var() > 1.1 * independent


def test_observed_cells_that_are_not_hidden_stay():
    x = torch.from_numpy(np.random.RandomState(0).randn(60, 8))
    x[::5, 2] = torch.nan
    out = hide(x, source(), rate=0.5, sources=SOURCES)
    kept = ~torch.isnan(out)
    assert torch.equal(out[kept], x[kept])
    assert kept.any()
    assert not kept[torch.isnan(x)].any()
    assert hide(x, source(), rate=0.0, sources=SOURCES) is x


def test_a_category_is_hidden_whole_and_an_indicator_never():
    hidden = hidden_cells(2000)
    for group in (hidden[:, 1:4], hidden[:, 4:6]):
        assert (group.all(1) == group.any(1)).all()
        assert 0.4 < float(group[:, 0].float().mean()) < 0.6
    assert not hidden[:, 6:].any()
    assert (hidden[:, 0] != hidden[:, 1]).any()


@pytest.mark.parametrize("image_shape", [None, (4, 2)])
def test_what_is_hidden_comes_from_the_generator(image_shape):
    one, two, other = (
        hidden_cells(50, seed, image_shape=image_shape) for seed in (0, 0, 1)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_a_patch_of_every_image_is_hidden_anywhere():
    sources = torch.arange(12 * 8)
    hidden = hidden_cells(4000, rate=0.25, sources=sources, image_shape=(12, 8))
    hidden = hidden.view(-1, 12, 8)
    rows, columns = hidden.any(2), hidden.any(1)
    assert (rows.sum(1) == 6).all()
    assert (columns.sum(1) == 4).all()
    assert (hidden == rows[:, :, None] & columns[:, None, :]).all()  # one rectangle
    starts = rows.int().argmax(1).bincount(minlength=7)
    assert len(starts) == 7  # the first row from 0 to 6
    assert (starts - 4000 / 7).abs().max() < 100


@pytest.mark.parametrize(("rate", "n_pixels"), [(1e-4, 1), (0.5, 4)])
def test_a_patch_has_a_pixel_at_least_and_fits(rate, n_pixels):
    hidden = hidden_cells(50, rate=rate, sources=torch.arange(9), image_shape=(3, 3))
    assert (hidden.sum(1) == n_pixels).all()


def test_cells_may_be_hidden_in_a_fraction_of_the_rows():
    hidden = hidden_cells(
        4000, sources=torch.arange(9), image_shape=(3, 3), fraction=0.25
    )
    assert (
        abs(float(hidden.any(1).double().mean()) - 0.25)
        < 4 * (0.25 * 0.75 / 4000) ** 0.5
    )
