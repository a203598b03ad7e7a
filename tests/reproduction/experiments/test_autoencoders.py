import numpy as np
import pytest
from reproduction.experiments import _autoencoders, load_experiment
from reproduction.experiments._autoencoders import (
    AUTOENCODERS,
    NETWORK,
    find_errors,
    measure_errors,
)
from reproduction.experiments._jobs import Job
from reproduction.experiments._sources import Images

TABLE_1 = load_experiment("table-1")
SMALL = Images(*np.full((4, 30, 4), 0.5, np.float32))
SMALL.train[::2, 0] = SMALL.test[::2, 0] = np.nan


def job(method):
    return Job("table-1", "digits", None, method, 0, 0, "quick", "digits")


def test_errors_are_squares_divided_by_all_pixels():
    whole = np.array([[1.0, 0.0], [0.0, 1.0]])
    holed = np.array([[np.nan, 0.0], [0.0, np.nan]])
    given_back = np.array([[0.5, 0.25], [0.0, 0.0]])
    found = find_errors(given_back, Images(holed, holed, whole, whole))
    assert found["mse_inside"] == pytest.approx((0.25 + 1) / 4)
    assert found["mse_outside"] == pytest.approx(0.0625 / 4)
    assert found["mse"] == found["mse_inside"] + found["mse_outside"]
    assert found["mse"] == pytest.approx(np.square(given_back - whole).mean())


@pytest.mark.parametrize("method", AUTOENCODERS)
def test_every_autoencoder_is_the_network_of_the_paper(method):
    told = AUTOENCODERS[method](**NETWORK).get_params()
    network = ((256, 128, 64, 128, 256), ("relu", "sigmoid"))
    others = {
        "paper-relu": (network[0], "relu"),
        "lacunet-wide": ((512, 256, 128, 256, 512), "gelu"),
    }
    expected = others.get(method, network)
    assert (told["hidden_layer_sizes"], told["activation"]) == expected
    assert (told["out_activation"], told["scale"]) == ("sigmoid", "none")


def test_relu_in_later_layers_is_all_that_is_new_in_its_column():
    paper, other = (
        AUTOENCODERS[key](**NETWORK).get_params() for key in ("paper", "paper-relu")
    )
    changed = {key for key in paper if repr(paper[key]) != repr(other[key])}
    assert changed == {"activation"}


def test_densities_are_started_and_trained_as_their_columns_say():
    columns = ("paper", "em-joint", "em-frozen")
    models = [AUTOENCODERS[key]().get_params() for key in columns]
    assert [m["density__strategy"] for m in models] == ["mean", "em", "em"]
    assert [m["train_density"] for m in models] == [True, True, False]
    for told in models:
        assert (told["gamma"], told["density_loss_weight"]) == (1.0, 0.0)
        assert (told["mask_augmentation"], told["density__n_components"]) == (0.0, 5)


class Spy:
    """Gives zeros back, and keeps what it is told."""

    def __init__(self, **options):
        self.options = {**options, "max_epochs": 1}
        self.history_ = [None] * 3

    def get_params(self):
        return self.options

    def set_params(self, **options):
        self.options.update(options)

    def fit(self, X, X_complete=None):
        Spy.told, Spy.shown, Spy.last = X, X_complete, self.options

    def reconstruct(self, X):
        return np.zeros_like(X)


@pytest.fixture
def spied(monkeypatch):
    monkeypatch.setattr(_autoencoders, "AUTOENCODERS", {"mean": Spy, "ce": Spy})
    monkeypatch.setattr(_autoencoders, "load_images", lambda *_: SMALL)


def test_a_run_gives_three_errors_and_the_first_images(spied):
    found = measure_errors(TABLE_1, job("mean"))
    assert found.values["mse"] == pytest.approx(0.25)
    assert found.values["mse_inside"] == pytest.approx(0.25 * 15 / 120)
    assert found.images.shape == (20, 4)
    assert found.params == {"n_train": 30, "n_epochs": 3}


def test_the_budget_is_that_of_the_protocol_and_data(spied):
    measure_errors(TABLE_1, job("mean"))
    assert Spy.last["max_epochs"] == 15


def test_only_the_context_encoder_is_shown_complete_images(spied):
    measure_errors(TABLE_1, job("mean"))
    assert Spy.shown is None
    assert np.isnan(Spy.told).any()
    measure_errors(TABLE_1, job("ce"))
    assert Spy.shown is SMALL.original
