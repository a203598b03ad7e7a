import numpy as np
import pandas as pd
import pytest

from lacunet.report import write_check
from lacunet.report._check import draw_column
from lacunet.tables import Drift, Schema, SchemaColumn, summarize_columns

EVIL = "<script>alert(1)</script>"
TOWNS = tuple(f"town {k:02}" for k in range(20))
SCHEMA = Schema(
    (
        SchemaColumn(EVIL, "number"),
        SchemaColumn("visits", "number", had_missing=False),
        SchemaColumn("since", "date"),
        SchemaColumn("town", "category", TOWNS),
        SchemaColumn("gone", "number"),
    )
)


def draw_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    days = pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    return pd.DataFrame(
        {
            EVIL: rng.normal(size=n_rows),
            "visits": rng.poisson(1, n_rows).astype(float),
            "since": pd.Timestamp("2020-01-01") + days,
            "town": rng.choice(TOWNS, n_rows),
            "gone": 1.0,
        }
    )


@pytest.fixture(scope="module")
def columns():
    training = summarize_columns(draw_rows(300, 0), SCHEMA)
    drift = Drift(SCHEMA, training, lacking=["gone"])
    rows = draw_rows(100, 1)
    rows[EVIL] -= 9
    rows["since"] += pd.Timedelta(days=500)
    rows.loc[:5, "town"] = EVIL
    rows.loc[:5, "visits"] = np.nan
    drift.update(rows)
    return drift.compare()


def test_every_changed_column_has_a_card_and_every_column_a_row(columns, tmp_path):
    text = write_check(columns, tmp_path / "check.html").read_text("utf-8")
    assert "5 of 5 columns not as in training" in text
    assert text.count('<article class="card') == 5
    assert text.count("<svg") == 4  # none of the one that lacks
    assert text.count('<th scope="row">') == 5
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_the_same_columns_give_the_same_page(columns, tmp_path):
    pages = [write_check(columns, tmp_path / name) for name in ("a.html", "b.html")]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_drawings_name_bins_and_categories(columns):
    named = {column.name: draw_column("c", column) for column in columns}
    assert ">below -" in named[EVIL]
    assert ">above 20" in named["since"]
    assert all(f">{label}<" in named["visits"] for label in ("0", "1", "2"))
    assert ">other categories<" in named["town"]
    assert ">not seen in training<" in named["town"]


def test_without_a_change_there_is_only_the_table(tmp_path):
    drift = Drift(SCHEMA, summarize_columns(draw_rows(300, 0), SCHEMA))
    drift.update(draw_rows(100, 1))
    page = write_check(drift.compare(), tmp_path / "a.html").read_text("utf-8")
    assert "No noticeable change" in page
    assert "Changed columns" not in page
