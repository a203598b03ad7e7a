"""What the command takes from a fit: summaries of columns, and rows that are drawn."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lacunet import LacunetClassifier
from lacunet.distributed import ParquetRows, Run
from lacunet.tables import Schema, summarize_columns


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    rows = pd.DataFrame(
        {
            "age": rng.randint(20, 80, 1000).astype(float),
            "score": rng.randn(1000),
            "town": rng.choice(["Rome", "Bonn", "Oslo"], 1000, p=[0.5, 0.3, 0.2]),
            "vip": rng.rand(1000) < 0.3,
            "since": pd.Timestamp("2021-01-01")
            + pd.to_timedelta(rng.randint(0, 700, 1000), unit="D"),
        }
    )
    rows["ill"] = np.where(rows["age"] > 50, "yes", "no")
    rows.loc[rng.rand(1000) < 0.2, ["age", "town"]] = None
    return rows


@pytest.fixture
def folder(table, tmp_path):
    for k, part in enumerate([table[:300], table[300:700], table[700:]]):
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=150)
    return tmp_path


def make_model():
    return LacunetClassifier(n_networks=1, max_epochs=1, random_state=0)


def test_columns_are_summarised_as_in_memory(table, folder):
    run = Run(make_model(), folder, target="ill")
    run.fit()
    schema = Schema.of_model(run.estimator)
    expected = summarize_columns(table, schema)
    pairs = zip(run.reader.names, run.summary.columns, strict=True)
    found = [sketch.summarise(name) for name, sketch in pairs]
    for one, two in zip(found, expected, strict=True):
        assert (one.name, one.kind) == (two.name, two.kind)
        assert (one.n_rows, one.n_missing) == (two.n_rows, two.n_missing)
        assert one.categories == two.categories
        if one.edges:
            assert (one.edges[0], one.edges[-1]) == (two.edges[0], two.edges[-1])
            width = two.edges[-1] - two.edges[0]
            np.testing.assert_allclose(one.edges, two.edges, atol=0.01 * width)
            assert sum(one.counts) == one.n_observed
        np.testing.assert_allclose(one.counts, two.counts, atol=5)


def test_rows_are_drawn_from_both_sides_of_the_split(table, folder, monkeypatch):
    monkeypatch.setattr("lacunet.distributed._fit._MOST_HELD_OUT", 50)
    table["ill"] = table["ill"].where(np.arange(1000) % 2 == 0)
    table.to_parquet(folder / "0.parquet", row_group_size=150)
    data = folder / "0.parquet"
    run = Run(make_model(), data, target="ill", hold_out=0.3, drop=["vip"])
    run.fit()
    assert len(run.held_out) == 50
    assert len(run.sample) == sum(run.summary.counts.values())
    for rows in (run.held_out, run.sample):
        assert rows.column("ill").null_count == 0
    assert run.sample.column_names == ["age", "score", "town", "since", "ill"]
    held, kept = (
        set(rows.column("score").to_pylist()) for rows in (run.held_out, run.sample)
    )
    assert not held & kept
    assert held | kept <= set(table["score"])


def test_a_preview_is_from_all_over_the_files(table, folder):
    rows = ParquetRows.open(folder)
    assert rows.preview(["score"], n_rows=10_000).column("score").to_pylist() == (
        table["score"].tolist()
    )
    few = rows.preview(["town", "score"], n_rows=24)
    assert few.column_names == ["town", "score"]
    assert len(few) == 24 // len(rows.groups) * len(rows.groups)
    assert few.column("score")[0].as_py() == table["score"][0]
    assert few.column("score")[-1].as_py() in set(table["score"][700:])


def test_a_preview_goes_past_row_groups_that_can_not_be_read(folder):
    path = folder / "1.parquet"
    data = bytearray(path.read_bytes())
    data[8:400] = b"x" * 392
    path.write_bytes(data)
    rows = ParquetRows.open(folder)
    with pytest.raises(ValueError, match=r"1\.parquet, row group 0"):
        rows.preview(list(rows.names), n_rows=10_000)
    found = rows.preview(list(rows.names), n_rows=10_000, skip_bad_files=True)
    assert isinstance(found, pa.Table)
    assert 600 <= len(found) < 1000
