import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from reproduction.experiments import _claim_mnist, load_experiment
from reproduction.experiments._claim_information import (
    _gap,
    _random_measure,
    _same_moments,
    draw_information,
)
from reproduction.experiments._claim_mnist import SIZES, Sizes, draw_mnist
from reproduction.experiments._classification import measure_accuracy
from reproduction.experiments._columns import COLUMNS
from reproduction.experiments._jobs import Job
from reproduction.experiments._record import Drawing
from reproduction.experiments._sharpness import find_sharpness
from reproduction.experiments._sources import Images
from reproduction.experiments._trained_on_complete import TrainedOnComplete
from sklearn.dummy import DummyClassifier

ROWS = load_experiment("claim-rows")


# --- rows


class Spy(DummyClassifier):
    """Keeps what it is told and asked."""

    def fit(self, X, y):
        Spy.told = X
        return super().fit(X, y)

    def predict(self, X):
        Spy.asked = X
        return super().predict(X)


def test_it_is_trained_on_complete_rows_and_asked_about_incomplete_ones(monkeypatch):
    def make(*_):
        return TrainedOnComplete(Spy())

    spied = {"paper-complete": replace(COLUMNS["paper-complete"], make=make)}
    monkeypatch.setattr("reproduction.experiments._columns.COLUMNS", spied)
    job = Job("claim-rows", "iris", 0.5, "paper-complete", 0, 0, "quick", "digits")
    measure_accuracy(ROWS, job)
    assert not np.isnan(Spy.told).any()
    assert 0.3 < np.isnan(Spy.asked).mean() < 0.7
    assert (len(Spy.told), len(Spy.asked)) == (120, 30)


def test_the_two_columns_differ_in_their_rows_alone():
    paper, other = (COLUMNS[key].make(3, "rbf") for key in ROWS.methods)
    told, known = other.network.get_params(), paper.get_params()
    changed = {key for key in known if repr(known[key]) != repr(told[key])}
    assert changed == {"on_unseen_missing"}
    assert COLUMNS["paper-complete"].needs_complete


def test_rows_are_those_of_table_6_and_nothing_is_chosen():
    assert ROWS.settings == load_experiment("table-6").settings
    assert not ROWS.cross_validated
    assert ROWS.budget("paper", None).n_seeds == 5


# --- theorem 4.1


@pytest.fixture(scope="module")
def information():
    return json.loads(json.dumps(draw_information(None), allow_nan=False))


def test_equal_measures_have_equal_responses_and_others_have_not(information):
    assert information["equal"] < 1e-12
    assert len(information["different"]) == 14
    assert min(information["different"].values()) > 0.01


def test_means_and_squares_can_not_tell_what_relus_can(information):
    assert information["moments"] < 1e-10
    assert information["different"]["equal mean and covariance"] > 0.01


def test_densities_come_back_from_responses(information):
    assert information["density"] < 1e-4
    assert information["characteristic"] < 1e-4


def test_a_few_units_are_not_enough_for_the_theorem(information):
    few = information["few_units"]
    assert few["their_gap"] < 1e-12
    assert few["gap"] > 0.01
    assert few["total_variation"] == pytest.approx(1)


def test_responses_are_those_of_points_that_are_drawn():
    first, second = _same_moments()
    direction = torch.tensor([[0.6, 0.8, 0.0, 0.0]], dtype=torch.float64)
    bias = torch.tensor([0.25], dtype=torch.float64)
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(400_000, 4, generator=generator, dtype=torch.float64)
    peaks = noise.clone()
    peaks[:, 0] += torch.where(torch.arange(len(noise)) % 2 == 0, 1.0, -1.0)
    noise[:, 0] *= 2**0.5
    means = [torch.relu(x @ direction[0] + bias).mean() for x in (peaks, noise)]
    drawn = abs(float(means[0] - means[1]))
    assert _gap(first, second, direction, bias) == pytest.approx(drawn, abs=4e-3)


def test_measures_are_random_but_the_same_for_the_same_seed():
    first, second = (
        _random_measure(torch.Generator().manual_seed(seed)) for seed in (0, 1)
    )
    again = _random_measure(torch.Generator().manual_seed(0))
    assert torch.equal(first.components.means, again.components.means)
    assert not torch.equal(first.components.means, second.components.means)


# --- MNIST


@pytest.fixture(scope="module")
def mnist(tmp_path_factory):
    place = tmp_path_factory.mktemp("mnist")
    rows = load_experiment("claim-mnist").stand_ins
    return draw_mnist(Drawing(place, "quick", "digits", rows, ()))


def test_em_needs_a_floor_under_the_variances(mnist):
    assert json.dumps(mnist, allow_nan=False)
    fits = {(each["covariances"], each["floor"]): each for each in mnist["em"]}
    assert set(fits) == {(k, f) for k in ("diag", "factor") for f in (1e-6, 0.0)}
    for (_, floor), fit in fits.items():
        assert fit["fitted"] == (floor > 0)
        assert "why" in fit or np.isfinite(fit["log_likelihood"])
        assert fit["seconds"] > 0
    assert fits["diag", 0.0]["n_rows"] == SIZES["digits"].em["diag"][0]


def test_the_images_are_told(mnist):
    assert (mnist["dataset"], mnist["n_images"], mnist["n_pixels"]) == (
        "digits",
        1437,
        64,
    )
    assert mnist["n_constant"] == 3


def test_hours_are_reckoned_up_to_all_rows_and_columns(monkeypatch):
    X = np.ones((600, 5))
    X[0, :4] = np.nan  # four columns to regress, five rounds
    monkeypatch.setattr(_claim_mnist, "_time_column", lambda X: 1.0 + 0.01 * len(X))
    found = _claim_mnist._reckon(X, (100, 200))
    assert found["n_regressions"] == 20
    assert found["hours_by_line"] == pytest.approx(20 * 7 / 3600)
    assert found["hours_by_share"] == pytest.approx(20 * 9 / 3600)


def test_only_the_columns_that_are_timed_are_regressed(monkeypatch):
    seen = []
    monkeypatch.setattr(
        _claim_mnist, "_time_round", lambda X: float(seen.append(X.copy()) or len(seen))
    )
    X = np.random.RandomState(0).rand(50, 6) * [1, 1, 1, 1, 9, 9]
    X[::5] = np.nan
    assert _claim_mnist._time_column(X) == 0.5  # 2 s with two columns, 1 s without
    without, with_holes = seen
    assert not np.isnan(without).any()
    assert np.isnan(with_holes).any(0).tolist() == [False] * 4 + [True] * 2


def test_a_protocol_has_its_own_numbers_of_images(monkeypatch, tmp_path):
    small = Images(*np.random.RandomState(0).rand(4, 60, 9))
    small.train[:, 0] = np.nan
    small.train[::2, 0] = 0.5
    monkeypatch.setattr(_claim_mnist, "load_images", lambda *_: small)
    monkeypatch.setitem(SIZES, "paper", Sizes({"diag": (40, 2)}, (20, 30)))
    rows = load_experiment("claim-mnist").settings
    found = draw_mnist(Drawing(tmp_path, "paper", None, rows, ()))
    assert [each["n_rows"] for each in found["em"]] == [40, 40]
    assert found["mice"]["n_rows"] == [20, 30]
    assert not found["em"][0]["converged"]


# --- sharpness


def test_sharpness_is_gradient_energy_relative_to_the_original():
    original = np.array([[0, 1, 0, 0, 1, 0, 0, 1, 0.0]])  # a line in 3 x 3 pixels
    blurred = np.array([[0.25, 0.5, 0.25] * 3])
    noise = original.copy()
    noise[0, 0] = 1.0
    images = np.concatenate([original, blurred, noise, np.zeros((1, 9))])
    whole = np.repeat(original, 4, axis=0)
    # Six steps of 1; of the noise one to the right is gone, one below has come.
    np.testing.assert_allclose(find_sharpness(images, whole), [1, 0.0625, 1, 0])


def test_only_neighbours_of_a_region_count_inside():
    original = np.array([[0, 1, 0, 0, 1, 0, 0, 1, 0.0]])
    changed = original.copy()
    changed[0, 6:] = 0.5  # the last row is flat
    top = np.zeros((1, 9), bool)
    top[0, :3] = True
    assert find_sharpness(changed, original, top) == 1
    bright = original.copy()
    bright[0, 3:6] = 1.0  # two steps down from the first row have come
    assert find_sharpness(bright, original, top) == 2
    # Two steps are gone; three of 0.5 below have come.
    np.testing.assert_allclose(find_sharpness(changed, original), (4 + 3 * 0.25) / 6)
