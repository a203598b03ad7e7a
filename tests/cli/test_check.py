import json
from pathlib import Path

import numpy as np
import pytest
from own_models import make_table, save_csv

OLD = Path(__file__).parents[1] / "data/saved-by-0.1.0"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from click.testing import CliRunner

    from lacunet.cli._main import lacunet

    path = tmp_path_factory.mktemp("model")
    save_csv(make_table(200), path / "t.csv")
    given = ("--target", "ill", "-o", path / "m", "--drop", "id", "--drop", "cost")
    small = ("--max-epochs", 1, "--n-networks", 1, "--density", "diag")
    arguments = [*map(str, ("fit", path / "t.csv", *given, *small))]
    assert CliRunner().invoke(lacunet, arguments).exit_code == 0
    return path / "m"


def change(table):
    """Change the age, add a town, and drop the score."""
    table["age"] *= 1000
    table.loc[:9, "town"] = "Oslo"
    return table.drop(columns="score")


def test_rows_of_the_same_kind_have_not_changed(call, model, tmp_path):
    save_csv(make_table(100, seed=1), tmp_path / "new.csv")
    result = call("check", model, tmp_path / "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "new.csv: 100 rows, 3 columns without a noticeable change.\n"
    )
    assert result.stderr == "Not known to the model: 'id', 'cost'.\n"


def test_changed_columns_are_listed_the_worst_first(call, model, tmp_path):
    save_csv(change(make_table(100, seed=1)), tmp_path / "new.csv")
    page = tmp_path / "check.html"
    result = call("check", model, tmp_path / "new.csv", "-o", page)
    assert result.exit_code == 3
    head, _, _, age, score, town, end = result.stdout.splitlines()
    assert head == "new.csv: 100 rows, 3 of 3 columns not as in training."
    assert age.startswith("age ")
    assert "larger by a factor of about 1,000 (another unit?)" in age
    assert score.split(maxsplit=3)[1:] == [
        "100%",
        "0%",
        "not in the table, so missing in every row",
    ]
    assert "of categories that the model has not seen, counted as missing: 'Oslo'" in (
        town
    )
    assert end == f"The page: {page}"
    assert "another unit?" in page.read_text("utf-8")
    again = call("check", model, tmp_path / "new.csv", "-o", page)
    assert again.exit_code == 1
    assert "--force" in again.stderr


def test_json_has_all_columns(call, model, tmp_path):
    table = change(make_table(100, seed=1))
    save_csv(table, tmp_path / "new.csv")
    result = call("check", model, tmp_path / "new.csv", "--json")
    assert result.exit_code == 3
    answer = json.loads(result.stdout)
    assert (answer["rows"], answer["missing"]) == (100, ["score"])
    columns = {each["column"]: each for each in answer["columns"]}
    assert set(columns["age"]["changes"]) == {"outside"}
    assert columns["age"]["outside"] == 1
    assert columns["age"]["missing"] == pytest.approx(table["age"].isna().mean())
    assert columns["score"]["missing_in_training"] == 0


def test_quiet_leaves_the_exit_code(call, model, tmp_path):
    save_csv(change(make_table(100, seed=1)), tmp_path / "new.csv")
    result = call("check", model, tmp_path / "new.csv", "--quiet")
    assert (result.exit_code, result.output) == (3, "")


@pytest.mark.parametrize(
    ("name", "table"), [("command", "table.csv"), ("imputer", "rows.csv")]
)
def test_a_model_without_summaries_is_checked_as_far_as_it_goes(
    call, tmp_path, name, table
):
    page = tmp_path / "check.html"
    result = call("check", OLD / name, OLD / table, "-o", page)
    assert result.exit_code == 0, result.output
    assert "checked only for unseen categories and newly missing" in result.stderr
    assert "are not known for" in page.read_text("utf-8")


def test_what_is_no_table_of_the_model_is_refused(call, model, tmp_path):
    np.savetxt(tmp_path / "new.csv", np.eye(3), header="a b c", comments="")
    result = call("check", model, tmp_path / "new.csv")
    assert result.exit_code == 1
    assert "without a column that the model knows" in result.stderr
