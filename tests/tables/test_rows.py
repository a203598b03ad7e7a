import io
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from lacunet.exceptions import TableError
from lacunet.tables import (
    FileFormat,
    open_table,
    predict_blocks,
    predict_rows,
    write_rows,
)

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


@pytest.mark.parametrize("kind", ["arrow", "json"])
def test_frames_become_one_table_in_other_formats(tmp_path, kind):
    path = tmp_path / "out"
    path.write_bytes(written(FileFormat(kind)))
    with open_table(path) as table:
        frame = table.read()
    assert frame["class"].tolist()[:2] == ["a", 'b,"']
    assert frame["p"].tolist()[1] == pytest.approx(1 / 3)
    assert frame.isna().sum().tolist() == [1, 1]


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
        ("b.feather", "arrow", ","),
        ("b.jsonl.xz", "json", ","),
        ("/dev/null", "csv", ","),
    ],
)
def test_formats_by_name(name, kind, separator):
    found = FileFormat.of_name(name)
    assert (found.kind, found.separator) == (kind, separator)


@pytest.mark.parametrize("name", ["p.xlsx", "p.csv.zst", "p.parquet.gz", "p.docx"])
def test_names_of_other_formats_are_refused(name):
    with pytest.raises(TableError, match=f"Got '{name}' to be written, but expected"):
        FileFormat.of_name(name)


class Slow:
    """Predicts the sum of a row; the first blocks take longest."""

    def predict(self, rows):
        time.sleep(0.05 / (1 + rows.index[0]))
        if rows.index[0] == 99:
            msg = "broken"
            raise ValueError(msg)
        return rows.sum(axis=1).to_numpy()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_are_predicted_side_by_side_in_their_order(n_jobs):
    rows = pd.DataFrame({"a": range(20), "b": 1.0})
    n_threads, taken = torch.get_num_threads(), []

    def blocks():
        for start in range(0, 20, 2):
            taken.append(start)
            yield rows[start : start + 2]

    found = predict_blocks(Slow(), blocks(), n_jobs)
    first = next(found)
    assert len(taken) == n_jobs + 1  # no more than a few are held
    whole = pd.concat([first, *found], ignore_index=True)
    assert whole.equals(predict_rows(Slow(), rows))
    assert torch.get_num_threads() == n_threads


def test_an_error_in_a_block_is_raised():
    rows = pd.DataFrame({"a": [1.0]}, index=[99])
    with pytest.raises(ValueError, match="broken"):
        list(predict_blocks(Slow(), [rows]))
