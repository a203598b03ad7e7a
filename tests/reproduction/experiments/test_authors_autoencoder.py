import numpy as np
import pytest
import torch
from reproduction.experiments import _autoencoders, load_experiment
from reproduction.experiments._authors_autoencoder import AuthorsAutoencoder
from reproduction.experiments._autoencoders import measure_errors
from reproduction.experiments._jobs import Job
from sklearn.datasets import load_digits

from lacunet.missingness import drop_patch


def images(n=200):
    whole = (load_digits().data[:n] / 16.0).astype(np.float32)
    return drop_patch(whole, 3, random_state=0), whole


def small(**options):
    settings = {"hidden_layer_sizes": (12, 4, 12), "max_epochs": 3, "batch_size": 32}
    return AuthorsAutoencoder(2, **{**settings, **options})


@pytest.fixture(scope="module")
def start():
    return small(max_epochs=1, lr=1e-12).fit(images()[0])


def test_it_learns_and_gives_back_images_on_their_own_scale():
    holed, whole = images()
    model = small(max_epochs=30, lr=0.1).fit(holed)  # few steps: large ones
    assert model.history_[-1] < 0.7 * model.history_[0]
    given_back = model.reconstruct(holed)
    assert given_back.shape == whole.shape
    assert 0.0 <= given_back.min() < given_back.max() <= 1.0
    assert np.square(given_back - whole).mean() < np.square(1 - whole).mean()


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
    holed, _ = images(32)
    before = small(max_epochs=1, lr=1e-12).fit(holed).module_[0].weight
    after = small(max_epochs=1, lr=0.01).fit(holed).module_[0].weight
    step = float((after - before).detach().abs().max())
    assert 0.0 < step < 0.001  # without, it would be lr / sqrt(1 - 0.9) = 0.03


def test_the_loss_is_of_observed_pixels_divided_by_all(start):
    holed, _ = images(10)
    white = torch.from_numpy(1.0 - holed)
    with torch.no_grad():
        loss = float(start._loss(white))
    gaps = start.reconstruct(holed) - holed
    assert loss == pytest.approx(np.nansum(gaps**2) / gaps.size, rel=1e-5)


def test_the_same_seed_gives_the_same_and_the_global_generator_stays():
    holed, _ = images(64)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one, two, other = (
        small(max_epochs=1, random_state=seed).fit(holed).reconstruct(holed)
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), state)
    assert (one == two).all()
    assert (one != other).any()


def test_the_authors_protocol_of_table_1_is_this_recipe(monkeypatch):
    made = []

    class Spy(AuthorsAutoencoder):
        def fit(self, X, y=None):
            made.append(self.get_params())
            self.history_ = [0.0]
            return self

        def reconstruct(self, X):
            return np.zeros_like(X)

    monkeypatch.setattr(_autoencoders, "AuthorsAutoencoder", Spy)
    job = Job("table-1", "digits", None, "paper", 0, 0, "authors", None)
    found = measure_errors(load_experiment("table-1"), job)
    assert set(found.values) == {"mse", "mse_inside", "mse_outside"}
    (told,) = made
    assert (told["batch_size"], told["lr"], told["max_epochs"]) == (64, 0.01, 30)
