import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from reproduction.__main__ import main
from reproduction.experiments import Progress, Run, _runner
from reproduction.experiments._compute import Outcome
from reproduction.statistics import Cell
from rich.console import Console


@pytest.fixture
def call():
    """Return the command, in this process: what it says, and its exit code."""

    def run(first, *others, **options):
        name = {"reproduce": "run", "datasets": "data"}.get(first, first)
        return CliRunner().invoke(main, [name, *map(str, others)], **options)

    return run


def make_cell(method="knn", *, value=0.5, why="", **changes):
    cell = Cell(
        "table-4",
        "wine",
        0.2,
        method,
        fold=0,
        seed=0,
        protocol="quick",
        metric="accuracy",
        value=None if why else value,
        params={"why": why} if why else {},
        seconds=1.0,
        versions={},
        commit=None,
    )
    return replace(cell, **changes)


@pytest.fixture(name="cell")
def cell_maker():
    return make_cell


@pytest.fixture
def computed(monkeypatch):
    """Compute in a moment: the jobs that were run, and what is to happen to some."""
    state = SimpleNamespace(jobs=[], why={}, unexpected=set(), stop_at=None)

    def compute(job):
        if job.method == state.stop_at:
            raise KeyboardInterrupt
        state.jobs.append(job)
        names = ("experiment", "dataset", "rate", "fold", "seed", "protocol")
        place = {name: getattr(job, name) for name in names}
        is_image = job.experiment == "table-1"
        metrics = ("mse", "mse_inside", "mse_outside") if is_image else ("accuracy",)
        why = state.why.get(job.method, "")
        cells = tuple(
            make_cell(job.method, why=why, metric=metric, **place) for metric in metrics
        )
        images = np.zeros((20, 64)) if is_image and not why else None
        return Outcome(job, cells, images, job.method not in state.unexpected)

    monkeypatch.setattr(_runner, "compute", compute)
    return state


@pytest.fixture
def asked(monkeypatch):
    """Return with what `run_experiments` was called; it does nothing."""
    calls = []

    def run_experiments(names, *, out, progress, **options):
        calls.append({"names": tuple(names), "out": out, **options})
        for name in names:
            progress(Progress(0, 0, (), name))
        return [Run(name, out / f"{name}.jsonl", 0, 0) for name in names]

    monkeypatch.setattr("reproduction.experiments.run_experiments", run_experiments)
    return calls


@pytest.fixture
def reports(monkeypatch):
    """Return with what `write_report` was called; it writes a word."""
    calls = []

    def write_report(results, path, *, format="html", force=False):
        calls.append({"results": results, "format": format, "force": force})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("report")
        return path

    module = SimpleNamespace(write_report=write_report)
    monkeypatch.setitem(sys.modules, "reproduction.report", module)
    return calls


@pytest.fixture
def screen(monkeypatch):
    """Return what is written to a terminal of 100 columns."""
    stream = io.StringIO()

    def make(*, stderr):
        assert stderr
        return Console(file=stream, force_terminal=True, width=100, color_system=None)

    monkeypatch.setattr("rich.console.Console", make)
    return stream
