"""The pages in a browser: sorting, filtering, the threshold, tooltips."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from held_out import make_classification
from own_comparisons import make_comparison

from lacunet import LacunetRegressor
from lacunet.evaluation._hold_out import ClassRows
from lacunet.inspection import explain_row
from lacunet.profile import _profile, profile_table
from lacunet.report import (
    write_comparison,
    write_explanation,
    write_fit,
    write_profile,
)

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
NAMES = ("chromium", "chromium-browser", "google-chrome")
EXECUTABLE = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    EXECUTABLE is None, reason=f"needs a browser: {', '.join(NAMES)}"
)
N_POSITIVES, N_NEGATIVES = 70, 50


def make_profile():
    """Return the profile of a table with more columns than fit on a screen."""
    stream = np.random.RandomState(0)
    X = pd.DataFrame(stream.randn(200, 14)).add_prefix("column ")
    X["town"] = stream.choice(["Rome", "Oslo"], 200)
    for place in range(12):
        X.iloc[: 5 * place, place] = np.nan
    X.loc[X["town"] == "Oslo", "column 13"] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_profile, "MAX_PREDICTED", 1)  # learned is less than usual
        return profile_table(X, target="town")


def make_fit():
    stream = np.random.RandomState(0)
    happened = np.arange(N_POSITIVES + N_NEGATIVES) < N_POSITIVES
    probability = 1 / (1 + np.exp(-stream.randn(len(happened)) - 2 * happened + 1))
    both = np.column_stack([1 - probability, probability])
    return make_classification(
        classes=(ClassRows("no", 200, N_NEGATIVES), ClassRows("yes", 280, N_POSITIVES)),
        y_test=np.where(happened, "yes", "no"),
        predicted={"lacunet": both, "hgb": both[:, ::-1]},
    )


def make_methods():
    keys = ("lacunet", "knn", "hgb", "mice")
    values = {key: [0.4 + i / 10, 0.5, 0.6, 0.55] for i, key in enumerate(keys)}
    seconds = {"lacunet": 90.0, "knn": 130.0, "hgb": 0.1, "mice": 9.0}
    return make_comparison(
        values, task="classification", hidden={"a b": values}, seconds=seconds
    )


def make_explanation():
    X = pd.DataFrame(np.random.RandomState(0).randn(40, 14)).add_prefix("column ")
    X.iloc[3, :2] = np.nan
    model = LacunetRegressor(n_networks=1, max_epochs=1, on_unseen_missing="use")
    return explain_row(model.fit(X, X["column 13"]), X.iloc[[3]], n_permutations=4)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        "profile": write_profile(make_profile(), folder / "profile.html"),
        "fit": write_fit(make_fit(), folder / "fit.html"),
        "compare": write_comparison(make_methods(), folder / "compare.html"),
        "explain": write_explanation(make_explanation(), folder / "explain.html"),
    }


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        options = ["--no-sandbox"]  # which needs rights that a container lacks
        try:
            running = play.chromium.launch(executable_path=EXECUTABLE, args=options)
        except sync_api.Error as error:
            pytest.skip(f"{EXECUTABLE} does not start: {str(error)[:200]}")
        yield running
        running.close()


@pytest.fixture
def visit(browser, pages):
    """Return how to open a page; whatever the console reports is an error."""
    reported, opened = [], []

    def visit(name, width=1200, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, **options
        )
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: reported.append(message.text))
        page.on("pageerror", lambda error: reported.append(str(error)))
        page.on("request", lambda request: reported.append(request.url))
        page.goto(pages[name].as_uri())
        reported.remove(pages[name].as_uri())
        return page

    yield visit
    for context in opened:
        context.close()
    assert [each for each in reported if not each.startswith("data:image")] == []


def column_of(table, place):
    rows = table.locator("tbody tr:visible").all()
    return [row.locator("th, td").nth(place).inner_text() for row in rows]


@pytest.mark.parametrize("name", ["profile", "fit", "compare", "explain"])
def test_pages_fit_a_phone_and_follow_the_colour_scheme(visit, name):
    grounds = []
    for scheme in ("light", "dark"):
        page = visit(name, width=390, scheme=scheme)
        page.evaluate(
            "document.querySelectorAll('details').forEach(e => e.open = true)"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        read = "getComputedStyle(document.body).backgroundColor"
        grounds.append(page.evaluate(read))
    assert grounds == ["rgb(255, 255, 255)", "rgb(21, 24, 29)"]


def test_a_table_is_sorted_by_numbers_and_by_names(visit):
    page = visit("profile")
    page.get_by_text("All columns in a table").click()
    table = page.locator("table.sortable", has_text="distinct values")
    head = table.get_by_role("columnheader", name="missing")
    counts = [int(text) for text in column_of(table, 2)]
    assert counts == sorted(counts, reverse=True)
    head.get_by_role("button").press("Enter")  # without a mouse
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [int(text) for text in column_of(table, 2)] == counts[::-1]
    table.get_by_role("columnheader", name="column").get_by_role("button").click()
    assert column_of(table, 0) == [f"column {i}" for i in range(14)]
    assert head.get_attribute("aria-sort") == "none"


def test_times_are_sorted_by_their_length_and_dashes_come_last(visit):
    table = visit("compare").locator("table.sortable").first
    head = table.get_by_role("columnheader", name="time").get_by_role("button")
    head.click()
    head.click()
    assert column_of(table, 5)[:4] == ["0.10 s", "9.00 s", "90 s", "2 min"]
    table.get_by_role("columnheader", name="gain").get_by_role("button").click()
    assert column_of(table, 6)[-2:] == ["–", ""]


def test_cells_are_read_as_numbers_if_they_are(visit):
    page = visit("fit")
    for text, number in {
        "1,200": 1200,
        "−0.5 ± 0.25": -0.5,
        "+0.41*": 0.41,
        "< 0.1%": 0.1,
        "12 (4.0%)": 12,
        "±0": 0,
        "2.5 h": 9000,
        "2e-08": 2e-8,
        "2004-03-10": None,
        "12 Rome": None,
        "–": None,
    }.items():
        found = page.evaluate("text => [numberOf(text)].find(x => !isNaN(x))", text)
        assert found == number, text


def test_rows_and_cards_are_filtered(visit):
    page = visit("profile")
    page.get_by_text("All columns in a table").click()
    table = page.locator("table.sortable", has_text="distinct values")
    page.get_by_role("searchbox", name="Filter 14 rows").fill("COLUMN 1")
    assert sorted(column_of(table, 0)) == [f"column {i}" for i in (1, 10, 11, 12, 13)]
    page.get_by_role("searchbox", name="Filter 14 columns").fill("column 13")
    cards = page.locator(".columns").first.locator("article:visible")
    assert cards.count() == 1
    assert page.get_by_text("1 of 14", exact=True).is_visible()


def test_the_threshold_changes_counts_and_rates_consistently(visit):
    page, found = visit("fit"), make_fit()
    happened = found.y_test == "yes"
    for step in (0, 60, 100, 171, 200):
        page.get_by_role("slider", name="Threshold").fill(str(step))
        chosen = found.predicted["lacunet"][:, 1] > step / 200
        tp, fp = (chosen & happened).sum(), (chosen & ~happened).sum()
        fn, tn = N_POSITIVES - tp, N_NEGATIVES - fp
        expected = {
            **{"tp": tp, "fp": fp, "fn": fn, "tn": tn},
            "precision": f"{tp / (tp + fp):.1%}" if tp + fp else "–",
            "recall": f"{tp / N_POSITIVES:.1%}",
            "specificity": f"{tn / N_NEGATIVES:.1%}",
            "accuracy": f"{(tp + tn) / len(happened):.1%}",
            "threshold": f"{step / 200:.1%}",
        }
        for name, value in expected.items():
            assert page.locator(f"[data-count={name}]").inner_text() == str(value), name
        # The ring on the ROC curve.
        curve = json.loads(
            page.locator("[data-curve]").first.get_attribute("data-curve")
        )
        left, bottom, right, top = curve["axes"]
        ring = page.locator(".threshold").first
        x, y = (float(ring.get_attribute(name)) for name in ("cx", "cy"))
        assert (x - left) / (right - left) == pytest.approx(fp / N_NEGATIVES)
        assert (y - bottom) / (top - bottom) == pytest.approx(tp / N_POSITIVES)


def test_the_threshold_moves_by_keys(visit):
    page = visit("fit")
    page.get_by_role("slider", name="Threshold").press("ArrowRight")
    assert page.locator("[data-count=threshold]").inner_text() == "50.5%"


def test_marks_and_cells_of_maps_have_tooltips(visit):
    page = visit("profile")
    tooltip = page.locator(".tooltip")
    assert not tooltip.is_visible()
    page.locator("[data-map] image").first.hover(position={"x": 3, "y": 3})
    assert re.fullmatch(r"column 1, row [1-5]: missing", tooltip.inner_text())
    page.locator(".columns article").first.locator("g[data-tip]").first.hover()
    assert "rows (" in tooltip.inner_text()
    page.mouse.move(1, 1)
    assert not tooltip.is_visible()


def test_without_a_script_all_is_there_to_read(visit):
    page = visit("fit", java_script_enabled=False)
    assert page.get_by_text("Confusion matrix").is_visible()
    assert not page.locator(".control").is_visible()
    assert page.locator("table.sortable button").count() == 0
