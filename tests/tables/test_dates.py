import numpy as np
import pyarrow as pa
import pytest
from own_tables import describe, fill, read, save

from lacunet.exceptions import TableError
from lacunet.tables import ReadOptions, Schema, SchemaColumn, open_table
from lacunet.tables._values import DAY_FIRST, MONTH_FIRST, DateSurvey


def survey(*blocks, order=None):
    found = DateSurvey(order)
    for block in blocks:
        if found.alive:
            found.update(pa.array(block, pa.string()))
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


@pytest.mark.parametrize("order", [DAY_FIRST, MONTH_FIRST])
def test_an_order_that_is_known_is_taken_where_no_row_tells_it(order):
    told = survey(["1/2/2024"], ["3/4/2024"], order=order)
    assert told.style.order == order
    assert not told.is_ambiguous
    assert survey(["31/1/2024"], ["1/2/2024"], order=order).style.order == DAY_FIRST
    assert survey(["1/2/2024"], ["1/31/2024"], order=order).style.order == MONTH_FIRST
    assert survey(["2024-02-01"], order=order).style.order.is_iso
    assert survey(["31/1/2024", "1/31/2024"], order=order).styles == []


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


def read_known(folder, text, **options):
    schema = Schema((SchemaColumn("d", "date"),))
    with open_table(save(folder, text), ReadOptions(**options)) as table:
        (frame,) = table.blocks(schema=schema)
    return frame["d"].dt.strftime("%Y-%m-%d").tolist()


def test_dates_that_leave_days_and_months_open_are_read_by_what_is_known(tmp_path):
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


def test_holes_are_filled_in_the_order_that_is_known(tmp_path):
    value = {"d": np.datetime64("2021-02-03")}
    text = "d,x\n05/06/2021,1\n,2\n"
    filled = fill(tmp_path, text, value, day_first=("d",))
    assert filled == b"d,x\n05/06/2021,1\n03/02/2021,2\n"
    filled = fill(tmp_path, text, value, month_first=("d",))
    assert filled == b"d,x\n05/06/2021,1\n02/03/2021,2\n"


def test_a_column_says_whether_its_days_stand_before_its_months(tmp_path):
    text = "a,b,c,d\n31/1/2024,1/31/2024,31.1.2024,1/2/2024\n"
    known = describe(tmp_path, text)
    assert [each.day_first for each in known.values()] == [True, False, None, None]
    assert describe(tmp_path, text, categorical=("a",))["a"].day_first is None
    assert describe(tmp_path, text, month_first=("d",))["d"].day_first is False


def test_a_column_of_both_orders_is_refused():
    with pytest.raises(TableError, match="'d' in day_first and in month_first"):
        ReadOptions(day_first=("d",), month_first=("c", "d"))
