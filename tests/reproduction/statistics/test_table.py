import itertools
import math

import numpy as np
import pytest
from reproduction.statistics import mean_table


@pytest.fixture
def cells_of(make_cell):
    """Make the cells of a method: a row of values a seed, a column a fold."""

    def cells(values, **changes):
        return [
            make_cell(seed=seed, fold=fold, value=value, **changes)
            for seed, row in enumerate(values)
            for fold, value in enumerate(row)
        ]

    return cells


def test_folds_are_averaged_within_seeds_and_then_seeds(cells_of):
    # Not the mean of all three, 3: a seed with fewer folds counts as much.
    table = mean_table(cells_of([[1, 3], [5]]), "accuracy")
    assert table.mean.tolist() == [[3.5]]
    assert table.count.tolist() == [[3]]


def test_standard_error_is_that_of_one_cross_validation(cells_of):
    # Variances over folds are 1 and 4, over three folds each.
    table = mean_table(cells_of([[1, 2, 3], [0, 2, 4]]), "accuracy")
    assert table.stderr[0, 0] == pytest.approx(math.sqrt((1 / 3 + 4 / 3) / 2))


def test_more_seeds_do_not_make_the_standard_error_smaller(cells_of):
    once, often = ([[1, 2, 4]] * n for n in (1, 10))
    tables = [mean_table(cells_of(values), "accuracy") for values in (once, often)]
    np.testing.assert_allclose(tables[0].stderr, tables[1].stderr)


def test_one_split_has_no_standard_error(cells_of):
    table = mean_table(cells_of([[1]]), "accuracy")
    assert np.isnan(table.stderr).all()
    assert table.mean.tolist() == [[1.0]]


def test_seeds_of_one_split_each_are_like_folds(cells_of):
    table = mean_table(cells_of([[1], [2], [3]]), "accuracy")
    assert table.stderr[0, 0] == pytest.approx(math.sqrt(1 / 3))


def test_rows_are_data_sets_and_rates_and_columns_methods(cells_of):
    cells = [
        *cells_of([[1]], dataset="b", method="z"),
        *cells_of([[2]], dataset="a", rate=0.5, method="z"),
        *cells_of([[3]], dataset="a", rate=0.25, method="y"),
        *cells_of([[4]], dataset="a", method="y"),
    ]
    table = mean_table(cells, "accuracy")
    assert table.rows == (("a", None), ("a", 0.25), ("a", 0.5), ("b", None))
    assert table.methods == ("y", "z")
    nan = np.nan
    expected = [[4, nan], [3, nan], [nan, 2], [nan, 1]]
    np.testing.assert_array_equal(table.mean, expected)
    np.testing.assert_array_equal(table.count, ~np.isnan(expected))


def test_other_metrics_do_not_take_part(cells_of):
    cells = cells_of([[1]]) + cells_of([[9]], metric="mse", protocol="quick")
    assert mean_table(cells, "accuracy").mean.tolist() == [[1]]
    assert mean_table(cells, "mse").protocol == "quick"


def test_a_cell_that_could_not_be_computed_leaves_its_entry_incomplete(cells_of):
    failed = cells_of([[None, None]], method="ce", params={"why": "no rows"})
    half = cells_of([[0.5, None]], method="half", params={"why": "no rows"})
    table = mean_table([*failed, *half, *cells_of([[1, 2]])], "accuracy")
    assert table.methods == ("ce", "half", "paper")
    np.testing.assert_array_equal(table.mean, [[np.nan, 0.5, 1.5]])
    assert table.count.tolist() == [[0, 1, 2]]
    assert table.n_splits.tolist() == [2]
    assert table.complete.tolist() == [[False, False, True]]


def test_the_order_of_the_cells_does_not_matter(cells_of):
    cells = cells_of([[0.1, 0.2], [0.3, 0.7]])
    means = {
        mean_table(shuffled, "accuracy").mean[0, 0]
        for shuffled in itertools.permutations(cells)
    }
    assert means == {0.325}


def test_of_one_key_the_last_cell_is_taken(make_cell):
    table = mean_table([make_cell(value=1), make_cell(value=2)], "accuracy")
    assert (table.mean[0, 0], table.count[0, 0]) == (2, 1)


@pytest.mark.parametrize("name", ["experiment", "protocol"])
def test_experiments_and_protocols_are_never_mixed(make_cell, name):
    with pytest.raises(ValueError, match=f"different {name}: 'one', 'two'"):
        mean_table([make_cell(**{name: "one"}), make_cell(**{name: "two"})], "accuracy")


def test_an_unknown_metric_is_refused_with_the_known_ones(make_cell):
    cells = [make_cell(metric="mse"), make_cell()]
    with pytest.raises(ValueError, match="metric='f1', but .*: accuracy, mse"):
        mean_table(cells, "f1")
    with pytest.raises(ValueError, match="no cells"):
        mean_table([], "accuracy")
