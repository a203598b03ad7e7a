from dataclasses import replace

import numpy as np
import pytest
from reproduction import protocols
from reproduction.datasets import load_dataset
from reproduction.protocols import (
    CENTRES,
    PROTOCOLS,
    TOY,
    Table,
    load_images,
    load_table,
    make_toy,
    split_rows,
)

Y = np.repeat([0, 1], [60, 40])
GROUPS = np.arange(100) // 4
TABLE = Table(np.zeros((100, 1)), Y)
FOLDS = range(5)


@pytest.fixture(autouse=True)
def _forget():
    yield
    load_table.cache_clear()
    load_images.cache_clear()


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_folds_are_a_partition_into_training_and_test_rows(shuffle, groups):
    table = TABLE._replace(groups=groups)
    splits = [split_rows(table, fold, 0, shuffle=shuffle) for fold in FOLDS]
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(100))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(100))
        if groups is None:
            assert np.bincount(Y[test]).tolist() == [12, 8]
        else:
            assert not set(groups[train]) & set(groups[test])


def test_unshuffled_folds_are_in_the_order_of_the_file():
    _, test = split_rows(TABLE, 1, 7, shuffle=False)
    assert test.tolist() == [*range(12, 24), *range(68, 76)]


def test_shuffled_folds_are_another_split_for_another_seed():
    first, again, other = (split_rows(TABLE, 0, s)[1].tolist() for s in (0, 0, 1))
    assert first == again != other


def test_protocols_are_those_of_the_paper_of_its_authors_and_a_quick_one():
    found = {
        name: (p.n_folds, p.shuffle, p.search, p.all_rows, p.methods)
        for name, p in PROTOCOLS.items()
    }
    assert found == {
        "paper": (5, True, True, False, ()),
        "authors": (5, False, False, True, ("paper",)),
        "quick": (1, True, False, False, ()),
    }


def test_values_are_removed_and_the_rest_is_as_it_was():
    table, whole = load_table("wine", 0.5, 0), load_dataset("wine")
    missing = np.isnan(table.X)
    assert abs(missing.mean() - 0.5) < 0.04
    np.testing.assert_array_equal(table.X[~missing], whole.X[~missing])
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


def test_few_rows_keep_the_proportions_of_the_classes():
    table = load_table("iris", None, 0, 30)
    assert np.bincount(table.y).tolist() == [10, 10, 10]
    rows = {tuple(row) for row in load_dataset("iris").X}
    assert {tuple(row) for row in table.X} <= rows


def test_rows_have_groups_if_they_are_split_by_recordings(monkeypatch):
    grouped = replace(load_dataset("iris"), groups=np.arange(150).astype(str))
    monkeypatch.setattr(protocols, "load_dataset", {"esr": grouped}.get)
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


def test_a_name_may_have_the_side_of_the_patch():
    assert (np.isnan(load_images("digits-5", 0).test).sum(1) == 25).all()


def test_fewer_images_to_train_on_leave_the_test_as_it_is():
    few, whole = load_images("digits", 0, 100), load_images("digits", 0)
    assert (len(few.train), len(few.original)) == (100, 100)
    np.testing.assert_array_equal(few.test, whole.test)


def test_the_toy_loses_one_attribute_of_points_on_the_left_alone():
    X, y, complete, _ = make_toy(2000, 0)
    missing = np.isnan(X)
    left = complete[:, 0] < 0
    assert not missing[~left].any()
    assert set(missing[left].sum(1)) == {0, 1}
    assert abs(missing[left].any(1).mean() - 0.5) < 0.05
    assert abs(missing[left][:, 0].mean() - 0.25) < 0.05
    nearest = np.square(complete[:, None] - CENTRES).sum(2).argmin(1)
    assert (np.array([0, 1, 1, 0])[nearest] == y).mean() > 0.95
    other = load_table(TOY, None, 1, 50)
    assert (other.complete != load_table(TOY, None, 0, 50).complete).all()
