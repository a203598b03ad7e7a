import numpy as np
import pytest
from reproduction.datasets import DataSet, load_dataset
from reproduction.experiments import _sources
from reproduction.experiments._sources import load_images, load_table
from reproduction.experiments._toy import CENTRES, TOY, make_toy


@pytest.fixture(autouse=True)
def _forget():
    yield
    load_table.cache_clear()
    load_images.cache_clear()


def test_values_are_removed_and_the_rest_is_as_it_was():
    table, whole = load_table("wine", 0.5, 0), load_dataset("wine")
    holes = np.isnan(table.X)
    assert abs(holes.mean() - 0.5) < 0.04
    np.testing.assert_array_equal(table.X[~holes], whole.X[~holes])
    np.testing.assert_array_equal(table.complete, whole.X)
    np.testing.assert_array_equal(table.y, whole.y)


def test_a_seed_decides_what_is_removed():
    first, again, other = (
        np.isnan(load_table.__wrapped__("iris", 0.5, seed).X) for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_without_a_rate_a_table_is_as_it_comes():
    table = load_table("iris", None, 0)
    assert table.complete is None
    np.testing.assert_array_equal(table.X, load_dataset("iris").X)


def test_few_rows_keep_the_shares_of_the_classes():
    table = load_table("iris", None, 0, 30)
    assert np.bincount(table.y).tolist() == [10, 10, 10]
    rows = {tuple(row) for row in load_dataset("iris").X}
    assert {tuple(row) for row in table.X} <= rows


def test_rows_have_groups_if_they_are_split_by_recordings(monkeypatch):
    iris = load_dataset("iris")
    grouped = DataSet(**{**vars(iris), "groups": np.arange(150).astype(str)})
    monkeypatch.setattr(_sources, "load_dataset", {"esr": grouped}.get)
    assert load_table("esr", 0.2, 0).groups is None
    assert load_table("esr-recordings", 0.2, 0, 60).groups.shape == (60,)


def test_images_lose_a_patch_each_and_are_from_zero_to_one():
    images = load_images("digits", 0)
    assert (images.train.shape, images.test.shape) == ((1437, 64), (360, 64))
    assert (np.isnan(images.train).sum(1) == 9).all()
    assert (np.isnan(images.test).sum(1) == 9).all()
    assert (images.original.min(), images.original.max()) == (0, 1)
    seen = ~np.isnan(images.test)
    np.testing.assert_array_equal(images.test[seen], images.original_test[seen])


def test_a_name_may_tell_the_side_of_the_patch():
    assert (np.isnan(load_images("digits-5", 0).test).sum(1) == 25).all()


def test_fewer_images_to_train_on_leave_the_test_as_it_is():
    few, whole = load_images("digits", 0, 100), load_images("digits", 0)
    assert (len(few.train), len(few.original)) == (100, 100)
    np.testing.assert_array_equal(few.test, whole.test)


def test_the_toy_loses_one_attribute_of_points_on_the_left_alone():
    X, y, complete = make_toy(2000, 0)
    holes = np.isnan(X)
    left = complete[:, 0] < 0
    assert not holes[~left].any()
    assert set(holes[left].sum(1)) == {0, 1}
    assert abs(holes[left].any(1).mean() - 0.5) < 0.05
    assert abs(holes[left][:, 0].mean() - 0.25) < 0.05
    nearest = np.square(complete[:, None] - CENTRES).sum(2).argmin(1)
    assert (np.array([0, 1, 1, 0])[nearest] == y).mean() > 0.95


def test_the_toy_is_a_table_of_its_own_seed():
    first, other = load_table(TOY, None, 0, 50), load_table(TOY, None, 1, 50)
    assert first.X.shape == (50, 2)
    assert (first.complete != other.complete).all()
