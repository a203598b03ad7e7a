"""Bytes to arrays, on files written by hand."""

import gzip

import numpy as np
import pytest
from reproduction.datasets._reading import (
    read_column,
    read_idx,
    read_images,
    read_table,
)
from reproduction.datasets._registry import Layout

NAN = np.nan


def test_numbers_stay_and_missing_cells_are_nan():
    column = read_column(["7", "?", "-1.5", "1e3"], ["?"])
    np.testing.assert_array_equal(column, [7, NAN, -1.5, 1000])


def test_words_are_coded_in_their_sorted_order():
    column = read_column(["b", "?", "c", "a", "b"], ["?"])
    np.testing.assert_array_equal(column, [1, NAN, 2, 0, 1])


def test_labels_come_from_a_second_file():
    files = [b"1,nan\n3,4\n", b"-1\n1\n"]
    content = read_table(files, Layout(missing=["nan"]))
    np.testing.assert_array_equal(content.X, [[1, NAN], [3, 4]])
    assert content.labels.tolist() == ["-1", "1"]
    assert content.feature_names == ("x0", "x1")
    assert content.groups is None


def test_label_and_dropped_columns_are_no_features():
    layout = Layout(label_column=1, drop_columns=[0])
    content = read_table([b"77,a,1,2\n78,b,3,4\n"], layout)
    np.testing.assert_array_equal(content.X, [[1, 2], [3, 4]])
    assert content.labels.tolist() == ["a", "b"]
    assert content.feature_names == ("x0", "x1")


def test_header_names_the_features_and_ids_the_groups():
    text = "id,A,B,y\r\nX2.V1.7,1,2,5\r\n\r\nX1.V14,3,4,1\r\n"
    layout = Layout(header=True, label_column=3, drop_columns=[0], group_column=0)
    content = read_table([text.encode()], layout)
    np.testing.assert_array_equal(content.X, [[1, 2], [3, 4]])
    assert content.feature_names == ("A", "B")
    assert content.labels.tolist() == ["5", "1"]
    assert content.groups.tolist() == ["V1.7", "V14"]


def test_blanks_and_empty_lines_are_understood():
    content = read_table([b" 1  2.5 0\n\n   \n3 4\t1 \n"], Layout(None, label_column=2))
    np.testing.assert_array_equal(content.X, [[1, 2.5], [3, 4]])
    assert content.labels.tolist() == ["0", "1"]


def test_blanks_around_cells_do_not_count():
    # A label of kidney_disease has a tab behind it.
    content = read_table([b"1, ?\n2,b\n", b"1\t\n1\n"], Layout(missing=["?"]))
    np.testing.assert_array_equal(content.X, [[1, NAN], [2, 0]])
    assert content.labels.tolist() == ["1", "1"]


def test_lines_of_several_lengths_are_refused():
    with pytest.raises(ValueError, match="zip"):
        read_table([b"1,2,3\n4,5\n"], Layout(label_column=0))


def idx(values):
    array = np.asarray(values, dtype=np.uint8)
    sizes = np.array(array.shape, ">u4").tobytes()
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes())


def test_images_become_rows_of_pixels_in_the_order_of_the_files():
    train, test = [[[0, 1, 2], [3, 4, 255]]], [[[9, 8, 7], [6, 5, 4]]]
    content = read_images([idx(train), idx([5]), idx(test), idx([7])])
    assert content.X.dtype == np.uint8
    np.testing.assert_array_equal(content.X, [[0, 1, 2, 3, 4, 255], [9, 8, 7, 6, 5, 4]])
    assert content.labels.tolist() == ["5", "7"]
    assert content.feature_names[2:4] == ("pixel_0_2", "pixel_1_0")


def test_an_array_of_other_numbers_than_bytes_is_refused():
    floats = gzip.compress(b"\x00\x00\x0d\x01" + bytes(8))
    with pytest.raises(ValueError, match="expected idx of bytes"):
        read_idx(floats)
