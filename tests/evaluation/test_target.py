import numpy as np
import pandas as pd
import pytest

from lacunet.evaluation import METRICS, TableFacts, find_task, split_target
from lacunet.evaluation._target import check_table, split_rows
from lacunet.exceptions import TableError
from lacunet.tables import ColumnInfo


def table(y):
    return pd.DataFrame({"x": np.arange(len(y)), "y": y})


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b", None] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1] * 10, "classification"),
        ([0.0, 1.0, np.nan] * 10, "classification"),
        ([0.5, 1.5] * 10, "classification"),
        ([1, 2, 3] * 10, "classification"),
        ([1.0, 2.0, 3.5] * 10, "regression"),
        (list(range(30)), "regression"),
    ],
)
def test_the_task_is_inferred_from_the_target(y, task):
    assert find_task(y) == task
    parts = split_target(table(y), "y")
    assert parts.task == task
    assert len(parts.X) == len(parts.y) == pd.Series(y).notna().sum()
    assert len(parts.X_unlabelled) == pd.Series(y).isna().sum()


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0.0, 1.0, np.nan], [0, 1]),
        ([0.5, 1.0, np.nan], ["0.5", "1.0"]),
        ([1e20, 3e20, 1e20], ["1e+20", "3e+20"]),
        ([2**62, 2**62 + 1, 2**62], [2**62, 2**62 + 1]),
        (["b", "a", None], ["a", "b"]),
    ],
)
def test_classes_are_integers_or_names(y, classes):
    parts = split_target(table(pd.Series(y * 10)), "y", "classification")
    assert np.unique(parts.y).tolist() == classes


@pytest.mark.parametrize(
    ("y", "task", "words"),
    [
        ([1.0] * 20, "regression", "of 1 alone"),
        (["a"] * 20, None, "one class, a"),
        ([1.0] * 5 + [np.nan] * 20, None, "5 of 25 rows with a value"),
        (["a", "b"] * 10, "regression", "of text"),
        ([*range(19), 1e200], "regression", r"value 1e\+200.*--missing 1e\+200"),
        ([f"n{k}" for k in range(30)], None, "30 classes in 30 rows"),
    ],
)
def test_targets_are_refused_with_advice(y, task, words):
    with pytest.raises(TableError, match=words):
        split_target(table(y), "y", task)


def test_an_unknown_target_is_refused_with_close_names():
    with pytest.raises(TableError, match="'year', but expected .*'y'"):
        split_target(table([0, 1] * 10), "year")
    with pytest.raises(TableError, match="no column but the target"):
        split_target(table([0, 1] * 10)[["y"]], "y")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("t.csv", "t.csv"),
        ("/a/b/t.csv", "t.csv"),
        ("C:\\data\\t.csv", "t.csv"),
        ("-", "-"),
    ],
)
def test_the_facts_of_a_table_have_the_name_of_the_file_alone(file, name):
    facts = TableFacts(file, "y", 0, 0, ())
    assert facts.name == name
    assert facts.fraction_missing(ColumnInfo("a", "empty", 0, 0)) == 0


def split(y, task="classification", **options):
    settings = {"test_size": 0.2, "random_state": 0, **options}
    return split_rows(np.asarray(y), task, **settings)


@pytest.mark.parametrize("task", METRICS)
def test_every_row_is_in_one_part(task):
    train, test = split([0, 1] * 25, task)
    assert len(test) == 10
    assert sorted([*train, *test]) == list(range(50))


def test_fractions_of_classes_are_kept():
    y = np.repeat([0, 1], [80, 20])
    for seed in range(5):
        _, test = split(y, random_state=seed)
        assert y[test].sum() == 4


def test_seeds_choose_other_rows():
    y = [0, 1] * 25
    first, again, other = (set(split(y, random_state=seed)[1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    "y",
    [
        ["a"] * 9 + ["b"],
        [*"aabbccddee"],  # five classes, two rows held out
        [*"aaaaaaaabb"],
        [*"aaaab", *"c"],
    ],
    ids="".join,
)
@pytest.mark.parametrize("test_size", [0.2, 0.7])
def test_each_class_has_a_training_row_however_few_rows_it_has(y, test_size):
    for seed in range(10):
        train, test = split(y, random_state=seed, test_size=test_size)
        assert set(np.array(y)[train]) == set(y)
        assert len(test)
        assert sorted([*train, *test]) == list(range(len(y)))


@pytest.mark.parametrize(
    ("y", "task", "match"),
    [
        (["a"] * 20, "classification", "y with one class, a,"),
        ([*"abcdefgh"], "classification", "8 classes in 8 rows"),
        ([0.5, 1.5, 2.5], "regression", "Got 3 rows, but expected 4"),
        ([1.0, np.nan] * 9, "regression", "missing values"),
        ([*"ab", None] * 9, "classification", "missing values"),
        (np.ones((9, 2)), "regression", r"shape \(9, 2\), but expected \(9,\)"),
        ([0, 1] * 9, "ranking", "task='ranking'"),
    ],
)
def test_targets_that_do_not_suit_the_task_are_refused(y, task, match):
    X = pd.DataFrame({"x": np.arange(len(y))})
    with pytest.raises(ValueError, match=match):
        check_table(X, y, task)


@pytest.mark.parametrize("test_size", [0, 1.5])
def test_fractions_that_leave_no_rows_are_refused(test_size):
    with pytest.raises(ValueError, match=f"test_size={test_size}"):
        split([0, 1] * 9, test_size=test_size)
