import numpy as np
import pytest
import torch
from reproduction import autoencoders
from reproduction.autoencoders import (
    AUTOENCODERS,
    NETWORK,
    AuthorsAutoencoder,
    measure_errors,
)
from reproduction.protocols import Images
from reproduction.tables import TABLES, Job
from sklearn.datasets import load_digits

from lacunet.missingness import drop_patch

TABLE_1 = TABLES["table-1"]
SMALL = Images(*np.full((4, 30, 4), 0.5, np.float32))
SMALL.train[::2, 0] = SMALL.test[::2, 0] = np.nan


def job(method, protocol="quick", data="digits"):
    return Job("table-1", "digits", None, method, 0, 0, protocol, data)


@pytest.mark.parametrize("method", AUTOENCODERS)
def test_every_autoencoder_is_the_network_of_the_paper(method):
    given = AUTOENCODERS[method](**NETWORK).get_params()
    network = ((256, 128, 64, 128, 256), ("relu", "sigmoid"))
    others = {
        "paper-relu": (network[0], "relu"),
        "lacunet-wide": ((512, 256, 128, 256, 512), "gelu"),
    }
    expected = others.get(method, network)
    assert (given["hidden_layer_sizes"], given["activation"]) == expected
    assert (given["out_activation"], given["scale"]) == ("sigmoid", "none")


def test_densities_are_started_and_trained_as_their_columns_are_called():
    columns = ("paper", "paper-relu", "em-joint", "em-frozen")
    models = [AUTOENCODERS[key]().get_params() for key in columns]
    assert [m["density__strategy"] for m in models] == ["mean", "mean", "em", "em"]
    assert [m["train_density"] for m in models] == [True, True, True, False]
    for given in models:
        assert (given["gamma"], given["density_loss_weight"]) == (1.0, 0.0)
        assert (given["mask_augmentation"], given["density__n_components"]) == (0.0, 5)


class Spy:
    """Reconstructs zeros, and keeps what it is given."""

    def __init__(self, *_, **options):
        self.options = {**options, "max_epochs": 1}
        self.history_ = [None] * 3

    def get_params(self):
        return self.options

    def set_params(self, **options):
        self.options.update(options)

    def fit(self, X, X_complete=None):
        Spy.given, Spy.shown, Spy.last = X, X_complete, self.options

    def reconstruct(self, X):
        return np.zeros_like(X)


@pytest.fixture
def spied(monkeypatch):
    monkeypatch.setattr(autoencoders, "AUTOENCODERS", {"mean": Spy, "ce": Spy})
    monkeypatch.setattr(autoencoders, "AuthorsAutoencoder", Spy)
    monkeypatch.setattr(autoencoders, "load_images", lambda *_: SMALL)


def test_a_run_gives_three_errors_and_the_first_images(spied):
    values, params, images = measure_errors(TABLE_1, job("mean"))
    assert values["mse"] == pytest.approx(0.25)
    assert values["mse_inside"] == pytest.approx(0.25 * 15 / 120)
    assert values["mse"] == values["mse_inside"] + values["mse_outside"]
    assert images.shape == (20, 4)
    assert params == {"n_train": 30, "n_epochs": 3}
    assert Spy.last["max_epochs"] == 15


def test_only_the_context_encoder_is_shown_complete_images(spied):
    measure_errors(TABLE_1, job("mean"))
    assert Spy.shown is None
    assert np.isnan(Spy.given).any()
    measure_errors(TABLE_1, job("ce"))
    assert Spy.shown is SMALL.original


def test_the_authors_protocol_takes_their_recipe_with_its_own_settings(spied):
    measure_errors(TABLE_1, job("paper", "authors", None))
    assert Spy.last == {"random_state": 0, "max_epochs": 30}


# --- the authors' recipe


def images(n=200):
    whole = (load_digits().data[:n] / 16.0).astype(np.float32)
    return drop_patch(whole, 3, random_state=0), whole


def small(**options):
    settings = {"hidden_layer_sizes": (12, 4, 12), "max_epochs": 3, "batch_size": 32}
    return AuthorsAutoencoder(2, **{**settings, **options})


@pytest.fixture(scope="module")
def start():
    return small(max_epochs=1, lr=1e-12).fit(images()[0])


def test_it_learns_and_reconstructs_images_on_their_own_scale():
    X, whole = images()
    model = small(max_epochs=30, lr=0.1).fit(X)  # few steps: large ones
    assert model.history_[-1] < 0.7 * model.history_[0]
    reconstructed = model.reconstruct(X)
    assert 0.0 <= reconstructed.min() < reconstructed.max() <= 1.0
    assert np.square(reconstructed - whole).mean() < np.square(1 - whole).mean()


def test_it_starts_as_the_authors_do(start):
    first, *rest = start.module_
    weight = first.weight.detach()
    biases = torch.cat([first.bias, *(layer.bias for layer in rest[::2])]).detach()
    assert float(biases.std()) == pytest.approx(1.0, abs=0.25)
    deviation = (2 / 64) ** 0.5
    assert float(weight.abs().max()) <= 2 * deviation
    assert float(weight.std()) == pytest.approx(0.88 * deviation, rel=0.1)
    assert [type(layer).__name__ for layer in rest[1::2]] == ["Sigmoid"] * 3
    # The mixture is of mean-filled images, dark on white.
    assert float(first.density.means.detach().mean()) > 0.5


def test_its_first_step_is_small_since_mean_squares_start_at_one():
    X, _ = images(32)
    before = small(max_epochs=1, lr=1e-12).fit(X).module_[0].weight
    after = small(max_epochs=1, lr=0.01).fit(X).module_[0].weight
    step = float((after - before).detach().abs().max())
    assert 0.0 < step < 0.001  # without, it would be lr / sqrt(1 - 0.9) = 0.03


def test_its_loss_is_of_observed_pixels_divided_by_all():
    X, _ = images(10)
    model = small(max_epochs=1, lr=1e-12).fit(X)
    gaps = model.reconstruct(X) - X
    assert model.history_ == [pytest.approx(np.nansum(gaps**2) / gaps.size, rel=1e-4)]


def test_the_same_seed_gives_the_same_and_the_global_generator_stays():
    X, _ = images(64)
    state = torch.get_rng_state()
    one, two, other = (
        small(max_epochs=1, random_state=seed).fit(X).reconstruct(X)
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), state)
    assert (one == two).all()
    assert (one != other).any()
