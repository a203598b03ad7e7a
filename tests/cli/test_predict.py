import json

import numpy as np
import pandas as pd
import pytest
import small
from own_models import make_table, save_csv, save_model

from lacunet import LacunetImputer, LacunetRegressor, load
from lacunet.inspection import prediction_interval, prediction_set
from lacunet.tables import ModelTable, Schema, summarize_columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    save_model(path / "m", missing=("-999",))
    save_model(path / "numbers", "cost")
    return path


def test_predictions_are_those_of_the_model(call, folder, tmp_path):
    save_csv(make_table()[["score", "age", "town"]], tmp_path / "new.csv")
    out = tmp_path / "out.csv"
    result = call("predict", folder / "m", tmp_path / "new.csv", "-o", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    assert list(found) == ["prediction", "probability_no", "probability_yes"]
    expected = load(folder / "m").predict_proba(make_table()[["age", "town", "score"]])
    np.testing.assert_allclose(found.iloc[:, 1:], expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1, rtol=0, atol=2e-6)
    assert max(map(len, out.read_text().split(","))) <= len("probability_yes\nyes")
    assert (found["prediction"] == np.array(["no", "yes"])[expected.argmax(1)]).all()
    assert result.stderr == "Predicted 60 rows.\n"


def test_numbers_are_predicted(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    result = call("predict", folder / "numbers", tmp_path / "new.csv", "--drop", "id")
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header == "prediction"
    assert len(lines) == 60
    assert max(len(line.strip("-0.").replace(".", "")) for line in lines) <= 7


def test_numbers_have_intervals(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    run = ("predict", folder / "numbers", tmp_path / "new.csv", "--drop", "id")
    result = call(*run, "--interval", "0.6")
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()
    assert header == "prediction,low,high"
    numbers = np.array([line.split(",") for line in lines], dtype=float)
    rows = make_table()[["age", "town", "score"]]
    model = load(folder / "numbers")
    expected = np.column_stack(prediction_interval(model, rows, 0.6))
    np.testing.assert_allclose(numbers[:, 1:], expected, rtol=1e-6)


def test_classes_have_sets(call, folder, tmp_path):
    save_csv(make_table()[["score", "age", "town"]], tmp_path / "new.csv")
    run = ("predict", folder / "m", tmp_path / "new.csv")
    result = call(*run, "--interval", "0.8", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert list(found)[-1] == "set"
    rows = make_table()[["age", "town", "score"]]
    expected = prediction_set(load(folder / "m"), rows, 0.8)
    names = {(True, True): "no|yes", (True, False): "no", (False, True): "yes"}
    assert found["set"].tolist() == [names.get(tuple(e), "") for e in expected]


def test_bars_in_names_of_classes_are_told_from_those_between(call, tmp_path):
    X = pd.DataFrame(small.numbers()[0]).add_prefix("x")
    y = np.array(["a", "b", "a|b"])[np.arange(60) % 3]
    small.classifier().fit(X, y).save(tmp_path / "m")
    X.to_csv(tmp_path / "t.csv", index=False)
    given = ("predict", tmp_path / "m", tmp_path / "t.csv", "--interval", "0.9")
    result = call(*given, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["set"]
    assert r"a|a\|b|b" in set(found)


def test_draws_are_averaged(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    run = ("predict", folder / "numbers", tmp_path / "new.csv", "--drop", "id")
    result = call(*run, "--draws", "16")
    assert result.exit_code == 0, result.output
    model = load(folder / "numbers").set_params(propagate="sample", n_samples=16)
    expected = model.predict(make_table()[["age", "town", "score"]])
    found = [float(line) for line in result.stdout.splitlines()[1:]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert call(*run, "--interval", "1").exit_code == 2
    assert call(*run, "--draws", "0").exit_code == 2


def test_columns_that_differ_are_named(call, folder, tmp_path):
    save_csv(make_table().drop(columns=["town"]), tmp_path / "new.csv")
    result = call("predict", folder / "m", tmp_path / "new.csv")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert "Warning: not in the table, so missing in every row: 'town'." in lines
    ignored = "Warning: ignored, as the model does not know it: 'id', 'cost'."
    assert ignored in lines  # but not the target, which may well be there
    table = make_table().assign(town=None)[["age", "town", "score"]]
    table["town"] = table["town"].astype(object)
    expected = load(folder / "m").predict_proba(table)[:, 0]
    found = [float(line.split(",")[1]) for line in result.stdout.splitlines()[1:]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_columns_are_kept_before_the_prediction(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    given = ("--keep", "id", "--keep", "cost", "-o", tmp_path / "out.parquet")
    result = call("predict", folder / "m", tmp_path / "new.csv", *given)
    assert result.exit_code == 0
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found)[:3] == ["id", "cost", "prediction"]
    pd.testing.assert_frame_equal(found[["id", "cost"]], make_table()[["id", "cost"]])


def test_kept_cells_are_copied_as_they_are(call, folder, tmp_path):
    text = "key,age,town,score\n9007199254740993,041,Rome,1.50\n,42,Bonn,0.5\n"
    (tmp_path / "new.csv").write_text(text)
    names = ("--keep", "key", "--keep", "age", "--keep", "score", "--keep", "key")
    result = call("predict", folder / "m", tmp_path / "new.csv", *names)
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()
    assert header.startswith("key,age,score,prediction,")
    assert lines[0].startswith("9007199254740993,041,1.50,")
    assert lines[1].startswith(",42,0.5,")
    plain = call("predict", folder / "m", tmp_path / "new.csv").stdout.splitlines()
    assert [line.split(",")[3:] for line in lines] == [
        line.split(",") for line in plain[1:]
    ]


def test_what_training_had_not_is_warned_of_once(call, folder, tmp_path):
    lines = ["age,town,score", "41,Oslo,1", "42,Rome,", "43,,2", "44,Oslo,"]
    (tmp_path / "new.csv").write_text("\n".join(lines))
    result = call("predict", folder / "m", tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        "Warning: 'town': 2 of 3 values (67%) are of categories that the model has not "
        "seen, counted as missing: 'Oslo'.",
        "Warning: 'score': missing in 2 of 4 rows but in none of training, so that "
        "nothing was learned about that.",
        "Predicted 4 rows.",
    ]


def save_changed(path, n_changed=8):
    """Fit a model of many columns, and save a table where some of them are new."""
    stream = np.random.RandomState(0)
    names = [f"x{k}" for k in range(9)]
    X = pd.DataFrame(stream.rand(60, 9), columns=names)
    model = LacunetRegressor(n_networks=1, max_epochs=1, random_state=0).fit(X, X["x0"])
    schema = Schema.of_model(model)
    known = ModelTable("t.csv", "y", training=summarize_columns(X, schema))
    model.save(path / "m", texts={ModelTable.FILE_NAME: known.to_text()})
    X[names[:n_changed]] *= [1000 + k for k in range(n_changed)]
    X.to_csv(path / "new.csv", index=False)
    return path / "m", path / "new.csv"


def test_values_outside_the_range_are_warned_of(call, tmp_path):
    result = call("predict", *save_changed(tmp_path, 1), "--keep", "x1")
    assert result.exit_code == 0
    [warning, _] = result.stderr.splitlines()
    assert warning.startswith("Warning: 'x0': all 60 values are outside 0.0")
    assert warning.endswith("larger by a factor of about 1,000 (another unit?).")


@pytest.mark.parametrize("n_changed", [5, 8])
def test_there_are_five_such_lines_at_most(call, tmp_path, n_changed):
    model, table = save_changed(tmp_path, n_changed)
    *lines, _ = call("predict", model, table).stderr.splitlines()
    assert len(lines) == 5
    more = f"Warning: ... and 4 more columns: lacunet check {model} {table}"
    assert (lines[-1] == more) == (n_changed == 8)
    *lines, _ = call(
        "predict", model, "-", input=table.read_bytes()
    ).stderr.splitlines()
    assert lines[-1].endswith(f"lacunet check {model} TABLE") == (n_changed == 8)


@pytest.mark.parametrize("output", ["-", "out.csv"])
def test_strict_refuses_rows_that_are_not_as_in_training(call, tmp_path, output):
    there = tmp_path / output if output != "-" else output
    model, table = save_changed(tmp_path, 1)
    before = sorted(tmp_path.iterdir())
    result = call("predict", model, table, "--strict", "-o", there)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1].startswith(f"Error: Got {table}, whose rows")
    assert sorted(tmp_path.iterdir()) == before


def test_strict_refuses_a_table_that_lacks_columns(call, folder, tmp_path):
    save_csv(make_table().drop(columns="town"), tmp_path / "new.csv")
    result = call("predict", folder / "m", tmp_path / "new.csv", "--strict")
    assert (result.exit_code, result.stdout) == (1, "")


def test_strict_writes_the_same_where_nothing_has_changed(call, tmp_path):
    model, table = save_changed(tmp_path, 0)
    result = call("predict", model, table, "--strict")
    assert result.exit_code == 0, result.output
    assert result.stdout == call("predict", model, table).stdout
    piped = call("predict", model, "-", "--strict", input=table.read_bytes())
    assert piped.stdout == result.stdout


def test_strict_names_what_it_can_not_check(call, folder, tmp_path):
    save_csv(make_table()[["age", "town", "score"]], tmp_path / "new.csv")
    result = call("predict", folder / "m", tmp_path / "new.csv", "--strict")
    assert result.exit_code == 0
    assert "newly missing values: 'age', 'town', 'score'" in result.stderr


def test_a_model_that_refuses_newly_missing_values_does_so_here(call, tmp_path):
    save_model(tmp_path / "m")
    strict = load(tmp_path / "m").set_params(on_unseen_missing="raise")
    strict.save(tmp_path / "strict")
    (tmp_path / "new.csv").write_text("age,town,score\n41,Rome,\n")
    result = call("predict", tmp_path / "strict", tmp_path / "new.csv")
    assert result.exit_code == 1
    assert "'score'" in result.stderr


def test_markers_of_the_training_table_are_known(call, folder, tmp_path):
    table = make_table()[["age", "town", "score"]]
    save_csv(table, tmp_path / "empty.csv")
    save_csv(table, tmp_path / "marked.csv", na_rep="-999")
    found = [
        call("predict", folder / "m", tmp_path / name).stdout
        for name in ("empty.csv", "marked.csv")
    ]
    assert found[0] == found[1]


def test_standard_input_is_read(call, folder, tmp_path):
    path = save_csv(make_table()[["age", "town", "score"]], tmp_path / "new.csv")
    there = call("predict", folder / "m", path).stdout
    result = call("predict", folder / "m", "-", input=path.read_bytes())
    assert result.exit_code == 0
    assert result.stdout == there


def test_json_counts_rows_and_names_columns(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    out = tmp_path / "out.csv"
    given = ("predict", folder / "m", tmp_path / "new.csv", "--json")
    answer = json.loads(call(*given, "-o", out).stdout)
    assert answer == {
        "rows": 60,
        "output": str(out),
        "missing": [],
        "unknown": ["id", "ill", "cost"],
        "changed": {},
    }
    refused = call(*given)
    assert refused.exit_code == 2
    assert "Name a file with -o" in refused.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,town\n1,Rome,5\n", "line 2"),
        ("weight\n3\n", "without a column that the model knows"),
        ("age,town,score\nold,Rome,1\n", "'old'"),
        ("", "empty"),
    ],
)
def test_bad_tables_leave_nothing(call, folder, tmp_path, text, words):
    (tmp_path / "new.csv").write_text(text)
    result = call("predict", folder / "m", tmp_path / "new.csv", "-o", tmp_path / "o")
    assert result.exit_code == 1
    assert words in result.stderr
    assert len(result.stderr.splitlines()) <= 4
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_file_is_replaced_only_if_asked(call, folder, tmp_path):
    save_csv(make_table(), tmp_path / "new.csv")
    (tmp_path / "out.csv").write_text("mine")
    given = ("predict", folder / "m", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    result = call(*given)
    assert result.exit_code == 1
    assert "--force" in result.stderr
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert call(*given, "--force").exit_code == 0
    assert (tmp_path / "out.csv").read_text() != "mine"


def test_a_model_that_predicts_nothing_is_refused(call, tmp_path):
    LacunetImputer().fit(make_table()[["age", "town"]]).save(tmp_path / "m")
    save_csv(make_table(), tmp_path / "new.csv")
    result = call("predict", tmp_path / "m", tmp_path / "new.csv")
    assert result.exit_code == 1
    assert "lacunet impute" in result.stderr


@pytest.mark.parametrize("text", ["{", "[]", '{"source": 1}', "null", '"x"'])
def test_a_damaged_record_is_refused(call, tmp_path, text):
    save_csv(make_table(), tmp_path / "new.csv")
    save_model(tmp_path / "m")
    (tmp_path / "m/table.json").write_text(text)
    result = call("predict", tmp_path / "m", tmp_path / "new.csv")
    assert result.exit_code == 1
    assert "damaged" in result.stderr


@pytest.mark.parametrize("name", ["prediction", "probability_yes"])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_kept_column_may_not_be_named_like_a_prediction(
    call, folder, tmp_path, name, out
):
    save_csv(make_table().rename(columns={"id": name}), tmp_path / "new.csv")
    given = ("--keep", name, "-o", tmp_path / out)
    result = call("predict", folder / "m", tmp_path / "new.csv", *given)
    assert result.exit_code == 1
    assert f"Got --keep {name}, but a column of that name" in result.stderr
    assert not (tmp_path / out).exists()


def test_bounds_in_the_file_are_used(call, tmp_path):
    rng = np.random.RandomState(0)
    x = np.exp(rng.randn(200, 2)).round(3)
    cells = x.astype(str).astype(object)
    cells[x[:, 0] < 0.6, 0] = "<0.6"
    cells[x[:, 1] > 3, 1] = "> 3"
    table = pd.DataFrame(cells, columns=["a", "b"])
    table["y"] = np.where(x[:, 0] + 0.1 * rng.randn(200) > 0.4, "high", "low")
    path, model = tmp_path / "t.csv", tmp_path / "model"
    table.to_csv(path, index=False)
    result = call("fit", path, "--target", "y", "-o", model, "--max-epochs", 2)
    assert result.exit_code == 0, result.output
    assert "known by a bound alone, such as '<0.6': predictions" in result.stderr
    bounded, missing = tmp_path / "bounded.csv", tmp_path / "missing.csv"
    result = call("predict", model, path, "-o", bounded)
    assert result.exit_code == 0, result.output
    # The same rows with nothing known of these cells have other predictions.
    incomplete = table.mask(table.isin(["<0.6", "> 3"]))
    incomplete.to_csv(tmp_path / "i.csv", index=False)
    call("predict", model, tmp_path / "i.csv", "-o", missing)
    differ = pd.read_csv(bounded)["probability_low"].ne(
        pd.read_csv(missing)["probability_low"]
    )
    has_bound = incomplete[["a", "b"]].isna().any(axis=1)
    assert differ[has_bound].mean() > 0.9
    assert not differ[~has_bound].any()
    out = tmp_path / "f.csv"
    options = ("--model", model, "--fill-censored")
    assert call("impute", path, "-o", out, *options).exit_code == 0
    filled = pd.read_csv(out)
    assert (filled.loc[cells[:, 0] == "<0.6", "a"] <= 0.6).all()
    assert (filled.loc[cells[:, 1] == "> 3", "b"] >= 3).all()


def test_several_outputs_have_columns_each(call, tmp_path):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(120, 2), columns=["a", "b"])
    model = LacunetRegressor(n_networks=2, max_epochs=2, random_state=0)
    model.fit(X, X.to_numpy() @ np.eye(2)).save(
        tmp_path / "m", texts={"table.json": ModelTable("t.csv").to_text()}
    )
    X.to_csv(tmp_path / "new.csv", index=False)
    run = ("predict", tmp_path / "m", tmp_path / "new.csv", "--interval", 0.8)
    result = call(*run, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "out.csv")
    names = [f"{name}_{i}" for name in ("prediction", "low", "high") for i in (0, 1)]
    assert list(found) == names
    np.testing.assert_allclose(found.iloc[:, :2], model.predict(X), rtol=1e-5)
    assert (found["low_1"] < found["high_1"]).all()
