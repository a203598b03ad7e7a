import csv
import io

import numpy as np
import pytest

from lacunet.tables import _scanner
from lacunet.tables._scanner import count_lines, find_cells, first_line_end, scan_rows

ALPHABETS = ["ab,\n", 'a,"\n', 'a ,"\n\r', 'ż;"\r\n ', '"\n,', "a\r,"]


def scan_all(data, separator, *, final=True):
    """Raw cells and texts of all whole rows, and what is left of the data."""
    rows = []
    while data:
        cells = find_cells(data, separator, final=final)
        if not cells.n_bytes:
            break
        pairs = zip(cells.starts, cells.stops, strict=True)
        raw, texts = [data[a:b] for a, b in pairs], cells.texts.to_pylist()
        stops = cells.row_stops.tolist()
        for start, stop in zip([0, *stops[:-1]], stops, strict=True):
            rows.append((raw[start:stop], texts[start:stop]))
        data = data[cells.n_bytes :]
    return rows, data


def rows_of(text, separator):
    """The texts of the cells, or None if a quote is open at the end."""
    rows, rest = scan_all(text.encode("utf-8"), separator)
    return None if rest else [texts for _, texts in rows]


def rows_by_csv(text, separator):
    """The same by Python's own reader; a last row shows whether a quote is open."""
    marked = text + ("" if text.endswith(("\r", "\n")) else "\n") + "last"
    stream = io.StringIO(marked, newline="")
    *rows, last = csv.reader(stream, delimiter=separator, skipinitialspace=True)
    return [row or [""] for row in rows] if last == ["last"] else None


def random_texts(seed, n=250):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        alphabet = ALPHABETS[rng.integers(len(ALPHABETS))]
        text = "".join(rng.choice([*alphabet], rng.integers(1, 25)))
        yield text, ";" if ";" in alphabet else ","


def strip(rows):
    """Without spaces before cells, which are left to the reader."""
    return rows and [[cell.lstrip(" ") for cell in row] for row in rows]


@pytest.mark.parametrize(("seed", "most"), [(0, 2**18), (1, 1)])
def test_cells_are_those_of_the_csv_module(monkeypatch, seed, most):
    monkeypatch.setattr(_scanner, "_MOST_SLOW_BYTES", most)
    for text, separator in random_texts(seed):
        found, expected = rows_of(text, separator), rows_by_csv(text, separator)
        assert strip(found) == strip(expected), repr(text)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_text_in_pieces_has_the_same_cells(size):
    for text, separator in random_texts(seed=7, n=80):
        data = text.encode("utf-8")
        found, rest = [], b""
        for start in range(0, len(data), size):
            rest += data[start : start + size]
            rows, rest = scan_all(rest, separator, final=False)
            found += rows
        rows, rest = scan_all(rest, separator)
        assert (found + rows, rest) == scan_all(data, separator), repr(text)


def test_cells_and_what_is_between_them_are_all_of_the_text():
    data = b'a,"b ""c"""\r\n"d\ne",\r\n'
    assert scan_all(data, ",")[0] == [
        ([b"a", b'"b ""c"""'], ["a", 'b "c"']),
        ([b'"d\ne"', b""], ["d\ne", ""]),
    ]
    cells = find_cells(data, ",", final=True)
    assert cells.quoted.tolist() == [False, True, True, False]


def test_quotes_within_cells_are_letters():
    assert rows_of('5" disk,6\n', ",") == [['5" disk', "6"]]


def test_other_signs_of_new_lines_are_letters():
    assert rows_of("a\x0bb,c\u2028d\x85\n", ",") == [["a\x0bb", "c\u2028d\x85"]]


def scan(data, n_columns, size=4):
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    return list(
        scan_rows(chunks, ",", n_columns=n_columns, first_line=2, source="the file")
    )


def test_blocks_of_rows_hold_all_bytes_also_those_of_blank_lines():
    data = b'1,2\n\n"3\n",4\n  \r\n5,6'
    blocks = scan(data, 2)
    assert b"".join(block.data for block in blocks) == data
    rows = [block for block in blocks if len(block)]
    assert [block.line_of(0) for block in rows] == [2, 4, 7]


def test_a_blank_line_of_a_table_with_one_column_is_a_row():
    assert sum(len(block) for block in scan(b"1\n\n3\n", 1)) == 3


def test_cells_are_replaced_and_all_else_stays():
    (block,) = scan(b'1,"a" \r\n\r\n,b\n', 2, size=100)
    assert block.replace(np.array([1, 2]), [b"X", b"YY"]) == b"1,X\r\n\r\nYY,b\n"
    assert block.replace(np.array([], dtype=int), []) == block.data


@pytest.mark.parametrize(
    ("data", "count", "first"),
    [
        (b"a\nb\n", 2, "\n"),
        (b"a\r\nb", 1, "\r\n"),
        (b"a\rb\r\nc\n", 3, "\r"),
        (b"a", 0, "\n"),
    ],
)
def test_line_ends_are_counted_whatever_they_are(data, count, first):
    assert count_lines(data) == count
    assert first_line_end(data) == first
