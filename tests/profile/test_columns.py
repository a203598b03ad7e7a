import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lacunet.profile import profile_table
from lacunet.profile._columns import (
    as_frame,
    as_numbers,
    find_distribution,
    kind_of,
    read_column,
    read_table,
)

nan = np.nan


def distribution_of(values, by=None):
    """Count values, by the missingness of another column if there is one."""
    other = None if by is None else pd.Series(by, name="other")
    return find_distribution(read_column(pd.Series(values)), other)


@pytest.mark.parametrize(
    "values",
    [
        np.random.RandomState(0).randn(500),
        np.random.RandomState(0).randint(20, 90, 500).astype(float),
        np.array([*np.linspace(0, 1, 400), 1e6, -1e6, nan]),
        np.array([1.7e308, -1.7e308, *range(20)]),
        np.array([*range(30), np.inf, nan]),
        np.array([5e-324, *range(20)]) * 1e-300,
        pd.date_range("2020-01-01", periods=400, freq="7h").to_numpy(),
    ],
    ids=["normal", "integers", "outliers", "huge", "infinite", "tiny", "dates"],
)
def test_bins_hold_all_numbers(values):
    found = distribution_of(values)
    finite = np.isfinite(values) if values.dtype.kind == "f" else values == values
    assert sum(found.counts) == finite.sum()
    assert found.binned
    assert len(found.labels) == len(found.counts) + 1 <= 26


def test_bins_of_integers_hold_equally_many():
    found = distribution_of(np.repeat(np.arange(0.0, 40), 3))
    assert found.labels[:3] == ("0", "5", "10")
    assert set(found.counts[:-1]) == {15}


def test_outliers_do_not_squeeze_the_others_into_one_bin():
    found = distribution_of([*np.linspace(0, 1, 400), 1e6])
    assert max(found.counts) < 40
    assert found.labels[-1] == "1,000,000"


def test_few_numbers_are_counted_one_by_one():
    found = distribution_of([0, 1, 1, 2.5, nan])
    assert (found.labels, found.counts) == (("0", "1", "2.5"), (1, 2, 1))
    assert not found.binned


def test_rare_categories_are_pooled():
    found = distribution_of([*"aab", None, *map(str, range(10))])
    assert found.labels[:2] == ("a", "b")
    assert found.labels[-1] == "5 others"
    assert found.counts == (2, 1, 1, 1, 1, 1, 1, 5)


@pytest.mark.parametrize("values", [[nan, nan], [np.inf, np.inf], [[1], None]])
def test_what_can_not_be_counted_has_no_distribution(values):
    assert distribution_of(values) is None


def test_rows_are_split_by_the_missingness_of_another_column():
    by = [nan, 1.0, nan, 1.0]
    found = distribution_of(["a", "a", "b", None], by)
    assert (found.by, found.counts, found.counts_missing) == ("other", (2, 1), (1, 1))


def test_the_split_is_by_what_the_values_are_associated_with():
    stream = np.random.RandomState(0)
    X = pd.DataFrame({"age": stream.randn(300), "weight": stream.randn(300)})
    X["ill"] = np.where(X["age"] > 0, "yes", "no")
    X.loc[X["age"] > 0.5, "weight"] = nan
    found = profile_table(X, target="ill")
    age, weight = (column.distribution for column in found.columns)
    assert (age.by, weight.by, found.target.distribution.by) == (
        "weight",
        None,
        "weight",
    )
    assert sum(age.counts_missing) == X["weight"].isna().sum()
    assert weight.counts_missing == ()


def test_of_many_columns_those_with_missing_values_have_a_distribution():
    X = np.random.RandomState(0).randn(20, 80)
    X[:5, 70:] = nan
    columns = profile_table(X).columns
    shown = [column.name for column in columns if column.distribution]
    assert shown == list(map(str, [*range(20), *range(70, 80)]))
    assert all(column.samples for column in columns)


def test_samples_are_some_of_the_values_as_text():
    X = pd.DataFrame(
        {
            "x": [*np.arange(100) / 8, nan],
            "day": [*pd.to_datetime(["2020-01-02", None] * 50), pd.NaT],
            "nothing": nan,
        }
    )
    samples = [column.samples for column in profile_table(X).columns]
    assert samples[0] == ("0", "3", "6.125", "9.25", "12.38")
    assert samples[1:] == [("2020-01-02",), ()]


# --- reading


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
    X = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a (2)", "a"])
    assert [column.name for column in read(X)] == ["a", "a (2)", "a (3)"]


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        ([1.0, 2.0], ValueError, "1 dimensions, but expected 2"),
        (sparse.eye(2), TypeError, "expected a dense table"),
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
