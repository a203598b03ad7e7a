import pytest
from reproduction.experiments import load_experiment
from reproduction.report._slices import slice_cells
from reproduction.report._standing import find_standing

VALUES = {"knn": (0.5, 0.8, 0.7), "paper": (0.6, 0.7, 0.8), "hgb": (0.7, 0.9, 0.9)}


def test_ranks_are_over_data_sets(slice_of):
    standing = find_standing(slice_of(VALUES))
    assert standing.independent
    assert standing.over == "3 data sets"
    ranks = {key: pytest.approx(rank) for key, rank in standing.ranks}
    assert ranks == {"hgb": 1, "knn": 8 / 3, "paper": 7 / 3}
    assert standing.place_of("paper") == 2
    assert standing.controls == ("paper",)


def test_errors_rank_the_other_way_round(slice_of):
    values = {"knn": (0.02,), "mean": (0.03,), "lacunet": (0.01,)}
    changes = {"experiment": "table-1", "metric": "mse", "n_folds": 1}
    standing = find_standing(slice_of(values, sets=("mnist",), **changes))
    assert [key for key, _ in standing.ranks] == ["lacunet", "knn", "mean"]


def test_who_is_shown_complete_data_is_not_ranked(slice_of):
    standing = find_standing(slice_of(VALUES | {"ce": (0.99, 0.99, 0.99)}))
    assert "ce" not in standing.scores.methods
    assert standing.left_out == ()


def test_a_method_without_a_number_somewhere_is_left_out(slice_of):
    standing = find_standing(slice_of(VALUES | {"mean": (0.9, 0.9, None)}))
    assert set(standing.scores.methods) == set(VALUES)
    assert standing.tell_left_out().endswith("missing: mean.")


def test_a_row_that_has_just_begun_is_left_out_before_any_method(cells_of):
    sets = ("bands", "horse", "pima", "hepatitis", "winconsin")
    values = dict.fromkeys(("knn", "mean", "paper", "hgb"), (0.5, 0.6, 0.7, 0.8, 0.9))
    begun = {("winconsin", "paper"), ("winconsin", "hgb"), ("winconsin", "mean")}
    cells = [
        cell
        for cell in cells_of(values, sets=sets)
        if (cell.dataset, cell.method) not in begun
    ]
    (part,) = slice_cells(load_experiment("table-4"), cells)
    standing = find_standing(part)
    assert set(standing.scores.methods) == set(values)
    assert standing.left_out == ("winconsin",)


def test_methods_that_were_run_on_few_rows_do_not_cost_the_other_rows(cells_of):
    extra = [
        cell
        for cell in cells_of(dict.fromkeys(("xgboost", "gmm"), (0.5, 0.6, 0.7)))
        if cell.dataset == "bands"
    ]
    cells = [*cells_of(VALUES), *extra]
    (part,) = slice_cells(load_experiment("table-4"), cells)
    standing = find_standing(part)
    assert len(standing.scores.datasets) == 3
    assert standing.left_out == ("gmm", "XGBoost")


def test_near_identical_sets_count_once(slice_of):
    values = {"knn": (0.5, 0.8, 0.7), "paper": (0.6, 0.7, 0.8)}
    part = slice_of(
        values, experiment="table-6", rate=0.5, sets=("diabetes", "heart", "bank")
    )
    assert len(find_standing(part).scores.datasets) == 3
    both = part.only([*part.cells, *(c for c in _as_pima(part) if c.dataset == "pima")])
    assert find_standing(both).scores.datasets == ("bank", "diabetes+pima", "heart")


def _as_pima(part):
    from dataclasses import replace

    return [
        replace(cell, dataset="pima")
        for cell in part.cells
        if cell.dataset == "diabetes"
    ]


def test_one_set_at_several_rates_is_no_ground_for_tests(cells_of):
    cells = [
        cell
        for rate in (0.0, 0.25, 0.5)
        for cell in cells_of(
            {"knn": (0.5,), "mean": (0.6,)},
            sets=("esr",),
            rate=rate,
            experiment="table-2",
        )
    ]
    (part,) = slice_cells(load_experiment("table-2"), cells)
    standing = find_standing(part)
    assert not standing.independent
    # The complete data are no row to be ranked on.
    assert standing.scores.datasets == ("esr, 25% removed", "esr, 50% removed")


def test_other_splits_of_a_set_are_no_other_set(slice_of):
    values = {"knn": (0.5, 0.4), "mean": (0.6, 0.3)}
    part = slice_of(
        values, experiment="table-2", rate=0.5, sets=("esr", "esr-recordings")
    )
    assert not find_standing(part).independent


@pytest.mark.parametrize("values", [{"knn": (0.5,)}, {"knn": (None,), "mean": (None,)}])
def test_without_two_methods_there_are_no_ranks(slice_of, values):
    assert find_standing(slice_of(values, sets=("bands",))) is None


def test_two_methods_on_different_sets_are_not_ranked(cells_of):
    cells = [
        *cells_of({"knn": (0.5,)}, sets=("bands",)),
        *cells_of({"mean": (0.5,)}, sets=("horse",)),
    ]
    (part,) = slice_cells(load_experiment("table-4"), cells)
    assert find_standing(part) is None
