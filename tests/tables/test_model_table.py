import json

import pytest
from own_tables import describe

from lacunet.exceptions import TableError
from lacunet.tables import ModelTable, ReadOptions

BEFORE = {"source": "t.csv", "target": "y", "missing": ["x"], "usual_missing": True}
TRAINING = """eu,us,iso,dotted,open,names
31/12/2023,12/31/2023,2023-12-31,31.12.2023,1/2/2024,31/1/2024
1/2/2024,1/2/2024,2024-01-02,1.2.2024,3/4/2024,31/1/2024
"""


def write(folder, record):
    (folder / ModelTable.FILE_NAME).write_text(json.dumps(record))
    return folder


def test_the_orders_that_rows_may_leave_open_are_kept(tmp_path):
    options = ReadOptions(missing=("x",), categorical=("names",))
    columns = describe(tmp_path, TRAINING, categorical=("names",)).values()
    known = ModelTable.of_columns([*columns], options, source="t.csv", target="y")
    assert (known.day_first, known.month_first) == (("eu",), ("us",))
    (tmp_path / ModelTable.FILE_NAME).write_text(known.to_text())
    assert ModelTable.read(tmp_path) == known


def test_without_such_dates_the_record_is_that_of_before(tmp_path):
    known = ModelTable.read(write(tmp_path, BEFORE))
    assert known == ModelTable("t.csv", "y", ("x",))
    assert json.loads(known.to_text()) == BEFORE


def test_nothing_is_known_of_a_model_without_a_record(tmp_path):
    assert ModelTable.read(tmp_path) == ModelTable()


def test_what_is_given_goes_before_what_is_known():
    known = ModelTable(missing=("x",), day_first=("a", "b"), month_first=("c",))
    found = known.options(ReadOptions(day_first=("c",), month_first=("b",)))
    assert (found.day_first, found.month_first) == (("c", "a"), ("b",))
    assert found.missing == ("x",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"day_first": "when"}, "list of texts as 'day_first'"),
        ({"day_first": None}, "list of texts as 'day_first'"),
        ({"month_first": ["when", 1]}, "list of texts as 'month_first'"),
        ({"month_first": {"when": True}}, "list of texts as 'month_first'"),
        ({"day_first": ["when"], "month_first": ["when"]}, "each column in one of"),
        ({"missing": "x"}, "list of texts as 'missing'"),
        ({"source": None}, "texts as 'source'"),
        ({"target": 0}, "texts as 'source' and 'target'"),
        ({"usual_missing": 1}, "true or false as 'usual_missing'"),
        ({"year_first": []}, "expected .*'month_first'"),
    ],
)
def test_a_record_with_a_wrong_value_is_refused(tmp_path, change, reason):
    with pytest.raises(TableError, match=f"damaged .*{reason}.* Fit again"):
        ModelTable.read(write(tmp_path, BEFORE | change))


@pytest.mark.parametrize("name", BEFORE)
def test_a_record_that_lacks_something_is_refused(tmp_path, name):
    record = {key: value for key, value in BEFORE.items() if key != name}
    with pytest.raises(TableError, match="damaged .*expected"):
        ModelTable.read(write(tmp_path, record))
