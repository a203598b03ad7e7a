import numpy as np
import pytest
from reproduction.experiments._protocols import PROTOCOLS, split_rows

Y = np.repeat([0, 1], [60, 40])
GROUPS = np.arange(100) // 4
FOLDS = range(5)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_folds_are_a_partition_into_training_and_test_rows(shuffle, groups):
    splits = [split_rows(Y, groups, fold, 0, shuffle=shuffle) for fold in FOLDS]
    tested = np.concatenate([split.test for split in splits])
    assert sorted(tested) == list(range(100))
    for split in splits:
        assert sorted([*split.train, *split.test]) == list(range(100))


@pytest.mark.parametrize("shuffle", [True, False])
def test_folds_have_the_shares_of_the_classes(shuffle):
    for fold in FOLDS:
        split = split_rows(Y, None, fold, 0, shuffle=shuffle)
        assert np.bincount(Y[split.test]).tolist() == [12, 8]


def test_rows_of_a_group_stay_together():
    for fold in FOLDS:
        split = split_rows(Y, GROUPS, fold, 0, shuffle=True)
        assert not set(GROUPS[split.train]) & set(GROUPS[split.test])


def test_unshuffled_folds_are_in_the_order_of_the_file():
    split = split_rows(Y, None, 1, 7, shuffle=False)
    assert split.test.tolist() == [*range(12, 24), *range(68, 76)]


def test_shuffled_folds_are_another_split_for_another_seed():
    first, again, other = (
        split_rows(Y, None, 0, seed, shuffle=True).test.tolist() for seed in (0, 0, 1)
    )
    assert first == again != other


def test_protocols_are_what_they_say():
    paper, authors, quick = (PROTOCOLS[n] for n in ("paper", "authors", "quick"))
    assert (paper.n_folds, paper.shuffle, paper.search) == (5, True, True)
    assert (authors.n_folds, authors.shuffle, authors.search) == (5, False, False)
    assert (quick.n_folds, quick.shuffle, quick.search) == (1, True, False)
    assert [p.all_rows for p in (paper, authors, quick)] == [False, True, False]
    assert authors.methods == ("paper",)
