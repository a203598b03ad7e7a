import numpy as np
import pyarrow as pa
import pytest
from own_tables import describe, fill, read

from lacunet.tables._values import MARKERS, Markers, trim


def found(texts, *named, **more):
    return Markers(named, **more).find(pa.array(texts)).tolist()


@pytest.mark.parametrize("marker", MARKERS)
def test_usual_markers_mean_missing_in_columns_of_any_kind(tmp_path, marker):
    frame = read(tmp_path, f"n,t,d\n1.5,{marker},2024-01-01\n{marker},x,{marker}\n")
    assert frame.isna().to_numpy().tolist() == [
        [False, True, False],
        [True, False, True],
    ]
    assert frame["n"].dtype == float


def test_markers_are_told_apart_by_case_and_spaces_do_not_count(tmp_path):
    assert found(["na", "nAn", "Null", "--", "0"]) == [False] * 5
    frame = read(tmp_path, 'a,b\n NA ,"  "\n1,x\n')
    assert frame.iloc[0].isna().all()


def test_a_number_that_means_missing_does_so_in_any_spelling():
    texts = ["-999", "-999.0", "-0999", "-999.00", "-999.5", "999", "-9990", "x"]
    assert found(texts, "-999") == [True] * 4 + [False] * 4
    assert found(["+99", "99.", "99,0", "99e0"], "99") == [True, True, False, False]
    assert found(["99,0", "99,000"], "99", decimals=".,") == [True, True]
    assert found(["0.50", "0.5", "1.5"], "0.5") == [True, True, False]


def test_words_that_mean_missing_are_taken_as_they_are(tmp_path):
    text = "a,b\nunknown,1\nx,-999.0\ny,2\n"
    frame = read(tmp_path, text, missing=("unknown", "-999"))
    assert frame["a"].isna().tolist() == [True, False, False]
    assert frame["b"].isna().tolist() == [False, True, False]
    assert describe(tmp_path, text, missing="-999")["b"].kind == "integer"


def test_all_markers_are_filled(tmp_path):
    text = "x\n1\nNA\n-999.0\n?\n3\n"
    assert fill(tmp_path, text, {"x": 2}, missing="-999") == b"x\n1\n2\n2\n2\n3\n"


def test_numbers_that_mean_missing_are_found_among_floats():
    values = np.array([1.0, np.nan, -999.0, np.inf])
    assert Markers(("-999", "inf", "x")).find_numbers(values).tolist() == [
        False,
        True,
        True,
        True,
    ]
    assert Markers().find_numbers(values).tolist() == [False, True, False, False]


def test_nulls_are_no_markers():
    assert found([None, "NA", "x" * 50], "-999") == [False, True, False]
    assert trim(pa.array([" a", None, "b c\t"])).to_pylist() == ["a", None, "b c"]


def test_without_the_usual_markers_only_the_empty_cell_means_missing(tmp_path):
    text = "strand,x\n+,1\n-,2\n,\nNA,4\n"
    frame = read(tmp_path, text, usual_missing=False, missing="4")
    assert frame["strand"].tolist()[:2] == ["+", "-"]
    assert frame["strand"].isna().tolist() == [False, False, True, False]
    assert frame["x"].isna().tolist() == [False, False, True, True]


def test_a_minus_beside_a_plus_is_pointed_out(tmp_path):
    text = "strand,x\n+,1\n-,2\n"
    (notice,) = [
        each
        for each in describe(tmp_path, text)["strand"].notices
        if each.what == "minus"
    ]
    assert "--no-usual-missing" in notice.text
    kept = describe(tmp_path, text, usual_missing=False)["strand"]
    assert not [each for each in kept.notices if each.what == "minus"]


def test_numbers_that_mean_missing_are_compared_in_their_own_precision():
    values = np.array([-999.9, 1e20, 1.0, np.inf], dtype=np.float32)
    markers = Markers(("-999.9", "1e20", "1e300"))
    assert markers.find_numbers(values).tolist() == [True, True, False, False]
