import re

import numpy as np
import pandas as pd
import pytest

from lacunet.profile import profile_table

nan = np.nan


def notices_of(**columns):
    return "\n".join(profile_table(pd.DataFrame(columns)).notices)


def varied(n_rows=40, seed=0):
    return np.random.RandomState(seed).randn(n_rows).round(2)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None] * 40, "1 column has no value at all: 'x'. .*--drop x"),
        ([1.0, *[nan] * 39], "missing in 95% of the rows or more: 'x'"),
        (["k"] * 40, "1 column has one value only: 'x'"),
        (range(40), "1 column seems to name the rows.*'x'.*--drop x"),
        ([1, 2, 3, -999] * 10, r"'-999' \(10 times\).*--missing -999"),
        (["a", "b", "c", "?"] * 10, r"'\?' \(10 times\).*--missing '\?'"),
        (["1", "2", "3", "?"] * 10, "Without, it is a column of numbers"),
        ([1.0, 2.0, np.inf, nan] * 10, "1 column has infinite numbers: 'x'"),
        ([[1], [2]] * 20, "No model can take 'x'. .*type list in column 'x'"),
    ],
)
def test_odd_columns_are_told_with_what_to_do(values, said):
    told = notices_of(x=list(values), other=varied())
    assert re.search(said, told), told


def test_ordinary_columns_are_not_remarked_on():
    X = {"a": varied(), "b": np.where(varied(seed=1) > 0, nan, varied(seed=2))}
    told = profile_table(pd.DataFrame({**X, "c": X["b"]})).notices
    assert told == (
        "1 column is never missing here: 'a'. If that may be otherwise at prediction, "
        "nothing in this table shows how.",
    )


def test_columns_of_one_kind_are_told_in_one_sentence():
    told = notices_of(a=[None] * 40, b=[None] * 40, c=varied())
    assert "2 columns have no value at all: 'a', 'b'." in told


def test_many_columns_are_counted_not_listed():
    told = notices_of(**{f"c{j}": [1, 2, 3, -999] * 10 for j in range(30)})
    assert told.count("--missing -999") == 10
    assert "20 more columns have values that may stand for missing ones" in told


def test_complete_and_empty_tables_are_told():
    assert notices_of(a=varied()).startswith("Nothing is missing.")
    assert notices_of(a=[]) == "The table has no rows."
    assert notices_of() == "The table has no columns."


def test_rows_that_occur_again_are_counted_and_those_without_a_value():
    X = pd.DataFrame({"a": [1.0, 1.0, 2.0, nan, nan, 0.0], "b": list("xxyzzz")})
    X.loc[5] = [nan, None]
    told = "\n".join(profile_table(X).notices)
    assert "2 rows are the same as an earlier one (33.3%)" in told
    assert "1 row is without a single value" in told


def test_equal_cells_in_other_columns_are_no_equal_rows():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, nan], [nan, 0.0], [-0.0, nan]])
    told = "\n".join(profile_table(X).notices)
    assert "1 row is the same" in told


def test_holes_are_equal_whatever_marks_them():
    X = np.array([[1.0, nan], [1.0, np.copysign(nan, -1)], [2.0, 3.0]])
    told = "\n".join(profile_table(X).notices)
    assert "1 row is the same" in told


def test_rows_without_a_target_are_counted():
    X = pd.DataFrame({"a": varied(), "y": [None, "b"] * 20})
    told = "\n".join(profile_table(X, target="y").notices)
    assert "20 rows are without a target" in told


def test_columns_of_one_name_are_told():
    X = pd.DataFrame(np.column_stack([varied(), varied(seed=1)]), columns=["a", "a"])
    told = "\n".join(profile_table(X).notices)
    assert "Several columns are called 'a': here, a later one is 'a (2)'." in told


def test_what_was_left_out_for_time_is_told():
    X = varied(300).reshape(-1, 1) * np.ones(3)
    X[:100, 0] = nan
    told = "\n".join(profile_table(X, max_rows=200).notices)
    assert "all 300 rows; tests are on 200 of them" in told


def test_names_of_options_are_quoted_for_the_shell():
    told = notices_of(**{"my id; rm": range(40), "b": varied()})
    assert "--drop 'my id; rm'" in told
