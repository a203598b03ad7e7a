"""Laws that all mechanisms keep, and errors."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lacunet.missingness import drop_values

NAN = np.nan
MECHANISMS = ["mcar", "mar", "mnar", "censored", "column", "monotone"]
BY_CELLS = [mechanism for mechanism in MECHANISMS if mechanism != "column"]


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return request.param


def make_table(rows=400, columns=5, seed=0):
    """Numbers that depend on each other."""
    rng = np.random.RandomState(seed)
    return rng.randn(rows, columns) + rng.randn(rows, 1)


def make_table_with_holes():
    table = make_table()
    table[np.random.RandomState(1).rand(*table.shape) < 0.3] = NAN
    return table


def lost_in(*args, **options):
    """Return the mask alone."""
    return drop_values(*args, return_mask=True, **{"random_state": 0, **options})[1]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("keep_one", [False, True])
def test_what_is_not_lost_is_as_it_was_and_the_mask_tells(mechanism, exact, keep_one):
    table = make_table_with_holes()
    before = table.copy()
    after, lost = drop_values(
        table,
        0.4,
        mechanism,
        exact=exact,
        keep_one=keep_one,
        return_mask=True,
        random_state=0,
    )
    np.testing.assert_array_equal(table, before)
    assert not np.shares_memory(after, table)
    assert lost.any()
    assert not lost[np.isnan(before)].any()
    np.testing.assert_array_equal(after, np.where(lost, NAN, before))


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.7])
def test_the_rate_is_met_within_sampling_error(mechanism, rate):
    table = make_table_with_holes()
    observed = ~np.isnan(table)
    shares = [
        lost_in(table, rate, mechanism, random_state=seed).sum() / observed.sum()
        for seed in range(20)
    ]
    # Rows or columns that go together are as good as so many draws.
    draws = {"column": 5, "monotone": 400}.get(mechanism, observed.sum())
    error = np.sqrt(rate * (1 - rate) / draws / 20)
    assert abs(np.mean(shares) - rate) < 4 * error


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("keep_one", [False, True])
@pytest.mark.parametrize("name", BY_CELLS)
def test_exact_is_exact(name, rate, keep_one):
    table = make_table_with_holes() if rate < 0.7 else make_table()
    lost = lost_in(table, rate, name, exact=True, keep_one=keep_one)
    assert lost.sum() == round(rate * np.isfinite(table).sum())


def test_a_rate_of_zero_gives_an_equal_copy(mechanism):
    table = make_table_with_holes()
    after, lost = drop_values(table, 0, mechanism, return_mask=True)
    np.testing.assert_array_equal(after, table)
    assert not np.shares_memory(after, table)
    assert not lost.any()


@pytest.mark.parametrize("exact", [False, True])
def test_keep_one_leaves_a_value_to_every_row_that_had_one(mechanism, exact):
    table = make_table_with_holes()
    table[:3] = NAN
    had_some = ~np.isnan(table).all(1)
    options = {"exact": exact, "random_state": 1}
    emptied = np.isnan(drop_values(table, 0.6, mechanism, **options)).all(1)
    kept = np.isnan(drop_values(table, 0.6, mechanism, keep_one=True, **options))
    assert (emptied & had_some).any()
    np.testing.assert_array_equal(kept.all(1), ~had_some)


@pytest.mark.parametrize("name", BY_CELLS)
def test_keep_one_does_not_lower_the_rate(name):
    table = make_table(rows=2000, columns=4)
    with_one, without = (
        lost_in(table, 0.6, name, keep_one=keep).mean() for keep in (True, False)
    )
    assert with_one == without


def test_rows_that_keep_one_lose_all_others_where_only_one_can_stay():
    lost = lost_in(make_table(columns=4), 0.75, keep_one=True, exact=True)
    assert (lost.sum(1) == 3).all()
    counts = (~lost).sum(0)
    assert stats.chisquare(counts).pvalue > 0.001


def test_only_the_columns_named_lose_values(mechanism):
    lost = lost_in(make_table(), 0.5, mechanism, columns=[3, -4])
    assert not lost[:, [0, 2, 4]].any()
    assert lost[:, [1, 3]].any()
    if mechanism != "column":
        assert abs(lost[:, [1, 3]].mean() - 0.5) < 0.1


def test_values_in_other_columns_are_values_to_keep():
    table = make_table()
    lost = lost_in(table, 0.9, columns=[0, 1], keep_one=True, exact=True)
    assert lost.sum() == 720


def test_the_same_seed_gives_the_same(mechanism):
    table = make_table()
    one, two, other = (
        lost_in(table, 0.5, mechanism, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, two)
    # Which values are the largest is not random.
    assert (one != other).any() or mechanism == "censored"


def test_a_seed_leaves_the_global_one_alone(mechanism):
    before = np.random.get_state()  # noqa: NPY002
    lost_in(make_table(), 0.5, mechanism, random_state=3)
    after = np.random.get_state()  # noqa: NPY002
    assert before[2] == after[2]
    np.testing.assert_array_equal(before[1], after[1])


def test_what_is_lost_of_a_table_made_with_the_same_seed_does_not_depend_on_it():
    table = np.random.RandomState(0).rand(3000, 2)
    lost = lost_in(table, 0.5, random_state=0)
    for values, mask in zip(table.T, lost.T, strict=True):
        assert stats.ks_2samp(values[mask], values[~mask]).pvalue > 0.01


def test_a_random_state_goes_on(mechanism):
    table = np.arange(9) + np.arange(50)[:, None] // 10
    state = np.random.RandomState(0)
    one, two = (lost_in(table, 0.33, mechanism, random_state=state) for _ in "ab")
    assert (one != two).any()


def test_tables_without_anything_to_lose_stay_as_they_are(mechanism):
    empty = np.full((3, 2), NAN)
    np.testing.assert_array_equal(drop_values(empty, 0.5, mechanism), empty)
    assert drop_values(np.empty((0, 2)), 0.5, mechanism).shape == (0, 2)


def test_an_empty_column_is_no_hindrance(mechanism):
    table = make_table(columns=4)
    table[:, 2] = NAN
    lost = lost_in(table, 0.3, mechanism, exact=True)
    assert not lost[:, 2].any()
    assert lost.sum() in (360, 400)  # or one of three columns


# --- errors


@pytest.mark.parametrize("rate", [1.0, -0.1, NAN, 25])
def test_a_rate_is_a_share_below_one(rate):
    with pytest.raises(ValueError, match="Got rate=.* at least 0 and less than 1"):
        drop_values(make_table(), rate)


@pytest.mark.parametrize("rate", ["0.5", None, True])
def test_a_rate_is_a_number(rate):
    with pytest.raises(TypeError, match="Got rate="):
        drop_values(make_table(), rate)


def test_an_unknown_mechanism_is_refused_with_those_known():
    with pytest.raises(ValueError, match="Got mechanism='nmar'.* mcar, mar, mnar"):
        drop_values(make_table(), 0.5, "nmar")


@pytest.mark.parametrize("columns", [[5], [-6], ["a"], [True, False], [0.5]])
def test_unknown_columns_are_refused(columns):
    with pytest.raises(ValueError, match=f"Got {columns[0]!r} in columns"):
        drop_values(make_table(), 0.5, columns=columns)


@pytest.mark.parametrize("columns", ["a", []])
def test_columns_are_a_list_with_something_in_it(columns):
    with pytest.raises(ValueError, match="expected a list of at least one column"):
        drop_values(pd.DataFrame({"a": [1.0]}), 0.5, columns=columns)


def test_unknown_names_are_refused_with_those_known():
    frame = pd.DataFrame(np.ones((2, 7)), columns=list("abcdefg"))
    with pytest.raises(ValueError, match="Got 'A' .* 'd', 'e' and 2 more"):
        drop_values(frame, 0.5, columns=["a", "A"])


@pytest.mark.parametrize("name", BY_CELLS)
def test_a_rate_that_would_empty_rows_is_refused_with_keep_one(name):
    message = "keep_one=True, but expected at most 0.8"
    table = make_table()
    with pytest.raises(ValueError, match=message if name != "mar" else "less than 0.8"):
        drop_values(table, 0.81, name, keep_one=True)
    drop_values(table, 0.79, name, keep_one=True)


def test_mar_can_lose_no_more_than_is_outside_of_the_columns_that_stay():
    with pytest.raises(ValueError, match="Got rate=0.5 with .*less than 0.5"):
        drop_values(make_table(columns=2), 0.5, "mar")


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (make_table(columns=1), None),
        (np.ones((9, 3)), None),
        (np.ones((9, 3)) * [[1, 2, 3]], [0]),
    ],
)
def test_mar_needs_something_to_depend_on(table, columns):
    with pytest.raises(ValueError, match="mechanism='mar', but nothing that a loss"):
        drop_values(table, 0.2, "mar", columns=columns)


@pytest.mark.parametrize("name", ["mar", "mnar"])
def test_infinite_values_have_no_standardised_ones(name):
    table = make_table()
    table[3, 1] = -np.inf
    with pytest.raises(ValueError, match="infinite value in column 1"):
        drop_values(table, 0.2, name)


def test_what_is_no_table_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="sparse matrix"):
        drop_values(sparse.eye(3))
    with pytest.raises(TypeError, match="X.collect()"):
        drop_values(pl.LazyFrame({"a": [1]}))
    with pytest.raises(ValueError, match="1 dimensions, but expected 2"):
        drop_values([1.0, 2.0])
    with pytest.raises(ValueError, match="several columns of one name"):
        drop_values(pd.DataFrame([[1, 2]], columns=["a", "a"]))
