import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lacunet.exceptions import TableError
from lacunet.profile._holes import make_unique, open_holes


def columns_of(X):
    return list(open_holes(X).columns())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_library_are_read_alike(make):
    X = make({"n": [1.5, None, 3.0], "c": ["x", "y", None], "e": [None, None, None]})
    number, category, empty = columns_of(X)
    assert [c.kind for c in (number, category, empty)] == [
        "number",
        "category",
        "empty",
    ]
    np.testing.assert_array_equal(number.values, [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(category.values, [0, 1, np.nan])
    assert category.levels == ("x", "y")
    assert [c.missing.tolist() for c in (number, category, empty)] == [
        [False, True, False],
        [False, False, True],
        [True, True, True],
    ]


def test_all_that_means_missing_is_missing():
    X = pd.DataFrame(
        {
            "o": pd.Series(["a", None, pd.NA, np.nan], dtype=object),
            "t": pd.to_datetime(["2020-01-02", None, None, "2020-01-03"]),
            "i": pd.array([1, None, 3, 4], dtype="Int64"),
            "b": pd.array([True, None, False, True], dtype="boolean"),
        }
    )
    holes = [column.missing.tolist() for column in columns_of(X)]
    assert holes == [
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
        [False, True, False, False],
    ]


def test_dates_are_days():
    days = [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 11)]
    (column,) = columns_of(pd.DataFrame({"day": pd.Series(days, dtype=object)}))
    assert column.kind == "date"
    np.testing.assert_array_equal(column.values, [1, np.nan, 10])


def test_what_the_estimators_refuse_is_read_with_their_reason():
    X = pd.DataFrame(
        {
            "mixed": pd.Series([1, "?", None], dtype=object),
            "lists": pd.Series([[1], None, [2]], dtype=object),
            "length": pd.to_timedelta([1, None, 3], unit="D"),
        }
    )
    columns = columns_of(X)
    assert [column.kind for column in columns] == ["other"] * 3
    assert [column.missing.sum() for column in columns] == [1, 1, 1]
    assert "different kinds" in columns[0].refusal
    assert columns[0].levels == (1, "?")
    assert columns[1].levels == ("[1]", "[2]")


def test_infinite_numbers_stay_numbers():
    (column,) = columns_of(np.array([[-np.inf], [np.inf], [np.nan]]))
    assert column.kind == "number"
    assert column.missing.tolist() == [False, False, True]
    assert column.refusal


def test_columns_of_one_name_are_told_apart():
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    assert [column.name for column in columns_of(X)] == ["a", "a (2)", "b"]
    assert [column.values[0] for column in columns_of(X)] == [1, 2, 3]
    levels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    assert open_holes(X.set_axis(levels, axis=1)).names[0] == "('a', 'x')"


def test_a_name_that_was_taken_already_is_not_given_again():
    assert make_unique(["a", "a (2)", "a"]) == ("a", "a (2)", "a (3)")


def test_a_column_is_found_by_its_label_alone():
    table = open_holes(pd.DataFrame({"a": [1], 7: [2]}))
    assert table.find(7) == 1
    assert open_holes(np.zeros((1, 3))).find(2) == 2
    with pytest.raises(TableError, match="target='z', a name that no column has"):
        table.find("z")
    twice = open_holes(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(TableError, match="several columns have"):
        twice.find("a")


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="1 dimensions, but expected 2"):
        open_holes([1.0, 2.0])
