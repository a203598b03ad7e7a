import numpy as np
import pyarrow as pa
import pytest

from lacunet.tables._values import (
    NumberStyle,
    NumberSurvey,
    find_non_numbers,
    has_thousands_separators,
    read_floats,
    read_integers,
)


def survey(*blocks):
    found = NumberSurvey()
    for block in blocks:
        found.update(pa.array(block, pa.string()))
    return found


def write(texts, *values):
    return survey(texts).style.write(np.array(values, dtype=float))


def test_all_spellings_of_floats_are_read():
    texts = ["1", "+1", "-1.", ".5", "1e3", "1E-2", None, "0.1"]
    values = read_floats(pa.array(texts)).to_pylist()
    assert values == [1, 1, -1, 0.5, 1000, 0.01, None, 0.1]


@pytest.mark.parametrize(
    "text", ["x", "1,5", "1.5.5", "0x10", "1_000", "nan", "-", "1 2", "$1", "5%", "١"]
)
def test_what_is_no_number_is_none(text):
    assert read_floats(pa.array(["1", text])) is None
    assert find_non_numbers(pa.array(["1", None, text])).tolist() == [2]


def test_numbers_read_are_those_that_python_reads():
    values = np.random.default_rng(0).normal(size=300) * 10.0 ** np.arange(-150, 150)
    texts = [repr(value) for value in values.tolist()]
    assert read_floats(pa.array(texts)).to_pylist() == values.tolist()
    assert read_floats(pa.array(["2,5", "3"]), ",").to_pylist() == [2.5, 3.0]
    assert read_floats(pa.array(["2,5", "3.5"]), ",") is None


def test_integers_keep_all_digits():
    texts = ["9007199254740993", "+7", "-0012", None]
    assert read_integers(pa.array(texts)).to_pylist() == [
        9007199254740993,
        7,
        -12,
        None,
    ]


def test_a_survey_ends_with_the_first_that_is_no_number():
    assert survey(["1", "2"], ["3.5", None]).alive
    assert not survey(["1", "2"], ["x"]).alive


def test_integers_are_told_from_numbers():
    assert survey(["1", "-2", "+3"]).is_integer
    assert not survey(["1"], ["2.0"]).is_integer
    assert not survey(["1"], ["2e3"]).is_integer
    assert not survey(["9223372036854775808"]).is_integer
    assert not survey(["9007199254740993"]).is_exact
    assert survey(["9007199254740991"]).is_exact


def test_commas_stand_before_decimals_only_if_no_point_does():
    assert survey(["1", "2"], ["1,5"]).decimal == ","
    assert not survey(["1.5"], ["1,5"]).alive
    assert not survey(["1,5"], ["1.5"]).alive
    assert survey(["1.5", "x"]).decimal == "."
    assert survey(["1,5", "x"]).decimal == ","


def test_thousands_are_told_from_decimals_if_one_shows_it():
    assert survey(["1,234", "12,345"]).may_be_thousands
    assert not survey(["1,234"], ["1,5"]).may_be_thousands
    assert not survey(["0,234"]).may_be_thousands
    assert has_thousands_separators(pa.array(["1,234,567", "5", "-1,000.5"]))
    assert not has_thousands_separators(pa.array(["1,234", "x"]))
    assert not has_thousands_separators(pa.array(["1234"]))


def test_codes_are_digits_of_one_length_with_zeros_in_front():
    assert survey(["007", "012"], ["123"]).is_code
    assert not survey(["007", "12"]).is_code
    assert not survey(["0.7", "0.1"]).is_code
    assert not survey(["0", "1"]).is_code
    assert not survey(["007"], ["1.5"]).is_code


def test_counting_goes_over_the_ends_of_blocks():
    assert survey(["5", "6"], ["7", "8"]).is_counting
    assert not survey(["5", "6"], ["8", "9"]).is_counting
    assert not survey(["5", None]).is_counting
    assert not survey(["5", "7"]).is_counting
    assert not survey(["inf", "inf"]).is_counting


@pytest.mark.parametrize(
    ("texts", "value", "expected"),
    [
        (["1", "20"], 3.4, "3"),
        (["1", "20"], -0.2, "0"),
        (["1.50", "2.25"], 3.0, "3.00"),
        (["1.5", "2.125"], 3.0, "3.0"),
        (["1", "2.125"], 3.0, "3"),
        (["1", "2.125"], 3.14159, "3.142"),
        (["0.10", "0.25"], -0.001, "0.00"),
        (["0.30000000000000004"], 1.1, "1.10000000000000000"),
        (["1", "0.30000000000000004"], 1.1, "1.1"),
        (["1e-5", "2.25"], 0.33333, "0.333"),
        (["1.5E-10", "2E5"], 1.25e-12, "1.2E-12"),
        (["1.", "2."], 3.0, "3"),
    ],
)
def test_numbers_are_written_as_those_of_the_column_are(texts, value, expected):
    assert write(texts, value) == [expected]


def test_decimals_are_written_with_the_columns_own_mark():
    assert write(["1,5", "2"], 2.25, 3.0) == ["2,2", "3"]


def test_a_column_without_numbers_has_six_digits():
    assert NumberSurvey().style.write(np.array([1.23456789])) == ["1.23457"]
    assert NumberStyle().write(np.array([2.0])) == ["2"]


def test_blocks_and_nulls_make_no_difference():
    texts = ["1.5", None, "22.25", "3", "-4.125", None, "1e5"]
    whole = survey(texts)
    for cut in range(1, len(texts) - 1):
        parts = survey(texts[:cut], texts[cut:])
        assert parts.style == whole.style
        assert parts.least == whole.least
