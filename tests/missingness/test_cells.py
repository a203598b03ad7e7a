"""Tables of all kinds lose values, and stay what they are."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from lacunet.missingness import drop_values

NAN = np.nan
MECHANISMS = ["mcar", "mar", "mnar", "censored", "column", "monotone"]


def make_table(rows=400, columns=5, seed=0):
    """Numbers that depend on each other."""
    rng = np.random.RandomState(seed)
    return rng.randn(rows, columns) + rng.randn(rows, 1)


def make_table_with_holes():
    table = make_table()
    table[np.random.RandomState(1).rand(*table.shape) < 0.3] = NAN
    return table


def lost_in(*args, **options):
    """Return the mask alone."""
    return drop_values(*args, return_mask=True, **{"random_state": 0, **options})[1]


def words(*letters):
    return [letter if letter != "-" else None for letter in letters]


def days(*counts):
    start = datetime.date(2020, 1, 1)
    return [None if n is None else start + datetime.timedelta(n) for n in counts]


def pandas_table():
    return pd.DataFrame(
        {
            "float32": np.array([0.1, NAN, 0.3, 0.7], dtype=np.float32),
            "int": [1, 2, 3, 5],
            "Int64": pd.array([1, None, 3, 3], dtype="Int64"),
            "bool": [True, False, True, True],
            "boolean": pd.array([True, None, False, False], dtype="boolean"),
            "string": pd.array(words("a", "-", "b", "b"), dtype="string"),
            "object": pd.Series([1, None, "b", [2, 3]], dtype=object),
            "category": pd.Categorical(words("x", "-", "y", "y")),
            "ordered": pd.Categorical(
                words("x", "-", "y", "y"), categories=["z", "y", "x"], ordered=True
            ),
            "time": pd.to_datetime(days(0, None, 2, 3)),
            "zone": pd.to_datetime(days(0, None, 2, 3)).tz_localize("Europe/Berlin"),
            "length": pd.to_timedelta([1, None, 2, 3], unit="h"),
        },
        index=[7, 7, 3, 1],
    )


def polars_table():
    pl = pytest.importorskip("polars")
    money = [Decimal("1.10"), None, Decimal("2.25"), Decimal("3.00")]
    return pl.DataFrame(
        {
            "int": [1, None, 3, 5],
            "float": [1.0, NAN, None, 4.0],
            "bool": [True, None, False, False],
            "str": words("a", "-", "b", "b"),
            "category": pl.Series(words("x", "-", "y", "y"), dtype=pl.Categorical),
            "enum": pl.Series(words("x", "-", "y", "y"), dtype=pl.Enum(["y", "x"])),
            "day": days(0, None, 2, 3),
            "money": pl.Series(money, dtype=pl.Decimal(10, 2)),
            "lists": [[1], None, [2, 3], [4]],
        }
    )


def arrow_table():
    pa = pytest.importorskip("pyarrow")
    texts = pa.array(words("x", "-", "y", "y"))
    table = polars_table().drop("enum").to_arrow()
    return table.append_column("dictionary", texts.dictionary_encode())


FRAMES = [pandas_table, polars_table, arrow_table]


def cells_of(frame):
    """Return a frame's columns as lists of Python values, None where missing."""
    if isinstance(frame, pd.DataFrame):
        columns = [frame[name].tolist() for name in frame]
    else:
        columns = [column.to_pylist() for column in as_arrow(frame).columns]
    return [[None if is_hole(cell) else cell for cell in column] for column in columns]


def as_arrow(frame):
    return frame.to_arrow() if hasattr(frame, "to_arrow") else frame


def is_hole(cell):
    if isinstance(cell, list):
        return False
    return cell is None or cell is pd.NA or bool(cell != cell)


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_frames_stay_frames_and_lose_the_cells_of_the_mask(make, mechanism):
    frame = make()
    before = cells_of(frame)
    after, lost = drop_values(
        frame, 0.5, mechanism, return_mask=True, exact=True, random_state=1
    )
    assert type(after) is type(frame)
    assert cells_of(frame) == before
    assert lost.any()
    for old, new, mask in zip(before, cells_of(after), lost.T, strict=True):
        assert None not in [old[row] for row in np.flatnonzero(mask)]
        assert new == [None if mask[row] else cell for row, cell in enumerate(old)]


def test_a_frame_that_loses_nothing_is_a_copy():
    frame = pandas_table()
    after = drop_values(frame, 0.0)
    pd.testing.assert_frame_equal(after, frame)
    after.iloc[0, 1] = 99
    assert frame.iloc[0, 1] == 1


@pytest.mark.parametrize("make", [polars_table, arrow_table])
def test_types_that_have_a_null_of_their_own_stay(make):
    frame = make()
    assert drop_values(frame, 0.9, random_state=0).schema == frame.schema


def test_pandas_columns_become_what_pandas_makes_of_them():
    frame = pandas_table()
    after = drop_values(frame, 0.9, exact=True, random_state=0)
    changed = {"int": "float64", "bool": "object"}
    for name, dtype in frame.dtypes.items():
        assert after[name].isna().sum() >= 3
        assert str(after[name].dtype) == changed.get(name, str(dtype))
    pd.testing.assert_index_equal(after.index, frame.index)
    pd.testing.assert_index_equal(after.columns, frame.columns)


def test_a_pandas_column_that_loses_nothing_keeps_its_type():
    after = drop_values(pandas_table(), 0.5, columns=["Int64"], random_state=0)
    assert str(after["int"].dtype) == "int64"


def test_pandas_columns_may_be_named_by_numbers():
    frame = pd.DataFrame({3: [1.0, 2.0, 3.0, 4.0], 0: [4.0, 3.0, 2.0, 1.0]})
    after = drop_values(frame, 0.5, "censored", columns=[0])
    assert after[3].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert after[0].isna().tolist() == [True, True, False, False]


@pytest.mark.parametrize("name", MECHANISMS)
def test_frames_lose_the_cells_that_arrays_lose(name):
    pl = pytest.importorskip("polars")
    table = make_table_with_holes()
    expected = lost_in(table, 0.4, name)
    names = [f"x{place}" for place in range(5)]
    polars = pl.DataFrame(table, schema=names)
    nullable = pd.DataFrame(table, columns=names).convert_dtypes()
    for frame in (polars, polars.fill_nan(None), polars.to_arrow(), nullable):
        np.testing.assert_array_equal(lost_in(frame, 0.4, name), expected)


@pytest.mark.parametrize(
    ("column", "lost"),
    [
        (pd.Series(["b", "c", "a", None]), [0, 1, 0, 0]),
        (pd.Categorical(list("bca") + [None]), [0, 1, 0, 0]),
        (pd.Categorical(list("bca") + [None], list("cab"), ordered=True), [1, 0, 0, 0]),
        (pd.Categorical([9, 10, 8, None]), [0, 1, 0, 0]),
        (pd.to_datetime(days(4, 9, 7, None)), [0, 1, 0, 0]),
        (pd.Series(days(4, 9, 7, None), dtype=object), [0, 1, 0, 0]),
        (pd.Series([9, 10, Decimal(8), None], dtype=object), [0, 1, 0, 0]),
        (pd.to_timedelta([9, 10, 8, None], unit="D"), [0, 1, 0, 0]),
        (pd.array([False, True, False, None], dtype="boolean"), [0, 1, 0, 0]),
    ],
    ids=[
        "texts",
        "categories",
        "ordered",
        "numbers as categories",
        "times",
        "days",
        "mixed numbers",
        "lengths",
        "booleans",
    ],
)
def test_what_is_no_number_has_an_order(column, lost):
    frame = pd.DataFrame({"x": column})
    mask = lost_in(frame, 0.34, "censored", exact=True)[:, 0]
    assert mask.astype(int).tolist() == lost


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.ones((4, 2), dtype=np.float16), "float16"),
        (np.ones((4, 2), dtype=np.float32), "float32"),
        (np.ones((4, 2), dtype=np.uint8), "float64"),
        (np.ones((4, 2), dtype=bool), "object"),
        (np.full((4, 2), "text"), "object"),
        (np.full((4, 2), 1, dtype=object), "object"),
        (np.full((4, 2), "2020-01-01", dtype="M8[D]"), "datetime64[D]"),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_arrays_become_what_can_hold_holes(array, dtype):
    after, lost = drop_values(array, 0.5, exact=True, return_mask=True, random_state=0)
    assert after.dtype == np.dtype(dtype)
    assert lost.sum() == 4
    np.testing.assert_array_equal(pd.isna(after), lost)
    np.testing.assert_array_equal(after[~lost], array[~lost])


def test_lists_keep_the_types_of_their_cells():
    after = drop_values([[1, "a"], [NAN, "b"], [3, "c"]], 0.2, exact=True, columns=[1])
    assert [type(cell) for cell in after[:, 0]] == [int, float, int]


def test_holes_that_are_there_do_not_count_however_they_are_written():
    cells = [
        [1.0, "a"],
        [None, "b"],
        [NAN, pd.NA],
        [pd.NaT, "d"],
        [Decimal("NaN"), "e"],
    ]
    table = np.array(cells, dtype=object)
    after, lost = drop_values(table, 0.8, exact=True, return_mask=True, random_state=0)
    assert lost.sum() == 4  # of 5
    assert after[1, 0] is None
    assert after[2, 1] is pd.NA


def test_masked_cells_and_strings_of_nan_are_holes():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[True, False], [False, False]])
    for table in (masked, np.array([["nan", "2"], ["3", "4"]])):
        after, lost = drop_values(table, 0.0, return_mask=True)
        assert pd.isna(after).tolist() == [[True, False], [False, False]]
        assert lost_in(table, 0.5, exact=True).sum() == 2


def test_infinite_values_can_be_lost_at_random_and_are_the_largest():
    table = np.array([[1.0], [np.inf], [2.0], [-np.inf]])
    assert lost_in(table, 0.5, exact=True).sum() == 2
    assert lost_in(table, 0.25, "censored")[:, 0].tolist() == [0, 1, 0, 0]


def test_huge_and_equal_values_do_no_harm():
    table = np.array([[1e308, 0.1], [-1e308, 0.1], [0.0, 0.1]] * 200)
    for name in ("mar", "mnar"):
        lost = lost_in(table, 0.4, name)
        assert abs(lost.mean() - 0.4) < 0.06
