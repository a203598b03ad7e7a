"""Kernels between rows with holes: laws, and values by hand."""

import itertools

import numpy as np
import pytest
from reproduction.rivals import _kernels
from reproduction.rivals._kernels import (
    ColumnwiseKernel,
    LinearKernel,
    PolynomialKernel,
    ProductKernel,
    RadialKernel,
    karma_distances,
    karma_kernel,
    power_sum,
)
from reproduction.rivals._zero_filled import ZeroFilled

NAN = np.nan
KERNELS = [
    LinearKernel(),
    PolynomialKernel(0.7, 1.0, 3),
    RadialKernel(0.4),
    ProductKernel(0.4, 4),
]
PROJECTING = [KERNELS[0], KERNELS[1], KERNELS[3]]
HAND = ZeroFilled.of(
    np.array([[1.0, 2.0, NAN], [3.0, NAN, 4.0], [1.0, -1.0, 2.0], [NAN, NAN, NAN]])
)


def table(n=13, d=4, *, holes=0.4, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    X[rng.rand(n, d) < holes] = NAN
    return ZeroFilled.of(X)


def restrict(rows, columns):
    return ZeroFilled(rows.values * columns, rows.observed & columns)


def least_eigenvalue(gram):
    """Relative to the largest."""
    values = np.linalg.eigvalsh(gram)
    return values[0] / max(values[-1], 1e-300)


def karma_features(x, gamma):
    """One for each sequence of at most ``gamma`` columns, all of them observed."""
    features = []
    for length in range(1, gamma + 1):
        for sequence in itertools.product(range(len(x)), repeat=length):
            seen = not np.isnan(x[list(sequence)]).any()
            features.append(x[sequence[-1]] if seen else 0.0)
    return np.array(features)


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1, [[5, 3, -1, 0], [3, 25, 11, 0], [-1, 11, 6, 0], [0, 0, 0, 0]]),
        (2, [[15, 6, -3, 0], [6, 75, 33, 0], [-3, 33, 24, 0], [0, 0, 0, 0]]),
        (3, [[35, 9, -7, 0], [9, 175, 77, 0], [-7, 77, 78, 0], [0, 0, 0, 0]]),
    ],
)
def test_karma_kernel_by_hand(gamma, expected):
    np.testing.assert_array_equal(karma_kernel(HAND, HAND, gamma), expected)


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1, [[0, 24, 13, 5], [24, 0, 9, 25], [13, 9, 0, 6], [5, 25, 6, 0]]),
        (2, [[0, 78, 45, 15], [78, 0, 33, 75], [45, 33, 0, 24], [15, 75, 24, 0]]),
    ],
)
def test_karma_distances_by_hand(gamma, expected):
    np.testing.assert_array_equal(karma_distances(HAND, HAND, gamma), expected)


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_karma_kernel_is_the_inner_product_of_sequences_of_columns(gamma):
    rng = np.random.RandomState(1)
    X = rng.randn(8, 3)
    X[rng.rand(8, 3) < 0.4] = NAN
    features = np.array([karma_features(x, gamma) for x in X])
    rows = ZeroFilled.of(X)
    kernel = karma_kernel(rows, rows, gamma)
    np.testing.assert_allclose(kernel, features @ features.T, atol=1e-12)


def test_karma_kernel_between_two_tables_is_a_part_of_that_of_one():
    rows = table()
    whole = karma_kernel(rows, rows, 2)
    part = karma_kernel(rows.take(slice(0, 3)), rows.take(slice(3, None)), 2)
    np.testing.assert_allclose(part, whole[:3, 3:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_power_sum_is_the_closed_form_and_right_at_zero_and_one(gamma):
    counts = np.array([2.0, 3.0, 10.0])
    closed = (counts**gamma - 1) / (counts - 1)
    np.testing.assert_allclose(power_sum(counts, gamma), closed)
    np.testing.assert_array_equal(power_sum(np.array([0, 1]), gamma), [1, gamma])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_karma_kernel_and_its_rbf_are_positive_semi_definite(gamma, seed):
    rows = table(25, 2 + seed % 5, holes=0.1 + 0.07 * seed, seed=seed)
    assert least_eigenvalue(karma_kernel(rows, rows, gamma)) > -1e-12
    assert least_eigenvalue(np.exp(-0.5 * karma_distances(rows, rows, gamma))) > -1e-12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_kernels_are_positive_semi_definite(kernel, seed):
    rows = table(25, holes=0.1 + 0.15 * seed, seed=seed)
    assert least_eigenvalue(kernel.gram(rows, rows)) > -1e-12


def test_an_rbf_of_common_columns_would_not_be():
    # What the docstrings say of the column (0, 2, NaN).
    near = np.exp(-2.0)
    common = np.array([[1, near, 1], [near, 1, 1], [1, 1, 1]])
    eigenvalues = np.linalg.eigvalsh(common)
    np.testing.assert_allclose(eigenvalues, [-0.3482, 0.8647, 2.4835], atol=1e-4)
    rows = ZeroFilled.of(np.array([[0.0], [2.0], [NAN]]))
    ours = RadialKernel(0.5).gram(rows, rows)
    np.testing.assert_allclose(ours, [[1, near, 1], [near, 1, near], [1, near, 1]])


def test_product_kernel_by_hand():
    kernel = ProductKernel(1.0, 2)
    rows = ZeroFilled.of(np.array([[0.0, NAN], [1.0, 2.0]]))
    crossed = (1 + np.exp(-1.0)) / 2 / 2
    expected = [[0.5, crossed], [crossed, 1.0]]
    np.testing.assert_allclose(kernel.gram(rows, rows), expected)


def test_polynomial_kernel_by_hand():
    rows = ZeroFilled.of(np.array([[1.0, 2.0], [3.0, NAN]]))
    gram = PolynomialKernel(0.5, 1.0, 2).gram(rows, rows)
    np.testing.assert_allclose(gram, [[3.5**2, 2.5**2], [2.5**2, 5.5**2]])


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("budget", [2**19, 200, 1])
def test_squared_norms_are_those_of_the_kernel_on_these_columns(
    kernel, budget, monkeypatch
):
    monkeypatch.setattr(_kernels, "_BLOCK_BUDGET", budget)
    monkeypatch.setattr(_kernels, "_MOST_PATTERNS", 7)
    rows, rng = table(), np.random.RandomState(2)
    coef = rng.randn(13)
    patterns = np.array([*itertools.product([False, True], repeat=4)])
    parts = [restrict(rows, pattern) for pattern in patterns]
    expected = [coef @ kernel.gram(part, part) @ coef for part in parts]
    found = kernel.squared_norms(rows, coef, patterns)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_the_short_way_of_the_linear_kernel_is_the_long_one():
    rows, coef = table(), np.random.RandomState(2).randn(13)
    patterns = ~table(6, seed=3).observed
    short = LinearKernel().squared_norms(rows, coef, patterns)
    long = ColumnwiseKernel.squared_norms(LinearKernel(), rows, coef, patterns)
    np.testing.assert_allclose(short, long)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kernel", PROJECTING, ids=lambda kernel: type(kernel).__name__)
def test_no_norm_grows_where_columns_are_left_out(kernel, seed):
    rows, coef = table(seed=seed), np.random.RandomState(seed).randn(13)
    nested = np.tri(5, 4, -1, dtype=bool)  # none, the first, the first two, ...
    norms = kernel.squared_norms(rows, coef, nested)
    assert (np.diff(norms) > -1e-12).all()


def test_a_norm_of_the_rbf_kernel_may_grow_where_columns_are_left_out():
    # Two rows that differ in the column that is left out become one.
    rows = ZeroFilled.of(np.array([[0.0, 3.0], [0.0, -3.0]]))
    patterns = np.array([[True, True], [True, False]])
    norms = RadialKernel(1.0).squared_norms(rows, np.ones(2), patterns)
    np.testing.assert_allclose(norms, [2.0, 4.0])
