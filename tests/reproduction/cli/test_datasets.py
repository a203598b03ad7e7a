import functools
import json

import numpy as np
import pandas as pd
import pytest
from reproduction.datasets import list_datasets, load_dataset, read_registry
from tqdm import tqdm


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return the folder that has the files: none so far."""
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path))
    monkeypatch.delenv("LACUNET_CACHE", raising=False)
    return tmp_path


@pytest.fixture
def loaded(monkeypatch):
    names = []
    monkeypatch.setattr("reproduction.datasets.load_dataset", names.append)
    return names


def put_files(folder, name):
    for file in read_registry()[name]["files"]:
        path = folder / file["path"]
        path.parent.mkdir(exist_ok=True)
        path.touch()


def rows_of(said):
    assert said.exit_code == 0, said.output
    header, *rows = [line.split() for line in said.stdout.splitlines()]
    assert header == ["name", "rows", "columns", "missing", "task", "here", "licence"]
    return {row[0]: row[1:] for row in rows}


def test_all_sets_are_listed_with_their_sizes(call):
    rows = rows_of(call("datasets"))
    assert list(rows) == list_datasets()
    assert rows["pima"] == ["768", "8", "12.24%", "2", "classes", "no", "unknown"]
    assert rows["wine"][:6] == ["178", "13", "-", "3", "classes", "yes"]
    assert rows["diabetes_regression"][3] == "regression"


def test_a_set_is_here_if_all_of_its_files_are(call, folder):
    put_files(folder, "pima")
    put_files(folder, "horse")
    (folder / read_registry()["horse"]["files"][1]["path"]).unlink()
    rows = rows_of(call("datasets"))
    assert {name for name, row in rows.items() if "yes" in row} == {
        *("pima", "digits", "breast_cancer_wdbc", "wine", "iris"),
        "diabetes_regression",
    }


def test_one_set_is_told_in_full(call, folder):
    said = call("datasets", "esr")
    assert said.exit_code == 0
    entry = read_registry()["esr"]
    for text in (*map(entry.get, ("description", "source", "licence")), "5 classes"):
        assert text in said.stdout
    assert str(folder / entry["files"][0]["path"]) in said.stdout


def test_scripts_get_all_that_is_known(call):
    said = call("datasets", "bands", "iris", "--json")
    bands, iris = json.loads(said.stdout)
    assert (bands["rows"], bands["here"], iris["here"]) == (539, False, True)
    assert bands["missing"] == pytest.approx(0.0538, abs=1e-4)
    assert bands["source"] == read_registry()["bands"]["source"]


def test_an_unknown_name_is_told_with_a_hint(call):
    said = call("datasets", "pina")
    assert (said.exit_code, said.stdout) == (1, "")
    assert "Did you mean 'pima'" in said.stderr


def test_only_what_is_not_here_is_downloaded(call, loaded, folder):
    put_files(folder, "pima")
    said = call("datasets", "pima", "horse", "iris", "--download")
    assert loaded == ["horse"]
    assert said.stderr == "Getting horse\n"
    assert list(rows_of(said)) == ["pima", "horse", "iris"]


def test_what_was_downloaded_is_here(call, folder, monkeypatch):
    get = functools.partial(put_files, folder)
    monkeypatch.setattr("reproduction.datasets.load_dataset", get)
    assert "yes" in rows_of(call("datasets", "horse", "--download"))["horse"]


def test_without_names_everything_is_downloaded(call, loaded):
    call("datasets", "--download", "--quiet")
    assert loaded == list_datasets()[:17]


def test_a_download_that_fails_is_told_with_what_to_do(call, folder):
    said = call("datasets", "pima", "--download")
    assert said.exit_code == 1
    assert "LACUNET_DATA names the folder" in said.stderr


def test_quiet_has_no_bars(call, monkeypatch):
    def load_dataset(name):
        for _ in tqdm([name]):
            pass

    monkeypatch.setattr("reproduction.datasets.load_dataset", load_dataset)
    assert "1/1" in call("datasets", "pima", "--download").stderr
    assert call("datasets", "pima", "--download", "--quiet").output == ""


def test_a_data_set_is_saved_as_a_table(call, tmp_path):
    path = tmp_path / "wine.csv"
    result = call("datasets", "wine", "--save", path)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"Wrote 178 rows to {path}; what to predict is 'target'.\n"
    table = pd.read_csv(path)
    assert table.shape == (178, 14)
    assert set(table["target"]) == {"class_0", "class_1", "class_2"}
    np.testing.assert_array_equal(table.iloc[:, :-1], load_dataset("wine").X)
    assert call("datasets", "wine", "--save", path).exit_code == 1


def test_values_can_be_removed_from_what_is_saved(call, tmp_path):
    tables = []
    for name in ("a.csv", "b.csv"):
        call("datasets", "iris", "--save", tmp_path / name, "--remove", 0.3)
        tables.append(pd.read_csv(tmp_path / name))
    pd.testing.assert_frame_equal(*tables)
    assert 0.2 < tables[0].iloc[:, :-1].isna().mean().mean() < 0.4
    assert tables[0]["target"].notna().all()


@pytest.mark.parametrize(
    ("given", "words"),
    [(("--save", "a.csv"), "0 names"), (("iris", "--remove", "0.5"), "--save")],
)
def test_a_file_is_of_one_data_set(call, given, words):
    result = call("datasets", *given)
    assert result.exit_code == 2
    assert words in result.stderr
