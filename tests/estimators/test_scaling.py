"""Laws of the scales, then their numbers."""

import json

import numpy as np
import pytest
from scipy.special import ndtri

from lacunet.estimators._encoding import LIMIT, fit_scaling, scaling_from_state

NAN = np.nan
METHODS = ["standard", "robust", "quantile"]


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=300),
        np.exp(3 * rng.normal(size=300)),
        rng.integers(0, 4, size=300).astype(float),
        1e300 * rng.uniform(-1, 1, size=300),
        1e-300 * rng.uniform(1, 2, size=300),
        2.0**60 + 2.0**12 * rng.integers(0, 999, size=300),
        np.full(300, 7.0),
    ]
    table = np.stack(columns, axis=1)
    table[rng.uniform(size=table.shape) < 0.2] = NAN
    return table


@pytest.mark.parametrize("method", METHODS)
def test_inverse_undoes_transform_and_nan_stays(values, method):
    scaling = fit_scaling(values, method)
    scaled = scaling.transform(values)
    np.testing.assert_array_equal(np.isnan(scaled), np.isnan(values))
    width = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    largest = np.nanmax(np.abs(values), axis=0)
    error = np.abs(scaling.inverse(scaled) - values)
    assert (np.nanmax(error, axis=0) <= 1e-15 * np.maximum(width, largest)).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_row_does_not_depend_on_its_neighbours(values, method):
    scaling = fit_scaling(values, method)
    rows = [scaling.transform(values[[row]]) for row in range(len(values))]
    np.testing.assert_array_equal(np.concatenate(rows), scaling.transform(values))


@pytest.mark.parametrize("method", METHODS)
def test_transform_is_strictly_increasing_also_beyond_the_data(values, method):
    scaling = fit_scaling(values, method)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    high = np.where(high > low, high, high + 1.0)
    wide = low + np.linspace(-5, 5, 999)[:, None] * (high - low)
    assert (np.diff(scaling.transform(wide), axis=0) > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_state_is_json_and_gives_the_same_bits(values, method):
    scaling = fit_scaling(values, method)
    text = json.dumps(scaling.to_state(), allow_nan=False)
    again = scaling_from_state(json.loads(text), values.shape[1])
    np.testing.assert_array_equal(again.transform(values), scaling.transform(values))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_beyond_the_limit(method):
    scaling = fit_scaling(np.array([[1e-300], [2e-300], [3e-300]]), method)
    far = scaling.transform(np.array([[1e308], [-1e308]]))
    np.testing.assert_array_equal(far, [[LIMIT], [-LIMIT]])
    assert np.isfinite(scaling.inverse(far)).all()


def test_standard_has_mean_0_and_deviation_1(values):
    tame = np.delete(values, [1, 6], axis=1)  # not the skewed one, nor the constant
    scaled = fit_scaling(tame, "standard").transform(tame)
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.nanstd(scaled, axis=0), 1)


@pytest.mark.parametrize("slip", [1e12, 1e200, -np.finfo(float).max])
def test_one_outlier_does_not_set_the_scale(slip):
    values = np.random.RandomState(0).randn(300, 1)
    with_slip = values.copy()
    with_slip[0] = slip
    tame, ruled = (
        fit_scaling(v, "standard").transform(values) for v in (values, with_slip)
    )
    np.testing.assert_allclose(ruled[1:].std(), tame[1:].std(), rtol=0.6)


def test_a_constant_column_is_centred_and_keeps_its_units():
    for method in METHODS:
        scaling = fit_scaling(np.array([[7.0], [NAN], [7.0]]), method)
        np.testing.assert_array_equal(
            scaling.transform(np.array([[7.0], [9.0]])), [[0.0], [2.0]]
        )


def test_a_column_without_values_is_left_as_it_is():
    for method in METHODS:
        scaling = fit_scaling(np.full((3, 1), NAN), method)
        np.testing.assert_array_equal(scaling.inverse(np.array([[2.0]])), [[2.0]])


def test_robust_is_median_and_quartiles():
    scaling = fit_scaling(np.array([[0.0], [1.0], [2.0], [3.0], [1e6]]), "robust")
    np.testing.assert_allclose(scaling.centre, 2.0)
    np.testing.assert_allclose(scaling.scale, 2 / (2 * ndtri(0.75)))


def test_robust_falls_back_to_the_deviation_where_half_is_one_value():
    scaling = fit_scaling(np.array([[0.0]] * 8 + [[10.0]] * 2), "robust")
    np.testing.assert_allclose(scaling.scale, 4.0)


def test_quantile_maps_mid_ranks_to_normal_quantiles():
    values = np.array([[1.0], [5.0], [5.0], [100.0]])
    scaled = fit_scaling(values, "quantile").transform(values)
    np.testing.assert_allclose(scaled.ravel(), ndtri([1 / 8, 1 / 2, 1 / 2, 7 / 8]))


def test_quantile_makes_a_skewed_column_normal():
    values = np.exp(2 * np.random.default_rng(0).normal(size=(5000, 1)))
    scaled = fit_scaling(values, "quantile").transform(values)
    ranks = [0.01, 0.1, 0.5, 0.9, 0.99]
    np.testing.assert_allclose(np.quantile(scaled, ranks), ndtri(ranks), atol=0.02)


def test_unknown_scales_are_refused():
    with pytest.raises(ValueError, match="Got scale='log', but expected one of"):
        fit_scaling(np.zeros((2, 1)), "log")


def test_states_of_other_lengths_are_refused():
    for method in METHODS:
        state = fit_scaling(np.array([[1.0, 2.0], [2.0, 3.0]]), method).to_state()
        with pytest.raises(ValueError, match="broadcast|zip"):
            scaling_from_state(state, 3)
