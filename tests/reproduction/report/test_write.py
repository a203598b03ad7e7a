import re
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from reproduction.experiments import load_experiment, run_experiment
from reproduction.experiments.claims import judge_claims
from reproduction.report import _experiments, _page, write_report
from reproduction.statistics import ResultFile

from lacunet.exceptions import LacunetError

EVIL = "<script>alert(1)</script>"
HEADINGS = [
    "Table 1",
    "Table 2",
    "Table 4",
    "Table 6",
    "Figure 2",
    "Figure gamma",
    "Figure density",
    "Figure cost",
    "Claims",
    "Protocol and versions",
]


@pytest.fixture(scope="module")
def html(results, tmp_path_factory):
    """Return the report of made-up results, with the claims as they are judged."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(results, path).read_text("utf-8")


@pytest.fixture(scope="module")
def page(html, parse):
    return parse(html)


def test_sections_are_those_of_the_paper_in_its_order(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]


def test_each_section_is_linked_to_and_each_link_leads_somewhere(page):
    inner = [link[1:] for link in page.links if link.startswith("#")]
    assert set(inner) <= set(page.ids)
    assert {"table-1", "figure-gamma", "claims", "protocol-and-versions"} <= set(inner)


def test_the_page_needs_no_other_file_and_runs_nothing(html, page):
    outer = [
        link for link in page.links if not link.startswith(("#", "data:image/png"))
    ]
    assert outer == []
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")
    assert "@import" not in html


def test_names_of_parts_occur_once(page):
    assert len(page.ids) == len(set(page.ids))


def test_light_and_dark_print_and_phones_are_thought_of(html):
    for wanted in (
        "prefers-color-scheme: dark",
        "@media print",
        'name="viewport"',
        "position: sticky",
        "overflow-x: auto",
    ):
        assert wanted in html


def test_protocols_and_stand_ins_have_headings_of_their_own(page):
    titles = page.titles("h3")
    start = titles.index("Protocol paper")
    assert titles[start : start + 3] == [
        "Protocol paper",
        "Authors' protocol",
        "Protocol quick stand-in data",
    ]


def test_what_was_not_run_says_how_to_run_it(page):
    assert page.text.count("Not run yet: there are no results.") == 3
    assert page.code == [
        f"lacunet reproduce table-{number} --protocol paper" for number in (1, 2, 6)
    ]


def test_ours_stands_beside_what_the_paper_reports(page):
    # The mean of 0.73 and 0.76 on pima; the paper has 0.747.
    assert "0.747 (" in page.text
    assert "0.996" not in page.text  # of a set that was not run


def test_drawings_have_no_colours_of_their_own(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawings) >= 6
    for drawing in drawings:
        used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawing))
        assert used <= {"#ffffff"}, used  # clipping, which no one sees
    assert "var(--accent)" in drawings[0]


def test_images_are_in_the_page(page):
    images = [link for link in page.links if link.startswith("data:image/png;base64,")]
    # Four rows of four images, four of all six, and the points of two drawings.
    assert len(images) >= 8


def test_the_same_results_give_the_same_bytes(results, html, tmp_path):
    again = shutil.copytree(results, tmp_path / "elsewhere")
    path = write_report(again, tmp_path / "again.html")
    assert path.read_text("utf-8") == html


def test_settings_of_matplotlib_are_left_alone_and_not_asked(
    results, verdicts, tmp_path
):
    import matplotlib as mpl

    folder = _only_gamma(results, tmp_path)
    usual = write_report(folder, tmp_path / "usual.html").read_text("utf-8")
    with mpl.rc_context({"xtick.major.size": 9.0, "svg.hashsalt": "mine"}):
        before = dict(mpl.rcParams)
        other = write_report(folder, tmp_path / "other.html").read_text("utf-8")
        assert dict(mpl.rcParams) == before
    assert other == usual


def _only_gamma(results, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    shutil.copy(results / "figure-gamma.json", folder)
    return folder


@pytest.mark.parametrize("format", ["html", "md"])
def test_names_that_look_like_markup_are_shown_as_text(
    format, cells_of, tmp_path, parse, monkeypatch
):
    values = {EVIL: (0.5, 0.6), "]]>-->": (0.4, 0.7), "$x_1$": (0.4, 0.7)}
    cells = [
        *cells_of(values, sets=(EVIL, "'\"&|"), versions={EVIL: EVIL}, commit=EVIL),
        *cells_of({EVIL: (None,)}, sets=("bands",), params={"why": EVIL}),
        *cells_of({EVIL: (0.1,)}, sets=("bands",), protocol=EVIL),
        *cells_of({EVIL: (0.1,)}, sets=("bands",), experiment=EVIL),
    ]
    ResultFile(tmp_path / "table-4.jsonl").append(cells)
    claim = SimpleNamespace(statement=EVIL, place=EVIL, rule=EVIL)
    verdict = SimpleNamespace(claim=claim, outcome=EVIL, why=EVIL, figures={EVIL: 1})
    monkeypatch.setattr(_experiments, "find_verdicts", lambda folder: (verdict,))
    text = write_report(tmp_path, tmp_path / "out", format=format).read_text("utf-8")
    assert "<script" not in text.lower()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    if format == "html":
        page = parse(text)
        assert "script" not in page.tags
        assert page.text.count(EVIL) > 10
        # In the drawing as well, and there a name with dollars is no formula.
        drawing = re.search(r"<svg.*?</svg>", text, re.DOTALL)[0]
        assert "&lt;script&gt;" in drawing
        assert ">$x_1$<" in drawing


def test_markdown_has_the_tables_and_the_claims(results, tmp_path):
    text = write_report(results, tmp_path / "out.md", format="md").read_text("utf-8")
    found = re.findall("^## (.*)$", text, re.MULTILINE)
    assert found == [*HEADINGS[:4], "Claims"]
    claims = text[text.index("## Claims") :]
    assert claims.count("\n| ") == 1 + len(judge_claims(results))
    assert "| holds |" in claims
    assert re.findall("^### (.*)$", text, re.MULTILINE) == [
        "Protocol paper",
        "Authors' protocol",
        "Protocol quick (stand-in data)",
    ]
    (lacunet,) = [
        line
        for line in text[: text.index("Authors'")].splitlines()
        if line.startswith("| *lacunet* |")
    ]
    # Ranks: 2 on bands, 1 on horse and pima. Folds: 0.65 and 0.65 + 0.01.
    assert lacunet.startswith("| *lacunet* | **1.33** | 0.655 ± 0.005 |")
    assert "**0.855** ± 0.005" in lacunet


def test_markdown_needs_no_package_but_html_says_which_it_needs(
    results, tmp_path, monkeypatch
):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", refuse)
    write_report(results, tmp_path / "out.md", format="md")
    with pytest.raises(ImportError, match=r"no package jinja2.*'lacunet\[report\]'"):
        write_report(results, tmp_path / "out.html")
    assert [path.name for path in tmp_path.iterdir()] == ["out.md"]


def test_importing_the_room_loads_nothing_heavy():
    program = (
        "import sys, reproduction.report\n"
        "heavy = ('torch', 'sklearn', 'matplotlib', 'jinja2', 'numpy')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_a_file_that_is_there_is_kept_unless_force_is_given(results, tmp_path):
    path = tmp_path / "out.md"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists.*force=True"):
        write_report(results, path, format="md")
    assert path.read_text("utf-8") == "mine"
    assert write_report(results, path, format="md", force=True) == path
    assert "## Table 1" in path.read_text("utf-8")


def test_a_file_that_is_there_is_told_before_any_work(tmp_path):
    path = tmp_path / "out.html"
    path.touch()
    with pytest.raises(FileExistsError):
        write_report(tmp_path / "no-results", path)


def test_a_failure_leaves_nothing_behind(results, tmp_path, monkeypatch):
    def fail(folder):
        raise KeyError

    monkeypatch.setattr(_experiments, "make_summary", lambda *args: fail(args))
    with pytest.raises(KeyError):
        write_report(_only_gamma(results, tmp_path), tmp_path / "new" / "out.html")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["nothing", "empty", "file"])
def test_without_results_the_error_says_what_to_run(name, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(LacunetError, match=f"{name}'.*lacunet reproduce all .*{name}"):
        write_report(tmp_path / name, tmp_path / "out.html")
    assert not (tmp_path / "out.html").exists()


def test_other_formats_are_refused(results, tmp_path):
    with pytest.raises(ValueError, match="format='pdf'.*html, md"):
        write_report(results, tmp_path / "out.pdf", format="pdf")


def test_a_line_that_is_being_written_is_no_hindrance(results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "copy")
    with (folder / "table-4.jsonl").open("ab") as file:
        file.write(b'{"experiment": "table-')
    with pytest.warns(UserWarning, match="unfinished"):
        write_report(folder, tmp_path / "out.md", format="md")


@pytest.mark.slow
def test_a_quick_run_gives_a_report(tmp_path, parse):
    methods = ["mean", "paper", "hgb"]
    for name in ("table-4", "table-1", "figure-2", "figure-gamma"):
        run_experiment(name, out=tmp_path, data="digits", methods=_known(name, methods))
    path = write_report(tmp_path, tmp_path / "report.html")
    page = parse(path.read_text("utf-8"))
    assert page.titles("h2") == ["Summary", *HEADINGS]
    assert "stand-in data" in page.text


def _known(name, methods):
    known = load_experiment(name).methods
    return [method for method in methods if method in known] or None
