import os
import subprocess
import sys

import pytest
from reproduction.statistics import ResultFile, read_results
from reproduction.statistics._record import to_line

from lacunet.exceptions import LacunetError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "results.jsonl"


@pytest.fixture
def three(make_cell):
    return [make_cell(fold=fold) for fold in range(3)]


def test_a_missing_and_an_empty_file_have_no_cells(tmp_path, three):
    (tmp_path / "empty.jsonl").touch()
    for name in ("missing.jsonl", "empty.jsonl"):
        file = ResultFile(tmp_path / name)
        assert file.cells == []
        assert three[0].key not in file


def test_what_is_appended_is_read_by_this_and_by_other_objects(path, three):
    file, other = ResultFile(path), ResultFile(str(path))
    for n_written, cell in enumerate(three, 1):
        file.append(iter([cell]))
        assert file.cells == three[:n_written]
        assert other.cells == three[:n_written]  # though it has read before
    assert three[2].key in other
    assert three[2] in other
    assert three[2].key[:-1] not in other


def test_appending_leaves_the_bytes_before_as_they_are(path, three):
    ResultFile(path).append(three[:1])
    before = path.read_bytes()
    ResultFile(path).append(three[1:])
    assert path.read_bytes() == before + b"".join(map(to_line, three[1:]))


def test_appending_nothing_makes_no_file(path):
    ResultFile(path).append([])
    assert not path.exists()


def test_the_last_cell_of_a_key_wins(path, make_cell, three):
    better = make_cell(fold=0, value=0.9)
    ResultFile(path).append([*three, better])
    assert ResultFile(path).cells == [*three[1:], better]


def test_cells_are_written_in_one_go_and_brought_to_the_disk(path, three, monkeypatch):
    calls = []
    write, sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda *a: calls.append("write") or write(*a))
    monkeypatch.setattr(os, "fsync", lambda *a: calls.append("sync") or sync(*a))
    ResultFile(path).append(three)
    assert calls == ["write", "sync"]


APPEND_TEN = """
import sys
from reproduction.statistics import Cell, ResultFile

file, seed = ResultFile(sys.argv[1]), int(sys.argv[2])
for fold in range(10):
    params = {"text": "x" * 10_000}  # several pages of the disk
    cell = ("e", "d", None, "m", fold, seed, "p", "a", 0.5, params, 1.0, {}, None)
    file.append([Cell(*cell)])
"""


def test_processes_that_append_at_the_same_time_lose_nothing(path):
    command = [sys.executable, "-c", APPEND_TEN, str(path)]
    workers = [subprocess.Popen([*command, str(seed)]) for seed in range(2)]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    splits = [(cell.fold, cell.seed) for cell in read_results(path)]
    assert splits == [(fold, seed) for fold in range(10) for seed in range(2)]


# --- what a killed process leaves


@pytest.mark.parametrize("n_left", [1, 20, 200])
def test_an_unfinished_last_line_is_passed_over_with_a_warning(path, three, n_left):
    ResultFile(path).append(three[:2])
    with path.open("ab") as file:
        file.write(to_line(three[2])[:n_left])
    with pytest.warns(UserWarning, match="line 3 of .*results.jsonl.*unfinished"):
        assert ResultFile(path).cells == three[:2]


@pytest.mark.parametrize("n_left", [1, 20, 200])
def test_appending_after_an_unfinished_line_loses_nothing_else(path, three, n_left):
    ResultFile(path).append(three[:1])
    with path.open("ab") as file:
        file.write(to_line(three[1])[:n_left])
    with pytest.warns(UserWarning, match="unfinished"):
        ResultFile(path).append(three[2:])
    # It has been told; from now on the file is read without a warning.
    assert ResultFile(path).cells == [three[0], three[2]]
    ResultFile(path).append(three[1:2])
    assert ResultFile(path).cells == [three[0], three[2], three[1]]


def test_a_process_killed_while_it_mends_a_file_does_no_harm(path, three):
    ResultFile(path).append(three[:1])
    for left in (b'{"experi', b" # unfin"):
        with path.open("ab") as file:
            file.write(left)
        with pytest.warns(UserWarning, match="unfinished"):
            ResultFile(path).append(three[1:])
    assert ResultFile(path).cells == three


def test_two_processes_that_mend_a_file_at_once_do_no_harm(path, three):
    ResultFile(path).append(three[:1])
    mended = b' # unfinished\n # unfinished\n{"exp # unfinished\n'
    mended += to_line(three[1])[:-1] + b" # unfinished\n"  # was being written
    with path.open("ab") as file:
        file.write(b'{"exp' + mended + to_line(three[2]))
    assert ResultFile(path).cells == three


def test_a_last_line_that_lacks_nothing_but_its_newline_is_kept(path, three):
    path.parent.mkdir()
    path.write_bytes(to_line(three[0]).rstrip())
    file = ResultFile(path)
    assert file.cells == three[:1]
    file.append(three[1:])
    assert file.cells == three
    assert path.read_bytes() == b"".join(map(to_line, three))


def test_a_line_that_becomes_whole_is_seen(path, three):
    file = ResultFile(path)
    path.parent.mkdir()
    line = to_line(three[0])
    path.write_bytes(line[:50])
    with pytest.warns(UserWarning, match="line 1 .*unfinished"):
        assert file.cells == []
    path.write_bytes(line)
    assert file.cells == three[:1]


def test_a_write_that_the_disk_cuts_short_is_told(path, three, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:-5]))
    with pytest.raises(LacunetError, match="Wrote only .* Make room"):
        ResultFile(path).append(three)
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="line 3"):
        assert ResultFile(path).cells == three[:2]


# --- damage


@pytest.mark.parametrize(
    "damage", [b"{", b"[]", b'{"colour": 1}', b"\xff", b'{"value": NaN}', b"<<<<<<< x"]
)
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(path, three, damage):
    path.parent.mkdir()
    path.write_bytes(to_line(three[0]) + damage + b"\n" + to_line(three[1]))
    with pytest.raises(LacunetError, match="line 2 of .*results.jsonl"):
        ResultFile(path).cells  # noqa: B018
    before = path.read_bytes()
    with pytest.raises(LacunetError, match="line 2 of"):
        ResultFile(path).append(three[2:])
    assert path.read_bytes() == before


def test_the_line_number_counts_from_the_beginning_in_later_reads(path, three):
    file = ResultFile(path)
    file.append(three)
    assert len(file.cells) == 3
    with path.open("ab") as handle:
        handle.write(b"rubbish\n")
    for _ in range(2):
        with pytest.raises(LacunetError, match="line 4 of"):
            file.cells  # noqa: B018


def test_blank_lines_and_windows_line_ends_do_no_harm(path, three):
    path.parent.mkdir()
    lines = b"".join(map(to_line, three)).replace(b"\n", b"\r\n")
    path.write_bytes(b'\n{"exp # unfinished\r\n' + lines + b"\r\n \n")
    assert ResultFile(path).cells == three


def test_a_file_that_was_deleted_or_replaced_is_read_anew(path, three):
    file = ResultFile(path)
    file.append(three)
    assert len(file.cells) == 3
    path.write_bytes(to_line(three[1]))
    assert file.cells == three[1:2]
    path.unlink()
    assert file.cells == []


def test_only_cells_can_be_appended(path, three):
    with pytest.raises(TypeError, match="expected a Cell"):
        ResultFile(path).append([three[0], three[1].key])
    assert not path.exists()


def test_repr_names_the_file():
    assert repr(ResultFile("some.jsonl")) == "ResultFile('some.jsonl')"


# --- folders


def test_all_files_of_a_folder_are_read_and_sorted(tmp_path, make_cell):
    rows = [("b", 0.0), ("a", 1.0), ("a", None)]
    b, a, none = (make_cell(dataset=dataset, rate=rate) for dataset, rate in rows)
    ResultFile(tmp_path / "one.jsonl").append([b])
    ResultFile(tmp_path / "two.jsonl").append([a, none])
    ResultFile(tmp_path / "in" / "other.jsonl").append([make_cell(dataset="c")])
    (tmp_path / "notes.txt").write_text("no results")
    assert read_results(tmp_path) == [none, a, b]
    assert read_results(str(tmp_path / "two.jsonl")) == [none, a]
    assert read_results(tmp_path / "nothing") == []


def test_the_same_cell_in_two_files_counts_once(tmp_path, make_cell):
    for name in ("one.jsonl", "two.jsonl"):
        ResultFile(tmp_path / name).append([make_cell()])
    assert read_results(tmp_path) == [make_cell()]


def test_different_cells_of_one_key_in_two_files_are_refused(tmp_path, make_cell):
    ResultFile(tmp_path / "one.jsonl").append([make_cell(value=0.1)])
    ResultFile(tmp_path / "two.jsonl").append([make_cell(value=0.2)])
    with pytest.raises(LacunetError, match="different cells .*one.jsonl and .*two.js"):
        read_results(tmp_path)
