import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from lacunet.exceptions import TableError
from lacunet.tables import (
    Drift,
    ModelTable,
    Schema,
    SchemaColumn,
    open_table,
    summarize_columns,
)

SCHEMA = Schema(
    (
        SchemaColumn("age", "number"),
        SchemaColumn("income", "number"),
        SchemaColumn("visits", "number", had_missing=False),
        SchemaColumn("tail", "number", had_missing=False),
        SchemaColumn("since", "date"),
        SchemaColumn("town", "category", ("Bonn", "Oslo", "Rome")),
        SchemaColumn("member", "category", (False, True)),
        SchemaColumn("grade", "category", (1, 2, 3), had_missing=False),
        SchemaColumn("note", "empty"),
    )
)


def draw_rows(n_rows, seed=0):
    """Return rows of all kinds, with skewed, discrete and heavy-tailed numbers."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 1000, n_rows)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n_rows),
            "income": rng.lognormal(3, 1, n_rows),
            "visits": rng.poisson(0.4, n_rows),
            "tail": rng.standard_t(2, n_rows),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "town": rng.choice(["Rome", "Bonn", "Oslo"], n_rows, p=[0.6, 0.3, 0.1]),
            "member": rng.random(n_rows) < 0.3,
            "grade": rng.integers(1, 4, n_rows).astype(float),
            "note": np.nan,
        }
    )
    missing = rng.random((n_rows, 5)) < [0.05, 0.2, 0.5, 0.3, 0.1]
    frame["member"] = frame["member"].astype(object)
    for name, where in zip(
        ["age", "income", "since", "town", "member"], missing.T, strict=True
    ):
        frame.loc[where, name] = None
    return frame


TRAINING = draw_rows(500)
SUMMARY = summarize_columns(TRAINING, SCHEMA)


def compare(*blocks, training=SUMMARY, schema=SCHEMA, lacking=()):
    drift = Drift(schema, training, lacking=lacking)
    for block in blocks:
        drift.update(block)
    return {column.name: column for column in drift.compare()}


def changes(*blocks, **more):
    """Return the changes of the columns that have some."""
    found = compare(*blocks, **more)
    return {name: each.changes for name, each in found.items() if each.changes}


def test_the_rows_of_training_have_not_changed():
    assert changes(TRAINING) == {}


@pytest.mark.parametrize(("n_training", "n_rows"), [(60, 50), (60, 5000), (500, 400)])
def test_other_rows_of_the_same_kind_are_seldom_reported(n_training, n_rows):
    n_reported = 0
    for seed in range(80):
        training = summarize_columns(draw_rows(n_training, 1000 + seed), SCHEMA)
        n_reported += bool(changes(draw_rows(n_rows, seed), training=training))
    assert n_reported < 4


@pytest.mark.parametrize("n_rows", [1, 5, 500])
@pytest.mark.parametrize("factor", [1000, 0.001, -2])
def test_numbers_in_another_unit_are_outside(n_rows, factor):
    ages = pd.DataFrame({"age": factor * np.linspace(45, 55, n_rows)})
    schema = Schema((SchemaColumn("age", "number"),))
    if n_rows == 1 and factor == 0.001:
        return  # one value of 0.05 is not far from a range that starts at 20
    text = changes(ages, schema=schema)["age"]["outside"]
    part = {1: "the only value is", 5: "all 5 values are", 500: "all 500 values are"}
    assert text.startswith(f"{part[n_rows]} outside ")
    assert ("factor of about 1,000 (another unit?)" in text) == (factor > 0)
    assert ("larger" in text) == (factor == 1000)


def test_one_value_far_outside_is_reported_and_one_at_the_border_is_not():
    rows = draw_rows(5000, 3)
    rows.loc[7, "age"] = TRAINING["age"].max() + 1
    assert "age" not in changes(rows)
    rows.loc[7, "age"] = -999
    found = changes(rows)["age"]["outside"]
    assert found.endswith(f"the new one is -999 to {rows['age'].max():.6g}")
    alone = changes(rows[7:8])["age"]["outside"]
    assert alone.startswith("the only value is")
    assert alone.endswith("training: -999")


def test_dates_are_compared_as_dates():
    rows = draw_rows(50, 1)
    rows["since"] += pd.Timedelta(days=3000)
    text = changes(rows)["since"]["outside"]
    low, high = TRAINING["since"].agg(["min", "max"]).dt.date
    assert f"outside {low} to {high}, the range of training" in text
    assert text.endswith(
        f"{rows['since'].min().date()} to {rows['since'].max().date()}"
    )
    hour = pd.DataFrame({"since": [pd.Timestamp("2030-01-01 12:30"), pd.NaT]})
    schema = Schema((SchemaColumn("since", "date"),))
    assert changes(hour, schema=schema)["since"]["outside"].endswith(
        ": 2030-01-01 12:30:00"
    )


def blank(rows, name, fraction):
    n_missing = round(fraction * len(rows))
    return rows.assign(**{name: [None] * n_missing + [*rows[name][n_missing:]]})


@pytest.mark.parametrize(
    ("name", "fraction", "n_rows", "reported"),
    [
        ("age", 0.3, 200, True),
        ("age", 0.3, 5, False),
        ("age", 0.08, 100_000, False),  # 5% in training: certain, but a trifle
        ("since", 0.6, 5, False),
        ("since", 0.0, 100, True),
        ("town", 0.9, 50, True),
    ],
)
def test_missing_rates(name, fraction, n_rows, reported):
    rows = draw_rows(n_rows, 1)
    rows[name] = draw_rows(2 * n_rows + 50, 2)[name].dropna().to_numpy()[:n_rows]
    found = changes(blank(rows, name, fraction)).get(name, {})
    assert ("missing" in found) == reported
    if reported:
        assert found["missing"].startswith(f"missing in {fraction:.0%} of the rows, in")


def test_any_missing_value_is_reported_where_training_had_none():
    found = changes(blank(draw_rows(50, 1), "visits", 0.02))
    assert found["visits"]["missing"] == (
        "missing in 1 of 50 rows but in none of training, so that nothing was learned "
        "about that"
    )


def test_unseen_categories_are_counted_and_named():
    rows = draw_rows(100, 1)
    rows.loc[:3, "town"] = ["Kiel", "Nice", "Kiel", "Bari"]
    rows.loc[5, "grade"] = 4
    found = changes(rows)
    n_towns = rows["town"].notna().sum()
    assert found["town"]["categories"] == (
        f"4 of {n_towns} values ({4 / n_towns:.1%}) are of categories that the model "
        f"has not seen, counted as missing: 'Kiel', 'Nice', 'Bari'"
    )
    assert found["grade"]["categories"].endswith(
        "is of a category that the model has not seen, counted as missing: '4'"
    )


def test_another_distribution_within_the_range_is_reported():
    rows = draw_rows(200, 1)
    rows["age"] = rows["age"] / 2 + 30
    rows["town"] = np.where(rows["town"] == "Rome", "Oslo", rows["town"])
    found = changes(rows)
    assert set(found) == {"age", "town"}
    fraction = (rows["town"] == "Oslo").sum() / rows["town"].notna().sum()
    before = (TRAINING["town"] == "Rome").sum() / TRAINING["town"].notna().sum()
    assert found["town"]["distribution"] in (
        f"'Rome' is 0% of the values, in training {before:.0%}",
        f"'Oslo' is {fraction:.0%} of the values, in training 11%",
    )
    assert " of the values are at most " in found["age"]["distribution"]


def test_columns_are_sorted_by_how_much_has_changed():
    rows = draw_rows(200, 1)
    rows["age"] *= 100
    rows.loc[:19, "town"] = "Kiel"
    found = compare(rows, lacking=["member"])
    assert [*found][:3] == ["age", "member", "town"]
    assert found["member"].changes == {
        "lacking": "not in the table, so missing in every row"
    }
    assert found["member"].fraction_missing == 1
    assert "note" not in found  # of which training had no value


@pytest.mark.parametrize("size", [1, 7, 1000, 4096])
def test_blocks_make_no_difference(size):
    rows = pd.concat([draw_rows(3000, 1), 3 * draw_rows(1500, 2)[["age"]]])
    rows = rows.iloc[: 60 * size].reset_index(drop=True)
    rows.loc[10:900, "town"] = [f"t{k}" for k in rows.index[10:901]]
    blocks = [rows[k : k + size] for k in range(0, len(rows), size)]
    assert compare(rows[:0], *blocks, rows[:0]) == compare(rows)


def test_no_rows_have_not_changed():
    found = compare(TRAINING[:0])
    assert all(not each.changes for each in found.values())
    assert changes() == {}


def test_fractions_are_those_of_the_bins_of_training():
    found = compare(TRAINING)
    for summary in SUMMARY:
        before = np.array(summary.counts) / summary.n_observed
        inside = found[summary.name].fractions
        if summary.kind == "category":
            np.testing.assert_allclose(inside, [*before, 0, 0], atol=1e-12)
        else:
            np.testing.assert_allclose(inside, [0, *before, 0])


def test_a_summary_is_small():
    rows = draw_rows(3000)
    rows["town"] = [f"t{k % 300}" for k in range(3000)]
    names = tuple(f"t{k}" for k in range(300))
    schema = Schema((*SCHEMA.columns[:5], SchemaColumn("town", "category", names)))
    summary = summarize_columns(rows, schema)
    assert max(len(each.counts) for each in summary) == 50
    assert summary[2].edges == (0, 1, 2, *summary[2].edges[3:])  # ties are one bin
    assert changes(rows, training=summary, schema=schema) == {}


def test_without_a_summary_the_schema_is_compared():
    rows = blank(draw_rows(50, 1), "visits", 0.5)
    rows.loc[0, "town"] = "Kiel"
    rows["age"] *= 1000
    assert {k: [*v] for k, v in changes(rows, training=()).items()} == {
        "visits": ["missing"],
        "town": ["categories"],
    }
    assert Drift(SCHEMA, SUMMARY[1:]).unsummarized == ("age",)


def test_unseen_spellings_of_booleans_are_named_and_not_called_missing(tmp_path):
    (tmp_path / "new.csv").write_text("member\n" + "yes\nja\nja\nno\n" * 20)
    schema = Schema((SchemaColumn("member", "category", (False, True), False),))
    drift, unseen = Drift(schema, [SUMMARY[6]]), {}
    with open_table(tmp_path / "new.csv") as table:
        for block in table.blocks(30, schema=schema, unseen=unseen):
            drift.update(block, unseen)
    [member] = drift.compare()
    assert member.changes["categories"] == (
        "there are categories that the model has not seen, counted as missing: 'ja'"
    )
    assert "missing" not in member.changes


def test_with_what_the_reader_found_the_counts_are_the_same():
    rows = draw_rows(300, 1)
    rows.loc[50:60, "town"] = "Kiel"
    given, found = Drift(SCHEMA, SUMMARY), Drift(SCHEMA, SUMMARY)
    for start in range(0, 300, 100):
        block = rows[start : start + 100]
        given.update(block, {"town": ["Kiel"]})
        found.update(block)
    assert given.compare() == found.compare()


def test_infinite_values_and_constants_are_no_error():
    rows = pd.DataFrame({"age": [np.inf, -np.inf, 1.0, 1.0, np.nan]})
    schema = Schema((SchemaColumn("age", "number"),))
    training = summarize_columns(rows, schema)
    assert training[0].edges == (1.0,)
    assert "outside" in changes(TRAINING, training=training, schema=schema)["age"]
    assert summarize_columns(rows[:2], schema) == ()
    found = changes(rows.assign(age=np.inf), training=SUMMARY, schema=schema)
    assert found["age"]["outside"].endswith("training: inf")


@pytest.mark.parametrize("n_common", [150, 290])
@pytest.mark.parametrize("common", [0.0, 1.0])
def test_numbers_with_two_values_have_a_range(common, n_common):
    schema = Schema((SchemaColumn("x", "number"),))
    values = [common] * n_common + [1 - common] * (300 - n_common)
    rows = pd.DataFrame({"x": values})
    training = summarize_columns(rows, schema)
    for x, reported in ((50, True), (-50, True), (1.5, False), (-0.5, False)):
        new = rows.assign(x=[x, *rows["x"][1:]])
        assert bool(changes(new, training=training, schema=schema)) == reported


def test_the_record_beside_a_model_has_the_summaries(tmp_path):
    known = ModelTable("t.csv", "y", training=SUMMARY)
    (tmp_path / ModelTable.FILE_NAME).write_text(known.to_text())
    assert ModelTable.read(tmp_path) == known


@pytest.mark.parametrize(
    "change",
    [
        {"name": 1},
        {"kind": "text"},
        {"n_rows": -1},
        {"n_rows": 3},
        {"n_missing": "1"},
        {"edges": [2.0, 1.0]},
        {"edges": [float("nan")], "counts": [1]},
        {"edges": 1},
        {"counts": [1]},
        {"counts": [], "edges": []},
        {"other": 1},
        ["x"],
    ],
)
def test_a_damaged_summary_is_refused(tmp_path, change):
    record = json.loads(ModelTable("t.csv", "y").to_text())
    record["training"] = [change if "x" in change else asdict(SUMMARY[0]) | change]
    (tmp_path / ModelTable.FILE_NAME).write_text(json.dumps(record))
    with pytest.raises(TableError, match="damaged .*Fit again"):
        ModelTable.read(tmp_path)
