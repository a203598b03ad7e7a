"""The sets that come with scikit-learn, which need neither files nor network."""

import socket
import sys

import numpy as np
import pytest
from reproduction.datasets import load_dataset

# rows, features, sizes of the classes; as published
SIZES = {
    "digits": (1797, 64, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
    "breast_cancer_wdbc": (569, 30, [212, 357]),
    "wine": (178, 13, [59, 71, 48]),
    "iris": (150, 4, [50, 50, 50]),
    "diabetes_regression": (442, 10, []),
}


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    def refuse(*_):
        pytest.fail("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", SIZES)
def test_counts_are_the_published_ones(name):
    n_rows, n_features, classes = SIZES[name]
    data = load_dataset(name)
    assert data.X.shape == (n_rows, n_features)
    assert data.X.dtype == np.float64
    assert not np.isnan(data.X).any()
    assert len(data.y) == n_rows
    assert len(set(data.feature_names)) == n_features
    assert len(data.target_names) == len(classes)
    if classes:
        assert np.bincount(data.y).tolist() == classes


@pytest.mark.parametrize("name", SIZES)
def test_what_the_set_is_stands_in_words(name):
    data = load_dataset(name)
    assert data.name == name
    assert data.description.endswith((".", "?"))
    assert data.source.startswith("scikit-learn; ")
    assert data.licence
    assert all(type(name) is str for name in data.feature_names + data.target_names)


def test_a_regression_has_floats_and_unscaled_features():
    data = load_dataset("diabetes_regression")
    assert data.y.dtype == np.float64
    assert (data.y.min(), data.y.max()) == (25, 346)
    ages = data.X[:, data.feature_names.index("age")]
    assert (ages.min(), ages.max()) == (19, 79)


def test_class_of_benign_tumours_is_one():
    data = load_dataset("breast_cancer_wdbc")
    assert data.target_names == ("malignant", "benign")
    assert (data.y == 1).sum() == 357
