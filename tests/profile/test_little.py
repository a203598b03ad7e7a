import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lacunet.profile import little_mcar_test

nan = np.nan
ROWS = [(0, 0), (1, 1), (2, 2.5), (3, 2), (4, nan), (5, nan), (3, nan), (4, 4.5)]


def make_rows(stream, n_rows=200, n_columns=4, correlation=0.5):
    noise = stream.randn(n_rows, n_columns) * np.sqrt(1 - correlation)
    return noise + stream.randn(n_rows, 1) * np.sqrt(correlation)


def make_mcar(seed, share=0.3, **size):
    stream = np.random.RandomState(seed)
    X = make_rows(stream, **size)
    X[stream.rand(*X.shape) < share] = nan
    return X


def make_mar(seed, **size):
    """Lose columns where the first, which is never missing, is high."""
    stream = np.random.RandomState(seed)
    X = make_rows(stream, **size)
    lost = stream.rand(*X.shape) < stats.norm.cdf(X[:, :1] - 0.5)
    lost[:, 0] = False
    return np.where(lost, nan, X)


def test_the_value_that_was_worked_out_by_hand():
    test = little_mcar_test(np.array(ROWS))
    assert test.statistic == pytest.approx(40 / 13, abs=1e-9)
    assert test.df == 1
    assert test.p_value == pytest.approx(0.0794, abs=5e-5)
    assert (test.n_patterns, test.n_rows, test.n_columns) == (2, 8, 2)
    assert (test.left_out, test.n_alone) == ((), 0)


def test_the_correction_takes_the_covariance_over_one_row_less():
    test = little_mcar_test(np.array(ROWS), correct=True)
    assert test.statistic == pytest.approx(40 / 13 * 7 / 8, abs=1e-9)
    assert test.p_value == pytest.approx(0.1008, abs=5e-5)


def test_rows_in_another_order_and_on_another_scale_give_the_same():
    X = make_mcar(0)
    test = little_mcar_test(X)
    other = little_mcar_test(X[::-1, ::-1] * [1e-5, 1, 1e5, 7] + [0, 5, -1e6, 0])
    assert other.statistic == pytest.approx(test.statistic, rel=1e-7)
    assert (other.df, other.n_patterns) == (test.df, test.n_patterns)
    tiny = little_mcar_test(X * [1e-200, 1, 1e200, 1])
    assert tiny.statistic == pytest.approx(test.statistic, rel=1e-7)


def test_rows_without_any_value_change_nothing():
    X = np.array(ROWS)
    test = little_mcar_test(np.vstack([X, [[nan, nan]] * 3]))
    assert test == little_mcar_test(X)


def test_rows_that_are_alone_with_their_pattern_say_nothing():
    # Then the statistic is the number of observed cells, whatever the values are.
    X = make_rows(np.random.RandomState(0), n_rows=63, n_columns=6)
    for row, mask in zip(X, np.ndindex(*[2] * 6), strict=False):
        row[np.array(mask, dtype=bool)] = nan
    X[:, 0] -= 5 * np.isnan(X[:, 1])  # as far from chance as can be
    test = little_mcar_test(X)
    assert test.n_alone == test.n_rows == 63
    assert test.statistic == pytest.approx((~np.isnan(X)).sum(), rel=1e-8)
    assert test.statistic == pytest.approx(test.df + 6, rel=1e-8)


def test_columns_that_take_no_part_are_named_with_the_reason():
    stream = np.random.RandomState(0)
    X = pd.DataFrame(make_mcar(0, n_columns=3), columns=["a", "b", "c"])
    plain = little_mcar_test(X)
    X["sum"] = X["a"] + X["b"]
    X["word"] = stream.choice(["x", "y"], len(X))
    X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(range(len(X)), unit="D")
    X["same"] = 1.0
    X["empty"] = nan
    X["endless"] = np.where(stream.rand(len(X)) < 0.5, np.inf, 1.0)
    test = little_mcar_test(X)
    assert dict(test.left_out) == {
        "sum": "follows from other columns",
        "word": "not numbers",
        "day": "a date",
        "same": "constant",
        "empty": "nothing is observed",
        "endless": "has infinite values",
    }
    assert test.statistic == pytest.approx(plain.statistic, rel=1e-7)
    assert (test.df, test.n_columns) == (plain.df, 3)


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (np.zeros((5, 0)), "fewer than two columns"),
        (np.array([[1.0], [nan], [2.0]]), "fewer than two columns"),
        (np.arange(8.0).reshape(4, 2) ** 2, "nothing is missing"),
        ([[1.0, 2.0], [3.0, 1.0], [nan, nan]], "nothing is missing"),
        (np.full((5, 3), nan), "fewer than two columns"),
        ([[1.0, 2.0, 7.0], [2.0, 1.0, nan], [4.0, 5.0, 1.0]], "more rows than columns"),
        ([["a", "b"], ["c", None]], "fewer than two columns of numbers"),
        ([[1, nan], [2, nan], [nan, 3], [nan, 5]], "observed in two patterns"),
    ],
)
def test_a_table_that_can_not_be_tested_is_refused_with_the_reason(X, why):
    with pytest.raises(ValueError, match=f"Little's test is not for: .*{why}"):
        little_mcar_test(X)


def test_what_is_not_known_enough_is_not_tested(monkeypatch):
    monkeypatch.setattr("lacunet.profile._gaussian._MOST_CYCLES", 2)
    with pytest.raises(ValueError, match="were not found"):
        little_mcar_test(make_mcar(0, share=0.6))


def test_holes_that_depend_on_another_column_are_seen():
    assert little_mcar_test(make_mar(0)).p_value < 1e-6
    assert little_mcar_test(make_mcar(0)).p_value > 0.05


def test_the_global_random_state_is_not_used():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    little_mcar_test(make_mcar(1))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_under_mcar_it_rejects_as_often_as_it_says(correlation):
    p_values = [
        little_mcar_test(make_mcar(seed, correlation=correlation)).p_value
        for seed in range(250)
    ]
    rejected = np.mean(np.array(p_values) <= 0.05)
    assert 0.01 < rejected < 0.09  # 3 standard errors
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.slow
def test_under_mar_it_rejects_far_more_often():
    sized = {"n_rows": 100, "correlation": 0.5}
    p_values = [
        little_mcar_test(make_mar(seed, **sized)).p_value for seed in range(100)
    ]
    assert np.mean(np.array(p_values) <= 0.05) > 0.9
