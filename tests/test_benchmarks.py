"""The benchmarks, with tiny settings."""

import contextlib
import hashlib
import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

ROOT = Path(__file__).parents[1]
BATCH, COMPONENTS, FEATURES, HIDDEN = 40, 3, 25, 6


@pytest.fixture(autouse=True)
def _root_on_path(monkeypatch):
    # `python -m pytest` has it there already, `pytest` alone has not.
    monkeypatch.syspath_prepend(str(ROOT))


def load(name):
    return importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def effort():
    return load("timing").Effort(repetitions=2, seconds=0.0, warm_up=1)


@pytest.fixture(params=["patches", "few patches", "scattered", "complete"])
def case(request):
    batches = load("batches")
    generator = torch.Generator().manual_seed(0)
    x = {
        "patches": lambda: batches.patched_batch(BATCH, 5, 3, generator),
        "few patches": lambda: batches.patched_batch(BATCH, 5, 3, generator, every=10),
        "scattered": lambda: batches.scattered_batch(BATCH, FEATURES, 0.4, generator),
        "complete": lambda: batches.complete_batch(BATCH, FEATURES, generator),
    }[request.param]()
    return load("layer").LayerCase(request.param, HIDDEN, COMPONENTS, x, 1e9)


def gradients(layer, out):
    layer.zero_grad()
    out.square().sum().backward()
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad
        for name, p in layer.named_parameters()
    }


def test_naive_version_agrees_with_the_layer_in_value_and_gradient(case):
    layer = load("layer").make_layer(case, dtype=torch.float64)
    x = case.x.double()
    ours, naive = layer(x), load("naive").naive_expected_relu_layer(layer, x)
    torch.testing.assert_close(naive, ours)
    torch.testing.assert_close(gradients(layer, naive), gradients(layer, ours))


def test_batches_have_the_holes_they_promise():
    batches, generator = load("batches"), torch.Generator().manual_seed(0)
    few = batches.patched_batch(100, 5, 3, generator, every=50)
    missing = torch.isnan(few).sum(1)
    assert missing.nonzero().flatten().tolist() == [0, 50]
    assert missing.max() == 9
    scattered = batches.scattered_batch(500, 20, 0.25, generator)
    assert torch.isnan(scattered).double().mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("case", ["patches"], indirect=True)
def test_speed_row_holds_both_times_and_leaves_the_threads_alone(case, effort):
    before = torch.get_num_threads()
    row = load("layer").measure_speed(case, effort)
    assert row.reached
    assert row.repetitions == 2
    assert row.ratio == pytest.approx(row.ours / row.reference)
    assert min(row.ours, row.wall.ours, row.naive.ours) > 0
    assert torch.get_num_threads() == before


def test_calls_are_timed_in_turn_and_repeated_as_often_as_asked():
    timing, calls = load("timing"), []
    effort = timing.Effort(repetitions=3, seconds=0.0, warm_up=1)
    ticks = iter(range(100))
    samples = timing.time_in_turn(
        {name: lambda name=name: calls.append(name) for name in "AB"},
        lambda: next(ticks),
        effort,
    )
    assert calls == list("AB" * 4)
    assert samples == {"A": [1, 1, 1], "B": [1, 1, 1]}


def cube(*, flat):
    missing = torch.ones(BATCH, FEATURES)
    out = missing[:, None] * torch.ones(COMPONENTS, FEATURES)
    return (out.flatten(0, 1) if flat else out.permute(1, 2, 0)) + 1


@pytest.mark.parametrize("flat", [False, True])
def test_recorder_finds_a_cube_made_on_purpose(flat):
    recorder = load("memory").record_shapes(lambda: cube(flat=flat))
    found = recorder.with_axes(BATCH, COMPONENTS, FEATURES)
    assert (BATCH, COMPONENTS, FEATURES) in found
    assert ((BATCH * COMPONENTS, FEATURES) in found) == flat


def test_recorder_finds_a_cube_that_only_the_backward_pass_makes():
    class Hidden(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return cube(flat=False).sum() * grad

    x = torch.ones((), requires_grad=True)
    memory = load("memory")
    forward = memory.record_shapes(lambda: Hidden.apply(x))
    both = memory.record_shapes(lambda: Hidden.apply(x).backward())
    assert not forward.with_axes(BATCH, COMPONENTS, FEATURES)
    assert both.with_axes(BATCH, COMPONENTS, FEATURES)


def test_recorder_leaves_tensors_of_two_of_the_three_axes_alone():
    recorder = load("memory").record_shapes(
        lambda: torch.ones(BATCH, FEATURES) @ torch.ones(FEATURES, COMPONENTS)
    )
    assert not recorder.with_axes(BATCH, COMPONENTS, FEATURES)
    assert recorder.largest() == (BATCH, FEATURES)


def test_peak_counts_what_is_held_at_once_and_not_what_came_before():
    before = torch.ones(10_000)

    def call():
        first = before + 1
        del first
        second = before + 2
        return second * second  # two tensors of 10000 floats at once

    assert load("memory").peak_bytes(call) == 2 * 4 * 10_000


def test_memory_row_is_missed_where_the_layer_makes_a_cube(monkeypatch):
    layer = load("layer")
    x = load("batches").scattered_batch(BATCH, FEATURES, 0.4, torch.Generator())
    case = layer.LayerCase("small", HIDDEN, COMPONENTS, x, 1.0)
    row = layer.measure_memory(case)
    assert row.conditions_hold
    assert row.ours > 0
    real = layer.contenders(case)
    spoilt = layer.Contenders(
        lambda: (cube(flat=False), real.ours()), real.naive, real.reference
    )
    monkeypatch.setattr(layer, "contenders", lambda case: spoilt)
    assert not layer.measure_memory(case).reached


@pytest.mark.slow
def test_em_rows_compare_the_same_iterations(effort, monkeypatch):
    em = load("em")
    # Two threads that wait for each other beside other tests take minutes.
    monkeypatch.setattr(em, "threads", lambda n: contextlib.nullcontext())
    row = em.measure_iteration(effort, n_rows=400)
    assert np.isfinite(row.ratio)
    assert np.isfinite(em.measure_full_fit(1, n_rows=1000).ours)


def test_report_prints_and_writes_what_was_reached_and_missed(tmp_path, capsys):
    run, table = load("run"), load("table")
    pair = load("timing").Pair(ours=2.0, reference=1.0, repetitions=3)
    rows = [
        table.Row("fast", "ms", 2.0, 1.0, 3.0, 3, wall=pair, naive=pair),
        table.Row("slow", "s", 4.0, None, 3.0, 1, details={"largest tensor": (2, 3)}),
    ]
    run.print_report(rows)
    printed = capsys.readouterr().out
    assert "2.00x" in printed
    assert printed.count("MISSED") == 1
    run.write_report(rows, tmp_path / "new" / "core.json")
    report = json.loads((tmp_path / "new" / "core.json").read_text())
    assert [row["reached"] for row in report["rows"]] == [True, False]
    assert report["rows"][0]["wall"]["ratio"] == 2.0
    assert set(report["measured_with"]) >= {"torch", "numpy", "python", "processor"}


@pytest.fixture
def tables(tmp_path):
    """Make a folder with a table of numbers and categories named like a real one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    table["c"] = np.where(rng.random(80) < 0.5, "u", "v")
    table["target"] = np.where(table["a"] > 0, "yes", "no")
    table.loc[:3, "a"] = np.nan
    path = tmp_path / "titanic.csv.gz"
    table.to_csv(path, index=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    entry = {"name": "titanic", "task": "classification", "sha256": digest}
    (tmp_path / "MANIFEST.json").write_text(json.dumps([entry]))
    return tmp_path


def test_the_informative_column_is_missing_at_prediction_alone(tables):
    more_missing = load("more_missing")
    data = more_missing.load("titanic", tables)
    by_rate, by_column = more_missing.scenarios(data, seed=0)
    assert by_rate[0]["a"].isna().any()
    missing = {name: X.isna().to_numpy().mean() for name, X in by_rate[2].items()}
    assert missing["10%"] < 0.3 < missing["50%"] < 0.7 < missing["80%"]
    X, y, tests, y_test = by_column
    assert X["a"].notna().all()
    assert tests["column"]["a"].isna().all()
    assert tests["column"]["b"].notna().any()
    assert (len(X), len(y_test)) == (len(y), len(tests["column"]))
    assert not set(X.index) & set(tests["column"].index)


def test_scores_are_measured_once_and_summarised(tables, capsys):
    out = tables / "new" / "scores.jsonl"
    argv = ["--quick", "--seeds", "1", "--tables", str(tables), "--out", str(out)]
    argv += ["--sets", "titanic", "diabetes"]
    main = load("more_missing").main
    main(argv)
    lines = out.read_text().splitlines()
    main(argv)
    assert out.read_text().splitlines() == lines
    printed = capsys.readouterr().out
    assert "Mean log-loss of 1 sets, 1 seeds" in printed
    assert "Mean R2 of 1 sets, 1 seeds" in printed
    main([*argv, "--again", "prior"])
    assert len(out.read_text().splitlines()) == len(lines) + 2 * 4
