import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lacunet.distributed._parquet import ParquetRows
from lacunet.exceptions import TableError


def write(path, columns, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def read(rows, columns=None, n_rows=2**14):
    """Return all rows as columns of Python values, in the order of the groups."""
    batches = [b for g in rows.groups for b in rows.batches(g, columns, n_rows)]
    return pa.Table.from_batches(batches).to_pydict()


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three files, one of them of two row groups."""
    write(tmp_path / "data/b.parquet", {"x": [1, 2, 3], "t": ["u", None, "v"]})
    write(tmp_path / "data/a.pq", {"t": ["w"], "x": [0.5]})
    write(
        tmp_path / "data/c/d.parq", {"x": [4, 5, 6], "t": list("xyz")}, row_group_size=2
    )
    for name in ("_metadata.parquet", ".b.parquet", "c/readme.txt", "_old/e.parquet"):
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_text("ignored")
    return tmp_path / "data"


def test_files_of_a_folder_are_one_table_in_the_order_of_their_paths(folder):
    rows = ParquetRows.open(folder)
    assert rows.names == ("t", "x")
    assert read(rows, ["x", "t"]) == {
        "x": [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "t": ["w", "u", None, "v", "x", "y", "z"],
    }
    found = [
        (g.number, rows.relative(g.path), g.index, g.first_row, g.n_rows)
        for g in rows.groups
    ]
    assert found == [
        (0, "a.pq", 0, 0, 1),
        (1, "b.parquet", 0, 0, 3),
        (2, "c/d.parq", 0, 0, 2),
        (3, "c/d.parq", 1, 2, 1),
    ]
    assert rows.n_rows == 7
    assert rows.skipped == {}


@pytest.mark.parametrize(
    ("name", "n_files"),
    [("b.parquet", 1), ("*.p*q*", 2), ("**/*.par*", 2), ("[ab].p*", 2), ("?", 1)],
)
def test_patterns(folder, name, n_files, monkeypatch):
    monkeypatch.chdir(folder)
    rows = ParquetRows.open(name)
    assert len(rows.paths) == n_files
    assert all(map(os.path.isabs, rows.paths))  # for workers in other folders
    assert rows.digest == ParquetRows.open(folder / name).digest


def test_a_list_has_each_file_once(folder):
    rows = ParquetRows.open([folder / "b.parquet", str(folder), str(folder / "*.pq")])
    assert rows == ParquetRows.open(folder)


def test_a_dataset_is_its_files(folder):
    dataset = ds.dataset([str(x) for x in (folder / "a.pq", folder / "b.parquet")])
    rows = ParquetRows.open(dataset)
    assert rows == ParquetRows.open(f"{folder}/*.p*q*")
    with pytest.raises(TableError, match="a dataset with a filter.*write_dataset"):
        ParquetRows.open(dataset.filter(ds.field("x") > 1))
    with pytest.raises(TableError, match="InMemoryDataset"):
        ParquetRows.open(ds.dataset(pa.table({"x": [1]})))


def test_columns_in_names_of_folders_are_refused(tmp_path):
    for year in (2023, 2024):
        write(tmp_path / f"year={year}/a.parquet", {"x": [1.0]})
    with pytest.raises(TableError, match="column 'year' in the name of a folder"):
        ParquetRows.open(tmp_path)
    with pytest.raises(TableError, match="columns in the names of folders"):
        ParquetRows.open(ds.dataset(tmp_path, partitioning="hive"))
    assert ParquetRows.open(tmp_path / "year=2024").names == ("x",)
    assert ParquetRows.open(tmp_path, columns=["x"]).n_rows == 2


def test_addresses_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    for name in ("a", "b"):
        with fsspec.open(f"memory://bucket/{name}.parquet", "wb") as stream:
            pq.write_table(pa.table({"x": [name]}), stream)
    for address in ("memory://bucket", "memory://bucket/*.parquet"):
        rows = ParquetRows.open(address)
        assert read(rows) == {"x": ["a", "b"]}
        assert [*map(rows.relative, rows.paths)] == ["a.parquet", "b.parquet"]
    with rows.local(rows.paths[1]) as path:
        assert pq.read_table(path).to_pydict() == {"x": ["b"]}
    with pytest.raises(TableError, match="nosuch"):
        ParquetRows.open("nosuch://bucket")


@pytest.mark.parametrize("data", ["nothing", "nothing/*.parquet", ["empty"]])
def test_no_file(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    with pytest.raises(TableError):
        ParquetRows.open(data)


@pytest.mark.parametrize("data", [None, 3, [], {}])
def test_no_data(data):
    with pytest.raises(TypeError, match="Got data="):
        ParquetRows.open(data)


STAMP = np.array(["2024-05-01", "NaT"], "M8[s]")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (pa.array([1, 2]), pa.array([3, 4]), pa.int64()),
        (pa.array([1, 2]), pa.array([3, None], pa.float32()), pa.float64()),
        (pa.array([1, 2], pa.int8()), pa.array([3, 2**60]), pa.float64()),
        (pa.array(["u", "v"]), pa.array(["u", None]).dictionary_encode(), pa.string()),
        (pa.array(["u", "v"], pa.large_string()), pa.array(["u", "v"]), pa.string()),
        (pa.nulls(2), pa.array([True, None]), pa.bool_()),
        (pa.nulls(2), pa.nulls(2), pa.null()),
        (pa.array(STAMP), pa.array(STAMP.astype("M8[us]")), pa.timestamp("us")),
    ],
)
def test_types_of_files_together(tmp_path, first, second, expected):
    write(tmp_path / "a.parquet", {"x": first})
    write(tmp_path / "b.parquet", {"x": second})
    rows = ParquetRows.open(tmp_path)
    assert rows.schema.field("x").type == expected
    found = read(rows)["x"]
    assert found == [*first.to_pylist(), *second.to_pylist()]


def test_the_index_of_pandas_is_no_column(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame[1:].to_parquet(tmp_path / "b.parquet", index=True)
    assert ParquetRows.open(tmp_path).names == ("x",)


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def _append_empty_group(path):
    table = pa.table({"x": [1.0], "t": ["u"]})
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table[:0])


BAD = {
    "text": (
        lambda p: p.write_text("x,t\n1,2\n" * 5),
        "can't be read .*, but expected",
    ),
    "no bytes": (lambda p: p.write_bytes(b""), "which is empty, but expected"),
    "truncated": (_truncate, "can't be read .*, but expected a Parquet file"),
    "lacking": (lambda p: write(p, {"x": [1.0]}), "without column 't', .*3 of 4 files"),
    "more": (
        lambda p: write(p, {"x": [1.0], "t": ["u"], "z": [1]}),
        "with column 'z', but expected none of that name",
    ),
    "type": (
        lambda p: write(p, {"x": ["one"], "t": ["u"]}),
        "column 'x' of type string, but expected double, as in 3 of 4 files",
    ),
    "no rows": (
        lambda p: write(p, {"x": pa.array([], pa.float64()), "t": pa.array([], "str")}),
        "which has no rows",
    ),
    "no rows in a group": (_append_empty_group, "row group 1, which has no rows"),
}


@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_named_or_left_out(folder, spoil, message):
    bad = write(folder / "a-first.parquet", {"x": [1.0], "t": ["u"]})
    spoil(bad)
    with pytest.raises(TableError, match=f"a-first.parquet, .*{message}") as caught:
        ParquetRows.open(folder)
    assert "skip_bad_files=True (--skip-bad-files)" in str(caught.value)
    rows = ParquetRows.open(folder, skip_bad_files=True)
    assert list(rows.skipped) == [str(bad)]
    assert rows.skipped[str(bad)] in str(caught.value)
    assert rows.n_rows == 7


def test_bad_files_alone_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_text("no Parquet")
    with pytest.raises(TableError, match=r"2 files, none of which .*a.parquet, which"):
        ParquetRows.open(tmp_path, skip_bad_files=True)


def test_columns_that_matter_are_compared_alone(tmp_path):
    write(tmp_path / "a.parquet", {"x": [1.0], "note": ["u"]})
    write(tmp_path / "b.parquet", {"x": [1], "note": [1], "z": [2]})
    rows = ParquetRows.open(tmp_path, columns=["x", "y"])
    assert rows.names == ("x",)
    with pytest.raises(TableError, match=r"b.parquet, with column 'z'"):
        ParquetRows.open(tmp_path)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_a_damaged_page_is_named(tmp_path, compression):
    path = write(
        tmp_path / "a.parquet",
        {"x": np.random.RandomState(0).rand(4000)},
        row_group_size=2000,
        compression=compression,
        write_page_checksum=True,
    )
    data = bytearray(path.read_bytes())
    middle = slice(3 * len(data) // 4, 3 * len(data) // 4 + 50)
    data[middle] = bytes(255 - each for each in data[middle])
    path.write_bytes(data)
    rows = ParquetRows.open(path)
    assert sum(map(len, rows.batches(rows.groups[0]))) == 2000
    with pytest.raises(
        TableError, match=r"a.parquet, row group 1, which can't be read"
    ):
        list(rows.batches(rows.groups[1]))


def test_a_file_that_has_changed_is_refused(folder):
    rows = ParquetRows.open(folder)
    write(folder / "b.parquet", {"x": [1], "t": ["u"]})
    with pytest.raises(TableError, match=r"b.parquet, row group 0, changed since"):
        list(rows.batches(rows.groups[1]))


def test_batches_have_the_rows_and_columns_that_are_asked_for(tmp_path):
    x = np.arange(1000.0)
    path = write(tmp_path / "a.parquet", {"a.b": x, "a": -x, "c": x})
    rows = ParquetRows.open(path)
    batches = [*rows.batches(rows.groups[0], ["c", "a"], n_rows=300)]
    assert [len(batch) for batch in batches] == [300, 300, 300, 100]
    assert batches[1].schema.names == ["c", "a"]
    assert batches[1].column("a").to_pylist() == list(-x[300:600])


def test_without_a_file(folder):
    rows = ParquetRows.open(folder)
    left = rows.without(str(folder / "b.parquet"), "was bad")
    assert left.skipped == {str(folder / "b.parquet"): "was bad"}
    assert [group.number for group in left.groups] == [0, 1, 2]
    assert left.n_rows == 4
    assert left.digest != rows.digest
    alone = ParquetRows.open(folder / "a.pq")
    with pytest.raises(TableError, match=r"1 file, none of which .*a.pq, was bad"):
        alone.without(*alone.paths, "was bad")


def test_errors_of_row_groups_come_back_from_workers_as_they_are(folder):
    rows = ParquetRows.open(folder)
    error = pickle.loads(pickle.dumps(rows.refuse(rows.groups[3], "all missing")))
    assert f"Got {error.path}, row group 1, all missing. Write the" in str(error)
    assert error.reason == "row group 1, all missing"


def test_the_digest_is_of_what_the_data_set_is(folder, tmp_path):
    digest = ParquetRows.open(folder).digest
    assert pickle.loads(pickle.dumps(ParquetRows.open(folder))).digest == digest
    folder.rename(tmp_path / "moved")
    assert ParquetRows.open(tmp_path / "moved").digest == digest
    write(tmp_path / "moved/a.pq", {"t": ["w"], "x": [0.5], "z": [1]})
    skipped = ParquetRows.open(tmp_path / "moved", skip_bad_files=True)
    assert skipped.digest != digest
