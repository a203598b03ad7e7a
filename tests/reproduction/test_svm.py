"""Karma and geom: values by hand, laws, and the ordinary machine on complete rows."""

import itertools

import numpy as np
import pytest
from reproduction.rivals import GeometricMarginSVC, KarmaSVC, svm
from reproduction.rivals.svm import (
    Plane,
    karma_distances,
    karma_kernel,
    power_sum,
    squared_norms,
)
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_checks

NAN = np.nan
HAND = np.array([[1.0, 2.0, NAN], [3.0, NAN, 4.0], [1.0, -1.0, 2.0], [NAN, NAN, NAN]])


def incomplete(n=60, rate=0.2, d=4, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.2 * rng.randn(n) > 0).astype(int)
    X[rng.rand(n, d) < rate] = NAN
    return X, y


X, y = incomplete()
COMPLETE, LABELS = incomplete(rate=0.0)
BOTH = [KarmaSVC, GeometricMarginSVC]


def standardise(rows):
    return StandardScaler().fit_transform(rows)


def least_eigenvalue(gram):
    """Relative to the largest."""
    values = np.linalg.eigvalsh(gram)
    return values[0] / max(values[-1], 1e-300)


# --- both


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_classifiers_train,
        estimator_checks.check_estimators_pickle,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_n_features_in,
        estimator_checks.check_parameters_default_constructible,
    ],
)
def test_scikit_learn_check(make, check):
    check(make.__name__, make())


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_complete_rows_have_the_ordinary_machine(make, kernel):
    ours = make(3.0, kernel=kernel, g=0.3).fit(COMPLETE, LABELS)
    rows = standardise(COMPLETE)
    other = SVC(C=3.0, kernel=kernel, gamma=0.3).fit(rows, LABELS)
    expected = other.decision_function(rows)
    np.testing.assert_allclose(ours.decision_function(COMPLETE), expected, atol=2e-2)
    np.testing.assert_array_equal(ours.predict(COMPLETE), other.predict(rows))


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_classes_are_learned_from_incomplete_rows(make, kernel):
    rows, labels = incomplete(300)
    words = np.array(["no", "yes"])[labels]
    model = make(kernel=kernel).fit(rows[:200], words[:200])
    assert model.score(rows[200:], words[200:]) > 0.75


@pytest.mark.parametrize("make", BOTH)
def test_three_classes_are_separated_one_against_one(make):
    classes = np.digitize(COMPLETE[:, 0], [-0.5, 0.5])
    ours = make(g=0.3).fit(COMPLETE, classes)
    rows = standardise(COMPLETE)
    other = OneVsOneClassifier(SVC(gamma=0.3)).fit(rows, classes)
    scores = ours.decision_function(COMPLETE)
    assert scores.shape == (60, 3)
    assert (scores.argmax(1) == other.predict(rows)).mean() > 0.95
    assert (ours.predict(COMPLETE) == other.predict(rows)).mean() > 0.95


@pytest.mark.parametrize("make", BOTH)
def test_order_and_empty_columns_have_no_influence(make):
    seed = {} if make is KarmaSVC else {"random_state": 0}
    expected = make(g=0.25, **seed).fit(X, y).decision_function(X)
    order = np.random.RandomState(0).permutation(60)
    wide = np.column_stack([X, np.full(60, NAN)])
    before = str(np.random.get_state())  # noqa: NPY002
    model = make(**seed).fit(wide[order], y[order])  # "scale" is 1 / 4
    assert str(np.random.get_state()) == before  # noqa: NPY002
    wide[:, 4] = 1e9
    np.testing.assert_allclose(model.decision_function(wide), expected, atol=1e-2)


@pytest.mark.parametrize("make", BOTH)
def test_grid_goes_over_the_parameters(make):
    grid = {"C": [0.5, 8.0], "g": [2.0**-5, 0.5]}
    search = GridSearchCV(make(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_score_ > 0.7


@pytest.mark.parametrize("make", BOTH)
def test_wrong_input_is_refused(make):
    for wrong in ({"C": 0.0}, {"C": "1"}, {"g": -1.0}, {"g": "auto"}):
        with pytest.raises((TypeError, ValueError), match=f"^{next(iter(wrong))}"):
            make(**wrong).fit(X, y)
    with pytest.raises(ValueError, match="Got kernel='poly', but expected one of"):
        make(kernel="poly").fit(X, y)
    with pytest.raises(ValueError, match=r"one class only, \[1\]"):
        make().fit(X[y == 1], y[y == 1])
    with pytest.raises(ValueError, match="without a single observed value"):
        make().fit(np.full((4, 2), NAN), [0, 1, 0, 1])
    with pytest.raises(NotFittedError):
        make().predict(X)


# --- karma


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1, [[5, 3, -1, 0], [3, 25, 11, 0], [-1, 11, 6, 0], [0, 0, 0, 0]]),
        (2, [[15, 6, -3, 0], [6, 75, 33, 0], [-3, 33, 24, 0], [0, 0, 0, 0]]),
        (3, [[35, 9, -7, 0], [9, 175, 77, 0], [-7, 77, 78, 0], [0, 0, 0, 0]]),
    ],
)
def test_karma_kernel_by_hand(gamma, expected):
    np.testing.assert_allclose(karma_kernel(HAND, HAND, gamma), expected)


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (1, [[0, 24, 13, 5], [24, 0, 9, 25], [13, 9, 0, 6], [5, 25, 6, 0]]),
        (2, [[0, 78, 45, 15], [78, 0, 33, 75], [45, 33, 0, 24], [15, 75, 24, 0]]),
    ],
)
def test_karma_distances_by_hand(gamma, expected):
    np.testing.assert_allclose(karma_distances(HAND, HAND, gamma), expected)


def karma_features(x, gamma):
    """One for each sequence of at most ``gamma`` columns, all of them observed."""
    features = []
    for length in range(1, gamma + 1):
        for sequence in itertools.product(range(len(x)), repeat=length):
            seen = not np.isnan(x[list(sequence)]).any()
            features.append(x[sequence[-1]] if seen else 0.0)
    return np.array(features)


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_karma_kernel_is_the_inner_product_of_sequences_of_columns(gamma):
    rows, _ = incomplete(8, 0.4, 3)
    features = np.array([karma_features(x, gamma) for x in rows])
    kernel = karma_kernel(rows, rows, gamma)
    np.testing.assert_allclose(kernel, features @ features.T, atol=1e-12)
    part = karma_kernel(rows[:3], rows[3:], gamma)
    np.testing.assert_allclose(part, kernel[:3, 3:], atol=1e-12)
    rbf = np.exp(-0.5 * karma_distances(rows, rows, gamma))
    assert least_eigenvalue(rbf) > -1e-12


@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_power_sum_is_the_closed_form_and_right_at_zero_and_one(gamma):
    counts = np.array([2.0, 3.0, 10.0])
    closed = (counts**gamma - 1) / (counts - 1)
    np.testing.assert_allclose(power_sum(counts, gamma), closed)
    np.testing.assert_array_equal(power_sum(np.array([0, 1]), gamma), [1, gamma])


def test_rbf_of_common_columns_would_not_be_positive_semi_definite():
    # As the docstring has it, of the column (0, 2, NaN).
    near = np.exp(-2.0)
    common = np.array([[1, near, 1], [near, 1, 1], [1, 1, 1]])
    eigenvalues = np.linalg.eigvalsh(common)
    np.testing.assert_allclose(eigenvalues, [-0.3482, 0.8647, 2.4835], atol=1e-4)


def test_two_terms_count_the_columns_that_rows_share():
    model = KarmaSVC(gamma=2, kernel="linear").fit(X, y)
    values, seen = np.nan_to_num(standardise(X)), (~np.isnan(X)).astype(float)
    gram = (1 + seen @ seen.T) * (values @ values.T) / 5
    other = SVC(kernel="precomputed").fit(gram, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(gram), atol=2e-2)


def test_empty_row_is_the_origin_of_karma():
    model = KarmaSVC(kernel="linear").fit(np.vstack([X, [[NAN] * 4]]), [*y, 1])
    score = model.decision_function([[NAN] * 4])
    np.testing.assert_allclose(score, model.machine_.intercept_)
    with pytest.raises(ValueError, match="gamma == 0, must be >= 1"):
        KarmaSVC(gamma=0).fit(X, y)


# --- geom


@pytest.mark.parametrize("budget", [2**19, 200, 1])
@pytest.mark.parametrize("g", [None, 0.4])
def test_squared_norms_are_those_of_the_kernel_on_these_columns(g, budget, monkeypatch):
    monkeypatch.setattr(svm, "_NORM_BUDGET", budget)
    monkeypatch.setattr(svm, "_MOST_PATTERNS", 7)
    rows, _ = incomplete(13, 0.4)
    coef = np.random.RandomState(2).randn(13)
    patterns = np.array([*itertools.product([False, True], repeat=4)])
    filled = [np.nan_to_num(rows) * pattern for pattern in patterns]
    grams = [
        x @ x.T if g is None else np.exp(-g * ((x[:, None] - x) ** 2).sum(-1))
        for x in filled
    ]
    expected = [coef @ gram @ coef for gram in grams]
    found = squared_norms(rows, coef, patterns, g)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def linear(**parameters):
    """Return a model that is ready for planes of the linear kernel."""
    model = GeometricMarginSVC(kernel="linear", **parameters)
    model._g = None
    return model


def test_ratios_by_hand():
    rows = np.array([[1.0, NAN], [NAN, 1.0], [1.0, 1.0], [2.0, NAN], [NAN, NAN]])
    plane = Plane(np.array([[3.0, 4.0]]), np.ones(1), 0.0)
    ratios = linear()._find_ratios(plane, rows)
    np.testing.assert_allclose(ratios, [0.6, 0.8, 1.0, 0.6, 1e-3])  # the least
    zero = Plane(np.array([[3.0, 4.0]] * 2), np.array([1.0, -1.0]), 0.5)
    np.testing.assert_array_equal(linear()._find_ratios(zero, rows), 1.0)
    # Two rows that differ in a column become one without it, and their norm grows.
    apart = np.array([[0.0, 3.0], [0.0, -3.0]])
    patterns = np.array([[True, True], [True, False]])
    np.testing.assert_allclose(squared_norms(apart, np.ones(2), patterns, 1.0), [2, 4])
    radial = GeometricMarginSVC()
    radial._g = 1.0
    assert radial._find_ratios(Plane(apart, np.ones(2), 0.0), rows[:1]) == [1.0]


def test_scores_are_divided_by_the_ratio_of_their_row():
    plane = Plane(np.array([[3.0, 4.0]]), np.ones(1), 0.25)
    rows = np.array([[2.0, NAN], [NAN, 2.0], [1.0, 1.0], [NAN, NAN]])
    scores = linear()._decide(plane, rows)
    np.testing.assert_allclose(scores, [6 / 0.6 + 0.25, 8 / 0.8 + 0.25, 7.25, 0.25])


def test_iterates_by_hand():
    pair = np.array([[1.0, 1.0], [-1.0, NAN]]), np.array([1.0, -1.0]), np.full(2, 1e4)
    planes = linear()._fit_planes(*pair, 4)
    found = [
        [*plane.coef @ np.nan_to_num(plane.support), plane.intercept]
        for plane in planes[:3]
    ]
    expected = [
        [0.8, 0.4, -0.2],
        [0.772150, 0.364560, -0.136710],
        [0.774977, 0.368011, -0.142988],
    ]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    ratios = [linear()._find_ratios(plane, pair[0]) for plane in planes[:2]]
    np.testing.assert_allclose(ratios, [[1, 0.894427], [1, 0.904279]], atol=1e-3)
    assert len(linear()._fit_planes(*pair, 2)) == 2
    assert 2 < len(linear()._fit_planes(*pair, 50)) < 10  # until the ratios settle


def test_no_other_plane_has_a_lower_objective():
    rng = np.random.RandomState(1)
    signs, costs = 2.0 * y - 1.0, rng.uniform(0.5, 2.0, 60)
    model, rows = linear(), standardise(X)
    rows, signs, costs = (a[~np.isnan(rows).all(1)] for a in (rows, signs, costs))
    first, second = model._fit_planes(rows, signs, costs, 2)
    ratios = model._find_ratios(first, rows)

    def objective(w, b):
        margins = signs * (np.nan_to_num(rows) @ w / ratios + b)
        return w @ w / 2 + costs @ np.maximum(0.0, 1.0 - margins)

    w = second.coef @ np.nan_to_num(second.support)
    best = objective(w, second.intercept)
    for size in (1e-2, 0.1, 1.0):
        for step in size * rng.randn(50, 5):
            assert objective(w + step[:4], second.intercept + step[4]) > best - 1e-3


def test_iterate_is_chosen_by_validation_rows():
    rows, labels = incomplete(120, 0.5)
    parameters = {"C": 32.0, "g": 0.5, "n_iter": 5}
    last = GeometricMarginSVC(**parameters, validation_fraction=None).fit(rows, labels)
    assert last.n_iter_.tolist() == [5]
    counts = set()
    for seed in range(5):
        chosen = GeometricMarginSVC(**parameters, random_state=seed).fit(rows, labels)
        counts.update(chosen.n_iter_.tolist())
        same = GeometricMarginSVC(**parameters, validation_fraction=None)
        same.set_params(n_iter=int(chosen.n_iter_[0])).fit(rows, labels)
        np.testing.assert_allclose(
            chosen.decision_function(rows), same.decision_function(rows)
        )
    assert len(counts) > 1
    assert counts <= {2, 3, 4, 5}


def test_empty_rows_teach_geom_nothing():
    more, labels = np.vstack([X, np.full((5, 4), NAN)]), [*y, 1, 1, 1, 1, 1]
    model = GeometricMarginSVC(validation_fraction=None).fit(more, labels)
    without = GeometricMarginSVC(validation_fraction=None).fit(X, y)
    scores = model.decision_function(more)
    np.testing.assert_allclose(scores, without.decision_function(more), atol=1e-2)
    np.testing.assert_allclose(scores[60:], model.planes_[0].intercept)
    with pytest.raises(ValueError, match=r"no row with an observed value of \[7\]"):
        GeometricMarginSVC().fit(more, [*y, 7, 7, 7, 7, 7])
