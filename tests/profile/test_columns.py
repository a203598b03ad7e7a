import numpy as np
import pandas as pd
import pytest

from lacunet.profile import Association, AssociationTable, profile_table
from lacunet.profile._columns import find_distribution
from lacunet.profile._input import read_column

nan = np.nan


def distribution_of(values, by=None):
    """Count values, by the missingness of another column if there is one."""
    column = read_column(pd.Series(values)).rename("x")
    link = Association("other", "x", "value", 0.9, 0.0, 0.0, "is 1", 0.5, 0.1)
    links = () if by is None else (link,)
    table = pd.DataFrame({"x": column, "other": by})
    return find_distribution(column, table, AssociationTable((), (), links, 1, 1))


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
