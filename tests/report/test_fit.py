"""A model that was judged on rows held out, as a page."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
import small
from held_out import EVIL, make_classification, make_facts, make_regression

from lacunet.evaluation import hold_out
from lacunet.evaluation._hold_out_record import ClassRows, LearningStep
from lacunet.evaluation._holes_and_error import HoleBin
from lacunet.evaluation._importance import ColumnLoss, Importance
from lacunet.evaluation._losses import Estimate
from lacunet.report import _blocks_page as _page
from lacunet.report import _fit, _fit_sections, write_fit
from lacunet.report._blocks import Page
from lacunet.report._fit import make_page
from lacunet.report._fit_plots import (
    draw_agreement,
    draw_columns,
    draw_confusion,
    draw_holes,
    draw_learning,
    draw_reliability,
    draw_residuals,
)
from lacunet.report._fit_sections import (
    make_columns_section,
    make_protocol_section,
    make_reliability_section,
    make_scores_section,
)

HEADINGS = ["Scores", "Reliability", "Columns and holes", "Learning curve", "Protocol"]


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


def words_of(page):
    return " ".join(page.text.split())


def test_sections_follow_each_other_and_are_linked_to(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"scores", "reliability", "columns-and-holes"} <= inner
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
    # Reliability, confusion, columns, holes, learning.
    assert len(drawings) == 5
    for drawing in drawings:
        used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawing))
        assert used <= {"#ffffff"}, used  # clipping, which no one sees
        assert "#0102" not in drawing


def test_findings_are_told_first_and_what_to_beware_of_apart(found, page):
    words = words_of(page)
    for finding in found.findings:
        assert finding.head in words
        assert finding.text in words
    assert page.titles("h3") == ["What to beware of"]
    apart = words.index("What to beware of")
    assert words.index("HistGradientBoosting is better") < apart  # though it is weak
    assert apart < words.index("Never missing in training") < words.index("the best in")


def test_the_table_and_the_protocol_are_told(page):
    words = words_of(page)
    assert "pa|tients.csv has 630 rows, 30 of them without a value" in words
    assert "/home" not in words
    assert "with the seed 7" in words
    assert "lacunet 0.1.0, python 3.11.7" in words
    assert "n_networks" in words
    assert "3" in page.bold  # which was chosen


def test_the_same_findings_give_the_same_drawings(found, html):
    picture = make_reliability_section(found, None).blocks[0].pictures[0]
    assert picture.svg in html


def test_a_file_that_is_there_is_kept_unless_force_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(_fit, "make_page", lambda *_: Page("t", "", (), ()))
    path = tmp_path / "out.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_fit(None, path)  # told before any work
    assert path.read_text("utf-8") == "mine"
    assert write_fit(None, path, force=True) == path
    assert "<html" in path.read_text("utf-8")


def test_without_the_packages_the_error_says_which(found, tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", refuse)
    with pytest.raises(ImportError, match=r"jinja2.*'lacunet\[report\]'\.$"):
        write_fit(found, tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


# --- sections


def test_the_best_of_each_score_is_bold_and_leads_have_a_tone(found):
    (sheet,) = make_scores_section(found).blocks
    entries = {line.title: line.entries for line in sheet.lines}
    bold = {title: [e.strong for e in each] for title, each in entries.items()}
    assert bold["lacunet"] == [True, True, True, False, False]
    assert not any(bold["HistGradientBoosting"])
    tones = {title: each[3].tone for title, each in entries.items()}
    assert tones == {
        "lacunet": "",
        "HistGradientBoosting": "worse",
        "trivial model": "better",
    }
    assert entries["HistGradientBoosting"][3].text == "−0.100"
    assert entries["trivial model"][3].text == "+0.380"
    assert entries["lacunet"][0].error == "± 0.030"
    assert [line.title for line in sheet.lines if line.accent] == ["lacunet"]


def test_scores_without_a_value_are_dashes_and_never_bold(found):
    scores = {name: {**each, "auc": None} for name, each in found.scores.items()}
    part = make_scores_section(dataclasses.replace(found, scores=scores))
    entries = [line.entries[2] for line in part.blocks[0].lines]
    assert [(each.text, each.strong) for each in entries] == [("–", False)] * 3


def test_lower_errors_are_better_in_a_regression():
    (sheet,) = make_scores_section(make_regression()).blocks
    assert [column.title for column in sheet.columns[:2]] == ["RMSE ↓", "R² ↑"]
    assert [line.entries[0].strong for line in sheet.lines] == [True, False, False]


def test_classes_have_the_shares_that_were_recognised(monkeypatch):
    monkeypatch.setattr(_fit_sections, "draw_reliability", lambda *_, **__: "")
    monkeypatch.setattr(_fit_sections, "draw_confusion", lambda *_: "")
    fold = make_reliability_section(make_classification(), None).blocks[1]
    first = fold.blocks[0].lines[0]
    assert [entry.text for entry in first.entries] == ["200", "50", "88%", "88%"]


def test_very_many_classes_have_no_matrix(monkeypatch):
    monkeypatch.setattr(_fit_sections, "draw_reliability", lambda *_, **__: "")
    classes = tuple(ClassRows(i, 10, 5) for i in range(210))
    found = make_classification(classes=classes, confusion=())
    pictures, fold = make_reliability_section(found, None).blocks
    assert len(pictures.pictures) == 1
    assert pictures.pictures[0].title == "Probability of the likeliest class"
    assert fold.blocks[0].caption == "10 more classes."


def test_of_very_many_columns_the_first_are_drawn(monkeypatch):
    monkeypatch.setattr(_fit_sections, "draw_holes", lambda *_: "")
    columns = tuple(ColumnLoss(f"c{i}", Estimate(0.1, 0.01)) for i in range(40))
    rule = "the 50 that cost the most"
    found = make_classification(importance=Importance(columns, 999, 120, rule))
    pictures, fold = make_columns_section(found).blocks
    texts = texts_of(pictures.pictures[0].svg)
    assert ("c24" in texts, "c25" in texts) == (True, False)
    assert f"Hidden were {rule}. 25 of them are drawn." in pictures.caption
    assert len(fold.blocks[0].lines) == 40


@pytest.mark.parametrize(
    ("fewest", "words"), [(3, "have 3 missing values."), (0, "too few to compare")]
)
def test_rows_that_can_not_be_compared_by_holes_are_told_of(fewest, words):
    bins = (HoleBin(fewest, 3, 9, {"lacunet": Estimate(0.3, 0.1)}),)
    (pictures, _) = make_columns_section(make_classification(by_holes=bins)).blocks
    assert len(pictures.pictures) == 1
    assert words in pictures.caption


def test_a_model_that_is_not_there_has_no_parameters():
    section = make_protocol_section(make_classification(model=None), None)
    assert [block.kind for block in section.blocks] == ["text", "text"]


@pytest.mark.filterwarnings("ignore:Got")
def test_what_is_found_of_a_tiny_table_has_a_page(parse):
    X, _ = small.numbers(10)
    model = small.regressor(n_networks=1, max_epochs=1)
    table = pd.DataFrame(X).add_prefix("c")
    found = hold_out(model, table, np.full(10, 2.0), task="regression")
    page = parse(_page.render_page(make_page(found, None, "t")))
    assert page.titles("h2") == ["Summary", *HEADINGS]
    assert page.tags.count("svg") == 4  # too few rows to compare them by holes
    assert "A regression from 4 columns" in words_of(page)
    assert "Columns of the table" not in words_of(page)


# --- drawings


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_the_matrix_has_all_numbers_and_names():
    svg = draw_confusion("n", ["a", "b"], ((1200, 3), (0, 7)))
    assert {"a", "b", "1,200", "3", "0", "7"} <= set(texts_of(svg))
    for colour in ("accent", "second"):
        assert f"fill: var(--{colour})" in svg


def test_bars_are_grey_where_chance_may_have_made_them():
    columns = [
        ColumnLoss("sure", Estimate(0.2, 0.02)),
        ColumnLoss("doubt", Estimate(0.2, 0.2)),
        ColumnLoss("bad", Estimate(-0.2, 0.02)),
        ColumnLoss("alone", Estimate(0.1, None)),
    ]
    svg = draw_columns("n", columns, lambda value: f"<{value:.1f}>", "t")
    fills = re.findall(r"fill: var\(--(\w+)\)", svg)
    assert [fill for fill in fills if fill in ("accent", "line", "second")] == [
        "accent",
        "line",
        "second",
        "line",
    ]
    assert {"&lt;0.2&gt;", "&lt;-0.2&gt;", "sure", "bad"} <= set(texts_of(svg))


def test_dots_show_where_a_view_got_better():
    steps = [LearningStep(i, 1.0, 1.0 / i, i in (1, 2, 5)) for i in range(1, 9)]
    svg = draw_learning("n", steps)
    assert len(re.findall(r"<use[^>]*fill: var\(--accent\)", svg)) == 3


def test_bins_of_holes_are_named_with_their_rows():
    texts = texts_of(draw_holes("n", make_classification().by_holes, "log-loss"))
    assert {"0", "70 rows", "1–3", "50 rows", "log-loss"} <= set(texts)


def test_curves_of_both_models_are_named():
    both = make_classification().reliability
    svg = draw_reliability("n", both, start=0.0, title="t")
    assert {"lacunet", "HistGradientBoosting"} <= set(texts_of(svg))
    agreement = make_regression().agreement
    svg = draw_agreement("n", agreement, "x" * 60)
    assert max(map(len, texts_of(svg))) < 60
    assert {"lacunet", "HistGradientBoosting"} <= set(
        texts_of(draw_residuals("n", agreement))
    )
