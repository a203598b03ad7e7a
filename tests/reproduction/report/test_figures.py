import pytest
from reproduction.report import _figures
from reproduction.report._figures import make_figure_section, make_seeds_sheet
from reproduction.report._folder import Drawn, Folder, read_folder

from lacunet.exceptions import LacunetError


@pytest.fixture
def undrawn(monkeypatch):
    """Return the titles of drawings, and draw nothing."""
    titles = []

    def draw_classes(name, content, said, title, gaussians=None):
        titles.append(title)
        return ""

    for name in ("draw_gamma", "draw_cost"):
        monkeypatch.setattr(_figures, name, lambda *arguments: "")
    monkeypatch.setattr(_figures, "draw_classes", draw_classes)
    return titles


def test_the_toy_is_shown_with_the_accuracy_on_what_was_not_trained_on(
    results, undrawn
):
    section = make_figure_section(read_folder(results), "figure-density")
    # Of points 2 and 3, classes 0 and 1, both are said to be 0.
    assert undrawn == ["the truth", "paper, before training: 0.500"]
    _, part = section.blocks
    assert (part.title, part.tag) == ("Protocol quick", "")
    assert [block.kind for block in part.blocks] == ["pictures", "sheet"]


def test_accuracies_are_told_over_seeds(make_cell, slice_of):
    part = slice_of({"paper": (0.9,)}, experiment="figure-density", sets=("x",))
    cells = [
        make_cell(experiment="figure-density", method=method, seed=seed, value=value)
        for method, values in {"paper": (0.9, 0.8), "em-frozen": (0.7, 0.95)}.items()
        for seed, value in enumerate(values)
    ]
    sheet = make_seeds_sheet(part.only(cells))
    lines = {line.title: [e.text for e in line.entries] for line in sheet.lines}
    assert lines["paper (as published)"] == ["0.850", "0.800", "0.900", "2"]
    assert lines["EM frozen"] == ["0.825", "0.700", "0.950", "2"]
    assert [line.entries[0].strong for line in sheet.lines] == [True, False]


def test_images_are_shown_few_and_all(results):
    section = make_figure_section(read_folder(results), "figure-2")
    _, part = section.blocks
    few, every = part.blocks
    assert (few.large, every.large) == (True, False)
    assert [strip.title for strip in few.strips] == [
        "original",
        "masked",
        "k-nn",
        "lacunet",
    ]
    assert len(few.strips[0].png) < len(every.strips[0].png)
    assert "stand-in" in part.tag


def test_the_same_data_under_two_protocols_are_shown_once(results, undrawn):
    found = read_folder(results).figures["figure-gamma"][0]
    twice = (found, Drawn("paper", "paper", dict(found.content)))
    folder = Folder(results, (), {"figure-gamma": twice})
    assert len(make_figure_section(folder, "figure-gamma").blocks) == 2
    other = Drawn("paper", "paper", {**found.content, "x": [5, 6, 7]})
    folder = Folder(results, (), {"figure-gamma": (found, other)})
    assert len(make_figure_section(folder, "figure-gamma").blocks) == 3


def test_data_of_an_older_kind_are_refused_with_advice(results):
    drawn = (Drawn("quick", "paper", {"x": [1]}),)
    folder = Folder(results, (), {"figure-gamma": drawn})
    with pytest.raises(LacunetError, match="without gammas.*figure-gamma again"):
        make_figure_section(folder, "figure-gamma")
