import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lacunet.profile._input import find_oddities, make_unique, read_columns


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_library_are_read_alike(make):
    X = make({"n": [1.5, None, 3.0], "c": ["x", "y", None], "e": [None, None, None]})
    number, category, empty = read_columns(X)
    assert [c.kind for c in (number, category, empty)] == [
        "number",
        "category",
        "empty",
    ]
    np.testing.assert_array_equal(number.values, [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(category.values, [0, 1, np.nan])
    assert category.categories == ("x", "y")
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
    missing = [column.missing.tolist() for column in read_columns(X)]
    assert missing == [
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
        [False, True, False, False],
    ]


def test_dates_are_days():
    days = [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 11)]
    (column,) = read_columns(pd.DataFrame({"day": pd.Series(days, dtype=object)}))
    assert column.kind == "date"
    np.testing.assert_array_equal(column.values, [1, np.nan, 10])


def test_what_no_estimator_accepts_is_read_with_the_reason():
    X = pd.DataFrame(
        {
            "mixed": pd.Series([1, "?", None], dtype=object),
            "lists": pd.Series([[1], None, [2]], dtype=object),
            "length": pd.to_timedelta([1, None, 3], unit="D"),
        }
    )
    columns = read_columns(X)
    assert [column.kind for column in columns] == ["other"] * 3
    assert [column.missing.sum() for column in columns] == [1, 1, 1]
    assert columns[0].problem == "its values are of type int and str"
    assert columns[1].problem == "its values are of type list"
    assert columns[0].categories == (1, "?")
    assert columns[1].categories == ("[1]", "[2]")


def test_infinite_numbers_stay_numbers():
    (column,) = read_columns(np.array([[-np.inf], [np.inf], [np.nan]]))
    assert column.kind == "number"
    assert column.missing.tolist() == [False, False, True]
    assert find_oddities(column).has_infinity


def test_columns_of_one_name_are_numbered():
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    assert [column.name for column in read_columns(X)] == ["a", "a (2)", "b"]
    assert [column.values[0] for column in read_columns(X)] == [1, 2, 3]
    index = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    assert read_columns(X.set_axis(index, axis=1))[0].name == "('a', 'x')"


def test_a_name_that_was_taken_already_is_not_given_again():
    assert make_unique(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        ([1.0, 2.0], ValueError, "1 dimensions, but expected 2"),
        (sparse.eye(2), TypeError, "dense table in memory"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"LazyFrame.*X.collect\(\)"),
    ],
)
def test_what_is_no_table_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        read_columns(X)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"),
        ([Decimal("1.5"), None], "number"),
        ([True, False, None], "category"),
        (["1", "2"], "category"),
        ([datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), None], "date"),
        ([10**400, 1], "other"),
        ([1j, 2j], "other"),
    ],
)
def test_objects_are_read_by_what_they_are(values, kind):
    (column,) = read_columns(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
    assert column.kind == kind
    assert column.missing.tolist() == [value is None for value in values]


# --- oddities


def oddities_of(values):
    (column,) = read_columns(pd.DataFrame({"x": values}))
    return find_oddities(column)


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ([1.0, 2.0, 3.0, -999.0, -999.0], (("-999", 2),)),
        ([1, 2, 3, 9999], (("9999", 1),)),
        ([0, 1, 1, -9], (("-9", 1),)),
        ([1.5, 2.5, -99, 99], (("-99", 1), ("99", 1))),
        ([96, 97, 98, 99], ()),  # not apart
        ([0, 50, 99, 150], ()),  # not at an end
        ([1.0, 2.0, 3.0, -998.0], ()),
        ([1.0, 2.0, 3.0, 1e9], ()),
        ([-999.0, -999.0], ()),  # nothing to stand apart from
        (["a", "?", "b", "?"], (("?", 2),)),
        (["a", " Unknown ", "n/a"], ((" Unknown ", 1), ("n/a", 1))),
        (["a", "b", "no"], ()),
        ([1, "?", 2, None], (("?", 1),)),
    ],
)
def test_values_that_look_like_markers_are_found(values, markers):
    assert oddities_of(values).markers == markers


def test_a_column_that_would_be_numeric_is_found():
    assert oddities_of(["1", "2.5", "?"]).else_number
    assert oddities_of(pd.Series([1, "?"], dtype=object)).else_number
    assert not oddities_of(["1", "a", "?"]).else_number
    assert not oddities_of(["1", "2"]).else_number
    assert not oddities_of(["?"]).else_number


@pytest.mark.parametrize(
    ("values", "is_identifier"),
    [
        (range(100, 130), True),
        ([3, 7, 8, *range(100, 130)], True),
        (np.random.RandomState(0).permutation(30), True),
        ([f"n{i}" for i in range(30)], True),
        ([f"n{i}" for i in range(19)], False),  # too few
        (range(19), False),
        ([*range(30), 5], False),
        (np.linspace(0, 1, 30), False),
        (np.random.RandomState(0).randint(0, 10**6, 30), False),
        ([f"n{i % 29}" for i in range(30)], False),
    ],
)
def test_identifiers_are_found(values, is_identifier):
    assert oddities_of(list(values)).is_identifier is is_identifier
