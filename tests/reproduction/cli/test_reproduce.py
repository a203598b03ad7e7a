import json

import pytest
from reproduction.cli._options import EXPERIMENTS
from reproduction.statistics import ResultFile

SMALL = ("--data", "digits", "--datasets", "iris", "--methods", "knn,mean", "--jobs", 1)


def test_options_are_handed_on(call, asked, tmp_path):
    said = call(
        *("reproduce", "table-6", "table-4", "table-6", "--protocol", "paper"),
        *("--jobs", 3, "--seeds", 2, "--methods", "knn, mean,", "--datasets", "wine"),
        *("--data", "digits", "--out", tmp_path),
    )
    assert said.exit_code == 0
    assert asked == [
        {
            "names": ("table-6", "table-4"),
            "protocol": "paper",
            "jobs": 3,
            "seeds": 2,
            "methods": ("knn", "mean"),
            "datasets": ("wine",),
            "data": "digits",
            "out": tmp_path,
        }
    ]


def test_by_default_it_is_a_quick_look_at_the_papers_data(call, asked, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert call("reproduce", "table-4").exit_code == 0
    (wish,) = asked
    assert str(wish.pop("out")) == "results"
    assert wish == {
        "names": ("table-4",),
        "protocol": "quick",
        "jobs": 2,
        "seeds": 1,
        "methods": None,
        "datasets": None,
        "data": None,
    }


@pytest.mark.parametrize("names", [["all"], ["table-4", "all"]])
def test_all_is_every_experiment(call, asked, names):
    call("reproduce", *names)
    assert asked[0]["names"] == tuple(EXPERIMENTS)


@pytest.mark.parametrize(
    "option",
    [("--methods", " ,"), ("--jobs", 0), ("--seeds", 0), ("--data", "mnist")],
)
def test_options_that_mean_nothing_are_wrong_usage(call, asked, option):
    assert call("reproduce", "table-4", *option).exit_code == 2
    assert asked == []


def test_the_end_tells_what_was_run_where_it_is_and_what_comes_next(
    call, computed, tmp_path
):
    said = call("reproduce", "table-4", "table-6", *SMALL, "--out", tmp_path)
    assert said.exit_code == 0
    header, first, second, *rest = said.stdout.splitlines()
    assert header.split() == ["experiment", "run", "there", "before", "empty"] + [
        "failed",
        "files",
    ]
    path = tmp_path / "table-4.jsonl"
    assert first.split() == ["table-4", "2", "0", "0", "0", str(path)]
    assert second.startswith("table-6")
    assert rest[-1].strip() == f"lacunet report {tmp_path} -o report.html"
    assert len(ResultFile(path).cells) == 2
    assert "table-4 1/2: iris 0.2, knn: accuracy 0.5000" in said.stderr


def test_a_second_run_has_nothing_left_to_do(call, computed, tmp_path):
    call("reproduce", "table-4", *SMALL, "--out", tmp_path)
    said = call("reproduce", "table-4", *SMALL, "--out", tmp_path)
    assert said.stdout.splitlines()[1].split()[:3] == ["table-4", "0", "2"]
    assert len(computed.jobs) == 2


def test_experiments_that_have_none_of_it_are_left_out_and_named(
    call, computed, tmp_path
):
    said = call("reproduce", "all", *SMALL, "--out", tmp_path)
    assert said.exit_code == 0
    assert {job.experiment for job in computed.jobs} == {"table-4", "table-6"}
    left_out = [name for name in EXPERIMENTS if name not in ("table-4", "table-6")]
    assert f"asked for: {', '.join(left_out)}.\n" in said.stderr


def test_a_figure_is_named_by_the_files_that_it_has(call, computed, tmp_path):
    options = ("--data", "digits", "--methods", "knn", "--jobs", 1, "--out", tmp_path)
    said = call("reproduce", "figure-2", "figure-gamma", "--json", *options)
    (figure,) = json.loads(said.stdout)["experiments"]
    assert figure["files"] == [
        str(tmp_path / name) for name in ("table-1.jsonl", "figure-2.npz")
    ]
    said = call("reproduce", "figure-gamma", "--json", "--out", tmp_path)
    (figure,) = json.loads(said.stdout)["experiments"]
    assert (figure["run"], figure["files"]) == (
        0,
        [str(tmp_path / "figure-gamma.json")],
    )


def test_a_name_that_nobody_knows_is_told_with_a_hint_before_anything_is_run(
    call, computed, tmp_path
):
    out = tmp_path / "results"
    said = call("reproduce", "all", "--methods", "knn,catbost", "--out", out)
    assert said.exit_code == 1
    assert said.stderr.startswith("Error: Got 'catbost' in methods")
    assert "Did you mean 'catboost'?" in said.stderr
    assert not out.exists()
    assert computed.jobs == []


def test_cells_that_were_to_be_empty_are_told_and_no_failure(call, computed, tmp_path):
    computed.why = {"knn": "no package"}
    options = [*SMALL[:2], "--datasets", "iris,wine", *SMALL[4:], "--out", tmp_path]
    said = call("reproduce", "table-4", *options)
    assert said.exit_code == 0
    line = "Empty in table-4: wine 0.2, knn and 1 more of this method: no package"
    assert line in said.stdout.splitlines()
    assert said.stdout.splitlines()[1].split()[1:5] == ["4", "0", "2", "0"]


def test_cells_that_failed_are_listed_after_all_is_done_and_are_one(
    call, computed, tmp_path
):
    computed.why = {"knn": "KeyError: 'x' (a.py, line 3)"}
    computed.unexpected = {"knn"}
    said = call("reproduce", "table-4", *SMALL, "--quiet", "--out", tmp_path)
    assert said.exit_code == 1
    assert said.stdout == ""
    failed = "Failed in table-4: iris 0.2, knn: KeyError: 'x' (a.py, line 3)\n"
    assert said.stderr == failed
    assert [job.method for job in computed.jobs] == ["knn", "mean"]


def test_a_failed_job_of_several_metrics_is_one_failure(call, computed, tmp_path):
    computed.why, computed.unexpected = {"knn": "no"}, {"knn"}
    options = ("--data", "digits", "--methods", "knn", "--jobs", 1, "--out", tmp_path)
    said = call("reproduce", "table-1", *options)
    assert said.stdout.splitlines()[1].split()[1:5] == ["1", "0", "0", "1"]
    assert said.stderr.count("Failed in") == 1


def test_an_interrupt_keeps_what_was_finished_and_says_how_to_go_on(
    call, computed, tmp_path
):
    computed.stop_at = "mean"
    said = call("reproduce", "table-4", *SMALL, "--out", tmp_path)
    assert said.exit_code == 130
    assert said.stdout == ""
    assert said.stderr.splitlines()[-1].startswith("Stopped; start again to go on.")
    assert len(ResultFile(tmp_path / "table-4.jsonl").cells) == 1


def test_json_tells_all_of_it(call, computed, tmp_path):
    computed.why, computed.unexpected = {"knn": "a", "mean": "b"}, {"mean"}
    said = call("reproduce", "all", *SMALL, "--json", "--out", tmp_path)
    assert said.exit_code == 1
    record = json.loads(said.stdout)
    assert record["left_out"][:2] == ["table-1", "table-2"]
    assert (record["protocol"], record["data"]) == ("quick", "digits")
    assert record["seconds"] >= 0
    first, second = record["experiments"]
    place = {"dataset": "iris", "rate": 0.2, "fold": 0, "seed": 0}
    assert first == {
        "experiment": "table-4",
        "run": 2,
        "there_before": 0,
        "empty": [{**place, "method": "knn", "why": "a"}],
        "failed": [{**place, "method": "mean", "why": "b"}],
        "files": [str(tmp_path / "table-4.jsonl")],
    }
    assert second["experiment"] == "table-6"
