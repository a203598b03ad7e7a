import numpy as np
import pandas as pd
import pytest

from lacunet.profile import _dependence, profile_table

nan = np.nan


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Learn less than usual: the words are tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dependence, "N_FOLDS", 2)
        patch.setitem(_dependence.BOOSTING, "max_iter", 5)
        yield


def findings_of(X, **options):
    found = profile_table(X, **options).findings
    return {finding.about: f"{finding.head}. {finding.text}" for finding in found}


@pytest.fixture(scope="module")
def findings():
    stream = np.random.RandomState(0)
    X = pd.DataFrame(stream.randn(200, 4), columns=list("abcd"))
    X["y"] = np.where(stream.rand(200) < 0.5, "ill", "well")
    X.loc[X["a"] > 0.3, ["b", "c"]] = nan
    X.loc[(X["y"] == "ill") & (stream.rand(200) < 0.6), "d"] = nan
    return findings_of(X, target="y")


def test_findings_go_from_cells_to_the_target(findings):
    assert list(findings) == ["cells", "together", "little", "dependence", "target"]


def test_cells_are_counted_in_words(findings):
    assert "of 800 cells, in 3 of 4 columns. 90 of 200 rows are" in findings["cells"]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            [[1, nan], [1, 2]],
            "1 of 4 cells, in 1 of 2 columns. 1 of 2 rows is complete",
        ),
        (
            [[nan], [2.0]],
            "1 of 2 cells, in 1 of 1 column. 1 of 2 rows is complete (50%)",
        ),
        ([[1, nan]], "1 of 2 cells, in 1 of 2 columns. None of 1 row is complete."),
    ],
)
def test_a_single_thing_is_in_the_singular(X, words):
    assert words in findings_of(np.array(X))["cells"]


def test_a_single_test_is_in_the_singular():
    X = np.random.RandomState(0).randn(60, 1)
    X[::3] = nan
    text = findings_of(X, target=np.arange(60) % 2)["target"]
    assert "The only test is not significant." in text


def test_columns_that_are_missing_together_are_named(findings):
    assert "Missing in the same rows: 'b', 'c'." in findings["together"]


def test_little_is_reported_with_its_p_value(findings):
    assert findings["little"].startswith("Values are not missing completely at random")
    assert "Little's test, p < 0.001" in findings["little"]


def test_an_example_shows_what_missingness_depends_on(findings):
    assert findings["dependence"].startswith(
        "Missingness of 1 column depends on values"
    )
    assert "'b' is missing in" in findings["dependence"]
    assert "of the rows in which 'a' is above" in findings["dependence"]


def test_associations_with_the_target_come_with_advice(findings):
    assert "in which 'y' is 'ill'" in findings["target"]
    assert "explains" in findings["target"]
    assert "Keep the missingness" in findings["target"]


def test_where_nothing_is_found_no_proof_is_claimed():
    stream = np.random.RandomState(0)
    X = stream.randn(300, 3)
    X[stream.rand(*X.shape) < 0.2] = nan
    findings = findings_of(X, target=stream.randint(0, 2, 300))
    assert findings["little"].startswith("Values may be missing completely at random")
    assert findings["dependence"].startswith("Missingness does not seem to depend")
    assert findings["target"].startswith(
        "Missingness does not seem to be associated with the target 'target'"
    )


def test_a_complete_table_has_one_finding():
    assert findings_of(np.ones((3, 2))) == {
        "cells": "Nothing is missing. If values may be missing at prediction, this "
        "table does not show how."
    }


def test_a_test_that_was_not_run_has_its_reason():
    findings = findings_of(pd.DataFrame({"a": ["x", None, "y"], "b": [1, 2, 3]}))
    head, reason = findings["little"].split(". ")
    assert head == "Little's test was not run"
    assert reason == "It has fewer than two numeric columns that vary."


# --- notices


def notices_of(**columns):
    return "\n".join(profile_table(pd.DataFrame(columns)).notices)


def varied(n_rows=40, seed=0):
    return np.random.RandomState(seed).randn(n_rows).round(2)


def test_types_that_no_estimator_accepts_are_reported():
    found = notices_of(x=[[1], [2]] * 20, other=varied())
    assert "of types that no estimator accepts: 'x'" in found


def test_ordinary_columns_are_not_remarked_on():
    X = {"a": varied(), "b": np.where(varied(seed=1) > 0, nan, varied(seed=2))}
    found = profile_table(pd.DataFrame({**X, "c": X["b"]})).notices
    assert found == ()


def test_empty_tables_are_reported():
    assert notices_of(a=[]) == "The table has no rows."
    assert notices_of() == "The table has no columns."


def test_rows_that_occur_again_are_counted_and_those_without_a_value():
    X = pd.DataFrame({"a": [1.0, 1.0, 2.0, nan, nan, 0.0], "b": list("xxyzzz")})
    X.loc[5] = [nan, None]
    found = "\n".join(profile_table(X).notices)
    assert "2 rows equal to earlier ones" in found
    assert "1 row without a single value" in found


def test_equal_cells_in_other_columns_are_no_equal_rows():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, nan], [nan, 0.0], [-0.0, nan]])
    found = "\n".join(profile_table(X).notices)
    assert "1 row equal" in found


def test_missing_values_are_equal_whatever_their_bits():
    X = np.array([[1.0, nan], [1.0, np.copysign(nan, -1)], [2.0, 3.0]])
    found = "\n".join(profile_table(X).notices)
    assert "1 row equal" in found


def test_rows_without_a_target_are_counted():
    X = pd.DataFrame({"a": varied(), "y": [None, "b"] * 20})
    found = "\n".join(profile_table(X, target="y").notices)
    assert "20 rows without a target" in found


def test_columns_of_one_name_are_reported():
    X = pd.DataFrame(np.column_stack([varied(), varied(seed=1)]), columns=["a", "a"])
    found = "\n".join(profile_table(X).notices)
    assert "name that occurs again: 'a (2)'." in found


def test_what_was_left_out_for_time_is_reported():
    X = varied(300).reshape(-1, 1) * np.ones(3)
    X[:100, 0] = nan
    found = "\n".join(profile_table(X, max_rows=200).notices)
    assert "tests are on 200 rows" in found


def test_notices_of_the_columns_are_reported_first():
    X = pd.DataFrame({"a": varied(), "b": varied(seed=1)})
    found = profile_table(X, notices=["Column 'a': use --missing 0."])
    assert found.notices[0] == "Column 'a': use --missing 0."
    assert found.findings[0].head == "No cell is empty or marked as missing"
    assert profile_table(X).findings[0].head == "Nothing is missing"
