import numpy as np
import pandas as pd
import pytest
from own_tables import describe, read

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, _readers, list_notices, open_table
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
        (["1,234", "12", "1,234,567"], "number", ["decorated"]),
        (["1,234", "12", "12,345"], "number", ["thousands"]),
        (["1,234", "12.5", "1,234,567.25"], "number", ["decorated"]),
        (["1.234,5", "12", "1.234.567,25"], "number", ["decorated"]),
        (["1 234,5", "12", "1 234 567,25"], "number", ["decorated"]),
        (["56%", "7 %", "3.5%"], "number", ["decorated"]),
        (["-$3.20", "$1,200", "$5"], "number", ["decorated"]),
        (["110.3 kg", "95 kg", ""], "number", ["decorated"]),
        (["3h", "12h", "0.5h"], "number", ["decorated"]),
        (["€100.67", "-$3", "12,50 €"], "category", []),
        (["A1", "A2", "A3"], "category", []),
        (["1+", "2", "3-4", "2", "5", "6"], "category", ["not-numbers"]),
        (["15:46", "9:05:30", "15:46"], "category", ["time"]),
        (["56%", "x", "y"], "category", []),
        (["1,5", "12", "2,5", "1,5", "3,5", "x"], "category", ["not-numbers"]),
        (["1.5", "12", "2.5", "1.5", "3.5", "x"], "category", ["not-numbers"]),
        (
            ["1", "2", "3", "4", "5", "n.a."],
            "category",
            ["not-numbers", "missing-word"],
        ),
        ([*map(str, range(5, MANY, 2)), "x"] * 2, "category", ["not-numbers"]),
        ([*map(str, range(0, 60, 2)), "x"], "number", ["not-numbers"]),
        (["<0.5", "1.5", "2", ">100"], "number", ["censored"]),
        (["<0.5", "<0.5", "<0.5", "2"], "number", ["censored"]),
        (["12 %", "<5 %", "7 %"], "number", ["censored", "decorated"]),
        (["a", "unknown", "b", "a"], "category", ["missing-word"]),
        (["1", "inf"], "number", ["infinite"]),
        (["1/2/2024", "1/3/2024"], "category", ["day-or-month"]),
        ([f"{place}" for place in range(5, MANY)], "integer", ["id-like"]),
        ([f"{place**2}" for place in range(MANY)], "integer", []),
        ([f"{place / 7}" for place in range(MANY)], "number", []),
        ([f"p{place}" for place in range(MANY)], "text", ["id-like"]),
        ([f"p{place // 2}" for place in range(MANY)], "category", []),
        (["9007199254740993", "1", "1"], "integer", ["digits"]),
        (["123456789012345678901", "1", "1"], "number", ["digits"]),
        ([f"{10**20 + place}" for place in range(MANY)], "text", ["digits", "id-like"]),
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


@pytest.mark.parametrize(
    ("text", "name", "values"),
    [
        ("x;y\n1.386;1,5\n2.120;2,25\n", "x", [1386.0, 2120.0]),
        ("x;y\n1.386;1.5\n2.120;2.25\n", "x", [1.386, 2.12]),
        ("x;y\n1,386;a\n2,120;b\n", "x", [1.386, 2.12]),
        ("x\ty\n1,386\ta\n2,120\tb\n", "x", [1386.0, 2120.0]),
        ("x\ty\n1,386\t1,5\n2,120\t2,5\n", "x", [1.386, 2.12]),
    ],
)
def test_marks_that_may_mean_either_follow_the_other_columns(
    tmp_path, text, name, values
):
    assert read(tmp_path, text)[name].tolist() == values


def test_marks_can_be_given(tmp_path):
    text = 'x,y\n"1,234",a\n"2,500",b\n'
    assert read(tmp_path, text)["x"].tolist() == [1234.0, 2500.0]
    assert read(tmp_path, text, decimal=",")["x"].tolist() == [1.234, 2.5]
    swiss = "x;y\n1'234,5;a\n2'500;b\n"
    found = read(tmp_path, swiss, decimal=",", thousands="'")["x"].tolist()
    assert found == [1234.5, 2500.0]
    with pytest.raises(TableError, match="as --decimal and --thousands"):
        ReadOptions(decimal=",", thousands=",")


def test_bounds_are_kept_with_their_column(tmp_path):
    found = one(tmp_path, ["<0.5", "1.5", "2", "<0.5", ">100", ""])
    assert (found.n_missing, found.n_censored) == (4, 3)
    assert found.bounds == ("<0.5", ">100")
    assert "3 values are known by a bound alone" in found.notices[0].text


def test_a_whole_number_below_five_is_at_most_four(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n<5,<5\n7,7.5\n8,8\n")
    with open_table(path) as table:
        upper = table.read_bounds()["upper"]
    assert upper.iloc[0].tolist() == [4.0, 5.0]


def test_bounds_are_read_beside_the_rows(tmp_path):
    rows = ["x,y", "<0.5,1", "1.5,a", ">2,", "2,<7"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    with open_table(path) as table:
        whole = table.read_bounds()
        assert whole["upper"]["x"].tolist()[0] == 0.5
        assert whole["lower"]["x"].tolist()[2] == 2.0
        assert [end.notna().sum().sum() for end in whole.values()] == [1, 1]
        blocks = [each["upper"] for each in table.bounds(3)]
        pd.testing.assert_frame_equal(
            pd.concat(blocks, ignore_index=True), whole["upper"]
        )
    path.write_text("x,y\n1,2\n")
    with open_table(path) as table:
        assert table.read_bounds() == next(iter(table.bounds())) == {}


def numbers(rng, code, *, n=200, n_code=20, low=0.0, high=10.0):
    values = rng.uniform(low, high, n).round(2)
    values[rng.permutation(n)[:n_code]] = code
    return values


def codes(folder, columns):
    """Codes for missing that are noticed, by columns."""
    text = pd.DataFrame(columns).to_csv(index=False)
    found = describe(folder, text).values()
    return {
        each.name: notice.text
        for each in found
        for notice in each.notices
        if notice.what == "missing-code"
    }


def test_codes_for_missing_are_noticed(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "co": numbers(rng, -200),
        "pt08": numbers(rng, -200, low=650, high=2040),
        "age": numbers(rng, 999, low=18, high=90, n_code=1),
        "bmi": numbers(rng, 0, low=18, high=60),
        "fine": numbers(rng, 0, n_code=1),
        "coin": rng.integers(0, 2, 200),
        "counts": rng.poisson(2, 200),
        "spent": np.where(rng.random(200) < 0.4, 0, rng.exponential(99, 200).round(2)),
    }
    found = codes(tmp_path, columns)
    assert [*found] == ["co", "pt08", "age", "bmi"]
    assert "use --missing -200." in found["co"]
    assert "--missing bmi=0." in found["bmi"]  # elsewhere 0 is a value
    assert "999 occurs 1 time, far from the other values (18" in found["age"]


def test_a_code_of_several_columns_need_not_be_as_far(tmp_path):
    rng = np.random.default_rng(0)
    near = {f"s{k}": numbers(rng, -20, low=0, high=150) for k in range(3)}
    assert [*codes(tmp_path, near)] == ["s0", "s1", "s2"]
    assert codes(tmp_path, {"s0": near["s0"], "y": numbers(rng, 5)}) == {}
    text = pd.DataFrame({**near, "-2": near["s0"]}).to_csv(index=False)
    (line,) = list_notices(describe(tmp_path, text).values())
    assert line.startswith("4 columns have -20, far from their other values")


def test_what_means_missing_may_be_said_of_one_column(tmp_path):
    text = "bmi,n=1,x\n0,0,0\n21.5,1,b=0\n"
    frame = read(tmp_path, text, missing=("bmi=0", "b=0"))
    assert frame.isna().to_numpy().tolist() == [
        [True, False, False],
        [False, False, True],
    ]


def test_notices_are_a_few_lines_the_worst_first(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"same{k}": ["x"] * 200 for k in range(12)}
    columns |= {f"s{k}": numbers(rng, -200) for k in range(5)}
    columns |= {"price": ["$5"] * 100 + ["$6"] * 100}
    lines = list_notices(
        describe(tmp_path, pd.DataFrame(columns).to_csv(index=False)).values()
    )
    assert lines[0].startswith("5 columns have -200, far from their other values")
    assert "--missing -200" in lines[0]
    assert lines[1].startswith("Column 'price': Its cells are read as numbers")
    assert lines[2].startswith("12 columns have a single value: 'same0'")
    assert len(lines) == 3


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
    assert "--missing x" in texts[0]
    assert "in line 3" in texts[1]
    assert "--drop x" in texts[2]


def test_the_user_may_call_a_column_a_category(tmp_path):
    cells = ["1", "2", "01", "", "1"]
    assert one(tmp_path, cells, categorical="x").kind == "category"
    text = "x,y\n1,1.50\n01,2\nNA,?\n"
    frame = read(tmp_path, text, categorical=("x", "y"))
    assert frame["x"].tolist()[:2] == ["1", "01"]
    assert frame["y"].tolist()[:2] == ["1.50", "2"]


def test_types_are_found_over_all_rows_not_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(_readers, "_BLOCK", 64)
    rows = [f"{place},{place % 10},,true,{place % 10}" for place in range(100)]
    rows += ["1.5,x,2024-01-01,false,2024-01-01"]
    known = describe(tmp_path, "a,b,c,d,e\n" + "\n".join(rows))
    kinds = [column.kind for column in known.values()]
    assert kinds == ["number", "number", "date", "boolean", "number"]
    assert "1 cell is no number, and counts as missing: 'x' in line 102" in (
        known["b"].notices[0].text
    )


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
