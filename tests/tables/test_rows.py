import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lacunet.tables import FileFormat, _rows, write_rows

FRAMES = [
    pd.DataFrame({"class": ["a", 'b,"'], "p": [0.1, 1 / 3]}),
    pd.DataFrame({"class": [None, "ż"], "p": [None, 2.0]}),
]


def written(format=None):
    out = io.BytesIO()
    assert write_rows(out, iter(FRAMES), format) == 4
    return out.getvalue()


def test_frames_are_written_one_below_the_other():
    rows = ["class,p", "a,0.1", '"b,""",0.3333333333333333', ",", "ż,2.0", ""]
    assert written().decode() == "\n".join(rows)


def test_rows_are_written_in_the_format_that_is_asked_for():
    format = FileFormat("csv", ";", ",", "utf-16-le", has_mark=True, line_end="\r\n")
    text = written(format).decode("utf-16")  # which takes the mark off
    assert text.splitlines()[:2] == ["class;p", "a;0,1"]
    assert text.count("\r\n") == text.count("\n") == 5


def test_frames_become_one_table_in_parquet():
    table = pq.read_table(io.BytesIO(written(FileFormat("parquet"))))
    assert table.to_pydict() == {
        "class": ["a", 'b,"', None, "ż"],
        "p": [0.1, 1 / 3, None, 2.0],
    }


@pytest.mark.parametrize("in_memory", [1, 2**24])
def test_a_column_may_have_its_first_value_in_any_frame(monkeypatch, in_memory):
    monkeypatch.setattr(_rows, "_IN_MEMORY", in_memory)
    nothing = pd.Series([None, None], dtype=object)
    frames = [
        pd.DataFrame({"ok": nothing, "name": nothing, "p": [0.1, 0.2]}),
        pd.DataFrame({"ok": [True, None], "name": nothing, "p": [0.3, 0.4]}),
        pd.DataFrame({"ok": nothing, "name": ["a", None], "p": [0.5, 0.6]}),
        pd.DataFrame({"ok": [None, False], "name": nothing, "p": [0.7, 0.8]}),
    ]
    out = io.BytesIO()
    assert write_rows(out, iter(frames), FileFormat("parquet")) == 8
    table = pq.read_table(out)
    assert table.schema.field("ok").type == pa.bool_()
    assert table.to_pydict() == {
        "ok": [None, None, True, None, None, None, None, False],
        "name": [None] * 4 + ["a"] + [None] * 3,
        "p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    }


def test_a_column_without_values_is_written():
    out = io.BytesIO()
    frames = [pd.DataFrame({"x": [None], "p": [0.5]})] * 2
    assert write_rows(out, frames, FileFormat("parquet")) == 2
    assert pq.read_table(out).to_pydict() == {"x": [None, None], "p": [0.5, 0.5]}


def test_no_frames_are_no_rows():
    out = io.BytesIO()
    assert write_rows(out, []) == 0
    assert out.getvalue() == b""


@pytest.mark.parametrize(
    ("name", "kind", "separator"),
    [
        ("a.csv", "csv", ","),
        ("-", "csv", ","),
        ("a.TSV", "csv", "\t"),
        ("a.tsv.gz", "csv", "\t"),
        ("b.parquet", "parquet", ","),
        ("b.PQ", "parquet", ","),
    ],
)
def test_formats_by_name(name, kind, separator):
    found = FileFormat.of_name(name)
    assert (found.kind, found.separator) == (kind, separator)
