import re
from dataclasses import replace

import pytest
from own_comparisons import make_comparison

from lacunet.report import _compare, _page, write_comparison
from lacunet.report._compare import find_front

EVIL = "<script>alert(1)</script>"
OURS = [0.50, 0.52, 0.48, 0.51]
WORSE = [0.60, 0.63, 0.57, 0.62]
BETTER = [0.40, 0.41, 0.39, 0.40]
VALUES = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER, "mice": [0.3, None, 0.3, 0.3]}
HIDDEN = {
    EVIL: {key: [0.7, 0.72, 0.71, 0.73] for key in VALUES} | {"hgb": [2.0, 3, 2, 3]}
}
SECONDS = {"lacunet": 12.0, "knn": 1.0, "hgb": 0.1, "mice": 9.0}
HEADINGS = ["Scores", "Time", "Missing at prediction", "Protocol"]


def make(values=VALUES, **changes):
    given = {"hidden": HIDDEN, "seconds": SECONDS, "task": "classification"} | changes
    return make_comparison(values, **given)


@pytest.fixture(scope="module")
def found():
    made = make(classes=(EVIL, "'\"&"))
    made.methods.loc[0, "warnings"].append(f"beware of {EVIL}")
    return replace(made, notes=(f"note {EVIL}",))


@pytest.fixture(scope="module")
def html(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "new" / "compare.html"
    return write_comparison(found, path, title=f"y of {EVIL}.csv").read_text("utf-8")


@pytest.fixture(scope="module")
def page(html, parse):
    return parse(html)


@pytest.fixture(scope="module")
def words(page):
    return " ".join(page.text.split())


@pytest.fixture
def context(monkeypatch):
    """Return what a page shows, but for the drawing, which takes most of the time."""
    monkeypatch.setattr(_compare, "_draw_time", lambda *_: "")
    return lambda comparison: _compare._make_context(comparison, "t")


@pytest.fixture
def write(context, tmp_path, parse):
    """Return the page of a comparison, without drawings."""

    def write(comparison):
        path = write_comparison(comparison, tmp_path / "out.html", force=True)
        return parse(path.read_text("utf-8"))

    return write


def drawings(html):
    return re.findall(r"<svg.*?</svg>", html, re.DOTALL)


# --- the page


def test_sections_follow_each_other_and_are_linked_to(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"scores", "time", "missing-at-prediction"} <= inner
    assert inner <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_needs_no_other_file(html, page):
    assert [link for link in page.links if not link.startswith("#")] == []
    assert not {"link", "iframe", "object", "img"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_that_look_like_markup_are_text_everywhere(html, page, words):
    assert html.count("<script") == 1
    assert page.titles("h1") == [f"y of {EVIL}.csv"]
    for text in (
        f"With '{EVIL}' missing at prediction",  # in a finding
        f"without {EVIL}",  # in a table
        f"2 classes: '{EVIL}'",
        f"beware of {EVIL}",
        f"note {EVIL}",
    ):
        assert text in words


def test_time_is_the_only_drawing_and_has_no_colours_of_its_own(html):
    drawn = [each for each in drawings(html) if 'class="interval' not in each]
    assert len(drawn) == 1
    used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawn[0]))
    assert used <= {"#ffffff"}, used  # clipping, which no one sees
    assert "#0102" not in drawn[0]


def test_findings_and_notes_are_in_the_page(found, words):
    for finding in found.findings:
        assert finding.head in words
        assert finding.text in words
    for note in found.notes:
        assert note in words


def test_the_protocol_has_rows_folds_failures_and_versions(words, write):
    for text in (
        "40 rows with a target and 2 columns",
        "4 folds, shuffled, stratified by class, seed 0: about 30 rows to train on and "
        "10 rows to test on",
        "k-nn and mice impute the missing values; the same network",
        "Versions lacunet 1.2.3.",
        "mice 2 ValueError: too bad",
    ):
        assert text in words
    plain = make({"hgb": OURS, "knn": WORSE}, hidden=None, n_repeats=3, seed=None)
    text = " ".join(write(plain).text.split())
    assert "4 folds in 3 repeats, shuffled, stratified by class: about" in text
    assert "Nadeau" not in text
    assert "k-nn imputes the" in text


def test_the_same_comparison_gives_the_same_page(tmp_path):
    small = make({"lacunet": OURS}, hidden=None, task="regression")
    first, second = (
        write_comparison(small, tmp_path / name).read_text("utf-8") for name in "ab"
    )
    assert first == second


def test_a_file_that_is_there_is_kept_unless_force_is_given(write, tmp_path):
    path = tmp_path / "out.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_comparison(None, path)  # before any work
    assert path.read_text("utf-8") == "mine"
    assert "html" in write(make({"hgb": OURS}, hidden=None)).tags


def test_without_the_packages_the_error_names_them(found, tmp_path, monkeypatch):
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
def test_odd_comparisons_have_a_page(values, options, headings, write):
    page = write(make(values, **options))
    assert page.titles("h2") == ["Summary", *headings]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)


# --- tables


def texts(row):
    cells = row["cells"] if isinstance(row, dict) else row
    return [cell["text"] if isinstance(cell, dict) else cell for cell in cells]


def cells_of(rows, title):
    (row,) = (row for row in rows if row["cells"][0] == title)
    return row["cells"]


def test_the_best_complete_method_is_bold_and_ours_is_marked(found, context):
    rows = context(found)["scores"]
    # The one that failed on a fold has the lowest mean, and comes last.
    assert [row["cells"][0] for row in rows] == [
        "HistGradientBoosting",
        "lacunet",
        "k-nn",
        "mice",
        "constant prediction",
    ]
    strong = [[cell["strong"] for cell in row["cells"][1:4]] for row in rows[:4]]
    assert strong == [[True] * 3, *[[False] * 3] * 3]
    assert [row["cells"][0] for row in rows[:4] if row["accent"]] == ["lacunet"]
    assert texts(rows[3])[1] == "0.300*"


def test_nothing_is_bold_if_all_failed_somewhere(context):
    made = make({"lacunet": [0.1, None], "hgb": [None, 0.1]}, hidden=None)
    rows = context(made)["scores"][:2]
    assert not any(cell["strong"] for row in rows for cell in row["cells"][1:4])


def test_scores_stand_with_errors_times_and_tests(found, context):
    rows = context(found)["scores"]
    ours, trees = cells_of(rows, "lacunet"), cells_of(rows, "HistGradientBoosting")
    assert (ours[1]["text"], ours[1]["error"]) == ("0.502", "± 0.009")
    assert ours[4:] == ["2.0", "12 s", "–", "–"]
    assert cells_of(rows, "k-nn")[4:6] == ["3.0", "1.00 s"]
    gain, loss = cells_of(rows, "k-nn")[6], trees[6]
    assert (gain["text"], gain["tone"]) == ("+0.102", "better")
    assert (loss["text"], loss["tone"]) == ("−0.102", "worse")
    assert gain["sort"] == pytest.approx(0.1025)
    assert cells_of(rows, "constant prediction")[1] == "0.693"


def test_gains_have_an_interval_on_a_common_scale(found, context):
    rows = context(found)["scores"]
    drawn = {
        row["cells"][0]: row["cells"][6]["interval"]
        for row in rows
        if isinstance(row["cells"][6], dict)
    }
    ranking = found.ranking(found.metrics[0]).dropna(subset="gain")
    tests = {test.title: test for test in ranking.itertuples()}
    assert drawn.keys() == tests.keys()
    low = min(0, *(test.low for test in tests.values()))
    high = max(0, *(test.high for test in tests.values()))
    for title, test in tests.items():
        each = drawn[title]
        assert each["low"] <= each["point"] <= each["high"]
        place = 100 * (test.gain - low) / (high - low)
        assert each["point"] == pytest.approx(place, abs=0.1)
        assert each["zero"] == pytest.approx(100 * -low / (high - low), abs=0.1)
    assert "95% confidence interval: +" in drawn["k-nn"]["tip"]


def test_asterisks_are_explained_where_they_are(words, write):
    assert "* Failed on some folds" in words
    values = {"lacunet": OURS, "knn": WORSE}
    assert "* Failed" not in write(make(values, hidden=None)).text
    hidden = {"a": {"lacunet": [0.7] * 4, "knn": [0.6, None, None, 0.6]}}
    assert write(make(values, hidden=hidden)).text.count("* Failed") == 3


def test_single_folds_are_shown(found, context):
    made = context(found)
    assert list(made["folds"]) == ["Log-loss", "AUC", "Accuracy"]
    assert texts(made["folds"]["Log-loss"][3])[1:] == ["0.300", "–", "0.300", "0.300"]
    assert made["fold_names"][-1] == "fold 4"
    repeated = context(replace(found, n_folds=2, n_repeats=2))
    assert repeated["fold_names"][-1] == "repeat 2, fold 2"


def test_tests_are_given_for_every_score(found, context):
    tests = context(found)["tests"]
    assert list(tests) == ["Log-loss", "AUC", "Accuracy"]
    rows = {row[0]: texts(row) for row in tests["Log-loss"]}
    assert list(rows) == ["k-nn", "HistGradientBoosting", "mice"]
    p, p_holm = map(float, rows["mice"][2:])
    assert p <= p_holm
    once = {"lacunet": OURS, "hgb": BETTER, "knn": [0.5, None, None, None]}
    _, untested = context(make(once, hidden=None))["tests"]["Log-loss"]
    assert texts(untested) == ["k-nn", "–", "–", "–"]


def test_a_difference_of_zero_has_no_sign(context):
    made = make({"lacunet": OURS, "hgb": OURS}, hidden={"a": VALUES})
    (row,) = context(made)["tests"]["Log-loss"]
    assert texts(row) == ["HistGradientBoosting", "±0", "1", "1"]
    assert row[1]["tone"] == ""
    (_, [(_, rows)]), *_ = context(made)["missing"]
    assert cells_of(rows, "lacunet")[3] == {"text": "±0", "tone": ""}


def test_hidden_columns_stand_beside_all_columns(found, context):
    (title, [(column, rows)]), (_, [(_, accuracies)]), _ = context(found)["missing"]
    assert (title, column) == ("Log-loss", EVIL)
    assert texts(rows[-1])[:5] == [
        "HistGradientBoosting",
        "0.400",
        "2.500",
        "+2.100",
        "+1.785",
    ]
    ours = rows[0]["cells"]  # the best without the column
    assert (ours[0], ours[2]["strong"], ours[3]["tone"]) == ("lacunet", True, "worse")
    change = accuracies[0]["cells"][3]
    assert (change["text"][0], change["tone"]) == ("−", "worse")


def test_hidden_columns_without_ours_have_no_tests(context):
    values = {"hgb": OURS, "knn": WORSE}
    (_, [(_, rows)]), *_ = context(make(values, hidden={"a": values}))["missing"]
    assert {len(row["cells"]) for row in rows} == {4}


@pytest.mark.parametrize(("slowest", "shown"), [(2.9, False), (3.1, True)])
def test_time_is_drawn_if_it_differs(slowest, shown, context):
    values = {"lacunet": OURS, "knn": WORSE, "hgb": BETTER}
    seconds = {"lacunet": 1.0, "knn": 1.0, "hgb": slowest}
    made = make(values, hidden=None, seconds=seconds)
    assert ("Time" in context(made)["sections"]) == shown
    failed = make(values | {"hgb": [0.1, None, 0.1, 0.1]}, seconds=seconds)
    assert "Time" not in context(failed)["sections"]


# --- drawings


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def place_of(svg, text):
    """Return where a text stands."""
    (found,) = re.findall(rf"<text([^>]*)>{re.escape(text)}</text>", svg)
    moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", found)
    plain = re.search(r' x="([-\d.]+)" y="([-\d.]+)"', found)
    return tuple(map(float, (moved or plain).groups()))


POINTS = [(0.1, 0.8), (10.0, 0.4), (11.0, 0.9)]


def test_the_front_is_what_no_other_beats():
    assert find_front(POINTS) == POINTS[:2]
    assert find_front([*POINTS, (0.1, 0.7)]) == [(0.1, 0.7), POINTS[1]]


def test_better_methods_are_higher_and_faster_ones_further_left():
    values = {"hgb": [0.5] * 4, "lacunet": [0.2] * 4, "mean": [0.6] * 4}
    seconds = {"hgb": 0.1, "lacunet": 10.0, "mean": 11.0}
    svg = _compare._draw_time(make(values, hidden=None, seconds=seconds))
    titles = ("HistGradientBoosting", "lacunet", "mean")
    trees, ours = (place_of(svg, title) for title in titles[:2])
    assert trees[0] < ours[0]
    assert ours[1] < trees[1]
    assert {"0.1", "1", "10"} <= set(texts_of(svg))
    # Another is better and faster: it has no name, but a tooltip.
    assert "mean" not in texts_of(svg)
    assert "<title>mean: 0.600, 11 s</title>" in svg
