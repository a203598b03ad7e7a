import numpy as np
import pandas as pd
import pytest

from lacunet.evaluation import find_task, split_target
from lacunet.exceptions import TableError


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
def test_a_task_is_told_by_its_target(y, task):
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
        ([1.0] * 20, "regression", "is 1 in all rows"),
        (["a"] * 20, None, "one class, a"),
        ([1.0] * 5 + [np.nan] * 20, None, "5 of 25 rows with a value"),
        (["a", "b"] * 10, "regression", "of words"),
        ([*range(19), 1e200], "regression", r"value 1e\+200.*--missing 1e\+200"),
        ([f"n{k}" for k in range(30)], None, "30 classes in 30 rows"),
    ],
)
def test_targets_are_refused_with_advice(y, task, words):
    with pytest.raises(TableError, match=words):
        split_target(table(y), "y", task)


def test_a_target_that_is_not_there_is_told_with_names_that_are_close():
    with pytest.raises(TableError, match="'year', but expected .*'y'"):
        split_target(table([0, 1] * 10), "year")
    with pytest.raises(TableError, match="no column but its target"):
        split_target(table([0, 1] * 10)[["y"]], "y")
