"""Values below detection limits, and other bounds, in the estimators."""

import numpy as np
import pandas as pd
import pytest
import small
import torch

import lacunet
from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetImputer
from lacunet.estimators import _views
from lacunet.inspection import prediction_interval, prediction_set

NAN = np.nan


def censored(n=80, seed=0):
    """Return positive numbers, missing below limits in two columns, these, classes."""
    z = np.random.RandomState(seed).randn(n, 3)
    z[:, 1] += z[:, 0]
    values = np.exp(0.5 * z)
    limits = [*np.quantile(values[:, :2], 0.3, axis=0), -np.inf]
    below = values < limits
    upper = np.where(below, limits, NAN)
    return np.where(below, NAN, values), upper, (z[:, 0] > 0).astype(int), values


@pytest.mark.parametrize("name", small.ALL)
def test_models_use_bounds_and_are_saved(name, tmp_path):
    X, upper, y, _ = censored()
    make = small.ALL[name]
    model = make(density=IncompleteGaussianMixture(2)) if name == "rbf" else make()
    model.fit(X, y, upper=upper)
    model.save(tmp_path / "model")
    again = lacunet.load(tmp_path / "model")
    call = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    call = call if hasattr(model, "predict") else "transform"
    found = getattr(model, call)(X, upper=upper)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(getattr(again, call)(X, upper=upper), found)
    if name != "imputer":
        with pytest.warns(UserWarning, match="none without a bound"):
            getattr(model, call)(X)
    model.set_params(on_unseen_missing="use")
    assert (getattr(model, call)(X) != found).any()
    limit = np.where(np.isnan(upper), np.inf, upper)
    for filled in (
        model.impute(X, upper=upper),
        *model.sample_imputations(X, 2, upper=upper),
    ):
        assert (filled <= limit).all()
        assert (filled >= 0).all()  # none is negative
        assert (filled[~np.isnan(X)] == X[~np.isnan(X)]).all()


@pytest.mark.parametrize("name", ["imputer", "autoencoder"])
def test_fit_transform_fills_inside_the_bounds(name):
    X, upper, _, _ = censored()
    filled = small.ALL[name]().fit_transform(X, upper=upper)
    assert (filled <= np.where(np.isnan(upper), np.inf, upper)).all()


def test_both_views_take_bounds_at_prediction_alone():
    X, upper, y, _ = censored()
    model = LacunetClassifier(n_networks=2, max_epochs=3, random_state=0).fit(X, y)
    plain = model.predict_proba(X)
    bounded = model.predict_proba(X, upper=upper)
    free = np.isnan(upper).all(1)
    np.testing.assert_allclose(bounded[free], plain[free], atol=1e-6)
    assert (np.abs(bounded - plain)[~free] > 1e-6).any()
    model.set_params(propagate="sample")
    drawn = model.predict_proba(X, upper=upper)
    assert np.abs(drawn - bounded).max() < 0.1
    assert (model.predict(X, upper=upper) == model.classes_[drawn.argmax(1)]).all()


def test_no_bounds_are_no_change():
    X, _, y, _ = censored()
    nothing = np.full_like(X, NAN)
    make = lambda: LacunetClassifier(n_networks=2, max_epochs=2, random_state=0)  # noqa: E731
    plain = make().fit(X, y)
    model = make().fit(X, y, lower=nothing, upper=nothing + np.inf)
    found = model.predict_proba(X, lower=nothing - np.inf)
    np.testing.assert_array_equal(found, plain.predict_proba(X))


def test_the_order_of_rows_has_no_influence():
    X, upper, y, _ = censored()
    order = np.random.RandomState(1).permutation(len(y))
    one = small.classifier().fit(X, y, upper=upper)
    other = small.classifier().fit(X[order], y[order], upper=upper[order])
    found = other.predict_proba(X, upper=upper)
    np.testing.assert_allclose(found, one.predict_proba(X, upper=upper), atol=1e-5)


def test_frames_are_matched_by_name():
    X, upper, y, _ = censored()
    frame, bounds = (pd.DataFrame(x, columns=["a", "b", "c"]) for x in (X, upper))
    model = small.classifier().fit(frame, y, upper=bounds)
    expected = model.predict_proba(frame, upper=bounds)
    found = model.predict_proba(frame[["c", "b", "a"]], upper=bounds[["b", "a", "c"]])
    np.testing.assert_array_equal(found, expected)


def test_sample_weights_repeat_bounds_too():
    X, upper, y, _ = censored(40)
    twice = np.repeat(np.arange(40), 2)
    one = small.classifier().fit(X, y, np.full(40, 2.0), upper=upper)
    other = small.classifier().fit(X[twice], y[twice], upper=upper[twice])
    np.testing.assert_allclose(
        one.predict_proba(X, upper=upper),
        other.predict_proba(X, upper=upper),
        atol=1e-5,
    )


def test_the_imputer_recovers_means_below_detection_limits():
    X, upper, _, values = censored(600)
    filled = (
        LacunetImputer(random_state=0).fit(X, upper=upper).transform(X, upper=upper)
    )
    error = (filled - values).mean(0) / values.std(0)
    assert np.abs(error).max() < 0.05
    half = np.where(np.isnan(X), upper / 2, X)
    others = (half - values).mean(0) / values.std(0)
    assert np.abs(others).max() > 1.5 * np.abs(error).max()


def test_whole_numbers_stay_whole_inside_their_bounds():
    rng = np.random.RandomState(0)
    counts = rng.poisson(6, size=(200, 2)).astype(float)
    X = np.where(counts < 4, NAN, counts)
    upper = np.where(counts < 4, 3.0, NAN)
    filled = small.imputer().fit(X, upper=upper).transform(X, upper=upper)
    assert (filled == filled.round()).all()
    assert (filled[counts < 4] <= 3).all()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"lower": [[5.0, NAN]] * 30}, ValueError, "of column 'a' in row 0"),
        ({"upper": [[NAN, 1.0]] * 30}, ValueError, "'b', which holds categories"),
        ({"upper": [[NAN, NAN]] * 29}, ValueError, r"Got upper of shape \(29, 2\)"),
        ({"upper": [["x", NAN]] * 30}, TypeError, "Got upper that is not of numbers"),
        ({"lower": [[np.inf, NAN]] * 30}, ValueError, "Got lower with inf"),
        (
            {"lower": [[2.0, NAN]] * 30, "upper": [[1.0, NAN]] * 30},
            ValueError,
            "expected lower <= upper",
        ),
    ],
)
def test_bounds_that_make_no_sense(change, error, match):
    table = pd.DataFrame({"a": np.arange(30.0), "b": list("xyz") * 10})
    bounds = {
        name: np.array(x, dtype=object) if "x" in str(x) else np.array(x)
        for name, x in change.items()
    }
    with pytest.raises(error, match=match):
        small.classifier().fit(table, np.arange(30) % 2, **bounds)


def test_dates_have_no_bounds():
    table = pd.DataFrame(
        {"a": np.arange(20.0), "day": pd.date_range("2024", periods=20)}
    )
    upper = pd.DataFrame({"a": [NAN] * 20, "day": [1.0] * 20})
    with pytest.raises(ValueError, match="'day', which holds dates"):
        small.imputer().fit(table, upper=upper)


def test_negative_values_have_no_lower_bound():
    X = np.random.RandomState(0).randn(300, 1)
    upper = np.where(X < -0.5, -0.5, NAN)
    X = np.where(X < -0.5, NAN, X)
    draws = small.imputer().fit(X, upper=upper).sample_imputations(X, 1, upper=upper)[0]
    assert draws.min() < -1.5
    assert draws.mean() == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("propagate", ["auto", "sample"])
def test_a_missing_value_is_not_taken_for_one_below_its_limit(propagate):
    z = np.random.RandomState(0).randn(400, 2)
    limit = np.quantile(z[:, 0], 0.3)
    below = z[:, 0] < limit
    X, upper = z.copy(), np.full_like(z, NAN)
    X[below, 0], upper[below, 0] = NAN, limit
    model = LacunetClassifier(n_networks=2, max_epochs=40, random_state=0)
    model.set_params(propagate=propagate).fit(X, below, upper=upper)
    row = [[NAN, 0.0]]
    (known,) = model.predict_proba(row, upper=[[limit, NAN]])[:, 1]
    with pytest.warns(UserWarning, match="none without a bound"):
        (unknown,) = model.predict_proba(row)[:, 1]
    assert known > 0.9
    assert unknown == pytest.approx(0.3, abs=0.15)


def test_intervals_of_bounded_rows_are_around_their_predictions():
    X, upper, _, values = censored(400)
    y = 3 * np.log(values[:, 0]) + 0.3 * np.random.RandomState(1).randn(400)
    model = lacunet.LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    model.fit(X, y, upper=upper)
    below = ~np.isnan(upper[:, 0])
    predicted, std = model.predict(X, upper=upper, return_std=True)
    low, high = prediction_interval(model, X, 0.9, upper=upper)
    assert ((low < predicted) & (predicted < high)).mean() > 0.95
    assert ((low < y) & (y < high))[below].mean() > 0.85
    model.set_params(on_unseen_missing="use")
    unbounded = model.predict(X, return_std=True)[1]
    assert std[below].mean() < unbounded[below].mean()
    parts = model.predict_variances(X, upper=upper)
    assert parts.total == pytest.approx(std**2)


def test_sets_of_bounded_rows_know_that_values_are_low():
    X, upper, y, _ = censored(400)
    model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0)
    model.fit(X, y, upper=upper).set_params(on_unseen_missing="use")
    below = ~np.isnan(upper[:, 0])  # then the class is 0
    known = prediction_set(model, X, 0.9, upper=upper)[below]
    unknown = prediction_set(model, X, 0.9)[below]
    assert known[:, 0].mean() > 0.95
    assert known[:, 1].mean() < unknown[:, 1].mean()


def test_whole_numbers_below_a_limit_are_drawn_below_it():
    rng = np.random.RandomState(0)
    counts = rng.poisson(6, size=(400, 2)).astype(float)
    X = np.where(counts < 5, NAN, counts)
    upper = np.where(counts < 5, 4.5, NAN)
    model = LacunetImputer(random_state=0).fit(X, upper=upper)
    (drawn,) = model.sample_imputations(X, 1, upper=upper)
    below = drawn[counts < 5]
    assert set(below) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert len(set(below)) > 2
    assert drawn.mean() == pytest.approx(counts.mean(), abs=0.15)


def test_positive_numbers_are_drawn_anywhere_below_their_limit():
    values = np.exp(np.random.RandomState(0).randn(500, 1))
    limit = np.quantile(values, 0.4)
    X = np.where(values < limit, NAN, values)
    upper = np.where(values < limit, limit, NAN)
    model = LacunetImputer(random_state=0).fit(X, upper=upper)
    (drawn,) = model.sample_imputations(X, 1, upper=upper)
    below = drawn[values < limit]
    assert below.max() <= limit
    assert len(np.unique(below)) > 0.9 * len(below)
    assert below.mean() == pytest.approx(values[values < limit].mean(), rel=0.2)


def test_equal_bounds_are_a_value():
    X, upper, y, values = censored()
    lower = np.full_like(X, NAN)
    known = np.isnan(X)
    lower[known] = upper[known] = values[known]
    other = small.classifier(indicator=False).fit(values, y)
    one = small.classifier(indicator=False).fit(X, y, lower=lower, upper=upper)
    np.testing.assert_allclose(
        one.predict_proba(X, lower=lower, upper=upper),
        other.predict_proba(values),
        atol=0.05,
    )
    filled = (
        small.imputer()
        .fit(X, lower=lower, upper=upper)
        .transform(X, lower=lower, upper=upper)
    )
    np.testing.assert_allclose(filled, values)


def test_a_lower_bound_is_a_possible_value():
    counts = np.random.RandomState(0).poisson(1.5, size=(300, 1)).astype(float)
    bins = [_views.Bins(np.array([0.5, 1.5]), np.array([0.0, 1.0, 2.0]))]
    lower, upper = np.full((300, 1), NAN), np.full((300, 1), NAN)
    lower[0], upper[0] = 0.0, 2.5
    (found,) = _views.add_edges(bins, counts, lower, upper)
    (ruled_out,) = _views.rule_out([found], lower[:1], upper[:1], 0)
    assert not ruled_out[np.searchsorted(found.edges, [0.0, 1.0, 2.0])].any()
    assert ruled_out[np.searchsorted(found.edges, [-1.0, 3.0])].all()


def test_factors_with_bounds_are_trained_in_single_precision():
    X, upper, y, _ = censored()
    density = IncompleteGaussianMixture(1, covariance_type="factor", rank=1)
    model = small.classifier(density=density, train_density=True)
    model.fit(X, y, upper=upper)
    assert np.isfinite(model.predict_proba(X, upper=upper)).all()


def test_rows_with_the_same_bounds_know_how_far_predictions_are_off():
    # What is below its limit varies much: by the rows that have it, not by all others.
    def make(n, seed):
        rng = np.random.RandomState(seed)
        values = np.exp(rng.randn(n, 2))
        y = np.log(values[:, 0]) + 0.1 * rng.randn(n)
        upper = np.full(values.shape, NAN)
        below = values[:, 0] < 0.6
        upper[below, 0] = 0.6
        return np.where(np.isnan(upper), values, NAN), upper, y, below

    X, upper, y, below = make(600, 0)
    model = lacunet.LacunetRegressor(n_networks=5, max_epochs=20, random_state=0)
    model.fit(X, y, upper=upper)
    X, upper, y, below = make(1000, 1)
    low, high = prediction_interval(model, X, 0.9, upper=upper)
    assert ((low < y) & (y < high))[below].mean() == pytest.approx(0.9, abs=0.07)
    ends = np.quantile(y[below], [0.05, 0.95])
    assert (high - low)[below].mean() < 1.5 * (ends[1] - ends[0])
    predicted, std = model.predict(X, upper=upper, return_std=True)
    square = np.mean((y - predicted)[below] ** 2)
    assert np.mean(std[below] ** 2) == pytest.approx(square, rel=0.5)


def test_bounds_of_some_columns_are_found_by_name():
    X, upper, y, _ = censored()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    ends = pd.DataFrame(upper, columns=["a", "b", "c"])
    imputer = LacunetImputer(random_state=0).fit(frame, upper=ends)
    some = imputer.transform(frame, upper=ends[["b", "a"]])
    assert some.equals(imputer.transform(frame, upper=ends))
    with pytest.raises(ValueError, match=r"upper with the columns 'd', but expected"):
        imputer.transform(frame, upper=ends[["a"]].rename(columns={"a": "d"}))


@pytest.mark.parametrize("upper", [0.5, [0.5, 0.5, 0.5]])
def test_a_bound_for_no_cell_is_refused(upper):
    X, *_ = censored()
    with pytest.raises(ValueError, match=r"Got upper of shape .* each cell of X"):
        LacunetImputer(random_state=0).fit(X, upper=upper)


def test_bounds_leave_the_global_generator_alone():
    X, upper, *_ = censored()
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    small.imputer().fit(X, upper=upper).sample_imputations(X, 2, upper=upper)
    assert (np.random.get_state()[1] == before[0]).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_a_row_is_filled_alone_as_it_is_among_others():
    X, upper, *_ = censored(200)
    imputer = LacunetImputer(random_state=0).fit(X, upper=upper)
    filled = imputer.transform(X, upper=upper)
    rows = np.flatnonzero(np.isnan(X).any(1))[:20]
    for row in rows:
        here = slice(row, row + 1)
        alone = imputer.transform(X[here], upper=upper[here])
        assert alone == pytest.approx(filled[here], rel=1e-4)


def test_draws_of_a_skewed_column_go_on_beyond_an_upper_limit():
    rng = np.random.RandomState(0)
    z = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 400)
    values = np.exp(0.8 * z)
    limit = np.quantile(values[:, 0], 0.8)
    above = values[:, 0] > limit
    lower = np.full(values.shape, NAN)
    lower[above, 0] = limit
    X = np.where(np.isnan(lower), values, NAN)
    imputer = LacunetImputer(random_state=0).fit(X, lower=lower)
    tables = imputer.sample_imputations(X, 5, lower=lower)
    drawn = np.concatenate([table[above, 0] for table in tables])
    assert drawn.mean() - limit > 0.6 * (values[above, 0].mean() - limit)


def test_validation_rows_without_bounds_are_warned_of():
    X, upper, y, _ = censored()
    with pytest.warns(UserWarning, match="X_val has none"):
        small.regressor().fit(
            X[:60], y[:60], X_val=X[60:], y_val=y[60:], upper=upper[:60]
        )
