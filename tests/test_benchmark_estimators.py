"""The comparison of estimators: resumed, summed up, and run on tiny stand-ins."""

import hashlib
import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
ATTRIBUTES = 3


@pytest.fixture(autouse=True)
def _root_on_path(monkeypatch):
    # `python -m pytest` has it there already, `pytest` alone has not.
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.delenv("LACUNET_DATA", raising=False)


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


def entry(folder, name, files, **spec):
    """Write the files of a set and return what the manifest says of it."""
    listed = []
    for file, text in files.items():
        path = folder / name / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
        digest = hashlib.sha256(text.encode()).hexdigest()
        listed.append({"path": f"{name}/{file}", "sha256": digest})
    defaults = {"format": "csv", "delimiter": ",", "header": False, "missing": []}
    return {"name": name, "files": listed, "load": defaults | spec}


def lines_of(cells):
    return "".join(",".join(map(str, line)) + "\n" for line in cells)


def natural_set(folder, name, random_state):
    X = random_state.normal(size=(40, ATTRIBUTES)).round(3)
    labels = np.where(X[:, 0] > 0, 1, -1)
    X[random_state.uniform(size=X.shape) < 0.2] = np.nan
    files = {"_data.txt": lines_of(X), "_labels.txt": lines_of(labels[:, None])}
    return entry(folder, name, files, missing=["nan"], labels_in_second_file=True)


def complete_set(folder, name, random_state):
    X = random_state.normal(size=(40, ATTRIBUTES)).round(3)
    cells = [[*row, 2 if row[0] > 0 else 4] for row in X]
    return entry(folder, name, {"x.csv": lines_of(cells)}, label_column=ATTRIBUTES)


def esr_set(folder, random_state):
    cells = [["id", *"abc", "y"]]
    for piece in range(4):
        for recording in range(20):
            values = random_state.normal(loc=recording % 5, size=ATTRIBUTES).round(3)
            cells.append([f"X{piece}.V{recording}.7", *values, recording % 5 + 1])
    files = {"esr.csv": lines_of(cells).replace("\n", "\r\n")}
    return entry(folder, "esr", files, header=True, label_column=4, drop_columns=[0])


@pytest.fixture
def data(tmp_path):
    """Make a folder with one natural set, both sets of a pair, and the large set."""
    folder = tmp_path / "data"
    folder.mkdir()
    random_state = np.random.RandomState(0)
    entries = [
        natural_set(folder, "pima", random_state),
        complete_set(folder, "diabetes", random_state),
        complete_set(folder, "bank", random_state),
        esr_set(folder, random_state),
    ]
    (folder / "MANIFEST.json").write_text(json.dumps(entries))
    return folder


def make_cell(dataset, method, fold=0, log_loss=0.5, accuracy=0.8, recipe="r"):
    return load("cells").Cell(dataset, method, fold, recipe, log_loss, accuracy, 1.0)


def test_sets_are_read_with_holes_classes_and_groups(data):
    folder = load("data").DataFolder(data)
    pima, esr = folder.load("pima"), folder.load("esr")
    assert pima.X.shape == (40, ATTRIBUTES)
    assert 0 < np.isnan(pima.X).mean() < 0.5
    assert set(pima.y) == {0, 1}
    assert pima.groups is None
    assert esr.X.shape == (80, ATTRIBUTES)
    assert len(set(esr.groups)) == 20
    assert all(len(set(esr.y[esr.groups == g])) == 1 for g in set(esr.groups))


def test_words_are_coded_in_sorted_order_and_numbers_stay():
    read = load("data").read_column
    words = read(["b", "?", "c", "a"], frozenset("?"))
    np.testing.assert_array_equal(words, [1, np.nan, 2, 0])
    np.testing.assert_array_equal(read(["7", "-1.5"], frozenset()), [7, -1.5])


def test_blanks_and_headers_are_understood():
    spec = {"delimiter": "whitespace", "header": True}
    assert load("data").split_lines("a b\n1  2\n\n 3 4 \n", spec) == [
        ["1", "2"],
        ["3", "4"],
    ]


def test_changed_bytes_are_refused(data):
    with (data / "bank" / "x.csv").open("a") as file:
        file.write("1,2,3,4\n")
    with pytest.raises(ValueError, match="sha256"):
        load("data").DataFolder(data).load("bank")


def test_absent_folder_is_named_before_anything_is_measured(tmp_path, capsys):
    main = load("estimators").main
    for argv in ([], ["--data", str(tmp_path)]):
        with pytest.raises(SystemExit):
            main(["--part", "uci", *argv])
        assert "MANIFEST.json" in capsys.readouterr().err


def test_half_of_a_complete_set_is_removed_and_natural_holes_stay(data):
    uci, folder = load("uci"), load("data").DataFolder(data)
    natural, removed = (uci.make_splits(folder, name) for name in ("pima", "bank"))
    np.testing.assert_array_equal(natural[0].X, folder.load("pima").X)
    expected = np.random.default_rng(0).random((40, ATTRIBUTES)) < 0.5
    np.testing.assert_array_equal(np.isnan(removed[0].X), expected)
    tested = np.concatenate([split.test for split in removed])
    assert sorted(tested) == list(range(40))


def test_recordings_are_on_one_side_of_their_split(data):
    esr, folder = load("esr"), load("data").DataFolder(data)
    split = esr.make_split(folder, "esr-recordings-50", quick=False)
    groups = folder.load("esr").groups
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


def test_goals_are_judged_once_all_sets_are_there(two_methods):
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


def run(data, out, *more):
    argv = ["--quick", "--data", str(data), "--out", str(out), *more]
    load("estimators").main(argv)
    return json.loads((out / "estimators.json").read_text())


METHODS = ("lacunet", "lacunet-diag3", "hgb", "mlp", "logistic", "knn-svc", "forest")


def test_quick_run_measures_once_and_then_finds_everything(data, tmp_path, capsys):
    sets = ("pima", "diabetes", "bank", "esr-recordings-50", "esr-rows-90")
    wanted = ("--part", "uci", "esr", "--methods", *METHODS, "--datasets", *sets)
    out = tmp_path / "out"
    first = run(data, out, *wanted)
    assert "uci.jsonl: 0 cells found, 36 measured" in capsys.readouterr().out
    lines = (out / "estimators" / "esr.jsonl").read_text().splitlines()
    assert len(lines) == 2 * 4
    second = run(data, out, *wanted)
    printed = capsys.readouterr().out
    assert "36 cells found, 0 measured" in printed
    assert second == first
    assert set(first) == {"uci", "esr"}
    assert len(first["uci"]["standings"]) == 6
    assert {duel["n_sets"] for duel in first["uci"]["duels"]} == {2}


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
