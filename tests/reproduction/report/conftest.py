import json
from types import SimpleNamespace

import made_up
import numpy as np
import pytest
from reproduction.experiments import load_experiment
from reproduction.report import _experiments
from reproduction.report._slices import slice_cells
from reproduction.statistics import ResultFile

SETS = ("bands", "horse", "pima")
STAND_INS = ("wine", "iris", "breast_cancer_wdbc")


@pytest.fixture(scope="session")
def make_cell():
    """Make a cell from the fields that matter."""

    def make(**changes):
        made = {"value": 0.75, "params": {"n_train": 80, "n_test": 20}} | changes
        if made["value"] is None:
            made["params"] = {"why": "no rows"} | made["params"]
        return made_up.make_cell(**made)

    return make


@pytest.fixture(scope="session")
def cells_of(make_cell):
    """Make cells from values by method, one a data set; folds differ a little."""

    def make(values, *, sets=SETS, n_folds=2, **changes):
        return [
            make_cell(
                dataset=name,
                method=method,
                fold=fold,
                value=None if value is None else value + 0.01 * fold * (1 + i % 3),
                **changes,
            )
            for i, (method, of_sets) in enumerate(values.items())
            for name, value in zip(sets, of_sets, strict=True)
            for fold in range(n_folds)
        ]

    return make


@pytest.fixture
def slice_of(cells_of):
    """Make the only slice of cells, as ``cells_of`` makes them."""

    def make(values, *, experiment="table-4", **changes):
        cells = cells_of(values, experiment=experiment, **changes)
        (part,) = slice_cells(load_experiment(experiment), cells)
        return part

    return make


VALUES = {
    "knn": (0.5, 0.8, 0.7),
    "mean": (0.52, 0.79, 0.71),
    "paper": (0.6, 0.81, 0.73),
    "lacunet": (0.65, 0.85, 0.76),
    "hgb": (0.7, 0.84, 0.75),
}


@pytest.fixture(scope="session")
def write_results(cells_of):
    """Write the results of some tables and all figures to a folder."""

    def write(folder):
        cells = [
            *cells_of(VALUES),
            *cells_of({"ce": (None, 0.8, None)}),
            *cells_of({"paper": (0.5, 0.7, 0.6)}, protocol="authors"),
            *cells_of(VALUES, sets=STAND_INS, protocol="quick", rate=0.2),
        ]
        ResultFile(folder / "table-4.jsonl").append(cells)
        toy = {"experiment": "figure-density", "protocol": "quick"}
        cells = cells_of({"paper": (0.9,)}, sets=("four-gaussians",), n_folds=1, **toy)
        ResultFile(folder / "figure-density.jsonl").append(cells)
        _write_figures(folder)
        return folder

    return write


def _write_figures(folder):
    label = "quick-digits"
    for name, content in FIGURES.items():
        (folder / f"{name}.json").write_text(json.dumps({label: content}), "utf-8")
    images = np.random.RandomState(0).rand(6, 9)
    masked = images.copy()
    masked[:, 4] = np.nan
    arrays = {"original": images, "masked": masked, "knn": images, "lacunet": images}
    named = {f"{label}/{name}": array for name, array in arrays.items()}
    np.savez(folder / "figure-2.npz", **named)


POINTS = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
FIGURES = {
    "figure-gamma": {
        "x": [0, 1, 2],
        "gammas": [1e-6, 1.0, 1e3],
        "component_weights": [[0.9, 0.1], [0.7, 0.3], [0.5, 0.5]],
        "density": [[0, 1, 0], [0.2, 0.6, 0.2], [0.3, 0.3, 0.3]],
    },
    "figure-cost": {
        "components": [1, 2],
        "shares": [0.0, 0.5],
        "sizes": {"batch": 8, "features": 4, "units": 2, "repeats": 1},
        "forward_seconds": 0.001,
        "forward": [[1.1, 3.0], [1.2, 5.0]],
        "step_seconds": 0.002,
        "step": [[1.0, 4.0], [1.0, 6.0]],
    },
    "figure-density": {
        "points": [[0.0, None], *POINTS[1:]],
        "complete": POINTS,
        "classes": [0, 1, 0, 1],
        "training": [0, 1],
        "initial": {
            "weights": [1.0],
            "means": [[1.0, 0.5]],
            "variances": [[1.0, 0.5]],
            "said": [0, 1, 0, 0],
        },
    },
}


@pytest.fixture(scope="session")
def results(tmp_path_factory, write_results):
    """Return a folder with results; don't change it."""
    return write_results(tmp_path_factory.mktemp("results"))


def make_verdicts(statement="Ours is better.", figure="ours"):
    claim = SimpleNamespace(statement=statement, place="Section 5", rule="Count.")
    outcomes = ("holds", "does not hold", "not decidable", "not decidable")
    return tuple(
        SimpleNamespace(claim=claim, outcome=each, why=f"Why {i}.", figures={figure: i})
        for i, each in enumerate(outcomes)
    )


@pytest.fixture
def verdicts(monkeypatch):
    """Put made-up verdicts in the place of the real ones."""
    made = make_verdicts()
    monkeypatch.setattr(_experiments, "find_verdicts", lambda folder: made)
    return made
