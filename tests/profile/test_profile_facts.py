import numpy as np
import pandas as pd
import pytest

from lacunet.profile._facts import find_facts
from lacunet.profile._holes import open_holes


def facts_of(values):
    (column,) = open_holes(pd.DataFrame({"x": values})).columns()
    return find_facts(column)


@pytest.mark.parametrize(
    ("values", "markers"),
    [
        ([1.0, 2.0, 3.0, -999.0, -999.0], (("-999", 2),)),
        ([1, 2, 3, 9999], (("9999", 1),)),
        ([0, 1, 1, -9], (("-9", 1),)),
        ([1.5, 2.5, -99, 99], (("-99", 1), ("99", 1))),
        ([96, 97, 98, 99], ()),  # not apart
        ([0, 50, 99, 150], ()),  # not at an end
        ([1.0, 2.0, 3.0, -998.0], ()),
        ([1.0, 2.0, 3.0, 1e9], ()),
        ([-999.0, -999.0], ()),  # nothing to stand apart from
        (["a", "?", "b", "?"], (("?", 2),)),
        (["a", " Unknown ", "n/a"], ((" Unknown ", 1), ("n/a", 1))),
        (["a", "b", "no"], ()),
        ([1, "?", 2, None], (("?", 1),)),
    ],
)
def test_values_that_look_like_markers_are_found(values, markers):
    assert facts_of(values).markers == markers


def test_a_column_that_would_be_of_numbers_is_told():
    assert facts_of(["1", "2.5", "?"]).number_but_for
    assert facts_of(pd.Series([1, "?"], dtype=object)).number_but_for
    assert not facts_of(["1", "a", "?"]).number_but_for
    assert not facts_of(["1", "2"]).number_but_for
    assert not facts_of(["?"]).number_but_for


@pytest.mark.parametrize(
    ("values", "id_like"),
    [
        (range(100, 130), True),
        ([3, 7, 8, *range(100, 130)], True),
        (np.random.RandomState(0).permutation(30), True),
        ([f"n{i}" for i in range(30)], True),
        ([f"n{i}" for i in range(19)], False),  # too few to tell
        (range(19), False),
        ([*range(30), 5], False),
        (np.linspace(0, 1, 30), False),
        (np.random.RandomState(0).randint(0, 10**6, 30), False),
        ([f"n{i % 29}" for i in range(30)], False),
    ],
)
def test_columns_that_name_rows_are_found(values, id_like):
    assert facts_of(list(values)).id_like is id_like


def test_values_are_counted():
    assert facts_of([1.0, 1.0, None, 2.0]).n_distinct == 2
    assert facts_of(["a", "b", None, "a"]).n_distinct == 2
    assert facts_of(pd.to_datetime(["2020-01-01", None, "2020-01-01"])).n_distinct == 1
    assert facts_of([None, None]).n_distinct == 0
    assert facts_of([1.0, np.inf, -np.inf]).infinite == 2
