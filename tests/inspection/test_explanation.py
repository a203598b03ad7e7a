import datetime
import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import small
import torch

from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetRegressor
from lacunet.estimators import TargetScale
from lacunet.functional import FullComponents
from lacunet.inspection import explain_row


def linear_model(weights, mean, covariance):
    """Return a regressor with this linear function and this Gaussian."""
    n = len(weights)
    rows = np.random.RandomState(0).randn(20, n)
    model = LacunetRegressor(
        density=IncompleteGaussianMixture(1, covariance_type="full"),
        gamma=0.0,
        scale="none",
        indicator=False,
        on_unseen_missing="use",
        hidden_layer_sizes=(4,),
        n_networks=1,
        max_epochs=1,
        propagate="expectation",
        random_state=0,
    ).fit(rows, rows[:, 0])
    (view,) = model.module_
    as_tensors = [torch.tensor(a)[None].float() for a in (mean, covariance)]
    model.density_.store(FullComponents(torch.zeros(1), *as_tensors))
    with torch.no_grad():
        for name, parameter in view.named_parameters():
            if "density" not in name:
                parameter.zero_()
        view.networks.first.weight[-1] = torch.tensor(weights)
    model._scale = TargetScale(np.zeros(1), np.ones(1))
    return model


def expect(weights, mean, covariance, x, known):
    """Return the expectation of a linear function given some columns."""
    filled = mean + covariance[:, known] @ np.linalg.solve(
        covariance[np.ix_(known, known)], x[known] - mean[known]
    )
    filled[known] = x[known]
    return weights @ filled


def shapley(value, n):
    """Return Shapley values by their definition, over all orders of the columns."""
    found = np.zeros(n)
    for order in itertools.permutations(range(n)):
        for place, column in enumerate(order):
            before = list(order[:place])
            found[column] += value([*before, column]) - value(before)
    return found / math.factorial(n)


def make_gaussian(n, seed=0):
    rng = np.random.RandomState(seed)
    root = rng.randn(n, n)
    covariance = root @ root.T + 0.5 * np.eye(n)
    weights, mean, x = rng.randn(3, n)
    return weights, mean, covariance, x


def check_sum(found):
    total = found.prediction - found.base
    assert found.contributions.sum() == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_of_independent_columns_the_slope_times_the_difference_from_the_mean():
    weights, mean, _, x = make_gaussian(5)
    model = linear_model(weights, mean, np.diag([1.0, 2.0, 0.5, 3.0, 1.0]))
    found = explain_row(model, x)
    np.testing.assert_allclose(found.contributions, weights * (x - mean), atol=1e-5)
    assert found.base == pytest.approx(weights @ mean, abs=1e-5)
    assert found.prediction == model.predict(x[None])[0]
    assert found.exact
    check_sum(found)


@pytest.mark.parametrize("missing", [[], [1, 3]])
def test_of_dependent_columns_conditional_expectations_in_all_orders(missing):
    gaussian = make_gaussian(5)
    model, x = linear_model(*gaussian[:3]), gaussian[3]
    x[missing] = np.nan
    seen = np.flatnonzero(~np.isnan(x))
    expected = np.zeros(5)
    expected[seen] = shapley(lambda known: expect(*gaussian, seen[known]), len(seen))
    found = explain_row(model, x)
    np.testing.assert_allclose(found.contributions, expected, atol=1e-5)
    assert found.missing == [f"x{place}" for place in missing]
    check_sum(found)


def test_equal_columns_are_worth_the_same_and_useless_ones_nothing():
    covariance = np.eye(4)
    covariance[0, 1] = covariance[1, 0] = 0.9
    # The second is not used, but it predicts the first, and is worth something.
    found = explain_row(
        linear_model([1.0, 0.0, 2.0, 0.0], np.zeros(4), covariance), np.ones(4)
    ).contributions
    np.testing.assert_allclose(found, [0.55, 0.45, 2.0, 0.0], atol=1e-5)


def test_sampled_orders_agree_with_all_of_them(monkeypatch):
    gaussian = make_gaussian(8, seed=1)
    model = linear_model(*gaussian[:3])
    exact = explain_row(model, gaussian[3])
    monkeypatch.setattr("lacunet.inspection._explanation._MOST_EXACT", 3)
    z = []
    for seed in range(20):
        found = explain_row(model, gaussian[3], random_state=seed)
        assert not found.exact
        check_sum(found)
        assert found.prediction == exact.prediction
        z.append((found.contributions - exact.contributions) / found.errors)
    # Standard errors of 16 pairs are those of Student's t with 15 degrees of freedom.
    assert np.std(z) == pytest.approx(math.sqrt(15 / 13), abs=0.3)
    assert (np.abs(np.mean(z, 0)) < 4 / math.sqrt(20)).all()
    few, many = (explain_row(model, gaussian[3], n_permutations=n) for n in (16, 256))
    assert many.errors.mean() < 0.5 * few.errors.mean()


def test_the_same_seed_gives_the_same_and_nothing_else_changes():
    rng = np.random.RandomState(0)
    X, y = rng.randn(40, 12), rng.randn(40)
    X[:4, 3] = np.nan
    model = small.regressor(propagate="auto").fit(X, y)
    states = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    one, two, other = (
        explain_row(model, X[5], n_permutations=4, random_state=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.contributions, two.contributions)
    assert (one.contributions != other.contributions).any()
    check_sum(one)
    assert one.prediction == model.predict(X[5:6])[0]
    after = np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == states


# --- tables and targets


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas])
def test_rows_of_frames_with_categories_and_dates(kind):
    X, y = small.frame(80)
    model = small.classifier(max_epochs=20).fit(kind(X), y)
    complete = np.flatnonzero(X.notna().all(axis=1))[0]
    row = X.iloc[[complete]].assign(number=np.nan)
    found = explain_row(model, kind(row))
    assert found.missing == ["number"]
    assert found.contributions[0] == 0
    assert found.names == tuple(X.columns)
    assert found.values[2] == row["town"].item()
    assert found.values[6] == row["day"].item()
    assert found.target == model.predict(kind(row))[0]
    assert found.prediction == model.predict_proba(kind(row)).max()
    check_sum(found)
    other = explain_row(model, kind(row), target=1 - found.target)
    np.testing.assert_allclose(other.contributions, -found.contributions, atol=1e-9)
    assert f"probability of {found.target}: 0." in str(found)
    assert f"town = {row['town'].item()}" in str(found)
    assert str(found).endswith("missing: number")


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas])
def test_dates_and_ordered_categories_are_shown_as_they_are(kind):
    days = pd.Series(pd.date_range("2020-01-01", periods=40).astype("M8[ns]"))
    levels = pd.Categorical(["low", "high"] * 20, ["low", "high"], ordered=True)
    X = pd.DataFrame({"day": days, "level": levels, "lost": days}).mask(
        pd.DataFrame({"day": False, "level": False, "lost": days.index % 2 == 0})
    )
    table = kind(X)
    model = small.classifier(max_epochs=1).fit(table, np.arange(40) % 2)
    found = explain_row(model, table[:1])
    assert found.values == (datetime.datetime(2020, 1, 1), "low", None)
    assert found.missing == ["lost"]
    assert "level = low" in str(found)
    assert "day = 2020-01-01 " in str(found)


def test_dates_of_an_array_are_shown_as_dates():
    X = np.array("2020-01-01T12:00", dtype="M8[ns]") + np.arange(80).reshape(40, 2)
    X[::3, 1] = "NaT"
    found = explain_row(small.regressor().fit(X, np.arange(40.0)), X[:1])
    assert found.values == (datetime.datetime(2020, 1, 1, 12), None)


def test_a_category_that_training_has_not_seen_is_unknown_and_not_missing():
    X, y = small.frame(60)
    model = small.classifier(on_unseen_missing="use").fit(X[["number", "text"]], y)
    row = pd.DataFrame({"number": [1.0], "text": ["z"]})
    found = explain_row(model, row)
    assert (found.missing, found.unknown) == ([], ["text"])
    assert found.values == (1.0, "z")
    assert found.contributions[1] == 0
    assert "unknown: text" in str(found)


def test_a_row_without_a_value_has_the_base_for_prediction():
    model = small.fitted("rbf")
    found = explain_row(model, np.full((1, 4), np.nan))
    assert found.prediction == found.base == model.predict_proba([[np.nan] * 4]).max()
    assert not found.contributions.any()
    assert found.list_largest() == []


def test_a_small_prediction_without_a_contribution_has_digits():
    model = linear_model(np.zeros(4), np.zeros(4), np.eye(4))
    model._scale = TargetScale(np.array([3e-5]), np.ones(1))
    found = explain_row(model, np.ones(4))
    assert not found.contributions.any()
    assert found.show(found.prediction) == "3e−05"


def test_missing_values_are_no_sign_when_values_are_hidden():
    rng = np.random.RandomState(0)
    X, y = rng.randn(600, 2), rng.randint(2, size=600)
    X[(y == 1) & (rng.rand(600) < 0.6), 0] = np.nan
    model = LacunetClassifier(n_networks=1, max_epochs=15, random_state=0).fit(X, y)
    # That it is observed speaks for class 0, whatever it is: the base has it.
    found = explain_row(model, [0.0, 0.0], target=0)
    assert found.base == pytest.approx(found.prediction, abs=0.1)
    assert found.base > 0.6
    assert explain_row(model, [np.nan, 0.0], target=0).base < 0.1


@pytest.mark.parametrize("target", [True, np.int64(1), 1.0])
def test_the_target_is_the_class_of_the_model(target):
    found = explain_row(small.fitted("classifier"), np.ones(4), target=target)
    assert type(found.target) is int
    assert found.subject == "probability of 1"


def test_of_several_outputs_one_is_explained():
    rng = np.random.RandomState(0)
    X, y = rng.randn(40, 3), rng.randn(40, 2)
    model = small.regressor().fit(X, y)
    for output in (0, 1):
        found = explain_row(model, X[0], target=output)
        assert found.prediction == model.predict(X[:1])[0, output]
        assert str(found).startswith(f"prediction of output {output}: ")
        check_sum(found)


def test_small_contributions_are_summed_up():
    weights = np.array([3000.0, -200.0, 10.0, 1.0, 0.5])
    found = explain_row(linear_model(weights, np.zeros(5), np.eye(5)), np.ones(5))
    names, values, numbers, errors = zip(*found.list_largest(2), strict=True)
    assert names == ("x0", "x1", "3 other columns")
    assert values == ("1", "1", "")
    assert numbers == pytest.approx((3000, -200, 11.5), abs=1e-2)
    assert errors == (0.0, 0.0, None)
    assert len(found.list_largest(4)) == 5  # a single one is not summed up
    assert "x0 = 1  +3,000\n  x1 = 1  −200\n" in str(found)


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"model": small.fitted("imputer")}, TypeError, "a fitted classifier or"),
        ({"x": np.ones((2, 4))}, ValueError, "with 2 rows, but expected one"),
        ({"x": np.ones(3)}, ValueError, "3 features"),
        ({"x": pd.Series(np.ones(4))}, TypeError, r"X.iloc\[\[0\]\]"),
        ({"target": 2}, ValueError, r"target=2, but expected one of the classes \[0"),
        ({"model": small.fitted("regressor"), "target": 1}, ValueError, "of 1 outputs"),
        ({"n_permutations": 0}, ValueError, "n_permutations=0"),
    ],
)
def test_what_cannot_be_explained_is_refused(changes, error, match):
    given = {"model": small.fitted("classifier"), "x": np.ones(4), **changes}
    with pytest.raises(error, match=match):
        explain_row(given.pop("model"), given.pop("x"), **given)


def test_a_constant_column_adds_nothing():
    # Without it there is a missing value as training had none: predicted from draws.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"constant": 1.0, "a": rng.normal(size=300)})
    X["b"] = rng.normal(size=300)
    y = np.exp(X["a"]) + X["a"] * X["b"]
    columns = ["a", "b"]
    X[columns] = X[columns].mask(rng.random((300, 2)) < 0.3)
    model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0)
    with pytest.warns(UserWarning, match="one value only"):
        model.fit(X, y)
    row = X.iloc[[0]].assign(a=np.nan, b=np.nan)
    hidden = row.assign(constant=np.nan)
    model.set_params(on_unseen_missing="use")
    apart = abs(model.predict(row) - model.predict(hidden))[0]
    assert apart > 0.02 * y.std()
    assert abs(explain_row(model, row).contributions[0]) < 0.1 * apart
