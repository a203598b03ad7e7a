import json
import warnings

import numpy as np
import pytest
from reproduction import runner
from reproduction.classification import CannotRunError
from reproduction.figures import path_of_images
from reproduction.results import FIELDS, read_results
from reproduction.runner import (
    EXPERIMENTS,
    Outcome,
    compute,
    load_experiment,
    plan_jobs,
    run_experiments,
    update_figure,
)
from reproduction.tables import TABLES, Job

OPTIONS = {"data": "digits", "datasets": ["iris"], "methods": ["mean", "knn", "hgb"]}
JOB = Job("table-4", "iris", 0.2, "mean", 2, 1, "quick", "digits")


def cells_of(job, value=0.5, **params):
    place = job._asdict()
    del place["data"]
    rest = {"seconds": 1.0, "versions": {}, "commit": None}
    return [
        {**place, "metric": metric, "value": value, "params": params, **rest}
        for metric in EXPERIMENTS[job.experiment].metrics
    ]


@pytest.fixture
def computed(monkeypatch):
    """Return the jobs that were computed, in their place, by a stand-in."""
    jobs = []

    def stand_in(job):
        jobs.append(job)
        is_image = job.experiment == "table-1"
        images = np.full((20, 64), len(jobs)) if is_image else None
        return Outcome(job, cells_of(job), images, True)

    monkeypatch.setattr(runner, "compute", stand_in)
    return jobs


def run(name, out, **options):
    (found,) = run_experiments([name], out=out, **{**OPTIONS, **options})
    return found


# --- what there is to compute


def test_the_experiments_have_the_numbers_of_the_paper():
    assert list(EXPERIMENTS) == [
        *(f"table-{number}" for number in (1, 2, 4, 6)),
        *(f"figure-{name}" for name in ("2", "gamma", "density", "cost")),
        *(f"claim-{name}" for name in ("rows", "mnist", "information")),
    ]
    with pytest.raises(ValueError, match="name='table-5'.*Did you mean 'table-"):
        load_experiment("table-5")


def test_a_table_has_a_job_for_each_row_method_fold_and_seed():
    jobs = plan_jobs(TABLES["table-4"], "paper", seeds=2)
    assert len(jobs) == len(set(jobs)) == 7 * 18 * 5 * 2
    first = ("table-4", "bands", None, "karma", 0, 0, "paper", None)
    assert jobs[0] == first
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
    authors = plan_jobs(TABLES["table-4"], "authors")
    assert {job.method for job in authors} == {"paper"}
    assert len(plan_jobs(TABLES["table-4"], "quick")) == 7 * 18


def test_rows_of_a_table_may_have_columns_and_protocols_of_their_own():
    jobs = plan_jobs(TABLES["table-2"], datasets=["esr"])
    assert {job.fold for job in jobs} == {0}
    whole = {job.method for job in jobs if job.rate == 0}
    assert whole == {"complete", "lacunet", "hgb"}
    assert "complete" not in {job.method for job in jobs if job.rate == 0.9}
    authors = plan_jobs(TABLES["table-1"], "authors")
    assert {job.dataset for job in authors} == {"mnist"}


def test_a_figure_of_images_is_made_of_the_cells_of_the_table():
    table = plan_jobs(TABLES["table-1"], "paper", datasets=["mnist"])
    figure = plan_jobs(EXPERIMENTS["figure-2"], "paper")
    assert set(figure) == {job for job in table if job.method != "lacunet-short"}


def test_the_toy_is_run_for_twenty_seeds():
    toy = EXPERIMENTS["figure-density"]
    assert {job.seed for job in plan_jobs(toy, "paper")} == set(range(20))
    assert {job.seed for job in plan_jobs(toy, seeds=3)} == {0, 1, 2}


def test_each_experiment_takes_the_methods_and_data_sets_that_it_has(
    computed, tmp_path
):
    names = [name for name in EXPERIMENTS if not name.startswith("claim")]
    runs = run_experiments(names, out=tmp_path, methods=["karma"], data="digits")
    assert {run.experiment for run in runs} == {"table-4", "table-6"}
    runs = run_experiments(names, out=tmp_path, datasets=["pima", "esr"])
    assert {run.experiment for run in runs} == {"table-2", "table-4"}


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ([], {}, "Got no names"),
        (["table-4", "table-5"], {}, "name='table-5'"),
        (["table-4"], {"methods": ["knn", "catbost"]}, "'catbost' in.*mean 'catboost'"),
        (["table-2"], {"methods": ["karma"]}, "Got 'karma' in methods"),
        (["table-4"], {"datasets": ["zzz"]}, "Got 'zzz' in datasets, but .* pima, "),
        (["table-2"], {"protocol": "authors"}, "protocol='authors', .* paper, quick"),
        (["table-4"], {"seeds": 0}, "seeds=0"),
        (
            ["table-4"],
            {"data": "mnist"},
            "data='mnist', but expected one of None, digits",
        ),
        (["table-4"], {"jobs": 0}, "jobs=0"),
        (
            ["table-2", "table-4"],
            {"methods": ["karma"], "datasets": ["esr"]},
            "karma.* with .*esr.*that one of table-2, table-4 has together",
        ),
    ],
)
def test_what_can_not_be_run_is_refused_before_anything_is(
    computed, tmp_path, names, options, message
):
    with pytest.raises(ValueError, match=message):
        run_experiments(names, out=tmp_path / "results", **options)
    assert not (tmp_path / "results").exists()
    assert computed == []


# --- running and resuming


def test_cells_are_kept_and_not_run_again(computed, tmp_path):
    lines = []
    first = run("table-4", tmp_path, methods=["knn"])
    assert first == ("table-4", tmp_path / "table-4.jsonl", 1, 0, [], [])
    again = run("table-4", tmp_path, progress=lines.append)
    assert (again.n_run, again.n_skipped) == (2, 1)
    assert [job.method for job in computed] == ["knn", "mean", "hgb"]
    assert lines == [
        "table-4 1/3",
        "table-4 2/3: iris 0.2, mean: accuracy 0.5000 in 1.0 s",
        "table-4 3/3: iris 0.2, hgb: accuracy 0.5000 in 1.0 s",
    ]
    assert run("table-4", tmp_path).n_run == 0
    assert sorted(read_results(tmp_path).method) == ["hgb", "knn", "mean"]


def test_another_protocol_or_seed_is_another_cell(computed, tmp_path):
    run("table-4", tmp_path)
    assert run("table-4", tmp_path, seeds=2).n_run == 3
    found = run("table-4", tmp_path, protocol="paper")
    assert (found.n_run, found.n_skipped) == (15, 0)


def test_rows_without_a_rate_are_found_again(computed, tmp_path):
    options = {"data": None, "datasets": ["pima"]}
    assert run("table-4", tmp_path, **options).n_run == 3
    assert run("table-4", tmp_path, **options).n_run == 0


def test_a_run_that_is_interrupted_keeps_what_was_finished(monkeypatch, tmp_path):
    def interrupted(job):
        if job.method == "hgb":
            raise KeyboardInterrupt
        return Outcome(job, cells_of(job), None, True)

    monkeypatch.setattr(runner, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("table-4", tmp_path)
    assert sorted(read_results(tmp_path).method) == ["knn", "mean"]
    assert "hgb" not in read_results(tmp_path)
    path = tmp_path / "table-4.jsonl"
    path.write_bytes(path.read_bytes()[:-30])  # killed while it wrote the last line
    done = []
    monkeypatch.setattr(
        runner,
        "compute",
        lambda job: done.append(job.method) or Outcome(job, cells_of(job), None, True),
    )
    with pytest.warns(UserWarning, match="cut off"):
        assert run("table-4", tmp_path).n_run == 2
    assert done == ["mean", "hgb"]
    assert len(read_results(tmp_path)) == 3


@pytest.mark.parametrize("retry", [True, False])
def test_failed_cells_are_tried_again_but_not_those_that_can_not_be_filled(
    monkeypatch, tmp_path, retry
):
    def fail(job):
        params = {"why": "no rows", **({"retry": True} if retry else {})}
        return Outcome(job, cells_of(job, None, **params), None, job.method != "mean")

    monkeypatch.setattr(runner, "compute", fail)
    found = run("table-4", tmp_path)
    assert [cell["method"] for cell in found.failed] == ["mean"]
    assert [cell["method"] for cell in found.empty] == ["knn", "hgb"]
    assert run("table-4", tmp_path).n_run == (3 if retry else 0)


def test_images_give_three_cells_a_job_and_a_figure(computed, tmp_path):
    options = {"methods": None, "datasets": None}
    table = run("table-1", tmp_path, **options)
    n_methods = len(EXPERIMENTS["figure-2"].methods)
    assert table.n_run == n_methods
    assert len(read_results(tmp_path)) == 3 * n_methods
    path_of_images(tmp_path, computed[1]).unlink()
    figure = run("figure-2", tmp_path, **options)
    assert (figure.n_run, figure.n_skipped) == (1, n_methods - 1)
    assert computed[-1] == computed[1]
    with np.load(tmp_path / "figure-2.npz") as arrays:
        assert arrays["quick-digits/original"].shape == (20, 64)
        assert (np.isnan(arrays["quick-digits/masked"]).sum(1) == 9).all()
        assert (arrays["quick-digits/knn"] == 1).all()
        assert len(arrays.files) == n_methods + 2


def test_a_figure_without_cells_is_drawn(tmp_path):
    found = run("figure-gamma", tmp_path, methods=None, datasets=None)
    assert found.n_run == 0
    drawn = json.loads((tmp_path / "figure-gamma.json").read_text())
    assert set(drawn) == {"quick-digits"}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_cells_on_one_process_or_two(tmp_path):
    values = [
        read_results(run("table-4", tmp_path / str(n), jobs=n, methods=["hgb"]).path)
        for n in (1, 2)
    ]
    assert values[0].value.tolist() == values[1].value.tolist()
    assert values[0].value[0] > 0.6


# --- one job


def measuring(monkeypatch, found, job=JOB):
    """Let a job find this, or raise it."""

    def measure(experiment, job):
        if isinstance(found, BaseException):
            raise found
        return found

    monkeypatch.setattr(runner, "measure_accuracy", measure)
    return compute(job)


def test_a_job_gives_a_cell_with_all_that_made_it(monkeypatch):
    outcome = measuring(monkeypatch, ({"accuracy": 0.5}, {"n_units": 25}, None))
    (cell,) = outcome.cells
    assert set(cell) == set(FIELDS)
    assert [cell[name] for name in ("dataset", "rate", "fold", "seed", "value")] == [
        *("iris", 0.2, 2, 1, 0.5)
    ]
    assert cell["params"] == {"n_units": 25, "max_epochs": 20, "n_networks": 1} | {
        "n_imputations": 2
    }
    assert {"python", "lacunet", "torch"} <= set(cell["versions"])
    assert outcome.expected


def test_a_cell_has_what_its_experiment_sets_but_ours_is_at_its_defaults(monkeypatch):
    found = ({"accuracy": 0.5}, {}, None)
    job = JOB._replace(experiment="table-2", dataset="digits")
    for method, dropout in (("mean", 0.25), ("lacunet", None)):
        (cell,) = measuring(monkeypatch, found, job._replace(method=method)).cells
        assert cell["params"].get("dropout") == dropout


@pytest.mark.parametrize(
    ("error", "why", "retry", "expected"),
    [
        (CannotRunError("no complete row"), "no complete row", False, True),
        (ImportError("install it"), "install it", True, True),
        (
            RuntimeError("lost"),
            "RuntimeError: lost (test_runner.py, line ",
            True,
            False,
        ),
        (({"accuracy": float("nan")}, {}, None), "ValueError: Got {'acc", True, False),
    ],
)
def test_a_job_that_fails_gives_the_reason(monkeypatch, error, why, retry, expected):
    outcome = measuring(monkeypatch, error)
    (cell,) = outcome.cells
    assert cell["value"] is None
    assert cell["params"]["why"].startswith(why)
    assert cell["params"].get("retry", False) is retry
    assert outcome.expected is expected


@pytest.mark.parametrize("error", [KeyboardInterrupt, KeyError])
def test_an_interruption_or_a_bug_is_not_taken_for_a_cell_that_failed(
    monkeypatch, error
):
    with pytest.raises(error):
        measuring(monkeypatch, error())


def test_warnings_are_kept_once_and_not_shown(monkeypatch):
    def warn(experiment, job):
        for _ in range(2):
            warnings.warn("slow", RuntimeWarning, stacklevel=1)
        return {"accuracy": 0.5}, {}, None

    monkeypatch.setattr(runner, "measure_accuracy", warn)
    assert compute(JOB).cells[0]["params"]["warnings"] == ["RuntimeWarning: slow"]


# --- files of figures


def test_figures_of_other_protocols_are_kept(tmp_path):
    path = tmp_path / "new" / "figure.json"
    for label, x in (("quick", 1.0), ("paper", 2.0), ("quick", 3.0)):
        update_figure(path, label, {"x": x})
    assert json.loads(path.read_text()) == {"quick": {"x": 3.0}, "paper": {"x": 2.0}}
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        update_figure(path, "quick", {"x": float("nan")})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_images_of_other_protocols_are_kept(tmp_path):
    path = tmp_path / "figure.npz"
    update_figure(path, "quick", {"mean": np.ones(2), "gone": np.ones(1)})
    update_figure(path, "quick-digits", {"mean": np.zeros(3)})
    update_figure(path, "quick", {"mean": np.full(2, 5.0)})
    with np.load(path) as file:
        found = {name: file[name].tolist() for name in file}
    assert found == {"quick-digits/mean": [0, 0, 0], "quick/mean": [5, 5]}
