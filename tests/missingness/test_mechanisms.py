"""What the mechanisms are: mask against values, then numbers worked out by hand."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from lacunet.missingness import drop_values

NAN = np.nan


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


# --- mask and values


def dependence(lost, values):
    """Return the p-value of "the values lost are like those kept", pair by pair."""
    return np.array(
        [
            [stats.ks_2samp(column[mask], column[~mask]).pvalue for column in values.T]
            for mask in lost.T
            if mask.any()
        ]
    )


@pytest.mark.parametrize("exact", [False, True])
def test_mcar_passes_the_test_of_independence(exact):
    table = make_table(rows=1500)
    p_values = dependence(lost_in(table, 0.4, "mcar", exact=exact), table)
    assert p_values.min() * p_values.size > 0.01


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["mar", "mnar", "censored"])
def test_the_others_fail_the_test_of_independence(name, exact):
    table = make_table(rows=1500)
    p_values = dependence(lost_in(table, 0.4, name, exact=exact), table)
    assert (p_values.min(1) < 1e-20).all()


@pytest.mark.parametrize("seed", range(3))
def test_mar_depends_on_the_columns_that_stay_and_on_no_others(seed):
    """Where columns are independent, that is to be seen one by one."""
    table = np.random.RandomState(0).randn(1500, 6)
    lost = lost_in(table, 0.4, "mar", random_state=seed)
    stays = ~lost.any(0)
    assert stays.sum() == 1  # int((1 - 0.4) / 2 * 6)
    p_values = dependence(lost, table)
    assert (p_values[:, stays] < 1e-20).all()
    assert p_values[:, ~stays].min() * p_values[:, ~stays].size > 0.01


def test_mnar_depends_on_the_value_itself_and_on_no_other():
    table = np.random.RandomState(0).randn(1500, 4)
    p_values = dependence(lost_in(table, 0.4, "mnar"), table)
    others = p_values[~np.eye(4, dtype=bool)]
    assert (np.diag(p_values) < 1e-20).all()
    assert others.min() * others.size > 0.01


# --- by hand


@pytest.mark.parametrize("exact", [False, True])
def test_mnar_loses_the_larger_of_two_values_with_log_odds_of_two(exact):
    table = np.repeat([[3.0], [7.0]], 20_000, axis=0)  # standardised: -1 and 1
    lost = lost_in(table, 0.5, "mnar", exact=exact)[:, 0]
    assert abs(lost[:20_000].mean() - 0.1192) < 0.01
    assert abs(lost[20_000:].mean() - 0.8808) < 0.01


def test_mnar_is_calibrated_where_the_values_are_skew():
    """One in five is 2 deviations up, the others half a one down."""
    table = np.repeat([[0.0], [1.0]], [40_000, 10_000], axis=0)
    lost = lost_in(table, 0.1, "mnar")[:, 0]
    low, high = lost[:40_000].mean(), lost[40_000:].mean()
    assert abs(0.8 * low + 0.2 * high - 0.1) < 0.005
    log_odds = np.log(high / (1 - high)) - np.log(low / (1 - low))
    assert abs(log_odds - 2 * 2.5) < 0.3


def test_mar_follows_the_columns_not_named_with_log_odds_of_two():
    table = np.zeros((40_000, 2))
    table[::2, 0] = 9.0
    lost = lost_in(table, 0.5, "mar", columns=[1])[:, 1]
    shares = sorted([lost[::2].mean(), lost[1::2].mean()])
    np.testing.assert_allclose(shares, [0.1192, 0.8808], atol=0.01)


def test_mar_takes_what_is_missing_in_a_column_that_stays_for_its_mean():
    table = np.zeros((60_000, 2))
    table[:, 0] = np.tile([-1.0, 1.0, NAN], 20_000)
    lost = lost_in(table, 0.5, "mar", columns=[1])[:, 1]
    scores = np.array([-1, 1, 0]) / np.sqrt(2 / 3)
    shares = [lost[start::3].mean() for start in range(3)]
    sign = np.sign(shares[1] - shares[0])
    np.testing.assert_allclose(shares, expit(2 * sign * scores), atol=0.015)


def test_mar_adds_up_the_columns_that_stay_with_weights_that_are_drawn():
    table = np.random.RandomState(0).randn(1500, 5)
    masks = [
        lost_in(table, 0.4, "mar", columns=[4], random_state=seed)[:, 4]
        for seed in range(6)
    ]
    p_values = dependence(np.array(masks).T, table)
    assert (p_values[:, :4].min(0) < 1e-6).all()
    assert p_values[:, 4].min() > 0.001


@pytest.mark.parametrize(("rate", "columns", "staying"), [(0.2, 10, 4), (0.5, 10, 2)])
def test_half_of_the_columns_that_could_stay_under_mar_do(rate, columns, staying):
    lost = lost_in(make_table(columns=columns), rate, "mar", exact=True)
    assert (~lost.any(0)).sum() == staying
    assert lost.sum() == rate * lost.size


def test_mar_does_not_lean_on_columns_that_are_all_the_same():
    table = np.zeros((500, 6))
    table[:, 2] = 0.1
    table[:, 4] = np.arange(500)
    for seed in range(5):
        lost = lost_in(table, 0.3, "mar", random_state=seed)
        assert lost.any(0).tolist() == [True, True, True, True, False, True]


def test_censored_loses_the_largest():
    table = np.array([[5.0, 1.0], [2.0, 9.0], [NAN, 3.0], [4.0, 4.0], [1.0, 8.0]])
    after = drop_values(table, 0.5, "censored", exact=True, columns=[0])
    expected = [[NAN, 1.0], [2.0, 9.0], [NAN, 3.0], [NAN, 4.0], [1.0, 8.0]]
    np.testing.assert_array_equal(after, expected)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("rate", [0.1, 0.25, 0.6])
def test_all_above_a_quantile_are_censored(rate, exact):
    table = make_table_with_holes()
    lost = lost_in(table, rate, "censored", exact=exact)
    for values, mask in zip(table.T, lost.T, strict=True):
        quantile = np.nanquantile(values, 1 - rate)
        assert abs(mask.sum() - (values > quantile).sum()) <= 2
        assert values[mask].min() > np.nanmax(values[~mask])


def test_equal_values_are_censored_at_random_up_to_the_rate():
    table = np.repeat([[0.0], [1.0]], [20, 80], axis=0)
    one, two = (lost_in(table, 0.5, "censored", random_state=s) for s in (0, 1))
    assert one.sum() == two.sum() == 50
    assert not one[:20].any()
    assert (one != two).any()


def test_where_a_share_is_no_whole_number_the_number_censored_is_drawn():
    table = make_table(rows=5, columns=2)
    counts = [
        lost_in(table, 0.35, "censored", random_state=seed).sum(0)
        for seed in range(200)
    ]
    assert set(np.ravel(counts)) == {1, 2}
    assert abs(np.mean(counts) - 1.75) < 0.1


def test_columns_are_lost_as_a_whole():
    lost = lost_in(make_table(columns=10), 0.3, "column")
    assert sorted(lost.mean(0)) == [0.0] * 7 + [1.0] * 3


@pytest.mark.parametrize(("rate", "count"), [(0.3, 1), (0.45, 2), (0.99, 4)])
def test_exact_rounds_the_number_of_columns(rate, count):
    for seed in range(5):
        lost = lost_in(
            make_table(columns=4), rate, "column", exact=True, random_state=seed
        )
        assert lost.all(0).sum() == count


def test_the_number_of_columns_is_drawn_between_two_whole_ones():
    table = make_table(rows=2, columns=4)
    counts = [
        lost_in(table, 0.3, "column", random_state=seed).all(0).sum()
        for seed in range(300)
    ]
    assert set(counts) == {1, 2}
    assert abs(np.mean(counts) - 1.2) < 0.1


def test_each_column_is_lost_as_often_as_the_others():
    table = make_table(rows=1, columns=4)
    lost = [lost_in(table, 0.5, "column", random_state=s)[0] for s in range(400)]
    assert stats.chisquare(np.sum(lost, axis=0)).pvalue > 0.001


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("keep_one", [False, True])
def test_who_drops_out_does_not_come_back(exact, keep_one):
    lost = lost_in(make_table(), 0.4, "monotone", exact=exact, keep_one=keep_one)
    assert (np.diff(lost.astype(int), axis=1) >= 0).all()
    assert set(lost.sum(1)) == set(range(5 if keep_one else 6))


def test_rows_drop_out_at_each_column_with_the_same_probability():
    """With half of them left at each of two columns, 5 of 8 values are lost."""
    lost = lost_in(np.zeros((40_000, 2)), 0.625, "monotone")
    shares = np.bincount(lost.sum(1)) / 40_000
    np.testing.assert_allclose(shares, [0.25, 0.25, 0.5], atol=0.01)


def test_rows_drop_out_in_the_order_of_the_columns_named():
    lost = lost_in(make_table(), 0.4, "monotone", columns=[4, 0, 2])[:, [4, 0, 2]]
    assert (np.diff(lost.astype(int), axis=1) >= 0).all()
    assert len(set(lost.sum(1))) == 4


def test_exact_loses_each_value_as_likely_as_its_probability():
    """Pareto sampling: with a given number, the probabilities are about the same."""
    table = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]])
    draws = [
        lost_in(table, 0.5, "mnar", exact=True, random_state=seed)[:, 0]
        for seed in range(1000)
    ]
    expected = expit(2 * table[:, 0] / table.std())
    np.testing.assert_allclose(np.mean(draws, axis=0), expected, atol=0.05)
