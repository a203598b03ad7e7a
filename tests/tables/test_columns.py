import pytest
from own_tables import describe, read

from lacunet.tables import _csv
from lacunet.tables._values import spell_booleans

MANY = 30


def one(tmp_path, cells, name="x", **options):
    """What is known of a column of these cells, beside one of letters."""
    rows = [f'"{cell}",{"ab"[place % 2]}' for place, cell in enumerate(cells)]
    return describe(tmp_path, f"{name},y\n" + "\n".join(rows), **options)[name]


def words(column):
    return [notice.what for notice in column.notices]


@pytest.mark.parametrize(
    ("cells", "kind", "notices"),
    [
        (["1", "2", "", "2"], "integer", []),
        (["1.5", "2", ""], "number", []),
        (["-1e5", "2"], "number", []),
        (["true", "FALSE", "", "True"], "boolean", []),
        (["a", "b", "a"], "category", []),
        (["2024-01-01", "", "2024-01-02"], "date", []),
        (["", "NA", "?"], "empty", ["empty"]),
        (["7", "", "7"], "integer", ["constant"]),
        (["7", "", "7.0"], "number", ["constant"]),
        (["a", "a"], "category", ["constant"]),
        (["00501", "10001", "00501"], "category", ["codes"]),
        (["1,234", "12", "1,234,567"], "category", ["thousands"]),
        (["1,234", "12", "12,345"], "category", ["thousands"]),
        (["56%", "7 %", "3.5%"], "category", ["units"]),
        (["€100.67", "-$3", "12,50 €"], "category", ["units"]),
        (["15:46", "9:05:30", "15:46"], "category", ["units"]),
        (["56%", "x", "y"], "category", []),
        (["1,5", "12", "2,5", "1,5", "3,5", "x"], "category", ["nearly-number"]),
        (["1.5", "12", "2.5", "1.5", "3.5", "x"], "category", ["nearly-number"]),
        (["1", "2", "3", "4", "5", "n.a."], "category", ["nearly-number"]),
        (["1", "inf"], "number", ["infinite"]),
        (["1/2/2024", "1/3/2024"], "category", ["day-or-month"]),
        ([f"{place}" for place in range(5, MANY)], "integer", ["id-like"]),
        ([f"{place**2}" for place in range(MANY)], "integer", []),
        ([f"{place / 7}" for place in range(MANY)], "number", []),
        ([f"p{place}" for place in range(MANY)], "text", ["id-like"]),
        ([f"p{place // 2}" for place in range(MANY)], "category", []),
        (["9007199254740993", "1", "1"], "integer", ["digits"]),
        (["123456789012345678901", "1", "1"], "number", ["digits"]),
    ],
)
def test_kinds_of_columns_and_what_is_noticed(tmp_path, cells, kind, notices):
    found = one(tmp_path, cells)
    assert (found.kind, words(found)) == (kind, notices)


@pytest.mark.parametrize("name", ["id", "patient_id", "Customer ID", "key", "uuid"])
def test_different_integers_under_a_name_of_ids_are_ids(tmp_path, name):
    squares = [f"{place**2}" for place in range(MANY)]
    assert words(one(tmp_path, squares, name)) == ["id-like"]
    assert words(one(tmp_path, squares, "width")) == []


def test_commas_in_quotes_are_pointed_out(tmp_path):
    cells = '"1,5"\n"2,25"\n7\n'
    found = describe(tmp_path, "x,y\n" + cells.replace("\n", ",1\n"))["x"]
    assert (found.kind, words(found)) == ("number", ["commas"])
    found = describe(tmp_path, "x;y\n" + cells.replace("\n", ";1\n"))["x"]
    assert (found.kind, words(found)) == ("number", [])


def test_counts_are_those_of_the_column(tmp_path):
    found = one(tmp_path, ["1", "", "2", "1", "NA"])
    assert (found.n_missing, found.n_distinct) == (2, 2)


def test_more_than_a_thousand_values_are_not_counted(tmp_path):
    assert (
        one(tmp_path, [f"{place % 1000}" for place in range(1500)]).n_distinct == 1000
    )
    found = one(tmp_path, [f"a{place % 1001}" for place in range(1500)])
    assert (found.n_distinct, found.kind, words(found)) == (None, "text", [])


def test_notices_have_advice(tmp_path):
    texts = [
        one(tmp_path, ["1", "2", "3", "4", "5", "x"]).notices[0].text,
        one(tmp_path, ["1", "-Infinity"]).notices[0].text,
        one(tmp_path, [f"p{place}" for place in range(MANY)]).notices[0].text,
    ]
    assert "'x' in line 7" in texts[0]
    assert '--missing "x"' in texts[0]
    assert "'-Infinity' in line 3" in texts[1]
    assert "--drop 'x'" in texts[2]


def test_the_user_may_call_a_column_a_category(tmp_path):
    cells = ["1", "2", "01", "", "1"]
    assert one(tmp_path, cells, categorical="x").kind == "category"
    text = "x,y\n1,1.50\n01,2\nNA,?\n"
    frame = read(tmp_path, text, categorical=("x", "y"))
    assert frame["x"].tolist()[:2] == ["1", "01"]
    assert frame["y"].tolist()[:2] == ["1.50", "2"]


def test_types_are_found_over_all_rows_not_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv, "_LEAST_CHUNK", 64)
    monkeypatch.setattr(_csv, "_BYTES_A_COLUMN", 1)
    rows = [f"{place},{place % 10},,true,{place % 10}" for place in range(100)]
    rows += ["1.5,x,2024-01-01,false,2024-01-01"]
    known = describe(tmp_path, "a,b,c,d,e\n" + "\n".join(rows))
    kinds = [column.kind for column in known.values()]
    assert kinds == ["number", "category", "date", "boolean", "category"]
    assert "'x' in line 102" in known["b"].notices[-1].text


def test_integers_keep_their_type_if_none_is_missing(tmp_path):
    frame = read(tmp_path, "a,b,c\n1,1,9007199254740993\n2,,9007199254740995\n")
    assert [str(dtype) for dtype in frame.dtypes] == ["int64", "float64", "int64"]
    assert frame["c"].tolist() == [9007199254740993, 9007199254740995]


def test_true_and_false_are_spelled_as_in_the_column():
    assert spell_booleans(["TRUE"]) == {True: "TRUE", False: "FALSE"}
    assert spell_booleans(["false"]) == {True: "true", False: "false"}
    assert spell_booleans(["True"]) == {True: "True", False: "False"}
    assert spell_booleans([]) == {True: "True", False: "False"}
    assert spell_booleans(["maybe", "Y"]) == {True: "Y", False: "N"}
