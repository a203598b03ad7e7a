import copy

import numpy as np
import pandas as pd
import pytest
import small
import torch
from scipy.special import entr, expit

from lacunet import IncompleteGaussianMixture, LacunetClassifier, LacunetRegressor
from lacunet.inspection import acquisition_values, plan_measurements
from lacunet.inspection._acquisition import Completions

NAN = np.nan
WEIGHTS = np.array([1.0, -2.0, 0.5, 0.0])
MIXING = np.array([[1, 0, 0, 0], [0.8, 0.6, 0, 0], [0, 0.5, 1, 0], [0, 0, 0, 1.0]])


@pytest.fixture(scope="module", params=[LacunetRegressor, LacunetClassifier])
def linear(request):
    """A model of four correlated numbers; its output, or logit, is exactly linear."""
    rng = np.random.RandomState(0)
    X = rng.randn(500, 4) @ MIXING.T
    y = X @ WEIGHTS
    is_classes = request.param is LacunetClassifier
    model = request.param(
        density=IncompleteGaussianMixture(1, covariance_type="full"),
        scale="none",
        gamma=0.0,
        n_networks=1,
        max_epochs=1,
        hidden_layer_sizes=(4,),
        random_state=0,
    ).fit(X, y > 0 if is_classes else y)
    (view,) = model.module_
    first, last = view.networks.first, view.networks.layers[-1]
    with torch.no_grad():
        for parameter in (*first.parameters(recurse=False), *last.parameters()):
            parameter.zero_()
        scale = 1.0 if is_classes else model._scale.std[0]
        first.weight[-1] = torch.as_tensor(WEIGHTS / scale)
    return model


def conditional(model, row):
    """Return mean and covariance of the missing cells, by the density of the model."""
    component = model.density_.components
    mean = component.means[0].detach().double().numpy()
    cov = component.covariances[0].detach().double().numpy()
    here, gone = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
    gain = cov[np.ix_(gone, here)] @ np.linalg.inv(cov[np.ix_(here, here)])
    return mean[gone] + gain @ (row[here] - mean[here]), (
        cov[np.ix_(gone, gone)] - gain @ cov[np.ix_(here, gone)]
    )


def normal_nodes(n=60):
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def known_values(model, row):
    """Return the values of missing cells: in closed form, for classes by quadrature."""
    mean, cov = conditional(model, row)
    gone = np.isnan(row)
    b = WEIGHTS[gone]
    explained = (b @ cov) ** 2 / cov.diagonal()
    if isinstance(model, LacunetRegressor):
        return explained, b @ cov @ b
    centre = b @ mean + np.nansum(WEIGHTS * row)
    nodes, weights = normal_nodes()

    def entropy(p):
        return entr(p) + entr(1 - p)

    def probability(centre, variance):
        return expit(centre[:, None] + nodes * np.sqrt(variance)) @ weights

    before = entropy(probability(np.array([centre]), b @ cov @ b))[0]
    after = [
        weights @ entropy(probability(centre + nodes * np.sqrt(v), b @ cov @ b - v))
        for v in explained
    ]
    return before - np.array(after), before


@pytest.mark.parametrize(
    "row", [[NAN] * 4, [0.5, NAN, NAN, NAN], [NAN, -1.0, 2.0, NAN], [0, 0, NAN, 1.0]]
)
def test_values_are_those_of_a_linear_model_of_gaussians(linear, row):
    row = np.array(row)
    values = acquisition_values(linear, row[None], n_draws=1024)[0]
    assert (np.isnan(values) == ~np.isnan(row)).all()
    expected, before = known_values(linear, row)
    np.testing.assert_allclose(values[np.isnan(row)], expected, atol=0.03 * before)


def test_values_by_expectation_are_those_of_the_predictions_by_expectation(linear):
    row = np.array([0.5, NAN, NAN, NAN])
    model = copy.copy(linear).set_params(propagate="expectation")
    values = acquisition_values(model, row[None])[0, 1:]
    expected, before = known_values(model, row)
    if isinstance(model, LacunetClassifier):
        # The mean of a logit is predicted, so that what is missing beside the cell has
        # no variance.
        mean, cov = conditional(model, row)
        b, (nodes, weights) = WEIGHTS[1:], normal_nodes()
        std = np.abs(b @ cov) / np.sqrt(cov.diagonal())
        p = expit(b @ mean + WEIGHTS[0] * 0.5 + std[:, None] * nodes)
        one = p @ weights
        after = (entr(p) + entr(1 - p)) @ weights
        expected = entr(one) + entr(1 - one) - after
    # Draws in groups leave a little more than there is, which is taken from the value.
    np.testing.assert_allclose(values, expected, atol=0.035 * before)


def test_the_only_missing_cell_is_worth_all_that_is_missing(linear):
    drawn = Completions(linear)
    x = drawn.encoded.encode([[0.1, 0.2, NAN, 0.3]])
    draws = drawn.encoded.draw(x, 256, drawn.seed)[:, 0]
    predicted = drawn.encoded.predict(draws)
    if isinstance(linear, LacunetClassifier):
        expected = entr(predicted.mean(0)).sum() - entr(predicted).sum(1).mean()
    else:
        expected = predicted.var()
        np.testing.assert_allclose(drawn.uncertainty(x), expected, rtol=1e-5)
    np.testing.assert_allclose(drawn.values(x)[0, 2], expected, rtol=1e-5)


def test_a_category_that_was_drawn_once_shows_nothing(linear):
    predicted = np.full((64, 1, 2), 0.5)
    predicted[0] = [1.0, 0.0]
    groups = np.zeros((64, 1, 2))
    groups[0, 0, 0] = groups[1:, 0, 1] = 1.0
    drawn = Completions(linear)
    drawn.is_classes = True
    np.testing.assert_allclose(drawn._reduction(groups, predicted), 0, atol=1e-3)


def test_uncertainty_is_that_of_what_is_missing(linear):
    row = np.array([0.5, NAN, NAN, NAN])
    drawn = Completions(linear, 1024)
    found = drawn.uncertainty(drawn.encoded.encode(row[None]))
    expected = known_values(linear, row)[1]
    np.testing.assert_allclose(found, expected, rtol=0.03)


def test_cells_without_influence_are_worth_nothing_beyond_what_they_predict(linear):
    # The last column is independent of the others and has no weight.
    means = [
        acquisition_values(linear, [[NAN] * 4], random_state=seed)[0]
        for seed in range(10)
    ]
    values = np.mean(means, 0)
    assert values[3] < 0.01 * values[:3].max()


def test_a_plan_takes_the_best_first_and_then_what_that_leaves(linear):
    plan = plan_measurements(linear, [[NAN] * 4], n_steps=9)
    assert len(plan) == 4
    row = np.full(4, NAN)
    expected, before = known_values(linear, row)
    assert plan[0].column == f"x{expected.argmax()}"
    assert plan[0].before == pytest.approx(before, rel=0.05)
    assert plan[-1].column == "x3"
    # All three that matter explain all of a number, and most of a class.
    for one, two in zip(plan[:-1], plan[1:], strict=True):
        assert one.after == two.before
        assert one.after == pytest.approx(one.before - one.value)
    if isinstance(linear, LacunetRegressor):
        cov = conditional(linear, row)[1]
        chosen = [int(step.column[1]) for step in plan[:2]]
        of_both = cov[:, chosen] @ np.linalg.solve(
            cov[np.ix_(chosen, chosen)], cov[chosen]
        )
        both = WEIGHTS @ of_both @ WEIGHTS
        assert plan[0].value + plan[1].value == pytest.approx(both, rel=0.1)
        assert plan[2].after < 0.06 * before


def test_costs_divide_values_and_change_the_plan(linear):
    rows = [[NAN] * 4, [0.5, NAN, 1.0, NAN]]
    values = acquisition_values(linear, rows)
    dear = np.array([1.0, 2.0, 5.0, 0.5])
    found = acquisition_values(linear, rows, dear)
    np.testing.assert_allclose(found, values / dear)
    named = {f"x{place}": cost for place, cost in enumerate(dear)}
    np.testing.assert_array_equal(acquisition_values(linear, rows, named), found)
    as_series = pd.Series(named)
    np.testing.assert_array_equal(acquisition_values(linear, rows, as_series), found)
    best = int(values[0].argmax())
    costs = np.where(np.arange(4) == best, 1e4, 1.0)
    plan = plan_measurements(linear, rows[:1], costs, n_steps=4)
    assert (plan[0].cost, plan[0].column != f"x{best}") == (1.0, True)
    # Columns that are observed in all rows need no cost.
    some = {"x1": 1.0, "x3": 1.0}
    np.testing.assert_array_equal(
        acquisition_values(linear, rows[1:], some), values[1:]
    )


@pytest.mark.parametrize(
    ("costs", "match"),
    [
        ({"x0": 1.0, "x1": 1.0, "x2": 1.0}, "costs without 'x3'"),
        ({"x0": 1.0, "size": 1.0}, "costs of 'size'"),
        (pd.Series([1.0] * 5, ["x0", "x1", "x2", "x3", "x0"]), "several costs of 'x0'"),
        (pd.DataFrame(np.ones((2, 4)), columns=["x0", "x1", "x2", "x3"]), "shape"),
        (pd.DataFrame(np.ones((4, 1))), "costs without 'x1'"),
        ({7: 1.0}, "costs of 'x7'"),
        (["dear", 1.0, 1.0, 1.0], "costs that are no numbers"),
        (dict.fromkeys(["x0", "x1", "x2", "x3"], "dear"), "costs that are no numbers"),
        ([[1.0, 1.0], [1.0]], "no numbers"),
        ([1.0, 1.0], "costs of shape"),
        ([1.0, 0.0, 1.0, 1.0], "a cost of 0 for 'x1'"),
        ([1.0, 1.0, NAN, 1.0], "a cost of nan for 'x2'"),
        (dict.fromkeys(["x0", "x1", "x2", "x3"], -1), "a cost of -1 for 'x0'"),
    ],
)
def test_costs_are_checked(linear, costs, match):
    for ask in (acquisition_values, plan_measurements):
        with pytest.raises(ValueError, match=match):
            ask(linear, [[NAN] * 4], costs)


def test_costs_are_checked_before_values_are_computed(linear, monkeypatch):
    monkeypatch.setattr(Completions, "values", None)
    with pytest.raises(ValueError, match="costs without 'x1', 'x2'"):
        acquisition_values(linear, [[0, NAN, NAN, 0]], {"x0": 1.0})


def test_a_row_with_nothing_missing_has_no_values_and_no_plan(linear):
    rows = [[1.0, 2.0, 3.0, 4.0]]
    assert np.isnan(acquisition_values(linear, rows)).all()
    assert plan_measurements(linear, rows) == []


def test_other_arguments_are_checked(linear):
    for n_draws in (8, 32, 72):
        with pytest.raises(ValueError, match=f"n_draws={n_draws}, .* of at least 64"):
            acquisition_values(linear, [[NAN] * 4], n_draws=n_draws)
    with pytest.raises(ValueError, match="Got 2 rows"):
        plan_measurements(linear, [[NAN] * 4] * 2)
    with pytest.raises(ValueError, match="n_steps=0"):
        plan_measurements(linear, [[NAN] * 4], n_steps=0)
    with pytest.raises(TypeError, match="LacunetImputer"):
        acquisition_values(small.fitted("imputer"), [[NAN] * 4])


@pytest.mark.parametrize("name", list(small.PREDICTORS))
def test_any_model_and_table_and_rows_in_any_order(name):
    X, y = small.frame(80)
    model = small.PREDICTORS[name](random_state=0).fit(X, y)
    state = torch.get_rng_state()
    values = acquisition_values(model, X[:12], n_draws=64)
    assert (np.isnan(values) == X[:12].notna().to_numpy()).all()
    assert (values[~np.isnan(values)] >= 0).all()
    order = np.random.RandomState(0).permutation(12)
    again = acquisition_values(model, X[:12].iloc[order], n_draws=64)
    np.testing.assert_allclose(again, values[order], rtol=1e-3, atol=1e-6)
    alone = acquisition_values(model, X[3:4], n_draws=64)
    np.testing.assert_allclose(alone, values[3:4], rtol=1e-3, atol=1e-6)
    assert torch.equal(torch.get_rng_state(), state)


def test_categories_are_groups_of_their_own():
    # y = 1 with the probability 0.9 for "a" and 0.1 for "b"; "c" is rare.
    rng = np.random.RandomState(0)
    kind = rng.choice(["a", "b", "c"], 2000, p=[0.5, 0.48, 0.02])
    y = rng.rand(2000) < np.where(kind == "a", 0.9, 0.1)
    X = pd.DataFrame({"kind": kind, "other": rng.choice(["p", "q"], 2000)})
    model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0).fit(X, y)
    X.iloc[0] = None
    values = acquisition_values(model, X[:1])[0]
    before = np.log(2)
    after = entr(0.9) + entr(0.1)
    assert values[0] == pytest.approx(before - after, abs=0.05)
    assert values[1] < 0.005


def test_numbers_of_few_values_are_drawn_as_they_are():
    rng = np.random.RandomState(0)
    X = np.stack([rng.rand(400) < 0.1, rng.exponential(size=400)], 1).astype(float)
    y = (X[:, 0] == (rng.rand(400) < 0.9)).astype(int)
    model = LacunetClassifier(n_networks=2, max_epochs=10, random_state=0).fit(X, y)
    encoded = Completions(model).encoded
    draws = encoded.draw(torch.full((1, 2), NAN), 256)[:, 0]
    values, counts = draws[:, 0].unique(return_counts=True)
    known = encoded.encode(X)[:, 0].unique()
    torch.testing.assert_close(values, known)
    assert counts[1] / 256 == pytest.approx(X[:, 0].mean(), abs=0.02)
    # And no value of the other is below the smallest.
    assert draws[:, 1].min() >= encoded.encode(X)[:, 1].min()


def test_rare_numbers_of_few_values_are_groups_as_categories_are():
    rng = np.random.RandomState(0)
    flag, other = rng.rand(1000) < 0.03, rng.randn(1000)
    y = rng.rand(1000) < np.where(flag, 0.95, 0.1)
    for column in (flag.astype(float), np.where(flag, "yes", "no")):
        X = pd.DataFrame({"flag": column, "other": other})
        model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0).fit(X, y)
        p = model.predict_proba(X)
        rare, common = p[flag].mean(0), p[~flag].mean(0)
        assert rare[1] > 0.6
        of_each = flag.mean() * entr(rare) + (~flag).mean() * entr(common)
        expected = (entr(p.mean(0)) - of_each).sum()
        row = pd.DataFrame({"flag": [None], "other": [NAN]})
        for propagate in ("sample", "expectation"):
            model.set_params(propagate=propagate)
            values = acquisition_values(model, row)[0]
            assert values[0] == pytest.approx(expected, rel=0.35)
            assert values[1] < 0.01


def test_a_value_is_what_a_cell_tells_and_not_that_it_is_known():
    # Only rows of class 1 lack x0, so that missing is nearly certain to be class 1.
    rng = np.random.RandomState(0)
    X = rng.randn(800, 3)
    y = X[:, 1] + 0.5 * rng.randn(800) > 0
    X[y & (rng.rand(800) < 0.5), 0] = NAN
    model = LacunetClassifier(n_networks=2, max_epochs=20, random_state=0).fit(X, y)
    drawn = Completions(model)
    assert (drawn.encoded.sources < 0).any()  # it has an indicator
    x = drawn.encoded.encode([[NAN] * 3, [NAN, NAN, 1.0]])
    values, uncertainty = drawn.values(x), drawn.uncertainty(x)
    assert (np.nanmax(values, 1) <= uncertainty + 0.01).all()
    plan = plan_measurements(model, [[NAN] * 3])
    assert [step.after > 0 for step in plan] == [True] * 3


def test_the_second_step_is_worth_what_it_tells_beside_the_first():
    # y = 1 if both are 1: the second tells more once the first is known.
    rng = np.random.RandomState(0)
    X = (rng.rand(1000, 3) < 0.5).astype(float)
    y = X[:, 0] * X[:, 1] == 1
    model = LacunetClassifier(
        n_networks=2, max_epochs=30, propagate="sample", random_state=0
    ).fit(X, y)
    plan = plan_measurements(model, [[NAN] * 3], n_steps=2)
    assert {step.column for step in plan} == {"x0", "x1"}
    p = model.predict_proba(X)

    def left(places):
        """Return the mean entropy of the class if these columns are known."""
        means = pd.DataFrame(p).groupby(list(X[:, places].T)).transform("mean")
        return entr(means.to_numpy()).sum(1).mean()

    first, second = (int(step.column[1]) for step in plan)
    one, both = left([first]), left([first, second])
    assert plan[0].value == pytest.approx(entr(p.mean(0)).sum() - one, abs=0.03)
    assert plan[1].value == pytest.approx(one - both, abs=0.05)
    alone = acquisition_values(model, [[NAN] * 3])[0, second]
    assert plan[1].value > alone + 0.05


@pytest.mark.parametrize("hidden", [(0,), (0, 1), (0, 1, 2, 3)])
def test_no_cell_is_worth_more_than_the_entropy_of_the_row(hidden):
    rng = np.random.RandomState(0)
    X = np.exp(rng.randn(300, 4))
    y = (X[:, 0] * X[:, 1] > 1.0) ^ (rng.rand(300) < 0.05)
    X[rng.rand(300, 4) < 0.2] = NAN
    model = LacunetClassifier(n_networks=2, max_epochs=4, random_state=0).fit(X, y)
    model.set_params(on_unseen_missing="use")
    rows = X[:40].copy()
    rows[:, hidden] = NAN
    entropy = entr(model.predict_proba(rows)).sum(1)
    values = acquisition_values(model, rows)
    assert (np.nan_to_num(values) <= entropy[:, None] + 1e-6).all()


def test_no_value_of_a_number_leaves_others_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [3.0, 2.0, 1.0] + 0.3 * rng.normal(size=400)
    X[rng.random(X.shape) < 0.25] = NAN
    model = LacunetRegressor(n_networks=2, max_epochs=20, random_state=0).fit(X, y)
    rows = np.where([True, False, True], NAN, X[:60])
    values = acquisition_values(model, rows)
    drawn = Completions(model)
    whole = drawn.uncertainty(drawn.encoded.encode(rows))
    left = 1 - values[:, 0] / whole  # of 9 + 1, and 9 for the first
    assert left.min() > 0.04
    assert np.median(left) == pytest.approx(0.1, abs=0.06)
    first, second = plan_measurements(model, rows[:1])
    assert (first.column, second.column) == ("x0", "x2")
    assert second.value == pytest.approx(first.after, rel=0.4)


def test_columns_without_a_value_are_not_measured():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"a": rng.randn(60), "b": rng.randn(60), "empty": NAN})
    with pytest.warns(UserWarning, match="without one observed value"):
        model = small.regressor().fit(X, X["a"])
    row = X.iloc[[0]].assign(a=NAN)
    assert acquisition_values(model, row, {"a": 2.0})[0, 2] == 0.0
    assert [step.column for step in plan_measurements(model, row)] == ["a"]


def test_costs_of_columns_whose_names_are_numbers():
    X = pd.DataFrame(np.random.RandomState(0).randn(60, 2))
    model = small.regressor().fit(X, X[0])
    row = X.iloc[[0]] * NAN
    by_number = acquisition_values(model, row, {0: 2.0, 1: 4.0})
    np.testing.assert_array_equal(by_number, acquisition_values(model, row, [2.0, 4.0]))
