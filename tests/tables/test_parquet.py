import datetime
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from own_tables import fill_file

from lacunet.exceptions import TableError
from lacunet.tables import (
    ReadOptions,
    Schema,
    SchemaColumn,
    _readers,
    open_table,
    write_filled,
)

N_ROWS = 12
UNSUPPORTED = {
    "list": (pa.array([[1, 2]] * N_ROWS), "give its elements columns"),
    "struct": (pa.array([{"x": 1}] * N_ROWS), "give its elements columns"),
    "bytes": (pa.array([b"x"] * N_ROWS), "decode it"),
    "length": (pa.array([datetime.timedelta(1)] * N_ROWS), "make it a number"),
    "clock": (pa.array([datetime.time(1)] * N_ROWS), "make it a number"),
}


def with_missing(value, type_=None):
    return pa.array([None if row % 3 == 1 else value for row in range(N_ROWS)], type_)


TABLE = pa.table(
    {
        "i8": with_missing(100, pa.int8()),
        "u64": with_missing(2**63 + 5, pa.uint64()),
        "count": pa.array(range(N_ROWS)),
        "f16": with_missing(np.float16(0.5), pa.float16()),
        "f32": with_missing(0.1, pa.float32()),
        "f64": pa.array([np.nan, 0.1, None] * (N_ROWS // 3)),
        "decimal": with_missing(Decimal("1.25"), pa.decimal128(6, 2)),
        "flag": with_missing(True),
        "text": pa.array(["a", "NA", None] * (N_ROWS // 3)),
        "large": with_missing("a", pa.large_string()),
        "categories": with_missing("a").dictionary_encode(),
        "ordered": with_missing("a")
        .dictionary_encode()
        .cast(pa.dictionary(pa.int8(), pa.large_string(), ordered=True)),
        "day": with_missing(datetime.date(2024, 1, 31)),
        "zoned": with_missing(
            datetime.datetime(2024, 1, 31, 12), pa.timestamp("ms", "Europe/Vienna")
        ),
        "fine": with_missing(datetime.datetime(2024, 1, 31, 12), pa.timestamp("ns")),
        "nothing": pa.nulls(N_ROWS),
        "list": UNSUPPORTED["list"][0],
    },
    metadata={b"mine": b"yes"},
)
KINDS = {
    **dict.fromkeys(["i8", "count"], "integer"),
    **dict.fromkeys(["u64", "f16", "f32", "f64", "decimal"], "number"),
    **dict.fromkeys(["text", "large", "categories", "ordered"], "category"),
    **dict.fromkeys(["day", "zoned", "fine"], "date"),
    "flag": "boolean",
    "nothing": "empty",
    "list": "unsupported",
}
VALUES = {
    **{"i8": 300.0, "u64": 5.4, "f16": 0.25, "f32": 0.2, "f64": 0.3},
    **{"decimal": 2.345, "flag": False, "text": "b", "large": "b", "categories": "b"},
    **{"ordered": "b", "nothing": 1.0},
    **dict.fromkeys(["day", "zoned", "fine"], np.datetime64("2024-02-29T13:00:00")),
}
FILLED = {
    **{"i8": 127, "u64": 5, "f16": 0.25, "f32": np.float32(0.2), "f64": 0.3},
    **{"decimal": Decimal("2.34"), "flag": False, "text": "b", "large": "b"},
    **{"categories": "b", "ordered": "b", "day": datetime.date(2024, 3, 1)},
    "zoned": pd.Timestamp("2024-02-29 14:00", tz="Europe/Vienna"),
    "fine": pd.Timestamp("2024-02-29 13:00"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("parquet") / "table.of.any.name"
    pq.write_table(TABLE, file, row_group_size=5, compression="zstd")
    return file


def test_columns_are_what_their_types_say(path):
    with open_table(path) as table:
        assert {column.name: column.kind for column in table.columns} == KINDS
        assert table.format.kind == "parquet"
        assert table.n_rows == N_ROWS
        missing = {column.name: column.n_missing for column in table.columns}
    assert (missing["i8"], missing["f64"], missing["text"]) == (4, 8, 4)


def test_values_are_read_in_few_types(path):
    with open_table(path, ReadOptions(drop=("list",))) as table:
        frame = table.read()
    assert frame["count"].dtype == np.int64
    assert frame["i8"].tolist()[0] == 100.0
    assert frame["decimal"].dtype == float
    assert frame["flag"].tolist()[:2] == [True, None]
    assert frame["text"].tolist()[:2] == ["a", "NA"]
    assert frame["text"].isna().tolist()[:3] == [False, False, True]
    assert frame["zoned"][0] == pd.Timestamp("2024-01-31 12:00")  # UTC
    assert frame["nothing"].isna().all()


def test_all_but_missing_values_is_written_back_in_the_same_types(path):
    with open_table(path, ReadOptions(drop=("list",))) as table:
        data = io.BytesIO(fill_file(table, VALUES))
    before, after = pq.ParquetFile(path), pq.ParquetFile(data)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert after.metadata.num_row_groups == before.metadata.num_row_groups == 3
    assert after.metadata.row_group(0).num_rows == 5
    assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    old, new = before.read(), after.read()
    for name in TABLE.column_names:
        pairs = zip(old[name].to_pylist(), new[name].to_pylist(), strict=True)
        for had, has in pairs:
            is_missing = had is None or had != had
            assert has == (FILLED.get(name) if is_missing else had), name


CATEGORIES = {
    "truth": ([False, True], pa.bool_()),
    "i64": ([2**53 + 1, 2**53 + 3], pa.int64()),
    "u64": ([2**64 - 1, 7], pa.uint64()),
    "f16": ([np.float16(0.1), np.float16(2.0)], pa.float16()),
    "f32": ([np.float32(0.1), np.float32(2.0)], pa.float32()),
    "f64": ([0.1 + 0.2, 1e300], pa.float64()),
    "decimal": ([Decimal(f"{2**90}.25"), Decimal("1.00")], pa.decimal128(38, 2)),
    "large": (["a", "b"], pa.large_string()),
    "day": ([datetime.date(2024, 1, 31), datetime.date(1900, 1, 1)], pa.date32()),
    "zoned": ([1, 10**18], pa.timestamp("ns", "Europe/Vienna")),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_a_category_of_any_type_is_filled_with_its_categories(tmp_path, name):
    values, type_ = CATEGORIES[name]
    pq.write_table(pa.table({"x": pa.array([*values, None], type_)}), tmp_path / "t")
    with open_table(tmp_path / "t", ReadOptions(categorical="x")) as table:
        for place, category in enumerate(table.read()["x"][:2]):
            filled = pq.read_table(io.BytesIO(fill_file(table, {"x": category})))
            expected = pa.array([*values, values[place]], type_)
            assert filled["x"].combine_chunks().equals(expected)


def test_categories_that_a_type_has_no_room_for_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1, 2, None]}), tmp_path / "t")
    schema = Schema((SchemaColumn("x", "category", ("1", "red")),))
    refused = pytest.raises(TableError, match="'red' from the model .* 'x', .* int64")
    with open_table(tmp_path / "t") as table, refused:
        fill_file(table, {"x": "red"}, schema=schema)


def save_grades(path, *groups):
    """Write ordered categories in groups of rows that have their own dictionaries."""
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array(places, pa.int8()), categories, ordered=True
        )
        for places, categories in groups
    ]
    table = pa.table({"grade": pa.chunked_array(chunks)})
    with pq.ParquetWriter(path, table.schema) as writer:
        for chunk in chunks:
            writer.write_table(pa.table({"grade": chunk}))


def fill_grades(path, grade):
    with open_table(path) as table:
        data = io.BytesIO(fill_file(table, {"grade": grade}))
    return pd.read_parquet(data)["grade"]


@pytest.mark.parametrize("most_cells", [2, 2**19])
def test_an_ordered_category_keeps_its_order(tmp_path, monkeypatch, most_cells):
    monkeypatch.setattr(_readers, "_CELLS", most_cells)
    categories = ["low", "mid", " high", "never"]
    save_grades(tmp_path / "t", ([2, 0, None, 1], categories), ([None, 1], categories))
    filled = fill_grades(tmp_path / "t", "high")
    assert filled.cat.categories.tolist() == categories
    assert filled.cat.ordered
    assert filled.tolist() == [" high", "low", " high", "mid", " high", "mid"]


@pytest.mark.parametrize("most_cells", [2, 2**19])
def test_categories_of_other_groups_of_rows_keep_their_order(
    tmp_path, monkeypatch, most_cells
):
    monkeypatch.setattr(_readers, "_CELLS", most_cells)
    save_grades(
        tmp_path / "t",
        ([0, 0, None, None, 0], ["low"]),
        ([2, 1, 0], ["low", "mid", "high", "never"]),
        ([None, 0], ["mid"]),
    )
    categories = ["low", "mid", "high", "never"]
    assert (
        pd.read_parquet(tmp_path / "t")["grade"].cat.categories.tolist() == categories
    )
    filled = fill_grades(tmp_path / "t", "high")
    assert filled.cat.categories.tolist() == categories
    assert "".join(category[0] for category in filled) == "llhhlhmlhm"


def test_categories_that_a_file_lacks_come_last(tmp_path):
    save_grades(tmp_path / "t", ([1, None], ["low", "mid"]), ([None, 0], ["high"]))
    filled = fill_grades(tmp_path / "t", "top")
    assert filled.cat.categories.tolist() == ["low", "mid", "high", "top"]
    assert filled.tolist() == ["mid", "top", "top", "high"]


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (pa.decimal128(38, 10), 1.5e20, Decimal("1.5e20")),
        (pa.decimal256(70, 30), -2.5e35, Decimal("-2.5e35")),
        (pa.decimal128(2, 1), 12.34, Decimal("9.9")),
        (pa.decimal128(2, 1), -1e300, Decimal("-9.9")),
    ],
)
def test_decimals_are_filled_up_to_what_they_have_room_for(
    tmp_path, type_, value, expected
):
    table = pa.table({"x": pa.array([Decimal(1), None], type_)})
    pq.write_table(table, tmp_path / "t")
    with open_table(tmp_path / "t") as file:
        filled = pq.read_table(io.BytesIO(fill_file(file, {"x": value})))
    assert filled["x"].to_pylist() == [1, expected]


def test_markers_are_found_in_numbers_and_texts(tmp_path):
    table = pa.table({"n": [1, -999, 3], "t": [" x ", "unknown", " "]})
    pq.write_table(table, tmp_path / "t")
    options = ReadOptions(missing=("-999", "unknown"))
    with open_table(tmp_path / "t", options) as file:
        frame = file.read()
        assert frame["n"].isna().tolist() == [False, True, False]
        assert frame["t"].isna().tolist() == [False, True, False]
        assert frame["t"][0] == "x"
        filled = pq.read_table(io.BytesIO(fill_file(file, {"n": 7, "t": "y"})))
    assert filled.to_pydict() == {"n": [1, 7, 3], "t": [" x ", "y", " "]}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_columns_that_no_estimator_takes_are_refused_with_advice(tmp_path, name):
    array, advice = UNSUPPORTED[name]
    pq.write_table(pa.table({"x": range(N_ROWS), name: array}), tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        with pytest.raises(TableError, match=f"{advice}.*--drop '{name}'"):
            table.read()
        (block,) = table.blocks(schema=Schema((SchemaColumn("x", "number"),)))
        assert block["x"].tolist() == [*range(N_ROWS)]


def test_infinite_numbers_are_refused_with_their_row(tmp_path, monkeypatch):
    monkeypatch.setattr(_readers, "_CELLS", 2)  # in the second batch
    pq.write_table(pa.table({"x": [1.0, 2.0, -np.inf]}), tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        assert table.columns[0].notices[-1].what == "infinite"
        with pytest.raises(TableError, match="-inf in row 3 of column 'x'.*--missing"):
            table.read()
    with open_table(tmp_path / "t", ReadOptions(missing="-inf")) as table:
        assert table.read()["x"].isna().tolist() == [False, False, True]


def test_blocks_have_the_size_that_is_asked_for(path, monkeypatch):
    monkeypatch.setattr(_readers, "_CELLS", 10)
    schema = Schema((SchemaColumn("f64", "number"), SchemaColumn("i8", "number")))
    with open_table(path) as table:
        blocks = list(table.blocks(5, schema=schema))
    assert [len(block) for block in blocks] == [5, 5, 2]
    assert {str(block["i8"].dtype) for block in blocks} == {"float64"}


def test_an_index_of_pandas_is_no_column_and_is_kept(tmp_path):
    frame = pd.DataFrame({"x": [1.0, None, 3.0]}, index=[5, 7, 9])
    frame.to_parquet(tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        assert table.names == ("x",)
        back = pd.read_parquet(io.BytesIO(fill_file(table, {"x": 2.0})))
    assert back.index.tolist() == [5, 7, 9]
    assert back["x"].tolist() == [1.0, 2.0, 3.0]


def test_numbers_of_rows_and_long_integers_are_noticed(tmp_path):
    table = pa.table({"row": range(30), "code": [2**60 + k // 2 for k in range(30)]})
    pq.write_table(table, tmp_path / "t")
    with open_table(tmp_path / "t") as file:
        words = [[notice.what for notice in column.notices] for column in file.columns]
    assert words == [["id-like"], ["digits"]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-20], "begins as Parquet does, but could not be"),
        (lambda data: b"PAR1 and something else", "could not be read"),
        (lambda data: data[:8] + bytes(200) + data[208:], "could not be read"),
    ],
)
def test_damaged_files_are_refused(path, tmp_path, damage, message):
    (tmp_path / "t").write_bytes(damage(path.read_bytes()))
    with pytest.raises(TableError, match=message) as caught:
        open_table(tmp_path / "t", ReadOptions(drop=("list",))).read()
    assert len(str(caught.value).splitlines()) == 1


def test_rows_that_are_not_there_are_noticed(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "t")
    with open_table(tmp_path / "t") as table:
        table.reader.n_rows = 3  # as damaged metadata might say
        with pytest.raises(
            TableError, match="Got 2 rows in .*, but expected 3, as its"
        ):
            table.read()


def test_files_without_rows_or_columns_are_refused(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "rows")
    with pytest.raises(TableError, match="columns and no rows"):
        open_table(tmp_path / "rows").read()
    pq.write_table(pa.table({}), tmp_path / "columns")
    with pytest.raises(TableError, match="has no columns"):
        open_table(tmp_path / "columns")


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    pq.write_table(table, tmp_path / "t")
    with pytest.raises(TableError, match="duplicate field names"):
        open_table(tmp_path / "t")


def test_complete_rows_are_not_passed_to_the_model(path):
    sizes = []

    def answer(frame):
        sizes.append(len(frame))
        return frame

    schema = Schema((SchemaColumn("i8", "number"),))
    with open_table(path) as table:
        count = write_filled(table, io.BytesIO(), answer, schema=schema)
    assert sum(sizes) == 4
    assert (count.n_rows, count.filled, count.left) == (N_ROWS, {}, {"i8": 4})
