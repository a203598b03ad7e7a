import csv
import io

import numpy as np
import pytest
from own_tables import fill, fill_file, put, save

from lacunet.exceptions import TableError
from lacunet.tables import (
    ReadOptions,
    Schema,
    SchemaColumn,
    _readers,
    open_table,
    write_draws,
    write_filled,
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a,b\n1,2\n", None),
        (b"\xef\xbb\xbfa,b\n1,2\n", None),
        (b"a,b\r1,2\r3,4\r", None),
        (b'a\tb\n1,5\t"x\ty"\n', None),
        (b"a|b|\n1|2|\n3|4|\n", None),
        (b'a,b\n"say ""hi""","two\nlines"\n1e5,+0\n', None),
        (b" a ,b\n 007 , x \n1.50 ,=cmd()\n", None),
        # normalised: line ends, blank lines, quotes that are not needed
        (b"a,b\r\n1,2\n3,4", b"a,b\r\n1,2\r\n3,4\r\n"),
        (b"\n\na,b\n\n1,2\n\n3,4\n", b"\n\na,b\n1,2\n3,4\n"),
        (b'a,b\n"1",5" disk\n', b'a,b\n1,"5"" disk"\n'),
    ],
)
@pytest.mark.parametrize("block", [64, 2**20])
def test_observed_cells_come_back_as_they_were(
    tmp_path, monkeypatch, data, expected, block
):
    monkeypatch.setattr(_readers, "_BLOCK", block)
    assert fill(tmp_path, data, {}) == (expected or data)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        # integers, and numbers with as many decimals as there are at most
        ("x,y\n1,1.50\n,\n3,2\n", {"x": 2.4, "y": 2.125}, "x,y\n1,1.50\n2,2.12\n3,2\n"),
        ("y\n1.50\nNA\n2.25\n", {"y": 2.0}, "y\n1.50\n2.00\n2.25\n"),
        ("x\n007.5\n?\n1.25\n", {"x": 2.0}, "x\n007.5\n2.0\n1.25\n"),
        # a comma before decimals
        ("x;y\n1,5;a\nNA;b\n", {"x": 2.5}, "x;y\n1,5;a\n2,5;b\n"),
        ('x,y\n"1,5",a\nNA,b\n', {"x": 2.5}, 'x,y\n"1,5",a\n"2,5",b\n'),
        # spaces and quotes
        ("x, y\n1, NA\n2,  5 \n3, \n", {"y": 4}, "x, y\n1, 4\n2,  5 \n3, 4\n"),
        ('x,y\n"a",1\nNA,2\n"b",3\n', {"x": "c"}, "x,y\na,1\nc,2\nb,3\n"),
        ('x,y\na,1\n"",2\nb,3\n', {"x": "c"}, "x,y\na,1\nc,2\nb,3\n"),
        ("x,y\na,1\n,2\nb,3\n", {"x": 'd,"e'}, 'x,y\na,1\n"d,""e",2\nb,3\n'),
        ("x,y\na,1\n,2\nb,3\n", {"x": "=e()"}, "x,y\na,1\n=e(),2\nb,3\n"),
        # booleans, codes, dates
        ("x,y\nTRUE,1\n,2\n", {"x": False}, "x,y\nTRUE,1\nFALSE,2\n"),
        ("x,y\n007,1\n,2\n012,3\n", {"x": "012"}, "x,y\n007,1\n012,2\n012,3\n"),
        (
            "x\n05.03.2024 07:30\nNA\n",
            {"x": np.datetime64("2024-04-06T08:09:31")},
            "x\n05.03.2024 07:30\n06.04.2024 08:10\n",
        ),
        # a column with nothing in it, a line without an end
        ("x,y\n,1\n,2", {"x": 1.23456789}, "x,y\n1.23457,1\n1.23457,2\n"),
        ("x,y\r\n1,\r\n,2", {"x": 5, "y": 6}, "x,y\r\n1,6\r\n5,2\r\n"),
        # decorated numbers; cells that are no numbers, and bounds, stay
        ("x;y\n1.386,46;a\n;b\n", {"x": 1139.5}, "x;y\n1.386,46;a\n1.139,50;b\n"),
        (
            "x,y\n110.3 kg,1\n95 kg,2\n,3\n",
            {"x": 99.96},
            "x,y\n110.3 kg,1\n95 kg,2\n100 kg,3\n",
        ),
        ("x,y\n<0.5,1\n1.5,2\n,3\n", {"x": 2}, "x,y\n<0.5,1\n1.5,2\n2.0,3\n"),
        (
            "x,y\n" + "1,2\n" * 30 + "a,\n",
            {"x": 5, "y": 2},
            "x,y\n" + "1,2\n" * 30 + "a,2\n",
        ),
        # names that are numbers
        ("x,y\n1,1\n,2\n2,2\n", {"x": 2.0}, "x,y\n1,1\n2,2\n2,2\n"),
    ],
)
def test_missing_values_are_filled_in_the_way_of_their_column(
    tmp_path, text, values, expected
):
    assert fill(tmp_path, text, values).decode() == expected


def test_bounds_are_filled_if_that_is_asked_for(tmp_path):
    with open_table(save(tmp_path, "x,y\n<0.5,1\n1.5,2\n,3\n")) as table:
        filled = fill_file(table, {"x": 0.25}, fill_censored=True)
    assert filled == b"x,y\n0.2,1\n1.5,2\n0.2,3\n"


def test_categories_are_written_as_they_are(tmp_path):
    text = "x,y\n01,1\n,2\n1.0,3\n"
    filled = fill(tmp_path, text, {"x": "01"}, categorical="x")
    assert filled == b"x,y\n01,1\n01,2\n1.0,3\n"


def test_what_stays_missing_stays_as_it_is(tmp_path):
    with open_table(save(tmp_path, "x,y\n1,NA\n?,b\n-,c\n")) as table:
        out = io.BytesIO()
        count = write_filled(table, out, lambda frame: put(frame, {"x": 7}))
    assert out.getvalue() == b"x,y\n1,NA\n7,b\n7,c\n"
    assert (count.n_rows, count.filled, count.left) == (3, {"x": 2}, {"y": 1})


def test_columns_that_are_left_out_are_written_back_with_their_missing_values(tmp_path):
    path = save(tmp_path, "id,x\n,1\nb,\n")
    with open_table(path, ReadOptions(drop=("id",))) as table:
        assert fill_file(table, {"x": 2}) == b"id,x\n,1\nb,2\n"


def test_a_model_fills_the_columns_that_it_knows(tmp_path):
    schema = Schema((SchemaColumn("z", "number"), SchemaColumn("x", "number")))
    seen = []

    def answer(frame):
        seen.append(frame)
        return put(frame, {"x": 2, "z": 5})

    with open_table(save(tmp_path, "x,y\n1,a\n,\n3,\n")) as table:
        out = io.BytesIO()
        write_filled(table, out, answer, schema=schema)
    assert out.getvalue() == b"x,y\n1,a\n2,\n3,\n"
    (frame,) = seen
    assert frame.columns.tolist() == ["z", "x"]
    assert len(frame) == 1  # complete rows are not asked about


def test_several_tables_are_written_at_once(tmp_path):
    outs = [io.BytesIO(), io.BytesIO()]
    with open_table(save(tmp_path, "x\n1\n\n3\n")) as table:
        count = write_draws(
            table, outs, lambda frame: [frame.fillna(5), frame.fillna(6)]
        )
    assert [out.getvalue() for out in outs] == [b"x\n1\n5\n3\n", b"x\n1\n6\n3\n"]
    assert count.filled == {"x": 1}


def test_frames_of_another_size_are_refused(tmp_path):
    wrong = pytest.raises(ValueError, match=r"frames of \[0\] rows.*1 of 1 rows")
    with open_table(save(tmp_path, "x\n1\n\n")) as table, wrong:
        write_filled(table, io.BytesIO(), lambda frame: frame[:0])


def test_rows_are_counted_as_they_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(_readers, "_BLOCK", 64)
    known = []
    with open_table(save(tmp_path, "x\n" + "1\n" * 100)) as table:
        write_filled(table, io.BytesIO(), lambda frame: frame, advance=known.append)
    assert sum(known) == 100
    assert len(known) > 3


def test_a_column_that_can_not_be_read_is_refused_before_anything_is_written(tmp_path):
    out = io.BytesIO()
    schema = Schema((SchemaColumn("x", "number"),))
    refused = pytest.raises(TableError, match="'five' in line 3 .*--missing five")
    with open_table(save(tmp_path, "x,y\n1,2\nfive,\n")) as table, refused:
        write_filled(table, out, lambda frame: frame, schema=schema)
    assert out.getvalue() == b""


# --- laws over random tables

CELLS = {
    "whole": ["7", "007", "+5", "-0", " 3 "],
    "number": ["1.5", "2.250", "-.5", "1e-3"],
    "word": ["a", "b,c", 'say "hi"', "=cmd()", '5" disk', "two\r\nlines", "ż"],
    "day": ["2024-01-31", "2023-12-01"],
}
MISSING = ["", "NA", "?", "-", " ", " null"]
VALUES = {
    "whole": 6.2,
    "number": 2.5,
    "word": 'x,"',
    "day": np.datetime64("2020-02-02"),
}
WRITTEN = ["6", "2.5", 'x,"', "2020-02-02"]


@pytest.mark.parametrize("seed", range(8))
def test_all_but_missing_values_of_random_tables_stays(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(_readers, "_BLOCK", int(rng.choice([256, 2**20])))
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_MINIMAL][seed % 3]

    def as_text(cells, **more):
        out = io.StringIO(newline="")
        csv.writer(out, **more).writerows([[*CELLS], *cells])
        return out.getvalue()

    cells = np.array([rng.choice(each, 20) for each in CELLS.values()], object).T
    filled = cells.copy()
    for row, column in np.argwhere(rng.random(cells.shape) < 0.3):
        cell = cells[row, column] = str(rng.choice(MISSING))
        filled[row, column] = (" " if cell[:1] == " " else "") + WRITTEN[column]
    written = fill(tmp_path, as_text(cells, quoting=quoting), VALUES).decode("utf-8")
    assert [*csv.reader(io.StringIO(written, newline=""))] == [
        [*CELLS],
        *filled.tolist(),
    ]
