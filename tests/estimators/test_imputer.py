"""The density alone, for tables without a target."""

import numpy as np
import pandas as pd
import pytest
from small import fitted, frame, imputer, numbers

from lacunet import IncompleteGaussianMixture, LacunetImputer

NAN = np.nan


def test_one_full_gaussian_fills_with_the_regression_on_what_is_observed():
    rng = np.random.RandomState(0)
    x = rng.randn(500)
    X = np.column_stack([x, 2.0 * x + 1.0 + 0.1 * rng.randn(500)])
    X[:100, 1] = NAN
    density = IncompleteGaussianMixture(1, covariance_type="full")
    filled = imputer(density=density).fit_transform(X)
    np.testing.assert_allclose(filled[:100, 1], 2.0 * x[:100] + 1.0, atol=0.1)


def test_a_category_follows_the_number_beside_it_and_the_other_way():
    rng = np.random.RandomState(0)
    town = np.repeat(["Bonn", "Rome"], 100)
    X = pd.DataFrame({"town": town, "lat": np.where(town == "Bonn", 50.7, 41.9)})
    X["lat"] += 0.1 * rng.randn(200)
    incomplete = X.copy()
    incomplete.loc[::4, "town"] = None
    incomplete.loc[1::4, "lat"] = NAN
    filled = imputer().fit_transform(incomplete)
    assert (filled["town"] == X["town"]).all()
    np.testing.assert_allclose(filled["lat"], X["lat"], atol=1.0)


def test_auto_beats_the_mean_where_columns_depend_on_each_other():
    rng = np.random.RandomState(0)
    truth = rng.randn(200, 1) * [1.0, -2.0, 3.0] + 0.1 * rng.randn(200, 3)
    X = truth.copy()
    X[rng.rand(200, 3) < 0.2] = NAN
    missing = np.isnan(X) & ~np.isnan(X).all(1, keepdims=True)
    filled = LacunetImputer(random_state=0).fit_transform(X)
    error = np.square(filled - truth)[missing].mean()
    assert error < 0.1 * np.square(truth)[missing].mean()


def test_transform_is_impute():
    X, _ = frame()
    model = fitted("imputer", frame)
    assert model.transform(X).equals(model.impute(X))


def test_new_tables_are_filled_from_what_was_learned():
    model = fitted("imputer", frame)
    X, _ = frame(10, seed=1)
    filled = model.transform(X)
    assert not filled.isna().any(axis=None)
    assert filled.where(X.notna()).equals(X)


def test_a_row_with_nothing_in_it_gets_the_mean_and_the_mode():
    X, _ = frame(200)
    model = imputer(density=IncompleteGaussianMixture(1)).fit(X)
    nothing = X.iloc[:1].astype({"flag": "boolean"}).mask(np.full((1, 7), True))
    filled = model.transform(nothing)
    assert filled["number"].item() == pytest.approx(X["number"].mean(), abs=1e-4)
    assert filled["town"].item() == X["town"].mode().item()


def test_draws_of_a_category_have_its_probabilities():
    column = np.repeat(["a", "b"], [300, 100])
    X = pd.DataFrame({"x": column, "y": np.random.RandomState(0).randn(400)})
    model = imputer(density=IncompleteGaussianMixture(1)).fit(X)
    nothing = X.assign(x=pd.Series([None] * 400, dtype="str"))
    draws = pd.concat(model.sample_imputations(nothing, 5))
    assert (draws["x"] == "a").mean() == pytest.approx(0.75, abs=0.04)


def test_gamma_makes_observed_cells_say_less():
    rng = np.random.RandomState(0)
    x = rng.randn(300, 1)
    X = np.hstack([x, x + 0.1 * rng.randn(300, 1)])
    X[:50, 1] = NAN
    density = IncompleteGaussianMixture(1, covariance_type="full")
    slopes = [
        np.polyfit(
            X[:50, 0], imputer(density=density, gamma=g).fit_transform(X)[:50, 1], 1
        )[0]
        for g in (0.0, 1.0, 100.0)
    ]
    assert slopes[0] == pytest.approx(1.0, abs=0.05)
    assert slopes[1] == pytest.approx(0.5, abs=0.1)
    assert abs(slopes[2]) < 0.05


def test_the_kind_of_output_can_be_set():
    X, _ = numbers()
    filled = imputer().set_output(transform="pandas").fit_transform(X)
    assert isinstance(filled, pd.DataFrame)
    assert list(filled) == ["x0", "x1", "x2", "x3"]


def test_wrong_parameters_are_refused():
    X, _ = numbers()
    with pytest.raises(ValueError, match="Got gamma=-1"):
        imputer(gamma=-1).fit(X)
    with pytest.raises(ValueError, match="Got density=3"):
        imputer(density=3).fit(X)


@pytest.mark.parametrize("n", [12, 40])
def test_auto_sees_dependence_in_few_rows(n):
    x = np.random.RandomState(0).uniform(0, 20, n)
    X = np.column_stack([x, 2 * x + 1])
    X[::5, 1] = np.nan
    filled = LacunetImputer(random_state=0).fit_transform(X)
    np.testing.assert_allclose(filled[::5, 1], 2 * x[::5] + 1, atol=2)


def test_auto_sees_that_categories_go_with_each_other():
    rng = np.random.RandomState(0)
    number = rng.randint(5, size=150)
    capitals = ["Rome", "Paris", "Berlin", "Vienna", "Oslo"]
    X = pd.DataFrame({"country": [*"IFDAN"], "capital": capitals}).iloc[number]
    X = X.reset_index(drop=True).assign(x=1000 * number + rng.randn(150))
    known = X.copy()
    X.loc[::7, "capital"] = None
    X.loc[3::7, "x"] = np.nan
    filled = LacunetImputer(random_state=0).fit_transform(X)
    assert (filled["capital"] == known["capital"]).all()
    np.testing.assert_allclose(filled["x"], known["x"], atol=100)
