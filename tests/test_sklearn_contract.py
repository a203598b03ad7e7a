"""Every estimator against scikit-learn's own checks, and in its meta-estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import (
    ALL,
    autoencoder,
    check_network,
    classifier,
    fitted,
    frame,
    imputer,
    numbers,
    rbf,
    regressor,
)

from lacunet import (
    IncompleteGaussianMixture,
    LacunetAutoencoder,
    LacunetClassifier,
    LacunetImputer,
    LacunetRBFClassifier,
    LacunetRegressor,
)

# Small and quick: some checks ask for a good fit of a few dozen rows.
_QUICK = {"n_networks": 2, "hidden_layer_sizes": (16,), "lr": 0.05, "random_state": 0}
_PLAIN = {"max_epochs": 6, "mask_augmentation": 0.0, "dropout": 0.0}
ESTIMATORS = [
    IncompleteGaussianMixture(max_iter=300, random_state=0),
    IncompleteGaussianMixture(covariance_type="full", max_iter=300, random_state=0),
    IncompleteGaussianMixture(covariance_type="factor", max_iter=300, random_state=0),
    LacunetClassifier(**_QUICK, **_PLAIN),
    LacunetRegressor(density=IncompleteGaussianMixture(), **_QUICK, **_PLAIN),
    LacunetRBFClassifier(n_units=10, max_epochs=8, lr=0.2, random_state=0),
    LacunetAutoencoder(hidden_layer_sizes=(8,), max_epochs=3, random_state=0),
    LacunetImputer(density=IncompleteGaussianMixture(1), random_state=0),
]
DEFAULTS = [
    IncompleteGaussianMixture(),
    LacunetClassifier(),
    LacunetRegressor(),
    LacunetRBFClassifier(),
    LacunetAutoencoder(),
    LacunetImputer(),
]


# Some checks have a handful of rows, or a class of one, which gives a warning.
few_rows = pytest.mark.filterwarnings("ignore:Got .* rows, too few")
single_members = pytest.mark.filterwarnings("ignore:Got classes with one row only")


@few_rows
@single_members
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check_network(estimator, check)


@pytest.mark.slow
@few_rows
@single_members
@parametrize_with_checks(DEFAULTS)
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check_network(estimator, check)


def test_there_are_checks():
    """A contract test that collects nothing would pass for ever."""
    marks = test_scikit_learn_check.pytestmark
    (checks,) = [mark for mark in marks if mark.name == "parametrize"]
    cases = list(checks.args[1])
    assert len(cases) >= 40 * len(ESTIMATORS)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *DEFAULTS])
def test_nan_is_declared(estimator):
    assert estimator.__sklearn_tags__().input_tags.allow_nan


# --- in other estimators, with NaN in X

FRAME, LABELS = frame()
X, y = numbers()


def quick(**options):
    density = IncompleteGaussianMixture(2)
    settings = {"max_epochs": 2, "density": density, "on_unseen_missing": "use"}
    return classifier(**settings, **options)


def pair():
    return [("network", quick()), ("rbf", rbf(on_unseen_missing="use"))]


@pytest.mark.parametrize("name", ALL)
def test_a_clone_has_the_parameters_and_nothing_learned(name):
    model = fitted(name)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not hasattr(copy, "density_")


def test_pipelines_take_frames_with_holes():
    for first in (imputer(), autoencoder()):
        model = make_pipeline(first, classifier()).fit(FRAME, LABELS)
        assert model.predict_proba(FRAME).shape == (60, 2)
    assert make_pipeline(classifier()).fit(FRAME, LABELS).score(FRAME, LABELS) > 0.4


def test_a_filled_table_goes_into_any_model():
    model = make_pipeline(imputer(), LogisticRegression()).fit(X, y)
    assert model.score(X, y) > 0.7


def test_columns_are_filled_by_a_column_transformer():
    split = ColumnTransformer(
        [
            ("numbers", autoencoder(), make_column_selector(dtype_include="number")),
            ("others", imputer(), ["town", "text"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    filled = split.fit_transform(FRAME)
    assert list(filled) == ["number", "whole", "town", "text"]
    assert not filled.isna().any(axis=None)
    assert filled["town"].dtype == FRAME["town"].dtype


@pytest.mark.parametrize("make", [imputer, autoencoder])
def test_the_output_can_be_a_pandas_frame(make):
    model = make().set_output(transform="pandas")
    filled = model.fit_transform(FRAME)
    assert filled.dtypes.equals(FRAME.dtypes)
    named = model.fit(pd.DataFrame(X, columns=list("abcd"))).transform(
        pd.DataFrame(X, columns=list("abcd"), index=range(100, 160))
    )
    assert list(named) == list("abcd")
    assert named.index[0] == 100


@pytest.mark.parametrize("make", [imputer, autoencoder])
def test_the_output_can_be_a_polars_frame(make):
    pl = pytest.importorskip("polars")
    filled = make().set_output(transform="polars").fit_transform(X)
    assert isinstance(filled, pl.DataFrame)


def test_a_grid_reaches_into_the_density():
    grid = {"density__n_components": [1, 2], "lr": [0.01, 0.02]}
    search = GridSearchCV(quick(), grid, cv=2, error_score="raise").fit(X, y)
    found = search.best_params_["density__n_components"]
    assert search.best_estimator_.density_.n_components == found
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_grid_may_choose_the_density_itself():
    grid = {"density": ["auto", IncompleteGaussianMixture(1)]}
    search = GridSearchCV(quick(), grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 2


@pytest.mark.slow
def test_scores_are_the_same_in_two_processes():
    options = {"cv": 3, "scoring": "neg_log_loss", "error_score": "raise"}
    serial, parallel = (
        cross_val_score(quick(), FRAME, LABELS, n_jobs=n, **options) for n in (1, 2)
    )
    np.testing.assert_allclose(serial, parallel, rtol=1e-4)  # other numbers of threads


def test_sample_weights_go_through_cross_validation():
    weights = np.linspace(0.5, 1.5, 60)
    given = {"params": {"sample_weight": weights}, "method": "predict_proba", "cv": 2}
    weighted = cross_val_predict(quick(), X, y, **given)
    plain = cross_val_predict(quick(), X, y, method="predict_proba", cv=2)
    assert (weighted != plain).any()


@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(quick(), n_estimators=2, random_state=0),
        StackingClassifier(pair(), LogisticRegression(), cv=2),
        VotingClassifier(pair(), voting="soft"),
        CalibratedClassifierCV(quick(), cv=2, ensemble=False),
        CalibratedClassifierCV(quick(), cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("table", ["array", "frame"])
def test_meta_classifiers_take_holes(model, table):
    rows, labels = (X, y) if table == "array" else (FRAME, LABELS)
    if isinstance(model, BaggingClassifier) and table == "frame":
        rows = FRAME[["number"]].to_numpy()  # bagging makes an array of any frame
    probabilities = clone(model).fit(rows, labels).predict_proba(rows)
    assert probabilities.shape == (60, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1.0)


def test_bagged_regressors_take_holes():
    model = BaggingRegressor(regressor(), n_estimators=2, random_state=0)
    assert np.isfinite(model.fit(X, y).predict(X)).all()


def test_several_labels_are_predicted_by_several_models():
    both = np.column_stack([y, 1 - y])
    model = MultiOutputClassifier(quick()).fit(X, both)
    assert model.predict(X).shape == (60, 2)


@pytest.mark.parametrize("table", ["array", "frame"])
def test_columns_are_permuted_for_their_importance(table):
    rows, labels = (X, y) if table == "array" else (FRAME, LABELS)
    model = classifier(max_epochs=10, lr=0.02).fit(rows, labels)
    found = permutation_importance(model, rows, labels, n_repeats=3, random_state=0)
    assert found.importances_mean.argmax() in ((0,) if table == "array" else (0, 1, 2))
    assert found.importances_mean.max() > 0.02


@pytest.mark.parametrize(
    ("column", "values"), [("number", [-2.0, 0.0, 2.0]), ("town", ["Bonn", "Rome"])]
)
def test_partial_dependence_of_values_that_are_given(column, values):
    """Scikit-learn's own grid is of quantiles, all NaN where a value is missing."""
    model = classifier(max_epochs=10, lr=0.02).fit(FRAME, LABELS)
    given = {column: np.array(values, dtype=object if column == "town" else float)}
    found = partial_dependence(model, FRAME, [column], custom_values=given)
    assert found["grid_values"][0].tolist() == values
    assert (np.diff(found["average"][0]) > 0).all()
