import re

import numpy as np

from lacunet.report._compare_plots import (
    Box,
    FoldsLine,
    GainLine,
    LossLine,
    TimePoint,
    _choose_place,
    draw_folds,
    draw_gains,
    draw_losses,
    draw_time,
    find_front,
)


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def place_of(svg, text):
    """Return where a text stands."""
    (found,) = re.findall(rf"<text([^>]*)>{re.escape(text)}</text>", svg)
    moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", found)
    plain = re.search(r' x="([-\d.]+)" y="([-\d.]+)"', found)
    return tuple(map(float, (moved or plain).groups()))


LINES = [
    FoldsLine("first", [0.4, 0.5], 0.45, 0.05, True),
    FoldsLine("second", [0.5, 0.6], 0.55, 0.05, False),
]


def test_folds_are_drawn_from_top_to_bottom_with_ours_in_colour():
    svg = draw_folds("n", LINES, "log-loss", None)
    assert {"first", "second", "log-loss"} <= set(texts_of(svg))
    assert place_of(svg, "first")[1] < place_of(svg, "second")[1]
    assert "var(--accent)" in svg
    plain = [line._replace(accent=False) for line in LINES]
    assert "var(--accent)" not in draw_folds("n", plain, "log-loss", 7.0)


def test_what_is_known_without_columns_is_drawn_if_it_is_near():
    for trivial, drawn in ((0.55, True), (7.0, False)):
        svg = draw_folds("n", LINES[:1], "log-loss", trivial)
        assert ("no columns" in texts_of(svg)) == drawn


def test_gains_have_a_colour_if_they_are_more_than_chance():
    lines = [
        GainLine("ahead", [0.1, 0.2], 0.15, 0.1, 0.2, True),
        GainLine("behind", [-0.1, -0.2], -0.15, -0.2, -0.1, True),
        GainLine("like", [-0.1, 0.1], 0.0, -0.2, 0.2, False),
    ]
    svg = draw_gains("n", lines, "log-loss", "ours")
    assert {"rival better", "ours better", "difference in log-loss"} <= set(
        texts_of(svg)
    )
    without = draw_gains("n", lines[1:], "log-loss", "ours")
    assert "var(--third)" in svg
    assert "var(--third)" not in without
    assert "var(--second)" in without
    assert "var(--second)" not in draw_gains("n", lines[2:], "log-loss", "ours")


POINTS = [
    TimePoint("fast", 0.1, 0.8, False),
    TimePoint("slow", 10.0, 0.4, True),
    TimePoint("poor", 11.0, 0.9, False),
]


def test_the_front_is_what_no_other_beats():
    front = find_front(POINTS, higher_is_better=False)
    assert [point.title for point in front] == ["fast", "slow"]
    front = find_front(POINTS, higher_is_better=True)
    assert [point.title for point in front] == ["fast", "poor"]
    same = [*POINTS, TimePoint("like", 0.1, 0.7, False)]
    front = find_front(same, higher_is_better=False)
    assert [point.title for point in front] == ["like", "slow"]


def test_the_better_stands_higher_and_the_faster_more_to_the_left():
    svg = draw_time("n", POINTS, "score", higher_is_better=False)
    fast, slow, poor = (place_of(svg, point.title) for point in POINTS)
    assert fast[0] < slow[0]
    assert slow[1] < poor[1]
    assert {"0.1", "1", "10"} <= set(texts_of(svg))


def test_names_keep_clear_of_each_other():
    points = [TimePoint(f"method {i}", 1 + 0.01 * i, 0.5, False) for i in range(5)]
    points += [TimePoint("other", 50, 0.9, False)]
    svg = draw_time("n", points, "score", higher_is_better=True)
    *places, other = (place_of(svg, point.title) for point in points)
    assert other[1] < min(y for _, y in places) - 40  # it has the highest score
    for i, (x, y) in enumerate(places):
        for other_x, other_y in places[:i]:
            assert abs(x - other_x) > 40 or abs(y - other_y) > 6


def test_a_name_goes_where_nothing_is():
    corners = np.array([[0.0, 0.0], [200.0, 200.0]])
    dot = np.array([100.0, 100.0])
    assert _choose_place(dot, 40, [], corners)[0] == (7, 0)
    right = Box(100, 90, 160, 110)
    assert _choose_place(dot, 40, [right], corners)[0] == (-7, 0)
    assert _choose_place(np.array([190.0, 100.0]), 40, [], corners)[0] == (-7, 0)


def test_boxes_overlap_by_an_area():
    assert Box(0, 0, 4, 4).overlap(Box(2, 3, 9, 9)) == 2
    assert Box(0, 0, 4, 4).overlap(Box(4, 0, 9, 9)) == 0
    assert Box(0, 0, 4, 4).overlap(Box(6, 6, 9, 9)) == 0


def test_losses_have_two_ends_if_both_are_known():
    lines = [LossLine("a", 0.4, 0.6, True), LossLine("b", None, 0.7, False)]
    svg = draw_losses("n", lines, "RMSE", "<b>" + "x" * 60)
    assert "all columns" in texts_of(svg)
    assert any(text.startswith("without &lt;b&gt;xx") for text in texts_of(svg))
    assert max(map(len, texts_of(svg))) < 50
    # The hollow dot of a line, and that of the legend.
    hollow = "fill: var(--paper)"
    assert svg.count(hollow) > draw_losses("n", lines[1:], "RMSE", "c").count(hollow)
