"""The machine with margins in the columns that each row has."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from reproduction.rivals._geom import GeometricMarginSVC
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import numbers

NAN = np.nan
X, y = numbers()
COMPLETE, LABELS = numbers(missing=0.0)
FINE = {"tol": 1e-8}
KERNELS = ["rbf", "product", "poly", "linear"]
ALGORITHMS = ["iterated", "exact", "average"]


def standard(rows, weights=None):
    return StandardScaler().fit(rows, sample_weight=weights).transform(rows)


def model(**parameters):
    return GeometricMarginSVC(**{"random_state": 0, **parameters})


@parametrize_with_checks(
    [
        GeometricMarginSVC(),
        GeometricMarginSVC(kernel="linear", algorithm="exact"),
        GeometricMarginSVC(kernel="product"),
        GeometricMarginSVC(kernel="poly", algorithm="average"),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_complete_rows_have_the_ordinary_machine(kernel, algorithm):
    ours = model(C=3.0, kernel=kernel, g=0.3, algorithm=algorithm, **FINE)
    scores = ours.fit(COMPLETE, LABELS).decision_function(COMPLETE)
    rows = standard(COMPLETE)
    other = SVC(C=3.0, kernel=kernel, gamma=0.3, degree=2, coef0=1.0, **FINE)
    expected = other.fit(rows, LABELS).decision_function(rows)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert ours.n_iter_.tolist() == [1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_average_norm_is_the_ordinary_machine_on_divided_columns(kernel, weighted):
    weights = np.linspace(0.2, 3.0, 60) if weighted else np.ones(60)
    ours = model(kernel=kernel, g=0.3, algorithm="average", **FINE).fit(X, y, weights)
    shares = np.average(~np.isnan(X), axis=0, weights=weights)
    rows = np.nan_to_num(standard(X, weights)) / np.sqrt(shares)
    other = SVC(kernel=kernel, gamma=0.3, degree=2, coef0=1.0, **FINE)
    other.fit(rows, y, weights)
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-5)


def test_a_row_is_scored_by_the_weights_of_its_own_columns():
    ours = model(kernel="linear").fit(X, y)
    ((support, coef, intercept),) = ours.planes_
    weight = coef @ support.values
    rows = standard(X)
    norms = np.sqrt(~np.isnan(X) @ weight**2) / np.linalg.norm(weight)
    expected = np.nan_to_num(rows) @ weight / norms + intercept
    np.testing.assert_allclose(ours.decision_function(X), expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_three_classes_are_told_apart_one_against_one(algorithm):
    classes = np.digitize(COMPLETE[:, 0], [-0.5, 0.5])
    ours = model(g=0.3, algorithm=algorithm, **FINE).fit(COMPLETE, classes)
    rows = standard(COMPLETE)
    other = OneVsOneClassifier(SVC(gamma=0.3, **FINE)).fit(rows, classes)
    scores = ours.decision_function(COMPLETE)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-4)
    assert len(ours.planes_) == len(ours.n_iter_) == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_classes_are_found_through_holes(kernel, algorithm):
    rows, labels = numbers(300, missing=0.2)
    ours = model(kernel=kernel, algorithm=algorithm).fit(rows[:200], labels[:200])
    assert ours.score(rows[200:], labels[200:]) > 0.75


def test_margins_tell_whether_a_column_is_missing():
    # The same observed values, and one more that is the mean: not the same margin.
    ours = model(kernel="linear").fit(X, y)
    mean = np.nanmean(X[:, 0])
    hole, filled = ours.decision_function([[NAN, 1.0, 1.0, 1.0], [mean, 1.0, 1.0, 1.0]])
    assert abs(hole - ours.planes_[0].intercept) > abs(
        filled - ours.planes_[0].intercept
    )


def test_the_iterate_is_chosen_by_rows_held_back():
    rows, labels = numbers(120, missing=0.5)
    parameters = {"C": 32.0, "g": 0.5, "n_iter": 5}
    last = model(**parameters, validation_fraction=None).fit(rows, labels)
    assert last.n_iter_.tolist() == [5]
    counts = set()
    for seed in range(6):
        chosen = model(**parameters, random_state=seed).fit(rows, labels)
        counts.update(chosen.n_iter_.tolist())
        alike = model(**parameters, validation_fraction=None)
        alike.set_params(n_iter=int(chosen.n_iter_[0])).fit(rows, labels)
        scores = chosen.decision_function(rows)
        np.testing.assert_array_equal(scores, alike.decision_function(rows))
    assert len(counts) > 1
    assert counts <= {2, 3, 4, 5}


def draws(ours, rows, labels):
    """Say whether a fit draws from its generator."""
    ours.random_state = np.random.RandomState(0)
    before = str(ours.random_state.get_state())
    ours.fit(rows, labels)
    return str(ours.random_state.get_state()) != before


def test_only_the_rbf_kernel_on_incomplete_rows_holds_some_back_by_itself():
    assert [draws(model(kernel=kernel), X, y) for kernel in KERNELS] == [1, 0, 0, 0]
    assert not draws(model(), COMPLETE, LABELS)
    assert draws(model(kernel="linear", validation_fraction=0.3), X, y)


def test_the_same_seed_gives_the_same_machine():
    first, second = (model(g=0.5).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_global_generator_is_left_alone(algorithm):
    before = np.random.get_state()  # noqa: NPY002
    model(algorithm=algorithm).fit(X, y).predict(X)
    after = np.random.get_state()  # noqa: NPY002
    assert str(after) == str(before)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_weight_of_two_is_a_row_that_comes_twice(kernel, algorithm):
    weights = np.random.RandomState(1).randint(3, size=60)
    index = np.repeat(np.arange(60), weights)
    ours = model(kernel=kernel, algorithm=algorithm)
    weighted = ours.fit(X, y, weights).decision_function(X)
    repeated = ours.fit(X[index], y[index]).decision_function(X)
    np.testing.assert_array_equal(weighted, repeated)


def test_the_order_of_rows_has_no_influence():
    order = np.random.RandomState(0).permutation(60)
    mixed = model().fit(X[order], y[order]).decision_function(X)
    np.testing.assert_array_equal(mixed, model().fit(X, y).decision_function(X))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_with_nothing_observed_teach_nothing(algorithm):
    more, labels = np.vstack([X, np.full((5, 4), NAN)]), [*y, 1, 1, 1, 1, 1]
    ours = model(algorithm=algorithm).fit(more, labels)
    without = model(algorithm=algorithm).fit(X, y)
    scores = ours.decision_function(more)
    np.testing.assert_allclose(scores, without.decision_function(more), atol=1e-9)
    np.testing.assert_array_equal(scores[60:], ours.planes_[0].intercept)


def test_a_class_of_such_rows_only_is_refused():
    more, labels = np.vstack([X, np.full((2, 4), NAN)]), [*y, 7, 7]
    with pytest.raises(ValueError, match=r"no row with an observed value of \[7\]"):
        model().fit(more, labels)


@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_with_nothing_observed_are_left_out(kernel):
    wide = np.column_stack([X, np.full(60, NAN)])
    ours = model(kernel=kernel).fit(wide, y)
    wide[:, 4] = 1e9
    scores = ours.decision_function(wide)
    plain = model(kernel=kernel).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(scores, plain)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_a_constant_column_changes_nothing_on_complete_rows(kernel):
    wide = np.column_stack([COMPLETE, np.full(60, 3.0)])
    ours = model(kernel=kernel, g=0.3).fit(wide, LABELS).decision_function(wide)
    plain = model(kernel=kernel, g=0.3).fit(COMPLETE, LABELS)
    np.testing.assert_allclose(ours, plain.decision_function(COMPLETE), atol=1e-6)


def test_balanced_classes_have_equal_costs():
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:6]]
    rows, labels = X[few], y[few]
    found = model(kernel="linear").fit(rows, labels).predict(rows).sum()
    ours = model(kernel="linear", class_weight="balanced").fit(rows, labels)
    assert ours.predict(rows).sum() > found


@pytest.mark.parametrize("kernel", KERNELS)
def test_values_far_out_have_a_class(kernel):
    wild = [[1e300, NAN, -1e300, 0.0], [NAN, -1e308, 1e308, 1e308]]
    scores = model(kernel=kernel).fit(X, y).decision_function(wild)
    assert np.isfinite(scores).all()


def test_probabilities_come_by_calibration():
    for ensemble in (True, False):
        ours = CalibratedClassifierCV(model(), cv=3, ensemble=ensemble)
        probabilities = ours.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(1), 1.0)
        assert (probabilities.argmax(1) == y).mean() > 0.7


def test_a_grid_goes_over_all_parameters():
    grid = [
        {"C": [0.5, 8.0], "g": [2.0**-5, 0.5], "n_iter": [2, 5]},
        {"kernel": ["linear"], "algorithm": ALGORITHMS},
    ]
    search = GridSearchCV(model(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_score_ > 0.7


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    ours = model().fit(frame, y)
    assert ours.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(ours.predict(frame), model().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": -1.0}, "Got C=-1.0, but expected a finite number above 0"),
        ({"g": 0}, "Got g=0"),
        ({"kernel": "cosine"}, "Got kernel='cosine', but expected one of rbf, product"),
        ({"algorithm": "socp"}, "Got algorithm='socp', but expected one of iterated"),
        ({"n_iter": 0}, "Got n_iter=0, but expected an integer of at least 1"),
        ({"degree": 0}, "Got degree=0"),
        ({"coef0": -1.0}, "Got coef0=-1.0, but expected a finite number >= 0"),
        ({"validation_fraction": 1.0}, "Got validation_fraction=1.0, but expected"),
        ({"validation_fraction": "some"}, "Got validation_fraction='some'"),
        ({"tol": 0.0}, "Got tol=0.0"),
        ({"max_iter": -2}, "Got max_iter=-2"),
    ],
)
def test_wrong_parameters_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        model(**parameters).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"one class only, \[0\]"):
        model().fit(X[y == 0], y[y == 0])


@pytest.mark.parametrize("kernel", ["rbf", "product", "poly"])
def test_norms_on_many_sets_of_columns_take_little_memory(kernel):
    rows, labels = numbers(300, missing=0.0)
    wide = np.hstack([rows, np.random.RandomState(0).randn(300, 8)])
    wide[np.random.RandomState(1).rand(*wide.shape) < 0.3] = NAN
    assert len(np.unique(np.isnan(wide), axis=0)) > 250
    tracemalloc.start()
    model(kernel=kernel, n_iter=2, validation_fraction=None).fit(wide, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # all patterns and pairs at once are 200 MB
