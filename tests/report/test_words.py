import pytest

from lacunet.report._words import (
    show_count,
    show_difference,
    show_list,
    show_number,
    show_place,
    show_seconds,
    show_small,
    show_value,
)


def test_digits_are_as_many_as_the_paper_gives():
    assert show_value(0.8, "accuracy") == "0.800"
    assert show_value(0.0081, "mse_inside") == "0.00810"


@pytest.mark.parametrize(
    ("difference", "shown"),
    [(0.0123, "+0.012"), (-0.0123, "−0.012"), (0.0004, "±0"), (-0.0004, "±0")],
)
def test_a_difference_has_a_sign_unless_it_is_none(difference, shown):
    assert show_difference(difference, "accuracy") == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.015625, "0.016"), (0.000244, "0.00024"), (0.5, "0.50"), (1.0, "1")],
)
def test_small_numbers_are_no_powers_of_ten(number, shown):
    assert show_small(number) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(3.0, "3"), (-2.0, "−2"), (0.0123456, "0.01235")]
)
def test_whole_numbers_have_no_digits_behind_the_point(number, shown):
    assert show_number(number) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.5, "0.50 s"), (59.6, "60 s"), (600, "10 min"), (7200, "2.0 h")],
)
def test_times_have_the_unit_that_suits_them(seconds, shown):
    assert show_seconds(seconds) == shown


def test_lists_counts_and_places():
    assert show_list([]) == ""
    assert show_list(["a", "b"]) == "a and b"
    assert show_count(0, "cell") == "0 cells"
    assert [show_place(i) for i in (1, 12, 13, 23, 111)] == [
        "1st",
        "12th",
        "13th",
        "23rd",
        "111th",
    ]
