import re
from xml.etree import ElementTree

import pytest

from lacunet.report._drawing import INK, drawing, to_svg

EVIL = "<script>&\"' $x$ -->"


def make_markup(name):
    with drawing(2, 1) as figure:
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], "o", color=INK)
        axes.set_title(EVIL)
        return to_svg(figure, name, EVIL)


@pytest.fixture(scope="module")
def markup():
    return make_markup("mine")


def test_texts_are_escaped_and_come_back_as_they_were(markup):
    assert "<script" not in markup
    root = ElementTree.fromstring(markup)
    assert EVIL in [element.text for element in root.iter("text")]
    assert root.get("aria-label") == EVIL


def test_the_page_gives_the_colours_and_the_size(markup):
    assert "#0102" not in markup
    assert "var(--ink)" in markup
    root = ElementTree.fromstring(markup)
    assert root.get("viewBox")
    assert root.get("width") is root.get("height") is None


def test_names_are_those_of_one_drawing_and_all_are_used(markup):
    names, others = (
        set(re.findall(' id="(.*?)"', each)) for each in (markup, make_markup("other"))
    )
    assert names
    assert not names & others
    assert all(markup.count(f"#{name}") > 0 for name in names)
    assert "<metadata" not in markup


def test_letters_that_the_font_lacks_are_no_hindrance():
    with drawing(2, 1) as figure:
        figure.add_subplot().set_title("漢")
        assert "漢" in to_svg(figure, "mine", "")
