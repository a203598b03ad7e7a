from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from reproduction.statistics import (
    compare_methods,
    find_cliques,
    friedman_p,
    mean_ranks,
    mean_scores,
    smallest_p,
    wilcoxon_p,
)
from scipy import stats


def test_folds_are_averaged_before_seeds_and_splits_are_counted():
    values = {("a", 0, 0): 1, ("a", 1, 0): 3, ("a", 0, 1): 6, ("b", 0, 0): 5}
    cells = pd.DataFrame(
        [(*key, value) for key, value in values.items()],
        columns=["method", "fold", "seed", "value"],
    ).assign(dataset="pima", rate=0.5)
    found = mean_scores(cells).loc["pima", 0.5]
    assert found["mean"].to_dict() == {"a": 4, "b": 5}
    assert found["stderr"]["a"] == 1  # of the folds of the first seed
    assert np.isnan(found["stderr"]["b"])
    assert found["complete"].to_dict() == {"a": True, "b": False}
    # One split a seed: the error is over seeds.
    single = mean_scores(cells[(cells["method"] == "a") & (cells["fold"] == 0)])
    assert single["stderr"].item() == pytest.approx(5 / 2)


def test_the_order_of_the_cells_does_not_matter():
    values = [1.0, 0.975, 1.0, 0.9875, 1.0]  # their mean is 0.9925
    cells = [
        pd.DataFrame({"value": order, "fold": range(5), "seed": 0, "method": "a"})
        for order in permutations(values)
    ]
    means = {
        mean_scores(each.assign(dataset="pima", rate=0.5))["mean"].item()
        for each in cells[::7]
    }
    assert means == {0.9925}


@pytest.mark.parametrize("n_rows", [1, 5, 8])
def test_the_signed_rank_test_is_exact_with_ties_and_zeros(n_rows):
    rng = np.random.default_rng(n_rows)
    for _ in range(5):
        given = rng.integers(-3, 4, n_rows) / 8
        ranks = stats.rankdata(np.abs(given))
        observed = np.sum(np.sign(given) * ranks)
        signs = [np.array(each) for each in product((-1, 1), repeat=n_rows)]
        sums = np.array(
            [np.sum(each * np.abs(np.sign(given)) * ranks) for each in signs]
        )
        tail = min((sums >= observed).mean(), (sums <= observed).mean())
        assert wilcoxon_p(given) == pytest.approx(min(1, 2 * tail))


def test_without_ties_it_is_that_of_scipy_and_has_a_smallest_p():
    given = np.arange(1, 8) * [1, 1, 1, -1, 1, 1, 1]
    assert wilcoxon_p(given) == pytest.approx(stats.wilcoxon(given).pvalue)
    assert wilcoxon_p(np.arange(1, 8)) == pytest.approx(smallest_p(7))


def test_ranks_pairs_and_bars():
    values = [[1, 8, 9], [2, 8, 7], [1, 7, 8], [2, 9, 8], [3, 9, 10], [1, 9, 7]]
    scores = pd.DataFrame([*values, [2, 7, 9], [3, 8, 9]], columns=list("abc"))
    ranks = mean_ranks(scores, higher_is_better=True)
    assert ranks.to_dict() == {"c": 1.375, "b": 1.625, "a": 3}
    pairs = compare_methods(scores)
    assert pairs["different"].tolist() == [True, True, False]
    assert pairs["p_holm"][0] == pytest.approx(3 * smallest_p(8))
    assert find_cliques(ranks, pairs) == [["c", "b"]]
    assert compare_methods(scores, "b")["second"].tolist() == ["a", "c"]


def test_friedman_is_iman_and_davenports():
    scores = pd.DataFrame([[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]])
    assert friedman_p(scores) == pytest.approx(0.0837, abs=1e-4)
    assert friedman_p(scores * 0) == 1
    assert friedman_p(pd.DataFrame([[1, 2, 3]] * 4)) == 0
