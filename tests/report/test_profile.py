import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from lacunet.profile import (
    Association,
    AssociationTable,
    ColumnProfile,
    Distribution,
    Pattern,
    _dependence,
    _profile,
    profile_table,
)
from lacunet.report import _page, write_profile
from lacunet.report._profile import (
    draw_associations,
    draw_map,
    draw_patterns,
    make_card,
    make_context,
)

EVIL = "<script>alert(1)</script>"
HEADINGS = [
    "Map of missing cells",
    "Columns",
    "Rows and patterns",
    "Dependence",
    "Target",
]


def make_table():
    """Return a table with markup in names and categories, missing in many ways."""
    stream = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            EVIL: stream.randn(120),
            "$x_1$": stream.choice([EVIL, "'\"&"], 120),
            "b": stream.randn(120),
            "c": stream.randn(120),
            "d": stream.choice(["x", "?"], 120),
        }
    )
    X["y"] = np.where(stream.rand(120) < 0.5, EVIL, "well")
    X.loc[X[EVIL] > 0.3, ["b", "c"]] = np.nan
    X.loc[X["$x_1$"] == EVIL, EVIL] = np.nan
    X.loc[(X["y"] == EVIL) & (stream.rand(120) < 0.9), "d"] = None
    X["e"] = np.where(X["d"].isna() & (stream.rand(120) < 0.9), np.nan, 1.0)
    return X


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Learn less than usual: the page is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_profile, "MAX_PREDICTED", 2)
        patch.setattr(_dependence, "N_FOLDS", 2)
        patch.setitem(_dependence.BOOSTING, "max_iter", 3)
        yield


@pytest.fixture(scope="module")
def profile():
    return profile_table(make_table(), target="y")


@pytest.fixture(scope="module")
def html(profile, tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "new" / "profile.html"
    return write_profile(profile, path, title=f"All of {EVIL}").read_text("utf-8")


@pytest.fixture(scope="module")
def page(html, parse):
    return parse(html)


def test_sections_follow_each_other_and_are_linked_to(page):
    assert page.titles("h2") == ["Summary", *HEADINGS]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert {"map-of-missing-cells", "rows-and-patterns", "dependence"} <= inner
    assert inner <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_needs_no_other_file(html, page):
    outer = [link for link in page.links if not link.startswith(("#", "data:image"))]
    assert outer == []
    assert not {"link", "iframe", "object"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_categories_and_titles_that_look_like_markup_are_text(html, page):
    assert html.count("<script") == 1
    assert page.titles("h1") == [f"All of {EVIL}"]
    assert page.text.count(EVIL) > 10
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert any("&lt;script&gt;" in drawing for drawing in drawings)
    assert any(">$x_1$<" in drawing for drawing in drawings)


def test_all_drawings_are_there_and_have_no_colours_of_their_own(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    # Of cards: EVIL, by the missingness of another, b and c. Two maps, patterns, two
    # of associations.
    assert len(drawings) == 4 + 5
    for drawing in drawings:
        used = set(re.findall(r"(?:fill|stroke): ?(#[0-9a-f]+)", drawing))
        assert used <= {"#ffffff"}, used  # clipping, which no one sees
        assert "#0102" not in drawing


def test_findings_notices_and_the_caveat_are_in_the_page(profile, page):
    words = " ".join(page.text.split())
    for finding in profile.findings:
        assert finding.head in words
        assert finding.text in words
    for notice in profile.notices:
        assert notice in words
    assert "missing because of that value itself" in words


def test_numbers_are_in_the_page(profile, page):
    words = " ".join(page.text.split())
    assert f"{profile.little.statistic:.2f}" in words
    assert "d (not numeric)" in words
    assert "Always missing together" in words
    assert "b and c." in words


def test_the_same_profile_gives_the_same_page(tmp_path):
    profile = profile_table([[1.0, np.nan], [2.0, 3.0]])
    one, other = (write_profile(profile, tmp_path / name) for name in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_a_file_that_is_there_is_kept_unless_force_is_given(tmp_path):
    profile = profile_table(np.ones((2, 2)))
    path = tmp_path / "out.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_profile(None, path)  # refused before any work
    assert path.read_text("utf-8") == "mine"
    assert write_profile(profile, path, force=True) == path
    assert "<html" in path.read_text("utf-8")


def test_without_the_packages_the_error_says_which(profile, tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(_page, "import_module", refuse)
    with pytest.raises(ImportError, match=r"jinja2.*'lacunet\[report\]'\.$"):
        write_profile(profile, tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("X", "headings"),
    [
        (np.empty((0, 2)), ["Columns"]),
        (np.empty((2, 0)), []),
        (np.ones((3, 2)), ["Columns"]),
        (np.full((3, 2), np.nan), HEADINGS[:4]),
    ],
    ids=["no rows", "no columns", "complete", "nothing"],
)
def test_odd_tables_have_a_page(X, headings, parse, tmp_path):
    path = write_profile(profile_table(X), tmp_path / "out.html")
    page = parse(path.read_text("utf-8"))
    assert page.titles("h2") == ["Summary", *headings]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)


def words_of(profile, parse, path):
    page = parse(write_profile(profile, path).read_text("utf-8"))
    return " ".join(page.text.split())


def test_a_target_without_associations(profile, parse, tmp_path):
    tests = dataclasses.replace(profile.target.associations, links=(), n_links=0)
    target = dataclasses.replace(profile.target, n_missing=3, associations=tests)
    changed = dataclasses.replace(profile, target=target)
    words = words_of(changed, parse, tmp_path / "out.html")
    assert "3 rows without a target." in words
    assert "No significant association of a column's missingness with it" in words


def test_of_many_columns_some_are_shown(parse, tmp_path):
    stream = np.random.RandomState(0)
    X = np.where(stream.rand(15, 250) < 0.2, np.nan, 1.0)
    found = profile_table(np.vstack([X, X, X]))
    words = words_of(found, parse, tmp_path / "a.html")
    assert "30 of 250 columns, those with the most missing values first." in words
    assert "The 200 with the most missing values; 50 more." in words
    assert "more columns not shown" in words
    words = words_of(profile_table(X), parse, tmp_path / "b.html")
    assert "no two incomplete rows have the same missing cells" in words


def test_complete_columns_of_a_wide_table_are_grouped(parse, tmp_path):
    X = np.arange(20.0 * 279).reshape(20, 279)
    X[:5, :3] = np.nan
    found = profile_table(X)
    assert [card["column"].name for card in make_context(found, "")["cards"]] == [
        *("0", "1", "2")
    ]
    words = words_of(found, parse, tmp_path / "a.html")
    assert "276 complete columns" in words


def test_rare_patterns_are_summed_up(parse, tmp_path):
    X = np.where(np.eye(15, dtype=bool).repeat(2, axis=0), np.nan, 1.0)
    words = words_of(profile_table(X), parse, tmp_path / "a.html")
    assert "No pattern of missing values is frequent: 15 patterns in 30 rows" in words
    assert "occurs in at most 2 rows" in words
    assert "Green" not in words  # there are no complete rows


@pytest.mark.parametrize(
    ("X", "verdict"),
    [
        (make_table(), "Values are not missing completely at random"),
        (np.array([["a"], [None]], dtype=object), "Little's test was not run"),
    ],
)
def test_the_verdict_of_littles_test_is_a_heading(X, verdict, parse, tmp_path):
    path = write_profile(profile_table(X), tmp_path / "out.html")
    assert verdict in parse(path.read_text("utf-8")).titles("h3")


def test_a_card_shows_fractions_of_two_groups():
    split = Distribution(("0", "1", "2"), (6, 4), "x", (1, 3))
    card = make_card(ColumnProfile("a", "number", 0, 0.0, 9, ("0",), split))
    assert card["labels"] == ["0 to 1", "1 to 2"]
    observed, missing = card["groups"]
    assert (observed["total"], missing["total"]) == (6, 4)
    assert [bar["text"] for bar in observed["bars"]] == ["83%", "17%"]
    assert [bar["height"] for bar in missing["bars"]] == [33.3, 100.0]
    assert missing["bars"][1]["tip"] == "1 to 2: 3 rows (75%)"


# --- drawings


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def make_link(column, on, by="value", auc=0.9, where="is above 1"):
    return Association(column, on, by, auc, 0.0, 0.0, where, 0.5, 0.1)


def table_of(*links):
    return AssociationTable((), (), links, len(links), len(links))


def test_rows_are_counted_by_their_missing_cells(profile):
    few = dataclasses.replace(profile, row_histogram=((0, 90), (3, 30)))
    bars = make_context(few, "")["rows"]
    assert [bar["label"] for bar in bars] == ["0", "1", "2", "3"]
    assert [bar["text"] for bar in bars] == ["90 (75%)", "0 (0%)", "0 (0%)", "30 (25%)"]
    many = dataclasses.replace(profile, row_histogram=((0, 90), (29, 30)))
    bars = make_context(many, "")["rows"]
    assert (len(bars), bars[-1]["label"]) == (15, "28–29")
    assert [bars[0]["fraction"], bars[-1]["fraction"]] == [1.0, 0.333]


def test_patterns_have_a_square_for_each_missing_column():
    patterns = [Pattern((), 6, 0.6), Pattern(("a", "b"), 4, 0.4)]
    svg = draw_patterns(patterns, ["a", "b", "c"])
    assert {"a", "b", "c", "6 (60%)", "4 (40%)"} <= set(texts_of(svg))
    fewer = draw_patterns([patterns[0], Pattern(("a",), 4, 0.4)], ["a", "b", "c"])
    assert svg.count("<use") == fewer.count("<use") + 1


def test_a_map_has_names_if_there_is_room_and_groups_complete_columns(profile):
    made = dataclasses.replace(profile, n_rows=2, n_columns=2)
    cells = ((1.0, 0.0), (0.5, 0.2))
    found = draw_map(made, ["a", "b"], False, cells)
    assert "data:image/png;base64," in found["svg"]
    assert {"a", "b"} <= set(texts_of(found["svg"]))
    assert found["data"]["map"]["cells"] == ["b0", "I:"]
    made = dataclasses.replace(made, n_columns=7)
    found = draw_map(made, ["a", "b", "c"], True, ((0.5,), (0.1,)))
    assert found["data"]["map"]["names"] == ["a to c", "4 complete columns"]
    text = "3 columns with missing values and 4 complete columns at the right"
    assert text in texts_of(found["svg"])


@pytest.mark.parametrize(
    ("by", "on", "auc", "colour"),
    [
        ("value", "b", 0.7, "accent"),
        ("value", "b", 0.3, "second"),
        ("value", "d", 0.7, "third"),  # a category has no direction
        ("missing", "d", 0.7, "accent"),
        ("missing", "d", 0.3, "second"),
    ],
)
def test_associations_have_a_colour_for_each_direction(profile, by, on, auc, colour):
    tests = table_of(make_link("c", on, by, auc))
    svg = draw_associations(by, dataclasses.replace(profile, associations=tests))
    used = {each for each in ("accent", "second", "third") if f"var(--{each})" in svg}
    assert used == {colour}
    assert {"c", on, "40"} <= set(texts_of(svg))


def test_without_associations_nothing_is_drawn():
    profile = profile_table([[1.0, np.nan], [2.0, 3.0]])
    context = make_context(profile, "t")
    for name in ("by_value", "by_missing", "predictability_rows", "link_rows"):
        assert not context[name]


def test_associations_and_dependence_stand_in_tables(profile):
    context = make_context(profile, "t")
    link, row = profile.associations.links[0], context["link_rows"][0]
    assert row[0] == link.column
    assert row[1]["text"] == f"{link.on} {link.where}"
    assert row[2]["fraction"] == round(link.fraction_there, 4)
    aucs = [row[2]["fraction"] for row in context["predictability_rows"]]
    assert aucs == sorted((each.auc for each in profile.predictability), reverse=True)


def test_long_names_are_cut():
    name = "x" * 60
    svg = draw_patterns([Pattern((name,), 4, 0.4)], [name])
    assert max(map(len, texts_of(svg))) < 60
    assert "xxx…" in svg
