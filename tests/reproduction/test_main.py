import pytest
from click.testing import CliRunner
from reproduction import runner
from reproduction.__main__ import main
from reproduction.results import read_results
from reproduction.runner import EXPERIMENTS, Outcome
from reproduction.tables import Job

SMALL = ("--data", "digits", "--datasets", "iris", "--methods", "knn, mean")


def call(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def computed(monkeypatch):
    """Compute in a moment; a method may fail, or be interrupted."""
    happens = {}

    def compute(job: Job):
        why = happens.get(job.method)
        if why is KeyboardInterrupt:
            raise why
        place = job._asdict()
        del place["data"]
        cell = {
            **place,
            "metric": "accuracy",
            "value": None if why else 0.5,
            "params": {"why": why} if why else {},
            "seconds": 1.0,
            "versions": {},
            "commit": None,
        }
        return Outcome(job, [cell], None, why != "a bug")

    monkeypatch.setattr(runner, "compute", compute)
    return happens


def test_list_names_every_experiment():
    lines = call("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)


def test_a_run_sums_up_what_was_done_and_what_comes_next(computed, tmp_path):
    found = call("run", "table-4", "table-6", *SMALL, "--out", tmp_path)
    assert found.exit_code == 0
    header, first, second, *rest = found.stdout.splitlines()
    assert header.split() == ["experiment", "run", "found", "empty", "failed"]
    assert first.split() == ["table-4", "2", "0", "0", "0"]
    assert rest[-1].strip() == f"python -m reproduction report {tmp_path}"
    assert "table-4 1/2: iris 0.2, knn: accuracy 0.5000 in 1.0 s" in found.stderr
    assert len(read_results(tmp_path / "table-4.jsonl")) == 2
    again = call("run", "table-4", *SMALL, "--out", tmp_path).stdout
    assert again.splitlines()[1].split()[:3] == ["table-4", "0", "2"]


def test_all_runs_what_has_something_of_what_is_asked_for(computed, tmp_path):
    found = call("run", "all", *SMALL, "--out", tmp_path)
    assert "Left out, as they have nothing of what was asked for: table-1, table-2" in (
        found.stdout
    )
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"table-4.jsonl", "table-6.jsonl"}


def test_empty_cells_are_named_and_failures_end_with_one(computed, tmp_path):
    computed.update(knn="no complete rows")
    found = call("run", "table-4", *SMALL, "--out", tmp_path)
    assert found.exit_code == 0
    line = "Empty in table-4: knn (1): no complete rows"
    assert line in found.stdout
    computed.update(mean="a bug")
    found = call("run", "table-6", *SMALL, "--out", tmp_path)
    assert found.exit_code == 1
    assert "Failed in table-6: mean (1): a bug" in found.stdout


def test_an_interrupted_run_keeps_what_was_finished(computed, tmp_path):
    computed.update(mean=KeyboardInterrupt)
    found = call("run", "table-4", *SMALL, "--out", tmp_path)
    assert found.exit_code == 130
    assert "Stopped; start again to go on." in found.stdout
    assert len(read_results(tmp_path)) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["table-5"], 1, "Error: Got name='table-5'"),
        (["table-4", "--methods", "catbost"], 1, "Did you mean 'catboost'?"),
        (["table-4", "--methods", "knn,"], 1, "Got '' in methods"),
        (["table-4", "--jobs", 0], 1, "Got jobs=0"),
        (["table-4", "--data", "mnist"], 1, "Got data='mnist'"),
        (["table-4", "--protocol", "slow"], 2, "--protocol"),
        ([], 2, "Missing argument"),
    ],
)
def test_what_can_not_be_run_is_refused(tmp_path, arguments, code, message):
    out = tmp_path / "results"
    found = call("run", *arguments, "--out", out)
    assert found.exit_code == code
    assert message in found.stderr
    assert not out.exists()


def test_a_report_of_nothing_is_refused(tmp_path):
    found = call("report", tmp_path / "missing", "-o", tmp_path / "report.md")
    assert found.exit_code == 1
    assert "but expected a folder" in found.stderr


def test_data_sets_are_listed_and_described():
    lines = call("data").stdout.splitlines()
    assert any(line.startswith("iris ") and line.endswith("here") for line in lines)
    described = call("data", "iris", "pima").stdout
    assert "150 rows    4 columns" in described
    assert described.count("licence: ") == 2
    assert call("data", "iriss").exit_code == 1


def test_a_data_set_is_saved_as_a_new_file(tmp_path):
    path = tmp_path / "iris.csv"
    found = call("data", "iris", "--save", path)
    assert found.stdout.startswith(f"Wrote 150 rows to {path}")
    header, first, *rest = path.read_text().splitlines()
    assert header.endswith(",target")
    assert first.endswith(",setosa")
    assert len(rest) == 149
    assert call("data", "iris", "--save", path).exit_code == 2
    assert call("data", "--save", tmp_path / "all.csv").exit_code == 2
