import re
from dataclasses import replace

import pytest
from own_comparisons import make_comparison

from lacunet.report import _blocks_page as _page
from lacunet.report import write_comparison
from lacunet.report._blocks import Fold, Pictures, Sheet
from lacunet.report._compare import make_page
from lacunet.report._compare_missing import make_missing_section
from lacunet.report._compare_protocol import make_protocol_section
from lacunet.report._compare_sections import (
    make_rivals_section,
    make_scores_section,
    time_tells,
)

EVIL = "<script>alert(1)</script>"
OURS = [0.50, 0.52, 0.48, 0.51]
WORSE = [0.60, 0.63, 0.57, 0.62]
BETTER = [0.40, 0.41, 0.39, 0.40]
VALUES = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER, "mice": [0.3, None, 0.3, 0.3]}
HIDDEN = {
    EVIL: {key: [0.7, 0.72, 0.71, 0.73] for key in VALUES} | {"hgb": [2.0, 3, 2, 3]}
}
SECONDS = {"lacunet": 12.0, "knn": 1.0, "hgb": 0.1, "mice": 9.0}
HEADINGS = [
    "Scores",
    "Against each rival",
    "Time",
    "Missing at prediction",
    "Protocol",
]


def make(values=VALUES, **changes):
    given = {"hidden": HIDDEN, "seconds": SECONDS, "task": "classification"} | changes
    return make_comparison(values, **given)


@pytest.fixture(scope="module")
def found():
    made = make(classes=(EVIL, "'\"&"))
    first, *rest = made.methods
    warned = replace(first, warnings=(f"beware of {EVIL}",))
    return replace(made, methods=(warned, *rest), notes=(*made.notes, f"mind {EVIL}"))


@pytest.fixture(scope="module")
def html(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "new" / "compare.html"
    return write_comparison(found, path, title=f"y of {EVIL}.csv").read_text("utf-8")


@pytest.fixture(scope="module")
def page(html, parse):
    return parse(html)


def drawings(html):
    return re.findall(r"<svg.*?</svg>", html, re.DOTALL)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the drawings out, which take most of the time."""
    for name in (
        "_compare_sections.draw_folds",
        "_compare_sections.draw_gains",
        "_compare_sections.draw_time",
        "_compare_missing.draw_losses",
    ):
        monkeypatch.setattr(f"lacunet.report.{name}", lambda *_, **__: "")


# --- the page


def test_sections_follow_each_other_and_are_linked_to(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"scores", "against-each-rival", "time", "missing-at-prediction"} <= inner
    assert inner <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_needs_no_other_file_and_runs_nothing(html, page):
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not {"script", "link", "iframe", "object", "img"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_that_look_like_markup_are_text_everywhere(html, page):
    assert "<script" not in html
    assert page.titles("h1") == [f"y of {EVIL}.csv"]
    words = " ".join(page.text.split())
    # The column in findings, titles and sheets; a class; a warning; a note.
    assert f"Where '{EVIL}' is missing" in words
    assert f"Without {EVIL}" in words
    assert f"without {EVIL}" in words
    assert f"2 classes: '{EVIL}'" in words
    assert f"beware of {EVIL}" in words
    assert f"mind {EVIL}" in words
    assert any("&lt;script&gt;" in drawing for drawing in drawings(html))


def test_all_drawings_are_there_and_have_no_colours_of_their_own(html):
    # Folds and gains by three scores, time, a hidden column.
    assert len(drawings(html)) == 8
    for drawing in drawings(html):
        used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawing))
        assert used <= {"#ffffff"}, used  # clipping, which no one sees
        assert "#0102" not in drawing


def test_findings_and_notes_are_in_the_page(found, page):
    words = " ".join(page.text.split())
    for finding in found.findings:
        assert finding.head in words
        assert finding.text in words
    for note in found.notes:
        assert note in words


def test_the_same_comparison_gives_the_same_page():
    small = make({"lacunet": OURS}, hidden=None, task="regression")
    first, second = (_page.render_page(make_page(small, "t")) for _ in range(2))
    assert first == second
    assert "<svg" in first


@pytest.mark.usefixtures("undrawn")
def test_a_file_that_is_there_is_kept_unless_force_is_given(tmp_path):
    path = tmp_path / "out.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_comparison(None, path)  # told before any work
    assert path.read_text("utf-8") == "mine"
    small = make({"hgb": OURS}, hidden=None)
    assert write_comparison(small, path, force=True) == path
    assert "<html" in path.read_text("utf-8")


def test_without_the_packages_the_error_says_which(found, tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", refuse)
    with pytest.raises(ImportError, match=r"jinja2.*'lacunet\[report\]'\.$"):
        write_comparison(found, tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("values", "options", "headings"),
    [
        ({"lacunet": OURS}, {"hidden": None}, ["Scores", "Protocol"]),
        ({"hgb": OURS, "knn": WORSE}, {"hidden": None}, ["Scores", "Protocol"]),
        (
            {"lacunet": [None] * 4, "hgb": [None] * 4},
            {"hidden": {"a": {"lacunet": [None] * 4, "hgb": [None] * 4}}},
            ["Scores", "Missing at prediction", "Protocol"],
        ),
        (
            {"lacunet": [1.0, 2.0], "hgb": [1.0, None]},
            {"hidden": None, "task": "regression"},
            ["Scores", "Protocol"],
        ),
    ],
    ids=["alone", "without ours", "all failed", "too few folds"],
)
@pytest.mark.usefixtures("undrawn")
def test_odd_comparisons_have_a_page(values, options, headings, parse):
    page = parse(_page.render_page(make_page(make(values, **options), "t")))
    assert page.titles("h2") == ["Summary", *headings]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)


# --- sections


def line_of(sheet, title):
    (line,) = (each for each in sheet.lines if each.title == title)
    return [entry.text for entry in line.entries]


def sheets_of(section):
    for block in section.blocks:
        yield from [block] if isinstance(block, Sheet) else getattr(block, "blocks", ())


@pytest.mark.usefixtures("undrawn")
def test_the_best_complete_method_is_bold_and_ours_is_marked(found):
    sheet = next(sheets_of(make_scores_section(found)))
    titles = [line.title for line in sheet.lines]
    # The one that failed on a fold has the lowest mean, and comes last.
    assert titles[:4] == ["HistGradientBoosting", "lacunet", "k-nn", "mice"]
    strong = [[entry.strong for entry in line.entries[:3]] for line in sheet.lines]
    assert strong == [[True] * 3, *[[False] * 3] * 4]
    assert [line.title for line in sheet.lines if line.accent] == ["lacunet"]
    marks = [line.entries[0].mark for line in sheet.lines]
    assert marks == ["", "", "", "*", ""]
    assert sheet.notes[0].text.startswith("Failed on some folds")


@pytest.mark.usefixtures("undrawn")
def test_nothing_is_bold_if_all_failed_somewhere():
    made = make({"lacunet": [0.1, None], "hgb": [None, 0.1]}, hidden=None)
    sheet = next(sheets_of(make_scores_section(made)))
    entries = [entry for line in sheet.lines for entry in line.entries]
    assert not any(entry.strong for entry in entries)


@pytest.mark.usefixtures("undrawn")
def test_scores_stand_with_errors_times_and_tests(found):
    sheet = next(sheets_of(make_scores_section(found)))
    entries = {line.title: line.entries for line in sheet.lines}
    assert entries["lacunet"][0].text == "0.502"
    assert entries["lacunet"][0].error == "± 0.009"
    assert line_of(sheet, "lacunet")[3:] == ["2.0", "12 s", "–", "–"]
    assert line_of(sheet, "k-nn")[3:6] == ["3.0", "1.00 s", "+0.102"]
    assert entries["k-nn"][5].tone == "better"
    assert entries["HistGradientBoosting"][5].text == "−0.102"
    assert entries["HistGradientBoosting"][5].tone == "worse"
    assert entries["mice"][5].tone in ("", "worse")
    assert line_of(sheet, "no columns: shares of the classes")[0] == "0.693"


@pytest.mark.usefixtures("undrawn")
def test_single_folds_are_shown_on_demand(found):
    (fold,) = (b for b in make_scores_section(found).blocks if isinstance(b, Fold))
    (sheet,) = fold.blocks
    assert [group.title for group in sheet.groups] == ["log-loss", "accuracy", "AUC"]
    assert [entry.text for entry in sheet.groups[0].lines[3].entries] == [
        "0.300",
        "–",
        "0.300",
        "0.300",
    ]
    assert [column.title for column in sheet.columns][-1] == "fold 4"
    repeated = replace(found, n_folds=2, n_repeats=2)
    (fold,) = (b for b in make_scores_section(repeated).blocks if isinstance(b, Fold))
    last = fold.blocks[0].columns[-1]
    assert (last.title, last.group) == ("fold 2", "repeat 2")


@pytest.mark.usefixtures("undrawn")
def test_tests_are_given_for_every_score(found):
    (sheet,) = sheets_of(make_rivals_section(found))
    assert [line.title for line in sheet.lines] == [
        "k-nn",
        "HistGradientBoosting",
        "mice",
    ]
    assert [title for title, _ in sheet.heads] == ["log-loss", "accuracy", "AUC"]
    p, p_holm = (float(text) for text in line_of(sheet, "mice")[1:3])
    assert p <= p_holm


@pytest.mark.usefixtures("undrawn")
def test_a_difference_of_nothing_has_no_sign():
    made = make({"lacunet": OURS, "hgb": OURS}, hidden=None)
    sheet = next(sheets_of(make_scores_section(made)))
    assert line_of(sheet, "HistGradientBoosting")[5] == "±0"


@pytest.mark.parametrize(
    ("seconds", "tells"),
    [
        ({"lacunet": 1.0, "knn": 1.0, "hgb": 2.9}, False),
        ({"lacunet": 1.0, "knn": 1.0, "hgb": 3.1}, True),
    ],
)
def test_time_is_drawn_if_it_differs(seconds, tells):
    values = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER}
    assert time_tells(make(values, hidden=None, seconds=seconds)) == tells
    failed = values | {"hgb": [0.1, None, 0.1, 0.1]}
    assert not time_tells(make(failed, hidden=None, seconds=seconds))


@pytest.mark.usefixtures("undrawn")
def test_hidden_columns_stand_beside_all_columns(found):
    section = make_missing_section(found)
    assert isinstance(section.blocks[0], Pictures)
    sheet, *others = sheets_of(section)
    assert line_of(sheet, "HistGradientBoosting")[:4] == [
        "0.400",
        "2.500",
        "+2.100",
        "+1.785",
    ]
    entries = sheet.lines[0].entries
    assert sheet.lines[0].title == "lacunet"  # the best without the column
    assert (entries[1].strong, entries[2].tone) == (True, "worse")
    assert [title for title, _ in sheet.heads] == ["", f"without {EVIL}"]
    assert len(others) == 2
    accuracy = others[0].lines[0].entries[2]
    assert (accuracy.text[0], accuracy.tone) == ("−", "worse")


@pytest.mark.usefixtures("undrawn")
def test_hidden_columns_without_ours_have_no_tests():
    values = {"hgb": OURS, "knn": WORSE}
    made = make(values, hidden={"a": values})
    sheet = next(sheets_of(make_missing_section(made)))
    assert [column.title for column in sheet.columns] == [
        "all columns",
        "score",
        "change",
    ]
    assert line_of(sheet, "k-nn")[2] == "±0"


@pytest.mark.usefixtures("undrawn")
def test_methods_that_fail_without_a_column_are_marked():
    values = {"lacunet": OURS, "knn": WORSE}
    hidden = {"a": {"lacunet": [0.7] * 4, "knn": [0.6, None, None, 0.6]}}
    sheet = next(sheets_of(make_missing_section(make(values, hidden=hidden))))
    marks = {line.title: line.entries[1].mark for line in sheet.lines}
    assert marks == {"lacunet": "", "k-nn": "*"}
    assert sheet.notes[0].mark == "*"
    whole = next(sheets_of(make_scores_section(make(values, hidden=hidden))))
    assert whole.notes == ()


def test_the_protocol_tells_rows_folds_failures_and_versions(found):
    section = make_protocol_section(found)
    told = {point.lead: point.text for point in section.blocks[0].points}
    assert "40 rows with a target and 2 columns" in told["Rows"]
    assert told["Folds"].startswith("4 folds, shuffled, stratified by class, seed 0")
    assert "30 rows to learn from and 10 rows to test on" in told["Folds"]
    assert "Behind k-nn and mice stands the same network" in told["Methods"]
    assert told["Versions"] == "lacunet 1.2.3."
    failed, warned = section.blocks[1:]
    (line,) = failed.blocks[0].lines
    assert [entry.text for entry in line.entries] == ["2", "", "ValueError: too bad"]
    assert warned.blocks[0].lines[0].entries[0].text == f"beware of {EVIL}"
    plain = make({"hgb": OURS, "knn": WORSE}, hidden=None, n_repeats=3, seed=None)
    points = make_protocol_section(plain).blocks[0].points
    assert [point.lead for point in points] == ["Rows", "Folds", "Methods", "Versions"]
    assert points[1].text.startswith("4 folds, 3 times, shuffled, stratified by class:")
