import pytest
from reproduction.report._authors import (
    find_beside,
    make_authors_sheet,
    show_authors,
    tell_authors,
)

VALUES = {"knn": (0.5, 0.8, 0.7), "paper": (0.6, 0.7, 0.8), "lacunet": (0.7, 0.9, 0.9)}


@pytest.fixture
def authors(slice_of):
    return slice_of({"paper": (0.5, 0.6, 0.7)}, protocol="authors", n_folds=1)


def texts(sheet):
    return {line.title: [e.text for e in line.entries] for line in sheet.lines}


def test_protocols_are_column_groups_side_by_side(slice_of, authors):
    sheet = make_authors_sheet(authors, slice_of(VALUES, n_folds=1))
    assert sheet.heads == (("authors' protocol", 1), ("protocol paper", 2))
    assert [column.title for column in sheet.columns] == [
        "paper (as published)",
        "paper (as published)",
        "lacunet",
    ]
    assert texts(sheet) == {
        "bands": ["0.500", "0.600", "0.700"],
        "horse": ["0.600", "0.700", "0.900"],
        "pima": ["0.700", "0.800", "0.900"],
        "time per fit": ["1.50 s"] * 3,
    }


def test_nothing_of_it_competes(slice_of, authors):
    sheet = make_authors_sheet(authors, slice_of(VALUES, n_folds=1))
    assert not any(e.strong for line in sheet.lines for e in line.entries)
    assert "bold" not in sheet.caption
    assert sheet.caption.startswith("Accuracy.")


def test_alone_it_has_dashes_with_reasons_where_it_failed(slice_of):
    part = slice_of({"paper": (0.5, None, 0.7)}, protocol="authors")
    sheet = make_authors_sheet(part, None)
    assert texts(sheet)["horse"] == ["–"]
    assert [note.text for note in sheet.notes] == [
        "paper (as published) on horse: no rows."
    ]


def test_rows_that_the_other_protocol_lacks_are_dashes(slice_of, authors):
    other = slice_of({"paper": (0.6,)}, sets=("bands",), n_folds=1)
    sheet = make_authors_sheet(authors, other)
    assert texts(sheet)["pima"] == ["0.700", "–"]


def test_beside_it_stands_the_same_data_under_the_papers_protocol(slice_of, authors):
    same = slice_of(VALUES)
    stand_ins = slice_of({"paper": (0.1,)}, sets=("iris",), rate=0.2)
    quick = slice_of(VALUES, protocol="quick")
    more = slice_of({"paper": (0.6,) * 3}, sets=("bands", "horse", "winconsin"))
    assert find_beside(authors, [authors, quick, stand_ins]) is None
    assert find_beside(authors, [stand_ins, same]).cells == same.cells
    assert find_beside(authors, [more]).rows == [("bands", None), ("horse", None)]


def test_means_and_times_are_told(slice_of, authors):
    told = tell_authors(authors, slice_of(VALUES, n_folds=1))
    assert "has accuracy 0.600 by the authors' protocol (1.50 s a fit)" in told
    assert "0.700 by the paper's (1.50 s); lacunet has 0.833 (1.50 s)" in told
    assert told.endswith("on average over 3 data sets.")
    assert tell_authors(authors, None) == ""
    assert tell_authors(authors, slice_of({"paper": (0.6,) * 3})) == ""


def test_errors_are_told_as_a_ratio(slice_of):
    sets = ("mnist", "mnist-5")  # the paper reports of the first alone
    mnist = {"experiment": "table-1", "metric": "mse", "sets": sets, "n_folds": 1}
    part = slice_of({"paper": (0.04, 0.9)}, protocol="authors", **mnist)
    other = slice_of({"paper": (0.03, 0.9), "lacunet": (0.02, 0.9)}, **mnist)
    told, sheet = show_authors(part, other)
    assert told.text.endswith("lacunet has 0.02000 (1.50 s), 0.50 times the first.")
    assert "error 0.04000" in told.text
    assert "folds" not in told.text
    assert "mnist, patch 13 × 13, total" in texts(sheet)
    assert sheet.caption.startswith("Mean squared error")


def test_what_ours_reaches_in_few_epochs_is_told_with_its_time(slice_of):
    mnist = {"experiment": "table-1", "metric": "mse", "sets": ("mnist",), "n_folds": 1}
    part = slice_of({"paper": (0.04,)}, protocol="authors", **mnist)
    ours = {"lacunet": (0.02,), "lacunet-short": (0.01,)}
    told, _ = show_authors(part, slice_of({"paper": (0.03,), **ours}, **mnist))
    assert told.text.endswith(
        "In few epochs it comes to 0.01000 (1.50 s), 0.25 times the first in no more "
        "time."
    )
