"""Missing inputs dropped, and the others divided by one minus the rate."""

import numpy as np
import pytest
import torch
from reproduction.rivals._dropout import InputDropout
from reproduction.rivals._dropout_autoencoder import DropoutAutoencoder
from reproduction.rivals._dropout_mlp import (
    DropoutMLP,
    DropoutMLPClassifier,
    DropoutMLPRegressor,
)
from reproduction.rivals._filled import FilledAutoencoder
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from small import check_network, frame, numbers

from lacunet import IncompleteGaussianMixture, LacunetRBFClassifier
from lacunet.baselines import plain_network

NAN = np.nan
_QUICK = {"n_networks": 1, "hidden_layer_sizes": (8,), "max_epochs": 2, "dropout": 0.0}
_GOOD = {**_QUICK, "max_epochs": 6, "lr": 0.1}
_AUTOENCODER = {"hidden_layer_sizes": (8,), "max_epochs": 2, "random_state": 0}


def classifier(**options):
    return DropoutMLPClassifier(
        plain_network(**_QUICK), **{"random_state": 0, **options}
    )


few_rows = pytest.mark.filterwarnings("ignore:Got .* rows, too few")
single_members = pytest.mark.filterwarnings("ignore:Got classes with one row only")


@few_rows
@single_members
@parametrize_with_checks(
    [
        InputDropout(),
        DropoutMLPClassifier(LogisticRegression()),
        DropoutMLPRegressor(Ridge()),
        DropoutAutoencoder(**_AUTOENCODER),
    ]
)
def test_scikit_learn_check(estimator, check):
    check_network(estimator, check)


@pytest.mark.slow
@few_rows
@single_members
@parametrize_with_checks(
    [DropoutMLPClassifier(), DropoutMLPRegressor(), DropoutAutoencoder()]
)
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check_network(estimator, check)


# --- the rule itself


def test_what_is_missing_is_zero_and_the_rest_is_divided_by_one_minus_the_rate():
    X = np.array([[1.0, NAN, 3.0], [NAN, -2.0, 0.5]])
    dropout = InputDropout().fit(X)
    assert dropout.rate_ == 2 / 6
    expected = [[1.5, 0.0, 4.5], [0.0, -3.0, 0.75]]
    np.testing.assert_allclose(dropout.transform(X), expected)


def test_a_rate_can_be_given():
    X = np.array([[1.0, NAN], [2.0, 3.0]])
    expected = [[2.0, 0.0], [4.0, 6.0]]
    np.testing.assert_array_equal(InputDropout(0.5).fit_transform(X), expected)


def test_later_rows_are_divided_by_the_rate_of_training():
    dropout = InputDropout().fit([[1.0, NAN], [2.0, NAN]])
    np.testing.assert_array_equal(dropout.transform([[3.0, 4.0]]), [[6.0, 8.0]])


def test_complete_rows_stay_as_they_are():
    X, _ = numbers(missing=0.0)
    np.testing.assert_array_equal(InputDropout().fit_transform(X), X)


def test_single_precision_stays_single_and_the_input_stays_whole():
    X = np.array([[1.0, NAN]], dtype=np.float32)
    assert InputDropout().fit_transform(X).dtype == np.float32
    assert X[0, 0] == 1.0
    assert np.isnan(X[0, 1])


@pytest.mark.parametrize("rate", [1.0, -0.1, "half", NAN, True])
def test_wrong_rates_are_refused(rate):
    X, y = numbers()
    with pytest.raises(ValueError, match="Got rate=.*below 1"):
        InputDropout(rate).fit(X)
    with pytest.raises(ValueError, match="Got rate="):
        classifier(rate=rate).fit(X, y)


def test_a_table_without_values_has_no_rate():
    X = np.full((3, 2), NAN)
    with pytest.raises(ValueError, match="without one observed value.*Give a rate"):
        InputDropout().fit(X)
    np.testing.assert_array_equal(InputDropout(0.5).fit_transform(X), np.zeros((3, 2)))


# --- in front of a network


class Recorder(ClassifierMixin, BaseEstimator):
    """Keep what one is given."""

    def fit(self, X, y):
        self.rows_ = X
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.asked_ = X
        return self.classes_[np.zeros(len(X), dtype=int)]


def dropped(X, X_train, rate):
    centre, spread = np.nanmean(X_train, axis=0), np.nanstd(X_train, axis=0)
    return np.nan_to_num((X - centre) / spread) / (1 - rate)


@pytest.mark.parametrize("rate", [None, 0.5])
def test_the_network_is_given_standardised_rows_with_dropped_inputs(rate):
    X, y = numbers()
    model = DropoutMLPClassifier(Recorder(), rate=rate).fit(X, y)
    share = np.isnan(X).mean() if rate is None else rate
    assert model.rate_ == pytest.approx(share)
    np.testing.assert_allclose(model.network_.rows_, dropped(X, X, share))
    later, _ = numbers(20, missing=0.6, seed=1)
    model.predict(later)
    np.testing.assert_allclose(model.network_.asked_, dropped(later, X, share))


def test_wild_values_are_bounded_at_five_deviations():
    X, y = numbers(200)
    X[0, 0] = 1e6
    model = DropoutMLPClassifier(Recorder(), rate=0.5).fit(X, y)
    model.predict(X)
    assert model.network_.rows_[0, 0] == model.network_.asked_[0, 0] == 5.0 / 0.5


def test_on_complete_rows_it_is_the_plain_network():
    X = np.indices((2,) * 6).reshape(6, -1).T * 2.0 - 1  # standardised as it is
    y = (X.sum(1) > 0).astype(int)
    plain = plain_network(**_QUICK, random_state=5)
    model = DropoutMLPClassifier(plain).fit(X, y)
    expected = plain.set_params(scale="none").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)


def test_a_network_of_lacunet_does_not_scale_again():
    X, y = numbers()
    network = plain_network(**_QUICK)
    model = DropoutMLPClassifier(network).fit(X, y)
    assert model.network_.scale == "none"
    assert network.scale == "standard"
    inputs = model.network_._inputs.transform(np.array([[10.0, -7.0, 3.0, 0.0]]))
    np.testing.assert_array_equal(inputs, [[10.0, -7.0, 3.0, 0.0]])


def test_the_rate_makes_a_difference():
    X, y = numbers()
    one, other = (classifier(rate=r).fit(X, y).predict_proba(X) for r in (0.0, 0.8))
    assert np.abs(one - other).max() > 0.01


def test_classes_are_learned_from_rows_with_holes():
    X, y = numbers(300)
    model = DropoutMLPClassifier(plain_network(**_GOOD), random_state=0)
    assert model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.75
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1.0)


def test_numbers_are_learned_from_rows_with_holes():
    X, _ = numbers(300)
    truth = np.nan_to_num(X) @ [1.0, 2.0, 0.0, -1.0]
    targets = np.column_stack([truth, 3.0 - truth])
    network = plain_network("regression", **{**_GOOD, "max_epochs": 30})
    model = DropoutMLPRegressor(network, random_state=0)
    assert model.fit(X[:200], targets[:200]).score(X[200:], targets[200:]) > 0.7
    assert model.fit(X, truth).predict(X).shape == (300,)


def test_the_same_seed_gives_the_same_and_global_generators_stay():
    X, y = numbers()
    before = torch.get_rng_state()
    first, again, other = (
        classifier(random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert torch.equal(torch.get_rng_state(), before)


def test_a_seed_of_the_network_is_kept():
    X, y = numbers()
    network = plain_network(**_QUICK, random_state=3)
    model = DropoutMLPClassifier(network, random_state=0).fit(X, y)
    assert model.network_.random_state == 3


def test_any_table_and_any_network_will_do():
    X, y = frame()
    assert classifier().fit(X, y).predict_proba(X).shape == (60, 2)
    rbf = LacunetRBFClassifier(
        n_units=5, density=IncompleteGaussianMixture(1), max_epochs=2
    )
    model = DropoutMLPClassifier(rbf, random_state=0).fit(X, y)
    assert model.predict(X).shape == (60,)


def test_probabilities_are_there_if_the_network_has_them():
    X, y = numbers()
    model = DropoutMLPClassifier(RidgeClassifier()).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, y) > 0.7
    assert hasattr(DropoutMLPClassifier(), "predict_proba")


def test_a_grid_reaches_rate_and_network():
    X, y = numbers()
    grid = {"rate": [None, 0.5], "network__lr": [0.01, 0.1]}
    search = GridSearchCV(classifier(), grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_the_issue_s_name_is_the_classifier():
    assert DropoutMLP is DropoutMLPClassifier


@pytest.mark.parametrize("rate", [None, 0.5])
def test_the_autoencoder_is_one_over_dropped_inputs(rate):
    X, _ = numbers()
    model = DropoutAutoencoder(rate, **_AUTOENCODER).fit(X)
    same = FilledAutoencoder(InputDropout(rate), **_AUTOENCODER).fit(X)
    np.testing.assert_array_equal(model.transform(X), same.transform(X))
    share = np.isnan(X).mean() if rate is None else rate
    assert model.imputer_.rate_ == pytest.approx(share)


def test_the_autoencoder_gives_back_values_that_are_not_divided():
    X = np.random.RandomState(0).rand(300, 2)[:, [0, 0, 1, 1]]
    X[::2, 0] = NAN
    model = DropoutAutoencoder(
        0.5, scale="none", hidden_layer_sizes=(32,), max_epochs=60, lr=0.01
    )
    given_back = model.set_params(random_state=0).fit(X).reconstruct(X)
    assert np.nanmean((given_back - X) ** 2) < 0.2 * np.nanvar(X)
