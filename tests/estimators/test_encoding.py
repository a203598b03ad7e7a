"""Laws of the table encoder over all kinds of tables, then cases by hand."""

import datetime
import json
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from lacunet.estimators._encoding import TableEncoder

NAN = np.nan
DAY = datetime.date(2020, 1, 1)
NEXT = datetime.date(2020, 1, 2)
NOON = datetime.datetime(2020, 1, 1, 12)


def days(*counts):
    return [None if n is None else DAY + datetime.timedelta(n) for n in counts]


def noons(*counts):
    return [None if n is None else NOON + datetime.timedelta(n) for n in counts]


def pandas_table():
    return pd.DataFrame(
        {
            "float": [1.0, NAN, 3.0, 3.5],
            "float32": np.array([0.1, NAN, 0.3, 0.7], dtype=np.float32),
            "int": [1, 2, 3, 5],
            "Int64": pd.array([1, None, 3, 3], dtype="Int64"),
            "UInt8": pd.array([250, None, 255, 255], dtype="UInt8"),
            "Float64": pd.array([1.5, None, 3.0, 4.0], dtype="Float64"),
            "bool": [True, False, True, True],
            "boolean": pd.array([True, None, False, False], dtype="boolean"),
            "str": ["a", None, "b", "b"],
            "string": pd.array(["a", None, "b", "b"], dtype="string"),
            "object": pd.Series(["a", None, "b", "b"], dtype=object),
            "flags": pd.Series([True, None, False, False], dtype=object),
            "mixed": pd.Series([1, None, 2.5, Decimal("1.5")], dtype=object),
            "category": pd.Categorical(
                ["x", None, "y", "y"], categories=["z", "y", "x"], ordered=True
            ),
            "numbers": pd.Categorical([3, None, 10, 10]),
            "cut": pd.cut([1.0, NAN, 3.0, 3.1], 2),
            "time": pd.to_datetime(noons(0, None, 2, 3)),
            "zone": pd.to_datetime(noons(0, None, 2, 3)).tz_localize("Europe/Berlin"),
            "days": pd.Series(days(0, None, 2, 3), dtype=object),
        }
    )


def arrow_in_pandas():
    pa = pytest.importorskip("pyarrow")
    return pd.DataFrame(
        {
            "int": pd.array([1, None, 3, 5], dtype=pd.ArrowDtype(pa.int64())),
            "bool": pd.array([True, None, False, True], dtype="bool[pyarrow]"),
            "str": pd.array(["a", None, "b", "b"], dtype="string[pyarrow]"),
            "day": pd.array(days(0, None, 2, 3), dtype=pd.ArrowDtype(pa.date32())),
            "decimal": pd.array(
                [Decimal("1.10"), None, Decimal("2.25"), Decimal("3.00")],
                dtype=pd.ArrowDtype(pa.decimal128(5, 2)),
            ),
        }
    )


def polars_table():
    pl = pytest.importorskip("polars")
    money = [Decimal("1.10"), None, Decimal("2.25"), Decimal("3.00")]
    return pl.DataFrame(
        {
            "int": [1, None, 3, 5],
            "small": pl.Series([1, None, 3, 5], dtype=pl.UInt8),
            "float": [1.0, float("nan"), None, 4.0],
            "float32": pl.Series([0.1, None, 0.3, 0.7], dtype=pl.Float32),
            "bool": [True, None, False, False],
            "str": ["a", None, "b", "b"],
            "category": pl.Series(["x", None, "y", "y"], dtype=pl.Categorical),
            "enum": pl.Series(["x", None, "y", "y"], dtype=pl.Enum(["z", "y", "x"])),
            "day": days(0, None, 2, 3),
            "time": noons(0, None, 2, 3),
            "zone": pl.Series(noons(0, None, 2, 3)).dt.replace_time_zone("Asia/Tokyo"),
            "money": pl.Series(money, dtype=pl.Decimal(10, 2)),
        }
    )


def arrow_table():
    pa = pytest.importorskip("pyarrow")
    table = polars_table().drop("enum").to_arrow()
    words = pa.array(["x", None, "y", "y"])
    table = table.append_column("plain", words)
    return table.append_column("dictionary", words.dictionary_encode())


def float_array():
    return np.array([[1.0, NAN], [NAN, 2.0], [3.0, 4.0]])


def object_array():
    return np.array(
        [
            [1.0, "a", True, DAY],
            [None, pd.NA, NAN, pd.NaT],
            [3, "b", False, days(2)[0]],
        ],
        dtype=object,
    )


def string_array():
    return np.array([["1.5", "nan"], ["nan", "a long one"], ["2.5", "a"]])


def date_array():
    return np.array([["2020-01-01"], ["NaT"], ["2020-01-05"]], dtype="M8[s]")


TABLES = [
    pandas_table,
    arrow_in_pandas,
    polars_table,
    arrow_table,
    float_array,
    object_array,
    string_array,
    date_array,
]


def cells_of(table):
    """Return a table's columns as lists of Python values, None where missing."""
    if isinstance(table, np.ndarray):
        columns = table.T.tolist()
    elif isinstance(table, pd.DataFrame):
        columns = [table[name].tolist() for name in table]
    else:
        as_dict = getattr(table, "to_pydict", None) or table.to_dict
        columns = [list(column) for column in as_dict().values()]
    return [
        [None if is_missing(cell) else cell for cell in column] for column in columns
    ]


def is_missing(cell):
    return cell is None or cell is pd.NA or cell == "nan" or bool(cell != cell)


def dtypes_of(table):
    if hasattr(table, "schema"):
        return table.schema
    if isinstance(table, np.ndarray):
        return [table.dtype.kind]
    return table.dtypes.to_dict()


def encode_and_restore(table, encoder=None):
    encoder = encoder or TableEncoder().fit(table)
    return encoder.restore(np.nan_to_num(encoder.transform(table)), table)


@pytest.fixture(params=TABLES, ids=lambda make: make.__name__)
def table(request):
    return request.param()


def test_encoded_has_the_stated_width_and_is_float(table):
    encoder = TableEncoder()
    encoded = encoder.fit_transform(table)
    assert encoded.dtype == np.float64
    assert encoded.shape == (len(table), encoder.n_numeric + sum(encoder.sizes))
    assert encoder.width == len(encoder.sources) == encoded.shape[1]
    np.testing.assert_array_equal(encoder.transform(table), encoded)


def test_every_missing_value_is_nan_and_nothing_else_is(table):
    encoder = TableEncoder()
    encoded = encoder.fit_transform(table)
    for index, column in enumerate(cells_of(table)):
        missing = np.isnan(encoded[:, encoder.sources == index])
        expected = [cell is None for cell in column]
        assert (missing == np.array(expected)[:, None]).all()


def test_restoring_keeps_type_dtypes_and_observed_cells(table):
    filled = encode_and_restore(table)
    assert type(filled) is type(table)
    assert dtypes_of(filled) == dtypes_of(table)
    for before, after in zip(cells_of(table), cells_of(filled), strict=True):
        assert not any(cell is None for cell in after)
        for old, new in zip(before, after, strict=True):
            assert old is None or (type(old), old) == (type(new), new)


def test_restoring_leaves_the_table_alone(table):
    before = cells_of(table)
    encode_and_restore(table)
    assert cells_of(table) == before


def test_encoding_then_restoring_an_emptied_table_gives_the_table_back(table):
    """What the encoder saw of a complete row is all there was to it."""
    encoder = TableEncoder().fit(table)
    row = slice(len(table) - 1, len(table))
    encoded = encoder.transform(table[row])
    emptied = EMPTIED[type(table).__module__.split(".")[0]](table[row])
    restored = cells_of(encoder.restore(encoded, emptied))
    for before, after in zip(cells_of(table[row]), restored, strict=True):
        same = pytest.approx(before) if isinstance(before[0], float) else before
        assert after == same


def _numpy_missing(table):
    markers = {"f": NAN, "O": None, "U": "nan", "M": np.datetime64("NaT")}
    return np.full_like(table, markers[table.dtype.kind])


def _pandas_missing(table):
    never = {"int", "bool"} - {
        name for name in table if str(table[name].dtype).endswith("[pyarrow]")
    }
    names = [name for name in table if name not in never]
    return table.assign(**{name: table[name].where([False]) for name in names})


def _polars_missing(table):
    return table.clear(1)


def _arrow_missing(table):
    pa = pytest.importorskip("pyarrow")
    columns = [pa.nulls(1, type=field.type) for field in table.schema]
    return pa.Table.from_arrays(columns, schema=table.schema)


EMPTIED = {
    "numpy": _numpy_missing,
    "pandas": _pandas_missing,
    "polars": _polars_missing,
    "pyarrow": _arrow_missing,
}


def test_a_state_is_json_and_gives_the_same_encoder(table):
    encoder = TableEncoder(scale="quantile", max_categories=5).fit(table)
    text = json.dumps(encoder.to_state(), allow_nan=False)
    again = TableEncoder.from_state(json.loads(text))
    assert again.columns == encoder.columns
    assert [type(value) for column in again.columns for value in column.categories] == [
        type(value) for column in encoder.columns for value in column.categories
    ]
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))


def test_the_three_frames_are_encoded_alike():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = pl.DataFrame({"a": [1, None, 4], "b": ["u", "v", None], "c": days(0, 3, 5)})
    expected = TableEncoder().fit_transform(frame)
    pandas = pd.DataFrame(frame.to_dict(as_series=False))
    for other in (frame.to_arrow(), pandas, pandas.to_numpy()):
        np.testing.assert_array_equal(TableEncoder().fit_transform(other), expected)


def test_frames_of_numbers_are_encoded_as_arrays_are():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = np.array([[1.0, NAN, 3.0], [NAN, 2.0, 4.0], [5.0, 3.0, 5.0]])
    encoder = TableEncoder().fit(table)
    polars = pl.DataFrame({"a": [1, None, 5], "b": [NAN, 2.0, 3.0], "c": [3, 4, 5]})
    nullable = pd.DataFrame(table).astype({0: "Int64", 1: "Float64", 2: "int8"})
    expected = encoder.transform(table)
    for other in (polars, polars.to_arrow(), nullable, pd.DataFrame(table)):
        np.testing.assert_array_equal(encoder.transform(other), expected)


# --- by hand


def test_numbers_come_first_then_a_group_a_category():
    frame = pd.DataFrame({"town": ["b", "a", None], "age": [1.0, 3.0, NAN]})
    encoder = TableEncoder()
    expected = [[-1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [NAN, NAN, NAN]]
    np.testing.assert_array_equal(encoder.fit_transform(frame), expected)
    assert (encoder.n_numeric, encoder.sizes) == (1, (2,))
    assert encoder.sources.tolist() == [1, 0, 0]


def test_the_columns_keep_what_was_learned():
    town, age, day = (
        TableEncoder()
        .fit([["b", 1.0, DAY], ["a", 3.0, None], ["a", 2.0, days(4)[0]]])
        .columns
    )
    assert (town.kind, town.categories, town.pooled) == ("category", ("a", "b"), ())
    assert (age.kind, age.had_missing) == ("number", False)
    assert (day.kind, day.origin, day.had_missing) == ("date", "2020-01-01", True)


def test_rare_categories_are_pooled_and_come_back_as_the_most_frequent_of_them():
    column = [[value] for value in "aaaabbbccd"]
    encoder = TableEncoder(max_categories=3).fit(column)
    assert encoder.columns[0].categories == ("a", "b")
    assert encoder.columns[0].pooled == ("c", "d")
    pooled = encoder.transform([["d"], ["c"], ["a"]])
    np.testing.assert_array_equal(pooled, [[0, 0, 1], [0, 0, 1], [1, 0, 0]])
    assert encoder.restore(pooled[:1], [[None]]).tolist() == [["c"]]


def test_a_category_unseen_in_training_counts_as_missing_and_stays():
    encoder = TableEncoder().fit([["a"], ["b"]])
    assert np.isnan(encoder.transform([["c"]])).all()
    assert encoder.restore(np.array([[1.0, 0.0]]), [["c"]]).tolist() == [["c"]]


def test_categories_that_are_declared_but_not_seen_do_not_count():
    column = pd.Categorical(["b", "a"], categories=["c", "b", "a"])
    encoder = TableEncoder().fit(pd.DataFrame({"x": column}))
    assert encoder.columns[0].categories == ("a", "b")


def test_a_category_is_filled_with_one_that_its_column_can_hold():
    encoder = TableEncoder().fit([["a"], ["b"], ["c"]])
    probabilities = np.array([[0.1, 0.3, 0.6]])
    frame = pd.DataFrame({"x": pd.Categorical([None], categories=["a", "b"])})
    assert encoder.restore(probabilities, frame)["x"].tolist() == ["b"]


def test_a_float_column_of_nan_can_stand_for_strings():
    encoder = TableEncoder().fit(pd.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0]}))
    empty = pd.DataFrame({"x": [NAN], "y": [1.0]}, index=[7])
    filled = encoder.restore(np.array([[0.0, 0.0, 1.0]]), empty)
    assert filled.to_dict("list") == {"x": ["b"], "y": [1.0]}
    array = encoder.restore(np.array([[0.0, 0.0, 1.0]]), np.array([[NAN, 1.0]]))
    assert array.tolist() == [["b", 1.0]]


def test_integers_are_rounded_and_stay_in_range():
    frame = pd.DataFrame({"x": pd.array([0, None, 255, None], dtype="UInt8")})
    encoder = TableEncoder().fit(frame)
    filled = encoder.restore(np.array([[0.0], [0.01], [0.0], [9.0]]), frame)
    assert filled["x"].tolist() == [0, 129, 255, 255]


def test_the_index_and_integer_names_stay():
    columns = {7: [1.0, NAN, 3.0], 0: ["a", None, "b"]}
    filled = encode_and_restore(pd.DataFrame(columns, index=["u", "v", "w"]))
    assert filled.index.tolist() == ["u", "v", "w"]
    assert filled.to_dict("list") == {7: [1.0, 2.0, 3.0], 0: ["a", "a", "b"]}


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float32])
def test_complete_arrays_come_back_as_they_were(dtype):
    table = np.array([[0, 1], [1, 0]], dtype=dtype)
    filled = encode_and_restore(table)
    assert filled.dtype == dtype
    assert filled is not table
    np.testing.assert_array_equal(filled, table)


def test_dates_are_days_since_the_first_with_parts_of_a_day():
    column = np.array(["2020-01-01T00", "2020-01-02T12", "NaT"], dtype="M8[h]")[:, None]
    encoder = TableEncoder().fit(column)
    assert encoder.scaling.centre == 0.75
    later = encoder.transform(np.array([["2020-01-03"]], dtype="M8[D]"))
    np.testing.assert_allclose(encoder.scaling.inverse(later), 2.0)


def test_a_date_beyond_the_calendar_stops_at_its_end():
    frame = pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2022-01-01", None])})
    filled = TableEncoder().fit(frame).restore(np.array([[0.0], [0.0], [1e9]]), frame)
    assert filled["x"][2].year == 9999


def test_aware_dates_among_objects_keep_their_zone():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    aware = [[NOON.replace(tzinfo=zone)], [None]]
    with pytest.warns(UserWarning, match="one value only"):
        encoder = TableEncoder().fit(aware)
    assert encoder.restore(np.zeros((2, 1)), aware).tolist() == [aware[0], aware[0]]


def test_booleans_are_a_category_of_two():
    encoder = TableEncoder()
    encoded = encoder.fit_transform(np.array([[True], [False]]))
    np.testing.assert_array_equal(encoded, [[0, 1], [1, 0]])
    np.testing.assert_array_equal(encoder.transform([[1.0], [NAN]])[0], [0, 1])


def test_strings_that_look_like_numbers_are_a_category_unless_numpy_made_them():
    numbers = [["1", "a"], ["2", "b"]]
    objects = TableEncoder().fit(np.array(numbers, dtype=object))
    assert [column.kind for column in objects.columns] == ["category", "category"]
    strings = TableEncoder().fit(np.array(numbers))
    assert [column.kind for column in strings.columns] == ["number", "category"]


def test_masked_cells_are_missing():
    masked = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    with pytest.warns(UserWarning, match=r"one value only: \[1\]"):
        encoded = TableEncoder().fit_transform(masked)
    np.testing.assert_array_equal(np.isnan(encoded), masked.mask)


def test_columns_without_values_are_kept_as_always_missing():
    table = np.array([[1.0, NAN], [2.0, NAN]])
    encoder = TableEncoder()
    with pytest.warns(UserWarning, match=r"without one observed value: \[1\].*kept"):
        encoder.fit(table)
    assert np.isnan(encoder.transform(np.array([[1.0, 5.0]]))[0, 1])
    assert np.isnan(encoder.transform([[1.0, "text"]])[0, 1])
    assert np.isnan(encoder.restore(np.zeros((2, 2)), table)[:, 1]).all()


def test_strings_without_values_stay_missing():
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": pd.Series([None, None], dtype="str")})
    with pytest.warns(UserWarning, match="without one observed value"):
        encoder = TableEncoder().fit(frame)
    assert encoder.restore(np.zeros((2, 2)), frame)["y"].isna().all()


def test_constant_columns_are_named_once_unless_they_are_zero():
    table = [[0.0, 3.0, "a", 1.0], [0.0, 3.0, "a", 2.0]]
    with pytest.warns(UserWarning, match=r"one value only: \[1, 2\]") as caught:
        TableEncoder().fit(table)
    assert len(caught) == 1


@pytest.mark.slow
def test_no_library_of_frames_is_needed():
    code = (
        "import sys; sys.modules.update(pandas=None, polars=None, pyarrow=None); "
        "from lacunet.estimators._encoding import TableEncoder; "
        "TableEncoder().fit([[1.0, 'a'], [2.0, None], [None, 'b']])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- refusals


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        ([[{"a": 1}]], TypeError, "argument must be a string or a number.*dict.*0"),
        ([[b"a"]], TypeError, "type bytes in column 0"),
        ([[datetime.timedelta(1)]], TypeError, "type timedelta in column 0"),
        ([[1], ["a"]], TypeError, "column 0 with values of different kinds, such as"),
        ([1.0, 2.0], ValueError, "Reshape your data"),
        (np.array([[1, 2]], dtype="m8[s]"), TypeError, "a duration its days"),
        (np.array([[b"a"]]), TypeError, "decode bytes"),
        (np.array([[np.inf]]), ValueError, "Input X contains infinity"),
        ([[np.inf], ["a"]], TypeError, "different kinds"),
    ],
)
def test_tables_are_refused_with_advice(X, error, match):
    with pytest.raises(error, match=match):
        TableEncoder().fit(X)


def test_sparse_columns_are_refused():
    column = pd.DataFrame({"x": pd.arrays.SparseArray([1.0, 0.0])})
    with pytest.raises(TypeError, match=r"'x' of dtype Sparse.*to_dense"):
        TableEncoder().fit(column)


@pytest.mark.parametrize(
    "value", [datetime.timedelta(1), datetime.time(1), b"a", [1, 2], {"a": 1}]
)
def test_columns_of_other_types_are_refused_with_advice(value):
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"'x' of dtype .*Make it numbers"):
        TableEncoder().fit(pl.DataFrame({"x": [value]}))


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ([["a", "a", DAY]], "column 0 with values such as 'a', but expected a number"),
        ([[1.0, 2.0, DAY]], "column 1 with values such as 2.0, but expected the cat"),
        ([[1.0, "a", 3.0]], "column 2 .* expected a date, as in training"),
        ([[1.0, DAY, DAY]], "column 1 .* such as 'a'"),
    ],
)
def test_columns_of_another_kind_than_in_training_are_refused(X, match):
    encoder = TableEncoder().fit([[1.0, "a", DAY], [2.0, "b", NEXT]])
    with pytest.raises(TypeError, match=match):
        encoder.transform(X)


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="Got max_categories=0"):
        TableEncoder(max_categories=0).fit([[1.0]])
    with pytest.raises(ValueError, match="Got scale='log'"):
        TableEncoder(scale="log").fit([[1.0]])


def test_dates_of_nanoseconds_may_be_centuries_apart():
    dates = pd.to_datetime(["1700-01-01", "1990-01-01", "2000-01-01"])
    table = pd.DataFrame({"day": dates.astype("M8[ns]"), "x": [1.0, 2.0, 3.0]})
    days = TableEncoder().fit(table).numbers_of(table)[:, 0]
    assert days.tolist() == [0.0, 105920.0, 109572.0]


def test_dates_may_be_nanoseconds_apart():
    start = np.array("2020-01-01T23:59:59.999999999", dtype="M8[ns]")
    table = pd.DataFrame({"day": start + np.arange(3), "x": [1.0, 2.0, 3.0]})
    days = TableEncoder().fit(table).numbers_of(table)[:, 0]
    assert days * 86_400e9 == pytest.approx([0.0, 1.0, 2.0], abs=0.05)
