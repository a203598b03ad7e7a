import html
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reproduction.report import find_parts, find_standing, make_context, write_report
from reproduction.runner import load_experiment
from scipy import stats

from lacunet.exceptions import LacunetError

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproduction" / "results"
NUMBER = re.compile(r"[+−]?\d+\.\d+|±0")


@pytest.fixture(scope="module")
def markdown(tmp_path_factory):
    path = tmp_path_factory.mktemp("md") / "results.md"
    return write_report(RESULTS, path, format="md").read_text("utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("html") / "results.html"
    return write_report(RESULTS, path).read_text("utf-8")


def read_tables(markdown):
    """Return each table of Markdown as rows of cells."""
    return [
        [line.strip("| ").split(" | ") for line in block.splitlines()]
        for block in re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    ]


def section_of(markdown, title):
    return markdown.split(f"## {title}\n")[1].split("\n## ")[0]


# --- the committed results


def test_the_page_of_the_docs_is_what_the_committed_results_give(markdown):
    made = "make results"
    assert (ROOT / "docs/results.md").read_text("utf-8") == markdown, f"Run: {made}"


def test_tables_of_the_readme_are_those_of_the_page(markdown):
    readme = (ROOT / "README.md").read_text("utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", readme, re.MULTILINE):
        assert "*paper (as published)*" not in table or table in markdown


@pytest.mark.parametrize("name", ["table-4", "table-6"])
def test_scores_ranks_and_times_are_those_of_the_json_lines(markdown, name):
    cells = pd.read_json(RESULTS / f"{name}.jsonl", lines=True)
    cells = cells.query("protocol == 'paper'")
    scores = cells.groupby(["method", "dataset"])["value"].agg(["mean", "sem"])
    ranked = scores["mean"].unstack("method").drop(columns="ce", errors="ignore")
    ranks = stats.rankdata(-ranked.round(12), axis=1).mean(axis=0)
    expected = dict(zip(ranked.columns, ranks, strict=True))
    seconds = cells.groupby("method")["seconds"].median()
    titles = {"k-nn": "knn", "*paper (as published)*": "paper", "*lacunet*": "lacunet"}
    head, _, *rows = read_tables(section_of(markdown, name.replace("-", " ").title()))[
        0
    ]
    reported = load_experiment(name).reported["accuracy"]
    checked = 0
    for title, rank, *found, time in rows:
        method = titles.get(title, title)
        if method not in expected:
            continue
        assert float(rank.strip("*")) == pytest.approx(expected[method], abs=0.005001)
        for dataset, cell in zip(head[2:-1], found, strict=True):
            mean, error = scores.loc[method, dataset]
            rate = None if name == "table-4" else 0.5
            theirs = reported[dataset, rate].get(method)
            text = f"{mean:.3f} ± {error:.3f}"
            if theirs is not None:
                difference = f"{mean - theirs:+.3f}".replace("-", "−")
                text += f" / {theirs:.3f} ({difference})"
            text = re.sub(r"\([+−]0\.000\)", "(±0)", text)
            assert cell.replace("*", "") == text
            checked += 1
        number, unit = time.split()
        assert float(number) * {"s": 1, "min": 60}[unit] == pytest.approx(
            seconds[method], rel=0.05
        )
    assert checked >= 7 * 8
    best = {column: [row[column] for row in rows] for column in range(2, len(head) - 1)}
    for column, texts in best.items():
        bold = {text[2:7] for text in texts if text.startswith("**")}
        assert bold == {max(text.strip("*")[:5] for text in texts)}, head[column]


def test_markdown_and_html_have_the_same_scores(markdown, page):
    shown = [
        tuple(NUMBER.findall(html.unescape(re.sub(r"<[^>]+>", " ", row))))
        for row in re.findall(r"<tr.*?</tr>", page, re.DOTALL)
    ]
    sections = markdown.split("## Tables 4 and 6")[0]
    rows = [row for table in read_tables(sections) for row in table[2:]]
    assert len(rows) > 80
    for row in rows:
        assert tuple(NUMBER.findall(" ".join(row))) in shown
    texts = html.unescape(page)
    claims = read_tables(section_of(markdown, "Claims"))[0][2:]
    for _, _, outcome, why in claims:
        assert f'<p class="badge">{outcome}</p>' in page
        assert html.unescape(why) in texts


def test_the_page_needs_no_other_file_and_draws_every_figure(page):
    assert page.count("<svg") == 11  # ranks 3, gamma 1, classes 5, cost 2
    assert page.count("data:image/png") > 20
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert "Tables 4 and 6 together" in page
    anchors = set(re.findall(r'href="#([a-z0-9-]+)"', page))
    assert anchors <= set(re.findall(r'id="([^"]+)"', page))


# --- made-up results


def write_cells(folder, rows):
    """Write cells to a folder; all are of table 4 unless they say so."""
    cell = {"experiment": "table-4", "rate": None, "fold": 0, "seed": 0}
    cell |= {"protocol": "paper", "metric": "accuracy", "params": {}, "seconds": 1.0}
    cell |= {"versions": {"numpy": "2.0"}, "commit": "0123456789abcdef"}
    folder.mkdir(exist_ok=True)
    lines = [json.dumps(cell | row) for row in rows]
    (folder / "table-4.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def grid(values, sets=("bands", "horse", "pima"), **more):
    return [
        {"dataset": name, "method": method, "value": value, **more}
        for method, of_sets in values.items()
        for name, value in zip(sets, of_sets, strict=True)
    ]


VALUES = {"paper": (0.6, 0.8, 0.7), "lacunet": (0.7, 0.9, 0.8), "knn": (0.5, 0.7, 0.6)}


def test_names_are_escaped(tmp_path):
    evil = "<script>alert(1)</script>|*x*_"
    rows = grid({evil: (0.6, 0.7)}, sets=(evil, "pima"))
    rows += grid({"mean": (None, 0.7)}, sets=("bands", "pima"), params={"why": evil})
    folder = write_cells(tmp_path / "results", rows)
    page = write_report(folder, tmp_path / "page.html").read_text("utf-8")
    text = write_report(folder, tmp_path / "page.md", format="md").read_text("utf-8")
    assert page.count("<script") == 1  # the page's own
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in text
    assert r"&lt;script&gt;alert(1)&lt;/script&gt;\|\*x\*\_" in text


def test_failed_cells_are_marked_and_have_their_reason(tmp_path):
    rows = grid(VALUES) + grid({"mean": (0.5, None, 0.6)}, params={"why": "no rows"})
    folder = write_cells(tmp_path / "results", rows)
    text = write_report(folder, tmp_path / "page.md", format="md").read_text("utf-8")
    # Out of the ranking, as it has a gap.
    assert "| mean | – | 0.500 / 0.545 (−0.045) | –<sup>†</sup> / 0.793 |" in text
    assert "| *lacunet* | **1.00** | **0.700** |" in text
    page = write_report(folder, tmp_path / "page.html").read_text("utf-8")
    assert "Left out, because scores are missing: mean." in page
    assert "<td>no rows</td>" in page
    assert "4 rows of the table not run yet" in page
    assert "Table 4 (protocol paper) is not finished" in page


def test_protocols_and_stand_ins_are_never_mixed(tmp_path):
    rows = grid(VALUES, protocol="quick")
    rows += grid(VALUES, sets=("wine", "iris", "breast_cancer_wdbc"), rate=0.2)
    context = make_context(write_cells(tmp_path / "results", rows), drawings=False)
    (table,) = (each for each in context["tables"] if each["parts"])
    shown = [(part["title"], part["tag"]) for part in table["parts"]]
    assert shown == [("Protocol quick", ""), ("Protocol paper", "stand-in data")]
    assert context["origins"]["no_paper_protocol"]
    assert not context["origins"]["only_stand_ins"]


def test_unfinished_rows_are_left_out_before_methods():
    values = {f"m{i}": [0.1 * i, 0.2 * i, 0.3 * i] for i in range(1, 5)}
    values["m1"][2] = values["m2"][2] = values["m3"][0] = None
    cells = pd.DataFrame(grid(values)).assign(
        experiment="table-4", rate=-1.0, fold=0, seed=0, protocol="paper",
        metric="accuracy",
    )  # fmt: skip
    (part,) = find_parts(cells, load_experiment("table-4"))
    standing = find_standing([part])
    assert standing.scores.index.tolist() == ["bands", "horse"]
    assert standing.ranks.to_dict() == {"m4": 1, "m2": 2, "m1": 3}
    assert standing.left_out == ["m3", "pima"]


def test_what_is_not_there_is_refused(tmp_path):
    out = tmp_path / "page.md"
    with pytest.raises(LacunetError, match="nothing there, but expected a folder"):
        write_report(tmp_path / "none", out, format="md")
    (tmp_path / "file").touch()
    with pytest.raises(LacunetError, match="a file, but expected a folder"):
        write_report(tmp_path / "file", out, format="md")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LacunetError, match="without any result.*Run an experiment"):
        write_report(tmp_path / "empty", out, format="md")
    (tmp_path / "empty" / "figure-cost.json").write_text("{", "utf-8")
    with pytest.raises(LacunetError, match=r"figure-cost.json that can't be read"):
        write_report(tmp_path / "empty", out, format="md")
    with pytest.raises(ValueError, match="Got format='pdf'"):
        write_report(RESULTS, out, format="pdf")
    assert not out.exists()
    out.write_text("mine", "utf-8")
    with pytest.raises(OSError, match="page.md"):
        write_report(RESULTS, out, format="md")
    assert out.read_text("utf-8") == "mine"


def test_ties_share_ranks_and_places(tmp_path):
    rows = grid({"paper": (0.6, 0.8, 0.7), "lacunet": (0.6, 0.8, 0.7 + 1e-15)})
    context = make_context(write_cells(tmp_path / "results", rows), drawings=False)
    standing = context["tables"][2]["parts"][0]["standing"]
    assert [each["rank"] for each in standing["ranks"]] == [1.5, 1.5]
    assert standing["places"] == {"lacunet": 1, "paper": 1}
    assert np.isfinite(standing["controls"][0]["smallest_p"])


def test_the_same_results_give_the_same_page(tmp_path):
    folder = write_cells(tmp_path / "results", grid(VALUES))
    gamma = (RESULTS / "figure-gamma.json").read_bytes()
    (folder / "figure-gamma.json").write_bytes(gamma)
    first, second = (write_report(folder, tmp_path / f"{i}.html") for i in range(2))
    assert first.read_bytes() == second.read_bytes()
    assert "Not run yet: Table 1, Table 2, Table 6" in first.read_text("utf-8")


def test_any_part_of_the_results_gives_a_report(tmp_path):
    cell = {"dataset": "pima", "method": "paper", "value": 0.7}
    failed = {"value": None, "params": {"why": "lost"}}
    authors = {"protocol": "authors"}
    error = {"experiment": "table-1", "dataset": "mnist", "metric": "mse_inside"}
    cases = [
        [failed],
        [authors | failed],
        [authors, {"dataset": "horse"}],
        [authors, {}, authors | {"dataset": "horse"}],
        [error, error | authors],
        [{"experiment": "unknown"}, {"protocol": "mine"}, {"dataset": "mine"}],
    ]
    for case in cases:
        folder = write_cells(tmp_path / "results", [cell | each for each in case])
        write_report(folder, tmp_path / "page.md", format="md", force=True)
    assert "### Protocol mine" in (tmp_path / "page.md").read_text("utf-8")
