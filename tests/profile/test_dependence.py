import numpy as np
import pandas as pd
import pytest

from lacunet.profile._dependence import LEVEL, find_links, pool_levels
from lacunet.profile._holes import open_holes


@pytest.fixture(scope="module")
def columns():
    """Return columns by name: holes that depend on values, on holes and on nothing."""
    stream = np.random.RandomState(0)
    n_rows = 600
    X = pd.DataFrame(
        {
            "age": stream.normal(50, 10, n_rows),
            "town": stream.choice(["Rome", "Bonn", "Oslo"], n_rows),
            "seen": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(stream.randint(0, 1000, n_rows), unit="D"),
        }
    )
    values = stream.randn(n_rows)
    X["by_age"] = np.where(X["age"] + 5 * stream.randn(n_rows) > 60, np.nan, values)
    X["by_town"] = np.where((X["town"] == "Oslo") & (values > 0), np.nan, values)
    late = (X["seen"] < pd.Timestamp("2020-06-01")) & (stream.rand(n_rows) < 0.7)
    X["by_day"] = np.where(late, np.nan, values)
    X["alone"] = np.where(stream.rand(n_rows) < 0.2, np.nan, values)
    X["with_alone"] = np.where(
        X["alone"].isna() & (stream.rand(n_rows) < 0.8), np.nan, stream.randn(n_rows)
    )
    return {column.name: column for column in open_holes(X).columns()}


@pytest.fixture(scope="module")
def table(columns):
    with_holes = [column for column in columns.values() if column.missing.any()]
    return find_links(with_holes, list(columns.values()))


def find(table, column, on):
    return next(each for each in table.links if (each.column, each.on) == (column, on))


def test_what_depends_is_found_and_nothing_else(table):
    found = {(link.column, link.on, link.by) for link in table.links}
    expected = {
        ("by_age", "age", "value"),
        ("by_town", "town", "value"),
        ("by_day", "seen", "value"),
        ("with_alone", "alone", "missing"),
    }
    # Those that were made of the same numbers may tell of each other as well.
    assert expected <= found
    assert not [
        link for link in table.links if "alone" in link.column and link.by == "value"
    ]


def test_the_direction_is_told_in_words(table, columns):
    link = find(table, "by_age", "age")
    middle = np.sort(columns["age"].values)[299]
    assert link.where == f"is above {middle:.4g}"
    assert link.auc > 0.8
    high = columns["age"].values > middle
    holes = columns["by_age"].missing
    assert link.share_there == pytest.approx(holes[high].mean())
    assert link.share_elsewhere == pytest.approx(holes[~high].mean())
    assert link.contrast == link.share_there - link.share_elsewhere


def test_categories_name_the_level_and_dates_the_day(table):
    assert find(table, "by_town", "town").where == "is 'Oslo'"
    link = find(table, "by_day", "seen")
    assert link.where.startswith("is at most 2021-")
    assert link.auc < 0.5
    assert link.strength == pytest.approx(1 - 2 * link.auc)


@pytest.mark.parametrize("when", [0, 1])
def test_of_two_numbers_one_is_named(when):
    ill = np.arange(200.0) % 2
    X = np.column_stack(
        [np.where((ill == when) & (np.arange(200) < 90), np.nan, 1), ill]
    )
    columns = list(open_holes(X).columns())
    (link,) = find_links(columns[:1], columns[1:]).links
    assert link.where == f"is {when}"
    assert (link.share_there, link.share_elsewhere) == (0.45, 0)


def test_holes_that_come_together_are_told_once(table):
    pairs = [link for link in table.links if link.by == "missing"]
    told = [frozenset((link.column, link.on)) for link in pairs]
    assert len(told) == len(set(told))
    link = find(table, "with_alone", "alone")
    assert link.where == "is missing"
    assert link.share_elsewhere == 0


def test_holes_that_exclude_each_other_are_told_so():
    X = np.arange(120.0).reshape(60, 2)
    X[:30, 0], X[30:, 1] = np.nan, np.nan
    columns = list(open_holes(X).columns())
    (link,) = find_links(columns, []).links
    assert link.where == "is observed"
    assert (link.auc, link.share_there, link.share_elsewhere) == (0, 1, 0)


def test_tables_of_all_tests_go_with_the_links(table):
    i, j = table.columns.index("by_age"), table.on.index("age")
    assert table.by_value[i][j] == find(table, "by_age", "age").auc
    assert table.by_value[i][table.on.index("by_age")] is None
    assert np.shape(table.by_missing) == (len(table.columns),) * 2
    assert table.by_missing[i][i] is None
    tested = sum(auc is not None for row in table.by_value for auc in row)
    n_pairs = len(table.columns) * (len(table.columns) - 1) // 2
    assert table.n_tests == tested + n_pairs


def test_links_are_sorted_and_their_p_values_corrected(table):
    strengths = [link.strength for link in table.links]
    assert strengths == sorted(strengths, reverse=True)
    assert all(link.p_value <= link.p_adjusted <= LEVEL for link in table.links)


def test_where_there_is_nothing_nothing_is_found():
    found = 0
    for seed in range(20):
        stream = np.random.RandomState(seed)
        X = stream.randn(150, 6)
        X[stream.rand(*X.shape) < 0.2] = np.nan
        columns = list(open_holes(X).columns())
        found += find_links(columns, columns).n_links > 0
    assert found <= 3  # expected: one in twenty tables


def test_some_links_of_each_kind_are_kept_and_all_are_counted(columns, monkeypatch):
    monkeypatch.setattr("lacunet.profile._dependence.MOST_LINKS", 10)
    holes = np.random.RandomState(0).rand(200) < 0.5
    X = np.where(holes[:, None], np.nan, 1.0) * np.ones(6)
    columns = list(open_holes(np.column_stack([X, holes])).columns())
    table = find_links(columns[:6], columns)
    assert table.n_links == 6 + 6 * 5 / 2
    kinds = [link.by for link in table.links]
    assert (kinds.count("value"), kinds.count("missing")) == (6, 10)


def test_rare_levels_are_taken_together():
    words = [*(["often"] * 50), *(["also"] * 40), *map(str, range(100))]
    (column,) = open_holes(pd.DataFrame({"word": words})).columns()
    pooled = pool_levels(column)
    assert len(np.unique(pooled)) == 30
    np.testing.assert_array_equal(pooled[:90], column.values[:90])


def test_nothing_to_compare_is_no_hindrance():
    table = find_links([], [])
    assert (table.links, table.n_tests, table.by_value) == ((), 0, ())
