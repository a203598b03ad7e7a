import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lacunet.profile import _little, little_mcar_test
from lacunet.profile._columns import as_frame, read_table

nan = np.nan
ROWS = [(0, 0), (1, 1), (2, 2.5), (3, 2), (4, nan), (5, nan), (3, nan), (4, 4.5)]


def make_rows(stream, n_rows=200, n_columns=4, correlation=0.5):
    noise = stream.randn(n_rows, n_columns) * np.sqrt(1 - correlation)
    return noise + stream.randn(n_rows, 1) * np.sqrt(correlation)


def make_mcar(seed, fraction=0.3, **size):
    stream = np.random.RandomState(seed)
    X = make_rows(stream, **size)
    X[stream.rand(*X.shape) < fraction] = nan
    return X


def make_mar(seed, **size):
    """Drop values of columns where the first, which is never missing, is high."""
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


def test_rows_that_are_alone_with_their_pattern_carry_no_information():
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
        "word": "not numeric",
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
        (np.zeros((5, 0)), "fewer than two numeric columns"),
        (np.array([[1.0], [nan], [2.0]]), "fewer than two numeric columns"),
        (np.arange(8.0).reshape(4, 2) ** 2, "no values are missing"),
        ([[1.0, 2.0], [3.0, 1.0], [nan, nan]], "no values are missing"),
        (np.full((5, 3), nan), "fewer than two numeric columns"),
        (
            [[1.0, 2.0, 7.0], [2.0, 1.0, nan], [4.0, 5.0, 1.0]],
            "no more rows than numeric columns",
        ),
        ([["a", "b"], ["c", None]], "fewer than two numeric columns"),
        ([[1, nan], [2, nan], [nan, 3], [nan, 5]], "observed in two patterns"),
    ],
)
def test_a_table_that_can_not_be_tested_is_refused_with_the_reason(X, why):
    with pytest.raises(ValueError, match=f"Little's test does not apply to: .*{why}"):
        little_mcar_test(X)


def test_no_result_without_convergence(monkeypatch):
    monkeypatch.setattr("lacunet.profile._little.MAX_STEPS", 2)
    with pytest.raises(ValueError, match="did not converge"):
        little_mcar_test(make_mcar(0, fraction=0.6))


@pytest.mark.parametrize("fraction", [0.0, 0.2])
def test_a_sum_of_columns_is_detected(fraction):
    X = make_mcar(0, fraction=0, n_columns=3)
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2] * 2])
    X[np.random.RandomState(2).rand(*X.shape) < fraction] = nan
    X[0, 0] = nan
    left_out = dict(little_mcar_test(X).left_out)
    assert left_out == dict.fromkeys("34", "follows from other columns")


def test_columns_that_are_never_observed_together_are_supported():
    X = make_mcar(0, fraction=0)
    X[:100, 0], X[100:, 1] = nan, nan
    assert little_mcar_test(X).n_patterns == 2


def test_rows_are_left_out_where_patterns_are_too_many(monkeypatch):
    X = np.random.RandomState(0).randn(80, 3)
    X[:30, 1], X[79, 2] = nan, nan  # three patterns, one of them of a single row
    table = read_table(as_frame(X))
    for n_patterns, expected in ((3, {80}), (2, {40, 20, 10})):
        monkeypatch.setattr(_little, "MAX_COST", n_patterns * 3**3)
        test, note = _little.run_sampled(table, np.random.RandomState(0))
        assert test.n_rows in expected
        assert (test.n_patterns, note) == (n_patterns, "")


def test_missingness_that_depends_on_another_column_is_detected():
    assert little_mcar_test(make_mar(0)).p_value < 1e-6
    assert little_mcar_test(make_mcar(0)).p_value > 0.05


def test_the_global_random_state_is_not_used():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    little_mcar_test(make_mcar(1))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_under_mcar_it_rejects_at_its_level(correlation):
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
