"""Figures of the paper's tables on the pages: those of the committed results."""

import re
from pathlib import Path

import pytest
from reproduction.report import write_report

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "results.md"
    return write_report(ROOT / "reproduction/results", path, format="md").read_text(
        "utf-8"
    )


def test_the_page_of_results_is_what_the_command_makes(made):
    assert (ROOT / "docs/results.md").read_text("utf-8") == made, "Run: make results"


def test_tables_of_the_readme_are_those_of_the_page(made):
    readme = (ROOT / "README.md").read_text("utf-8")
    section = readme[readme.index("## The paper, checked") :]
    section = section[: section.index("\n## ", 5)]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert tables
    for table in tables:
        assert table in made
