import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lacunet.profile._input import (
    as_frame,
    as_numbers,
    kind_of,
    make_unique,
    read_table,
)


def read(X):
    return [column for _, column in read_table(as_frame(X)).items()]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_library_are_read_alike(make):
    X = make({"n": [1.5, None, 3.0], "c": ["x", "y", None], "e": [None, None, None]})
    number, category, empty = columns = read(X)
    assert [kind_of(c) for c in columns] == ["number", "category", "empty"]
    np.testing.assert_array_equal(number, [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(as_numbers(category), [0, 1, np.nan])
    assert list(category.cat.categories) == ["x", "y"]
    assert empty.isna().all()


def test_all_that_means_missing_is_missing():
    X = pd.DataFrame(
        {
            "o": pd.Series(["a", None, pd.NA, np.nan], dtype=object),
            "t": pd.to_datetime(["2020-01-02", None, None, "2020-01-03"]),
            "i": pd.array([1, None, 3, 4], dtype="Int64"),
            "b": pd.array([True, None, False, True], dtype="boolean"),
        }
    )
    missing = [column.isna().tolist() for column in read(X)]
    assert missing == [
        [False, True, True, True],
        [False, True, True, False],
        [False, True, False, False],
        [False, True, False, False],
    ]


def test_dates_are_days():
    days = [datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 11)]
    (column,) = read(pd.DataFrame({"day": pd.Series(days, dtype=object)}))
    assert kind_of(column) == "date"
    np.testing.assert_array_equal(as_numbers(column), [1, np.nan, 10])


def test_what_no_estimator_accepts_is_read_as_strings():
    X = pd.DataFrame(
        {
            "mixed": pd.Series([1, "?", None], dtype=object),
            "lists": pd.Series([[1], None, [2]], dtype=object),
            "length": pd.to_timedelta([1, None, 3], unit="D"),
        }
    )
    columns = read(X)
    assert [kind_of(column) for column in columns] == ["other"] * 3
    assert [column.isna().sum() for column in columns] == [1, 1, 1]
    assert columns[0].tolist()[:2] == ["1", "?"]
    assert columns[1].tolist()[::2] == ["[1]", "[2]"]


def test_infinite_numbers_stay_numbers():
    (column,) = read(np.array([[-np.inf], [np.inf], [np.nan]]))
    assert kind_of(column) == "number"
    assert column.isna().tolist() == [False, False, True]


def test_columns_of_one_name_are_numbered():
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    assert [column.name for column in read(X)] == ["a", "a (2)", "b"]
    assert [column[0] for column in read(X)] == [1, 2, 3]
    index = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")])
    assert read(X.set_axis(index, axis=1))[0].name == "('a', 'x')"


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
        read(X)


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
    (column,) = read(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
    assert kind_of(column) == kind
    assert column.isna().tolist() == [value is None for value in values]
