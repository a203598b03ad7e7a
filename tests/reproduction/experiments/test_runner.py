import contextlib
from dataclasses import replace

import numpy as np
import pytest
from reproduction.experiments import (
    _runner,
    load_experiment,
    run_experiment,
    run_experiments,
)
from reproduction.experiments._compute import Outcome
from reproduction.experiments._files import path_of_images, read_arrays
from reproduction.statistics import Cell, ResultFile
from sklearn.utils import check_random_state

OPTIONS = {"data": "digits", "datasets": ["iris"], "methods": ["mean", "knn", "hgb"]}


def cell_of(job, metric="accuracy", **changes):
    cell = Cell(
        job.experiment,
        job.dataset,
        job.rate,
        job.method,
        job.fold,
        job.seed,
        job.protocol,
        metric,
        value=0.5,
        params={},
        seconds=1.0,
        versions={},
        commit=None,
    )
    return replace(cell, **changes)


@pytest.fixture
def computed(monkeypatch):
    """Return the jobs that were computed, in their place, by a stand-in."""
    jobs = []

    def compute(job):
        jobs.append(job)
        if job.experiment == "table-1":
            cells = [cell_of(job, m) for m in ("mse", "mse_inside", "mse_outside")]
            return Outcome(job, tuple(cells), np.full((20, 64), len(jobs)))
        return Outcome(job, (cell_of(job),))

    monkeypatch.setattr(_runner, "compute", compute)
    return jobs


def test_cells_are_kept_in_the_file_of_the_experiment(computed, tmp_path):
    run = run_experiment("table-4", out=tmp_path / "new", **OPTIONS)
    assert run.path == tmp_path / "new" / "table-4.jsonl"
    assert (run.n_run, run.n_skipped, run.failed) == (3, 0, ())
    kept = [cell.method for cell in ResultFile(run.path).cells]
    assert kept == ["knn", "mean", "hgb"]


def test_finished_cells_are_not_run_again(computed, tmp_path):
    run_experiment("table-4", out=tmp_path, **{**OPTIONS, "methods": ["knn"]})
    run = run_experiment("table-4", out=tmp_path, **OPTIONS)
    assert (run.n_run, run.n_skipped) == (2, 1)
    assert [job.method for job in computed] == ["knn", "mean", "hgb"]
    assert run_experiment("table-4", out=tmp_path, **OPTIONS).n_run == 0


def test_another_protocol_or_seed_is_another_cell(computed, tmp_path):
    run_experiment("table-4", out=tmp_path, **OPTIONS)
    assert run_experiment("table-4", out=tmp_path, seeds=2, **OPTIONS).n_run == 3
    run = run_experiment("table-4", out=tmp_path, protocol="paper", **OPTIONS)
    assert (run.n_run, run.n_skipped) == (15, 0)
    assert {job.protocol for job in computed} == {"quick", "paper"}


def test_a_run_that_is_interrupted_keeps_what_was_finished(monkeypatch, tmp_path):
    def interrupted(job):
        if job.method == "hgb":
            raise KeyboardInterrupt
        return Outcome(job, (cell_of(job),))

    monkeypatch.setattr(_runner, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_experiment("table-4", out=tmp_path, **OPTIONS)
    kept = ResultFile(tmp_path / "table-4.jsonl").cells
    assert [cell.method for cell in kept] == ["knn", "mean"]
    monkeypatch.setattr(_runner, "compute", lambda job: Outcome(job, (cell_of(job),)))
    assert run_experiment("table-4", out=tmp_path, **OPTIONS).n_run == 1


def test_cells_that_failed_are_told_and_tried_again(monkeypatch, tmp_path):
    def fail(job):
        params = {"why": "KeyError: 'x'", "retry": True}
        cell = cell_of(job, value=None, params=params)
        return Outcome(job, (cell,), expected=job.method != "mean")

    monkeypatch.setattr(_runner, "compute", fail)
    run = run_experiment("table-4", out=tmp_path, **OPTIONS)
    assert [cell.method for cell in run.failed] == ["mean"]
    monkeypatch.setattr(_runner, "compute", lambda job: Outcome(job, (cell_of(job),)))
    again = run_experiment("table-4", out=tmp_path, **OPTIONS)
    assert (again.n_run, again.failed) == (3, ())
    assert {cell.value for cell in ResultFile(run.path).cells} == {0.5}


def test_cells_that_can_not_be_filled_are_left_at_that(monkeypatch, tmp_path):
    def refuse(job):
        return Outcome(job, (cell_of(job, value=None, params={"why": "no rows"}),))

    monkeypatch.setattr(_runner, "compute", refuse)
    assert run_experiment("table-4", out=tmp_path, **OPTIONS).failed == ()
    assert run_experiment("table-4", out=tmp_path, **OPTIONS).n_run == 0


def test_progress_is_told_from_where_an_earlier_run_stopped(computed, tmp_path):
    run_experiment("table-4", out=tmp_path, **{**OPTIONS, "methods": ["knn"]})
    said = []
    run_experiment("table-4", out=tmp_path, progress=said.append, **OPTIONS)
    assert [(each.done, each.total) for each in said] == [(1, 3), (2, 3), (3, 3)]
    assert [len(each.cells) for each in said] == [0, 1, 1]


def test_a_cell_is_in_the_file_when_progress_is_told(computed, tmp_path):
    def look(progress):
        kept = ResultFile(tmp_path / "table-4.jsonl").cells
        assert all(cell in kept for cell in progress.cells)

    run_experiment("table-4", out=tmp_path, progress=look, **OPTIONS)


def test_images_give_three_cells_a_job_and_a_figure(computed, tmp_path):
    run = run_experiment("table-1", out=tmp_path, data="digits")
    n_methods = len(load_experiment("figure-2").methods)
    assert run.n_run == n_methods
    assert len(ResultFile(run.path).cells) == 3 * n_methods
    figure = run_experiment("figure-2", out=tmp_path, data="digits")
    assert (figure.n_run, figure.path) == (0, run.path)
    arrays = read_arrays(tmp_path / "figure-2.npz")
    assert arrays["quick-digits/original"].shape == (20, 64)
    assert (np.isnan(arrays["quick-digits/masked"]).sum(1) == 9).all()
    assert (arrays["quick-digits/knn"] == 1).all()
    assert len(arrays) == n_methods + 2


def test_a_figure_runs_what_it_has_no_images_of(computed, tmp_path):
    run_experiment("table-1", out=tmp_path, data="digits")
    path_of_images(tmp_path, computed[1]).unlink()
    run = run_experiment("figure-2", out=tmp_path, data="digits")
    n_methods = len(load_experiment("figure-2").methods)
    assert (run.n_run, run.n_skipped) == (1, n_methods - 1)
    assert computed[-1] == computed[1]


def test_choices_are_checked_before_anything_is_run(computed, tmp_path):
    out = tmp_path / "results"
    with pytest.raises(ValueError, match="jobs=0"):
        run_experiment("table-4", out=out, jobs=0)
    with pytest.raises(ValueError, match="'tree' in methods"):
        run_experiment("table-4", out=out, methods=["tree"])
    assert not out.exists()
    assert computed == []


def test_the_same_seed_gives_the_same_cells(tmp_path):
    state = check_random_state(None).get_state()[1].tolist()
    options = {**OPTIONS, "methods": ["paper"]}
    runs = [run_experiment("table-4", out=tmp_path / str(i), **options) for i in (0, 1)]
    first, second = (ResultFile(run.path).cells[0] for run in runs)
    assert first.value == second.value > 0.6
    assert check_random_state(None).get_state()[1].tolist() == state


def test_the_start_tells_what_earlier_runs_have_left(computed, tmp_path):
    run_experiment("table-4", out=tmp_path, **{**OPTIONS, "methods": ["knn", "hgb"]})
    run_experiment("table-4", out=tmp_path, **{**OPTIONS, "datasets": ["wine"]})
    said = []
    options = {**OPTIONS, "methods": ["knn", "mean"]}
    run_experiment("table-4", out=tmp_path, progress=said.append, **options)
    assert [(cell.dataset, cell.method) for cell in said[0].before] == [("iris", "knn")]
    assert said[1].before == ()
    assert {each.experiment for each in said} == {"table-4"}


def test_several_experiments_are_run_one_after_the_other(computed, tmp_path):
    said = []
    names = ["table-6", "table-4", "table-6"]
    runs = run_experiments(names, out=tmp_path, progress=said.append, **OPTIONS)
    assert [(run.experiment, run.n_run) for run in runs] == [
        ("table-6", 3),
        ("table-4", 3),
    ]
    assert [each.experiment for each in said] == ["table-6"] * 4 + ["table-4"] * 4
    assert {path.name for path in tmp_path.iterdir()} == {
        "table-4.jsonl",
        "table-6.jsonl",
    }
    assert run_experiments("table-6", out=tmp_path, **OPTIONS)[0].n_skipped == 3


def test_several_experiments_share_their_workers(monkeypatch, tmp_path):
    rounds = []

    class Workers(_runner.Workers):
        def work_through(self, compute, tasks):
            rounds.append((self, self.n_jobs))
            return iter(())  # no answers: nothing is computed

    monkeypatch.setattr(_runner, "closing", contextlib.nullcontext)
    monkeypatch.setattr(_runner, "Workers", Workers)
    run_experiments(["table-4", "table-6"], out=tmp_path, jobs=7, **OPTIONS)
    assert [n_jobs for _, n_jobs in rounds] == [7, 7]
    assert rounds[0][0] is rounds[1][0]


def test_nothing_is_run_if_one_of_several_can_not_be(computed, tmp_path):
    out = tmp_path / "results"
    with pytest.raises(ValueError, match="Got no names"):
        run_experiments([], out=out)
    with pytest.raises(ValueError, match="name='table-5'"):
        run_experiments(["table-4", "table-5"], out=out)
    with pytest.raises(ValueError, match="'tree' in methods"):
        run_experiments(["table-4"], out=out, methods=["tree"])
    with pytest.raises(ValueError, match="jobs=0"):
        run_experiments(["table-4"], out=out, jobs=0)
    assert not out.exists()
    assert computed == []


@pytest.mark.slow
def test_processes_find_what_one_process_finds(tmp_path):
    found = []
    for jobs in (1, 2):
        run = run_experiment("table-4", out=tmp_path / str(jobs), jobs=jobs, **OPTIONS)
        found.append({cell.key: cell.value for cell in ResultFile(run.path).cells})
    assert found[0] == found[1]
    assert len(found[0]) == 3
