"""Patches: where they are, what they leave, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from lacunet.missingness import drop_patch


def corners(lost):
    """Return top, left, bottom and right of each patch."""
    rows, columns = lost.any(2), lost.any(1)
    ends = [rows.argmax(1), columns.argmax(1)]
    ends += [part.shape[1] - part[:, ::-1].argmax(1) for part in (rows, columns)]
    return np.stack(ends, axis=1)


@pytest.mark.parametrize("size", [1, 3, 7, (2, 5), (7, 1)])
def test_each_image_loses_one_rectangle_of_the_size(size):
    images = np.ones((60, 7, 9))
    after, lost = drop_patch(images, size, return_mask=True, random_state=0)
    height, width = size if isinstance(size, tuple) else (size, size)
    top, left, bottom, right = corners(lost).T
    assert (bottom - top == height).all()
    assert (right - left == width).all()
    assert (lost.sum((1, 2)) == height * width).all()
    np.testing.assert_array_equal(np.isnan(after), lost)


def test_all_places_are_as_likely():
    """The paper's patch has 16 x 16 places, the last row and column among them."""
    lost = drop_patch(
        np.zeros((25_600, 28, 28), dtype=np.float16),
        13,
        return_mask=True,
        random_state=0,
    )[1]
    top, left, bottom, right = corners(lost).T
    counts = np.bincount(16 * top + left, minlength=256)
    assert (top.max(), left.max(), bottom.max(), right.max()) == (15, 15, 28, 28)
    assert counts.size == 256
    assert stats.chisquare(counts).pvalue > 0.001


def test_by_hand():
    images = np.arange(12).reshape(2, 2, 3)
    after = drop_patch(images, (2, 3), random_state=0)
    assert np.isnan(after).all()
    one = drop_patch(images, (1, 3), random_state=0)
    assert np.isnan(one).all(2).sum(1).tolist() == [1, 1]
    there = ~np.isnan(one)
    np.testing.assert_array_equal(one[there], images[there])


def test_images_are_left_as_they_are():
    images = np.random.RandomState(0).rand(5, 4, 4)
    before = images.copy()
    after = drop_patch(images, 2, random_state=0)
    np.testing.assert_array_equal(images, before)
    assert not np.shares_memory(after, images)


def test_flat_rows_lose_what_images_lose():
    images = np.random.RandomState(0).rand(20, 6, 6)
    after, lost = drop_patch(images, 3, return_mask=True, random_state=1)
    flat, flat_lost = drop_patch(
        images.reshape(20, 36), 3, return_mask=True, random_state=1
    )
    np.testing.assert_array_equal(flat, after.reshape(20, 36))
    np.testing.assert_array_equal(flat_lost, lost.reshape(20, 36))


@pytest.mark.parametrize("shape", [(4, 9), (4, 3, 3), (9, 4), (2, 6, 3)])
def test_a_shape_tells_what_flat_rows_are(shape):
    images = np.random.RandomState(0).rand(20, *shape)
    flat = images.reshape(20, -1)
    expected = drop_patch(images, 2, image_shape=shape, random_state=1)
    found = drop_patch(flat, 2, image_shape=shape, random_state=1)
    np.testing.assert_array_equal(found, expected.reshape(20, -1))


def test_a_patch_goes_through_all_channels():
    images = np.random.RandomState(0).rand(30, 5, 6, 3)
    missing = np.isnan(drop_patch(images, 2, random_state=0))
    assert (missing.all(3) == missing.any(3)).all()
    assert (missing.sum((1, 2)) == 4).all()
    plain = np.isnan(drop_patch(images[..., 0], 2, random_state=0))
    np.testing.assert_array_equal(missing[..., 0], plain)


def test_pixels_that_were_missing_are_not_lost():
    images = np.ones((1, 2, 2))
    images[0, 1, 0] = np.nan
    after, lost = drop_patch(images, 2, return_mask=True)
    assert lost.tolist() == [[[True, True], [False, True]]]
    assert np.isnan(after).all()


def test_masked_pixels_are_missing():
    images = np.ma.array(np.ones((1, 2, 2), dtype=int), mask=[[[0, 0], [0, 1]]])
    after, lost = drop_patch(images, (1, 2), return_mask=True, random_state=0)
    assert type(after) is np.ndarray
    assert np.isnan(after[0, 1, 1])
    assert not lost[0, 1, 1]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float16", "float16"),
        ("float32", "float32"),
        ("uint8", "float64"),
        ("int64", "float64"),
        ("bool", "float64"),
    ],
)
def test_floats_keep_their_precision_and_other_numbers_become_floats(given, expected):
    after = drop_patch(np.ones((2, 4, 4), dtype=given), 2)
    assert after.dtype == expected
    assert np.nansum(after) == 24


def test_the_same_seed_gives_the_same_and_a_random_state_goes_on():
    images = np.zeros((10, 8, 8))
    one, two, other = (drop_patch(images, 3, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (np.isnan(one) != np.isnan(other)).any()
    state = np.random.RandomState(0)
    first, second = (drop_patch(images, 3, random_state=state) for _ in "ab")
    np.testing.assert_array_equal(first, one)
    assert (np.isnan(first) != np.isnan(second)).any()


def test_a_seed_leaves_the_global_one_alone():
    before = np.random.get_state()  # noqa: NPY002
    drop_patch(np.zeros((10, 8, 8)), 3, random_state=0)
    after = np.random.get_state()  # noqa: NPY002
    assert before[2] == after[2]
    np.testing.assert_array_equal(before[1], after[1])


def test_no_images_lose_nothing():
    assert drop_patch(np.zeros((0, 4, 4)), 2).shape == (0, 4, 4)


@pytest.mark.parametrize("size", [0, -1, 5, (1, 7), (5, 1)])
def test_a_patch_must_fit(size):
    with pytest.raises(ValueError, match="Got size=.* at most 4 x 6 pixels"):
        drop_patch(np.zeros((1, 4, 6)), size)


@pytest.mark.parametrize("size", [2.0, "ab", (1, 2, 3), (1, 2.0), (True, 2), None])
def test_a_size_is_one_or_two_integers(size):
    with pytest.raises(TypeError, match="Got size=.* expected an integer, or height"):
        drop_patch(np.zeros((1, 4, 6)), size)


def test_flat_rows_that_are_no_squares_need_a_shape():
    with pytest.raises(ValueError, match="24 pixels, which are no squares"):
        drop_patch(np.zeros((1, 24)), 2)


@pytest.mark.parametrize("shape", [(4, 5), (24,), (4, 6, 2), (2, 2, 2, 3)])
def test_a_shape_must_be_that_of_the_images(shape):
    for images in (np.zeros((1, 24)), np.zeros((1, 4, 6))):
        with pytest.raises(ValueError, match="Got image_shape="):
            drop_patch(images, 2, image_shape=shape)


@pytest.mark.parametrize("shape", [(4,), (1, 2, 3, 4, 5)])
def test_images_have_two_to_four_dimensions(shape):
    with pytest.raises(ValueError, match="Got images of shape"):
        drop_patch(np.zeros(shape), 1)


def test_images_are_numbers():
    with pytest.raises(TypeError, match="Got images of dtype object"):
        drop_patch(np.full((1, 2, 2), "a"), 1)
