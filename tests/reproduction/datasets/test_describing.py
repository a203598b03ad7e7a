import pytest
from reproduction.datasets import _describing, describe_dataset, load_dataset
from reproduction.datasets._registry import read_registry


def put_files(folder, name):
    """Put empty files where those of a set are looked for."""
    for file in read_registry()[name].files:
        path = folder / file.path
        path.parent.mkdir(exist_ok=True)
        path.touch()


def test_files_are_looked_for_where_they_are_loaded_from(tmp_path, monkeypatch):
    folder = tmp_path
    put_files(folder, "pima")
    monkeypatch.setenv("LACUNET_DATA", str(folder))
    monkeypatch.setenv("LACUNET_CACHE", str(folder / "other"))
    assert describe_dataset("pima").here
    monkeypatch.setenv("LACUNET_DATA", "")
    assert not describe_dataset("pima").here
    monkeypatch.setenv("LACUNET_CACHE", str(folder))
    assert describe_dataset("pima").here
    monkeypatch.setenv("LACUNET_CACHE", "")
    monkeypatch.setattr("pooch.os_cache", lambda name: folder / name)
    assert not describe_dataset("pima").here
    assert describe_dataset("pima").files[0].startswith(str(folder / "lacunet"))
    monkeypatch.setattr(_describing, "find_spec", lambda name: None)
    assert (describe_dataset("pima").here, describe_dataset("pima").files) == (
        False,
        (),
    )


def test_what_is_known_is_what_is_loaded():
    data, known = (
        load_dataset("breast_cancer_wdbc"),
        describe_dataset("breast_cancer_wdbc"),
    )
    assert (known.rows, known.columns) == data.X.shape
    assert (known.classes, known.task, known.files) == (2, "classification", ())
    assert describe_dataset("diabetes_regression").task == "regression"


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="Did you mean 'pima'"):
        describe_dataset("pimaa")
