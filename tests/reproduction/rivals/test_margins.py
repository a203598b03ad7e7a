"""Margins in the columns that each row has: laws, and values by hand."""

import dataclasses

import numpy as np
import pytest
from reproduction.rivals._kernels import (
    LinearKernel,
    PolynomialKernel,
    ProductKernel,
    RadialKernel,
)
from reproduction.rivals._margin_problems import (
    Plane,
    Sides,
    Solver,
    solve_exact,
    solve_scaled,
)
from reproduction.rivals._margins import MarginLearner, choose_iterate
from reproduction.rivals._zero_filled import ZeroFilled
from sklearn.svm import SVC

NAN = np.nan
PRECISE = Solver(1e-10, 10**6)
LINEAR = MarginLearner(LinearKernel(), "iterated", 4, 1e-3, PRECISE)
# The two rows of the hand-computed values.
PAIR = Sides(
    ZeroFilled.of(np.array([[1.0, 1.0], [-1.0, NAN]])),
    np.array([1.0, -1.0]),
    np.full(2, 1e4),
)


def with_kernel(kernel, algorithm="iterated", **changes):
    return dataclasses.replace(LINEAR, kernel=kernel, algorithm=algorithm, **changes)


def cloud(n=40, *, holes=0.3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 3)
    signs = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    X[:, 1:][rng.rand(n, 2) < holes] = NAN
    return Sides(ZeroFilled.of(X), signs, rng.uniform(0.5, 2.0, n))


def weights_of(plane):
    return plane.coef @ plane.support.values


def test_ratios_by_hand():
    plane = Plane(ZeroFilled.of(np.array([[3.0, 4.0]])), np.ones(1), 0.0)
    observed = np.array([[True, False], [False, True], [True, True], [True, False]])
    ratios = LINEAR.find_ratios(plane, observed)
    np.testing.assert_allclose(ratios, [0.6, 0.8, 1.0, 0.6])


def test_ratios_are_brought_up_to_the_least():
    plane = Plane(ZeroFilled.of(np.array([[3.0, 0.0]])), np.ones(1), 0.0)
    observed = np.array([[False, True], [False, False]])
    np.testing.assert_array_equal(LINEAR.find_ratios(plane, observed), 1e-3)


def test_ratios_are_brought_down_to_one():
    # Two rows that differ in a column become one without it, and their norm grows.
    plane = Plane(ZeroFilled.of(np.array([[0.0, 3.0], [0.0, -3.0]])), np.ones(2), 0.0)
    learner = with_kernel(RadialKernel(1.0))
    assert learner.find_ratios(plane, np.array([[True, False]])) == [1.0]


def test_ratios_of_a_plane_that_is_zero_are_one():
    twice = ZeroFilled.of(np.array([[3.0, 4.0], [3.0, 4.0]]))
    plane = Plane(twice, np.array([1.0, -1.0]), 0.5)
    observed = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(LINEAR.find_ratios(plane, observed), 1.0)


def test_scaled_iterates_by_hand():
    planes = LINEAR.fit(PAIR)
    found = [[*weights_of(plane), plane.intercept] for plane in planes[:3]]
    expected = [
        [0.8, 0.4, -0.2],
        [0.772150, 0.364560, -0.136710],
        [0.774977, 0.368011, -0.142988],
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    ratios = [LINEAR.find_ratios(p, PAIR.rows.observed) for p in planes[:2]]
    np.testing.assert_allclose(ratios, [[1, 0.894427], [1, 0.904279]], atol=1e-6)


def test_exact_iterates_by_hand():
    learner = with_kernel(LinearKernel(), "exact")
    first, second = learner.fit(PAIR)  # a fixpoint at once
    np.testing.assert_allclose([*weights_of(first), first.intercept], [0.8, 0.4, -0.2])
    expected = [0.757771, 0.378885, -0.136656]
    found = [*weights_of(second), second.intercept]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    ratios = learner.find_ratios(second, PAIR.rows.observed)
    np.testing.assert_allclose(ratios, [1, 0.894427], atol=1e-6)


def test_as_many_problems_are_solved_as_asked_for():
    for n_iter in (1, 2, 3):
        assert len(with_kernel(LinearKernel(), n_iter=n_iter).fit(PAIR)) == n_iter


def test_iterates_end_where_the_ratios_settle():
    planes = with_kernel(LinearKernel(), n_iter=50).fit(PAIR)
    assert 2 < len(planes) < 10


def objective(solve, sides, ratios, w, b):
    products = sides.rows.values @ w
    if solve is solve_scaled:
        margins = sides.signs * (products / ratios + b)
    else:
        margins = sides.signs * (products + b) / ratios
    return w @ w / 2 + sides.costs @ np.maximum(0.0, 1.0 - margins)


@pytest.mark.parametrize("solve", [solve_scaled, solve_exact])
def test_no_other_plane_has_a_lower_objective(solve):
    sides, rng = cloud(), np.random.RandomState(1)
    ratios = rng.uniform(0.3, 1.0, len(sides.signs))
    plane = solve(sides.rows.values @ sides.rows.values.T, sides, ratios, PRECISE)
    best = objective(solve, sides, ratios, weights_of(plane), plane.intercept)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for step in size * rng.randn(50, 4):
            w, b = weights_of(plane) + step[:3], plane.intercept + step[3]
            assert objective(solve, sides, ratios, w, b) > best - 1e-8


def test_the_exact_problem_is_right_for_rows_far_behind_the_margin():
    # Ten is no tube for a row at a thousand.
    values = np.array([[1.0], [-1.0], [1000.0], [-0.5]])
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    sides = Sides(ZeroFilled.of(values), signs, np.ones(4))
    gram = values @ values.T
    exact = solve_exact(gram, sides, np.ones(4), PRECISE)
    scaled = solve_scaled(gram, sides, np.ones(4), PRECISE)
    np.testing.assert_allclose(weights_of(exact), weights_of(scaled), atol=1e-8)
    np.testing.assert_allclose(exact.intercept, scaled.intercept, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["iterated", "exact", "average"])
@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (LinearKernel(), {"kernel": "linear"}),
        (
            PolynomialKernel(0.3, 1.0, 3),
            {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 3},
        ),
        (RadialKernel(0.3), {"kernel": "rbf", "gamma": 0.3}),
    ],
    ids=["linear", "poly", "rbf"],
)
def test_complete_rows_have_the_ordinary_machine(kernel, parameters, algorithm):
    sides = cloud(holes=0.0)
    learner = with_kernel(kernel, algorithm)
    (plane,) = learner.fit(sides)
    values = sides.rows.values
    machine = SVC(**parameters, tol=1e-10).fit(values, sides.signs, sides.costs)
    scores = learner.decide(plane, sides.rows)
    np.testing.assert_allclose(scores, machine.decision_function(values), atol=1e-6)


def test_scores_are_divided_by_the_ratio_of_the_row_they_are_of():
    plane = Plane(ZeroFilled.of(np.array([[3.0, 4.0]])), np.ones(1), 0.25)
    rows = ZeroFilled.of(np.array([[2.0, NAN], [NAN, 2.0], [1.0, 1.0]]))
    scores = LINEAR.decide(plane, rows)
    np.testing.assert_allclose(scores, [6 / 0.6 + 0.25, 8 / 0.8 + 0.25, 7.25])
    exact = with_kernel(LinearKernel(), "exact").decide(plane, rows)
    np.testing.assert_allclose(exact, [6.25, 8.25, 7.25])


@pytest.mark.parametrize("algorithm", ["iterated", "exact", "average"])
@pytest.mark.parametrize(
    "kernel",
    [
        LinearKernel(),
        PolynomialKernel(1.0, 1.0, 2),
        RadialKernel(1.0),
        ProductKernel(1.0, 3),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_the_intercept_decides_on_rows_with_nothing_observed(kernel, algorithm):
    sides = cloud()
    learner = with_kernel(kernel, algorithm, n_iter=2)
    plane = learner.fit(sides)[-1]
    rows = ZeroFilled.of(np.array([[NAN, NAN, NAN], [1.0, NAN, 0.0]]))
    empty, other = learner.decide(plane, rows)
    assert empty == plane.intercept
    assert other != plane.intercept


def test_scores_do_not_depend_on_the_rows_beside(monkeypatch):
    sides = cloud(60)
    learner = with_kernel(RadialKernel(0.5))
    plane = learner.fit(sides)[-1]
    together = learner.decide(plane, sides.rows)
    monkeypatch.setattr("reproduction.rivals._margins._BLOCK_BUDGET", 1)
    np.testing.assert_allclose(learner.decide(plane, sides.rows), together, atol=1e-10)


def test_ratios_of_the_product_kernel_settle():
    sides = cloud(60)
    planes = with_kernel(ProductKernel(0.5, 3), n_iter=8).fit(sides)
    learner = with_kernel(ProductKernel(0.5, 3))
    ratios = [learner.find_ratios(plane, sides.rows.observed) for plane in planes]
    changes = np.abs(np.diff(ratios, axis=0)).max(1)
    assert changes[-1] < changes[0] / 10


class Told:
    """A learner whose planes are numbers, right on the rows that it is told."""

    n_iter = 3

    def __init__(self, right):
        self.right = right  # (planes, rows), by the place of a row in the first column

    def fit(self, sides):
        self.kept = sides.rows.values[:, 0].astype(int)
        return [0, 1, 2]

    def decide(self, plane, rows):
        self.judged = places = rows.values[:, 0].astype(int)
        signs = np.where(places % 2, 1.0, -1.0)
        return np.where(self.right[plane][places], signs, -signs)


def told_sides(n):
    values = np.arange(n, dtype=float)[:, None]
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    return Sides(ZeroFilled.of(values), signs, np.ones(n))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([0, 1, 0], 2), ([0, 0, 1], 3), ([0, 1, 1], 2), ([1, 0, 0], 2), ([1, 0, 1], 3)],
)
def test_the_first_of_the_best_iterates_after_the_first_is_chosen(shares, expected):
    learner = Told(np.repeat(np.array(shares, dtype=bool)[:, None], 20, axis=1))
    found = choose_iterate(learner, told_sides(20), 0.2, np.random.RandomState(0))
    assert found == expected


def test_iterates_are_judged_by_rows_of_both_classes_that_were_held_back():
    learner = Told(np.ones((3, 30), dtype=bool))
    choose_iterate(learner, told_sides(30), 0.2, np.random.RandomState(0))
    assert np.bincount(learner.judged % 2).tolist() == [3, 3]
    assert sorted([*learner.kept, *learner.judged]) == [*range(30)]


def test_the_costs_of_rows_count_when_iterates_are_judged():
    sides = told_sides(20)
    heavy = Told(np.arange(20) % 2 == np.array([[0], [0], [1]]))
    costs = np.where(np.arange(20) % 2, 2.0, 1.0)
    found = choose_iterate(
        heavy, sides._replace(costs=costs), 0.2, np.random.RandomState(0)
    )
    assert found == 3


def test_a_single_iterate_is_chosen():
    learner = dataclasses.replace(LINEAR, n_iter=1)
    assert choose_iterate(learner, cloud(), 0.2, np.random.RandomState(0)) == 1


def test_the_last_iterate_is_taken_where_no_row_can_be_held_back():
    learner = Told(np.ones((3, 8), dtype=bool))
    assert choose_iterate(learner, told_sides(8), 0.2, np.random.RandomState(0)) == 3
