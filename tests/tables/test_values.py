import numpy as np
import pyarrow as pa
import pytest
from own_tables import describe, fill, read, save

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, Schema, SchemaColumn, open_table
from lacunet.tables._columns import TextColumn
from lacunet.tables._values import (
    DAY_FIRST,
    FORMATS,
    MARKERS,
    MONTH_FIRST,
    PLAIN,
    DateSurvey,
    Markers,
    NumberFormat,
    NumberStyle,
    read_floats,
    read_integers,
    trim,
)


def found(texts, *named, **more):
    return Markers(named, **more).find(pa.array(texts)).tolist()


@pytest.mark.parametrize("marker", MARKERS)
def test_usual_markers_mean_missing_in_columns_of_any_kind(tmp_path, marker):
    frame = read(tmp_path, f"n,t,d\n1.5,{marker},2024-01-01\n{marker},x,{marker}\n")
    assert frame.isna().to_numpy().tolist() == [
        [False, True, False],
        [True, False, True],
    ]
    assert frame["n"].dtype == float


def test_markers_are_case_sensitive_and_spaces_do_not_count(tmp_path):
    assert found(["na", "nAn", "Null", "--", "0"]) == [False] * 5
    frame = read(tmp_path, 'a,b\n NA ,"  "\n1,x\n')
    assert frame.iloc[0].isna().all()


def test_a_number_that_means_missing_does_so_in_any_spelling():
    texts = ["-999", "-999.0", "-0999", "-999.00", "-999.5", "999", "-9990", "x"]
    assert found(texts, "-999") == [True] * 4 + [False] * 4
    assert found(["+99", "99.", "99,0", "99e0"], "99") == [True, True, False, False]
    assert found(["99,0", "99,000"], "99", decimals=".,") == [True, True]
    assert found(["0.50", "0.5", "1.5"], "0.5") == [True, True, False]


def test_words_that_mean_missing_are_taken_as_they_are(tmp_path):
    text = "a,b\nunknown,1\nx,-999.0\ny,2\n"
    frame = read(tmp_path, text, missing=("unknown", "-999"))
    assert frame["a"].isna().tolist() == [True, False, False]
    assert frame["b"].isna().tolist() == [False, True, False]
    assert describe(tmp_path, text, missing="-999")["b"].kind == "integer"


def test_all_markers_are_filled(tmp_path):
    text = "x\n1\nNA\n-999.0\n?\n3\n"
    assert fill(tmp_path, text, {"x": 2}, missing="-999") == b"x\n1\n2\n2\n2\n3\n"


def test_numbers_that_mean_missing_are_found_among_floats():
    values = np.array([1.0, np.nan, -999.0, np.inf])
    assert Markers(("-999", "inf", "x")).find_numbers(values).tolist() == [
        False,
        True,
        True,
        True,
    ]
    assert Markers().find_numbers(values).tolist() == [False, True, False, False]


def test_nulls_are_no_markers():
    assert found([None, "NA", "x" * 50], "-999") == [False, True, False]
    assert trim(pa.array([" a", None, "b c\t"])).to_pylist() == ["a", None, "b c"]
    assert trim(pa.array([' "a b" ', '"c"'])).to_pylist() == ["a b", '"c"']


def test_without_the_usual_markers_only_the_empty_cell_means_missing(tmp_path):
    text = "strand,x\n+,1\n-,2\n,\nNA,4\n"
    frame = read(tmp_path, text, usual_missing=False, missing="4")
    assert frame["strand"].tolist()[:2] == ["+", "-"]
    assert frame["strand"].isna().tolist() == [False, False, True, False]
    assert frame["x"].isna().tolist() == [False, False, True, True]


def test_a_minus_beside_a_plus_is_pointed_out(tmp_path):
    text = "strand,x\n+,1\n-,2\n"
    (notice,) = [
        each
        for each in describe(tmp_path, text)["strand"].notices
        if each.what == "minus"
    ]
    assert "--no-usual-missing" in notice.text
    kept = describe(tmp_path, text, usual_missing=False)["strand"]
    assert not [each for each in kept.notices if each.what == "minus"]


def test_numbers_that_mean_missing_are_compared_in_their_own_precision():
    values = np.array([-999.9, 1e20, 1.0, np.inf], dtype=np.float32)
    markers = Markers(("-999.9", "1e20", "1e300"))
    assert markers.find_numbers(values).tolist() == [True, True, False, False]


def survey(*blocks):
    found = TextColumn("x")
    for block in blocks:
        found.update(pa.array(block, pa.string()), 0)
    found.choose_format(".", FORMATS)
    return found


def write(texts, *values):
    style = NumberStyle(survey(texts).format)
    style.update(pa.array(texts, pa.string()))
    return style.write(np.array(values, dtype=float))


def test_all_spellings_of_floats_are_read():
    texts = ["1", "+1", "-1.", ".5", "1e3", "1E-2", None, "0.1"]
    values = read_floats(pa.array(texts)).to_pylist()
    assert values == [1, 1, -1, 0.5, 1000, 0.01, None, 0.1]


@pytest.mark.parametrize(
    "text", ["x", "1,5", "1.5.5", "0x10", "1_000", "nan", "-", "1 2", "$1", "5%", "١"]
)
def test_what_is_no_number_is_none(text):
    assert read_floats(pa.array(["1", text])) is None
    assert PLAIN.read(pa.array(["1", None, text])).to_pylist() == [1.0, None, None]


def test_numbers_read_are_those_that_python_reads():
    values = np.random.default_rng(0).normal(size=300) * 10.0 ** np.arange(-150, 150)
    texts = [repr(value) for value in values.tolist()]
    assert read_floats(pa.array(texts)).to_pylist() == values.tolist()


@pytest.mark.parametrize(
    ("format", "texts", "values"),
    [
        (NumberFormat(","), ["2,5", "3", "3.5", ",5"], [2.5, 3, None, 0.5]),
        (
            NumberFormat(".", ","),
            ["1,234.5", "12", "1,23", "1234"],
            [1234.5, 12, None, 1234],
        ),
        (NumberFormat(",", "."), ["1.386,46", "-2.000", "1.5"], [1386.46, -2000, None]),
        (NumberFormat(",", " "), ["1 386,46", "1\u00a0386", "12"], [1386.46, 1386, 12]),
        (NumberFormat(".", "'"), ["1'386.46", "7"], [1386.46, 7]),
        (NumberFormat(after="%"), ["12 %", "-3%", "12", "%"], [12, -3, None, None]),
        (NumberFormat(after=" kg"), ["110.3 kg", "95kg", "95 g"], [110.3, 95, None]),
        (
            NumberFormat(".", ",", before="$"),
            ["$3.20", "-$1,200", "$-5", "-$-5", "€5"],
            [3.2, -1200, -5, None, None],
        ),
    ],
)
def test_decorated_numbers_are_read(format, texts, values):
    assert format.read(pa.array(texts)).to_pylist() == values


def test_bounds_are_found():
    texts = pa.array(["<0.5", "> 100", "<=7", "≥3", "<x", "0.5", None])
    assert PLAIN.find_censored(texts).tolist() == [True] * 4 + [False] * 3
    lower, upper = (np.nan_to_num(end, nan=-1) for end in PLAIN.read_bounds(texts))
    assert lower.tolist() == [-1, 100, -1, 3, -1, -1, -1]
    assert upper.tolist() == [0.5, -1, 7, -1, -1, -1, -1]
    lower, upper = PLAIN.read_bounds(texts, whole=True)  # <5 is at most 4
    assert np.nan_to_num(lower, nan=-1).tolist() == [-1, 101, -1, 3, -1, -1, -1]
    assert np.nan_to_num(upper, nan=-1).tolist() == [0, -1, 7, -1, -1, -1, -1]
    german = NumberFormat(",", ".", after=" mg")
    assert german.read_bounds(pa.array(["<1.234,5 mg"]))[1].tolist() == [1234.5]
    assert NumberFormat(after=" mg").find_censored(
        pa.array(["<5 mg", "<5"])
    ).tolist() == [
        True,
        False,
    ]


def test_integers_keep_all_digits():
    texts = ["9007199254740993", "+7", "-0012", None]
    assert read_integers(pa.array(texts)).to_pylist() == [
        9007199254740993,
        7,
        -12,
        None,
    ]


def test_integers_and_numbers():
    assert survey(["1", "-2", "+3"]).kind == "integer"
    assert survey(["1"], ["2.0"]).kind == "number"
    assert survey(["1"], ["2e3"]).kind == "number"
    assert survey(["9223372036854775808"]).kind == "number"
    assert not survey(["9007199254740993"]).keeps_digits
    assert survey(["9007199254740991"]).keeps_digits


def test_codes_are_digits_of_one_length_with_leading_zeros():
    assert survey(["007", "012"], ["123"]).kind == "category"
    assert survey(["007", "12"]).kind == "integer"
    assert survey(["0.7", "0.1"]).kind == "number"
    assert survey(["0", "1"]).kind == "integer"
    assert survey(["007"], ["1.5"]).kind == "number"


def test_counting_goes_over_the_ends_of_blocks():
    assert survey(["5", "6"], ["7", "8"]).stats.is_counting
    assert not survey(["5", "6"], ["8", "9"]).stats.is_counting
    assert not survey(["5", None]).stats.is_counting
    assert not survey(["5", "7"]).stats.is_counting
    assert not survey(["inf", "inf"]).stats.is_counting


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
        (["1,5", "2"], 2.25, "2,2"),
        (["1.386,46", "12,00"], 1234567.891, "1.234.567,89"),
        (["$1,200", "$5"], -1234.4, "-$1,234"),
        (["110.3 kg", "95.0 kg"], 99.96, "100.0 kg"),
        (["12 %", "7 %"], 3.2, "3 %"),
    ],
)
def test_numbers_are_written_as_those_of_the_column_are(texts, value, expected):
    assert write(texts, value) == [expected]


def test_a_column_without_numbers_has_six_digits():
    assert NumberStyle().write(np.array([1.23456789, 2.0])) == ["1.23457", "2"]


def test_blocks_and_nulls_make_no_difference():
    texts = ["1.5", None, "22.25", "3", "-4.125", None, "1e5"]
    whole = NumberStyle()
    whole.update(pa.array(texts))
    for cut in range(1, len(texts) - 1):
        parts = NumberStyle()
        parts.update(pa.array(texts[:cut]))
        parts.update(pa.array(texts[cut:], pa.string()))
        assert parts == whole


def survey_dates(*blocks, order=None):
    found = DateSurvey(order)
    for block in blocks:
        found.update(pa.array(block, pa.string()))
    return found


def is_none(found):
    return found.style is None and not found.is_ambiguous


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31 17:05", "2024-01-31T17:05"),
        ("2024-01-31T17:05:09", "2024-01-31T17:05:09"),
        ("2024-01-31T17:05:09.25", "2024-01-31T17:05:09.25"),
        ("2024-01-05 17:05:09.5", "2024-01-05T17:05:09.5"),
        ("2024-01-31T17:05:09Z", "2024-01-31T17:05:09"),
        ("2024-01-31T17:05:09+02:00", "2024-01-31T15:05:09"),
        ("2024-01-31 17:05-0130", "2024-01-31T18:35"),
        ("2024/01/31", "2024-01-31"),
        ("2024/1/31 17:05", "2024-01-31T17:05"),
        ("31.01.2024", "2024-01-31"),
        ("31.1.2024", "2024-01-31"),
        ("05.01.2024 17:05:09.5", "2024-01-05T17:05:09.5"),
        ("31.1.2024 17:05:09.5", "2024-01-31T17:05:09.5"),
        ("31/01/2024 17:05:09", "2024-01-31T17:05:09"),
        ("01/31/2024", "2024-01-31"),
        ("31-01-2024", "2024-01-31"),
        ("1066-10-14", "1066-10-14"),
    ],
)
def test_dates_are_read_and_written_in_their_own_way(text, instant):
    style = survey_dates([text]).style
    (found,) = style.read(pa.array([text])).to_numpy()
    assert found == np.datetime64(instant)
    assert style.write(np.array([found])) == [text]


@pytest.mark.parametrize(
    "text", ["2024", "2024-02-30", "12:30", "32.01.2024", "2024-13-01", "x", "31.1.24"]
)
def test_what_is_no_date_is_none(text):
    assert is_none(survey_dates([text]))
    assert is_none(survey_dates(["2024-01-01", text]))
    assert is_none(survey_dates(["2024-01-01"], [text]))


def test_any_row_may_show_the_order_of_days_and_months():
    assert is_none(survey_dates(["1/2/2024"], ["31/2/2024", "3/4/2024"]))
    assert survey_dates(["1/2/2024"], ["31/1/2024"]).style.day == "%d/%m/%Y"
    assert survey_dates(["1/2/2024"], ["1/31/2024"]).style.day == "%m/%d/%Y"
    both = survey_dates(["1/2/2024", "3/4/2024"])
    assert both.style is None
    assert both.is_ambiguous


@pytest.mark.parametrize("order", [DAY_FIRST, MONTH_FIRST])
def test_a_known_order_is_used_where_dates_are_ambiguous(order):
    known = survey_dates(["1/2/2024"], ["3/4/2024"], order=order)
    assert known.style.day == order
    assert not known.is_ambiguous
    assert survey_dates(["31/1/2024"], ["1/2/2024"], order=order).style.day == DAY_FIRST
    assert (
        survey_dates(["1/2/2024"], ["1/31/2024"], order=order).style.day == MONTH_FIRST
    )
    assert survey_dates(["2024-02-01"], order=order).style.day == "%Y-%m-%d"
    assert is_none(survey_dates(["31/1/2024", "1/31/2024"], order=order))


def test_dates_are_rounded_to_what_is_written():
    instants = np.array(["2024-01-31T17:05:31", "2024-01-31T11:00"], dtype="M8[us]")
    assert survey_dates(["2024-01-01"]).style.write(instants) == [
        "2024-02-01",
        "2024-01-31",
    ]
    assert survey_dates(["1.1.2024 5:00"]).style.write(instants[:1]) == [
        "31.1.2024 17:06"
    ]


def test_the_fullest_of_several_ways_is_written():
    style = survey_dates(["2024-01-01T10:00:00"], ["2024-01-01T10:00:00.125"]).style
    assert style.write(np.array(["2024-05-05"], dtype="M8[us]")) == [
        "2024-05-05T00:00:00.000"
    ]


def test_dates_with_and_without_a_zone_do_not_mix():
    assert is_none(survey_dates(["2024-01-01T10:00Z", "2024-01-01T10:00"]))
    assert is_none(survey_dates(["2024-01-01T10:00", "2024-01-01T10:00+01:00"]))


def test_dates_in_a_table(tmp_path):
    text = "d,m\n31.12.2023,1/2/2024\n,\n2.1.2024,3/4/2024\n"
    frame = read(tmp_path, text)
    assert frame["d"].dtype.kind == "M"
    assert frame["d"].isna().tolist() == [False, True, False]
    known = describe(tmp_path, text)
    assert known["d"].kind == "date"
    assert (known["m"].kind, known["m"].notices[0].what) == ("category", "day-or-month")
    filled = fill(tmp_path, text, {"d": np.datetime64("2024-01-01T08:00")})
    assert filled == b"d,m\n31.12.2023,1/2/2024\n1.1.2024,\n2.1.2024,3/4/2024\n"


def test_a_block_without_dates_is_read_too(tmp_path):
    frame = read(tmp_path, "d\n2024-01-01\n" + "NA\n" * 3)
    assert frame["d"].isna().sum() == 3


def read_known(folder, text, **options):
    schema = Schema((SchemaColumn("d", "date"),))
    with open_table(save(folder, text), ReadOptions(**options)) as table:
        (frame,) = table.blocks(schema=schema)
    return frame["d"].dt.strftime("%Y-%m-%d").tolist()


def test_ambiguous_dates_are_read_in_the_known_order(tmp_path):
    text = "d,x\n03/02/2021,1\n"
    assert read_known(tmp_path, text, day_first=("d", "gone")) == ["2021-02-03"]
    assert read_known(tmp_path, text, month_first=("d",)) == ["2021-03-02"]
    for options in ({}, {"day_first": ("x",)}):
        with pytest.raises(TableError, match="'d' .* no dates, or not all"):
            read_known(tmp_path, text, **options)


def test_dates_that_are_plainly_in_another_order_are_never_swapped(tmp_path):
    plain = "d\n03/02/2021\n02/13/2021\n"
    found = read_known(tmp_path, plain, day_first=("d",))
    assert found == ["2021-03-02", "2021-02-13"]
    mixed = "d\n13/02/2021\n02/13/2021\n"
    with pytest.raises(TableError, match="'d' .* not all written in one way"):
        read_known(tmp_path, mixed, day_first=("d",))


def test_missing_values_are_filled_in_the_order_that_is_known(tmp_path):
    value = {"d": np.datetime64("2021-02-03")}
    text = "d,x\n05/06/2021,1\n,2\n"
    filled = fill(tmp_path, text, value, day_first=("d",))
    assert filled == b"d,x\n05/06/2021,1\n03/02/2021,2\n"
    filled = fill(tmp_path, text, value, month_first=("d",))
    assert filled == b"d,x\n05/06/2021,1\n02/03/2021,2\n"


def test_columns_of_dates_know_whether_days_come_first(tmp_path):
    text = "a,b,c,d\n31/1/2024,1/31/2024,31.1.2024,1/2/2024\n"
    known = describe(tmp_path, text)
    assert [each.day_first for each in known.values()] == [True, False, None, None]
    assert describe(tmp_path, text, categorical=("a",))["a"].day_first is None
    assert describe(tmp_path, text, month_first=("d",))["d"].day_first is False


def test_a_column_of_both_orders_is_refused():
    with pytest.raises(TableError, match="'d' in day_first and in month_first"):
        ReadOptions(day_first=("d",), month_first=("c", "d"))
