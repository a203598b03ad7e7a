import pytest
from reproduction.report._output import check_target, write_text


def test_folders_are_made_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a" / "b.html"
    write_text(path, "ä\n", force=False)
    assert path.read_bytes() == b"\xc3\xa4\n"
    assert [each.name for each in path.parent.iterdir()] == ["b.html"]


def test_a_text_that_can_not_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "b.html"
    path.write_text("old", "utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800", force=True)
    assert path.read_text("utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["b.html"]


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "b.html"
    path.write_text("old", "utf-8")
    with pytest.raises(FileExistsError, match=r"which exists.*--force"):
        write_text(path, "new", force=False)
    assert path.read_text("utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["b.html"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="a folder"):
        check_target(tmp_path, force=True)
