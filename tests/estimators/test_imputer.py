"""The density alone, for tables without a target."""

import numpy as np
import pandas as pd
import pytest
from small import fitted, frame, imputer, numbers

from lacunet import IncompleteGaussianMixture, LacunetImputer, load

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


def test_gamma_makes_observed_cells_count_less():
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


def test_fills_stay_in_the_observed_range_and_whole_where_all_was_whole():
    rng = np.random.RandomState(0)
    x = rng.randn(300)
    X = pd.DataFrame(
        {
            "amount": np.exp(2 * x + rng.randn(300)),
            "count": rng.poisson(np.exp(x)).astype(float),
            "flag": (x + rng.randn(300) > 0).astype(float),
            "level": x,
        }
    )
    X = X.mask(rng.rand(*X.shape) < 0.2)
    model = LacunetImputer(random_state=0).fit(X)
    # Rows far out, whose conditional means are further out still.
    far = pd.DataFrame(np.nan, index=range(2), columns=X.columns)
    far["level"] = [-30.0, 30.0]
    for filled in (model.transform(X), model.transform(far)):
        numbers = filled.drop(columns="level")
        assert (numbers >= X.min()[numbers.columns]).all(axis=None)
        assert (numbers <= X.max()[numbers.columns]).all(axis=None)
        assert (filled["count"] % 1 == 0).all()
        assert filled["flag"].isin([0.0, 1.0]).all()
    assert (model.transform(X)["amount"] % 1 != 0).any()


def test_draws_do_not_pile_up_at_the_ends_of_the_range():
    X = np.random.RandomState(0).exponential(size=(500, 1))
    model = LacunetImputer(random_state=0).fit(X)
    draws = np.hstack(model.sample_imputations(np.full((500, 1), NAN), 4))
    assert np.isin(draws, [X.min(), X.max()]).mean() < 0.01


def test_a_column_without_a_value_stays_missing_whatever_it_holds():
    X, _ = frame(60)
    X = X.assign(nothing=NAN, none=pd.Series([None] * len(X), dtype=object))
    with pytest.warns(UserWarning, match=r"without one observed value.*nothing"):
        filled = imputer().fit_transform(X)
    empty = ["nothing", "none"]
    assert filled[empty].isna().all(axis=None)
    assert not filled.drop(columns=empty).isna().any(axis=None)
    numbers_alone = np.column_stack([np.arange(20.0), np.full(20, NAN)])
    with pytest.warns(UserWarning, match="without one observed value"):
        assert np.isnan(imputer().fit_transform(numbers_alone)[:, 1]).all()


def test_categories_depend_on_numbers_and_on_each_other():
    rng = np.random.RandomState(0)
    x = rng.randn(400)
    size = np.where(x > 0.5, "large", np.where(x > -0.5, "middle", "small"))
    truth = pd.DataFrame({"x": x, "size": size, "same": size})
    X = truth.mask(rng.rand(*truth.shape) < 0.2)
    filled = LacunetImputer(random_state=0).fit_transform(X)
    hidden = X["size"].isna() & X["same"].notna()
    assert (filled["size"] == truth["size"])[hidden].mean() > 0.95


def test_weights_sum_to_one_and_models_of_several_densities_come_back(tmp_path):
    X, _ = frame(200)
    model = LacunetImputer(random_state=0).fit(X)
    np.testing.assert_allclose(model.weights_.sum(0), 1.0)
    assert len(model.weights_) == len(model.densities_) > 1
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.transform(X).equals(model.transform(X))
    assert again.sample_imputations(X, 1)[0].equals(model.sample_imputations(X, 1)[0])


def test_the_order_of_rows_does_not_matter():
    X, _ = numbers(100)
    order = np.random.RandomState(1).permutation(len(X))
    one, other = (LacunetImputer(random_state=0).fit(Z) for Z in (X, X[order]))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))


def test_verbose_prints_errors_and_weights(capsys):
    X, _ = numbers(100)
    model = LacunetImputer(random_state=0, verbose=1).fit(X)
    printed = capsys.readouterr().out
    assert printed.count("RMSE of hidden cells") >= len(model.weights_)


def test_a_time_limit_leaves_mixtures_out_with_a_warning():
    X, _ = numbers(100)
    with pytest.warns(UserWarning, match="Got time_limit=0"):
        model = LacunetImputer(random_state=0, time_limit=0).fit(X)
    assert len(model.densities_) == 1
    assert not np.isnan(model.transform(X)).any()
    with pytest.raises(ValueError, match="Got time_limit=-1"):
        LacunetImputer(time_limit=-1).fit(X)


def test_whole_days_are_filled_with_whole_days():
    days = np.datetime64("2024-01-01", "D") + np.arange(60)
    X = pd.DataFrame({"day": days.astype("M8[us]"), "x": np.arange(60.0)})
    X.loc[::7, "day"] = None
    imputer = LacunetImputer(random_state=0).fit(X)
    for table in (imputer.transform(X), *imputer.sample_imputations(X, 2)):
        assert (table["day"].dt.normalize() == table["day"]).all()
