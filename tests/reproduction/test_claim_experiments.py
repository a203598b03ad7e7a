import json

import numpy as np
import pytest
import torch
from reproduction import claim_experiments
from reproduction.claim_experiments import (
    Units,
    draw_information,
    draw_mnist,
    extrapolate_mice,
    find_sharpness,
    two_peaks_and_one,
)
from reproduction.runner import load_experiment
from reproduction.tables import Drawing


def test_theorem_4_1_in_numbers():
    found = json.loads(json.dumps(draw_information(), allow_nan=False))
    assert found["equal"] < 1e-12
    assert len(found["different"]) == 14
    assert min(found["different"].values()) > 0.01
    # Means and squares can't distinguish what ReLUs can.
    assert found["moments"] < 1e-10
    assert max(found["density"], found["characteristic"]) < 1e-4
    few = found["few_units"]
    assert few["their_gap"] < 1e-12
    assert few["gap"] > 0.01
    assert few["total_variation"] == pytest.approx(1)


def test_responses_are_those_of_points_that_are_drawn():
    direction = torch.tensor([[0.6, 0.8, 0.0, 0.0]], dtype=torch.float64)
    units = Units(direction, torch.tensor([0.25], dtype=torch.float64))
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(400_000, 4, generator=generator, dtype=torch.float64)
    peaks = noise.clone()
    peaks[:, 0] += torch.where(torch.arange(len(noise)) % 2 == 0, 1.0, -1.0)
    noise[:, 0] *= 2**0.5
    means = [torch.relu(x @ direction[0] + 0.25).mean() for x in (peaks, noise)]
    drawn = abs(float(means[0] - means[1]))
    assert units.gap(*two_peaks_and_one()) == pytest.approx(drawn, abs=4e-3)


def test_em_needs_a_floor_under_the_variances(monkeypatch, tmp_path):
    monkeypatch.setattr(claim_experiments, "_time_regression", lambda X: 0.5)
    rows = load_experiment("claim-mnist").stand_ins
    found = draw_mnist(Drawing(tmp_path, "quick", "digits", rows, ()))
    assert json.dumps(found, allow_nan=False)
    assert (found["n_images"], found["n_pixels"], found["n_constant"]) == (1437, 64, 3)
    fits = {(each["covariances"], each["floor"]): each for each in found["em"]}
    assert set(fits) == {(k, f) for k in ("diag", "factor") for f in (1e-6, 0.0)}
    for (_, floor), fit in fits.items():
        assert fit["fitted"] == (floor > 0)
        assert "why" in fit or np.isfinite(fit["log_likelihood"])


def test_hours_are_extrapolated_to_all_rows_and_columns(monkeypatch):
    X = np.ones((600, 5))
    X[0, :4] = np.nan  # four columns to regress, five rounds
    monkeypatch.setattr(
        claim_experiments, "_time_regression", lambda X: 1.0 + 0.01 * len(X)
    )
    found = extrapolate_mice(X, (100, 200))
    assert found["n_regressions"] == 20
    assert found["hours_by_line"] == pytest.approx(20 * 7 / 3600)
    assert found["hours_by_share"] == pytest.approx(20 * 9 / 3600)


def test_only_the_columns_that_are_timed_are_regressed(monkeypatch):
    seen = []
    monkeypatch.setattr(
        claim_experiments,
        "_time_round",
        lambda X: float(seen.append(X.copy()) or len(seen)),
    )
    X = np.random.RandomState(0).rand(50, 6) * [1, 1, 1, 1, 9, 9]
    X[::5] = np.nan
    found = extrapolate_mice(X, (50, 50, 49))
    assert found["seconds"] == [0.5] * 3  # of two columns, 1 s more than without
    assert not np.isnan(seen[0]).any()
    assert np.isnan(seen[1]).any(0).tolist() == [False] * 4 + [True] * 2


def test_sharpness_is_gradient_energy_relative_to_the_original():
    original = np.array([[0, 1, 0, 0, 1, 0, 0, 1, 0.0]])  # a line in 3 x 3 pixels
    blurred = np.array([[0.25, 0.5, 0.25] * 3])
    flat_end = original.copy()
    flat_end[0, 6:] = 0.5
    images = np.concatenate([original, blurred, flat_end, np.zeros((1, 9))])
    originals = np.repeat(original, 4, axis=0)
    # Six steps of 1; two are gone at the end, and three of 0.5 below have come.
    expected = [1, 0.0625, (4 + 3 * 0.25) / 6, 0]
    np.testing.assert_allclose(find_sharpness(images, originals), expected)
    top = np.zeros((4, 9), bool)
    top[:, :3] = True
    inside = find_sharpness(images, originals, top)
    np.testing.assert_allclose(inside, [1, 0.0625, 1, 0])
