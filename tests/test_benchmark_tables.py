"""The benchmark on tables: resumed, summed up, with words, and parts left out."""

import importlib
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

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
    return stand_ins


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


def test_there_are_43_tables_and_the_seizures(tables):
    assert len(tables.TABLES) == len(set(tables.TABLES)) == 16 + 15 + 12 + 8
    assert set(tables.TABLES) >= tables.REGRESSIONS


def test_values_are_removed_and_recordings_kept_together(tables, monkeypatch):
    X, y = np.random.RandomState(0).normal(size=(80, 3)), np.tile([1, 2], 40)
    data = SimpleNamespace(X=X, y=y, groups=np.arange(80) // 4)
    monkeypatch.setattr(tables, "load_dataset", lambda name: data)
    load = tables.load_table.__wrapped__
    assert load("pima").X.notna().all(axis=None)
    removed = np.random.default_rng(0).random(X.shape) < 0.5
    np.testing.assert_array_equal(load("bank").X.isna(), removed)
    seizures = load("esr-recordings-50")
    np.testing.assert_array_equal(seizures.X.isna(), removed)
    for train, test in seizures.folds(0):
        assert len(test) == 16
        assert not set(data.groups[train]) & set(data.groups[test])


def test_tables_that_are_not_there_are_named(tables, monkeypatch, tmp_path):
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"titanic\.csv\.gz.*LACUNET_DATA"):
        tables.load_table.__wrapped__("titanic")


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


@pytest.fixture
def ablations(tables):
    """Leave out parts of a recipe that is quick."""
    ablations = importlib.import_module("benchmarks.ablations")
    few = {"n_networks": 4, "fewest_epochs": 1, "most_epochs": 1}
    with ablations.change_recipe(**few):
        yield ablations
    assert type(ablations.RECIPE)() == ablations.RECIPE


def test_ablations_stand_beside_the_whole(tables, small, ablations, tmp_path, capsys):
    asked = ["--tables", "titanic", "ames", "--methods", "lacunet", "--folds", "1"]
    asked += ["--out", str(tmp_path / "cells.jsonl"), "--label", "a", "--without"]
    tables.main([*asked, "bins", "hiding"])
    capsys.readouterr()
    tables.main([*asked, "--summary"])
    printed = capsys.readouterr().out
    ranks, _, variants = printed.partition("## Variants of ours")
    assert "a, without" not in ranks
    for label in ("a, without bins", "a, without hiding"):
        (line,) = [line for line in variants.splitlines() if f"| {label} " in line]
        _, _, error, _, n_tables, better, worse, _ = line.split("|")
        assert 0.2 < float(error) < 5
        assert int(n_tables) == 2 >= int(better) + int(worse)


def fit_without(ablations, part, table):
    method = ablations.WITHOUT[part]
    model = method.make(table.task, table.words)
    with method.change():
        return model.fit(table.X, table.y)


@pytest.mark.parametrize(("part", "in_bins"), [("bins", False), ("values", True)])
def test_all_networks_go_to_the_view_that_is_left(part, in_bins, small, ablations):
    (view,) = fit_without(ablations, part, small["ames"]).module_
    assert view.sees_bins == in_bins
    assert view.networks.n_networks == 4


def test_edges_without_the_target_are_the_same_for_each(small, ablations):
    table, edges = small["titanic"], {}
    for part, y in product(("bin-edges-by-target", "hiding"), (table.y, table.y[::-1])):
        given = replace(table, y=y.copy())
        _, bins = fit_without(ablations, part, given).module_
        edges.setdefault(part, []).append(bins.networks.first.edges.numpy())
    np.testing.assert_array_equal(*edges["bin-edges-by-target"])
    assert not np.array_equal(*edges["hiding"])


def test_each_part_is_left_out_where_it_would_be(small, ablations):
    table = small["titanic"]
    fitted = {
        part: fit_without(ablations, part, table)
        for part in ("skip", "weights", "classes")
    }
    whole = fitted["weights"].module_
    assert whole.view_weights.tolist() == [0.5, 0.5]

    def widths(module):
        return [view.networks.first.out_features for view in module]

    assert widths(whole) == [n + 4 for n in widths(fitted["skip"].module_)]
    values, bins = fitted["classes"].module_
    assert len(bins.density.weights) == 1 < len(values.density.weights)
    with pytest.raises(TypeError, match="unknown"):
        ablations.change_recipe(unknown=1)
