"""Where numbers are cut into bins."""

import numpy as np
import pytest

from lacunet.estimators import _views
from lacunet.estimators._recipe import RECIPE
from lacunet.estimators._views import Histogram, find_grid

NAN = np.nan


def find_bins(x, targets):
    histograms = [
        Histogram.of_column(column, targets, find_grid(column[~np.isnan(column)]))
        for column in x.T
    ]
    return _views.find_bins(histograms)


def skewed(n=2000, n_columns=1):
    return np.random.RandomState(0).lognormal(size=(n, n_columns)).round(4)


def nothing(numbers):
    """Return a target that depends on nothing."""
    return np.zeros((len(numbers), 1))


@pytest.mark.parametrize("threshold", [0.2, 1.0, 4.0])
def test_there_is_an_edge_where_the_target_jumps(threshold):
    x = skewed()
    (bins,) = find_bins(x, (x > threshold).astype(float))
    rank = np.searchsorted(np.sort(x[:, 0]), bins.edges)
    nearest = np.abs(rank - (x <= threshold).sum()).min()
    assert nearest <= len(x) / RECIPE.histogram  # in rows
    assert len(bins.edges) > len(find_bins(x, nothing(x))[0].edges)


def test_any_of_several_outputs_may_jump():
    x = np.random.RandomState(0).rand(4000, 1)
    targets = np.hstack([x > 0.31, x > 0.77, nothing(x)])
    (bins,) = find_bins(x, targets)
    for threshold in (0.31, 0.77):
        assert np.abs(bins.edges - threshold).min() < 1 / RECIPE.histogram


def test_without_a_target_bins_have_equal_weights():
    x = skewed()
    (bins,) = find_bins(x, nothing(x))
    assert len(bins.edges) == RECIPE.quantiles - 1
    counts = np.bincount(np.searchsorted(bins.edges, x[:, 0]))
    even = len(x) / RECIPE.quantiles
    np.testing.assert_allclose(counts, even, atol=2 * len(x) / RECIPE.histogram)


def test_few_values_have_a_bin_each():
    x = np.array([[1.0], [2.0], [NAN], [2.0], [5.0]])
    (bins,) = find_bins(x, nothing(x))
    assert bins.edges.tolist() == [1.5, 3.5]
    assert bins.centres.tolist() == [1.0, 2.0, 5.0]
    x = np.random.RandomState(0).randint(RECIPE.few_values, size=(1000, 1)) / 4
    (bins,) = find_bins(x, (x > 3).astype(float))
    np.testing.assert_array_equal(bins.centres, np.unique(x))


@pytest.mark.parametrize(
    ("column", "centre"), [([NAN, NAN], 0.0), ([3.0, 3.0], 3.0), ([3.0, NAN], 3.0)]
)
def test_a_number_of_one_value_or_none_has_one_bin(column, centre):
    x = np.array(column)[:, None]
    (bins,) = find_bins(x, nothing(x))
    assert bins.edges.tolist() == []
    assert bins.centres.tolist() == [centre]


def test_centres_are_the_means_of_what_is_in_a_bin_however_often():
    x = skewed()
    x = np.concatenate([x, np.repeat(x[:20], 30, axis=0), np.full((50, 1), NAN)])
    (bins,) = find_bins(x, np.nan_to_num(x))
    values = x[~np.isnan(x)]
    place = np.searchsorted(bins.edges, values)
    means = [values[place == bin_].mean() for bin_ in range(len(bins.centres))]
    np.testing.assert_allclose(bins.centres, means)


def test_repeated_rows_weigh_as_much_as_they_are_often():
    """The quantiles are those of rows, not of distinct values."""
    x = np.concatenate([np.linspace(0, 1, 100), np.repeat(np.linspace(1, 2, 100), 9)])
    (bins,) = find_bins(x[:, None], np.zeros((len(x), 1)))
    assert (bins.edges > 1).sum() > 5 * (bins.edges < 1).sum()


@pytest.mark.parametrize("decimals", [0, 1, 3])
def test_no_edge_is_a_value_and_edges_increase(decimals):
    x = (10 * skewed(n_columns=3)).round(decimals)
    x[::7] = NAN
    for column, bins in zip(x.T, find_bins(x, np.nan_to_num(x)), strict=True):
        assert not np.isin(bins.edges, column).any()
        assert (np.diff(bins.edges) > 0).all()
        assert len(bins.centres) == len(bins.edges) + 1
        assert (np.diff(bins.centres) > 0).all()


def test_missing_values_and_the_order_of_rows_do_not_matter():
    x = skewed()
    y = (x > 1.0).astype(float)
    (expected,) = find_bins(x, y)
    longer = np.concatenate([np.full((500, 1), NAN), x])
    order = np.random.RandomState(1).permutation(len(longer))
    (found,) = find_bins(longer[order], np.concatenate([np.ones((500, 1)), y])[order])
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_allclose(found.centres, expected.centres)


def test_bins_of_few_rows_are_not_cut_by_the_target():
    x = np.linspace(0, 1, 100)[:, None]
    jump = (x > 1 - 0.5 * RECIPE.leaf_rows / 100).astype(float)
    (bins,) = find_bins(x, jump)
    leaf = np.bincount(np.searchsorted(bins.edges, x[:, 0]))[-1]
    assert leaf >= 100 // RECIPE.quantiles


def test_wide_tables_have_fewer_bins_a_column():
    narrow, wide = skewed(500, 2), skewed(500, 100)
    of_narrow, of_wide = (
        max(len(bins.centres) for bins in find_bins(x, x[:, :1]))
        for x in (narrow, wide)
    )
    assert of_wide < of_narrow <= RECIPE.bins_of_column
    assert of_wide * 100 <= 1.5 * RECIPE.most_bins
