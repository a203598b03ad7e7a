import bz2
import gzip
import io
import lzma
import os
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_tables import fill_file, save
from pyarrow import feather

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, _source, open_table
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_a_pipe_is_read_as_a_file_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(TABLE,))
    writer.start()
    with open_table(pipe) as table:
        assert table.read()["b"].tolist()[1] == "x"
    writer.join()


def compress(codec, data):
    if codec == "xz":
        return lzma.compress(data)
    return (
        pa.Codec(codec).compress(data, asbytes=True)
        if codec == "zstd"
        else {
            "gzip": gzip.compress,
            "bz2": bz2.compress,
        }[codec](data)
    )


@pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd", "xz"])
def test_what_is_compressed_is_unpacked_whatever_its_name(tmp_path, codec):
    data = compress(codec, TABLE * 500)
    with open_table(save(tmp_path, compress(codec, TABLE))) as table:
        assert len(table.read()) == 2
    with pytest.raises(TableError, match=f"{codec} and damaged"):
        open_table(save(tmp_path, data[: len(data) // 2]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "which is empty"),
        (b"PK\x03\x04junk", "a workbook that could not be read"),
        (b"SQLite format 3\x00", "a database"),
        (b'[{"a": 1}]', "a JSON array. Write each of its objects in a line"),
        (b'{"a": 1}\n{"a": "x"}\n', "begins as JSON lines does, but could not be read"),
    ],
)
def test_other_formats_are_recognized_by_their_first_bytes(tmp_path, data, message):
    with pytest.raises(TableError, match=message):
        open_table(save(tmp_path, data))


def test_an_archive_is_no_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("table.csv", TABLE)
    with pytest.raises(TableError, match="a zip archive. Unpack it"):
        open_table(tmp_path / "a.zip")


def test_json_lines_are_read(tmp_path):
    text = '{"a": 1, "b": "x"}\n{"a": null, "b": "y"}\n{"b": "z"}\n'
    with open_table(save(tmp_path, text)) as table:
        assert table.n_rows == 3
        assert [each.n_missing for each in table.columns] == [2, 0]


def write_workbook(path, sheets):
    """A workbook of inline strings and numbers, as small as can be."""
    schemas = "http://schemas.openxmlformats.org"
    main, package = f"{schemas}/spreadsheetml/2006/main", f"{schemas}/package/2006"
    kinds = f"{schemas}/officeDocument/2006/relationships"

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value}</v></c>"

    def link(key, kind, target):
        return f'<Relationship Id="{key}" Type="{kinds}/{kind}" Target="{target}"/>'

    def links(inner):
        space = f"{package}/relationships"
        return f'<Relationships xmlns="{space}">{inner}</Relationships>'

    names = links_of_sheets = ""
    with zipfile.ZipFile(path, "w") as book:
        for k, (name, rows) in enumerate(sheets.items(), 1):
            names += f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>'
            links_of_sheets += link(f"r{k}", "worksheet", f"worksheets/s{k}.xml")
            inner = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            text = f"<sheetData>{inner}</sheetData>"
            text = f'<worksheet xmlns="{main}">{text}</worksheet>'
            book.writestr(f"xl/worksheets/s{k}.xml", text)
        spaces = f'xmlns="{main}" xmlns:r="{kinds}"'
        text = f"<workbook {spaces}><sheets>{names}</sheets></workbook>"
        book.writestr("xl/workbook.xml", text)
        book.writestr("xl/_rels/workbook.xml.rels", links(links_of_sheets))
        root = links(link("r", "officeDocument", "xl/workbook.xml"))
        book.writestr("_rels/.rels", root)
        types = f'<Types xmlns="{package}/content-types"/>'
        book.writestr("[Content_Types].xml", types)


def test_sheets_of_workbooks_are_read_by_name_and_number(tmp_path):
    rows = [
        ["age", "town", "x"],
        [41, "Rome", "<0.5"],
        [None, "Bonn", 1.5],
        [29.0, "n/a", 7],
    ]
    write_workbook(
        tmp_path / "b.xlsx", {"notes": [["nothing", "here"], [1, 2]], "data": rows}
    )
    for sheet in ("data", "2"):
        with open_table(tmp_path / "b.xlsx", ReadOptions(sheet=sheet)) as table:
            frame, columns = table.read(), table.columns
        assert frame["age"].tolist()[::2] == [41.0, 29.0]
        assert frame["town"].tolist()[:2] == ["Rome", "Bonn"]
        assert [each.n_missing for each in columns] == [1, 1, 1]
        assert columns[2].n_censored == 1
    with open_table(tmp_path / "b.xlsx") as table:
        assert table.names == ("nothing", "here")
    with pytest.raises(
        TableError, match="--sheet 'dat', but expected a sheet.*did you mean 'data'"
    ):
        open_table(tmp_path / "b.xlsx", ReadOptions(sheet="dat"))


@pytest.mark.parametrize("place", ["parts", "parts/*.parquet", "parts/year=*/*"])
def test_folders_and_patterns_of_parquet_are_one_table(tmp_path, place):
    for year, values in ((2020, [1.0, None]), (2021, [3.0])):
        folder = tmp_path / "parts" / ("" if "*.p" in place else f"year={year}")
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": values}), folder / f"{year}.parquet")
    with open_table(tmp_path / place) as table:
        assert table.read()["x"].tolist()[::2] == [1.0, 3.0]
        assert table.n_rows == 3


def test_arrow_files_are_read_and_written_back(tmp_path):
    feather.write_feather(
        pa.table({"x": [1.5, None], "n": ["a", "b"]}), tmp_path / "t.feather"
    )
    with open_table(tmp_path / "t.feather") as table:
        data = fill_file(table, {"x": 2.5})
    assert pa.ipc.open_file(data).read_all().to_pydict() == {
        "x": [1.5, 2.5],
        "n": ["a", "b"],
    }


def test_addresses_go_through_fsspec(tmp_path):
    path = save(tmp_path, TABLE)
    with open_table(f"file://{path}") as table:
        assert len(table.read()) == 2
    with pytest.raises(TableError, match="nosuch://x, which could not be opened"):
        open_table("nosuch://x")


def test_a_name_that_begins_as_another_format_does_is_a_name(tmp_path):
    with open_table(save(tmp_path, "ORCID,BZh\n1,2\n")) as table:
        assert table.names == ("ORCID", "BZh")


def test_no_file_a_folder_and_a_file_under_a_file_are_refused(tmp_path):
    file = save(tmp_path, TABLE)
    with pytest.raises(TableError, match="where no file is"):
        open_table(tmp_path / "nothing.csv")
    (tmp_path / "nothing").mkdir()
    for place in ("nothing", "*.parquet"):
        with pytest.raises(TableError, match="where no file is"):
            open_table(tmp_path / place)
    save(tmp_path, TABLE, "other.csv")
    with pytest.raises(TableError, match="2 files of which the first is no Parquet"):
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
