import json

import numpy as np
import pandas as pd
import pytest
from own_models import make_table, save_csv
from safetensors.torch import load_file

from lacunet import LacunetClassifier, LacunetRegressor, load
from lacunet.cli._options import make_estimator

SMALL = ("--n-networks", 1, "--max-epochs", 2, "--density", "diag")
SMALL += ("--n-components", 1)


@pytest.fixture
def table(tmp_path):
    return save_csv(make_table(), tmp_path / "t.csv")


def fit(call, table, *given, target="ill"):
    out = table.parent / "m"
    return call("fit", table, "--target", target, "-o", out, *SMALL, *given)


def test_a_model_with_its_card_is_written(call, table, tmp_path):
    result = fit(call, table, "--drop", "id")
    assert result.exit_code == 0, result.output
    names = sorted(path.name for path in (tmp_path / "m").iterdir())
    assert names == ["card.md", "model.json", "model.safetensors", "table.json"]
    model = load(tmp_path / "m")
    assert isinstance(model, LacunetClassifier)
    assert model.feature_names_in_.tolist() == ["age", "town", "score", "cost"]
    assert model.n_networks == 1
    card = (tmp_path / "m/card.md").read_text("utf-8")
    assert "**t.csv** has 60 rows" in card
    assert str(tmp_path) not in card


def test_types_target_and_scores_are_printed(call, table):
    result = fit(call, table)
    printed = result.stdout
    first, _, *lines = printed.splitlines()
    assert first.startswith("6 columns: 2 categories, 2 numbers, 1 text column, 1 int")
    assert first.endswith("; missing values in 2.")
    missing = make_table().isna().sum().nlargest(2)
    assert [line.split()[0] for line in lines[:2]] == list(missing.index)
    assert [int(line.split()[-1]) for line in lines[:2]] == list(missing)
    counts = make_table()["ill"].value_counts()
    classes = f"no ({counts['no']}), yes ({counts['yes']})"
    assert f"Target 'ill': classification, classes {classes}." in printed
    assert "On 12 held-out rows:" in printed
    for model in ("lacunet", "HistGradientBoosting", "trivial model"):
        (line,) = [
            each for each in printed.splitlines() if each.startswith(f"{model} ")
        ]
        assert len(line.removeprefix(model).split()) == 4
    assert "--drop id" in result.stderr


def test_numbers_are_predicted(call, table, tmp_path):
    result = fit(call, table, "--json", target="cost")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["task"] == "regression"
    assert set(answer["scores"]["lacunet"]) == {"rmse", "r2"}
    assert isinstance(load(tmp_path / "m"), LacunetRegressor)


def test_the_task_can_be_chosen(call, tmp_path):
    table = make_table().assign(grade=np.arange(60) % 3)
    save_csv(table, tmp_path / "t.csv")
    answer = json.loads(fit(call, tmp_path / "t.csv", "--json", target="grade").stdout)
    assert answer["task"] == "classification"
    given = ("--json", "--force", "--task", "regression")
    answer = json.loads(fit(call, tmp_path / "t.csv", *given, target="grade").stdout)
    assert answer["task"] == "regression"


def test_rows_without_a_target_are_counted_and_used(call, tmp_path, monkeypatch):
    table = make_table()
    table.loc[:9, "ill"] = None
    save_csv(table, tmp_path / "t.csv")
    seen = []
    fitted = LacunetClassifier.fit

    def record(self, X, y, *rest, X_unlabelled=None, **more):
        seen.append((len(X), len(X_unlabelled)))
        return fitted(self, X, y, *rest, X_unlabelled=X_unlabelled, **more)

    monkeypatch.setattr(LacunetClassifier, "fit", record)
    result = fit(call, tmp_path / "t.csv")
    assert result.exit_code == 0, result.output
    assert "Without a target: 10 rows" in result.stdout
    assert seen == [(40, 10), (50, 10)]  # once to evaluate, once to keep


def test_the_evaluated_model_is_kept_if_asked(call, table, monkeypatch):
    sizes = []
    fitted = LacunetClassifier.fit

    def record(self, X, *rest, **more):
        sizes.append(len(X))
        return fitted(self, X, *rest, **more)

    monkeypatch.setattr(LacunetClassifier, "fit", record)
    assert fit(call, table, "--no-refit", "--hold-out", "0.5").exit_code == 0
    assert sizes == [30]


def test_the_time_limit_is_that_of_the_command(call, table, monkeypatch):
    limits = []
    fitted = LacunetClassifier.fit

    def record(self, *rest, **more):
        limits.append(self.time_limit)
        return fitted(self, *rest, **more)

    monkeypatch.setattr(LacunetClassifier, "fit", record)
    fit(call, table, "--time-limit", 1000)
    fit(call, table, "--time-limit", 1000, "--no-refit", "--force")
    first, second, only = limits
    assert 400 < first < 485
    assert 800 < second < 1000  # all that is left
    assert 800 < only < 970  # but what is kept for the scores


# On a slow machine.
@pytest.mark.filterwarnings("ignore:(EM|Training) was cut by time_limit")
def test_without_time_for_a_second_training_the_first_model_is_written(
    call, table, monkeypatch
):
    sizes = []
    fitted = LacunetClassifier.fit

    def record(self, X, *rest, **more):
        sizes.append(len(X))
        return fitted(self, X, *rest, **more)

    monkeypatch.setattr(LacunetClassifier, "fit", record)
    result = fit(call, table, "--time-limit", 0.01)
    assert result.exit_code == 0, repr(result.exception)
    assert sizes == [48]
    assert "too little time is left to train on all rows" in result.stderr
    card = (table.parent / "m/card.md").read_text("utf-8")
    assert "The model was trained on 48 rows" in card


def test_a_second_training_that_was_cut_is_named_everywhere(call, table, monkeypatch):
    fitted = LacunetClassifier.fit

    def cut(self, X, *rest, **more):
        fitted(self, X, *rest, **more)
        self.timed_out_ = len(X) == 60
        return self

    monkeypatch.setattr(LacunetClassifier, "fit", cut)
    result = fit(call, table, "--report", table.parent / "fit.html")
    for text in (
        result.stdout,
        (table.parent / "m/card.md").read_text("utf-8"),
        (table.parent / "fit.html").read_text("utf-8"),
    ):
        assert "The second training was cut" in text


def test_a_page_is_written(call, table, tmp_path):
    page = tmp_path / "fit.html"
    result = fit(call, table, "--report", page)
    assert result.exit_code == 0, result.output
    assert "A model of ill from t.csv" in page.read_text("utf-8")


def test_the_same_seed_gives_the_same_model(call, table, tmp_path):
    predicted = []
    for name in ("a", "b"):
        given = ("--target", "ill", "-o", tmp_path / name, *SMALL, "--seed", 3)
        assert call("fit", table, *given).exit_code == 0
        model = load(tmp_path / name)
        predicted.append(
            model.predict_proba(make_table()[list(model.feature_names_in_)])
        )
    np.testing.assert_array_equal(*predicted)


def test_what_was_fitted_predicts(call, table, tmp_path):
    fit(call, table, "--missing", "-999", "--drop", "id")
    result = call("predict", tmp_path / "m", table, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv(tmp_path / "out.csv")) == 60
    known = json.loads((tmp_path / "m/table.json").read_text())
    summaries = known.pop("training")
    assert [each["name"] for each in summaries] == ["age", "town", "score", "cost"]
    assert known == {
        "source": "t.csv",
        "target": "ill",
        "missing": ["-999"],
        "usual_missing": True,
    }


@pytest.mark.parametrize("order", ["%d/%m/%Y", "%m/%d/%Y"])
def test_the_order_of_days_and_months_is_that_of_training(call, tmp_path, order):
    days = pd.Series(pd.date_range("2021-01-01", periods=60))
    frame = make_table()[["age", "score", "ill"]]
    save_csv(frame.assign(when=days.dt.strftime(order)), tmp_path / "t.csv")
    assert fit(call, tmp_path / "t.csv").exit_code == 0
    printed = []
    for form in (order, "%Y-%m-%d"):
        when = pd.Timestamp("2021-02-03").strftime(form)
        new = tmp_path / "new.csv"
        new.write_text(f"age,score,when\n40,0.5,{when}\n")
        printed.append(call("predict", tmp_path / "m", new).stdout)
        filled = call("impute", new, "--model", tmp_path / "m")
        assert filled.stdout == new.read_text(), filled.output
    assert printed[0] == printed[1] != ""


@pytest.mark.filterwarnings("default:Got columns without one observed value")
def test_a_column_without_a_value_in_rows_with_a_target_is_no_hindrance(call, tmp_path):
    frame = make_table()
    frame["note"] = pd.Series([None] * 60, dtype=object)
    frame.loc[:3, "ill"] = None
    frame.loc[:3, "note"] = "hello"
    table = save_csv(frame, tmp_path / "t.csv")
    assert fit(call, table, "--drop", "id").exit_code == 0
    result = call("predict", tmp_path / "m", table)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 61


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ill": "yes"}, "one class, yes"),
        ({"ill": None}, "Got 0 of 60 rows with a value of the target 'ill'"),
        ({"ill": [f"p{k}" for k in range(60)]}, "60 classes"),
        ({"ill": np.full(60, 1.0)}, "one class"),
    ],
)
def test_targets_without_information_are_refused(call, tmp_path, changes, words):
    save_csv(make_table().assign(**changes), tmp_path / "t.csv")
    result = fit(call, tmp_path / "t.csv")
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("option", ["--target", "--drop", "--categorical"])
def test_a_mistyped_column_is_refused_with_close_names(call, table, option):
    result = fit(call, table, option, "ILl")
    assert result.exit_code == 1
    expected = "expected a column of the table: did you mean 'ill'?"
    assert result.stderr == f"Error: Got {option} 'ILl', but {expected}\n"


def test_a_folder_of_the_user_is_never_replaced(call, table, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/thesis.tex").write_text("mine")
    assert fit(call, table).exit_code == 1
    result = fit(call, table, "--force")
    assert result.exit_code == 1
    assert "thesis.tex" in result.stderr
    assert (tmp_path / "m/thesis.tex").read_text() == "mine"
    assert "Fitting" not in result.stderr  # before any work


def test_a_place_that_can_not_be_written_to_is_refused_before_any_work(call, table):
    result = call("fit", table, "--target", "ill", "-o", table.parent / "no/m", *SMALL)
    assert result.exit_code == 1
    assert "Make" in result.stderr
    assert "Fitting" not in result.stderr


def test_options_reach_the_estimator():
    given = {
        "hidden_layer_sizes": (8, 4),
        "density": "factor",
        "n_components": 2,
        "indicator": "no",
        "lr": 0.1,
    }
    model = make_estimator("regression", given, random_state=1)
    assert model.hidden_layer_sizes == (8, 4)
    assert model.density.covariance_type == "factor"
    assert model.density.n_components == 2
    assert model.indicator is False
    assert (model.lr, model.random_state) == (0.1, 1)
    assert make_estimator("classification", {}).get_params() == (
        LacunetClassifier().get_params()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--n-components", 2, "--density", "auto"), "--density diag"),
        (("--hidden-layer-sizes", "a,b"), "as in 64,64"),
        (("--hold-out", 0), "--hold-out"),
        (("--class-weight", "balanced"), "no classes"),
    ],
)
def test_choices_that_do_not_go_together(call, table, given, words):
    result = fit(call, table, *given, target="cost")
    assert result.exit_code == 2
    assert words in result.stderr


def test_columns_of_which_nothing_can_be_learned_are_named_once(call, tmp_path):
    rows = [f"{k % 7},1,,{'ny'[k % 2]}" for k in range(60)]
    (tmp_path / "t.csv").write_text("a,same,none,y\n" + "\n".join(rows) + "\n")
    arguments = (tmp_path / "t.csv", "--target", "y", "-o", tmp_path / "m", *SMALL)
    result = call("fit", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("'same'") == result.stderr.count("'none'") == 1


def test_targets_known_by_a_bound_are_warned_of(call, tmp_path):
    rng = np.random.RandomState(0)
    lead = np.exp(rng.randn(60))
    cells = ["<0.5" if value < 0.5 else f"{value:.3f}" for value in lead]
    rows = [f"{cell},{value:.2f}" for cell, value in zip(cells, lead, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["lead,x", *rows]) + "\n")
    given = ("--target", "lead", "--max-epochs", 1, "--n-networks", 1)
    model = tmp_path / "m"
    result = call("fit", tmp_path / "t.csv", *given, "--calibration", "no", "-o", model)
    assert result.exit_code == 0, result.output
    path = model / "model.safetensors"
    count = sum(cell == "<0.5" for cell in cells)
    assert f"{count} targets known by a bound alone" in result.stderr
    assert not any(name.startswith("calib") for name in load_file(path))
