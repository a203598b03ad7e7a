import dataclasses

import numpy as np
import pytest
from reproduction.datasets import DataSet


def record(**changes):
    fields = {
        "name": "tiny",
        "X": np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]]),
        "y": np.array([0, 1, 0]),
        "feature_names": ("x0", "x1"),
        "target_names": ("no", "yes"),
        "description": "Made by hand.",
        "source": "here",
        "licence": "CC0",
    }
    return DataSet(**fields | changes)


def test_repr_is_one_line_that_names_the_size():
    expected = "<DataSet tiny: 3 rows, 2 features, 2 classes, 16.67% missing>"
    assert repr(record()) == expected


def test_repr_says_that_a_target_is_continuous():
    regression = record(y=np.zeros(3), target_names=())
    assert "2 features, regression, 16.67%" in repr(regression)


def test_repr_of_bytes_has_nothing_missing():
    assert "0.00% missing" in repr(record(X=np.zeros((3, 2), np.uint8)))


def test_fields_can_not_be_replaced():
    with pytest.raises(dataclasses.FrozenInstanceError):
        record().X = np.zeros((3, 2))


def test_records_are_equal_to_themselves_only():
    # By the fields it would be an array of truths, or an error.
    one = record()
    assert one == one  # noqa: PLR0124
    assert one != record()
