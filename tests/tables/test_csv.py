import pytest
from own_tables import describe, fill, read, save

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, open_table


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path, separator):
    text = "a,b,c\n1,2,x\n3,4,y\n".replace(",", separator)
    with open_table(save(tmp_path, text)) as table:
        assert table.names == ("a", "b", "c")
        assert table.format.separator == separator


def test_a_separator_within_quotes_is_none(tmp_path):
    with open_table(save(tmp_path, 'a;b\n"1;2;3";4\n')) as table:
        assert table.names == ("a", "b")


def test_semicolons_with_commas_before_decimals(tmp_path):
    frame = read(tmp_path, "a;b\n1,5;2,25\n-0,5;1e3\n;3\n")
    assert frame["a"].tolist()[:2] == [1.5, -0.5]
    assert frame["b"].tolist() == [2.25, 1000.0, 3.0]
    with open_table(tmp_path / "table.csv") as table:
        assert table.format.decimal == ","


def test_commas_before_decimals_are_in_quotes_if_commas_separate_cells(tmp_path):
    frame = read(tmp_path, 'a,b\n"1,5","2,25"\n"-0,5",3\n,"1,234"\n')
    assert frame["a"].tolist()[:2] == [1.5, -0.5]
    assert frame["b"].tolist() == [2.25, 3.0, 1.234]


def test_points_and_commas_may_be_in_different_columns(tmp_path):
    frame = read(tmp_path, "version;size\n1.5;1,5\n1.7;2,5\n")
    assert frame.to_numpy().tolist() == [[1.5, 1.5], [1.7, 2.5]]


def test_the_separator_can_be_given(tmp_path):
    assert read(tmp_path, "a b\n1 2\n", sep=" ").shape == (1, 2)
    assert read(tmp_path, "a\tb;c\n1\t2\n", sep="\\t").columns.tolist() == ["a", "b;c"]
    assert ReadOptions(sep="tab").sep == "\t"


@pytest.mark.parametrize("sep", ["", ",,", '"', "\n", "ż"])
def test_separators_that_are_none_are_refused(sep):
    with pytest.raises(TableError, match="--sep .* expected a single character"):
        ReadOptions(sep=sep)


def test_names_are_stripped_and_columns_without_get_one(tmp_path):
    assert read(tmp_path, ',"b, c", d \n0,1,2\n').columns.tolist() == [
        "Unnamed: 0",
        "b, c",
        "d",
    ]


def test_tables_without_names_and_below_other_lines_are_read(tmp_path):
    assert read(tmp_path, "1,x\n2,y\n", header=False).columns.tolist() == [
        "column1",
        "column2",
    ]
    text = "exported by hand\n\na;b\n1;2\n"
    assert read(tmp_path, text, skip_rows=1).columns.tolist() == ["a", "b"]
    text = "# made in 2024, by me\n#\na,b\n1,2\n# a, note\n# no comma\n3,4\n"
    assert read(tmp_path, text, comment="#").to_numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TableError, match="Got 3 cells in line 6"):
        read(tmp_path, text.replace("# no comma", "5,6,7"), comment="#")


def test_what_stands_above_a_table_is_written_back(tmp_path):
    text = "made by hand\na,b\n1,\n"
    assert fill(tmp_path, text, {"b": 2}, skip_rows=1) == b"made by hand\na,b\n1,2\n"
    assert fill(tmp_path, "1,\n2,3\n", {"column2": 3}, header=False) == b"1,3\n2,3\n"


def test_ten_thousand_columns_take_seconds(tmp_path):
    names = ",".join(f"v{place}" for place in range(10_000))
    frame = read(tmp_path, f"{names}\n{'1.5,' * 9999}\n{'2,' * 9999}7\n")
    assert frame.shape == (2, 10_000)
    assert frame["v9998"].tolist() == [1.5, 2.0]


def test_two_columns_of_one_name_are_refused_but_not_if_left_out(tmp_path):
    text = "a,b,a\n1,2,3\n"
    with pytest.raises(TableError, match=r"'a' for columns 1 and 3 .*--drop 'a'"):
        read(tmp_path, text)
    assert read(tmp_path, text, drop=("a",)).columns.tolist() == ["b"]


def test_options_that_name_no_column_are_refused_with_a_like_name(tmp_path):
    with pytest.raises(TableError, match="--drop 'agee'.*expected a column.*'age'"):
        describe(tmp_path, "age,b\n1,2\n", drop=("agee",))
    with pytest.raises(TableError, match="--categorical 'x'.*'age', 'b'"):
        describe(tmp_path, "age,b\n1,2\n", categorical="x")
    with pytest.raises(TableError, match="all columns left out"):
        describe(tmp_path, "a,b\n1,2\n", drop=("a", "b"))


TABLE = "näme,wert\nä,1\n,2\nß,\n"
FILLED = "näme,wert\nä,1\nü,2\nß,5\n"


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ("utf-8", {}),
        ("utf-8-sig", {}),
        ("utf-16", {}),
        ("utf-32", {}),
        ("utf-16-le", {}),
        ("utf-16-be", {}),
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


def test_the_format_has_encoding_and_mark(tmp_path):
    with open_table(save(tmp_path, TABLE.encode("utf-8-sig"))) as table:
        assert (table.format.encoding, table.format.has_mark) == ("utf-8", True)
    with open_table(save(tmp_path, TABLE.encode("utf-8"))) as table:
        assert (table.format.encoding, table.format.has_mark) == ("utf-8", False)


def test_other_encodings_are_guessed_and_the_guess_is_reported(tmp_path):
    names = "Größe;Straße;Käufer\n"
    text = names + "1,5;Münchner Straße;Jürgen Müller\n;Bäckergäßchen;Käthe Krüger\n"
    with open_table(save(tmp_path, text.encode("cp1252"))) as table:
        assert table.names == ("Größe", "Straße", "Käufer")
        assert "The encoding seems to be cp1252" in table.list_notices()[0]
        assert table.read()["Käufer"].tolist() == ["Jürgen Müller", "Käthe Krüger"]
    with open_table(save(tmp_path, text)) as table:
        assert "encoding" not in "".join(table.list_notices())


def test_a_wrong_encoding_is_refused(tmp_path):
    with pytest.raises(TableError, match="is not in the encoding ascii"):
        read(tmp_path, TABLE, encoding="ascii")


def test_bytes_of_no_text_are_refused(tmp_path):
    with pytest.raises(TableError, match="NUL byte in line 2 .*binary file"):
        read(tmp_path, b"a,b\n1,\x00\n")


def test_a_value_that_the_encoding_has_not_is_refused(tmp_path):
    data = TABLE.encode("latin-1")
    with pytest.raises(TableError, match="'ł' to write.*Save the table in UTF-8"):
        fill(tmp_path, data, {"näme": "ł"}, encoding="latin-1")


@pytest.mark.parametrize("encoding", ["no-such", "base64", "zip"])
def test_encodings_that_are_none_are_refused(encoding):
    with pytest.raises(TableError, match="--encoding .* expected one that Python"):
        ReadOptions(encoding=encoding)
