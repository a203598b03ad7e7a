import json

import pytest
from own_models import make_table, save_csv

from lacunet.profile import _dependence, _profile


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Learn less than usual: what is learned has tests of its own."""
    monkeypatch.setattr(_profile, "MAX_PREDICTED", 1)
    monkeypatch.setattr(_dependence, "N_FOLDS", 2)
    monkeypatch.setitem(_dependence.BOOSTING, "max_iter", 2)


@pytest.fixture
def table(tmp_path):
    return save_csv(make_table(), tmp_path / "t.csv")


def test_a_person_reads_what_is_missing(call, table):
    result = call("profile", table)
    assert result.exit_code == 0, result.output
    counts = make_table().isna().sum()
    output = result.stdout
    assert output.startswith("t.csv: 60 rows, 6 columns.\n")
    assert f"{counts.sum()} of 360 cells" in output
    for name in ("age", "town"):
        (line,) = [each for each in output.splitlines() if each.startswith(name)]
        assert line.split()[-2:] == [str(counts[name]), f"{counts[name] / 60:.1%}"]
    assert "nothing" in output  # is missing in complete rows
    assert "Leave it out with --drop id" in result.stderr


def test_a_script_reads_json(call, table):
    result = call("profile", table, "--target", "ill", "--json")
    found = json.loads(result.stdout)
    assert found["table"] == "t.csv"
    assert found["n_missing"] == int(make_table().isna().sum().sum())
    assert found["target"]["name"] == "ill"


def test_reading_options_are_used(call, tmp_path):
    (tmp_path / "t.csv").write_text("a|b|c\n-999|x|1\n2|?|1\n3|z|1\n" * 5)
    given = ("--missing", "-999", "--drop", "c", "--sep", "|", "--json")
    found = json.loads(call("profile", tmp_path / "t.csv", *given).stdout)
    counts = {column["name"]: column["n_missing"] for column in found["columns"]}
    assert counts == {"a": 5, "b": 5}


def test_a_page_is_written_once(call, table, tmp_path):
    page = tmp_path / "p.html"
    result = call("profile", table, "-o", page)
    assert result.exit_code == 0, result.output
    assert "What is missing in t.csv" in page.read_text()
    refused = call("profile", table, "-o", page)
    assert refused.exit_code == 1
    assert "p.html exists already. Replace it with --force" in refused.stderr
    assert call("profile", table, "-o", page, "--force").exit_code == 0


def test_a_complete_table(call, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    result = call("profile", tmp_path / "t.csv")
    assert result.exit_code == 0
    assert "Nothing is missing" in result.stdout


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--target", "il"), "'ill'"),
        (("--drop", "nothing"), "Got --drop 'nothing'"),
        (("--sep", "ab"), "single character"),
        (("--encoding", "klingon"), "latin-1"),
    ],
)
def test_bad_choices_are_reported_in_a_line(call, table, given, words):
    result = call("profile", table, *given)
    assert result.exit_code == 1
    assert words in result.stderr


def test_a_page_does_not_go_to_standard_output(call, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,\n")
    result = call("profile", path, "-o", "-")
    assert result.exit_code == 2
    assert "A page or a model can't go to standard output: name" in result.stderr
    assert result.stdout == ""
