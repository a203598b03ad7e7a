"""The machine with karma's kernel."""

import numpy as np
import pandas as pd
import pytest
from reproduction.rivals import _karma
from reproduction.rivals._karma import KarmaSVC
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import numbers

NAN = np.nan
X, y = numbers()
COMPLETE, LABELS = numbers(missing=0.0)
FINE = {"tol": 1e-8}


def standard(rows, weights=None):
    return StandardScaler().fit(rows, sample_weight=weights).transform(rows)


@parametrize_with_checks([KarmaSVC(), KarmaSVC(kernel="linear", gamma=1)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("gamma", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_complete_rows_have_the_ordinary_machine(kernel, gamma):
    model = KarmaSVC(3.0, gamma=gamma, kernel=kernel, g=0.3, **FINE)
    ours = model.fit(COMPLETE, LABELS).decision_function(COMPLETE)
    rows = standard(COMPLETE)
    other = SVC(C=3.0, kernel=kernel, gamma=0.3, **FINE).fit(rows, LABELS)
    np.testing.assert_allclose(ours, other.decision_function(rows), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_with_one_term_it_is_the_machine_on_means(kernel):
    model = KarmaSVC(gamma=1, kernel=kernel, g=0.3, **FINE).fit(X, y)
    rows = np.nan_to_num(standard(X))
    other = SVC(kernel=kernel, gamma=0.3, **FINE).fit(rows, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-5)


def test_two_terms_count_the_columns_that_rows_share():
    model = KarmaSVC(gamma=2, kernel="linear", **FINE).fit(X, y)
    values, seen = np.nan_to_num(standard(X)), (~np.isnan(X)).astype(float)
    gram = (1 + seen @ seen.T) * (values @ values.T) / 5
    other = SVC(kernel="precomputed", **FINE).fit(gram, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(gram), atol=1e-5)


def test_three_classes_are_told_apart_as_by_the_ordinary_machine():
    classes = np.digitize(COMPLETE[:, 0], [-0.5, 0.5])
    model = KarmaSVC(g=0.3, **FINE).fit(COMPLETE, classes)
    rows = standard(COMPLETE)
    other = SVC(gamma=0.3, **FINE).fit(rows, classes)
    scores = model.decision_function(COMPLETE)
    assert scores.shape == (60, 3)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-4)
    np.testing.assert_array_equal(model.predict(COMPLETE), other.predict(rows))


def test_scale_is_one_over_the_number_of_columns_with_a_value():
    wide = np.column_stack([X, np.full(len(X), NAN)])
    ours = KarmaSVC().fit(wide, y).decision_function(wide)
    given = KarmaSVC(g=0.25).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(ours, given)


def test_a_weight_of_two_is_a_row_that_comes_twice():
    weights = np.random.RandomState(1).randint(3, size=60)
    weighted = KarmaSVC().fit(X, y, weights)
    index = np.repeat(np.arange(60), weights)
    repeated = KarmaSVC().fit(X[index], y[index])
    scores = weighted.decision_function(X)
    np.testing.assert_array_equal(scores, repeated.decision_function(X))


def test_weights_are_factors_of_the_cost():
    weights = np.linspace(0.2, 3.0, 60)
    ours = KarmaSVC(gamma=1, g=0.3, **FINE).fit(X, y, weights)
    rows = np.nan_to_num(standard(X, weights))
    other = SVC(gamma=0.3, **FINE).fit(rows, y, weights)
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-5)


def test_class_weights_are_factors_of_the_cost():
    ours = KarmaSVC(gamma=1, g=0.3, class_weight={0: 1.0, 1: 3.0}, **FINE).fit(X, y)
    rows = np.nan_to_num(standard(X))
    other = SVC(gamma=0.3, class_weight={0: 1.0, 1: 3.0}, **FINE).fit(rows, y)
    scores = ours.decision_function(X)
    np.testing.assert_allclose(scores, other.decision_function(rows), atol=1e-5)


def test_a_class_without_weight_is_refused():
    with pytest.raises(ValueError, match="Got class_weight=.*expected weights above 0"):
        KarmaSVC(class_weight={0: 0.0, 1: 1.0}).fit(X, y)


def test_balanced_classes_weigh_the_same_by_the_weights_of_their_rows():
    weights = np.where(y == 1, 3.0, 1.0)
    masses = np.bincount(y, weights)
    given = dict(enumerate(masses.sum() / 2 / masses))
    ours, other = (
        KarmaSVC(class_weight=classes).fit(X, y, weights).decision_function(X)
        for classes in ("balanced", given)
    )
    np.testing.assert_allclose(ours, other, atol=1e-9)


def test_the_order_of_rows_has_no_influence():
    order = np.random.RandomState(0).permutation(60)
    mixed = KarmaSVC().fit(X[order], y[order])
    scores = KarmaSVC().fit(X, y).decision_function(X)
    np.testing.assert_array_equal(mixed.decision_function(X), scores)


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()  # noqa: NPY002
    KarmaSVC().fit(X, y).predict(X)
    assert str(np.random.get_state()) == str(before)  # noqa: NPY002


def test_rows_with_nothing_observed_are_the_origin():
    model = KarmaSVC(kernel="linear").fit(np.vstack([X, [[NAN] * 4]]), [*y, 1])
    score = model.decision_function([[NAN] * 4])
    np.testing.assert_allclose(score, model.machine_.intercept_)


def test_predictions_in_blocks_are_those_at_once(monkeypatch):
    model = KarmaSVC().fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr(_karma, "_BLOCK_BUDGET", 7 * 60)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-10)


def test_values_far_out_have_a_class():
    wild = [[1e300, NAN, -1e300, 0.0], [NAN, -1e308, 1e308, 1e308]]
    for kernel in ("linear", "rbf"):
        scores = KarmaSVC(kernel=kernel).fit(X, y).decision_function(wild)
        assert np.isfinite(scores).all()


def test_probabilities_come_by_calibration():
    for ensemble in (True, False):
        model = CalibratedClassifierCV(KarmaSVC(), cv=3, ensemble=ensemble)
        probabilities = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(1), 1.0)
        assert (probabilities.argmax(1) == y).mean() > 0.7


def test_a_grid_goes_over_all_parameters():
    grid = {"C": [0.5, 8.0], "g": [2.0**-5, 0.5], "gamma": [1, 2]}
    search = GridSearchCV(KarmaSVC(), grid, cv=3, error_score="raise").fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_score_ > 0.7


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = KarmaSVC().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(frame), KarmaSVC().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0.0}, "Got C=0.0, but expected a finite number above 0"),
        ({"C": "1"}, "Got C='1'"),
        ({"g": "auto"}, "Got g='auto'"),
        ({"g": np.inf}, "Got g=inf"),
        ({"gamma": 0}, "Got gamma=0, but expected an integer of at least 1"),
        ({"kernel": "poly"}, "Got kernel='poly', but expected one of rbf, linear"),
        ({"tol": -1.0}, "Got tol=-1.0"),
        ({"max_iter": 0}, "Got max_iter=0"),
    ],
)
def test_wrong_parameters_are_refused(parameters, match):
    with pytest.raises(ValueError, match=match):
        KarmaSVC(**parameters).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"one class only, \[1\]"):
        KarmaSVC().fit(X[y == 1], y[y == 1])


def test_a_table_without_values_is_refused():
    with pytest.raises(ValueError, match="without a single observed value"):
        KarmaSVC().fit(np.full((4, 2), NAN), [0, 1, 0, 1])


def test_a_fit_that_fails_leaves_no_model():
    model = KarmaSVC(C=-1.0)
    for _ in range(2):
        with pytest.raises(ValueError, match="Got C"):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)
        model.set_params(C=1.0).fit(X, y).set_params(C=-1.0)
