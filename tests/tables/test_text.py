import pytest
from own_tables import fill, read, save

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, open_table

TABLE = "näme,wert\nä,1\n,2\nß,\n"
FILLED = "näme,wert\nä,1\nü,2\nß,5\n"


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-8", {}),
        ("utf-8-sig", {}),
        ("utf-16", {}),
        ("utf-32", {}),
        ("utf-16-be", {"encoding": "utf-16-be"}),
        ("latin-1", {"encoding": "latin-1"}),
        ("cp1252", {"encoding": "cp1252"}),
        ("utf-8-sig", {"encoding": "utf-8"}),
    ],
)
def test_tables_are_read_and_written_back_in_their_encoding(
    tmp_path, encoding, options
):
    data = TABLE.encode(encoding)
    assert read(tmp_path, data, **options)["näme"].tolist()[::2] == ["ä", "ß"]
    written = fill(tmp_path, data, {"näme": "ü", "wert": 5}, **options)
    assert written == FILLED.encode(encoding)


def test_the_format_tells_encoding_and_mark(tmp_path):
    with open_table(save(tmp_path, TABLE.encode("utf-8-sig"))) as table:
        assert (table.format.encoding, table.format.has_mark) == ("utf-8", True)
    with open_table(save(tmp_path, TABLE.encode("utf-8"))) as table:
        assert (table.format.encoding, table.format.has_mark) == ("utf-8", False)


def test_other_encodings_are_refused_with_a_hint_and_the_line(tmp_path):
    with pytest.raises(TableError, match=r"0xe4 in line 1 .*--encoding latin-1"):
        read(tmp_path, TABLE.encode("latin-1"))
    with pytest.raises(TableError, match="0xff in line 3 "):
        read(tmp_path, b"a,b\n1,2\n\xff,3\n")


def test_a_wrong_encoding_is_refused(tmp_path):
    with pytest.raises(TableError, match="after line 0 is not in the encoding ascii"):
        read(tmp_path, TABLE, encoding="ascii")


def test_bytes_of_no_text_are_refused(tmp_path):
    with pytest.raises(TableError, match="NUL byte in line 2 .*--encoding utf-16"):
        read(tmp_path, b"a,b\n1,\x00\n")
    with pytest.raises(TableError, match="NUL byte in line 1"):
        read(tmp_path, TABLE.encode("utf-16-le"))


def test_a_value_that_the_encoding_has_not_is_refused(tmp_path):
    data = TABLE.encode("latin-1")
    with pytest.raises(TableError, match="'ł' to write.*Save the table in UTF-8"):
        fill(tmp_path, data, {"näme": "ł"}, encoding="latin-1")


def test_what_could_not_be_written_back_is_refused(tmp_path):
    # In this encoding there are two spellings of one character.
    data = b"a,b\n" + b"\x87\x90,1\n" + b"x,\n"
    assert len(read(tmp_path, data, encoding="cp932")) == 2
    with pytest.raises(TableError, match="can't be written back byte for byte"):
        fill(tmp_path, data, {"b": 1}, encoding="cp932")


@pytest.mark.parametrize("encoding", ["no-such", "base64", "zip"])
def test_encodings_that_are_none_are_refused(encoding):
    with pytest.raises(TableError, match="--encoding .* expected one that Python"):
        ReadOptions(encoding=encoding)
