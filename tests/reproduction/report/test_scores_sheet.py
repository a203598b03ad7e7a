import pytest
from reproduction.experiments import load_experiment
from reproduction.report._scores_sheet import (
    find_scores,
    find_winners,
    make_scores_sheet,
    make_scores_sheets,
)
from reproduction.report._slices import slice_cells

VALUES = {
    "knn": (0.5, 0.8, 0.7),
    "paper": (0.6, 0.81, 0.73),
    "lacunet": (0.65, 0.85, 0.76),
    "hgb": (0.7, 0.84, 0.755),
}


def entry(sheet, line, column):
    """Return the entry of a line in a column with scores."""
    place = [each.title for each in sheet.lines].index(line)
    return find_scores(sheet)[column][place]


def test_the_best_of_each_column_is_strong(slice_of):
    sheet = make_scores_sheet(slice_of(VALUES), {}, "")
    assert find_winners(sheet) == {
        "lacunet": ["horse", "pima"],
        "HistGradientBoosting": ["bands"],
    }


def test_all_that_show_the_best_number_are_strong(slice_of):
    values = {"knn": (0.70001,), "mean": (0.7,), "hgb": (0.6,)}
    sheet = make_scores_sheet(slice_of(values, sets=("bands",), n_folds=1), {}, "")
    assert find_winners(sheet) == {"k-nn": ["bands"], "mean": ["bands"]}


def test_of_errors_the_smallest_is_the_best(slice_of):
    values = {"knn": (0.02,), "mean": (0.01,)}
    part = slice_of(
        values, experiment="table-1", metric="mse", sets=("mnist",), n_folds=1
    )
    assert find_winners(make_scores_sheet(part, {}, "")) == {"mean": ["total"]}


def test_who_is_shown_complete_data_is_never_strong(slice_of):
    part = slice_of(VALUES | {"ce": (0.99, 0.99, 0.99)})
    sheet = make_scores_sheet(part, {}, "")
    assert "context encoder" not in find_winners(sheet)
    assert sheet.groups[-1].title.startswith("Shown complete data")


def test_a_mean_over_fewer_folds_is_marked_and_not_strong(cells_of):
    cells = cells_of(VALUES | {"gmm": (0.99, 0.9, 0.9)})
    part = slice_cells(load_experiment("table-4"), cells)[0]
    fewer = part.only(
        cell for cell in part.cells if (cell.method, cell.fold) != ("gmm", 1)
    )
    sheet = make_scores_sheet(fewer, {}, "")
    assert "gmm" not in find_winners(sheet)
    assert entry(sheet, "gmm", "bands").text == "0.990"
    notes = {note.mark: note.text for note in sheet.notes}
    mark = entry(sheet, "gmm", "bands").mark
    assert notes[mark] == "gmm on all data sets: not all folds are run yet."


def test_mean_and_standard_error_are_over_folds(slice_of):
    sheet = make_scores_sheet(slice_of({"knn": (0.5,)}, sets=("bands",)), {}, "")
    found = entry(sheet, "k-nn", "bands")
    assert (found.text, found.error) == ("0.505", "± 0.005")
    assert "standard error" in sheet.caption


def test_one_fold_has_no_standard_error(slice_of):
    part = slice_of({"knn": (0.5,)}, sets=("bands",), n_folds=1)
    sheet = make_scores_sheet(part, {}, "")
    assert entry(sheet, "k-nn", "bands").error == ""
    assert "standard error" not in sheet.caption


@pytest.mark.parametrize(
    ("value", "below", "tone"),
    [
        (0.618, "0.598 (+0.020)", "better"),
        (0.588, "0.598 (−0.010)", "worse"),
        (0.5981, "0.598 (±0)", ""),
    ],
)
def test_what_the_paper_reports_stands_below_with_the_difference(
    slice_of, value, below, tone
):
    part = slice_of({"paper": (value,)}, sets=("bands",), n_folds=1)
    found = entry(make_scores_sheet(part, {}, ""), "paper (as published)", "bands")
    assert (found.below, found.tone) == (below, tone)


def test_a_lower_error_than_reported_is_better(slice_of):
    part = slice_of(
        {"paper": (0.01,)},
        experiment="table-1",
        metric="mse",
        sets=("mnist",),
        n_folds=1,
    )
    found = entry(make_scores_sheet(part, {}, ""), "paper (as published)", "total")
    assert (found.below, found.tone) == ("0.01056 (−0.00056)", "better")


def test_stand_ins_are_not_held_against_the_paper(slice_of):
    part = slice_of({"paper": (0.9,)}, sets=("iris",), rate=0.2, protocol="quick")
    sheet = make_scores_sheet(part, {}, "")
    assert [line.title for line in sheet.lines] == ["paper (as published)"]
    assert entry(sheet, "paper (as published)", "iris").below == ""
    assert sheet.below == ""


def test_methods_that_were_not_run_show_what_the_paper_reports(slice_of):
    sheet = make_scores_sheet(slice_of(VALUES), {}, "")
    found = entry(sheet, "karma", "bands")
    assert (found.text, found.below) == ("–", "0.580")
    assert found.mark


def test_cells_that_failed_have_a_dash_and_the_reason_below(cells_of):
    cells = [
        *cells_of(VALUES),
        *cells_of({"gmm": (None, 0.8, None)}, params={"why": "No rows <b>"}),
    ]
    (part,) = slice_cells(load_experiment("table-4"), cells)
    sheet = make_scores_sheet(part, {}, "", [*VALUES, "gmm"])
    found = entry(sheet, "gmm", "bands")
    assert found.text == "–"
    assert [(note.mark, note.text) for note in sheet.notes] == [
        (found.mark, "gmm on bands and pima: No rows <b>.")
    ]
    assert entry(sheet, "gmm", "horse").mark == ""


def test_what_no_one_planned_is_empty(slice_of):
    values = {"complete": (0.8,), "knn": (0.7,), "lacunet": (0.75,)}
    part = slice_of(values, experiment="table-2", rate=0.0, sets=("esr",))
    rest = slice_of({"knn": (0.7,)}, experiment="table-2", rate=0.5, sets=("esr",))
    sheet = make_scores_sheet(
        part.only([*part.cells, *rest.cells]), {}, "", ["complete"]
    )
    assert entry(sheet, "complete data", "50% removed").text == ""
    assert sheet.notes == ()


def test_ranks_and_times_stand_beside_the_scores(slice_of):
    sheet = make_scores_sheet(slice_of(VALUES), {"knn": 2.0, "hgb": 1.25}, "3 sets")
    assert [column.title for column in sheet.columns] == [
        "mean rank",
        "bands",
        "horse",
        "pima",
        "time per fit",
    ]
    first = {line.title: line.entries[0] for line in sheet.lines}
    assert (first["k-nn"].text, first["k-nn"].strong) == ("2.00", False)
    assert first["HistGradientBoosting"].strong
    assert first["lacunet"].text == "–"
    last = {line.title: line.entries[-1].text for line in sheet.lines}
    assert (last["k-nn"], last["karma"]) == ("1.50 s", "–")


def test_other_patches_have_a_table_of_their_own(slice_of):
    part = slice_of(
        {"knn": (0.02, 0.01)},
        experiment="table-1",
        metric="mse",
        sets=("mnist", "mnist-5"),
    )
    first, second = make_scores_sheets(part, {"knn": 1.0}, "2 rows")
    assert [column.group for column in first.columns if column.group] == [
        "mnist, patch 13 × 13"
    ]
    assert [column.title for column in second.columns] == ["total", "time per fit"]


def test_several_rates_of_a_set_are_columns_of_a_group(cells_of):
    cells = [
        cell
        for rate in (0.25, 0.5)
        for cell in cells_of(
            {"knn": (0.5,)}, sets=("esr",), rate=rate, experiment="table-2"
        )
    ]
    (part,) = slice_cells(load_experiment("table-2"), cells)
    sheet = make_scores_sheet(part, {}, "")
    assert sheet.heads == (("esr", 2), ("", 1))
    assert list(find_scores(sheet)) == ["25% removed", "50% removed"]
