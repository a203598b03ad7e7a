import gzip
import io
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from own_tables import save

from lacunet.exceptions import TableError
from lacunet.tables import _source, open_table
from lacunet.tables._source import Source

TABLE = b"a,b\n1,\n2,x\n"


def test_a_file_is_opened_any_number_of_times(tmp_path):
    source = Source(save(tmp_path, TABLE))
    with source.open() as first, source.open() as second:
        assert first.read(3) == b"a,b"
        assert second.read() == TABLE
        assert first.read() == TABLE[3:]


@pytest.mark.parametrize("limit", [4, 1000], ids=["disk", "memory"])
def test_standard_input_is_kept_and_read_twice(monkeypatch, limit, tmp_path):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TABLE)))
    monkeypatch.setattr(_source, "_IN_MEMORY", limit)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_table("-") as table:
        assert table.name == "standard input"
        assert len(table.read()) == len(table.read()) == 2
    assert list(tmp_path.iterdir()) == []


def test_two_readers_of_standard_input_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TABLE)))
    source = Source("-")
    with source.open() as first, source.open() as second:
        pieces = [first.read(4), second.read(2), first.read(), second.read()]
    assert pieces == [TABLE[:4], TABLE[:2], TABLE[4:], TABLE[2:]]
    source.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_pipe_is_read_as_a_file_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TABLE,))
    writer.start()
    with open_table(pipe) as table:
        assert table.read()["b"].tolist()[1] == "x"
    writer.join()


def test_what_is_compressed_is_unpacked_whatever_its_name(tmp_path):
    with open_table(save(tmp_path, gzip.compress(TABLE, mtime=0))) as table:
        assert len(table.read()) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "which is empty"),
        (b"PK\x03\x04junk", "Excel workbook. Save the sheet as CSV"),
        (b"SQLite format 3\x00", "a database"),
        (b"BZh91AY&SY\x93", "bzip2. Unpack it first"),
        (gzip.compress(TABLE * 500, mtime=0)[:40], "gzip and damaged"),
    ],
)
def test_other_formats_are_recognized_by_their_first_bytes(tmp_path, data, message):
    with pytest.raises(TableError, match=message):
        open_table(save(tmp_path, data))


def test_a_name_that_begins_as_another_format_does_is_a_name(tmp_path):
    with open_table(save(tmp_path, "ORCID,BZh\n1,2\n")) as table:
        assert table.names == ("ORCID", "BZh")


def test_no_file_a_folder_and_a_file_under_a_file_are_refused(tmp_path):
    file = save(tmp_path, TABLE)
    with pytest.raises(TableError, match="where no file is"):
        open_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="a folder, but expected a CSV or Parquet"):
        open_table(tmp_path)
    with pytest.raises(TableError, match="where no file is"):
        open_table(file / "under.csv")


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "no")

    path = save(tmp_path, TABLE)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(TableError, match="which may not be read"):
        open_table(path)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = save(tmp_path, TABLE)
    with open_table(path) as table:
        path.write_bytes(TABLE + b"3,y\n")
        with pytest.raises(TableError, match="changed since it was opened"):
            table.read()
