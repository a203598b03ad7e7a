import dataclasses
import html as markup
import re

import numpy as np
import pandas as pd
import pytest
import small
from held_out import EVIL, make_classification, make_facts, make_regression
from sklearn.metrics import roc_auc_score

from lacunet.evaluation import hold_out
from lacunet.evaluation._hold_out import (
    ClassRows,
    CoverageBin,
    LearningStep,
    MissingBin,
)
from lacunet.inspection import ColumnImportance, Estimate, Importance
from lacunet.report import _fit, _page, write_fit
from lacunet.report._fit import (
    count_by_threshold,
    draw_curves,
    draw_importance,
    draw_learning,
)

HEADINGS = [
    "Scores",
    "Calibration",
    "Classes",
    "Columns and missing values",
    "Learning curve",
    "Protocol",
]


def make_predicted(n_classes=2, n_rows=120):
    """Return targets, and probabilities of two models that go with them."""
    stream = np.random.RandomState(0)
    y = np.sort(np.arange(n_rows) % n_classes)
    if n_classes == 2:
        y = np.array(["ill"] * 50 + [EVIL] * 70, dtype=object)
    happened = np.arange(n_rows)[:, None] * n_classes // n_rows == range(n_classes)
    predicted = {}
    for name in ("lacunet", "hgb"):
        raw = np.exp(1.5 * happened + stream.randn(n_rows, n_classes))
        predicted[name] = raw / raw.sum(axis=1, keepdims=True)
    return {"y_test": y, "predicted": predicted}


@pytest.fixture(scope="module")
def found():
    leads = {"hgb": Estimate(-0.1, 0.02), "trivial": Estimate(0.38, 0.03)}
    return make_classification(leads=leads, never_missing=(EVIL,), **make_predicted())


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


def test_the_page_needs_no_other_file(html, page):
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not {"link", "iframe", "object"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_of_columns_and_classes_that_look_like_markup_are_text(html, page):
    assert html.count("<script") == 1
    assert page.titles("h1") == [f"All of {EVIL}"]
    assert page.text.count(EVIL) > 5
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert sum("&lt;script&gt;" in drawing for drawing in drawings) == 1
    assert any(">$c_1$<" in drawing for drawing in drawings)


def test_all_drawings_are_there_and_have_no_colours_of_their_own(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    # Calibration, ROC, precision-recall, columns, missing values, learning.
    assert len(drawings) == 6
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
    assert texts_of(ours) == ["0.300 ± 0.030", "0.950", "0.900", "–", "12 s"]
    assert texts_of(rival)[3] == "−0.100 ± 0.020"
    assert texts_of(trivial)[3] == "+0.380 ± 0.030"
    assert 'class="worse"' in rival[3]
    assert 'class="better"' in trivial[3]
    assert html.count('<tr class="accent">') == 1


def test_scores_without_a_value_are_dashes_and_never_bold(found, write):
    scores = {name: {**each, "auc": None} for name, each in found.scores.items()}
    html = write(dataclasses.replace(found, scores=scores))
    cells = [cells_of(html, name)[1] for name in found.titles.values()]
    assert texts_of(cells) == ["–"] * 3
    assert not any("<b>" in each for each in cells)


def test_lower_errors_are_better_in_a_regression(write, parse):
    html = write(make_regression())
    assert "RMSE ↓" in html
    assert "R² ↑" in html
    names = ("lacunet", "HistGradientBoosting", "trivial model")
    assert ["<b>" in cells_of(html, name)[0] for name in names] == [True, False, False]
    drawn = set(re.findall(r"<svg>(\w+)</svg>", html))
    assert {"draw_agreement", "draw_residuals"} <= drawn
    assert not {"draw_calibration", "draw_curves"} & drawn
    headings = [each for each in HEADINGS if each != "Classes"]
    assert parse(html).titles("h2") == ["Summary", *headings]


def test_classes_have_recall_and_precision(write):
    html = write(make_classification()).partition("All classes")[2]
    assert texts_of(cells_of(html, "ill")) == [
        "200",
        "50",
        "88%",
        "88%",
    ]


def test_very_many_classes_have_no_confusion_matrix(write):
    classes = tuple(ClassRows(i, 10, 5) for i in range(210))
    html = write(make_classification(classes=classes, confusion=()))
    assert "confusion matrix" not in html.partition("<script")[0].lower()
    assert "Probability of the predicted class" in html
    assert "And 10 more." in html


def test_of_very_many_columns_the_first_are_drawn(write, monkeypatch):
    shown = []
    monkeypatch.setattr(
        _fit, "draw_importance", lambda each, _: shown.extend(each) or ""
    )
    columns = tuple(ColumnImportance(f"c{i}", Estimate(0.1, 0.01)) for i in range(40))
    rule = "the 50 that cost the most"
    html = write(make_classification(importance=Importance(columns, 999, 120, rule)))
    assert [name for name, *_ in shown] == [f"c{i}" for i in range(25)]
    words = " ".join(html.split())
    assert f"Permuted were {rule}. The first 25 are drawn." in words
    assert cells_of(html, "c39")


@pytest.mark.parametrize(
    ("fewest", "words"), [(3, "have 3 missing values."), (0, "too few held-out rows")]
)
def test_rows_that_can_not_be_compared_by_missing_values(write, fewest, words):
    bins = (MissingBin(fewest, 3, 9, {"lacunet": Estimate(0.3, 0.1)}),)
    html = write(make_classification(by_missing=bins))
    assert "draw_missing" not in html
    assert words in html


def test_coverage_of_all_rows_is_a_sentence(write):
    whole = CoverageBin(0, 1, 40, 0.93, 0.8, 0.98, 1.4)
    html = write(make_classification(coverage=(whole,)))
    assert "The class of 93% of the held-out rows is in its 90% prediction set" in html
    assert "80% to 98%" in html


def test_coverage_is_drawn_by_the_number_of_missing_values():
    few, many = (
        CoverageBin(0, 1, 40, 0.9, 0.8, 1, 1),
        CoverageBin(2, 5, 9, 0.8, 0, 1, 2),
    )
    covered, sizes = _fit.draw_coverage(make_classification(coverage=(few, many)))
    assert covered["title"] == "Coverage of 90% sets of classes"
    assert all(text in covered["svg"] for text in ("covered (%): 80", "9 rows"))
    assert "classes: 2" in sizes["svg"]


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
    assert "Classes" not in page.titles("h2")
    assert page.tags.count("svg") == 4  # too few rows to compare by missing values
    assert "regression from 4 columns" in words_of(page)


# --- drawings


def labels_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_of_several_classes_all_confusions_are_counted(write):
    classes = tuple(ClassRows(name, 10, 5) for name in "abc")
    counts = ((1200, 3, 0), (0, 7, 1), (0, 0, 2))
    html = write(make_classification(classes=classes, confusion=counts))
    table = html.partition('<table class="confusion many">')[2].partition("</table>")[0]
    cells = re.findall(
        r'<td class="(\w+)" style="--fraction: ([\d.]+)".*?>(.*?)<', table
    )
    assert [number for *_, number in cells] == ["1,200", "3", *"007100", "2"]
    assert [kind for kind, *_ in cells] == [
        *["right", "wrong", "wrong", "wrong"] * 2,
        "right",
    ]
    assert cells[4][1] == "0.875"
    assert "3 rows of a predicted as b" in table


def test_rows_are_counted_by_threshold(found):
    counts = count_by_threshold(found)
    probability = found.predicted["lacunet"][:, 1]
    happened = found.y_test == EVIL
    assert (counts["positives"], counts["negatives"]) == (70, 50)
    for step in (0, 37, 100, 200):
        above = probability > step / 200
        assert counts["true_positives"][step] == (above & happened).sum()
        assert counts["false_positives"][step] == (above & ~happened).sum()
    assert len(counts["true_positives"]) == 201
    several = make_classification(
        classes=tuple(ClassRows(i, 10, 5) for i in range(3)), **make_predicted(3)
    )
    assert count_by_threshold(several) is None


def test_two_classes_have_a_threshold_to_move_at_a_half(found, html):
    counts = count_by_threshold(found)
    shown = dict(re.findall(r'<td data-count="(\w+)".*?>(\d+)</td>', html))
    tp, fp = counts["true_positives"][100], counts["false_positives"][100]
    assert {name: int(n) for name, n in shown.items()} == {
        **{"tp": tp, "fn": 70 - tp, "fp": fp, "tn": 50 - fp}
    }
    assert f'data-count="precision">{tp / (tp + fp):.1%}<' in html
    assert f'data-count="recall">{tp / 70:.1%}<' in html


def test_curves_are_of_two_models_or_of_the_most_frequent_classes(found):
    roc, precision_recall = draw_curves(found)
    auc = roc_auc_score(found.y_test == EVIL, found.predicted["lacunet"][:, 1])
    assert f"AUC {auc:.3f}: lacunet" in labels_of(roc["svg"])
    assert roc["data"]["curve"]["name"] == "roc"
    assert any(
        "average precision" in each for each in labels_of(precision_recall["svg"])
    )
    several = make_classification(
        classes=tuple(ClassRows(i, 10, 5 + i % 2) for i in range(6)),
        **make_predicted(6),
    )
    roc, _ = draw_curves(several)
    named = [each for each in labels_of(roc["svg"]) if "AUC" in each]
    assert [each.rpartition(" ")[2] for each in named] == ["1", "3", "5", "0"]
    assert roc["data"] == {}


def test_a_class_without_held_out_rows_has_no_curve(found):
    lonely = dataclasses.replace(found, y_test=np.array(["ill"] * 120, dtype=object))
    assert draw_curves(lonely) == []


def test_the_importance_of_missingness_has_a_column_of_its_own(write):
    columns = (
        ColumnImportance("a", Estimate(0.2, 0.1)),
        ColumnImportance("b", Estimate(0.1, 0.1)),  # never missing
    )
    made = make_classification(importance=Importance(columns, 2, 120, "all"))
    assert "of its missingness" not in write(made)
    first = dataclasses.replace(columns[0], missingness=Estimate(0.1, 0.05))
    known = Importance((first, columns[1]), 2, 120, "all")
    html = write(make_classification(importance=known))
    assert "of its missingness" in html
    assert texts_of(cells_of(html, "a")) == ["0.200 ± 0.100", "0.100 ± 0.050"]
    assert texts_of(cells_of(html, "b")) == ["0.100 ± 0.100", "–"]


def test_weaknesses_stand_out_and_above_other_findings(html):
    warned = html.partition('<div class="warning">')[2].partition("</div>")[0]
    assert "Never missing in training" in warned
    assert "It relies most on" not in warned


def test_bars_within_two_standard_errors_are_grey(found):
    columns = [
        ("sure", Estimate(0.2, 0.02), None),
        ("doubt", Estimate(0.2, 0.2), None),
        ("bad", Estimate(-0.2, 0.02), None),
        ("alone", Estimate(0.1, None), None),
    ]
    svg = draw_importance(columns, found)
    fills = re.findall(r"fill: var\(--(\w+)\)", svg)
    bars = [fill for fill in fills if fill in ("accent", "line", "second")]
    assert bars == ["accent", "line", "second", "line"]
    assert {"0.200", "−0.200", "sure", "bad"} <= set(labels_of(svg))
    assert "<title>doubt: 0.200 ± 0.200</title>" in svg
    assert "var(--third)" not in svg
    missing = draw_importance([(*columns[0][:2], Estimate(0.1, 0.01))], found)
    assert "<title>missingness of sure: 0.100 ± 0.010</title>" in missing


def test_dots_mark_where_a_view_improved(found):
    steps = tuple(LearningStep(i, 1.0, 1.0 / i, i in (1, 2, 5)) for i in range(1, 9))
    svg = draw_learning(dataclasses.replace(found, learning=steps))
    assert len(re.findall(r"<use[^>]*fill: var\(--accent\)", svg)) == 3


def test_long_names_are_cut():
    svg = _fit.draw_agreement(make_regression(), "x" * 60)
    assert max(map(len, labels_of(svg))) < 60
