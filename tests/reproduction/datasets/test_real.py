"""The real files, in the folder that LACUNET_DATA names."""

import os
from pathlib import Path

import numpy as np
import pytest
from reproduction.datasets import load_dataset
from reproduction.datasets._registry import read_registry

FOLDER = os.environ.get("LACUNET_DATA")
with_data = pytest.mark.skipif(
    not FOLDER, reason="LACUNET_DATA names no folder with the data sets"
)


def sorted_rows(*parts):
    rows = np.column_stack(parts)
    return rows[np.lexsort(rows.T)]


@with_data
@pytest.mark.parametrize("name", read_registry())
def test_every_set_is_read_and_found_to_be_what_is_known(name):
    data = load_dataset(name)
    assert data.X.shape == (len(data.y), len(data.feature_names))
    assert data.X.dtype == (np.uint8 if name == "mnist" else np.float64)
    assert not np.isinf(data.X).any()
    assert set(data.y) == set(range(len(data.target_names)))
    assert data.X.flags.writeable


@with_data
@pytest.mark.parametrize("name", read_registry())
def test_sizes_of_the_files_are_the_known_ones(name):
    for file in read_registry()[name].files:
        assert (Path(FOLDER).expanduser() / file.path).stat().st_size == file.n_bytes


@with_data
def test_pima_is_diabetes_without_the_zeros_of_its_first_five_columns():
    pima, diabetes = load_dataset("pima"), load_dataset("diabetes")
    expected = diabetes.X.copy()
    expected[:, :5][expected[:, :5] == 0] = np.nan
    np.testing.assert_array_equal(pima.X, expected)
    np.testing.assert_array_equal(pima.y, diabetes.y)
    assert pima.feature_names == diabetes.feature_names
    missing = np.isnan(pima.X).sum(0)
    assert dict(zip(pima.feature_names, missing, strict=True))["pregnancies"] == 111
    assert (pima.X[:, pima.feature_names.index("bmi")] == 0).sum() == 11


@with_data
def test_breast_cancer_has_the_rows_of_winconsin_without_bare_nuclei():
    whole, part = load_dataset("winconsin"), load_dataset("breast_cancer")
    place = whole.feature_names.index("bare_nuclei")
    assert np.isnan(whole.X).sum(0)[place] == np.isnan(whole.X).sum() == 16
    rest = np.delete(whole.X, place, axis=1)
    assert part.feature_names == tuple(np.delete(whole.feature_names, place))
    np.testing.assert_array_equal(
        sorted_rows(rest, whole.y), sorted_rows(part.X, part.y)
    )


@with_data
def test_groups_of_esr_are_recordings_of_one_class():
    data = load_dataset("esr")
    names, places, sizes = np.unique(
        data.groups, return_inverse=True, return_counts=True
    )
    assert len(names) == 500
    assert set(sizes) == {23}
    assert len(set(zip(places, data.y, strict=True))) == 500
    assert data.feature_names[-1] == "X178"
    # Seizures swing wider than anything else.
    swings = [data.X[data.y == place].std() for place in range(5)]
    assert np.argmax(swings) == data.target_names.index("seizure")


@with_data
def test_mnist_has_the_training_images_first():
    data = load_dataset("mnist")
    assert data.n_train == 60000
    assert data.y[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.y[60000:60005].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(data.y[:60000]).min() == 5421
    assert data.X.max() == 255
    assert data.X[:, data.feature_names.index("pixel_14_14")].mean() > 50
    assert not data.X[:, data.feature_names.index("pixel_0_0")].any()


@with_data
@pytest.mark.parametrize("name", ["kidney_disease", "bank"])
def test_sorted_files_are_said_to_be_sorted(name):
    data = load_dataset(name)
    assert (np.diff(data.y) != 0).sum() == 1
    assert "Sorted by class" in data.description


@with_data
@pytest.mark.parametrize(
    ("name", "n_duplicates"),
    [
        ("horse", 11),
        ("mammographics", 273),
        ("winconsin", 236),
        ("bank", 24),
        ("breast_cancer", 258),
        ("liver_disorders", 4),
    ],
)
def test_duplicated_rows_are_said_to_be_there(name, n_duplicates):
    data = load_dataset(name)
    rows = np.column_stack([np.nan_to_num(data.X, nan=-1e9), data.y])
    assert len(rows) - len(np.unique(rows, axis=0)) == n_duplicates
    assert f"{n_duplicates} of the" in data.description


@pytest.mark.network
@pytest.mark.parametrize("name", read_registry())
def test_every_address_has_the_known_bytes(name, tmp_path, monkeypatch):
    monkeypatch.delenv("LACUNET_DATA", raising=False)
    monkeypatch.setenv("LACUNET_CACHE", str(tmp_path))
    assert load_dataset(name).name == name
