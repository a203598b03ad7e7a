import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from own_tables import read, save

from lacunet.tables import ReadOptions, _csv, open_table


@pytest.fixture
def small_chunks(monkeypatch):
    """Read a file in pieces of a few rows."""
    monkeypatch.setattr(_csv, "_LEAST_CHUNK", 50)
    monkeypatch.setattr(_csv, "_BYTES_A_COLUMN", 1)


def random_table(rng, n_rows):
    """A table of all kinds, with holes."""
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows).round(3),
            "whole": rng.integers(-5, 500, n_rows),
            "word": rng.choice(["red", 'say "hi"', "a, b", "two\nlines", "ż"], n_rows),
            "flag": rng.choice([True, False], n_rows),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 999, n_rows), unit="D"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.2)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_what_pandas_writes_is_read(tmp_path, small_chunks, sep, seed):
    table = random_table(np.random.default_rng(seed), n_rows=40)
    decimal = "," if sep == ";" else "."
    text = table.to_csv(index=False, sep=sep, decimal=decimal)
    frame = read(tmp_path, text)
    assert frame.columns.tolist() == table.columns.tolist()
    assert (frame.isna() == table.isna()).to_numpy().all()
    for name in table:
        present = table[name].notna()
        assert frame[name][present].tolist() == table[name][present].tolist(), name


def test_blocks_are_pieces_of_the_whole(tmp_path, small_chunks):
    table = random_table(np.random.default_rng(0), n_rows=57)
    with open_table(save(tmp_path, table.to_csv(index=False))) as file:
        whole, blocks = file.read(), list(file.blocks(10))
        assert [len(block) for block in blocks] == [10] * 5 + [7]
        together = pd.concat(blocks, ignore_index=True)
        pd.testing.assert_frame_equal(
            together.astype(object), whole.astype(object), check_dtype=False
        )
        assert len(next(file.blocks())) == file.n_rows == 57


def test_blocks_have_the_same_types_whether_or_not_they_have_holes(tmp_path):
    text = "a,b\n" + "1,1\n" * 5 + ",2\n"
    with open_table(save(tmp_path, text)) as table:
        types = [[str(dtype) for dtype in block.dtypes] for block in table.blocks(2)]
    assert types == [["float64", "int64"]] * 3


def test_columns_are_left_out(tmp_path):
    path = save(tmp_path, "a,b,c\n1,x,2\n")
    with open_table(path, ReadOptions(drop=("b",))) as table:
        assert table.names == ("a", "b", "c")
        assert [column.name for column in table.columns] == ["a", "c"]
        assert table.read().columns.tolist() == ["a", "c"]


def test_options_may_be_given_as_one_text():
    assert ReadOptions(missing="?", drop="id") == ReadOptions(("?",), ("id",))


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(_csv, "_LEAST_CHUNK", 2**15)

    def peak(n_rows):
        path = save(tmp_path, "a,b,c\n" + "12.5,red,7\n" * n_rows)
        in_arrow = n_found = 0
        tracemalloc.start()
        with open_table(path) as table:
            for block in table.blocks(1000):
                in_arrow = max(in_arrow, pa.total_allocated_bytes())
                n_found += len(block)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert n_found == n_rows
        return most + in_arrow

    peak(1000)  # imports
    assert peak(80_000) < 1.2 * peak(20_000)


def test_a_table_names_itself(tmp_path):
    with open_table(save(tmp_path, "a,b\n1,2\n")) as table:
        assert repr(table) == f"<TableFile {tmp_path / 'table.csv'}: 2 columns>"
