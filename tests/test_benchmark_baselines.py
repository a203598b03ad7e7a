"""The methods beside the paper's figures, on tiny stand-ins."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from small import numbers

ROOT = Path(__file__).parents[1]


@pytest.fixture
def baselines(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.baselines")


def test_a_method_has_a_mean_and_an_error(baselines):
    X, y = numbers(100)
    score = baselines.accuracy_of("hgb", X, y)
    assert 0.5 < score["accuracy"] < 1.0
    assert score["error"] > 0


def test_a_method_that_can_not_be_fitted_says_why(baselines):
    X, y = numbers(60)
    X[:, 0] = np.where(np.isnan(X).any(1), X[:, 0], np.nan)  # no row is complete
    score = baselines.accuracy_of("ce", X, y)
    assert score["accuracy"] is None
    assert "complete" in score["why"]
    table = baselines.accuracy_table("pima", {"ce": score})
    assert table.splitlines()[-1].startswith("ce")


def test_every_method_was_measured():
    committed = json.loads((ROOT / "benchmarks/results/baselines.json").read_text())
    for scores in committed["accuracy"]["scores"].values():
        assert len(scores) == 16
        assert all(score["accuracy"] is not None for score in scores.values())
