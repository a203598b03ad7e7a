import json

import pytest
from own_models import make_table, save_csv

METHODS = ("--methods", "hgb,mean", "--folds", 2, "--jobs", 1)


@pytest.fixture
def table(tmp_path):
    return save_csv(make_table().drop(columns="id"), tmp_path / "t.csv")


def test_a_person_reads_which_method_is_best(call, table):
    result = call("compare", table, "--target", "cost", *METHODS)
    assert result.exit_code == 0, result.output
    for title in ("HistGradientBoosting", "mean"):
        lines = result.stdout.splitlines()
        (line,) = [each for each in lines if each.startswith(f"{title} ")]
        assert "±" in line
    assert "lowest RMSE" in result.stdout
    assert "4/4" in result.stderr


def test_folds_are_shown_as_they_come(call, table, monkeypatch):
    def compare(*_, on_fold, **__):
        on_fold(1, 4, "hgb", 0, {"accuracy": 0.0, "auc": None})
        on_fold(2, 4, "mean", 1, {})
        raise ValueError

    monkeypatch.setattr("lacunet.evaluation.compare_methods", compare)
    shown = call("compare", table, "--target", "ill").stderr.splitlines()
    # A score of zero is no failure.
    assert shown[:2] == [
        "1/4: hgb, fold 1: accuracy 0.0000",
        "2/4: mean, fold 2: failed",
    ]


def test_a_script_reads_json(call, table):
    result = call("compare", table, "--target", "ill", *METHODS, "--json")
    answer = json.loads(result.stdout)
    assert answer["table"] == "t.csv"
    assert [method["key"] for method in answer["methods"]] == ["hgb", "mean"]
    assert answer["n_folds"] == 2


def test_columns_are_hidden_at_prediction(call, table):
    given = ("--drop-at-test", "cost", "--drop-at-test", "age")
    result = call("compare", table, "--target", "ill", *METHODS, *given)
    assert result.exit_code == 0, result.output
    for name in ("cost", "age"):
        assert f"With {name!r} missing in the test rows:" in result.stdout


def test_a_page_is_written(call, table, tmp_path):
    given = ("--target", "ill", *METHODS, "-o", tmp_path / "c.html")
    assert call("compare", table, *given).exit_code == 0
    assert "ill of t.csv" in (tmp_path / "c.html").read_text("utf-8")
    assert call("compare", table, *given).exit_code == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--methods", "hbg"), "hgb"),
        (("--drop-at-test", "town_"), "did you mean 'town'?"),
        (("--target", "weight"), "such as 'age'"),
    ],
)
def test_unknown_names_are_refused(call, table, given, words):
    result = call("compare", table, "--target", "ill", "--folds", 2, *given)
    assert result.exit_code == 1
    assert words in result.stderr
