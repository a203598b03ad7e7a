"""Files that are no tables, or not quite: each gets a short message."""

import json

import numpy as np
import pytest
from own_tables import read, save

from lacunet.exceptions import LacunetError, TableError
from lacunet.tables import _scanner, open_table, write_filled


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
        (b"a,b\n\xff\xfe\xfd,1\n", "0xff in line 2"),
        ("a,a\n1,2\n", "'a' for columns 1 and 2"),
        ("a\n1\n2\ninf\n", "'a' of .*infinite.*'inf' in line 4.*--missing inf"),
        ("a\n1\n1e999\n", "infinite.*'1e999' in line 3"),
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
    monkeypatch.setattr(_scanner, "MOST_BYTES", 2**12)
    with pytest.raises(TableError, match="not closed in the row from line 3"):
        read(tmp_path, 'a,b\n1,2\n"3,4\n' + "5,6\n" * 2**19)


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
        assert (tmp_path / "out").read_bytes() == path.read_bytes()
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
