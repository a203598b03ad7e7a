import json

import numpy as np
import pytest
from made_up import cell
from reproduction.experiments import (
    _runner,
    list_experiments,
    load_experiment,
    run_experiment,
)
from reproduction.experiments._compute import Outcome
from reproduction.experiments._files import update_figure
from reproduction.experiments.claims import CLAIMS, judge_claims
from reproduction.statistics import ResultFile

from lacunet.exceptions import LacunetError

OUTCOMES = {"holds", "does not hold", "not decidable"}
RIVALS = ("knn", "mean", "dropout")


def inside(value, **options):
    """Return cells in which paper has this error, and its rivals 1."""
    values = {"paper": value, **dict.fromkeys(RIVALS, 1.0)}
    options = {"dataset": "mnist", "metric": "mse_inside"} | options
    name = options.pop("dataset")
    return [cell("table-1", name, m, v, **options) for m, v in values.items()]


def judge_inside(folder, cells):
    ResultFile(folder / "table-1.jsonl").append(cells)
    return judge_claims(folder)[0]


def test_every_claim_has_a_place_a_rule_and_an_experiment():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS) == 21
    for claim in CLAIMS:
        assert claim.experiment in list_experiments()
        assert {"paper", "quick"} <= set(load_experiment(claim.experiment).protocols)
        assert claim.statement.endswith(".")
        assert claim.rule.endswith(".")
        assert "ection" in claim.place


@pytest.mark.parametrize("name", ["", "no-such-folder"])
def test_nothing_is_decided_without_results_and_told_what_to_run(tmp_path, name):
    verdicts = judge_claims(tmp_path / name)
    assert [verdict.claim for verdict in verdicts] == list(CLAIMS)
    for verdict in verdicts:
        assert verdict.outcome == "not decidable"
        assert verdict.why.startswith("There are no ")
        command = f"lacunet reproduce {verdict.claim.experiment} --protocol paper"
        assert verdict.why.endswith(command)
        assert (verdict.source, dict(verdict.figures)) == (None, {})


def test_the_best_protocol_is_used_and_the_paper_s_data_before_stand_ins(tmp_path):
    steps = [
        (inside(2.0, protocol="authors"), "not decidable", None),
        (inside(0.5, protocol="quick", dataset="digits"), "holds", "quick-digits"),
        (inside(2.0, dataset="digits"), "does not hold", "paper-digits"),
        (inside(0.5, protocol="quick"), "holds", "quick"),
        (inside(2.0), "does not hold", "paper"),
    ]
    for cells, outcome, source in steps:
        verdict = judge_inside(tmp_path, cells)
        assert (verdict.outcome, verdict.source) == (outcome, source)


def test_results_of_protocols_are_never_mixed(tmp_path):
    ours = [each for each in inside(0.5) if each.method == "paper"]
    verdict = judge_inside(tmp_path, [*ours, *inside(2.0, protocol="quick")])
    assert (verdict.outcome, verdict.source) == ("does not hold", "quick")
    assert verdict.figures["paper"] == 2.0


def test_what_has_been_begun_is_to_be_finished(tmp_path):
    begun = inside(0.5, protocol="quick", dataset="digits")[:-1]
    verdict = judge_inside(tmp_path, begun)
    assert verdict.outcome == "not decidable"
    assert verdict.why == (
        "There are no results of dropout yet. Run: lacunet reproduce table-1 "
        "--protocol quick --data digits"
    )


def test_cells_without_a_value_are_no_results(tmp_path):
    lost = cell("table-1", "mnist", "dropout", None, metric="mse_inside")
    verdict = judge_inside(tmp_path, [*inside(0.5)[:-1], lost])
    assert "no results of dropout" in verdict.why


def test_the_verdict_says_which_results_it_is_from(tmp_path):
    verdict = judge_inside(tmp_path, inside(0.5))
    assert verdict.why.endswith("From table-1, protocol paper.")
    small = inside(0.5, protocol="quick", dataset="digits")
    verdict = judge_inside(tmp_path / "small", small)
    assert verdict.why.endswith("From table-1, protocol quick, stand-ins.")


def test_what_needs_no_data_has_no_stand_ins(tmp_path):
    sizes = {"batch": 8, "features": 4, "units": 2}
    times = {"forward": [[2.0]], "step": [[2.0]]}
    content = {"components": [1], "shares": [0.5], "sizes": sizes, **times}
    update_figure(tmp_path / "figure-cost.json", "quick-digits", content)
    (verdict,) = (v for v in judge_claims(tmp_path) if v.claim.name == "cost-about-2k")
    assert (verdict.outcome, verdict.source) == ("holds", "quick-digits")
    assert verdict.why.endswith("From figure-cost, protocol quick.")


def test_a_damaged_figure_is_told(tmp_path):
    (tmp_path / "figure-cost.json").write_text("{")
    with pytest.raises(LacunetError, match=r"figure-cost\.json.*run figure-cost again"):
        judge_claims(tmp_path)


def test_a_quick_run_is_judged(monkeypatch, tmp_path):
    def compute(job):
        """Give each method other numbers, and images."""
        at = len(job.method) / 100 + len(job.dataset) / 1000
        metrics = load_experiment(job.experiment).metrics
        place = {"rate": job.rate, "fold": job.fold, "seed": job.seed}
        cells = [
            cell(
                job.experiment,
                job.dataset,
                job.method,
                at + i,
                metric=metric,
                protocol=job.protocol,
                **place,
            )
            for i, metric in enumerate(metrics)
        ]
        images = np.random.RandomState(len(job.method)).rand(20, 64)
        return Outcome(job, tuple(cells), images if "mse" in metrics else None)

    monkeypatch.setattr(_runner, "compute", compute)
    monkeypatch.setattr(_runner, "_draw", _draw_only("figure-2"))
    for name in list_experiments():
        run_experiment(name, out=tmp_path, data="digits")
    verdicts = judge_claims(tmp_path)
    without = {"figure-cost", "claim-mnist", "claim-information"}
    for verdict in verdicts:
        assert verdict.outcome in OUTCOMES
        assert json.dumps(dict(verdict.figures), allow_nan=False)
        is_there = verdict.claim.experiment not in without
        is_there &= verdict.claim.name != "small-patches-alike"
        assert (verdict.source is not None) == is_there


def _draw_only(name):
    draw = _runner._draw

    def drawn(experiment, *where):
        if experiment.name == name:
            draw(experiment, *where)

    return drawn
