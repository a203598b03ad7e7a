"""Intervals and sets of classes."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from lacunet import LacunetClassifier, LacunetImputer, LacunetRegressor
from lacunet.inspection import prediction_interval, prediction_set


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    X = rng.randn(500, 3)
    y = 2 * X[:, 0] + X[:, 1] + 0.3 * rng.randn(500)
    X[rng.rand(500, 3) < 0.1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def regressor(rows):
    X, y = rows
    return LacunetRegressor(n_networks=2, max_epochs=15, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classifier(rows):
    X, y = rows
    model = LacunetClassifier(n_networks=2, max_epochs=15, random_state=0)
    return model.fit(X, np.where(y > 0, "high", "low"))


def test_intervals_are_quantiles(regressor, rows):
    X, _ = rows
    low, high = prediction_interval(regressor, X[:20], 0.8)
    quantiles = regressor.predict_quantiles(X[:20], [0.1, 0.9])
    assert np.column_stack([low, high]) == pytest.approx(quantiles)


def test_intervals_are_wider_where_more_is_missing(regressor):
    X = np.array([[0.5, 0.5, 0.0], [0.5, np.nan, 0.0], [np.nan, np.nan, 0.0]])
    low, high = prediction_interval(regressor, X)
    assert (np.diff(high - low) > 0.5).all()


def test_sets_are_larger_at_a_higher_coverage(classifier, rows):
    X, _ = rows
    small, large = (prediction_set(classifier, X, each) for each in (0.7, 0.99))
    assert small.shape == (len(X), 2)
    assert (small <= large).all()
    assert small.sum() < large.sum()


def test_sets_and_intervals_are_for_their_own_models(regressor, classifier, rows):
    X, _ = rows
    imputer = LacunetImputer(random_state=0).fit(X)
    with pytest.raises(TypeError, match="there is prediction_set"):
        prediction_interval(classifier, X)
    with pytest.raises(TypeError, match="use prediction_interval"):
        prediction_set(regressor, X)
    with pytest.raises(TypeError, match="expected a fitted classifier"):
        prediction_set(imputer, X)


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90, -0.1])
def test_other_coverages_are_refused(regressor, classifier, rows, coverage):
    for function, model in (
        (prediction_interval, regressor),
        (prediction_set, classifier),
    ):
        with pytest.raises(ValueError, match="between 0 and 1, such as 0.9"):
            function(model, rows[0], coverage)


def test_more_coverage_than_calibration_rows_allow_is_warned_of(rows, classifier):
    X, _ = rows
    with pytest.warns(UserWarning, match="too few for coverage=0.9999: each set has"):
        inside = prediction_set(classifier, X[:3], 0.9999)
    assert inside.all()


@pytest.mark.parametrize("coverage", ["0.9", None])
def test_coverage_is_a_number(rows, regressor, coverage):
    with pytest.raises(ValueError, match="Got coverage=.*between 0 and 1"):
        prediction_interval(regressor, rows[0], coverage)
    with pytest.raises(ValueError, match="between 0 and 1"):
        regressor.predict_quantiles(rows[0], ["a"])


def test_pipelines_are_refused_with_advice(rows, regressor, classifier):
    for model, ask in (
        (regressor, prediction_interval),
        (classifier, prediction_set),
    ):
        with pytest.raises(TypeError, match="Of a pipeline take its last step"):
            ask(make_pipeline(model), rows[0])
