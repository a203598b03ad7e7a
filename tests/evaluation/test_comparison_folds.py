import numpy as np
import pytest

from lacunet.evaluation._comparison_folds import make_folds


def make(task, y, n_folds=5, n_repeats=1, seed=0, classes=("a", "b")):
    stream = np.random.RandomState(seed)
    names = classes if task == "classification" else ()
    return make_folds(task, np.asarray(y), names, n_folds, n_repeats, stream)


Y = np.repeat([0, 1], [40, 10])


@pytest.mark.parametrize(
    ("task", "y"), [("classification", Y), ("regression", np.linspace(0, 1, 50))]
)
def test_every_row_is_tested_on_once_in_each_repeat(task, y):
    folds = make(task, y, n_repeats=2)
    assert [(each.repeat, each.fold) for each in folds.splits] == [
        (repeat, fold) for repeat in range(2) for fold in range(5)
    ]
    for repeat in range(2):
        splits = folds.splits[5 * repeat : 5 * repeat + 5]
        tested = np.concatenate([split.test for split in splits])
        assert sorted(tested) == list(range(50))
        for split in splits:
            assert sorted([*split.train, *split.test]) == list(range(50))
    assert (folds.n_train, folds.n_test) == (40, 10)


def test_folds_have_the_same_share_of_each_class():
    folds = make("classification", Y)
    assert folds.stratified
    assert folds.notes == ()
    assert [int(Y[split.test].sum()) for split in folds.splits] == [2] * 5


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_are_shuffled_by_the_seed_and_otherwise_in_each_repeat(task):
    def tests(seed):
        folds = make(task, Y, n_repeats=2, seed=seed)
        return [split.test.tolist() for split in folds.splits]

    assert tests(0) == tests(0) != tests(1)
    assert tests(0)[:5] != tests(0)[5:]
    assert all(np.diff(test).max() > 1 for test in tests(0))


def test_there_are_fewer_folds_if_a_class_has_fewer_rows():
    folds = make("classification", np.repeat([0, 1], [40, 3]), classes=("a", "<b>"))
    assert (folds.n_folds, len(folds.splits), folds.stratified) == (3, 3, True)
    assert folds.notes == ("3 folds instead of 5, as the class '<b>' has 3 rows.",)


def test_a_class_of_one_row_makes_plain_folds():
    folds = make("classification", np.repeat([1, 0], [40, 1]))
    assert (folds.n_folds, folds.stratified) == (5, False)
    (note,) = folds.notes
    assert note.startswith("The class 'a' has one row only")


def test_each_fold_has_two_rows():
    folds = make("regression", np.arange(7.0))
    assert folds.n_folds == 3
    assert folds.notes == ("3 folds instead of 5, as there are 7 rows.",)
    assert min(len(split.test) for split in folds.splits) == 2


def test_three_rows_are_refused():
    with pytest.raises(ValueError, match="Got 3 rows, but expected at least 4"):
        make("regression", np.arange(3.0))
