"""What a user of the regressor may rely on, with NaN in X."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import r2_score
from small import numbers, regressor

from lacunet import IncompleteGaussianMixture

NAN = np.nan


def problem(n=60, seed=0):
    X, _ = numbers(n, seed=seed)
    noise = np.random.RandomState(seed).randn(n)
    return X, 100.0 + 5.0 * np.nansum(X, axis=1) + noise


def test_it_learns_from_rows_with_missing_values():
    X, y = problem(400)
    model = regressor(max_epochs=15, lr=0.02).fit(X[:300], y[:300])
    assert r2_score(y[300:], model.predict(X[300:])) > 0.5


def test_a_line_goes_on_outside_of_the_data_but_not_to_outliers():
    x = np.random.RandomState(0).randn(200, 1)
    model = regressor(max_epochs=40, lr=0.02).fit(x, 3 * x[:, 0])
    near, far, farther, outlier, other = model.predict(
        np.array([[5.0], [8.0], [20.0], [1e4], [1e12]])
    )
    assert 10 < near < far < farther < outlier == other < 100
    assert far - near > 1


def test_predictions_move_with_the_scale_of_the_target():
    X, y = problem()
    plain, scaled = (regressor().fit(X, target).predict(X) for target in (y, 1024 * y))
    np.testing.assert_allclose(scaled, 1024 * plain)


def test_several_outputs_are_predicted_in_the_units_of_each():
    X, y = problem(200)
    model = regressor(max_epochs=10, lr=0.02).fit(X, np.column_stack([y, -1000 * y]))
    both = model.predict(X)
    assert both.shape == (200, 2)
    assert r2_score(y, both[:, 0]) > 0.5
    assert r2_score(-1000 * y, both[:, 1]) > 0.5


def two_outputs(n=200):
    """Return rows, and two outputs of which a third are missing."""
    X, y = problem(n)
    both = np.column_stack([y, -1000 * y])
    partly = both.copy()
    partly[np.arange(n) % 3 == 0, 0] = NAN
    partly[np.arange(n) % 3 == 1, 1] = NAN
    return X, both, partly


@pytest.mark.parametrize("density", ["auto", None])
def test_outputs_are_learned_from_what_is_there(density):
    X, both, partly = two_outputs()
    options = {"max_epochs": 15, "lr": 0.02}
    options |= {"density": density, "indicator": "auto"} if density else {}
    model = regressor(**options).fit(X, pd.DataFrame(partly))
    scores = r2_score(both, model.predict(X), multioutput="raw_values")
    assert (scores > 0.5).all()
    nullable = pd.DataFrame(partly).astype("Float64").to_numpy()  # with pd.NA
    same = regressor(**options).fit(X, nullable).predict(X)
    np.testing.assert_array_equal(same, model.predict(X))
    with pytest.raises(ValueError, match="contains NaN"):
        model.score(X, partly)


def test_a_row_without_any_output_teaches_the_density_alone():
    X, _, partly = two_outputs(60)
    partly[:30] = NAN
    X[:30, 3], X[30:, 3] = 3 * X[:30, 0], NAN  # that they depend is seen there alone
    model = regressor(density=IncompleteGaussianMixture(covariance_type="full"))
    model.fit(X, partly)
    assert model.impute([[2.0, NAN, NAN, NAN]])[0, 3] == pytest.approx(6.0, rel=0.1)
    np.testing.assert_allclose(model._scale.mean, np.nanmean(partly, axis=0))


def test_missing_outputs_do_not_count_in_validation():
    X, both, partly = two_outputs(80)
    partly[60:63] = NAN
    given = {"X_val": X[60:], "y_val": partly[60:]}
    model = regressor(max_epochs=1).fit(X[:60], both[:60], **given)
    gaps = (model.predict(X[60:]) - partly[60:]) / both[:60].std(0)
    error = np.nanmean(np.square(gaps[3:]), axis=1).mean()
    assert model.history_[0].valid_loss == pytest.approx(error, rel=1e-4)


def test_an_output_without_one_value_is_refused():
    X, both, _ = two_outputs(60)
    nothing = np.column_stack([both[:, 0], np.full(60, NAN)])
    with pytest.raises(ValueError, match=r"without one value of the outputs \[1\]"):
        regressor().fit(X, nothing)
    with pytest.raises(ValueError, match="y_val with missing values only"):
        regressor().fit(X, both, X_val=X, y_val=np.full((60, 2), NAN))


def test_one_output_is_flat_and_a_column_is_told():
    X, y = problem()
    assert regressor().fit(X, y).predict(X).shape == (60,)
    with pytest.warns(Warning, match="column-vector y was passed"):
        model = regressor().fit(X, y[:, None])
    assert model.predict(X).shape == (60,)


def test_a_constant_target_is_predicted():
    X, _ = problem()
    model = regressor(max_epochs=10, lr=0.02).fit(X, np.full(60, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, atol=0.5)


@pytest.mark.parametrize(
    ("y", "match"),
    [
        (np.where(np.arange(60) == 3, NAN, 1.0), "contains NaN.*X_unlabelled"),
        (np.where(np.arange(60) == 3, np.inf, 1.0), "contains infinity"),
        (pd.Series([1.0, None] * 30, dtype="Float64"), "X_unlabelled"),
        (sparse.csr_matrix(np.ones((60, 1))), "[Ss]parse"),
        (np.ones((60, 2, 2)), "dim"),
        (np.ones(59), "inconsistent numbers of samples"),
        (["a"] * 60, "Got y with .a., but expected numbers.*classifier"),
        (None, "requires y to be passed"),
    ],
)
def test_other_targets_are_refused(y, match):
    X, _ = problem()
    with pytest.raises((ValueError, TypeError), match=match):
        regressor().fit(X, y)


def test_whole_weights_are_repeated_rows_and_zero_leaves_out():
    X, y = problem()
    weights = np.random.RandomState(0).randint(3, size=60)
    weighted = regressor().fit(X, y, weights).predict(X)
    repeated = regressor().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(repeated.predict(X), weighted)


def test_heavier_rows_pull_the_predictions():
    X, y = problem()
    high = np.where(y > np.median(y), 5.5, 0.25)
    options = {"max_epochs": 60, "lr": 0.02}  # of one step
    plain = regressor(**options).fit(X, y).predict(X).mean()
    assert regressor(**options).fit(X, y, high).predict(X).mean() > plain + 1.0


def test_the_validation_loss_is_that_of_the_given_rows():
    X, y = problem(80)
    model = regressor(max_epochs=1).fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    error = np.square(model.predict(X[60:]) - y[60:]).mean() / y[:60].var()
    assert model.history_[0].valid_loss == pytest.approx(error, rel=1e-4)


@pytest.mark.parametrize(
    ("y_val", "match"),
    [(np.ones(20), "y_val of shape"), (np.ones((10, 2)), "inconsistent numbers")],
)
def test_targets_to_validate_on_have_the_shape_of_the_others(y_val, match):
    X, y = problem()
    two = np.column_stack([y, y])
    with pytest.raises(ValueError, match=match):
        regressor().fit(X, two, X_val=X[:20], y_val=y_val)


@pytest.mark.filterwarnings("ignore:Got . distinct rows, too few")
def test_a_single_row_is_fitted():
    with pytest.warns(UserWarning, match=r"without one observed value: \[1\]"):
        model = regressor(density="auto").fit([[1.0, NAN, 2.0]], [5.0])
    assert np.isfinite(model.predict([[0.0, 1.0, 2.0]])).all()


def test_draws_and_expectation_are_the_same_on_complete_rows():
    X, y = problem()
    complete = np.nan_to_num(X)
    model = regressor().fit(X, y)
    expected = model.predict(complete)
    drawn = model.set_params(propagate="sample", n_samples=3).predict(complete)
    np.testing.assert_allclose(drawn, expected, rtol=1e-5)
