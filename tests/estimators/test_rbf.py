"""The radial basis function network of the paper."""

import numpy as np
import pytest
import torch
from small import NAN, fitted, numbers, rbf

from lacunet import functional as F


def test_it_learns_from_rows_with_missing_values():
    X, y = numbers(400)
    model = rbf(n_units=20, max_epochs=20, lr=0.05).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.75


@pytest.mark.parametrize("normalise", [True, False])
def test_it_is_expected_radial_units_and_a_linear_layer(normalise):
    """By hand, on the same weights: theorem 3.2, then softmax."""
    X, y = numbers()
    model = rbf(normalise=normalise).fit(X, y)
    (view,) = model.module_
    first, (last,) = view.networks.first, view.networks.layers
    encoded = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    x = torch.tensor(encoded.clip(-5, 5), dtype=torch.float32)
    with torch.no_grad():
        mixture = model.density_.condition(x)
        units = F.expected_rbf(
            mixture, first.centres, first.variances, normalise=normalise
        )
        expected = (units @ last.weight[0] + last.bias[0]).softmax(1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_centres_start_at_filled_training_rows_and_variances_at_half_normals():
    X, y = numbers(200, missing=0.0)
    model = rbf(n_units=40, lr=1e-12, train_density=False, max_epochs=1).fit(X, y)
    first = next(iter(model.module_)).networks.first
    encoded = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    distances = torch.cdist(first.centres.detach(), encoded.clamp(-5, 5))
    assert distances.min(1).values.max() < 1e-2
    # The mean of |N(0, 1)| is 0.8.
    assert float(first.variances.detach().mean()) == pytest.approx(5 * 0.8, rel=0.2)


@pytest.mark.filterwarnings("ignore:Got columns without one observed value")
def test_variances_start_on_the_scale_of_each_column():
    X, y = numbers(200)
    X *= [1.0, 10.0, 0.0, 1.0]
    X[:, 3] = NAN
    model = rbf(n_units=200, lr=1e-12, max_epochs=1, scale="none").fit(X, y)
    first = next(iter(model.module_)).networks.first
    found = first.variances.detach().mean(0).numpy() / (5 * 0.8)
    expected = [*np.nanvar(X[:, :2], axis=0), 0.01, 1.0]
    np.testing.assert_allclose(found, expected, rtol=0.25)


def test_the_number_of_units_is_a_parameter():
    X, y = numbers()
    model = rbf(n_units=7, n_networks=2).fit(X, y)
    assert next(iter(model.module_)).networks.first.units == 14
    assert model.predict_proba(X).shape == (60, 2)


def test_there_is_one_view_also_if_the_density_is_chosen():
    X, y = numbers()
    model = rbf(density="auto", n_networks=2).fit(X, y)
    assert len(list(model.module_)) == 1


def test_a_row_with_nothing_in_it_gets_a_prediction():
    nothing = fitted("rbf").predict_proba(np.full((1, 4), np.nan))
    assert np.isfinite(nothing).all()


def test_wrong_parameters_are_refused():
    X, y = numbers()
    with pytest.raises(ValueError, match="Got n_units=0"):
        rbf(n_units=0).fit(X, y)
