"""Every estimator against scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from lacunet import IncompleteGaussianMixture

ESTIMATORS = [
    IncompleteGaussianMixture(max_iter=300, random_state=0),
    IncompleteGaussianMixture(covariance_type="full", max_iter=300, random_state=0),
    IncompleteGaussianMixture(covariance_type="factor", max_iter=300, random_state=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_there_are_checks():
    """A contract test that collects nothing would pass for ever."""
    marks = test_scikit_learn_check.pytestmark
    cases = [case for mark in marks for case in mark.args[1]]
    assert len(cases) >= 40 * len(ESTIMATORS)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nan_is_declared(estimator):
    assert estimator.__sklearn_tags__().input_tags.allow_nan
