"""Loading by name, of sets made by hand."""

import hashlib

import numpy as np
import pytest
from reproduction.datasets import DataSet, _loading, list_datasets, load_dataset
from reproduction.datasets._registry import Counts, DataFile, Entry, Layout

from lacunet.exceptions import LacunetError

NAN = np.nan
TEXT = b"1,?,no\n2,3,yes\n4,5,no\n"
COUNTS = Counts(rows=3, features=2, missing=1, classes={"no": 2, "yes": 1})


def entry(counts=COUNTS, **changes):
    file = DataFile("tiny/x.csv", "", hashlib.sha256(TEXT).hexdigest(), len(TEXT))
    fields = {
        "name": "tiny",
        "description": "Made by hand.",
        "source": "here",
        "licence": "CC0",
        "files": (file,),
        "layout": Layout(missing=["?"], label_column=2),
        "counts": counts,
        "target_names": ("nein", "ja"),
        "feature_names": (),
        "n_train": 2,
    }
    return Entry(**fields | changes)


@pytest.fixture
def register(tmp_path, monkeypatch):
    """Return a function that makes an entry the only one."""
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "x.csv").write_bytes(TEXT)
    monkeypatch.setenv("LACUNET_DATA", str(tmp_path))
    return lambda only: monkeypatch.setattr(
        _loading, "read_registry", lambda: {only.name: only}
    )


def test_arrays_and_what_they_mean_come_together(register):
    register(entry())
    data = load_dataset("tiny")
    assert isinstance(data, DataSet)
    np.testing.assert_array_equal(data.X, [[1, NAN], [2, 3], [4, 5]])
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [0, 1, 0]
    assert data.y.dtype.kind == "i"
    assert (data.name, data.n_train, data.groups) == ("tiny", 2, None)
    assert data.feature_names == ("x0", "x1")
    assert data.target_names == ("nein", "ja")
    assert (data.description, data.source) == ("Made by hand.", "here")
    assert data.licence == "CC0"


def test_names_of_the_registry_go_before_those_of_the_file(register):
    register(entry(feature_names=("width", "height")))
    assert load_dataset("tiny").feature_names == ("width", "height")


def test_the_two_arrays_alone_are_those_of_the_record(register):
    register(entry())
    data = load_dataset("tiny")
    X, y = load_dataset("tiny", return_X_y=True)
    np.testing.assert_array_equal(X, data.X)
    np.testing.assert_array_equal(y, data.y)


@pytest.mark.parametrize("name", ["tiny", "iris"])
def test_changed_arrays_do_not_come_back(register, name):
    register(entry())
    X, y = load_dataset(name, return_X_y=True)
    X[:], y[:] = -7, -7
    again = load_dataset(name)
    assert not (again.X == -7).any()
    assert not (again.y == -7).any()


@pytest.mark.parametrize(
    "wrong",
    [
        Counts(4, 2, 1, {"no": 2, "yes": 1}),
        Counts(3, 3, 1, {"no": 2, "yes": 1}),
        Counts(3, 2, 0, {"no": 2, "yes": 1}),
        Counts(3, 2, 1, {"no": 1, "yes": 2}),
        Counts(3, 2, 1, {"no": 2, "yes": 1, "perhaps": 0}),
    ],
    ids=["rows", "features", "missing", "class sizes", "classes"],
)
def test_other_counts_than_the_known_ones_are_refused(register, wrong):
    register(entry(counts=wrong))
    with pytest.raises(LacunetError, match=r"Got Counts\(rows=3.*in tiny, but exp"):
        load_dataset("tiny")


def test_an_unknown_name_is_answered_with_the_nearest_and_all():
    with pytest.raises(ValueError, match=r"Got name='pimma'.*mean 'pima'") as caught:
        load_dataset("pimma")
    assert ", ".join(list_datasets()) in str(caught.value)


def test_a_name_that_is_near_to_none_has_no_hint():
    with pytest.raises(ValueError, match="one of bands, .*regression.$"):
        load_dataset("zzz")


def test_a_name_that_is_no_string_is_refused():
    with pytest.raises(ValueError, match="Got name=3, but expected one of"):
        load_dataset(3)


def test_names_are_listed_once_and_by_kind():
    names = list_datasets()
    assert len(set(names)) == len(names) == 22
    assert names[0] == "bands"
    assert names[16:18] == ["mnist", "digits"]
