import datetime
import io
import json
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_tables import read, save

from lacunet.exceptions import LacunetError, TableError
from lacunet.tables import (
    FileFormat,
    ReadOptions,
    _readers,
    open_table,
    write_filled,
    write_rows,
)


@pytest.fixture
def small_chunks(monkeypatch):
    """Read a file in pieces of a few rows."""
    monkeypatch.setattr(_readers, "_BLOCK", 200)


def random_table(rng, n_rows):
    """A table of all kinds, with missing values."""
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows).round(3),
            "whole": rng.integers(-5, 500, n_rows),
            "word": rng.choice(["red", 'say "hi"', "a, b", "two\nlines", "ż"], n_rows),
            "flag": rng.choice([True, False], n_rows),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 999, n_rows), unit="D"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_what_pandas_writes_is_read(tmp_path, small_chunks, sep, seed):
    table = random_table(np.random.default_rng(seed), n_rows=40)
    decimal = "," if sep == ";" else "."
    text = table.to_csv(index=False, sep=sep, decimal=decimal)
    frame = read(tmp_path, text)
    assert frame.columns.tolist() == table.columns.tolist()
    assert (frame.isna() == table.isna()).to_numpy().all()
    for name in table:
        present = table[name].notna()
        assert frame[name][present].tolist() == table[name][present].tolist(), name


def test_blocks_are_pieces_of_the_whole(tmp_path, small_chunks):
    table = random_table(np.random.default_rng(0), n_rows=57)
    with open_table(save(tmp_path, table.to_csv(index=False))) as file:
        whole, blocks = file.read(), list(file.blocks(10))
        assert [len(block) for block in blocks] == [10] * 5 + [7]
        together = pd.concat(blocks, ignore_index=True)
        pd.testing.assert_frame_equal(
            together.astype(object), whole.astype(object), check_dtype=False
        )
        assert len(next(file.blocks())) == file.n_rows == 57


def test_blocks_have_the_same_types_whether_or_not_they_have_missing_values(tmp_path):
    text = "a,b\n" + "1,1\n" * 5 + ",2\n"
    with open_table(save(tmp_path, text)) as table:
        types = [[str(dtype) for dtype in block.dtypes] for block in table.blocks(2)]
    assert types == [["float64", "int64"]] * 3


def test_columns_are_left_out(tmp_path):
    path = save(tmp_path, "a,b,c\n1,x,2\n")
    with open_table(path, ReadOptions(drop=("b",))) as table:
        assert table.names == ("a", "b", "c")
        assert [column.name for column in table.columns] == ["a", "c"]
        assert table.read().columns.tolist() == ["a", "c"]


def test_options_may_be_given_as_one_text():
    assert ReadOptions(missing="?", drop="id") == ReadOptions(("?",), ("id",))


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_readers, "_BLOCK", 2**15)
    monkeypatch.setattr(_readers, "_HELD", 0)

    def peak(n_rows):
        path = save(tmp_path, "a,b,c\n" + "12.5,red,7\n" * n_rows)
        in_arrow = n_found = 0
        tracemalloc.start()
        with open_table(path) as table:
            for block in table.blocks(1000):
                in_arrow = max(in_arrow, pa.total_allocated_bytes())
                n_found += len(block)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert n_found == n_rows
        return most + in_arrow

    peak(1000)  # imports
    assert peak(400_000) < 1.2 * peak(200_000)


def test_a_table_names_itself(tmp_path):
    with open_table(save(tmp_path, "a,b\n1,2\n")) as table:
        assert repr(table) == f"<TableFile {tmp_path / 'table.csv'}: 2 columns>"


TEXT = '''id,when,price,ok,note
9007199254740993,2024-01-05T10:00+02:00,1.50, TRUE,"a, ""b"""
,2024-01-06T10:00+02:00,1.10,FALSE,NA
12345678901234567890,2024-01-07T10:00+02:00,?,true,
'''
TABLE = pa.table(
    {
        "id": pa.array([9007199254740993, None, 3]),
        "when": pa.array(
            [datetime.datetime(2024, 7, 1), None, datetime.datetime(2024, 1, 1)],
            pa.timestamp("us", "Europe/Berlin"),
        ),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.00")]),
        "town": pa.array(["Rome", None, "Bonn"]).dictionary_encode(),
        "key": pa.array([b"\x01", b"\x02", None], pa.binary()),
    }
)


def rewritten(path, names, format):
    out = io.BytesIO()
    with open_table(path) as table:
        typed = format.kind == "parquet"
        write_rows(out, table.cells(names, 2, typed=typed), format)
    return out.getvalue()


def save_parquet(folder):
    pq.write_table(TABLE, folder / "t.parquet", row_group_size=1)
    return folder / "t.parquet"


def test_cells_of_csv_are_kept_as_they_stand(tmp_path):
    names = TEXT.splitlines()[0].split(",")
    assert rewritten(save(tmp_path, TEXT), names, FileFormat()).decode() == TEXT


def test_kept_columns_come_in_the_order_asked_for(tmp_path):
    text = rewritten(save(tmp_path, TEXT), ["note", "id"], FileFormat()).decode()
    assert text.splitlines()[2] == "NA,"


def test_columns_of_parquet_are_kept_in_their_types(tmp_path):
    names = TABLE.column_names[::-1]
    data = rewritten(save_parquet(tmp_path), names, FileFormat("parquet"))
    assert pq.read_table(io.BytesIO(data)).equals(TABLE.select(names))
    assert len(pd.read_parquet(io.BytesIO(data))) == 3


def test_columns_of_parquet_lose_nothing_in_csv(tmp_path):
    names = ["id", "when", "price", "town"]
    text = rewritten(save_parquet(tmp_path), names, FileFormat()).decode()
    assert text.splitlines()[1:] == [
        "9007199254740993,2024-07-01 02:00:00+02:00,1.50,Rome",
        ",,,",
        "3,2024-01-01 01:00:00+01:00,2.00,Bonn",
    ]


def test_what_is_no_text_is_refused_in_csv(tmp_path):
    table = open_table(save_parquet(tmp_path))
    with pytest.raises(TableError, match="'key'.*decode it to texts"):
        table.cells(["key"])


def test_numbers_of_csv_have_types_in_parquet_if_nothing_is_lost(tmp_path):
    text = "id,long,code,x,ok,when\n1,12345678901234567890,007,1.50,TRUE,1.2.2024\n"
    text += ",5,12,2,false,\n"
    data = rewritten(
        save(tmp_path, text),
        ["id", "long", "code", "x", "ok", "when"],
        FileFormat("parquet"),
    )
    assert pq.read_table(io.BytesIO(data)).to_pydict() == {
        "id": [1, None],
        "long": ["12345678901234567890", "5"],
        "code": ["007", "12"],
        "x": [1.5, 2.0],
        "ok": [True, False],
        "when": ["1.2.2024", None],
    }


def test_columns_that_are_not_there_are_not_kept(tmp_path):
    table = open_table(save(tmp_path, TEXT))
    with pytest.raises(TableError, match="'ids'.*'id'"):
        table.cells(["ids"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "which is empty"),
        ("\n \r\n\n", "has no text"),
        ("a,b\n", "names of columns and no rows"),
        ("a,b", "names of columns and no rows"),
        ("a,b\n\n\n", "names of columns and no rows"),
        ("a,b\n1,2\n3\n", "Got 1 cell in line 3 .* expected 2"),
        ("a,b\n1,2\n\n3,4,5\n", "Got 3 cells in line 4 .* expected 2.*--sep"),
        ("a;b\n1;2\n3;4;5\n", "Got 3 cells in line 3"),
        ('a,b\n"1\n2",3\n4\n', "Got 1 cell in line 4"),
        ("a,b\r\n1,2\r\n3,4,5\r\n", "Got 3 cells in line 3"),
        ('a,b\n1,"x\ny,2\n', "quote that is not closed in the row from line 2"),
        ('"a,b\n1,2\n', "quote that is not closed in the row from line 1"),
        (b"a,b\n1,\x00\n", "NUL byte in line 2"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "NUL byte"),
        ("a,a\n1,2\n", "'a' for columns 1 and 2"),
        ("a\n1\n2\ninf\n", "'a' of .*infinite number in line 4.*--missing inf"),
        ("a\n1\n1e999\n", "infinite number in line 3"),
    ],
)
def test_broken_files_get_a_message_of_their_own(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read(tmp_path, data)
    assert len(str(caught.value).splitlines()) <= 3
    assert "table.csv" in str(caught.value)
    assert isinstance(caught.value, LacunetError)
    assert isinstance(caught.value, ValueError)


def test_a_quote_that_is_never_closed_is_not_read_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_readers, "_BLOCK", 2**12)
    with pytest.raises(TableError, match="a quote that is not closed"):
        read(tmp_path, 'a,b\n1,2\n"3,4\n' + "5,6\n" * 2**14)


def test_long_texts_are_shortened_in_messages(tmp_path):
    name = "n" * 500
    with pytest.raises(TableError) as caught:
        read(tmp_path, f"{name},{name}\n1,2\n")
    assert len(str(caught.value)) < 400


def random_bytes(rng):
    """Bytes of a table that something has happened to."""
    rows = [[f"{cell:.2f}" for cell in row] for row in rng.normal(size=(6, 3))]
    text = "\n".join(",".join(row) for row in [["a", "b", "c"], *rows])
    data = bytearray(text.encode())
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(data)))
        pieces = [b'"', b"\n", b",", b"\r", b"\xff", b"\x00", b" ", b"inf", b"\xc3\xa9"]
        data[place : place + int(rng.integers(3))] = pieces[rng.integers(len(pieces))]
    return bytes(data[: rng.integers(1, len(data) + 1)])


def test_no_random_damage_gives_another_error_or_changes_what_is_there(tmp_path):
    rng = np.random.default_rng(0)
    n_read = 0
    for _ in range(100):
        path = save(tmp_path, random_bytes(rng))
        try:
            with open_table(path) as table:
                frame = table.read()
                out = (tmp_path / "out").open("wb")
                with out:
                    write_filled(table, out, lambda frame: frame)
        except TableError:
            continue
        n_read += 1
        assert len(frame) == table.n_rows
        with open_table(tmp_path / "out") as again:
            assert again.read().equals(frame)
    assert 15 < n_read < 85  # the damage is neither too small nor too large


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"a": 1, "b": [1, 2]}] * 3),
        "<html><body>a, b</body></html>",
        "just one line of words",
        "%PDF-1.4\n\xe2\xe3\n1 0 obj, 2\n",
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, text):
    with pytest.raises(TableError):
        read(tmp_path, text)
