import dataclasses
import json
import pickle

import numpy as np
import pytest
from reproduction.statistics._record import from_line, order, to_line

from lacunet.exceptions import LacunetError

PLACE = "line 7 of some.jsonl"


def line_with(cell, **changes):
    return json.dumps(json.loads(to_line(cell)) | changes).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rate": 0.1, "value": 0.1 + 0.2, "commit": None},
        {"value": None, "params": {"why": "no complete rows"}},
        {"value": 5e-324, "seconds": 0, "params": {}, "versions": {}},
        {"dataset": "Śmieja\n\u2028\x00", "params": {"deep": [{"a": (1, None)}, True]}},
        {"value": np.float32(0.5), "fold": np.int64(3), "rate": 1},
        {"params": {"C": np.float64(0.25), "n": np.int32(2), "on": np.True_}},
    ],
)
def test_a_cell_comes_back_from_its_line_as_it_was(make_cell, changes):
    cell = make_cell(**changes)
    line = to_line(cell)
    assert line.count(b"\n") == 1
    assert line.isascii()
    assert from_line(line, PLACE) == cell


def test_key_holds_what_names_a_cell_and_nothing_that_was_measured(make_cell):
    cell = make_cell(rate=0.5, fold=3, seed=2)
    key = ("table-4", "pima", 0.5, "paper", 3, 2, "paper", "accuracy")
    assert cell.key == key
    measured = {"value": 0.1, "seconds": 9, "params": {}, "versions": {}}
    assert dataclasses.replace(cell, commit=None, **measured).key == key


def test_cells_can_be_hashed_and_sent_to_other_processes(make_cell):
    cell = make_cell()
    assert len({cell, make_cell()}) == 1
    assert pickle.loads(pickle.dumps(cell)) == cell


def test_params_are_a_copy(make_cell):
    params = {"sizes": [1]}
    cell = make_cell(params=params)
    params["sizes"].append(2)
    assert cell.params == {"sizes": [1]}


def test_cells_without_a_rate_are_sorted_before_those_with_one(make_cell):
    cells = [make_cell(rate=rate) for rate in (0.5, None, 0.25)]
    assert [cell.rate for cell in sorted(cells, key=order)] == [None, 0.25, 0.5]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"dataset": ""}, ValueError, "dataset='', but expected a string"),
        ({"protocol": None}, TypeError, "protocol=None, but expected a string"),
        ({"commit": ""}, ValueError, "commit=''"),
        ({"fold": -1}, ValueError, "fold=-1, but expected an integer of at least 0"),
        ({"seed": True}, TypeError, "seed=True"),
        ({"seed": 1.0}, TypeError, "seed=1.0"),
        ({"rate": 1.5}, ValueError, "rate=1.5, but expected a share from 0 to 1"),
        ({"rate": "0.5"}, TypeError, "rate='0.5'"),
        ({"value": float("nan")}, ValueError, "value=nan, but expected a finite"),
        ({"value": np.inf}, ValueError, "value=inf"),
        ({"value": 10**400}, ValueError, "huge integer as value"),
        ({"value": True}, TypeError, "value=True"),
        ({"value": None}, ValueError, r"expected the reason .* params\['why'\]"),
        ({"value": None, "params": {"why": ""}}, ValueError, "the reason"),
        ({"seconds": -1}, ValueError, "seconds=-1, but expected a number of at least"),
        ({"seconds": None}, TypeError, "seconds=None"),
        ({"params": []}, TypeError, r"params=\[\], but expected a mapping"),
        ({"params": {1: 2}}, TypeError, "key 1 in params, but expected strings"),
        ({"params": {"a": [0, np.nan]}}, ValueError, r"params\['a'\]\[1\]=nan"),
        ({"params": {"a": np.zeros(2)}}, TypeError, "of type ndarray.*tolist"),
        ({"versions": {"torch": 2}}, TypeError, r"versions\['torch'\]=2"),
    ],
)
def test_what_json_can_not_hold_is_refused_when_a_cell_is_made(
    make_cell, changes, error, message
):
    with pytest.raises(error, match=message):
        make_cell(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1, "shade": 2}, "unknown fields colour, shade.*update lacunet"),
        ({"fold": "0"}, "In line 7 of some.jsonl: Got fold='0'"),
        ({"value": "0.5"}, "Got value='0.5'.*Delete the line"),
        ({"value": None}, "the reason"),
        ({"params": None}, "params=None"),
    ],
)
def test_a_line_with_wrong_fields_is_refused(make_cell, changes, message):
    with pytest.raises(LacunetError, match=message):
        from_line(line_with(make_cell(), **changes), PLACE)


def test_a_line_without_a_field_is_refused(make_cell):
    record = json.loads(to_line(make_cell()))
    del record["seed"], record["metric"]
    with pytest.raises(LacunetError, match=f"{PLACE} without seed, metric"):
        from_line(json.dumps(record).encode(), PLACE)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"experiment": "ta', f"{PLACE} that is not proper JSON"),
        (b"[1, 2]", f"{PLACE} that holds no record"),
        (b'{"value": NaN}', "NaN is no number of JSON"),
        (b'{"value": -Infinity}', "-Infinity is no number of JSON"),
        (b'{"value": 1e999}', "expected a finite number"),
        (b'{"fold": 1, "fold": 2}', "a key occurs twice"),
        (b'{"dataset": "\xff"}', "not proper JSON"),
        (b"[" * 100_000, "not proper JSON"),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_its_place(line, message):
    with pytest.raises(LacunetError, match=message):
        from_line(line, PLACE)
