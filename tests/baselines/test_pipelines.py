from functools import partial

import numpy as np
import pytest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import frame, numbers, predictions

from lacunet import LacunetClassifier, LacunetRegressor, baselines
from lacunet.baselines import (
    TableNumbers,
    gmm,
    knn,
    mean,
    mean_indicator,
    mice,
    plain_network,
)

FACTORIES = {
    "mean": mean,
    "mean_indicator": mean_indicator,
    "knn": knn,
    "mice": partial(mice, n_imputations=1),
    "gmm": gmm,
}
every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
SMALL = {"hidden_layer_sizes": (8,), "n_networks": 2, "max_epochs": 3}


@parametrize_with_checks([TableNumbers()])
def test_contract_of_the_encoder(estimator, check):
    check(estimator)


def any_pipeline_fails(estimator):
    """Fitting a Pipeline changes its steps, and its tags do not allow NaN."""
    checks = (
        "check_dont_overwrite_parameters",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
    )
    return dict.fromkeys(checks, "a Pipeline of scikit-learn's own fails it too")


@parametrize_with_checks(
    [
        make_pipeline(SimpleImputer(), LogisticRegression()),
        mean(estimator=LogisticRegression()),
        knn("regression", Ridge()),
    ],
    expected_failed_checks=any_pipeline_fails,
)
def test_contract_of_the_pipelines(estimator, check):
    check(estimator)


@every
def test_tables_with_missing_values_and_categories_are_taken(make):
    X, y = frame(80)
    model = make("classification", LogisticRegression(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    assert make("regression", Ridge(), random_state=0).fit(X, y).score(X, y) > 0.5


@every
def test_the_same_seed_gives_the_same(make):
    X, y = numbers()
    network = plain_network(**SMALL, random_state=0)
    models = [make(estimator=network, random_state=0).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


@every
@pytest.mark.parametrize("task", ["clustering", None, 3])
def test_other_tasks_are_refused(make, task):
    with pytest.raises(ValueError, match="task="):
        make(task)


def test_neighbours_are_those_of_scikit_learn_on_one_scale():
    X, y = numbers()
    ours = knn(estimator=LogisticRegression()).fit(X, y)[:-1].transform(X)
    theirs = KNNImputer().fit_transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(ours, theirs)


def test_the_indicator_adds_a_column_for_each_incomplete_one():
    X, y = numbers()
    model = mean_indicator(estimator=LogisticRegression()).fit(X, y)
    filled = model[:-1].transform(X)
    np.testing.assert_array_equal(filled[:, 4:], np.isnan(X))


def test_names_of_encoded_columns():
    X, _ = frame()
    names = TableNumbers().fit(X[["number", "town", "flag"]]).get_feature_names_out()
    assert names.tolist() == [
        "number",
        "town_Bonn",
        "town_Rome",
        "flag_False",
        "flag_True",
    ]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_plain_network_is_that_of_the_library_and_knows_no_density(task):
    network = plain_network(task, random_state=0, **SMALL)
    kind = {"classification": LacunetClassifier, "regression": LacunetRegressor}[task]
    assert type(network) is kind
    X, y = numbers(missing=0.0)
    network.fit(X, y)
    before = predictions(network, X)
    for value in network.density_.parameters():
        value.data += 1.0
    np.testing.assert_array_equal(predictions(network, X), before)
    X[0, 0] = np.nan
    network.set_params(on_unseen_missing="use")
    assert not np.allclose(predictions(network, X)[0], before[0])


@pytest.mark.parametrize("name", ["KarmaSVC", "ContextEncoder", "InputDropout"])
def test_names_that_moved_are_found_by_their_error(name):
    with pytest.raises(ImportError, match=f"{name} is now in reproduction.rivals"):
        exec(f"from lacunet.baselines import {name}")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = baselines.nothing
