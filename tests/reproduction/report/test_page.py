import pytest
from reproduction.report._blocks import (
    Card,
    Cards,
    Column,
    Command,
    Entry,
    Fold,
    Line,
    Lines,
    Note,
    Page,
    Part,
    Picture,
    Pictures,
    Point,
    Points,
    Section,
    Sheet,
    Strip,
    Strips,
    Text,
)
from reproduction.report._page import render_page

EVIL = "<i>\"'&"


@pytest.fixture(scope="module")
def page(parse):
    """Return a page of all kinds of blocks, with markup in all of their texts."""
    sheet = Sheet(
        EVIL,
        (Column(EVIL, EVIL), Column(EVIL)),
        (Lines((Line(EVIL, (Entry(*[EVIL] * 3, "better", True, EVIL),) * 2),), EVIL),),
        caption=EVIL,
        below=EVIL,
        notes=(Note(EVIL, EVIL),),
    )
    blocks = (
        Text(EVIL, "warning"),
        Points((Point(EVIL, EVIL), Point(EVIL, EVIL, "anchor"))),
        Command(EVIL),
        Pictures((Picture("<svg></svg>", EVIL),), EVIL),
        Strips((Strip(EVIL, "data:image/png;base64,"),), EVIL),
        Cards((Card(EVIL, EVIL, EVIL, "worse", EVIL, EVIL, {EVIL: EVIL}),)),
        Fold(EVIL, (sheet,)),
        Part(EVIL, (Text(EVIL),), EVIL),
    )
    whole = Page(EVIL, EVIL, blocks, (Section("Some Title", blocks, EVIL),), EVIL)
    return parse(render_page(whole))


def test_every_text_is_escaped(page):
    assert "i" not in page.tags
    # 2 in the head of the page, 2 below it, and 29 in each of two times all blocks.
    assert page.text.count(EVIL) > 50


def test_drawings_are_markup(page):
    assert page.tags.count("svg") == 2


def test_the_best_is_bold(page):
    assert page.bold.count(EVIL) >= 4


def test_headings_over_columns_span_them(page):
    assert page.tags.count("table") == 2
    assert page.titles("h2") == ["Summary", "Some Title"]
    assert "#some-title" in page.links
