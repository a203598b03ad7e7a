import numpy as np
import pyarrow as pa
import pytest
from own_tables import describe, fill, read

from lacunet.tables._dates import DateSurvey


def survey(*blocks):
    found = DateSurvey()
    for block in blocks:
        if found.alive:
            found.see(pa.array(block, pa.string()))
    return found


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
    style = survey([text]).style
    (found,) = style.read(pa.array([text])).to_numpy()
    assert found == np.datetime64(instant)
    assert style.write(np.array([found])) == [text]


@pytest.mark.parametrize(
    "text", ["2024", "2024-02-30", "12:30", "32.01.2024", "2024-13-01", "x", "31.1.24"]
)
def test_what_is_no_date_is_none(text):
    assert not survey([text]).styles
    assert not survey(["2024-01-01", text]).styles
    assert not survey(["2024-01-01"], [text]).styles


def test_days_and_months_are_told_by_any_row():
    assert survey(["1/2/2024"], ["31/2/2024", "3/4/2024"]).styles == []
    assert survey(["1/2/2024"], ["31/1/2024"]).style.order.day == "%d/%m/%Y"
    assert survey(["1/2/2024"], ["1/31/2024"]).style.order.day == "%m/%d/%Y"
    both = survey(["1/2/2024", "3/4/2024"])
    assert both.style is None
    assert both.is_ambiguous


def test_dates_are_rounded_to_what_is_written():
    instants = np.array(["2024-01-31T17:05:31", "2024-01-31T11:00"], dtype="M8[us]")
    assert survey(["2024-01-01"]).style.write(instants) == ["2024-02-01", "2024-01-31"]
    assert survey(["1.1.2024 5:00"]).style.write(instants[:1]) == ["31.1.2024 17:06"]


def test_the_fullest_of_several_ways_is_written():
    style = survey(["2024-01-01T10:00:00"], ["2024-01-01T10:00:00.125"]).style
    assert style.write(np.array(["2024-05-05"], dtype="M8[us]")) == [
        "2024-05-05T00:00:00.000"
    ]


def test_dates_with_and_without_a_zone_do_not_mix():
    assert not survey(["2024-01-01T10:00Z", "2024-01-01T10:00"]).styles
    assert not survey(["2024-01-01T10:00", "2024-01-01T10:00+01:00"]).styles


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
