"""Run the python blocks of README.md and of the pages in docs, as they are printed.

The blocks of one file share a namespace and run in order. A block is left out when the
line before it is ``<!-- skip: reason -->``, or ``<!-- needs: package -->`` and there is
no such package.
"""

import importlib
import json
import os
import re
import secrets
import subprocess
import sys
import textwrap
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest
import torch

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NEEDS_RAY = "<!-- needs: ray -->"
BLOCK = re.compile(
    r"(?P<skip>^[ ]*<!-- skip: \S.*?-->[ ]*\n)?"
    r"(?:^[ ]*<!-- needs: (?P<needs>\w+) -->[ ]*\n)?"
    r"^(?P<indent>[ ]*)```python[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


def python_blocks(text):
    """Code of every block to run, with empty lines before it for true line numbers."""
    return [
        "\n" * text.count("\n", 0, block.start("code")) + textwrap.dedent(block["code"])
        for block in BLOCK.finditer(text)
        if not block["skip"] and (not block["needs"] or find_spec(block["needs"]))
    ]


def pages_with_blocks():
    pages = sorted((ROOT / "docs").glob("*.md"))
    return [
        # Ray takes long to start.
        pytest.param(page, marks=[pytest.mark.slow] * (NEEDS_RAY in text))
        for page in pages
        if python_blocks(text := page.read_text("utf-8"))
    ]


# Of torch's own modules, when it imports its exporters.
@pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("page", [README, *pages_with_blocks()], ids=lambda p: p.name)
def test_code_blocks_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text("utf-8")
    blocks = python_blocks(text)
    assert blocks, f"{page.name} has no python block"
    if NEEDS_RAY in text:  # which reads its settings once in a process
        variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        variables["RAY_USAGE_STATS_ENABLED"] = "0"
        subprocess.run(
            [sys.executable, "-c", "".join(blocks)],
            env=os.environ | variables,
            check=True,
        )
        return
    namespace = {"__name__": "__main__"}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for code in blocks:
            exec(compile(code, page, "exec"), namespace)


def test_the_first_example_prints_what_stands_below_it(capsys):
    text = README.read_text("utf-8")
    exec(compile(python_blocks(text)[0], README, "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    shown = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    figure = re.compile(r"\d\.\d\d$")
    for line, expected in zip(printed[:3], shown.splitlines()[:3], strict=True):
        assert figure.sub("", line) == figure.sub("", expected)
        # Networks that are trained on another CPU differ a little.
        assert abs(float(figure.search(line)[0]) - float(expected[-4:])) < 0.05


def test_blocks_are_found_in_order_with_their_line_numbers():
    text = "a\n```python\nx = 1\n```\n- b\n  ```python\n  y = 2\n  ```\n"
    assert python_blocks(text) == ["\n\nx = 1\n", "\n" * 6 + "y = 2\n"]


def test_blocks_of_other_languages_and_skipped_blocks_are_left_out():
    text = "```bash\nls\n```\n\n<!-- skip: needs a GPU -->\n```python\nx = 1\n```\n"
    assert python_blocks(text) == []


def test_skip_without_a_reason_does_not_skip():
    assert python_blocks("<!-- skip: -->\n```python\nx = 1\n```\n") == ["\n\nx = 1\n"]


PAGE = ROOT / "docs/benchmarks.md"


def test_the_readme_is_short():
    assert len(README.read_bytes()) <= 8192


def rows_of(text):
    """Return the rows of the tables in a text as tuples of cells, without stars."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line[:1] == "|"]
    return {
        tuple(cell.strip(" *") for cell in row) for row in rows if "--" not in row[0]
    }


def printed_by(module, capsys, *options):
    """Return what a benchmark prints of its committed results."""
    benchmark = importlib.import_module(f"benchmarks.{module}")
    benchmark.main(["--summary", "--out", str(ROOT / benchmark.OUT), *options])
    return capsys.readouterr().out


SPEED = ("--rows", "1000", "10000", "100000", "1000000")
ABLATIONS = ("--tables", "real", "--folds", "1", "--methods", "lacunet", "--without")


@pytest.mark.parametrize(
    ("module", "options"), [("tables", ()), ("tables", ABLATIONS), ("speed", SPEED)]
)
def test_the_page_has_the_committed_figures(module, options, capsys):
    printed = printed_by(module, capsys, *options)
    if options == ABLATIONS:
        printed = printed.partition("## Variants of ours")[2]
    assert rows_of(printed)
    assert rows_of(printed) <= table_rows()
    for line in printed.splitlines():
        if " against CatBoost on " in line:
            assert line in PAGE.read_text("utf-8")


def test_figures_of_the_readme_are_those_of_the_page():
    text = README.read_text("utf-8")
    start = text.index("## Accuracy")
    ranks = {row for row in rows_of(text[start : text.index("## What it")]) if row[0]}
    assert len(ranks) > 5
    assert ranks <= table_rows()
    text = " ".join(text[start:].split())
    speed = importlib.import_module("benchmarks.speed")
    found = {
        key[:2]: line
        for key, line in speed.read_lines(ROOT / speed.OUT, speed.KEY).items()
    }
    ratios = [
        found[n, "lacunet"]["fit_seconds"] / found[n, "catboost"]["fit_seconds"]
        for n in speed.SIZES
    ]
    assert (
        "A fit takes {:.1f}, {:.1f} and {:.1f} times CatBoost's".format(*ratios) in text
    )
    ours, hgb = found[10_000, "lacunet"], found[10_000, "hgb"]
    assert f"but {ours['fit_seconds'] / hgb['fit_seconds']:.0f} times Hist" in text
    assert f"predicts {ours['rows_a_second']:,.0f} rows a second" in text
    page = {row[0]: row for row in table_rows() if len(row) == 9}
    for name in ("bands", "fourclass", "polish_bankruptcy_5y"):
        net, trees = (float(figure) for figure in page[name][1:3])
        assert re.search(f"{name} {trees:.3f} to (our )?{net:.3f}", text), name


def test_figures_of_more_missing_values_are_the_committed_ones():
    more_missing = importlib.import_module("benchmarks.more_missing")
    lines = more_missing.read_lines(ROOT / more_missing.OUT, more_missing.KEY)
    assert more_missing.summarise(pd.DataFrame(lines.values())).strip() in (
        PAGE.read_text("utf-8")
    )
    titles = more_missing.TITLES | {
        "linear": "mean + indicator, logistic",
        "prior": "class frequencies alone",
    }
    rows = {row[0]: row[1:] for row in table_rows(README) if "(" in row[1:][-1]}
    without_catboost = {name for name, _ in more_missing.TOO_SLOW}
    for method, title in titles.items():
        for setting, shown in zip(more_missing.SETTINGS, rows[title], strict=True):
            scores = defaultdict(list)
            for line in lines.values():
                if (line["setting"], line["method"]) == (setting, method):
                    scores[line["metric"], line["dataset"]].append(line["score"])
            means = [
                fmean(each)
                for (metric, name), each in scores.items()
                if metric == "log-loss" and name not in without_catboost
            ]
            assert len(means) == 7
            assert shown.startswith(f"{fmean(means):.3f} (")


# Of the methods of committed results.
TITLES = {
    "lacunet": "lacunet",
    "catboost": "CatBoost",
    "hgb": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "mlp": "mean + indicator, MLP",
    "logistic": "mean + indicator, logistic",
    "knn-svc": "nearest neighbours, SVC",
    "forest": "mean, random forest",
}


def result(name):
    return json.loads((ROOT / name).read_text("utf-8"))


def test_benchmark_figures_are_the_committed_ones():
    shown = {row[0]: row[1:] for row in table_rows()}
    for row in result("benchmarks/results/core.json")["rows"]:
        figure = f"{row['ratio']:.2f}×" if row["ratio"] else f"{row['ours']:.1f}"
        assert any(cell.startswith(figure) for cell in shown[row["case"]]), row["case"]


def table_rows(page=PAGE):
    """Return the rows of all tables of a page as tuples of cells, without stars."""
    return rows_of(page.read_text("utf-8"))


def test_figures_of_the_seizures_are_the_committed_ones():
    scores = result("benchmarks/results/estimators.json")["esr"]["scores"]
    for name in scores["lacunet"]:
        _, split, percentage = name.split("-")
        methods = ("lacunet", "lacunet-diag3", "mlp", "hgb")
        reached = [scores[method][name] for method in methods]
        figures = [f"{s['accuracy']:.3f} / {s['log_loss']:.3f}" for s in reached]
        assert (f"{percentage}%, by {split}", *figures) in table_rows()


def test_how_far_perceptrons_come_on_the_seizures_is_what_was_measured():
    found = result("benchmarks/results/seizures.json")
    text = " ".join(PAGE.read_text("utf-8").split())
    text = text[text.index("The paper's 0.836") :]
    text = text[: text.index("seizures.json")]
    reached = {
        "with 89 units": "rows: 3 x 89, table scaled, dropout 0.25",
        "with 512": "rows: 3 x 512, table scaled, dropout 0.25",
        "split by recordings": "recordings: 3 x 512, table scaled, dropout 0.25",
    }
    assert all(f"{found[name]['test']:.3f}" in text for name in reached.values())
    assert all(words in text for words in reached)
    assert all(f"{row['epochs']} epochs" in text for row in found.values())
    assert max(row["test"] for row in found.values()) < 0.836


def test_what_ours_reaches_in_the_time_of_the_authors_is_what_was_measured():
    lines = (
        (ROOT / "reproduction/results/table-1.jsonl").read_text("utf-8").splitlines()
    )
    cells = [cell for cell in map(json.loads, lines) if cell["metric"] == "mse"]
    (theirs,) = (cell for cell in cells if cell["protocol"] == "authors")
    (short,) = (cell for cell in cells if cell["method"] == "lacunet-short")
    text = " ".join(PAGE.read_text("utf-8").split())
    assert (
        f"The authors' recipe comes to {theirs['value']:.5f} in "
        f"{theirs['seconds']:.0f} seconds of one core, ours in "
        f"{short['seconds']:.0f} seconds to {short['value']:.5f}" in text
    )
    assert short["params"]["max_epochs"] == 7
    assert short["seconds"] < theirs["seconds"]


def test_accuracies_on_other_folds_are_the_committed_ones():
    sets = defaultdict(list)
    for table in ("table-4", "table-6"):
        path = ROOT / f"benchmarks/results/other-folds/{table}.jsonl"
        for cell in map(json.loads, path.read_text("utf-8").splitlines()):
            if cell["seed"] == 1:
                sets[cell["method"], cell["dataset"]].append(cell["value"])
    assert {len(folds) for folds in sets.values()} == {5}
    means = defaultdict(list)
    for (method, _), folds in sets.items():
        means[method].append(fmean(folds))
    assert {len(each) for each in means.values()} == {15}
    ordered = sorted(means, key=lambda method: -fmean(means[method]))
    listed = [f"{TITLES[key]} {fmean(means[key]):.3f}" for key in ordered]
    assert ", ".join(listed) in " ".join(PAGE.read_text("utf-8").split())


def test_figures_of_the_missing_column_are_the_committed_ones():
    for row in result("benchmarks/results/estimators.json")["missing_column"]["models"]:
        figures = [row["complete"], row["missing"]]
        shown = ["-" if value is None else f"{value:.3f}" for value in figures]
        assert (row["model"], *shown) in table_rows()


def test_what_commands_cost_is_what_was_measured():
    text = (ROOT / "docs/command.md").read_text("utf-8")
    text = " ".join(text[text.index("## What it costs") :].split())
    found = result("benchmarks/results/command.json")
    for name in ("fit", "csv", "parquet"):
        row = found[name]
        assert f"{row['rows']:,} rows × {row['columns']} columns" in text
        assert f"| {row['seconds']:.1f} s | {row['megabytes_above']} MB |" in text
    for name in ("csv", "parquet"):
        assert f"{found[name]['rows_a_second']:,}" in text
    assert f"{found['csv']['pandas_and_hgb_rows_a_second']:,}" in text
    for name, row in found["start"].items():
        if name != "measured_with":
            assert f"| {row['cpu_seconds']:.2f} s | {row['ratio']:.2f} |" in text


SCALE = ROOT / "docs/scale.md"


def test_what_files_of_any_size_cost_is_what_was_measured(capsys):
    scale = importlib.import_module("benchmarks.scale")
    out = ROOT / scale.OUT
    measured = {*result(scale.OUT)} if out.exists() else set()
    text = SCALE.read_text("utf-8")
    if measured >= {"bytes", "speed"}:
        measured.add("scaling")
    for part in (*scale.PARTS, "scaling"):
        assert (f"<!-- not measured yet: {part} -->" in text) != (part in measured)
    printed = printed_by("scale", capsys)
    assert bool(rows_of(printed)) == bool(measured)
    assert rows_of(printed) <= table_rows(SCALE)
    for line in printed.splitlines():
        if line[:1] not in ("", "#", "|"):
            assert line in text


def summarise_answers(part):
    """Return the summary of what is committed of a part of benchmarks.answers."""
    module = importlib.import_module(f"benchmarks.{part}")
    text = (ROOT / module.OUT).read_text("utf-8")
    if part == "intervals":
        return module.summarise(pd.DataFrame(map(json.loads, text.splitlines())))
    content = json.loads(text)
    if part == "imputations":
        return module.summarise(content["runs"])
    return module.summarise(pd.DataFrame(content) if part == "censored" else content)


@pytest.mark.parametrize(
    "part", ["intervals", "imputations", "censored", "acquisition"]
)
def test_figures_of_answers_are_the_committed_ones(part):
    page = (ROOT / "docs/answers.md").read_text("utf-8")
    assert summarise_answers(part).strip() in page
