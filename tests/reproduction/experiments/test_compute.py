import warnings

import pytest
from reproduction.experiments import _compute, load_experiment
from reproduction.experiments._classification import CannotRunError, Measured
from reproduction.experiments._compute import compute, is_finished
from reproduction.experiments._jobs import Job
from reproduction.experiments._provenance import find_commit, find_versions

JOB = Job("table-4", "iris", 0.2, "mean", 2, 1, "quick", "digits")


def measuring(monkeypatch, found):
    """Let a job find this, or raise it."""

    def measure(experiment, job):
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(_compute, "measure_accuracy", measure)
    return compute(JOB)


def test_a_job_gives_a_cell_with_all_that_made_it(monkeypatch):
    found = Measured({"accuracy": 0.5}, {"n_units": 25})
    outcome = measuring(monkeypatch, found)
    (cell,) = outcome.cells
    assert [cell.key] == JOB.keys(["accuracy"])
    assert cell.value == 0.5
    assert cell.params["n_units"] == 25
    assert (cell.params["max_epochs"], cell.params["n_networks"]) == (20, 1)
    assert cell.versions == find_versions("mean")
    assert cell.commit == find_commit()
    assert outcome.expected
    assert is_finished(cell)


@pytest.mark.parametrize(
    ("experiment", "method", "name", "is_told"),
    [
        ("table-2", "mean", "dropout", True),
        ("table-2", "lacunet", "dropout", False),  # it is run at its defaults
        ("table-1", "lacunet", "lr", True),
    ],
)
def test_a_cell_tells_what_its_experiment_sets(
    monkeypatch, experiment, method, name, is_told
):
    for measure in ("measure_accuracy", "measure_errors"):
        monkeypatch.setattr(_compute, measure, lambda *_: Measured({}, {"why": "-"}))
    job = Job(experiment, "digits", None, method, 0, 0, "quick", "digits")
    told = compute(job).cells[0].params.get(name)
    assert told == (load_experiment(experiment).parameters[name] if is_told else None)


def test_a_reason_that_stays_is_told_and_the_cell_is_finished(monkeypatch):
    outcome = measuring(monkeypatch, CannotRunError("no complete row"))
    (cell,) = outcome.cells
    assert (cell.value, cell.params["why"]) == (None, "no complete row")
    assert outcome.expected
    assert is_finished(cell)


def test_a_library_that_is_not_installed_is_tried_again_later(monkeypatch):
    outcome = measuring(monkeypatch, ImportError("install it"))
    (cell,) = outcome.cells
    assert cell.params["why"] == "install it"
    assert outcome.expected
    assert not is_finished(cell)


def test_any_other_exception_is_told_with_its_place(monkeypatch):
    outcome = measuring(monkeypatch, KeyError("lost"))
    (cell,) = outcome.cells
    assert cell.value is None
    assert cell.params["why"].startswith("KeyError: 'lost' (test_compute.py, line ")
    assert not outcome.expected
    assert not is_finished(cell)


def test_a_value_that_is_no_number_is_a_failure(monkeypatch):
    outcome = measuring(monkeypatch, Measured({"accuracy": float("nan")}))
    assert outcome.cells[0].value is None
    assert "expected finite" in outcome.cells[0].params["why"]
    assert not outcome.expected


def test_an_interruption_is_no_failure(monkeypatch):
    def interrupt(experiment, job):
        raise KeyboardInterrupt

    monkeypatch.setattr(_compute, "measure_accuracy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        compute(JOB)


def test_warnings_are_kept_once_and_not_shown(monkeypatch):
    def warn(experiment, job):
        for _ in range(2):
            warnings.warn("slow", RuntimeWarning, stacklevel=1)
        return Measured({"accuracy": 0.5})

    monkeypatch.setattr(_compute, "measure_accuracy", warn)
    assert compute(JOB).cells[0].params["warnings"] == ["RuntimeWarning: slow"]


def test_versions_name_the_library_of_a_method():
    assert "catboost" not in find_versions("mean")
    assert {"python", "lacunet", "torch"} <= set(find_versions("catboost"))
