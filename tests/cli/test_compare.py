import json

import pytest
from own_models import make_table, save_csv

from lacunet.cli._compare import _show_fold
from lacunet.cli._terminal import Terminal

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


def show_folds(*folds):
    terminal = Terminal()
    with terminal.progress("comparing") as bar:
        for done, (method, scores) in enumerate(folds, 1):
            _show_fold(terminal, bar, done, 4, method, 0, scores)


def test_a_terminal_has_a_bar_in_place_of_lines(screen, capsys):
    show_folds(("hgb", {"accuracy": 0.5}), ("mean", {"accuracy": 0.0, "auc": None}))
    # A score of zero is no failure.
    assert "2/4 last mean, fold 1: accuracy 0.0000" in screen.getvalue()
    assert capsys.readouterr() == ("", "")


def test_a_method_that_failed_is_shown_as_such(capsys):
    show_folds(("hgb", {}))
    assert capsys.readouterr().err == "1/4: hgb, fold 1: failed\n"


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
        (("--drop-at-test", "weight"), "weight"),
        (("--target", "weight"), "weight"),
    ],
)
def test_unknown_names_are_refused(call, table, given, words):
    result = call("compare", table, "--target", "ill", "--folds", 2, *given)
    assert result.exit_code == 1
    assert words in result.stderr
