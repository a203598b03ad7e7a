import json

from reproduction.cli._options import EXPERIMENTS


def test_the_demo_is_everything_small_and_a_report(call, asked, reports, tmp_path):
    out = tmp_path / "demo"
    said = call("demo", "--out", out, "--jobs", 2)
    assert said.exit_code == 0
    (wish,) = asked
    assert wish["names"] == tuple(EXPERIMENTS)
    chosen = {name: wish[name] for name in ("protocol", "data", "out", "jobs")}
    assert chosen == {"protocol": "quick", "data": "digits", "out": out, "jobs": 2}
    assert said.stdout.splitlines()[-1] == f"The report: {out / 'report.html'}"
    assert reports == [{"results": out, "format": "html", "force": True}]


def test_the_demo_can_be_run_again(call, asked, reports, tmp_path):
    assert [call("demo", "--out", tmp_path).exit_code for _ in (0, 1)] == [0, 0]


def test_the_demo_tells_scripts_where_the_report_is(call, asked, reports, tmp_path):
    record = json.loads(call("demo", "--out", tmp_path, "--json").stdout)
    assert record["report"] == str(tmp_path / "report.html")
    names = [each["experiment"] for each in record["experiments"]]
    assert names == list(EXPERIMENTS)


def test_a_demo_with_failures_has_a_report_and_is_one(
    call, computed, reports, tmp_path, monkeypatch
):
    monkeypatch.setattr("reproduction.cli._demo.EXPERIMENTS", {"table-6": ""})
    computed.why, computed.unexpected = {"knn": "no"}, {"knn"}
    said = call("demo", "--out", tmp_path, "--jobs", 1)
    assert said.exit_code == 1
    assert "Failed in table-6" in said.stderr
    assert (tmp_path / "report.html").exists()


def test_an_interrupted_demo_has_no_report(call, computed, reports, tmp_path):
    computed.stop_at = "mean"
    assert call("demo", "--out", tmp_path, "--jobs", 1).exit_code == 130
    assert reports == []
