import datetime
import io
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_tables import save

from lacunet.exceptions import TableError
from lacunet.tables import FileFormat, open_table, write_rows

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
