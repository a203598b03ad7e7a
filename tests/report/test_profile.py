import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from lacunet.profile import (
    HoleLink,
    HoleMap,
    Pattern,
    RowCounts,
    _foresight,
    _profile,
    profile_table,
)
from lacunet.report import _blocks_page as _page
from lacunet.report import write_profile
from lacunet.report._blocks import Text
from lacunet.report._profile import make_page
from lacunet.report._profile_plots import (
    Contrast,
    draw_contrast,
    draw_foresight,
    draw_links,
    draw_map,
    draw_patterns,
    draw_rows,
    draw_shares,
)
from lacunet.report._profile_sections import (
    _direct,
    make_counts_section,
    make_map_section,
    make_patterns_section,
    make_target_section,
)

EVIL = "<script>alert(1)</script>"
HEADINGS = ["Map of holes", "Columns and rows", "Patterns", "Dependence", "Target"]


def make_table():
    """Return a table with markup in names and levels, and all kinds of holes."""
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
    """Learn less than usual: it is the page that is looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_profile, "MOST_FORESEEN", 2)
        patch.setattr(_foresight, "_N_FOLDS", 2)
        patch.setitem(_foresight._SETTINGS, "max_iter", 3)
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
    assert {"map-of-holes", "columns-and-rows", "dependence", "target"} <= inner
    assert inner <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_the_page_needs_no_other_file_and_runs_nothing(html, page):
    outer = [link for link in page.links if not link.startswith(("#", "data:image"))]
    assert outer == []
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "url(" not in html.replace("url(#", "")


def test_names_levels_and_titles_that_look_like_markup_are_text(html, page):
    assert "<script" not in html
    assert page.titles("h1") == [f"All of {EVIL}"]
    assert page.text.count(EVIL) > 10
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert any("&lt;script&gt;" in drawing for drawing in drawings)
    assert any(">$x_1$<" in drawing for drawing in drawings)


def test_all_drawings_are_there_and_have_no_colours_of_their_own(html):
    drawings = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    # Two maps, columns, rows, patterns, contrast, two of links, foresight, target.
    assert len(drawings) == 10
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
    assert profile.dependence.caveat in words


def test_figures_stand_in_sheets(profile, page):
    words = " ".join(page.text.split())
    assert f"{profile.little.statistic:.2f}" in words
    assert "d (not numbers)" in words
    assert "Always missing together" in words
    assert "b and c." in words


def test_the_same_profile_gives_the_same_drawings():
    profile = profile_table([[1.0, np.nan], [2.0, 3.0]])
    first, second = (make_map_section(profile) for _ in range(2))
    assert first == second
    assert "<svg" in first.blocks[0].pictures[0].svg


def test_a_file_that_is_there_is_kept_unless_force_is_given(tmp_path):
    profile = profile_table(np.ones((2, 2)))
    path = tmp_path / "out.html"
    path.write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="which exists"):
        write_profile(None, path)  # told before any work
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
def test_odd_tables_have_a_page(X, headings, parse):
    made = make_page(profile_table(X), "t")
    page = parse(_page.render_page(made))
    assert page.titles("h2") == ["Summary", *headings]
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)


def test_a_target_without_links_says_so(profile):
    target = dataclasses.replace(
        profile.target,
        n_missing=3,
        tests=dataclasses.replace(profile.target.tests, links=(), n_links=0),
    )
    texts = [block.text for block in make_target_section(target).blocks]
    assert texts[0] == "3 rows without a target."
    assert "No column's holes depend on it" in texts[-1]


def test_many_columns_are_cut_with_a_word(monkeypatch):
    for name in ("draw_shares", "draw_rows", "draw_patterns"):
        monkeypatch.setattr(f"lacunet.report._profile_sections.{name}", lambda *_: "")
    stream = np.random.RandomState(0)
    X = np.where(stream.rand(15, 250) < 0.2, np.nan, 1.0)
    profile = profile_table(np.vstack([X, X]))
    pictures, fold = make_counts_section(profile).blocks
    assert pictures.caption.startswith("The 40 columns with the most holes, of ")
    assert fold.blocks[0].caption == "The 200 with the most holes; 50 more."
    patterns = make_patterns_section(profile).blocks[0]
    assert "more columns are not shown" in patterns.caption
    assert make_patterns_section(profile_table(X)).blocks[0] == Text(
        "No two rows lack the same cells."
    )


# --- drawings


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_bars_tell_their_share():
    texts = texts_of(draw_shares("n", [("first", 0.5), ("second", 0.0004)]))
    assert {"first", "second", "50%", "&lt; 0.1%"} <= set(texts)


def test_rows_are_drawn_by_their_number_of_holes():
    few = draw_rows("n", RowCounts(((0, 5), (3, 2)), 5, 0))
    assert few.count("var(--third)") == 1  # the complete ones
    many = draw_rows("n", RowCounts(((0, 5), (300, 2)), 5, 0))
    assert "var(--third)" not in many  # a bar holds several numbers


def test_patterns_have_a_square_for_each_hole():
    patterns = [Pattern((), 6, 0.6), Pattern(("a", "b"), 4, 0.4)]
    svg = draw_patterns("n", patterns, ["a", "b", "c"])
    assert {"a", "b", "c", "6 (60%)", "4 (40%)"} <= set(texts_of(svg))
    fewer = draw_patterns("n", [patterns[0], Pattern(("a",), 4, 0.4)], ["a", "b", "c"])
    assert svg.count("<use") == fewer.count("<use") + 1


def test_a_map_is_an_image_with_names_if_there_is_room():
    small = HoleMap(((1.0, 0.0), (0.5, 0.2)), (0, 1), (("a",), ("b",)))
    svg = draw_map("n", small, 2, "t")
    assert "data:image/png;base64," in svg
    assert {"a", "b"} <= set(texts_of(svg))
    paler = HoleMap(((0.9, 0.0), (0.5, 0.2)), (0, 1), (("a",), ("b",)))
    assert draw_map("n", paler, 2, "t") != svg
    wide = HoleMap(((0.5,),), (0,), (("a", "b"),))
    assert "2 columns" in texts_of(draw_map("n", wide, 1, "t"))


def test_links_have_a_colour_for_each_direction():
    cells = [("a", "b", 0.9, "+"), ("a", "c", 0.2, "-"), ("a", "d", 0.4, "")]
    svg = draw_links("n", ["a"], ["b", "c", "d"], cells, "t")
    for colour in ("accent", "second", "third"):
        assert f"var(--{colour})" in svg
    assert {"90", "20", "40"} <= set(texts_of(svg))


@pytest.mark.parametrize(
    ("by", "kind", "auc", "direction"),
    [
        ("value", "number", 0.7, "+"),
        ("value", "date", 0.3, "-"),
        ("value", "category", 0.7, ""),
        ("missing", "category", 0.7, "+"),
        ("missing", "number", 0.3, "-"),
    ],
)
def test_categories_have_no_direction(by, kind, auc, direction):
    link = HoleLink("a", "b", by, auc, 0.0, 0.0, "is so", 0.5, 0.1)
    assert _direct(link, kind) == direction


def test_long_names_are_cut():
    name = "x" * 60
    for svg in (
        draw_shares("n", [(name, 0.5)]),
        draw_foresight("n", [(name, 0.9, 0.3)]),
        draw_contrast("n", [Contrast(name, name, 0.5, 0.1)], "t"),
    ):
        assert max(map(len, texts_of(svg))) < 60
        assert "xxx…" in svg
