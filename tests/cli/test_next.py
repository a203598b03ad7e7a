import json

import numpy as np
import pandas as pd
import pytest
import small
from own_models import make_table, save_csv, save_model

from lacunet import (
    IncompleteGaussianMixture,
    LacunetImputer,
    LacunetRegressor,
    load,
)
from lacunet.inspection import acquisition_values
from lacunet.tables import ModelTable

COLUMNS = ["age", "town", "score"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    save_model(path / "m")
    save_model(path / "numbers", "cost")
    table = make_table()
    filler = LacunetImputer(random_state=0).fit(table[COLUMNS])
    filler.save(path / "filler", texts={"table.json": ModelTable("t.csv").to_text()})
    table.loc[:1, COLUMNS] = None
    save_csv(table, path / "rows.csv")
    # All three matter here, and one more column has no value.
    more = make_table(200).assign(empty=np.nan)
    y = more["age"].fillna(50) / 10 + 4 * (more["town"] == "Rome") + more["score"]
    model = LacunetRegressor(
        density=IncompleteGaussianMixture(1),
        n_networks=1,
        max_epochs=20,
        random_state=0,
        indicator=False,
    )
    with pytest.warns(UserWarning, match="without one observed value"):
        model.fit(more[[*COLUMNS, "empty"]], y)
    model.save(path / "all", texts={"table.json": ModelTable("t.csv").to_text()})
    return path


@pytest.mark.parametrize(
    ("model", "measure"), [("m", "entropy"), ("numbers", "standard deviation")]
)
def test_rankings_are_those_of_the_values(call, folder, tmp_path, model, measure):
    out = tmp_path / "out.csv"
    result = call("next", folder / model, folder / "rows.csv", "-o", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    assert list(found) == ["row", "column", "value", "cost", "rank"]
    assert found["cost"].isna().all()
    rows = pd.read_csv(folder / "rows.csv")[COLUMNS]
    fitted = load(folder / model).set_params(on_unseen_missing="use")
    expected = acquisition_values(fitted, rows)
    wide = found.pivot_table(index="row", columns="column", values="value")
    wide = wide.reindex(index=range(1, 61), columns=COLUMNS)
    np.testing.assert_allclose(wide, expected, rtol=1e-3, atol=1e-6)
    best = found[found["rank"] == 1].set_index("row")["column"]
    assert best[1] == COLUMNS[np.nanargmax(expected[0])]
    assert f"{measure} " in result.stdout
    assert "Row 1:" in result.stdout
    assert "Plan: " in result.stdout
    n_incomplete = rows.isna().any(axis=1).sum()
    assert f"{n_incomplete} of 60 rows with missing values." in result.stdout


def test_costs_change_the_order_and_json_has_all(call, folder, tmp_path):
    given = (folder / "all", folder / "rows.csv", "--json")
    plain = json.loads(call("next", *given).stdout)
    assert (plain["rows"], plain["measure"]) == (60, "standard deviation")
    assert [len(plain["plans"]), plain["plans"][0]["row"]] == [3, 1]
    for each in plain["ranking"]:
        left = max(each["before"] ** 2 - each["value"], 0) ** 0.5
        assert each["after"] == pytest.approx(left)
        assert each["cost"] is None
    # The best of the first row is so dear that it is the last, and so on.
    first = [each for each in plain["ranking"] if each["row"] == 1]
    order = [each["column"] for each in first]
    assert sorted(order) == sorted(COLUMNS)
    lines = [f"{e['column']},{e['value'] * 100.0 ** -e['rank']}\n" for e in first]
    (tmp_path / "costs.csv").write_text("column,cost\n" + "".join(lines))
    options = ("--costs", tmp_path / "costs.csv", "--steps", 2)
    priced = json.loads(call("next", *given, *options).stdout)
    again = [each for each in priced["ranking"] if each["row"] == 1]
    assert [each["column"] for each in again] == order[::-1]
    assert [each["rank"] for each in again] == [1, 2, 3]
    for each in (plain, priced):
        # Of all rows, by the sum of their values per cost.
        columns = pd.DataFrame(each["columns"])
        assert set(columns["column"]) == set(COLUMNS)
        worth = columns["value"] / columns["cost"].fillna(1.0).astype(float)
        assert worth.is_monotonic_decreasing
    assert priced["columns"][0]["column"] == order[-1] != plain["columns"][0]["column"]
    steps = priced["plans"][0]["steps"]
    assert [step["column"] for step in steps] == order[:0:-1]
    assert steps[0]["cost"] == again[0]["cost"]


def test_what_the_model_does_not_know_is_not_ranked(call, folder, tmp_path):
    (tmp_path / "new.csv").write_text(
        "age,town,score,empty\n,Oslo,1,\n40,Oslo,,2\n,,1,\n40,Rome,1,\n"
    )
    (tmp_path / "costs.csv").write_text(
        "column,cost,unit\nage,1,\ntown,2,EUR\nscore,3,\n"
    )
    options = ("--costs", tmp_path / "costs.csv", "--json")
    result = call("next", folder / "all", tmp_path / "new.csv", *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    ranked = {(each["row"], each["column"]) for each in found["ranking"]}
    assert ranked == {(1, "age"), (2, "score"), (3, "age"), (3, "town")}
    assert found["incomplete"] == 3
    planned = [{each["column"] for each in plan["steps"]} for plan in found["plans"]]
    assert planned == [{"age"}, {"score"}, {"age", "town"}]
    assert "Some values of 'town' were not seen in training: they" in result.stderr


def test_columns_may_have_numbers_as_names(call, tmp_path):
    X = pd.DataFrame(np.random.RandomState(0).randn(60, 2), columns=["2020", "2021"])
    model = small.regressor().fit(X, X["2020"])
    model.save(tmp_path / "m", texts={"table.json": ModelTable("t.csv").to_text()})
    (tmp_path / "new.csv").write_text("2020,2021\n,0.5\n")
    (tmp_path / "costs.csv").write_text("column,cost\n2020,4\n2021,1\n")
    given = ("--costs", tmp_path / "costs.csv", "--json")
    result = call("next", tmp_path / "m", tmp_path / "new.csv", *given)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["ranking"][0]["cost"] == 4


def test_a_table_without_missing_values_needs_nothing(call, folder, tmp_path):
    (tmp_path / "new.csv").write_text("age,town,score\n40,Rome,1\n50,Bonn,2\n")
    result = call("next", folder / "m", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout == "new.csv: 0 of 2 rows with missing values.\n"


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        ("name,cost\nage,1\n", "expected 'column' and 'cost'"),
        ("column,cost\nage,1\ntown,2\n", "costs without 'score'"),
        ("column,cost\nage,dear\n", "costs that are no numbers"),
        ("column,cost\nage,1\nage,2\n", "several costs of 'age'"),
        ("column,cost\nage,-1\ntown,1\nscore,1\n", "a cost of -1 for 'age'"),
        ("column,cost\nheight,1\n", "costs of 'height'"),
    ],
)
def test_bad_costs_are_refused(call, folder, tmp_path, costs, text):
    (tmp_path / "costs.csv").write_text(costs)
    given = (folder / "m", folder / "rows.csv", "--costs", tmp_path / "costs.csv")
    result = call("next", *given, "-o", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert text in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_model_that_does_not_predict_is_refused(call, folder):
    result = call("next", folder / "filler", folder / "rows.csv")
    assert result.exit_code == 1
    assert "a LacunetImputer, but expected one that predicts" in result.stderr
