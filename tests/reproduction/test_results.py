import json

import numpy as np
import pandas as pd
import pytest
from reproduction.results import FIELDS, append_results, read_results

from lacunet.exceptions import LacunetError


def cell(fold=0, value=0.5, **fields):
    return {
        "experiment": "table-4",
        "dataset": "pima",
        "rate": None,
        "method": "paper",
        "fold": fold,
        "seed": 0,
        "protocol": "paper",
        "metric": "accuracy",
        "value": value,
        "params": {"n_units": 25},
        "seconds": 1.5,
        "versions": {"lacunet": "0.1.0"},
        "commit": None,
        **fields,
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "results.jsonl"


def test_what_is_appended_is_read(path):
    append_results(path, [cell(0), cell(1, np.float32(0.25))])
    append_results(path, [cell(np.int64(2), None, params={"why": "too few rows"})])
    append_results(path, [])
    table = read_results(path.parent)
    assert tuple(table) == FIELDS
    assert table.fold.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(table.value, [0.5, 0.25, np.nan])
    assert table.params[2] == {"why": "too few rows"}
    assert table.rate.isna().all()
    pd.testing.assert_frame_equal(read_results(path), table)


def test_the_last_line_of_a_key_wins(path):
    append_results(path, [cell(0, 0.1), cell(1), cell(0, 0.9), cell(0, 0.3, rate=0.5)])
    table = read_results(path)
    assert table.value.tolist() == [0.9, 0.5, 0.3]
    assert table.rate.fillna(-1).tolist() == [-1, -1, 0.5]


def test_a_folder_without_results_gives_an_empty_table_of_the_same_columns(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        table = read_results(folder)
        assert len(table) == 0
        assert tuple(table) == FIELDS
        assert table.value.dtype == float


@pytest.mark.parametrize("n_left", [1, 20, 200])
def test_a_cut_last_line_is_skipped_and_removed_by_the_next_append(path, n_left):
    append_results(path, [cell(0), cell(1)])
    whole = path.read_bytes()
    path.write_bytes(whole + json.dumps(cell(2)).encode()[:n_left])
    with pytest.warns(UserWarning, match="line 3 of .*results.jsonl.*cut off"):
        assert len(read_results(path)) == 2
    append_results(path, [cell(3)])
    assert path.read_bytes().startswith(whole)
    assert read_results(path).fold.tolist() == [0, 1, 3]


def test_a_last_line_that_lacks_its_newline_alone_is_kept(path):
    append_results(path, [cell(0)])
    path.write_bytes(path.read_bytes().rstrip())
    assert len(read_results(path)) == 1
    append_results(path, [cell(1)])
    assert read_results(path).fold.tolist() == [0, 1]


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"colour": 1}', b"\xff", b"<<< x"])
def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(path, damage):
    append_results(path, [cell(0)])
    path.write_bytes(path.read_bytes() + damage + b"\n")
    append_results(path, [cell(1)])
    with pytest.raises(LacunetError, match="line 2 of .*results.jsonl"):
        read_results(path)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"value": np.nan}, LacunetError, "value=nan, but expected a finite number"),
        ({"value": "0.5"}, LacunetError, "value='0.5'"),
        ({"value": None}, LacunetError, r"expected then a reason: params\['why'\]"),
        ({"colour": 1}, LacunetError, "colour, but expected the fields"),
        ({"params": {"a": np.zeros(2)}}, TypeError, "a ndarray in a cell.*tolist"),
        ({"seconds": np.inf}, ValueError, "not JSON compliant"),
    ],
)
def test_what_is_no_measurement_is_not_written(path, fields, error, message):
    with pytest.raises(error, match=message):
        append_results(path, [cell(0), cell(1, **fields)])
    assert not path.exists()
