import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_tables import describe, fill_file, save

from lacunet import LacunetImputer
from lacunet.exceptions import TableError
from lacunet.tables import ModelTable, ReadOptions, Schema, SchemaColumn, open_table

SCHEMA = Schema(
    (
        SchemaColumn("age", "number"),
        SchemaColumn("town", "category", ("Bonn", "Rome")),
        SchemaColumn("since", "date"),
        SchemaColumn("member", "category", (False, True)),
        SchemaColumn("grade", "category", (1, 2)),
    )
)
TEXT = """grade,town,note,age,member,since
1,Rome,x,40,TRUE,2024-01-31
2,Oslo,y,NA,,
,,z,007,false,2024-02-29
"""


def read(path, schema=SCHEMA):
    with open_table(path) as table:
        return pd.concat(table.blocks(2, schema=schema), ignore_index=True)


def check(frame):
    assert frame.columns.tolist() == [*SCHEMA.names]
    assert frame["age"].tolist()[::2] == [40.0, 7.0]
    assert frame["town"].tolist()[:2] == ["Rome", "Oslo"]
    assert frame["since"][2] == pd.Timestamp("2024-02-29")
    assert frame["member"].tolist() == [True, None, False]
    assert frame["grade"].tolist()[:2] == [1, 2]
    assert frame.isna().sum().tolist() == [1, 1, 1, 1, 1]


def test_columns_are_found_by_name_and_read_as_the_model_knows_them(tmp_path):
    check(read(save(tmp_path, TEXT)))


def test_the_same_table_in_parquet_is_read_alike(tmp_path):
    table = pa.table(
        {
            "since": pa.array(["2024-01-31", None, "2024-02-29"]).cast(pa.date32()),
            "town": pa.array(["Rome", "Oslo", None]).dictionary_encode(),
            "member": [True, None, False],
            "age": [40, None, 7],
            "grade": [1.0, 2.0, None],
        }
    )
    pq.write_table(table, tmp_path / "t")
    check(read(tmp_path / "t"))


def test_what_is_lacking_is_missing_in_all_rows(tmp_path):
    path = save(tmp_path, "note,age\nx,40\ny,41\n")
    with open_table(path) as table:
        match = table.match(SCHEMA)
    assert match.missing == ("town", "since", "member", "grade")
    assert match.unknown == ("note",)
    frame = read(path)
    assert frame.isna().to_numpy().sum(0).tolist() == [0, 2, 2, 2, 2]
    assert frame["since"].dtype.kind == "M"


def test_a_file_of_other_columns_is_refused(tmp_path):
    with open_table(save(tmp_path, "40,Rome\n41,Bonn\n")) as table:
        with pytest.raises(
            TableError, match="expected some, such as 'age'.*first line"
        ):
            table.match(SCHEMA)
        with pytest.raises(TableError, match="without a column that the model knows"):
            table.blocks(schema=SCHEMA)


def test_what_is_no_number_or_date_is_refused_before_the_first_block(tmp_path):
    rows = "\n".join(["40,2024-01-31"] * 5)
    number = open_table(save(tmp_path, f"age,since\n{rows}\nold,\n"))
    with pytest.raises(TableError, match=r"'old' in line 7 .* 'age'.*--missing"):
        number.blocks(schema=SCHEMA)
    date = open_table(save(tmp_path, f"age,since\n{rows}\n,31.1.2024\n"))
    with pytest.raises(TableError, match="'since' .* no dates, or not all"):
        date.blocks(schema=SCHEMA)


def test_a_few_cells_that_are_no_numbers_count_as_missing(tmp_path):
    schema = Schema((SchemaColumn("age", "number"),))
    rows = "40,1\n" * 30
    frame = read(save(tmp_path, f"age,x\n{rows}old,2\n"), schema)
    assert frame["age"].isna().sum() == 1
    with pytest.raises(TableError, match="'old' in line 32 of column 'age'"):
        read(save(tmp_path, f"age,x\n{rows}{'old,2' * 1}\nyoung,1\n"), schema)


def test_columns_of_other_types_are_refused_in_parquet(tmp_path):
    pq.write_table(pa.table({"age": ["40", "old"], "since": [1, 2]}), tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        number, _, date, *_ = SCHEMA.columns
        with pytest.raises(TableError, match="'old' in row 2 of column 'age'"):
            list(table.blocks(schema=Schema((number,))))
        with pytest.raises(TableError, match="'since' of type int64.*a date"):
            list(table.blocks(schema=Schema((date,))))


def test_categories_that_are_texts_are_read_from_numbers(tmp_path):
    schema = Schema((SchemaColumn("code", "category", ("1", "2")),))
    assert read(save(tmp_path, "code\n1\n2\n"), schema)["code"].tolist() == ["1", "2"]
    pq.write_table(pa.table({"code": [1.0, 2.5]}), tmp_path / "t")
    assert read(tmp_path / "t", schema)["code"].tolist() == ["1", "2.5"]


def test_a_column_that_was_empty_in_training_is_missing_in_all_rows(tmp_path):
    schema = Schema((SchemaColumn("age", "number"), SchemaColumn("note", "empty")))
    path = save(tmp_path, "note,age\nhello,40\n3,41\n,42\n")
    assert read(path, schema)["note"].isna().all()
    with open_table(path) as table:
        assert fill_file(table, {"age": 1, "note": 2}, schema=schema) == (
            path.read_bytes()
        )
    with open_table(save(tmp_path, "age\n40\n")) as table:
        assert table.match(schema).missing == ()
    other = open_table(save(tmp_path, "note\n40\n"))
    with pytest.raises(TableError, match="expected some, such as 'age'"):
        other.match(schema)


def test_the_schema_of_a_model_has_the_columns_that_were_empty():
    frame = pd.DataFrame({"age": [1.0, 2.0, 4.0], "note": [None] * 3})
    with pytest.warns(UserWarning, match="'note'"):
        model = LacunetImputer(random_state=0).fit(frame)
    assert Schema.of_model(model).empty == ("note",)


CODES = Schema((SchemaColumn("code", "category", ("0.0", "1.0", "2.0", "n")),))


def test_a_category_that_is_a_number_is_known_in_other_spellings(tmp_path):
    frame = read(save(tmp_path, "code\n2\n1.00\n0.0\nn\n007\n3\n\n"), CODES)
    assert frame["code"].tolist()[:6] == ["2.0", "1.0", "0.0", "n", "007", "3"]
    pq.write_table(pa.table({"code": [2.0, 1.0, 3.0]}), tmp_path / "t")
    assert read(tmp_path / "t", CODES)["code"].tolist() == ["2.0", "1.0", "3"]


def test_categories_that_are_the_same_number_differ_by_their_spelling(tmp_path):
    schema = Schema((SchemaColumn("code", "category", ("1", "1.0", "2")),))
    frame = read(save(tmp_path, "code\n1\n1.0\n1.00\n2.0\n"), schema)
    assert frame["code"].tolist() == ["1", "1.0", "1.00", "2"]
    long = ("9007199254740992", "9007199254740993.0")
    schema = Schema((SchemaColumn("code", "category", long),))
    frame = read(save(tmp_path, "code\n9007199254740993\n"), schema)
    assert frame["code"].tolist() == [long[1]]


FLAGS = Schema((SchemaColumn("flag", "category", (False, True)),))


@pytest.mark.parametrize(
    "texts",
    [
        ["TRUE", "false"],
        ["1", "0"],
        ["1.0", "0.0"],
        ["yes", "No"],
        ["Y", "n"],
        ["t", "F"],
    ],
)
def test_booleans_are_known_in_other_spellings(tmp_path, texts):
    path = save(tmp_path, "flag,x\n" + ",1\n".join([*texts, "", ""]))
    assert read(path, FLAGS)["flag"].tolist() == [True, False, None]
    pq.write_table(pa.table({"flag": texts}), tmp_path / "t")
    assert read(tmp_path / "t", FLAGS)["flag"].tolist() == [True, False]
    with open_table(path) as table:
        filled = fill_file(table, {"flag": False}, schema=FLAGS).decode()
    assert filled.splitlines()[-1] == f"{texts[1]},1"


def test_booleans_of_parquet_may_be_numbers(tmp_path):
    pq.write_table(pa.table({"flag": [1, 0, None]}), tmp_path / "t")
    assert read(tmp_path / "t", FLAGS)["flag"].tolist() == [True, False, None]


def test_unseen_categories_are_returned(tmp_path):
    text = "town,member,grade\nOslo,ja,3\nParis,TRUE,1\nRome,,\nOslo,no,2.0\n"
    names = ["town", "member", "grade"]
    columns = tuple(each for each in SCHEMA.columns if each.name in names)
    unseen = {}
    with open_table(save(tmp_path, text)) as table:
        list(table.blocks(2, schema=Schema(columns), unseen=unseen))
    assert unseen == {"town": ["Oslo", "Paris"], "member": ["ja"], "grade": ["3"]}
    frame = pd.DataFrame({"town": [f"t{k}" for k in range(9)], "grade": [3.0] * 9})
    frame.to_parquet(tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        list(table.blocks(2, schema=Schema(columns), unseen=unseen))
    assert unseen == {"town": ["t0", "t1", "t2"], "member": [], "grade": ["3.0"]}


def test_the_schema_of_a_model(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=40),
            "town": rng.choice(["Rome", "Bonn"], 40),
            "since": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 99, 40), unit="D"),
        }
    )
    model = LacunetImputer(random_state=0).fit(frame.mask(rng.random((40, 3)) < 0.2))
    schema = Schema.of_model(model)
    assert schema.names == ("age", "town", "since")
    assert [column.kind for column in schema.columns] == ["number", "category", "date"]
    assert schema.columns[1].categories == ("Bonn", "Rome")
    path = save(tmp_path, frame.mask(frame == "Rome").to_csv(index=False))
    with open_table(path) as table:
        filled = pd.concat(map(model.transform, table.blocks(7, schema=schema)))
    assert not filled.isna().any().any()


def test_a_model_without_names_is_refused():
    model = LacunetImputer(random_state=0).fit(np.random.default_rng(0).random((20, 2)))
    with pytest.raises(TableError, match="2 columns without names"):
        Schema.of_model(model)


BEFORE = {"source": "t.csv", "target": "y", "missing": ["x"], "usual_missing": True}
TRAINING = """eu,us,iso,dotted,open,names
31/12/2023,12/31/2023,2023-12-31,31.12.2023,1/2/2024,31/1/2024
1/2/2024,1/2/2024,2024-01-02,1.2.2024,3/4/2024,31/1/2024
"""


def write(folder, record):
    (folder / ModelTable.FILE_NAME).write_text(json.dumps(record))
    return folder


def test_the_orders_that_rows_may_leave_open_are_kept(tmp_path):
    options = ReadOptions(missing=("x",), categorical=("names",))
    columns = describe(tmp_path, TRAINING, categorical=("names",)).values()
    known = ModelTable.of_columns([*columns], options, source="t.csv", target="y")
    assert (known.day_first, known.month_first) == (("eu",), ("us",))
    (tmp_path / ModelTable.FILE_NAME).write_text(known.to_text())
    assert ModelTable.read(tmp_path) == known


def test_without_such_dates_the_record_is_that_of_before(tmp_path):
    known = ModelTable.read(write(tmp_path, BEFORE))
    assert known == ModelTable("t.csv", "y", ("x",))
    assert json.loads(known.to_text()) == BEFORE


def test_nothing_is_known_of_a_model_without_a_record(tmp_path):
    assert ModelTable.read(tmp_path) == ModelTable()


def test_what_is_given_goes_before_what_is_known():
    known = ModelTable(missing=("x",), day_first=("a", "b"), month_first=("c",))
    found = known.options(ReadOptions(day_first=("c",), month_first=("b",)))
    assert (found.day_first, found.month_first) == (("c", "a"), ("b",))
    assert found.missing == ("x",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"day_first": "when"}, "list as 'day_first'"),
        ({"day_first": None}, "list as 'day_first'"),
        ({"month_first": ["when", 1]}, "list as 'month_first'"),
        ({"month_first": {"when": True}}, "list as 'month_first'"),
        ({"day_first": ["when"], "month_first": ["when"]}, "each column in one of"),
        ({"missing": "x"}, "list as 'missing'"),
        ({"source": None}, "str as 'source'"),
        ({"target": 0}, "str as 'target'"),
        ({"usual_missing": 1}, "bool as 'usual_missing'"),
        ({"year_first": []}, "expected .*'month_first'"),
    ],
)
def test_a_record_with_a_wrong_value_is_refused(tmp_path, change, reason):
    with pytest.raises(TableError, match=f"damaged .*{reason}.* Fit again"):
        ModelTable.read(write(tmp_path, BEFORE | change))


@pytest.mark.parametrize("name", BEFORE)
def test_a_record_that_lacks_something_is_refused(tmp_path, name):
    record = {key: value for key, value in BEFORE.items() if key != name}
    with pytest.raises(TableError, match="damaged .*expected"):
        ModelTable.read(write(tmp_path, record))
