import errno
import gzip
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lacunet._output import check_folder
from lacunet.tables import open_output


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_gets_its_name_when_all_is_written(tmp_path):
    path = tmp_path / "new" / "out.csv"
    with open_output(path) as stream:
        stream.write(b"one")
        assert not path.exists()
        assert len(names(path.parent)) == 1
    assert path.read_bytes() == b"one"
    assert names(path.parent) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"new")
        raise error

    with pytest.raises(error), open_output(path, force=True) as stream:
        fail(stream)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["out.csv"]


def test_a_file_is_replaced_only_by_force(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="which exists.*force=True"):
        open_output(path).__enter__()
    with open_output(path, force=True) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(FileExistsError), open_output(path):
        path.write_bytes(b"other")
    assert path.read_bytes() == b"other"
    assert names(tmp_path) == ["out.csv"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="a folder"):
        open_output(tmp_path, force=True).__enter__()


def test_standard_output_is_written_to_and_left_open(monkeypatch):
    stream = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=stream))
    with open_output("-") as out:
        out.write(b"x")
    assert stream.getvalue() == b"x"


def test_a_name_in_gz_is_compressed_and_the_same_each_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        with open_output(tmp_path / name) as stream:
            stream.write(b"x" * 1000)
    first, second = (tmp_path / "a.csv.gz", tmp_path / "b.csv.gz")
    assert gzip.decompress(first.read_bytes()) == b"x" * 1000
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="has no such files")
def test_what_is_no_file_is_written_to_and_not_replaced():
    with open_output("/dev/null", force=True) as stream:
        stream.write(b"x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(os.name != "posix", reason="has no such modes")
def test_a_file_has_the_usual_mode(tmp_path):
    with open_output(tmp_path / "a") as stream:
        stream.write(b"x")
    (tmp_path / "b").write_bytes(b"x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


PROGRAM = """
import signal, sys, time
from lacunet._output import open_output
signal.signal(signal.SIGINT, signal.default_int_handler)  # even where it is ignored
with open_output(sys.argv[1], force=True) as stream:
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="has no such signal")
@pytest.mark.parametrize(
    ("number", "n_left"), [(signal.SIGINT, 0), (signal.SIGKILL, 1)]
)
def test_ctrl_c_leaves_nothing_and_the_next_run_cleans_up(tmp_path, number, n_left):
    path = tmp_path / "out.csv"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        with open_output(path) as stream:  # leaves alone what another is writing
            stream.write(b"ours")
        assert len(names(tmp_path)) == 2
        process.send_signal(number)
        assert process.wait(timeout=30) != 0
    assert len(names(tmp_path)) == 1 + n_left
    for _ in range(2):
        with open_output(path, force=True) as stream:
            stream.write(b"new")
        assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_can_not_be_written_to_is_refused(tmp_path, monkeypatch, number):
    def fail(self):
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(Path, "mkdir", fail)
    words = "Could not write in .*: (the disk is full|.* read-only|permission .*)"
    with pytest.raises(OSError, match=words) as found:
        check_folder(tmp_path / "new", n_bytes=0)
    assert "rrno" not in str(found.value)


def test_a_disk_that_is_full_names_the_file(tmp_path):
    with pytest.raises(OSError, match=r"out\.csv"), open_output(tmp_path / "out.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_without_room_is_refused_and_a_trial_leaves_nothing(tmp_path):
    check_folder(tmp_path / "new" / "er", n_bytes=0)
    with pytest.raises(OSError, match="MB of free space, but expected"):
        check_folder(tmp_path, n_bytes=2**62)
    assert names(tmp_path) == []
