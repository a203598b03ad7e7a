import dataclasses
import json
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lacunet.exceptions import TableError
from lacunet.profile import (
    Profile,
    _dependence,
    _profile,
    little_mcar_test,
    profile_table,
)

nan = np.nan


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Learn less than usual: what is learned has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_profile, "MAX_PREDICTED", 2)
        patch.setattr(_dependence, "N_FOLDS", 2)
        patch.setitem(_dependence.BOOSTING, "max_iter", 5)
        yield


def make_frame(n_rows=200, seed=0):
    """Return a table whose missingness depends on values and on the target."""
    stream = np.random.RandomState(seed)
    X = pd.DataFrame(stream.randn(n_rows, 3), columns=["a", "b", "c"])
    X["town"] = stream.choice(["Rome", "Bonn"], n_rows)
    X["y"] = stream.choice(["ill", "well"], n_rows)
    X.loc[(X["a"] > 0.3) & (stream.rand(n_rows) < 0.8), "b"] = nan
    X.loc[(X["y"] == "ill") & (stream.rand(n_rows) < 0.6), "c"] = nan
    return X


@pytest.fixture(scope="module")
def frame():
    return make_frame()


@pytest.fixture(scope="module")
def profile(frame):
    return profile_table(frame, target="y")


def test_counts_are_those_of_the_cells(frame, profile):
    missing = frame.drop(columns="y").isna()
    assert (profile.n_rows, profile.n_columns) == missing.shape
    assert profile.n_missing == missing.sum().sum()
    assert profile.fraction_missing == pytest.approx(missing.to_numpy().mean())
    assert [c.n_missing for c in profile.columns] == missing.sum().tolist()
    assert [c.fraction_missing for c in profile.columns] == missing.mean().tolist()
    assert [c.n_distinct for c in profile.columns] == [
        frame[name].nunique() for name in missing
    ]
    assert profile.n_complete_rows == (~missing.any(axis=1)).sum()
    assert sum(pattern.n_rows for pattern in profile.patterns) == len(frame)


def test_kinds_are_those_that_the_estimators_see(profile):
    kinds = {column.name: column.kind for column in profile.columns}
    assert kinds == {"a": "number", "b": "number", "c": "number", "town": "category"}
    assert profile.target.kind == "category"


def test_what_missingness_depends_on_is_found(profile):
    (link,) = [link for link in profile.associations.links if link.by == "value"]
    assert (link.column, link.on) == ("b", "a")
    predicted = {each.column: each for each in profile.predictability}
    assert predicted["b"].auc > 0.8
    assert predicted["c"].auc < 0.65


def test_associations_with_the_target_are_found(profile):
    (link,) = profile.target.associations.links
    assert (link.column, link.on, link.where) == ("c", "y", "is 'ill'")
    assert profile.target.explained > 0.1
    # The target is none of the columns.
    assert "y" not in profile.associations.on


def test_littles_test_is_the_public_one(frame, profile):
    assert profile.little == little_mcar_test(frame.drop(columns="y"))
    assert dict(profile.little.left_out) == {"town": "not numeric"}


def test_everything_goes_into_json_and_nothing_is_changed(profile):
    plain = profile.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False))["n_rows"] == 200
    assert set(plain) == {field.name for field in dataclasses.fields(Profile)}
    assert plain["columns"][1]["name"] == "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile.n_rows = 1


def test_the_same_seed_gives_the_same_and_no_global_state_is_used(frame, profile):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    before = frame.copy()
    assert profile_table(frame, target="y") == profile
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    pd.testing.assert_frame_equal(frame, before)


def test_a_target_beside_the_table_is_one_in_it(frame):
    few = frame[:80]
    beside = profile_table(few.drop(columns="y"), target=few["y"])
    assert beside == profile_table(few, target="y")
    array = frame[["a", "b"]].to_numpy()[:20]
    assert profile_table(array, target=[0, 1] * 10).target.name == "target"
    assert profile_table(array, target=0).target.name == "0"


def test_a_target_that_is_not_there_is_refused(frame):
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match="target='a', a name that 2 columns"):
        profile_table(twice, target="a")
    with pytest.raises(TableError, match="target='z'.*'a', 'b', 'c', 'town', 'y'"):
        profile_table(frame, target="z")
    with pytest.raises(TableError, match=r"shape \(2,\).*\(200,\)"):
        profile_table(frame, target=[0, 1])
    with pytest.raises(ValueError, match="max_rows=0"):
        profile_table(frame, max_rows=0)


def test_polars_and_arrays_give_the_same(frame):
    few = frame[:40]
    profile = profile_table(few, target="y")
    assert profile_table(pl.from_pandas(few), target="y") == profile
    plain = profile_table(few[["a", "b", "c"]].to_numpy())
    assert plain.little.statistic == profile.little.statistic
    assert [c.n_missing for c in plain.columns] == [
        column.n_missing for column in profile.columns[:3]
    ]


def test_tests_are_on_some_rows_and_counts_on_all():
    frame = make_frame(n_rows=300)
    some = profile_table(frame, target="y", max_rows=100)
    assert (some.n_rows, some.n_tested_rows) == (300, 100)
    assert some.n_missing == frame.drop(columns="y").isna().sum().sum()
    assert some.little.n_rows <= 100
    other = profile_table(frame, target="y", max_rows=100, random_state=1)
    assert other.little != some.little


def test_columns_without_a_value_in_the_rows_that_are_tested_are_supported():
    stream = np.random.RandomState(0)
    X = pd.DataFrame(stream.randn(3000, 3), columns=["a", "b", "c"])
    X.loc[X["a"] > 0, "b"] = nan
    X.loc[1:, "c"] = nan
    X["town"] = ["Rome", *[None] * 2999]
    found = profile_table(X, max_rows=100)
    assert [column.kind for column in found.columns[2:]] == ["number", "category"]
    assert dict(found.little.left_out)["c"] == "nothing is observed"


def test_columns_that_are_missing_together_are_tested_once():
    stream = np.random.RandomState(0)
    X = stream.randn(200, 5)
    X[X[:, 0] > 0, 1:4] = nan
    found = profile_table(X)
    assert found.same_rows == (("1", "2", "3"),)
    assert found.associations.columns == ("1",)
    (predicted,) = found.predictability
    assert predicted.auc > 0.95
    assert predicted.auc_values > 0.95  # by column 0, not by the other two


def test_where_all_patterns_differ_littles_test_is_not_run():
    stream = np.random.RandomState(0)
    X = stream.randn(200, 20)
    X[stream.rand(*X.shape) < 0.5] = nan
    found = profile_table(X)
    assert found.little is None
    assert "pattern of missing values of its own" in found.little_note


def test_of_many_columns_littles_test_takes_the_least_complete(monkeypatch):
    monkeypatch.setattr("lacunet.profile._little.MAX_COLUMNS", 2)
    X = np.random.RandomState(0).randn(60, 4)
    X[:20, 1], X[10:40, 3] = nan, nan
    found = profile_table(X)
    assert found.little == dataclasses.replace(little_mcar_test(X[:, [1, 3]]))
    assert "the 2 columns with the most missing values" in found.little_note


@pytest.mark.parametrize(
    "X",
    [
        np.empty((0, 2)),
        np.empty((3, 0)),
        pd.DataFrame({"a": []}),
        pd.DataFrame(index=range(3)),
        np.array([[1.0], [nan]]),
        np.full((30, 3), nan),
        np.arange(60.0).reshape(30, 2),
        [[1, "a"], [None, "b"], [3, None]],
        np.array([[True, False]]),
        pd.DataFrame([[1, nan], [nan, 2]] * 20, columns=["a", "a"]),
        pd.DataFrame(
            {"l": [[1], None] * 20, "m": [1, "?"] * 20, "i": [np.inf, 1] * 20}
        ),
    ],
    ids=[
        *("no rows", "no columns", "no rows, a name", "no names", "one column"),
        *("nothing", "complete", "lists", "booleans", "one name", "odd"),
    ],
)
def test_odd_tables_have_a_profile(X):
    profile = profile_table(X)
    json.dumps(profile.as_dict(), allow_nan=False)
    assert 0 <= profile.fraction_missing <= 1
    assert profile.n_missing == sum(column.n_missing for column in profile.columns)
    n_rows = sum(count for _, count in profile.row_histogram)
    assert n_rows == profile.n_rows


@pytest.mark.parametrize("target", ["l", "m", "i", "d", "e"])
def test_odd_targets_are_supported(target):
    X = pd.DataFrame(
        {
            "l": [[1], None] * 40,
            "m": [1, "?"] * 40,
            "i": [np.inf, 1] * 40,
            "d": pd.to_datetime(["2020-01-01", "2021-01-01"] * 40),
            "e": [None] * 80,
            "x": [1.0, nan, 2.0, nan] * 20,
        }
    )
    profile = profile_table(X, target=target)
    assert profile.target.name == target
    assert profile.target.n_missing == X[target].isna().sum()


def test_rare_patterns_are_counted():
    X = np.where(np.eye(25, dtype=bool), nan, 1.0)
    profile = profile_table(X)
    assert (profile.n_patterns, len(profile.patterns)) == (25, 20)
    assert profile.patterns[0].missing == ("0",)
    assert profile.patterns[0].fraction == 1 / 25


def test_rows_are_counted_by_their_missing_cells_and_sorted_on_the_map():
    profile = profile_table([[nan, nan], [1, nan], [1, 2], [nan, 2], [3, nan]])
    assert profile.row_histogram == ((0, 1), (1, 3), (2, 1))
    assert (profile.n_complete_rows, profile.n_empty_rows) == (1, 1)
    assert profile.map_by_row[:2] == ((1, 1), (0, 1))
    assert profile.map_by_pattern == ((0, 0), (0, 1), (0, 1), (1, 0), (1, 1))


def test_of_very_many_columns_some_are_tested():
    stream = np.random.RandomState(0)
    X = stream.randn(40, 400)
    X[stream.rand(*X.shape) < 0.3] = nan
    profile = profile_table(X)
    assert profile.n_candidates > 200
    counts = np.isnan(X).sum(axis=0)
    tested = counts[[int(name) for name in profile.associations.columns]]
    assert len(tested) == 50
    assert tested.min() >= np.sort(counts[counts <= 30])[-51]
    assert len(profile.associations.on) == 200
    assert len(profile.map_by_row[0]) == 100
    assert any("the 50 columns with the most" in each for each in profile.notices)


@pytest.mark.slow
def test_ten_thousand_columns_take_seconds():
    stream = np.random.RandomState(0)
    X = stream.randn(200, 10_000)
    X[stream.rand(*X.shape) < 0.3] = nan
    start = time.process_time()
    assert profile_table(pd.DataFrame(X)).n_columns == 10_000
    assert time.process_time() - start < 30


@pytest.mark.slow
def test_a_hundred_thousand_rows_take_seconds():
    stream = np.random.RandomState(0)
    X = stream.randn(100_000, 30)
    X[stream.rand(*X.shape) < 0.2] = nan
    start = time.process_time()
    assert profile_table(X).n_tested_rows == 20_000
    assert time.process_time() - start < 30
