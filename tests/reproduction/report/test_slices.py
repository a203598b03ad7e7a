import pytest
from reproduction.experiments import load_experiment
from reproduction.report._slices import (
    GROUPS,
    join_slices,
    name_group,
    name_method,
    name_row,
    name_set,
    slice_cells,
)

TABLE = load_experiment("table-4")


def test_protocols_and_kinds_of_data_are_kept_apart_the_paper_first(make_cell):
    cells = [
        make_cell(protocol="quick", dataset="iris", rate=0.2),
        make_cell(protocol="mine"),
        make_cell(protocol="quick"),
        make_cell(protocol="authors"),
        make_cell(dataset="no-such-set"),
        make_cell(),
        make_cell(experiment="table-6", dataset="heart"),
    ]
    slices = slice_cells(TABLE, cells)
    assert [(each.protocol, each.data) for each in slices] == [
        ("paper", "paper"),
        ("authors", "paper"),
        ("quick", "paper"),
        ("mine", "paper"),
        ("quick", "stand-ins"),
        ("paper", "other"),
    ]
    assert sum(len(each.cells) for each in slices) == len(cells) - 1


def test_rows_and_methods_have_the_order_of_the_experiment(make_cell):
    cells = [
        make_cell(dataset=name, method=method)
        for name in ("winconsin", "bands")
        for method in ("zzz", "lacunet", "knn")
    ]
    (part,) = slice_cells(TABLE, cells)
    assert part.rows == [("bands", None), ("winconsin", None)]
    assert part.methods == ["knn", "lacunet", "zzz"]


def test_what_is_missing_of_a_whole_run_is_counted(make_cell):
    (part,) = slice_cells(TABLE, [make_cell(fold=fold) for fold in range(3)])
    n_planned = len(TABLE.settings) * len(TABLE.methods) * 5
    assert len(part.find_planned()) == n_planned
    assert part.count_missing() == n_planned - 3
    (authors,) = slice_cells(TABLE, [make_cell(protocol="authors")])
    assert len(authors.find_planned()) == len(TABLE.settings) * 5


def test_of_unknown_protocols_nothing_is_planned(make_cell):
    (part,) = slice_cells(TABLE, [make_cell(protocol="mine")])
    assert part.count_missing() == 0


def test_two_tables_are_joined_under_one_name(make_cell):
    (first,) = slice_cells(TABLE, [make_cell()])
    cell = make_cell(experiment="table-6", dataset="heart", rate=0.5)
    (second,) = slice_cells(load_experiment("table-6"), [cell])
    joined = join_slices(first, second)
    assert {cell.experiment for cell in joined.cells} == {"table-4+table-6"}
    assert joined.rows == [("pima", None), ("heart", 0.5)]


@pytest.mark.parametrize(
    ("method", "group"),
    [("knn", 0), ("geom", 0), ("paper", 1), ("em-joint", 1), ("lacunet", 2)],
)
def test_each_method_stands_in_its_group(method, group):
    assert name_group(method) == GROUPS[group]


def test_who_is_shown_complete_data_stands_apart():
    assert name_group("ce") == name_group("complete") == GROUPS[-1]
    assert name_group("catboost") == "Today's rivals"
    assert name_group("unheard-of") == "Others"


def test_no_two_methods_of_an_experiment_have_one_name():
    for name in ("table-1", "table-2", "table-4", "table-6"):
        named = list(map(name_method, load_experiment(name).methods))
        assert len(set(named)) == len(named)


def test_sets_of_images_are_named_with_their_patch():
    table = load_experiment("table-1")
    assert name_set(table, "mnist") == "mnist, patch 13 × 13"
    assert name_set(table, "mnist-7") == "mnist, patch 7 × 7"
    assert name_set(table, "unheard-of-set") == "unheard, patch of-set × of-set"
    assert name_set(TABLE, "bands") == "bands"


def test_a_rate_is_told_where_there_are_several():
    table = load_experiment("table-2")
    assert name_row(table, ("esr", 0.25)) == "esr, 25% removed"
    assert name_row(table, ("esr", 0.0)) == "esr, complete"
    assert name_row(load_experiment("table-6"), ("heart", 0.5)) == "heart"
    assert name_row(load_experiment("table-6"), ("heart", 0.1)) == "heart, 10% removed"
