import json

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_is_html_of_the_results(call, reports, elsewhere):
    said = call("report", "mine", "-o", "page.html")
    assert (said.exit_code, said.stdout) == (0, "The report: page.html\n")
    assert (elsewhere / "page.html").exists()
    (made,) = reports
    assert str(made.pop("results")) == "mine"
    assert made == {"format": "html", "force": False}


def test_without_a_word_it_is_that_of_the_usual_folder(call, reports, elsewhere):
    assert call("report").exit_code == 0
    assert str(reports[0]["results"]) == "results"
    assert (elsewhere / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "kind", "name"),
    [
        (("--format", "md"), "md", "report.md"),
        (("-o", "tables.md"), "md", "tables.md"),
        (("-o", "tables.txt"), "html", "tables.txt"),
        (("-o", "tables.txt", "--format", "md"), "md", "tables.txt"),
        (("-o", "tables.md", "--format", "html"), "html", "tables.md"),
    ],
)
def test_the_format_is_what_is_said_or_what_the_name_says(
    call, reports, elsewhere, arguments, kind, name
):
    assert call("report", *arguments).exit_code == 0
    assert reports[0]["format"] == kind
    assert (elsewhere / name).exists()


def test_a_file_that_is_there_is_replaced_only_if_told_so(call, reports, elsewhere):
    (elsewhere / "report.html").write_text("mine")
    said = call("report")
    assert (said.exit_code, said.stdout) == (1, "")
    assert said.stderr.startswith("Error: report.html is there already.")
    assert reports == []
    assert call("report", "--force").exit_code == 0
    assert reports[0]["force"] is True


def test_scripts_get_the_path(call, reports):
    said = call("report", "--json", "--format", "md")
    assert json.loads(said.stdout) == {"report": "report.md", "format": "md"}
    assert call("report", "--quiet").output == ""
