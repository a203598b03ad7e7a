import pytest
from reproduction.report._blocks import Column, Entry, Line, Lines, Note, Sheet
from reproduction.report._markdown import to_markdown

from lacunet._markdown import escape


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("<i>&", "&lt;i&gt;&amp;"),
        ("kidney_disease", "kidney_disease"),
        ("_a_", r"\_a\_"),
        ("[x](y)", r"\[x\](y)"),
        ("`a` *b* \\", r"\`a\` \*b\* " + "\\\\"),
        ("two\nlines", "two lines"),
    ],
)
def test_letters_that_mean_something_are_escaped(text, escaped):
    assert escape(text) == escaped


def test_a_sheet_becomes_a_table_with_notes():
    line = Line(
        "a|b", (Entry("0.8", "± 0.1", "0.7", strong=True), Entry("–", mark="a"))
    )
    sheet = Sheet(
        "method",
        (Column("pima"), Column("total", "mnist")),
        (Lines((line,), "group"),),
        caption="Read it.",
        below="the paper's",
        notes=(Note("a", "no rows"),),
    )
    assert to_markdown(sheet).splitlines() == [
        "| method | pima | mnist, total |",
        "|---|---|---|",
        r"| a\|b | **0.8** ± 0.1 / 0.7 | –<sup>a</sup> |",
        "",
        "Read it. Behind the stroke: the paper's.",
        "",
        "<sup>a</sup> no rows",
    ]
