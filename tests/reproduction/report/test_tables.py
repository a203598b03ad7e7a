import pytest
from reproduction.report import _tables
from reproduction.report._folder import Folder
from reproduction.report._slices import GROUPS
from reproduction.report._tables import (
    find_joined,
    make_ranks_sheet,
    make_table_section,
    show_slice,
)

VALUES = {"knn": (0.5, 0.8, 0.7), "paper": (0.6, 0.7, 0.8), "lacunet": (0.7, 0.9, 0.9)}
SETS_4 = (
    "bands",
    "kidney_disease",
    "hepatitis",
    "horse",
    "mammographics",
    "pima",
    "winconsin",
)
SETS_6 = (
    "australian",
    "bank",
    "breast_cancer",
    "crashes",
    "diabetes",
    "fourclass",
    "heart",
    "liver_disorders",
)


@pytest.fixture
def drawn(monkeypatch):
    """Return what plots of ranks are asked for, and draw nothing."""
    asked = []

    def draw_ranks(name, ranks, **options):
        asked.append((name, ranks, options))
        return ""

    monkeypatch.setattr(_tables, "draw_ranks", draw_ranks)
    return asked


def make_folder(tmp_path, cells):
    return Folder(tmp_path, tuple(cells), {})


def kinds(part):
    return [block.kind for block in part.blocks]


@pytest.fixture
def both(tmp_path, cells_of):
    """Return a folder with tables 4 and 6, in which one method is always better."""
    better = {"knn": 0.5, "mean": 0.55, "lacunet": 0.6}

    def cells(name, sets, **changes):
        values = {
            method: [value + 0.001 * i * (1 + j) for i in range(len(sets))]
            for j, (method, value) in enumerate(better.items())
        }
        return cells_of(values, sets=sets, experiment=name, **changes)

    every = [*cells("table-4", SETS_4), *cells("table-6", SETS_6, rate=0.5)]
    return make_folder(tmp_path, every)


def test_a_part_has_its_table_ranks_and_tests(tmp_path, cells_of, drawn):
    section = make_table_section(make_folder(tmp_path, cells_of(VALUES)), "table-4")
    _, part = section.blocks
    assert kinds(part) == ["text", "sheet", "text", "pictures", *["fold"] * 4]
    ((_, ranks, options),) = drawn
    assert ranks[0] == ("lacunet", 1.0)
    assert "groups" not in options
    (_, _, caption) = (
        part.blocks[3].kind,
        part.blocks[3].pictures,
        part.blocks[3].caption,
    )
    assert "With 3 data sets no difference" in caption


def test_rows_that_were_not_run_are_named(tmp_path, cells_of, drawn):
    section = make_table_section(make_folder(tmp_path, cells_of(VALUES)), "table-4")
    told = section.blocks[1].blocks[0]
    assert told.tone == "warning"
    assert "4 rows of the table not run yet: kidney_disease, hepatitis" in told.text


def test_methods_stand_in_groups(slice_of):
    part = slice_of(VALUES | {"ce": (0.1, 0.1, 0.1), "hgb": (0.2, 0.2, 0.2)})
    (sheet,) = show_slice(part).sheets
    assert [group.title for group in sheet.groups] == [
        title for title in GROUPS if title != "Others"
    ]
    accents = [line.title for line in sheet.lines if line.accent]
    assert accents == ["paper (as published)", "lacunet"]


def test_the_authors_protocol_takes_no_part_in_ranks(tmp_path, cells_of, drawn):
    cells = [*cells_of(VALUES), *cells_of({"paper": (0.99,) * 3}, protocol="authors")]
    section = make_table_section(make_folder(tmp_path, cells), "table-4")
    _, _, part = section.blocks
    assert part.title == "Authors' protocol"
    assert kinds(part) == ["text", "sheet"]
    assert len(drawn) == 1


def test_both_tables_together_allow_all_pairs(both, drawn):
    section = make_table_section(both, "table-6")
    joined = section.blocks[-1]
    assert joined.title == "Tables 4 and 6 together, protocol paper"
    told = joined.blocks[0].text
    assert told.startswith("13 data sets of both tables")
    assert "breast_cancer with winconsin" in told
    assert "diabetes with pima" in told
    _, ranks, options = drawn[-1]
    assert ranks == [("lacunet", 1.0), ("mean", 2.0), ("k-nn", 3.0)]
    assert options["groups"] == []
    alone = drawn[0][2]
    assert set(alone["filled"]) == {"lacunet", "mean", "k-nn"}


def test_ranks_of_both_tables_are_a_table_too(both):
    (part,) = find_joined(both)
    sheet = make_ranks_sheet(show_slice(part).standing)
    assert [(line.title, line.entries[0].text) for line in sheet.lines] == [
        ("lacunet", "1.00"),
        ("mean", "2.00"),
        ("k-nn", "3.00"),
    ]
    assert sheet.lines[0].entries[0].strong


def test_tables_of_different_protocols_are_not_joined(tmp_path, cells_of):
    heart = {"experiment": "table-6", "sets": ("heart",), "rate": 0.5}
    cells = [
        *cells_of(VALUES, protocol="quick"),
        *cells_of({"knn": (0.5,), "paper": (0.6,)}, **heart),
    ]
    assert find_joined(make_folder(tmp_path, cells)) == []


def test_one_method_has_no_ranks(tmp_path, cells_of, drawn):
    cells = cells_of({"knn": (0.5, 0.6, 0.7)})
    _, part = make_table_section(make_folder(tmp_path, cells), "table-4").blocks
    assert "no ranks" in part.blocks[-1].text
    assert drawn == []
