import pytest
from reproduction.report._folder import Folder
from reproduction.report._origins import make_origins_section


@pytest.fixture
def show(tmp_path):
    def make(cells):
        return make_origins_section(Folder(tmp_path, tuple(cells), {}))

    return make


def sheet_with(section, corner):
    (found,) = [
        block
        for block in section.blocks
        if block.kind == "sheet" and block.corner == corner
    ]
    return found


def test_each_run_is_told_with_seeds_folds_cells_and_time(show, make_cell):
    cells = [
        make_cell(experiment="table-1", dataset="mnist", metric=metric, seed=seed)
        for metric in ("mse", "mse_inside", "mse_outside")
        for seed in (0, 1)
    ]
    sheet = sheet_with(show(cells), "experiment")
    assert [group.title for group in sheet.groups] == ["Table 1"]
    (line,) = sheet.lines
    data, seeds, folds, n_cells, failed, commits, seconds = (
        entry.text for entry in line.entries
    )
    assert (data, seeds, folds, failed) == ("the paper's", "2", "1", "0")
    assert n_cells.startswith("6 / ")
    assert commits == "0123456789"
    assert seconds == "3.00 s"  # 1.5 a fit, whatever the number of metrics


def test_one_commit_is_no_reason_to_warn(show, make_cell):
    (told,) = [b for b in show([make_cell()]).blocks if b.kind == "text"]
    assert (told.tone, told.text) == ("", "All cells were made by commit 0123456789.")


def test_several_commits_and_versions_are_warned_of(show, make_cell):
    cells = [
        make_cell(),
        make_cell(fold=1, commit=None, versions={"lacunet": "0.2.0"}),
        make_cell(fold=2, commit="abc-dirty"),
    ]
    section = show(cells)
    (told,) = [block for block in section.blocks if block.kind == "text"]
    assert told.tone == "warning"
    assert "3 commits" in told.text
    assert "0123456789, abc with changes and unknown" in told.text
    assert "versions are mixed of lacunet" in told.text
    (line,) = sheet_with(section, "package").lines
    assert line.entries[0].text == "0.1.0, 0.2.0"


def test_failed_cells_are_listed_with_their_reasons(show, make_cell):
    cells = [
        make_cell(method="ce", dataset=name, fold=fold, value=None)
        for name in ("pima", "bands")
        for fold in (0, 1)
    ]
    sheet = sheet_with(show([make_cell(), *cells]), "failed")
    assert [group.title for group in sheet.groups] == ["Table 4, protocol paper"]
    (line,) = sheet.lines
    assert line.title == "context encoder"
    assert [entry.text for entry in line.entries] == ["bands and pima", "4", "no rows"]


def test_unknown_experiments_are_named(show, make_cell):
    section = show([make_cell(experiment="table-99")])
    (told,) = [block.text for block in section.blocks if block.kind == "text"]
    assert told.endswith("not known here: table-99.")


def test_protocols_are_described(show, make_cell):
    sheet = show([make_cell()]).blocks[0]
    assert [line.title for line in sheet.lines] == [
        "Protocol paper",
        "Authors' protocol",
        "Protocol quick",
    ]
    assert "double 5-fold" in sheet.lines[0].entries[0].text
