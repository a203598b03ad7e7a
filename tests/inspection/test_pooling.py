"""Rubin's rules against values worked out by hand from the formulas."""

import numpy as np
import pandas as pd
import pytest
import small
from scipy import stats

from lacunet import IncompleteGaussianMixture, LacunetImputer
from lacunet.inspection import ColumnSensitivity, pool, sensitivity

# Mean 2, variance between 1; mean variance within 2: a total of 2 + 4/3 = 10/3.
ESTIMATES, VARIANCES = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]


def test_the_rules_of_rubin():
    found = pool(ESTIMATES, VARIANCES)
    assert found.estimate == 2.0
    assert found.std_error == pytest.approx((10 / 3) ** 0.5)
    assert found.variance_increase == pytest.approx(2 / 3)
    # The fraction of the variance due to missing values is 0.4: df = 2 / 0.4**2.
    assert found.df == pytest.approx(12.5)
    assert found.missing_information == pytest.approx((2 / 3 + 2 / 15.5) / (5 / 3))
    reach = stats.t.ppf(0.975, 12.5) * (10 / 3) ** 0.5
    assert found.low == pytest.approx(2 - reach)
    assert found.high == pytest.approx(2 + reach)
    assert found.p_value == pytest.approx(2 * stats.t.sf(2 / (10 / 3) ** 0.5, 12.5))


def test_the_degrees_of_freedom_of_barnard_and_rubin():
    # Of a complete sample 17: observed are 18 / 20 * 17 * 0.6 = 9.18.
    found = pool(ESTIMATES, VARIANCES, df_complete=17)
    assert found.df == pytest.approx(1 / (1 / 12.5 + 1 / 9.18))
    large = pool(ESTIMATES, VARIANCES, df_complete=1e9)
    assert large.df == pytest.approx(12.5)
    assert pool(ESTIMATES, VARIANCES, df_complete=np.inf).df == pytest.approx(12.5)


def test_vectors_are_pooled_one_by_one():
    rng = np.random.RandomState(0)
    q, u = rng.randn(5, 3), rng.rand(5, 3) + 0.1
    every = pool(q, u, df_complete=40, confidence=0.8)
    for k in range(3):
        one = pool(q[:, k], u[:, k], df_complete=40, confidence=0.8)
        for name in ("estimate", "low", "high", "p_value", "df", "missing_information"):
            assert getattr(every, name)[k] == pytest.approx(getattr(one, name))


def test_frames_and_generators_are_pooled_as_arrays_are():
    estimates, variances = np.array([[1.0, 2.0], [1.5, 2.5]]), np.ones((2, 2))
    expected = repr(pool(estimates, variances))
    frames = pd.DataFrame(estimates), pd.DataFrame(variances)
    series = [row for _, row in frames[0].iterrows()]
    for given in (frames, (series, frames[1]), (iter(estimates), iter(variances))):
        assert repr(pool(*given)) == expected


def test_equal_estimates_have_the_variance_of_a_complete_table():
    found = pool([0.1] * 3, [4.0] * 3)
    assert found.std_error == 2.0
    assert found.df == np.inf
    assert found.missing_information == found.variance_increase == 0.0
    assert found.high == pytest.approx(0.1 + 2 * stats.norm.ppf(0.975))
    # Barnard and Rubin's are those of the complete sample, but for a factor.
    assert pool([0.1] * 3, [4.0] * 3, df_complete=17).df == pytest.approx(17 * 18 / 20)


def test_it_reads_as_a_table():
    text = repr(pool([ESTIMATES, VARIANCES], np.ones((2, 3)), confidence=0.9))
    head, names, *lines = text.splitlines()
    assert head == "Pooled over 2 completed tables"
    assert "90% low" in names
    assert len(lines) == 3
    assert all("< 0.0001" in line or line.count("%") == 1 for line in lines)


@pytest.mark.parametrize(
    ("estimates", "variances", "options", "message"),
    [
        (1.0, 1.0, {}, r"shape \(\) and variances"),
        ([1.0], [1.0], {}, "from 1 table, but expected at least 2"),
        ([1.0, 2.0], [1.0], {}, r"shape \(2,\) and variances of shape \(1,\)"),
        (np.ones((2, 2, 2)), np.ones((2, 2, 2)), {}, "expected both of shape"),
        ([1.0, np.nan], [1.0, 1.0], {}, "NaN or infinite"),
        ([1.0, 2.0], [1.0, 0.0], {}, "not positive"),
        ([1.0, 2.0], [1.0, 1.0], {"df_complete": 0}, "Got df_complete=0"),
        ([1.0, 2.0], [1.0, 1.0], {"df_complete": [9, 9]}, r"Got df_complete=\[9, 9\]"),
        (["a", "b"], [1.0, 1.0], {}, "not arrays of numbers"),
        (
            [pd.Series([1.0, 2.0], index=["a", "b"])] * 2,
            [pd.Series([1.0, 2.0], index=["b", "a"])] * 2,
            {},
            "Got series of 'a', 'b', and others of other names",
        ),
        ([1.0, 2.0], [1.0, 1.0], {"confidence": 95}, "Got confidence=95"),
    ],
)
def test_wrong_input_is_refused(estimates, variances, options, message):
    with pytest.raises(ValueError, match=message):
        pool(estimates, variances, **options)


# --- shifts


def table(seed=0):
    rng = np.random.RandomState(seed)
    X = pd.DataFrame({"x": rng.randn(300), "y": 5 + 2 * rng.randn(300)})
    X["z"] = np.where(X["x"] > 0, "a", "b")
    X.loc[::2, "y"] = np.nan
    X.loc[::3, "z"] = None
    return X


def test_means_move_by_the_fraction_that_is_missing_and_words_say_where_they_leave():
    X = table()
    density = IncompleteGaussianMixture(1, covariance_type="full")
    model = LacunetImputer(density=density, random_state=0).fit(X)
    (found,) = sensitivity(model, X, shifts=(-2.0, -0.1, 0.0, 2.0), n=10)
    assert (found.name, found.n_missing) == ("y", 150)
    assert found.observed == pytest.approx(X["y"].mean())
    means = [each.estimate for each in found.pooled]
    # Draws are the same, so that differences are exact.
    step = 0.5 * X["y"].std(ddof=0)
    expected = means[2] + np.array([-2.0, -0.1, 0.0, 2.0]) * step
    assert means == pytest.approx(expected)
    assert found.outside == (-2.0, 2.0)
    assert found.describe().endswith("from a shift of -2 and of +2 on.")
    assert model.shift == 0.0
    assert sensitivity(model, X.assign(y=1.0)) == []


@pytest.mark.parametrize("whole", [False, True])
def test_the_lower_the_shift_the_lower_the_mean_of_a_positive_column(whole):
    rng = np.random.RandomState(0)
    values = 20 + 10 * np.exp(rng.randn(200, 2))
    X = values.round() if whole else values
    X[::2, 1] = np.nan
    model = LacunetImputer(random_state=0).fit(X)
    shifts = (-5.0, -4.0, -3.0, -2.0, -1.0, 0.0)
    (found,) = sensitivity(model, X, shifts=shifts, n=3)
    means = [each.estimate for each in found.pooled]
    assert means == sorted(means)
    drawn = model.set_params(shift=-5.0).sample_imputations(X, 1)[0]
    assert drawn.min() >= np.nanmin(X[:, 1]) / 2


def test_values_known_by_a_bound_are_not_shifted():
    rng = np.random.RandomState(0)
    X = np.exp(rng.randn(300, 2))
    X[rng.rand(300) < 0.3, 1] = np.nan
    upper = np.where(X < 0.5, 0.5, np.nan)
    X[X < 0.5] = np.nan
    model = small.imputer().fit(X, upper=upper)
    (found,) = sensitivity(model, X, upper=upper, shifts=(0.0, 1.0), n=5)
    missing = np.isnan(X) & np.isnan(upper)
    assert (found.name, found.n_missing) == (1, missing[:, 1].sum())
    # Where bounds are unknown all missing values would move.
    means = [each.estimate for each in found.pooled]
    deviation = model.deviations_[1]
    expected = missing[:, 1].mean() * deviation
    assert means[1] - means[0] == pytest.approx(expected, rel=0.15)
    for shift in (0.0, 2.0):
        model.set_params(shift=shift)
        for table in (
            model.transform(X, upper=upper),
            *model.sample_imputations(X, 2, upper=upper),
        ):
            below = table[~np.isnan(upper)]
            assert ((below >= 0) & (below < 0.5)).all()


def test_columns_of_one_observed_value_have_no_interval():
    X = np.random.RandomState(0).randn(60, 2)
    X[:, 1] = np.nan
    X[:2, 1] = 3.0
    model = LacunetImputer(random_state=0)
    with pytest.warns(UserWarning, match="one value"):
        model.fit(X)
    assert sensitivity(model, X, n=2) == []


def test_next_to_no_degrees_of_freedom_tell_nothing():
    found = pool([1.0, 2.0, 3.0], [1e-20] * 3, df_complete=100)
    assert found.p_value == pytest.approx(1.0)
    assert found.low < -1e100
    assert found.high > 1e100


@pytest.mark.parametrize(
    ("means", "words"),
    [((2.0, 2.0), "inside of the 95% interval"), ((9.0, 9.0), "even without a shift")],
)
def test_words_of_other_columns(means, words):
    pooled = tuple(pool([mean, mean + 0.1], [0.04, 0.04]) for mean in means)
    found = ColumnSensitivity("y", 3, 2.0, (0.0, 1.0), pooled)
    assert words in found.describe()


def test_sensitivity_finds_columns_by_name():
    rng = np.random.RandomState(0)
    table = pd.DataFrame(rng.randn(100, 3) + [0, 5, 50], columns=["a", "b", "c"])
    table.loc[::3, "a"] = np.nan
    imputer = small.imputer().fit(table)
    straight = sensitivity(imputer, table, shifts=[0.0])
    turned = sensitivity(imputer, table[["c", "a", "b"]], shifts=[0.0])
    assert [each.name for each in turned] == [each.name for each in straight] == ["a"]
    assert turned[0].pooled[0].estimate == pytest.approx(straight[0].pooled[0].estimate)
    with pytest.raises(ValueError, match=r"Got shifts=\[\]"):
        sensitivity(imputer, table, shifts=[])
    with pytest.raises(ValueError, match="Got shifts=0.5, but expected a sequence"):
        sensitivity(imputer, table, shifts=0.5)
    with pytest.raises(ValueError, match="Got n=1, but expected at least 2"):
        sensitivity(imputer, table, n=1)
    with pytest.raises(TypeError, match="expected a LacunetImputer"):
        sensitivity(object(), table)
