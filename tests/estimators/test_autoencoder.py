"""An autoencoder over rows with missing values."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from small import autoencoder, cells, fitted, frame, numbers

NAN = np.nan


def line(n=200):
    """Return rows on a line, with missing values that the rest of a row determines."""
    rng = np.random.RandomState(0)
    truth = rng.randn(n, 1) * [1.0, 2.0, -1.0] + [0.0, 5.0, 1.0]
    X = truth.copy()
    X[rng.rand(n, 3) < 0.2] = NAN
    return X, truth


def test_missing_values_are_filled_better_than_by_the_mean():
    X, truth = line()
    model = autoencoder(hidden_layer_sizes=(16, 1, 16), max_epochs=40, lr=0.01)
    filled = model.fit_transform(X)
    missing = np.isnan(X) & ~np.isnan(X).all(1, keepdims=True)
    means = np.where(missing, np.nanmean(X, axis=0), X)
    error, of_means = (np.square(t - truth)[missing].mean() for t in (filled, means))
    assert error < 0.5 * of_means


def test_transform_leaves_observed_cells_and_reconstruct_does_not():
    X, _ = numbers()
    model = fitted("autoencoder")
    filled, reconstructed = model.transform(X), model.reconstruct(X)
    seen = ~np.isnan(X)
    assert (filled[seen] == X[seen]).all()
    assert (reconstructed[seen] != X[seen]).all()
    np.testing.assert_array_equal(filled[~seen], reconstructed[~seen])


def test_what_is_given_back_is_the_output_of_the_module_on_the_scale_of_the_table():
    X, _ = numbers()
    model = fitted("autoencoder")
    mean, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    x = torch.tensor((X - mean) / std, dtype=torch.float32).clamp(-5, 5)
    with torch.no_grad():
        (outputs,) = model.module_(x)
    expected = outputs.numpy() * std + mean
    np.testing.assert_allclose(model.reconstruct(X), expected, rtol=1e-4, atol=1e-5)


def test_frames_are_filled_in_their_own_types():
    X, _ = frame()
    model = fitted("autoencoder", frame)
    filled = model.transform(X)
    assert filled.dtypes.equals(X.dtypes)
    assert not filled.isna().any(axis=None)
    reconstructed = model.reconstruct(X)
    assert reconstructed.shape == X.shape
    assert set(reconstructed[:, 2]) <= {"Rome", "Bonn"}
    missing = X.isna().to_numpy()[:, 2]
    assert (reconstructed[missing, 2] == cells(filled)[missing, 2]).all()


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_the_kind_of_output_can_be_set(container):
    X, _ = numbers()
    model = autoencoder().set_output(transform=container)
    filled = model.fit_transform(X)
    kind = pd.DataFrame if container == "pandas" else np.ndarray
    assert isinstance(filled, kind)
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_encode_returns_the_narrowest_layer():
    X, _ = numbers()
    model = autoencoder(hidden_layer_sizes=(8, 3, 8)).fit(X)
    codes = model.encode(X)
    assert codes.shape == (60, 3)
    x = model._read(X)[1]
    (view,) = model.module_
    with torch.no_grad():
        expected = view.networks.hidden(x, 1)[0]
    np.testing.assert_allclose(codes, expected, atol=1e-6)


def test_the_loss_is_that_of_observed_cells_alone():
    X, _ = numbers(80)
    model = autoencoder(max_epochs=1).fit(X[:60], X_val=X[60:])
    std = np.nanstd(X[:60], axis=0)
    errors = (model.reconstruct(X[60:]) - X[60:]) / std
    rows = ~np.isnan(errors).all(1)
    expected = np.nanmean(np.square(errors[rows]), axis=1).sum() / 20
    assert model.history_[0].valid_loss == pytest.approx(expected, rel=1e-3)


def test_the_papers_activations_on_flattened_images():
    images = load_digits().data[:100] / 16.0
    X = images.reshape(100, 8, 8).copy()
    X[:, 2:5, 2:5] = NAN
    model = autoencoder(
        hidden_layer_sizes=(16, 4, 16),
        activation=("relu", "sigmoid"),
        out_activation="sigmoid",
        scale="none",
    )
    with pytest.warns(UserWarning, match="without one observed value"):
        model.fit(X.reshape(100, 64))
    given_back = model.reconstruct(X.reshape(100, 64))
    assert np.nanmin(given_back) >= 0.0
    assert np.nanmax(given_back) <= 1.0
    # A column without a value in training stays missing.
    np.testing.assert_array_equal(np.isnan(given_back), np.isnan(X.reshape(100, 64)))


def test_no_complete_row_is_needed():
    X, _ = numbers()
    X[np.arange(60), np.arange(60) % 4] = NAN
    assert not np.isnan(autoencoder().fit_transform(X)).any()


def test_two_activations_are_those_of_the_first_and_of_later_layers():
    X, _ = numbers()
    one, two = (
        autoencoder(hidden_layer_sizes=(8, 3, 8), activation=given).fit_transform(X)
        for given in ("tanh", ("tanh", "tanh"))
    )
    np.testing.assert_array_equal(one, two)
    other = autoencoder(hidden_layer_sizes=(8, 3, 8), activation=("tanh", "relu"))
    assert (other.fit_transform(X) != one).any()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"activation": ("relu", "relu", "relu")}, "or a pair"),
        ({"out_activation": "bend"}, "Got activation='bend'"),
        ({"scale": "log"}, "Got scale='log'"),
        ({"hidden_layer_sizes": 8}, "Got hidden_layer_sizes=8"),
    ],
)
def test_wrong_parameters_are_refused(options, match):
    X, _ = numbers()
    with pytest.raises(ValueError, match=match):
        autoencoder(**options).fit(X)


def test_of_images_patches_are_hidden():
    X = load_digits().data[:300] / 16.0
    options = {"scale": "none", "max_epochs": 3, "mask_augmentation": 0.25}
    cells = autoencoder(**options).fit(X)
    patches = autoencoder(image_shape=(8, 8), **options).fit(X)
    again = autoencoder(image_shape=[8, 8], **options).fit(X)
    assert (cells.reconstruct(X) != patches.reconstruct(X)).any()
    np.testing.assert_array_equal(patches.reconstruct(X), again.reconstruct(X))


def test_where_less_is_hidden_observed_values_are_given_back_more_exactly():
    X = load_digits().data[:300] / 16.0
    missing = np.random.RandomState(0).rand(*X.shape) < 0.1
    given = np.where(missing, np.nan, X)
    options = {"scale": "none", "lr": 5e-3, "max_epochs": 15}

    def error(fraction, seed):
        model = autoencoder(
            mask_augmentation=0.5,
            masked_fraction=fraction,
            random_state=seed,
            **options,
        )
        return np.square(model.fit(given).reconstruct(given) - X)[~missing].mean()

    always, seldom = (
        np.mean([error(fraction, seed) for seed in range(3)]) for fraction in (1.0, 0.1)
    )
    assert seldom < always


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((8, 7), r"expected 56 of them: one for each pixel"),
        ((8,), "a pair of positive integers"),
        ((8, 0), "a pair of positive integers"),
        (64, "a pair of positive integers"),
    ],
)
def test_an_image_shape_that_does_not_fit_is_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        autoencoder(image_shape=shape).fit(np.zeros((20, 64)))


def test_a_cycle_runs_to_its_end_and_learns_at_a_rate_too_high_to_be_kept():
    X, _ = line()
    options = {"hidden_layer_sizes": (16, 1, 16), "max_epochs": 30, "lr": 0.2}
    losses = {"constant": [], "one-cycle": []}
    for schedule, found in losses.items():
        for seed in range(2):
            model = autoencoder(schedule=schedule, random_state=seed, **options).fit(X)
            found.append(min(record.valid_loss for record in model.history_))
    assert len(model.history_) == 30
    assert min(losses["one-cycle"]) < 0.5 * min(losses["constant"])
    with pytest.raises(ValueError, match="schedule"):
        autoencoder(schedule="cosine").fit(X)
