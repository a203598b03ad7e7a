"""The benchmark on tables: resumed, summed up, with words and missing values."""

import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def tables(monkeypatch):
    # `python -m pytest` has it there already, `pytest` alone has not.
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.tables")


@pytest.fixture
def methods(tables):
    return importlib.import_module("benchmarks.table_methods")


@pytest.fixture
def small(tables, monkeypatch):
    """Stand in for two tables, one of them a regression."""
    random_state = np.random.RandomState(0)
    X = pd.DataFrame({"number": random_state.normal(size=60)})
    X["word"] = random_state.choice(["a", "b", None], 60)
    X.loc[::5, "number"] = np.nan
    y = X["number"].fillna(0).to_numpy() + (X["word"] == "a")
    stand_ins = {
        "titanic": tables.Table(X, (y > 0).astype(int), "Classifier", ["word"]),
        "ames": tables.Table(X, y.to_numpy(), "Regressor", ["word"]),
    }
    monkeypatch.setattr(tables, "load_table", stand_ins.__getitem__)


ASKED = ["--tables", "titanic", "ames", "--methods", "linear", "hgb", "--folds", "2"]


def test_a_run_goes_on_where_it_was(tables, small, tmp_path, capsys):
    out = tmp_path / "cells.jsonl"
    tables.main([*ASKED, "--out", str(out)])
    lines = out.read_text("utf-8").splitlines(keepends=True)
    assert len(lines) == 2 * 2 * 2
    out.write_text("".join(lines[:-1]) + lines[-1][:20], "utf-8")
    tables.main([*ASKED, "--out", str(out)])
    again = out.read_text("utf-8").splitlines(keepends=True)
    assert again[:-1] == lines[:-1]
    before, after = json.loads(lines[-1]), json.loads(again[-1])
    assert before["r2"] == pytest.approx(after["r2"])
    assert "None." in capsys.readouterr().out


def test_the_summary_reports_missing_cells(tables, small, tmp_path, capsys):
    out = tmp_path / "cells.jsonl"
    tables.main([*ASKED, "--out", str(out)])
    lines = out.read_text("utf-8").splitlines(keepends=True)
    lines = [line for line in lines if "hgb" not in line or "titanic" not in line]
    out.write_text("".join(lines), "utf-8")
    capsys.readouterr()
    tables.main(
        [
            *ASKED,
            "--methods",
            "linear",
            "hgb",
            "xgboost",
            "--summary",
            "--out",
            str(out),
        ]
    )
    printed = capsys.readouterr().out
    assert "- hgb: 1 tables: titanic" in printed
    assert "- xgboost: 2 tables: all" in printed


def test_ranks_count_tables_of_the_same_rows_once(tables):
    scores = pd.DataFrame(
        {"one": [0.1, 0.1, 0.9, 0.5], "other": [0.2, 0.2, 0.8, 0.4]},
        index=["pima", "diabetes", "ames", "titanic"],
    )
    ranks = tables.mean_ranks(scores)  # one is better on the first two and in R2
    assert ranks["one"] == pytest.approx((1 + 1 + 2) / 3)
    assert ranks["other"] == pytest.approx((2 + 2 + 1) / 3)


def test_seeds_that_lack_a_fold_do_not_count(tables):
    cells = pd.DataFrame(
        [("titanic", seed, fold, "hgb", "") for seed, fold in ((1, 0), (1, 1), (2, 0))],
        columns=tables.KEY,
    )
    assert tables.whole_seeds(cells, 2)["seed"].tolist() == [1, 1]


def test_there_are_43_tables(tables):
    assert len(tables.TABLES) == len(set(tables.TABLES)) == 16 + 15 + 12
    assert set(tables.TABLES) >= tables.REGRESSIONS


def test_a_frame_keeps_the_most_frequent_words_of_the_training_rows(methods):
    X = pd.DataFrame({"n": [1.0, np.nan, 3.0], "w": ["a", "a", "b"]})
    new = pd.DataFrame({"n": [np.nan] * 4, "w": ["a", "b", "c", None]})
    kept = methods.Frame(["w"], most=1, fill=True).fit(X).transform(new)
    assert kept["w0"].isna().tolist() == [False, True, True, True]
    assert kept["x0"].tolist() == [2.0] * 4
    assert kept["m0"].tolist() == [1.0] * 4
    strings = methods.Frame(["w"], strings=True).fit(X).transform(new)
    assert strings["w0"].tolist() == ["a", "b", "c", "missing"]
    assert strings["x0"].isna().all()
