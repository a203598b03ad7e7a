import json
from dataclasses import replace

import pandas as pd
import pytest

from lacunet import LacunetClassifier, baselines


@pytest.fixture
def quick(monkeypatch):
    """Put a small network in the place of ours: the real one runs in `make demo`."""

    def make(task, random_state, estimator):
        return LacunetClassifier(
            n_networks=1, max_epochs=5, random_state=random_state, density="auto"
        )

    ours = replace(baselines.METHODS["lacunet"], make=make)
    monkeypatch.setattr(baselines, "METHODS", {**baselines.METHODS, "lacunet": ours})


def test_the_demo_scores_three_models_and_blanks_values(call, quick, tmp_path):
    result = call("demo", "--out", tmp_path / "new", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found["scores"]) == ["lacunet", "linear", "hgb"]
    assert all(each["accuracy"] > 0.7 for each in found["scores"].values())
    assert [len(step["missing"]) for step in found["steps"]] == [0, 1, 2, 3]
    certain, *_, uncertain = (step["probability"] for step in found["steps"])
    assert certain > uncertain
    table = pd.read_csv(tmp_path / "new/mammographic_masses.csv")
    assert (table.shape, table.isna().sum().sum()) == ((961, 5), 160)


def test_the_demo_writes_a_page_with_its_figures(call, quick, tmp_path, parse):
    result = call("demo", "--out", tmp_path)
    page = parse((tmp_path / "demo.html").read_text("utf-8"))
    assert page.titles("h2")[1:] == [
        "What is missing",
        "Scores",
        "One row, less and less known",
    ]
    assert f"The page: {tmp_path / 'demo.html'}" in result.stdout
    (line,) = (x for x in result.stdout.splitlines() if x.startswith("lacunet  "))
    assert all(figure in page.text for figure in line.split())
