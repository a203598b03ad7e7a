import gzip
import json

import numpy as np
import pandas as pd
import pytest
from own_models import make_table, save_csv, save_model

from lacunet import LacunetImputer
from lacunet.estimators._mixtures import Candidate


@pytest.fixture(autouse=True)
def few_mixtures(monkeypatch):
    """Have fewer mixtures to choose from: which is the best is not asked here."""
    few = (Candidate("diag", 3, 1e-2, one_hot=False),)
    monkeypatch.setattr("lacunet.estimators._mixtures.CANDIDATES", few)


@pytest.fixture
def table(tmp_path):
    return save_csv(make_table(), tmp_path / "t.csv")


def observed_cells_are_kept(before, after):
    lines = [path.read_text().splitlines() for path in (before, after)]
    assert len(lines[0]) == len(lines[1])
    for old, new in zip(*lines, strict=True):
        cells = zip(old.split(","), new.split(","), strict=True)
        assert all(was in ("", now) and now for was, now in cells)


def test_missing_values_are_filled_and_nothing_else_is_changed(call, table, tmp_path):
    result = call("impute", table, "-o", tmp_path / "filled.csv")
    assert result.exit_code == 0, result.output
    observed_cells_are_kept(table, tmp_path / "filled.csv")
    filled = pd.read_csv(tmp_path / "filled.csv")
    assert filled["age"].dtype == "int64"
    assert set(filled["town"]) == {"Rome", "Bonn"}
    n_missing = int(make_table().isna().sum().sum())
    assert f"Filled {n_missing} missing values in 60 rows." in result.stderr


def test_formulas_pass_through(call, tmp_path):
    lines = [f'"=cmd(""{k % 3}"")";{k},5' for k in range(30)]
    text = "note;x\n" + "\n".join([*lines, "=1+1;", ""])
    (tmp_path / "t.csv").write_text(text)
    result = call("impute", tmp_path / "t.csv", "-o", tmp_path / "f.csv")
    assert result.exit_code == 0, result.output
    filled = (tmp_path / "f.csv").read_text()
    assert filled.startswith(text.removesuffix("\n"))
    assert filled.splitlines()[-1].startswith("=1+1;")
    assert "," in filled.splitlines()[-1]


def test_a_minus_can_be_a_value(call, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("strand,x\n" + "+,1\n-,2\n" * 30 + ",1\n")
    given = ("impute", path, "-o", tmp_path / "f.csv")
    result = call(*given, "--no-usual-missing")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "f.csv").read_text().count("-") == 30
    warned = call(*given, "--force")
    assert "Column 'strand': It has '+', and '-' counts as missing" in warned.stderr


def test_draws_are_several_tables(call, table, tmp_path):
    out = tmp_path / "f.csv"
    result = call("impute", table, "-o", out, "--draws", 3, "--json")
    assert result.exit_code == 0, result.output
    paths = [tmp_path / f"f-{number}.csv" for number in (1, 2, 3)]
    assert json.loads(result.stdout)["outputs"] == list(map(str, paths))
    for path in paths:
        observed_cells_are_kept(table, path)
    assert len({path.read_text() for path in paths}) == 3
    assert not out.exists()
    again = call("impute", table, "-o", out, "--draws", 3, "--force")
    assert again.exit_code == 0
    other = call("impute", table, "-o", tmp_path / "g.csv", "--draws", 3, "--seed", 1)
    assert other.exit_code == 0
    assert paths[0].read_text() != (tmp_path / "g-1.csv").read_text()


def test_the_same_seed_gives_the_same_draws(call, table, tmp_path):
    for name in ("a.csv", "b.csv"):
        call("impute", table, "-o", tmp_path / name, "--draws", 1, "--seed", 5)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_names_of_draws_keep_their_endings(call, table, tmp_path):
    result = call("impute", table, "-o", tmp_path / "f.csv.gz", "--draws", 2)
    assert result.exit_code == 0
    with gzip.open(tmp_path / "f-2.csv.gz", "rt") as file:
        assert file.readline() == "id,age,town,score,ill,cost\n"


def test_a_model_fills_the_columns_that_it_knows(call, table, tmp_path):
    save_model(tmp_path / "m")
    out = tmp_path / "f.csv"
    result = call("impute", table, "-o", out, "--model", tmp_path / "m")
    assert result.exit_code == 0, result.output
    observed_cells_are_kept(table, out)
    new = table.with_name("new.csv")
    new.write_text("age,town,score\n41,Rome,\n")
    result = call("impute", new, "--model", tmp_path / "m")
    assert result.stdout.splitlines()[1].startswith("41,Rome,")
    assert result.stderr == "Filled 1 missing value in 1 row.\n"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_unseen_categories_are_named(call, tmp_path, kind):
    save_model(tmp_path / "m")
    table = make_table()
    table["town"] = table["town"].astype(object)
    table.loc[0, "town"], table.loc[0, "age"] = "Atlantis", None
    path, out = tmp_path / f"t.{kind}", tmp_path / f"out.{kind}"
    save = table.to_parquet if kind == "parquet" else table.to_csv
    save(path, index=False)
    result = call("impute", path, "-o", out, "--model", tmp_path / "m")
    assert result.exit_code == 0, result.output
    warning = "Warning: categories of 'town' that the model has not seen count as"
    assert f"{warning} missing, such as 'Atlantis'.\n" in result.stderr
    read = pd.read_parquet if kind == "parquet" else pd.read_csv
    assert read(out)["town"][0] == "Atlantis"


def test_columns_that_a_model_can_not_fill_are_named(call, tmp_path):
    rows = make_table()[["age", "town", "score"]].assign(note=None)
    with pytest.warns(UserWarning, match="note"):
        LacunetImputer(random_state=0).fit(rows).save(tmp_path / "m")
    (tmp_path / "t.csv").write_text("age,note,z,town,w\n,,,Rome,1\n40,,3,,2\n")
    out = tmp_path / "f.csv"
    result = call("impute", tmp_path / "t.csv", "-o", out, "--model", tmp_path / "m")
    assert result.exit_code == 0, result.output
    first, second = (line.split(",") for line in out.read_text().splitlines()[1:])
    assert "" not in (first[0], second[3])
    assert [first[1:3], second[1:3]] == [["", ""], ["", "3"]]
    unknown = "Warning: left as it is, as the model does not know it: 'z'.\n"
    assert unknown in result.stderr
    assert "as the model has seen no value of it: 'note'.\n" in result.stderr


def test_standard_input_and_output(call, table):
    result = call("impute", "-", input=table.read_bytes())
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "id,age,town,score,ill,cost"
    assert len(result.stdout.splitlines()) == 61


def test_the_kind_of_file_is_kept(call, table, tmp_path):
    result = call("impute", table, "-o", tmp_path / "f.parquet")
    assert result.exit_code == 1
    assert "expected a name that ends in .csv or .tsv" in result.stderr
    make_table().to_parquet(tmp_path / "t.parquet")
    result = call("impute", tmp_path / "t.parquet", "-o", tmp_path / "f.parquet")
    assert result.exit_code == 0
    assert not pd.read_parquet(tmp_path / "f.parquet").isna().any().any()
    result = call("impute", tmp_path / "t.parquet", "-o", tmp_path / "f.csv.xz")
    assert result.exit_code == 0, result.output
    assert not pd.read_csv(tmp_path / "f.csv.xz").isna().any().any()
    result = call("impute", table, "-o", tmp_path / "f.xlsx")
    assert (result.exit_code, (tmp_path / "f.xlsx").exists()) == (1, False)
    assert "expected a name that ends in .csv" in result.stderr


def test_bounds_are_left_alone_unless_they_are_to_be_filled(call, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "f.csv"
    rows = [f"{k % 7}.5,{k % 3}" for k in range(40)]
    path.write_text("x,y\n" + "\n".join([*rows, "<0.5,1", ",2"]) + "\n")
    result = call("impute", path, "-o", out)
    assert "1 value is known by a bound alone, such as '<0.5'" in result.stderr
    last = out.read_text().splitlines()[-2:]
    assert last[0] == "<0.5,1"
    assert last[1] != ",2"
    call("impute", path, "-o", out, "--fill-censored", "--force")
    assert "<" not in out.read_text()
    filled = float(out.read_text().splitlines()[-2].partition(",")[0])
    assert 0 <= filled <= 0.5


def test_categories_of_parquet_stay_the_same(call, tmp_path):
    low = [place % 3 == 0 for place in range(60)]
    table = pd.DataFrame({"x": range(60), "low": low})
    table["code"] = [2**53 + 1 if place else 2**53 + 3 for place in low]
    grades = ["low" if place else "high" for place in low]
    table["grade"] = pd.Categorical(grades, ["low", "mid", "high"], ordered=True)
    incomplete = table.astype({"low": "boolean", "code": "Int64"})
    incomplete.loc[::7, ["low", "code", "grade"]] = None
    incomplete.to_parquet(tmp_path / "t.parquet")
    options = ("--categorical", "low", "--categorical", "code")
    out = tmp_path / "f.parquet"
    result = call("impute", tmp_path / "t.parquet", "-o", out, *options)
    assert result.exit_code == 0, result.output
    filled = pd.read_parquet(out)
    assert filled["grade"].dtype == table["grade"].dtype
    assert set(filled["code"]) == set(table["code"])
    assert not filled["low"][::7].all()  # most are not


def test_draws_need_names(call, table):
    result = call("impute", table, "--draws", 2)
    assert result.exit_code == 2
    assert "Name a file with -o" in result.stderr


def test_an_empty_column_is_left(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,\n2,\n,?\n" * 10)
    result = call("impute", tmp_path / "t.csv", "-o", tmp_path / "f.csv")
    assert result.exit_code == 0, result.output
    assert "left as it is, as no row has a value: 'b'" in result.stderr
    lines = (tmp_path / "f.csv").read_text().splitlines()
    assert lines[:3] == ["a,b", "1,", "2,"]
    assert lines[3] in ("1,?", "2,?")


def test_a_table_without_values_is_refused(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "?,\n" * 10)
    result = call("impute", tmp_path / "t.csv", "-o", tmp_path / "f.csv")
    assert result.exit_code == 1
    assert "without a single value" in result.stderr
    assert not (tmp_path / "f.csv").exists()


def test_sensitivity_is_a_table_words_and_a_page(call, table, tmp_path):
    page = tmp_path / "page.html"
    result = call("impute", table, "--sensitivity", "--draws", 3, "-o", page)
    assert result.exit_code == 0, result.output
    assert "no shift" in result.output
    assert "- age: The mean of the observed values" in result.output
    assert page.read_text("utf-8").count("<article") >= 1
    again = call("impute", table, "--sensitivity", "--draws", 2, "--json", "--quiet")
    record = json.loads(again.stdout)
    assert record["columns"][0]["shifts"] == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert record["page"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--draws", 1), "2 or more"),
        (("--model", "m"), "a table alone"),
        (("--fill-censored",), "expected one of them"),
    ],
)
def test_sensitivity_is_of_a_table_and_several_draws(
    call, table, tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    save_model(tmp_path / "m")
    result = call("impute", table, "--sensitivity", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_sensitivity_does_not_shift_values_known_by_a_bound(call, tmp_path):
    rng = np.random.RandomState(0)
    dose = np.exp(rng.randn(200))
    cells = ["<0.5" if d < 0.5 else f"{d:.3f}" for d in dose]
    cells[::10] = [""] * 20
    rows = "".join(
        f"{cell},{d + rng.randn():.3f}\n" for cell, d in zip(cells, dose, strict=True)
    )
    (tmp_path / "t.csv").write_text("dose,other\n" + rows)
    given = (tmp_path / "t.csv", "--sensitivity", "--draws", 3, "--json", "--quiet")
    (column,) = json.loads(call("impute", *given).stdout)["columns"]
    assert (column["name"], column["n_missing"]) == ("dose", 20)
    means = [each["estimate"] for each in column["pooled"]]
    # A tenth of the values moves by two deviations; with those below, a third would.
    assert 0.1 * dose.std() < means[-1] - means[0] < 0.3 * dose.std()
