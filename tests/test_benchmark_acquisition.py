"""The benchmark of what to measure next, with tiny settings."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from benchmarks import acquisition

    return acquisition


def test_curves_begin_alike_and_what_is_done_is_not_measured_again(
    module, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out.json"
    monkeypatch.setattr(module, "time_a_row", lambda model, quick: 1.0)
    given = ["--quick", "--sets", "switch", "--seeds", "7", "--out", str(out)]
    module.main([*given, "--models", "masked"])
    curves = json.loads(out.read_text())["curves"]
    policies = ["random", "fixed", "ours", "mlp", "mlp-alone"]
    assert [line["policy"] for line in curves] == policies
    assert len({line["log_loss"][0] for line in curves[:4]}) == 1
    assert {len(line["accuracy"]) for line in curves} == {module.N_STEPS + 1}
    # Nine cells can be measured: with all of them, the order no longer matters.
    assert len({line["log_loss"][9] for line in curves[:4]}) == 1
    assert "1.0 ms of CPU time" in capsys.readouterr().out
    monkeypatch.setattr(module, "measure", None)
    module.main([*given, "--models", "masked"])
    assert json.loads(out.read_text())["curves"] == curves


def test_results_of_a_quick_run_are_not_mixed_with_the_others(module):
    with pytest.raises(SystemExit):
        module.main(["--quick"])
