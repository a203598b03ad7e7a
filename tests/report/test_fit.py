import dataclasses
import html as markup
import re

import numpy as np
import pandas as pd
import pytest
import small
from held_out import EVIL, make_classification, make_facts, make_regression

from lacunet.evaluation import Estimate, hold_out
from lacunet.evaluation._hold_out import (
    ClassRows,
    ColumnLoss,
    Importance,
    LearningStep,
    MissingBin,
)
from lacunet.report import _fit, _page, write_fit
from lacunet.report._fit import draw_confusion, draw_importance, draw_learning

HEADINGS = [
    "Scores",
    "Calibration",
    "Columns and missing values",
    "Learning curve",
    "Protocol",
]


@pytest.fixture(scope="module")
def found():
    leads = {"hgb": Estimate(-0.1, 0.02), "trivial": Estimate(0.38, 0.03)}
    return make_classification(leads=leads, never_missing=(EVIL,))


@pytest.fixture(scope="module")
def html(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "new" / "fit.html"
    title = f"All of {EVIL}"
    return write_fit(found, path, table=make_facts(), title=title).read_text("utf-8")


@pytest.fixture(scope="module")
def page(html, parse):
    return parse(html)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return how to write a page without drawings, which take their time."""
    for name in dir(_fit):
        if name.startswith("draw_"):
            monkeypatch.setattr(
                _fit, name, lambda *_, drawn=name: f"<svg>{drawn}</svg>"
            )

    def write(found):
        path = tmp_path / "fit.html"
        return _fit.write_fit(found, path, force=True).read_text("utf-8")

    return write


def words_of(page):
    return " ".join(page.text.split())


def cells_of(html, name):
    """Return the cells of the row with this name, as markup."""
    row = html.partition(f'<th scope="row">{name}</th>')[2].partition("</tr>")[0]
    return re.findall(r"<td.*?</td>", row, re.DOTALL)


def texts_of(markup_of_cells):
    plain = (re.sub(r"<[^>]*>", "", each) for each in markup_of_cells)
    return [markup.unescape(each).strip() for each in plain]


def test_sections_follow_each_other_and_are_linked_to(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"scores", "calibration", "columns-and-missing-values"} <= inner
    assert inner <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_needs_no_other_file_and_runs_nothing(html, page):
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_of_columns_and_classes_that_look_like_markup_are_text(html, page):
    assert "<script" not in html
    assert page.titles("h1") == [f"All of {EVIL}"]
    assert page.text.count(EVIL) > 5
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert sum("&lt;script&gt;" in drawing for drawing in drawings) == 2
    assert any(">$c_1$<" in drawing for drawing in drawings)


def test_all_drawings_are_there_and_have_no_colours_of_their_own(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    # Calibration, confusion, columns, missing values, learning.
    assert len(drawings) == 5
    for drawing in drawings:
        used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawing))
        assert used <= {"#ffffff"}, used  # clipping, which no one sees
        assert "#0102" not in drawing
    texts = {text for drawing in drawings for text in labels_of(drawing)}
    assert {"lacunet", "HistGradientBoosting"} <= texts
    assert {"0", "70 rows", "1–3", "50 rows", "log-loss"} <= texts


def test_findings_come_first_and_weaknesses_apart(found, page):
    words = words_of(page)
    for finding in found.findings:
        assert finding.head in words
        assert finding.text in words
    assert page.titles("h3") == ["Weaknesses"]
    apart = words.index("Weaknesses")
    assert words.index("HistGradientBoosting is better") < apart  # though it is weak
    assert apart < words.index("Never missing in training") < words.index("the best in")


def test_the_table_and_the_protocol_are_described(page):
    words = words_of(page)
    assert "pa|tients.csv has 630 rows, 30 of them without a value" in words
    assert "/home" not in words
    assert "with the seed 7" in words
    assert "lacunet 0.1.0, python 3.11.7" in words
    assert "n_networks" in words
    assert "3" in page.bold  # which was chosen


def test_the_same_evaluation_gives_the_same_page(found, html, tmp_path):
    title, table = f"All of {EVIL}", make_facts()
    again = write_fit(found, tmp_path / "fit.html", table=table, title=title)
    assert again.read_text("utf-8") == html


def test_an_existing_file_is_kept_unless_force_is_given(found, tmp_path, write):
    path = tmp_path / "fit.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_fit(None, path)  # before any work
    assert path.read_text("utf-8") == "mine"
    assert "<html" in write(found)


def test_without_the_packages_the_error_names_them(found, tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", refuse)
    with pytest.raises(ImportError, match=r"jinja2.*'lacunet\[report\]'\.$"):
        write_fit(found, tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


# --- tables and captions


def test_the_best_of_each_score_is_bold_and_leads_have_a_tone(found, write):
    html = write(found)
    ours, rival, trivial = (cells_of(html, name) for name in found.titles.values())
    assert ["<b>" in each for each in ours] == [True, True, True, False, False]
    assert not any("<b>" in each for each in rival)
    assert texts_of(ours) == ["0.300 ± 0.030", "0.900", "0.950", "–", "12 s"]
    assert texts_of(rival)[3] == "−0.100 ± 0.020"
    assert texts_of(trivial)[3] == "+0.380 ± 0.030"
    assert 'class="worse"' in rival[3]
    assert 'class="better"' in trivial[3]
    assert html.count('<tr class="accent">') == 1


def test_scores_without_a_value_are_dashes_and_never_bold(found, write):
    scores = {name: {**each, "auc": None} for name, each in found.scores.items()}
    html = write(dataclasses.replace(found, scores=scores))
    cells = [cells_of(html, name)[2] for name in found.titles.values()]
    assert cells == ["<td>–</td>"] * 3


def test_lower_errors_are_better_in_a_regression(write, parse):
    html = write(make_regression())
    assert "RMSE ↓" in html
    assert "R² ↑" in html
    names = ("lacunet", "HistGradientBoosting", "trivial model")
    assert ["<b>" in cells_of(html, name)[0] for name in names] == [True, False, False]
    drawn = set(re.findall(r"<svg>(\w+)</svg>", html))
    assert {"draw_agreement", "draw_residuals"} <= drawn
    assert not {"draw_calibration", "draw_confusion"} & drawn
    assert parse(html).titles("h2") == ["Summary", *HEADINGS]


def test_classes_have_recall_and_precision(write):
    assert texts_of(cells_of(write(make_classification()), "ill")) == [
        "200",
        "50",
        "88%",
        "88%",
    ]


def test_very_many_classes_have_no_confusion_matrix(write):
    classes = tuple(ClassRows(i, 10, 5) for i in range(210))
    html = write(make_classification(classes=classes, confusion=()))
    assert "draw_confusion" not in html
    assert "Probability of the predicted class" in html
    assert "And 10 more." in html


def test_of_very_many_columns_the_first_are_drawn(write, monkeypatch):
    shown = []
    monkeypatch.setattr(_fit, "draw_importance", lambda each, _: shown.extend(each))
    columns = tuple(ColumnLoss(f"c{i}", Estimate(0.1, 0.01)) for i in range(40))
    rule = "the 50 that cost the most"
    html = write(make_classification(importance=Importance(columns, 999, 120, rule)))
    assert [each.name for each in shown] == [f"c{i}" for i in range(25)]
    words = " ".join(html.split())
    assert f"Hidden were {rule}. The first 25 of them are shown." in words
    assert cells_of(html, "c39")


@pytest.mark.parametrize(
    ("fewest", "words"), [(3, "have 3 missing values."), (0, "too few held-out rows")]
)
def test_rows_that_can_not_be_compared_by_missing_values(write, fewest, words):
    bins = (MissingBin(fewest, 3, 9, {"lacunet": Estimate(0.3, 0.1)}),)
    html = write(make_classification(by_missing=bins))
    assert "draw_missing" not in html
    assert words in html


def test_without_a_model_and_a_table_there_is_nothing_to_list_of_them(write):
    html = write(make_classification(model=None))
    assert "<summary>Parameters" not in html
    assert "<summary>Columns of the table" not in html


@pytest.mark.filterwarnings("ignore:Got")
def test_a_tiny_table_has_a_page(parse, tmp_path):
    X, _ = small.numbers(10)
    model = small.regressor(n_networks=1, max_epochs="auto")
    table = pd.DataFrame(X).add_prefix("c")
    found = hold_out(model, table, np.full(10, 2.0), task="regression")
    assert found.max_epochs is None
    page = parse(write_fit(found, tmp_path / "fit.html").read_text("utf-8"))
    assert page.titles("h2") == ["Summary", *HEADINGS]
    assert page.tags.count("svg") == 4  # too few rows to compare by missing values
    assert "regression from 4 columns" in words_of(page)


# --- drawings


def labels_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_the_confusion_matrix_has_all_numbers_and_names():
    svg = draw_confusion(["a", "b"], ((1200, 3), (0, 7)))
    assert {"a", "b", "1,200", "3", "0", "7"} <= set(labels_of(svg))
    for colour in ("accent", "second"):
        assert f"fill: var(--{colour})" in svg


def test_bars_within_two_standard_errors_are_grey(found):
    columns = [
        ColumnLoss("sure", Estimate(0.2, 0.02)),
        ColumnLoss("doubt", Estimate(0.2, 0.2)),
        ColumnLoss("bad", Estimate(-0.2, 0.02)),
        ColumnLoss("alone", Estimate(0.1, None)),
    ]
    svg = draw_importance(columns, found)
    fills = re.findall(r"fill: var\(--(\w+)\)", svg)
    bars = [fill for fill in fills if fill in ("accent", "line", "second")]
    assert bars == ["accent", "line", "second", "line"]
    assert {"0.200", "−0.200", "sure", "bad"} <= set(labels_of(svg))


def test_dots_mark_where_a_view_improved(found):
    steps = tuple(LearningStep(i, 1.0, 1.0 / i, i in (1, 2, 5)) for i in range(1, 9))
    svg = draw_learning(dataclasses.replace(found, learning=steps))
    assert len(re.findall(r"<use[^>]*fill: var\(--accent\)", svg)) == 3


def test_long_names_are_cut():
    svg = _fit.draw_agreement(make_regression(), "x" * 60)
    assert max(map(len, labels_of(svg))) < 60
