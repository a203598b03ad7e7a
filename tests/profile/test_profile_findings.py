import numpy as np
import pandas as pd
import pytest

from lacunet.profile import HoleLink, LinkTable, _foresight, profile_table
from lacunet.profile._findings import find_clearest

nan = np.nan


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Learn less than usual: it is the words that are looked at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_foresight, "_N_FOLDS", 2)
        patch.setitem(_foresight._SETTINGS, "max_iter", 5)
        yield


def findings_of(X, **options):
    found = profile_table(X, **options).findings
    return {finding.about: f"{finding.head}. {finding.text}" for finding in found}


@pytest.fixture(scope="module")
def told():
    stream = np.random.RandomState(0)
    X = pd.DataFrame(stream.randn(200, 4), columns=list("abcd"))
    X["y"] = np.where(stream.rand(200) < 0.5, "ill", "well")
    X.loc[X["a"] > 0.3, ["b", "c"]] = nan
    X.loc[(X["y"] == "ill") & (stream.rand(200) < 0.6), "d"] = nan
    return findings_of(X, target="y")


def test_findings_go_from_cells_to_the_target(told):
    assert list(told) == ["cells", "together", "little", "dependence", "target"]


def test_cells_are_counted_in_words(told):
    assert "of 800 cells, in 3 of 4 columns. Of 200 rows," in told["cells"]


def test_columns_that_are_missing_together_are_named(told):
    assert "'b' and 'c' are missing in the same rows." in told["together"]


def test_little_is_told_with_its_p_value(told):
    assert told["little"].startswith("Values are not missing completely at random")
    assert "p = " in told["little"]


def test_an_example_shows_what_holes_depend_on(told):
    assert told["dependence"].startswith("Holes of 1 column depend on values of others")
    assert "'b' is missing in" in told["dependence"]
    assert "of the rows in which 'a' is above" in told["dependence"]


def test_what_holes_tell_of_the_target_is_told_with_advice(told):
    assert "in which 'y' is 'ill'" in told["target"]
    assert "explains" in told["target"]
    assert "Keep the information" in told["target"]


def test_each_column_has_its_clearest_link_and_the_clearest_come_first():
    made = [
        HoleLink(column, on, by, 0.9, 0.0, 0.0, "is above 1", there, 0.1)
        for column, on, by, there in (
            ("a", "x", "value", 0.2),
            ("b", "x", "value", 0.5),
            ("a", "y", "value", 0.9),
            ("b", "y", "missing", 1.0),
        )
    ]
    found = find_clearest(LinkTable((), (), (), (), tuple(made), 4, 4))
    assert [(link.column, link.on) for link in found] == [("a", "y"), ("b", "x")]


def test_where_nothing_is_found_no_proof_is_claimed():
    stream = np.random.RandomState(0)
    X = stream.randn(300, 3)
    X[stream.rand(*X.shape) < 0.2] = nan
    told = findings_of(X, target=stream.randint(0, 2, 300))
    assert "That is no proof." in told["little"]
    assert told["dependence"].startswith("Holes do not seem to depend")
    assert told["target"].startswith("Holes do not seem to tell of the target 'target'")


def test_a_complete_table_has_one_finding():
    assert findings_of(np.ones((3, 2))) == {
        "cells": "Nothing is missing. All cells have a value."
    }


def test_a_test_that_was_not_made_has_its_reason():
    told = findings_of(pd.DataFrame({"a": ["x", None, "y"], "b": [1, 2, 3]}))
    head, reason = told["little"].split(". ")
    assert head == "Little's test was not made"
    assert reason == "It has fewer than two columns of numbers that vary."
