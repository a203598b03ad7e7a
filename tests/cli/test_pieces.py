"""`lacunet fit` and `lacunet predict` of Parquet files that are read in pieces."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from own_models import make_table, save_csv

from lacunet import LacunetRegressor, load
from lacunet.cli import _fit
from lacunet.cli._main import lacunet
from lacunet.distributed import _fit as distributed_fit

SMALL = ("--n-networks", 1, "--max-epochs", 2, "--density", "diag")
SMALL += ("--n-components", 1, "--drop", "id")


def save_files(folder, n_files=3, n_rows=100):
    folder.mkdir()
    for k in range(n_files):
        rows = make_table(n_rows, seed=k)
        rows.loc[:4, "ill"] = None
        rows.to_parquet(folder / f"part-{k}.parquet", row_group_size=40)
    return folder


@pytest.fixture
def data(tmp_path):
    return save_files(tmp_path / "data")


def fit(call, table, *given, target="ill"):
    out = table.parent / "m"
    return call("fit", table, "--target", target, "-o", out, *SMALL, *given)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with files, a model of them and its page; and the result."""
    folder = tmp_path_factory.mktemp("fitted")
    save_files(folder / "data")
    given = ("--workers", 0, "--report", folder / "r.html", "--checkpoint", "run/")
    arguments = ("fit", "data/*.parquet", "--target", "ill", "-o", "m", *SMALL, *given)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(lacunet, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return folder, result


def test_a_model_with_its_card_and_its_page_is_written(fitted):
    folder, result = fitted
    printed = result.stdout
    assert "5 columns: 3 numbers, 2 categories; missing values in 3." in printed
    assert "Target 'ill': classification, classes no (" in printed
    assert "Without a target: 15 rows" in printed
    for model in ("lacunet", "HistGradientBoosting", "trivial model"):
        assert f"\n{model} " in printed
    names = sorted(path.name for path in (folder / "m").iterdir())
    assert names == ["card.md", "model.json", "model.safetensors", "table.json"]
    assert sorted(path.name for path in folder.iterdir()) == ["data", "m", "r.html"]
    card = (folder / "m/card.md").read_text("utf-8")
    assert "has 300 rows" in card
    assert "held out at random" in (folder / "r.html").read_text("utf-8")


def test_the_card_counts_missing_values_of_the_training_rows(fitted):
    folder, _ = fitted
    card = (folder / "m/card.md").read_text("utf-8")
    [row] = [line for line in card.splitlines() if line.startswith("| age |")]
    n_missing, percent = row.split("|")[3:5]
    [summary] = [
        each
        for each in json.loads((folder / "m/table.json").read_text())["training"]
        if each["name"] == "age"
    ]
    assert int(n_missing) == summary["n_missing"]
    assert f"counted in the {summary['n_rows']} rows" in card
    fraction = summary["n_missing"] / summary["n_rows"]
    assert float(percent.strip(" %")) == pytest.approx(100 * fraction, abs=0.5)


def test_later_rows_are_checked_against_those_of_training(fitted, call, tmp_path):
    folder, _ = fitted
    result = call("check", folder / "m", folder / "data")
    assert result.exit_code == 0, result.output
    rows = pd.read_parquet(folder / "data/part-0.parquet")
    rows.assign(score=rows["score"] * 1000).to_parquet(tmp_path / "new.parquet")
    result = call("predict", folder / "m", tmp_path / "new.parquet")
    assert "'score'" in result.stderr
    assert "the range of training" in result.stderr


def test_predictions_in_a_folder_are_those_of_a_single_file(fitted, call, tmp_path):
    folder, _ = fitted
    given = ("predict", folder / "m", folder / "data")
    assert call(*given, "-o", tmp_path / "all.parquet").exit_code == 0
    result = call(*given, "-o", f"{tmp_path}/out/", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 300
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    parts = [pd.read_parquet(tmp_path / "out" / name) for name in names]
    pd.testing.assert_frame_equal(
        pd.concat(parts, ignore_index=True), pd.read_parquet(tmp_path / "all.parquet")
    )
    result = call(*given, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "--force" in result.stderr
    assert call(*given, "-o", tmp_path / "out", "--force").exit_code == 0


def test_columns_that_files_lack_are_missing_as_in_a_table(fitted, call, tmp_path):
    folder, _ = fitted
    rows = pd.read_parquet(folder / "data/part-0.parquet").drop(columns="age")
    rows.to_parquet(tmp_path / "new.parquet")
    given = (folder / "m", tmp_path / "new.parquet", "-o", tmp_path / "out")
    result = call("predict", *given, "--workers", 0)
    assert result.exit_code == 0, result.output
    assert "missing in every row: 'age'" in result.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--keep", "id"), "Got --keep"),
        (("--strict",), "Got --strict"),
        (("--ray-address", "127.0.0.1:1"), "expected --workers"),
        (("-o", "-", "--workers", 0), "as -o out/"),
        (("-o", "out.csv", "--workers", 0), "as -o out/"),
        (("-o", "out.csv", "--skip-bad-files"), "as -o out/"),
    ],
)
def test_predict_refuses_what_a_folder_can_not_have(fitted, call, given, words):
    folder, _ = fitted
    result = call("predict", folder / "m", folder / "data", "-o", "out/", *given)
    assert result.exit_code == 2
    assert words in result.stderr


def test_numbers_are_predicted_and_a_sample_is_named(call, data, monkeypatch):
    monkeypatch.setattr(_fit, "_PREVIEWED", 90)
    monkeypatch.setattr(distributed_fit, "_MOST_SAMPLED", 60)
    given = ("--workers", 0, "--hold-out", 0.3)
    result = fit(call, data, *given, target="cost")
    assert result.exit_code == 0, result.output
    assert "In 90 of 300 rows:" in result.stdout
    assert "Target 'cost': regression" in result.stdout
    assert "HistGradientBoosting (on 60 rows)" in result.stdout
    card = (data.parent / "m/card.md").read_text("utf-8")
    assert "60 were drawn at random for HistGradientBoosting" in card
    assert isinstance(load(data.parent / "m"), LacunetRegressor)


def test_no_more_rows_are_held_out_than_are_scored(call, data, monkeypatch):
    monkeypatch.setattr(_fit, "_SCORED", 30)
    answer = json.loads(fit(call, data, "--workers", 0, "--json").stdout)
    assert answer["test_size"] == pytest.approx(30 / 285)
    assert answer["rows"] == 300
    counts = [answer[name] for name in ("n_train", "n_test", "n_unlabelled")]
    assert sum(counts) <= 300
    assert not answer["refitted"]


def test_whole_numbers_are_classes_without_decimals(call, tmp_path):
    rows = make_table(200).assign(grade=np.arange(200) % 3 + 0.0)
    rows.loc[:9, "grade"] = np.nan
    rows.to_parquet(tmp_path / "t.parquet")
    result = fit(call, tmp_path / "t.parquet", "--workers", 0, target="grade")
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "m").classes_.tolist() == [0, 1, 2]
    assert load(tmp_path / "m").classes_.dtype.kind == "i"


def test_a_table_that_is_large_beside_the_memory_is_read_in_pieces(
    call, data, monkeypatch
):
    monkeypatch.setattr(_fit, "_find_memory", lambda: 1000.0)
    result = fit(call, data)
    assert result.exit_code == 0, result.output
    assert "it is read in pieces, several times" in result.stderr
    assert "Training on all" not in result.stderr
    result = fit(call, data, "--missing", "-999", "--force")
    assert result.exit_code == 0, result.output
    assert "It is read into it because of '--missing'" in result.stderr
    assert "Training on all" in result.stderr


def test_memory_is_found_and_a_small_table_goes_into_it(call, data):
    assert _fit._find_memory() > 2**20
    result = fit(call, data)
    assert result.exit_code == 0, result.output
    assert "in pieces" not in result.stderr
    assert "Training on all" in result.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--missing", "-999"), "Got --missing with --workers"),
        (("--sep", ";"), "Got --sep with --workers"),
        (("--no-usual-missing",), "Got --no-usual-missing with"),
        (("--categorical", "age"), "Got --categorical with --workers"),
        (("--time-limit", 3), "Use --max-epochs"),
        (("--refit",), "trained once"),
        (("--hold-out", 0.01), "expected 5 rows to score"),
    ],
)
def test_options_that_do_not_suit_pieces_are_refused(call, data, given, words):
    result = fit(call, data, "--workers", 0, *given)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (data.parent / "m").exists()


def test_other_formats_are_refused_with_how_to_convert_them(call, tmp_path):
    table = save_csv(make_table(), tmp_path / "t.csv")
    result = fit(call, table, "--workers", 2)
    assert result.exit_code == 2
    _, _, command = result.stderr.partition("Convert it: ")
    code = command.strip().removeprefix('python -c "').removesuffix('"')
    subprocess.run([sys.executable, "-c", code], check=True)
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 60


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ill": "yes"}, "one class, yes"),
        ({"ill": [f"p{k}" for k in range(60)]}, "Is it an identifier?"),
        ({"ill": None}, "Got 0 of 60 rows"),
    ],
)
def test_targets_without_information_are_refused(call, tmp_path, changes, words):
    make_table().assign(**changes).to_parquet(tmp_path / "t.parquet")
    result = fit(call, tmp_path / "t.parquet", "--workers", 0)
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.filterwarnings("default:Left out")
def test_bad_files_are_named_or_left_out(call, data):
    bad = data / "part-1.parquet"
    bad.write_bytes(bad.read_bytes()[:-9])
    result = fit(call, data, "--workers", 0)
    assert result.exit_code == 1
    assert str(bad) in result.stderr
    assert "--skip-bad-files" in result.stderr
    result = fit(call, data, "--skip-bad-files", "--json")
    assert result.exit_code == 0, result.output
    assert f"Warning: Left out 1 of 3 files: {bad}" in result.stderr
    assert json.loads(result.stdout)["rows"] == 200
    given = (data.parent / "m", data, "-o", data.parent / "out", "--workers", 0)
    assert call("predict", *given).exit_code == 1
    result = call("predict", *given, "--skip-bad-files")
    assert result.exit_code == 0, result.output
    assert "Left out 1 of 3 files" in result.stderr


def test_a_checkpoint_of_the_wrong_kind_is_refused(call, data, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/thesis.tex").write_text("mine")
    result = fit(call, data, "--checkpoint", tmp_path / "notes")
    assert result.exit_code == 2
    assert "expected a file" in result.stderr
    result = fit(call, data, "--checkpoint", tmp_path / "notes", "--workers", 0)
    assert result.exit_code == 1
    assert "a folder with other files" in result.stderr
    assert (tmp_path / "notes/thesis.tex").read_text() == "mine"


# --- on Ray


def run(*arguments, **options):
    command = [sys.executable, "-m", "lacunet.cli", *map(str, arguments)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        start_new_session=True,
        **options,
    )


@pytest.mark.slow
def test_workers_find_the_model_of_one_process(call, data, tmp_path):
    pytest.importorskip("ray")
    models = []
    for n in (0, 2):
        given = ("--target", "ill", "-o", tmp_path / f"m{n}", "--workers", n)
        process = run("fit", data, *given, *SMALL)
        _, written = process.communicate(timeout=120)
        assert process.returncode == 0, written
        models.append(load(tmp_path / f"m{n}"))
    rows = make_table()[list(models[0].feature_names_in_)]
    expected, found = (model.predict_proba(rows) for model in models)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    given = (tmp_path / "m2", data, "-o", tmp_path / "out", "--workers", 2)
    process = run("predict", *given)
    _, written = process.communicate(timeout=120)
    assert process.returncode == 0, written
    assert len(pd.read_parquet(tmp_path / "out")) == 300


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="has no such signals")
@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_stops_all_and_keeps_the_checkpoint(data, tmp_path, workers):
    pytest.importorskip("ray")
    endless = ("--n-networks", 1, "--max-epochs", 100_000, "--lr", 1e-7)
    given = ("--target", "ill", "-o", tmp_path / "m", "--checkpoint", tmp_path / "run")
    process = run("fit", data, *given, "--workers", workers, *endless)
    began = time.monotonic()
    while not (tmp_path / "run/view-0.safetensors").exists():
        assert time.monotonic() < began + 120
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    _, written = process.communicate(timeout=60)
    assert process.returncode == 130, written
    assert written.endswith(
        f"The same command goes on from --checkpoint {tmp_path / 'run'}.\nStopped.\n"
    )
    assert "Traceback" not in written
    assert not (tmp_path / "m").exists()
    left = subprocess.run(["ps", "-eo", "sess"], capture_output=True, text=True)
    assert str(process.pid) not in left.stdout.split()
