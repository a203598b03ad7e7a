import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small
from own_models import make_table, save_csv, save_model

OLD = Path(__file__).parents[1] / "data/saved-by-0.1.0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain")
    for target in ("ill", "cost"):
        save_model(path / target, target)
    save_csv(make_table(30, seed=1), path / "new.csv")
    return path


def test_contributions_are_listed_and_the_rest_is_named(call, folder, tmp_path):
    table = make_table(30, seed=1)
    row = int(np.flatnonzero(table["age"].isna() & table["town"].notna())[0])
    page = tmp_path / "row.html"
    arguments = ("explain", folder / "cost", folder / "new.csv", "--row", row + 1)
    result = call(*arguments, "-o", page)
    assert result.exit_code == 0, result.output
    head, _, names, first, second, missing, last = result.stdout.splitlines()
    assert head.startswith(f"new.csv, row {row + 1}: cost = ")
    assert names.split() == ["column", "value", "adds"]
    shown = {line.split()[0]: line.split()[1] for line in (first, second)}
    assert shown["town"] == table["town"][row]
    assert float(shown["score"]) == table["score"][row]
    assert missing == "Missing: 'age'."
    assert last == f"The page: {page}"
    assert f"town = {table['town'][row]}" in page.read_text("utf-8")
    assert "--force" in call(*arguments, "-o", page).stderr


def test_json_adds_up_to_the_prediction(call, folder):
    paths = folder / "ill", folder / "new.csv"
    found = json.loads(call("explain", *paths, "--class", "yes", "--json").stdout)
    assert (found["target"], found["row"], found["exact"]) == ("yes", 1, True)
    total = sum(each["contribution"] for each in found["columns"])
    assert total == pytest.approx(found["prediction"] - found["base"])
    output = folder / "predicted.csv"
    assert call("predict", *paths, "-o", output).exit_code == 0
    probability = pd.read_csv(output).iloc[0, -1]
    assert found["prediction"] == pytest.approx(probability, abs=1e-6)


def test_an_unknown_category_is_named(call, folder, tmp_path):
    (tmp_path / "new.csv").write_text("age,town\n30,Oslo\n")
    result = call("explain", folder / "ill", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert "Not in training, so as good as missing: 'town'." in result.stdout
    assert "not in the table, so missing: 'score'" in result.stderr


def test_a_value_that_is_known_by_a_bound_is_named(call, folder, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("age,town,score\n30,Rome,1\n40,Rome,<0.5\n50,Bonn,2\n")
    arguments = ("explain", folder / "cost", path, "--row")
    result = call(*arguments, 2)
    assert result.exit_code == 0, result.output
    assert "known by a bound alone, such as '<0.5'" in result.stderr
    assert "Missing: 'score'." in result.stdout
    assert "Known by a bound, which is not used here: 'score'." in result.stdout
    assert json.loads(call(*arguments, 2, "--json").stdout)["bounded"] == ["score"]
    assert "Known by a bound" not in call(*arguments, 3).stdout


def test_a_class_that_is_a_number_stays_one(call, folder, tmp_path):
    small.classifier().fit(make_table()[["age", "score"]], np.arange(60) % 2).save(
        tmp_path / "m"
    )
    page = tmp_path / "row.html"
    arguments = ("explain", tmp_path / "m", folder / "new.csv", "--class", 1)
    found = json.loads(call(*arguments, "-o", page, "--json").stdout)
    assert found["target"] == 1
    assert "Probability of 1:" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("model", "given", "match"),
    [
        ("ill", ("--row", 31), "expected at most 30"),
        ("ill", ("--class", "maybe"), "--class maybe, but expected one of 'no', 'yes'"),
        ("cost", ("--class", "yes"), "expected none"),
        (OLD / "imputer", (), "expected one that predicts"),
    ],
)
def test_what_cannot_be_explained_is_refused(call, folder, model, given, match):
    result = call("explain", folder / model, folder / "new.csv", *given)
    assert result.exit_code in (1, 2)
    assert match in result.stderr
