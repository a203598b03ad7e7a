"""The comparison of estimators: resumed, summed up, and run on tiny stand-ins."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from reproduction.datasets import DataSet

from lacunet.exceptions import LacunetError

ROOT = Path(__file__).parents[1]
ATTRIBUTES = 3


@pytest.fixture(autouse=True)
def _root_on_path(monkeypatch):
    # `python -m pytest` has it there already, `pytest` alone has not.
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.delenv("LACUNET_DATA", raising=False)


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


def stand_in(name, X, labels, groups=None):
    """Return a record of a set that is named like a real one."""
    kinds, y = np.unique(labels, return_inverse=True)
    names = tuple(f"x{place}" for place in range(ATTRIBUTES))
    words = ("Made by hand.", "here", "none")
    return DataSet(name, X, y, names, tuple(map(str, kinds)), *words, groups=groups)


def natural_set(name, random_state):
    X = random_state.normal(size=(40, ATTRIBUTES))
    labels = np.where(X[:, 0] > 0, 1, -1)
    X[random_state.uniform(size=X.shape) < 0.2] = np.nan
    return stand_in(name, X, labels)


def complete_set(name, random_state):
    X = random_state.normal(size=(40, ATTRIBUTES))
    return stand_in(name, X, np.where(X[:, 0] > 0, 2, 4))


def esr_set(random_state):
    recordings = np.tile(np.arange(20), 4)
    X = random_state.normal(recordings[:, None] % 5, size=(80, ATTRIBUTES))
    return stand_in("esr", X, recordings % 5 + 1, recordings.astype(str))


@pytest.fixture
def data(monkeypatch):
    """Stand in for a natural set, both sets of a pair, and the large set."""
    random_state = np.random.RandomState(0)
    sets = {
        "pima": natural_set("pima", random_state),
        "diabetes": complete_set("diabetes", random_state),
        "bank": complete_set("bank", random_state),
        "esr": esr_set(random_state),
    }

    def load_dataset(name, *, return_X_y=False):
        return (sets[name].X, sets[name].y) if return_X_y else sets[name]

    for module in ("uci", "esr"):
        monkeypatch.setattr(load(module), "load_dataset", load_dataset)
    return sets


def make_cell(dataset, method, fold=0, log_loss=0.5, accuracy=0.8, recipe="r"):
    return load("cells").Cell(dataset, method, fold, recipe, log_loss, accuracy, 1.0)


def test_absent_data_are_named_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path))
    main = load("estimators").main
    with pytest.raises(LacunetError, match="LACUNET_DATA"):
        main(["--part", "uci", "--methods", "hgb", "--out", str(tmp_path / "out")])
    assert list(tmp_path.iterdir()) == []


def test_half_of_a_complete_set_is_removed_and_natural_holes_stay(data):
    uci = load("uci")
    natural, removed = (uci.make_splits(name) for name in ("pima", "bank"))
    np.testing.assert_array_equal(natural[0].X, data["pima"].X)
    expected = np.random.default_rng(0).random((40, ATTRIBUTES)) < 0.5
    np.testing.assert_array_equal(np.isnan(removed[0].X), expected)
    tested = np.concatenate([split.test for split in removed])
    assert sorted(tested) == list(range(40))


def test_recordings_are_on_one_side_of_their_split(data):
    split = load("esr").make_split("esr-recordings-50", quick=False)
    groups = data["esr"].groups
    assert not set(groups[split.train]) & set(groups[split.test])
    assert len(split.test) == 16


def test_cells_are_kept_at_once_and_the_last_line_counts(tmp_path):
    file = load("cells").CellFile(tmp_path / "new" / "x.jsonl")
    file.add(make_cell("bank", "hgb", recipe="old"))
    file.add(make_cell("bank", "hgb", recipe="new"))
    again = load("cells").CellFile(file.path)
    assert (("bank", "hgb", 0), "new") in again
    assert (("bank", "hgb", 0), "old") not in again
    again.tidy()
    assert len(file.path.read_text().splitlines()) == 1
    assert load("cells").CellFile(file.path).cells == again.cells


def test_half_a_line_is_dropped_with_a_warning(tmp_path):
    cells = load("cells")
    file = cells.CellFile(tmp_path / "x.jsonl")
    whole, half = make_cell("bank", "hgb"), make_cell("heart", "hgb")
    file.add(whole)
    with file.path.open("a") as opened:
        opened.write(cells.as_line(half)[:20])
    with pytest.warns(UserWarning, match="half there"):
        again = cells.CellFile(file.path)
    assert list(again.cells.values()) == [whole]
    again.add(half)
    assert len(cells.CellFile(file.path).cells) == 2


def test_a_line_that_is_no_cell_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"dataset": "bank"}\n')
    with pytest.raises(ValueError, match="Line 1 of x.jsonl"):
        load("cells").CellFile(path)


@pytest.fixture
def two_methods():
    """Cells in which ours wins on a pair and on bank, and loses on heart."""
    losses = {"pima": (1, 4), "diabetes": (3, 2), "bank": (1, 2), "heart": (5, 1)}
    return [
        make_cell(dataset, method, log_loss=loss, accuracy=1 - loss / 10)
        for dataset, both in losses.items()
        for method, loss in zip(("lacunet", "hgb"), both, strict=True)
    ]


def test_means_and_ranks_are_over_all_sets_or_over_the_distinct_ones(two_methods):
    scores = load("scores")
    _, by_method = scores.comparable(scores.score_sets(two_methods, 1))
    best, ours = scores.rank_methods(by_method, [("pima", "diabetes")])
    assert (best.method, ours.method) == ("hgb", "lacunet")
    assert (best.log_loss, ours.log_loss) == (2.25, 2.5)
    assert (best.log_loss_rank, ours.log_loss_rank) == (1.5, 1.5)
    # pima/diabetes: 2 against 3, one first place instead of one each.
    assert ours.distinct_log_loss_rank == pytest.approx(4 / 3)
    assert ours.distinct_accuracy_rank == pytest.approx(4 / 3)


def test_a_pair_has_one_vote_in_a_duel(two_methods):
    scores = load("scores")
    by_method = scores.score_sets(two_methods, 1)
    duels = scores.fight(by_method, "lacunet", [("pima", "diabetes")])
    assert [(d.metric, d.n_sets, d.wins, d.losses) for d in duels] == [
        ("log_loss", 3, 2, 1),
        ("accuracy", 3, 2, 1),
    ]
    assert duels[0].difference == pytest.approx((-1 - 1 + 4) / 3)
    assert duels[0].p_value == 1.0


def test_ties_share_a_rank_and_nothing_is_significant_among_equals():
    scores = load("scores")
    cells = [make_cell(d, m) for d in ("bank", "heart") for m in ("lacunet", "hgb")]
    by_method = scores.score_sets(cells, 1)
    assert scores.mean_ranks(by_method, "log_loss") == {"lacunet": 1.5, "hgb": 1.5}
    duel = scores.fight(by_method, "lacunet", [])[0]
    assert (duel.wins, duel.losses, duel.ties, duel.p_value) == (0, 0, 2, 1.0)


def test_folds_are_averaged_with_errors_and_unfinished_sets_left_out():
    scores = load("scores")
    cells = [make_cell("bank", "hgb", fold, loss) for fold, loss in enumerate([1, 3])]
    found = scores.score_sets([*cells, make_cell("heart", "hgb")], 2)
    assert list(found["hgb"]) == ["bank"]
    assert found["hgb"]["bank"].log_loss == 2
    assert found["hgb"]["bank"].log_loss_error == pytest.approx(1)
    assert scores.error_of_mean([3.0, 4.0]) == 2.5


def test_methods_that_lack_a_set_are_named_and_not_compared(two_methods):
    summary = load("summary")
    cells = [*two_methods, make_cell("bank", "mlp")]
    found = summary.summarise_uci(cells, 1, [], ["bank"])
    assert found.incomplete == ["mlp"]
    assert {standing.method for standing in found.standings} == {"lacunet", "hgb"}
    assert found.goals == []


def test_goals_are_checked_once_all_sets_are_there(two_methods):
    summary = load("summary")
    sets = ["pima", "diabetes", "bank", "heart"]
    found = summary.summarise_uci(two_methods, 1, [], sets)
    assert len(found.goals) == 6
    assert not any(goal.reached for goal in found.goals)


def test_cells_of_several_recipes_are_warned_of():
    cells = [make_cell("bank", "hgb"), make_cell("heart", "hgb", recipe="other")]
    with pytest.warns(UserWarning, match="2 recipes"):
        load("summary").summarise_esr(cells)


def test_recipe_follows_parameters_and_speed():
    rivals = load("rivals")
    ours = rivals.METHODS["lacunet"]
    assert "random_state=0" in ours.recipe(quick=False)
    assert ours.recipe(quick=False) != ours.recipe(quick=True)
    changed = rivals.make_lacunet(quick=False, gamma=0.5)
    digest = rivals.digest_parameters
    assert digest(changed) != digest(rivals.make_lacunet(quick=False))
    assert "MLPClassifier" in rivals.METHODS["mlp"].recipe(quick=False)


def test_a_library_that_is_not_there_is_named_and_the_others_go_on(monkeypatch, capsys):
    estimators, rivals = load("estimators"), load("rivals")
    monkeypatch.setattr(rivals, "find_spec", lambda name: name == "sklearn" or None)
    chosen = estimators.choose_methods(["catboost", "hgb", "mlp"], ["catboost", "hgb"])
    assert [method.name for method in chosen] == ["hgb"]
    assert "pip install 'lacunet[boosting]'" in capsys.readouterr().err


def run(out, *more):
    argv = ["--quick", "--out", str(out), *more]
    load("estimators").main(argv)
    return json.loads((out / "estimators.json").read_text())


METHODS = ("lacunet", "lacunet-diag3", "hgb", "mlp", "logistic", "knn-svc", "forest")


@pytest.mark.usefixtures("data")
def test_quick_run_measures_once_and_then_finds_everything(tmp_path, capsys):
    sets = ("pima", "diabetes", "bank", "esr-recordings-50", "esr-rows-90")
    wanted = ("--part", "uci", "esr", "--methods", *METHODS, "--datasets", *sets)
    out = tmp_path / "out"
    first = run(out, *wanted)
    assert "uci.jsonl: 0 cells found, 36 measured" in capsys.readouterr().out
    lines = (out / "estimators" / "esr.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 4
    second = run(out, *wanted)
    printed = capsys.readouterr().out
    assert "36 cells found, 0 measured" in printed
    assert second == first
    assert set(first) == {"uci", "esr"}
    assert len(first["uci"]["standings"]) == 6
    assert {duel["n_sets"] for duel in first["uci"]["duels"]} == {2}


@pytest.mark.slow
def test_quick_run_needs_no_data_for_the_other_parts(tmp_path, capsys):
    load("estimators").main(
        ["--quick", "--part", "time", "missing-column", "--out", str(tmp_path)]
    )
    report = json.loads((tmp_path / "estimators.json").read_text())
    fit, predict, single = report["time"]["rows"]
    assert fit["details"]["epochs"] == 2
    assert min(row["ratio"] for row in (fit, predict, single)) > 0
    assert len(report["time"]["costs"]) == 6
    models = {model["model"] for model in report["missing_column"]["models"]}
    assert {"lacunet, expectation", "lacunet, sample"} <= models
    assert "x0 missing" in capsys.readouterr().out
